"""Steps of numeric columns of Parquet files, computed where DuckDB's own reader reads them.

DuckDB believes the statistics in a file's footer: a comparison that they decide is not made. No footer counts NaN, so a
clamp by CASE would let it pass. False statistics would let any number pass. Here every step is the result of LEAST and
GREATEST over public constants, which DuckDB always computes. So no footer lets a row count for more than its bounds.

Only rows that are units themselves are read so, and only columns whose cells no reader checks: signed integers of 32 or
64 bits and floats. All others are read by Arrow (decision 029).
"""

from collections.abc import Mapping
from dataclasses import replace

import duckdb
import pyarrow as pa

from discreet.catalog.catalog import ColumnType
from discreet.engines.prepared import PreparedQuery
from discreet.engines.sources.source import Source
from discreet.engines.sql import casts, expressions
from discreet.engines.sql.dialect import Dialect
from discreet.engines.sql_engine import SQLEngine
from discreet.plan.physical import CountRows, KeyedTable, Pushdown, Read, SumProducts, SumSteps

LARGEST_SCALE = 1e100
"""Steps per unit; with more of them, numbers that reads of reals take for zero would have other steps."""

_TYPES: Mapping[pa.DataType, str] = {
    pa.int32(): "INTEGER",
    pa.int64(): "BIGINT",
    pa.float32(): "FLOAT",
    pa.float64(): "DOUBLE",
}
_FITTING = {ColumnType.INTEGER: (pa.int32(), pa.int64()), ColumnType.REAL: (pa.float32(), pa.float64())}


class ArrowQuery(PreparedQuery):
    """A bound query whose rows are read by Arrow."""


class DirectParquet(SQLEngine):
    """An engine over DuckDB that computes steps where its own reader reads plain columns of Parquet files."""

    def run(self, prepared: PreparedQuery) -> list[list[int]] | KeyedTable:
        """Answer a bound query; Arrow reads a file that DuckDB's own reader does not take."""
        try:
            return super().run(prepared)
        except duckdb.Error as error:
            if isinstance(error, duckdb.InterruptException) or self._direct_rows_sql(prepared) is None:
                raise
        return super().run(ArrowQuery(**vars(prepared)))

    def _narrowed(self, answerable: PreparedQuery) -> PreparedQuery:
        direct = self._direct_rows_sql(answerable) if answerable.rows_name is None else None
        return super()._narrowed(answerable) if direct is None else replace(answerable, rows_sql=direct)

    def _direct_rows_sql(self, prepared: PreparedQuery) -> str | None:
        if isinstance(prepared, ArrowQuery):
            return None
        source = self._sources[prepared.question.scan.table].source
        return direct_rows_sql(prepared.question, source, prepared.stored, self.dialect)


def direct_rows_sql(question: Pushdown, source: Source, stored: Mapping[SumSteps, str], dialect: Dialect) -> str | None:
    """The steps of each row by DuckDB's own reader, or None where a query or a file needs more than that."""
    is_plain_file = source.kind == "parquet" and source.paths and not source.folders and source.identity != "memory"
    if not is_plain_file or not _sums_of_rows(question) or not all(_is_plain(node, source) for node in stored):
        return None
    columns = ", ".join(f"{_step(node, source, dialect)} AS {name}" for node, name in stored.items())
    paths = ", ".join(map(dialect.text, source.paths))
    return f"SELECT {columns} FROM read_parquet([{paths}], hive_partitioning = false, union_by_name = false)"


def _sums_of_rows(question: Pushdown) -> bool:
    """Whether a query sums products over all rows of one table, each of which is a unit."""
    scan = question.scan
    return (
        not (scan.base or scan.unit or scan.within or scan.max_rows or question.predicate or question.keys.columns)
        and all(each == CountRows(None) or isinstance(each, SumSteps | SumProducts) for each in question.measures)
        and any(isinstance(each, SumProducts) for each in question.measures)
    )


def _is_plain(node: SumSteps, source: Source) -> bool:
    """Whether a column is stored as plain numbers of its declared type, and steps are small with one for missing."""
    if not isinstance(node.operand, Read) or not expressions.is_small(node):
        return False
    has_missing = node.missing is not None and node.low <= node.missing <= node.high
    return (
        _stored_type(node.operand, source) in _FITTING.get(node.operand.type, ())
        and has_missing
        and float(1 / node.grid) <= LARGEST_SCALE
    )


def _step(node: SumSteps, source: Source, dialect: Dialect) -> str:
    """The same step as `expressions.steps`, with the clamp outside; cells of a changed type are cast, or missing."""
    operand: Read = node.operand  # type: ignore[assignment]
    cell = f"TRY_CAST({dialect.identifier(operand.column)} AS {_TYPES[_stored_type(operand, source)]})"
    if operand.type is ColumnType.INTEGER:
        step = cell if node.grid == 1 else expressions.round_to_grid(f"CAST({cell} AS DOUBLE)", node.grid, dialect)
        step = f"coalesce({step}, {node.missing})"
    else:
        largest = dialect.real(casts.LARGEST_REAL)
        present = f"isfinite({cell}) AND {cell} > -{largest} AND {cell} < {largest}"
        rounded = expressions.round_to_grid(f"CAST({cell} AS DOUBLE)", node.grid, dialect)
        step = f"CASE WHEN {present} THEN {rounded} ELSE {node.missing} END"
    return dialect.small_step.format(f"least(greatest({step}, {node.low}), {node.high})")


def _stored_type(column: Read, source: Source) -> pa.DataType:
    """The type of a column as it was written."""
    return (source.schema or pa.schema([])).field(column.column).type
