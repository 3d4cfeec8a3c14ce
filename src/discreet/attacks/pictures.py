"""Pictures of attacks, in the style of discreet.plots: bars with their numbers, and curves with their bounds.

A bound is drawn as a line without marks, what was measured as marks. Every figure carries its numbers as text.
"""

import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Literal

from discreet import plots
from discreet.plots import bars as bar_figures
from discreet.plots.style import percent

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

bars = bar_figures.bars

Scale = Literal["linear", "log"]

_CAPTION = 78
_MOST_MARKS = 40
_CURVES = 5
"""Curves of a figure of the usual height; each further one has a line of the legend below it."""


@dataclass(frozen=True)
class Curve:
    """A line to be drawn; measured points have marks, bounds and formulas have none, and rates go in steps."""

    name: str
    points: tuple[tuple[float, float], ...]
    is_measured: bool = True
    is_stepped: bool = False


@dataclass(frozen=True)
class Axis:
    """What an axis says, how it is spaced, and where it has ticks other than the usual ones."""

    label: str
    scale: Scale = "linear"
    limits: tuple[float, float] | None = None
    is_share: bool = False
    ticks: tuple[float, ...] = ()


def curves(
    drawn: Sequence[Curve], *, title: str, x: Axis, y: Axis, caption: str | None = None, stop: float | None = None
) -> "Figure":
    """Curves over one another, distinguished by line and mark; `stop` is where a ledger refuses."""
    height = 5.0 + 0.25 * max(0, len(drawn) - _CURVES)
    with plots.canvas(7.0, height, title) as (figure, (axes,)):
        for place, curve in enumerate(drawn):
            _draw(axes, curve, place)
        if stop is not None:
            axes.axvline(stop, color=plots.INK, linewidth=1.4, linestyle=(0, (2, 2)), label="the ledger refuses more")
        _settle(axes, x, "x")
        _settle(axes, y, "y")
        axes.grid(color=plots.FAINT, linewidth=0.7)
        axes.set_axisbelow(True)
        axes.set_xlabel("\n".join([x.label, *([textwrap.fill(caption, _CAPTION)] if caption else [])]))
        axes.set_ylabel(y.label)
        figure.legend(loc="outside lower center", frameon=False, handlelength=4, ncols=1)
        figure.set_label(f"{title}: " + "; ".join(_curve_text(curve, x, y) for curve in drawn))
    return figure


def _draw(axes: "Axes", curve: Curve, place: int) -> None:
    xs, ys = zip(*curve.points, strict=True) if curve.points else ((), ())
    is_marked = curve.is_measured and not curve.is_stepped and len(xs) <= _MOST_MARKS
    turn = place + place // len(plots.COLOURS)  # a colour that comes again has another line and mark
    axes.plot(
        xs,
        ys,
        label=curve.name,
        color=plots.COLOURS[place % len(plots.COLOURS)],
        linestyle=plots.LINES[turn % len(plots.LINES)],
        linewidth=1.8,
        marker=plots.MARKERS[turn % len(plots.MARKERS)] if is_marked else None,
        drawstyle="steps-post" if curve.is_stepped else "default",
        markersize=6.5,
        markeredgecolor="white",
    )


def _settle(axes: "Axes", axis: Axis, which: Literal["x", "y"]) -> None:
    from matplotlib.ticker import FixedLocator, LogLocator, NullLocator  # noqa: PLC0415 - optional

    direction = axes.xaxis if which == "x" else axes.yaxis
    if axis.scale == "log":
        axes.set(**{f"{which}scale": "log"})
        direction.set_major_locator(LogLocator(subs=(1.0,)))
        direction.set_minor_locator(NullLocator())
    if axis.ticks:
        direction.set_major_locator(FixedLocator(axis.ticks))
    if axis.limits is not None:
        axes.set(**{f"{which}lim": axis.limits})
    shown = percent if axis.is_share else plots.plain
    direction.set_major_formatter(lambda number, _: shown(round(number, 9)))


def _curve_text(curve: Curve, x: Axis, y: Axis) -> str:
    """A curve in words: its points, or its ends and middle where they are many."""
    points = curve.points if len(curve.points) <= 12 else curve.points[:: max(1, len(curve.points) // 6)]
    texts = [f"{_number_text(b, y)} at {_number_text(a, x)}" for a, b in points]
    changes = [word for word, after in pairwise([*texts, ""]) if word != after]
    return f"{curve.name} {', '.join(changes)}"


def _number_text(number: float, axis: Axis) -> str:
    return percent(number) if axis.is_share else plots.plain(number)
