"""Expected errors by group come from public sizes alone, and noise is really that large."""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

import discreet as dp
from discreet.accounting.filters import Budget
from discreet.catalog.catalog import Catalog
from discreet.errors import ParameterError, UnsupportedError
from discreet.planner.expected_error import errors_by_group, expected_errors
from discreet.planner.queries.tables import analyze
from released import release

LEVEL = Fraction(19, 20)
t = dp.table("t")
QUERY = t.group_by("ward").agg(n=dp.count(), cost=dp.sum("cost"), mean=dp.mean("cost"))


def _plan(query=QUERY, epsilon=1, facts="max_rows: 3, rows: 1000"):
    catalog = Catalog.parse(
        f"tables: {{t: {{privacy_unit: id, {facts}, columns: {{id: {{type: text}}, "
        "ward: {type: text, keys: [A, B]}, cost: {type: real, bounds: [0, 100]}}}}"
    )
    return analyze(query.plan, catalog, Budget(epsilon=2), epsilon=epsilon)


def _relative(table, name):
    return next(output.relative for output in table.outputs if output.name == name)


def test_a_count_is_wrong_by_its_deviation_over_its_size():
    table = expected_errors(_plan(t.group_by("ward").agg(n=dp.count())), {"A": 400, "B": 10}, LEVEL)
    deviation = _plan(t.group_by("ward").agg(n=dp.count())).noisy_measures[0].mechanism.standard_deviation
    assert _relative(table, "n") == pytest.approx((deviation / 400, deviation / 10))
    assert table.marks[1].startswith("<- smallest")


def test_sizes_are_declared_guessed_in_all_given_by_group_or_released_before():
    plan = _plan()
    assert expected_errors(plan, None, LEVEL).sizes == (500, 500)
    assert expected_errors(plan, 60, LEVEL).sizes == (30, 30)
    assert expected_errors(plan, {"A": 7, "B": 9}, LEVEL).sizes == (7, 9)
    earlier = release([70, -5], rows=(("B",), ("A",)), names=("ward",))
    assert expected_errors(plan, earlier, LEVEL).sizes == (0, 70)
    assert expected_errors(plan, release([90], names=()), LEVEL).sizes == (45, 45)


def test_an_answer_that_was_released_before_takes_the_place_of_a_guess():
    plan = _plan()
    guessed = expected_errors(plan, {"A": 100, "B": 100}, LEVEL)
    earlier = release([100, 100], [2500, 5000], rows=(("A",), ("B",)), names=("ward",))
    renamed = earlier.outputs[1]
    known = expected_errors(plan, _with_cost(earlier, renamed), LEVEL)
    assert _relative(guessed, "cost")[0] == pytest.approx(_relative(known, "cost")[0] / 2)
    assert _relative(guessed, "cost")[1] == pytest.approx(_relative(known, "cost")[1])
    assert "cost, mean: as if values lay in the middle of their bounds" in str(guessed)
    assert "\nmean: as if values" in str(known)


def _with_cost(made, output):
    return replace(made, outputs=(made.outputs[0], replace(output, name="cost")))


@pytest.mark.statistical(false_alarm=1e-6)
def test_the_error_of_a_mean_is_what_draws_of_its_noise_have(samples):
    """4,000 draws of sum and count around 2,000 rows at a bound. False alarm: 15% are eight deviations of the root."""
    many = samples(4_000)
    plan = _plan(t.group_by("ward").agg(mean=dp.mean("cost")), epsilon=2)
    made = plan.recipes[0]
    total, present = plan.noisy_measures
    sums = np.array(total.mechanism.release([0] * many), dtype=float) * float(made.grid) + 50 * 2_000
    counts = np.array(present.mechanism.release([0] * many), dtype=float) + 2_000
    seen = np.sqrt(np.mean((sums / counts - 50) ** 2)) / 50
    (told,) = {plan.relative_error(made, Fraction(2_000))}
    assert told == pytest.approx(seen, rel=0.15)


def test_an_error_never_exceeds_what_bounds_allow():
    plan = _plan(t.group_by("ward").agg(mean=dp.mean("cost")), epsilon=0.001)
    assert plan.relative_error(plan.recipes[0], Fraction(1)) == 2.0


def test_errors_shrink_with_epsilon_and_are_those_of_one_output():
    found = errors_by_group(lambda epsilon: _plan(epsilon=epsilon), [0.1, 1], {"A": 400, "B": 10}, "cost")
    assert (found.name, found.epsilons) == ("cost", (0.1, 1.0))
    assert found.relative[0][1] > found.relative[0][0] > found.relative[1][0]
    with pytest.raises(ParameterError, match="one of"):
        errors_by_group(lambda epsilon: _plan(epsilon=epsilon), [1], None, "x")
    with pytest.raises(ParameterError, match="epsilons"):
        errors_by_group(lambda epsilon: _plan(epsilon=epsilon), [], None, None)


@pytest.mark.parametrize(
    "sizes", [{"A": 5}, release([1, 2, 3, 4]), release([5], rows=(("A",),), names=("ward",)), {"A": 1, "C": 2}]
)
def test_sizes_that_leave_a_group_open_are_refused(sizes):
    with pytest.raises(ParameterError, match="size"):
        expected_errors(_plan(), sizes, LEVEL)


def test_without_sizes_and_without_declared_rows_it_is_refused():
    with pytest.raises(ParameterError, match="rows="):
        expected_errors(_plan(facts="max_rows: 3"), None, LEVEL)


def test_other_kinds_of_questions_are_refused():
    with pytest.raises(UnsupportedError, match="without sizes"):
        expected_errors(object(), None, LEVEL)


def test_one_epsilon_is_given_as_a_list_of_one():
    with pytest.raises(ParameterError, match=r"epsilons=\[0\.1\]"):
        errors_by_group(lambda price: _plan(epsilon=price), 0.1, None, None)
    with pytest.raises(ParameterError, match=r"epsilons='0\.1'"):
        errors_by_group(lambda price: _plan(epsilon=price), "0.1", None, None)
