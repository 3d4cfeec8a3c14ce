"""Pictures of columns and pairs for a page: the reference as grey bars, synthetic rows as a line of another shape.

Each picture has a title and a description for screen readers. Distances of pairs are a table whose cells are shaded, so
every figure can be read.
"""

import math
from collections.abc import Mapping, Sequence

from discreet.plots.style import percent
from discreet.release.quality.shares import ColumnShares, Shares
from discreet.release.report.markup import Markup, element, paragraph

MOST_BINS, MOST_VALUES = 64, 10
"""Bars of a picture; further bins are joined with their neighbours, and further values are added up."""
_WIDTH, _TOP, _HEIGHT, _BOTTOM = 340, 16, 110, 20
_MISSING = 40
_LINE, _LEFT, _RIGHT = 24, 112, 96
_LONGEST_LABEL = 16
_DARKEST = 55
"""Percent of the colour in the cell of the largest distance: text stays readable on it."""
_NAMED = 3


def column_picture(column: ColumnShares, words: tuple[str, str], place: int) -> Markup:
    """The shares of one column; `words` name the reference and the drawn rows, `place` makes ids unique."""
    drawn, height = _bins(column) if column.is_ordered else _values(column)
    title, name = f"{column.name}: distance {column.distance:.3f}", f"column-{place}"
    picture = element(
        "svg",
        element("title", title, id=f"{name}-title"),
        element("desc", _description(column, words), id=f"{name}-words"),
        drawn,
        viewBox=f"0 0 {_WIDTH} {height}",
        role="img",
        aria_labelledby=f"{name}-title {name}-words",
    )
    note = element("span", f"distance {column.distance:.3f}", class_="note")
    return element("figure", element("figcaption", column.name, " ", note), picture, class_="chart")


def pair_matrix(caption: str, names: Sequence[str], pairs: Mapping[tuple[str, str], float]) -> Markup:
    """Distances of pairs as a table with shaded cells; pairs that are not known are left empty."""
    most = max(pairs.values(), default=0.0) or 1.0
    head = element("tr", element("td"), *(element("th", str(n + 1), scope="col") for n in range(len(names) - 1)))
    rows = [
        element(
            "tr",
            element("th", f"{place + 1} {_short(name)}", scope="row"),
            *(_cell(pairs.get((other, name), pairs.get((name, other))), most) for other in names[:place]),
        )
        for place, name in enumerate(names)
    ]
    whole = element("table", element("thead", head), element("tbody", *rows))
    matrix = element("div", whole, class_="scroll matrix", tabindex="0", role="region", aria_label=caption)
    return Markup(paragraph(caption, class_="note") + matrix)


def _cell(distance: float | None, most: float) -> Markup:
    if distance is None:
        return element("td", "·")
    shade = round(_DARKEST * min(1.0, distance / most))
    return element("td", f"{distance:.3f}", style=f"--shade:{shade}%")


def _bins(column: ColumnShares) -> tuple[Markup, int]:
    """Bars and a line of steps over bins in their order; missing values stand apart, at the right."""
    step = math.ceil((len(column.reference) - 1) / MOST_BINS)
    sides = [_join_bins(each, step) for each in (column.reference, column.drawn)]
    missing = [max(0.0, each[-1]) for each in (column.reference, column.drawn)]
    has_missing = max(missing) > 0
    right = _WIDTH - 8 - (_MISSING + 16 if has_missing else 0)
    top = max(*sides[0], *sides[1], *missing, 1e-9)
    count, base = len(sides[0]), _TOP + _HEIGHT
    width = (right - 8) / count

    def up(share: float) -> float:
        return round(base - max(0.0, share) / top * (_HEIGHT - 4), 1)

    bars = [_bar(8 + place * width, up(share), width, base) for place, share in enumerate(sides[0])]
    path = "".join(
        f"{'M' if not place else 'L'}{8 + place * width:.1f} {up(share)}H{8 + (place + 1) * width:.1f}"
        for place, share in enumerate(sides[1])
    )
    edges: list[tuple[float, str, str]] = [(8, "start", column.labels[0]), (right, "end", column.labels[-1])]
    parts = [*bars, element("path", d=path, class_="step")]
    if has_missing:
        left = right + 16
        parts += [_bar(left, up(missing[0]), _MISSING, base)]
        parts += [element("path", d=f"M{left} {up(missing[1])}H{left + _MISSING}", class_="step")]
        edges.append((left + _MISSING / 2, "middle", "missing"))
    parts += [element("line", x1=8, x2=_WIDTH - 8, y1=base, y2=base, class_="grid")]
    parts += [element("text", text, x=x, y=base + 15, text_anchor=end, class_="tick") for x, end, text in edges]
    parts += [element("text", f"highest bar {percent(min(1.0, top))}", x=8, y=11, class_="tick")]
    return Markup("".join(parts)), base + _BOTTOM


def _values(column: ColumnShares) -> tuple[Markup, int]:
    """A bar and a mark for each value, the most frequent first, with both shares beside them."""
    labels = [*column.labels, "missing"]
    order = sorted(range(len(labels)), key=lambda n: -max(column.reference[n], column.drawn[n]))
    if column.reference[-1] == column.drawn[-1] == 0:
        order.remove(len(labels) - 1)
    listed = [(labels[n], column.reference[n], column.drawn[n]) for n in order[:MOST_VALUES]]
    rest = order[MOST_VALUES:]
    if rest:
        one, other = (sum(side[n] for n in rest) for side in (column.reference, column.drawn))
        listed.append((f"{len(rest):,} others", one, other))
    top = max(1e-9, *(max(one, other) for _, one, other in listed))
    parts = []
    for place, (label, one, other) in enumerate(listed):
        middle = 4 + _LINE * place + _LINE / 2
        ends = [round(max(0.0, share) / top * (_WIDTH - _LEFT - _RIGHT), 1) for share in (one, other)]
        parts += [
            element("text", _short(label), x=_LEFT - 8, y=middle + 4, text_anchor="end"),
            element("rect", x=_LEFT, y=middle - 7, width=ends[0], height=14, class_="base"),
            element("path", d=f"M{_LEFT + ends[1]} {middle - 10}V{middle + 10}", class_="step"),
            element("text", f"{_share(one)} · {_share(other)}", x=_WIDTH - 4, y=middle + 4, text_anchor="end"),
        ]
    return Markup("".join(parts)), 8 + _LINE * len(listed)


def _bar(left: float, top: float, width: float, base: float) -> Markup:
    return element("rect", x=round(left, 1), y=top, width=round(width, 1), height=round(base - top, 1), class_="base")


def _join_bins(shares: Shares, step: int) -> list[float]:
    """Shares of bins, so many neighbours added up each; the missing slot is left out."""
    return [sum(shares[place : min(place + step, len(shares) - 1)]) for place in range(0, len(shares) - 1, step)]


def _description(column: ColumnShares, words: tuple[str, str]) -> str:
    """The slots with the largest differences, in words."""
    ends = column.labels
    labels = [f"{ends[n]} to {ends[n + 1]}" for n in range(len(ends) - 1)] if column.is_ordered else [*ends]
    found = zip([*labels, "missing"], column.reference, column.drawn, strict=True)
    largest = sorted(found, key=lambda each: -abs(each[1] - each[2]))[:_NAMED]
    listed = "; ".join(
        f"{label}: {_share(one)} in {words[0]}, {_share(other)} in {words[1]}" for label, one, other in largest
    )
    return f"Largest differences: {listed}"


def _share(share: float) -> str:
    return f"{100 * share:.1f}%"


def _short(label: str) -> str:
    return label if len(label) <= _LONGEST_LABEL else f"{label[: _LONGEST_LABEL - 1]}…"
