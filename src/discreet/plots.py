"""Plots of releases, of accuracy against privacy, and of budgets, drawn from Arrow tables.

One style for all: every difference is drawn by shape, hatch or line as well as by colour, the colours are distinct
by colour-blind readers and in grey, axes are labelled in words, and the numbers stand beside the marks. Each figure
carries a description in text as its label (`figure.get_label()`), which `html` gives to screen readers. Figures need
no display: nothing here opens a window. matplotlib is an optional extra.
"""

import base64
import html as markup
import io
import math
import textwrap
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cache
from numbers import Real
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

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

MOST_KEYS = 200
LONGEST_NAME = 44

INK = "#1a1a1a"
FAINT = "#d5d5d5"
BLUE, VERMILION, GREEN, PURPLE, ORANGE, SKY = "#0072b2", "#d55e00", "#009e73", "#9c4f7f", "#e69f00", "#56b4e9"
COLOURS = (BLUE, VERMILION, GREEN, PURPLE, ORANGE, SKY)
MARKERS = ("o", "s", "^", "D", "v", "P")
LINES = ("-", "--", "-.", ":", (0, (6, 1, 1, 1, 1, 1)), (0, (1, 3)))

STYLE: Any = {
    "axes.edgecolor": INK,
    "axes.labelcolor": INK,
    "axes.labelsize": 10,
    "axes.spines.right": False,
    "axes.spines.top": False,
    "figure.dpi": 100,
    "figure.facecolor": "white",
    "figure.titlesize": 12,
    "figure.titleweight": "bold",
    "font.family": "DejaVu Sans",
    "font.size": 9.5,
    "hatch.linewidth": 1.0,
    "text.color": INK,
    "text.parse_math": False,
    "text.usetex": False,
    "xtick.color": INK,
    "ytick.color": INK,
}


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
    """A release as dots with whiskers of one margin either side; one line per key, or one in all where key is None.

    Several values are drawn below one another, a panel each. `whiskers` says what they mean where that is not the
    margin of the noise, `bare` where the margins of dots without whiskers are; `caption` stands under the figure.
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
    below += [_wrap(caption, 6)] if caption else []
    with listing(names, notes, title, height=0.26 if len(names) <= 60 else 0.2) as (figure, drawn):
        for axes, answers, texts in zip(drawn, panels, words, strict=True):
            _draw_answers(axes, answers)
            axes.grid(axis="y", color=FAINT, linewidth=0.7)
            axes.set_xlabel(_wrap(texts, 6))
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
    """The margin of error against epsilon, with what each direction means on the axes; one line for each series."""
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
        axes.set_ylabel(f"{_wrap(label or 'margin of error (±)', 4)}\n← more accurate            less accurate →")
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
    """What is spent of each budget (dark) and what remains (light and hatched)."""
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


@short_traceback
def html(figure: "Figure") -> str:
    """The figure as an HTML image that stands alone, with its description for those who do not see it."""
    picture = io.BytesIO()
    figure.savefig(picture, format="png", dpi=144)
    data = base64.b64encode(picture.getvalue()).decode("ascii")
    words = markup.escape(str(figure.get_label()), quote=True)
    return f'<img alt="{words}" style="max-width: 100%" src="data:image/png;base64,{data}">'


@short_traceback
@contextmanager
def canvas(width: float, height: float, title: str | None, panels: int = 1) -> "Iterator[tuple[Figure, list[Axes]]]":
    """A figure without a window, and its axes from the top; the style holds while it is being drawn."""
    kind = _figure_class()
    import matplotlib as mpl  # noqa: PLC0415 - optional
    from matplotlib.backends.backend_agg import FigureCanvasAgg  # noqa: PLC0415 - optional

    with mpl.rc_context(STYLE):
        figure = kind(figsize=(width, height), layout="constrained")
        FigureCanvasAgg(figure)
        if title:
            figure.suptitle(_wrap(title, width), x=0.01, ha="left")
        yield figure, [figure.add_subplot(panels, 1, place + 1) for place in range(panels)]
        figure.draw_without_rendering()  # ticks are made when first drawn, and must be made in this style


@cache
def _figure_class() -> "type[Figure]":
    """A figure that notebooks show with its description, whether or not pyplot was set up there."""
    try:
        from matplotlib.figure import Figure  # noqa: PLC0415 - optional
    except ImportError:
        raise UnsupportedError(
            "a plot without matplotlib",
            because="matplotlib is an optional extra and is not installed here",
            instead='pip install "discreet[plots]"',
        ) from None

    class Drawing(Figure):
        def _repr_html_(self) -> str:
            return html(self)

    return Drawing


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


@short_traceback
@contextmanager
def listing(
    names: list[str], notes: list[list[str]], title: str | None, *, height: float
) -> "Iterator[tuple[Figure, list[Axes]]]":
    """One line for each name, read from the top, with its numbers at the right end; as large as the text needs."""
    width = 6.0 + 0.075 * (max(map(len, names)) + max(len(note) for panel in notes for note in panel))
    tall = 0.8 + len(notes) * (0.8 + height * len(names))
    with canvas(width, tall, title, len(notes)) as (figure, drawn):
        yield figure, drawn
        for axes, panel in zip(drawn, notes, strict=True):
            axes.set_yticks(range(len(names)), names)
            axes.set_ylim(len(names) - 0.4, -0.6)
            axes.tick_params(axis="y", length=0)
            axes.set_axisbelow(True)
            _fit_ticks(axes.xaxis)
            for line, note in enumerate(panel):
                axes.text(1.02, line, note, transform=axes.get_yaxis_transform(), va="center", ha="left")


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
        axis.set_major_formatter(_tick_format(axis))


def _fit_ticks(axis: Any) -> None:
    """As many ticks as fit side by side with their numbers written out, on an axis of five inches."""
    shown = _tick_format(axis)
    axis.set_major_formatter(shown)
    for count in range(8, 1, -1):
        axis.axes.locator_params(axis=axis.axis_name, nbins=count)
        if sum(0.25 + 0.075 * len(shown(tick, 0)) for tick in axis.get_majorticklocs()) <= 5:
            return


def _tick_format(axis: Any) -> Callable[[float, float], str]:
    """Numbers with as many decimals as the step from tick to tick has, so that no two ticks read the same."""

    def format_tick(number: float, _: float) -> str:
        ticks = axis.get_majorticklocs()
        step = ticks[1] - ticks[0] if len(ticks) > 1 else 1.0
        places = next((p for p in range(12) if abs(step * 10**p - round(step * 10**p)) < 1e-6 * step * 10**p), 12)
        return f"{number + 0.0:,.{places}f}"

    return format_tick


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


def _wrap(text: str, inches: float) -> str:
    """Text broken into lines that fit, at the width that bold letters of the title take."""
    return textwrap.fill(text, max(20, int(inches * 8.5)))


def _budget_words(spent: float, remaining: float) -> str:
    if remaining < 0:
        return f"{plain(spent)} spent, {plain(-remaining)} over"
    return f"{plain(spent)} spent, {plain(remaining)} left"


def _points_text(points: list[tuple[float, float]]) -> str:
    return ", ".join(f"±{plain(y)} at epsilon {plain(x)}" for x, y in points)


def _places(margin: float) -> int:
    """The decimals at which the margin shows two digits: further ones are noise."""
    return 0 if margin <= 0 else min(12, max(0, 1 - math.floor(math.log10(margin))))


@short_traceback
def plain(number: float | Real) -> str:
    """A number as people write it: thousands set apart, no powers of ten, at most four digits after a leading zero."""
    size = float(number)
    if size == 0 or abs(size) >= 1000:
        return f"{size:,.0f}"
    text = f"{size:.{max(0, 3 - math.floor(math.log10(abs(size))))}f}"
    return text.rstrip("0").rstrip(".") if "." in text else text
