"""Public facts about tables: columns, types, bounds, keys, the policy for missing values, the unit and its caps.

A catalog is written by the owner, in YAML or in Python; nothing in it is read from the data. Numbers are exact: `0.1`
in a catalog is 1/10. A key that appears twice, an unknown field or a wrong type is refused.

    catalog: discreet.catalog/1
    tables:
      visits:
        source: visits.csv
        privacy_unit: patient_id
        max_rows: 10
        budget: {epsilon: 2, delta: 1e-9}
        columns:
          patient_id: {type: text}
          ward: {type: text, keys: [A, B, C]}
          cost: {type: real, bounds: [0, 5000], grid: 0.01, provenance: tariff of 2026}
"""

import datetime as dt
import json
import math
import re
from collections.abc import Mapping
from enum import StrEnum
from fractions import Fraction
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar

import pydantic
from pydantic import BaseModel, BeforeValidator, ConfigDict, PlainSerializer, model_validator

from discreet import strict_yaml
from discreet.errors import CatalogError, NameNotFoundError, ParameterError, UnitError, suggestion
from discreet.exact import rational
from discreet.names import check_names
from discreet.slice import Slice, moment, refuse_shared_rows, written
from discreet.unit import ROW, Caps, Neighbours, Row, Unit, unit_of

AnyFact = TypeVar("AnyFact", bound="Fact")
Value = str | int | bool | dt.date | dt.datetime | None

ROW_IN_TEXT = "dp.ROW"
_SYNONYMS = {
    **dict.fromkeys(("int", "int32", "int64", "bigint", "whole"), "integer"),
    **dict.fromkeys(("float", "float64", "double", "number", "numeric", "decimal"), "real"),
    **dict.fromkeys(("str", "string", "varchar", "category", "object"), "text"),
    **dict.fromkeys(("bool",), "boolean"),
    **dict.fromkeys(("datetime", "time"), "timestamp"),
}
_DATA = (".csv", ".tsv", ".parquet", ".duckdb", ".db", ".arrow", ".feather", ".xlsx", ".json")
_REASONS = {
    "dict_type": "it must be a mapping of names to values",
    "extra_forbidden": "there is no field of that name",
    "int_type": "it must be a whole number",
    "missing": "it is required, and it is not there",
    "model_type": "it must be a mapping of names to values",
    "string_type": "it must be text",
    "too_long": "it must be two numbers, a lower and an upper one",
    "tuple_type": "it must be a list",
}
_PASSWORD = re.compile(r"://[^@]*:.*@|\bpassword\s*=", re.IGNORECASE)
_UNSTORABLE = re.compile("[\\x00\\ud800-\\udfff]")
LONGEST_TEXT = 10_000_000
_PLAIN = frozenset({str, int, bool, float, dt.date, dt.datetime, type(None)})
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
    """A value as plain Python has it: scalars of numpy and pandas, and subclasses of text and numbers, converted."""
    kind = type(value)
    if kind in _PLAIN or kind.__name__ in ("NaTType", "NAType"):
        return value if kind in _PLAIN else None
    if kind.__module__ == "numpy" and value.shape == ():
        fine = kind.__name__ == "datetime64" and "[D]" not in str(value.dtype)
        item = (value.astype("datetime64[us]") if fine else value).item()
        return item if type(item) is kind else python_value(item)
    match value:
        case str():
            return str.__str__(value)
        case int():
            return int(value)
        case float():
            return float(value)
        case dt.datetime():
            return dt.datetime.combine(value.date(), value.timetz())
        case dt.date():
            return dt.date(value.year, value.month, value.day)
    return value


def _exact(value: object) -> Fraction:
    read = Fraction(value) if isinstance(value, str) and _RATIO.fullmatch(value) else value
    try:
        return rational(read, "it")
    except ParameterError as refusal:
        raise ValueError(refusal.because) from None


def _listed(value: object) -> object:
    return tuple(value) if isinstance(value, list) else value


def _keys(value: object) -> object:
    if not isinstance(value, list | tuple):
        return value
    keys = tuple(python_value(key) for key in value)
    for key in keys:
        if key is not None and not isinstance(key, str | int | dt.date):
            raise ValueError(f"{key} is no text, whole number, boolean, date or timestamp")
    return keys


def _named_unit(value: object) -> object:
    if isinstance(value, Row):
        return ROW_IN_TEXT
    if value != ROW_IN_TEXT:
        unit_of(value)  # type: ignore[arg-type]
    return _listed(value)


def _text_of(value: Fraction) -> int | str:
    return value.numerator if value.denominator == 1 else f"{value.numerator}/{value.denominator}"


Exact = Annotated[Fraction, BeforeValidator(_exact), PlainSerializer(_text_of, when_used="json")]


def _member(kind: type[StrEnum]) -> BeforeValidator:
    def read(value: object) -> StrEnum:
        if not isinstance(value, str) or value not in tuple(kind):
            raise ValueError(f"it must be one of {', '.join(kind)}")
        return kind(value)

    return BeforeValidator(read)


class Fact(BaseModel):
    """A strict, frozen piece of a catalog."""

    model_config = ConfigDict(strict=True, frozen=True, extra="forbid", arbitrary_types_allowed=True)


def _dated(data: Any) -> Any:
    """Keys of date columns may be written as ISO text."""
    if not isinstance(data, Mapping) or not isinstance(data.get("keys"), list | tuple):
        return data
    parse = {"date": dt.date.fromisoformat, "timestamp": dt.datetime.fromisoformat}.get(str(data.get("type")), str)
    try:
        return dict(data) | {"keys": tuple(parse(k) if isinstance(k, str) else k for k in data["keys"])}
    except ValueError:
        raise ValueError(f"keys: a {data['type']} is written in ISO form, such as 2026-01-31") from None


class Column(Fact):
    """One column: its type and, where they are public, its bounds, grid, keys and policy for missing values."""

    type: Annotated[ColumnType, _member(ColumnType)]
    bounds: Annotated[tuple[Exact, Exact] | None, BeforeValidator(_listed)] = None
    grid: Exact | None = None
    keys: Annotated[tuple[Value, ...] | None, BeforeValidator(_keys)] = None
    missing: Annotated[Literal["skip"] | Exact, BeforeValidator(lambda v: v if v == "skip" else _exact(v))] = "skip"
    provenance: str | None = None

    _dates = model_validator(mode="before")(_dated)

    @model_validator(mode="after")
    def _consistent(self) -> "Column":
        if self.bounds is not None and self.bounds[0] > self.bounds[1]:
            raise ValueError("bounds: the lower one is above the upper one")
        for field, value in (("bounds", self.bounds), ("grid", self.grid), ("missing", self.missing)):
            if self.type not in NUMERIC and value not in (None, "skip"):
                raise ValueError(f"{field}: a column of type {self.type} has none")
        if self.grid is not None and self.grid <= 0:
            raise ValueError("grid: it must be above zero")
        if self.keys is not None:
            _check_keys(self.keys, self.type)
        return self


Whole = Annotated[int, BeforeValidator(python_value)]


class Promise(Fact):
    """The budget of a table as written in a catalog."""

    epsilon: Exact
    delta: Exact = Fraction(0)
    reserved_delta: Exact = Fraction(0)
    ceiling: Exact = Fraction(10)
    reason: str | None = None


def _moment(name: str) -> BeforeValidator:
    return BeforeValidator(lambda value: moment(value, name))


_Moment = Annotated[dt.datetime, PlainSerializer(written, when_used="json")]


class Period(Fact):
    """The slice that a table is, as written in a catalog: whose part, by which column, from when until before when."""

    of: str
    column: str
    start: Annotated[_Moment, _moment("start")]
    end: Annotated[_Moment, _moment("end")]


class Table(Fact):
    """One table: where it is, whom it protects, what one unit may contribute, and its columns."""

    columns: dict[str, Column]
    privacy_unit: Annotated[str | tuple[str, ...], BeforeValidator(_named_unit)]
    neighbours: Annotated[Neighbours, _member(Neighbours)] = Neighbours.ADD_REMOVE
    max_rows: Whole | None = None
    max_groups: Whole | None = None
    max_rows_per_group: Whole | None = None
    missing_units: Literal["drop", "one_unit"] = "drop"
    sampling: Literal["fast", "portable"] = "fast"
    population: Whole | None = None
    rows: Whole | None = None
    source: str | None = None
    delimiter: str | None = None
    relation: str | None = None
    version: Whole = 1
    budget: Promise | None = None
    slice: Period | None = None

    @model_validator(mode="before")
    @classmethod
    def _for_somebody(cls, data: Any) -> Any:
        if isinstance(data, Mapping) and data.get("privacy_unit") is None:
            unit_of(None)
        return data

    @model_validator(mode="after")
    def _consistent(self) -> "Table":
        check_names(self.columns, "column")
        for name in self.unit.columns:
            self._check_unit_column(name)
        for field in ("population", "rows", "version"):
            if (value := getattr(self, field)) is not None and not 1 <= value < 2**63:
                raise ValueError(f"{field}: a whole number from 1 on")
        Caps(self.max_rows, self.max_groups, self.max_rows_per_group)
        if self.source is not None and _PASSWORD.search(self.source):
            raise ValueError("source: a catalog is kept and shown, and so would be the password; use PGPASSWORD")
        self._refuse_rows_of_unstructured_data()
        if self.part is not None:
            self.column(self.part.column)
            self.part.require_times({name: column.type for name, column in self.columns.items()})
        return self

    @property
    def unit(self) -> Unit:
        """The privacy unit of the table."""
        return unit_of(ROW if self.privacy_unit == ROW_IN_TEXT else self.privacy_unit, self.neighbours)

    @property
    def caps(self) -> Caps:
        """The caps that the owner declared."""
        return Caps(self.max_rows, self.max_groups, self.max_rows_per_group)

    @property
    def part(self) -> Slice | None:
        """The slice that the table is, or None for a whole one."""
        return None if self.slice is None else Slice(**vars(self.slice))

    def column(self, name: str) -> Column:
        """A column by name, or the refusal that names the nearest one."""
        try:
            return self.columns[name]
        except KeyError:
            nearest = suggestion(name, self.columns)
            raise NameNotFoundError(
                f"column {name!r}",
                because="the catalog has no column of that name",
                instead=f'table["{nearest}"]' if nearest in self.columns else nearest,
            ) from None

    def frozen_facts(self) -> str:
        """What the meaning of every answer rests on, kept by the ledger for as long as the version lives."""
        data = {
            "columns": {name: str(column.type) for name, column in self.columns.items()},
            "privacy_unit": self.privacy_unit if isinstance(self.privacy_unit, str) else list(self.privacy_unit),
            "neighbours": str(self.neighbours),
            "missing_units": self.missing_units,
            "delimiter": self.delimiter,
        }
        if self.slice is not None:
            data["slice"] = self.slice.model_dump(mode="json")
        return json.dumps(data, sort_keys=True, separators=(",", ":"), ensure_ascii=False)

    def _check_unit_column(self, name: str) -> None:
        kind = self.column(name).type
        if kind in (ColumnType.REAL, *UNSTRUCTURED):
            raise UnitError(
                f"privacy_unit {name!r} of type {kind}",
                because="ids are compared for equality, and this type has no one normal form",
                instead=f'types={{"{name}": "text"}}, or "integer"',
            )

    def _refuse_rows_of_unstructured_data(self) -> None:
        unstructured = [name for name, column in self.columns.items() if column.type in UNSTRUCTURED]
        if self.unit.is_row and unstructured:
            raise UnitError(
                f"privacy_unit=dp.ROW with the {self.columns[unstructured[0]].type} column {unstructured[0]!r}",
                because="one document or image may speak of many people, and one person may appear in many rows",
                instead='privacy_unit="person_id", a column that names whom the rows are about',
            )


class Catalog(Fact):
    """Tables by name."""

    catalog: Literal["discreet.catalog/1"] = "discreet.catalog/1"
    tables: dict[str, Table]

    @model_validator(mode="after")
    def _consistent(self) -> "Catalog":
        parts = {name: table.part for name, table in self.tables.items()}
        check_names(dict.fromkeys([*parts, *(str(part.of) for part in parts.values() if part is not None)]), "table")
        refuse_shared_rows(parts)
        return self

    @classmethod
    def load(cls, path: str | Path) -> "Catalog":
        """Read a catalog from a YAML file."""
        given: object = path
        if not isinstance(given, str | Path) or Path(given).suffix.lower() in _DATA:
            raise _data_not_catalog(given)
        try:
            text = Path(path).read_text(encoding="utf-8")
        except (OSError, ValueError) as error:
            raise _unreadable(path, error) from None
        return cls.parse(text)

    @classmethod
    def parse(cls, text: str) -> "Catalog":
        """Read a catalog from YAML text."""
        if len(text) > LONGEST_TEXT:
            raise CatalogError(
                "a catalog that is too long",
                because=f"a catalog has at most {LONGEST_TEXT:,} characters",
                instead="long lists of keys in keys=... of a query, as a public table",
            )
        return validated(cls, strict_yaml.read(text), "catalog")

    def __repr__(self) -> str:
        told = [
            f"{name!r} ({len(table.columns)} columns, privacy_unit {table.privacy_unit!r})"
            for name, table in self.tables.items()
        ]
        return f"catalog of {', '.join(told) or 'no table'}"

    __str__ = __repr__

    def to_yaml(self) -> str:
        """The catalog as YAML text, ready to be edited by its owner."""
        data = self.model_dump(mode="json", exclude_defaults=True)
        return strict_yaml.write({"catalog": self.catalog} | data)

    def table(self, name: str) -> Table:
        """A table by name, or the refusal that names the nearest one."""
        try:
            return self.tables[name]
        except KeyError:
            slices = [known for known, table in self.tables.items() if table.slice and table.slice.of == name]
            nearest = slices[-1] if slices else suggestion(name, self.tables)
            raise NameNotFoundError(
                f"table {name!r}",
                because="the catalog has slices of it, each with a name and a budget of its own"
                if slices
                else "the catalog has no table of that name",
                instead=f'dp.table("{nearest}")' if nearest in self.tables else nearest,
            ) from None


def _data_not_catalog(given: object) -> CatalogError:
    is_path = isinstance(given, str | Path)
    source = repr(str(given)) if is_path else 'frame, name="visits"'
    return CatalogError(
        f"catalog {source}" if is_path else f"a catalog of type {type(given).__name__}",
        because="that is data, and a catalog is a YAML file that says what is public about data",
        instead=f'dp.protect({source}, privacy_unit="patient_id", max_rows=10, budget=dp.Budget(epsilon=2))',
    )


def _unreadable(path: str | Path, error: Exception) -> CatalogError:
    reasons = {
        FileNotFoundError: "there is no file at that path",
        IsADirectoryError: "it is a directory",
        PermissionError: "this process may not read it",
        UnicodeDecodeError: "the file is not UTF-8 text",
    }
    return CatalogError(
        f"catalog {str(path)!r}",
        because=reasons.get(type(error), "the file cannot be read"),
        instead='Session("catalog.yaml"), with the path of an existing YAML file in UTF-8',
    )


def validated(kind: type[AnyFact], data: object, what: str) -> AnyFact:
    """A fact from plain data; what does not fit is refused with the place and the reason."""
    try:
        return kind.model_validate(data)
    except pydantic.ValidationError as error:
        first = error.errors(include_url=False)[0]
        place = ".".join(str(part) for part in first["loc"])
        raise CatalogError(
            f"{what}: {place}" if place else what, because=_reason(first), instead=_nearest_field(first)
        ) from None


def _reason(error: Mapping[str, Any]) -> str:
    if error["type"] == "literal_error":
        return f"it must be {error['ctx']['expected']}"
    return _REASONS.get(error["type"], str(error["msg"]).removeprefix("Value error, "))


def _nearest_field(error: Mapping[str, Any]) -> str:
    kinds: tuple[type[Fact], ...] = (Column, Promise, Period, Table, Catalog)
    fields = [name for kind in kinds for name in kind.model_fields]
    place = str(error["loc"][-1]) if error["loc"] else ""
    if place == "type" and error["type"] == "value_error":
        kind = str(error["input"]).casefold()
        nearest = _SYNONYMS.get(kind) or suggestion(kind, list(ColumnType))
        return f"type: {nearest if nearest in tuple(ColumnType) else ColumnType.TEXT}"
    nearest = suggestion(place, fields) if error["type"] == "extra_forbidden" else ""
    if "slice" in error["loc"] and nearest not in fields:
        return "slice: {of: visits, column: visited, start: 2026-10-01, end: 2026-11-01}"
    return f"{nearest}: ..." if nearest in fields else strict_yaml.SHAPE


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
