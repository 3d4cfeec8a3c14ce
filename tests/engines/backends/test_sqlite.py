"""SQLite: the owner's file cannot be touched, no cell can fail, and every cell is read as DuckDB reads it."""

import datetime as dt
import hashlib
import sqlite3
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import duckdb as driver
import numpy as np
import pyarrow as pa
import pytest

from discreet.accounting.filters import Budget
from discreet.catalog.catalog import Catalog, ColumnType
from discreet.engines import RegisteredSource, Workspace, draft, engine_of, source_of
from discreet.engines.backends import duckdb, sqlite
from discreet.engines.sql.dialect import StorageType
from discreet.errors import SourceError, UnsupportedError
from discreet.plan.physical import Pushdown
from discreet.planner.queries.tables import analyze
from discreet.query import frame

T = frame.table("t")
N = frame.count()
KINDS = [kind for kind in ColumnType if kind not in (ColumnType.DOCUMENT, ColumnType.BINARY)]


def _file(path: Path, declared: str, rows: list[tuple]) -> Path:
    """A file with one table `t`."""
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute(f"CREATE TABLE t ({declared})")
        for row in rows:
            connection.execute(f"INSERT INTO t VALUES ({', '.join('?' * len(row))})", row)
    return path


def _question(query: frame.Query, columns: dict[str, str], **facts) -> Pushdown:
    table = {"columns": {name: {"type": kind} for name, kind in columns.items()}, "privacy_unit": "dp.ROW"} | facts
    return analyze(query.plan, Catalog.model_validate({"tables": {"t": table}}), Budget(epsilon=1), epsilon=1).pushdown


@pytest.fixture
def open_engine(tmp_path):
    """Engines over table `t` that are closed at the end."""
    opened = []

    def engine(data: object, table: str | None = "t") -> sqlite.SQLite:
        source = source_of(data, table=table)
        opened.append(engine_of(source)({"t": RegisteredSource(source, 7)}, Workspace(tmp_path)))
        return opened[-1]

    yield engine
    for each in opened:
        each.close()


# what is a source


def test_a_file_is_recognised_by_its_ending_or_by_how_it_begins(tmp_path):
    assert source_of(_file(tmp_path / "a.sqlite", "x", []), table="t").kind == "sqlite"
    assert source_of(str(_file(tmp_path / "b.sqlite3", "x", [])), table="t").kind == "sqlite"
    assert source_of(_file(tmp_path / "c.db", "x", []), table="t").kind == "sqlite"
    with closing(driver.connect(tmp_path / "d.db")) as connection:
        connection.execute("CREATE TABLE t (x INTEGER)")
    assert source_of(tmp_path / "d.db", table="t").kind == "duckdb"
    assert not sqlite.is_source(pa.table({"x": [1]}))
    assert not sqlite.is_source(tmp_path / "nothing.db")


@pytest.mark.parametrize(
    ("table", "what", "instead"),
    [
        (None, "without a table", "table='t'"),
        ("nobody", "no table 'nobody'", "one of 't'"),
        ("T", "no table 'T'", "table='t'"),
        ("sight", "'sight', which is a view", "CREATE TABLE"),
        ("words", "'words', which is a view or a virtual table", "CREATE TABLE"),
        ("sqlite_master", "no table", "one of"),
    ],
)
def test_only_a_table_with_rows_of_its_own_is_a_source(tmp_path, table, what, instead):
    path = _file(tmp_path / "a.sqlite", "x", [])
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("CREATE VIEW sight AS SELECT abs(x) AS x FROM t")
        connection.execute("CREATE VIRTUAL TABLE words USING fts4(x)")
    with pytest.raises(SourceError, match=what) as refusal:
        source_of(path, table=table)
    assert instead in refusal.value.instead


def test_what_is_no_database_is_refused_without_the_words_of_the_driver(tmp_path):
    (tmp_path / "a.sqlite").write_bytes(b"alice has it")
    with pytest.raises(SourceError) as refusal:
        source_of(tmp_path / "a.sqlite", table="t")
    assert "file is not" not in str(refusal.value)
    assert refusal.value.what == "a database that cannot be opened"
    _file(tmp_path / "b.sqlite", "x", [])
    _file(tmp_path / "c.sqlite", "x", [])
    with pytest.raises(SourceError):
        source_of(tmp_path / "[bc].sqlite", table="t")


def test_a_column_that_is_computed_when_it_is_read_is_not_there(tmp_path):
    """One row with the smallest integer would make every question fail."""
    path = _file(tmp_path / "a.sqlite", "x, y AS (abs(x)), z AS (x + 1) STORED", [])
    assert source_of(path, table="t").columns == ("x", "z")


def test_types_are_drafted_from_the_declaration_alone(tmp_path):
    declared = "a BIGINT, b BOOLEAN, c DATETIME, d DATE, e VARCHAR(9), f DOUBLE PRECISION, g DECIMAL(9, 2), h BLOB, i"
    drafted = draft(source_of(_file(tmp_path / "a.sqlite", declared, []), table="t"))
    assert [str(kind) for kind in drafted.values()] == [
        "integer", "boolean", "timestamp", "date", "text", "real", "real", "binary", "text",
    ]  # fmt: skip


# locked down


FORBIDDEN = [
    "INSERT INTO source.t VALUES (2)",
    "UPDATE source.t SET x = 2",
    "DELETE FROM source.t",
    "DROP TABLE source.t",
    "CREATE TABLE source.more (x)",
    "ATTACH '{place}/other.sqlite' AS other",
    "DETACH source",
    "VACUUM INTO '{place}/copy.sqlite'",
    "PRAGMA trusted_schema = ON",
    "PRAGMA source.journal_mode = WAL",
    "SELECT load_extension('{place}/evil.so')",
    "SELECT readfile('/etc/passwd')",
]


@pytest.mark.parametrize("sql", FORBIDDEN)
def test_nothing_can_be_written_attached_set_or_loaded(open_engine, tmp_path, sql):
    path = _file(tmp_path / "a.sqlite", "x", [(1,)])
    before, engine = hashlib.sha256(path.read_bytes()).hexdigest(), open_engine(path)
    with engine._use_connection("t") as connection:
        with pytest.raises(sqlite3.Error):
            connection.execute(sql.format(place=tmp_path))
        assert connection.execute("SELECT * FROM source.t").fetchall() == [(1,)]
    assert hashlib.sha256(path.read_bytes()).hexdigest() == before
    assert {each.name for each in tmp_path.iterdir()} == {"a.sqlite", "private"}


def test_questions_leave_the_file_and_its_folder_as_they_were(open_engine, tmp_path):
    path = _file(tmp_path / "a.sqlite", "id TEXT, x REAL", [("a", 1.0), ("a", 2.0), ("b", 3.0)])
    before, engine = path.read_bytes(), open_engine(path)
    query = T.group_by("id", keys={"id": ["a", "b"]}).agg(n=N)
    asked = _question(query, {"id": "text", "x": "real"}, privacy_unit="id", max_rows=1)
    assert engine.run(engine.prepare(asked)) == [[1, 1]]
    assert path.read_bytes() == before
    assert {each.name for each in tmp_path.iterdir()} == {"a.sqlite", "private"}


def test_a_file_that_is_gone_when_the_engine_opens_leaves_no_workspace(tmp_path):
    path = _file(tmp_path / "a.sqlite", "x", [])
    source = source_of(path, table="t")
    path.unlink()
    with pytest.raises(SourceError):
        sqlite.SQLite({"t": RegisteredSource(source, 7)}, Workspace(tmp_path))
    assert not [room for room in (tmp_path / "private").iterdir() if room.is_dir()]


# cells


WHOLE = [0, 1, -1, 2**53 + 1, 2**63 - 1, -(2**63), 10**18]
REALS = [
    0.0, -0.0, 0.5, 1.5, 2.5, -0.5, -1.5, 0.49999999999999994, 2.0**52 + 0.5, 1e18, 9.2e18, 9.3e18, -9.3e18, 1e149,
    1e150, -1e150, 1e300, 1e-140, 1e-160, 5e-324, float("inf"), float("-inf"),
]  # fmt: skip
TEXTS = [
    "", " ", "a", "A", "é", "e\u0301", "a\0b", "\0", "\U0001f600", "NaN", "inf", "1e400", "0x10", "1_000", "\uff11",
    "1", " 1 ", "+1", "-007", "1\n", "1.", ".5", ".", "1.5", "2.5", "-2.5", "1e2", "1E-2", "1e23", "0.1", "1e99",
    "9007199254740993", "9223372036854775807", "9223372036854775808", "-9223372036854775808", "-9223372036854775809",
    "9" * 38, "9" * 39, "0" * 37 + "7", "123456789012345678901234567890e-20", "8.41e21", "6.5e-99",
    "t", "TRUE", "yes", "no", "N", "false", "0", "maybe",
    "2020-02-29", "2021-02-29", "1900-02-29", "2000-02-29", "0000-01-01", "0001-01-01", "9999-12-31", "10000-01-01",
    "2020-1-1", "20200101", "2020-06-31", "2020-01-01 ", "2020-01-01T", "2020-01-01T12", "2020-01-01T12:30",
    "2020-01-01 12:30:15", "2020-01-01 12:30:15.5", "2020-01-01 12:30:15.123456", "2020-01-01 12:30:15.1234567",
    "2020-01-01 24:00", "2020-01-01 12:60", "2020-01-01 23:59:60", "2020-01-01T12:30Z", "2020-01-01T12:30:15.25+05:30",
    "2020-01-01T01:00-13:59", "0001-01-01T00:00+01:00", "9999-12-31T23:59:59.999999-00:01", "9999-12-31T12:00Z",
    "2020-01-01T12:30+14:00", "2020-01-01T12:30+0530", "now", "12:30",
]  # fmt: skip


def _alike(values: list[object]) -> list[object]:
    """Dates and times as the text that SQLite holds; booleans as numbers; reals bit by bit."""
    spelled = []
    for value in values:
        if isinstance(value, dt.datetime):
            spelled.append(value.isoformat(" ", "microseconds"))
        elif isinstance(value, dt.date):
            spelled.append(value.isoformat())
        else:
            spelled.append(value.hex() if isinstance(value, float) else value)
    return spelled


def _by_sqlite(path: Path, kind: ColumnType) -> list[object]:
    read = sqlite.DIALECT.reads[StorageType.OTHER, kind].format("x")
    with closing(sqlite.SQLite.open_connection(str(path))) as connection:
        return _alike([row[0] for row in connection.execute(f"SELECT {read} FROM source.t ORDER BY rowid")])


def _by_duckdb(cells: pa.Array, stored: StorageType, kind: ColumnType) -> list[object]:
    read = duckdb.DIALECT.reads.get((stored, kind), "NULL").format("x")
    with closing(driver.connect()) as connection:
        connection.execute("SET TimeZone = 'UTC'")
        connection.register("t", pa.table({"x": cells, "row": range(len(cells))}))
        return _alike([row[0] for row in connection.execute(f"SELECT {read} FROM t ORDER BY row").fetchall()])


@pytest.mark.pitfall("A6")
@pytest.mark.pitfall("A22")
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("declared", ["x", "x TEXT COLLATE NOCASE"])
def test_text_is_read_cell_by_cell_as_by_duckdb(tmp_path, kind, declared):
    path = _file(tmp_path / "a.sqlite", declared, [(text,) for text in TEXTS])
    assert dict(zip(TEXTS, _by_sqlite(path, kind), strict=True)) == dict(
        zip(TEXTS, _by_duckdb(pa.array(TEXTS), StorageType.TEXT, kind), strict=True)
    )


@pytest.mark.pitfall("A18")
@pytest.mark.parametrize("kind", KINDS)
def test_numbers_are_read_cell_by_cell_as_by_duckdb(tmp_path, kind):
    whole = _by_sqlite(_file(tmp_path / "a.sqlite", "x", [(number,) for number in WHOLE]), kind)
    reals = _by_sqlite(_file(tmp_path / "b.sqlite", "x", [(number,) for number in REALS]), kind)
    assert whole == _by_duckdb(pa.array(WHOLE), StorageType.INTEGER, kind)
    assert reals == _by_duckdb(pa.array(REALS), StorageType.REAL, kind)


def test_digits_are_read_to_the_last_bit(tmp_path):
    """SQLite's own reading of 15 to 38 digits is not always the nearest double."""
    rng = np.random.default_rng(3)
    texts = [f"{rng.random() * 10.0 ** rng.integers(-30, 30):.17g}" for _ in range(3_000)]
    texts += ["".join(map(str, rng.integers(0, 10, 30))) + f"e{rng.integers(-60, 60)}" for _ in range(3_000)]
    path = _file(tmp_path / "a.sqlite", "x TEXT", [(text,) for text in texts])
    assert _by_sqlite(path, ColumnType.REAL) == [(float(text) + 0.0).hex() for text in texts]


@pytest.mark.pitfall("A22")
@pytest.mark.parametrize("affinity", ["", "INTEGER", "REAL", "TEXT", "BLOB", "NUMERIC", "DATE", "BOOLEAN"])
@pytest.mark.parametrize("kind", ColumnType)
def test_a_cell_of_any_type_in_a_column_of_any_type_is_read_or_missing(open_engine, tmp_path, affinity, kind):
    cells = [*WHOLE, *REALS, *TEXTS, b"", b"\xff\x00", b"2020-01-01", None]
    path = _file(tmp_path / "a.sqlite", f"id, x {affinity}", list(enumerate(cells)))
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("INSERT INTO t VALUES (-1, CAST(x'ff61' AS TEXT)), (-2, CAST(x'eda080' AS TEXT))")
    engine = open_engine(path)
    rows, units = T.where(T.x.is_present() | T.x.is_missing()).agg(n=N), T.agg(u=frame.count_units())
    columns = {"id": "integer", "x": str(kind)}
    asked = [_question(rows, columns, privacy_unit="id", max_rows=1)]
    if kind not in (ColumnType.REAL, ColumnType.DOCUMENT, ColumnType.BINARY):
        whose = {"privacy_unit": ["id", "x"], "missing_units": "one_unit", "max_rows": 1}
        asked += [_question(query, columns, **whose) for query in (rows, units)]
    (found, *by_both) = (engine.run(engine.prepare(each))[0][0] for each in asked)
    assert found == len(cells) + 2
    assert len(set(by_both)) <= 1


def test_text_that_is_no_unicode_is_missing(tmp_path):
    path = _file(tmp_path / "a.sqlite", "x TEXT", [])
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute(
            "INSERT INTO t VALUES (CAST(x'ff' AS TEXT)), (CAST(x'c3a9' AS TEXT)), (CAST(x'00ff' AS TEXT))"
        )
    assert _by_sqlite(path, ColumnType.TEXT) == [None, "é", None]


@pytest.mark.pitfall("A16")
def test_the_collation_of_a_column_merges_no_units_and_no_keys(open_engine, tmp_path):
    ids = ["p", "P", "p ", "p\0", "p\0q"]
    keys = ["P", "p", "p ", "q"]
    path = _file(tmp_path / "a.sqlite", "id TEXT COLLATE NOCASE, g TEXT COLLATE RTRIM", [(each, each) for each in ids])
    engine = open_engine(path)
    columns = {"id": "text", "g": "text"}
    query = T.group_by("g", keys={"g": keys}).agg(n=frame.count())
    for unit in ("id", ["id", "g"]):
        asked = _question(query, columns, privacy_unit=unit, max_rows=2)
        assert engine.run(engine.prepare(asked)) == [[1, 1, 1, 0]]
    both = _question(T.agg(u=frame.count_units()), columns, privacy_unit=["id", "g"], max_rows=2)
    assert engine.run(engine.prepare(both)) == [[5]]


def test_names_that_look_like_text_or_sql_are_names(open_engine, tmp_path):
    path = _file(tmp_path / "a.sqlite", '"a ""b"" `c`", "select"', [(1, 2), (3, 4)])
    engine = open_engine(path)
    asked = _question(
        T.where(T["select"] == 4).agg(s=frame.sum('a "b" `c`', bounds=(0, 9))),
        {'a "b" `c`': "integer", "select": "integer"},
    )
    assert engine.run(engine.prepare(asked)) == [[3]]


# rows


@pytest.mark.pitfall("A15")
@pytest.mark.parametrize("facts", [{"max_rows": 1}, {"max_groups": 1, "max_rows_per_group": 1}])
def test_where_sampling_is_portable_the_same_rows_are_kept_as_by_duckdb(open_engine, tmp_path, facts):
    rng, day = np.random.default_rng(4), dt.datetime(2020, 1, 31, 12)  # noqa: DTZ001 - columns hold times in UTC
    rows = [
        (
            int(rng.integers(40)),
            str(rng.choice(["a", "b", "é"])),
            float(rng.normal()) if rng.random() < 0.9 else None,
            bool(rng.integers(2)),
            day + dt.timedelta(seconds=float(rng.random() * 1e8)),
        )
        for _ in range(400)
    ]
    names = ["id", "g", "x", "b", "s"]
    columns = dict(zip(names, ["integer", "text", "real", "boolean", "timestamp"], strict=True))
    told = [(*row[:-1], row[-1].isoformat(" ")) for row in rows]
    engines = [
        open_engine(pa.table({name: [row[i] for row in rows] for i, name in enumerate(names)}), None),
        open_engine(_file(tmp_path / "a.sqlite", "id INTEGER, g TEXT, x REAL, b BOOLEAN, s TIMESTAMP", told)),
    ]
    query = T.group_by("g", "b", keys={"g": ["a", "b", "é"]}).agg(
        n=N, late=frame.sum((T.s > "2021-06-01").cast("integer"), bounds=(0, 1)), x=frame.sum("x", bounds=(-3, 3))
    )
    asked = _question(query, columns, privacy_unit="id", **facts)
    asked = replace(asked, scan=replace(asked.scan, portable=True))
    exact = [engine.run(engine.prepare(asked)) for engine in engines]
    assert exact[0] == exact[1]
    assert sum(exact[0][0]) == 40


# sums, limits


@pytest.mark.pitfall("A3")
def test_sums_beyond_64_bits_are_exact_in_both_directions(open_engine, tmp_path):
    rows = 40_000
    path = _file(tmp_path / "a.sqlite", "x INTEGER, y INTEGER", [(2**63 - 1, -(2**63) + i) for i in range(rows)])
    engine, largest = open_engine(path), 2**49 - 1
    query = T.agg(s=frame.sum("x", bounds=(0, largest)), d=frame.sum("y", bounds=(-largest, 0)))
    exact = engine.run(engine.prepare(_question(query, {"x": "integer", "y": "integer"})))
    assert exact == [[rows * largest], [-rows * largest]]
    assert rows * largest > 2**63


def test_parts_of_a_sum_are_joined_whatever_their_signs():
    numbers = [2**63 - 1, -(2**63), -1, 0, 5, -(2**32), 2**32 - 1, *range(-3, 4)]
    with closing(sqlite3.connect(":memory:")) as connection:
        connection.create_function("joined", 2, sqlite._FUNCTIONS["joined"])
        connection.execute("CREATE TABLE t (x)")
        for count in range(len(numbers) + 1):
            total = connection.execute(f"SELECT {sqlite.DIALECT.large_sum.format('x')} FROM t").fetchone()[0]
            assert int(total or 0) == sum(numbers[:count])
            if count < len(numbers):
                connection.execute("INSERT INTO t VALUES (?)", (numbers[count],))


def test_what_sqlite_cannot_compile_is_refused_before_it_is_charged(open_engine, tmp_path):
    engine = open_engine(_file(tmp_path / "a.sqlite", "x REAL", [(1.0,)]))
    expression = T.x
    for _ in range(60):
        expression = expression * T.x
    deep = _question(T.agg(s=frame.sum(expression, bounds=(0, 1))), {"x": "real"})
    with pytest.raises(UnsupportedError, match="sqlite cannot compile"):
        engine.prepare(deep)
    odd = _question(T.where(T.x.cast("integer") == 1).agg(n=N), {"x": "real"})
    assert engine.run(engine.prepare(odd)) == [[1]]
