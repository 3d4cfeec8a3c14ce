"""The plan of a search for slots: existing searches with their own contribution bounds, charged together."""

from fractions import Fraction

import pytest

import discreet as dp
from discreet.accounting.filters import Budget
from discreet.catalog.catalog import Catalog
from discreet.errors import BudgetError, NameNotFoundError, ParameterError, UnboundedError
from discreet.events import ComposedEvent, total_delta
from discreet.plan.fingerprint import Context, fingerprint
from discreet.plan.physical import KeyedTable
from discreet.planner import identity
from discreet.planner.budget.price import Price
from discreet.planner.queries.auto_bounds import AutoBoundsPlan
from discreet.planner.queries.found_slots import MOST_VALUES, analyze_slots
from discreet.planner.queries.partition_selection import DiscoveryPlan
from discreet.planner.queries.quantiles import QuantilePlan
from discreet.query.frame import relation_of

T = dp.table("people")
BUDGET = Budget(epsilon=2, delta=1e-9)
COLUMNS = {
    "id": {"type": "text"},
    "age": {"type": "integer", "bounds": (0, 90)},
    "cost": {"type": "real"},
    "city": {"type": "text"},
    "born": {"type": "date"},
    "employed": {"type": "boolean"},
    "note": {"type": "document"},
}


def catalog(**facts):
    known = {"privacy_unit": "id", "max_rows": 3} | facts
    return Catalog(tables={"people": {"columns": COLUMNS, **known}})


def planned(columns=None, known=None, budget=BUDGET, delta=None, bins=32, **price):
    cost = price or {"epsilon": 1}
    return analyze_slots(relation_of(T), known or catalog(), budget, columns=columns, delta=delta, bins=bins, **cost)


def test_columns_without_slots_are_searched_where_none_are_named():
    assert [search.name for search in planned().searches] == ["cost", "city", "born"]


def test_each_type_has_its_search():
    plan = planned(["age", "cost", "city", "born"])
    kinds = [QuantilePlan, AutoBoundsPlan, DiscoveryPlan, DiscoveryPlan]
    assert [type(search.plan) for search in plan.searches] == kinds
    assert plan.columns_read == ("age", "born", "city", "cost", "id")
    assert "values by partition selection" in plan.searches[2].words
    assert "'city', 'born'" in plan.key_selection
    assert len(plan.explain_outputs(Fraction(19, 20))) == 4


def test_costs_and_deltas_of_all_searches_add_to_what_was_asked_for():
    plan = planned(["age", "cost", "city", "born"])
    assert isinstance(plan.event, ComposedEvent)
    cost, whole = BUDGET.cost(plan.event), BUDGET.rho(Fraction(1))
    assert cost.rho <= whole * 10**15
    assert plan.own_delta == BUDGET.reserve / 10
    assert total_delta(plan.event) == plan.own_delta
    assert plan.delta == plan.spending.delta + plan.own_delta
    assert total_delta(planned(["city", "born"], delta=Fraction(1, 10**11)).event) == Fraction(1, 10**11)
    assert total_delta(planned(["age", "cost"]).event) == 0


@pytest.mark.guarantee("planner.queries.found_slots")
@pytest.mark.parametrize("neighbours", ["add_remove", "replace_one"])
@pytest.mark.parametrize("names", [["city"], ["age", "cost"], ["age", "cost", "city", "born"]], ids=len)
def test_the_event_is_that_of_each_query_alone_for_its_part_of_cost_and_delta(names, neighbours):
    known = catalog(neighbours=neighbours)
    plan, part = planned(names, known), {"share": Fraction(1, len(names))}
    selected = len({"city", "born"} & set(names))
    alone = []
    for name in names:
        delta = plan.own_delta / selected if name in ("city", "born") else None
        (search,) = planned([name], known, delta=delta, epsilon=1, **part).searches
        assert total_delta(search.plan.event) == (delta or 0)
        alone.append(search.plan)
    assert plan.event == ComposedEvent(tuple(each.event for each in alone))
    assert [search.plan.pushdown for search in plan.searches] == [each.pushdown for each in alone]
    assert total_delta(plan.event) == plan.own_delta <= BUDGET.reserve


@pytest.mark.parametrize("neighbours", ["add_remove", "replace_one"])
def test_a_unit_has_as_many_values_as_rows_that_count(neighbours):
    plan = planned(["city"], catalog(neighbours=neighbours))
    rule = plan.searches[0].plan.rule
    assert (rule.groups, str(rule.neighbours)) == (3, neighbours)
    assert plan.pushdown.scan.max_rows == 3
    fewer = planned(["city"], catalog(max_groups=2)).searches[0].plan.rule
    assert fewer.groups == 2


def test_rows_without_a_value_are_left_out_before_anything_is_counted():
    for search in planned(["age", "cost", "city", "born"]).searches:
        assert search.plan.pushdown.predicate is not None


def test_the_values_with_the_most_units_are_kept_where_there_are_too_many():
    search = planned(["city"]).searches[0]
    names = [(f"c{place:05}",) for place in range(MOST_VALUES + 5)]
    found = search.slots(KeyedTable(tuple(names), [list(range(len(names)))]))
    assert len(found.values) == MOST_VALUES
    assert found.values[0] == "c00005"
    assert search.slots(KeyedTable((), [[]])) is None


@pytest.mark.parametrize(
    ("words", "error"),
    [
        ({"columns": ["employed"]}, ParameterError),
        ({"columns": ["note"]}, ParameterError),
        ({"columns": ["id"]}, ParameterError),
        ({"columns": ["citty"]}, NameNotFoundError),
        ({"columns": ["city"], "delta": Fraction(1, 10**9)}, BudgetError),
        ({"columns": ["city"], "budget": Budget(epsilon=2)}, BudgetError),
        ({"columns": ["city"], "known": catalog(max_rows=None)}, UnboundedError),
        ({"columns": ["cost"], "known": catalog(max_rows=None, max_groups=2)}, UnboundedError),
        ({"columns": ["city"], "epsilon": 1, "rho": 1}, ParameterError),
    ],
    ids=str,
)
def test_what_cannot_be_found_is_refused(words, error):
    with pytest.raises(error):
        planned(**words)


def test_a_table_with_all_slots_has_nothing_to_find():
    known = Catalog(tables={"people": {"columns": {"id": {"type": "text"}, "ok": {"type": "boolean"}},
                                       "privacy_unit": "id", "max_rows": 1}})  # fmt: skip
    with pytest.raises(ParameterError, match="all columns have bounds or keys"):
        planned(known=known)


def test_numbers_are_found_under_a_pure_budget():
    plan = planned(["age", "cost"], budget=Budget(epsilon=2))
    assert plan.delta == 0


def test_another_column_delta_or_number_of_bins_is_another_question():
    def asked(columns=("city",), known=None, **words):
        plan = planned(list(columns), known, **words)
        return identity.slots(relation_of(T), known or catalog(), BUDGET, Price(Fraction(1)), plan)

    others = [asked(("born",)), asked(delta=Fraction(1, 5 * 10**10)), asked(bins=4), asked(known=catalog(max_rows=4))]
    assert asked() == asked()
    assert all(asked() != other for other in others)
    context = Context((("people", 1),), is_private=True)
    assert len({fingerprint(each, context) for each in (asked(), *others)}) == 5


@pytest.mark.draws("planner.queries.found_slots.SlotsPlan")
def test_a_search_draws_what_its_parts_draw(draws):
    plan = planned(["cost"])
    search = plan.searches[0].plan
    size = len(search.pushdown.keys.rows)
    plan.randomize([[[0] * size, [0] * size]])
    own = list(draws.calls)
    draws.calls.clear()
    search.randomize([[0] * size, [0] * size])
    assert own == draws.calls != []
    draws.calls.clear()
    assert plan.combine([[[0] * size, [0] * size]]) == [None]
    assert draws.calls == []
    assert "depends on the rows" in plan.hidden_margin(plan.explain_outputs(Fraction(1, 2))[0]).because
