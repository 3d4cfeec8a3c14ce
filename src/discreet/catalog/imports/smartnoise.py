"""SmartNoise SQL metadata: `Database: {schema: {table: {max_ids: ..., column: {type: ..., private_id: ...}}}}`.

The fields are those of https://docs.smartnoise.org/sql/metadata.html. `max_ids` is the number of rows of one unit,
`private_id` marks the columns of the privacy unit, `row_privacy` makes each row a unit, and `lower` and `upper` are
clipping bounds. A field without a counterpart, or of an unknown name, is listed in the draft.
"""

from collections import Counter
from collections.abc import Mapping
from typing import Any

from discreet.catalog import strict_yaml
from discreet.catalog.catalog import ROW_IN_TEXT
from discreet.catalog.columns import NUMERIC, ColumnType
from discreet.catalog.imports.draft import (
    OPEN,
    DraftColumn,
    DraftFact,
    DraftTable,
    MetadataOrigin,
    count,
    exact_number,
    open_budget,
    shown,
    write,
)
from discreet.errors import CatalogError

SHAPE = "Database: {schema: {visits: {max_ids: 3, patient_id: {type: int, private_id: true}}}}"
_TYPES = {
    "int": ColumnType.INTEGER,
    "float": ColumnType.REAL,
    "string": ColumnType.TEXT,
    "boolean": ColumnType.BOOLEAN,
}
_QUOTES = {'"': '"', "`": "`", "[": "]"}
_READ = ("max_ids", "row_privacy", "rows")
_TABLE_FIELDS = {
    "rows_exact": "the exact number of rows is private",
    "sample_max_ids": "rows of a unit beyond max_rows are always dropped",
    "censor_dims": "a query states public keys, or finds keys with dp.discover",
    "clamp_counts": "released counts are not changed; post-processing can do it",
    "clamp_columns": "values are always clipped to the bounds",
    "use_dpsu": "the rule of partition selection belongs to the query",
}
_COLUMN_FIELDS = {
    "cardinality": "a number of values is not a list of keys",
    "nullable": "every column may have missing values",
    "sensitivity": "it follows from clipping bounds and contribution bounds",
}
_BOUNDS = "bounds must be public knowledge, not the smallest and largest value of the data"


def draft(text: str, origin: MetadataOrigin) -> str:
    """The draft of a catalog from SmartNoise SQL metadata.

    Args:
        text: The metadata, in YAML.
        origin: Where the text is from.

    Returns:
        The draft.

    Raises:
        CatalogError: If the text is not such metadata.
    """
    try:
        data = strict_yaml.read(text)
    except CatalogError as refusal:
        instead = SHAPE if refusal.instead == strict_yaml.SHAPE else refusal.instead
        raise origin.refusal(refusal.what, because=refusal.because, instead=instead) from None
    root = dict(_mapping(data, "the metadata", origin))
    engine = root.pop("engine", None) if len(root) > 1 else None
    if len(root) != 1:
        raise origin.refusal(f"{len(root)} databases", because="the metadata has one database", instead=SHAPE)
    schemas = _mapping(next(iter(root.values())), "the database", origin)
    found = [
        (schema, name, _mapping(fields, f"the table {shown(name)}", origin))
        for schema, tables in schemas.items()
        for name, fields in _mapping(tables, f"the schema {shown(schema)}", origin).items()
    ]
    if not found:
        raise origin.refusal("no table", because="there is nothing to import", instead=SHAPE)
    times = Counter(name for _, name, _ in found)
    named = {name if times[name] == 1 else f"{schema}.{name}": (schema, name, fields) for schema, name, fields in found}
    if len(named) != len(found):
        raise origin.refusal("two tables of one name", because="duplicate name", instead="one name for each table")
    tables = {
        _unquote(key): _Importer(origin, schema, name).table(fields) for key, (schema, name, fields) in named.items()
    }
    if len(tables) != len(named):
        raise origin.refusal("two tables of one name", because="duplicate name", instead="one name for each table")
    return write(tables, origin, [] if engine is None else [f"engine = {shown(engine)}: the source has its own engine"])


class _Importer:
    """One table of the metadata."""

    def __init__(self, origin: MetadataOrigin, schema: str, name: str) -> None:
        self.origin = origin
        self.place = f"table {shown(f'{schema}.{name}')}"

    def table(self, fields: Mapping[str, Any]) -> DraftTable:
        table = DraftTable(self._field(), budget=open_budget())
        columns = {key: value for key, value in fields.items() if self._is_column(key, value)}
        for key, value in fields.items():
            if key not in columns and key not in _READ:
                why = _TABLE_FIELDS.get(key, "SmartNoise has no such field of a table")
                table.dropped.append(f"{shown(key)} = {shown(value)}: {why}")
        table.decisions += [
            "source: the file or database with the rows, here or as sources= of dp.Session",
            "other_releases: what SmartNoise released of these rows; its privacy loss is not in this budget",
        ]
        units = [name for name, facts in columns.items() if self._flag(facts, "private_id", shown(name))]
        self._unit(table, fields, units)
        if "rows" in fields:
            rows = count(fields["rows"], f"{self.place}, rows", self.origin, least=0)
            table.dropped.append(f"rows = {rows:,}: it may be the exact number, which is not public")
        for name, facts in columns.items():
            if _unquote(name) in table.columns:
                raise self._refusal(f"column {shown(name)}", "duplicate name", "one name for each column")
            if facts.get("type") == "unknown" and name not in units:
                table.dropped.append(f"column {shown(name)}: its type is unknown, so SmartNoise ignores it")
            else:
                table.columns[_unquote(name)] = self._column(name, facts)
        return table

    def _is_column(self, key: str, value: object) -> bool:
        if key in _READ or key in _TABLE_FIELDS:
            return False
        return isinstance(value, Mapping)

    def _unit(self, table: DraftTable, fields: Mapping[str, Any], units: list[str]) -> None:
        """The privacy unit and the rows of one unit."""
        rows = count(fields["max_ids"], f"{self.place}, max_ids", self.origin) if "max_ids" in fields else None
        if self._flag(fields, "row_privacy", "row_privacy"):
            if rows not in (None, 1):
                raise self._refusal(
                    f"row_privacy with max_ids = {rows}", "a row is one unit, so max_ids is 1 or absent", "max_ids: 1"
                )
            if units:
                raise self._refusal(
                    f"row_privacy beside private_id of {shown(units[0])}",
                    "the unit is the row, or that column, and SmartNoise refuses both",
                    "one of them",
                )
            why = "dp.ROW protects rows, not people; if a person has several rows, a column that identifies people"
            table.facts["privacy_unit"] = DraftFact(ROW_IN_TEXT, self._field("row_privacy"), why)
            if rows is not None:
                table.dropped.append("max_ids = 1: each row is a unit")
            return
        if len(units) > 1:
            raise self._refusal(
                f"private_id of {', '.join(map(shown, units))}",
                "one column identifies people; together they would protect less",
                "private_id: true for one column",
            )
        if units:
            origin = self._field(f"column {shown(units[0])}", "private_id")
            table.facts["privacy_unit"] = DraftFact(_unquote(units[0]), origin)
        else:
            why = "the column that identifies people; SmartNoise has neither private_id nor row_privacy here"
            table.facts["privacy_unit"] = DraftFact(None, decide=why)
        if rows is None:
            why = "rows of one unit that count; max_ids is absent, and SmartNoise then takes 1"
            table.facts["max_rows"] = DraftFact(OPEN, decide=why)
        else:
            table.facts["max_rows"] = DraftFact(rows, self._field("max_ids"))

    def _column(self, name: str, fields: Mapping[str, Any]) -> DraftColumn:
        column = DraftColumn()
        place = f"column {shown(name)}"
        kind = self._type(column, place, fields)
        for key, value in fields.items():
            if key in ("type", "private_id") or (key == "name" and value in (name, _unquote(name))):
                continue
            if key in ("lower", "upper") and kind in NUMERIC and {"lower", "upper"} <= set(fields):
                continue
            if key == "missing_value" and kind in NUMERIC and value is not None:
                number = exact_number(value, f"{self.place}, {place}, {key}", self.origin)
                column.facts["missing"] = DraftFact(number, self._field(place, key))
                continue
            column.dropped.append(f"{shown(key)} = {shown(value)}: {self._why_dropped(key)}")
        if kind in NUMERIC and {"lower", "upper"} <= set(fields):
            bounds = [
                exact_number(fields[key], f"{self.place}, {place}, {key}", self.origin) for key in ("lower", "upper")
            ]
            column.facts["bounds"] = DraftFact(bounds, self._field(place, "lower", "upper"), _BOUNDS)
        return column

    def _type(self, column: DraftColumn, place: str, fields: Mapping[str, Any]) -> ColumnType | None:
        given = fields.get("type")
        if given == "datetime":
            why = f"date or timestamp; SmartNoise has datetime for both ({self._field(place, 'type')})"
            column.facts["type"] = DraftFact(OPEN, decide=why)
            return None
        if given == "unknown":
            column.facts["type"] = DraftFact(OPEN, decide="text or integer; SmartNoise has unknown")
            return None
        if not isinstance(given, str) or given not in _TYPES:
            what = f"{place} of type {shown(given)}" if "type" in fields else f"{place} without a type"
            raise self._refusal(what, f"types are {', '.join(_TYPES)}, datetime and unknown", "type: int")
        column.facts["type"] = DraftFact(str(_TYPES[given]), self._field(place, "type"))
        return _TYPES[given]

    def _why_dropped(self, key: str) -> str:
        if key in ("lower", "upper"):
            return "bounds are a pair, and of numbers"
        if key == "missing_value":
            return "only a missing number can be replaced"
        if key == "name":
            return "the column has the name of its entry"
        return _COLUMN_FIELDS.get(key, "SmartNoise has no such field of a column")

    def _flag(self, fields: Mapping[str, Any], key: str, place: str) -> bool:
        value = fields.get(key, False)
        if not isinstance(value, bool):
            raise self._refusal(f"{place}: {key} = {shown(value)}", "it is true or false", f"{key}: true")
        return value

    def _field(self, *place: str) -> str:
        return self.origin.field(self.place, *place)

    def _refusal(self, what: str, because: str, instead: str) -> CatalogError:
        return self.origin.refusal(f"{self.place}, {what}", because=because, instead=instead)


def _mapping(value: object, what: str, origin: MetadataOrigin) -> Mapping[str, Any]:
    if isinstance(value, Mapping):
        return value
    raise origin.refusal(what, because="it must be a mapping of names to values", instead=SHAPE)


def _unquote(name: str) -> str:
    """A name without the quotes that SQL needs, which SmartNoise allows in metadata."""
    inner = name[1:-1]
    if len(name) > 2 and _QUOTES.get(name[0]) == name[-1] and not {name[0], name[-1]} & set(inner):
        return inner
    return name
