"""Figures from `measure`: the same as those of the cube where both exist, and those of wildcards."""

from fractions import Fraction

import pyarrow as pa
import pytest

import discreet as dp

TABLE = pa.table(
    {
        "zip": ["A", "A", None, "B", "B", "C"],
        "sex": ["f", "m", "f", "m", None, "f"],
        "condition": ["flu", "flu", "cancer", "flu", "cancer", "flu"],
    }
)


def findings(**words):
    return dp.anonymity.risk_report(TABLE, ["zip", "sex"], sensitive=["condition"], **words).findings


@pytest.mark.parametrize("nulls", ["value", "exclude", "wildcard"])
def test_the_report_has_the_figures_of_measure(nulls):
    found = findings(nulls=nulls)
    for place, known in enumerate(found.growth):
        measures = dp.anonymity.measure(TABLE, ["zip", "sex"][: place + 1], nulls=nulls)
        # rows with a missing cell in any column are left out of all steps, so that only the last can be compared
        if nulls != "exclude" or place == 1:
            assert known.counts.k == measures.k
            assert known.counts.classes == measures.classes
            assert known.counts.unique_people == measures.unique_people
            assert known.counts.sizes == measures.class_sizes
            assert known.counts.marketer == measures.marketer
    measures = dp.anonymity.measure(TABLE, ["zip", "sex"], sensitive=["condition"], nulls=nulls)
    (learned,) = found.sensitive
    assert (learned.least, learned.closeness) == (
        measures.diversity["condition"].distinct,
        measures.closeness["condition"],
    )


def test_wildcards_make_larger_classes_and_no_certain_value():
    value, wildcard = findings(), findings(nulls="wildcard")
    assert wildcard.counts.unique_people < value.counts.unique_people
    assert wildcard.sensitive[0].people is None
    assert isinstance(wildcard.counts.marketer, Fraction)
    text = dp.anonymity.risk_report(TABLE, ["zip", "sex"], sensitive=["condition"], nulls="wildcard").text(120)
    assert "a missing cell matches every value" in text
    assert "For condition, l = " in text


def test_what_each_column_adds_is_measured_with_wildcards_too():
    names = [each.name for each in findings(nulls="wildcard").columns]
    assert sorted(names) == ["sex", "zip"]
