"""What holds for every public estimator: the checks of scikit-learn, one charge, and files without a row."""

import inspect
import json
from importlib.util import find_spec

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

import discreet as dp
from discreet.learning.classifier import PrivateClassifier
from discreet.learning.regressor import PrivateRegressor
from learning.checks import unexpected

FEATURES = {"age": dp.learning.linear_bins(0, 100, 8), "ward": dp.learning.categories(["a", "b"])}
SECRET = 73.5193
EVERY = [
    kind
    for kind in (getattr(dp.learning, name) for name in dp.learning.__all__)
    if inspect.isclass(kind) and issubclass(kind, PrivateClassifier | PrivateRegressor)
]
OWN = {"TorchClassifier": {"allow_float_gradients": True, "steps": 20}}
"""Arguments that an estimator needs beside those of all."""
FOR_CHECKS = {
    "TorchClassifier": {"allow_float_gradients": True, "steps": 20, "learning_rate": 0.2, "hidden": ()},
}
"""Arguments for the checks of scikit-learn: a network of few short steps, which without noise are over all people."""
needs_torch = pytest.mark.skipif(
    find_spec("torch") is None or find_spec("opacus") is None, reason="networks need discreet[torch]"
)
every_estimator = pytest.mark.parametrize(
    "kind",
    [
        pytest.param(kind, id=kind.__name__, marks=needs_torch if kind.__name__ == "TorchClassifier" else ())
        for kind in EVERY
    ],
)


def rows(count):
    generator = np.random.default_rng(11)
    table = pd.DataFrame({"age": generator.uniform(0, 100, count), "ward": generator.choice(["a", "b"], count)})
    table.loc[0, "age"], table.loc[1, "ward"] = SECRET, "canary-ward"
    return table


def target(kind, table):
    return table["age"] if issubclass(kind, PrivateRegressor) else np.where(table["age"] > 50, "yes", "no")


def declare(kind, **given):
    facts = {"features": FEATURES, "size": 1_000, "epsilon": 1} | OWN.get(kind.__name__, {})
    facts |= {"classes": ["no", "yes"]} if issubclass(kind, PrivateClassifier) else {"target_bounds": (0, 100)}
    return kind(**facts | {"budget": dp.learning.BudgetAccount(dp.Budget(epsilon=1, delta=1e-5))} | given)


@every_estimator
def test_the_checks_of_scikit_learn_pass(kind):
    assert unexpected(kind(**FOR_CHECKS.get(kind.__name__, {}))) == []


@every_estimator
def test_a_fit_is_charged_once_and_a_second_is_refused(kind):
    table = rows(300)
    model = make_pipeline(FunctionTransformer(), declare(kind)).fit(table, target(kind, table))[-1]
    assert model.budget.charges == 1
    assert model.budget.budget.cost(model.event_) == model.budget._spent
    for again in (lambda: model.fit(table, target(kind, table)), lambda: clone(model)):
        with pytest.raises(dp.errors.BudgetError, match="does not fit the account"):
            again()


@every_estimator
def test_a_saved_model_is_read_back_and_holds_no_row(kind, tmp_path):
    """A model without noise would grow with the rows that it keeps; weights have a few digits more or less."""
    sizes = []
    for count in (200, 4_000):
        table = rows(count)
        people = [f"canary-{place}" for place in range(count)]
        model = declare(kind).fit(table, target(kind, table), groups=people)
        model.save(tmp_path / "model.json")
        text = (tmp_path / "model.json").read_text()
        assert "canary" not in text
        assert str(SECRET) not in text
        sizes.append(len(text))
        assert (dp.learning.load(tmp_path / "model.json").predict(table) == model.predict(table)).all()
    assert sizes[1] < 1.5 * sizes[0] + 1_000


@every_estimator
def test_a_session_trains_with_facts_of_the_catalog_alone(kind, tmp_path):
    cells = ["1", "inf", "-inf", "nan", "1e400", "-1e400", ""]
    lines = [f"{i},{cells[i % 7]},{cells[i % 5]},{'yn'[i % 2]}" for i in range(70)]
    (tmp_path / "t.csv").write_text("\n".join(["id,x,z,answer", *lines]))
    facts = {
        "bounds": {"x": (0, 10), "z": (0, 10)},
        "types": {"x": "real", "z": "real"},
        "keys": {"answer": ["y", "n"]},
        "allow_float_gradients": kind.__name__ == "TorchClassifier",
    }
    budget = dp.Budget(epsilon=1, delta=1e-9)
    query = dp.table("t").fit(kind(), target="z" if issubclass(kind, PrivateRegressor) else "answer")
    with dp.protect(
        tmp_path / "t.csv", privacy_unit="id", max_rows=1, budget=budget, ledger=":memory:", rows=70, **facts
    ) as session:
        model = session.release(query, epsilon=1)
    model.release.save(tmp_path / "model.json")
    assert dp.learning.load(tmp_path / "model.json").event_ == model.event_


@every_estimator
def test_a_repeated_release_is_the_same_model_for_every_order_of_features(kind, tmp_path):
    """Ledgers and signatures sort the names of JSON objects, so no order of names may carry a meaning."""
    generator = np.random.default_rng(5)
    cells = generator.uniform(0, 10, (500, 3))
    table = pd.DataFrame(cells, columns=["zinc", "age", "mass"]).assign(ward=generator.choice(["b", "a"], 500))
    bounds = dict.fromkeys(["zinc", "age", "mass"], (0, 10))
    answer = np.where(table["zinc"] > 5, "yes", "no")
    target = "mass" if issubclass(kind, PrivateRegressor) else "answer"
    model = kind(**OWN.get(kind.__name__, {}))
    query = dp.table("t").fit(model, target=target, features=["zinc", "ward", "age"])
    with dp.protect(
        table.assign(answer=answer, id=range(500)),
        name="t",
        privacy_unit="id",
        max_rows=1,
        budget=dp.Budget(epsilon=1, delta=1e-9),
        ledger=":memory:",
        rows=500,
        bounds=bounds,
        keys={"answer": ["yes", "no"], "ward": ["b", "a"]},
        allow_float_gradients=kind.__name__ == "TorchClassifier",
    ) as session:
        first = session.release(query, epsilon=1)
        again = session.release(query, epsilon=1)
    first.release.save(tmp_path / "model.json")
    sorted_names = json.dumps(json.loads((tmp_path / "model.json").read_text()), sort_keys=True)
    (tmp_path / "sorted.json").write_text(sorted_names)
    rows = table[["zinc", "ward", "age"]]
    values = "predict" if issubclass(kind, PrivateRegressor) else "predict_proba"
    expected = getattr(first, values)(rows)
    for model in (again, dp.learning.load(tmp_path / "sorted.json")):
        assert (getattr(model, values)(rows) == expected).all()
        assert list(model.features_) == list(first.features_)
        if kind.__name__.startswith("GradientBoosting"):
            assert model.model_.importance() == first.model_.importance()


def test_every_estimator_is_found():
    assert {kind.__name__ for kind in EVERY} == {
        "GradientBoostingClassifier",
        "GradientBoostingRegressor",
        "LogisticRegression",
        "NaiveBayes",
        "Ridge",
        "TorchClassifier",
    }
