"""An expression reads as it was typed, and a range that holds nothing is refused."""

import copy
import datetime as dt
import pickle
from decimal import Decimal
from fractions import Fraction

import pytest

import discreet as dp
from discreet.errors import ParameterError, UnknownCallError
from discreet.query.expression import Expr, expression_text

visits = dp.table("visits")
DAY = dt.date(2026, 1, 31)

TYPED = {
    "table.age": visits.age,
    "table['the age']": visits["the age"],
    "table.age >= 40": visits.age >= 40,
    "(table.age / 10) > 4": visits.age / 10 > 4,
    "(table.age > 1) & (table.ward == 'A')": (visits.age > 1) & (visits.ward == "A"),
    "(~(table.age > 1)) | table.ward.is_missing()": ~(visits.age > 1) | visits.ward.is_missing(),
    "table.ward.is_in(['A', 'B'])": visits.ward.is_in(["A", "B"]),
    "table.age.cast('real')": visits.age.cast("real"),
    "table.age.bin([18, 30, 45])": visits.age.bin([18, 30, 45]),
    "table.day.bin(['2026-01-31']) == 1": visits.day.bin([DAY]) == 1,
    "table.day >= '2026-01-31'": visits.day >= DAY,
    "table.seen == '2026-01-31 12:00:00'": visits.seen == dt.datetime(2026, 1, 31, 12),  # noqa: DTZ001 - naive
}


@pytest.mark.parametrize("text", TYPED)
def test_an_expression_reads_as_it_could_be_typed(text):
    expression = TYPED[text]
    assert repr(expression) == expression_text(expression.node) == text
    typed_again = eval(text, {"table": visits})  # noqa: S307 - the text is our own
    if "'2026" not in text:
        assert typed_again.node == expression.node


def test_long_lists_are_cut():
    assert repr(visits.age.is_in(range(100))) == "table.age.is_in([0, 1, 2, 3, 4, 5, 6, 7, ...])"
    assert repr(visits.age.bin(range(100))) == "table.age.bin([0, 1, 2, 3, 4, 5, 6, 7, ...])"


@pytest.mark.parametrize(
    ("low", "high"),
    [(60, 40), (0.5, Fraction(1, 4)), (Decimal(2), 1), (DAY, dt.date(2026, 1, 1)), ("2026-02-01", "2026-01-01")],
)
def test_a_range_whose_lower_end_is_above_the_upper_one_is_refused(low, high):
    with pytest.raises(ParameterError, match="nothing lies between them") as refusal:
        visits.age.between(low, high)
    assert refusal.value.instead == f"between({high!r}, {low!r})"
    assert isinstance(visits.age.between(high, low), Expr)


@pytest.mark.parametrize(("low", "high"), [(40, 40), ("B", "A"), (40, "x"), (visits.a, visits.b), (True, 5)])
def test_a_range_whose_order_is_right_or_unknown_is_built(low, high):
    assert isinstance(visits.age.between(low, high), Expr)


def test_a_name_from_another_library_is_refused_with_ours():
    with pytest.raises(UnknownCallError) as refusal:
        visits.age.isin([1])
    assert ".is_in(" in refusal.value.instead
    with pytest.raises(UnknownCallError, match=r"is_missing"):
        visits.age.isnull()


def test_an_expression_survives_a_copy_and_another_process():
    expression = visits.age >= 40
    for twin in (copy.deepcopy(expression), pickle.loads(pickle.dumps(expression))):  # noqa: S301 - our own bytes
        assert twin.node == expression.node
