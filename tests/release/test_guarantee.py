"""A guarantee is never shown bare, and two that mean different things do not compare."""

from fractions import Fraction

import pytest

from discreet.catalog.privacy_unit import Neighbours, Unit
from discreet.errors import ComparisonError
from discreet.release.guarantee import Guarantee

PATIENT = Unit(("patient_id",))


def guarantee(epsilon=1, delta=0, unit=PATIENT, span="one query"):
    return Guarantee(Fraction(epsilon), Fraction(delta), unit, span)


@pytest.mark.guarantee("release.guarantee")
def test_epsilon_is_shown_with_delta_unit_and_span():
    text = str(guarantee(2, Fraction(1, 10**9), span="every answer ever given from 'visits'"))
    assert text == (
        "epsilon 2, delta 1e-09, for one patient_id, added or removed, over every answer ever given from 'visits'"
    )


def test_a_promise_for_rows_says_that_it_protects_rows():
    assert "protects rows, not people" in str(guarantee(unit=Unit(())))


def test_guarantees_of_one_kind_compare_by_epsilon():
    assert guarantee(1) < guarantee(2)
    assert guarantee(2) >= guarantee(2)
    assert guarantee(2) <= guarantee(2)
    assert guarantee(3) > guarantee(2)


@pytest.mark.parametrize(
    "other",
    [
        guarantee(2, Fraction(1, 10**9)),
        guarantee(2, unit=Unit(())),
        guarantee(2, unit=Unit(("household",))),
        guarantee(2, unit=Unit(("patient_id",), Neighbours.REPLACE_ONE)),
    ],
)
@pytest.mark.parametrize("operator", ["__lt__", "__le__", "__gt__", "__ge__"])
def test_guarantees_with_different_deltas_or_units_do_not_compare(other, operator):
    with pytest.raises(ComparisonError) as refusal:
        getattr(guarantee(1), operator)(other)
    assert refusal.value.instead
