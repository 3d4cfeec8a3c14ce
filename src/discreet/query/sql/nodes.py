"""Nodes of the syntax tree: their arguments, all of which must be used, and refusals that say where they stand."""

from collections.abc import Iterator
from typing import Any

from sqlglot import exp
from sqlglot.errors import ErrorLevel

from discreet.errors import SqlError

_LONGEST = 60
_WITHOUT_MEANING = frozenset(
    {"big_int", "_type", "safe", "nested", "requires_string", "input_type_preserved", "zero_on_all_null"}
)
"""Arguments in which sqlglot notes types and habits of a dialect; none of them was written by anybody."""


def arguments(node: exp.Expr, *names: str) -> list[Any]:
    """Arguments of a node by name; any other one that is set is refused, so that nothing is dropped silently."""
    for name, value in node.args.items():
        if name not in names and name not in _WITHOUT_MEANING and value not in (None, False, []):
            raise refusal(
                value if isinstance(value, exp.Expr) else node,
                because=f"{name.strip('_').upper().replace('_', ' ')} has no translation here",
                instead=f"the statement without it; {ACCEPTED}",
            )
    return [node.args.get(name) for name in names]


ACCEPTED = "docs/sql.md lists what is accepted"


def refusal(node: exp.Expr, *, because: str, instead: str, what: str | None = None) -> SqlError:
    """The refusal of a node: its text, and its place in the statement."""
    text = what or short_text(node)
    place = position(node)
    return SqlError(f"{text} in {place}" if place else text, because=because, instead=instead)


def short_text(node: exp.Expr) -> str:
    """A node as SQL, shortened."""
    text = " ".join(sql_text(node).split())
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}..."


def sql_text(node: exp.Expr, dialect: str | None = None) -> str:
    """A node as SQL; the name of its kind where it cannot be written, as it lacks a part."""
    try:
        return node.sql(dialect, comments=False, unsupported_level=ErrorLevel.IGNORE)
    except (AttributeError, KeyError, IndexError, RecursionError, TypeError, ValueError):
        return node.key.upper()


def position(node: exp.Expr) -> str:
    """Line and column of the first part of a node whose place is known; empty where there is none."""
    places = [(part.meta["line"], part.meta["start"]) for part in _parts(node) if "start" in part.meta]
    if not places:
        return ""
    line, start = min(places, key=lambda place: place[1])
    return f"line {line}, column {start - _line_start(node, start) + 1}"


def _parts(node: exp.Expr) -> Iterator[exp.Expr]:
    return node.walk()


def _line_start(node: exp.Expr, start: int) -> int:
    text = str(node.root().meta.get(TEXT, ""))
    return text.rfind("\n", 0, start) + 1


TEXT = "discreet_text"
"""The name under which the root of a tree has the text that was parsed."""
