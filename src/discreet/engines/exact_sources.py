"""What an owner of a source need not name for exact counts: the only table of a file, and what separates its columns.

`dp.protect` wants both in words, since they are recorded with the dataset. Nothing here reads a row.
"""

import sqlite3
from collections.abc import Sequence
from contextlib import closing, suppress
from pathlib import Path

import duckdb

from discreet.engines import registry
from discreet.engines.backends import sqlite
from discreet.engines.sources.source import Source, Statements
from discreet.errors import SourceError, suggestion

_STATED = Statements(fixed_schema=True, row_local=True)
_DELIMITERS = (";", "\t", "|")
_FEW = 12


def open_source(source: object, table: str | None) -> Source:
    """The source of a path, frame or table."""
    return registry.source_of(
        source, table=table_name(source, table), delimiter=seeming_delimiter(source), stated=_STATED
    )


def table_name(source: object, table: str | None) -> str | None:
    """The table of a DuckDB or SQLite file: the one that is named, or the only one; other sources keep the name."""
    names = _table_names(source)
    if names is None:
        return table
    where = Path(str(source)).name
    if table is None:
        if len(names) == 1:
            return names[0]
        raise SourceError(
            f"{where!r} without the name of a table",
            because=f"the file has {len(names):,} tables",
            instead=" or ".join(f"table={name!r}" for name in names[:_FEW]) or "a file with a table",
        )
    if table.lower() not in {name.lower() for name in names} and not _is_view(source, table):
        meant = suggestion(table, names)
        raise SourceError(
            f"no table {table!r} in {where!r}",
            because="the file has none of that name",
            instead=f"table={meant!r}" if meant in names else meant,
        )
    return table


def seeming_delimiter(source: object) -> str | None:
    """Another delimiter than the usual one, where the header of a CSV file is a single name without it."""
    if not isinstance(source, str | Path) or Path(source).suffix.lower() != ".csv":
        return None
    with suppress(OSError, ValueError), Path(source).open("rb") as file:
        header = file.readline(1_000_000).decode("utf-8-sig")
        return next((each for each in _DELIMITERS if each in header and "," not in header), None)
    return None


def _table_names(source: object) -> Sequence[str] | None:
    """Names of the tables of a file; None for what is not such a file, or cannot be opened."""
    if not isinstance(source, str | Path) or "://" in str(source) or not Path(source).is_file():
        return None
    if sqlite.is_source(source):
        return _query_sqlite(Path(source), "type = 'table' AND rootpage > 0 AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\'")
    if not registry.has_tables(source):
        return None
    tables = "SELECT schema_name, table_name FROM duckdb_tables() WHERE NOT internal AND NOT temporary ORDER BY ALL"
    found = _query_duckdb(Path(source), tables)
    return None if found is None else [name if schema == "main" else f"{schema}.{name}" for schema, name in found]


def _is_view(source: object, table: str) -> bool:
    """Whether the name is of something else than a table, about which the engine has words of its own."""
    path = Path(str(source))
    if sqlite.is_source(source):
        return table in (_query_sqlite(path, "type = 'view' OR rootpage = 0") or ())
    views = _query_duckdb(path, "SELECT schema_name, view_name FROM duckdb_views() WHERE NOT internal") or []
    return table.lower().rpartition(".")[2] in {name.lower() for _, name in views} or table.count(".") > 1


def _query_sqlite(path: Path, where: str) -> list[str] | None:
    with suppress(sqlite3.Error), closing(sqlite.SQLite.open_connection(str(path))) as connection:
        statement = f"SELECT name FROM source.sqlite_master WHERE {where} ORDER BY name"
        return [name for (name,) in connection.execute(statement)]
    return None


def _query_duckdb(path: Path, sql: str) -> list[tuple[str, str]] | None:
    with suppress(duckdb.Error), closing(duckdb.connect(str(path), read_only=True)) as connection:
        return [(schema, name) for schema, name in connection.execute(sql).fetchall()]
    return None
