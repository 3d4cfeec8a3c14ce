"""Types of expressions, from the declared types of columns; the planner checks them again when it binds a query."""

import datetime as dt
from collections.abc import Mapping

from discreet.catalog.catalog import NUMERIC, ColumnType
from discreet.plan import logical

_OF_PYTHON: dict[type, ColumnType] = {
    bool: ColumnType.BOOLEAN,
    int: ColumnType.INTEGER,
    float: ColumnType.REAL,
    str: ColumnType.TEXT,
    dt.date: ColumnType.DATE,
    dt.datetime: ColumnType.TIMESTAMP,
}


def type_of(node: logical.Expression, columns: Mapping[str, ColumnType]) -> ColumnType:
    """The type of an expression over columns of known types."""
    match node:
        case logical.ColumnRef(name):
            return columns[name]
        case logical.Literal(value):
            return _OF_PYTHON[type(value)]
        case logical.Cast(_, kind):
            return kind
        case logical.Combine():
            return ColumnType.REAL
        case logical.Bin() | logical.DatePart():
            return ColumnType.INTEGER
        case logical.Truncate(operand, _):
            return type_of(operand, columns)
        case logical.Case(branches, otherwise):
            values = [value for _, value in branches] + ([] if otherwise is None else [otherwise])
            return _common([type_of(value, columns) for value in values])
    return ColumnType.BOOLEAN


def feature_type(measure: logical.Measure | logical.UnitExtreme, columns: Mapping[str, ColumnType]) -> ColumnType:
    """The type of a feature of a unit."""
    match measure:
        case logical.Count() | logical.CountDistinct() | logical.CountDistinctUnits():
            return ColumnType.INTEGER
        case logical.UnitExtreme(operand, _):
            return type_of(operand, columns)
        case logical.Sum(operand, _, grid) if grid in (None, 1):
            return type_of(operand, columns)
    return ColumnType.REAL


def _common(kinds: list[ColumnType]) -> ColumnType:
    """The type of values of several types: numbers are reals beside reals, and text beside dates is read as dates."""
    if len(set(kinds)) == 1:
        return kinds[0]
    if all(kind in NUMERIC for kind in kinds):
        return ColumnType.REAL
    return next((kind for kind in kinds if kind is not ColumnType.TEXT), ColumnType.TEXT)
