"""The plan of a synthetic table: its event, slots, marginals and refusals, from public facts alone."""

from fractions import Fraction

import numpy as np
import pytest

import discreet as dp
import draws as record
from discreet.accounting.filters import Budget
from discreet.catalog.catalog import Catalog
from discreet.errors import BudgetError, NameNotFoundError, ParameterError, UnboundedError
from discreet.events import ConcentratedEvent
from discreet.mechanisms import Gaussian
from discreet.plan.fingerprint import Context, fingerprint
from discreet.plan.synthesis import private_counts
from discreet.planner import identity
from discreet.planner.budget.price import Price
from discreet.planner.format_0 import former_fingerprints
from discreet.planner.queries.synthesis import Declarations, analyze_synthesis
from discreet.query.frame import relation_of
from discreet.synthesis.core.domain import Domain
from discreet.synthesis.tree.choice import share_by_cells

T = dp.table("people")
BUDGET = Budget(epsilon=2, delta=1e-9)
COLUMNS = {
    "id": {"type": "text"},
    "age": {"type": "integer", "bounds": (0, 90)},
    "sex": {"type": "text", "keys": ["F", "M"]},
    "employed": {"type": "boolean"},
}


def catalog(**facts):
    known = {"privacy_unit": "id", "max_rows": 3} | facts
    return Catalog(tables={"people": {"columns": COLUMNS, **known}})


def planned(known=None, source=T, budget=BUDGET, synthesizer=None, **words):
    query = source.synthesize(synthesizer or dp.synthesis.IndependentSynthesizer(), **words)
    return analyze_synthesis(
        relation_of(source),
        known or catalog(),
        budget,
        synthesizer=query.synthesizer,
        columns=query.columns,
        declared=Declarations(dict(query.edges), dict(query.keys), dict(query.bounds)),
        workload=query.workload,
        epsilon=1,
    )


def no_rows(plan):
    return {marginal: np.zeros(plan.batch.shape(marginal), dtype=np.int64) for marginal in plan.batch.marginals}


def test_slots_marginals_and_contribution_come_from_the_catalog():
    plan = planned()
    assert [(column.name, column.size) for column in plan.synthesis.columns] == [
        ("age", 33),
        ("sex", 3),
        ("employed", 3),
    ]
    assert plan.batch.marginals == (("age",), ("sex",), ("employed",))
    assert (plan.contribution.rows, plan.contribution.replace_one) == (3, False)
    assert plan.pushdown.scan.max_rows == 3
    assert plan.pushdown.columns_read == ("age", "employed", "id", "sex")
    assert plan.event == ConcentratedEvent(BUDGET.rho(1))


@pytest.mark.guarantee("synthesis.core.private_counts")
@pytest.mark.parametrize("kind", ["IndependentSynthesizer", "TreeSynthesizer", "GraphicalSynthesizer"])
def test_the_charged_event_is_what_private_counts_allow(kind):
    plan = planned(synthesizer=getattr(dp.synthesis, kind)())
    counts = private_counts(plan.synthesis, no_rows(plan), plan.contribution, is_private=True)
    assert plan.event == ConcentratedEvent(counts.left)
    two = planned(synthesizer=dp.synthesis.TwoLevelSynthesizer({"sex": "min"}))
    levels = private_counts(two.synthesis, no_rows(two), two.contribution, is_private=True)
    assert two.event == ConcentratedEvent(levels.units.left + levels.rows.left)


@pytest.mark.draws("planner.queries.synthesis.SynthesisPlan")
@pytest.mark.pitfall("B23")
@pytest.mark.parametrize(("neighbours", "squared"), [("add_remove", 9), ("replace_one", 18)])
def test_a_synthesis_draws_noise_for_the_contribution_on_every_cell(draws, neighbours, squared):
    plan = planned(known=catalog(neighbours=neighbours))
    plan.randomize(no_rows(plan))
    noise = Gaussian(squared_sensitivity=squared, rho=plan.synthesis.rho / 3, dimension=6)
    assert draws.calls == [call for size in (33, 3, 3) for call in record.additive(noise.event(), [size])]
    assert 3 * noise.rho <= plan.spending.amount == BUDGET.rho(1)


def test_a_synthesis_without_noise_draws_nothing(draws):
    plan = planned()
    plan.combine(no_rows(plan))
    assert draws.calls == []


def test_a_row_that_is_a_unit_counts_once():
    plan = planned(known=catalog(privacy_unit="dp.ROW", max_rows=None), columns=["age"])
    assert plan.contribution.rows == 1
    assert plan.pushdown.scan.max_rows is None


def test_rows_of_a_unit_that_nothing_bounds_are_refused():
    with pytest.raises(UnboundedError, match=r"max_rows=10 in dp\.protect"):
        planned(known=catalog(max_rows=None, max_rows_per_group=2))


def test_a_pure_budget_is_refused():
    with pytest.raises(BudgetError, match="a delta"):
        planned(budget=Budget(epsilon=2))


def test_the_privacy_unit_is_never_synthesised():
    assert "id" not in [column.name for column in planned().synthesis.columns]
    with pytest.raises(ParameterError, match=r"columns=\['age'\]"):
        planned(columns=["id", "age"])


def test_a_derived_column_is_a_column_of_the_table():
    plan = planned(source=T.derive(old=T.age > 64), columns=["old", "sex"])
    assert plan.synthesis.columns[0].values == (False, True)


@pytest.mark.parametrize(
    "words", [{"edges": {"agee": [0, 1]}}, {"keys": {"agee": [1]}}, {"workload": [["agee"]]}, {"columns": ["agee"]}]
)
def test_unknown_columns_are_refused_with_the_nearest_name(words):
    with pytest.raises(NameNotFoundError, match="age"):
        planned(**words)


def test_edges_of_the_query_are_the_bins_of_the_column():
    assert planned(edges={"age": [0, 18, 65]}).synthesis.columns[0].edges == (0, 18, 65)


def test_keys_and_bounds_of_the_query_are_the_slots_of_the_column():
    plan = planned(keys={"sex": ["X", "F"]}, bounds={"age": (0, 3)})
    assert plan.synthesis.columns[0].edges == (0, 1, 2, 3, 4)
    assert plan.synthesis.columns[1].values == ("X", "F")


def test_another_slot_or_column_is_another_question():
    def asked(known=None, **words):
        plan = planned(known, **words)
        return identity.synthesis(relation_of(T), known or catalog(), BUDGET, Price(Fraction(1)), plan)

    others = [
        asked(columns=["age"]),
        asked(edges={"age": [0, 9]}),
        asked(keys={"sex": ["F"]}),
        asked(workload=[["age"]]),
    ]
    others.append(asked(known=catalog(max_rows=4)))
    assert asked() == asked()
    assert all(asked() != other for other in others)


def test_the_fingerprint_of_a_question_stays():
    """A stored table is found by it: where it changes, everybody is charged again."""
    asked = identity.synthesis(relation_of(T), catalog(), BUDGET, Price(Fraction(1)), planned())
    assert (
        fingerprint(asked, Context((("people", 1),), is_private=True))
        == "2b6a61ad565d9e6094951c2dc4fe914be9d6eba34fd4f3e390acfb94e6c4917b"
    )


def test_margins_of_slots_of_columns_are_public_in_advance():
    plan = planned()
    table, *columns = plan.explain_outputs(Fraction(19, 20))
    assert [each.name for each in columns] == [each.name for each in plan.synthesis.columns]
    assert table.margin == max(each.margin for each in columns)
    assert "depends on the rows" in table.note
    for each in columns:
        sigma = (plan.contribution.l2_squared / (2 * plan.synthesis.column_costs[each.name])) ** 0.5
        assert abs(each.margin - 1.96 * sigma) <= 1
    assert plan.missing_cells.startswith("have a slot")
    assert plan.clamps_values


@pytest.mark.pitfall("B23")
@pytest.mark.parametrize(("neighbours", "squared"), [("add_remove", 1), ("replace_one", 2)])
def test_two_levels_draw_noise_for_one_person_and_for_the_rows_that_count(draws, neighbours, squared):
    synthesizer = dp.synthesis.TwoLevelSynthesizer({"age": "min", "sex": "min"})
    plan = planned(known=catalog(neighbours=neighbours), synthesizer=synthesizer)
    assert plan.batch.units == plan.synthesis.units
    assert plan.batch.shape(("visit_count", "sex")) == (4, 3)
    assert plan.pushdown.scan.max_rows == 3
    plan.randomize(no_rows(plan))
    rho, sizes = plan.synthesis.rho, {"visit_count": 4, "age": 33, "sex": 3}
    assert rho == BUDGET.rho(1)
    costs = share_by_cells(Domain(sizes), [(name,) for name in sizes], Fraction(2, 5) * rho / 4)
    expected = [(squared, 2, cost, size) for cost, size in zip(costs, sizes.values(), strict=True)]
    noises = [
        (Gaussian(squared_sensitivity=each, rho=cost, dimension=dimension), size)
        for each, dimension, cost, size in [*expected, (9 * squared, 6, Fraction(2, 5) * 3 * rho / 4, 3)]
    ]
    calls = [call for noise, size in noises for call in record.additive(noise.event(), [size])]
    assert [call for call in draws.calls if call in calls] == calls
    margins = {each.name: each.margin for each in plan.explain_outputs(Fraction(19, 20))}
    assert [margins[name] for name in (*sizes, "employed")] == [noise.margin(Fraction(19, 20)) for noise, _ in noises]


@pytest.mark.parametrize(
    ("facts", "error", "text"),
    [
        ({"max_rows": None}, UnboundedError, "not bounded"),
        ({"max_rows": 1}, ParameterError, "one level"),
        ({"max_rows": 257}, ParameterError, "256"),
        ({"privacy_unit": dp.ROW, "max_rows": None}, ParameterError, "whose a row is"),
    ],
    ids=str,
)
def test_two_levels_without_persons_or_bounds_are_refused(facts, error, text):
    synthesizer = dp.synthesis.TwoLevelSynthesizer({"sex": "min"})
    with pytest.raises(error, match=text):
        planned(known=catalog(**facts), synthesizer=synthesizer, columns=["age", "sex"])


def test_a_kind_of_plan_that_0_1_0_did_not_have_has_no_fingerprint_of_then():
    plan, context = planned(), Context((("people", 1),), is_private=True)
    assert former_fingerprints(plan, context) == ()
