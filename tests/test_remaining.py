"""What is left is never said without the promise, the unit, and what it spans."""

from fractions import Fraction

import pytest

from discreet.accounting.filters import Budget
from discreet.remaining import Remaining
from discreet.slice import Slice
from discreet.unit import unit_of

LEFT = ("visits", Fraction(3, 2), Budget(epsilon=2), unit_of("patient_id"))


def test_what_is_left_is_said_with_its_promise_its_unit_and_its_span():
    assert (
        str(Remaining(*LEFT))
        == repr(Remaining(*LEFT))
        == (
            "epsilon 1.5 left of epsilon 2, for one patient_id, added or removed, "
            "over every question ever asked of 'visits'"
        )
    )
    assert float(Remaining(*LEFT)) == pytest.approx(1.5)


def test_what_is_left_of_a_slice_says_which_rows_and_that_promises_add_up():
    part = Slice("visited", "2026-10-01", "2026-11-01", of="visits")
    assert str(Remaining(*LEFT, part)) == (
        f"{Remaining(*LEFT)}, the rows of 'visits' from 2026-10-01 until before 2026-11-01 by 'visited'; "
        "one patient_id in several slices is protected by each promise, and over all of them by their sum"
    )
