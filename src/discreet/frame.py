"""Fluent calls that build plans. A frame knows no connection and no catalog; a session gives it meaning.

visits = dp.table("visits")
query = visits.where(visits.age >= 40).group_by("ward").agg(n=dp.count(), cost=dp.mean("cost", bounds=(0, 5_000)))
"""

import itertools
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, NoReturn

from discreet import hints, plan
from discreet.catalog import Value, python_value
from discreet.errors import NameNotFoundError, ParameterError, TypeMismatchError, short_traceback, suggestion
from discreet.exact import Number, positive, rational, whole
from discreet.expression import Expr, written

__all__ = [
    "Aggregation",
    "Expr",
    "Frame",
    "Grouped",
    "Query",
    "checked_bounds",
    "count",
    "count_distinct",
    "count_units",
    "interquartile_range",
    "mean",
    "median",
    "sum",
    "table",
]


@dataclass(frozen=True)
class Aggregation:
    """An aggregate that `agg` will name."""

    measure: plan.Measure
    weight: Fraction = Fraction(1)


@dataclass(frozen=True)
class Query:
    """A question, ready for `session.explain` and `session.release`."""

    plan: plan.Aggregate

    def __repr__(self) -> str:
        by = f", by {', '.join(map(repr, self.plan.grouping.columns))}" if self.plan.grouping.columns else ""
        asked = ", ".join(f"{output.name}={_measured(output.measure)}" for output in self.plan.outputs)
        return f"query of {_told(self.plan.source)}{by}: {asked}"

    if not TYPE_CHECKING:  # a checker still finds names that are not there

        def __getattr__(self, name: str) -> NoReturn:
            if name.startswith("_"):
                raise AttributeError(name)
            raise hints.unknown_call("a query", name, hints.QUERY, ["plan"], "query.{}")


class Frame:
    """A table of the catalog, narrowed and extended; it holds no data."""

    def __init__(self, relation: plan.Relation) -> None:
        self._relation = relation

    def __repr__(self) -> str:
        return _told(self._relation)

    @short_traceback
    def __getitem__(self, name: str) -> Expr:
        if not isinstance(name, str):
            raise ParameterError(
                f"table[...] of type {type(name).__name__}",
                because="a column is named by text, and rows are kept by where",
                instead=f"table.where({name!r})" if isinstance(name, Expr) else 'table["age"]',
            )
        return Expr(plan.Column(name))

    def __getattr__(self, name: str) -> Expr:
        if name.startswith("_"):
            raise AttributeError(name)
        if name in hints.FRAME:
            raise hints.unknown_call("a table", name, hints.FRAME, (), "{}")
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
    def agg(self, *unnamed: object, **aggregations: Aggregation) -> Query:
        """Ask for named aggregates over all rows."""
        _refuse_unnamed(unnamed)
        return Query(plan.Aggregate(self._relation, _outputs(aggregations)))


class Grouped:
    """A frame with a grouping, waiting for its aggregates."""

    def __init__(self, relation: plan.Relation, grouping: plan.Grouping) -> None:
        self._relation = relation
        self._grouping = grouping

    @short_traceback
    def agg(self, *unnamed: object, **aggregations: Aggregation) -> Query:
        """Ask for named aggregates for each key."""
        _refuse_unnamed(unnamed)
        outputs = _outputs(aggregations)
        for output in outputs:
            if output.name in self._grouping.columns:
                raise ParameterError(
                    f"agg({output.name}=...)",
                    because="the name is taken by a grouping column",
                    instead=f"agg({output.name}_total=...)",
                )
        return Query(plan.Aggregate(self._relation, outputs, self._grouping))

    def __repr__(self) -> str:
        return f"{_told(self._relation)}, by {', '.join(map(repr, self._grouping.columns))}"

    if not TYPE_CHECKING:  # a checker still finds names that are not there

        def __getattr__(self, name: str) -> NoReturn:
            if name.startswith("_"):
                raise AttributeError(name)
            raise hints.unknown_call("a grouping", name, hints.GROUPED, ["agg"], ".{}(n=dp.count())")


def relation_of(frame: Frame) -> plan.Relation:
    """What a frame stands for; no attribute, because those are columns."""
    return frame._relation  # noqa: SLF001 - the one reader outside the class


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


@short_traceback
def median(
    column: str | Expr, *, bounds: tuple[Number, Number] | None = None, grid: Number | None = None
) -> Aggregation:
    """The median of a value clamped to bounds (given here, or declared in the catalog), for `session.smooth`."""
    return Aggregation(plan.Median(_operand(column), checked_bounds(bounds), _grid(grid)))


@short_traceback
def interquartile_range(
    column: str | Expr, *, bounds: tuple[Number, Number] | None = None, grid: Number | None = None
) -> Aggregation:
    """The distance between the quartiles of a value clamped to bounds, for `session.smooth`."""
    return Aggregation(plan.InterquartileRange(_operand(column), checked_bounds(bounds), _grid(grid)))


def checked_bounds(bounds: object) -> tuple[Fraction, Fraction] | None:
    """Two finite numbers in order, or nothing."""
    if bounds is None:
        return None
    if not isinstance(bounds, tuple | list) or len(bounds) != 2:
        raise ParameterError(
            "bounds that are not a pair", because="bounds are a lower and an upper number", instead="bounds=(0, 100)"
        )
    low, high = _bounds(bounds[0], bounds[1])
    if low > high:
        raise ParameterError(
            f"bounds=({bounds[0]!r}, {bounds[1]!r})",
            because="the lower bound is above the upper one",
            instead=f"bounds=({bounds[1]!r}, {bounds[0]!r})",
        )
    return low, high


def _bounds(low: object, high: object) -> tuple[Fraction, Fraction]:
    try:
        return rational(low, "bounds"), rational(high, "bounds")
    except ParameterError:
        shown = ", ".join(repr(bound) for bound in (low, high))
        raise ParameterError(
            f"bounds=({shown})" if len(shown) <= 80 else "bounds that are no numbers",
            because="bounds are two finite numbers of ordinary size",
            instead="bounds=(0, 100)",
        ) from None


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


def _refuse_unnamed(unnamed: tuple[object, ...]) -> None:
    if unnamed:
        named = isinstance(unnamed[0], Aggregation)
        raise ParameterError(
            "agg(...) of an aggregate without a name" if named else f"agg(...) of type {type(unnamed[0]).__name__}",
            because="every answer has a name of its own in the release",
            instead=f"agg({_suggested(unnamed[0])})",
        )


def _suggested(unnamed: object) -> str:
    """The same aggregate with a name."""
    if isinstance(unnamed, Aggregation):
        return f"{_short(unnamed.measure)}={_typed(unnamed.measure)}"
    if isinstance(unnamed, Mapping) and unnamed:
        column, verb = next(iter(unnamed.items()))
        if verb in ("mean", "sum"):
            name = str(column).lower() if str(column).isidentifier() else verb
            return f'{name}=dp.{verb}("{column}", bounds=(0, 100))'
    return "n=dp.count()"


def _short(measure: plan.Measure) -> str:
    match measure:
        case plan.Count() | plan.CountUnits() | plan.CountDistinct():
            return "n"
        case plan.Sum():
            return "total"
        case plan.Mean():
            return "average"
        case plan.Median():
            return "middle"
        case plan.InterquartileRange():
            return "width"


def _typed(measure: plan.Measure) -> str:
    """The call that makes a measure, with the bounds that it has."""
    match measure:
        case plan.Count():
            return "dp.count()"
        case plan.CountUnits():
            return "dp.count_units()"
        case plan.CountDistinct(operand):
            return f"dp.count_distinct({_column(operand)})"
        case _:
            limits = f", bounds=({measure.bounds[0]}, {measure.bounds[1]})" if measure.bounds else ""
            return f"dp.{_VERBS[type(measure)]}({_column(measure.operand)}{limits})"


_VERBS: Mapping[type[plan.Measure], str] = {
    plan.Sum: "sum",
    plan.Mean: "mean",
    plan.Median: "median",
    plan.InterquartileRange: "interquartile_range",
}


def _measured(measure: plan.Measure) -> str:
    return _typed(measure).removeprefix("dp.")


def _column(operand: plan.Expression) -> str:
    return repr(operand.name) if isinstance(operand, plan.Column) else written(operand)


def _told(relation: plan.Relation) -> str:
    """A table with how often it was narrowed and extended."""
    conditions = derived = 0
    while not isinstance(relation, plan.Table):
        conditions, derived = conditions + isinstance(relation, plan.Where), derived + isinstance(relation, plan.Derive)
        relation = relation.source
    words = [f"table {relation.name!r}"]
    words += [f"{conditions} condition{'s' * (conditions > 1)}"] if conditions else []
    words += [f"{derived} derived column{'s' * (derived > 1)}"] if derived else []
    return ", ".join(words)


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
                instead=_right_keys(columns, str(stray[0]), keys[stray[0]]),
            )
        lists = {name: _listed(keys[name], f"keys of {name!r}", f'keys={{"{name}": ["A", "B"]}}') for name in keys}
        return tuple(lists.get(name) for name in columns), None
    return (None,) * len(columns), _table_rows(columns, keys)


def _right_keys(columns: tuple[str, ...], stray: str, keys: object) -> str:
    """The keys under the name that was meant, or the grouping with one more column."""
    nearest = suggestion(stray, columns)
    if nearest in columns:
        return f'keys={{"{nearest}": {_shown_keys(keys)}}}'
    return f"group_by({', '.join(map(repr, (*columns, stray)))}, keys=...)"


def _listed(values: object, what: str, example: str) -> tuple[Value, ...]:
    if isinstance(values, str | bytes | set | frozenset) or not isinstance(values, Iterable):
        raise ParameterError(
            f"{what} of type {type(values).__name__}", because="they are a list, in the order wanted", instead=example
        )
    listed = tuple(itertools.islice(values, plan.MOST_KEYS + 1))
    return listed if set(map(type, listed)) <= {int, str} else tuple(map(_key, listed))


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
            instead=f'keys={{"{columns[0]}": {_shown_keys(keys)}}}',
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


def _shown_keys(keys: object) -> str:
    """Keys that were given without their column, as far as they can be shown on a line."""
    if isinstance(keys, range):
        return repr(keys)
    if not isinstance(keys, list | tuple) or not 0 < len(keys) <= 12:
        return '["A", "B"]'
    return f"[{', '.join(json.dumps(key, ensure_ascii=False) if isinstance(key, str) else repr(key) for key in keys)}]"


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
