"""The servers that other tests run on: the engine's role can read and nothing more, and what was loaded comes back."""

import datetime as dt
import decimal
import math
import subprocess
import sys
from pathlib import Path

import psycopg
import pyarrow as pa
import pytest
from psycopg import errors

from servers import ZONE, PostgresServer

UTC = dt.UTC
ROWS = pa.table({"unit": [1, 2, 2], "ward": ["A", "B", None]})

# What a column holds, what PostgreSQL calls its type, and what comes back where it is not what went in.
ROUND_TRIPS = {
    "boolean": (pa.array([True, False, None]), None),
    "smallint": (pa.array([-128, 127, None], pa.int8()), None),
    "integer": (pa.array([0, 65_535, None], pa.uint16()), None),
    "bigint": (pa.array([-(2**63), 2**63 - 1, None], pa.int64()), None),
    "numeric(20,0)": (
        pa.array([0, 2**64 - 1, None], pa.uint64()),
        [decimal.Decimal(0), decimal.Decimal(2**64 - 1), None],
    ),
    "numeric(38,9)": (
        pa.array([decimal.Decimal("-0.000000001"), decimal.Decimal(10) ** 28], pa.decimal128(38, 9)),
        None,
    ),
    "double precision": (pa.array([0.1, -0.0, 5e-324, 1.7976931348623157e308, math.inf, -math.inf, None]), None),
    "text": (pa.array(["", None, 'a "quoted", line\nand \\N', "\\.", "é e\u0301 \U0001f600", " "]), None),
    "bytea": (pa.array([b"", b"\x00\xff\\", None]), None),
    "date": (pa.array([dt.date(1, 1, 1), dt.date(9999, 12, 31), None]), None),
    "timestamp": (pa.array([dt.datetime(2026, 3, 8, 2, 30, 0, 1, tzinfo=UTC), None], pa.timestamp("us")), None),
    "timestamptz": (pa.array([dt.datetime(2026, 11, 1, 12, 30, tzinfo=UTC), None], pa.timestamp("us", tz="UTC")), None),
    "time": (pa.array([dt.time(23, 59, 59, 999_999), None], pa.time64("us")), None),
}


@pytest.fixture(scope="module")
def loaded(postgres: PostgresServer) -> PostgresServer:
    postgres.load("servers_visits", ROWS)
    return postgres


@pytest.mark.parametrize("kind", ROUND_TRIPS)
def test_a_loaded_column_comes_back_with_its_type(postgres: PostgresServer, kind: str):
    column, expected = ROUND_TRIPS[kind]
    postgres.load("servers_round_trip", pa.table({"Ünusual name": column}))
    with psycopg.connect(postgres.engine_url) as connection:
        rows = connection.execute("SELECT * FROM servers_round_trip").fetchall()
        (declared,) = connection.execute(
            "SELECT format_type(atttypid, atttypmod) FROM pg_attribute "
            "WHERE attrelid = 'servers_round_trip'::regclass AND attnum = 1"
        ).fetchone()
    assert declared.split(" with")[0].replace("timestamp", kind if kind == "timestamptz" else "timestamp") == kind
    assert [value for (value,) in rows] == (column.to_pylist() if expected is None else expected)
    assert [str(value) for (value,) in rows if kind == "double precision"][1:2] in ([], ["-0.0"])


def test_years_outside_pythons_reach_are_loaded(postgres: PostgresServer):
    column = pa.array([-210_866_803_200_000_000, 2**63 - 1], pa.timestamp("us"))
    postgres.load("servers_far", pa.table({"at": column}))
    with psycopg.connect(postgres.engine_url) as connection:
        rows = connection.execute("SELECT at::text FROM servers_far").fetchall()
    assert rows == [("4714-11-24 00:00:00 BC",), ("294247-01-10 04:00:54.775807",)]


def test_a_type_can_be_named_and_a_dictionary_is_read_through(postgres: PostgresServer):
    postgres.load(
        "servers_named", pa.table({"code": pa.array(["a", "b"]).dictionary_encode()}), types={"code": "char(3)"}
    )
    with psycopg.connect(postgres.engine_url) as connection:
        assert connection.execute("SELECT code FROM servers_named").fetchall() == [("a  ",), ("b  ",)]


def test_text_with_a_nul_and_nested_columns_are_refused(postgres: PostgresServer):
    with pytest.raises(ValueError, match="NUL"):
        postgres.load("servers_refused", pa.table({"x": ["a\x00b"]}))
    with pytest.raises(TypeError, match="list"):
        postgres.load("servers_refused", pa.table({"x": [[1]]}))


@pytest.mark.parametrize(
    "statement",
    [
        "INSERT INTO servers_visits VALUES (3, 'C')",
        "UPDATE servers_visits SET ward = 'C'",
        "DELETE FROM servers_visits",
        "TRUNCATE servers_visits",
        "DROP TABLE servers_visits",
        "CREATE INDEX ON servers_visits (unit)",
        "CREATE TABLE mine (x int)",
        "CREATE SCHEMA mine",
        "CREATE FUNCTION mine() RETURNS int LANGUAGE sql AS 'SELECT 1'",
        "COPY servers_visits TO '/tmp/visits'",
        "SELECT pg_read_file('/etc/passwd')",
    ],
)
def test_the_engines_role_can_neither_write_nor_create(loaded: PostgresServer, statement: str):
    with psycopg.connect(loaded.engine_url) as connection, pytest.raises(errors.InsufficientPrivilege):
        connection.execute(statement)


def test_the_engines_role_can_read_and_make_temporary_tables(loaded: PostgresServer):
    with psycopg.connect(loaded.engine_url) as connection:
        connection.execute("CREATE TEMP TABLE capped AS SELECT * FROM servers_visits")
        assert connection.execute("SELECT count(*) FROM capped").fetchone() == (3,)


def test_a_wrong_password_is_refused(postgres: PostgresServer):
    with pytest.raises(psycopg.OperationalError):
        psycopg.connect(postgres.engine_url.replace("analyst_engine:", "analyst_engine:not"))


def test_the_server_sorts_by_a_language_and_lives_outside_utc(postgres: PostgresServer):
    with psycopg.connect(postgres.engine_url) as connection:
        assert connection.execute("SELECT 'a' < 'B', 'B' < 'a' COLLATE \"C\"").fetchone() == (True, True)
        assert connection.execute("SHOW timezone").fetchone() == (ZONE,)


def test_a_server_leaves_nothing_behind_when_its_process_is_killed():
    code = (
        "import os, sys; from servers import PostgresServer; server = PostgresServer(); "
        "print(server.pid, server.directory, flush=True); os.kill(os.getpid(), 9)"
    )
    here = Path(__file__).parent
    done = subprocess.run([sys.executable, "-c", code], cwd=here, capture_output=True, text=True, check=False)
    pid, directory = done.stdout.split()
    deadline = dt.datetime.now(UTC) + dt.timedelta(seconds=20)
    while (Path(directory).exists() or Path("/proc", pid).exists()) and dt.datetime.now(UTC) < deadline:
        pass
    assert not Path(directory).exists()
    assert not Path("/proc", pid).exists()


def test_spark_answers_in_a_zone_that_is_not_utc(spark):
    assert spark.conf.get("spark.sql.session.timeZone") == ZONE
    assert spark.sql("SELECT CAST(TIMESTAMP '2026-01-01 00:00:00' AS LONG) AS seconds").collect()[0][0] == 1_767_243_600
    assert spark.createDataFrame(pa.table({"x": [1, None]})).toArrow().to_pylist() == [{"x": 1}, {"x": None}]
