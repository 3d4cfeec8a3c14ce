"""Text that fits a terminal: tables, also as HTML, and sentences with commands to be copied."""

import html
import re
import textwrap
from dataclasses import dataclass

WIDTH = 80
_COMMAND = re.compile(r"discreet ledger (?:key )?[a-z-]+(?:(?: --[a-z-]+)? [A-Z]+\b)*[,;.]?")
"""A command in a sentence, with the options that it requires and the mark after it."""
_SHORTEST_NAME = 8
_INDENT = "  "
_SIDES = {"<": "left", ">": "right"}


@dataclass(frozen=True)
class TextTable:
    """Rows of text under a head, or under none; `sides` has < or > for each column, `more` says what is not shown."""

    head: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    sides: str
    more: str = ""

    def text(self) -> str:
        """The table in lines of at most 80 characters: names in the first column are shortened for that."""
        rows = [self.head, *self.rows] if self.head else self.rows
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        widths[0] = min(widths[0], max(_SHORTEST_NAME, WIDTH - sum(widths[1:]) - 2 * len(widths)))
        shapes = list(zip(self.sides, widths, strict=True))
        lines = [
            _INDENT + "  ".join(f"{cell:{side}{width}}" for cell, (side, width) in zip(row, shapes, strict=True))
            for row in ((shorten(row[0], widths[0]), *row[1:]) for row in rows)
        ]
        return "\n".join(line.rstrip() for line in [*lines, *([_INDENT + self.more] if self.more else [])])

    def html(self) -> str:
        """The table as HTML; nothing in a cell is markup."""
        head = "".join(f'<th scope="col">{html.escape(cell)}</th>' for cell in self.head)
        body = "".join(f"<tr>{self._cells(row)}</tr>" for row in self.rows)
        more = f"<small>{html.escape(self.more)}</small>" if self.more else ""
        return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{more}"

    def _cells(self, row: tuple[str, ...]) -> str:
        return "".join(
            f'<td style="text-align:{_SIDES[side]}">{html.escape(cell)}</td>'
            for cell, side in zip(row, self.sides, strict=True)
        )


def text_page(title: str, tables: list[TextTable], notes: list[str]) -> str:
    """A title, tables with a blank line before each, and notes, wrapped at 80 characters."""
    parts = [textwrap.fill(title, WIDTH), *(table.text() for table in tables)]
    wrapped = [textwrap.fill(note, WIDTH, initial_indent=_INDENT, subsequent_indent=2 * _INDENT) for note in notes]
    return "\n\n".join([*parts, *(["\n".join(wrapped)] if wrapped else [])])


def html_page(title: str, tables: list[TextTable], notes: list[str]) -> str:
    """The same as HTML."""
    below = "".join(f"<div>{html.escape(note)}</div>" for note in notes)
    return f"<div><strong>{html.escape(title)}</strong>{''.join(t.html() for t in tables)}<small>{below}</small></div>"


def shorten(name: str, width: int) -> str:
    """A name on one line of at most this many characters, cut in the middle so that its ends still tell it apart."""
    if len(name) <= width:
        return name
    half = (width - 1) // 2
    return f"{name[: width - 1 - half]}…{name[-half:]}"


def with_commands_apart(sentence: str, width: int) -> list[str]:
    """A sentence in lines of a width; each command in it is on a line of its own, whole, to be copied."""
    lines: list[str] = []
    place = 0
    for found in [*_COMMAND.finditer(sentence), None]:
        words = sentence[place : None if found is None else found.start()].strip()
        lines += textwrap.wrap(words, width, initial_indent="  " if lines else "", subsequent_indent="  ")
        if found is not None:
            lines.append(f"    {found[0].rstrip(',;.')}")
            place = found.end()
    return lines
