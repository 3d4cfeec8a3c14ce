"""PostgreSQL: limits, cells and names that only it has, one connection that is lost and made anew, nothing left."""

import math
import os
import signal
import subprocess
import sys
import threading
import time
from dataclasses import replace
from decimal import Decimal
from pathlib import Path

import numpy as np
import psycopg
import pyarrow as pa
import pytest

from discreet.catalog.catalog import ColumnType
from discreet.engines import RegisteredSource, Workspace
from discreet.engines.backends.postgres.engine import DIALECT, PostgreSQL, source
from discreet.engines.sources.source import Statements
from discreet.engines.sql import expressions
from discreet.engines.sql.dialect import StorageType
from discreet.errors import SourceError
from discreet.plan.physical import Apply, Constant
from discreet.query import frame
from postgres_questions import COLUMNS, N, T, answer, as_superuser, question

TESTS = Path(__file__).parents[3]

# A volatile function would run for questions that do not read its column, too.
NAP = """
CREATE OR REPLACE FUNCTION nap(seconds int) RETURNS text STABLE LANGUAGE plpgsql
AS $$ BEGIN PERFORM pg_catalog.pg_sleep(seconds); RETURN 'awake'; END $$;
"""


# limits


@pytest.mark.parametrize(
    ("limits", "settings"),
    [
        ({"memory_limit": "1GB"}, ("256MB", "2")),
        ({"memory_limit": "60 MiB", "threads": 1}, ("15MB", "0")),
        ({"memory_limit": "1KB", "threads": 9}, ("64kB", "8")),
        ({"memory_limit": "900000TB"}, ("2147483647kB", "2")),
    ],
)
def test_limits_become_settings_of_the_connection(visits, open_postgres, limits, settings):
    engine = open_postgres("visits", **limits)
    with engine._use_connection("t") as connection:
        shown = [
            connection.execute(f"SHOW {name}").fetchone()[0] for name in ("work_mem", "max_parallel_workers_per_gather")
        ]
    assert tuple(shown) == settings


@pytest.mark.parametrize("limits", [{"memory_limit": "a lot"}, {"memory_limit": "4GB'; SELECT 1; --"}, {"threads": -1}])
def test_limits_that_the_engine_does_not_take_are_refused_and_leave_nothing(visits, limits, tmp_path):
    with pytest.raises(SourceError, match="cannot be set up"):
        PostgreSQL({"t": RegisteredSource(source(visits.engine_url, "visits"), 7)}, Workspace(tmp_path), **limits)
    assert not [path for path in (tmp_path / "private").iterdir() if path.is_dir()]


def test_a_timeout_in_the_address_ends_aquestion_that_takes_too_long(visits, open_postgres):
    visits.execute(NAP + "CREATE OR REPLACE VIEW slow_visits AS SELECT *, nap(5) AS w FROM visits")
    slow = visits.engine_url + "?options=-c%20statement_timeout%3D200"
    engine = open_postgres("slow_visits", slow, stated=Statements(row_local=True))
    prepared = engine.prepare(question(T.where(T.w.is_present()).agg(n=N), COLUMNS | {"w": "text"}))
    with pytest.raises(psycopg.errors.QueryCanceled):
        engine.run(prepared)
    assert answer(engine, T.agg(n=N)) == [[3]]


# cells that only PostgreSQL has


NUMERICS = ["NaN", "Infinity", "-Infinity", "1e400", "-1e400", "1e-400", "-1e-400", "1e149", "-1e150", "0.1", "-0.5"]
NUMERICS += [
    "9223372036854775807.4",
    "9223372036854775807.5",
    "-9223372036854775808.5",
    "-9223372036854775808.6",
    "2.5",
]


def test_numerics_that_no_double_and_no_64_bits_hold_are_read_without_error(postgres, open_postgres):
    postgres.execute("DROP TABLE IF EXISTS numerics; CREATE TABLE numerics (row serial, v numeric)")
    postgres.execute(f"INSERT INTO numerics (v) VALUES {', '.join(f'({each!r})' for each in NUMERICS)}")
    engine = open_postgres("numerics")
    reads = [
        engine.dialect.reads[StorageType.DECIMAL, kind].format("v") for kind in (ColumnType.REAL, ColumnType.INTEGER)
    ]
    with engine._use_connection("t") as connection:
        rows = connection.execute(f"SELECT {', '.join(reads)} FROM public.numerics ORDER BY row").fetchall()
    assert [real for real, _ in rows[:11]] == [None] * 5 + [0.0, 0.0, 1e149, None, 0.1, -0.5]
    assert [math.copysign(1, real) for real, _ in rows[5:7]] == [1, 1]
    largest = 2**63 - 1
    assert [whole for _, whole in rows] == [None] * 5 + [0, 0, None, None, 0, 0, largest, None, -largest - 1, None, 3]


def test_whole_numerics_are_read_as_text_and_as_integers(postgres, open_postgres):
    postgres.load("ids", pa.table({"id": pa.array([Decimal(2**64), Decimal(5)], pa.decimal128(30, 0))}))
    postgres.execute("INSERT INTO ids VALUES ('NaN')")
    assert answer(open_postgres("ids"), T.agg(u=frame.count_units(), n=N), {"id": "text"}) == [[2], [2]]
    assert answer(open_postgres("ids"), T.agg(u=frame.count_units(), n=N), {"id": "integer"}) == [[1], [1]]


@pytest.mark.parametrize("kind", ["date", "timestamp", "timestamptz"])
def test_times_that_never_end_or_lie_beyond_the_years_are_missing(postgres, open_postgres, kind):
    last = "5874897-12-31" if kind == "date" else "294276-12-31 23:59:59.999999"
    cells = ["infinity", "-infinity", "4713-01-01 BC", "0001-12-31 BC", "10000-01-01", last, "2020-01-01"]
    postgres.execute(f"DROP TABLE IF EXISTS ends; CREATE TABLE ends (v {kind})")
    postgres.execute(f"SET TimeZone = 'UTC'; INSERT INTO ends VALUES {', '.join(f'({each!r})' for each in cells)}")
    engine = open_postgres("ends")
    for declared in ("date", "timestamp"):
        facts = {"privacy_unit": "dp.ROW", "max_rows": None}
        assert answer(engine, T.where(T.v.is_present()).agg(n=N), {"v": declared}, **facts) == [[1]]
        assert answer(engine, T.where(T.v.cast("date") == "2020-01-01").agg(n=N), {"v": declared}, **facts) == [[1]]


@pytest.mark.pitfall("A16")
def test_text_is_compared_by_its_bytes_whatever_the_collation(postgres, open_postgres):
    as_superuser(
        postgres,
        "CREATE COLLATION IF NOT EXISTS public.folding "
        "(provider = icu, locale = 'und-u-ks-level1', deterministic = false)",
    )
    as_superuser(postgres, "CREATE EXTENSION IF NOT EXISTS citext SCHEMA public")
    for kind in ("text COLLATE public.folding", "citext", "varchar"):
        postgres.load(
            "folded",
            pa.table({"id": ["a", "A", "á", "b"], "g": ["x", "X", "ẍ", "1"], "x": [1.0] * 4}),
            {"id": kind, "g": kind},
        )
        engine = open_postgres("folded")
        columns = COLUMNS | {"id": "text"}
        grouped = T.group_by("g", keys={"g": ["x", "X", None]})
        assert answer(engine, grouped.agg(n=N, u=frame.count_units()), columns) == [[1, 1, 0], [1, 1, 0]]
        assert answer(engine, T.agg(u=frame.count_units()), columns, max_rows=1) == [[4]]
        assert answer(engine, T.where(T.g.cast("integer") == 1).agg(n=N), columns) == [[1]]


# names, keys, constants


NAMES = [
    "m0",
    "k0",
    "keys",
    "rows",
    "grouped",
    "kept",
    "ranked",
    "source",
    "user",
    "select",
    "a b",
    'q"q',
    "{0}",
    "x.y",
]


@pytest.mark.parametrize("name", [*NAMES, "oid", "%s", "$1", "it's", "--", "é", "x" * 63])
def test_no_name_of_a_column_is_mistaken_for_one_of_ours(name, open_postgres):
    engine = open_postgres(pa.table({"id": ["p", "q", "q"], name: [1, 2, 3]}))
    outputs = {"c": N, "u": frame.count_units(), "s": frame.sum(name, bounds=(0, 10))}
    columns, keys = {"id": "text", name: "integer"}, {name: [1, 2, None]}
    narrowed = T.where(T[name] > 1)
    assert answer(engine, narrowed.agg(**outputs), columns) == [[2], [1], [5]]
    assert answer(engine, narrowed.group_by(name, keys=keys).agg(**outputs), columns) == [
        [0, 1, 0],
        [0, 1, 0],
        [0, 2, 0],
    ]
    assert sum(answer(engine, narrowed.group_by(name, keys=keys, max_groups=1).agg(**outputs), columns)[0]) == 1


HOSTILE = [
    "x'; DROP TABLE t; --",
    "it''s",
    '"',
    "\\",
    "\\'",
    "{0}",
    "%s",
    "$1",
    "\n",
    "\t",
    "\\N",
    "\\.",
    "é",
    "\U0001f600",
    "",
]


def test_keys_and_constants_of_any_text_are_taken_as_they_are(open_postgres):
    engine = open_postgres(pa.table({"id": range(len(HOSTILE)), "g": HOSTILE, "x": [1.0] * len(HOSTILE)}))
    assert answer(engine, T.group_by("g", keys={"g": [*HOSTILE, "absent"]}).agg(n=N)) == [[1] * len(HOSTILE) + [0]]
    assert answer(engine, T.where(T.g.is_in(HOSTILE)).agg(n=N)) == [[len(HOSTILE)]]


@pytest.mark.parametrize("text", ["abc", "1", "2020-01-01", ""])
@pytest.mark.parametrize("kind", ["integer", "real", "date", "timestamp"])
def test_a_cast_of_a_constant_fails_neither_when_it_is_planned_nor_when_it_runs(visits, open_postgres, text, kind):
    term = Apply(f"to_{kind}", (Constant(text, ColumnType.TEXT),), ColumnType(kind))
    with open_postgres("visits")._use_connection("t") as connection:
        assert connection.execute(f"SELECT {expressions.term(term, DIALECT)}").fetchone() is not None


@pytest.mark.pitfall("A19")
def test_keys_where_one_is_missing_are_joined_by_a_hash(open_postgres):
    rng = np.random.default_rng(3)
    engine = open_postgres(
        pa.table({"id": range(20_000), "g": rng.integers(0, 5_000, 20_000).astype(str), "x": [1.0] * 20_000})
    )
    query = T.group_by("g", keys={"g": [*map(str, range(5_000)), None]}, max_groups=1).agg(n=N)
    prepared = engine.prepare(question(query))
    for asked in (replace(prepared, rows_name=None), prepared):
        assert sum(engine.run(prepared)[0]) == 20_000
        with engine._use_connection("t") as connection:
            plan = connection.execute(f"EXPLAIN {engine.answer_sql(asked)}").fetchall()
        assert "Nested Loop" not in str(plan)


@pytest.mark.pitfall("A15")
@pytest.mark.parametrize("key", [0, 7, 2**63 - 1, 2**63, 2**64 - 1])
def test_what_a_unit_keeps_depends_on_its_own_rows_and_the_key(open_postgres, key):
    rng = np.random.default_rng(4)
    rows = pa.table(
        {"id": rng.integers(0, 60, 900), "g": rng.choice([None, "a", "b"], 900), "x": rng.integers(0, 9, 900) / 2}
    )

    def kept(table: pa.Table) -> list[tuple[object, ...]]:
        engine = open_postgres(table, key=key)
        query = T.agg(s=frame.sum("x", bounds=(0, 9)), m=frame.count_distinct("g", domain=["a"]))
        prepared = engine.prepare(question(query, max_rows=2))
        with engine._use_connection("t") as connection:
            return sorted(connection.execute(f"SELECT id, g, x FROM ({prepared.rows_sql}) AS kept").fetchall(), key=str)

    all_of_them = kept(rows)
    without = kept(
        rows.filter(pa.compute.not_equal(rows["id"], 5)).take(rng.permutation(sum(rows["id"].to_numpy() != 5)))
    )
    assert without == [row for row in all_of_them if row[0] != 5]


# one connection


def _backends(server) -> int:
    with psycopg.connect(server.superuser_url) as connection:
        query = "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'discreet' AND state = 'active'"
        return connection.execute(query).fetchone()[0]


def _end_connections(server) -> None:
    with psycopg.connect(server.superuser_url) as connection:
        connection.execute("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'discreet'")
    while _backends(server):
        time.sleep(0.01)


def test_a_lost_connection_fails_onequestion_and_is_made_anew(visits, open_postgres):
    engine = open_postgres("visits")
    prepared = engine.prepare(question(T.group_by("g", keys={"g": ["a"]}).agg(n=N)))
    for _ in range(2):
        assert engine.run(prepared) == [[2]]
    assert engine.is_prepared(prepared)
    _end_connections(visits)
    with pytest.raises(psycopg.OperationalError):
        engine.run(prepared)
    assert not engine.is_prepared(prepared)
    assert engine.run(prepared) == [[2]]


def test_a_connection_lost_betweenquestions_is_made_anew_before_the_next_charge(visits, open_postgres):
    engine = open_postgres("visits")
    assert answer(engine, T.agg(n=N)) == [[3]]
    _end_connections(visits)
    assert answer(engine, T.agg(n=N)) == [[3]]


def test_threads_take_turns_on_the_one_connection(visits, open_postgres):
    engine, answers = open_postgres("visits"), []
    asked = [
        question(T.group_by("g", keys={"g": ["a", "b", None][: 1 + i % 3]}).agg(n=N), max_rows=1 + i) for i in range(6)
    ]
    threads = [threading.Thread(target=lambda a=a: answers.append(engine.run(engine.prepare(a)))) for a in asked * 3]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(answers) == 18


def test_close_drops_what_was_prepared_and_ends_the_connection(visits, open_postgres, tmp_path):
    engine = open_postgres("visits")
    for _ in range(2):
        answer(engine, T.group_by("g", keys={"g": ["a"]}).agg(n=N))
    with psycopg.connect(visits.superuser_url) as connection:
        count = "SELECT count(*) FROM pg_class WHERE relpersistence = 't' AND relkind = 'r'"
        assert connection.execute(count).fetchone()[0] >= 2
        connection.commit()
        engine.close()
        end = time.monotonic() + 10
        while connection.execute(count).fetchone()[0] and time.monotonic() < end:
            connection.commit()
            time.sleep(0.02)
        assert connection.execute(count).fetchone()[0] == 0
    assert not [path for path in (tmp_path / "private").iterdir() if path.is_dir()]
    with pytest.raises(RuntimeError):
        engine.run(engine.prepare(question(T.agg(n=N))))


INTERRUPTED = """
import sys
from pathlib import Path
from discreet.engines import RegisteredSource, Workspace
from discreet.engines.backends.postgres.engine import PostgreSQL, source
from discreet.engines.sources.source import Statements
from postgres_questions import COLUMNS, N, T, question
sleepy = source(sys.argv[1], "sleepy", Statements(row_local=True))
engine = PostgreSQL({"t": RegisteredSource(sleepy, 7)}, Workspace(Path(sys.argv[2])))
caps = {} if sys.argv[3] == "capped" else {"max_rows": None, "privacy_unit": "dp.ROW"}
prepared = engine.prepare(question(T.where(T.w.is_present()).agg(n=N), COLUMNS | {"w": "text"}, **caps))
print("running", flush=True)
try:
    engine.run(prepared)
except KeyboardInterrupt:
    print(engine.run(engine.prepare(question(T.agg(n=N)))), flush=True)
"""


@pytest.mark.parametrize("how", ["capped", "straight"])
def test_ctrl_c_cancels_in_the_server_and_the_engine_answers_again(visits, tmp_path, how):
    visits.execute(NAP + "CREATE OR REPLACE VIEW sleepy AS SELECT *, nap(60) AS w FROM visits")
    arguments = [visits.engine_url, str(tmp_path), how]
    environment = os.environ | {"PYTHONPATH": str(TESTS)}
    command = [sys.executable, "-c", INTERRUPTED, *arguments]
    with subprocess.Popen(command, stdout=subprocess.PIPE, env=environment, text=True) as child:
        assert child.stdout.readline() == "running\n"
        while not _backends(visits):
            time.sleep(0.02)
        time.sleep(0.1)
        child.send_signal(signal.SIGINT)
        assert child.stdout.readline() == "[[3]]\n"
        assert child.wait(timeout=20) == 0
    assert _backends(visits) == 0
