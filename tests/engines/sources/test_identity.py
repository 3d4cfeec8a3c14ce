"""Two sources share rows where they share files, tables or memory; equal contents alone are not looked at."""

import os
import sqlite3

import duckdb
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from pyarrow import dataset, parquet

from discreet.engines import OpenSource, is_registered, same_rows, source_of

TABLE = pa.table({"p": [1, 2, 3], "w": ["a", "b", "c"], "x": [0.5, 1.5, 2.5]})


def _same(one, other, **tables):
    return same_rows(*(OpenSource(source_of(each, table=tables.get("table")), each) for each in (one, other)))


@pytest.fixture
def csv(tmp_path):
    path = tmp_path / "visits.csv"
    path.write_text("p,w\n1,a\n", encoding="utf-8")
    return path


@pytest.mark.parametrize("link", [os.symlink, os.link])
def test_links_lead_to_the_same_file(csv, tmp_path, link):
    other = tmp_path / "lookup.csv"
    link(csv, other)
    assert _same(csv, other)
    assert _same(str(csv), tmp_path / "nothing" / ".." / "visits.csv")
    other.unlink()
    other.write_bytes(csv.read_bytes())
    assert not _same(csv, other)


def test_a_glob_and_a_directory_share_what_is_in_them(csv, tmp_path):
    folder = tmp_path / "parts"
    folder.mkdir()
    parquet.write_table(TABLE, folder / "one.parquet")
    parquet.write_table(TABLE, folder / "two.parquet")
    assert _same(folder, folder / "two.parquet")
    assert _same(str(folder / "t*.parquet"), dataset.dataset(str(folder)))
    assert not _same(folder / "one.parquet", folder / "two.parquet")
    assert _same(str(tmp_path / "*.csv"), csv)


def test_tables_of_one_database_file_are_the_same_by_name(tmp_path):
    with sqlite3.connect(tmp_path / "rows.sqlite") as file:
        file.execute("CREATE TABLE visits (p)")
        file.execute("CREATE TABLE wards (p)")
    file.close()
    os.link(tmp_path / "rows.sqlite", tmp_path / "linked.sqlite")
    with duckdb.connect(tmp_path / "rows.duckdb") as file:
        file.execute("CREATE TABLE visits (p INTEGER); CREATE TABLE wards (p INTEGER)")

    def opened(path, table):
        return OpenSource(source_of(tmp_path / path, table=table), tmp_path / path)

    assert same_rows(opened("rows.sqlite", "visits"), opened("linked.sqlite", "visits"))
    assert not same_rows(opened("rows.sqlite", "visits"), opened("linked.sqlite", "wards"))
    one = str(tmp_path / "rows.sqlite")
    assert not same_rows(*(OpenSource(source_of(one, table=name), one) for name in ("visits", "wards")))
    assert same_rows(opened("rows.duckdb", "visits"), opened("rows.duckdb", "main.Visits"))
    assert not same_rows(opened("rows.duckdb", "visits"), opened("rows.duckdb", "wards"))


FRAMES = {
    "Arrow": lambda: TABLE,
    "pandas": TABLE.to_pandas,
    "pandas objects": lambda: pd.DataFrame({"w": pd.Series(["a", 1, None], dtype=object)}),
    "pandas types": lambda: pd.DataFrame({"n": pd.array([1, None], dtype="Int64"), "c": pd.Categorical(["a", "b"])}),
    "polars": lambda: pl.DataFrame({"p": [1, 2, 3], "w": ["a", "b", "a text that is long enough"]}),
}
VIEWS = {
    "Arrow": lambda table: [
        table.slice(1),
        table.select(["w"]),
        pa.table({"y": table.column("x")}),
        table.to_batches()[0],
    ],
    "pandas": lambda frame: [frame.copy(deep=False), frame[["x"]], frame.iloc[1:], pa.Table.from_pandas(frame)],
    "pandas objects": lambda frame: [frame.copy(deep=False), frame.iloc[:2]],
    "pandas types": lambda frame: [frame.copy(deep=False), frame[["n"]], frame[["c"]]],
    "polars": lambda frame: [frame.clone(), frame.select("w"), frame.slice(1), frame.to_arrow().select(["p"])],
}
COPIES = {
    "Arrow": lambda table: pa.table(table.to_pydict()),
    "pandas": lambda frame: pd.DataFrame(frame.to_dict("list")),  # text of a deep copy stays where it was
    "polars": lambda frame: pl.DataFrame(frame.to_dict(as_series=False)),
}


@pytest.mark.parametrize("kind", FRAMES)
def test_a_frame_shares_rows_with_itself_and_with_views_of_it_and_not_with_a_copy(kind):
    frame = FRAMES[kind]()
    assert _same(frame, frame)
    for view in VIEWS[kind](frame):
        assert _same(frame, view)
        assert _same(view, frame)
    copy = COPIES.get(kind, lambda frame: frame.copy())
    assert not _same(frame, copy(frame))


def test_a_list_of_keys_may_be_the_dictionary_of_a_protected_column():
    wards = pa.array(["a", "b"])
    column = pa.DictionaryArray.from_arrays(pa.array([0, 1, 1]), wards)
    assert not _same(pa.table({"w": column}), pa.table({"w": wards}))
    assert _same(pa.table({"w": column}), pa.table({"v": column}))


def test_a_lazy_frame_is_the_same_only_as_itself():
    lazy = pl.LazyFrame({"p": [1]})
    assert _same(lazy, lazy)
    assert not _same(lazy, pl.LazyFrame({"p": [1]}))


def test_a_registered_source_is_found_by_its_name_or_by_its_files(csv, tmp_path):
    link = tmp_path / "lookup.csv"
    link.symlink_to(csv)
    lookup = source_of(link)
    assert is_registered(lookup, str(csv))
    assert is_registered(lookup, str(tmp_path / "v*.csv"))
    assert is_registered(lookup, str(tmp_path))
    for other in ("memory", str(tmp_path / "gone.csv"), "s3://bucket/visits", "spark:clinic.visits"):
        assert not is_registered(lookup, other)
    assert not is_registered(source_of(TABLE), "memory")


def test_a_registered_table_of_a_file_is_found_by_file_and_name(tmp_path):
    with sqlite3.connect(tmp_path / "rows.sqlite") as file:
        file.execute("CREATE TABLE visits (p)")
        file.execute("CREATE TABLE wards (p)")
    file.close()
    os.link(tmp_path / "rows.sqlite", tmp_path / "linked.sqlite")
    visits, wards = (source_of(tmp_path / "linked.sqlite", table=name) for name in ("visits", "wards"))
    registered = source_of(tmp_path / "rows.sqlite", table="visits").identity
    assert is_registered(visits, registered)
    assert not is_registered(wards, registered)
