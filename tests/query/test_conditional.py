"""`dp.when` builds a case that reads like its calls, and what has no meaning is refused where it is typed."""

import copy
import pickle

import pytest

import discreet as dp
from discreet.errors import ParameterError, TypeMismatchError, UnknownCallError
from discreet.plan import logical
from discreet.plan.logical import Case, ColumnRef, DatePart, IsMissing, Literal, Not, TextMatch, Truncate

visits = dp.table("visits")
A, B, COST = ColumnRef("a"), ColumnRef("b"), ColumnRef("cost")


@pytest.mark.parametrize(
    ("expression", "node"),
    [
        (dp.when(visits.a, 1), Case(((A, Literal(1)),))),
        (dp.when(visits.a, 1).otherwise(0), Case(((A, Literal(1)),), Literal(0))),
        (dp.when(visits.a, 1).when(visits.b, visits.cost), Case(((A, Literal(1)), (B, COST)))),
        (dp.when(visits.a, dp.when(visits.b, 1)), Case(((A, Case(((B, Literal(1)),))),))),
        (visits.cost.fill_missing(0), Case(((Not(IsMissing(COST)), COST),), Literal(0))),
        (visits.cost.fill_missing(visits.b), Case(((Not(IsMissing(COST)), COST),), B)),
        (visits.a.starts_with("x"), TextMatch(A, "starts", "x")),
        (visits.a.ends_with("x"), TextMatch(A, "ends", "x")),
        (visits.a.contains("x"), TextMatch(A, "contains", "x")),
        (visits.a.truncate("week"), Truncate(A, "week")),
        (visits.a.part("weekday"), DatePart(A, "weekday")),
    ],
    ids=str,
)
def test_a_call_builds_the_node_that_it_reads_like(expression, node):
    assert expression.node == node


def test_a_branch_that_is_added_leaves_the_earlier_value_as_it_was():
    first = dp.when(visits.a, 1)
    first.when(visits.b, 2)
    assert first.node == Case(((A, Literal(1)),))


def test_a_case_counts_all_its_parts():
    case = dp.when(visits.a == 1, visits.cost + 1).when(visits.b, 2).otherwise(visits.cost)
    assert (case.nodes, case.depth) == (3 + 3 + 1 + 1 + 1 + 1, 3)
    filled = visits.cost
    for _ in range(8):
        filled = filled.fill_missing(0)
    with pytest.raises(ParameterError, match="parts"):
        filled.fill_missing(0)


@pytest.mark.parametrize("condition", [True, "age > 3", None, 1, [visits.a]])
def test_a_condition_is_an_expression(condition):
    with pytest.raises(TypeMismatchError, match="a condition of a row"):
        dp.when(condition, 1)
    with pytest.raises(TypeMismatchError, match="a condition of a row"):
        dp.when(visits.a, 1).when(condition, 1)


@pytest.mark.parametrize("value", [None, [1], b"x"])
def test_a_value_is_a_constant_or_an_expression(value):
    for call in (lambda: dp.when(visits.a, value), lambda: dp.when(visits.a, 1).otherwise(value)):
        with pytest.raises(TypeMismatchError, match="a constant of type"):
            call()


@pytest.mark.parametrize("call", ["starts_with", "ends_with", "contains"])
def test_a_text_that_is_sought_has_1_to_1000_characters(call):
    assert isinstance(getattr(visits.a, call)("é" * logical.LONGEST_TEXT).node, TextMatch)
    for text in ("", "x" * (logical.LONGEST_TEXT + 1)):
        with pytest.raises(ParameterError, match="1 to 1,000 characters"):
            getattr(visits.a, call)(text)
    with pytest.raises(TypeMismatchError, match="it takes a text"):
        getattr(visits.a, call)(visits.b)


@pytest.mark.parametrize(
    ("call", "word", "instead"),
    [("truncate", "months", 'truncate("month")'), ("part", "week", 'part("weekday")'), ("part", 3, 'part("year")')],
)
def test_an_unknown_unit_is_refused_with_the_nearest_one(call, word, instead):
    with pytest.raises(ParameterError, match="it takes one of year") as refusal:
        getattr(visits.a, call)(word)
    assert refusal.value.instead == instead


@pytest.mark.parametrize(
    ("word", "ours"),
    [
        ("fillna", ".fill_missing(0)"),
        ("coalesce", ".fill_missing(0)"),
        ("like", '.contains("insulin")'),
        ("str", ".starts_with("),
        ("dt", '.part("weekday")'),
        ("month", '.part("month")'),
        ("date_trunc", '.truncate("month")'),
        ("otherwise", "dp.when("),
    ],
)
def test_words_from_elsewhere_lead_to_these_calls(word, ours):
    with pytest.raises(UnknownCallError) as refusal:
        getattr(visits.a, word)
    assert ours in refusal.value.instead


def test_a_conditional_value_survives_a_copy_and_another_process():
    case = dp.when(visits.a, 1).when(visits.b, 2)
    for twin in (copy.deepcopy(case), pickle.loads(pickle.dumps(case))):  # noqa: S301 - our own bytes
        assert twin.otherwise(3).node == case.otherwise(3).node
