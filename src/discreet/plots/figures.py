"""Figures of releases, of accuracy against epsilon, and of budgets, drawn from Arrow tables."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from discreet.errors import (
    NameNotFoundError,
    ParameterError,
    TypeMismatchError,
    UnsupportedError,
    short_traceback,
    suggestion,
)
from discreet.plots.style import BLUE, COLOURS, FAINT, INK, LINES, MARKERS, canvas, listing, plain, tick_format, wrap

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

MOST_KEYS = 200
LONGEST_NAME = 44


@dataclass(frozen=True)
class _Answer:
    """One answer of a release; None where it, or its margin, was not published."""

    name: str
    value: float | None
    margin: float | None
    is_whole: bool = False
    unsaid: str = " (no margin)"

    def __str__(self) -> str:
        if self.value is None:
            return "no answer"
        if self.margin is None:
            return (f"{self.value:,.0f}" if self.is_whole else plain(self.value)) + self.unsaid
        places = 0 if self.is_whole else _places(self.margin)
        return f"{self.value:,.{places}f} ± {self.margin:,.{places}f}"


@short_traceback
def error_bars(
    table: pa.Table,
    *,
    key: str | Sequence[str] | None,
    value: str | Sequence[str],
    margin: str | Sequence[str | None] | None,
    title: str | None = None,
    label: str | None = None,
    confidence: float | None = None,
    whiskers: str | None = None,
    caption: str | None = None,
    bare: str | None = None,
) -> "Figure":
    """Values with error bars of one margin on either side, one line for each key.

    Several values are drawn below one another, in a panel each.

    Args:
        table: An Arrow table.
        key: Key column, or columns. None for one row.
        value: Column of the values, or columns.
        margin: Column of the margins, or one for each value; None for no error bars.
        title: Title of the figure. Default: none.
        label: Label of the axis. Default: the name of the column.
        confidence: Probability with which margins hold, for the caption. Default: not stated.
        whiskers: Meaning of the error bars, where it is not the margin of the noise. Default: the margin of the noise.
        caption: Text below the figure. Default: none.
        bare: Where the margins of values without error bars are. Default: not stated.

    Returns:
        A figure, with a description as its label.

    Raises:
        Refusal: If a column is missing or not numeric, there are too many rows to read, or matplotlib is not installed.

    Example:
        >>> import discreet as dp
        >>> import pyarrow as pa
        >>> table = pa.table({"ward": ["A", "B"], "n": [120, 340], "n_margin": [12, 12]})
        >>> dp.plots.error_bars(table, key="ward", value="n", margin="n_margin", title="Visits").get_label()
        'Visits: A 120 ± 12; B 340 ± 12'
    """
    values = [value] if isinstance(value, str) else list(value)
    margins = [margin] * len(values) if margin is None or isinstance(margin, str) else list(margin)
    panels = [_answers(table, key, v, m) for v, m in zip(values, margins, strict=True)]
    if bare:
        panels = [[replace(answer, unsaid="") for answer in answers] for answers in panels]
    words = [label or _words(value) if len(values) == 1 else _words(value) for value in values]
    names = [answer.name for answer in panels[0]]
    notes = [[str(answer) for answer in answers] for answers in panels]
    below = [whiskers or _whisker_words([a for answers in panels for a in answers], confidence, bare)]
    below += [bare] if whiskers and bare else []
    below += [wrap(caption, 6)] if caption else []
    with listing(names, notes, title, height=0.26 if len(names) <= 60 else 0.2) as (figure, drawn):
        for axes, answers, texts in zip(drawn, panels, words, strict=True):
            _draw_answers(axes, answers)
            axes.grid(axis="y", color=FAINT, linewidth=0.7)
            axes.set_xlabel(wrap(texts, 6))
        drawn[-1].set_xlabel("\n".join([drawn[-1].get_xlabel(), *below]))
        figure.set_label(_text_of_panels(title, words, names, notes, ". ".join(filter(None, (bare, caption)))))
    return figure


@short_traceback
def accuracy_curve(
    table: pa.Table,
    *,
    epsilon: str,
    margin: str,
    series: str | None = None,
    title: str | None = None,
    label: str | None = None,
) -> "Figure":
    """Margin of error against epsilon, one line for each series.

    Args:
        table: An Arrow table.
        epsilon: Column of epsilons.
        margin: Column of margins of error.
        series: Column of the series, at most six. Default: one series.
        title: Title of the figure. Default: none.
        label: Label of the margin. Default "margin of error (±)".

    Returns:
        A figure, with a description as its label.

    Raises:
        Refusal: If a column is missing or not numeric, there are too many rows to read, or matplotlib is not installed.

    Example:
        >>> import discreet as dp
        >>> import pyarrow as pa
        >>> table = pa.table({"epsilon": [0.1, 1.0], "margin": [300, 30]})
        >>> dp.plots.accuracy_curve(table, epsilon="epsilon", margin="margin").get_label()
        'margin of error against epsilon: ±300 at epsilon 0.1, ±30 at epsilon 1'
    """
    curves = _curves(table, epsilon, margin, series)
    with canvas(7.0, 4.8, title) as (figure, (axes,)):
        for place, (name, points) in enumerate(curves.items()):
            _draw_curve(axes, name, points, place)
        if len(curves) == 1:
            _annotate(axes, next(iter(curves.values())))
        else:
            axes.legend(frameon=False, handlelength=4)
        every = [point for points in curves.values() for point in points]
        _scale(axes.xaxis, [x for x, _ in every])
        _scale(axes.yaxis, [y for _, y in every])
        axes.grid(color=FAINT, linewidth=0.7)
        axes.set_xlabel("epsilon\n← more private            less private →")
        axes.set_ylabel(f"{wrap(label or 'margin of error (±)', 4)}\n← more accurate            less accurate →")
        figure.set_label(
            _description(
                title or "margin of error against epsilon", list(curves), [_points_text(c) for c in curves.values()]
            )
        )
    return figure


@short_traceback
def budget_bars(
    table: pa.Table, *, label: str, spent: str, remaining: str, title: str | None = None, measure: str = "epsilon"
) -> "Figure":
    """Spent and remaining part of each budget.

    Args:
        table: An Arrow table.
        label: Column of the names.
        spent: Column of the spending.
        remaining: Column of the rest.
        title: Title of the figure. Default: none.
        measure: Label of the axis. Default "epsilon".

    Returns:
        A figure, with a description as its label.

    Raises:
        Refusal: If a column is missing or not numeric, there are too many rows to read, or matplotlib is not installed.

    Example:
        >>> import discreet as dp
        >>> import pyarrow as pa
        >>> table = pa.table({"dataset": ["visits"], "spent": [1.25], "remaining": [0.75]})
        >>> dp.plots.budget_bars(table, label="dataset", spent="spent", remaining="remaining").get_label()
        'budget in epsilon: visits 1.25 spent, 0.75 left'
    """
    names = [_name(cell) for cell in _column(table, label)]
    used = [number or 0.0 for number in _numbers(table, spent)]
    left = [number or 0.0 for number in _numbers(table, remaining)]
    _refuse_unreadable(len(names))
    notes = [_budget_words(*pair) for pair in zip(used, left, strict=True)]
    with listing(names, [notes], title, height=0.36) as (figure, (axes,)):
        lines = range(len(names))
        shown = [max(0.0, number) for number in left]
        axes.barh(lines, used, height=0.62, color=BLUE, edgecolor=INK, label="spent")
        axes.barh(lines, shown, left=used, height=0.62, color="#f0f0f0", edgecolor=INK, hatch="///", label="remaining")
        axes.legend(
            loc="lower left", bbox_to_anchor=(0, 1), ncols=2, frameon=False, handleheight=1.1, borderaxespad=0.2
        )
        axes.set_xlabel(measure)
        figure.set_label(_description(title or f"budget in {measure}", names, notes))
    return figure


def _draw_answers(axes: "Axes", answers: list[_Answer]) -> None:
    drawn = [(line, a.value, a.margin) for line, a in enumerate(answers) if a.value is not None]
    bare = [(line, value) for line, value, margin in drawn if margin is None]
    full = [(line, value, margin) for line, value, margin in drawn if margin is not None]
    if bare:
        lines, values = zip(*bare, strict=True)
        axes.plot(values, lines, "o", markersize=5.5, color=BLUE, markerfacecolor="white")
    if full:
        lines, values, margins = zip(*full, strict=True)
        axes.errorbar(
            values, lines, xerr=margins, fmt="o", markersize=5.5, color=BLUE, ecolor=INK, elinewidth=1.4, capsize=4
        )
    if _is_near_zero([answer for answer in answers if answer.value is not None]):
        low, high = axes.get_xlim()
        axes.set_xlim(min(low, -0.02 * high), high)


def _is_near_zero(answers: list[_Answer]) -> bool:
    """Whether these are counts that zero belongs beside: several, none below it, some less than half of others."""
    values = [answer.value for answer in answers if answer.value is not None]
    counted = len(values) > 1 and all(answer.is_whole for answer in answers) and min(values) >= 0
    return counted and 2 * min(values) < max(values)


def _draw_curve(axes: "Axes", name: str, points: list[tuple[float, float]], place: int) -> None:
    axes.plot(
        [x for x, _ in points],
        [y for _, y in points],
        label=name,
        color=COLOURS[place % len(COLOURS)],
        marker=MARKERS[place % len(MARKERS)],
        linestyle=LINES[place % len(LINES)],
        linewidth=1.8,
        markersize=6.5,
        markeredgecolor="white",
    )


def _annotate(axes: "Axes", points: list[tuple[float, float]]) -> None:
    if len(points) > 12:
        return
    for x, y in points:
        axes.annotate(f"±{plain(y)}", (x, y), xytext=(6, 5), textcoords="offset points")


def _scale(axis: Any, numbers: list[float]) -> None:
    """A logarithmic axis where the numbers span more than a factor of ten, with plain numbers at its ticks."""
    from matplotlib.ticker import LogLocator, NullLocator  # noqa: PLC0415 - optional

    if min(numbers) > 0 and max(numbers) > 10 * min(numbers):
        axis.axes.set(**{f"{axis.axis_name}scale": "log"})
        axis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
        axis.set_minor_locator(NullLocator())
        axis.set_major_formatter(lambda number, _: plain(number))
    else:
        axis.set_major_formatter(tick_format(axis))


def _answers(table: pa.Table, key: str | Sequence[str] | None, value: str, margin: str | None) -> list[_Answer]:
    values = _numbers(table, value)
    margins = _numbers(table, margin) if margin is not None else [None] * len(values)
    keys = [key] if isinstance(key, str) else list(key or ())
    if not keys and len(values) != 1:
        raise ParameterError(
            f"key=None for a table of {len(values)} rows",
            because="several answers need a name each",
            instead=f"key={next((c for c in table.column_names if c not in (value, margin)), 'ward')!r}",
        )
    _refuse_unreadable(len(values))
    names = [_name(*parts) for parts in zip(*(_column(table, k) for k in keys), strict=True)] or [""]
    is_whole = all(pa.types.is_integer(table.schema.field(c).type) for c in (value, margin) if c is not None)
    return [_Answer(*row, is_whole) for row in zip(names, values, margins, strict=True)]


def _curves(table: pa.Table, epsilon: str, margin: str, series: str | None) -> dict[str, list[tuple[float, float]]]:
    names = [_name(cell) for cell in _column(table, series)] if series is not None else [""] * table.num_rows
    curves: dict[str, list[tuple[float, float]]] = {}
    for name, x, y in zip(names, _numbers(table, epsilon), _numbers(table, margin), strict=True):
        if x is not None and y is not None:
            curves.setdefault(name, []).append((x, y))
    if not 0 < len(curves) <= len(COLOURS):
        raise UnsupportedError(
            f"a plot of {len(curves)} curves",
            because=f"from one to {len(COLOURS)} curves can be distinguished without colour",
            instead="a table with fewer series, and at least one row with both numbers",
        )
    return {name: sorted(points) for name, points in curves.items()}


def _column(table: pa.Table, name: str) -> list[object]:
    if name not in table.column_names:
        raise NameNotFoundError(
            f"column {name!r}",
            because="the table to be drawn has no such column",
            instead=suggestion(name, table.column_names),
        )
    cells: list[object] = table.column(name).to_pylist()
    return cells


def _numbers(table: pa.Table, name: str) -> list[float | None]:
    cells = _column(table, name)
    kind = table.schema.field(name).type
    if not (pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind)):
        raise TypeMismatchError(
            f"column {name!r} of type {kind}",
            because="only numbers can be drawn along an axis",
            instead="a column of integers, floats or decimals",
        )
    return [_finite(cell) for cell in cells]


def _finite(cell: Any) -> float | None:
    return float(cell) if cell is not None and math.isfinite(cell) else None


def _refuse_unreadable(lines: int) -> None:
    if not lines:
        raise UnsupportedError("a plot of 0 lines", because="there is nothing to draw", instead="a table with rows")
    if lines > MOST_KEYS:
        raise UnsupportedError(
            f"a plot of {lines} lines",
            because=f"from one to {MOST_KEYS} names can be read in one plot",
            instead=f"the rows that matter most, as in table.slice(0, {MOST_KEYS})",
        )


def _name(*parts: object) -> str:
    """The key in words: on one line, and shortened in the middle, so that beginnings and ends still tell keys apart."""
    name = ", ".join("(missing)" if part is None else " ".join(str(part).split()) for part in parts)
    if len(name) <= LONGEST_NAME:
        return name
    half = (LONGEST_NAME - 1) // 2
    return f"{name[:half].rstrip()}…{name[-half:].lstrip()}"


def _words(column: str) -> str:
    return column.replace("_", " ")


def _whisker_words(answers: list[_Answer], confidence: float | None, bare: str | None) -> str:
    margins = [answer.margin for answer in answers if answer.value is not None]
    if not any(margin is not None for margin in margins):
        return bare or "no margin is published"
    share = "" if confidence is None else f" in {plain(float(confidence) * 100)}% of releases"
    words = "whiskers: the margin of the noise" if not share else f"whiskers: the noise stays within them{share}"
    return words + (f"\nhollow dots: {bare or 'no margin is published'}" if None in margins else "")


def _description(title: str, names: list[str], notes: list[str]) -> str:
    return f"{title}: " + "; ".join(f"{name} {note}".strip() for name, note in zip(names, notes, strict=True))


def _text_of_panels(
    title: str | None, words: list[str], names: list[str], notes: list[list[str]], caption: str | None
) -> str:
    """The answers of every panel in one text."""
    if len(words) == 1:
        texts = _description(title or words[0], names, notes[0])
    else:
        texts = ". ".join([*([title] if title else []), *map(_description, words, [names] * len(words), notes)])
    return f"{texts}. {caption}" if caption else texts


def _budget_words(spent: float, remaining: float) -> str:
    if remaining < 0:
        return f"{plain(spent)} spent, {plain(-remaining)} over"
    return f"{plain(spent)} spent, {plain(remaining)} left"


def _points_text(points: list[tuple[float, float]]) -> str:
    return ", ".join(f"±{plain(y)} at epsilon {plain(x)}" for x, y in points)


def _places(margin: float) -> int:
    """The decimals at which the margin shows two digits: further ones are noise."""
    return 0 if margin <= 0 else min(12, max(0, 1 - math.floor(math.log10(margin))))
