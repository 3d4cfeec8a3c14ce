"""Saved models are JSON without a value of a row, and read back as they were."""

import json

import numpy as np
import pytest

import discreet as dp
from learning.test_estimator import SECRET, classifier, regressor, table
from learning.tiny import SlotClassifier, SlotRegressor


@pytest.fixture(autouse=True)
def public_estimators(monkeypatch):
    monkeypatch.setattr(dp.learning, "__all__", [*dp.learning.__all__, "SlotClassifier", "SlotRegressor"])
    monkeypatch.setattr(dp.learning, "SlotClassifier", SlotClassifier, raising=False)
    monkeypatch.setattr(dp.learning, "SlotRegressor", SlotRegressor, raising=False)


@pytest.mark.parametrize("make", [classifier, regressor])
def test_a_saved_model_predicts_as_before(make, tmp_path):
    x, y = table(500)
    model = make().fit(x, y if make is classifier else x["age"])
    model.save(tmp_path / "model.json")
    read = dp.learning.load(tmp_path / "model.json")
    assert (read.predict(x) == model.predict(x)).all()
    assert read.guarantee_ == model.guarantee_
    assert read.event_ == model.event_
    assert read.budget is None


def test_a_model_with_one_feature_for_all_columns_is_read_back(tmp_path):
    x = np.random.default_rng(3).uniform(0, 100, (200, 3))
    model = classifier(features=dp.learning.linear_bins(0, 100, 4), classes=np.array([0, 1])).fit(x, x[:, 0] > 50)
    model.save(tmp_path / "model.json")
    assert (dp.learning.load(tmp_path / "model.json").predict(x) == model.predict(x)).all()


def test_a_saved_model_holds_no_training_value_and_does_not_grow(tmp_path):
    """Digits of a weight can differ in number: the sizes are compared with room for that."""
    sizes = []
    for rows in (100, 5_000):
        x, y = table(rows)
        x.loc[0, "age"], x.loc[1, "ward"] = SECRET, "canary-ward"
        labels = y.astype(object)
        labels[2] = "canary-label"
        people = [f"canary-person-{row}" for row in range(rows)]
        model = classifier().fit(x, labels, groups=people)
        model.save(tmp_path / "model.json")
        text = (tmp_path / "model.json").read_text()
        sizes.append(len(text))
        assert "canary" not in text
        assert str(SECRET) not in text
    assert abs(sizes[0] - sizes[1]) < 400


def test_a_file_of_another_kind_is_refused(tmp_path):
    x, y = table(50)
    classifier().fit(x, y).save(tmp_path / "model.json")
    good = json.loads((tmp_path / "model.json").read_text())
    for change in ({"format": "discreet.model/2"}, {"estimator": "BudgetAccount"}, {"estimator": "os"}, {"model": 3}):
        (tmp_path / "other.json").write_text(json.dumps(good | change))
        with pytest.raises(dp.errors.ParameterError, match=r"not a saved model.*\n.*does not hold a model in the"):
            dp.learning.load(tmp_path / "other.json")


def test_a_model_whose_package_is_missing_is_refused_with_its_extra(tmp_path, monkeypatch):
    x, y = table(50)
    classifier().fit(x, y).save(tmp_path / "model.json")

    def without_the_package(*_):
        raise dp.errors.missing_extra("an estimator", "scikit-learn", "learning")

    monkeypatch.setattr(SlotClassifier, "model_from_json", without_the_package)
    with pytest.raises(dp.errors.MissingExtraError, match=r"discreet\[learning\]"):
        dp.learning.load(tmp_path / "model.json")


def test_a_file_that_is_not_there_is_an_error_with_advice(tmp_path):
    for place in (tmp_path / "missing.json", tmp_path):
        with pytest.raises(dp.errors.ParameterError, match=r"a model in .*\n.*not there.*\n.*model\.save"):
            dp.learning.load(place)


@pytest.mark.parametrize("name", ["model.pkl", "model", "model.joblib"])
def test_a_model_is_saved_as_json_alone(name, tmp_path):
    x, y = table(50)
    with pytest.raises(dp.errors.UnsupportedError, match=r"as JSON\n.*model\.json"):
        classifier().fit(x, y).save(tmp_path / name)
    assert not list(tmp_path.iterdir())


def test_a_model_is_not_saved_where_no_directory_is(tmp_path):
    x, y = table(50)
    with pytest.raises(dp.errors.ParameterError, match="no such directory"):
        classifier().fit(x, y).save(tmp_path / "none" / "model.json")
