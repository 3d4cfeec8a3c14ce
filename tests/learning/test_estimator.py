"""Estimators charge before they read, say nothing of cells, and behave as estimators of scikit-learn do."""

import io
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.exceptions import DataConversionWarning

import discreet as dp
from discreet.errors import FAILURE, TableShapeError
from discreet.learning.estimator import PrivateEstimator
from discreet.learning.tables import CountedRows, encode_table
from learning.tiny import SlotClassifier, SlotRegressor

FEATURES = {"age": dp.learning.linear_bins(0, 100, 8), "ward": dp.learning.categories(["a", "b"])}
SECRET = 73.5193


def account(epsilon=8):
    return dp.learning.BudgetAccount(dp.Budget(epsilon=epsilon, delta=1e-5))


def table(rows=2_000):
    generator = np.random.default_rng(7)
    age, ward = generator.uniform(0, 100, rows), generator.choice(["a", "b"], rows)
    label = np.where(age + 10 * (ward == "a") + generator.normal(0, 10, rows) > 55, "yes", "no")
    return pd.DataFrame({"age": age, "ward": ward}), label


def classifier(**given):
    facts = {"features": FEATURES, "classes": ["no", "yes"], "size": 2_000, "budget": account()}
    return SlotClassifier(**facts | given)


def regressor(**given):
    return SlotRegressor(
        **{"features": FEATURES, "target_bounds": (0, 100), "size": 2_000, "budget": account()} | given
    )


@pytest.mark.parametrize("kind", ["polars", "arrow", "numpy", "list", "reordered"])
def test_tables_of_every_library_are_read_alike(kind):
    x, y = table(200)
    model = classifier().fit(x, y)
    other = {
        "polars": lambda: pl.from_pandas(x),
        "arrow": lambda: pa.Table.from_pandas(x, preserve_index=False),
        "numpy": x.to_numpy,
        "list": lambda: x.to_numpy().tolist(),
        "reordered": lambda: x[["ward", "age"]],
    }[kind]()
    assert (model.decision_function(other) == model.decision_function(x)).all()
    classifier().fit(other, y.tolist())


def test_a_fit_is_charged_whole_with_the_event_that_it_states():
    budget = account(1)
    x, y = table(200)
    model = classifier(budget=budget).fit(x, y)
    assert budget.charges == 1
    assert budget.budget.cost(model.event_) == budget._spent
    assert "epsilon 1, delta 9e-06" in model.guarantee_
    with pytest.raises(dp.errors.BudgetError, match="does not fit the account"):
        model.fit(x, y)


def test_a_fit_of_a_part_leaves_the_rest():
    budget = account(1)
    x, y = table(200)
    for _ in range(3):
        classifier(budget=budget, epsilon=0.25).fit(x, y)
    assert budget.charges == 3


REFUSED = {
    "no account": {"budget": None},
    "a budget of its own": {"budget": dp.Budget(epsilon=1, delta=1e-5)},
    "a pure budget": {"budget": dp.learning.BudgetAccount(dp.Budget(epsilon=1))},
    "no features": {"features": None},
    "no size": {"size": None},
    "no classes": {"classes": None},
    "one class": {"classes": ["no"]},
    "a class twice": {"classes": ["1", 1]},
    "an undeclared feature": {"features": {"age": "number"}},
    "another column": {"features": {"age": FEATURES["age"], "town": FEATURES["ward"]}},
    "other neighbours": {"neighbours": "bounded"},
    "both costs": {"epsilon": 1, "rho": 0.1},
    "no epsilon": {"epsilon": 0},
}


@pytest.mark.parametrize("given", REFUSED.values(), ids=list(REFUSED))
def test_what_is_wrong_is_refused_before_a_charge(given):
    x, y = table(50)
    model = classifier(**given)
    with pytest.raises(dp.Refusal):
        model.fit(x, y)
    assert not getattr(model.budget, "charges", 0)


def test_shapes_that_do_not_fit_are_refused_before_a_charge():
    x, y = table(50)
    model = classifier()
    for wrong in (
        (x, y[:-1]),
        (x["age"], y),
        (x.iloc[:, :1], y),
        (x, None),
        (x.to_numpy()[0], y),
        (x, np.array([y, y])),
    ):
        with pytest.raises(TableShapeError):
            model.fit(*wrong)
    with pytest.raises(TableShapeError, match="groups"):
        model.fit(x, y, groups=[1, 2])
    assert model.budget.charges == 0


def test_no_cell_is_read_before_the_charge(monkeypatch):
    x, y = table(50)
    spent = account(1)
    model = classifier(budget=spent).fit(x, y)
    for name in ("estimator.encode_table", "classifier.class_numbers", "tables.person_numbers"):
        monkeypatch.setattr(f"discreet.learning.{name}", lambda *_: pytest.fail("cells were read"))
    with pytest.raises(dp.errors.BudgetError):
        model.fit(x, y, groups=y)


def test_a_failure_after_the_charge_is_one_constant_sentence(monkeypatch):
    x, y = table(50)
    model = classifier()

    def fail(*_):
        raise ValueError(f"cannot read {SECRET}")

    monkeypatch.setattr("discreet.learning.estimator.encode_table", fail)
    with pytest.raises(dp.Failure) as caught:
        model.fit(x, y)
    assert str(caught.value) == FAILURE
    assert caught.value.__context__ is None
    assert model.budget.charges == 1


def test_a_warning_after_the_charge_is_not_shown(monkeypatch, recwarn):
    x, y = table(50)

    def warn(*given):
        warnings.warn(f"a cell is {SECRET}", stacklevel=1)
        _ = np.float64(1) / np.float64(0)
        return encode_table(*given)

    monkeypatch.setattr("discreet.learning.estimator.encode_table", warn)
    classifier().fit(x, y)
    assert not recwarn.list


def test_odd_cells_do_not_raise():
    rows = [[3, "a"], [None, 5], ["12", "b"], [{"a": 1}, None], [float("inf"), 2.5], [10**400, "c"], [b"x", b"y"]]
    labels = ["no", "yes", "no", None, "other", 3, "yes"]
    classifier().fit(rows, labels, groups=[1, None, 2, "x", 3.0, 1, 1])


def test_a_table_without_rows_is_fitted_with_noise_alone():
    x, y = table(50)
    model = classifier().fit(x.iloc[:0], y[:0])
    assert len(model.predict(x)) == 50


def test_rows_without_a_declared_class_or_a_person_contribute_nothing():
    x, y = table(100)
    labels, people = y.astype(object), np.arange(100).astype(object)
    labels[:30], people[30:60] = "maybe", None
    blocks = []
    model = classifier()
    model._train = lambda learner, found: blocks.extend(found) or learner.train(ZeroSums(learner))
    model.fit(x, labels, groups=people)
    assert sum(map(len, blocks)) == 40


class ZeroSums:
    def __init__(self, learner):
        self.step = learner.step

    def sum(self, step):
        return np.zeros(step.length, dtype=np.int64)


def test_rows_of_a_person_stand_in_one_block():
    x, y = table(300)
    blocks = []
    model = classifier()
    model._train = lambda learner, found: blocks.extend(found) or learner.train(ZeroSums(learner))
    model.fit(x, y, groups=np.arange(300) % 100)
    assert [block.people for block in blocks] == [100]


def test_a_column_of_targets_is_taken_with_a_warning():
    x, y = table(50)
    with pytest.warns(DataConversionWarning):
        classifier().fit(x, y[:, None])


@pytest.mark.guarantee("learning.core.training")
def test_files_that_differ_by_one_line_give_other_people_the_same_slots(monkeypatch):
    rows = "".join(f"{'00501' if i % 2 else '00544'},{'true' if i % 3 else 'false'},{i % 2},{i}\n" for i in range(200))
    features = {"zip": dp.learning.categories([501, 544]), "smoker": dp.learning.categories([True, False])}
    found = []
    blocks = CountedRows.blocks
    monkeypatch.setattr(CountedRows, "blocks", lambda rows: found.append(blocks(rows)) or found[-1])
    for her in ("", "N-1,unknown,maybe,x1\n", ",,,\n"):
        data = pd.read_csv(io.StringIO("zip,smoker,y,id\n" + rows + her))
        model = classifier(features=features, classes=[0, 1])
        model.fit(data[["zip", "smoker"]], data["y"], data["id"])
    codes = [np.concatenate([block.codes for block in each]) for each in found]
    assert codes[0].all()
    assert all((each[:200] == codes[0]).all() and len(each) == 200 for each in codes)


@pytest.mark.parametrize(
    "given",
    [
        {"classes": ["none", "mild"]},
        {"classes": ["2019-04-14", "b"]},
        {"features": dp.learning.categories(["NA", "a"])},
        {"features": {"age": dp.learning.categories([2**60, 1]), "ward": dp.learning.categories(["a"])}},
    ],
)
def test_values_that_readers_lose_are_refused_before_the_charge(given):
    x, y = table(50)
    model = classifier(**given)
    with pytest.raises(dp.errors.ParameterError, match="of an in-memory table"):
        model.fit(x, y)
    assert model.budget.charges == 0


def test_every_estimator_becomes_fitted_by_one_function():
    for name in ("GradientBoostingClassifier", "LogisticRegression", "Ridge", "StandardScaler", "TorchClassifier"):
        assert getattr(dp.learning, name).adopt is PrivateEstimator.adopt
