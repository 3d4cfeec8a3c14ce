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
from discreet.planner import identity
from discreet.planner.budget.price import Price
from discreet.planner.queries.synthesis import analyze_synthesis
from discreet.query.frame import relation_of

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


def planned(known=None, source=T, budget=BUDGET, **words):
    query = source.synthesize(dp.synthesis.IndependentSynthesizer(), **words)
    return analyze_synthesis(
        relation_of(source),
        known or catalog(),
        budget,
        synthesizer=query.synthesizer,
        columns=query.columns,
        edges=dict(query.edges),
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


@pytest.mark.parametrize("words", [{"edges": {"agee": [0, 1]}}, {"workload": [["agee"]]}, {"columns": ["agee"]}])
def test_unknown_columns_are_refused_with_the_nearest_name(words):
    with pytest.raises(NameNotFoundError, match="age"):
        planned(**words)


def test_edges_of_the_query_are_the_bins_of_the_column():
    assert planned(edges={"age": [0, 18, 65]}).synthesis.columns[0].edges == (0, 18, 65)


def test_another_slot_or_column_is_another_question():
    def asked(known=None, **words):
        plan = planned(known, **words)
        return identity.synthesis(relation_of(T), known or catalog(), BUDGET, Price(Fraction(1)), plan)

    others = [asked(columns=["age"]), asked(edges={"age": [0, 9]}), asked(workload=[["age"]])]
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


def test_how_well_it_fits_is_not_public_in_advance():
    plan = planned()
    (output,) = plan.explain_outputs(Fraction(19, 20))
    assert output.margin is None
    assert "depends on the rows" in plan.hidden_margin(output).because
    assert plan.missing_cells.startswith("have a slot")
    assert plan.clamps_values
