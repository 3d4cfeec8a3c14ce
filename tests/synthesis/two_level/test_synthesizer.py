"""A two-level synthesis counts persons once and visits at most L times, and refuses tables without two levels."""

import json
from fractions import Fraction

import numpy as np
import pytest

from discreet.catalog.catalog import ColumnType
from discreet.errors import NameNotFoundError, ParameterError
from discreet.plan.slots import SlotColumn, UnitRule
from discreet.plan.synthesis import Contribution, SynthesisFacts, UnitSynthesis, private_counts
from discreet.synthesis.two_level.model import TwoLevelModel, weigh_by_number
from discreet.synthesis.two_level.synthesizer import MOST_VISITS, TwoLevelSynthesizer

COLUMNS = tuple(
    SlotColumn(name, ColumnType.TEXT, values=tuple(f"{name}{place}" for place in range(size)))
    for name, size in {"ward": 3, "sex": 2, "cost": 4, "year": 3}.items()
)
PERSON = {"year": "max", "sex": "min"}
MOST = 4
RHO = Fraction(1, 10)


def synthesis_of(person=PERSON, *, columns=COLUMNS, most=MOST, replace_one=False, unit=("id",), workload=None, **names):
    facts = SynthesisFacts(columns, RHO, Contribution(most, replace_one), workload, unit)
    return TwoLevelSynthesizer(person, **names).synthesis(facts)


def counts_of(synthesis, persons=2_000):
    """Persons whose number of visits follows their sex, and whose wards follow their year."""
    rng = np.random.default_rng(4)
    number = len(synthesis.units.number.values)
    own = {"sex": rng.integers(0, 2, persons), "year": rng.integers(0, 3, persons)}
    own["visit_count"] = np.minimum(own["sex"] + rng.integers(0, 2, persons), number - 1)
    owners = np.repeat(np.arange(persons), own["visit_count"] + 1)
    rows = {name: values[owners] for name, values in own.items()}
    rows["ward"] = np.where(rng.random(len(owners)) < 0.8, rows["year"], 0)
    rows["cost"] = rng.integers(0, 5, len(owners))
    sizes = {column.name: column.size for column in (*synthesis.columns, synthesis.units.number)}
    counts = {}
    for columns in synthesis.candidates:
        level = own if synthesis.units.covers(columns) else rows
        counts[columns] = np.zeros([sizes[name] for name in columns], dtype=np.int64)
        np.add.at(counts[columns], tuple(level[name] for name in columns), 1)
    return counts


def test_marginals_of_persons_have_their_columns_alone_and_those_of_visits_one_of_theirs():
    synthesis = synthesis_of()
    assert isinstance(synthesis, UnitSynthesis)
    assert synthesis.units.rules == (("sex", UnitRule.MIN), ("year", UnitRule.MAX))
    of_persons = [columns for columns in synthesis.candidates if synthesis.units.covers(columns)]
    assert of_persons == [
        ("visit_count",), ("sex",), ("year",), ("visit_count", "sex"), ("visit_count", "year"), ("sex", "year"),
    ]  # fmt: skip
    assert synthesis.candidates[len(of_persons) :] == (
        ("ward",), ("cost",),
        ("visit_count", "ward"), ("visit_count", "cost"), ("sex", "ward"), ("sex", "cost"),
        ("year", "ward"), ("year", "cost"), ("ward", "cost"),
    )  # fmt: skip


@pytest.mark.guarantee("synthesis.two_level.synthesizer")
@pytest.mark.parametrize("replace_one", [False, True])
@pytest.mark.parametrize("person", [{}, {"sex": "min"}, PERSON], ids=len)
def test_both_levels_together_cost_what_was_charged_and_each_has_its_contribution(person, replace_one):
    synthesis = synthesis_of(person, replace_one=replace_one)
    contribution = Contribution(MOST, replace_one)
    levels = private_counts(synthesis, counts_of(synthesis), contribution, is_private=True)
    assert levels.units.contribution == Contribution(1, replace_one)
    assert levels.rows.contribution == contribution
    assert levels.units.left + levels.rows.left == synthesis.rho == RHO
    assert not set(levels.units.candidates) & set(levels.rows.candidates)
    assert all(synthesis.units.covers(columns) for columns in levels.units.candidates)
    synthesis.train(levels)
    assert 0 <= levels.units.left < RHO / 1000
    assert 0 <= levels.rows.left < RHO / 1000


def test_levels_of_a_larger_cost_than_the_synthesis_are_refused(monkeypatch):
    synthesis = synthesis_of()
    counts = counts_of(synthesis)
    for rhos in [(RHO, RHO / 1000), (RHO, Fraction(0)), (2 * RHO, -RHO)]:
        monkeypatch.setattr(type(synthesis), "level_rhos", rhos)
        with pytest.raises(RuntimeError, match="larger cost"):
            private_counts(synthesis, counts, Contribution(MOST, replace_one=False), is_private=True)


@pytest.mark.parametrize("is_private", [True, False])
def test_a_state_is_plain_data_and_its_model_has_both_levels(is_private):
    synthesis = synthesis_of()
    contribution = Contribution(MOST, replace_one=False)
    counts = private_counts(synthesis, counts_of(synthesis), contribution, is_private=is_private)
    state = json.loads(json.dumps(synthesis.train(counts)))
    model = TwoLevelModel.from_json(state["model"])
    assert [column["name"] for column in state["columns"]] == ["visit_count", "sex", "year", "ward", "cost"]
    assert model.domain.names == ("visit_count", "sex", "year", "ward", "cost")
    assert model.persons.total == state["persons"]["total"] == pytest.approx(2_000, rel=0.1)
    assert model.total == state["total"]
    assert model.marginal(("visit_count",))[-1] == 0
    assert all(set(each["columns"]) & {"ward", "cost"} for each in state["measurements"])
    assert not any(set(each["columns"]) & {"ward", "cost"} for each in state["persons"]["measurements"])


def test_the_model_follows_the_counts():
    synthesis = synthesis_of()
    counts = counts_of(synthesis)
    state = synthesis.train(private_counts(synthesis, counts, Contribution(MOST, replace_one=False), is_private=False))
    model = TwoLevelModel.from_json(state["model"])
    visits = counts["ward",].sum()
    assert model.total == pytest.approx(visits, rel=0.01)
    for columns in [("ward",), ("year", "ward"), ("sex", "ward")]:
        assert np.abs(model.marginal(columns) - counts[columns]).sum() < 0.04 * visits
    assert np.abs(model.persons.marginal(("visit_count", "sex")) - counts["visit_count", "sex"]).sum() < 0.04 * 2_000


def test_the_number_of_visits_is_estimated_from_both_levels():
    synthesis = synthesis_of()
    levels = private_counts(synthesis, counts_of(synthesis), Contribution(MOST, replace_one=False), is_private=True)
    state = synthesis.train(levels)
    own = [each["sigma"] for each in state["persons"]["measurements"] if each["columns"] == ["visit_count"]]
    variance = 30 / sum(1 / sigma**2 for sigma in own)
    found = [(weigh_by_number(TwoLevelModel.from_json(state["model"]).persons).total, variance)]
    found += [(sum(each["values"]), len(each["values"]) * each["sigma"] ** 2) for each in state["measurements"]]
    mean = sum(total / variance for total, variance in found) / sum(1 / variance for _, variance in found)
    assert state["total"] == pytest.approx(mean)


def test_few_persons_and_much_noise_give_a_table_too():
    synthesis = synthesis_of()
    for persons in (0, 1, 3):
        counts = counts_of(synthesis, persons)
        levels = private_counts(synthesis, counts, Contribution(MOST, replace_one=False), is_private=True)
        model = TwoLevelModel.from_json(synthesis.train(levels)["model"])
        assert model.total >= model.persons.total >= 0
        assert sum(len(block.owners) for block in model.linked_rows(9, np.random.default_rng(1))) == 9


def test_rules_and_names_are_parameters_of_the_query():
    one = synthesis_of().parameters
    assert json.loads(json.dumps(one)) == one
    others = [synthesis_of({"sex": "min"}), synthesis_of(PERSON | {"sex": "max"}), synthesis_of(number="n")]
    assert all(other.parameters != one for other in others)
    assert "'sex' by min" in dict(synthesis_of().words)["person columns"]
    assert "at most 4" in dict(synthesis_of().words)["measured then"]
    assert "for 25% of the cost" in dict(synthesis_of().words)["measured"]
    assert "for 5% of that" in dict(synthesis_of().words)["chosen"]


@pytest.mark.parametrize(
    ("changes", "error", "because"),
    [
        ({"unit": ()}, ParameterError, "no column says whose a row is"),
        ({"most": 1}, ParameterError, r"max_rows=1(.|\n)*dp\.synthesis\.TreeSynthesizer\(\)"),
        ({"most": MOST_VISITS + 1}, ParameterError, "at most 256 visits"),
        ({"workload": (("sex",),)}, ParameterError, "a workload(.|\n)*takes no workload"),
        ({"person": ["sex"]}, ParameterError, "person columns without a rule"),
        ({"person": {"sex": None}}, ParameterError, "'sex' without a rule"),
        ({"person": {"sex": "median"}}, ParameterError, r'a rule is "min" or "max"(.|\n)*person={\'sex\': "min"}'),
        ({"person": {"sexes": "min"}}, NameNotFoundError, "'sexes'"),
        ({"person": dict.fromkeys(["ward", "sex", "cost", "year"], "min")}, ParameterError, "all of persons"),
        ({"person": {}, "columns": ()}, ParameterError, "all of persons"),
        ({"identifier": "ward"}, ParameterError, "identifier='ward'"),
        ({"number": "person_id"}, ParameterError, "number='person_id'"),
        ({"number": 7}, ParameterError, "number=7"),
        ({"identifier": ""}, ParameterError, "identifier=''"),
    ],
    ids=str,
)
def test_tables_without_two_levels_are_refused_before_data(changes, error, because):
    person = changes.pop("person", PERSON)
    with pytest.raises(error, match=because):
        synthesis_of(person, **changes)


def test_more_cells_than_fit_the_memory_are_refused():
    wide = tuple(SlotColumn(f"c{i}", ColumnType.INTEGER, values=tuple(range(2_000))) for i in range(5))
    with pytest.raises(ParameterError, match=r"a two-level synthesis of 6 columns with .* cells in all candidates"):
        synthesis_of({}, columns=wide)


def test_names_of_a_subclass_of_text_become_plain():
    class Name(str):
        __slots__ = ()

    synthesis = synthesis_of({Name("sex"): "min"}, identifier=Name("who"), number=Name("n"))
    names = [*synthesis.units.names, synthesis.identifier]
    assert {type(name) for name in names} == {str}
