"""Queries, and groupings that wait for their aggregates."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NoReturn

from discreet.errors import ParameterError, TypeMismatchError, public_class, short_traceback
from discreet.plan import logical
from discreet.query import hints, histograms, joins
from discreet.query.aggregates import Aggregation, count, each, measured, suggested
from discreet.query.joins import OfUnit


@public_class
@dataclass(frozen=True)
class Query:
    """A question, ready for `session.explain` and `session.release`."""

    plan: logical.Question

    def __repr__(self) -> str:
        by = f", by {', '.join(map(repr, self.plan.grouping.columns))}" if self.plan.grouping.columns else ""
        asked = ", ".join(f"{output.name}={measured(output.measure)}" for output in self.plan.outputs)
        return f"query of {relation_text(self.plan.source)}{by}: {asked}"

    if not TYPE_CHECKING:  # a checker still finds names that are not there

        def __getattr__(self, name: str) -> NoReturn:
            if name.startswith("_"):
                raise AttributeError(name)
            raise hints.unknown_call("a query", name, hints.QUERY, ["plan"], "query.{}")


@public_class
class Grouped:
    """A frame with a grouping, waiting for its aggregates."""

    def __init__(self, relation: logical.Relation, grouping: logical.Grouping) -> None:
        self._relation = relation
        self._grouping = grouping

    @short_traceback
    def agg(self, *unnamed: object, **aggregations: Aggregation) -> Query:
        """Ask for named aggregates for each key."""
        refuse_unnamed(unnamed)
        outputs = outputs_of(aggregations)
        for output in outputs:
            if output.name in self._grouping.columns:
                raise ParameterError(
                    f"agg({output.name}=...)",
                    because="the name is taken by a grouping column",
                    instead=f"agg({output.name}_total=...)",
                )
        return Query(logical.Aggregate(self._relation, outputs, self._grouping))

    @short_traceback
    def histogram(
        self,
        column: str,
        *,
        bins: Iterable[Any] | None = None,
        missing: bool = False,
        name: str = "n",
        max_groups: int | None = None,
        max_rows_per_group: int | None = None,
    ) -> Query:
        """How many rows are in each bin of a column, for each key; a cell is a group, also for caps."""
        caps: dict[str, Any] = {"max_groups": max_groups, "max_rows_per_group": max_rows_per_group}
        inner = histograms.histogram(self._relation, column, bins, missing=missing, **caps)
        return count_cells(histograms.within(self._grouping, inner), name)

    def __repr__(self) -> str:
        return f"{relation_text(self._relation)}, by {', '.join(map(repr, self._grouping.columns))}"

    if not TYPE_CHECKING:  # a checker still finds names that are not there

        def __getattr__(self, name: str) -> NoReturn:
            if name.startswith("_"):
                raise AttributeError(name)
            raise hints.unknown_call("a grouping", name, hints.GROUPED, ["agg", "histogram"], ".{}(n=dp.count())")


def count_cells(cells: histograms.Cells, name: str) -> Query:
    """How many rows each cell has, under a name that no column has."""
    columns = cells.grouping.columns
    if name in columns:
        raise ParameterError(
            f"counts named {name!r} beside a column of that name",
            because="cells are named by their columns, and the counts stand beside them",
            instead='name="rows"' if "rows" not in columns else 'name="rows_counted"',
        )
    return Grouped(cells.relation, cells.grouping).agg(**{name: count()})


def outputs_of(aggregations: Mapping[str, Aggregation]) -> tuple[logical.Output, ...]:
    """The outputs of `agg`, each with its name."""
    if not aggregations:
        raise ParameterError("agg() of nothing", because="a query asks for something", instead="agg(n=dp.count())")
    aggregations = each(aggregations)
    for name, value in aggregations.items():
        if isinstance(value, OfUnit):
            raise joins.only_of_a_unit(name, value)
        if not isinstance(value, Aggregation):
            raise TypeMismatchError(
                f"agg({name}=...) of type {type(value).__name__}",
                because="only aggregates leave a table; a row or a column never does",
                instead=f'agg({name}=dp.count()), dp.sum("cost", bounds=(0, 100)), dp.mean(...), dp.count_units()',
            )
    return tuple(logical.Output(name, value.measure, value.weight) for name, value in aggregations.items())


def refuse_unnamed(unnamed: tuple[object, ...]) -> None:
    """Refuse aggregates without a name."""
    if unnamed:
        named = isinstance(unnamed[0], Aggregation)
        raise ParameterError(
            "agg(...) of an aggregate without a name" if named else f"agg(...) of type {type(unnamed[0]).__name__}",
            because="every answer has a name of its own in the release",
            instead=f"agg({suggested(unnamed[0])})",
        )


def relation_text(relation: logical.Relation) -> str:
    """A table with how often it was narrowed and extended."""
    conditions = derived = 0
    beside: list[str] = []
    while not isinstance(relation, logical.Table):
        beside += [f"joined with {relation.table!r}"] if isinstance(relation, logical.Join) else []
        beside += ["one row per unit"] if isinstance(relation, logical.PerUnit) else []
        conditions, derived = (
            conditions + isinstance(relation, logical.Where),
            derived + isinstance(relation, logical.Derive),
        )
        relation = relation.source
    words = [f"table {relation.name!r}", *reversed(beside)]
    words += [f"{conditions} condition{'s' * (conditions > 1)}"] if conditions else []
    words += [f"{derived} derived column{'s' * (derived > 1)}"] if derived else []
    return ", ".join(words)
