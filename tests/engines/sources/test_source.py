"""Where rows come from: every kind of source is recognised, opened without a row, and gives the same integers."""

import csv
import datetime as dt
from decimal import Decimal
from pathlib import Path

import duckdb as driver
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest

from discreet.accounting.filters import Budget
from discreet.catalog.catalog import Catalog, ColumnType
from discreet.engines import DuckDB, RegisteredSource, Source, Statements, Workspace, draft, source_of
from discreet.errors import ParameterError, Refusal, SourceError
from discreet.planner.queries.tables import analyze
from discreet.query import frame

T = frame.table("t")
N = frame.count()
TEXTS = ["A", "B", "a,b", 'say "hi"', "two\nlines", "É", None]
ROWS = pa.table({
    "id": [1, 1, 2, 3, 4, 5, 6],
    "ward": TEXTS,
    "cost": [1.5, 2.0, None, -3.0, 1e90, 0.25, 7.0],
    "day": [dt.date(2026, 1, i) for i in range(1, 8)],
    "unused": ["x"] * 7,
})  # fmt: skip
COLUMNS = {"id": "integer", "ward": "text", "cost": "real", "day": "date"}
QUERY = (
    T.where(T.day > "2026-01-01")
    .group_by("ward", keys={"ward": TEXTS})
    .agg(
        n=N, u=frame.count_units(), s=frame.sum("cost", bounds=(-2, 5), grid=0.25), m=frame.mean("cost", bounds=(0, 8))
    )
)


def _answer(source: Source, query: frame.Query, columns: dict[str, str], place: Path, **facts) -> list[list[int]]:
    declared = {name: {"type": kind} for name, kind in columns.items()}
    unit = {"privacy_unit": "id", "max_rows": 1} | facts
    if unit["privacy_unit"] == "dp.ROW":
        del unit["max_rows"]
    catalog = Catalog.model_validate({"tables": {"t": {"columns": declared} | unit}})
    engine = DuckDB({"t": RegisteredSource(source, 7)}, Workspace(place))
    try:
        return engine.run(engine.prepare(analyze(query.plan, catalog, Budget(epsilon=1), epsilon=1).pushdown))
    finally:
        engine.close()


def _counts(source: Source, keys: list, place: Path, kind: str = "text") -> list[int]:
    """How many rows have each of some values of `g`, each row its own unit."""
    query = T.group_by("g", keys={"g": keys}).agg(n=N)
    return _answer(source, query, {"g": kind}, place, privacy_unit="dp.ROW")[0]


# every kind gives the same integers


def _csv(path: Path, delimiter: str = ",", start: str = "", rows: pa.Table = ROWS) -> Path:
    with path.open("w", encoding="utf-8", newline="") as file:
        file.write(start)
        writer = csv.writer(file, delimiter=delimiter)
        writer.writerow(rows.column_names)
        writer.writerows([list(row.values()) for row in rows.to_pylist()])
    return path


def _parquet(path: Path, rows: pa.Table = ROWS) -> Path:
    pq.write_table(rows, path)
    return path


def _database(path: Path) -> Path:
    with driver.connect(str(path)) as connection:
        connection.register("rows", ROWS)
        connection.execute('CREATE SCHEMA s; CREATE TABLE s."visits of 2026" AS SELECT * FROM rows')
    return path


def _globbed(place: Path, write, ending: str) -> str:
    for i in range(3):
        write(place / f"part{i}{ending}", rows=ROWS.slice(3 * i, 3))
    return str(place / f"part*{ending}")


KINDS = {
    "csv": lambda place: source_of(_csv(place / "t.csv")),
    "csv as text": lambda place: source_of(str(_csv(place / "t.CSV"))),
    "csv with a byte order mark": lambda place: source_of(_csv(place / "t.csv", start="\ufeff")),
    "tsv": lambda place: source_of(_csv(place / "t.tsv", "\t")),
    "csv with semicolons": lambda place: source_of(_csv(place / "t.csv", ";"), delimiter=";"),
    "csv in parts": lambda place: source_of(_globbed(place, _csv, ".csv")),
    "parquet": lambda place: source_of(_parquet(place / "t.parquet")),
    "parquet in parts": lambda place: source_of(_globbed(place, _parquet, ".pq")),
    "arrow": lambda _: source_of(ROWS),
    "arrow in chunks": lambda _: source_of(pa.concat_tables([ROWS.slice(0, 2), ROWS.slice(2, 5)])),
    "pandas": lambda _: source_of(ROWS.to_pandas()),
    "pandas with objects": lambda _: source_of(ROWS.to_pandas().astype(object)),
    "pandas with arrow": lambda _: source_of(ROWS.to_pandas(types_mapper=pd.ArrowDtype)),
    "arrow dataset": lambda _: source_of(ds.dataset([ROWS.slice(0, 2), ROWS.slice(2, 5)])),
    "parquet in a directory": lambda place: source_of(Path(_globbed(place, _parquet, ".pq")).parent),
    "parquet in a dataset": lambda place: source_of(ds.dataset(_parquet(place / "t.parquet"))),
    "polars": lambda _: source_of(pl.from_arrow(ROWS)),
    "polars, lazy": lambda _: source_of(pl.from_arrow(ROWS).lazy()),
    "duckdb": lambda place: source_of(_database(place / "t.duckdb"), table="s.visits of 2026"),
    "duckdb relation": lambda _: source_of(driver.connect(":memory:").from_arrow(ROWS)),
}


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_of_source_gives_the_same_integers(kind, tmp_path):
    exact = _answer(KINDS[kind](tmp_path), QUERY, COLUMNS, tmp_path, max_rows=5)
    assert exact[0] == [0, 1, 1, 1, 1, 1, 1]
    assert exact == _answer(source_of(ROWS), QUERY, COLUMNS, tmp_path, max_rows=5)
    assert exact[2] == [0, 8, 0, -8, 20, 1, 20]


@pytest.mark.parametrize("kind", KINDS)
def test_opening_a_source_names_its_columns_and_keeps_no_content_in_its_identity(kind, tmp_path):
    source = KINDS[kind](tmp_path)
    assert source.columns in ((), tuple(ROWS.column_names))
    assert source.identity == "memory" or source.identity.startswith(str(tmp_path))


@pytest.mark.parametrize("kind", KINDS)
def test_drafted_types_are_those_of_the_source(kind, tmp_path):
    drafted = {name: str(found) for name, found in draft(KINDS[kind](tmp_path)).items()}
    assert drafted == COLUMNS | {"unused": "text"}


# CSV, row by row


def _file(place: Path, content: str | bytes, name: str = "t.csv") -> Path:
    path = place / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


@pytest.mark.parametrize(
    "odd",
    [
        b"short",
        b"1,odd",
        b"1,odd,1,2,3",
        b'1,"odd"x,1',
        b'1,od"d,1',
        b"1,\xff\xfe,1",
        b'1,"\xc3(",1',
        b"\xff,odd,1",
        b"1,a\x00b,1",
        b"",
        b",,",
        b"1,odd\rodd,1",
        b"1,odd,1\r",
        b"1," + b"x" * 3_000_000 + b",1",
    ],
)
@pytest.mark.pitfall("A22")
def test_an_odd_line_changes_no_other_row_and_raises_nothing(odd, tmp_path):
    before, after = [b"id,g,v", b"1,a,1", b"2,b,2"], [b"3,a,3", b"4,b,4"]
    source = source_of(_file(tmp_path, b"\n".join([*before, odd, *after]) + b"\n"))
    assert _counts(source, ["a", "b"], tmp_path) == [2, 2]


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_lines_may_end_in_any_way_and_the_last_one_need_not(end, tmp_path):
    source = source_of(_file(tmp_path, end.join(["id,g", "1,a", '2,"x\ny"', "3,a"])))
    assert _counts(source, ["a", "x\ny"], tmp_path) == [2, 1]


@pytest.mark.parametrize("text", ["7,evil,9\n" * 100_000, '7,""evil"",9\n' * 80_000, '"",1\n9,""evil' * 80_000])
def test_a_cell_that_looks_like_rows_is_one_cell_wherever_it_stands(text, tmp_path):
    """DuckDB's parallel reader starts anew every 8 MB: one text became 43,612 rows there, and 7,616 were lost."""
    row = f"1,plain,{'x' * 989}\n"
    source = source_of(_file(tmp_path, f'id,g,v\n{row * 7_500}1,"{text}",1\n{row * 5_000}'))
    unquoted = text.replace('""', '"')
    assert _counts(source, ["plain", unquoted, "evil", '"evil"'], tmp_path) == [12_500, 1, 0, 0]


def test_empty_cells_are_missing_and_other_words_are_not(tmp_path):
    source = source_of(_file(tmp_path, 'id,g\n1,\n2,""\n3,NULL\n4,NA\n5,nan\n6, \n'))
    assert _counts(source, [None, "NULL", "NA", "nan", " "], tmp_path) == [2, 1, 1, 1, 1]


@pytest.mark.pitfall("A22")
def test_the_header_is_read_whatever_stands_behind_it(tmp_path):
    assert source_of(_file(tmp_path, b"id,g\n1,\xff\xfe\n")).columns == ("id", "g")
    assert source_of(_file(tmp_path, b'"id","a ""b"""\r1,\xff')).columns == ("id", 'a "b"')
    assert source_of(_file(tmp_path, "id")).columns == ("id",)


@pytest.mark.parametrize("content", [b"", b"\n1,2", b"id,g\xe9\n", b'id,"g\nh"\n1,2\n', b"id,ID\n", b"id,id\n"])
def test_a_header_that_cannot_be_read_is_refused(content, tmp_path):
    with pytest.raises(SourceError):
        source_of(_file(tmp_path, content))


def test_files_with_different_headers_are_refused(tmp_path):
    _file(tmp_path, "id,g\n1,a\n", "p1.csv")
    _file(tmp_path, "g,id\na,1\n", "p2.csv")
    with pytest.raises(SourceError, match="different headers"):
        source_of(str(tmp_path / "p*.csv"))


@pytest.mark.parametrize(("delimiter", "text"), [(";", ";"), ("\t", "\\t"), ("|", "|")])
def test_a_file_with_another_delimiter_is_refused_with_that_delimiter(delimiter, text, tmp_path):
    path = _csv(tmp_path / "t.csv", delimiter)
    with pytest.raises(SourceError, match="header is a single name") as refused:
        source_of(path)
    assert refused.value.instead.startswith(f'delimiter="{text}"')
    assert source_of(path, delimiter=delimiter).columns == tuple(ROWS.column_names)
    assert len(source_of(path, delimiter=",").columns) == 1


@pytest.mark.parametrize("delimiter", ["", ",,", "ab"])
def test_a_delimiter_is_one_character(delimiter, tmp_path):
    path = _file(tmp_path, "id,g\n")
    if not delimiter:
        assert source_of(path, delimiter=delimiter).delimiter == ","
        return
    with pytest.raises(ParameterError, match="delimiter"):
        source_of(path, delimiter=delimiter)


# Parquet


def test_a_folder_that_looks_like_a_column_does_not_stand_before_the_file(tmp_path):
    place = tmp_path / "g=z"
    place.mkdir()
    assert _counts(source_of(_file(place, "id,g\n1,a\n")), ["a", "z"], tmp_path) == [1, 0]
    rows = pa.table({"id": [1], "g": ["a"]})
    assert _counts(source_of(_parquet(place / "t.parquet", rows)), ["a", "z"], tmp_path) == [1, 0]


def test_files_whose_schemas_differ_are_refused(tmp_path):
    """A cast from one file's type to another's could fail on a single cell."""
    for i, cells in enumerate([pa.array([1], pa.int8()), pa.array([300], pa.int64())]):
        _parquet(tmp_path / f"part{i}.parquet", pa.table({"g": cells}))
    with pytest.raises(SourceError, match="different schemas"):
        source_of(str(tmp_path / "part*.parquet"))


def test_a_file_that_is_no_parquet_is_refused_when_it_is_named(tmp_path):
    with pytest.raises(SourceError, match="cannot be opened"):
        source_of(_file(tmp_path, "not parquet", "t.parquet"))


# frames


@pytest.mark.pitfall("A22")
@pytest.mark.parametrize(
    "stranger", ["x", 7.25, 2**70, True, None, b"\xff", "\udc80", dt.date(2026, 1, 1), Decimal("1.5"), [1], object()]
)
def test_one_cell_of_a_pandas_column_does_not_change_how_the_others_are_read(stranger, tmp_path):
    cells = [1, 1, 2, 2.5]
    alone = source_of(pd.DataFrame({"g": pd.Series(cells, dtype=object)}))
    joined = source_of(pd.DataFrame({"g": pd.Series([*cells, stranger], dtype=object)}))
    assert _counts(alone, ["1", "2", "2.5"], tmp_path) == _counts(joined, ["1", "2", "2.5"], tmp_path) == [2, 1, 1]
    whole = T.agg(s=frame.sum("g", bounds=(0, 5)))
    sums = [_answer(s, whole, {"g": "integer"}, tmp_path, privacy_unit="dp.ROW")[0][0] for s in (alone, joined)]
    assert 0 <= sums[1] - sums[0] <= 5


def test_python_objects_of_pandas_become_text_that_reads_as_what_they_were(tmp_path):
    zone = dt.timezone(dt.timedelta(hours=2))
    cells = {
        "date": [dt.date(2026, 1, 31), None],
        "timestamp": [dt.datetime(2026, 1, 31, 14, tzinfo=zone), pd.NaT],
        "real": [Decimal("2.50"), float("nan")],
        "boolean": [True, None],
        "text": [b"\xc3\xa9t\xc3\xa9", None],
    }
    shared = pd.DataFrame({name: pd.Series(column, dtype=object) for name, column in cells.items()})
    drafted = {name: str(kind) for name, kind in draft(source_of(shared)).items()}
    assert drafted == {name: name for name in cells}
    query = T.where(
        T.date == "2026-01-31", T.timestamp == "2026-01-31 12:00", T.real == 2.5, T.boolean, T.text == "été"
    ).agg(n=N)
    assert _answer(source_of(shared), query, {n: n for n in cells}, tmp_path, privacy_unit="dp.ROW") == [[1]]


def test_times_beyond_the_range_of_microseconds_are_missing(tmp_path):
    most = (2**63 - 1) // 1_000_000
    seconds = pa.table({"g": pa.array([most, most + 1, -most, -most - 1, -(2**63), 0, None], pa.timestamp("s"))})
    source = source_of(seconds)
    assert _counts(source, ["1970-01-01 00:00", None], tmp_path, "timestamp") == [1, 6]


def test_halves_become_singles(tmp_path):
    source = source_of(pa.table({"g": pa.array([np.float16(1.5)], pa.float16())}))
    query = T.agg(s=frame.sum("g", bounds=(0, 2), grid=0.5))
    assert _answer(source, query, {"g": "real"}, tmp_path, privacy_unit="dp.ROW") == [[3]]


def test_polars_columns_that_arrow_does_not_have_are_read_as_text_cell_by_cell():
    """One cell is enough for Polars to choose such a type."""
    frame = pl.DataFrame({"wide": pl.Series([7, 2**100], dtype=pl.Int128), "any": pl.Series([7, 1j], dtype=pl.Object)})
    assert frame.dtypes == [pl.Int128, pl.Object]
    assert source_of(frame).undeclared.to_pylist() == [
        {"wide": "7", "any": "7"},
        {"wide": str(2**100), "any": None},
    ]


def test_scalars_of_a_json_column_of_a_duckdb_relation_have_no_quotes(tmp_path):
    """One field of another type is enough for DuckDB to keep all of them as JSON."""
    path = tmp_path / "t.json"
    path.write_text(r"""{"v": "a\u00e9 \"b\""} {"v": 7} {"v": true} {"v": [1]} {"v": {"a": 1}} {"v": null}""")
    relation = driver.connect().sql(f"SELECT * FROM read_json('{path}')")
    assert str(relation.types[0]) == "JSON"
    assert source_of(relation).undeclared.column("v").to_pylist() == ['a\u00e9 "b"', "7", "true", None, None, None]


@pytest.mark.parametrize("data", [None, 7, [1, 2], {"id": [1]}, b"t.csv", np.zeros(3)])
def test_what_is_no_source_is_refused_by_its_type(data):
    with pytest.raises(SourceError, match="a source of type"):
        source_of(data)


@pytest.mark.parametrize(
    ("names", "error"),
    [(["a", "A"], "'a' and 'A' differ only in case"), (["a", "a"], "'a' is there twice"), ([], "without columns")],
    ids=["case", "twice", "none"],
)
def test_columns_that_cannot_be_told_apart_are_refused(names, error):
    with pytest.raises(SourceError, match=error):
        source_of(pa.table([pa.array([1])] * len(names), names=names), stated=Statements(fixed_schema=True))


def test_names_of_an_in_memory_table_with_inferred_columns_are_not_shown():
    with pytest.raises(SourceError, match="two columns have the same name") as refusal:
        source_of(pa.table([pa.array([1])] * 2, names=["somebody", "somebody"]))
    assert "somebody" not in str(refusal.value)


def test_a_file_of_another_kind_is_refused_with_the_kinds_that_are_read(tmp_path):
    with pytest.raises(SourceError, match=r"DuckDB \(.duckdb, .db\) and SQLite \(.sqlite, .sqlite3, .db\)"):
        source_of(_file(tmp_path, "PK", "t.xlsx"))


def test_another_spelling_of_a_name_in_one_record_does_not_refuse_an_in_memory_table():
    frame = source_of(pa.table({"age": [1], "Age": [2]})).with_declared_types({"age": ColumnType.INTEGER}).frame
    assert frame.to_pydict() == {"age": [1]}


def test_paths_that_name_nothing_or_an_unknown_kind_are_refused(tmp_path):
    for wrong in ("none.csv", "none*.parquet", ".", ""):
        with pytest.raises(Refusal):
            source_of(str(tmp_path / wrong))
    with pytest.raises(SourceError, match=r"of kind '\.xlsx'"):
        source_of(_file(tmp_path, "x", "t.xlsx"))
    with pytest.raises(SourceError, match="without a table"):
        source_of(_database(tmp_path / "t.db"))


# nothing is copied on the way where Arrow allows


def _where(column: pa.ChunkedArray | pa.Array) -> list[int]:
    """Where the cells of a column lie in memory: all of its buffers but the one of missing cells."""
    chunks = column.chunks if isinstance(column, pa.ChunkedArray) else [column]
    return [part.address for chunk in chunks for part in chunk.buffers()[1:] if part is not None]


def _carried_where(data: object) -> dict[str, list[int]]:
    frame = source_of(data).frame
    return {name: _where(frame.column(name)) for name in frame.column_names}


def test_an_arrow_table_is_not_copied_and_text_travels_as_views_of_its_own_buffers():
    arrays = {
        "whole": pa.array([1, None, 3]),
        "real": pa.array([0.5, None, 2]),
        "yes": pa.array([True, None, False]),
        "day": pa.array([1, None, 3], pa.date32()),
        "time": pa.array([1, None, 3], pa.timestamp("us", "UTC")),
        "date": pa.array([1, None, 3], pa.date64()),
        "clock": pa.array([1, None, 3], pa.time64("us")),
        "span": pa.array([1, None, 3], pa.duration("ns")),
        "money": pa.array([1, None, 3], pa.decimal128(10, 2)),
        "bytes": pa.array([b"a", None, b"c"]),
        "text": pa.array(["a", None, "c"]),
        "long text": pa.array(["a", None, "c"], pa.large_string()),
        "viewed text": pa.array(["a", None, "c" * 40], pa.string_view()),
    }
    table = pa.table(arrays)
    expected = {name: _where(array) for name, array in arrays.items()}
    assert _carried_where(table) == expected
    assert _carried_where(table.to_batches()[0]) == expected
    assert _carried_where(ds.dataset(table)) == expected
    parts = pa.concat_tables([table.slice(0, 1), table.slice(1)])
    assert _carried_where(parts) == {name: where * 2 for name, where in expected.items()}


def test_a_polars_frame_is_not_copied():
    shared = pl.DataFrame({
        "whole": [1, None, 3],
        "real": [0.5, None, 2.0],
        "day": [dt.date(2026, 1, 1), None, None],
        "time": [dt.datetime(2026, 1, 1), None, None],  # noqa: DTZ001 - Polars itself has no zone here
        "text": ["a", None, "c" * 40],
        "bytes": [b"a", None, b"c" * 40],
    })  # fmt: skip
    arrow = shared.to_arrow(compat_level=pl.CompatLevel.newest())
    assert _carried_where(shared) == {name: _where(arrow.column(name)) for name in arrow.column_names}
    lone = pl.Series("n", [1, 2, 3])
    assert _carried_where(lone.to_frame())["n"] == [lone.to_numpy().ctypes.data]


def test_a_pandas_frame_of_numpy_columns_is_not_copied():
    cells = {
        "whole": np.array([1, 2, 3]),
        "small": np.array([1, 2, 3], np.int8),
        "real": np.array([0.5, np.nan, 2]),
        "time": np.array([1, 2, 3], "datetime64[ns]"),
        "span": np.array([1, 2, 3], "timedelta64[ms]"),
    }
    shared = pd.DataFrame(cells, copy=False)
    shared["text"] = pd.array(pa.array(["a", None, "c"], pa.large_string()), dtype=pd.ArrowDtype(pa.large_string()))
    carried = _carried_where(shared)
    text = carried.pop("text")
    assert carried == {name: [array.ctypes.data] for name, array in cells.items()}
    assert text == _where(pa.array(shared["text"]))


def test_a_lazy_frame_is_computed_once_when_it_is_protected(tmp_path):
    computed = []

    def seen(frame: pl.DataFrame) -> pl.DataFrame:
        computed.append(len(frame))
        return frame

    source = source_of(pl.LazyFrame({"g": ["a", "b"]}).map_batches(seen))
    assert _counts(source, ["a"], tmp_path) == _counts(source, ["b"], tmp_path) == [1]
    assert computed == [2]


@pytest.mark.parametrize("ending", ["csv", "tsv", "parquet"])
def test_a_table_of_what_has_no_tables_is_refused(tmp_path, ending):
    path = tmp_path / f"visits.{ending}"
    if ending == "parquet":
        pq.write_table(pa.table({"x": [1]}), path)
    else:
        path.write_text("x\n1\n")
    for data in (path, pa.table({"x": [1]})):
        with pytest.raises(ParameterError, match="table='visits' for") as refusal:
            source_of(data, table="visits")
        assert "a DuckDB or SQLite file" in refusal.value.because


def test_a_source_of_another_type_is_told_every_kind_that_there_is():
    with pytest.raises(SourceError, match="a source of type dict") as refusal:
        source_of({})
    assert "a Spark DataFrame" in refusal.value.because
    assert "postgresql://" in refusal.value.because


def test_a_panic_of_a_lazy_frame_prints_no_cell_although_it_is_no_exception():
    class Panic(BaseException):
        pass

    def collected(*_, **__):
        raise Panic("alice, HIV+")

    lazy = type("LazyFrame", (), {"__module__": "polars", "collect": collected})
    with pytest.raises(SourceError, match="could not be computed") as refused:
        source_of(lazy())
    assert refused.value.__cause__ is refused.value.__context__ is None
