"""Fluent calls that build plans. A frame knows no connection and no catalog; a session gives it meaning.

visits = dp.table("visits")
query = visits.where(visits.age >= 40).group_by("ward").agg(n=dp.count(), cost=dp.mean("cost", bounds=(0, 5_000)))
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

from discreet.catalog.catalog import Value
from discreet.errors import ParameterError, TypeMismatchError, public_class, short_traceback
from discreet.exact import Number, whole
from discreet.plan import logical
from discreet.query import hints, histograms, joins, workloads
from discreet.query import keys as key_lists
from discreet.query.aggregates import (
    Aggregation,
    checked_bounds,
    count,
    count_distinct,
    count_units,
    limits,
    mean,
    std,
    sum,  # noqa: A004 - dp.sum is the name that people type
    variance,
)
from discreet.query.applications import Application, Blocks
from discreet.query.expression import Expr
from discreet.query.grouped import Grouped, Query, count_cells, outputs_of, refuse_unnamed, relation_text
from discreet.query.joins import OfUnit
from discreet.query.quantiles import interquartile_range, median, quantile, quantiles
from discreet.query.scores import Choice, Score

if TYPE_CHECKING:
    import pyarrow as pa

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
    "quantile",
    "quantiles",
    "std",
    "sum",
    "table",
    "variance",
]


@public_class
class Frame:
    """A table of the catalog, narrowed and extended; it holds no data."""

    def __init__(self, relation: logical.Relation) -> None:
        self._relation = relation

    def __repr__(self) -> str:
        return relation_text(self._relation)

    @short_traceback
    def __getitem__(self, name: str) -> Expr:
        if not isinstance(name, str):
            raise ParameterError(
                f"table[...] of type {type(name).__name__}",
                because="a column is named by text, and rows are kept by where",
                instead=f"table.where({name!r})" if isinstance(name, Expr) else 'table["age"]',
            )
        return Expr(logical.Column(name))

    def __getattr__(self, name: str) -> Expr:
        if name.startswith("_"):
            raise AttributeError(name)
        if name in hints.FRAME:
            raise hints.unknown_call("a table", name, hints.FRAME, (), "{}")
        return Expr(logical.Column(name))

    @short_traceback
    def where(self, *predicates: Expr) -> "Frame":
        """Keep the rows for which every predicate is true."""
        relation = self._relation
        for predicate in predicates:
            relation = logical.Where(relation, _expression(predicate, "where(table.age >= 40)"))
        return Frame(relation)

    @short_traceback
    def derive(self, **columns: Expr) -> "Frame":
        """Add or replace columns one after the other, each computed from its own row."""
        relation = self._relation
        for name, value in columns.items():
            relation = logical.Derive(relation, name, _expression(value, f"derive({name}=table.age / 10)"))
        return Frame(relation)

    @short_traceback
    def group_by(
        self,
        *columns: str,
        keys: Mapping[str, Sequence[Value]] | Any | None = None,
        max_groups: int | None = None,
        max_rows_per_group: int | None = None,
    ) -> "Grouped":
        """Group by columns whose keys are public: declared in the catalog, given here, or rows of a public table.

        Keys that are not known are found privately, for a part of epsilon: keys=dp.discover(delta=1e-10).
        """
        if not columns or not all(isinstance(column, str) for column in columns) or len(set(columns)) != len(columns):
            raise ParameterError(
                "group_by without column names, each once",
                because="groups are named by text, not by expressions",
                instead='group_by("ward"), or derive(tens=...) and group_by("tens", keys=...)',
            )
        discovery, given = key_lists.discovered(columns, keys)
        values, rows = key_lists.read(columns, given)
        grouping = logical.Grouping(
            columns,
            values,
            rows,
            None if max_groups is None else whole(max_groups, "max_groups"),
            None if max_rows_per_group is None else whole(max_rows_per_group, "max_rows_per_group"),
            discovery=discovery,
        )
        return Grouped(self._relation, grouping)

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
        """How many rows are in each bin of a column: below the first edge, between edges, and from the last on.

        bins     public edges, smallest first: range(20, 100, 10), or dp.bins(0, 1, 0.1)
        missing  rows without a value have a bin of their own
        """
        caps: dict[str, Any] = {"max_groups": max_groups, "max_rows_per_group": max_rows_per_group}
        return count_cells(histograms.histogram(self._relation, column, bins, missing=missing, **caps), name)

    @short_traceback
    def bounds(
        self, column: str | Expr, *, grid: Number | None = None, method: Literal["histogram", "growth"] = "histogram"
    ) -> Query:
        """Ask for the bounds of a value, to be given to later questions: a release with `low` and `high`."""
        asked = limits(column, grid, method)
        return Query(logical.Aggregate(self._relation, (logical.Output("bounds", asked.measure),)))

    @short_traceback
    def contingency(
        self,
        *columns: str,
        bins: Mapping[str, Iterable[Any]] | None = None,
        keys: Mapping[str, Sequence[Value]] | None = None,
        missing: bool = False,
        name: str = "n",
        max_groups: int | None = None,
        max_rows_per_group: int | None = None,
    ) -> Query:
        """How many rows there are for every combination of the keys of some columns, in one pass.

        keys     as in group_by; those of the catalog otherwise
        bins     edges for columns that are cut into bins: {"age": range(20, 100, 10)}
        missing  rows without a value in a column with bins have a bin of their own
        """
        caps: dict[str, Any] = {"max_groups": max_groups, "max_rows_per_group": max_rows_per_group}
        cells = histograms.cells(
            self._relation, columns, {} if bins is None else bins, keys=keys, missing=missing, **caps
        )
        return count_cells(cells, name)

    @short_traceback
    def ranges(
        self,
        column: str,
        ranges: Iterable[tuple[Any, Any]] | None = None,
        *,
        edges: Iterable[Any] | None = None,
        name: str = "n",
        max_rows_per_group: int | None = None,
    ) -> Query:
        """How many rows are in each of many ranges of a column, measured together by what serves them best.

        ranges  pairs: from a value up to another, which is not in it, [(21, 33), (21, 65)]
        edges   the public values that ranges may end at, smallest first; those that they do end at, unless you say
        """
        cap = None if max_rows_per_group is None else whole(max_rows_per_group, "max_rows_per_group")
        output = logical.Output(name, workloads.ranges(column, edges, ranges))
        return Query(logical.Aggregate(self._relation, (output,), logical.Grouping(max_rows_per_group=cap)))

    @short_traceback
    def hierarchy(
        self,
        *levels: str,
        keys: Any = None,
        crossing: Sequence[str] = (),
        name: str = "n",
        max_rows_per_group: int | None = None,
    ) -> Query:
        """How many rows are in each area of every level, in whole numbers of which every parent is its children's sum.

        levels    columns from the coarsest to the finest: "state", "county", "tract"
        keys      a public table (Arrow, pandas, Polars) with a row for each finest area, and those columns
        crossing  further columns of it whose areas nest in none of the levels: ["zip"]
        """
        measure, grouping = workloads.nested(levels, keys, crossing, max_rows_per_group)
        return Query(logical.Aggregate(self._relation, (logical.Output(name, measure),), grouping))

    @short_traceback
    def join(
        self,
        other: "Frame",
        *,
        on: str | Sequence[str] | Mapping[str, str] | None = None,
        how: Literal["inner", "left"] = "inner",
        names: Mapping[str, str] | None = None,
        max_rows: int | None = None,
    ) -> "Frame":
        """Put rows beside those of another table that equal them in some columns.

        other     dp.table("wards"): a public table, or a protected one of the same privacy unit
        on        a column of both, several, or {"column here": "column there"}; of protected tables, the unit too
        how       "inner", or "left" to keep rows that a public table has nothing for
        names     other names for columns of the other table: {"name": "ward_name"}
        max_rows  how many joined rows of one unit count; as many as of this table's own rows, unless you say
        """
        return Frame(joins.join(self._relation, relation_of(joins.table_of(other, Frame)), on, how, names, max_rows))

    @short_traceback
    def per_unit(self, **features: Aggregation | OfUnit) -> "Frame":
        """Make one row of all rows of a unit, with features as columns: dp.count(), dp.sum(...), dp.largest(...)."""
        return Frame(joins.per_unit(self._relation, features))

    @short_traceback
    def agg(self, *unnamed: object, **aggregations: Aggregation) -> Query:
        """Ask for named aggregates over all rows."""
        refuse_unnamed(unnamed)
        return Query(logical.Aggregate(self._relation, outputs_of(aggregations)))

    @short_traceback
    def choose(self, candidates: object, *, score: Score, top: int = 1) -> Choice:
        """Private selection: ask for a candidate with a high score, at one cost however many candidates there are.

        Args:
            candidates: Public values, such as wards, prices or dates; `dp.discover(delta=1e-10)` where they are not
                known (partition selection).
            score: How candidates are scored; the engine computes all scores in one query.
            top: How many candidates are chosen.

        Returns:
            A question for `session.explain` and `session.release`.

        Raises:
            ParameterError: If the score or the candidates are of another kind.

        Example:
            >>> import discreet as dp
            >>> fullest = dp.table("visits").choose(["A", "B", "C"], score=dp.score(by="ward"))
        """
        if not isinstance(score, Score):
            raise ParameterError(
                f"a score of type {type(score).__name__}",
                because="candidates are chosen by a score that the engine computes",
                instead='table.choose(["A", "B"], score=dp.score(by="ward"))',
            )
        return Choice(score.contest(self._relation, candidates), whole(top, "top"))

    @short_traceback
    def apply(
        self,
        function: Callable[["pa.Table"], object] | str,
        *,
        columns: Sequence[str],
        blocks: int,
        bounds: tuple[Number, Number],
        aggregate: logical.BlockAggregate = "mean",
        default: Number | None = None,
        grid: Number | None = None,
        limits: Any = None,
    ) -> Application:
        """Sample and aggregate: any function of a table, applied to disjoint blocks of rows in a sandbox.

        Args:
            function: Takes a `pyarrow.Table` with these columns and returns a number. As text, such as
                "def answer(table): ...", it is compiled in the sandbox alone. It may use the modules that the owner
                allowed when the session was opened. `dp.sandbox.rehearse` tries it.
            columns: The columns that the function sees.
            blocks: How many blocks. More blocks mean less noise, and each represents the table less well.
            bounds: The answers of blocks are clipped to them.
            aggregate: "mean", "median", or "mean with bounds of its own" for bounds that are far too wide.
            default: The answer of a block that fails, hangs or takes too much. Default: the middle of the bounds.
            grid: The grid of the answers. Default: fine enough for the bounds.
            limits: A `dp.sandbox.Limits`: time and memory of each block, and seconds for the engine.

        Returns:
            A question for `session.explain` and `session.release`.

        Example:
            >>> import discreet as dp
            >>> text = "def answer(table): return table.num_rows"
            >>> rows = dp.table("visits").apply(text, columns=["age"], blocks=50, bounds=(0, 1_000))
        """
        return Application(self._relation, function, Blocks(columns, blocks, bounds, aggregate, default, grid), limits)


def relation_of(frame: Frame) -> logical.Relation:
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
    return Frame(logical.Table(name))


def _expression(value: object, example: str) -> logical.Expression:
    if isinstance(value, Expr):
        return value.node
    raise TypeMismatchError(
        f"an expression of type {type(value).__name__}",
        because="conditions and derived columns are built from the table's columns",
        instead=example,
    )
