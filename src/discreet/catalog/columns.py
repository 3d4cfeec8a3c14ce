"""Public facts about one column: its type and, where they are public, its bounds, grid, keys and missing values.

Numbers are exact: `0.1` in a catalog is 1/10. Cells that do not fit the type of their column are missing. Models read a
column of numbers in bins, of which there are three kinds; other queries do not read them:

    bins: {linear: 16}    # of equal width between the bounds; 32 of them where nothing is declared
    bins: {log: 32}       # widths grow with the distance from the lower bound, for amounts such as incomes
    bins: [18, 30, 65]    # between edges; the first and the last bin have no outer edge
"""

import datetime as dt
import math
import re
import sys
from collections.abc import Mapping, Sequence
from enum import StrEnum
from fractions import Fraction
from itertools import pairwise
from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, PlainSerializer, model_validator

from discreet.errors import ParameterError
from discreet.exact.numbers import rational

Value = str | int | bool | dt.date | dt.datetime | None

_UNSTORABLE = re.compile("[\\x00\\ud800-\\udfff]")
_PLAIN = (str, int, bool, float, dt.date, dt.datetime, type(None))
MOST_BINS = 4_095
_RATIO = re.compile(r"-?[0-9]{1,400}/[1-9][0-9]{0,400}")


class ColumnType(StrEnum):
    """What a column holds; cells that do not fit are missing, never an error."""

    INTEGER = "integer"
    REAL = "real"
    TEXT = "text"
    BOOLEAN = "boolean"
    DATE = "date"
    TIMESTAMP = "timestamp"
    DOCUMENT = "document"
    BINARY = "binary"


NUMERIC = (ColumnType.INTEGER, ColumnType.REAL)
UNSTRUCTURED = (ColumnType.DOCUMENT, ColumnType.BINARY)


def python_value(value: Any) -> object:
    """A value as plain Python has it: scalars of numpy and pandas, and subclasses of text and numbers, converted.

    A subclass may say anything of itself, and print as SQL. So methods of plain classes read it, never its own.
    """
    if is_plain(value):
        return value
    if type(value).__name__ in ("NaTType", "NAType"):
        return None
    if _is_numpy_scalar(value):
        return _numpy_value(value)
    match value:
        case str():
            return str.__str__(value)
        case int():
            return int.__index__(value)
        case float():
            return float.__float__(value)
        case dt.datetime():
            return dt.datetime.combine(dt.datetime.date(value), dt.datetime.timetz(value))
        case dt.date():
            return dt.date.fromordinal(dt.date.toordinal(value))
    return value


def is_plain(value: object) -> bool:
    """Whether a value is of one of the plain classes itself. A class can redefine its `==`, but not its identity."""
    return any(type(value) is kind for kind in _PLAIN)


def _is_numpy_scalar(value: object) -> bool:
    """Whether the class is one of numpy itself; numpy is not imported for values that are none of its own."""
    numpy: Any = sys.modules.get("numpy")
    if numpy is None:
        return False
    is_array = type(value) is numpy.ndarray and numpy.ndim(value) == 0
    return is_array or any(type(value) is kind for kind in numpy.sctypeDict.values())


def _numpy_value(value: Any) -> object:
    """A scalar of numpy; times of any unit become datetimes, and one that Python has no class for stays."""
    fine = value.dtype.kind == "M" and "[D]" not in str(value.dtype)
    item = (value.astype("datetime64[us]") if fine else value).item()
    return item if is_plain(item) else value


def _exact(value: object) -> Fraction:
    read = Fraction(value) if isinstance(value, str) and _RATIO.fullmatch(value) else value
    try:
        return rational(read, "it")
    except ParameterError as refusal:
        raise ValueError(refusal.because) from None


def as_tuple(value: object) -> object:
    """A list as the tuple that frozen facts hold."""
    return tuple(value) if isinstance(value, list) else value


def _keys(value: object) -> object:
    if not isinstance(value, list | tuple):
        return value
    keys = tuple(python_value(key) for key in value)
    for key in keys:
        if key is not None and not isinstance(key, str | int | dt.date):
            raise ValueError(f"{key} is no text, whole number, boolean, date or timestamp")
    return keys


def _text_of(value: Fraction) -> int | str:
    return value.numerator if value.denominator == 1 else f"{value.numerator}/{value.denominator}"


Exact = Annotated[Fraction, BeforeValidator(_exact), PlainSerializer(_text_of, when_used="json")]


def member(kind: type[StrEnum]) -> BeforeValidator:
    """What reads a member of an enumeration by its text."""

    def read(value: object) -> StrEnum:
        if not isinstance(value, str) or value not in tuple(kind):
            raise ValueError(f"it must be one of {', '.join(kind)}")
        return kind(value)

    return BeforeValidator(read)


class Fact(BaseModel):
    """A strict, frozen piece of a catalog."""

    model_config = ConfigDict(strict=True, frozen=True, extra="forbid", arbitrary_types_allowed=True)


def _parse_dates(data: Any) -> Any:
    """Keys of date columns may be written as ISO text."""
    if not isinstance(data, Mapping) or not isinstance(data.get("keys"), list | tuple):
        return data
    parse = {"date": dt.date.fromisoformat, "timestamp": dt.datetime.fromisoformat}.get(str(data.get("type")), str)
    try:
        return dict(data) | {"keys": tuple(parse(k) if isinstance(k, str) else k for k in data["keys"])}
    except ValueError:
        raise ValueError(f"keys: a {data['type']} is written in ISO form, such as 2026-01-31") from None


class FeatureBins(Fact):
    """Bins of a column of numbers as a feature of models.

    Attributes:
        linear: Number of bins of equal width between the bounds.
        log: Number of bins between the bounds whose width grows.
        edges: Inner edges, smallest first; an edge belongs to the bin above it.
    """

    linear: Annotated[int | None, BeforeValidator(python_value)] = None
    log: Annotated[int | None, BeforeValidator(python_value)] = None
    edges: Annotated[tuple[Exact, ...] | None, BeforeValidator(as_tuple)] = None

    @model_validator(mode="before")
    @classmethod
    def _from_list(cls, data: Any) -> Any:
        """A list is one of edges."""
        return {"edges": tuple(data)} if isinstance(data, list | tuple) else data

    @model_validator(mode="after")
    def _consistent(self) -> "FeatureBins":
        given = [way for way in (self.linear, self.log, self.edges) if way is not None]
        if len(given) != 1:
            raise ValueError("bins: one of linear, log and edges, such as {linear: 16}, {log: 32} or [18, 30, 65]")
        if self.edges is not None:
            _check_edges(self.edges)
        elif not 1 <= given[0] <= MOST_BINS:  # type: ignore[operator]
            raise ValueError(f"bins: from 1 to {MOST_BINS:,} of them")
        return self


def _check_edges(edges: tuple[Fraction, ...]) -> None:
    if not 1 <= len(edges) < MOST_BINS:
        raise ValueError(f"bins: from 1 to {MOST_BINS - 1:,} edges")
    try:
        doubles = [float(edge) for edge in edges]
    except OverflowError:
        raise ValueError("bins: an edge is too large for a number of 64 bits") from None
    if any(low >= high for low, high in pairwise(doubles)):
        raise ValueError("bins: edges increase, and differ as numbers of 64 bits")


class Column(Fact):
    """One column: its type and, where they are public, its bounds, grid, keys and policy for missing values."""

    type: Annotated[ColumnType, member(ColumnType)]
    bounds: Annotated[tuple[Exact, Exact] | None, BeforeValidator(as_tuple)] = None
    grid: Exact | None = None
    keys: Annotated[tuple[Value, ...] | None, BeforeValidator(_keys)] = None
    missing: Annotated[Literal["skip"] | Exact, BeforeValidator(lambda v: v if v == "skip" else _exact(v))] = "skip"
    bins: FeatureBins | None = None
    provenance: str | None = None

    _dates = model_validator(mode="before")(_parse_dates)

    @model_validator(mode="after")
    def _consistent(self) -> "Column":
        if self.bounds is not None and self.bounds[0] > self.bounds[1]:
            raise ValueError("bounds: the lower one is above the upper one")
        for field in ("bounds", "grid", "missing", "bins"):
            if self.type not in NUMERIC and getattr(self, field) not in (None, "skip"):
                raise ValueError(f"{field}: a column of type {self.type} has none")
        if self.grid is not None and self.grid <= 0:
            raise ValueError("grid: it must be above zero")
        if self.keys is not None:
            _check_keys(self.keys, self.type)
        if self.bins is not None and self.bins.edges is None and not _has_width(self.bounds):
            raise ValueError("bins: linear and log ones lie between bounds, which the column needs")
        return self


def is_time(value: object) -> bool:
    """Whether a value is a date or time, or one in ISO text."""
    return _read_time(value) is not None


def _read_time(value: object) -> dt.date | None:
    if not isinstance(value, str):
        return value if isinstance(value, dt.date) else None
    for read in (dt.date.fromisoformat, dt.datetime.fromisoformat):
        try:
            return read(value)
        except ValueError:
            continue
    return None


def time_bounds_advice(column: str, bounds: Sequence[object] = ()) -> str:
    """The query that takes bounds of dates or times: those that were given, or an example.

    Args:
        column: Name of the column.
        bounds: The lowest and the highest one, as dates, times or ISO text.

    Returns:
        The text.
    """
    read = [_read_time(each) for each in bounds]
    times = [each for each in read if each is not None]
    if len(times) != 2 or len(read) != 2:
        times = [dt.date(2024, 1, 1), dt.date(2024, 12, 31)]
    return f"synthesize(..., bounds={{{column!r}: ({', '.join(map(_time_code, times))})}})"


def _time_code(value: dt.date) -> str:
    """A date or time as code; a time at midnight stays a time only where it was one."""
    if not isinstance(value, dt.datetime):
        return f"dt.date({value.year}, {value.month}, {value.day})"
    parts = (value.year, value.month, value.day, *((value.hour, value.minute) if value.hour or value.minute else ()))
    return f"dt.datetime({', '.join(map(str, parts))})"


def column_advice(place: Sequence[int | str], reason: str, given: object = None) -> str:
    """What declares a column whose bins or bounds are refused; nothing where the reason is another one.

    Args:
        place: Where the error is: names of fields and columns.
        reason: The text of the error.
        given: The value that was refused. Default: none.

    Returns:
        The text.
    """
    column = next((str(name) for field, name in pairwise(place) if field == "columns"), "cost")
    of_times = any(f"of type {kind} has none" in reason for kind in (ColumnType.DATE, ColumnType.TIMESTAMP))
    if ({"bounds", "bins"} & set(place) and is_time(given)) or (of_times and "bounds: " in reason):
        return f"{time_bounds_advice(column)}; a catalog has bounds and bins of numbers alone"
    if "a column of type text has none" in reason:
        return f'keys={{{column!r}: ["A", "B"]}} in dp.protect, or keys: [A, B] in the catalog'
    if "a column of type" in reason and "has none" in reason:
        return f"{column!r} without {reason.removeprefix('Value error, ').partition(':')[0]}"
    if "bins" not in place and "bins: " not in reason:
        return ""
    declared = f"bounds={{{column!r}: (0, 5000)}}, bins={{{column!r}: {{'log': 32}}}}"
    return f"{declared} in dp.protect, or bounds: [0, 5000], bins: {{log: 32}} in the catalog"


def _has_width(bounds: tuple[Fraction, Fraction] | None) -> bool:
    return bounds is not None and bounds[0] < bounds[1]


def _check_keys(keys: tuple[Value, ...], kind: ColumnType) -> None:
    if kind in (ColumnType.REAL, *UNSTRUCTURED):
        raise ValueError(f"keys: a column of type {kind} has no list of keys")
    if len({(type(key), key) for key in keys}) != len(keys):
        raise ValueError("keys: a key appears twice")
    for key in keys:
        if key is not None and not is_of_type(key, kind):
            raise ValueError(f"keys: {key!r} is not of type {kind}")


def is_of_type(value: object, kind: ColumnType) -> bool:
    """Whether a Python value can stand for a cell of the type."""
    match kind:
        case ColumnType.INTEGER:
            return isinstance(value, int) and not isinstance(value, bool) and -(2**63) <= value < 2**63
        case ColumnType.REAL:
            return is_of_type(value, ColumnType.INTEGER) or (isinstance(value, float) and math.isfinite(value))
        case ColumnType.TEXT:
            return isinstance(value, str) and not _UNSTORABLE.search(value)
        case ColumnType.BOOLEAN:
            return isinstance(value, bool)
        case ColumnType.DATE:
            return isinstance(value, dt.date) and not isinstance(value, dt.datetime)
        case ColumnType.TIMESTAMP:
            return isinstance(value, dt.datetime)
    return False
