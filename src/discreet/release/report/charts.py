"""Charts of values with their intervals, as SVG inside a page: marks in the colour of the text, on light and dark.

A value is a dot, its interval a line with ends. Nothing is said by colour alone. The table beside a chart has all
numbers; the chart has a title and a description for screen readers.
"""

import math
from collections.abc import Callable, Sequence

from discreet.plots.style import plain
from discreet.release.report.markup import Markup, element, escape
from discreet.release.report.tables import Point, ResultTable, Series

MOST_POINTS = 30
MOST_CHARTS = 6
_WIDTH, _LINE, _TOP, _BOTTOM = 340, 24, 8, 30
_LEFT, _RIGHT = 104, 30
_LONGEST_LABEL = 15
_CHARACTER = 6.5
_NARROWEST = 1e-9


def charts(table: ResultTable, name: str) -> tuple[Markup, ...]:
    """One chart for each column with several numbers; `name` makes ids unique in a page."""
    drawn = [series for series in table.series if 1 < len(series.points) <= MOST_POINTS][:MOST_CHARTS]
    return tuple(chart(series, f"{name}-{place}") for place, series in enumerate(drawn))


def chart(series: Series, name: str) -> Markup:
    """The values of a column, one line each, on an axis that starts at zero or below."""
    low, high = _limits(series.points)
    ticks = _ticks(low, high)
    low, high = min(low, ticks[0]), max(high, ticks[-1])
    height = _TOP + _LINE * len(series.points) + _BOTTOM

    def across(value: float) -> float:
        return round(_LEFT + (value - low) / (high - low) * (_WIDTH - _LEFT - _RIGHT), 1)

    bottom = height - _BOTTOM + 4
    lines = [_tick(across(tick), bottom, plain(tick)) for tick in ticks]
    marks = [_mark(point, place, across) for place, point in enumerate(series.points)]
    title = element("title", f"{series.name} with intervals", id=f"{name}-title")
    words = element("desc", _words(series), id=f"{name}-words")
    drawn = element(
        "svg",
        title,
        words,
        *lines,
        *marks,
        viewBox=f"0 0 {_WIDTH} {height}",
        role="img",
        aria_labelledby=f"{name}-title {name}-words",
    )
    return element("figure", element("figcaption", series.name), drawn, class_="chart")


def _limits(points: Sequence[Point]) -> tuple[float, float]:
    ends = [end for point in points for end in (point.value, point.low, point.high) if end is not None]
    low, high = min(0.0, *ends), max(0.0, *ends)
    return (low, high) if high - low > _NARROWEST else (0.0, 1.0)


def _ticks(low: float, high: float) -> list[float]:
    """A few round numbers that cover the range: as many as fit side by side."""
    for count in (5, 4, 3, 2):
        found = _round_numbers(low, high, count)
        widest = max(len(plain(tick)) for tick in found)
        if len(found) * (widest + 1) * _CHARACTER <= _WIDTH - _LEFT - _RIGHT:
            return found
    return _round_numbers(low, high, 1)


def _round_numbers(low: float, high: float, count: int) -> list[float]:
    rough = (high - low) / count
    size = 10.0 ** math.floor(math.log10(rough))
    step = next(size * factor for factor in (1, 2, 2.5, 5, 10) if size * factor >= rough)
    first, last = math.floor(low / step), math.ceil(high / step)
    return [number * step for number in range(first, last + 1)]


def _tick(place: float, bottom: float, text: str) -> Markup:
    line = element("line", x1=place, x2=place, y1=_TOP, y2=bottom, class_="grid")
    return Markup(line + element("text", text, x=place, y=bottom + 16, text_anchor="middle", class_="tick"))


def _mark(point: Point, place: int, across: Callable[[float], float]) -> Markup:
    height = _TOP + _LINE * place + _LINE / 2
    at = across(point.value)
    parts = [element("text", _short(point.label), x=_LEFT - 8, y=height + 4, text_anchor="end")]
    if point.low is not None and point.high is not None:
        left, right = across(point.low), across(point.high)
        path = f"M{left} {height}H{right}M{left} {height - 7}V{height + 7}M{right} {height - 7}V{height + 7}"
        parts.append(element("path", d=path, class_="whisker"))
    parts.append(element("circle", cx=at, cy=height, r=3.5))
    return Markup("".join(parts))


def _words(series: Series) -> str:
    """The values in words, for screen readers."""
    return "; ".join(
        f"{point.label or series.name}: {plain(point.value)}"
        + ("" if point.low is None or point.high is None else f", from {plain(point.low)} to {plain(point.high)}")
        for point in series.points
    )


def _short(label: str) -> Markup:
    return escape(label if len(label) <= _LONGEST_LABEL else f"{label[: _LONGEST_LABEL - 1]}…")
