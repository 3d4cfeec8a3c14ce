"""A stream of ranges is bounded by all rows of a unit, priced as a watch, and named by what it reads."""

from fractions import Fraction

import pytest

import discreet as dp
from discreet.catalog.catalog import Catalog
from discreet.errors import Refusal
from discreet.planner.queries.online_ranges import analyze_online_ranges
from discreet.query.frame import relation_of
from former import former

COLUMNS = {"id": {"type": "text"}, "age": {"type": "integer"}, "name": {"type": "text"}}
WORDS = {"total": 100, "threshold": 5, "corrections": 2, "epsilon": 1}


def made(column="age", edges=(0, 10, 20), budget=dp.Budget(epsilon=1), **facts):  # noqa: B008 - frozen
    table = {"columns": COLUMNS, "privacy_unit": "id", "max_rows": 3} | facts
    catalog = Catalog.model_validate({"tables": {"t": table}})
    return analyze_online_ranges(relation_of(dp.table("t")), column, edges, catalog, budget, **WORDS)


@pytest.mark.guarantee("workloads.stream")
@pytest.mark.parametrize("neighbours", ["add_remove", "replace_one"])
def test_noise_covers_all_rows_of_one_unit_in_any_bins(neighbours):
    asked = made(neighbours=neighbours)
    assert asked.mechanism.above_threshold.sensitivity == 3
    assert asked.pushdown.keys.inner == 1
    assert asked.mechanism.bins == len(asked.pushdown.keys.rows) == 2


def test_under_a_delta_its_epsilon_is_the_largest_that_costs_as_much_as_was_asked_for():
    budget = dp.Budget(epsilon=2, delta=1e-9, reserved_delta=0)
    asked = made(budget=budget)
    amount = asked.spending.amount * 10**15
    assert 0.999 * amount <= budget.cost(asked.event).renyi <= amount
    assert asked.delta == Fraction(1, 10**9)


@pytest.mark.parametrize(("column", "edges"), [("name", (0, 1)), ("salary", (0, 1)), ("age", (1, 1)), ("age", ())])
def test_what_has_no_ranges_is_refused(column, edges):
    with pytest.raises(Refusal):
        made(column, edges)


def test_two_streams_share_a_name_only_where_they_read_and_cost_the_same():
    names = {former(made()), former(made(edges=(0, 10))), former(made(max_rows=2))}
    assert len(names) == 3
    assert former(made()) in names
