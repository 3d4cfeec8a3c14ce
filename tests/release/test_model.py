"""A model as a release: plain data both ways, and what is damaged is refused."""

import pytest

import discreet as dp
from discreet.release.model import score_advice

STATE = {"parameters": {"is": "LogisticRegression"}, "model": {"weights": [1, 2.5, None, True, "a"]}}


def released(**changes):
    words = {
        "dataset": "adult",
        "version": 1,
        "guarantee": "epsilon 1",
        "receipt": {"hash": "ab"},
        "name": "LogisticRegression",
        "target": "income",
        "card": (("features", "age"),),
        "state": STATE,
    }
    return dp.ModelRelease(**words | changes)


def test_a_model_is_the_same_after_json():
    assert dp.ModelRelease.from_json(released().to_json()) == released()


def test_a_model_prints_its_card_and_its_limits():
    text = str(released())
    assert "LogisticRegression of income" in text
    assert "features: age" in text
    title = ("model", "LogisticRegression of income")
    assert str(released(card=(title, ("features", "age")))) == text
    assert "fit(model, target='income', holdout=0.2)" in text
    assert any("not causes" in limit for limit in released().limits)


@pytest.mark.parametrize(
    "damage",
    [
        {"state": []},
        {"state": {"a": float("nan")}},
        {"state": {"a": 10**400}},
        {"card": [["a", 1]]},
        {"card": [["a"]]},
        {"name": None},
        {"target": 3},
    ],
)
def test_a_damaged_model_is_refused(damage):
    with pytest.raises(dp.Refusal, match="damaged"):
        dp.ModelRelease.from_json(released().to_json() | damage)


def test_a_state_that_is_very_deep_is_refused():
    deep: object = 1
    for _ in range(50):
        deep = [deep]
    with pytest.raises(dp.Refusal, match="damaged"):
        dp.ModelRelease.from_json(released().to_json() | {"state": {"a": deep}})


def test_a_model_is_saved_as_json_alone(tmp_path):
    released().save(tmp_path / "model.json")
    assert dp.ModelRelease.load(tmp_path / "model.json") == released()
    with pytest.raises(dp.Refusal, match=r"model\.json"):
        released().save(tmp_path / "model.pkl")
    with pytest.raises(dp.Refusal, match="directory"):
        released().save(tmp_path / "away" / "model.json")


def test_advice_on_scores_is_for_models_that_have_them():
    assert score_advice("StandardScaler", None) == ""
    assert "holdout" not in score_advice("TorchClassifier", "income")
    assert "holdout" not in str(released(name="TorchClassifier"))
    assert "predicts" not in str(released(name="StandardScaler", target=None))
