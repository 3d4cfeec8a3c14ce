"""DuckDB: locked down before the first question, tables made once and shared, nothing left when it cannot open."""

import threading
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType

import duckdb as driver
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from discreet.accounting.filters import Budget
from discreet.catalog.catalog import Catalog
from discreet.engines import DuckDB, RegisteredSource, Workspace, draft, source_of
from discreet.engines.shelf import Shelf
from discreet.errors import SourceError
from discreet.plan.physical import Pushdown
from discreet.planner.queries.tables import analyze
from discreet.query import frame

T = frame.table("t")
N = frame.count()
ROWS = pa.table({"id": [1, 1, 2], "g": ["a", "b", "a"], "x": [1.0, 2.0, 3.0]})
COLUMNS = {"id": "integer", "g": "text", "x": "real"}


def _question(query: frame.Query, columns: dict[str, str] = MappingProxyType(COLUMNS), **facts) -> Pushdown:
    declared = {name: {"type": kind} for name, kind in columns.items()}
    table = {"columns": declared, "privacy_unit": "id", "max_rows": 5} | facts
    return analyze(query.plan, Catalog.model_validate({"tables": {"t": table}}), Budget(epsilon=1), epsilon=1).pushdown


@pytest.fixture
def open_engine(tmp_path):
    """Engines over table `t` that are closed at the end."""
    opened = []

    def engine(data: object, **limits) -> DuckDB:
        opened.append(DuckDB({"t": RegisteredSource(source_of(data), 7)}, Workspace(tmp_path), **limits))
        return opened[-1]

    yield engine
    for each in opened:
        each.close()


# locked down


FORBIDDEN = [
    "SELECT * FROM read_csv('/etc/passwd')",
    "SELECT * FROM read_text('/etc/passwd')",
    "SELECT * FROM '/etc/passwd'",
    "SELECT * FROM read_parquet('{beside}')",
    "SELECT * FROM glob('/etc/*')",
    "COPY (SELECT 1) TO '{place}/out.csv'",
    "EXPORT DATABASE '{place}/out'",
    "ATTACH '{place}/other.db'",
    "INSTALL httpfs",
    "LOAD httpfs",
    "SET enable_external_access = true",
    "SET lock_configuration = false",
    "SET allowed_paths = ['/etc/passwd']",
    "SET temp_directory = '/tmp'",
    "RESET memory_limit",
    "PRAGMA enable_profiling",
    "SELECT * FROM secret_frame",
]


@pytest.mark.parametrize("statement", FORBIDDEN)
def test_no_file_setting_or_extension_is_within_reach_of_sql(statement, open_engine, tmp_path):
    pq.write_table(ROWS, tmp_path / "t.parquet")
    pq.write_table(ROWS, tmp_path / "beside.parquet")
    secret_frame = ROWS
    engine = open_engine(tmp_path / "t.parquet")
    for connection in (engine._connection, engine._connection.cursor()):
        with pytest.raises(driver.Error):
            connection.execute(statement.format(place=tmp_path, beside=tmp_path / "beside.parquet")).fetchall()
    assert not (tmp_path / "out.csv").exists()
    assert secret_frame is ROWS


def test_what_was_registered_is_within_reach_and_read_only(open_engine, tmp_path):
    path = tmp_path / "t.db"
    with driver.connect(str(path)) as connection:
        connection.execute("CREATE TABLE t AS SELECT 1 AS id, 'a' AS g, 1.0 AS x")
    engine = DuckDB({"t": RegisteredSource(source_of(path, table="t"), 7)}, Workspace(tmp_path))
    assert engine.run(engine.prepare(_question(T.agg(n=N)))) == [[1]]
    with pytest.raises(driver.Error):
        engine._connection.execute("INSERT INTO source_t.t VALUES (2, 'b', 2.0)")
    engine.close()


def test_a_frame_is_seen_by_its_own_questions_only(tmp_path):
    engine = DuckDB(
        {"t": RegisteredSource(source_of(ROWS), 7), "u": RegisteredSource(source_of(ROWS), 7)}, Workspace(tmp_path)
    )
    with engine._use_connection("t") as cursor:
        assert cursor.execute('SELECT count(*) FROM "frame_t"').fetchall() == [(3,)]
        with pytest.raises(driver.Error):
            cursor.execute('SELECT count(*) FROM "frame_u"')
    engine.close()


@pytest.mark.parametrize("limits", [{"memory_limit": "a lot"}, {"memory_limit": "4GB'; SELECT 1; --"}, {"threads": -1}])
def test_limits_that_the_engine_does_not_take_are_refused_by_name_and_leave_nothing(limits, tmp_path):
    with pytest.raises(SourceError, match=f"did not take {next(iter(limits))}"):
        DuckDB({"t": RegisteredSource(source_of(ROWS), 7)}, Workspace(tmp_path), **limits)
    assert not [path for path in (tmp_path / "private").iterdir() if path.is_dir()]


@pytest.mark.parametrize(("limit", "told"), [("4GB", "3.4 GiB"), (" 512 MiB", "480.0 MiB"), ("1.6GiB", "1.5 GiB")])
def test_a_sixteenth_of_the_memory_is_left_to_what_the_engine_does_not_count(limit, told, tmp_path):
    engine = DuckDB({"t": RegisteredSource(source_of(ROWS), 7)}, Workspace(tmp_path), memory_limit=limit)
    with engine._use_connection("t") as cursor:
        assert cursor.execute("SELECT current_setting('memory_limit')").fetchall() == [(told,)]
    engine.close()


def test_sources_that_cannot_be_opened_are_refused_and_leave_nothing(tmp_path):
    for name, more in (("t.duckdb", {"table": "t"}), ("t.parquet", {})):
        (tmp_path / name).write_bytes(b"neither")
        with pytest.raises(SourceError, match="cannot be opened"):
            DuckDB({"t": RegisteredSource(source_of(tmp_path / name, **more), 7)}, Workspace(tmp_path))
    unknown = source_of(pa.table({"v": pa.array([1], pa.decimal256(60, 0))}))
    with pytest.raises(SourceError, match="cannot be opened"):
        DuckDB({"t": RegisteredSource(unknown, 7)}, Workspace(tmp_path))
    assert not [path for path in (tmp_path / "private").iterdir() if path.is_dir()]


# names


NAMES = ["m0", "m1", "k0", "keys", "rows", "grouped", "kept", "ranked", "joined", "scanned", "given_keys", "select"]


@pytest.mark.parametrize("name", [*NAMES, "a b", 'q"q', "{0}", "x.y", "prepared", "count", "it's", "--", "é"])
def test_no_name_of_a_column_is_mistaken_for_one_of_ours(name, open_engine):
    engine = open_engine(pa.table({"id": ["p", "q", "q"], name: [1, 2, 3]}))
    outputs = {"c": N, "s": frame.sum(name, bounds=(0, 10)), "u": frame.count_units()}
    narrowed = T.where(T[name] > 1)
    columns = {"id": "text", name: "integer"}
    keys = {name: [1, 2, 3]}
    whole = _question(narrowed.agg(**outputs), columns)
    grouped = _question(narrowed.group_by(name, keys=keys).agg(**outputs), columns)
    capped = _question(narrowed.group_by(name, keys=keys, max_groups=1).agg(**outputs), columns)
    assert sorted(engine.run(engine.prepare(whole))) == [[1], [2], [5]]
    assert sorted(engine.run(engine.prepare(grouped))) == [[0, 1, 1], [0, 1, 1], [0, 2, 3]]
    assert min(map(sum, engine.run(engine.prepare(capped)))) == 1


@pytest.mark.parametrize("name", ["t", 'q"t', "visits of 2026", "{0}"])
def test_no_name_of_a_table_is_mistaken_for_one_of_ours(name, tmp_path):
    engine = DuckDB({name: RegisteredSource(source_of(ROWS), 7)}, Workspace(tmp_path))
    asked = _question(T.agg(n=N))
    assert engine.run(engine.prepare(replace(asked, scan=replace(asked.scan, table=name)))) == [[3]]
    engine.close()


# prepared tables


def test_capped_rows_are_kept_from_the_second_question_of_the_same_columns_on(open_engine, tmp_path):
    path = tmp_path / "t.parquet"
    pq.write_table(ROWS, path)
    engine = open_engine(path)
    first = engine.prepare(
        _question(T.group_by("g", keys={"g": ["a", "b"]}).agg(s=frame.sum("x", bounds=(0, 9), grid=1)))
    )
    assert engine.run(first) == [[4, 2]]
    assert not engine.is_prepared(first)
    second = engine.prepare(_question(T.where(T.g == "a").agg(m=frame.mean("x", bounds=(0, 8), grid=1), n=N)))
    assert not engine.is_prepared(second)
    assert engine.run(second) == [[4 - 2 * 4], [2], [2]]
    assert engine.is_prepared(first)
    path.unlink()
    third = engine.prepare(_question(T.where(T.g == "a").agg(s=frame.sum("x", bounds=(0, 2), grid=0.5))))
    assert engine.is_prepared(third)
    assert engine.run(third) == [[2 + 4]]
    assert engine.run(first) == [[4, 2]]


def test_rows_that_two_queries_were_prepared_for_are_kept_at_the_first_answer(open_engine):
    """The queries of a batch, which are prepared before any of them runs."""
    engine = open_engine(ROWS)
    batch = [engine.prepare(_question(T.agg(n=N))) for _ in range(2)]
    assert engine.run(batch[0]) == [[3]]
    assert engine.is_prepared(batch[1])


def test_other_columns_and_other_caps_are_other_rows(open_engine):
    engine = open_engine(ROWS)
    for _ in range(2):
        engine.run(engine.prepare(_question(T.agg(n=N))))
    assert engine.is_prepared(engine.prepare(_question(T.agg(u=frame.count_units()))))
    assert not engine.is_prepared(engine.prepare(_question(T.agg(n=N), max_rows=4)))
    assert not engine.is_prepared(engine.prepare(_question(T.where(T.g == "a").agg(n=N))))
    assert not engine.is_prepared(engine.prepare(_question(T.agg(n=N), version=2)))


def test_a_csv_file_is_kept_from_the_second_question_on_even_without_a_cap(open_engine, tmp_path):
    (tmp_path / "t.csv").write_text("id,g,x\n1,a,1\n2,b,2\n", encoding="utf-8")
    engine = open_engine(tmp_path / "t.csv")
    asked = _question(T.agg(u=frame.count_units()), max_rows=None)
    for _ in range(2):
        assert engine.run(engine.prepare(asked)) == [[2]]
    (tmp_path / "t.csv").unlink()
    assert engine.run(engine.prepare(asked)) == [[2]]


def test_a_table_that_could_not_be_made_is_made_at_the_next_question(open_engine, tmp_path):
    path = tmp_path / "t.parquet"
    pq.write_table(ROWS, path)
    engine = open_engine(path)
    prepared = engine.prepare(_question(T.agg(n=N)))
    path.rename(tmp_path / "away")
    with pytest.raises(driver.Error):
        engine.run(prepared)
    (tmp_path / "away").rename(path)
    assert engine.run(prepared) == [[3]]


def test_a_table_made_but_not_noted_is_made_again(open_engine):
    """An interrupt may come between the two; then the table stands, and nobody knows."""
    engine = open_engine(ROWS)
    prepared = engine.prepare(_question(T.group_by("g", keys={"g": ["a"]}).agg(n=N)))
    assert engine.run(prepared) == [[2]]
    engine._shelf = Shelf()
    assert engine.run(prepared) == [[2]]


@pytest.mark.parametrize(
    ("answer", "error"),
    [
        ("SELECT NULL::BIGINT", "without a number"),
        ("SELECT NULL::HUGEINT", "without a number"),
        ("SELECT 1::BIGINT, 2::BIGINT", "another number"),
        ("SELECT unnest([1, 2])::BIGINT", "another number"),
        ("SELECT 1::BIGINT WHERE false", "another number"),
    ],
)
def test_an_answer_with_a_missing_number_or_of_another_shape_is_an_error(answer, error, open_engine, monkeypatch):
    engine = open_engine(ROWS)
    prepared = engine.prepare(_question(T.group_by("g", keys={"g": ["a"]}).agg(n=N)))
    monkeypatch.setattr(engine, "answer_sql", lambda *_: answer)
    with pytest.raises(RuntimeError, match=error):
        engine.run(prepared)


def _tables(engine: DuckDB) -> set[str]:
    names = "SELECT table_name FROM duckdb_tables() WHERE database_name = 'prepared'"
    return {row[0] for row in engine._connection.cursor().execute(names).fetchall()}


def test_tables_beyond_the_limit_go_and_the_longest_unused_go_first(open_engine):
    engine = open_engine(ROWS)
    engine._shelf = Shelf(most=3)
    prepared = [engine.prepare(_question(T.agg(n=N), max_rows=i)) for i in range(1, 6)]
    for each in prepared:
        engine.run(prepared[0])
        engine.run(each)
        engine.run(each)
    assert [engine.is_prepared(each) for each in prepared] == [True, False, False, True, True]
    assert len(_tables(engine)) == 3
    assert engine.run(prepared[1]) == [[3]]


def test_eviction_breaks_no_question_that_is_running(open_engine):
    engine = open_engine(pa.table({"id": [i % 50 for i in range(400)], "g": ["a", "b"] * 200, "x": [1.0] * 400}))
    engine._shelf = Shelf(most=2)
    prepared = [
        engine.prepare(_question(T.group_by("g", keys={"g": ["a", "b"]}).agg(n=N), max_rows=i)) for i in range(1, 8)
    ]
    failures: list[object] = []

    def work(number: int) -> None:
        for i in range(12):
            each = prepared[(number + i * (1 + number % 3)) % len(prepared)]
            try:
                found = engine.run(each)
            except Exception as error:  # noqa: BLE001 - told by the thread that waits
                failures.append(error)
                return
            if sum(found[0]) != 50 * each.question.scan.max_rows:
                failures.append(found)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    engine.run(prepared[0])
    assert len(_tables(engine)) == 2


def _watched(place: Path, seen: set[str], done: threading.Event) -> None:
    while not done.wait(0.005):
        seen.update(path.name for path in place.iterdir())


def test_rows_that_do_not_fit_in_memory_spill_into_the_workspace(open_engine, tmp_path):
    ids = np.random.default_rng(1).integers(0, 200_000, 800_000)
    pq.write_table(pa.table({"id": ids, "x": ids * 0.5, "g": ids.astype(str)}), tmp_path / "t.parquet")
    engine = open_engine(tmp_path / "t.parquet", memory_limit="50MB", threads=2)
    place, seen, done = engine._workspace.path, set(), threading.Event()
    assert place.parent == tmp_path / "private"
    watcher = threading.Thread(target=_watched, args=(place, seen, done))
    watcher.start()
    try:
        query = T.where(T.g != "7").agg(n=N, s=frame.sum("x", bounds=(0, 1)))
        rows, _ = engine.run(engine.prepare(_question(query, max_rows=2)))
    finally:
        done.set()
        watcher.join()
    assert rows == [sum(min(2, n) for i, n in enumerate(np.bincount(ids)) if i != 7)]
    assert any(name.startswith("duckdb_temp") for name in seen)
    engine.close()
    assert not place.exists()


# drafting


def test_types_that_a_source_does_not_tell_are_drafted_as_documents_binary_or_text():
    table = pa.table(
        {
            "list": [[1]],
            "struct": [{"a": 1}],
            "bytes": [b"a"],
            "clock": pa.array([1], pa.time64("us")),
            "small": pa.array([1], pa.uint8()),
            "exact": pa.array([1], pa.decimal128(9, 2)),
            "seen": pa.array([1], pa.timestamp("ns", tz="UTC")),
            "named": pa.array(["a"]).dictionary_encode(),
        }
    )
    drafted = {name: str(kind) for name, kind in draft(source_of(table)).items()}
    assert drafted == {
        "list": "document",
        "struct": "document",
        "bytes": "binary",
        "clock": "integer",
        "small": "integer",
        "exact": "real",
        "seen": "timestamp",
        "named": "text",
    }
