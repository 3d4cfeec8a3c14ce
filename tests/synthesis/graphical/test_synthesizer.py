"""The graphical synthesizer plans from public facts, spends its cost through private counts, and gives plain data."""

import json
from fractions import Fraction

import numpy as np
import pytest

from discreet.catalog.catalog import ColumnType
from discreet.errors import NameNotFoundError, ParameterError
from discreet.plan.slots import SlotColumn
from discreet.plan.synthesis import Contribution, SynthesisFacts, private_counts, synthesizer_tag
from discreet.synthesis.graphical.bounds import bounds_from_json
from discreet.synthesis.graphical.model import model_from_json
from discreet.synthesis.graphical.synthesizer import GraphicalSynthesizer, default_rounds
from discreet.synthesis.rows.constraints import Exclusion, Implication

COLUMNS = (
    SlotColumn("age", ColumnType.INTEGER, edges=(0, 30, 60, 90)),
    SlotColumn("sex", ColumnType.TEXT, values=("f", "m")),
    SlotColumn("city", ColumnType.TEXT, values=("Bern", "Chur", "Genf")),
)
ONE = Contribution(rows=1, replace_one=False)


def facts(workload=None, columns=COLUMNS, rho=Fraction(1, 10)):
    return SynthesisFacts(columns, rho, ONE, workload)


def tables(synthesis, number=3000, rules=None):
    """Exact counts of random rows; with rules, of the rows that keep them."""
    generator = np.random.default_rng(8)
    rows = {column.name: generator.integers(column.size, size=number) for column in synthesis.columns}
    rows["sex"] = np.where(rows["age"] == 0, 0, rows["sex"])
    for columns, allowed in (rules or {}).items():
        kept = allowed[tuple(rows[name] for name in columns)]
        rows = {name: places[kept] for name, places in rows.items()}
    found = {}
    for columns in synthesis.candidates:
        shape = [column.size for column in synthesis.columns if column.name in columns]
        found[columns] = np.zeros(shape, dtype=np.int64)
        np.add.at(found[columns], tuple(rows[name] for name in columns), 1)
    return found


def train(synthesizer=None, *, is_private=True, workload=None):
    synthesis = (synthesizer or GraphicalSynthesizer()).synthesis(facts(workload))
    counts = private_counts(synthesis, tables(synthesis), ONE, is_private=is_private)
    return synthesis, counts, synthesis.train(counts)


@pytest.mark.guarantee("synthesis.graphical.synthesizer")
def test_everything_is_an_answer_of_private_counts_within_the_cost(monkeypatch):
    answers = []
    synthesis = GraphicalSynthesizer().synthesis(facts())
    counts = private_counts(synthesis, tables(synthesis), ONE, is_private=True)
    kind = type(counts)
    real = {name: getattr(kind, name) for name in ("measure", "select")}

    def recorded(name):
        def call(self, what, rho):
            before = self.left
            found = real[name](self, what, rho)
            answers.append((name, rho, before - self.left))
            return found

        return call

    for name in real:
        monkeypatch.setattr(kind, name, recorded(name))
    state = synthesis.train(counts)
    assert {name for name, _, _ in answers} == {"measure", "select"}
    assert all(0 < spent <= rho for _, rho, spent in answers)
    assert sum(spent for _, _, spent in answers) + counts.left == synthesis.rho
    assert len(state["measurements"]) == sum(name == "measure" for name, _, _ in answers)


@pytest.mark.guarantee("synthesis.graphical.synthesizer")
def test_the_state_depends_on_counts_through_answers_alone(monkeypatch):
    """With the same answers two different tables give the same state."""
    synthesis = GraphicalSynthesizer().synthesis(facts())
    found = tables(synthesis)
    others = {columns: np.flip(table).copy() for columns, table in found.items()}
    kind = type(private_counts(synthesis, found, ONE, is_private=False))
    monkeypatch.setattr(kind, "_add_noise", lambda _, exact, __: np.full(exact.shape, 50, dtype=np.int64))
    monkeypatch.setattr(kind, "_choose", lambda *_: 0)
    states = [synthesis.train(private_counts(synthesis, each, ONE, is_private=False)) for each in (found, others)]
    assert states[0] == states[1]


def test_the_state_is_plain_data_and_gives_the_model_and_bounds_back():
    synthesis, _, state = train(is_private=False)
    again = json.loads(json.dumps(state))
    model = model_from_json(again["model"])
    exact = tables(synthesis)[("age", "sex")]
    assert np.abs(model.marginal(("age", "sex")) - exact).sum() < 60
    assert np.abs(model.marginal(("age", "sex")) - exact).sum() <= bounds_from_json(again["bounds"]).l1(("age", "sex"))
    assert [each["name"] for each in again["columns"]] == ["age", "sex", "city"]
    assert again["total"] == pytest.approx(3000)
    assert isinstance(again["draw"], int)
    assert model.rows(10, np.random.default_rng(again["draw"])).shape == (10, 3)


def test_measurements_of_merged_slots_name_their_groups():
    _, _, state = train(is_private=False)
    columns = {column.name: column.size for column in COLUMNS}
    for each in state["measurements"]:
        sizes = [max(each.get("groups", {}).get(name, range(columns[name]))) + 1 for name in each["columns"]]
        assert len(each["values"]) == np.prod(sizes)


def test_candidates_are_all_columns_and_all_pairs_or_the_parts_of_the_workload():
    assert len(GraphicalSynthesizer().synthesis(facts()).candidates) == 6
    synthesis = GraphicalSynthesizer(workload=[["city", "age"]]).synthesis(facts())
    assert synthesis.candidates == (("age",), ("sex",), ("city",), ("age", "city"))
    triple = GraphicalSynthesizer().synthesis(facts(workload=(("age", "sex", "city"),)))
    assert len(triple.candidates) == 7
    assert triple.plan.weights[("age", "sex", "city")] == 3
    assert triple.plan.weights[("age", "sex")] == 2
    weighted = GraphicalSynthesizer(workload={("age", "sex"): 5, ("sex", "city"): 1}).synthesis(facts())
    assert weighted.plan.weights == {("age", "sex"): 11, ("sex", "city"): 7}


def test_a_workload_of_three_columns_is_modelled():
    synthesis, _, state = train(workload=(("age", "sex", "city"),), is_private=False)
    exact = tables(synthesis)[("age", "sex", "city")]
    model = model_from_json(state["model"])
    assert np.abs(model.marginal(("age", "sex", "city")) - exact).sum() < 300


def test_one_column_gets_the_whole_cost():
    synthesis = GraphicalSynthesizer().synthesis(facts(columns=COLUMNS[:1]))
    counts = private_counts(synthesis, tables_of_age(synthesis), ONE, is_private=True)
    state = synthesis.train(counts)
    assert len(state["measurements"]) == 1
    assert "whole cost" in synthesis.words[0][1]


def tables_of_age(synthesis):
    return {columns: np.array([10, 20, 30, 0], dtype=np.int64) for columns in synthesis.candidates}


def test_parameters_are_plain_and_differ_with_every_argument():
    variants = [{}, {"max_cells": 1000}, {"rounds": 3}, {"workload": [("age", "sex")]}]
    texts = {json.dumps(GraphicalSynthesizer(**each).synthesis(facts()).parameters) for each in variants}
    assert len(texts) == len(variants)
    assert any("junction tree" in text for _, text in GraphicalSynthesizer().synthesis(facts()).words)


def test_a_session_knows_the_synthesizer():
    assert synthesizer_tag(GraphicalSynthesizer()) == "graphical"


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ({"max_cells": 0}, "max_cells=0"),
        ({"max_cells": True}, "max_cells=True"),
        ({"rounds": 1.5}, "rounds=1.5"),
        ({"workload": [[]]}, "workload entry"),
        ({"workload": {("age", "sex"): 0}}, "weight 0"),
        ({"workload": [["age", 3]]}, "workload entry"),
    ],
)
def test_arguments_outside_their_range_are_refused(arguments, text):
    with pytest.raises(ParameterError, match=text):
        GraphicalSynthesizer(**arguments)


def test_unknown_columns_and_too_many_cells_are_refused_before_data():
    with pytest.raises(ParameterError, match="height"):
        GraphicalSynthesizer(workload=[["age", "height"]]).synthesis(facts())
    wide = tuple(SlotColumn(f"c{place}", ColumnType.INTEGER, edges=tuple(range(1500))) for place in range(20))
    with pytest.raises(ParameterError, match="20 columns"):
        GraphicalSynthesizer().synthesis(facts(columns=wide))
    with pytest.raises(ParameterError, match="0 columns"):
        GraphicalSynthesizer().synthesis(facts(columns=()))


def test_rounds_are_three_for_each_edge_of_a_tree_and_no_more_than_40_beyond_one():
    assert [default_rounds(columns) for columns in (1, 2, 15, 21, 100)] == [1, 3, 42, 60, 139]


def test_a_weight_of_another_class_is_refused_also_where_it_was_set_later():
    class Weight(int):
        pass

    with pytest.raises(ParameterError, match="weight"):
        GraphicalSynthesizer(workload={("a", "b"): Weight(2)})
    late = GraphicalSynthesizer()
    object.__setattr__(late, "rounds", Weight(2))
    with pytest.raises(ParameterError, match="rounds"):
        late.synthesis(None)


ADULTS = Exclusion({"age": (None, 30)})
PLACES = Implication("city", "sex", {"Bern": "f", "Chur": ["m", None], None: "m"})
NO_OLD = Exclusion({"age": (60, None), "city": ["Genf", None]})


@pytest.mark.parametrize("is_private", [True, False])
def test_constraints_hold_in_every_row_and_every_marginal(is_private):
    synthesizer = GraphicalSynthesizer(constraints=[ADULTS, PLACES, NO_OLD], workload=[("age", "sex", "city")])
    synthesis, _, state = train(synthesizer, is_private=is_private)
    model = model_from_json(json.loads(json.dumps(state["model"])))
    together = model.marginal(("age", "sex", "city"))
    assert together.sum() == pytest.approx(model.total)
    rows = model.rows(5000, np.random.default_rng(1))
    assert len(synthesis.plan.rules) == 5
    for columns, allowed in synthesis.plan.rules.items():
        places = [synthesis_place(name) for name in columns]
        others = tuple(axis for axis in range(3) if axis not in places)
        assert (together.sum(axis=others)[~allowed] == 0).all()
        assert (model.marginal(columns)[~allowed] == 0).all()
        assert allowed[tuple(rows[:, place] for place in places)].all()


@pytest.mark.parametrize("is_private", [True, False])
def test_a_model_with_constraints_is_near_rows_that_keep_them(is_private):
    """Wrong by chance less than once in 10^9: a cell's noise has a standard deviation of at most 10 rows."""
    synthesizer = GraphicalSynthesizer(constraints=[ADULTS, PLACES, NO_OLD], workload=[("age", "sex", "city")])
    synthesis = synthesizer.synthesis(facts())
    exact = tables(synthesis, rules=synthesis.plan.rules)
    state = synthesis.train(private_counts(synthesis, exact, ONE, is_private=is_private))
    model = model_from_json(json.loads(json.dumps(state["model"])))
    for columns in (("age",), ("age", "sex", "city")):
        assert np.abs(model.marginal(columns) - exact[columns]).sum() < 0.25 * exact[columns].sum()


def synthesis_place(name):
    return [column.name for column in COLUMNS].index(name)


def test_constraints_without_effect_on_the_rows_leave_the_model_near():
    """Rows with a first age are all of the first sex; without noise, the rule changes nothing that was measured."""
    never = Exclusion({"age": (None, 30), "sex": "m"})
    with_rule, free = (
        model_from_json(train(GraphicalSynthesizer(constraints=each), is_private=False)[2]["model"])
        for each in ([never], [])
    )
    for pair in (("age", "sex"), ("age", "city"), ("sex", "city")):
        assert np.abs(with_rule.marginal(pair) - free.marginal(pair)).sum() < 0.02 * free.total


def test_constraints_are_part_of_the_fingerprint_and_of_the_words():
    ruled, free = (GraphicalSynthesizer(constraints=each).synthesis(facts()) for each in ([ADULTS], []))
    assert (
        ruled.parameters["constraints"]
        != GraphicalSynthesizer(constraints=[NO_OLD]).synthesis(facts()).parameters["constraints"]
    )
    assert "constraints" not in free.parameters
    assert ("constraints", "1, declared as public knowledge and true of every row") in ruled.words
    assert "constraints" not in dict(free.words)


def test_slots_of_columns_with_a_rule_are_not_merged():
    many = SlotColumn("job", ColumnType.TEXT, values=tuple(f"job {i}" for i in range(40)))
    columns = (*COLUMNS, many)
    rule = Implication("job", "sex", {"job 3": "f"})
    for constraints in ([], [rule]):
        synthesis = GraphicalSynthesizer(constraints=constraints).synthesis(facts(columns=columns))
        counts = private_counts(synthesis, tables(synthesis, 300), ONE, is_private=True)
        assert ("job" in synthesis.train(counts)["model"]["groups"]) is not bool(constraints)


def test_constraints_that_do_not_fit_the_model_are_refused_before_data():
    with pytest.raises(ParameterError, match="the model may have 10 cells"):
        GraphicalSynthesizer(max_cells=10, constraints=[PLACES]).synthesis(facts())
    third = Exclusion({"age": (None, 30), "sex": "m"})
    with pytest.raises(ParameterError, match="close a cycle"):
        GraphicalSynthesizer(constraints=[PLACES, NO_OLD, third]).synthesis(facts())
    with pytest.raises(NameNotFoundError, match="'agee'"):
        GraphicalSynthesizer(constraints=[Exclusion({"agee": 3})]).synthesis(facts())
    with pytest.raises(ParameterError, match="another class"):
        GraphicalSynthesizer(constraints=["age > 3"]).synthesis(facts())
