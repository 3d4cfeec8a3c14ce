"""Plots of releases, of accuracy against privacy, and of budgets, drawn from Arrow tables.

One style for all: every difference is drawn by shape, hatch or line as well as by colour, the colours are distinct
by colour-blind readers and in grey, axes are labelled in words, and the numbers stand beside the marks. Each figure
carries a description in text as its label (`figure.get_label()`), which `html` gives to screen readers. Figures need
no display: nothing here opens a window. matplotlib is an optional extra.
"""

from discreet.plots.figures import LONGEST_NAME, MOST_KEYS, accuracy_curve, budget_bars, error_bars
from discreet.plots.style import (
    BLUE,
    COLOURS,
    FAINT,
    GREEN,
    INK,
    LINES,
    MARKERS,
    ORANGE,
    PURPLE,
    SKY,
    STYLE,
    VERMILION,
    canvas,
    html,
    listing,
    plain,
)

__all__ = [
    "BLUE",
    "COLOURS",
    "FAINT",
    "GREEN",
    "INK",
    "LINES",
    "LONGEST_NAME",
    "MARKERS",
    "MOST_KEYS",
    "ORANGE",
    "PURPLE",
    "SKY",
    "STYLE",
    "VERMILION",
    "accuracy_curve",
    "budget_bars",
    "canvas",
    "error_bars",
    "html",
    "listing",
    "plain",
]
