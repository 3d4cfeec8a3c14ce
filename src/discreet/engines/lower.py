"""Our own small SQL emitter: a pushdown becomes SQL text, through one set of templates per engine.

Every operator is total: no cell can raise an error, and a result that is no number is missing. Clamping is by CASE,
because LEAST and GREATEST ignore NULL. Names and constants are always quoted here, never taken as text.

Arithmetic is the same on every engine because no step of it can leave what a double holds: factors and divisors are
brought within `reading.LARGEST_REAL` first, and sums of numbers that small stay far from the end.
"""

import datetime as dt
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

from discreet.catalog import ColumnType, Value
from discreet.engines import binning, reading
from discreet.engines.dialect import Dialect, Stored
from discreet.engines.tallying import ByUnit, Tally
from discreet.errors import UnsupportedError
from discreet.plan import Scalar
from discreet.pushdown import (
    Apply,
    Constant,
    CountRows,
    CountUnits,
    CountValues,
    Integers,
    Keys,
    MissingUnits,
    Operator,
    Pushdown,
    Read,
    Scan,
    SumSteps,
    Term,
)
from discreet.unit import Caps

LONGEST_TERM = 50_000
SMALL_STEPS = 2**22
ORDINAL = "discreet_key"
WHOLE = "discreet_whole"
GROUP = "discreet_group"
FIRST = "discreet_first"
GROUP_RANK = "discreet_group_rank"
ROW_HASH = "discreet_row_hash"
ROW_NUMBER = "discreet_row_number"
ROW_RANK = "discreet_row_rank"
STEPS = "discreet_steps"
TIED = "discreet_tied"
_COMPARISONS: Mapping[Operator, str] = {"eq": "=", "ne": "<>", "lt": "<", "le": "<=", "gt": ">", "ge": ">="}
_LOGIC: Mapping[Operator, str] = {"and": "({0} AND {1})", "or": "({0} OR {1})", "not": "(NOT {0})"}
_SUMS: Mapping[Operator, str] = {"add": "({0} + {1})", "subtract": "({0} - {1})"}
_PRODUCTS: tuple[Operator, ...] = ("multiply", "divide")
_FINE = (ColumnType.REAL, ColumnType.TIMESTAMP)
_COARSE = 2.0**20
_COARSE_UP_TO = 2.0**43


@dataclass(frozen=True)
class Place:
    """Where rows are read: a relation, how it stores its columns, and the key that orders the rows of a unit."""

    relation: str
    stored: Mapping[str, Stored]
    key: int


def literal(value: Scalar | Value, dialect: Dialect) -> str:
    """A constant of any type."""
    match value:
        case None:
            return "NULL"
        case bool():
            return "(1 = 1)" if value else "(1 = 0)"  # a bare TRUE may be a column
        case int():
            return f"({value})" if value < 0 else str(value)
        case float():
            return dialect.real(value)
        case dt.datetime():
            return dialect.timestamp.format(dialect.text(value.isoformat(sep=" ")))
        case dt.date():
            return dialect.date.format(dialect.text(value.isoformat()))
        case str():
            return dialect.text(value)
    raise TypeError(type(value).__name__)


def term(node: Term, dialect: Dialect) -> str:
    """A term over columns that have been read already, under their own names; what is no number is missing."""
    if isinstance(node, Constant) and node.type is ColumnType.REAL:
        return dialect.real(float(node.value))  # type: ignore[arg-type]
    return _factor(node, dialect) if node.type is ColumnType.REAL else _raw(node, dialect)


def _factor(node: Term, dialect: Dialect) -> str:
    """A real within the limits: columns and casts of text keep to them already, results of arithmetic may not."""
    raw = _raw(node, dialect)
    if not isinstance(node, Apply) or node.operator == "to_real":
        return raw
    return _limited(raw, dialect)


def _limited(raw: str, dialect: Dialect) -> str:
    largest, flushing = dialect.real(reading.LARGEST_REAL), dialect.real(reading.FLUSHING)
    return dialect.limited.format(f"({raw} + {flushing} - {flushing})", largest)


def _raw(node: Term, dialect: Dialect) -> str:
    """A term whose outermost sums may still be beyond the limits: they are brought back where that matters."""
    match node:
        case Read(column, _):
            return dialect.quoted(column)
        case Constant(value, ColumnType.REAL):
            return _real_constant(float(value), dialect)  # type: ignore[arg-type]
        case Constant(value, _):
            return literal(value, dialect)
        case Apply("in", arguments):
            operand, *values = (term(argument, dialect) for argument in arguments)
            return f"({operand} IN ({', '.join(values)}))"
        case Apply("bin", (operand, *edges)):
            return _binned(operand, [each.value for each in edges if isinstance(each, Constant)], dialect)
        case Apply(operator, arguments) if operator in _SUMS:
            return _short(_SUMS[operator].format(*(_raw(each, dialect) for each in arguments)))
        case Apply(operator, arguments) if operator in _PRODUCTS:
            product = "({0} * {1})" if operator == "multiply" else dialect.quotient
            return _short(product.format(*(_factor(each, dialect) for each in arguments)))
        case Apply(operator, arguments):
            return _applied(operator, node.type, arguments, dialect)
    raise TypeError(type(node).__name__)


def _applied(operator: Operator, kind: ColumnType, arguments: tuple[Term, ...], dialect: Dialect) -> str:
    parts = [term(each, dialect) for each in arguments]
    if operator in _COMPARISONS:
        return f"({parts[0]} {_COMPARISONS[operator]} {parts[1]})"
    if operator in _LOGIC:
        return _LOGIC[operator].format(*parts)
    if operator == "missing":
        return f"({parts[0]} IS NULL)"
    return _short(dialect.reads[Stored(arguments[0].type), kind].format(parts[0]))


def _binned(operand: Term, edges: Sequence[Scalar], dialect: Dialect) -> str:
    """How many of the constants are at most the operand, which stands once in the text unless it is a column."""
    value, is_few = term(operand, dialect), isinstance(operand, Read) and len(edges) <= dialect.few_edges
    if dialect.search is not None and not is_few:
        return dialect.search(value, [binning.spelled(edge) for edge in edges], operand.type)
    constants = [literal(edge, dialect) for edge in edges]
    return binning.tree(value, constants) if is_few else binning.tree_of_named(value, constants)


def _real_constant(value: float, dialect: Dialect) -> str:
    """A constant in arithmetic, within the limits of reals; beyond them it is missing, as a cell would be."""
    flushed = value + reading.FLUSHING - reading.FLUSHING
    if abs(flushed) < reading.LARGEST_REAL:
        return dialect.real(flushed)
    return f"NULLIF({dialect.real(0.0)}, {dialect.real(0.0)})"


def _short(sql: str) -> str:
    """Text that may stand twice in what is built on it."""
    if len(sql) > LONGEST_TERM:
        raise UnsupportedError(
            "an expression that is too long for SQL",
            because="casts within casts repeat what they stand on",
            instead="a shorter expression, or a column prepared by the owner",
        )
    return sql


def scanned(scan: Scan, place: Place, dialect: Dialect) -> str:
    """The rows of a source that have a unit and are in the slice: only needed columns, each by a total read."""
    columns = ", ".join(
        f"{dialect.reads[place.stored[read.column], read.type].format(name)} AS {name}"
        for read in _laid_out(scan, dialect)
        for name in (dialect.quoted(read.column),)
    )
    rows = f"SELECT {columns or '1 AS discreet_row'} FROM {place.relation}"
    named = scan.unit if scan.missing_units is MissingUnits.DROP else ()
    conditions = [f"{dialect.quoted(name)} IS NOT NULL" for name in named]
    conditions += [] if scan.within is None else [term(scan.within, dialect)]
    return f"SELECT * FROM ({rows}) AS scanned WHERE {' AND '.join(conditions)}" if conditions else rows


def capped(scan: Scan, place: Place, dialect: Dialect, stored: Mapping[SumSteps, str] | None = None) -> str:
    """At most `max_rows` rows of each unit, chosen by a keyed hash of the row's own columns with a total tie-break.

    What is kept of one unit depends on its own rows and the key alone; rows that tie in every column are the same.
    Steps that are to be stored stand before the columns that they are made from.
    """
    rows = scanned(scan, place, dialect)
    columns = [f"{stored_steps(node, dialect)} AS {name}" for node, name in (stored or {}).items()]
    columns += [dialect.quoted(read.column) for read in _laid_out(scan, dialect)]
    if scan.max_rows is None:
        return f"SELECT {', '.join(columns)} FROM ({rows}) AS rows" if stored else rows
    if dialect.ranks_by_hash and _seldom_tie(scan):
        return _capped_by_hash(scan, place.key, rows, columns, dialect)
    unit = ", ".join(owner(scan, dialect))
    rank = f"row_number() OVER (PARTITION BY {unit}{_own_order(scan, place.key, dialect)}) AS {ROW_RANK}"
    first = f"{_own_hash(scan, place.key, dialect)} AS {ROW_HASH}, " if dialect.keeps_rows_whole else ""
    ranked = f"SELECT {first}*, {rank} FROM ({rows}) AS rows"
    return f"SELECT {', '.join(columns)} FROM ({ranked}) AS ranked WHERE {ROW_RANK} <= {scan.max_rows}"


def _seldom_tie(scan: Scan) -> bool:
    """Whether the rows of a unit seldom share a hash, and the unit is one column that is never missing."""
    is_simple = len(scan.unit) == 1 and scan.missing_units is MissingUnits.DROP and not scan.portable
    return is_simple and any(read.type in _FINE and read.column not in scan.unit for read in scan.columns)


def _capped_by_hash(scan: Scan, key: int, rows: str, columns: list[str], dialect: Dialect) -> str:
    """The same rows, sorted by the hash alone: rows are compared only where they tie for the last places.

    Every row whose hash is among the first is kept at first, ties included, so no choice is left to the engine; among
    them are the first rows by hash and columns. Only units that have too many so far are ranked again, by both.
    """
    unit, most = owner(scan, dialect)[0], scan.max_rows
    own = f"WINDOW own AS (PARTITION BY {unit} ORDER BY {_own_hash(scan, key, dialect)})"
    ranks = f"rank() OVER own AS {ROW_RANK}, row_number() OVER own AS {ROW_NUMBER}"
    ranked = f"SELECT * FROM (SELECT *, {ranks} FROM ({rows}) AS rows {own}) AS ranked WHERE {ROW_RANK} <= {most}"
    tied = f"SELECT DISTINCT {unit} FROM {FIRST} WHERE {ROW_NUMBER} > {most}"
    names = ", ".join(dialect.quoted(read.column) for read in scan.columns)
    again = f"row_number() OVER (PARTITION BY {unit}{_own_order(scan, key, dialect)}) AS {ROW_RANK}"
    compared = f"SELECT {names}, {again} FROM {FIRST} SEMI JOIN {TIED} USING ({unit})"
    return (
        f"WITH {FIRST} AS MATERIALIZED ({ranked}), {TIED} AS MATERIALIZED ({tied}) SELECT {', '.join(columns)} FROM ("
        f"SELECT {names} FROM {FIRST} ANTI JOIN {TIED} USING ({unit}) "
        f"UNION ALL SELECT {names} FROM ({compared}) AS compared WHERE {ROW_RANK} <= {most}) AS kept"
    )


def _laid_out(scan: Scan, dialect: Dialect) -> tuple[Read, ...]:
    """The columns in the order in which they are kept: where rows are whole, text stands behind all numbers."""
    if not dialect.keeps_rows_whole:
        return scan.columns
    return tuple(sorted(scan.columns, key=lambda read: read.type is ColumnType.TEXT))


def storable(question: Pushdown) -> dict[SumSteps, str]:
    """The steps that a question sums, each with the name of the column that may hold them."""
    nodes = dict.fromkeys(uncentred(m) for m in question.measures if isinstance(m, SumSteps))
    return {node: f"{STEPS}{i}" for i, node in enumerate(nodes)}


def uncentred(node: SumSteps) -> SumSteps:
    """The same steps, whatever centre they are summed around."""
    return replace(node, centre=0)


def owner(scan: Scan, dialect: Dialect) -> tuple[str, ...]:
    """Whose a row is: the columns of the unit, all missing where one of them is, so that such rows are one unit."""
    columns = tuple(dialect.quoted(name) for name in scan.unit)
    if len(columns) < 2 or scan.missing_units is MissingUnits.DROP:
        return columns
    whole = " AND ".join(f"{column} IS NOT NULL" for column in columns)
    return tuple(f"CASE WHEN {whole} THEN {column} END" for column in columns)


def _own_order(scan: Scan, key: int, dialect: Dialect) -> str:
    """A total order of one unit's rows; where only the unit is read, its rows are all the same and need none."""
    columns = tuple(dialect.quoted(read.column) for read in scan.columns)
    others = tuple(column for column in columns if column not in owner(scan, dialect))
    order = ", ".join((_own_hash(scan, key, dialect), *_last(others)))
    return f" ORDER BY {order}" if others else dialect.unordered


def _own_hash(scan: Scan, key: int, dialect: Dialect) -> str:
    return keyed({dialect.quoted(read.column): read.type for read in scan.columns}, key, scan, dialect)


def _last(columns: Iterable[str]) -> tuple[str, ...]:
    """Engines differ in where NULL stands in an order."""
    return tuple(f"{column} NULLS LAST" for column in columns)


def keyed(columns: Mapping[str, ColumnType], key: int, scan: Scan, dialect: Dialect) -> str:
    """The hash that orders the rows or the groups of a unit: the engine's own, or one that all engines share."""
    if not scan.portable:
        return dialect.keyed_hash(columns, key)
    parts = [dialect.text(str(key)), *(spelled(column, kind, dialect) for column, kind in columns.items())]
    separator = dialect.text("|")
    return dialect.md5.format(f" || {separator} || ".join(parts))


def spelled(column: str, kind: ColumnType, dialect: Dialect) -> str:
    """A value as text, the same on every engine; reals coarsely, because engines spell them differently.

    Values of one spelling tie in the hash, and ties are broken by the values themselves.
    """
    match kind:
        case ColumnType.TEXT:
            text = dialect.md5.format(column)  # texts of many megabytes must not meet in one
        case ColumnType.REAL:
            whole = dialect.bigint.format(f"floor({column} * {dialect.real(_COARSE)})")
            up_to = dialect.real(_COARSE_UP_TO)
            text = f"CASE WHEN {column} > -{up_to} AND {column} < {up_to} THEN {dialect.varchar.format(whole)} END"
        case ColumnType.TIMESTAMP:
            text = dialect.varchar.format(dialect.micros.format(column))
        case ColumnType.INTEGER | ColumnType.DATE:
            text = dialect.varchar.format(column)
        case _:
            text = f"CASE WHEN {column} THEN {dialect.text('t')} WHEN NOT {column} THEN {dialect.text('f')} END"
    return f"coalesce({text}, {dialect.text('~')})"


def aggregated(
    question: Pushdown, rows: str, keys: str, key: int, dialect: Dialect, stored: Mapping[SumSteps, str] | None = None
) -> str:
    """The table of integers: one row for each public key in order, zeros where a key has no rows."""
    tally = ByUnit() if _is_told_by_unit(question, dialect) else Tally()
    parts = [measure(m, question.scan, dialect, stored or {}, tally) for m in question.measures]
    measures = [f"{part} AS m{i}" for i, part in enumerate(parts)]
    names = [f"m{i}" for i in range(len(measures))]
    where = "" if question.predicate is None else f" WHERE {term(question.predicate, dialect)}"
    if not question.keys.columns:
        grouped = within_groups(question.scan, question.caps, f"SELECT * FROM {rows}{where}", key, dialect)
        return f"SELECT {', '.join(measures)} FROM ({grouped}) AS kept"
    if question.caps.max_groups is None and question.caps.max_rows_per_group is None:
        return _grouped_then_joined(question, f"FROM {rows}{where}", keys, (measures, names), dialect, tally)
    return _joined_then_capped(question, f"FROM {rows}", keys, key, (measures, names), dialect)


def _grouped_then_joined(
    question: Pushdown, source: str, keys: str, measures: tuple[list[str], list[str]], dialect: Dialect, tally: Tally
) -> str:
    terms = {f"{GROUP}{i}": term(t, dialect) for i, t in enumerate(question.keys.columns)}
    source, groups = tally.source(source, terms, owner(question.scan, dialect))
    columns = [f"{group} AS {name}" for name, group in groups.items()]
    grouped = f"SELECT {', '.join([*columns, *measures[0]])} {source} GROUP BY {', '.join(groups)}"
    match = _matches(question, [f"grouped.{GROUP}{i}" for i in range(len(groups))], dialect)
    zeros = ", ".join(f"coalesce(grouped.{name}, 0)" for name in measures[1])
    return f"SELECT {zeros} FROM {keys} AS keys LEFT JOIN ({grouped}) AS grouped ON {match} ORDER BY keys.{ORDINAL}"


def _joined_then_capped(
    question: Pushdown, source: str, keys: str, key: int, measures: tuple[list[str], list[str]], dialect: Dialect
) -> str:
    groups = ", ".join(f"{term(t, dialect)} AS {GROUP}{i}" for i, t in enumerate(question.keys.columns))
    predicate = "" if question.predicate is None else f" WHERE {term(question.predicate, dialect)}"
    match = _matches(question, [f"rows.{GROUP}{i}" for i in range(len(question.keys.columns))], dialect)
    joined = (
        f"SELECT rows.*, {', '.join(f'keys.{name}' for name in numbered(question.keys))} "
        f"FROM (SELECT *, {groups} {source}{predicate}) AS rows JOIN {keys} AS keys ON {match}"
    )
    kept = within_groups(question.scan, question.caps, joined, key, dialect, numbered(question.keys)[-1:])
    grouped = f"SELECT {', '.join([ORDINAL, *measures[0]])} FROM ({kept}) AS kept GROUP BY {ORDINAL}"
    zeros = ", ".join(f"coalesce(grouped.{name}, 0)" for name in measures[1])
    return (
        f"SELECT {zeros} FROM {keys} AS keys LEFT JOIN ({grouped}) AS grouped "
        f"ON keys.{ORDINAL} = grouped.{ORDINAL} ORDER BY keys.{ORDINAL}"
    )


def numbered(keys: Keys) -> tuple[str, ...]:
    """The columns of a table of keys that hold numbers: of each key, and of the group that it is a part of."""
    return (ORDINAL, WHOLE) if keys.inner else (ORDINAL,)


def within_groups(scan: Scan, caps: Caps, rows: str, key: int, dialect: Dialect, group: tuple[str, ...] = ()) -> str:
    """Of each unit, at most so many groups and so many rows in each, chosen by keyed hashes of its own rows."""
    unit = owner(scan, dialect)
    if caps.max_rows_per_group is not None:
        within = ", ".join((*unit, *group))
        rank = f"row_number() OVER (PARTITION BY {within}{_own_order(scan, key, dialect)})"
        rows = _ranked(rows, rank, ROW_RANK, caps.max_rows_per_group)
    if caps.max_groups is not None and group:
        order = ", ".join((_group_hash(scan, unit, group, key, dialect), *group))
        rank = f"dense_rank() OVER (PARTITION BY {', '.join(unit)} ORDER BY {order})"
        rows = _ranked(rows, rank, GROUP_RANK, caps.max_groups)
    return rows


def _ranked(rows: str, rank: str, name: str, most: int) -> str:
    """The rows of the first ranks; one rank at a time, because engines prune early only where it stands alone."""
    return f"SELECT * FROM (SELECT *, {rank} AS {name} FROM ({rows}) AS joined) AS ranked WHERE {name} <= {most}"


def _group_hash(scan: Scan, unit: tuple[str, ...], group: tuple[str, ...], key: int, dialect: Dialect) -> str:
    types = {read.column: read.type for read in scan.columns}
    columns = dict(zip(unit, (types[name] for name in scan.unit), strict=True))
    return keyed(columns | dict.fromkeys(group, ColumnType.INTEGER), key, scan, dialect)


def _is_told_by_unit(question: Pushdown, dialect: Dialect) -> bool:
    caps, measures = question.caps, question.measures
    return (
        dialect.groups_by_unit
        and bool(question.scan.unit and question.keys.columns)
        and caps.max_groups is None
        and caps.max_rows_per_group is None
        and any(isinstance(each, CountUnits) for each in measures)
        and not any(isinstance(each, CountValues) for each in measures)
    )


def measure(
    node: Integers, scan: Scan, dialect: Dialect, stored: Mapping[SumSteps, str], tally: Tally | None = None
) -> str:
    """One aggregate that is a whole number, whatever the cells hold."""
    tally = tally or Tally()
    match node:
        case CountRows(None):
            return tally.counted("*")
        case CountRows(operand) if operand is not None:
            return tally.counted(_present(operand, dialect, stored))
        case CountUnits():
            return tally.units(_unit(scan, dialect)) if scan.unit else tally.counted("*")
        case CountValues(operand, domain):
            values, among = term(operand, dialect), ", ".join(literal(value, dialect) for value in domain)
            return f"count(DISTINCT CASE WHEN {values} IN ({among}) THEN {values} END)"
        case SumSteps():
            whole = stored.get(uncentred(node)) or stored_steps(uncentred(node), dialect)
            total = f"coalesce({tally.summed(dialect.small_sum if is_small(node) else dialect.large_sum, whole)}, 0)"
            if not node.centre:
                return total
            centre = dialect.whole.format(node.centre)
            return dialect.centred.format(dialect.whole.format(total), centre, tally.counted(whole))
    raise TypeError(type(node).__name__)


def _present(operand: Term, dialect: Dialect, stored: Mapping[SumSteps, str]) -> str:
    """Something that is missing exactly where the operand is: its stored steps, which are quicker to count."""
    for node, name in stored.items():
        if node.operand == operand and node.missing is None:
            return name
    return term(operand, dialect)


def is_small(node: SumSteps) -> bool:
    """Whether no table can make the sum of such steps leave 64 bits."""
    return max(-node.low, node.high) <= SMALL_STEPS


def stored_steps(node: SumSteps, dialect: Dialect) -> str:
    """Steps in the narrowest type that engines sum quickly and without overflow."""
    return (dialect.small_step if is_small(node) else dialect.large_step).format(steps(node, dialect))


def steps(node: SumSteps, dialect: Dialect) -> str:
    """A value in steps of its grid, rounded half up and clamped as a whole number."""
    value = term(node.operand, dialect)
    is_whole = node.operand.type is ColumnType.INTEGER and node.grid == 1
    rounded = value if is_whole else _rounded(value, node.grid, dialect)
    kept = value if is_whole else dialect.bigint.format(rounded)
    low, high = node.low, node.high
    whole = f"CASE WHEN {rounded} < {low} THEN {low} WHEN {rounded} > {high} THEN {high} ELSE {kept} END"
    return whole if node.missing is None else f"coalesce({whole}, {node.missing})"


def _rounded(value: str, grid: Fraction, dialect: Dialect) -> str:
    per_step = 1 / Fraction(grid)
    if not 1 / reading.LARGEST_REAL < per_step < reading.LARGEST_REAL:
        raise UnsupportedError(
            "a grid beyond the limits of reals",
            because=f"a step lies between {1 / reading.LARGEST_REAL} and {reading.LARGEST_REAL}",
            instead="grid=0.01",
        )
    return f"floor({value} * {dialect.real(float(per_step))} + {dialect.real(0.5)})"


def _unit(scan: Scan, dialect: Dialect) -> str:
    columns = owner(scan, dialect)
    if len(columns) == 1 and scan.missing_units is MissingUnits.DROP:
        return columns[0]
    return dialect.record.format(", ".join(columns))


def _matches(question: Pushdown, groups: list[str], dialect: Dialect) -> str:
    return " AND ".join(
        dialect.same(f"keys.k{i}", group, column.type)
        if any(row[i] is None for row in question.keys.rows)
        else f"keys.k{i} = {group}"
        for i, (group, column) in enumerate(zip(groups, question.keys.columns, strict=True))
    )
