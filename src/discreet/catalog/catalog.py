"""Public facts about tables: columns, types, bounds, keys, missing values, privacy unit, contribution bounds.

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
          visit_id: {type: text}
          ward: {type: text, keys: [A, B, C]}
          cost: {type: real, bounds: [0, 5000], grid: 0.01, provenance: tariff of 2026}
      letters:  # its rows lead to those of visits, which have the unit
        privacy_unit: {through: visits, on: visit_id}
        columns: {visit_id: {type: text}, pages: {type: integer, bounds: [0, 50]}}
      wards:  # about nobody
        public: true
        columns: {ward: {type: text}, beds: {type: integer}}
"""

import datetime as dt
import json
import re
from collections.abc import Mapping
from fractions import Fraction
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar

import pydantic
from pydantic import BeforeValidator, PlainSerializer, model_validator

from discreet.catalog import strict_yaml
from discreet.catalog.columns import (
    NUMERIC,
    UNSTRUCTURED,
    Column,
    ColumnType,
    Exact,
    Fact,
    Value,
    as_tuple,
    column_advice,
    is_of_type,
    member,
    python_value,
)
from discreet.catalog.names import check_names
from discreet.catalog.privacy_unit import ROW, Caps, Neighbours, Row, Unit, unit_of
from discreet.catalog.time_slice import Slice, iso_text, moment, refuse_shared_rows
from discreet.errors import CatalogError, NameNotFoundError, UnitError, public_class, suggestion

__all__ = [
    "NUMERIC",
    "UNSTRUCTURED",
    "Catalog",
    "Column",
    "ColumnType",
    "Period",
    "Promise",
    "Table",
    "Through",
    "Value",
    "is_of_type",
    "nearest_type",
    "python_value",
    "validate",
]

AnyFact = TypeVar("AnyFact", bound="Fact")

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
LONGEST_TEXT = 10_000_000


def _named_unit(value: object) -> object:
    if isinstance(value, Row):
        return ROW_IN_TEXT
    if value is None or isinstance(value, Mapping | Through):
        return value
    if value != ROW_IN_TEXT:
        unit_of(value)  # type: ignore[arg-type]
    return as_tuple(value)


Whole = Annotated[int, BeforeValidator(python_value)]


class Promise(Fact):
    """The budget of a table as written in a catalog; `reserved_delta` means what it means in `Budget`."""

    epsilon: Exact
    delta: Exact = Fraction(0)
    reserved_delta: Exact | None = None
    ceiling: Exact = Fraction(10)
    reason: str | None = None


def _moment(name: str) -> BeforeValidator:
    return BeforeValidator(lambda value: moment(value, name))


_Moment = Annotated[dt.datetime, PlainSerializer(iso_text, when_used="json")]


class Period(Fact):
    """The slice that a table is, as written in a catalog: whose part, by which column, from when until before when."""

    of: str
    column: str
    start: Annotated[_Moment, _moment("start")]
    end: Annotated[_Moment, _moment("end")]


def _pair_columns(value: object) -> object:
    """A column of the same name in both tables, several of them, or this table's columns with those of the other."""
    if isinstance(value, str):
        return ((value, value),)
    if isinstance(value, Mapping):
        return tuple(value.items())
    if isinstance(value, list | tuple) and all(isinstance(each, str) for each in value):
        return tuple((each, each) for each in value)
    return tuple(map(as_tuple, value)) if isinstance(value, list | tuple) else value


class Through(Fact):
    """A unit that another table has: which table, by which columns, and what they are called there."""

    through: str
    on: Annotated[tuple[tuple[str, str], ...], BeforeValidator(_pair_columns), PlainSerializer(dict, when_used="json")]
    unit: Annotated[tuple[str, ...], BeforeValidator(as_tuple)] = ()

    def __repr__(self) -> str:
        return f"{' and '.join(self.unit) or 'a unit'} through {self.through!r}"


class Table(Fact):
    """One table: where it is, whom it protects, what one unit may contribute, and its columns."""

    columns: dict[str, Column]
    privacy_unit: Annotated[Through | str | tuple[str, ...] | None, BeforeValidator(_named_unit)] = None
    public: bool = False
    neighbours: Annotated[Neighbours, member(Neighbours)] = Neighbours.ADD_REMOVE
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
    fixed_schema: bool = False
    row_local: bool = False
    allow_float_gradients: bool = False
    other_releases: Annotated[tuple[str, ...], BeforeValidator(as_tuple)] = ()

    @model_validator(mode="before")
    @classmethod
    def _for_somebody(cls, data: Any) -> Any:
        if isinstance(data, Mapping) and data.get("privacy_unit") is None and data.get("public") is not True:
            unit_of(None)
        return data

    @model_validator(mode="after")
    def _consistent(self) -> "Table":
        check_names(self.columns, "column")
        if self.public:
            self._refuse_privacy_facts_of_public_table()
        for name in self._own_unit_columns:
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
        """The privacy unit of the table, wherever its columns are."""
        if isinstance(self.privacy_unit, Through):
            return unit_of(self.privacy_unit.unit, self.neighbours)
        return unit_of(ROW if self.privacy_unit == ROW_IN_TEXT else self.privacy_unit, self.neighbours)

    @property
    def _own_unit_columns(self) -> tuple[str, ...]:
        """The columns of this table that say whose a row is."""
        if isinstance(self.privacy_unit, Through):
            return tuple(own for own, _ in self.privacy_unit.on)
        return () if self.public else self.unit.columns

    @property
    def caps(self) -> Caps:
        """The contribution bounds that the owner declared."""
        return Caps(self.max_rows, self.max_groups, self.max_rows_per_group)

    @property
    def part(self) -> Slice | None:
        """The slice that the table is, or None for a whole one."""
        return None if self.slice is None else Slice(**vars(self.slice))

    def column(self, name: str) -> Column:
        """A column by name, or the error that names the nearest one."""
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
            "privacy_unit": _unit_in_text(self.privacy_unit),
            "neighbours": str(self.neighbours),
            "missing_units": self.missing_units,
            "delimiter": self.delimiter,
        }
        if self.slice is not None:
            data["slice"] = self.slice.model_dump(mode="json")
        data |= {name: True for name in ("fixed_schema", "row_local") if getattr(self, name)}
        return json.dumps(data, sort_keys=True, separators=(",", ":"), ensure_ascii=False)

    def _check_unit_column(self, name: str) -> None:
        kind = self.column(name).type
        if kind in (ColumnType.REAL, *UNSTRUCTURED):
            raise UnitError(
                f"privacy_unit {name!r} of type {kind}",
                because="ids are compared for equality, and this type has no one normal form",
                instead=f'types={{"{name}": "text"}}, or "integer"',
            )

    def _refuse_privacy_facts_of_public_table(self) -> None:
        facts = ("privacy_unit", "budget", "slice", "max_rows", "max_groups", "max_rows_per_group", "population")
        for field in facts:
            if getattr(self, field) is not None:
                raise ValueError(f"a public table has no {field}")

    def _refuse_rows_of_unstructured_data(self) -> None:
        unstructured = [name for name, column in self.columns.items() if column.type in UNSTRUCTURED]
        if self.privacy_unit == ROW_IN_TEXT and unstructured:
            raise UnitError(
                f"privacy_unit=dp.ROW with the {self.columns[unstructured[0]].type} column {unstructured[0]!r}",
                because="one document may be about many people, and one person in many rows",
                instead='privacy_unit="person_id", a column that names whom the rows are about',
            )


@public_class
class Catalog(Fact):
    """Public facts about tables: columns, types, keys, bounds, privacy units, contribution bounds and budgets.

    Attributes:
        catalog: Name of the format.
        tables: Tables by name.
        given: Not accepted: tables are given by name.

    Raises:
        CatalogError: If it is contradictory or ambiguous.

    Example:
        >>> import discreet as dp
        >>> table = {"privacy_unit": "patient_id", "max_rows": 10, "columns": {"patient_id": {"type": "integer"}}}
        >>> list(dp.Catalog(tables={"visits": table}).protected_tables)
        ['visits']
    """

    catalog: Literal["discreet.catalog/1"] = "discreet.catalog/1"
    tables: dict[str, Table]

    def __init__(self, *given: object, **facts: Any) -> None:
        if given:
            raise CatalogError(
                f"dp.Catalog(...) of type {type(given[0]).__name__}",
                because="tables are given by name, and a file is loaded",
                instead='dp.Catalog.load("catalog.yaml")',
            )
        try:
            super().__init__(**facts)
        except pydantic.ValidationError as error:
            raise _unfit(error, "catalog") from None

    @model_validator(mode="after")
    def _consistent(self) -> "Catalog":
        parts = {name: table.part for name, table in self.tables.items()}
        check_names(dict.fromkeys([*parts, *(str(part.of) for part in parts.values() if part is not None)]), "table")
        refuse_shared_rows(parts)
        for name in self.tables:
            self.tables[name] = self._led_to_its_unit(name, ())
        return self

    @property
    def protected_tables(self) -> dict[str, Table]:
        """Tables with a privacy budget, by name."""
        return {name: table for name, table in self.tables.items() if not table.public}

    def _led_to_its_unit(self, name: str, before: tuple[str, ...]) -> Table:
        """A table with the unit, neighbours and policy for missing ids of the table that has the unit's columns."""
        table = self.tables[name]
        way = table.privacy_unit
        if not isinstance(way, Through):
            return table
        if way.through not in self.tables or way.through in (*before, name):
            raise ValueError(f"{name}.privacy_unit: {way.through!r} is no table of this catalog that has the unit")
        holder = self._led_to_its_unit(way.through, (*before, name))
        _check_way(name, table, way, holder)
        same = {"neighbours": holder.neighbours, "missing_units": holder.missing_units}
        return table.model_copy(update={"privacy_unit": way.model_copy(update={"unit": holder.unit.columns}), **same})

    @classmethod
    def load(cls, path: str | Path) -> "Catalog":
        """Read a catalog from a YAML file.

        Args:
            path: Path of the file.

        Returns:
            The catalog.

        Raises:
            CatalogError: If the file cannot be read, or is not a valid catalog.
        """
        given: object = path
        if not isinstance(given, str | Path) or Path(given).suffix.lower() in _DATA:
            raise strict_yaml.data_not_catalog(given)
        try:
            text = Path(path).read_text(encoding="utf-8")
        except (OSError, ValueError) as error:
            raise strict_yaml.unreadable_file(path, error) from None
        return cls.parse(text)

    @classmethod
    def parse(cls, text: str) -> "Catalog":
        """Read a catalog from YAML text.

        Args:
            text: The text.

        Returns:
            The catalog.

        Raises:
            CatalogError: If the text is not a valid catalog.
        """
        if len(text) > LONGEST_TEXT:
            raise CatalogError(
                "a catalog that is too long",
                because=f"a catalog has at most {LONGEST_TEXT:,} characters",
                instead="long lists of keys in keys=... of a query, as a public table",
            )
        return validate(cls, strict_yaml.read(text), "catalog")

    def __repr__(self) -> str:
        description = [
            f"{name!r} ({len(table.columns)} columns, privacy_unit {table.privacy_unit!r})"
            for name, table in self.tables.items()
        ]
        return f"catalog of {', '.join(description) or 'no table'}"

    __str__ = __repr__

    def to_yaml(self) -> str:
        """The catalog as YAML text, which its owner can edit.

        Returns:
            The text.
        """
        data = self.model_dump(mode="json", exclude_defaults=True)
        return strict_yaml.write({"catalog": self.catalog} | data)

    def table(self, name: str) -> Table:
        """A table by name.

        Args:
            name: Name of the table.

        Returns:
            The facts about the table.

        Raises:
            NameNotFoundError: If there is no such table.
        """
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


def _unit_in_text(unit: Through | str | tuple[str, ...] | None) -> object:
    if isinstance(unit, Through):
        return unit.model_dump(mode="json")
    return unit if isinstance(unit, str) else list(unit or ())


def _check_way(name: str, table: Table, way: Through, holder: Table) -> None:
    """Refuse a way to the unit that cannot be gone, or that says something else than the table that it leads to."""
    place = f"{name}.privacy_unit"
    if holder.public or holder.privacy_unit == ROW_IN_TEXT:
        raise ValueError(f"{place}: {way.through!r} has no columns that name a unit")
    for own, other in way.on:
        if other not in holder.columns:
            raise ValueError(f"{place}: {way.through!r} has no column {other!r}")
        if holder.columns[other].type is not table.columns[own].type:
            raise ValueError(f"{place}: {own!r} and {other!r} are of different types, and never equal")
    for field in ("neighbours", "missing_units"):
        if field in table.model_fields_set and getattr(table, field) != getattr(holder, field):
            raise ValueError(f"{name}.{field}: {way.through!r} has the unit, and says otherwise")
    if way.unit not in ((), holder.unit.columns):
        raise ValueError(f"{place}: the unit of {way.through!r} is {' and '.join(holder.unit.columns)}")


def validate(kind: type[AnyFact], data: object, what: str) -> AnyFact:
    """A fact from plain data; what does not fit is refused with the place and the reason."""
    try:
        return kind.model_validate(data)
    except pydantic.ValidationError as error:
        raise _unfit(error, what) from None


def _unfit(error: pydantic.ValidationError, what: str) -> CatalogError:
    first = error.errors(include_url=False)[0]
    place = ".".join(str(part) for part in first["loc"])
    return CatalogError(f"{what}: {place}" if place else what, because=_reason(first), instead=_nearest_field(first))


def nearest_type(kind: str) -> str:
    """The type of a column that a word of another library stands for."""
    folded = kind.casefold()
    nearest = _SYNONYMS.get(folded) or suggestion(folded, list(ColumnType))
    return nearest if nearest in tuple(ColumnType) else str(ColumnType.TEXT)


def _reason(error: Mapping[str, Any]) -> str:
    if error["type"] == "literal_error":
        return f"it must be {error['ctx']['expected']}"
    return _REASONS.get(error["type"], str(error["msg"]).removeprefix("Value error, "))


def _nearest_field(error: Mapping[str, Any]) -> str:
    kinds: tuple[type[Fact], ...] = (Column, Promise, Period, Table, Catalog)
    fields = [name for kind in kinds for name in kind.model_fields]
    place = str(error["loc"][-1]) if error["loc"] else ""
    if place == "type" and error["type"] == "value_error":
        return f"type: {nearest_type(str(error['input']))}"
    if "keys: '" in error["msg"] and "is not of type" in error["msg"]:
        return f'types={{{place!r}: "text"}} in dp.protect, or type: text in the catalog'
    if advice := column_advice(error["loc"], error["msg"], error["input"]):
        return advice
    nearest = suggestion(place, fields) if error["type"] == "extra_forbidden" else ""
    if "slice" in error["loc"] and nearest not in fields:
        return "slice: {of: visits, column: visited, start: 2026-10-01, end: 2026-11-01}"
    return f"{nearest}: ..." if nearest in fields else strict_yaml.SHAPE
