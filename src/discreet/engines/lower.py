"""Our own small SQL emitter: a pushdown becomes SQL text, through one set of templates per engine.

Every operator is total: no cell can raise an error, and a result that is no number is missing. Clamping is by CASE,
because LEAST and GREATEST ignore NULL. Names and constants are always quoted here, never taken as text.
"""

import datetime as dt
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction

from discreet.catalog import ColumnType, Value
from discreet.errors import UnsupportedError
from discreet.plan import Scalar
from discreet.pushdown import (
    Apply,
    Constant,
    CountRows,
    CountUnits,
    CountValues,
    Integers,
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
_RAW_ARGUMENTS: Mapping[Operator, int] = {"add": 2, "subtract": 2, "multiply": 2, "divide": 1, "to_integer": 1}
ORDINAL = "discreet_key"
GROUP = "discreet_group"
GROUP_RANK = "discreet_group_rank"
ROW_RANK = "discreet_row_rank"
STEPS = "discreet_steps"


@dataclass(frozen=True)
class Dialect:
    """The templates of one engine."""

    name: str
    reads: Mapping[ColumnType, str]
    operators: Mapping[Operator, str]
    finite: str
    real: Callable[[float], str]
    keyed_hash: Callable[[tuple[str, ...], int], str]
    whole: str
    whole_sum: str
    round_to_steps: str


def quoted(name: str) -> str:
    """A name as an identifier."""
    return '"' + name.replace('"', '""') + '"'


def text(value: str) -> str:
    """A text constant."""
    return "'" + value.replace("'", "''") + "'"


def literal(value: Scalar | Value, dialect: Dialect) -> str:
    """A constant of any type."""
    match value:
        case None:
            return "NULL"
        case bool():
            return "TRUE" if value else "FALSE"
        case int():
            return f"({value})" if value < 0 else str(value)
        case float():
            return dialect.real(value)
        case dt.datetime():
            return f"TIMESTAMP {text(value.isoformat(sep=' '))}"
        case dt.date():
            return f"DATE {text(value.isoformat())}"
        case str():
            return text(value)
    raise TypeError(type(value).__name__)


def term(node: Term, dialect: Dialect) -> str:
    """A term over columns that have been read already, under their own names; what is no number is missing."""
    raw = _raw(node, dialect)
    return dialect.finite.format(raw) if isinstance(node, Apply) and node.type is ColumnType.REAL else raw


def _raw(node: Term, dialect: Dialect) -> str:
    """A term in which arithmetic may still be NaN or infinite.

    Sums, differences, products and quotients of what is not finite are not finite either, so one test at the end finds
    it; only a divisor is tested before, because one over infinity is zero. Testing at every step would double the text.
    """
    match node:
        case Read(column, _):
            return quoted(column)
        case Constant(value, kind):
            return literal(float(value) if kind is ColumnType.REAL else value, dialect)  # type: ignore[arg-type]
        case Apply("in", arguments):
            operand, *values = (term(argument, dialect) for argument in arguments)
            return f"({operand} IN ({', '.join(values)}))"
        case Apply(operator, arguments):
            raw = _RAW_ARGUMENTS.get(operator, 0)
            parts = [_raw(each, dialect) for each in arguments[:raw]] + [
                term(each, dialect) for each in arguments[raw:]
            ]
            sql = dialect.operators[operator].format(*parts)
            return sql if node.type is ColumnType.BOOLEAN else _short(sql)
    raise TypeError(type(node).__name__)


def _short(sql: str) -> str:
    """Text that may stand twice in what is built on it."""
    if len(sql) > LONGEST_TERM:
        raise UnsupportedError(
            "an expression that is too long for SQL",
            because="divisions within divisions and casts within casts repeat what they stand on",
            instead="a shorter expression, or a column prepared by the owner",
        )
    return sql


def scanned(scan: Scan, source: str, dialect: Dialect) -> str:
    """The rows of a source, only the columns that are needed, each by a total cast; rows of no unit dropped."""
    columns = ", ".join(
        f"{dialect.reads[read.type].format(quoted(read.column))} AS {quoted(read.column)}" for read in scan.columns
    )
    rows = f"SELECT {columns or '1 AS discreet_row'} FROM {source}"
    if not scan.unit or scan.missing_units is MissingUnits.ONE_UNIT:
        return rows
    present = " AND ".join(f"{quoted(name)} IS NOT NULL" for name in scan.unit)
    return f"SELECT * FROM ({rows}) AS scanned WHERE {present}"


def capped(scan: Scan, source: str, key: int, dialect: Dialect, stored: Mapping[SumSteps, str] | None = None) -> str:
    """At most `max_rows` rows of each unit, chosen by a keyed hash of the row's own columns with a total tie-break.

    What is kept of one unit depends on its own rows and the key alone; rows that tie in every column are the same.
    Steps that are to be stored stand beside the columns that they are made from.
    """
    rows = scanned(scan, source, dialect)
    columns = [quoted(read.column) for read in scan.columns]
    columns += [f"{steps(node, dialect)} AS {name}" for node, name in (stored or {}).items()]
    if scan.max_rows is None:
        return f"SELECT {', '.join(columns)} FROM ({rows}) AS rows" if stored else rows
    rank = f"row_number() OVER (PARTITION BY {', '.join(owner(scan))}{_own_order(scan, key, dialect)}) AS {ROW_RANK}"
    ranked = f"SELECT *, {rank} FROM ({rows}) AS rows"
    return f"SELECT {', '.join(columns)} FROM ({ranked}) AS ranked WHERE {ROW_RANK} <= {scan.max_rows}"


def storable(question: Pushdown) -> dict[SumSteps, str]:
    """The steps that a question sums, each with the name of the column that may hold them."""
    nodes = dict.fromkeys(uncentred(m) for m in question.measures if isinstance(m, SumSteps))
    return {node: f"{STEPS}{i}" for i, node in enumerate(nodes)}


def uncentred(node: SumSteps) -> SumSteps:
    """The same steps, whatever centre they are summed around."""
    return replace(node, centre=0)


def owner(scan: Scan) -> tuple[str, ...]:
    """Whose a row is: the columns of the unit, all missing where one of them is, so that such rows are one unit."""
    columns = tuple(quoted(name) for name in scan.unit)
    if len(columns) < 2 or scan.missing_units is MissingUnits.DROP:
        return columns
    whole = " AND ".join(f"{column} IS NOT NULL" for column in columns)
    return tuple(f"CASE WHEN {whole} THEN {column} END" for column in columns)


def _own_order(scan: Scan, key: int, dialect: Dialect) -> str:
    """A total order of one unit's rows; where only the unit is read, its rows are all the same and need none."""
    columns = tuple(quoted(read.column) for read in scan.columns)
    others = tuple(column for column in columns if column not in owner(scan))
    return f" ORDER BY {', '.join((dialect.keyed_hash(columns, key), *others))}" if others else ""


def aggregated(
    question: Pushdown, rows: str, keys: str, key: int, dialect: Dialect, stored: Mapping[SumSteps, str] | None = None
) -> str:
    """The table of integers: one row for each public key in order, zeros where a key has no rows."""
    parts = [measure(m, question.scan, dialect, stored or {}) for m in question.measures]
    measures = [f"{part} AS m{i}" for i, part in enumerate(parts)]
    names = [f"m{i}" for i in range(len(measures))]
    where = "" if question.predicate is None else f" WHERE {term(question.predicate, dialect)}"
    if not question.keys.columns:
        grouped = within_groups(question.scan, question.caps, f"SELECT * FROM {rows}{where}", key, dialect)
        return f"SELECT {', '.join(measures)} FROM ({grouped}) AS kept"
    if question.caps.max_groups is None and question.caps.max_rows_per_group is None:
        return _grouped_then_joined(question, f"FROM {rows}{where}", keys, (measures, names), dialect)
    return _joined_then_capped(question, f"FROM {rows}", keys, key, (measures, names), dialect)


def _grouped_then_joined(
    question: Pushdown, source: str, keys: str, measures: tuple[list[str], list[str]], dialect: Dialect
) -> str:
    groups = [f"{term(t, dialect)} AS {GROUP}{i}" for i, t in enumerate(question.keys.columns)]
    by = ", ".join(f"{GROUP}{i}" for i in range(len(groups)))
    grouped = f"SELECT {', '.join([*groups, *measures[0]])} {source} GROUP BY {by}"
    match = _matches(question, [f"grouped.{GROUP}{i}" for i in range(len(groups))])
    zeros = ", ".join(f"coalesce(grouped.{name}, 0)" for name in measures[1])
    return f"SELECT {zeros} FROM {keys} AS keys LEFT JOIN ({grouped}) AS grouped ON {match} ORDER BY keys.{ORDINAL}"


def _joined_then_capped(
    question: Pushdown, source: str, keys: str, key: int, measures: tuple[list[str], list[str]], dialect: Dialect
) -> str:
    groups = ", ".join(f"{term(t, dialect)} AS {GROUP}{i}" for i, t in enumerate(question.keys.columns))
    predicate = "" if question.predicate is None else f" WHERE {term(question.predicate, dialect)}"
    match = _matches(question, [f"rows.{GROUP}{i}" for i in range(len(question.keys.columns))])
    joined = (
        f"SELECT rows.*, keys.{ORDINAL} FROM (SELECT *, {groups} {source}{predicate}) AS rows "
        f"JOIN {keys} AS keys ON {match}"
    )
    kept = within_groups(question.scan, question.caps, joined, key, dialect, (ORDINAL,))
    grouped = f"SELECT {', '.join([ORDINAL, *measures[0]])} FROM ({kept}) AS kept GROUP BY {ORDINAL}"
    zeros = ", ".join(f"coalesce(grouped.{name}, 0)" for name in measures[1])
    return (
        f"SELECT {zeros} FROM {keys} AS keys LEFT JOIN ({grouped}) AS grouped "
        f"ON keys.{ORDINAL} = grouped.{ORDINAL} ORDER BY keys.{ORDINAL}"
    )


def within_groups(scan: Scan, caps: Caps, rows: str, key: int, dialect: Dialect, group: tuple[str, ...] = ()) -> str:
    """Of each unit, at most so many groups and so many rows in each, chosen by keyed hashes of its own rows."""
    unit = owner(scan)
    ranks, kept = [], []
    if caps.max_groups is not None and group:
        order = ", ".join((dialect.keyed_hash((*unit, *group), key), *group))
        ranks.append(f"dense_rank() OVER (PARTITION BY {', '.join(unit)} ORDER BY {order}) AS {GROUP_RANK}")
        kept.append(f"{GROUP_RANK} <= {caps.max_groups}")
    if caps.max_rows_per_group is not None:
        within = ", ".join((*unit, *group))
        ranks.append(f"row_number() OVER (PARTITION BY {within}{_own_order(scan, key, dialect)}) AS {ROW_RANK}")
        kept.append(f"{ROW_RANK} <= {caps.max_rows_per_group}")
    if not ranks:
        return rows
    return f"SELECT * FROM (SELECT *, {', '.join(ranks)} FROM ({rows}) AS joined) AS ranked WHERE {' AND '.join(kept)}"


def measure(node: Integers, scan: Scan, dialect: Dialect, stored: Mapping[SumSteps, str]) -> str:
    """One aggregate that is a whole number, whatever the cells hold."""
    match node:
        case CountRows(None):
            return "count(*)"
        case CountRows(operand) if operand is not None:
            return f"count({_present(operand, dialect, stored)})"
        case CountUnits():
            return f"count(DISTINCT {_unit(scan)})" if scan.unit else "count(*)"
        case CountValues(operand, domain):
            values, among = term(operand, dialect), ", ".join(literal(value, dialect) for value in domain)
            return f"count(DISTINCT CASE WHEN {values} IN ({among}) THEN {values} END)"
        case SumSteps():
            whole = stored.get(uncentred(node), steps(uncentred(node), dialect))
            total = f"coalesce({dialect.whole_sum.format(whole)}, 0)"
            return f"{total} - {dialect.whole.format(node.centre)} * count({whole})" if node.centre else total
    raise TypeError(type(node).__name__)


def _present(operand: Term, dialect: Dialect, stored: Mapping[SumSteps, str]) -> str:
    """Something that is missing exactly where the operand is: its stored steps, which are quicker to count."""
    for node, name in stored.items():
        if node.operand == operand and node.missing is None:
            return name
    return term(operand, dialect)


def steps(node: SumSteps, dialect: Dialect) -> str:
    """A value in steps of its grid: clamped, rounded half up, and clamped again as a whole number."""
    value = term(node.operand, dialect)
    if node.operand.type is not ColumnType.INTEGER or node.grid != 1:
        value = _rounded(value, node, dialect)
    whole = _clamp(value, str(node.low), str(node.high))
    return whole if node.missing is None else f"coalesce({whole}, {node.missing})"


def _rounded(value: str, node: SumSteps, dialect: Dialect) -> str:
    low, high = dialect.real(float(node.low * node.grid)), dialect.real(float(node.high * node.grid))
    return dialect.round_to_steps.format(
        value=_clamp(value, low, high), per_step=dialect.real(float(1 / Fraction(node.grid)))
    )


def _clamp(value: str, low: str, high: str) -> str:
    return f"CASE WHEN {value} < {low} THEN {low} WHEN {value} > {high} THEN {high} ELSE {value} END"


def _unit(scan: Scan) -> str:
    columns = owner(scan)
    if len(columns) == 1 and scan.missing_units is MissingUnits.DROP:
        return columns[0]
    return f"row({', '.join(columns)})"


def _matches(question: Pushdown, groups: list[str]) -> str:
    return " AND ".join(
        f"keys.k{i} {'IS NOT DISTINCT FROM' if any(row[i] is None for row in question.keys.rows) else '='} {group}"
        for i, group in enumerate(groups)
    )


def finite(value: float) -> str:
    """A double as SQL reads it back bit for bit; only finite ones are ever emitted."""
    if not math.isfinite(value):
        raise ValueError("not finite")
    return repr(value)
