"""Two exact sums give a person's value; two sums of a session differ by noise as wide as the range of values."""

import math

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import discreet as dp
from discreet.attacks import differencing
from discreet.errors import NameNotFoundError, ParameterError, TypeMismatchError

PEOPLE = pa.table(
    {
        "name": ["Ada", "Ben", None, "Cy"],
        "town": ["x", None, "x", "y"],
        "age": [36, 41, 17, None],
        "pay": [1.5, 2, 3, 4],
    }
)
ADA = {"name": "Ada", "town": "x"}


@pytest.mark.parametrize("made", [lambda t: t, pa.Table.to_pandas, pl.DataFrame], ids=["arrow", "pandas", "polars"])
def test_two_exact_sums_give_one_persons_value(made):
    outcome = differencing.against_table(made(PEOPLE), value="age", person=ADA, bounds=(0, 120))
    assert (outcome.everyone, outcome.without, outcome.difference) == (94, 58, 36)
    assert (outcome.truth, outcome.error, outcome.people) == (36, 0, 1)
    assert "36: the one person's value, exactly" in outcome.inference


@pytest.mark.parametrize(
    ("person", "value", "difference"),
    [
        ({"name": None}, "age", 17),
        ({"age": 41}, "age", 41),
        ({"name": "Cy"}, "age", 0),
        ({"name": "Ben"}, "pay", 2.0),
    ],
    ids=["a missing name", "the value itself", "a missing value", "reals"],
)
def test_what_differs_is_whoever_has_the_values(person, value, difference):
    outcome = differencing.against_table(PEOPLE, value=value, person=person, bounds=(0, 120))
    assert outcome.difference == pytest.approx(difference)
    assert outcome.people == 1


def test_the_sum_of_the_ages_of_the_census_gives_away_one_age(adult):
    outcome = differencing.against_table(adult, value="Age", person={"fnlwgt": 77516, "Age": 39}, bounds=(0, 120))
    assert (outcome.everyone, outcome.without) == (1_256_257, 1_256_218)
    assert outcome.difference == 39
    assert outcome.noise_at_epsilon == 240
    assert "deviation 240: 2 times the whole range" in outcome.with_epsilon


def test_a_session_hides_it_under_noise_of_the_deviation_that_is_stated(adult):
    """Each sum has noise of scale 120, which exceeds 3,600 with probability e^-30; two of them: below 1e-12."""
    person = {"fnlwgt": 77516, "Age": 39}
    with dp.protect(adult, privacy_unit=dp.ROW, budget=dp.Budget(epsilon=2)) as session:
        outcome = differencing.against_session(
            session, table="adult", value="Age", person=person, bounds=(0, 120), epsilon=1, truth=39
        )
        assert session.remaining().epsilon == 0
    assert outcome.deviation == pytest.approx(240, rel=1e-3)
    assert outcome.error == abs(outcome.difference - 39)
    assert outcome.error <= 7_200
    assert "with noise of deviation 240 on it" in outcome.inference


def test_the_questions_of_the_attack_are_the_two_sums_and_exact_without_noise():
    with dp.testing.protect(PEOPLE, name="t", privacy_unit=dp.ROW, budget=dp.Budget(epsilon=2)) as session:
        for person, difference in ((ADA, 36), ({"name": None}, 17), ({"town": "x"}, 53)):
            outcome = differencing.against_session(
                session, table="t", value="age", person=person, bounds=(0, 120), epsilon=0.1
            )
            assert (outcome.everyone, outcome.difference, outcome.deviation) == (94, difference, 0)


def test_the_deviation_of_the_difference_is_that_of_two_independent_draws():
    rows = pa.table({"v": [1] * 10})
    mechanism = dp.mechanisms.Laplace(sensitivity=1, epsilon=1)
    with dp.protect(rows, name="t", privacy_unit=dp.ROW, budget=dp.Budget(epsilon=2)) as session:
        outcome = differencing.against_session(session, table="t", value="v", person={"v": 1}, bounds=(0, 1), epsilon=1)
    assert outcome.deviation == pytest.approx(mechanism.standard_deviation * math.sqrt(2))


def test_the_picture_shows_exact_sums_and_two_epsilons_or_the_session():
    outcome = differencing.against_table(PEOPLE, value="age", person=ADA, bounds=(0, 120))
    label = outcome.plot().get_label()
    assert "exact sums 36 ± 0" in label
    assert "epsilon 1 for each sum 36 ± 470" in label
    with dp.protect(PEOPLE, name="t", privacy_unit=dp.ROW, budget=dp.Budget(epsilon=2)) as session:
        asked = differencing.against_session(
            session, table="t", value="age", person=ADA, bounds=(0, 120), epsilon=1, truth=36
        )
    assert "this session, epsilon 1" in asked.plot().get_label()
    assert "exact" not in asked.plot().get_label()


@pytest.mark.parametrize(
    ("words", "error"),
    [
        ({"person": {}}, ParameterError),
        ({"person": {"name": "Zoe"}}, ParameterError),
        ({"person": {"town": "x"}}, ParameterError),
        ({"person": "P00017"}, ParameterError),
        ({"person": {"naming": "Ada"}}, NameNotFoundError),
        ({"value": "name"}, TypeMismatchError),
        ({"bounds": (1, 0)}, ParameterError),
        ({"epsilon": 0}, ParameterError),
    ],
)
def test_questions_without_sense_are_refused(words, error):
    given = {"value": "age", "person": ADA, "bounds": (0, 120)} | words
    with pytest.raises(error):
        differencing.against_table(PEOPLE, **given)


def test_an_exact_value_is_said_with_all_its_digits():
    rows = pa.table({"name": ["Ada", "Ben"], "pay": [2023.11, 1_000_000.5]})
    outcome = differencing.against_table(rows, value="pay", person={"name": "Ada"}, bounds=(0, 10**6))
    assert "2,023.11: the one person's value, exactly" in outcome.inference
    assert "1,002,023.61 and 1,000,000.5" in outcome.has


def test_how_many_share_the_values_is_said_where_they_are_not_one():
    with pytest.raises(ParameterError, match="2 rows have these values"):
        differencing.against_table(PEOPLE, value="age", person={"town": "x"}, bounds=(0, 120))


def test_a_session_is_not_said_to_differ_by_one_person():
    with dp.testing.protect(PEOPLE, name="t", privacy_unit=dp.ROW, budget=dp.Budget(epsilon=2)) as session:
        outcome = differencing.against_session(
            session, table="t", value="age", person={"town": "x"}, bounds=(0, 120), epsilon=0.1
        )
    assert "everyone but people with the known values" in outcome.has
    assert "53: the sum over people with these values, exactly" in outcome.inference


@pytest.mark.parametrize(("session", "person"), [(None, ADA), ("session", "P00017")])
def test_a_session_or_person_of_another_kind_is_refused(session, person):
    words = {"table": "t", "value": "age", "bounds": (0, 120), "epsilon": 1}
    with (
        dp.testing.protect(PEOPLE, name="t", privacy_unit=dp.ROW, budget=dp.Budget(epsilon=2)) as opened,
        pytest.raises(ParameterError, match="of type"),
    ):
        differencing.against_session(opened if session else None, person=person, **words)


def test_a_session_refuses_a_person_of_whom_nothing_is_known():
    with (
        dp.protect(pd.DataFrame({"v": [1]}), name="t", privacy_unit=dp.ROW, budget=dp.Budget(epsilon=2)) as session,
        pytest.raises(ParameterError, match="nothing is known"),
    ):
        differencing.against_session(session, table="t", value="v", person={}, bounds=(0, 1), epsilon=1)
