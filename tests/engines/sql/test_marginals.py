"""Codes of rows and counts of marginals in SQL: few values by a CASE, many by a join, a GROUP BY for each marginal."""

import datetime as dt
from dataclasses import replace

import pytest

from discreet.catalog.catalog import ColumnType
from discreet.catalog.privacy_unit import Caps
from discreet.engines.backends import duckdb, sqlite
from discreet.engines.sql import marginals
from discreet.errors import ParameterError, UnsupportedError
from discreet.plan.physical import CountRows, Keys, MissingUnits, Pushdown, Read, Scan
from discreet.plan.slots import MarginalBatch, SlotColumn, SlotTerm, UnitColumns, UnitRule

LONG = tuple(f"v{i}" for i in range(marginals.FEW_VALUES + 1))


def batch_of(*columns, of=()):
    terms = tuple(SlotTerm(column, Read(column.name, column.type)) for column in columns)
    scan = Scan("t", 1, tuple(each.term for each in terms), (), MissingUnits.DROP, None)
    return MarginalBatch(Pushdown(scan, None, Keys(), Caps(), (CountRows(),)), terms, of)


def test_few_values_are_distinguished_by_a_case_and_many_by_a_join():
    few, many = (SlotColumn("text", ColumnType.TEXT, values=values) for values in (LONG[:-1], LONG))
    assert not marginals.needs_join(batch_of(few).columns[0], sqlite.DIALECT)
    batch = batch_of(many)
    assert marginals.needs_join(batch.columns[0], sqlite.DIALECT)
    sql = marginals.codes_sql(batch, "rows", {"text": "keys"}, sqlite.DIALECT)
    assert "FROM keys AS listed GROUP BY k0) AS values0 ON values0.k0 = cells.discreet_cell0" in sql


def test_duckdb_numbers_texts_itself_unless_their_list_is_too_long():
    many = SlotColumn("text", ColumnType.TEXT, values=LONG)
    assert not marginals.needs_join(batch_of(many).columns[0], duckdb.DIALECT)
    longer = SlotColumn("text", ColumnType.TEXT, values=tuple("v" * 300 + value for value in LONG))
    assert marginals.needs_join(batch_of(longer).columns[0], duckdb.DIALECT)


def test_times_with_a_zone_are_refused_since_another_may_equal_them_in_an_engine():
    one = dt.datetime(2024, 1, 1)  # noqa: DTZ001 - cells have no zone
    times = SlotColumn("time", ColumnType.TIMESTAMP, values=(one, one.replace(tzinfo=dt.UTC)))
    with pytest.raises(ParameterError, match="slots of 'time'"):
        marginals.require_counts(batch_of(times))


def test_several_marginals_are_one_statement_with_a_number_for_each():
    columns = (SlotColumn("a", ColumnType.INTEGER, edges=(0, 1, 2)), SlotColumn("b", ColumnType.INTEGER, values=(1, 5)))
    batch = batch_of(*columns, of=(("a",), ("a", "b")))
    sql = marginals.counts_sql(batch, batch.marginals, "codes", duckdb.DIALECT)
    assert sql.count("UNION ALL") == 1
    assert "SELECT 1 AS marginal, ((TRY_CAST(0 AS BIGINT) * 3 + discreet_code0) * 3 + discreet_code1) AS cell" in sql


def test_more_columns_than_a_table_of_codes_has_are_refused():
    columns = [SlotColumn(f"c{i}", ColumnType.INTEGER, edges=(0, 1)) for i in range(marginals.MOST_COLUMNS + 1)]
    with pytest.raises(UnsupportedError, match="1,001 columns"):
        marginals.require_counts(batch_of(*columns))


def test_the_unit_tells_rows_apart_and_is_not_in_the_table_of_codes():
    columns = (SlotColumn("a", ColumnType.INTEGER, edges=(0, 1, 2)), SlotColumn("b", ColumnType.TEXT, values=LONG))
    batch = batch_of(*columns, of=(("rows",), ("a", "b")))
    scan = replace(batch.pushdown.scan, unit=("id",), max_rows=2)
    number = SlotColumn("rows", ColumnType.INTEGER, values=(1, 2))
    units = UnitColumns(number, (("a", UnitRule.MAX),))
    batch = replace(batch, pushdown=replace(batch.pushdown, scan=scan), units=units)
    sql = marginals.codes_sql(batch, "rows", {"b": "keys"}, sqlite.DIALECT)
    named = sql[: sql.index(" FROM (")]
    assert "max(CASE WHEN discreet_code0 < 2 THEN discreet_code0 END) OVER (PARTITION BY discreet_unit0)" in named
    assert [part.rsplit(" ", 1)[-1] for part in named.split(", ")][-3:] == [
        "discreet_code1", "discreet_number", "discreet_turn",
    ]  # fmt: skip
    assert "AS discreet_unit0" not in named
    counts = marginals.counts_sql(batch, batch.marginals, "codes", sqlite.DIALECT)
    assert counts.count("WHERE discreet_turn = 1") == 1
