"""Counts of marginals in SQL: each row becomes the slots of its columns once, then marginals are one GROUP BY each.

Cells are missing by the same total reads on every engine. A missing cell, or one that is not declared, is in the last
slot; a number or date below the first edge is in the first bin, and one from the last edge on in the last bin.

Columns of units are windows over the rows of a unit, and units are distinguished as by contribution bounds. All rows
of a unit carry the same slots, and one row of each is marked, so that marginals of units count it alone. The unit
itself is not in the table of codes.
"""

import datetime as dt
from collections.abc import Mapping, Sequence
from itertools import pairwise

import pyarrow as pa

from discreet.catalog.catalog import ColumnType
from discreet.catalog.columns import is_of_type
from discreet.engines.sql import expressions
from discreet.engines.sql.contribution_bounding import LONGEST_LIST, owner
from discreet.engines.sql.dialect import Dialect
from discreet.errors import ParameterError, UnsupportedError
from discreet.plan.logical import Scalar
from discreet.plan.physical import Apply, Constant
from discreet.plan.slots import (
    MOST_CELLS,
    MOST_CELLS_OF_A_BATCH,
    Marginal,
    MarginalBatch,
    SlotTerm,
    UnitColumns,
    UnitRule,
)

CODE = "discreet_code"
VALUE = "discreet_cell"
UNIT = "discreet_unit"
NUMBER = "discreet_number"
TURN = "discreet_turn"
FEW_VALUES = 64
"""Values that a CASE distinguishes; more are found by a join, unless an engine numbers them itself."""
MOST_COLUMNS = 1_000
_TINY, _SMALL = 1 << 8, 1 << 15
_BINNED = (ColumnType.INTEGER, ColumnType.REAL, ColumnType.DATE, ColumnType.TIMESTAMP)
SCHEMA = pa.schema([("marginal", pa.int32()), ("cell", pa.int64()), ("number", pa.int64())])
"""What comes back of marginals: the number of each, a cell of it, and how many rows are in that cell."""


def require_counts(batch: MarginalBatch) -> None:
    """Refuse marginals of too many cells, and slots that are not of the type of their column.

    Raises:
        UnsupportedError: If counts would take too much memory, or there are too many columns.
        ParameterError: If edges or values are of another type, or edges do not increase.
    """
    most, total = max(batch.cells, default=0), sum(batch.cells)
    if most > MOST_CELLS or total > MOST_CELLS_OF_A_BATCH:
        raise UnsupportedError(
            f"marginals of {total:,} cells, the largest of {most:,}",
            because=f"at most {MOST_CELLS:,} in each and {MOST_CELLS_OF_A_BATCH:,} in all fit in memory",
            instead="fewer columns, or wider bins: bins={'age': {'linear': 16}} in dp.protect",
        )
    if len(batch.columns) > MOST_COLUMNS:
        raise UnsupportedError(
            f"marginals over {len(batch.columns):,} columns",
            because=f"a table of codes has at most {MOST_COLUMNS:,}",
            instead="columns=[...] with fewer names",
        )
    for each in batch.columns:
        if not _has_fitting_slots(each):
            raise ParameterError(
                f"the slots of {each.column.name!r}",
                because=f"edges increase, values differ, and both are of type {each.term.type}",
                instead=f"edges or values of type {each.term.type}",
            )
    if batch.units is not None:
        _require_units(batch, batch.units)


def _require_units(batch: MarginalBatch, units: UnitColumns) -> None:
    """Refuse columns of units that rows do not have, and units that nothing names; planners never ask for them."""
    known, numbers = {each.column.name for each in batch.columns}, units.number.values
    is_known = known.issuperset(name for name, _ in units.rules) and units.number.name not in known
    if not batch.pushdown.scan.unit or not is_known or numbers != tuple(range(1, len(numbers) + 1)):
        raise ParameterError(
            "columns of units",
            because="a unit has columns that name it, and its columns are those of its rows",
            instead='privacy_unit="person_id" in dp.protect',
        )


def _has_fitting_slots(each: SlotTerm) -> bool:
    edges, values, kind = each.column.edges, each.column.values, each.term.type
    if bool(edges) == bool(values) or not all(is_of_type(one, kind) for one in (*edges, *values)):
        return False
    if any(isinstance(one, dt.datetime) and one.tzinfo is not None for one in (*edges, *values)):
        return False  # equal to another value in the engine, and to none in Python
    increases = all(low < high for low, high in pairwise(edges))  # type: ignore[operator]
    return len(set(values)) == len(values) and (not edges or (kind in _BINNED and len(edges) > 1 and increases))


def needs_join(each: SlotTerm, dialect: Dialect) -> bool:
    """Whether the values of a column are found by a join with a table of them."""
    return len(each.column.values) > FEW_VALUES and not _is_numbered(each, dialect)


def codes_sql(batch: MarginalBatch, rows: str, keys: Mapping[str, str], dialect: Dialect) -> str:
    """The slots of all columns, a row for each row; `keys` are tables of values by the name of the column."""
    columns = [f"{term} AS {name}" for name, term in _unit_terms(batch, dialect).items()]
    for place, each in enumerate(batch.columns):
        if each.column.name in keys:
            columns.append(f"{expressions.term(each.term, dialect)} AS {VALUE}{place}")
        else:
            columns.append(f"{_narrow(_code(each, dialect), each, dialect)} AS {CODE}{place}")
    predicate = batch.pushdown.predicate
    where = "" if predicate is None else f" WHERE {expressions.term(predicate, dialect)}"
    coded = f"SELECT {', '.join(columns)} FROM {rows}{where}"
    if keys:
        coded = _joined_sql(batch, coded, keys, dialect)
    return coded if batch.units is None else _unit_codes_sql(batch, batch.units, coded, dialect)


def _joined_sql(batch: MarginalBatch, coded: str, keys: Mapping[str, str], dialect: Dialect) -> str:
    """The slots of columns whose values are found by a join, beside all others."""
    named, joins = [f"cells.{name}" for name in _unit_terms(batch, dialect)], []
    for place, each in enumerate(batch.columns):
        if each.column.name not in keys:
            named.append(f"cells.{CODE}{place}")
            continue
        named.append(f"{_narrow(f'values{place}.discreet_key', each, dialect)} AS {CODE}{place}")
        found = f"values{place}.k0 = cells.{VALUE}{place}"
        # One slot for each value, so that no row becomes two: a row that counts twice has twice the sensitivity.
        distinct = f"(SELECT k0, min(discreet_key) AS discreet_key FROM {keys[each.column.name]} AS listed GROUP BY k0)"
        joins.append(f"LEFT JOIN {distinct} AS values{place} ON {found}")
    return f"SELECT {', '.join(named)} FROM ({coded}) AS cells {' '.join(joins)}"


def _unit_terms(batch: MarginalBatch, dialect: Dialect) -> dict[str, str]:
    """What tells units apart, as in contribution bounds, with a name for each part; nothing where rows alone count."""
    if batch.units is None:
        return {}
    return {f"{UNIT}{place}": term for place, term in enumerate(owner(batch.pushdown.scan, dialect))}


def _unit_codes_sql(batch: MarginalBatch, units: UnitColumns, coded: str, dialect: Dialect) -> str:
    """The slots of columns of units in each row, the number of rows of its unit, and the turn of a row in its unit."""
    own = f"PARTITION BY {', '.join(_unit_terms(batch, dialect))}"
    rules, columns = dict(units.rules), []
    for place, each in enumerate(batch.columns):
        code, missing = f"{CODE}{place}", each.column.missing
        match rules.get(each.column.name):
            case UnitRule.MIN:
                columns.append(f"{_narrow(f'min({code}) OVER ({own})', each, dialect)} AS {code}")
            case UnitRule.MAX:
                declared = f"CASE WHEN {code} < {missing} THEN {code} END"
                columns.append(f"{_narrow(f'max({declared}) OVER ({own})', each, dialect)} AS {code}")
            case _:
                columns.append(code)
    most, rows = len(units.number.values), f"count(*) OVER ({own})"
    columns.append(f"CASE WHEN {rows} < {most} THEN {rows} ELSE {most} END - 1 AS {NUMBER}")
    columns.append(f"row_number() OVER ({own}{dialect.unordered}) AS {TURN}")
    return f"SELECT {', '.join(columns)} FROM ({coded}) AS coded"


def counts_sql(batch: MarginalBatch, some: Sequence[Marginal], codes: str, dialect: Dialect) -> str:
    """The non-empty cells of marginals with their rows; a cell is a number in the order of an array."""
    return " UNION ALL ".join(_count(batch, place, each, codes, dialect) for place, each in enumerate(some))


def _count(batch: MarginalBatch, number: int, marginal: Marginal, codes: str, dialect: Dialect) -> str:
    places = {each.column.name: place for place, each in enumerate(batch.columns)}
    columns = [f"{CODE}{places[name]}" if name in places else NUMBER for name in marginal]
    cell = dialect.bigint.format("0")
    for column, size in zip(columns, batch.shape(marginal), strict=True):
        cell = f"({cell} * {size} + {column})"
    listed = ", ".join(columns)
    once = f" WHERE {TURN} = 1" if batch.units is not None and batch.units.covers(marginal) else ""
    groups = f"SELECT {listed}, count(*) AS discreet_rows FROM {codes} AS codes{once} GROUP BY {listed}"
    counted = f"SELECT {number} AS marginal, {cell} AS cell, discreet_rows AS number"
    return f"{counted} FROM ({groups}) AS counted"


def _narrow(code: str, each: SlotTerm, dialect: Dialect) -> str:
    """A slot in few bytes; a missing one is the last."""
    size = each.column.size
    kind = dialect.tiny if size <= _TINY else "SMALLINT" if size <= _SMALL else "INTEGER"
    return f"CAST(coalesce({code}, {each.column.missing}) AS {kind})"


def _code(each: SlotTerm, dialect: Dialect) -> str:
    column, term = each.column, each.term
    if column.edges:
        inner = tuple(Constant(_edge(edge, term.type), term.type) for edge in column.edges[1:-1])
        if inner:
            return expressions.term(Apply("bin", (term, *inner), ColumnType.INTEGER), dialect)
        return f"CASE WHEN {expressions.term(term, dialect)} IS NOT NULL THEN 0 END"
    value = expressions.term(term, dialect)
    if _is_numbered(each, dialect):
        return dialect.number_of.format(value, ", ".join(dialect.text(str(one)) for one in column.values))
    ways = (f"WHEN {expressions.literal(one, dialect)} THEN {slot}" for slot, one in enumerate(column.values))
    return f"CASE {value} {' '.join(ways)} END"


def _edge(edge: Scalar, kind: ColumnType) -> Scalar:
    return float(edge) if kind is ColumnType.REAL else edge  # type: ignore[arg-type]


def _is_numbered(each: SlotTerm, dialect: Dialect) -> bool:
    """Whether an engine numbers the texts of a column itself, which it does for lists that are not too long."""
    if not dialect.number_of or each.term.type is not ColumnType.TEXT or not each.column.values:
        return False
    return sum(len(str(value)) + 1 for value in each.column.values) <= LONGEST_LIST
