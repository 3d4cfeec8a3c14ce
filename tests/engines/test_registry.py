"""Each source goes to the engine where its rows are, and engines are closed when one of them cannot be opened."""

import os
import shutil
import sqlite3
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pytest

import discreet as dp
from discreet.catalog.catalog import ColumnType
from discreet.engines import DuckDB, draft, engine_of, engines_of, has_tables, registry, source_of
from discreet.engines.backends import sqlite
from discreet.engines.backends.postgres import engine as postgres
from discreet.engines.backends.spark import engine as spark
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


def test_one_catalog_serves_databases_and_files_alike(database, tmp_path):
    """Its relation is the table of a database; a file or a frame takes no notice of it."""
    catalog = dp.Catalog.parse(
        "tables: {v: {relation: visits, privacy_unit: id, max_rows: 1, budget: {epsilon: 1}, "
        "columns: {id: {type: integer}}}}"
    )
    for version, source in enumerate((database, pa.table({"id": [1]})), 1):
        catalog.tables["v"] = catalog.tables["v"].model_copy(update={"version": version})
        with dp.Session(catalog, sources={"v": source}, ledger=tmp_path / "ledger.sqlite") as session:
            assert float(session.remaining()) == 1


def test_whether_a_source_is_a_database_is_told_by_what_it_is_and_not_by_its_name(database, tmp_path):
    renamed = database.rename(tmp_path / "visits.dat")
    assert has_tables(renamed)
    assert has_tables("PostgreSQL://h/db")
    assert has_tables("visits.duckdb")
    assert not has_tables("visits.csv")
    assert not has_tables(pa.table({"id": [1]}))


SECRET = "tops3cret"  # noqa: S105 - nobody has it


@pytest.mark.parametrize(
    "data",
    [
        f"host=127.0.0.1 port=1 dbname=records user=reader password={SECRET}",
        f"jdbc:postgresql://h/db?user=reader&password={SECRET}",
        Path(f"postgresql://reader:{SECRET}@h/db"),
        f" postgresql://reader:{SECRET}@127.0.0.1:1/records",
        f"PostgreSQL://reader:{SECRET}@127.0.0.1:1/records",
    ],
)
def test_no_address_is_shown_with_its_password(data):
    with pytest.raises(SourceError) as refusal:
        source_of(data, table="visits")
    assert SECRET not in str(refusal.value)
    assert "postgresql://" in str(refusal.value).lower()


OUTSIDE = Path(__file__).parent / "outside"
DUMPED = """
import sys, discreet as dp
session = dp.testing.protect("visits.sql", table="visits", privacy_unit="id", max_rows=2, budget=dp.Budget(epsilon=1))
wards = dp.table("visits").group_by("ward", keys={"ward": ["A", "B"]})
query = wards.agg(n=dp.count(), old=dp.sum("age", bounds=(0, 50)))
release = session.release(query, epsilon=1)
print(release["n"], release["old"])
"""


def _run(code, place, *paths):
    path = os.pathsep.join(map(str, paths))
    surroundings = os.environ | {"PYTHONPATH": path}
    command = [sys.executable, "-c", code]
    return subprocess.run(command, env=surroundings, cwd=place, capture_output=True, text=True, check=False)


def test_an_engine_of_another_package_registers_itself_and_answers(tmp_path):
    """It follows docs/how-to-add-an-engine.md: a module with six names, and an entry point."""
    rows = ", ".join(f"({i}, '{'AB'[i % 2]}', {i})" for i in range(60))
    (tmp_path / "visits.sql").write_text(
        f"CREATE TABLE visits (id INTEGER, ward TEXT, age INTEGER); INSERT INTO visits VALUES {rows};", encoding="utf-8"
    )
    package = Path(dp.__file__).parents[1]
    found = _run(DUMPED, tmp_path, OUTSIDE, package)
    assert found.stdout == "(30, 30) (850, 875)\n", found.stderr


@pytest.mark.parametrize(
    ("module", "why"),
    [("raise OSError('no driver')", "importing it raised OSError"), ("KIND = 'x'", "it has no ENGINE, is_source")],
)
def test_an_engine_that_cannot_be_loaded_is_left_out_with_a_warning_and_the_others_work(module, why, tmp_path):
    shutil.copytree(OUTSIDE, tmp_path / "outside")
    (tmp_path / "outside" / "discreet_dump.py").write_text(module, encoding="utf-8")
    package = Path(dp.__file__).parents[1]
    code = "from discreet.engines import registry; print(len(registry.modules()), registry.has_tables('visits.csv'))"
    found = _run(code, tmp_path, tmp_path / "outside", package)
    assert found.stdout == "4 False\n"
    assert f"engine 'dump' is left out: {why}" in found.stderr


NAMES = "KIND, ENGINE, source, draft = {!r}, None, None, None\ndef has_tables(data): return True\n"


@pytest.mark.parametrize(
    ("module", "why"),
    [
        (NAMES.format("csv") + "def is_source(data): return True", "another engine has its kind of sources"),
        (NAMES.format("x") + "def is_source(data): raise ValueError", "it raised ValueError"),
    ],
)
def test_an_engine_takes_no_sources_of_others_and_its_failure_closes_none(module, why, tmp_path):
    shutil.copytree(OUTSIDE, tmp_path / "outside")
    (tmp_path / "outside" / "discreet_dump.py").write_text(module, encoding="utf-8")
    code = "from discreet.engines import registry; print(registry.has_tables('visits.csv'))"
    found = _run(code, tmp_path, tmp_path / "outside", Path(dp.__file__).parents[1])
    assert found.stdout == "False\n"
    assert why in found.stderr


def test_the_page_on_adding_an_engine_names_what_the_registry_asks_for():
    page = (Path(__file__).parents[2] / "docs" / "how-to-add-an-engine.md").read_text(encoding="utf-8")
    assert all(f"| `{name}" in page for name in registry._NAMES)
    assert f'[project.entry-points."{registry.GROUP}"]' in page
