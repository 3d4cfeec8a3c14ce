"""Fluent calls that build plans. A frame knows no connection and no catalog; a session gives it meaning.

visits = dp.table("visits")
query = visits.where(visits.age >= 40).group_by("ward").agg(n=dp.count(), cost=dp.mean("cost", bounds=(0, 5_000)))
"""

import datetime as dt
import itertools
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import Any, NoReturn

from discreet import plan
from discreet.catalog import UNSTRUCTURED, ColumnType, Value, python_value
from discreet.errors import (
    NameNotFoundError,
    ParameterError,
    TypeMismatchError,
    UnsupportedError,
    short_traceback,
    suggestion,
)
from discreet.exact import Number, positive, rational, whole
from discreet.plan import DEEPEST, MOST_NODES

_LARGEST_CONSTANT = 10**300
_VERBS = {
    "aggregate": "agg(n=dp.count())",
    "assign": "derive(tens=table.age / 10)",
    "count": "agg(n=dp.count())",
    "filter": "where(table.age >= 40)",
    "groupby": 'group_by("ward")',
    "mean": 'agg(cost=dp.mean("cost", bounds=(0, 5_000)))',
    "select": "agg(n=dp.count())",
    "sum": 'agg(cost=dp.sum("cost", bounds=(0, 5_000)))',
    "with_columns": "derive(tens=table.age / 10)",
}


def _no_operator(symbol: str, instead: str) -> Callable[..., NoReturn]:
    def refuse(*_: object) -> NoReturn:
        raise UnsupportedError(
            f"{symbol} in an expression", because="it does not mean the same on every engine", instead=instead
        )

    return refuse


@dataclass(frozen=True, eq=False)
class Expr:
    """A value computed from one row: compare it, combine it with &, | and ~, test it, cast it."""

    node: plan.Expression
    depth: int = 1
    nodes: int = 1

    def __eq__(self, other: object) -> "Expr":  # type: ignore[override]
        return _binary(lambda a, b: plan.Compare("==", a, b), self, other)

    def __ne__(self, other: object) -> "Expr":  # type: ignore[override]
        return _binary(lambda a, b: plan.Compare("!=", a, b), self, other)

    def __lt__(self, other: object) -> "Expr":
        return _binary(lambda a, b: plan.Compare("<", a, b), self, other)

    def __le__(self, other: object) -> "Expr":
        return _binary(lambda a, b: plan.Compare("<=", a, b), self, other)

    def __gt__(self, other: object) -> "Expr":
        return _binary(lambda a, b: plan.Compare(">", a, b), self, other)

    def __ge__(self, other: object) -> "Expr":
        return _binary(lambda a, b: plan.Compare(">=", a, b), self, other)

    def __and__(self, other: object) -> "Expr":
        return _binary(plan.Both, self, other)

    def __rand__(self, other: object) -> "Expr":
        return _binary(plan.Both, other, self)

    def __or__(self, other: object) -> "Expr":
        return _binary(plan.Either, self, other)

    def __ror__(self, other: object) -> "Expr":
        return _binary(plan.Either, other, self)

    def __invert__(self) -> "Expr":
        return _unary(plan.Not, self)

    def __add__(self, other: object) -> "Expr":
        return _binary(lambda a, b: plan.Combine("+", a, b), self, other)

    def __radd__(self, other: object) -> "Expr":
        return _binary(lambda a, b: plan.Combine("+", a, b), other, self)

    def __sub__(self, other: object) -> "Expr":
        return _binary(lambda a, b: plan.Combine("-", a, b), self, other)

    def __rsub__(self, other: object) -> "Expr":
        return _binary(lambda a, b: plan.Combine("-", a, b), other, self)

    def __mul__(self, other: object) -> "Expr":
        return _binary(lambda a, b: plan.Combine("*", a, b), self, other)

    def __rmul__(self, other: object) -> "Expr":
        return _binary(lambda a, b: plan.Combine("*", a, b), other, self)

    def __truediv__(self, other: object) -> "Expr":
        return _binary(lambda a, b: plan.Combine("/", a, b), self, other)

    def __rtruediv__(self, other: object) -> "Expr":
        return _binary(lambda a, b: plan.Combine("/", a, b), other, self)

    def __neg__(self) -> "Expr":
        return 0 - self

    __mod__ = __rmod__ = _no_operator("%", "a column that the owner prepared")
    __floordiv__ = __rfloordiv__ = _no_operator("//", '(table.age / 10).cast("integer"), which rounds')
    __pow__ = __rpow__ = _no_operator("**", "table.age * table.age")
    __xor__ = __rxor__ = _no_operator("^", "(a | b) & ~(a & b)")
    __abs__ = _no_operator("abs()", "a column that the owner prepared")

    @short_traceback
    def is_in(self, values: Iterable[Any]) -> "Expr":
        """Whether the value is one of some constants."""
        if isinstance(values, str | bytes) or not isinstance(values, Iterable):
            raise TypeMismatchError(
                f"is_in of type {type(values).__name__}", because="it takes a list", instead='is_in(["A", "B"])'
            )
        constants = tuple(_scalar(value) for value in itertools.islice(values, MOST_NODES + 1))
        return _sized(Expr(plan.IsIn(self.node, constants), self.depth + 1, self.nodes + 1 + len(constants)))

    def is_missing(self) -> "Expr":
        """Whether the value is missing."""
        return _unary(plan.IsMissing, self)

    def is_present(self) -> "Expr":
        """Whether the value is there."""
        return ~self.is_missing()

    def between(self, low: object, high: object) -> "Expr":
        """Whether the value lies in [low, high], both ends included."""
        return (self >= low) & (self <= high)

    def cast(self, kind: str) -> "Expr":
        """A total cast to 'integer', 'real', 'text', 'boolean', 'date' or 'timestamp'."""
        castable = [str(t) for t in ColumnType if t not in UNSTRUCTURED]
        if kind not in castable:
            raise TypeMismatchError(
                f"cast to {kind!r}",
                because="values are cast to a type that has one normal form on every engine",
                instead=" or ".join(f"cast({name!r})" for name in castable),
            )
        return _unary(lambda node: plan.Cast(node, ColumnType(kind)), self)

    def __hash__(self) -> int:
        return hash(self.node)

    def __bool__(self) -> NoReturn:
        raise TypeMismatchError(
            "an expression used as true or false",
            because="it has no value here; 'and', 'or', 'not', 'in', 'if' and chained comparisons ask for one",
            instead="(a > 1) & (b < 2), (a > 1) | (b < 2), ~(a > 1), a.is_in([1, 2]), a.between(1, 2)",
        )

    def __contains__(self, _: object) -> bool:
        return bool(self)

    def __iter__(self) -> NoReturn:
        raise TypeMismatchError(
            "a loop over an expression", because="it has no rows here", instead="table.agg(n=dp.count())"
        )

    def __call__(self, *_: object, **__: object) -> NoReturn:
        name = self.node.name if isinstance(self.node, plan.Column) else "an expression"
        raise UnsupportedError(
            f"{name}(...)",
            because="it is read as a column, which cannot be called; a table has where, derive, group_by and agg",
            instead=f"table.{_VERBS.get(name, 'where(...)')}",
        )


@dataclass(frozen=True)
class Aggregation:
    """An aggregate that `agg` will name."""

    measure: plan.Measure
    weight: Fraction = Fraction(1)


@dataclass(frozen=True)
class Query:
    """A question, ready for `session.explain` and `session.release`."""

    plan: plan.Aggregate


class Frame:
    """A table of the catalog, narrowed and extended; it holds no data."""

    def __init__(self, relation: plan.Relation) -> None:
        self._relation = relation

    def __getitem__(self, name: str) -> Expr:
        if not isinstance(name, str):
            raise ParameterError(
                f"table[{name!r}]",
                because="a column is named by text",
                instead='table["age"]; filter with table.where(...)',
            )
        return Expr(plan.Column(name))

    def __getattr__(self, name: str) -> Expr:
        if name.startswith("_"):
            raise AttributeError(name)
        return Expr(plan.Column(name))

    @short_traceback
    def where(self, *predicates: Expr) -> "Frame":
        """Keep the rows for which every predicate is true."""
        relation = self._relation
        for predicate in predicates:
            relation = plan.Where(relation, _expression(predicate, "where(table.age >= 40)"))
        return Frame(relation)

    @short_traceback
    def derive(self, **columns: Expr) -> "Frame":
        """Add or replace columns one after the other, each computed from its own row."""
        relation = self._relation
        for name, value in columns.items():
            relation = plan.Derive(relation, name, _expression(value, f"derive({name}=table.age / 10)"))
        return Frame(relation)

    @short_traceback
    def group_by(
        self,
        *columns: str,
        keys: Mapping[str, Sequence[Value]] | Any | None = None,
        max_groups: int | None = None,
        max_rows_per_group: int | None = None,
    ) -> "Grouped":
        """Group by columns whose keys are public: declared in the catalog, given here, or rows of a public table."""
        if not columns or not all(isinstance(column, str) for column in columns) or len(set(columns)) != len(columns):
            raise ParameterError(
                "group_by without column names, each once",
                because="groups are named by text, not by expressions",
                instead='group_by("ward"), or derive(tens=...) and group_by("tens", keys=...)',
            )
        values, rows = _keys(columns, keys)
        grouping = plan.Grouping(
            columns,
            values,
            rows,
            None if max_groups is None else whole(max_groups, "max_groups"),
            None if max_rows_per_group is None else whole(max_rows_per_group, "max_rows_per_group"),
        )
        return Grouped(self._relation, grouping)

    @short_traceback
    def agg(self, **aggregations: Aggregation) -> Query:
        """Ask for named aggregates over all rows."""
        return Query(plan.Aggregate(self._relation, _outputs(aggregations)))


class Grouped:
    """A frame with a grouping, waiting for its aggregates."""

    def __init__(self, relation: plan.Relation, grouping: plan.Grouping) -> None:
        self._relation = relation
        self._grouping = grouping

    @short_traceback
    def agg(self, **aggregations: Aggregation) -> Query:
        """Ask for named aggregates for each key."""
        outputs = _outputs(aggregations)
        for output in outputs:
            if output.name in self._grouping.columns:
                raise ParameterError(
                    f"agg({output.name}=...)",
                    because="the name is taken by a grouping column",
                    instead=f"agg({output.name}_total=...)",
                )
        return Query(plan.Aggregate(self._relation, outputs, self._grouping))


@short_traceback
def table(name: str) -> Frame:
    """A table of the catalog, by name."""
    if not isinstance(name, str):
        raise ParameterError(
            f"a table of type {type(name).__name__}",
            because="a table is named by text; its rows come from the session",
            instead='dp.table("visits")',
        )
    return Frame(plan.Table(name))


@short_traceback
def count(*, weight: Number = 1) -> Aggregation:
    """How many rows."""
    return Aggregation(plan.Count(), positive(weight, "weight"))


@short_traceback
def count_units(*, weight: Number = 1) -> Aggregation:
    """How many different privacy units."""
    return Aggregation(plan.CountUnits(), positive(weight, "weight"))


@short_traceback
def count_distinct(column: str | Expr, *, domain: Sequence[Value] | None = None, weight: Number = 1) -> Aggregation:
    """How many values of a public domain occur (given here, or the keys of the column in the catalog)."""
    values = None if domain is None else _listed(domain, "domain", 'domain=["A", "B"]')
    return Aggregation(plan.CountDistinct(_operand(column), values), positive(weight, "weight"))


@short_traceback
def sum(  # noqa: A001 - dp.sum is the name that people type
    column: str | Expr,
    *,
    bounds: tuple[Number, Number] | None = None,
    grid: Number | None = None,
    weight: Number = 1,
) -> Aggregation:
    """The sum of a value clamped to bounds (given here, or declared in the catalog)."""
    measure = plan.Sum(_operand(column), checked_bounds(bounds), _grid(grid))
    return Aggregation(measure, positive(weight, "weight"))


@short_traceback
def mean(
    column: str | Expr,
    *,
    bounds: tuple[Number, Number] | None = None,
    grid: Number | None = None,
    weight: Number = 1,
) -> Aggregation:
    """The mean of a value clamped to bounds (given here, or declared in the catalog)."""
    measure = plan.Mean(_operand(column), checked_bounds(bounds), _grid(grid))
    return Aggregation(measure, positive(weight, "weight"))


def checked_bounds(bounds: object) -> tuple[Fraction, Fraction] | None:
    """Two finite numbers in order, or nothing."""
    if bounds is None:
        return None
    if not isinstance(bounds, tuple | list) or len(bounds) != 2:
        raise ParameterError(
            "bounds that are not a pair", because="bounds are a lower and an upper number", instead="bounds=(0, 100)"
        )
    low, high = rational(bounds[0], "bounds"), rational(bounds[1], "bounds")
    if low > high:
        raise ParameterError(
            f"bounds=({bounds[0]!r}, {bounds[1]!r})",
            because="the lower bound is above the upper one",
            instead=f"bounds=({bounds[1]!r}, {bounds[0]!r})",
        )
    return low, high


def _grid(grid: Number | None) -> Fraction | None:
    return None if grid is None else positive(grid, "grid")


def _outputs(aggregations: Mapping[str, Aggregation]) -> tuple[plan.Output, ...]:
    if not aggregations:
        raise ParameterError("agg() of nothing", because="a query asks for something", instead="agg(n=dp.count())")
    for name, value in aggregations.items():
        if not isinstance(value, Aggregation):
            raise TypeMismatchError(
                f"agg({name}=...) of type {type(value).__name__}",
                because="only aggregates leave a table; a row or a column never does",
                instead=f'agg({name}=dp.count()), dp.sum("cost", bounds=(0, 100)), dp.mean(...), dp.count_units()',
            )
    return tuple(plan.Output(name, value.measure, value.weight) for name, value in aggregations.items())


def _keys(
    columns: tuple[str, ...], keys: object
) -> tuple[tuple[tuple[Value, ...] | None, ...], tuple[tuple[Value, ...], ...] | None]:
    if keys is None:
        return (None,) * len(columns), None
    if isinstance(keys, Mapping):
        stray = [name for name in keys if name not in columns]
        if stray:
            raise ParameterError(
                f"keys for {stray[0]!r}",
                because="it is not among the grouping columns",
                instead=f"group_by({', '.join(map(repr, (*columns, stray[0])))}, keys=...)",
            )
        lists = {name: _listed(keys[name], f"keys of {name!r}", f'keys={{"{name}": ["A", "B"]}}') for name in keys}
        return tuple(lists.get(name) for name in columns), None
    return (None,) * len(columns), _table_rows(columns, keys)


def _listed(values: object, what: str, example: str) -> tuple[Value, ...]:
    if isinstance(values, str | bytes | set | frozenset) or not isinstance(values, Iterable):
        raise ParameterError(
            f"{what} of type {type(values).__name__}", because="they are a list, in the order wanted", instead=example
        )
    return tuple(_key(value) for value in itertools.islice(values, plan.MOST_KEYS + 1))


def _key(value: object) -> Value:
    """A key as plain Python; the NaN of pandas and numpy is the missing key."""
    plain: Any = python_value(value)
    return None if isinstance(plain, float) and plain != plain else plain  # noqa: PLR0124 - only NaN differs from itself


def _table_rows(columns: tuple[str, ...], keys: Any) -> tuple[tuple[Value, ...], ...]:
    """The rows of a public table (Arrow, pandas, Polars), for the grouping columns alone, each once."""
    frame = keys.to_arrow() if hasattr(keys, "to_arrow") else keys
    is_pandas = hasattr(frame, "itertuples")
    if not is_pandas and not hasattr(frame, "column_names"):
        raise ParameterError(
            f"keys of type {type(keys).__name__}",
            because="keys are a dict of lists, or a public table (Arrow, pandas, Polars)",
            instead=f'keys={{"{columns[0]}": ["A", "B"]}}',
        )
    names = list(frame.columns if is_pandas else frame.column_names)
    for name in columns:
        if names.count(name) != 1:
            raise NameNotFoundError(
                f"column {name!r} of a table of keys",
                because="the table does not have it exactly once",
                instead=f"a table with {suggestion(name, map(str, names))!r} renamed to {name!r}",
            )
    cells = [_pandas_cells(frame[name]) if is_pandas else frame.column(name).to_pylist() for name in columns]
    return tuple(dict.fromkeys(tuple(map(_key, row)) for row in zip(*cells, strict=True)))


def _pandas_cells(column: Any) -> list[Any]:
    """Cells of a pandas column, which holds whole numbers as floats where one is missing."""
    return [int(cell) if isinstance(cell, float) and cell.is_integer() else cell for cell in column]


def _operand(column: str | Expr) -> plan.Expression:
    if isinstance(column, str):
        return plan.Column(column)
    if isinstance(column, Expr):
        return column.node
    raise TypeMismatchError(
        f"a column of type {type(column).__name__}",
        because="an aggregate takes a column name or an expression",
        instead='dp.sum("cost", bounds=(0, 100))',
    )


def _expression(value: object, example: str) -> plan.Expression:
    if isinstance(value, Expr):
        return value.node
    raise TypeMismatchError(
        f"an expression of type {type(value).__name__}",
        because="conditions and derived columns are built from the table's columns",
        instead=example,
    )


def _scalar(value: object) -> plan.Scalar:
    plain = python_value(value)
    if isinstance(plain, float | Decimal | Fraction):
        exact = rational(plain, "a constant")
        if abs(exact) <= _LARGEST_CONSTANT:
            return float(exact)
    if isinstance(plain, str | int | dt.date):
        return plain
    raise TypeMismatchError(
        f"a constant of type {type(value).__name__}",
        because="constants are numbers of ordinary size, text, booleans, dates and timestamps",
        instead="table.age >= 40, or table.age.is_missing() for missing values",
    )


def _wrapped(value: object) -> Expr:
    return value if isinstance(value, Expr) else Expr(plan.Literal(_scalar(value)))


def _binary(build: Any, left: object, right: object) -> Expr:
    a, b = _wrapped(left), _wrapped(right)
    return _sized(Expr(build(a.node, b.node), max(a.depth, b.depth) + 1, a.nodes + b.nodes + 1))


def _unary(build: Any, operand: Expr) -> Expr:
    return _sized(Expr(build(operand.node), operand.depth + 1, operand.nodes + 1))


def _sized(expr: Expr) -> Expr:
    if expr.depth > DEEPEST or expr.nodes > MOST_NODES:
        raise ParameterError(
            f"an expression of depth {expr.depth} and {expr.nodes} parts",
            because=f"expressions stay within depth {DEEPEST} and {MOST_NODES} parts",
            instead="is_in([...]) for long lists of alternatives, or a column prepared by the owner",
        )
    return expr
