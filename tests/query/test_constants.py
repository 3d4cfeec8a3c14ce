"""Constants of expressions are values of few kinds, and two of one kind have an order."""

import datetime as dt
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest

from discreet.errors import Refusal
from discreet.query.constants import is_above, scalar


@pytest.mark.parametrize(
    ("value", "constant"),
    [(1, 1), (True, True), ("A", "A"), (Decimal("0.5"), 0.5), (Fraction(1, 4), 0.25), (np.int64(3), 3)],
)
def test_a_number_or_a_text_is_a_constant(value, constant):
    assert scalar(value) == constant
    assert type(scalar(value)) is type(constant)


@pytest.mark.parametrize("value", [None, b"A", [1], float("nan"), Fraction(10**301), object()])
def test_anything_else_is_refused(value):
    with pytest.raises(Refusal):
        scalar(value)


def test_numbers_and_dates_have_an_order_and_other_constants_have_none():
    assert is_above(2, 1.5)
    assert is_above(dt.date(2026, 2, 1), "2026-01-31")
    assert not is_above(1, 2)
    assert not is_above("B", "A")
    assert not is_above(1, "A")
