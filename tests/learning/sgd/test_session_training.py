"""Networks in sessions: the owner allows floats, the cost is that of sampled people, and the release says so."""

from importlib.util import find_spec

import numpy as np
import pyarrow as pa
import pytest

import discreet as dp
from discreet.errors import ParameterError, UnsupportedError

needs_torch = pytest.mark.skipif(
    find_spec("torch") is None or find_spec("opacus") is None, reason="networks need discreet[torch]"
)
NETWORK = dp.learning.TorchClassifier(hidden=(), steps=40, sampling_rate=0.1, learning_rate=0.05)


def visits(count=1_500):
    rng = np.random.default_rng(count)
    age = rng.uniform(0, 100, count)
    columns = {"id": np.arange(count) // 2, "age": age, "ill": np.where(age > 50, "yes", "no")}
    return pa.table(columns)


def protect(*, is_exact=False, **changes):
    facts = {
        "name": "visits",
        "privacy_unit": "id",
        "max_rows": 2,
        "budget": dp.Budget(epsilon=6, delta=1e-6),
        "population": 10_000,
        "rows": 1_500,
        "bounds": {"age": (0, 100)},
        "bins": {"age": {"linear": 10}},
        "keys": {"ill": ["no", "yes"]},
        "fixed_schema": True,
        "allow_float_gradients": True,
    }
    if is_exact:
        return dp.testing.protect(visits(), **facts | changes)
    return dp.protect(visits(), **facts | changes, ledger=":memory:")


def query(**changes):
    model = dp.learning.TorchClassifier(**NETWORK.get_params() | changes)
    return dp.table("visits").fit(model, target="ill", features=["age"])


def test_the_argument_of_the_estimator_is_not_the_permission_of_the_owner():
    with protect(allow_float_gradients=False) as session:
        with pytest.raises(ParameterError, match="the owner has to allow"):
            session.release(query(allow_float_gradients=True, size=1_500), epsilon=1)
        assert float(session.remaining()) == 6


@pytest.mark.parametrize(("first", "second"), [("open", "strict"), ("strict", "open")])
def test_a_joined_table_has_no_say_for_the_gradients_of_another(first, second):
    """Both tables are read, so the owners of both have to allow it; the order of a join changes nothing."""
    text = """
        {name}:
          privacy_unit: pid
          max_rows: 1
          population: 500
          allow_float_gradients: {allowed}
          budget: {{epsilon: 3, delta: 1e-6}}
          columns: {{pid: {{type: integer}}, {name}_ill: {{type: text, keys: ["no", "yes"]}}}}
    """
    parts = [text.format(name=name, allowed=allowed) for name, allowed in (("open", "true"), ("strict", "false"))]
    rows = {name: pa.table({"pid": [1, 2], f"{name}_ill": ["no", "yes"]}) for name in ("open", "strict")}
    joined = dp.table(first).join(dp.table(second), on="pid")
    network = joined.fit(dp.learning.TorchClassifier(), target="strict_ill", features=["open_ill"])
    with (
        dp.Session(dp.Catalog.parse("tables:" + "".join(parts)), sources=rows, ledger=":memory:") as session,
        pytest.raises(ParameterError, match="the owner has to allow"),
    ):
        session.explain(network, epsilon=1)


@needs_torch
def test_a_session_trains_a_network_and_its_release_names_floats(tmp_path):
    with protect() as session:
        explained = session.explain(query(size=1_500), epsilon=5)
        model = session.release(query(size=1_500), epsilon=5)
        again = session.release(query(size=1_500), epsilon=5)
        left = float(session.remaining())
    assert explained.outputs
    assert "sampled sums are charged at the orders" in str(explained)
    assert 3 < left < 4.5
    assert again.release.repeated
    assert "Floats in gradients" in model.guarantee
    assert "by the privacy loss distribution" in model.guarantee
    assert model.guarantee_ == model.guarantee
    card = dict(model.release.card)
    assert "over Poisson samples of people at rate 1/10" in card["training"]
    assert "Floats" in card["not covered"]
    assert model.features_ == {"age": dp.learning.linear_bins(0, 100, 10)}
    model.release.save(tmp_path / "model.json")
    loaded = dp.learning.load(tmp_path / "model.json")
    table = visits()
    assert np.mean(loaded.predict(table.select(["age"])) == table["ill"].to_numpy(zero_copy_only=False)) > 0.7
    assert loaded.event_ == model.event_


@needs_torch
def test_every_release_of_a_batch_names_floats_and_none_the_epsilon_of_the_training_alone():
    with protect() as session:
        model, count = session.release([query(size=1_500), dp.table("visits").agg(n=dp.count())], epsilon=1)
    assert model.release.guarantee == model.guarantee_ == count.guarantee
    assert count.guarantee.count("Floats in gradients") == 1
    assert "privacy loss distribution" not in count.guarantee


@needs_torch
def test_the_charge_is_that_of_the_event_that_is_drawn():
    """The event of the receipt has the rate and the steps of the estimator; its cost is at most the one asked for."""
    with protect() as session:
        model = session.release(query(size=1_500), epsilon=1)
    assert model.event_.count == 40
    assert float(model.event_.event.rate) == 0.1
    budget = dp.Budget(epsilon=6, delta=1e-6)
    whole = dp.mechanisms.Gaussian(sensitivity=1, rho=budget.rho(1)).event()
    assert budget.cost(model.event_).renyi <= budget.cost(whole).renyi


@needs_torch
@pytest.mark.parametrize(
    ("changes", "session_facts", "cost", "reason"),
    [
        ({}, {}, {"rho": 0.01}, "order of the budget"),
        ({}, {"neighbours": "replace_one"}, {"epsilon": 1}, "Poisson samples"),
        ({"sampling_rate": 2}, {}, {"epsilon": 1}, "probability"),
    ],
)
def test_what_a_session_cannot_train_is_refused_before_the_charge(changes, session_facts, cost, reason):
    with protect(**session_facts) as session:
        with pytest.raises(ParameterError, match=reason):
            session.release(query(**changes, size=1_500), **cost)
        assert float(session.remaining()) == 6


@needs_torch
def test_a_module_is_refused_in_a_session():
    import torch  # noqa: PLC0415 - it is optional

    with protect() as session, pytest.raises(UnsupportedError, match="plain values"):
        session.release(query(module=torch.nn.Linear(11, 2), size=1_500), epsilon=1)


@needs_torch
def test_a_session_for_tests_trains_without_noise():
    with protect(is_exact=True) as session:
        model = session.release(query(size=1_500), epsilon=1)
    table = visits()
    assert np.mean(model.predict(table.select(["age"])) == table["ill"].to_numpy(zero_copy_only=False)) > 0.9
