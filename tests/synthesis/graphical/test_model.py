"""A graphical model answers marginals of all slots, draws rows, and is the same after a round trip by JSON."""

import json

import numpy as np
import pytest

from discreet.synthesis.core.domain import Domain
from discreet.synthesis.core.model import MarginalModel
from discreet.synthesis.graphical.model import GraphicalModel, SlotGroups, model_from_json

DOMAIN = Domain({"a": 4, "b": 2, "c": 3})
RARE = SlotGroups(groups=(0, 2, 1, 2), shares=(1.0, 0.25, 1.0, 0.75))


@pytest.fixture
def model():
    generator = np.random.default_rng(4)
    potentials = {("a", "b"): generator.normal(size=(3, 2)), ("c",): generator.normal(size=3)}
    return GraphicalModel(DOMAIN, 500.0, {"a": RARE}, potentials)


def test_a_model_has_the_interface_of_all_models(model):
    assert isinstance(model, MarginalModel)


def test_merged_slots_share_the_count_of_their_group(model):
    table = model.marginal(("b", "a"))
    assert table.shape == (4, 2)
    assert table.sum() == pytest.approx(500)
    np.testing.assert_allclose(table[3], 3 * table[1])
    np.testing.assert_allclose(table.sum(1), model.marginal(["a"]))


def test_rows_have_the_marginals_of_the_model(model):
    rows = model.rows(5000, np.random.default_rng(1))
    assert rows.shape == (5000, 3)
    counted = np.bincount(rows[:, 0], minlength=4)
    np.testing.assert_allclose(counted, 10 * model.marginal(("a",)), atol=3)


def test_a_round_trip_by_json_keeps_the_model(model):
    again = model_from_json(json.loads(json.dumps(model.to_json())))
    assert again.domain == model.domain
    np.testing.assert_allclose(again.marginal(DOMAIN.names), model.marginal(DOMAIN.names), rtol=1e-4)
