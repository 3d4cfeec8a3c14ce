"""Models scored on a synthetic table: the figures of drawn rows, at no cost, with a label that says what they are."""

from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest

import discreet as dp
from discreet.errors import NameNotFoundError, ParameterError
from discreet.learning.evaluation.on_synthetic import LABEL, _auc, evaluate_on_synthetic

ROWS = pa.table(
    {
        "id": range(900),
        "sex": ["FM"[i % 2] for i in range(900)],
        "pay": [["low", "high", None][i % 2 if i % 9 else 2] for i in range(900)],
        "age": [i % 90 for i in range(900)],
    }
)
FACTS = {"privacy_unit": "id", "max_rows": 1, "budget": dp.Budget(epsilon=4, delta=1e-9), "bounds": {"age": (0, 90)}}
FACTS |= {"keys": {"sex": ["F", "M"], "pay": ["low", "high"]}}


@pytest.fixture(scope="module")
def table():
    query = dp.table("people").synthesize(dp.synthesis.TreeSynthesizer(), columns=["sex", "pay", "age"])
    with dp.testing.protect(ROWS, name="people", **FACTS) as session:
        return session.release(query, epsilon=4)


class BySex:
    classes_ = np.array(["high", "low"])
    feature_names_in_ = np.array(["sex"])

    def predict(self, rows):
        assert rows.column_names == ["sex"]
        return np.array([{"F": "low", "M": "high"}.get(sex, "low") for sex in rows["sex"].to_pylist()])

    def predict_proba(self, rows):
        low = (self.predict(rows) == "low").astype(float)
        return np.stack([1 - low, low], axis=1)


class Number:
    def predict(self, rows):
        return [40.0] * len(rows)


def test_figures_are_those_of_the_drawn_rows(table):
    found = evaluate_on_synthetic(BySex(), table, target="pay")
    drawn = [row for row in table.to_arrow().to_pylist() if row["pay"] is not None]
    right = sum((row["sex"] == "F") == (row["pay"] == "low") for row in drawn)
    assert found.rows == len(drawn)
    assert found.figures["accuracy"] == pytest.approx(right / len(drawn), abs=0.02)
    assert found.figures["auc"] == pytest.approx(found.figures["accuracy"], abs=0.05)
    assert 0.4 < found.figures["base_rate"] < 0.6
    ages = np.array(table.to_arrow(500)["age"].drop_null().to_pylist(), dtype=float)
    errors = evaluate_on_synthetic(Number(), table, target="age", rows=500)
    assert errors.figures["root_mean_squared_error"] == pytest.approx(np.sqrt(np.mean((ages - 40) ** 2)))
    assert errors.figures["spread"] == pytest.approx(np.std(ages))


def test_the_label_is_in_every_form(table):
    found = evaluate_on_synthetic(BySex(), table, target="pay")
    assert LABEL == "on a synthetic table: an estimate of a model, not a figure about the private rows"
    assert LABEL in str(found)
    assert found.to_json()["label"] == LABEL


def test_a_released_model_is_scored_and_nothing_is_charged(table):
    with dp.protect(ROWS, name="people", ledger=":memory:", **FACTS) as session:
        people = dp.table("people")
        model = session.release(
            people.fit(dp.learning.NaiveBayes(size=900), target="pay", features=["sex", "age"]), epsilon=1
        )
        left = float(session.remaining())
        found = dp.learning.evaluate_on_synthetic(model, table, target="pay")
        assert float(session.remaining()) == left
    assert found.figures["accuracy"] > 0.6


def test_what_cannot_be_scored_is_refused(table):
    with pytest.raises(NameNotFoundError, match="income"):
        evaluate_on_synthetic(BySex(), table, target="income")
    for model, rows in ((BySex(), ROWS), (object(), table)):
        with pytest.raises(ParameterError, match="a released synthetic table"):
            evaluate_on_synthetic(model, rows, target="pay")
    with pytest.raises(ParameterError, match="without a value"):
        evaluate_on_synthetic(BySex(), table, target="pay", rows=0)


def test_the_area_counts_equal_scores_as_one_half():
    assert _auc(np.array([1.0, 2, 3, 4]), np.array([False, False, True, True])) == 1
    assert _auc(np.array([1.0, 1, 1, 1]), np.array([False, True, False, True])) == 0.5
    assert _auc(np.array([2.0, 1, 2]), np.array([False, True, True])) == 0.25
    assert _auc(np.array([1.0]), np.array([True])) is None


def test_a_score_on_a_table_of_testing_is_marked(table):
    found = evaluate_on_synthetic(BySex(), table, target="pay", rows=100)
    assert str(found).startswith("NOT PRIVATE: a score on a synthetic table made without noise")
    assert found.to_json()["private"] is False
    private = evaluate_on_synthetic(BySex(), replace(table, private=True), target="pay", rows=100)
    assert "NOT PRIVATE" not in str(private)


class Always:
    feature_names_in_ = np.array(["sex"])

    def __init__(self, value):
        self.value = value

    def predict(self, rows):
        return [self.value] * rows.num_rows


def with_truth_values(table):
    """The table with truth values in the place of pay."""
    columns = [
        {"name": "pay", "type": "boolean", "edges": [], "values": [False, True]} if each["name"] == "pay" else each
        for each in table.state["columns"]
    ]
    return replace(table, state=table.state | {"columns": columns})


def test_a_model_without_classes_is_scored_by_its_accuracy_on_texts_and_truth_values(table):
    found = evaluate_on_synthetic(Always("low"), table, target="pay")
    assert sorted(found.figures) == ["accuracy", "base_rate"]
    found = evaluate_on_synthetic(Always(True), with_truth_values(table), target="pay")
    assert sorted(found.figures) == ["accuracy", "base_rate"]
    assert 0.3 < found.figures["accuracy"] < 0.7


@pytest.mark.parametrize(("value", "target"), [(1.5, "pay"), ("old", "age")])
def test_predictions_of_another_type_than_the_target_are_refused(table, value, target):
    with pytest.raises(ParameterError, match="classes_"):
        evaluate_on_synthetic(Always(value), table, target=target)
