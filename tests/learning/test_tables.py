"""Cells are read one by one, whatever type a library inferred for their column."""

import datetime as dt
from decimal import Decimal

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import discreet as dp
from discreet.errors import TableShapeError
from discreet.learning.tables import (
    class_numbers,
    column_places,
    counted_rows,
    encode_table,
    label_text,
    numbers,
    of_length,
    open_cells,
    open_table,
    person_numbers,
    require_readable,
    texts,
)

MIXED = [1, 2.0, "3", True, None, float("nan"), "x", 2.5, {"a": 1}, 10**400]


def test_numbers_are_read_from_each_cell():
    assert np.nan_to_num(numbers(np.array(MIXED, dtype=object)), nan=-1).tolist() == [
        1,
        2,
        3,
        1,
        -1,
        -1,
        -1,
        2.5,
        -1,
        -1,
    ]


def test_texts_name_whole_numbers_alike():
    assert texts(np.array(MIXED[:8], dtype=object)).to_pylist() == ["1", "2", "3", "1", None, None, "x", "2.5"]
    for stored in (
        np.array([1, 2]),
        np.array([1.0, 2.0]),
        pa.array([1, 2]),
        pd.Series([1.0, 2.0]),
        pa.array(["1", "2"]),
    ):
        assert texts(open_cells(stored, "y")).to_pylist() == ["1", "2"]
    assert texts(np.array([0.5, 2.0])).to_pylist() == ["0.5", "2"]
    assert texts(pa.array([dt.date(2020, 1, 2)])).to_pylist() == [None]
    assert texts(pa.array(["a", "b"], pa.large_string())).to_pylist() == ["a", "b"]


@pytest.mark.guarantee("learning.core.training")
def test_a_missing_cell_of_one_row_does_not_change_how_others_are_read():
    feature = dp.learning.categories([0, 1, 2])
    for values in ([0, 1, 2, 1], [True, False, True, True]):
        full, gap = pd.DataFrame({"a": values}), pd.DataFrame({"a": [*values[:3], None]})
        both = [encode_table(open_table(each), [0], [feature])[:3, 0].tolist() for each in (full, gap)]
        assert both[0] == both[1]


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame, pa.table])
def test_tables_show_their_shape(make):
    view = open_table(make({"a": [1, 2, 3], "b": ["x", "y", None]}))
    assert (view.names, view.width, view.rows) == (("a", "b"), 2, 3)
    assert column_places(view, ["b", "a"], "Model") == [1, 0]
    assert texts(view.column(1)).to_pylist() == ["x", "y", None]
    assert numbers(view.column(0)).tolist() == [1, 2, 3]


def test_other_columns_are_refused():
    view = open_table(np.zeros((4, 2)))
    assert column_places(view, ["a", "b"], "Model") == [0, 1]
    with pytest.raises(TableShapeError, match="X has 2 features, but Model is expecting 3 features as input"):
        column_places(view, ["a", "b", "c"], "Model")
    with pytest.raises(TableShapeError, match=r"X\[:, :1\] for numpy"):
        column_places(view, ["x0"], "Model", by_name=False)
    with pytest.raises(TableShapeError, match="inconsistent numbers"):
        of_length(np.zeros(3), view, "y")


def test_a_declared_column_that_is_not_there_is_named():
    table = open_table(pa.table({"a": [1], "b": [2]}))
    with pytest.raises(TableShapeError, match="X without the column 'c', which Model declares"):
        column_places(table, ["a", "c"], "Model")


def test_what_is_not_a_table_is_refused():
    for wrong, words in (
        (np.zeros(3), "Reshape your data"),
        ([[1, 2], [3]], "Reshape your data"),
        (np.zeros((3, 0)), "0 feature"),
        (np.zeros((3, 2), dtype=complex), "Complex data"),
        (pd.DataFrame({"a": [1j]}), "Complex data"),
        (pl.Series([1, 2]), "Reshape your data"),
    ):
        with pytest.raises(TableShapeError, match=words):
            open_table(wrong)
    with pytest.raises(TableShapeError, match="1d array"):
        open_cells(np.zeros((2, 2)), "y")


def test_rows_that_are_not_in_memory_are_refused_before_a_cell_is_read():
    query = duckdb.sql("select cast(v as int) as d from (values ('1'), ('HIV+ alice')) as t(v)")
    stream = pa.table({"d": [1]}).to_reader()
    for lazy in (query, stream, pl.LazyFrame({"d": [1]})):
        for call in (lambda lazy=lazy: open_table(lazy), lambda lazy=lazy: open_cells(lazy, "y")):
            with pytest.raises(TableShapeError, match="not in memory") as caught:
                call()
            assert "alice" not in str(caught.value)


def test_no_cell_of_a_column_is_read_when_it_is_opened():
    for values in (pd.Series([1, "x"]), pl.Series([object()], dtype=pl.Object), np.array([object()]), pa.array([1])):
        assert open_cells(values, "y") is values
    assert len(open_cells([1, [2, 3]], "y")) == 2
    assert open_table([[1], [[2, 3]]]).rows == 2


def test_values_that_readers_lose_are_refused_by_their_declaration():
    for value in ("NA", "none", "2019-04-14", "10:30", 2**53, ""):
        with pytest.raises(dp.errors.ParameterError, match="in-memory"):
            require_readable(["a", value], "the category")
    require_readable(["a", 1, True, "00501", 0.5], "the class")


def test_one_column_may_come_as_a_table():
    for values in (
        pl.DataFrame({"a": [1, 2]}),
        pa.table({"a": [1, 2]}),
        pd.DataFrame({"a": [1, 2]}),
        np.array([[1], [2]]),
        pl.Series([1, 2]),
        [1, 2],
        pa.chunked_array([[1], [2]]),
    ):
        assert numbers(open_cells(values, "y")).tolist() == [1, 2]


def test_columns_that_arrow_does_not_take_are_read_cell_by_cell():
    odd = pd.DataFrame({"a": pd.Categorical([1, "x", 1]), "b": pd.arrays.SparseArray([0, 1, 0])})
    assert texts(open_table(odd).column(0)).to_pylist() == ["1", "x", "1"]
    assert numbers(open_table(odd).column(1)).tolist() == [0, 1, 0]


def test_cells_of_any_kind_have_a_text_or_none():
    odd = [10**5_000, Decimal("sNaN"), Decimal("1E999999"), Decimal("2.0"), pd.NaT, b"x", "\ud800", np.float32(3)]
    assert texts(np.array(odd, dtype=object)).to_pylist() == [None, None, None, "2", None, "x", None, "3"]
    assert np.isnan(numbers(np.array(odd[:3], dtype=object))).all()


def test_people_are_numbered_by_what_their_id_says():
    assert person_numbers(np.array([7, "7", 7.0, None, "a"], dtype=object)).tolist() == [0, 0, 0, -1, 1]


def test_labels_are_found_by_their_names():
    assert class_numbers(np.array([1, 0, 2]), [0, 1]).tolist() == [1, 0, -1]
    assert class_numbers(np.array([True, False]), [0, 1]).tolist() == [1, 0]
    assert class_numbers(np.array([1.0, 0.0]), [False, True]).tolist() == [1, 0]
    assert class_numbers(np.array(["no", "yes", ""]), ["no", "yes"]).tolist() == [0, 1, -1]
    assert label_text(object()) is None


def test_rows_that_count_have_a_target_and_a_person():
    codes, target = np.arange(8, dtype=np.uint16).reshape(4, 2), np.arange(4)
    counts = np.array([True, True, False, True])
    rows = counted_rows(codes, target, counts, np.array(["a", None, "b", "a"], dtype=object))
    assert rows.target.tolist() == [0, 3]
    assert rows.is_counted.tolist() == [True, False, False, True]
    (block,) = rows.blocks()
    assert block.people == 1
    assert [len(each) for each in rows.part(np.array([False, True]))] == [1]
    alone = counted_rows(codes, target, counts, None)
    assert alone.person is None
    assert alone.blocks()[0].people == 3
