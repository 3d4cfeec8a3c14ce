"""One text for one plain value: what fingerprints, descriptions and names of prepared tables are made of.

Values of different types never share a text: 1, 1.0, True, "1" and 1/1 are five. A class of ours has no text here; it
is written by its form (`fingerprint.FORMS`), never by its name in Python.
"""

import datetime as dt
import hashlib
import itertools
import json
from collections.abc import Callable, Mapping, Sequence
from enum import StrEnum
from fractions import Fraction

_PLAIN = frozenset({str, int, bool, type(None)})

Write = Callable[[object], object]


def text(data: object) -> str:
    """The text of plain data: keys sorted, no spaces."""
    return json.dumps(data, sort_keys=True, separators=(",", ":"), ensure_ascii=False)


def sha256(data: object) -> str:
    """The digest of plain data, in hexadecimal."""
    return _digest(text(data))


def sha256_of_single_integers(column: list[int]) -> str:
    """The digest of rows of one integer each: that of `sha256([[1], [2], ...])`, in a third of the time."""
    return _digest(f"[[{str(column)[1:-1].replace(', ', '],[')}]]")


def _digest(written: str) -> str:
    return hashlib.sha256(written.encode()).hexdigest()


def unknown(thing: object) -> object:
    """Refuse what has no text: a value that was guessed at could be taken for another."""
    raise TypeError(f"{type(thing).__name__} has no canonical text")


def plain(thing: object, write: Write = unknown) -> object:
    """A value as plain data; `write` is asked about anything that is not a value."""
    if type(thing) in _PLAIN:
        return thing
    if isinstance(thing, tuple | list):
        return thing if _is_plain(thing) else [plain(part, write) for part in thing]
    if isinstance(thing, Mapping):
        return {name: plain(part, write) for name, part in thing.items()}
    if isinstance(thing, Fraction):
        return {"ratio": str(thing)}
    if isinstance(thing, float):
        return {"real": thing.hex()}
    if isinstance(thing, dt.datetime | dt.date):
        return {type(thing).__name__: thing.isoformat()}  # a class of Python's, whose name stays
    if isinstance(thing, StrEnum):
        return thing.value
    if isinstance(thing, str | int):
        return thing
    return write(thing)


def _is_plain(things: Sequence[object]) -> bool:
    """Whether JSON can write these, or rows of them, as they are: a million keys are not walked one by one."""
    kinds = set(map(type, things))
    if kinds == {tuple}:
        kinds = set(map(type, itertools.chain.from_iterable(things)))  # type: ignore[arg-type]
    return kinds <= _PLAIN
