"""Tables brought to where an engine finds them, by the names that an owner would give."""

import contextlib
import itertools
import os
import sqlite3
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from opened import ENGINES, _sqlite_cells, _sqlite_type

__all__ = ["ENGINES", "place_table"]

_numbers = itertools.count()


def place_table(kind: str, table: pa.Table, directory: Path, request: pytest.FixtureRequest) -> dict[str, Any]:
    """A table on an engine, as the arguments `source` and `table` of a call."""
    name = f"anonymity_{os.getpid()}_{next(_numbers)}"
    if kind == "duckdb":
        return {"source": table}
    if kind == "postgres":
        server = request.getfixturevalue("postgres")
        server.load(name, table)
        return {"source": server.engine_url, "table": name}
    if kind == "spark":
        path = directory / f"{name}.parquet"
        pq.write_table(table, path)
        return {"source": request.getfixturevalue("spark").read.parquet(str(path))}
    return {"source": _to_sqlite(table, directory, name), "table": name}


def _to_sqlite(table: pa.Table, directory: Path, name: str) -> Path:
    path = directory / "anonymity.sqlite"
    columns = ", ".join(f'"{field.name}" {_sqlite_type(field.type)}' for field in table.schema)
    cells = [_sqlite_cells(column) for column in table.columns]
    marks = ", ".join("?" * len(cells))
    with contextlib.closing(sqlite3.connect(path)) as connection, connection:
        connection.execute(f'CREATE TABLE "{name}" ({columns})')
        connection.executemany(f'INSERT INTO "{name}" VALUES ({marks})', zip(*cells, strict=True))
    return path
