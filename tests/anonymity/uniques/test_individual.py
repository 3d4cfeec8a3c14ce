"""Individual risk with sampling weights: the published example, brute force, several rows a person."""

import json
import math

import numpy as np
import pyarrow as pa
import pytest

import discreet as dp
from discreet.anonymity.uniques.individual import THRESHOLDS
from discreet.anonymity.uniques.posterior import posterior_risk

# World Bank, Statistical Disclosure Control: A Practice Guide: classes, weights and risks of ten records.
KEYS = ["ufse", "ufse", "ufpn", "umce", "rfcu", "umce", "ufcn", "umpu", "ufsn", "ufsn"]
WEIGHTS = [180, 180, 215, 76, 186, 76, 180, 215, 186, 76]
RISKS = [0.0054, 0.0054, 0.0251, 0.0126, 0.0282, 0.0126, 0.0290, 0.0251, 0.0074, 0.0074]


def brute_force(rows, names, person=None):
    """People by class with their least weight; the largest risk of each person."""
    classes = {}
    for i, row in enumerate(rows):
        who = row[person] if person and row[person] is not None else ("row", i)
        members = classes.setdefault(tuple(row[name] for name in names), {})
        members[who] = min(members.get(who, math.inf), row["w"] or 0)
    risks = {}
    for members in classes.values():
        size = max(len(members), sum(members.values()))
        risk = float(posterior_risk([len(members)], [size])[0])
        for who in members:
            risks[who] = max(risks.get(who, 0), risk)
    clipped = sum(sum(members.values()) < len(members) for members in classes.values())
    return risks, len(classes), clipped


def test_the_published_risks_come_out():
    found = dp.anonymity.individual_risk(pa.table({"key": KEYS, "w": WEIGHTS}), ["key"], weight="w")
    assert (found.people, found.classes, found.population, found.clipped) == (10, 7, 1570.0, 0)
    assert found.expected == pytest.approx(sum(RISKS), abs=10 * 0.00005)
    assert found.highest == pytest.approx(0.0290, abs=0.00005)
    assert dict(found.above)[0.01] == 6
    counts = {key: KEYS.count(key) for key in KEYS}
    totals = {key: sum(w for k, w in zip(KEYS, WEIGHTS, strict=True) if k == key) for key in KEYS}
    each = dp.anonymity.estimate_individual_risk([counts[k] for k in KEYS], [totals[k] for k in KEYS])
    assert [round(r, 4) for r in each.tolist()] == RISKS


@pytest.mark.parametrize("person", [None, "who"])
def test_the_summary_is_that_of_brute_force_on_random_tables(person):
    rng = dp.testing.generator(2200)
    for _ in range(8):
        count = int(rng.integers(1, 40))
        rows = [
            {
                "a": None if rng.random() < 0.1 else int(rng.integers(0, 4)),
                "b": str(rng.integers(0, 3)),
                "who": None if rng.random() < 0.2 else int(rng.integers(0, 15)),
                "w": None if rng.random() < 0.05 else float(rng.integers(0, 80)) / 4,
            }
            for _ in range(count)
        ]
        columns = {name: [row[name] for row in rows] for name in ("a", "b", "who", "w")}
        types = {"a": pa.int64(), "b": pa.string(), "who": pa.int64(), "w": pa.float64()}
        table = pa.table({name: pa.array(cells, types[name]) for name, cells in columns.items()})
        found = dp.anonymity.individual_risk(table, ["a", "b"], weight="w", person=person)
        risks, classes, clipped = brute_force(rows, ["a", "b"], person)
        assert (found.people, found.classes, found.clipped) == (len(risks), classes, clipped)
        assert found.expected == pytest.approx(sum(risks.values()), rel=1e-12)
        assert found.highest == pytest.approx(max(risks.values()), rel=1e-12)
        assert found.above == tuple((t, sum(risk > t for risk in risks.values())) for t in THRESHOLDS)


def test_a_person_counts_once_in_a_class_with_the_smallest_weight():
    table = pa.table({"zip": ["A", "A", "B"], "who": [1, 1, 1], "w": [10.0, 4.0, 50.0]})
    found = dp.anonymity.individual_risk(table, ["zip"], weight="w", person="who")
    assert (found.people, found.classes, found.population) == (1, 2, 54.0)
    assert found.expected == found.highest == dp.anonymity.estimate_individual_risk(1, 4)


def test_weights_below_one_are_taken_for_a_census_and_reported():
    found = dp.anonymity.individual_risk(pa.table({"zip": ["A", "A"], "w": [0.5, 0.2]}), ["zip"], weight="w")
    assert (found.clipped, found.highest, found.expected, found.share) == (1, 0.5, 1.0, 0.5)
    assert "add up to less than their people" in str(found)


def test_an_empty_table_has_no_risk():
    table = pa.table({"zip": pa.array([], pa.string()), "w": pa.array([], pa.int64())})
    found = dp.anonymity.individual_risk(table, ["zip"], weight="w")
    assert (found.people, found.expected, found.highest, found.share) == (0, 0.0, 0.0, 0.0)


@pytest.mark.parametrize("weights", [[1.0, -2.0], [1.0, math.inf]])
def test_weights_that_are_no_weights_are_refused(weights):
    with pytest.raises(dp.errors.ParameterError):
        dp.anonymity.individual_risk(pa.table({"zip": ["A", "B"], "w": weights}), ["zip"], weight="w")


def test_weights_in_words_and_columns_that_are_missing_are_refused():
    table = pa.table({"zip": ["A", "B"], "w": ["one", "two"]})
    with pytest.raises(dp.errors.TypeMismatchError):
        dp.anonymity.individual_risk(table, ["zip"], weight="w")
    with pytest.raises(dp.errors.NameNotFoundError):
        dp.anonymity.individual_risk(table, ["zip"], weight="weight")


@pytest.mark.parametrize(("sample", "population"), [(0, 5), (3, 2), (1, math.inf), (1, math.nan), ([1, 0], [2, 2])])
def test_classes_that_cannot_be_are_refused(sample, population):
    with pytest.raises(dp.errors.ParameterError):
        dp.anonymity.estimate_individual_risk(sample, population)


def test_the_estimate_keeps_the_shape_of_its_arguments():
    assert isinstance(dp.anonymity.estimate_individual_risk(2, 7.5), float)
    assert dp.anonymity.estimate_individual_risk(np.ones((2, 3)), 4.0).shape == (2, 3)


def test_the_result_is_plain_data_and_stamped():
    found = dp.anonymity.individual_risk(pa.table({"key": KEYS, "w": WEIGHTS}), ["key"], weight="w")
    assert json.loads(json.dumps(found.to_json()))["figures"]["people"] == 10
    assert "For the owners" in str(found)


@pytest.mark.parametrize("weight", [1e308, 5e-324])
def test_weights_that_would_overflow_are_refused(weight):
    table = pa.table({"zip": ["A", "A", "B"], "w": [weight] * 3})
    with pytest.raises(dp.errors.ParameterError, match="1e-100"):
        dp.anonymity.individual_risk(table, ["zip"], weight="w")


def test_the_largest_weights_give_finite_risks():
    found = dp.anonymity.individual_risk(pa.table({"zip": ["A", "A"], "w": [1e100] * 2}), ["zip"], weight="w")
    assert math.isfinite(found.expected)
    assert 0 < found.highest < 1e-97


def test_a_quasi_identifier_may_have_the_name_of_the_count():
    table = pa.table({"discreet_count": [21, 22], "w": [3.0, 4.0]})
    assert dp.anonymity.individual_risk(table, ["discreet_count"], weight="w").classes == 2
