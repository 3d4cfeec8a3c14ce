"""Bars of a page: lengths, labels and words for screen readers, all escaped."""

import re

from discreet.anonymity.report.bars import Bar, bar_chart


def test_bars_are_as_long_as_their_share_and_never_longer_than_the_picture():
    drawn = bar_chart("Shares", [Bar("a", 0.5, "50%"), Bar("b", 1.0, "100%"), Bar("c", 7.0, "7")], "x")
    widths = [float(each) for each in re.findall(r'width="([\d.]+)" height="14"', drawn)]
    assert widths[1] == widths[2] == 2 * widths[0]


def test_the_description_has_all_numbers_and_labels_are_cut():
    drawn = bar_chart("Shares", [Bar("a" * 40, 0.5, "50%")], "x")
    assert f"{'a' * 40}: 50%" in drawn
    assert f">{'a' * 15}…<" in drawn


def test_everything_is_escaped():
    drawn = bar_chart("<b>", [Bar("<script>", 0.1, "&")], "x")
    assert "<script>" not in drawn
    assert "<b>" not in drawn
