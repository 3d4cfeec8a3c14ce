"""Pictures of what a statistical audit saw: the outcomes on both datasets, and the trade-off against the claim."""

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from discreet import plots
from discreet.auditing.finding import Finding

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


def figure(finding: Finding) -> "Figure | None":
    """The picture of a finding, or None where it has nothing to draw."""
    histogram, points = finding.detail.get("histogram"), finding.detail.get("trade_off")
    if not histogram:
        return None
    event = finding.detail["event"]
    with plots.canvas(7.0, 6.4 if points else 3.4, None, 2 if points else 1) as (drawn, axes):
        _draw_outcomes(axes[0], histogram, event)
        if points:
            _draw_trade_off(axes[1], points, finding)
        drawn.set_label(f"{finding.subject}: {finding.evidence}")
    return drawn


def _draw_outcomes(axes: "Axes", histogram: dict[str, Any], event: dict[str, Any]) -> None:
    """Both histograms over the feature, distinguished by line and hatch as well as by colour."""
    axes.set_ylabel("runs")
    axes.set_xlabel(str(event["feature"]))
    if "levels" in histogram:
        places = np.arange(len(histogram["levels"]))
        axes.bar(places - 0.2, histogram["one"], 0.4, color=plots.BLUE, edgecolor=plots.INK, label="one")
        axes.bar(
            places + 0.2, histogram["other"], 0.4, color="white", edgecolor=plots.VERMILION, hatch="///", label="other"
        )
        axes.set_xticks(places, histogram["levels"], rotation=30, ha="right")
    else:
        edges = histogram["edges"]
        axes.stairs(histogram["one"], edges, color=plots.BLUE, fill=True, alpha=0.45, label="one")
        axes.stairs(histogram["other"], edges, color=plots.VERMILION, linewidth=1.8, linestyle="--", label="other")
        if isinstance(event["level"], int | float) and math.isfinite(event["level"]):
            axes.axvline(event["level"], color=plots.INK, linewidth=1.2, linestyle=":", label="the event's threshold")
    axes.legend(frameon=False, loc="best")


def _draw_trade_off(axes: "Axes", points: list[dict[str, float]], finding: Finding) -> None:
    """Errors of a test between the datasets: below the claim's curve, the claim is refuted."""
    places = [(point["false_positive"], point["false_negative"]) for point in points]
    axes.plot(*zip(*places, strict=True), "o", color=plots.BLUE, label="errors of tests: at most these, all together")
    allowed = finding.detail.get("allowed")
    if allowed:
        positive, negative = allowed["false_positive"], allowed["false_negative"]
        label = f"least errors that {finding.claim} allows"
        axes.plot(positive, negative, color=plots.VERMILION, linestyle="--", label=label)
    likelier = finding.detail.get("likelier_on", "one")
    other = "other" if likelier == "one" else "one"
    axes.set(
        xlim=(0, 1),
        ylim=(0, 1),
        xlabel=f"taken for `{likelier}`, though `{other}`",
        ylabel=f"taken for `{other}`,\nthough `{likelier}`",
    )
    axes.legend(frameon=False, loc="upper right")
