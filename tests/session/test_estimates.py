"""Means, medians and distances between quartiles with noise that fits the data, through a session."""

import pyarrow as pa
import pytest

import discreet as dp
from discreet.errors import BudgetError, ParameterError, UnboundedError, UnsupportedError

T = dp.table("t")
AGES = [20 + i % 41 for i in range(2_000)]
ROWS = pa.table({"id": list(range(2_000)), "age": AGES, "cost": [age / 8 for age in AGES]})
WORDS = {"name": "t", "privacy_unit": "id", "max_rows": 1}
MEAN = T.agg(age=dp.mean("age", bounds=(0, 100)))
MEDIAN = T.agg(age=dp.median("age", bounds=(0, 100)))
WIDTH = T.agg(age=dp.interquartile_range("age", bounds=(0, 100)))
RESERVED = dp.Budget(epsilon=2, delta=2e-9, reserved_delta=1e-9)


@pytest.fixture
def session():
    with dp.protect(ROWS, budget=dp.Budget(epsilon=10), **WORDS) as opened:
        yield opened


@pytest.fixture
def reserved():
    with dp.protect(ROWS, budget=RESERVED, **WORDS) as opened:
        yield opened


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        (MEAN, sum(AGES) / 2_000),
        (MEDIAN, sorted(AGES)[999]),
        (WIDTH, sorted(AGES)[1499] - sorted(AGES)[499]),
        (T.agg(cost=dp.median("cost", bounds=(0, 10))), sorted(AGES)[999] / 8),
        (T.where(T.age < 0).agg(age=dp.median("age", bounds=(0, 100))), 0),
        (T.where(T.age < 0).agg(age=dp.mean("age", bounds=(0, 100))), 50),
    ],
    ids=["mean", "median", "quartiles", "real", "nobody", "mean of nobody"],
)
def test_without_noise_they_are_exact(query, expected):
    with dp.testing.protect(ROWS, budget=dp.Budget(epsilon=1), **WORDS) as exact:
        made = exact.release(query, epsilon=0.5, method=dp.SmoothSensitivity())
    assert made.value == pytest.approx(expected, abs=0.01)
    assert not made.private


def test_a_number_is_charged_once_has_no_margin_and_a_repeat_is_free(session):
    first, again = (
        session.release(MEDIAN, epsilon=1, method=dp.SmoothSensitivity()),
        session.release(MEDIAN, epsilon=1, method=dp.SmoothSensitivity()),
    )
    assert (first.value, first.margin) == (again.value, None)
    assert (first.repeated, again.repeated) == (False, True)
    assert float(session.remaining()) == 9
    assert 0 <= first.value <= 100
    assert "Pareto" in first.made


def test_nothing_about_the_size_of_the_noise_is_stored_or_shown(session):
    made = session.release(MEDIAN, epsilon=1, method=dp.SmoothSensitivity())
    about = {"schema", "library", "private", "dataset", "name", "confidence", "made", "guarantee", "receipt"}
    assert set(made.to_json()) == about | {"value", "margin"}
    assert made.to_json()["margin"] is None


def test_a_promise_with_a_delta_gets_noise_of_a_rho(reserved):
    made = reserved.smooth(MEAN, epsilon=0.5)
    assert "log-normal" in made.made
    assert "epsilon 0.5, delta 1e-09" in made.guarantee


def test_noise_of_a_rho_may_ask_for_the_whole_promise(reserved):
    made = reserved.smooth(MEAN, epsilon=2, noise="laplace_log_normal")
    assert "epsilon 2, delta 1e-09" in made.guarantee
    assert float(reserved.remaining()) == 0


def test_laplace_noise_takes_its_delta_from_what_was_reserved(reserved):
    made = reserved.smooth(MEAN, epsilon=0.5, noise="laplace", delta=1e-10)
    assert "delta 1.1e-09" in made.guarantee
    with pytest.raises(BudgetError):
        reserved.smooth(MEAN, epsilon=0.5, noise="laplace", delta=1e-9)
    with pytest.raises(ParameterError):
        reserved.smooth(MEAN, epsilon=0.5, noise="laplace")


def test_a_pure_promise_takes_no_noise_with_a_delta(session):
    with pytest.raises(BudgetError):
        session.release(MEAN, epsilon=0.5, method=dp.SmoothSensitivity(noise="laplace", delta=1e-9))
    with pytest.raises(BudgetError):
        session.release(MEAN, epsilon=0.5, method=dp.SmoothSensitivity(noise="laplace_log_normal"))


def test_a_proposed_bound_has_a_public_margin_and_costs_the_same_where_the_test_fails(reserved):
    """A bound of 5 is 1,900 units away and the threshold 40 or so: passing fails in fewer than 1e-100 of runs."""
    made = reserved.release(MEAN, epsilon=1, method=dp.ProposedBound(bound=5, delta=1e-10))
    assert made.margin > 0
    before = float(reserved.remaining())
    too_small = reserved.release(MEAN, epsilon=1, fresh=True, method=dp.ProposedBound(bound=0.001, delta=1e-10))
    assert too_small.value is None
    assert "nothing" in str(too_small)
    assert too_small.margin is None
    assert float(reserved.remaining()) < before
    assert 0 <= made.value <= 100


@pytest.mark.parametrize(
    ("query", "error"),
    [
        (T.agg(n=dp.count()), UnsupportedError),
        (T.agg(a=dp.mean("age", bounds=(0, 1)), b=dp.mean("age", bounds=(0, 2))), UnsupportedError),
        (T.agg(m=dp.median("age")), UnboundedError),
        (T.agg(m=dp.median("age", bounds=(0, 10**6), grid=1)), ParameterError),
        (T.group_by("age", keys={"age": [1]}).agg(m=dp.median("cost", bounds=(0, 10))), UnsupportedError),
    ],
)
def test_what_has_no_noise_that_fits_is_refused(session, query, error):
    with pytest.raises(error):
        session.release(query, epsilon=1, method=dp.SmoothSensitivity())


def test_a_default_grid_is_as_coarse_as_the_bounds_are_wide():
    with dp.testing.protect(ROWS, budget=dp.Budget(epsilon=1), **WORDS) as exact:
        made = exact.release(T.agg(m=dp.median("age", bounds=(0, 10**6))), epsilon=0.5, method=dp.SmoothSensitivity())
    assert made.value == 0


def test_a_distance_between_quartiles_in_a_release_is_refused_with_the_call_that_answers_it(session):
    asked = T.agg(width=dp.interquartile_range("age", bounds=(0, 100)))
    with pytest.raises(UnsupportedError, match=r"session.smooth\(query, epsilon=...\)"):
        session.release(asked, epsilon=1)


def test_the_same_median_may_be_released_with_a_margin_or_have_noise_that_fits(session):
    assert session.release(MEDIAN, epsilon=1).outputs[0].margin_of == "ranks"
    assert session.release(MEDIAN, epsilon=1, method=dp.SmoothSensitivity()).margin is None
