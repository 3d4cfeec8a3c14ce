"""Bars as SVG inside a page, in the colours of the report of releases, on light and dark; numbers stand beside them."""

from collections.abc import Sequence
from dataclasses import dataclass

from discreet.release.report.markup import Markup, element

_WIDTH, _LINE, _TOP = 340, 24, 4
_LEFT, _RIGHT = 112, 92
_LONGEST_LABEL = 16


@dataclass(frozen=True)
class Bar:
    """A label, a length from 0 to 1, and the number beside the bar."""

    label: str
    length: float
    note: str


def bar_chart(caption: str, bars: Sequence[Bar], name: str) -> Markup:
    """A figure with a bar for each label; `name` makes its ids unique in a page."""
    height = 2 * _TOP + _LINE * len(bars)
    words = "; ".join(f"{bar.label}: {bar.note}" for bar in bars)
    drawn = element(
        "svg",
        element("title", caption, id=f"{name}-title"),
        element("desc", words, id=f"{name}-words"),
        element("line", x1=_LEFT, x2=_LEFT, y1=_TOP, y2=height - _TOP, class_="grid"),
        *(_bar(bar, place) for place, bar in enumerate(bars)),
        viewBox=f"0 0 {_WIDTH} {height}",
        role="img",
        aria_labelledby=f"{name}-title {name}-words",
    )
    return element("figure", element("figcaption", caption), drawn, class_="chart")


def _bar(bar: Bar, place: int) -> Markup:
    middle = _TOP + _LINE * place + _LINE / 2
    length = round(min(1.0, max(0.0, bar.length)) * (_WIDTH - _LEFT - _RIGHT), 1)
    label = bar.label if len(bar.label) <= _LONGEST_LABEL else f"{bar.label[: _LONGEST_LABEL - 1]}…"
    shape = element("rect", x=_LEFT, y=middle - 7, width=length, height=14)
    text = element("text", label, x=_LEFT - 8, y=middle + 4, text_anchor="end")
    return Markup(text + shape + element("text", bar.note, x=_LEFT + length + 6, y=middle + 4))
