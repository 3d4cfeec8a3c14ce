"""How frames and Parquet files are carried into an engine, so that no cell can make reading fail.

A reader that checks cells (UTF-8 in text, the range of a time, the form of JSON) raises an error when one of them is
wrong, and whether a query fails would then tell whether somebody is there. So text travels as bytes and is decoded by a
total expression, times travel as whole numbers where their unit could overflow, and dates keep to the years 1 to 9999.
Only schemas are looked at here, never a cell.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import pyarrow as pa

from discreet.catalog.columns import ColumnType
from discreet.errors import SourceError

ARROW_TYPES: Mapping[ColumnType, pa.DataType] = {
    ColumnType.INTEGER: pa.int64(),
    ColumnType.REAL: pa.float64(),
    ColumnType.TEXT: pa.string(),
    ColumnType.BOOLEAN: pa.bool_(),
    ColumnType.DATE: pa.date32(),
    ColumnType.TIMESTAMP: pa.timestamp("us"),
    ColumnType.DOCUMENT: pa.string(),
    ColumnType.BINARY: pa.binary(),
}
"""The Arrow type of each type of a catalog, for tables that are generated."""

_MICROSECONDS = {"s": 1_000_000, "ms": 1_000, "us": 1}
_LONGEST_TIME = 2**62
_LONGEST_NAME = 80


@dataclass(frozen=True)
class LosslessRead:
    """SQL that keeps what the total read of a column loses: bytes that are not text, or nanoseconds.

    Attributes:
        sql: The bytes, or the time as text; `{0}` is the quoted name.
        is_needed: Whether a cell loses something by the total read; None where no expression tells.
    """

    sql: str
    is_needed: str | None = None


@dataclass(frozen=True)
class TransportType:
    """A column in transport: its Arrow type, and the SQL that reads it back; `{0}` is the quoted name."""

    type: pa.DataType
    sql: str
    lossless: LosslessRead | None = None


def transport_type(kind: pa.DataType) -> TransportType:
    """The transport type of a column of an Arrow type."""
    if isinstance(kind, pa.BaseExtensionType):
        return transport_type(kind.storage_type)
    if pa.types.is_dictionary(kind):
        value = transport_type(kind.value_type)
        return replace(value, type=pa.large_binary()) if value.type == pa.binary() else value
    if pa.types.is_string(kind) or pa.types.is_string_view(kind):
        return TransportType(pa.binary(), "TRY(decode({0}))", LosslessRead("{0}"))
    if pa.types.is_large_string(kind):
        return TransportType(pa.large_binary(), "TRY(decode({0}))", LosslessRead("{0}"))
    if pa.types.is_timestamp(kind):
        return _timestamp(kind)
    if pa.types.is_time(kind) or pa.types.is_duration(kind):
        return TransportType(pa.int32() if kind.bit_width == 32 else pa.int64(), "{0}")
    if pa.types.is_date64(kind):
        return TransportType(pa.int64(), _limit_years(_from_steps(1_000), "CAST(", " AS DATE)"))
    if pa.types.is_date32(kind):
        return TransportType(kind, "CASE WHEN {0} BETWEEN DATE '0001-01-01' AND DATE '9999-12-31' THEN {0} END")
    if pa.types.is_float16(kind):
        return TransportType(pa.float32(), "{0}")
    return TransportType(kind, "{0}")


def unreadable(kind: pa.DataType, *, is_parquet: bool) -> str | None:
    """Why a column of a type cannot be read so that no cell makes it fail, or None."""
    if is_parquet and pa.types.is_dictionary(kind):
        return "its categories are stored in the file's own metadata, and one value too many makes reading fail"
    if pa.types.is_map(kind) or pa.types.is_union(kind):
        return f"a {kind.__class__.__name__.removesuffix('Type').lower()} has no form in which every cell can be read"
    if pa.types.is_nested(kind) and not all(_is_plain(part) for part in _parts(kind)):
        return "it is nested, and holds values that an engine checks one by one"
    return None


def unreadable_columns(schema: pa.Schema, *, is_parquet: bool) -> dict[str, str]:
    """The columns that cannot be read so that no cell makes them fail, each with its reason."""
    reasons = {each.name: unreadable(each.type, is_parquet=is_parquet) for each in schema}
    return {name: reason for name, reason in reasons.items() if reason is not None}


def distinct_names(names: Sequence[str], *, are_public: bool = True) -> tuple[str, ...]:
    """The names of columns, refused where there are none, or where two could be taken for one.

    An error shows names only if they are public: a reader that infers names takes them from everybody's records.
    """
    if not names:
        raise SourceError(
            "a source without columns",
            because="queries are about named columns",
            instead="a source with at least one column",
        )
    known: dict[str, str] = {}
    for name in names:
        other, shown = known.get(name.casefold()), name[:_LONGEST_NAME]
        if other is not None and not are_public:
            raise indistinct_names("two columns have one name, upper and lower case aside")
        if other == name:
            raise indistinct_names(f"the name {shown!r} is there twice")
        if other is not None:
            raise indistinct_names(f"the names {other[:_LONGEST_NAME]!r} and {shown!r} differ only in case")
        known[name.casefold()] = name
    return tuple(names)


def indistinct_names(because: str) -> SourceError:
    """Error for columns whose names could be taken for each other."""
    return SourceError(
        "column names that are not distinct", because=because, instead="a source whose columns have different names"
    )


def _parts(kind: pa.DataType) -> list[pa.DataType]:
    return [kind.field(i).type for i in range(kind.num_fields)]


def _is_plain(kind: pa.DataType) -> bool:
    """Whether the values inside a nested column are taken as they are."""
    if pa.types.is_map(kind) or pa.types.is_union(kind) or pa.types.is_dictionary(kind):
        return False
    if pa.types.is_nested(kind):
        return all(_is_plain(part) for part in _parts(kind))
    return not pa.types.is_temporal(kind) and not isinstance(kind, pa.BaseExtensionType)


def transport_schema(schema: pa.Schema) -> pa.Schema:
    """The schema of columns in transport."""
    return pa.schema([pa.field(field.name, transport_type(field.type).type) for field in schema])


def _timestamp(kind: pa.TimestampType) -> TransportType:
    """Microseconds as whole numbers; nanoseconds are cut, and a time of another zone is the same instant."""
    if kind.unit == "ns":
        lossless = LosslessRead("CAST(make_timestamp_ns({0}) AS VARCHAR)", "{0} % 1000 <> 0")
        return TransportType(pa.int64(), _limit_years("TRY(make_timestamp({0} // 1000))"), lossless)
    return TransportType(pa.int64(), _limit_years(_from_steps(_MICROSECONDS[kind.unit])))


def _from_steps(factor: int) -> str:
    most = _LONGEST_TIME // factor
    return f"CASE WHEN {{0}} BETWEEN -{most} AND {most} THEN TRY(make_timestamp({{0}} * {factor})) END"


def _limit_years(time: str, before: str = "", after: str = "") -> str:
    within = "BETWEEN TIMESTAMP '0001-01-01 00:00:00' AND TIMESTAMP '9999-12-31 23:59:59.999999'"
    return f"CASE WHEN ({time}) {within} THEN {before}{time}{after} END"
