"""An outcome of any shape as atoms: its numbers and texts by the place where they stand.

    3.5                     value
    [1, 2]                  value[0], value[1]
    {"A": 1, "B": "x"}      value['A'], value['B']
    a table                 value['ward A', 'cost'], named by its columns without numbers, else by row; and value rows
    a release               the same, each output beside its margin
    a set                   a place for each member, with the number 1

None, an exception and a missing cell have no atom, so that what is absent is seen to be absent. Whatever else comes is
a text, its repr without addresses in memory, which differ from run to run. After 10,000 atoms the rest is left out.
"""

import contextlib
import dataclasses
import re
from collections.abc import Iterable, Mapping, Sequence
from decimal import Decimal
from fractions import Fraction
from functools import singledispatch
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from discreet.auditing.outcomes import Raised
from discreet.release import MARGIN, Release

Atom = int | float | Fraction | Decimal | np.number[Any] | np.bool_ | str
Atoms = dict[str, Atom]

VALUE = "value"
MOST_ATOMS = 10_000
_PLAIN = frozenset({int, float})
_DEEPEST = 4
_LONGEST_TEXT = 200
_ADDRESS = re.compile(r"0x[0-9a-fA-F]+")


def atoms(outcome: Any) -> Atoms:
    """Every number and text of an outcome by its place."""
    if type(outcome) in _PLAIN:
        return {VALUE: outcome}
    into: Atoms = {}
    _walk(outcome, VALUE, 0, into)
    return into


def plain(text: str) -> str:
    """A text as a category: cut short, and without addresses in memory."""
    return (_ADDRESS.sub("0x", text) if "0x" in text else text)[:_LONGEST_TEXT]


@singledispatch
def _walk(thing: Any, place: str, depth: int, into: Atoms) -> None:
    if dataclasses.is_dataclass(thing) and not isinstance(thing, type):
        fields = {field.name: getattr(thing, field.name, None) for field in dataclasses.fields(thing)}
        return _mapping(fields, place, depth, into)
    other = _other_form(thing)
    if other is not None:
        return _walk(other, place, depth + 1, into)
    into[place] = _shown(thing)
    return None


def _other_form(thing: Any) -> pa.Table | Mapping[Any, Any] | list[Any] | None:
    """The same as a table, a mapping or a list, where its library offers one."""
    with contextlib.suppress(Exception):
        if hasattr(thing, "__arrow_c_stream__"):
            return pa.table(thing)
    with contextlib.suppress(Exception):
        other = thing.to_dict() if hasattr(thing, "to_dict") else thing.to_list()
        return other if isinstance(other, Mapping | list) else None
    return None


def _shown(thing: Any) -> str:
    try:
        return plain(repr(thing))
    except Exception:  # noqa: BLE001 - what cannot be printed still has a type
        return type(thing).__name__


@_walk.register(type(None))
@_walk.register(Raised)
def _nothing(thing: None, place: str, depth: int, into: Atoms) -> None:
    """What has no atoms."""


@_walk.register(int)
@_walk.register(float)
@_walk.register(Fraction)
@_walk.register(Decimal)
@_walk.register(np.number)
@_walk.register(np.bool_)
def _number(thing: Atom, place: str, depth: int, into: Atoms) -> None:  # noqa: ARG001 - one signature for all shapes
    into[place] = thing


@_walk.register(str)
@_walk.register(bytes)
def _text(thing: str | bytes, place: str, depth: int, into: Atoms) -> None:  # noqa: ARG001
    into[place] = plain(thing if isinstance(thing, str) else repr(thing))


@_walk.register(Mapping)
def _mapping(thing: Mapping[Any, Any], place: str, depth: int, into: Atoms) -> None:
    _each(((_shown(key), inner) for key, inner in thing.items()), place, depth, into)


@_walk.register(Sequence)
@_walk.register(np.ndarray)
def _sequence(thing: Sequence[Any] | NDArray[Any], place: str, depth: int, into: Atoms) -> None:
    if isinstance(thing, np.ndarray) and thing.ndim == 0:
        return _walk(thing[()], place, depth, into)
    return _each(((str(position), inner) for position, inner in enumerate(thing)), place, depth, into)


@_walk.register(set)
@_walk.register(frozenset)
def _set(thing: set[Any] | frozenset[Any], place: str, depth: int, into: Atoms) -> None:
    _each(((_shown(inner), 1) for inner in thing), place, depth, into)


def _each(named: Iterable[tuple[str, Any]], place: str, depth: int, into: Atoms) -> None:
    if depth >= _DEEPEST:
        return
    for name, inner in named:
        if len(into) >= MOST_ATOMS:
            return
        if type(inner) in _PLAIN:
            into[f"{place}[{name}]"] = inner
        else:
            _walk(inner, f"{place}[{name}]", depth + 1, into)


@_walk.register(Release)
def _release(thing: Release, place: str, depth: int, into: Atoms) -> None:
    rows = list(zip(*(key.values for key in thing.keys), strict=True)) or [()] * len(thing)
    into[f"{place} rows"] = len(rows)
    for output in thing.outputs:
        for name, column in ((output.name, output.values), (output.name + MARGIN, output.margins)):
            _each(((_named(row, name), cell) for row, cell in zip(rows, column, strict=True)), place, depth, into)


@_walk.register(pa.Table)
@_walk.register(pa.RecordBatch)
def _table(thing: pa.Table, place: str, depth: int, into: Atoms) -> None:
    columns = dict(zip(thing.schema.names, (column.to_pylist() for column in thing.columns), strict=True))
    numeric = {field.name for field in thing.schema if _is_numeric(field.type)}
    keys = [column for name, column in columns.items() if name not in numeric]
    rows = list(zip(*keys, strict=True)) if keys else [(row,) for row in range(thing.num_rows)]
    into[f"{place} rows"] = thing.num_rows
    for name in numeric:
        _each(((_named(row, name), cell) for row, cell in zip(rows, columns[name], strict=True)), place, depth, into)
    if not numeric:
        _each(((_named(row), 1) for row in rows), place, depth, into)


def _is_numeric(kind: pa.DataType) -> bool:
    return bool(pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind))


def _named(row: tuple[Any, ...], *names: str) -> str:
    return plain(", ".join(map(repr, (*row, *names))))
