"""A two-level model weighs persons by their visits, and draws persons with whole numbers of visits."""

import json

import numpy as np
import pytest

from discreet.synthesis.core.model import MarginalModel
from discreet.synthesis.tree.model import TreeColumn, TreeModel
from discreet.synthesis.two_level import model as two_level
from discreet.synthesis.two_level.model import TwoLevelModel, mean_number, weigh_by_number

RNG = np.random.default_rng(5)
JOINT = np.append(RNG.random((3, 2)), np.zeros((1, 2)), axis=0)
"""Numbers of visits, the last of which is missing and does not occur, by sex."""
JOINT /= JOINT.sum()
NUMBERS = np.array([1, 2, 3, 0])
WEIGHTED = JOINT * NUMBERS[:, None] / (JOINT * NUMBERS[:, None]).sum()
WARD = np.array([[0.7, 0.2, 0.1], [0.1, 0.1, 0.8]])
COST = np.array([0.25, 0.75])


def whole(probabilities):
    size = len(probabilities)
    return TreeColumn(tuple(range(size)), np.ones(size), np.asarray(probabilities))


def persons_of(total=300.0):
    year = TreeColumn((0, 1, 1), np.array([1.0, 0.25, 0.75]), np.array([0.5, 0.5]))
    columns = {"visits": whole(JOINT.sum(axis=1)), "sex": whole(JOINT.sum(axis=0)), "year": year}
    return TreeModel(total, columns, {("visits", "sex"): JOINT})


def model_of(total=300.0):
    persons = persons_of(total)
    weighted = weigh_by_number(persons)
    ward = WEIGHTED.sum(axis=0)[:, None] * WARD
    columns = {**weighted.columns, "ward": whole(ward.sum(axis=0)), "cost": whole(COST)}
    return TwoLevelModel(persons, TreeModel(weighted.total, columns, {**weighted.tables, ("sex", "ward"): ward}), "id")


def drawn(model, number, start=1):
    return list(model.linked_rows(number, np.random.default_rng(start)))


def test_persons_are_weighted_by_their_numbers_of_visits():
    weighted, mean = weigh_by_number(persons_of()), float(NUMBERS @ JOINT.sum(axis=1))
    assert mean_number(persons_of()) == pytest.approx(mean)
    assert weighted.total == pytest.approx(300 * mean)
    assert weighted.marginal(("visits", "sex")) == pytest.approx(300 * mean * WEIGHTED)
    assert weighted.marginal(("year",)) == pytest.approx(300 * mean * np.array([0.5, 0.125, 0.375]))
    assert not any(column.is_merged for column in weighted.columns.values())


def test_tables_whose_second_column_is_the_parent_are_weighted_too():
    persons = persons_of()
    turned = TreeModel(
        persons.total, {**persons.columns, "sex": whole(JOINT.sum(axis=0))}, {("sex", "visits"): JOINT.T}
    )
    assert weigh_by_number(turned).tables["sex", "visits"] == pytest.approx(WEIGHTED.T)


def test_a_model_answers_marginals_of_visits():
    model = model_of()
    assert isinstance(model, MarginalModel)
    assert model.number == "visits"
    assert model.domain.names == ("visits", "sex", "year", "ward", "cost")
    expected = model.total * np.einsum("ns,sw->nw", WEIGHTED, WARD)
    assert model.marginal(("visits", "ward")) == pytest.approx(expected)
    assert model.rows(7, np.random.default_rng(1)).shape == (7, 5)


@pytest.mark.parametrize("number", [0, 1, 2, 5, 1_000])
def test_every_person_has_as_many_visits_as_its_number_says(number):
    blocks = drawn(model_of(), number)
    assert sum(len(block.owners) for block in blocks) == number
    for block in blocks:
        assert (np.bincount(block.owners, minlength=len(block.persons)) == block.persons[:, 0] + 1).all()
        assert (block.visits[:, :3] == block.persons[block.owners]).all()


def test_persons_and_visits_are_as_often_as_expected():
    model = model_of()
    (block,) = [each for each in drawn(model, round(model.total)) if len(each.owners) > 5]
    assert len(block.persons) == pytest.approx(300, abs=3)
    found = np.bincount(block.persons[:, 0], minlength=4)
    assert found == pytest.approx(300 * JOINT.sum(axis=1), abs=3)
    pairs = np.histogram2d(block.visits[:, 1], block.visits[:, 3], bins=[range(3), range(4)])[0]
    assert pairs == pytest.approx(model.marginal(("sex", "ward")), abs=5)


def test_blocks_bound_the_persons_that_are_drawn_at_once(monkeypatch):
    monkeypatch.setattr(two_level, "PERSONS_IN_A_BLOCK", 10)
    blocks = drawn(model_of(), 200)
    assert max(len(block.persons) for block in blocks) == 10
    assert sum(len(block.owners) for block in blocks) == 200


def test_a_model_without_persons_draws_as_many_visits_as_wanted():
    model = model_of(total=0.0)
    assert model.total == 0
    assert sum(len(block.owners) for block in drawn(model, 20)) == 20


def test_a_model_is_plain_data():
    model = model_of()
    again = TwoLevelModel.from_json(json.loads(json.dumps(model.to_json())))
    assert again.identifier == "id"
    assert again.marginal(("year", "ward")) == pytest.approx(model.marginal(("year", "ward")))
    assert (drawn(again, 50)[0].visits == drawn(model, 50)[0].visits).all()
