"""Steps by DuckDB's own Parquet reader: the same integers as by Arrow, within the bounds whatever a footer claims."""

import math
import struct
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from discreet.accounting.filters import Budget
from discreet.catalog.catalog import Catalog
from discreet.engines.backends import duckdb_parquet
from discreet.engines.backends.duckdb_parquet import ArrowQuery
from discreet.plan.logical import Aggregate, ColumnRef, Compare, Literal, MomentsMeasure, Output, TableRef, Where
from discreet.planner.queries.moments import LATTICE, MomentsPlan, analyze_moments
from opened import Opener, opener

TYPES = {"a": "integer", "b": "integer", "c": "real", "d": "real"}
BOUNDS = {"a": [-1024, 1024], "b": [0, 100], "c": [-1, 1], "d": [0, 7]}
ALL = TableRef("t")
LONG, DOUBLE = pa.int64(), pa.float64()


@pytest.fixture
def opened(request: pytest.FixtureRequest) -> Opener:
    return opener("duckdb", request)


def _plan(columns: Sequence[str] = tuple("abcd"), source: Any = ALL, **facts: Any) -> MomentsPlan:
    declared = {name: {"type": kind, "bounds": BOUNDS[name]} for name, kind in TYPES.items()}
    declared["id"] = {"type": "integer"}
    table = {"columns": declared, "privacy_unit": "dp.ROW"} | facts
    measure = MomentsMeasure(tuple(columns), (None,) * len(columns), "all")
    catalog = Catalog.model_validate({"tables": {"t": table}})
    query = Aggregate(source, (Output("total", measure),))
    return analyze_moments(query, catalog, Budget(epsilon=1, delta=1e-6), epsilon=1)


def _rows(integers: Any = LONG, reals: Any = DOUBLE) -> pa.Table:
    source = np.random.default_rng(5)
    whole = [None, 2**31 - 1, -(2**31), 0, 1024, -1024, 1025, *source.integers(-1500, 1500, 300).tolist()]
    odd = [None, math.nan, math.inf, -math.inf, 1e30, -1e30, 1e-30, *source.uniform(-3, 9, 300).tolist()]
    far = [1e200, -1e200, *odd[2:]] if reals == DOUBLE else odd
    return pa.table(
        {
            "id": pa.array(range(len(whole)), pa.int64()),
            "a": pa.array(whole, integers),
            "b": pa.array(whole[::-1], integers),
            "c": pa.array(odd, reals),
            "d": pa.array(far, reals),
        }
    )


def _is_direct(engine: Any, plan: MomentsPlan) -> bool:
    return "read_parquet" in engine.answer_sql(engine._narrowed(_unkept(engine, plan)))


def _unkept(engine: Any, plan: MomentsPlan) -> Any:
    prepared = engine.prepare(plan.pushdown)
    return type(prepared)(**vars(prepared) | {"rows_name": None})


@pytest.mark.guarantee("planner.queries.moments")
@pytest.mark.parametrize("integers", [pa.int32(), pa.int64()], ids=str)
@pytest.mark.parametrize("reals", [pa.float32(), pa.float64()], ids=str)
@pytest.mark.parametrize("dictionary", [True, False])
def test_the_own_reader_answers_with_the_integers_of_arrow(integers, reals, dictionary, tmp_path, opened):
    pq.write_table(_rows(integers, reals), tmp_path / "t.parquet", use_dictionary=dictionary, row_group_size=100)
    engine, plan = opened({"t": tmp_path / "t.parquet"}, tmp_path), _plan()
    assert _is_direct(engine, plan)
    prepared = _unkept(engine, plan)
    assert engine.run(prepared) == engine.run(ArrowQuery(**vars(prepared)))
    engine.close()


@pytest.mark.guarantee("planner.queries.moments")
@pytest.mark.pitfall("A4")
@pytest.mark.parametrize("cell", [math.nan, math.inf, None])
def test_a_cell_without_a_number_is_missing_where_the_statistics_do_not_show_it(cell, tmp_path, opened):
    pq.write_table(pa.table({"c": pa.array([0.25, 0.5, cell])}), tmp_path / "t.parquet")
    engine, plan = opened({"t": tmp_path / "t.parquet"}, tmp_path), _plan("c")
    (count,), (total,), (squares,) = engine.run(engine.prepare(plan.pushdown))
    assert (count, total, squares) == (3, 256 + 512, 256**2 + 512**2)
    engine.close()


def _false_footer(path: Path, kind: pa.DataType, form: str, true: Any, false: Any) -> None:
    """A file whose statistics hide its largest cell."""
    column = pa.array([0, 1] * 50 + [true], kind)
    pq.write_table(pa.table({"a": column, "c": column}), path, compression="none", use_dictionary=False)
    raw = path.read_bytes()
    start = len(raw) - 8 - struct.unpack("<I", raw[-8:-4])[0]
    footer = raw[start:-8].replace(struct.pack(form, true), struct.pack(form, false))
    path.write_bytes(raw[:start] + footer + raw[-8:])
    assert pq.read_metadata(path).row_group(0).column(0).statistics.max == false


@pytest.mark.guarantee("planner.queries.moments")
@pytest.mark.pitfall("A3")
@pytest.mark.parametrize(
    ("name", "kind", "form", "true"),
    [("a", pa.int32(), "<i", 2**31 - 1), ("a", pa.int64(), "<q", 2**62), ("c", pa.float64(), "<d", 1e100)],
)
def test_a_false_footer_lets_no_row_count_for_more_than_its_bounds(name, kind, form, true, tmp_path, opened):
    _false_footer(tmp_path / "t.parquet", kind, form, true, 1)
    engine, plan = opened({"t": tmp_path / "t.parquet"}, tmp_path), _plan(name)
    assert _is_direct(engine, plan)
    one = 1 if name == "a" else LATTICE
    assert engine.run(engine.prepare(plan.pushdown)) == [[101], [50 * one + LATTICE], [50 * one**2 + LATTICE**2]]
    engine.close()


def test_a_file_that_the_own_reader_does_not_take_is_read_by_arrow(tmp_path, opened, monkeypatch):
    pq.write_table(_rows(), tmp_path / "t.parquet")
    engine, plan = opened({"t": tmp_path / "t.parquet"}, tmp_path), _plan()
    prepared = _unkept(engine, plan)
    expected = engine.run(prepared)
    monkeypatch.setattr(duckdb_parquet, "direct_rows_sql", lambda *_: "SELECT 1 FROM read_parquet(['no such file'])")
    assert engine.run(prepared) == expected
    engine.close()


def test_cells_of_a_column_whose_type_has_changed_are_cast_or_missing(tmp_path, opened):
    pq.write_table(_rows(), tmp_path / "t.parquet")
    engine, plan = opened({"t": tmp_path / "t.parquet"}, tmp_path), _plan("a")
    prepared = _unkept(engine, plan)
    pq.write_table(pa.table({"a": ["7", "somebody"]}), tmp_path / "t.parquet")
    assert engine.run(prepared) == [[2], [7], [49]]
    engine.close()


@pytest.mark.parametrize(
    "plan",
    [
        _plan(privacy_unit="id", max_rows=2),
        _plan(source=Where(ALL, Compare(">=", ColumnRef("a"), Literal(0)))),
    ],
    ids=["people", "a filter"],
)
def test_queries_over_people_or_some_rows_are_read_by_arrow(plan, tmp_path, opened):
    pq.write_table(_rows(), tmp_path / "t.parquet")
    engine = opened({"t": tmp_path / "t.parquet"}, tmp_path)
    assert not _is_direct(engine, plan)
    engine.close()


@pytest.mark.parametrize("kind", [pa.int8(), pa.uint32(), pa.string()], ids=str)
def test_columns_whose_cells_a_reader_checks_are_read_by_arrow(kind, tmp_path, opened):
    pq.write_table(pa.table({"a": pa.array([1, 2]).cast(kind)}), tmp_path / "t.parquet")
    engine, plan = opened({"t": tmp_path / "t.parquet"}, tmp_path), _plan("a")
    assert not _is_direct(engine, plan)
    assert engine.run(engine.prepare(plan.pushdown)) == [[2], [3], [5]]
    engine.close()
