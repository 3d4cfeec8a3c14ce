"""Bars: their numbers beside them, differences by hatch, and a description in words."""

import pytest

from discreet.plots.bars import bars

pytest.importorskip("matplotlib")


def test_bars_differ_by_hatch_and_carry_their_numbers():
    words = {"title": "Sizes", "label": "people", "exposed": [True, False], "legend": ("small", "others")}
    figure = bars(["1", "2"], [3, 4], ["3 people", "4 people"], **words)
    dark, light = figure.axes[0].containers
    assert dark[0].get_hatch() != light[0].get_hatch()
    assert figure.get_label() == "Sizes: 1 3 people; 2 4 people"


def test_shares_are_on_an_axis_of_percent():
    figure = bars(["a"], [0.5], ["50%"], title="Shares", label="share", is_share=True)
    assert figure.axes[0].xaxis.get_major_formatter()(0.5, 0) == "50%"
