"""The servers that other tests run on: each role can do what it is for and nothing more, what was loaded comes back,
and a server that was killed, starved of disk or put under another clock behaves as a real one does.
"""

import datetime as dt
import decimal
import math
import os
import subprocess
import sys
import threading
import time
from contextlib import suppress
from pathlib import Path

import psycopg
import pyarrow as pa
import pytest
from psycopg import errors

from clocks import Clock
from processes import ENDED, children, state, wait_for
from servers import WAL_SEGMENT, ZONE, PostgresServer, free_port

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


@pytest.mark.parametrize(
    "statement",
    [
        "SELECT * FROM servers_visits",
        "INSERT INTO servers_visits VALUES (3, 'C')",
        "CREATE TEMP TABLE mine (x int)",
        "CREATE TABLE mine (x int)",
        "CREATE SCHEMA mine",
    ],
)
def test_the_services_role_can_do_nothing_that_the_owner_has_not_granted(loaded: PostgresServer, statement: str):
    with psycopg.connect(loaded.service_url) as connection, pytest.raises(errors.InsufficientPrivilege):
        connection.execute(statement)


def test_the_owner_can_make_a_schema_and_let_the_services_role_into_it(postgres: PostgresServer):
    postgres.execute("CREATE SCHEMA servers_ledger")
    postgres.execute("CREATE TABLE servers_ledger.event (number int)")
    postgres.execute("GRANT USAGE ON SCHEMA servers_ledger TO ledger_service")
    postgres.execute("GRANT SELECT, INSERT ON servers_ledger.event TO ledger_service")
    with psycopg.connect(postgres.service_url) as connection:
        connection.execute("INSERT INTO servers_ledger.event VALUES (1)")
        with pytest.raises(errors.InsufficientPrivilege):
            connection.execute("DELETE FROM servers_ledger.event")


LEAVING = {
    "while it runs": "",
    "after a kill": "server.kill()",
    "after a kill and a new start": "server.kill(); server.restart()",
}


@pytest.mark.parametrize("harm", LEAVING)
def test_a_server_leaves_nothing_behind_when_its_process_is_killed(postgres_installed: None, harm: str):
    code = (
        "import os; from servers import PostgresServer; server = PostgresServer(durable=True); "
        "segment = (server.directory / 'data' / 'postmaster.pid').read_text().splitlines()[6].split()[1]; "
        f"{LEAVING[harm]}\n"
        "print(server.pid, segment, server.directory, flush=True); os.kill(os.getpid(), 9)"
    )
    here = Path(__file__).parent
    done = subprocess.run([sys.executable, "-c", code], cwd=here, capture_output=True, text=True, check=False)
    pid, segment, directory = done.stdout.split()
    wait_for(lambda: state(int(pid)) in ENDED and not Path(directory).exists(), 20, lambda: f"{directory} is left")
    assert segment not in shared_memory()


def shared_memory() -> list[str]:
    return [line.split()[1] for line in Path("/proc/sysvipc/shm").read_text().splitlines()[1:]]


@pytest.mark.parametrize("setting", ["fsync", "full_page_writes", "synchronous_commit"])
def test_a_server_is_durable_where_that_is_asked_for(
    postgres: PostgresServer, durable_postgres: PostgresServer, setting: str
):
    assert [setting_of(server, setting) for server in (postgres, durable_postgres)] == ["off", "on"]


def setting_of(server: PostgresServer, name: str) -> str:
    with psycopg.connect(server.engine_url) as connection:
        return connection.execute("SELECT current_setting(%s)", (name,)).fetchone()[0]


def numbers(server: PostgresServer, table: str) -> set[int]:
    with psycopg.connect(server.owner_url) as connection:
        return {number for (number,) in connection.execute(f"SELECT number FROM {table}")}


def test_a_kill_ends_every_process_of_the_server_and_a_new_start_brings_it_back(durable_postgres: PostgresServer):
    with psycopg.connect(durable_postgres.owner_url) as connection:
        first, port = durable_postgres.pid, durable_postgres.port
        processes = [first, *children(first)]
        assert connection.info.backend_pid in processes
        durable_postgres.kill()
        assert not durable_postgres.is_running
        assert {state(pid) for pid in processes} <= ENDED
        with pytest.raises(psycopg.OperationalError):
            connection.execute("SELECT 1")
    with pytest.raises(psycopg.OperationalError):
        psycopg.connect(durable_postgres.owner_url)
    with pytest.raises(ProcessLookupError):
        durable_postgres.kill()
    durable_postgres.restart()
    assert durable_postgres.pid != first
    assert durable_postgres.port == port
    assert setting_of(durable_postgres, "fsync") == "on"


def test_no_acknowledged_commit_is_lost_when_the_server_is_killed_again_and_again(durable_postgres: PostgresServer):
    durable_postgres.execute("CREATE TABLE acknowledged (number int PRIMARY KEY)")
    acknowledged: set[int] = set()
    stopping = threading.Event()
    spenders = [
        threading.Thread(target=insert, args=(durable_postgres, range(first, 10**9, 4), acknowledged, stopping))
        for first in range(4)
    ]
    for spender in spenders:
        spender.start()
    try:
        for _ in range(5):
            before = len(acknowledged)
            wait_for(lambda before=before: len(acknowledged) > before + 20, 30, lambda: "nothing is committed")
            durable_postgres.kill()
            durable_postgres.restart()
    finally:
        stopping.set()
        for spender in spenders:
            spender.join()
    stored = numbers(durable_postgres, "acknowledged")
    assert acknowledged <= stored
    assert len(stored - acknowledged) <= 4 * 5  # in flight at a kill: committed, but nobody was told


def insert(server: PostgresServer, planned: range, acknowledged: set[int], stopping: threading.Event) -> None:
    waiting = iter(planned)
    while not stopping.is_set():
        with suppress(psycopg.OperationalError), psycopg.connect(server.owner_url, autocommit=True) as connection:
            while not stopping.is_set():
                number = next(waiting)
                connection.execute("INSERT INTO acknowledged VALUES (%s)", (number,))
                acknowledged.add(number)


def test_an_orderly_new_start_needs_no_recovery(durable_postgres: PostgresServer):
    first, told = durable_postgres.pid, len(durable_postgres.log())
    durable_postgres.restart()
    assert durable_postgres.pid != first
    assert "recovery" not in durable_postgres.log()[told:]


def test_a_standby_reads_and_does_not_write_until_it_is_one_no_more(durable_postgres: PostgresServer):
    durable_postgres.execute("CREATE TABLE followed (number int)")
    durable_postgres.restart(standby=True)
    assert numbers(durable_postgres, "followed") == set()
    with pytest.raises(errors.ReadOnlySqlTransaction):
        durable_postgres.execute("INSERT INTO followed VALUES (1)")
    durable_postgres.restart()
    durable_postgres.execute("INSERT INTO followed VALUES (1)")


def test_a_killed_backend_takes_the_others_with_it_and_the_server_recovers(durable_postgres: PostgresServer):
    first = durable_postgres.pid
    with (
        psycopg.connect(durable_postgres.owner_url) as killed,
        psycopg.connect(durable_postgres.owner_url) as other,
    ):
        durable_postgres.kill_backend(killed.info.backend_pid)
        for connection in (killed, other):
            with pytest.raises(psycopg.OperationalError):
                connection.execute("SELECT 1")
    durable_postgres.wait_until_ready()
    assert durable_postgres.pid == first
    assert setting_of(durable_postgres, "fsync") == "on"


def test_a_process_that_is_no_backend_of_the_server_is_neither_killed_nor_limited(durable_postgres: PostgresServer):
    with pytest.raises(ProcessLookupError, match="no backend"):
        durable_postgres.kill_backend(os.getpid())
    with pytest.raises(ProcessLookupError, match="no backend"):
        durable_postgres.limit_files(WAL_SEGMENT, os.getpid())


@pytest.mark.parametrize("everywhere", [True, False], ids=["the whole server", "one backend"])
def test_a_large_answer_fails_on_a_full_disk_and_is_stored_once_there_is_room(
    durable_postgres: PostgresServer, everywhere: bool
):
    durable_postgres.execute("DROP TABLE IF EXISTS answer")
    durable_postgres.execute("CREATE TABLE answer (number int, payload bytea)")
    large, first, told = os.urandom(30 * 2**20), durable_postgres.pid, len(durable_postgres.log())
    with psycopg.connect(durable_postgres.owner_url, autocommit=True) as connection:
        with durable_postgres.full_disk(backend=None if everywhere else connection.info.backend_pid):
            with pytest.raises(errors.InternalError_, match="could not extend file"):
                connection.execute("INSERT INTO answer VALUES (1, %s)", (large,))
            connection.execute("INSERT INTO answer VALUES (2, %s)", (large[:600],))
            if everywhere:
                with pytest.raises(errors.InternalError_):
                    another_inserts(durable_postgres, large)
            else:
                another_inserts(durable_postgres, large)
        assert numbers(durable_postgres, "answer") == ({2} if everywhere else {2, 3})
        connection.execute("INSERT INTO answer VALUES (1, %s)", (large,))
        stored = connection.execute("SELECT payload FROM answer WHERE number = 1", binary=True).fetchone()
    assert stored == (large,)
    assert durable_postgres.pid == first
    assert "recovery" not in durable_postgres.log()[told:]


def another_inserts(server: PostgresServer, payload: bytes) -> None:
    with psycopg.connect(server.owner_url) as connection:
        connection.execute("INSERT INTO answer VALUES (3, %s)", (payload,))


def test_a_disk_too_small_for_the_servers_log_is_refused(durable_postgres: PostgresServer):
    with pytest.raises(ValueError, match="the server ends itself"), durable_postgres.full_disk(WAL_SEGMENT - 1):
        pass


def test_a_server_killed_on_a_full_disk_starts_again_with_room(durable_postgres: PostgresServer):
    durable_postgres.execute("CREATE TABLE roomy (number int, payload bytea)")
    with durable_postgres.full_disk():
        durable_postgres.kill()
    durable_postgres.restart()
    with psycopg.connect(durable_postgres.owner_url) as connection:
        connection.execute("INSERT INTO roomy VALUES (1, %s)", (os.urandom(30 * 2**20),))


def test_a_port_is_none_that_the_system_gives_to_connections():
    first, last = map(int, Path("/proc/sys/net/ipv4/ip_local_port_range").read_text().split())
    if first > 12_000:
        assert all(not first <= free_port() <= last for _ in range(100))


YEAR = dt.timedelta(days=365)


@pytest.mark.usefixtures("postgres_installed", "other_clocks")
@pytest.mark.timing
def test_a_server_under_another_clock_keeps_it_through_a_kill_and_its_timeouts_stay_real():
    with PostgresServer(durable=True, clock="+1y") as server:
        assert shift_of(server) == YEAR
        server.kill()
        server.restart()
        assert shift_of(server) == YEAR
        with psycopg.connect(server.owner_url, autocommit=True) as connection:
            for shift in ("+1y", "-1y"):
                server.clock.move(shift)
                started = time.monotonic()
                connection.execute("SET statement_timeout = 100")
                with pytest.raises(errors.QueryCanceled):
                    connection.execute("SELECT pg_sleep(10)")
                assert 0.1 <= time.monotonic() - started < 5
        assert shift_of(server) == -YEAR
        server.clock.move("+0")
        assert shift_of(server) == dt.timedelta()


def shift_of(server: PostgresServer) -> dt.timedelta:
    """Of a new backend's clock from ours, in whole days."""
    with psycopg.connect(server.owner_url) as connection:
        (moment,) = connection.execute("SELECT clock_timestamp()").fetchone()
    return dt.timedelta(days=round((moment - dt.datetime.now(UTC)) / dt.timedelta(days=1)))


@pytest.mark.usefixtures("other_clocks")
@pytest.mark.parametrize(("shift", "expected"), [("+1y", YEAR), ("-1y", -YEAR)])
def test_a_process_under_another_clock_sees_it_and_waits_in_real_time(
    tmp_path: Path, shift: str, expected: dt.timedelta
):
    code = (
        "import sqlite3, threading, time; started = time.monotonic(); "
        "time.sleep(0.05); threading.Event().wait(0.05); "
        "print(time.time(), started, time.monotonic() - started, "
        "*sqlite3.connect(':memory:').execute(\"SELECT unixepoch('now')\").fetchone())"
    )
    environment = os.environ | Clock(tmp_path, shift).environment()
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
    wall, monotonic, waited, of_sqlite = map(float, done.stdout.split())
    assert abs(wall - time.time() - expected.total_seconds()) < 60
    assert abs(of_sqlite - wall) < 2
    assert abs(monotonic - time.monotonic()) < 60
    assert 0.1 <= waited < 5


def test_spark_answers_in_a_zone_that_is_not_utc(spark):
    assert spark.conf.get("spark.sql.session.timeZone") == ZONE
    assert spark.sql("SELECT CAST(TIMESTAMP '2026-01-01 00:00:00' AS LONG) AS seconds").collect()[0][0] == 1_767_243_600
    assert spark.createDataFrame(pa.table({"x": [1, None]})).toArrow().to_pylist() == [{"x": 1}, {"x": None}]
