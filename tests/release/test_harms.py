"""A guarantee for one unit is held against the harm that somebody states."""

import math
from fractions import Fraction

import pytest

import discreet as dp
from discreet.catalog.privacy_unit import Neighbours, Unit
from discreet.errors import ParameterError
from discreet.release.guarantee import Guarantee
from discreet.release.harms import usual_harms

PATIENT = Unit(("patient_id",))
REPLACED = Unit(("patient_id",), Neighbours.REPLACE_ONE)


def guarantee(unit=PATIENT, epsilon=1, delta=0):
    return Guarantee(Fraction(epsilon), Fraction(delta), unit, "every query")


def test_presence_of_the_unit_is_covered_by_epsilon():
    found = dp.covers(guarantee(), learns="presence")
    assert found.is_covered
    assert (found.epsilon, found.delta) == (1, 0)


def test_another_value_of_a_unit_is_a_removal_and_an_addition():
    found = dp.covers(guarantee(delta=Fraction(1, 10**9)), learns="value")
    assert found.epsilon == 2
    assert float(found.delta) == pytest.approx(1e-9 * (1 + math.e))


def test_another_value_is_one_step_where_a_unit_is_replaced():
    assert dp.covers(guarantee(REPLACED), learns="value").epsilon == 1


def test_presence_is_not_covered_where_a_unit_is_replaced():
    assert not dp.covers(guarantee(REPLACED), learns="presence").is_covered


def test_a_statistic_is_never_covered():
    assert not dp.covers(guarantee(), learns="statistic").is_covered


def test_somebody_else_than_the_unit_is_not_covered():
    found = dp.covers(guarantee(), learns="value", of="doctor_id")
    assert not found.is_covered
    assert "one patient_id" in found.reason


def test_somebody_else_is_covered_by_the_units_whose_rows_are_about_them():
    # the patients keep their other rows, so that presence of a doctor is two steps for each of them, too
    for learns in ("presence", "value"):
        assert dp.covers(guarantee(epsilon=Fraction(1, 100)), learns=learns, of="doctor_id", units=40).epsilon == (
            Fraction(80, 100)
        )


def test_a_person_is_not_covered_by_a_guarantee_for_a_month_of_a_person():
    assert not dp.covers(guarantee(Unit(("patient_id", "month"))), learns="value", of="patient_id").is_covered


def test_a_month_of_a_person_is_covered_by_a_guarantee_for_the_person():
    found = dp.covers(guarantee(), learns="presence", of=("patient_id", "month"))
    assert found.epsilon == 2


def test_rows_cover_a_person_with_a_known_number_of_rows_only():
    rows = guarantee(Unit(()))
    assert not dp.covers(rows, learns="presence", of="patient_id").is_covered
    assert dp.covers(rows, learns="presence", of="patient_id", units=10).epsilon == 10
    assert dp.covers(rows, learns="presence").epsilon == 1


def test_a_group_whose_delta_reaches_one_is_not_covered():
    assert not dp.covers(guarantee(delta=Fraction(1, 10**6)), learns="value", units=20).is_covered


def test_a_delta_that_exposes_somebody_covers_nothing():
    found = dp.covers(guarantee(epsilon=Fraction(5, 4), delta=Fraction(9, 10**6)), learns="value", units=4)
    assert not found.is_covered
    assert "delta is too large" in found.reason


def test_with_a_delta_odds_have_no_bound_and_the_span_is_stated():
    text = str(dp.covers(guarantee(delta=Fraction(1, 10**9)), learns="presence"))
    assert "odds" not in text
    assert text.endswith("over every query")


def test_an_epsilon_that_bounds_nothing_covers_nothing():
    assert not dp.covers(guarantee(epsilon=30), learns="value").is_covered


def test_the_usual_harms_are_four_and_read_as_sentences():
    assert [(found.harm, found.is_covered) for found in usual_harms(guarantee())] == [
        ("that one patient_id is in the data", True),
        ("what the rows of one patient_id say", True),
        ("what the rows of 4 units say, each one patient_id", True),
        ("a statistic of many, as of one patient_id", False),
    ]


@pytest.mark.parametrize("argument", [{"learns": "present"}, {"learns": "value", "units": 0}])
def test_arguments_outside_their_range_are_refused(argument):
    with pytest.raises(ParameterError):
        dp.covers(guarantee(), **argument)
