"""Sums of products as a plan, by public facts: lattices, integers, noise, refusals."""

from fractions import Fraction

import pytest

import discreet as dp
import draws as record
from discreet.accounting.prices import total
from discreet.catalog.catalog import Catalog
from discreet.catalog.privacy_unit import Neighbours
from discreet.engines.backends.duckdb import DuckDB
from discreet.engines.sql import aggregates
from discreet.errors import ParameterError, TypeMismatchError, UnboundedError
from discreet.plan.fingerprint import canonical
from discreet.plan.logical import Aggregate, MomentsMeasure, Output, TableRef
from discreet.plan.physical import CountRows, SumProducts, SumSteps
from discreet.planner.queries.moments import (
    LATTICE,
    analyze_moments,
    lattice_axis,
    moments_sensitivity,
    pairs_of,
)

LIMITS = {"x": (Fraction(0), Fraction(10)), "y": (Fraction(1), Fraction(3))}


COLUMNS = {"id": "integer", "x": "real", "y": "integer", "ward": "text", "b": "boolean"}


def planned(neighbours="add_remove", budget=None, max_rows=2, columns=("x", "y"), bounds=LIMITS, products="all"):
    facts = {"privacy_unit": ["id"], "neighbours": neighbours, "max_rows": max_rows}
    table = facts | {"columns": {name: {"type": kind} for name, kind in COLUMNS.items()}}
    catalog = Catalog.model_validate({"tables": {"t": table}})
    measure = MomentsMeasure(tuple(columns), tuple(map(bounds.get, columns)), products)
    query = Aggregate(TableRef("t"), (Output("total", measure),))
    return analyze_moments(query, catalog, budget or dp.Budget(epsilon=2, delta=1e-6), epsilon=1)


def test_all_products_are_asked_for_in_one_query_and_each_once():
    plan = planned(columns=["x", "y", "b"])
    assert len(plan.pushdown.measures) == len(set(plan.pushdown.measures)) == 10 == len(plan.pairs)
    assert isinstance(plan.pushdown.measures[0], CountRows)
    assert sum(isinstance(each, SumSteps) for each in plan.pushdown.measures) == 3
    assert sum(isinstance(each, SumProducts) for each in plan.pushdown.measures) == 6
    assert plan.pushdown.columns_read == ("b", "id", "x", "y")
    assert "SumProducts" in canonical(plan.pushdown)


def test_scalers_need_counts_sums_and_squares_alone():
    assert pairs_of(2, "squares") == ((0, 0), (0, 1), (0, 2), (1, 1), (2, 2))
    assert planned(products="squares").sensitivity.l2_squared == 4 * LATTICE**4 * 5


@pytest.mark.guarantee("planner.queries.moments")
def test_the_sensitivity_is_that_of_the_proof():
    step = LATTICE**2
    added = moments_sensitivity(11, "all", 1, Neighbours.ADD_REMOVE)
    assert (added.l0, added.l1, added.l2_squared, added.linf) == (78, 78 * step, 78 * step**2, step)
    replaced = moments_sensitivity(11, "all", 3, Neighbours.REPLACE_ONE)
    assert replaced.l2_squared == 9 * 144 * step**2
    assert replaced.l1**2 >= 78 * replaced.l2_squared > (replaced.l1 - 3 * step) ** 2
    assert replaced.linf == 6 * step


@pytest.mark.guarantee("planner.queries.moments")
@pytest.mark.parametrize("neighbours", ["add_remove", "replace_one"])
def test_the_noise_that_is_drawn_is_the_one_that_is_charged(neighbours):
    plan = planned(neighbours=neighbours)
    assert plan.event == plan.mechanism.event()
    assert total(plan.event).rho <= plan.spending.amount
    assert Fraction(plan.mechanism.squared_sensitivity) >= plan.sensitivity.l2_squared
    assert len(plan.randomize([[3]] * 6)[0]) == 6


def test_counts_and_sums_are_scaled_so_that_all_integers_are_products():
    (combined,) = planned().combine([[3], [5], [7], [11], [13], [17]])
    assert combined == [
        3 * LATTICE**2,
        5 * LATTICE,
        7 * LATTICE,
        11,
        13,
        17,
    ]


def test_a_lattice_ends_within_half_a_step_of_the_bounds():
    for low, high in ((0, 10), (-1, 2), (17, 90), (1_000_000, 1_000_007)):
        axis = lattice_axis("x", (Fraction(low), Fraction(high)))
        assert abs((axis.centre - LATTICE) * axis.grid - low) <= axis.grid / 2
        assert abs((axis.centre + LATTICE) * axis.grid - high) <= axis.grid / 2
        assert axis.missing == axis.centre


def test_each_factor_is_computed_once_for_a_row():
    sql = aggregates.aggregate_sql(planned().pushdown, "rows_of_t", "keys", 1, DuckDB.dialect)
    assert sql.count("AS discreet_factor") == 2
    assert sql.count("sum(") == 5
    assert "HUGEINT" not in sql


def test_a_pure_budget_has_noise_that_covers_the_l1_norm():
    plan = planned(budget=dp.Budget(epsilon=2))
    assert plan.spending.is_pure


def test_explanations_state_how_many_sums_there_are():
    (output,) = planned().explain_outputs(Fraction(19, 20))
    assert output.margin is not None
    assert output.margin > 0
    assert "6 sums" in output.note


@pytest.mark.parametrize(
    ("words", "error"),
    [
        ({"columns": []}, ParameterError),
        ({"columns": ["(constant)"]}, ParameterError),
        ({"columns": ["ward"]}, TypeMismatchError),
        ({"bounds": {}}, UnboundedError),
        ({"bounds": {"x": (Fraction(1), Fraction(1))}, "columns": ["x"]}, ParameterError),
        ({"max_rows": None}, UnboundedError),
    ],
)
def test_what_has_no_bounded_sensitivity_is_refused_before_data(words, error):
    with pytest.raises(error):
        planned(**words)


def test_a_session_explains_releases_repeats_and_restores_moments():
    people = dp.datasets.people(2_000)
    bounds = {"education_years": (0, 20), "hours_per_week": (0, 100)}
    query = dp.table("people").moments(*bounds, bounds=bounds)
    budget = dp.Budget(epsilon=3, delta=1e-9)
    with dp.testing.protect(people, name="people", privacy_unit=dp.ROW, budget=budget) as session:
        assert session.explain(query, epsilon=1)
        release = session.release(query, epsilon=1)
        assert session.release(query, epsilon=1).repeated
        wider = session.release(query, epsilon=1, confidence=0.99)
    assert [key.name for key in release.keys] == ["left", "right"]
    assert release.keys[0].values[:3] == ("(constant)",) * 3
    assert release.outputs[0].values[0] == 2_000
    assert wider.outputs[0].margins[0] > release.outputs[0].margins[0]
    assert dp.Release.from_json(release.to_json()) == release
    hours = (people["hours_per_week"].to_numpy() - 50) / 50
    assert release.outputs[0].values[2] == pytest.approx(hours.sum(), abs=2_000 / 2048)


@pytest.mark.pitfall("B23")
@pytest.mark.draws("planner.queries.moments.MomentsPlan")
@pytest.mark.parametrize("neighbours", ["add_remove", "replace_one"])
def test_every_sum_has_a_draw_of_its_own_from_the_noise_that_is_charged(draws, neighbours):
    plan = planned(neighbours=neighbours)
    exact = [[place] for place in range(6)]
    noisy = plan.randomize(exact)
    assert draws.calls == record.additive(plan.event, [6])
    assert record.carried(noisy, plan.combine(exact)) == draws.returned == [1, 2, 3, 4, 5, 6]
