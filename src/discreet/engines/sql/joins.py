"""The SQL of joined relations: tables read by total casts, joined by equality, or gathered into one row for each unit.

Every column has one name in the whole relation, so nothing has to say from which side it comes. Equality is the
engine's own, over values that were read already: a missing value equals nothing.
"""

from collections.abc import Mapping
from fractions import Fraction

from discreet.catalog.catalog import ColumnType
from discreet.engines.sql import expressions
from discreet.engines.sql.dialect import Dialect, Reads, StorageType
from discreet.plan.physical import (
    Average,
    Base,
    CountKinds,
    CountRows,
    Extreme,
    Feature,
    JoinedRows,
    MissingUnits,
    PerUnit,
    Read,
    Rows,
    SumSteps,
    leaves,
    reads_of,
)

EXACT = 2**53

Places = Mapping[str, tuple[str, Mapping[str, StorageType], Reads]]
"""By table: the relation to read, how it stores its columns, and how these are read."""


def relation(base: Base, places: Places, dialect: Dialect) -> str:
    """A query that gives the rows of a base, each column under its name and in its declared type."""
    match base:
        case Rows():
            return _rows(base, places, dialect)
        case JoinedRows():
            return _join_sql(base, places, dialect)
        case PerUnit():
            return _per_unit_sql(base, places, dialect)


def columns_of(base: Base) -> dict[str, dict[str, ColumnType]]:
    """The columns of each table that a base reads, with their declared types, its slices included."""
    found: dict[str, dict[str, ColumnType]] = {}
    for leaf in leaves(base):
        found.setdefault(leaf.table, {}).update({read.column: read.type for read in _read(leaf).values()})
    return found


def _read(leaf: Rows) -> dict[str, Read]:
    """What is read of a table, by the name under which it is read first: a slice looks at the table's own columns."""
    own = {each.name: each.read for each in leaf.columns}
    return own if leaf.within is None else {read.column: read for read in [*own.values(), *reads_of(leaf.within)]}


def _rows(leaf: Rows, places: Places, dialect: Dialect) -> str:
    source, stored, reads = places[leaf.table]
    columns = ", ".join(
        f"{reads[stored[read.column], read.type].format(dialect.identifier(read.column))} AS {dialect.identifier(name)}"
        for name, read in _read(leaf).items()
    )
    rows = f"SELECT {columns or '1 AS discreet_row'} FROM {source}"
    if leaf.within is None:
        return rows
    renamed = ", ".join(f"{dialect.identifier(e.read.column)} AS {dialect.identifier(e.name)}" for e in leaf.columns)
    kept = f"SELECT {renamed or '1 AS discreet_row'} FROM ({rows}) AS sliced"
    return f"{kept} WHERE {expressions.term(leaf.within, dialect)}"


def _join_sql(base: JoinedRows, places: Places, dialect: Dialect) -> str:
    left, right = (relation(side, places, dialect) for side in (base.left, base.right))
    on = " AND ".join(f"{expressions.term(term, dialect)} = {dialect.identifier(name)}" for term, name in base.on)
    join = "LEFT JOIN" if base.keeps_unmatched else "JOIN"
    return f"SELECT * FROM ({left}) AS one {join} ({right}) AS other ON {on}"


def _per_unit_sql(base: PerUnit, places: Places, dialect: Dialect) -> str:
    rows = relation(base.source, places, dialect)
    conditions = [] if base.predicate is None else [expressions.term(base.predicate, dialect)]
    if base.missing_units is MissingUnits.DROP:
        conditions += [f"{dialect.identifier(name)} IS NOT NULL" for name in base.unit]
    unit = _owner(base, dialect)
    own = [f"{sql} AS {dialect.identifier(name)}" for name, sql in zip(base.unit, unit, strict=True)]
    features = [f"{_feature(feature, dialect)} AS {dialect.identifier(feature.name)}" for feature in base.features]
    where = f" WHERE {' AND '.join(conditions)}" if conditions else ""
    return f"SELECT {', '.join([*own, *features])} FROM ({rows}) AS rows{where} GROUP BY {', '.join(unit)}"


def _owner(base: PerUnit, dialect: Dialect) -> tuple[str, ...]:
    """Whose a row is: where one column of the unit is missing, all are, so that such rows are one unit."""
    columns = tuple(dialect.identifier(name) for name in base.unit)
    if len(columns) < 2 or base.missing_units is MissingUnits.DROP:
        return columns
    whole = " AND ".join(f"{column} IS NOT NULL" for column in columns)
    return tuple(f"CASE WHEN {whole} THEN {column} END" for column in columns)


def _feature(feature: Feature, dialect: Dialect) -> str:
    match feature.of:
        case CountRows():
            return "count(*)"
        case CountKinds(operand):
            return f"count(DISTINCT {expressions.term(operand, dialect)})"
        case Extreme(operand, is_largest):
            return f"{'max' if is_largest else 'min'}({expressions.term(operand, dialect)})"
        case SumSteps() as steps:
            total = f"coalesce({_total(steps, dialect)}, 0)"
            if feature.type is ColumnType.INTEGER:
                return dialect.bigint.format(total)
            return expressions.limit_real(_in_units(total, steps, dialect), dialect)
        case Average(steps):
            present = f"NULLIF(count({expressions.stored_steps(steps, dialect)}), 0)"
            mean = f"({_in_units(_total(steps, dialect), steps, dialect)} / {_real(present, dialect)})"
            return expressions.limit_real(mean, dialect)


def _total(steps: SumSteps, dialect: Dialect) -> str:
    """The steps of a unit, which are few enough for 64 bits however many rows it has."""
    return dialect.small_sum.format(expressions.stored_steps(steps, dialect))


def _in_units(total: str, steps: SumSteps, dialect: Dialect) -> str:
    """A whole number of steps as the double nearest to what it stands for, by one product and one quotient.

    Where these are so large that a product could leave what a double holds, by one factor, no larger than reals may be:
    a whole number of 64 bits times that is far from the end.
    """
    grid = Fraction(steps.grid)
    scaled = _real(total, dialect)
    if max(grid.numerator, grid.denominator) > EXACT:
        expressions.steps(steps, dialect)
        return f"({scaled} * {dialect.real(float(grid))})"
    if grid.numerator != 1:
        scaled = f"({scaled} * {dialect.real(float(grid.numerator))})"
    return scaled if grid.denominator == 1 else f"({scaled} / {dialect.real(float(grid.denominator))})"


def _real(whole: str, dialect: Dialect) -> str:
    return dialect.reads[StorageType.INTEGER, ColumnType.REAL].format(whole)
