"""Estimates as text, document and table."""

import numpy as np

from discreet.cli.local_estimates import text_of, warning_of
from discreet.local.estimates import ConsistentCounts, FrequencyEstimates


def test_text_has_no_negative_zero_no_control_characters_and_the_right_number():
    none = np.zeros(3)
    found = FrequencyEstimates(["a\x1b", "b", "c"], np.array([-0.3, 5, 1]), none, none, none, 0.95, "normal", 1)
    text = text_of(found, 2)
    assert [line.split()[0] for line in text.splitlines()] == ["value", "b", "c", "...", "1"]
    assert "1 report;" in text
    whole = text_of(found, 3)
    assert "-0" not in whole
    assert r"a\x1b" in whole
    assert "\x1b" not in whole


def test_text_of_consistent_counts_has_no_intervals():
    text = text_of(ConsistentCounts(["a", "b"], np.array([3.0, 7.0]), 10), 5)
    assert [line.split() for line in text.splitlines()[:3]] == [["value", "count"], ["b", "7"], ["a", "3"]]


def test_text_of_a_large_domain_makes_no_row_of_the_others(monkeypatch):
    """The document of all values took gigabytes, for twenty rows of text."""
    size = 2**22
    column = np.zeros(size)
    found = FrequencyEstimates(range(size), column, column, column, column, 0.95, "normal", 10)
    monkeypatch.setattr(FrequencyEstimates, "to_arrow", None)
    assert "4,194,302 more" in text_of(found, 2)


def test_a_warning_grows_with_the_number_of_values():
    assert warning_of(999_999) == ""
    assert "about 1 GB of memory and 9 seconds" in warning_of(1_000_000)
