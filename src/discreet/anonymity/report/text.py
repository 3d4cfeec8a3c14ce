"""The report as text for a terminal: sentences are broken to the width, and tables cut their names to fit."""

import re
import textwrap
from collections.abc import Iterator, Sequence

from discreet.anonymity.owners import STAMP
from discreet.anonymity.report.findings import FindingTable, RiskFindings, RiskSection, sections
from discreet.release.values import rendering

NARROWEST = 60
_INDENT = "   "
_GAP = 2
_SHORTEST_NAME = 8
_NO_BREAK = "\N{NO-BREAK SPACE}"


def text(findings: RiskFindings, width: int) -> str:
    """The report for a terminal of that many columns."""
    room = max(width, NARROWEST)
    title = f"Re-identification risk of {rendering.cell(findings.name)}"
    lines = [*_fill(title, room, ""), *_fill(STAMP, room, "")]
    for place, finding in enumerate(sections(findings), 1):
        lines += ["", *_section(place, finding, room)]
    for worked in findings.limits:
        table = [f"{_INDENT}{line}" for line in worked.table_lines()]
        labels = worked.sentences()
        lines += ["", f"{_INDENT}{worked.name}", *table]
        for label, sentence in labels:
            lines += _fill(sentence, room, f"{_INDENT}{label:<6}  ", " " * (len(_INDENT) + 8))
    return "\n".join(lines)


def table_lines(table: FindingTable, width: int) -> list[str]:
    """A table whose first column is cut so that lines fit, where that is possible."""
    lines = [table.head, *table.rows]
    others = [max(len(row[place]) for row in lines) for place in range(1, len(table.head))]
    room = max(_SHORTEST_NAME, width - sum(others) - _GAP * len(others))
    rows = [(_short(row[0], room), *row[1:]) for row in table.rows]
    return rendering.text_table((_short(table.head[0], room), *table.head[1:]), rows, table.text_columns)


def _section(place: int, finding: RiskSection, width: int) -> Iterator[str]:
    yield from _fill(finding.heading, width, f"{place}. ", _INDENT)
    for sentence in finding.sentences:
        yield from _fill(sentence, width, _INDENT)
    for table in finding.tables:
        yield from ("", f"{_INDENT}{table.caption}")
        yield from (f"{_INDENT}{line}" for line in table_lines(table, width - len(_INDENT)))
    if finding.code:
        yield ""
        # code is not indented, so that it runs where it is pasted, and its lines are not broken
        yield from finding.code.splitlines()


def unbroken(sentence: str) -> str:
    """The sentence with no-break spaces around signs, so that no line ends inside "l = 1"."""
    return re.sub(r" ([=±]) ", rf"{_NO_BREAK}\1{_NO_BREAK}", sentence)


def _fill(sentence: str, width: int, indent: str, later: str | None = None) -> Sequence[str]:
    lines = textwrap.wrap(
        unbroken(sentence),
        width,
        initial_indent=indent,
        subsequent_indent=indent if later is None else later,
        break_on_hyphens=False,
    )
    return [line.replace(_NO_BREAK, " ") for line in lines]


def _short(name: str, room: int) -> str:
    return name if len(name) <= room else f"{name[: room - 1]}…"
