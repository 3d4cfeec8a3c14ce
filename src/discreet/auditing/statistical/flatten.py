"""Flatten an outcome of any shape: its numbers and texts by their places.

    3.5                     value
    [1, 2]                  value[0], value[1]
    {"A": 1, "B": "x"}      value['A'], value['B']
    a table                 value['ward A', 'cost'], named by its columns without numbers, else by row; and value rows
    a release               the same, each output beside its margin
    a set                   a place for each member, with the number 1
    1+2j                    value real, value imaginary
    "cost: 3.5"             value, and value number 0 for the first number in the text
    an object               value, its repr, and value['name'] for each attribute

None, an exception and a missing cell have no value, so that absence is visible. Beside the values stand
the order, the lengths and the types that an outcome is made of, and what of it could not be looked into: objects that
show nothing but an address in memory, and all that comes after the first 10,000 values. What lies deeper than four
containers is one text.
"""

import contextlib
import dataclasses
import hashlib
import math
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence, Sized
from decimal import Decimal
from enum import Enum
from fractions import Fraction
from functools import singledispatch
from itertools import islice
from types import BuiltinFunctionType, FunctionType, MethodType, ModuleType
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from discreet.auditing.statistical.outcomes import IteratorItems, RaisedError
from discreet.release.release import MARGIN, Release

Atom = int | float | Fraction | Decimal | np.number[Any] | np.bool_ | str

VALUE = "value"
ERROR_TEXT = "error text"
MOST_ATOMS = 10_000
WHOLLY = "all of it: "
PARTLY = "part of it: "
_PLAIN = frozenset({int, float})
_READ_IN_FULL = frozenset({str, bytes, int, float, bool, complex, type(None), Fraction, Decimal})
_WITHOUT_ATTRIBUTES = (type, Enum, FunctionType, BuiltinFunctionType, MethodType, ModuleType)
_DEEPEST = 4
_LONGEST_TEXT = 200
_MOST_NUMBERS = 64
_LONGEST_SEARCHED = 20_000
_MOST_DIGITS = 300
_ADDRESS = re.compile(r"\bat 0x[0-9a-fA-F]+")
_NUMBER = re.compile(
    r"(?P<hexadecimal>[-+]?0[xX][0-9a-fA-F]+(?:\.[0-9a-fA-F]*)?(?:[pP][-+]?[0-9]+)?)"
    r"|(?P<whole>[-+]?[0-9]+)(?![0-9.eE])"
    r"|(?P<real>[-+]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][-+]?[0-9]+)?)"
    r"|(?P<special>[-+]?\b(?:nan|inf|infinity)\b)",
    re.IGNORECASE,
)


class Atoms(dict[str, Atom]):
    """Numbers and texts by their place, what they are arranged in, and what could not be looked into."""

    __slots__ = ("shape", "unseen")

    def __init__(self) -> None:
        super().__init__()
        self.shape: list[str] = []
        self.unseen: str | None = None

    @property
    def structure(self) -> str | None:
        """The containers, their order, lengths and types, as a category; None for what stands alone."""
        return plain(" ".join(self.shape)) if self.shape else None

    def leave_out(self, place: str, what: str) -> None:
        """Remember that something was not looked into."""
        if self.unseen is None or place == VALUE:
            self.unseen = (WHOLLY if place == VALUE else PARTLY) + what


def atoms(outcome: Any) -> Atoms:
    """Every number and text of an outcome by its place."""
    into = Atoms()
    if type(outcome) in _PLAIN:
        into[VALUE] = outcome
    else:
        _walk(outcome, VALUE, 0, into)
    return into


def plain(text: str) -> str:
    """A text as a category: where it is long, its beginning, its length and a digest of the whole."""
    if len(text) <= _LONGEST_TEXT:
        return text
    digest = hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).hexdigest()
    return f"{text[:_LONGEST_TEXT]}... ({len(text)} characters, digest {digest})"


@singledispatch
def _walk(thing: Any, place: str, depth: int, into: Atoms) -> None:
    if dataclasses.is_dataclass(thing) and not isinstance(thing, type):
        fields = {field.name: getattr(thing, field.name, None) for field in dataclasses.fields(thing)}
        into.shape.append(type(thing).__name__)
        return _mapping(fields, place, depth, into)
    other = _other_form(thing)
    if other is not None:
        into.shape.append(type(thing).__name__)
        return _walk(other, place, depth + 1, into)
    return _unknown(thing, place, depth, into)


def _other_form(thing: Any) -> pa.Table | Mapping[Any, Any] | list[Any] | None:
    """The same as a table, a mapping or a list, where its library offers one."""
    with contextlib.suppress(Exception):
        if hasattr(thing, "__arrow_c_stream__"):
            return pa.table(thing)
    with contextlib.suppress(Exception):
        other = thing.to_dict() if hasattr(thing, "to_dict") else thing.to_list()
        return other if isinstance(other, Mapping | list) else None
    return None


def _unknown(thing: Any, place: str, depth: int, into: Atoms) -> None:
    """An object as its repr and its attributes; one that shows neither counts as not inspected."""
    text, attributes = _safe_repr(thing), _attributes(thing)
    is_opaque = text == type(thing).__name__ or _ADDRESS.search(text) is not None
    if not is_opaque:
        _text(text, place, depth, into)
    else:
        into[place] = _ADDRESS.sub("at 0x", text)
    if attributes:
        _mapping(attributes, place, depth, into)
    elif is_opaque and isinstance(thing, Iterable) and not isinstance(thing, Iterator):
        with contextlib.suppress(Exception):
            _sequence(list(islice(thing, MOST_ATOMS + 1)), place, depth, into)
    elif is_opaque:
        into.leave_out(place, type(thing).__name__)


def _attributes(thing: Any) -> dict[str, Any]:
    if isinstance(thing, _WITHOUT_ATTRIBUTES):
        return {}
    with contextlib.suppress(Exception):
        slots = [name for kind in type(thing).__mro__ for name in _slots(kind)]
        own = {name: getattr(thing, name) for name in slots if hasattr(thing, name)}
        return own | dict(getattr(thing, "__dict__", {}))
    return {}


def _slots(kind: type) -> list[str]:
    named = kind.__dict__.get("__slots__", ())
    return [named] if isinstance(named, str) else [n for n in named if not n.startswith("__")]


def _safe_repr(thing: Any) -> str:
    try:
        return repr(thing)
    except Exception:  # noqa: BLE001 - what cannot be printed still has a type
        return type(thing).__name__


def _key(thing: Any) -> str:
    """The name of a key: addresses in memory, which differ from run to run, are left out where they can stand."""
    if type(thing) in _READ_IN_FULL:
        return plain(_safe_repr(thing))
    if type(thing) is tuple:
        return plain(f"({', '.join(map(_key, thing))}{',' * (len(thing) == 1)})")
    return plain(_ADDRESS.sub("at 0x", _safe_repr(thing)))


@_walk.register(type(None))
def _nothing(thing: None, place: str, depth: int, into: Atoms) -> None:
    """An outcome without values."""


@_walk.register(RaisedError)
def _error(thing: RaisedError, place: str, depth: int, into: Atoms) -> None:
    """An error instead of an outcome is seen by its kind and text; one inside of an outcome is a text."""
    if place == VALUE:
        _numbers(thing.text, ERROR_TEXT, into)
    else:
        _text(f"{thing.kind}: {thing.text}", place, depth, into)


@_walk.register(int)
@_walk.register(float)
@_walk.register(Fraction)
@_walk.register(Decimal)
@_walk.register(np.number)
@_walk.register(np.bool_)
def _number(thing: Atom, place: str, depth: int, into: Atoms) -> None:  # noqa: ARG001 - one signature for all shapes
    into[place] = thing


@_walk.register(complex)
@_walk.register(np.complexfloating)
def _complex(thing: complex, place: str, depth: int, into: Atoms) -> None:  # noqa: ARG001
    into[f"{place} real"], into[f"{place} imaginary"] = thing.real, thing.imag


@_walk.register(np.timedelta64)
def _span(thing: np.timedelta64, place: str, depth: int, into: Atoms) -> None:
    _text(str(thing), place, depth, into)


@_walk.register(str)
@_walk.register(bytes)
def _text(thing: str | bytes, place: str, depth: int, into: Atoms) -> None:  # noqa: ARG001
    text = str(thing) if isinstance(thing, str) else repr(thing)
    into[place] = text
    _numbers(text, place, into)


def _numbers(text: str, place: str, into: Atoms) -> None:
    """The first numbers in a text, each with a place of its own."""
    for position, found in enumerate(islice(_NUMBER.finditer(text, 0, _LONGEST_SEARCHED), _MOST_NUMBERS)):
        if len(into) < MOST_ATOMS:
            into[f"{place} number {position}"] = _parse(found)


def _parse(found: re.Match[str]) -> int | float:
    digits = found.group()
    try:
        if found.lastgroup == "hexadecimal":
            return float.fromhex(digits) if {".", "p"} & set(digits.lower()) else int(digits[:_MOST_DIGITS], 16)
        return int(digits) if found.lastgroup == "whole" and len(digits) < _MOST_DIGITS else float(digits)
    except OverflowError:
        return float("inf")


@_walk.register(Mapping)
def _mapping(thing: Mapping[Any, Any], place: str, depth: int, into: Atoms) -> None:
    _each(((_key(key), inner) for key, inner in thing.items()), place, depth, into, thing, is_keyed=True)
    _fine_members(thing, place, into)


@_walk.register(Sequence)
@_walk.register(np.ndarray)
def _sequence(thing: Sequence[Any] | NDArray[Any], place: str, depth: int, into: Atoms) -> None:
    if isinstance(thing, np.ndarray) and thing.ndim == 0:
        return None if thing is np.ma.masked else _walk(thing[()], place, depth, into)
    return _each(((str(position), inner) for position, inner in enumerate(thing)), place, depth, into, thing)


@_walk.register(IteratorItems)
def _iterator(thing: IteratorItems, place: str, depth: int, into: Atoms) -> None:
    into.shape.append(thing.kind)
    _sequence(thing.items, place, depth, into)


@_walk.register(set)
@_walk.register(frozenset)
def _set(thing: set[Any] | frozenset[Any], place: str, depth: int, into: Atoms) -> None:
    _each(((_key(inner), 1) for inner in thing), place, depth, into, thing)
    _fine_members(thing, place, into)


def _fine_members(thing: Iterable[Any], place: str, into: Atoms) -> None:
    """Keys that are no whole numbers hardly ever come twice, so they are numbers too, the smallest first."""
    fine = [key for key in thing if type(key) is float and not math.isnan(key)]
    for position, key in enumerate(sorted(fine)[:_MOST_NUMBERS] if fine else ()):
        if len(into) < MOST_ATOMS:
            into[f"{place} key {position}"] = key


@_walk.register(pa.Array)
@_walk.register(pa.ChunkedArray)
def _column(thing: pa.Array, place: str, depth: int, into: Atoms) -> None:
    into.shape.append(str(thing.type))
    _sequence(thing.to_pylist(), place, depth, into)


@_walk.register(pa.Scalar)
def _scalar(thing: pa.Scalar, place: str, depth: int, into: Atoms) -> None:
    into.shape.append(str(thing.type))
    _walk(thing.as_py(), place, depth, into)


def _each(
    named: Iterable[tuple[str, Any]], place: str, depth: int, into: Atoms, whole: Any, *, is_keyed: bool = False
) -> None:
    """What a container holds, by name; in the structure, its length, names if they matter, and runs of one type."""
    if depth >= _DEEPEST:
        return _deep(whole, place, depth, into)
    shape = into.shape
    shape.append(f"{type(whole).__name__} of {len(whole) if isinstance(whole, Sized) else '?'} (")
    last: type | None = None
    for position, (name, inner) in enumerate(named):
        if len(into) >= MOST_ATOMS:
            into.leave_out(f"{place}[{name}]", f"what comes after the first {MOST_ATOMS:,} numbers and texts")
            break
        kind = type(inner)
        if kind is not last or is_keyed:
            shape.append(f"{position} {kind.__name__} {name if is_keyed else ''}")
            last = kind
        if kind in _PLAIN:
            into[f"{place}[{name}]"] = inner
        else:
            _walk(inner, f"{place}[{name}]", depth + 1, into)
    return shape.append(")")


def _deep(whole: Any, place: str, depth: int, into: Atoms) -> None:
    text = _safe_repr(_in_full(whole))
    _text(text, place, depth, into)
    if _ADDRESS.search(text):
        into.leave_out(f"{place}[]", "objects inside of many containers")


def _in_full(thing: Any) -> Any:
    """What a repr would not cut short."""
    if isinstance(thing, Release):
        return [(output.name, list(output.values)) for output in thing.outputs]
    if isinstance(thing, np.ndarray):
        return thing.tolist()
    return thing.to_pylist() if isinstance(thing, pa.Table | pa.RecordBatch) else thing


@_walk.register(Release)
def _release(thing: Release, place: str, depth: int, into: Atoms) -> None:
    rows = list(zip(*(key.values for key in thing.keys), strict=True)) or [()] * len(thing)
    into[f"{place} rows"] = len(rows)
    for output in thing.outputs:
        for name, column in ((output.name, output.values), (output.name + MARGIN, output.margins)):
            _cells(rows, name, column, place, depth, into, thing)


@_walk.register(pa.Table)
@_walk.register(pa.RecordBatch)
def _table(thing: pa.Table, place: str, depth: int, into: Atoms) -> None:
    columns = dict(zip(thing.schema.names, (column.to_pylist() for column in thing.columns), strict=True))
    numeric = {field.name: None for field in thing.schema if _is_numeric(field.type)}
    keys = [column for name, column in columns.items() if name not in numeric]
    rows = _told_apart(list(zip(*keys, strict=True))) if keys else [(row,) for row in range(thing.num_rows)]
    into.shape.extend(f"{field.name!r}: {field.type}" for field in thing.schema)
    into[f"{place} rows"] = thing.num_rows
    for name in numeric:
        _cells(rows, name, columns[name], place, depth, into, thing)
    if not numeric:
        _each(((_cell_name(row), 1) for row in rows), place, depth, into, thing, is_keyed=True)


def _cells(
    rows: list[tuple[Any, ...]], name: str, column: Iterable[Any], place: str, depth: int, into: Atoms, whole: Any
) -> None:
    named = ((_cell_name(row, name), cell) for row, cell in zip(rows, column, strict=True))
    _each(named, place, depth, into, whole, is_keyed=True)


def _told_apart(rows: list[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
    """Rows with the same keys as an earlier one have their number among those beside them."""
    names = [_cell_name(row) for row in rows]
    if len(set(names)) == len(rows):
        return rows
    seen: Counter[str] = Counter()
    numbered = []
    for row, name in zip(rows, names, strict=True):
        seen[name] += 1
        numbered.append(row if seen[name] == 1 else (*row, seen[name]))
    return numbered


def _is_numeric(kind: pa.DataType) -> bool:
    return bool(pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind))


def _cell_name(row: tuple[Any, ...], *names: str) -> str:
    return plain(", ".join(map(_key, (*row, *names))))
