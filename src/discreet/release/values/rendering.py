"""Small tables and the notes under them, as text for a terminal and as HTML in which everything is escaped."""

import html
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from discreet.catalog.catalog import Value

Figure = int | float
Row = Sequence[str]

_SMALLEST_MARGIN = 1e-9
GENERATED = " (generated data)"
"""What the name of a generated twin ends with."""
SYNTHETIC = " (synthetic table)"
"""What the name of a twin ends with whose rows are those of a released synthetic table."""
EXACT_SYNTHETIC = f" (synthetic table without noise){GENERATED}"
"""What it ends with where that table is one of dp.testing."""
_ON_SYNTHETIC = "SYNTHETIC DATA: a preview on the rows of a released synthetic table; nothing was read or charged"
_PREVIEW = "GENERATED DATA: a preview from the catalog alone; nothing was read or charged"


def text_table(head: Row, rows: Sequence[Row], text_columns: int) -> list[str]:
    """Lines with columns side by side: the first so many to the left, numbers to the right."""
    widths = [max(map(len, column)) for column in zip(head, *rows, strict=True)]
    return [_line(row, widths, text_columns) for row in (head, *rows)]


def html_table(head: Row, rows: Iterable[Row], text_columns: int = 0) -> str:
    """The same for a browser and for screen readers: the first so many cells of each row are its headings."""
    cells = "".join(f'<th scope="col">{html.escape(text)}</th>' for text in head)
    body = "".join(f"<tr>{_html_cells(row, text_columns)}</tr>" for row in rows)
    return f"<table><thead><tr>{cells}</tr></thead><tbody>{body}</tbody></table>"


def card(stamp: Sequence[str], body: str, notes: Iterable[str]) -> str:
    """HTML of an answer: its stamp, what it says (already HTML), and the notes under it."""
    stamped = "".join(f"<strong>{html.escape(text)}</strong>" for text in stamp)
    under = "".join(f"<div>{html.escape(note)}</div>" for note in notes)
    return f"<div>{stamped}{body}<small>{under}</small></div>"


def stamp(what: str, *, private: bool, dataset: str = "") -> list[str]:
    """The words over an answer of dp.testing, such as 'exact answers', or of a preview; none over a release."""
    exact = [] if private else [_not_private(what)]
    if dataset.endswith(EXACT_SYNTHETIC):
        exact.append(_not_private("rows of a synthetic table made without noise"))
    preview = _ON_SYNTHETIC if dataset.endswith((SYNTHETIC, EXACT_SYNTHETIC)) else _PREVIEW
    return [*exact, preview] if is_generated(dataset) else exact


def _not_private(what: str) -> str:
    return f"NOT PRIVATE: {what} from dp.testing, for tests only"


def is_generated(dataset: str) -> bool:
    """Whether a dataset is the twin of a preview, generated or of a synthetic table, by its name."""
    return dataset.endswith((GENERATED, SYNTHETIC))


def cost_notes(guarantee: str, receipt: Mapping[str, Any], *, repeated: bool = False) -> list[str]:
    """The last notes of every answer: its privacy cost, whether it was stored, its receipt."""
    known, stated = cell(str(receipt.get("hash", ""))[:12]), cell(guarantee)
    if is_generated(str(receipt.get("dataset", ""))):
        return [f"free     a release would spend {stated}"]
    return [
        f"spent    {stated}",
        *(_repeat(receipt) if repeated else []),
        *([f"receipt  {known}"] if known else []),
    ]


def _repeat(receipt: Mapping[str, Any]) -> list[str]:
    """That an answer is a stored one, from when, and how an owner asks anew about data that was corrected since."""
    when, version = str(receipt.get("time", ""))[:16].replace("T", " "), receipt.get("version")
    lines = [f"repeat   this query was answered before{f', on {when} UTC' * bool(when)}; the stored answer is free"]
    if isinstance(version, int):
        lines.append(
            f"repeat   data that was corrected since is not in it: dp.protect(..., version={version + 1}) answers from "
            "it, charged to the same budget"
        )
    return lines


def cell(value: Value) -> str:
    """A key as text on one line: what cannot be seen is written as its code."""
    text = "(missing)" if value is None else str(value)
    return text if text.isprintable() else "".join(c if c.isprintable() else ascii(c)[1:-1] for c in text)


def figure(value: Figure, margin: Figure) -> str:
    """A number with as many decimals as its margin makes meaningful."""
    if isinstance(value, int) and isinstance(margin, int):
        return f"{value:,}"
    if not margin or not _SMALLEST_MARGIN <= margin < float("inf"):
        return f"{value:,.6g}"
    decimals = 0
    while margin * 10**decimals < 10:
        decimals += 1
    return f"{value:,.{decimals}f}"


def _line(cells: Row, widths: Sequence[int], text_columns: int) -> str:
    padded = [
        text.ljust(width) if i < text_columns else text.rjust(width)
        for i, (text, width) in enumerate(zip(cells, widths, strict=True))
    ]
    return "  ".join(padded).rstrip()


def _html_cells(row: Row, text_columns: int) -> str:
    heads = "".join(f'<th scope="row">{html.escape(text)}</th>' for text in row[:text_columns])
    return heads + "".join(f"<td>{html.escape(text)}</td>" for text in row[text_columns:])
