"""Expressions, relations and measures of a logical plan in words, as releases and ledgers show them.

The words are for people. They name every condition, join and derived column; lists of more than 8 constants and texts
of more than 1,000 characters are shortened. The plan beside them has everything.
"""

import datetime as dt
from collections.abc import Iterator, Sequence
from fractions import Fraction

from discreet.exact.numbers import shown
from discreet.plan import logical

Lines = tuple[tuple[str, str], ...]
"""Labels and texts."""

_MOST_CONSTANTS = 8
_LONGEST = 1_000
_OPERATORS = {"==": "=", "!=": "≠"}
_PLACES: dict[logical.TextPlace, str] = {"starts": "starts with", "ends": "ends with", "contains": "contains"}
_VALUES: dict[type, str] = {
    logical.Sum: "sum",
    logical.Mean: "mean",
    logical.Variance: "variance",
    logical.Deviation: "standard deviation",
    logical.MedianMeasure: "median",
    logical.InterquartileRangeMeasure: "interquartile range",
    logical.ClippingBounds: "clipping bounds",
}


def relation(source: logical.Relation) -> Lines:
    """The rows of a query: the table, then each step in the order in which it was asked for."""
    steps: list[logical.Relation] = [source]
    while not isinstance(steps[-1], logical.TableRef):
        steps.append(steps[-1].source)
    return tuple(_step(step) for step in reversed(steps))


def expression(node: logical.Expression) -> str:
    """An expression as people write it; shortened where it is very long."""
    return _shortened(_written(node))


def measure(of: logical.Measure) -> str:
    """What an output is, without the bounds of its values."""
    match of:
        case logical.Count():
            return "number of rows"
        case logical.CountDistinctUnits():
            return "number of privacy units"
        case logical.CountDistinct(operand):
            return f"number of distinct values of {expression(operand)}, out of a public list"
        case logical.QuantileMeasure(operand, probability):
            return f"quantile {shown(probability)} of {expression(operand)}"
        case logical.AutoBoundsAggregate(inner):
            return measure(inner)
        case logical.Ranges(operand, edges, pairs):
            return (
                f"number of rows in each of {len(pairs):,} ranges of {name(operand.name)} between {len(edges):,} edges"
            )
        case logical.MomentsMeasure(columns, _, products):
            kind = "all products of two" if products == "all" else "squares"
            return f"count, sums and sums of {kind} of {', '.join(map(name, columns))}, scaled to -1 to 1"
        case logical.HierarchyCounts(levels, crossing):
            beside = f", and in each combination with {', '.join(map(name, crossing))}" if crossing else ""
            return f"number of rows in each area of {', '.join(map(name, levels))}{beside}"
        case _:
            return f"{_VALUES[type(of)]} of {expression(of.operand)}"


def clipped(bounds: tuple[Fraction, Fraction]) -> str:
    """Clipping bounds: "values clipped to 0 to 5,000"."""
    low, high = (f"{bound.numerator:,}" if bound.denominator == 1 else shown(bound) for bound in bounds)
    return f"values clipped to {low} to {high}"


def counted(number: int, noun: str) -> str:
    """A number of things: "1 key", "2 keys"."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def _step(step: logical.Relation) -> tuple[str, str]:
    match step:
        case logical.TableRef(table):
            return "table", name(table)
        case logical.Where(_, predicate):
            return "where", expression(predicate)
        case logical.Derive(_, column, value):
            return "derived", f"{name(column)} = {expression(value)}"
        case logical.Join(_, table, on, how, _, most):
            pairs = " and ".join(f"{name(own)} = {name(table)}.{name(other)}" for own, other in on)
            kept = "rows without a match are kept" if how == "left" else "rows without a match are dropped"
            bound = "" if most is None else f", at most {most:,} rows of each unit"
            return "joined with", f"{name(table)} on {pairs}; {kept}{bound}"
        case logical.GroupByUnit(_, features):
            return "one row per unit", ", ".join(f"{name(each.name)} = {_feature(each.measure)}" for each in features)


def _feature(of: logical.Measure | logical.UnitExtreme) -> str:
    if isinstance(of, logical.UnitExtreme):
        return f"{'largest' if of.is_largest else 'smallest'} {expression(of.operand)}"
    return measure(of)


def _written(node: logical.Expression) -> str:  # noqa: C901, PLR0912 - one case for each node
    match node:
        case logical.ColumnRef(column):
            return name(column)
        case logical.Literal(value):
            return _constant(value)
        case logical.Compare(operator, left, right) | logical.Combine(operator, left, right):
            return f"{_inner(left)} {_OPERATORS.get(operator, operator)} {_inner(right)}"
        case logical.Both(left, right):
            return " and ".join(_inner(each) for each in (left, right))
        case logical.Either(left, right):
            return " or ".join(_inner(each) for each in (left, right))
        case logical.Not(operand):
            return f"not {_inner(operand)}"
        case logical.IsMissing(operand):
            return f"{_inner(operand)} is missing"
        case logical.IsIn(operand, values):
            return f"{_inner(operand)} in ({constants(values)})"
        case logical.Bin(operand, edges):
            return f"bin of {_inner(operand)} by the edges ({constants(edges)})"
        case logical.Cast(operand, kind):
            return f"{_inner(operand)} as {kind}"
        case logical.Case(branches, otherwise):
            ways = [f"{_inner(value)} if {_inner(condition)}" for condition, value in branches]
            return ", ".join([*ways, f"otherwise {'missing' if otherwise is None else _inner(otherwise)}"])
        case logical.TextMatch(operand, how, text):
            return f"{_inner(operand)} {_PLACES[how]} {text!r}"
        case logical.Truncate(operand, unit):
            return f"start of the {unit} of {_inner(operand)}"
        case logical.DatePart(operand, part):
            return f"{part} of {_inner(operand)}"


def _inner(node: logical.Expression) -> str:
    is_simple = isinstance(node, logical.ColumnRef | logical.Literal)
    return _written(node) if is_simple else f"({_written(node)})"


def name(text: str) -> str:
    """A name as it is, or in quotes where it has other characters than an identifier."""
    return text if text.isidentifier() else repr(text)


def _constant(value: object) -> str:
    match value:
        case dt.datetime():
            return repr(value.isoformat(sep=" "))
        case dt.date():
            return repr(value.isoformat())
        case bool():
            return str(value).lower()
        case Fraction():
            return shown(value)
        case None:
            return "missing"
    return repr(value)


def constants(values: Sequence[object]) -> str:
    """Constants in a row; of many, the first ones and how many more there are."""

    def listed() -> Iterator[str]:
        yield from map(_constant, values[:_MOST_CONSTANTS])
        if len(values) > _MOST_CONSTANTS:
            yield f"and {len(values) - _MOST_CONSTANTS:,} more"

    return ", ".join(listed())


def _shortened(text: str) -> str:
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}... ({len(text) - _LONGEST:,} more characters)"
