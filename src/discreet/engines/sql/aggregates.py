"""The table of integers that an engine answers with: keys, groups and the aggregates that are whole numbers."""

from collections.abc import Mapping

from discreet.engines.sql import contribution_bounding, expressions
from discreet.engines.sql.counting import CountByRow, CountByUnit
from discreet.engines.sql.dialect import Dialect
from discreet.plan.physical import (
    CountRows,
    CountUnits,
    CountValues,
    Integers,
    Keys,
    MissingUnits,
    Pushdown,
    Scan,
    SumProducts,
    SumSteps,
    Term,
)

ORDINAL = "discreet_key"
WHOLE = "discreet_whole"
GROUP = "discreet_group"
NO_FACTORS: Mapping[SumSteps, str] = {}


def aggregate_sql(
    question: Pushdown, rows: str, keys: str, key: int, dialect: Dialect, stored: Mapping[SumSteps, str] | None = None
) -> str:
    """The table of integers: one row for each public key in order, zeros where a key has no rows."""
    tally = CountByUnit() if is_grouped_by_unit(question, dialect) else CountByRow()
    factors = expressions.factors(question)
    rows = _with_factors(rows, factors, stored or {}, dialect)
    parts = [measure(m, question.scan, dialect, stored or {}, tally, factors) for m in question.measures]
    measures = [f"{part} AS m{i}" for i, part in enumerate(parts)]
    names = [f"m{i}" for i in range(len(measures))]
    where = "" if question.predicate is None else f" WHERE {expressions.term(question.predicate, dialect)}"
    if not question.keys.columns:
        grouped = contribution_bounding.within_groups(
            question.scan, question.caps, f"SELECT * FROM {rows}{where}", key, dialect
        )
        return f"SELECT {', '.join(measures)} FROM ({grouped}) AS kept"
    if question.caps.max_groups is None and question.caps.max_rows_per_group is None:
        return _group_then_join(question, f"FROM {rows}{where}", keys, (measures, names), dialect, tally)
    return _join_then_bound_groups(question, f"FROM {rows}", keys, key, (measures, names), dialect)


def _with_factors(rows: str, factors: Mapping[SumSteps, str], stored: Mapping[SumSteps, str], dialect: Dialect) -> str:
    """The rows with the numbers that are multiplied, so that each of them is computed once for a row."""
    if not factors:
        return rows
    columns = (f"{expressions.factor(node, stored, dialect)} AS {name}" for node, name in factors.items())
    source = rows if rows.endswith(" AS rows") else f"{rows} AS rows"
    return f"(SELECT rows.*, {', '.join(columns)} FROM {source}) AS rows"


def _group_then_join(
    question: Pushdown,
    source: str,
    keys: str,
    measures: tuple[list[str], list[str]],
    dialect: Dialect,
    tally: CountByRow,
) -> str:
    terms = {f"{GROUP}{i}": expressions.term(t, dialect) for i, t in enumerate(question.keys.columns)}
    source, groups = tally.source(source, terms, contribution_bounding.owner(question.scan, dialect))
    columns = [f"{group} AS {name}" for name, group in groups.items()]
    grouped = f"SELECT {', '.join([*columns, *measures[0]])} {source} GROUP BY {', '.join(groups)}"
    match = _matches(question, [f"grouped.{GROUP}{i}" for i in range(len(groups))], dialect)
    zeros = ", ".join(f"coalesce(grouped.{name}, 0)" for name in measures[1])
    return f"SELECT {zeros} FROM {keys} AS keys LEFT JOIN ({grouped}) AS grouped ON {match} ORDER BY keys.{ORDINAL}"


def _join_then_bound_groups(
    question: Pushdown, source: str, keys: str, key: int, measures: tuple[list[str], list[str]], dialect: Dialect
) -> str:
    groups = ", ".join(f"{expressions.term(t, dialect)} AS {GROUP}{i}" for i, t in enumerate(question.keys.columns))
    predicate = "" if question.predicate is None else f" WHERE {expressions.term(question.predicate, dialect)}"
    match = _matches(question, [f"rows.{GROUP}{i}" for i in range(len(question.keys.columns))], dialect)
    joined = (
        f"SELECT rows.*, {', '.join(f'keys.{name}' for name in ordinal_columns(question.keys))} "
        f"FROM (SELECT *, {groups} {source}{predicate}) AS rows JOIN {keys} AS keys ON {match}"
    )
    kept = contribution_bounding.within_groups(
        question.scan, question.caps, joined, key, dialect, ordinal_columns(question.keys)[-1:]
    )
    grouped = f"SELECT {', '.join([ORDINAL, *measures[0]])} FROM ({kept}) AS kept GROUP BY {ORDINAL}"
    zeros = ", ".join(f"coalesce(grouped.{name}, 0)" for name in measures[1])
    return (
        f"SELECT {zeros} FROM {keys} AS keys LEFT JOIN ({grouped}) AS grouped "
        f"ON keys.{ORDINAL} = grouped.{ORDINAL} ORDER BY keys.{ORDINAL}"
    )


def ordinal_columns(keys: Keys) -> tuple[str, ...]:
    """The columns of a table of keys that hold numbers: of each key, and of the group that it is a part of."""
    return (ORDINAL, WHOLE) if keys.inner else (ORDINAL,)


def is_grouped_by_unit(question: Pushdown, dialect: Dialect) -> bool:
    """Whether the query goes through one row for each unit and group."""
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
    node: Integers,
    scan: Scan,
    dialect: Dialect,
    stored: Mapping[SumSteps, str],
    tally: CountByRow | None = None,
    factors: Mapping[SumSteps, str] = NO_FACTORS,
) -> str:
    """One aggregate that is a whole number, for any cells; `factors` are columns of steps less their centre."""
    tally = tally or CountByRow()
    match node:
        case CountRows(None):
            return tally.count("*")
        case CountRows(operand) if operand is not None:
            return tally.count(_present(operand, dialect, stored))
        case CountUnits():
            return tally.units(_unit(scan, dialect)) if scan.unit else tally.count("*")
        case CountValues(operand, domain):
            values, among = (
                expressions.term(operand, dialect),
                ", ".join(expressions.literal(value, dialect) for value in domain),
            )
            return f"count(DISTINCT CASE WHEN {values} IN ({among}) THEN {values} END)"
        case SumProducts():
            sides = [factors.get(side) or expressions.factor(side, stored, dialect) for side in node.sides]
            total = dialect.small_sum if expressions.is_small(node) else dialect.large_sum
            return f"coalesce({tally.sum(total, f'({sides[0]} * {sides[1]})')}, 0)"
        case SumSteps() if node in factors:
            total = dialect.small_sum if expressions.is_small(SumProducts(node, node)) else dialect.large_sum
            return f"coalesce({tally.sum(total, factors[node])}, 0)"
        case SumSteps():
            whole = stored.get(expressions.without_centre(node)) or expressions.stored_steps(
                expressions.without_centre(node), dialect
            )
            return _sum_of_steps(node, whole, dialect, tally)
    raise TypeError(type(node).__name__)


def _sum_of_steps(node: SumSteps, whole: str, dialect: Dialect, tally: CountByRow) -> str:
    """The sum of steps less their centre, to their power: a sum of powers is that of a power of each."""
    total = dialect.small_sum if expressions.is_small(node) else dialect.large_sum
    if node.power > 1:
        from_centre = f"({dialect.bigint.format(whole)} - {expressions.literal(node.centre, dialect)})"
        return f"coalesce({tally.sum(total, '(' + ' * '.join([from_centre] * node.power) + ')')}, 0)"
    summed = f"coalesce({tally.sum(total, whole)}, 0)"
    if not node.centre:
        return summed
    centre = dialect.whole.format(node.centre)
    return dialect.centred.format(dialect.whole.format(summed), centre, tally.count(whole))


def _present(operand: Term, dialect: Dialect, stored: Mapping[SumSteps, str]) -> str:
    """Something that is missing exactly where the operand is: its stored steps, which are quicker to count."""
    return expressions.stored_presence(operand, stored) or expressions.term(operand, dialect)


def _unit(scan: Scan, dialect: Dialect) -> str:
    columns = contribution_bounding.owner(scan, dialect)
    if len(columns) == 1 and scan.missing_units is MissingUnits.DROP:
        return columns[0]
    return dialect.record.format(", ".join(columns))


def _matches(question: Pushdown, groups: list[str], dialect: Dialect) -> str:
    return " AND ".join(
        dialect.same(f"keys.k{i}", group, column.type) if question.keys.has_missing[i] else f"keys.k{i} = {group}"
        for i, (group, column) in enumerate(zip(groups, question.keys.columns, strict=True))
    )
