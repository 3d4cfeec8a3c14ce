"""Networks as an estimator: float gradients are allowed by name, fits are charged before rows, files hold weights."""

import json
import re

import numpy as np
import pyarrow as pa
import pytest

import discreet as dp
from discreet.errors import ParameterError, UnsupportedError

FEATURES = {"age": dp.learning.linear_bins(0, 100, 10), "town": dp.learning.categories(["a", "b"])}


def estimator(**changes):
    facts = {
        "features": FEATURES,
        "classes": ["no", "yes"],
        "size": 2_000,
        "budget": dp.learning.BudgetAccount(dp.Budget(epsilon=5, delta=1e-5)),
        "steps": 60,
        "hidden": (),
        "learning_rate": 0.05,
        "allow_float_gradients": True,
    }
    return dp.learning.TorchClassifier(**facts | changes)


def rows(count=2_000):
    rng = np.random.default_rng(count)
    age, town = rng.uniform(0, 100, count), rng.integers(0, 2, count)
    return pa.table({"age": age, "town": np.array(["a", "b"])[town]}), np.where(age + 20 * town > 60, "yes", "no")


def test_float_gradients_must_be_allowed():
    model = estimator(allow_float_gradients=False)
    with pytest.raises(ParameterError, match="allow_float_gradients"):
        model.fit(*rows(20))
    assert model.budget.charges == 0


def test_neighbours_that_replace_a_person_are_refused_before_a_charge():
    pytest.importorskip("opacus", reason="networks need discreet[torch]")
    model = estimator(neighbours="replace_one")
    with pytest.raises(ParameterError, match="replace_one"):
        model.fit(*rows(20))
    assert model.budget.charges == 0


def test_a_fit_is_one_event_and_its_guarantee_names_floats(tmp_path):
    pytest.importorskip("opacus", reason="networks need discreet[torch]")
    table, labels = rows()
    model = estimator().fit(table, labels)
    assert model.budget.charges == 1
    assert model.event_.count == 60
    assert "floats in gradients" in model.guarantee_.lower()
    assert re.search(r"Epsilon 4\.\d+ at the same delta by the privacy loss distribution", model.guarantee_)
    assert np.mean(model.predict(table) == labels) > 0.8
    model.save(tmp_path / "model.json")
    loaded = dp.learning.load(tmp_path / "model.json")
    assert (loaded.predict_proba(table) == model.predict_proba(table)).all()
    assert loaded.guarantee_ == model.guarantee_
    held = json.loads((tmp_path / "model.json").read_text())["model"]
    assert set(held) == {"kind", "classes", "slots", "layers", "weights"}
    assert set(held["weights"]) == {"0.weight", "0.bias"}


def test_a_module_begins_with_its_own_weights_and_is_not_changed():
    torch = pytest.importorskip("torch", reason="networks need discreet[torch]")
    module = torch.nn.Sequential(torch.nn.Linear(14, 2))
    before = module[0].weight.detach().clone()
    model = estimator(module=module, steps=2, rows_at_once=1, sampling_rate=0.002)
    model.fit(*rows(200))
    assert (module[0].weight == before).all()
    assert "computed alone" in model.guarantee_


def test_batch_normalisation_is_refused_before_a_charge():
    torch = pytest.importorskip("torch", reason="networks need discreet[torch]")
    model = estimator(module=torch.nn.Sequential(torch.nn.Linear(14, 2), torch.nn.BatchNorm1d(2)))
    with pytest.raises(UnsupportedError, match="BatchNorm1d"):
        model.fit(*rows(20))
    assert model.budget.charges == 0
