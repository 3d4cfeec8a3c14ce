"""Each source goes to the engine where its rows are, and engines are closed when one of them cannot be opened."""

import sqlite3
import subprocess
import sys

import pyarrow as pa
import pytest

from discreet.catalog import ColumnType
from discreet.engines import DuckDB, draft, engine_of, engines_of, postgres, source_of, spark, sqlite
from discreet.errors import SourceError


@pytest.fixture
def database(tmp_path):
    path = tmp_path / "visits.sqlite"
    connection = sqlite3.connect(path)
    connection.execute("CREATE TABLE visits (id INTEGER, cost REAL, ward TEXT)")
    connection.close()
    return path


def test_every_source_has_its_engine(database):
    assert engine_of(source_of(pa.table({"a": [1]}))) is DuckDB
    assert engine_of(source_of(database, table="visits")) is sqlite.SQLite
    assert spark.is_source(object()) is False
    assert postgres.is_source("postgresql://localhost/records")
    assert not postgres.is_source("postgresql.csv")


def test_types_are_drafted_by_the_engine_that_reads_them(database):
    drafted = draft(source_of(database, table="visits"))
    assert drafted == {"id": ColumnType.INTEGER, "cost": ColumnType.REAL, "ward": ColumnType.TEXT}


def test_tables_of_one_place_share_an_engine(database):
    tables = {"a": pa.table({"x": [1]}), "b": pa.table({"x": [2]})}
    sources = {name: source_of(table) for name, table in tables.items()} | {"c": source_of(database, table="visits")}
    engines = engines_of(sources, memory_limit=None, threads=1)
    try:
        assert engines["a"] is engines["b"]
        assert engines["c"] is not engines["a"]
    finally:
        for engine in dict.fromkeys(engines.values()):
            engine.close()


def test_an_engine_that_cannot_be_opened_leaves_none_open(database, discreet_home):
    sources = {"a": source_of(pa.table({"x": [1]})), "b": source_of(database, table="visits")}
    database.unlink()
    with pytest.raises(SourceError):
        engines_of(sources, memory_limit=None, threads=1)
    assert not [path for path in (discreet_home / "private").iterdir() if path.is_dir()]


def test_drivers_are_not_imported_before_they_are_needed():
    code = "import sys, discreet.engines; print([m for m in ('psycopg', 'pyspark', 'py4j') if m in sys.modules])"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout == "[]\n"
