"""Pictures of findings: two datasets that are told apart without colour, and the claim's own curve."""

import math

import pytest

from discreet.auditing import claims, figures
from discreet.auditing.finding import Finding, Verdict
from discreet.auditing.statistical import evidence

EVENT = {"feature": "value", "relation": ">=", "level": 1.0}
POINTS = [{"level": 1.0, "false_positive": 0.2, "false_negative": 0.6}]
HISTOGRAM = {"edges": [0.0, 1.0, 2.0], "one": [5, 5], "other": [9, 1]}


def finding(claim="epsilon 1, delta 0.1", **detail):
    return Finding(
        subject="a count",
        layer="statistics",
        claim=claim,
        verdict=Verdict.NOTHING_FOUND,
        evidence="nothing",
        stated=1.0,
        detail=detail,
    )


def test_a_finding_without_outcomes_has_no_picture():
    assert figures.figure(finding()) is None


def test_numbers_are_drawn_as_two_outlines_with_the_threshold():
    drawn = figures.figure(finding(histogram=HISTOGRAM, event=EVENT))
    (axes,) = drawn.axes
    assert [text.get_text() for text in axes.get_legend().get_texts()] == ["one", "other", "the event's threshold"]
    assert drawn.get_label() == "a count: nothing"


def test_categories_are_drawn_as_bars_with_their_names():
    histogram = {"levels": ["ValueError", "int"], "one": [5, 5], "other": [9, 1]}
    drawn = figures.figure(finding(histogram=histogram, event=EVENT | {"level": "int", "relation": "=="}))
    assert [tick.get_text() for tick in drawn.axes[0].get_xticklabels()] == ["ValueError", "int"]


@pytest.mark.parametrize(
    ("claim", "equal"),
    [
        (claims.claim(epsilon=1, delta=0.1), 0.9 / (1 + math.e)),
        (claims.claim(rho=0.5), 0.2279),
        (claims.claim(mu=1), 0.3085),
    ],
    ids=str,
)
def test_the_trade_off_is_drawn_against_what_a_claim_of_any_kind_allows(claim, equal):
    allowed = evidence.allowed_trade_off(claim)
    made = finding(str(claim), histogram=HISTOGRAM, event=EVENT, trade_off=POINTS, allowed=allowed)
    curve = figures.figure(made).axes[1].lines[1]
    assert curve.get_label() == f"least errors that {claim} allows"
    assert curve.get_ydata()[0] == (0.9 if "delta" in str(claim) else 1)
    assert min(max(pair) for pair in zip(*curve.get_data(), strict=True)) == pytest.approx(equal, rel=1e-3)


def test_without_what_the_claim_allows_only_the_points_are_drawn():
    drawn = figures.figure(finding(histogram=HISTOGRAM, event=EVENT, trade_off=POINTS))
    assert len(drawn.axes[1].lines) == 1


@pytest.mark.parametrize(("likelier", "less"), [("one", "other"), ("other", "one")])
def test_the_axes_say_which_dataset_was_taken_for_which(likelier, less):
    drawn = figures.figure(finding(histogram=HISTOGRAM, event=EVENT, trade_off=POINTS, likelier_on=likelier))
    assert drawn.axes[1].get_xlabel() == f"taken for `{likelier}`, though `{less}`"
    assert drawn.axes[1].get_ylabel() == f"taken for `{less}`,\nthough `{likelier}`"
