"""Fluent calls that build plans. A frame knows no connection and no catalog; a session gives it meaning.

visits = dp.table("visits")
query = visits.where(visits.age >= 40).group_by("ward").agg(n=dp.count(), cost=dp.mean("cost", bounds=(0, 5_000)))
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

from discreet.catalog.catalog import Value
from discreet.errors import ParameterError, TypeMismatchError, public_class, short_traceback
from discreet.exact.numbers import Number, whole
from discreet.plan import logical
from discreet.query import hints, histograms, joins
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
from discreet.query.found_slots import SlotQueries
from discreet.query.grouped import GroupedFrame, Query, count_cells, outputs_of, refuse_unnamed, relation_text
from discreet.query.joins import OfUnit
from discreet.query.models import ModelQueries
from discreet.query.quantiles import interquartile_range, median, quantile, quantiles
from discreet.query.scores import Choice, Score
from discreet.query.synthesis import SynthesisQueries
from discreet.query.workloads import WorkloadQueries

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = [
    "Aggregation",
    "Expr",
    "Frame",
    "GroupedFrame",
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
class Frame(WorkloadQueries, ModelQueries, SynthesisQueries, SlotQueries):
    """A table of the catalog, filtered and extended by its methods. It holds no data.

    Columns are attributes or items: `visits.age` or `visits["age"]`.

    Example:
        >>> import discreet as dp
        >>> visits = dp.table("visits")
        >>> visits.where(visits.age >= 40)
        table 'visits', 1 condition
    """

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
        return Expr(logical.ColumnRef(name))

    def __getattr__(self, name: str) -> Expr:
        if name.startswith("_"):
            raise AttributeError(name)
        if name in hints.FRAME:
            raise hints.unknown_call("a table", name, hints.FRAME, (), "{}")
        return Expr(logical.ColumnRef(name))

    @short_traceback
    def where(self, *predicates: Expr) -> "Frame":
        """Keep the rows for which all conditions are true.

        Args:
            predicates: Conditions on columns, such as `visits.age >= 40`.

        Returns:
            The filtered table.

        Raises:
            TypeMismatchError: If a condition is not an expression.

        Example:
            >>> import discreet as dp
            >>> visits = dp.table("visits")
            >>> adults = visits.where(visits.age >= 18, visits.ward == "cardiology")
        """
        relation = self._relation
        for predicate in predicates:
            relation = logical.Where(relation, _expression(predicate, "where(table.age >= 40)"))
        return Frame(relation)

    @short_traceback
    def derive(self, **columns: Expr) -> "Frame":
        """Add or replace columns, each computed from its own row.

        Args:
            columns: Expressions by the name of their column. Later ones may use earlier ones.

        Returns:
            The extended table.

        Raises:
            TypeMismatchError: If a value is not an expression.

        Example:
            >>> import discreet as dp
            >>> visits = dp.table("visits")
            >>> visits.derive(thousands=visits.cost / 1_000)
            table 'visits', 1 derived column
        """
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
    ) -> "GroupedFrame":
        """Group by columns with public keys.

        Args:
            columns: Names of the columns, each once.
            keys: Public keys by column, a public table with one row per group, or `dp.discover(delta=1e-10)` for
                unknown keys. Default: the keys in the catalog.
            max_groups: Number of groups that one unit counts in. Default: the catalog's.
            max_rows_per_group: Number of rows of one unit that count in each group. Default: the catalog's.

        Returns:
            A grouping, for `agg` or `histogram`.

        Raises:
            ParameterError: If columns are not different names, or keys or bounds are of another kind.
            NameNotFoundError: If keys are given for other columns.

        Example:
            >>> import discreet as dp
            >>> dp.table("visits").group_by("ward", keys={"ward": ["cardiology", "emergency"]}).agg(n=dp.count())
            query of table 'visits', by 'ward': n=count()
        """
        if not columns or not all(isinstance(column, str) for column in columns) or len(set(columns)) != len(columns):
            raise ParameterError(
                "group_by without column names, each once",
                because="groups are named by text, not by expressions",
                instead='group_by("ward"), or derive(tens=...) and group_by("tens", keys=...)',
            )
        discovery, given = key_lists.split_discovery(columns, keys)
        values, rows = key_lists.read(columns, given)
        grouping = logical.Grouping(
            columns,
            values,
            rows,
            None if max_groups is None else whole(max_groups, "max_groups"),
            None if max_rows_per_group is None else whole(max_rows_per_group, "max_rows_per_group"),
            discovery=discovery,
        )
        return GroupedFrame(self._relation, grouping)

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
        """Number of rows in each bin of a column: below the first edge, between edges, and from the last edge on.

        Args:
            column: Name of the column.
            bins: Public edges, smallest first: `range(20, 100, 10)` or `dp.bins(0, 1, 0.1)`.
            missing: Whether rows without a value have a bin of their own. Default False.
            name: Name of the output. Default "n".
            max_groups: Number of bins that one unit counts in. Default: the catalog's.
            max_rows_per_group: Number of rows of one unit that count in each bin. Default: the catalog's.

        Returns:
            A query for `session.explain` and `session.release`.

        Raises:
            ParameterError: If the edges are not increasing, or the name is that of a column.

        Example:
            >>> import discreet as dp
            >>> query = dp.table("visits").histogram("age", bins=range(20, 100, 10))
        """
        caps: dict[str, Any] = {"max_groups": max_groups, "max_rows_per_group": max_rows_per_group}
        return count_cells(histograms.histogram(self._relation, column, bins, missing=missing, **caps), name)

    @short_traceback
    def bounds(
        self, column: str | Expr, *, grid: Number | None = None, method: Literal["histogram", "growth"] = "histogram"
    ) -> Query:
        """Automatic clipping bounds of a column, for use in later queries.

        Args:
            column: Name of a numeric column, or an expression.
            grid: Bounds are multiples of it, in the unit of the column. Default: chosen.
            method: "histogram" or "growth", as for `dp.auto_bounds`. Default "histogram".

        Returns:
            A query; its release has the values "low" and "high".

        Raises:
            ParameterError: If the grid is not a positive number, or the method has another name.
            TypeMismatchError: If `column` is neither a name nor an expression.

        Example:
            >>> import discreet as dp
            >>> query = dp.table("visits").bounds("cost")
        """
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
        """Contingency table: number of rows for every combination of the keys of some columns.

        Args:
            columns: Names of the columns, each once.
            bins: Public edges by column, for columns that are cut into bins: `{"age": range(20, 100, 10)}`. Default:
                none.
            keys: Public keys by column. Default: the keys in the catalog.
            missing: Whether rows without a value in a binned column have a bin of their own. Default False.
            name: Name of the output. Default "n".
            max_groups: Number of cells that one unit counts in. Default: the catalog's.
            max_rows_per_group: Number of rows of one unit that count in each cell. Default: the catalog's.

        Returns:
            A query for `session.explain` and `session.release`.

        Raises:
            ParameterError: If edges or keys are of another kind, or the name is that of a column.

        Example:
            >>> import discreet as dp
            >>> keys = {"ward": ["cardiology", "emergency"]}
            >>> query = dp.table("visits").contingency("ward", "age", keys=keys, bins={"age": [18, 65]})
        """
        caps: dict[str, Any] = {"max_groups": max_groups, "max_rows_per_group": max_rows_per_group}
        cells = histograms.cells(
            self._relation, columns, {} if bins is None else bins, keys=keys, missing=missing, **caps
        )
        return count_cells(cells, name)

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
        """Join with the rows of another table that are equal in some columns.

        Args:
            other: A public table, or a protected one with the same privacy unit: `dp.table("wards")`.
            on: A column of both tables, several, or `{"column here": "column there"}`. Between protected tables it
                includes the privacy unit. Default: the columns that the catalog declares.
            how: "inner", or "left" to keep rows without a match in a public table. Default "inner".
            names: New names for columns of the other table: `{"name": "ward_name"}`. Default: none.
            max_rows: Number of joined rows of one unit that count. Default: as for this table.

        Returns:
            The joined table.

        Raises:
            ParameterError: If the other table or an argument is of another kind.

        Example:
            >>> import discreet as dp
            >>> dp.table("visits").join(dp.table("wards"), on="ward")
            table 'visits', joined with 'wards'
        """
        return Frame(joins.join(self._relation, relation_of(joins.table_of(other, Frame)), on, how, names, max_rows))

    @short_traceback
    def per_unit(self, **features: Aggregation | OfUnit) -> "Frame":
        """One row per privacy unit, with features of its rows as columns.

        Args:
            features: Features by the name of their column: `dp.count()`, `dp.sum(...)`, `dp.largest(...)`.

        Returns:
            A table with one row per unit.

        Raises:
            ParameterError: If there is no feature.
            TypeMismatchError: If a value is not a feature of a unit.

        Example:
            >>> import discreet as dp
            >>> patients = dp.table("visits").per_unit(visits=dp.count(), oldest=dp.largest("age"))
            >>> query = patients.agg(average=dp.mean("visits", bounds=(0, 10)))
        """
        return Frame(joins.per_unit(self._relation, features))

    @short_traceback
    def agg(self, *unnamed: object, **aggregations: Aggregation) -> Query:
        """Named aggregates over all rows.

        Args:
            unnamed: Always refused: each output needs a name of its own.
            aggregations: Aggregates by the name of their output, such as `n=dp.count()`.

        Returns:
            A query for `session.explain` and `session.release`.

        Raises:
            ParameterError: If there is no aggregate, or one has no name.
            TypeMismatchError: If a value is not an aggregate.

        Example:
            >>> import discreet as dp
            >>> dp.table("visits").agg(n=dp.count(), patients=dp.count_units())
            query of table 'visits': n=count(), patients=count_units()
        """
        refuse_unnamed(unnamed)
        return Query(logical.Aggregate(self._relation, outputs_of(aggregations)))

    @short_traceback
    def choose(self, candidates: object, *, score: Score, top: int = 1) -> Choice:
        """Private selection: a candidate with a high score, at one cost for any number of candidates.

        Args:
            candidates: Public values, such as wards, prices or dates; `dp.discover(delta=1e-10)` where they are not
                known (partition selection).
            score: Score of each candidate; the engine computes all scores in one query.
            top: Number of candidates to choose. Default 1.

        Returns:
            A query for `session.explain` and `session.release`.

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
        return Choice(score.selection(self._relation, candidates), whole(top, "top"))

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
            function: Takes a `pyarrow.Table` with these columns and returns a number. As text, such as "def
                answer(table): ...", it is compiled in the sandbox alone. It may use the modules that the owner allowed
                when the session was opened. `dp.sandbox.rehearse` tries it.
            columns: The columns that the function sees.
            blocks: Number of blocks. More blocks mean less noise, and each represents the table less well.
            bounds: Lowest and highest result of a block; results outside are clipped.
            aggregate: "mean", "median", or "mean with bounds of its own" for bounds that are far too wide. Default
                "mean".
            default: Result of a block that fails, hangs or takes too much. Default: the middle of the bounds.
            grid: Results are rounded to multiples of it. Default: fine enough for the bounds.
            limits: A `dp.sandbox.Limits`: time and memory of each block, and seconds for the engine. Default:
                `Limits()`.

        Returns:
            A query for `session.explain` and `session.release`.

        Raises:
            ParameterError: If an argument is of another kind, when the query is explained or released.

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
    """A table of the catalog, to build queries from. Its rows come from the session.

    Args:
        name: Name of the table in the catalog, or `name=` of `dp.protect`.

    Returns:
        A table without data.

    Raises:
        ParameterError: If the name is not text.

    Example:
        >>> import discreet as dp
        >>> visits = dp.table("visits")
        >>> visits.where(visits.age >= 40).agg(n=dp.count())
        query of table 'visits', 1 condition: n=count()
    """
    if not isinstance(name, str):
        raise ParameterError(
            f"a table of type {type(name).__name__}",
            because="a table is named by text; its rows come from the session",
            instead='dp.table("visits")',
        )
    return Frame(logical.TableRef(name))


def _expression(value: object, example: str) -> logical.Expression:
    if isinstance(value, Expr):
        return value.node
    raise TypeMismatchError(
        f"an expression of type {type(value).__name__}",
        because="conditions and derived columns are built from the table's columns",
        instead=example,
    )
