"""Where statements end in text that is typed or piped: at a semicolon outside quotes and comments.

A line that begins with a dot is a command of the prompt, and ends with its line; `.plan SELECT` ends as statements do.
"""

import re
from collections.abc import Iterator

_ESCAPES = ("bigquery", "snowflake", "spark")
"""Dialects in which a backslash escapes a quote."""
_PART = r"""
      (?P<quote>['"`])
    | (?P<line>--)
    | (?P<block>/\*)
    | (?P<end>;)
"""
_PARTS = re.compile(_PART, re.VERBOSE)
_COMMENT = re.compile(r"\s*(--[^\n]*(\n|$)|/\*.*?\*/)", re.DOTALL)


def split(text: str, dialect: str) -> tuple[list[str], str]:
    """The statements and commands of a text in order, and what is left after the last one that ends."""
    found: list[str] = []
    while True:
        text = text.lstrip()
        end = _end_of_command(text) if is_command(text) else _end_of_statement(text, dialect)
        if end is None:
            return found, "" if _is_blank(text) else text
        statement, text = text[:end].strip(), text[end:].lstrip(";")
        if statement:
            found.append(statement)


def is_command(text: str) -> bool:
    """Whether a text begins with a command of the prompt that takes no statement."""
    return text.lstrip().startswith(".") and not text.lstrip().startswith(".plan ")


def is_complete(text: str, dialect: str) -> bool:
    """Whether a text that is typed can be answered: a command, nothing, or statements that all end."""
    return is_command(text) or not split(text, dialect)[1]


def _is_blank(text: str) -> bool:
    """Whether a text has nothing but spaces and comments that end."""
    while match := _COMMENT.match(text):
        text = text[match.end() :]
    return not text.strip()


def _end_of_command(text: str) -> int | None:
    return text.find("\n") if "\n" in text else len(text) or None


def _end_of_statement(text: str, dialect: str) -> int | None:
    """The place of the semicolon that ends the first statement; None where it does not end."""
    for kind, start in _marks(text, dialect):
        if kind == "end":
            return start
    return None


def _marks(text: str, dialect: str) -> Iterator[tuple[str, int]]:
    """Semicolons outside quotes and comments; a quote or comment that does not end hides all after it."""
    place = 0
    while match := _PARTS.search(text, place):
        if match["end"]:
            yield "end", match.start()
            place = match.end()
            continue
        closing = "\n" if match["line"] else "*/" if match["block"] else match["quote"]
        place = _after(text, match.end(), closing, has_escapes=bool(match["quote"]) and dialect in _ESCAPES)


def _after(text: str, place: int, closing: str, *, has_escapes: bool) -> int:
    while (end := text.find(closing, place)) >= 0:
        before = text[place:end]
        if not has_escapes or (len(before) - len(before.rstrip("\\"))) % 2 == 0:
            return end + len(closing)
        place = end + 1
    return len(text)
