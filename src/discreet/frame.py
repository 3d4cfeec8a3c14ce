"""Fluent calls that build plans. A frame knows no connection and no catalog; a session gives it meaning.

visits = dp.table("visits")
query = visits.where(visits.age >= 40).group_by("ward").agg(n=dp.count(), cost=dp.mean("cost", bounds=(0, 5_000)))
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NoReturn

from discreet import hints, keylists, plan
from discreet.aggregates import (
    Aggregation,
    checked_bounds,
    count,
    count_distinct,
    count_units,
    interquartile_range,
    mean,
    measured,
    median,
    suggested,
    sum,  # noqa: A004 - dp.sum is the name that people type
)
from discreet.catalog import Value
from discreet.errors import ParameterError, TypeMismatchError, short_traceback
from discreet.exact import whole
from discreet.expression import Expr

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
class Query:
    """A question, ready for `session.explain` and `session.release`."""

    plan: plan.Question

    def __repr__(self) -> str:
        by = f", by {', '.join(map(repr, self.plan.grouping.columns))}" if self.plan.grouping.columns else ""
        asked = ", ".join(f"{output.name}={measured(output.measure)}" for output in self.plan.outputs)
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
        values, rows = keylists.read(columns, keys)
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
            instead=f"agg({suggested(unnamed[0])})",
        )


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


def _expression(value: object, example: str) -> plan.Expression:
    if isinstance(value, Expr):
        return value.node
    raise TypeMismatchError(
        f"an expression of type {type(value).__name__}",
        because="conditions and derived columns are built from the table's columns",
        instead=example,
    )
