"""Pictures of findings: two datasets that are told apart without colour, and the claim's own curve."""

from discreet.auditing import figures
from discreet.auditing.finding import Finding, Verdict

EVENT = {"feature": "value", "relation": ">=", "level": 1.0}
POINTS = [{"level": 1.0, "false_positive": 0.2, "false_negative": 0.6}]


def finding(**detail):
    return Finding(
        subject="a count",
        layer="statistics",
        claim="epsilon 1, delta 0.1",
        verdict=Verdict.NOTHING_FOUND,
        evidence="nothing",
        stated=1.0,
        detail=detail,
    )


def test_a_finding_without_outcomes_has_no_picture():
    assert figures.figure(finding()) is None


def test_numbers_are_drawn_as_two_outlines_with_the_threshold():
    histogram = {"edges": [0.0, 1.0, 2.0], "one": [5, 5], "other": [9, 1]}
    drawn = figures.figure(finding(histogram=histogram, event=EVENT))
    (axes,) = drawn.axes
    assert [text.get_text() for text in axes.get_legend().get_texts()] == ["one", "other", "the event's threshold"]
    assert drawn.get_label() == "a count: nothing"


def test_categories_are_drawn_as_bars_with_their_names():
    histogram = {"levels": ["ValueError", "int"], "one": [5, 5], "other": [9, 1]}
    drawn = figures.figure(finding(histogram=histogram, event=EVENT | {"level": "int", "relation": "=="}))
    assert [tick.get_text() for tick in drawn.axes[0].get_xticklabels()] == ["ValueError", "int"]


def test_the_trade_off_is_drawn_against_what_the_claim_allows():
    histogram = {"edges": [0.0, 1.0, 2.0], "one": [5, 5], "other": [9, 1]}
    drawn = figures.figure(finding(histogram=histogram, event=EVENT, trade_off=POINTS))
    curve = drawn.axes[1].lines[1]
    assert curve.get_ydata()[0] == 0.9
    assert "epsilon 1, delta 0.1" in curve.get_label()
