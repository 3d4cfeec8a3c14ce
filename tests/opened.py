"""Engines over tables of any test, one way to open each: the same rows, brought to where the engine finds them."""

import contextlib
import datetime as dt
import itertools
import os
import sqlite3
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from discreet.engines import Engine, RegisteredSource, Source, Statements, Workspace, engine_of, source_of

ENGINES = ("duckdb", "postgres", "spark", "sqlite")
KEY = 1_234_567

Opener = Callable[..., Engine]
_numbers = itertools.count()


def opener(kind: str, request: pytest.FixtureRequest) -> Opener:
    """How an engine of a kind is opened over tables by name: `opened({"t": table}, place)`."""

    def opened(tables: Mapping[str, Any], place: Path, key: int = KEY, **limits: Any) -> Engine:
        sources = {name: RegisteredSource(brought(kind, data, place, request), key) for name, data in tables.items()}
        return engine_of(next(iter(sources.values())).source)(sources, Workspace(place), **limits)

    return opened


def brought(kind: str, data: Any, place: Path, request: pytest.FixtureRequest) -> Source:
    """A table where an engine finds it."""
    bring = {"duckdb": _as_it_is, "postgres": _to_postgres, "spark": _to_spark, "sqlite": _to_sqlite}[kind]
    return bring(data, place, request.getfixturevalue(kind) if kind in ("postgres", "spark") else None)


def _as_it_is(data: object, place: Path, server: object) -> Source:
    return source_of(data, stated=Statements(fixed_schema=True))


def _to_postgres(data: pa.Table | Path, place: Path, server: Any) -> Source:
    name = f"contract_{os.getpid()}_{next(_numbers)}"
    server.load(name, data if isinstance(data, pa.Table) else pq.read_table(data))
    return source_of(server.engine_url, table=name)


def _to_spark(data: pa.Table | Path, place: Path, server: Any) -> Source:
    """By Parquet, which holds more types than a frame that is handed over."""
    if isinstance(data, pa.Table):
        path = place / f"contract_{next(_numbers)}.parquet"
        pq.write_table(data, path)
        data = path
    return source_of(server.read.parquet(str(data)))


def _to_sqlite(data: pa.Table | Path, place: Path, server: object) -> Source:
    """All tables of a test in one file, which an engine of SQLite reads; times in UTC, wide numbers as text."""
    rows = data if isinstance(data, pa.Table) else pq.read_table(data)
    path, name = place / "contract.sqlite", f"contract_{next(_numbers)}"
    columns = ", ".join(f'"{field.name}" {_sqlite_type(field.type)}' for field in rows.schema)
    cells = [_sqlite_cells(column) for column in rows.columns]
    with contextlib.closing(sqlite3.connect(path)) as connection, connection:
        connection.execute(f"CREATE TABLE {name} ({columns})")
        connection.executemany(f"INSERT INTO {name} VALUES ({', '.join('?' * len(cells))})", zip(*cells, strict=True))
    return source_of(path, table=name)


def _sqlite_type(kind: pa.DataType) -> str:
    if pa.types.is_integer(kind):
        return "INTEGER"
    if pa.types.is_floating(kind):
        return "REAL"
    named = {pa.bool_(): "BOOLEAN", pa.binary(): "BLOB", pa.date32(): "DATE"}
    return named.get(kind, "TIMESTAMP" if pa.types.is_timestamp(kind) else "TEXT")


def _sqlite_cells(column: pa.ChunkedArray) -> list[Any]:
    """What a program would write that has such cells; what SQLite cannot hold is text."""
    kind = column.type
    if pa.types.is_timestamp(kind) or pa.types.is_date(kind):
        steps = column.cast(pa.int32() if kind == pa.date32() else pa.int64()).to_pylist()
        return [None if step is None else _iso(step, kind) for step in steps]
    if pa.types.is_duration(kind) or pa.types.is_time(kind):
        return column.cast(pa.int32() if kind.bit_width == 32 else pa.int64()).to_pylist()
    cells = column.to_pylist()
    return [cell if isinstance(cell, float | str | bytes | None) or _is_64_bit(cell) else str(cell) for cell in cells]


def _is_64_bit(cell: object) -> bool:
    return isinstance(cell, int) and -(2**63) <= cell < 2**63


def _iso(step: int, kind: pa.DataType) -> str:
    """A date or a time in UTC as text; one that no calendar holds as its number."""
    per_second = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}
    try:
        if pa.types.is_date(kind):
            days = step if kind == pa.date32() else step // 86_400_000
            return (dt.date(1970, 1, 1) + dt.timedelta(days=days)).isoformat()
        micros = step * 10**6 // per_second[kind.unit]
        return (dt.datetime(1970, 1, 1, tzinfo=dt.UTC) + dt.timedelta(microseconds=micros)).isoformat(" ")[:26]
    except OverflowError:
        return str(step)
