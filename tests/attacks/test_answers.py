"""An answer of a session and the deviation of its noise, as an analyst computes them from the release."""

import pyarrow as pa
import pytest

import discreet as dp
from discreet.attacks.answers import ask_number, checked_session, deviation, is_anybody_else, neighbours_of
from discreet.errors import ParameterError

ROWS = pa.table({"who": ["a", "b", None, "a"], "city": ["x", "x", "y", None]})
T = dp.table("t")


@pytest.mark.parametrize(
    ("budget", "expected"),
    [
        (dp.Budget(epsilon=1), dp.mechanisms.Laplace(sensitivity=1, epsilon=0.5).standard_deviation),
        (
            dp.Budget(epsilon=5, delta=1e-9),
            dp.mechanisms.Gaussian(sensitivity=1, rho=dp.Budget(epsilon=5, delta=1e-9).rho(0.5)).standard_deviation,
        ),
    ],
    ids=["laplace", "gaussian"],
)
def test_the_deviation_is_that_of_the_mechanism(budget, expected):
    with dp.protect(ROWS, name="t", privacy_unit=dp.ROW, budget=budget) as session:
        answer = ask_number(session, T.agg(n=dp.count()), epsilon=0.5)
    assert answer.deviation == pytest.approx(expected, rel=1e-6)
    assert answer.is_private


def test_the_deviation_of_a_sum_is_in_its_own_terms():
    rows = pa.table({"cost": [1.0, 2.0]})
    with dp.protect(rows, name="t", privacy_unit=dp.ROW, budget=dp.Budget(epsilon=1)) as session:
        release = session.release(T.agg(total=dp.sum("cost", bounds=(0, 10), grid=0.01)), epsilon=1)
    assert deviation(release) == pytest.approx(10 * 2**0.5, rel=0.01)


def test_an_exact_answer_has_no_deviation():
    with dp.testing.protect(ROWS, name="t", privacy_unit=dp.ROW, budget=dp.Budget(epsilon=1)) as session:
        answer = ask_number(session, T.agg(n=dp.count()), epsilon=0.5)
    assert (answer.value, answer.deviation, answer.is_private) == (4, 0, False)


@pytest.mark.parametrize(
    ("person", "others"),
    [({"who": "a"}, 2), ({"who": None}, 3), ({"who": "a", "city": None}, 3), ({"who": "a", "city": "y"}, 4)],
)
def test_anybody_else_is_everyone_but_those_who_have_all_the_values(person, others):
    with dp.testing.protect(ROWS, name="t", privacy_unit=dp.ROW, budget=dp.Budget(epsilon=1)) as session:
        assert ask_number(session, T.where(is_anybody_else("t", person)).agg(n=dp.count()), epsilon=0.1).value == others


@pytest.mark.parametrize("relation", ["add_remove", "replace_one"])
def test_the_neighbours_are_those_of_the_promise(relation):
    budget = dp.Budget(epsilon=1)
    with dp.protect(ROWS, name="t", privacy_unit=dp.ROW, neighbours=relation, budget=budget) as session:
        checked_session(session)
        assert neighbours_of(session, "t") == relation


def test_what_is_no_session_is_refused_with_one_that_is():
    with pytest.raises(ParameterError, match="a session of type Table") as refused:
        checked_session(ROWS)
    assert refused.value.instead.startswith("dp.protect(")
