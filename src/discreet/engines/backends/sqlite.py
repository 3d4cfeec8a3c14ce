"""SQLite: a file that many programs write, and the smallest engine: start from it when adding another."""

import datetime as dt
import hashlib
import re
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from dataclasses import replace
from functools import partial
from pathlib import Path

import pyarrow as pa

from discreet.catalog.catalog import ColumnType
from discreet.engines.sources.files import find_files
from discreet.engines.sources.source import UNSTATED, Source, Statements, unfit_table, unopened_database
from discreet.engines.sql import casts, functions
from discreet.engines.sql.blocks import batches_of
from discreet.engines.sql.dialect import LIMITED, Dialect, Reads, StorageType, finite
from discreet.engines.sql_engine import OneConnection, SQLEngine
from discreet.home.held_files import is_held
from discreet.plan.logical import CalendarPart, TextPlace, TimeUnit

KIND = "sqlite"
_md5 = partial(hashlib.md5, usedforsecurity=False)
_LIMITED = LIMITED.replace("LEAST", "min").replace("GREATEST", "max")
_DENIED = (sqlite3.SQLITE_ATTACH, sqlite3.SQLITE_DETACH, sqlite3.SQLITE_PRAGMA)
_COLUMNS = """SELECT c.name, upper(c.type) FROM source.sqlite_master AS t JOIN pragma_table_xinfo(t.name, 'source') AS c
    WHERE t.name = ? AND t.type = 'table' AND t.rootpage > 0 AND c.hidden <> 2"""
_DRAFTED = {"INT": "integer", "BOOL": "boolean", "TIME": "timestamp", "DATE": "date", "BLOB": "binary"}
_DRAFTED |= {"REAL": "real", "FLOA": "real", "DOUB": "real", "DEC": "real", "NUM": "real", "": "text"}


def _moment(text: str) -> str | None:
    """A date or a time of any zone as a time in UTC; missing where the calendar ends on the way."""
    with suppress(TypeError, ValueError, OverflowError):
        time = dt.datetime.fromisoformat(text)
        return (time.astimezone(dt.UTC) if time.tzinfo else time).isoformat(" ", "microseconds")[:26]
    return None


_FUNCTIONS: dict[str, Callable[..., int | float | str | None]] = {
    "is_unicode": lambda cell: cell.decode(errors="replace").encode() == cell,
    "matches": lambda cell, form: cell is not None and re.fullmatch(form.encode(), cell) is not None,
    "double": float,  # SQLite's own reading of digits may be off by one bit
    "moment": _moment,
    "md5": lambda *cells: None if cells == (None,) else _md5("|".join(map(str, cells)).encode()).hexdigest(),
    "row": lambda *cells: repr(cells),
    "joined": lambda high, low: None if high is None else str((high << 32) + low),
    "centred": lambda total, centre, rows: str(int(total) - centre * rows),
    "part": lambda digits, number: int(digits[:15], 16) % number,
}


def _reads() -> Reads:
    numbers = casts.Primitives(
        matches="matches(CAST({0} AS BLOB), {1})",
        whole_text="CASE typeof(CAST({0} AS NUMERIC)) WHEN 'integer' THEN CAST({0} AS NUMERIC) END",
        date="substr({0}, 1, 10)",
        timestamp="moment({0})",
        zoned_text="moment({0})",
        real="double('{0}')",
        day="'{0}'",
        moment="'{0}'",
        limited=_LIMITED,
    )
    texts = casts.standard(replace(numbers, double="double({0})"))
    reads = {**casts.standard(numbers), **{pair: sql for pair, sql in texts.items() if pair[0] is StorageType.TEXT}}
    cells = {**reads, (StorageType.TEXT, ColumnType.TEXT): "CASE WHEN is_unicode(CAST({0} AS BLOB)) THEN {0} END"}
    for kind in set(ColumnType) - {ColumnType.DOCUMENT, ColumnType.BINARY}:
        cases = (
            f"WHEN '{one}' THEN {cells.get((StorageType(one), kind), 'NULL')}" for one in ("integer", "real", "text")
        )
        reads[StorageType.OTHER, kind] = f"CASE typeof({{0}}) {' '.join(cases)} END"
    return {pair: sql.replace("THEN TRUE", "THEN 1").replace("THEN FALSE", "THEN 0") for pair, sql in reads.items()}


_MIDNIGHT = "({0} || ' 00:00:00.000000')"
_MONTHS_OF_QUARTERS = "010101040404070707101010"
_DAYS: dict[TimeUnit, str] = {
    "year": "(substr({0}, 1, 4) || '-01-01')",
    "quarter": f"(substr({{0}}, 1, 5) || substr('{_MONTHS_OF_QUARTERS}', 2 * substr({{0}}, 6, 2) - 1, 2) || '-01')",
    "month": "(substr({0}, 1, 7) || '-01')",
    "week": "date(substr({0}, 1, 10), '-6 days', 'weekday 1')",  # the Sunday of the last week is in the year 10000
    "day": "substr({0}, 1, 10)",
}
_TIMES: dict[TimeUnit, str] = {
    **{unit: _MIDNIGHT.format(day) for unit, day in _DAYS.items()},
    "hour": "(substr({0}, 1, 13) || ':00:00.000000')",
    "minute": "(substr({0}, 1, 16) || ':00.000000')",
}
_PARTS: dict[CalendarPart, str] = {
    "year": "CAST(substr({0}, 1, 4) AS INTEGER)",
    "quarter": "((substr({0}, 6, 2) + 2) / 3)",
    "month": "CAST(substr({0}, 6, 2) AS INTEGER)",
    "day": "CAST(substr({0}, 9, 2) AS INTEGER)",
    "weekday": "((strftime('%w', substr({0}, 1, 10)) + 6) % 7 + 1)",
    "hour": "CAST(substr({0}, 12, 2) AS INTEGER)",
}
# Bytes, because functions of text end at a NUL; one is added, because a part of no bytes is NULL. No constant has one.
_MATCHES: dict[TextPlace, str] = {
    "starts": "(substr(CAST({0} || char(0) AS BLOB), 1, {3}) = CAST({1} AS BLOB))",
    "ends": "(substr(CAST(char(0) || {0} AS BLOB), -{3}) = CAST({1} AS BLOB))",
    "contains": "(instr(CAST({0} AS BLOB), CAST({1} AS BLOB)) > 0)",
}

DIALECT = Dialect(
    name=KIND,
    reads=_reads(),
    functions=functions.functions(_MATCHES, _DAYS, _TIMES, _PARTS),
    keyed_hash=lambda columns, key: f"md5('{key}', {', '.join(columns)})",
    micros="(strftime('%s', substr({0}, 1, 19)) * 1000000 + substr({0}, 21))",
    whole="{0}",
    large_sum="joined(sum({0} >> 32), sum({0} & 4294967295))",
    centred="centred({0}, {1}, {2})",
    limited=_LIMITED,
    quote="`",  # what stands in double quotes is taken for text where no such column is
    real=lambda value: f"double('{finite(value)}')",
    same=lambda one, other, _: f"{one} IS {other}",
    date="{0}",
    timestamp="moment({0})",
    part="part({0}, {1})",
    part_of_text="part({0}, {1})",
)


class SQLite(OneConnection):
    """One file, read-only, beside a private database in memory."""

    dialect = DIALECT

    @staticmethod
    def open_connection(address: str) -> sqlite3.Connection:
        """A connection that can read the file and keep tables of its own."""
        connection = sqlite3.connect(":memory:", isolation_level=None, check_same_thread=False, uri=True)
        for name, function in _FUNCTIONS.items():
            connection.create_function(name, -1, function, deterministic=True)
        uri = DIALECT.text(f"{Path(address).absolute().as_uri()}?mode=ro")
        with suppress(sqlite3.Error):
            connection.executescript(f"PRAGMA trusted_schema = OFF; PRAGMA temp_store = MEMORY; ATTACH {uri} AS source")
            connection.set_authorizer(lambda action, name, *_: int(action in _DENIED and name != "table_xinfo"))
            return connection
        connection.close()
        raise unopened_database()

    def _describe(self, table: str, source: Source) -> tuple[str, dict[str, StorageType]]:  # noqa: ARG002 - named there
        return f"source.{DIALECT.identifier(source.table or '')}", dict.fromkeys(source.columns, StorageType.OTHER)

    def _create_keys(self, connected: sqlite3.Connection, name: str, keys: pa.Table) -> None:
        plain = [each.cast(pa.string()) if pa.types.is_temporal(each.type) else each for each in keys.columns]
        self._create(connected, name, f"({', '.join(keys.column_names)})")
        rows = zip(*(column.to_pylist() for column in plain), strict=True)
        connected.executemany(f"INSERT INTO {name} VALUES ({', '.join('?' * len(plain))})", rows)

    def _stream(self, connected: sqlite3.Connection, sql: str, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
        yield from batches_of(connected.execute(sql), schema)


ENGINE: type[SQLEngine] = SQLite


def is_source(data: object) -> bool:
    """Whether it names a file of SQLite, by its ending or by how it begins; an open ledger is not read for it."""
    path = Path(data) if isinstance(data, str | Path) else Path()
    if is_held(path):
        return True
    with suppress(OSError, ValueError), path.open("rb") as file:
        return "sqlite" in path.suffix or file.read(16) == b"SQLite format 3\0"
    return "sqlite" in path.suffix


def has_tables(data: object) -> bool:  # noqa: ARG001 - every file is a database
    """A table of the file must be named."""
    return True


def source(data: object, table: str | None, stated: Statements = UNSTATED) -> Source:  # noqa: ARG001
    """A table of a file, by its schema; a view, or a column that is computed when it is read, could fail on a cell."""
    files = find_files(str(data))
    names, address = tuple(_columns(files.paths, table)), "".join(files.paths)
    return Source("sqlite", f"{files.identity}#{table}", names, files.paths, table=table, address=address)


def draft(source: Source) -> dict[str, ColumnType]:
    """By the types that the columns are declared with, which cells need not keep to."""
    declared = _columns(source.paths, source.table)
    return {name: ColumnType(next(_DRAFTED[w] for w in _DRAFTED if w in kind)) for name, kind in declared.items()}


def _columns(paths: tuple[str, ...], table: str | None) -> dict[str, str]:
    with suppress(sqlite3.Error), closing(SQLite.open_connection("".join(paths))) as connection:
        if columns := dict(connection.execute(_COLUMNS, (table,)).fetchall()):
            return columns
        raise unfit_table(table, connection.execute("SELECT name, type, rootpage FROM source.sqlite_master"))
    raise unopened_database()
