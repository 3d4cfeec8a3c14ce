"""Figures against the data say who may see them, and tell a good synthetic table from one without associations."""

import json

import numpy as np
import pyarrow as pa
import pytest

import discreet as dp
from discreet.errors import NameNotFoundError, ParameterError
from discreet.synthesis.core.domain import Domain
from discreet.synthesis.quality.distances import SlotRows
from discreet.synthesis.quality.owner import model_accuracy, owner_quality, propensity, unique_matches

DOMAIN = Domain({"a": 5, "b": 5, "c": 2})
SPREAD = dp.synthesis.IndependentSynthesizer(), dp.synthesis.TreeSynthesizer()


def draw(number):
    generator = np.random.default_rng(number)
    a = generator.integers(4, size=number)
    b = np.where(generator.random(number) < 0.8, a, generator.integers(4, size=number))
    return SlotRows(DOMAIN, np.column_stack([a, b, b // 2]).astype(np.int32))


def shuffle(rows):
    generator = np.random.default_rng(1)
    return SlotRows(DOMAIN, np.column_stack([generator.permutation(column) for column in rows.codes.T]))


def as_arrow(rows):
    a, b, c = rows.codes.T
    return pa.table({"a": a, "b": b, "c": np.where(c == 1, "yes", "no")})


def release(synthesizer, rows):
    keys = {"a": [0, 1, 2, 3], "b": [0, 1, 2, 3], "c": ["no", "yes"]}
    budget = dp.Budget(epsilon=4, delta=1e-9)
    with dp.protect(rows, name="people", privacy_unit=dp.ROW, budget=budget, keys=keys, ledger=":memory:") as session:
        return session.release(dp.table("people").synthesize(synthesizer), epsilon=3)


def test_a_tree_is_nearer_to_the_data_than_independent_columns():
    data, test = as_arrow(draw(4_000)), as_arrow(draw(1_001))
    alone, tree = (owner_quality(release(synthesizer, data), data, target="c", test=test) for synthesizer in SPREAD)
    # Noise is fresh. In 12 runs, each bound was more than 15 standard deviations from the mean of its figure.
    assert tree.distances.two_way < 0.1 < alone.distances.two_way
    assert tree.score > 900 > alone.score
    assert tree.sample > alone.sample
    assert tree.propensity < 0.65 < alone.propensity
    assert 0.9 < tree.accuracy.synthetic <= 1
    assert tree.accuracy.real > 0.99


def test_the_text_and_the_json_say_who_may_see_them():
    data = as_arrow(draw(500))
    found = owner_quality(release(SPREAD[0], data), data)
    assert str(found).endswith("not differentially private.")
    assert "% sample" in str(found)
    plain = json.loads(json.dumps(found.to_json()))
    assert plain["audience"].startswith("For the owners of the data only")
    assert plain["figures"]["accuracy"] is None
    assert plain["figures"]["distances"]["two_way"] == found.distances.two_way


def test_rows_that_were_not_synthesized_are_the_control_of_three_risks():
    data, test = as_arrow(draw(500)), as_arrow(draw(501))
    found = owner_quality(release(SPREAD[1], data), data, test=test)
    assert [each.heading for each in found.risks] == ["singling out", "linkability", "inference"]
    assert found.accuracy is None
    assert "singling out: " in str(found)
    assert "Other attacks may succeed." in str(found)
    plain = json.loads(json.dumps(found.to_json()))["figures"]["risks"]
    assert all(each["interval"][0] <= each["risk"] <= each["interval"][1] for each in plain)


def test_the_page_is_for_the_owner_of_the_file_alone(tmp_path):
    data = as_arrow(draw(500))
    place = owner_quality(release(SPREAD[0], data), data).save(tmp_path / "quality.html")
    assert place.stat().st_mode & 0o777 == 0o600
    text = place.read_text()
    assert "For the owners of the data only" in text
    assert "<h1>people</h1>" in text
    assert text.count("<svg") == 3


def test_unique_rows_that_are_drawn_are_counted_once():
    real = SlotRows(DOMAIN, np.array([[0, 0, 0], [0, 0, 0], [1, 1, 1], [2, 2, 1]]))
    drawn = SlotRows(DOMAIN, np.array([[0, 0, 0], [1, 1, 1], [1, 1, 1], [3, 3, 1]]))
    assert unique_matches(real, drawn) == (2, 1)


def test_a_tree_cannot_tell_two_samples_of_one_law_apart_but_sees_lost_associations():
    rows, others = draw(4_000), draw(4_001)
    assert abs(propensity(rows, others, np.random.default_rng(1)) - 0.5) < 0.05
    assert propensity(rows, shuffle(others), np.random.default_rng(1)) > 0.7


def test_models_trained_on_rows_of_one_class_predict_it():
    rows, test = draw(3_000), draw(1_000)
    constant = SlotRows(DOMAIN, np.zeros((10, 3), dtype=np.int32))
    found = model_accuracy(rows, constant, test, "c")
    assert found.real > 0.99
    assert found.synthetic == pytest.approx((test.codes[:, 2] == 0).mean())
    assert 0.4 < found.majority < 0.6


def test_a_target_needs_its_column_and_other_rows():
    data = as_arrow(draw(100))
    table = release(SPREAD[0], data)
    with pytest.raises(NameNotFoundError, match="'d'"):
        owner_quality(table, data, target="d", test=data)
    with pytest.raises(ParameterError, match="tested on other rows"):
        owner_quality(table, data, target="c")
    with pytest.raises(ParameterError, match="a column to learn without"):
        owner_quality(table, data, learn="c")
    with pytest.raises(NameNotFoundError, match="learn='d'"):
        owner_quality(table, data, learn="d", test=data)
    with pytest.raises(ParameterError, match="fewer than 2 rows"):
        owner_quality(table, data[:1])
