"""Queries, and groupings that wait for their aggregates."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NoReturn

from discreet.errors import ParameterError, TypeMismatchError, public_class, short_traceback
from discreet.plan import logical
from discreet.query import hints, histograms, joins
from discreet.query.aggregates import Aggregation, count, each, name_suggestion, short_call_text
from discreet.query.joins import OfUnit


@public_class
@dataclass(frozen=True)
class Query:
    """A query, ready for `session.explain` and `session.release`. It holds no data.

    Attributes:
        plan: The logical plan: source, outputs and grouping.

    Example:
        >>> import discreet as dp
        >>> dp.table("visits").group_by("ward").agg(n=dp.count())
        query of table 'visits', by 'ward': n=count()
    """

    plan: logical.Question

    def __repr__(self) -> str:
        by = f", by {', '.join(map(repr, self.plan.grouping.columns))}" if self.plan.grouping.columns else ""
        asked = ", ".join(f"{output.name}={short_call_text(output.measure)}" for output in self.plan.outputs)
        return f"query of {relation_text(self.plan.source)}{by}: {asked}"

    if not TYPE_CHECKING:  # a checker still finds names that are not there

        def __getattr__(self, name: str) -> NoReturn:
            if name.startswith("_"):
                raise AttributeError(name)
            raise hints.unknown_call("a query", name, hints.QUERY, ["plan"], "query.{}")


@public_class
class GroupedFrame:
    """A table with a grouping; `agg` or `histogram` makes it a query.

    Example:
        >>> import discreet as dp
        >>> dp.table("visits").group_by("ward")
        table 'visits', by 'ward'
    """

    def __init__(self, relation: logical.Relation, grouping: logical.Grouping) -> None:
        self._relation = relation
        self._grouping = grouping

    @short_traceback
    def agg(self, *unnamed: object, **aggregations: Aggregation) -> Query:
        """Named aggregates of each group.

        Args:
            unnamed: Always refused: each output needs a name of its own.
            aggregations: Aggregates by the name of their output, such as `n=dp.count()`.

        Returns:
            A query for `session.explain` and `session.release`.

        Raises:
            ParameterError: If there is no aggregate, one has no name, or a name is that of a grouping column.
            TypeMismatchError: If a value is not an aggregate.

        Example:
            >>> import discreet as dp
            >>> query = dp.table("visits").group_by("ward").agg(n=dp.count(), cost=dp.sum("cost", bounds=(0, 5_000)))
        """
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
        """Number of rows in each bin of a column, for each group. A cell of group and bin is a group for contribution
        bounds.

        Args:
            column: Name of the column.
            bins: Public edges, smallest first: `range(20, 100, 10)` or `dp.bins(0, 1, 0.1)`.
            missing: Whether rows without a value have a bin of their own. Default False.
            name: Name of the output. Default "n".
            max_groups: Number of cells that one unit counts in. Default: the catalog's.
            max_rows_per_group: Number of rows of one unit that count in each cell. Default: the catalog's.

        Returns:
            A query for `session.explain` and `session.release`.

        Raises:
            ParameterError: If the edges are not increasing, or the name is that of a column.

        Example:
            >>> import discreet as dp
            >>> query = dp.table("visits").group_by("ward").histogram("age", bins=range(20, 100, 10))
        """
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
    return GroupedFrame(cells.relation, cells.grouping).agg(**{name: count()})


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
            instead=f"agg({name_suggestion(unnamed[0])})",
        )


def relation_text(relation: logical.Relation) -> str:
    """A table with how often it was narrowed and extended."""
    conditions = derived = 0
    beside: list[str] = []
    while not isinstance(relation, logical.TableRef):
        beside += [f"joined with {relation.table!r}"] if isinstance(relation, logical.Join) else []
        beside += ["one row per unit"] if isinstance(relation, logical.GroupByUnit) else []
        conditions, derived = (
            conditions + isinstance(relation, logical.Where),
            derived + isinstance(relation, logical.Derive),
        )
        relation = relation.source
    words = [f"table {relation.name!r}", *reversed(beside)]
    words += [f"{conditions} condition{'s' * (conditions > 1)}"] if conditions else []
    words += [f"{derived} derived column{'s' * (derived > 1)}"] if derived else []
    return ", ".join(words)
