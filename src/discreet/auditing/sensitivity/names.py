"""What a query names: the values that its keys, conditions, bounds and domains mention, by column; and itself.

Neighbours are made from these values, because rows that no condition keeps and no key counts would show nothing.
"""

import datetime as dt
from collections.abc import Iterator, Mapping
from typing import Any

from discreet.catalog.catalog import ColumnType, Table, Value, is_of_type
from discreet.plan.physical import (
    Apply,
    Constant,
    CountRows,
    CountUnits,
    CountValues,
    Integers,
    Pushdown,
    Read,
    SumProducts,
    SumSteps,
    Term,
)
from discreet.planner.budget.measurement_basis import terms
from discreet.planner.sensitivity.sensitivity import Drawn

MOST_VALUES = 12


def values_of(question: Pushdown, table: Table) -> dict[str, list[Any]]:
    """The values that a query names, by column, a few for each."""
    found: dict[str, dict[Any, Any]] = {}
    for column, value in _constants(question):
        fitting = _fitting(value, table.columns[column].type)
        values = found.setdefault(column, {})
        if len(values) < MOST_VALUES and (fitting is not None or value is None):
            values[repr(fitting)] = fitting
    return {column: list(values.values()) for column, values in found.items() if values}


def description(drawn: Drawn) -> str:
    """A measure in a few words."""
    parts = [f"{'' if factor == 1 else f'{factor} '}{_measure(measure)}" for factor, measure in terms(drawn)]
    return " and ".join(parts)


def _measure(measure: Integers) -> str:
    match measure:
        case CountRows(None):
            return "rows"
        case CountRows(operand):
            return f"rows with {_columns(operand)}"
        case CountUnits():
            return "units"
        case CountValues(operand):
            return f"values of {_columns(operand)}"
        case SumSteps(operand):
            return f"sum of {_columns(operand)}"
        case SumProducts(left, right):
            return f"sum of {_columns(left.operand)} times {_columns(right.operand)}"


def _columns(term: Term | None) -> str:
    return ", ".join(dict.fromkeys(repr(read.column) for read in _reads(term))) or "a constant"


def _constants(question: Pushdown) -> Iterator[tuple[str, Any]]:
    for number, term in enumerate(question.keys.columns):
        yield from _compared_constants(term)
        for read in _reads(term):
            for row in question.keys.rows:
                yield read.column, row[number]
    for condition in (question.predicate, question.scan.within):
        yield from _compared_constants(condition)
    parts = (part for m in question.measures for part in (m.sides if isinstance(m, SumProducts) else (m,)))
    for part in parts:
        operand: Term | None = getattr(part, "operand", None)
        yield from _compared_constants(operand)
        for read in _reads(operand):
            for value in _ends(part):
                yield read.column, value


def _ends(measure: Integers) -> tuple[Any, ...]:
    match measure:
        case CountValues(_, domain):
            return domain
        case SumSteps(_, grid, low, high):
            return low * grid, high * grid
    return ()


def _compared_constants(term: Term | None) -> Iterator[tuple[str, Any]]:
    """Each constant with the columns that stand beside it under one operator."""
    if not isinstance(term, Apply):
        return
    constants = [part.value for part in term.arguments if isinstance(part, Constant)]
    for read in _reads(term):
        for value in constants:
            yield read.column, value
    for part in term.arguments:
        yield from _compared_constants(part)


def _reads(term: Term | None) -> Iterator[Read]:
    if isinstance(term, Read):
        yield term
    elif isinstance(term, Apply):
        for part in term.arguments:
            yield from _reads(part)


def _fitting(value: Any, kind: ColumnType) -> Value | float:
    """A value as a cell of a type, or None where it cannot be one."""
    try:
        read = _READERS[kind](value) if kind in _READERS and value is not None else None
    except (ArithmeticError, TypeError, ValueError):
        return None
    return read if read is not None and is_of_type(read, kind) else None


_READERS: Mapping[ColumnType, Any] = {
    ColumnType.INTEGER: int,
    ColumnType.REAL: float,
    ColumnType.TEXT: str,
    ColumnType.BOOLEAN: lambda value: value if isinstance(value, bool) else None,
    ColumnType.DATE: lambda value: value if isinstance(value, dt.date) else dt.date.fromisoformat(value),
    ColumnType.TIMESTAMP: lambda value: value if isinstance(value, dt.datetime) else dt.datetime.fromisoformat(value),
}
