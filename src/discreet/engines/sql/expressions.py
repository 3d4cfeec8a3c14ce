"""Our own small SQL emitter: a pushdown becomes SQL text, through one set of templates per engine.

Every operator is total: no cell can raise an error, and a result that is no number is missing. Clamping is by CASE,
because LEAST and GREATEST ignore NULL. Names and constants are always quoted here, never taken as text.

Arithmetic is the same on every engine because no step of it can leave what a double holds: factors and divisors are
brought within `reading.LARGEST_REAL` first, and sums of numbers that small stay far from the end.
"""

import datetime as dt
import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from fractions import Fraction

from discreet.catalog.catalog import ColumnType, Value
from discreet.catalog.columns import is_plain
from discreet.engines.sql import bins, casts
from discreet.engines.sql.dialect import Dialect, StorageType
from discreet.errors import UnsupportedError
from discreet.plan.logical import Scalar
from discreet.plan.physical import (
    Apply,
    Constant,
    Integers,
    Operator,
    Pushdown,
    Read,
    SumProducts,
    SumSteps,
    Term,
    case_parts,
)

LONGEST_TERM = 50_000
SMALL_STEPS = 2**22
STEPS = "discreet_steps"
FACTOR = "discreet_factor"
_COMPARISONS: Mapping[Operator, str] = {"eq": "=", "ne": "<>", "lt": "<", "le": "<=", "gt": ">", "ge": ">="}
_LOGIC: Mapping[Operator, str] = {"and": "({0} AND {1})", "or": "({0} OR {1})", "not": "(NOT {0})"}
_SUMS: Mapping[Operator, str] = {"add": "({0} + {1})", "subtract": "({0} - {1})"}
_PRODUCTS: tuple[Operator, ...] = ("multiply", "divide")


def literal(value: Scalar | Value, dialect: Dialect) -> str:
    """A constant of any type; a value of a subclass would write SQL of its own, so it is none."""
    if not is_plain(value):
        raise TypeError(type(value).__name__)
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
    """A real within the limits: columns, casts and cases keep to them already, results of arithmetic may not."""
    raw = _raw(node, dialect)
    if not isinstance(node, Apply) or node.operator in ("to_real", "case"):
        return raw
    return limit_real(raw, dialect)


def limit_real(raw: str, dialect: Dialect) -> str:
    """A real within the limits of reals; what is beyond them is missing, and what is tiny is zero."""
    largest, flushing = dialect.real(casts.LARGEST_REAL), dialect.real(casts.FLUSHING)
    return dialect.limited.format(f"({raw} + {flushing} - {flushing})", largest)


def _raw(node: Term, dialect: Dialect) -> str:
    """A term whose outermost sums may still be beyond the limits: they are brought back where that matters."""
    match node:
        case Read(column, _):
            return dialect.identifier(column)
        case Constant(value, ColumnType.REAL):
            return _real_constant(float(value), dialect)  # type: ignore[arg-type]
        case Constant(value, _):
            return literal(value, dialect)
        case Apply("in", arguments):
            operand, *values = (term(argument, dialect) for argument in arguments)
            return f"({operand} IN ({', '.join(values)}))"
        case Apply("bin", (operand, *edges)):
            return _bin_number(operand, [each.value for each in edges if isinstance(each, Constant)], dialect)
        case Apply("case"):
            return _case(node, dialect)
        case Apply(operator, arguments) if operator in _SUMS:
            return _short(_SUMS[operator].format(*(_raw(each, dialect) for each in arguments)))
        case Apply(operator, arguments) if operator in _PRODUCTS:
            product = "({0} * {1})" if operator == "multiply" else dialect.quotient
            return _short(product.format(*(_factor(each, dialect) for each in arguments)))
        case Apply(operator, arguments):
            return _apply_operator(operator, node.type, arguments, dialect)
    raise TypeError(type(node).__name__)


def _apply_operator(operator: Operator, kind: ColumnType, arguments: tuple[Term, ...], dialect: Dialect) -> str:
    parts = [term(each, dialect) for each in arguments]
    if (operator, arguments[0].type) in dialect.functions:
        return _short(dialect.functions[operator, arguments[0].type].format(*parts, *_sizes(arguments)))
    if operator in _COMPARISONS:
        return f"({parts[0]} {_COMPARISONS[operator]} {parts[1]})"
    if operator in _LOGIC:
        return _LOGIC[operator].format(*parts)
    if operator == "missing":
        return f"({parts[0]} IS NULL)"
    return _short(dialect.reads[StorageType(arguments[0].type), kind].format(parts[0]))


def _case(node: Apply, dialect: Dialect) -> str:
    """Values in one type of the engine: a constant alone may have a narrower one, or another collation."""
    write = _factor if node.type is ColumnType.REAL else term
    branches, otherwise = case_parts(node)
    ways = [f"WHEN {term(condition, dialect)} THEN {write(value, dialect)}" for condition, value in branches]
    last = [] if otherwise is None else [f"ELSE {write(otherwise, dialect)}"]
    whole = f"(CASE {' '.join([*ways, *last])} END)"
    return {ColumnType.INTEGER: dialect.bigint, ColumnType.TEXT: dialect.varchar}.get(node.type, "{0}").format(whole)


def _sizes(arguments: tuple[Term, ...]) -> list[int]:
    """Code points and bytes of the text that a column is matched with."""
    texts = [each.value for each in arguments[1:] if isinstance(each, Constant) and isinstance(each.value, str)]
    return [size for text in texts for size in (len(text), len(text.encode()))]


def _bin_number(operand: Term, edges: Sequence[Scalar], dialect: Dialect) -> str:
    """How many of the constants are at most the operand, which stands once in the text unless it is a column."""
    value, is_few = term(operand, dialect), isinstance(operand, Read) and len(edges) <= dialect.few_edges
    if dialect.search is not None and not is_few:
        return dialect.search(value, [bins.format_edge(edge) for edge in edges], operand.type)
    constants = [literal(edge, dialect) for edge in edges]
    return bins.tree(value, constants) if is_few else bins.tree_with_alias(value, constants)


def _real_constant(value: float, dialect: Dialect) -> str:
    """A constant in arithmetic, within the limits of reals; beyond them it is missing, as a cell would be."""
    flushed = value + casts.FLUSHING - casts.FLUSHING
    if abs(flushed) < casts.LARGEST_REAL:
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


def storable(question: Pushdown) -> dict[SumSteps, str]:
    """The steps that a query sums, each with the name of the column that may hold them."""
    nodes = dict.fromkeys(without_centre(steps) for m in question.measures for steps in _sides(m))
    return {node: f"{STEPS}{i}" for i, node in enumerate(nodes)}


def _sides(measure: Integers) -> tuple[SumSteps, ...]:
    """The steps that a measure is made from."""
    return measure.sides if isinstance(measure, SumProducts) else (measure,) if isinstance(measure, SumSteps) else ()


def stored_presence(operand: Term, stored: Mapping[SumSteps, str]) -> str | None:
    """The column of stored steps that is missing exactly where an operand is, if there is one."""
    return next((name for node, name in stored.items() if node.operand == operand and node.missing is None), None)


def without_centre(node: SumSteps) -> SumSteps:
    """The same steps with the default centre and power."""
    return replace(node, centre=0, power=1)


def factors(question: Pushdown) -> dict[SumSteps, str]:
    """The steps less their centre that a query multiplies, each with the name of a column for them."""
    sides = (steps for m in question.measures if isinstance(m, SumProducts) for steps in m.sides)
    return {node: f"{FACTOR}{i}" for i, node in enumerate(dict.fromkeys(sides))}


def factor(node: SumSteps, stored: Mapping[SumSteps, str], dialect: Dialect) -> str:
    """Steps less their centre: whole numbers, in the narrowest type that holds their products as well."""
    whole = stored.get(without_centre(node)) or stored_steps(without_centre(node), dialect)
    if is_small(without_centre(node)) and is_small(SumProducts(node, node)):
        return f"({whole} - {literal(node.centre, dialect)})" if node.centre else whole
    centred = f"({dialect.bigint.format(whole)} - {literal(node.centre, dialect)})"
    return (dialect.small_step if is_small(SumProducts(node, node)) else dialect.large_step).format(centred)


def is_small(node: SumSteps | SumProducts) -> bool:
    """Whether no table can make the sum of such steps leave 64 bits."""
    if isinstance(node, SumProducts):
        return math.prod(max(side.high - side.centre, side.centre - side.low) for side in node.sides) <= SMALL_STEPS
    if node.power == 1:
        return max(-node.low, node.high) <= SMALL_STEPS
    return int(max(node.high - node.centre, node.centre - node.low) ** node.power) <= SMALL_STEPS


def stored_steps(node: SumSteps, dialect: Dialect) -> str:
    """Steps in the narrowest type that engines sum quickly and without overflow."""
    return (dialect.small_step if is_small(node) else dialect.large_step).format(steps(node, dialect))


def steps(node: SumSteps, dialect: Dialect) -> str:
    """A value in steps of its grid, rounded half up and clamped as a whole number."""
    value = term(node.operand, dialect)
    is_whole = node.operand.type is ColumnType.INTEGER and node.grid == 1
    rounded = value if is_whole else round_to_grid(value, node.grid, dialect)
    kept = value if is_whole else dialect.bigint.format(rounded)
    low, high = node.low, node.high
    whole = f"CASE WHEN {rounded} < {low} THEN {low} WHEN {rounded} > {high} THEN {high} ELSE {kept} END"
    return whole if node.missing is None else f"coalesce({whole}, {node.missing})"


def round_to_grid(value: str, grid: Fraction, dialect: Dialect) -> str:
    """A value in steps of a grid, rounded half up to a whole number that is still a real."""
    per_step = 1 / Fraction(grid)
    if not 1 / casts.LARGEST_REAL < per_step < casts.LARGEST_REAL:
        raise UnsupportedError(
            "a grid beyond the limits of reals",
            because=f"a step lies between {1 / casts.LARGEST_REAL} and {casts.LARGEST_REAL}",
            instead="grid=0.01",
        )
    return f"floor({value} * {dialect.real(float(per_step))} + {dialect.real(0.5)})"
