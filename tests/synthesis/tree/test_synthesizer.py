"""A tree synthesis spends what it was charged, and gives a table whatever the counts and the noise are."""

import json
from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest

from discreet.catalog.catalog import ColumnType
from discreet.errors import ParameterError
from discreet.plan.slots import SlotColumn
from discreet.plan.synthesis import SynthesisFacts
from discreet.synthesis.core.domain import Domain
from discreet.synthesis.core.private_counts import Contribution, ExactCounts, PrivateCounts
from discreet.synthesis.rows.constraints import Exclusion, Implication
from discreet.synthesis.tree.model import TreeModel
from discreet.synthesis.tree.synthesizer import TreeSynthesizer

COLUMNS = tuple(
    SlotColumn(name, ColumnType.TEXT, values=tuple(f"{name}{place}" for place in range(size)))
    for name, size in {"a": 3, "b": 2, "c": 4, "d": 2}.items()
)
ONE = Contribution(1, replace_one=False)


def table(rows=4_000):
    """b follows a, c follows b, d is on its own."""
    rng = np.random.default_rng(9)
    a = rng.integers(0, 3, rows)
    b = np.where(rng.random(rows) < 0.9, a % 2, 2)
    c = np.where(rng.random(rows) < 0.8, b, rng.integers(0, 5, rows))
    return np.stack([a, b, c, rng.integers(0, 2, rows)], axis=1)


def counts_of(synthesis, rows, kind=PrivateCounts, contribution=ONE):
    names = [column.name for column in synthesis.columns]
    domain = Domain.of(synthesis.columns)
    counts = {}
    for columns in synthesis.candidates:
        counts[columns] = np.zeros(domain.shape(columns), dtype=np.int64)
        np.add.at(counts[columns], tuple(rows[:, names.index(name)] for name in columns), 1)
    return kind(domain, counts, contribution, synthesis.rho)


def synthesis_of(columns=COLUMNS, rho=Fraction(1, 10), contribution=ONE):
    return TreeSynthesizer().synthesis(SynthesisFacts(columns, rho, contribution))


def model_of(state):
    return TreeModel.from_json(json.loads(json.dumps(state))["model"])


@pytest.mark.guarantee("synthesis.tree.synthesizer")
@pytest.mark.parametrize("number", [1, 2, 3, 4])
def test_all_answers_together_cost_at_most_what_was_charged(number):
    synthesis = synthesis_of(COLUMNS[:number])
    private = counts_of(synthesis, table())
    synthesis.train(private)
    assert 0 <= private.left < synthesis.rho / 100


@pytest.mark.guarantee("synthesis.tree.synthesizer")
def test_rows_enter_through_private_counts_alone():
    """Two tables with the same answers have the same state, so that the state is a function of the answers."""

    class Constant(ExactCounts):
        def _add_noise(self, exact, noise):
            return np.full(exact.shape, 100) + 0 * int(noise.sigma)

        def _choose(self, scores, mechanism):
            return 0 * len(scores) * int(mechanism.epsilon)

    synthesis = synthesis_of()
    one, other = (synthesis.train(counts_of(synthesis, table(rows), Constant)) for rows in (10, 3_000))
    assert one == other


def test_the_pairs_that_depend_on_each_other_are_the_edges():
    synthesis = synthesis_of()
    model = model_of(synthesis.train(counts_of(synthesis, table(), ExactCounts)))
    assert {("a", "b"), ("b", "c")} <= set(model.edges)
    exact = np.zeros((4, 3))
    np.add.at(exact, (table()[:, 0], table()[:, 1]), 1)
    assert np.abs(model.marginal(("a", "b")) - exact).sum() / 8_000 < 0.01


def test_the_state_is_plain_data_with_the_noisy_marginals():
    synthesis = synthesis_of()
    state = json.loads(json.dumps(synthesis.train(counts_of(synthesis, table()))))
    assert set(state) == {"columns", "total", "measurements", "model", "draw"}
    singles = [each for each in state["measurements"] if len(each["columns"]) == 1]
    pairs = [each for each in state["measurements"] if len(each["columns"]) == 2]
    assert {each["columns"][0] for each in singles} == set("abcd")
    assert all(set(each["groups"]) == set(each["columns"]) for each in pairs)
    assert state["model"]["kind"] == synthesis.parameters["kind"] == "tree"
    assert abs(state["total"] - 4_000) < 100


@pytest.mark.parametrize("number", [1, 2, 4])
@pytest.mark.parametrize("rows", [0, 1, 500])
@pytest.mark.parametrize("rho", [Fraction(1, 10**12), Fraction(1, 1_000), Fraction(10)])
def test_any_counts_and_any_noise_give_a_table(number, rows, rho):
    synthesis = synthesis_of(COLUMNS[:number], rho)
    model = model_of(synthesis.train(counts_of(synthesis, table(rows)[:, :number])))
    assert model.total >= 0
    for columns in combinations("abcd"[:number], min(number, 2)):
        marginal = model.marginal(columns)
        assert np.isfinite(marginal).all()
        assert marginal.min() >= 0
        assert marginal.sum() == pytest.approx(model.total)
    drawn = model.rows(50, np.random.default_rng(1))
    assert (drawn < np.array([column.size for column in COLUMNS[:number]])).all()


def test_units_with_several_rows_have_more_noise():
    sigmas = []
    for contribution in (ONE, Contribution(5, replace_one=True)):
        synthesis = synthesis_of(contribution=contribution)
        state = synthesis.train(counts_of(synthesis, table(), contribution=contribution))
        sigmas.append(state["measurements"][0]["sigma"])
    assert sigmas[1] / sigmas[0] == pytest.approx(5 * 2**0.5, rel=0.01)


def test_a_pair_that_is_too_wide_is_no_candidate():
    wide = [SlotColumn(name, ColumnType.INTEGER, edges=tuple(range(3_001))) for name in "xy"]
    synthesis = synthesis_of((*wide, COLUMNS[0]))
    assert ("x", "y") not in synthesis.candidates
    assert ("x", "a") in synthesis.candidates


def test_a_table_that_does_not_fit_the_memory_is_refused():
    wide = tuple(SlotColumn(f"c{place}", ColumnType.INTEGER, edges=tuple(range(2_000))) for place in range(9))
    with pytest.raises(ParameterError, match="9 columns with 144,"):
        synthesis_of(wide)
    with pytest.raises(ParameterError, match="0 columns"):
        synthesis_of(())


def test_what_is_measured_is_said_in_words():
    words = dict(synthesis_of().words)
    assert words["measured"] == "the one-way marginals of 4 columns, for 40% of the cost"
    assert words["chosen"] == "at most 3 of 6 pairs of columns, for 5%"
    assert dict(synthesis_of(COLUMNS[:1]).words) == {"measured": "the counts of the one column, for the whole cost"}
    assert "chosen" not in dict(synthesis_of(COLUMNS[:2]).words)


def test_a_workload_weighs_in_costs_and_choices():
    names = tuple(column.name for column in COLUMNS)
    facts = SynthesisFacts(COLUMNS, Fraction(1, 10), ONE, (names[:3],))
    synthesis = TreeSynthesizer().synthesis(facts)
    assert dict(synthesis.words)["workload"] == "3 columns and 3 pairs count 4 times in costs and choices"
    assert (names[0], names[2]) in synthesis.wanted
    assert synthesis.parameters != synthesis_of().parameters
    assert "wanted" not in synthesis_of().parameters


@pytest.mark.parametrize("rho", [Fraction(1, 10**6), Fraction(1, 10)])
def test_constraints_hold_in_every_row(rho):
    constraints = (
        Exclusion({"a": "a0", "d": "d1"}),
        Implication("b", "c", {"b0": ["c0", "c1"]}),
        Exclusion({"c": None}),
    )
    synthesizer = TreeSynthesizer(constraints=constraints)
    synthesis = synthesizer.synthesis(SynthesisFacts(COLUMNS, rho, ONE))
    private = counts_of(synthesis, table())
    model = model_of(synthesis.train(private))
    assert {("a", "d"), ("b", "c")} <= set(model.edges)
    assert 0 <= private.left < rho / 100
    rows = model.rows(3_000, np.random.default_rng(2))
    assert not ((rows[:, 0] == 0) & (rows[:, 3] == 1)).any()
    assert (rows[rows[:, 1] == 0, 2] <= 1).all()
    assert (rows[:, 2] < 4).all()
    assert "constraints" in dict(synthesis.words)
    assert [columns for columns, _ in synthesis.parameters["constraints"]] == [
        list(rule.columns) for rule in synthesis.rules
    ]


def test_a_constraint_that_a_tree_cannot_hold_is_refused_before_data():
    wide = tuple(SlotColumn(name, ColumnType.INTEGER, edges=tuple(range(3_001))) for name in "xy")
    with pytest.raises(ParameterError, match="'x' and 'y'"):
        TreeSynthesizer(constraints=(Exclusion({"x": (0, 1), "y": (0, 1)}),)).synthesis(
            SynthesisFacts(wide, Fraction(1), ONE)
        )
