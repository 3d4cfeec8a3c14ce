"""Exact groups of an owner's table are the same on every engine."""

import datetime as dt
import math
import sqlite3
from collections import Counter
from contextlib import closing
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

import duckdb
import pandas as pd
import pyarrow as pa
import pytest

import discreet as dp
from discreet.catalog.catalog import ColumnType
from discreet.engines import exact_tables
from discreet.engines.exact_tables import COUNT, open_table
from discreet.engines.sources import csv_records
from discreet.errors import NameNotFoundError, SourceError
from servers import PostgresServer

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ROWS: dict[str, list[Any]] = {
    "who": ["x", "x", "y", None, None, "z", "z"],
    "name": ["a", "A", "a", "a ", None, "a", "a"],
    "real": [0.0, -0.0, 1e300, math.nan, None, 0.5, 0.5],
    "born": [dt.date(1990, 1, 2)] * 3 + [None] * 2 + [dt.date(2000, 2, 29)] * 2,
    "number": [1, 1, None, 2**53 + 1, 2**53, -7, -7],
}
TABLE = pa.table(
    {name: pa.array(cells, from_pandas=False) for name, cells in ROWS.items()},
)


def _plain(cell: Any) -> Any:
    return None if isinstance(cell, float) and math.isnan(cell) else cell


def _expected(*names: str) -> Counter[tuple[Any, ...]]:
    return Counter(zip(*([_plain(cell) for cell in ROWS[name]] for name in names), strict=True))


def _groups(source: object, *names: str, table: str | None = None, **options: Any) -> Counter[tuple[Any, ...]]:
    with open_table(source, table=table) as rows:
        batches = list(rows.groups(names, **options))
        found = [tuple(row.values()) for batch in batches for row in batch.to_pylist()]
    assert len({row[:-1] for row in found}) == len(found)
    return Counter({row[:-1]: row[-1] for row in found})


def _on_sqlite(tmp_path: Path) -> Path:
    path = tmp_path / "t.sqlite"
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("CREATE TABLE t (who TEXT, name TEXT COLLATE NOCASE, real REAL, born DATE, number INTEGER)")
        rows = zip(
            *([c.isoformat() if isinstance(c, dt.date) else c for c in cells] for cells in ROWS.values()), strict=True
        )
        connection.executemany("INSERT INTO t VALUES (?, ?, ?, ?, ?)", rows)
    return path


CASES = [("name",), ("real",), ("born", "number"), ("name", "real", "born", "number")]


def _check(source: object, table: str | None = None) -> None:
    for names in CASES:
        assert _groups(source, *names, table=table) == _expected(*names)
    assert _groups(source, "born", table=table, person="who") == {
        (dt.date(1990, 1, 2),): 2,
        (None,): 2,
        (dt.date(2000, 2, 29),): 1,
    }
    with open_table(source, table=table) as rows:
        assert rows.totals() == (7, 7)
        assert rows.totals("who") == (7, 5)


def test_groups_of_an_arrow_table_are_exact() -> None:
    _check(TABLE)


def test_groups_of_a_sqlite_file_are_exact(tmp_path: Path) -> None:
    _check(_on_sqlite(tmp_path), "t")


def test_groups_on_postgres_are_exact(postgres: PostgresServer) -> None:
    postgres.load("exact_rows", TABLE)
    _check(postgres.engine_url, "exact_rows")


def test_groups_on_spark_are_exact(spark: "SparkSession") -> None:
    _check(spark.createDataFrame(TABLE))


def test_a_column_of_a_csv_has_a_type_unless_a_cell_has_another_form(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("zip,age,born,score\n01234,30,1990-01-02,1.5\n01234,31,1990-01-02,nan\n1234,,,1.50\n")
    with open_table(path) as rows:
        assert rows.columns == {
            "zip": ColumnType.TEXT,
            "age": ColumnType.INTEGER,
            "born": ColumnType.DATE,
            "score": ColumnType.REAL,
        }
    assert _groups(path, "zip") == {("01234",): 2, ("1234",): 1}
    assert _groups(path, "age") == {(30,): 1, (31,): 1, (None,): 1}
    assert _groups(path, "score") == {(1.5,): 2, (None,): 1}
    many = tmp_path / "many.csv"
    many.write_text("age\n" + "30\n" * 30_000 + "unknown\n007\n7\n")
    assert _groups(many, "age") == {("30",): 30_000, ("unknown",): 1, ("007",): 1, ("7",): 1}


def test_a_cell_of_sqlite_of_another_type_is_a_value_of_its_own(tmp_path: Path) -> None:
    path = tmp_path / "t.sqlite"
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("CREATE TABLE t (age INTEGER)")
        connection.executemany("INSERT INTO t VALUES (?)", [(1,), (1,), (1.5,), ("old",), (None,), (b"\xff",)])
    assert _groups(path, "age", table="t") == {("1",): 2, ("1.5",): 1, ("old",): 1, (None,): 1, ("\ufffd0xFF",): 1}


def test_objects_of_pandas_are_grouped_by_what_they_look_like() -> None:
    frame = pd.DataFrame({"code": pd.Series([1, 2, 2], dtype=object), "word": ["a", None, "a"]})
    assert _groups(frame, "code") == {(1,): 1, (2,): 2}
    assert _groups(frame, "word") == {("a",): 2, (None,): 1}


def _parts(table: pa.Table, names: list[str], person: str | None = None) -> Counter[tuple[Any, ...]]:
    found: Counter[tuple[Any, ...]] = Counter()
    with open_table(table) as rows:
        for batch in rows.parts(names, person):
            for row in batch.to_pylist():
                found[tuple(row.values())[:-1]] += row[COUNT]
    return found


@pytest.mark.parametrize("most", [0, 2**25])
def test_parts_are_groups_or_rows_and_add_up_to_the_same(most: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(exact_tables, "_MOST_ROWS", most)
    monkeypatch.setattr(exact_tables, "_MOSTLY", 0)
    assert _parts(TABLE, ["name", "real"]) == _expected("name", "real")
    assert _parts(TABLE, ["name"], "who") == _expected("name", "who")


@pytest.mark.parametrize("most", [0, 2**25])
def test_rows_and_people_are_equal_where_each_person_has_one_row(most: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(exact_tables, "_MOST_ROWS", most)
    for persons, people in ((["x", "y", None, None], 4), (["x", "x", None, None], 3), ([None], 1), ([], 0)):
        with open_table(pa.table({"who": pa.array(persons, pa.string())})) as rows:
            assert rows.least_totals("who") == rows.least_totals("who") == (len(persons), people)


def test_names_that_a_source_does_not_have_are_refused() -> None:
    with pytest.raises(NameNotFoundError), open_table(TABLE) as rows:
        list(rows.groups(["nome"]))


def test_a_nested_column_is_refused_because_only_its_presence_is_read() -> None:
    table = pa.table({"tags": [[1], [2]], "age": [1, 2]})
    with open_table(table) as rows:
        assert list(rows.columns) == ["age"]
        with pytest.raises(SourceError):
            list(rows.groups(["tags"]))


def test_the_count_stands_last_under_a_name_of_its_own() -> None:
    with open_table(TABLE) as rows:
        batch, *_ = rows.groups(["name", "name"])
    assert batch.schema.names == ["name", COUNT]


def test_bytes_that_are_not_text_are_values_of_their_own() -> None:
    cells = pa.array([b"a", b"\xff", b"\xfe", None], pa.binary()).view(pa.string())
    assert _groups(pa.table({"word": cells}), "word") == {
        ("a",): 1,
        ("\ufffd0xFF",): 1,
        ("\ufffd0xFE",): 1,
        (None,): 1,
    }


def _functions() -> list[Any]:
    hierarchy = {"zip": dp.anonymity.hierarchies.mask(), "sex": dp.anonymity.hierarchies.mask()}
    return [
        lambda path: dp.anonymity.measure(path, ["zip", "sex"]),
        lambda path: dp.anonymity.measure(pa.table({"zip": ["1"], "sex": ["F"]}), ["zip", "sex"], population=path),
        lambda path: dp.anonymity.cube(path, ["zip", "sex"]),
        lambda path: dp.anonymity.minimal_uniques(path, ["zip", "sex"]),
        lambda path: dp.anonymity.individual_risk(path, ["sex"], weight="zip"),
        lambda path: dp.anonymity.generalise(path, {"zip": (hierarchy["zip"], 1)}),
        lambda path: dp.anonymity.search(path, hierarchy, k=2),
        lambda path: dp.anonymity.mondrian(path, ["zip", "sex"], k=2),
        lambda path: dp.anonymity.risk_report(path, ["zip", "sex"]),
    ]


@pytest.mark.parametrize("place", range(9))
@pytest.mark.parametrize("line", [b"77777\n", b"77777,M,x\n", b'"77777,M\n', "Köln,M\n".encode("latin-1")])
def test_no_function_leaves_out_a_row_of_a_csv_that_cannot_be_read(tmp_path: Path, place: int, line: bytes) -> None:
    path = tmp_path / "rg.csv"
    path.write_bytes(b"zip,sex\n" + b"10115,M\n10117,F\n" * 45 + line)
    with pytest.raises(SourceError, match="the first in line 92"):
        _functions()[place](path)


def test_a_csv_whose_records_the_engine_does_not_read_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "a.csv"
    path.write_bytes(b'zip,sex\n1"1,M\n')
    with open_table(path) as rows:
        assert rows.totals() == (1, 1)
    monkeypatch.setattr(csv_records, "require_readable", lambda *_: 2)
    with pytest.raises(SourceError, match="it has 2 records"), open_table(path):
        pass


def test_bytes_of_zero_in_a_csv_are_part_of_the_text(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_bytes(b"zip,sex\n77\x001,M\n77\x002,M\n77,M\n")
    assert dp.anonymity.measure(path, ["zip"]).class_sizes == ((1, 3),)


def test_the_count_has_another_name_where_a_column_has_its_name() -> None:
    with open_table(pa.table({COUNT: [5, 5, 6]})) as rows:
        batches = [batch for batch in rows.groups([COUNT]) if len(batch)]
    assert batches[0].schema.names == [COUNT, f"{COUNT}_"]
    assert _groups(pa.table({COUNT: [5, 5, 6]}), COUNT) == {(5,): 2, (6,): 1}


def _as_text(cells: list[bytes]) -> pa.Array:
    return pa.Array.from_buffers(pa.string(), len(cells), pa.array(cells, pa.binary()).buffers())


def test_bytes_that_are_not_text_are_no_spelling_of_a_text() -> None:
    cells = [b"\xff", b"\\xff", b"FF", "\ufffd0xFF".encode(), b"ok"]
    assert sorted(_groups(pa.table({"word": _as_text(cells)}), "word").values()) == [1] * 5
    assert dp.anonymity.measure(pa.table({"word": _as_text(cells)}), ["word"]).class_sizes == ((1, 5),)


def test_a_person_whose_name_is_not_text_is_one_person() -> None:
    table = pa.table({"who": _as_text([b"\xff", b"\xff", b"a"]), "zip": [1, 1, 1]})
    with open_table(table) as rows:
        assert rows.totals("who") == (3, 2)
    found = dp.anonymity.measure(table, ["zip"], person="who")
    assert (found.people, found.k) == (2, 2)


def test_blobs_of_sqlite_are_no_spelling_of_a_text(tmp_path: Path) -> None:
    path = tmp_path / "t.sqlite"
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("CREATE TABLE t (word)")
        connection.executemany("INSERT INTO t VALUES (?)", [(b"a",), ("61",), ("\ufffd0x61",), ("a",)])
    assert sorted(_groups(path, "word", table="t").values()) == [1] * 4


@pytest.mark.parametrize("zone", [None, "Europe/Berlin"])
def test_times_in_nanoseconds_are_not_merged(zone: str | None) -> None:
    table = pa.table({"at": pa.array([0, 1, 2, 2, None], pa.timestamp("ns", zone))})
    assert _groups(table, "at") == {
        ("1970-01-01 00:00:00",): 1,
        ("1970-01-01 00:00:00.000000001",): 1,
        ("1970-01-01 00:00:00.000000002",): 2,
        (None,): 1,
    }
    assert dp.anonymity.measure(table.to_pandas(), ["at"]).k == 1


def test_times_in_whole_microseconds_stay_times() -> None:
    frame = pd.DataFrame({"at": pd.to_datetime(["2020-01-01", "2020-01-01"]).as_unit("ns")})
    assert _groups(frame, "at") == {(dt.datetime.fromisoformat("2020-01-01"),): 2}


def test_times_in_nanoseconds_of_a_duckdb_file_are_not_merged(tmp_path: Path) -> None:
    path = tmp_path / "t.duckdb"
    with duckdb.connect(str(path)) as connection:
        connection.execute("CREATE TABLE t (moment TIMESTAMP_NS, day TIMESTAMP_NS)")
        for digit in "12":
            connection.execute(f"INSERT INTO t VALUES ('2020-01-01 00:00:00.00000000{digit}', '2020-01-01')")
    assert dp.anonymity.measure(path, ["moment"], table="t").k == 1
    assert _groups(path, "day", table="t") == {(dt.datetime.fromisoformat("2020-01-01"),): 2}


@pytest.mark.parametrize(
    ("cells", "kind", "number"),
    [
        (["9007199254740993.5", "9007199254740993.6"], ColumnType.TEXT, 2),
        (["0.1", "0.10000000000000001"], ColumnType.TEXT, 2),
        (["0.30000000000000004", "0.3"], ColumnType.REAL, 2),
        (["1.10", "1.1", "-0.0", "0.0"], ColumnType.REAL, 2),
        (["1.5", "1", "true"], ColumnType.TEXT, 3),
        (["true", "TRUE"], ColumnType.BOOLEAN, 1),
        (["true", "yes"], ColumnType.TEXT, 2),
    ],
)
def test_text_of_a_csv_is_a_number_only_if_a_double_holds_it(
    tmp_path: Path, cells: list[str], kind: ColumnType, number: int
) -> None:
    path = tmp_path / "a.csv"
    path.write_text("a,b\n" + "".join(f"{cell},1\n" for cell in cells))
    with open_table(path) as rows:
        assert rows.column_types(["a"]) == {"a": kind}
    assert len(_groups(path, "a")) == number


LONG = [Decimal("1.0000000000000000001"), Decimal("1.0000000000000000002"), Decimal("1.0000000000000000001"), None]
SHORT = [Decimal("1.50"), Decimal("1.50"), Decimal("-2.00"), Decimal("999999999999.25")]


def _check_decimals(source: object, table: str | None = None) -> None:
    found = _groups(source, "long", table=table)
    assert sorted(found.values()) == [1, 1, 2]
    assert found[None,] == 1
    assert _groups(source, "short", table=table) == {(1.5,): 2, (-2.0,): 1, (999999999999.25,): 1}
    with open_table(source, table=table) as rows:
        assert rows.column_types(["long", "short"]) == {"long": ColumnType.TEXT, "short": ColumnType.REAL}
        assert rows.totals("long") == (4, 3)
        assert rows.unnamed_rows("long") == 1


def test_decimals_of_more_digits_than_a_double_are_different_values() -> None:
    kinds = {"long": pa.decimal128(38, 19), "short": pa.decimal128(18, 2)}
    _check_decimals(pa.table({"long": LONG, "short": SHORT}, schema=pa.schema(list(kinds.items()))))


def test_decimals_on_postgres_are_different_values_whatever_their_scale(postgres: PostgresServer) -> None:
    rows = ", ".join(
        f"({'NULL' if long is None else f'{long}{zeros}'}, {short})"
        for long, short, zeros in zip(LONG, SHORT, ("", "", "00", ""), strict=True)
    )
    postgres.execute("CREATE TABLE decimals (long numeric, short numeric(18, 2))")
    postgres.execute(f"INSERT INTO decimals VALUES {rows}")
    postgres.execute("GRANT SELECT ON decimals TO PUBLIC")
    _check_decimals(postgres.engine_url, "decimals")


def test_decimals_on_spark_are_different_values(spark: "SparkSession") -> None:
    kinds = {"long": pa.decimal128(38, 19), "short": pa.decimal128(18, 2)}
    _check_decimals(
        spark.createDataFrame(pa.table({"long": LONG, "short": SHORT}, schema=pa.schema(list(kinds.items()))))
    )


@pytest.mark.parametrize("ids", [["x", "x", None, None], ["x", "y", None, None]])
def test_rows_without_a_person_are_counted(ids: list[str | None]) -> None:
    with open_table(pa.table({"who": ids, "all": ["x"] * 4})) as rows:
        assert (rows.unnamed_rows("who"), rows.unnamed_rows("all")) == (2, 0)
        rows.least_totals("who")
        assert rows.unnamed_rows("who") == 2
