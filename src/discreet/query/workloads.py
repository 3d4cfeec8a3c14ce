"""Ranges and hierarchies as people give them: ends among public edges, and areas as the rows of a public table."""

import datetime as dt
from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from typing import Any

from discreet.errors import ParameterError, public_class, short_traceback
from discreet.exact.numbers import Number, rational, whole
from discreet.plan import logical
from discreet.query import keys as key_lists
from discreet.query.grouped import Query

MOST_RANGES = 100_000


@public_class
class WorkloadQueries:
    """The queries of a table that ask for many counts together."""

    _relation: logical.Relation

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
        """Number of rows in many ranges of a column, measured together (matrix mechanism).

        Args:
            column: Name of the column.
            ranges: Pairs of a value and the value before which the range ends: `[(21, 33), (21, 65)]`. Default: all
                ranges between two edges.
            edges: Public values that ranges may end at, smallest first. Default: the ends of `ranges`.
            name: Name of the output. Default "n".
            max_rows_per_group: Number of rows of one unit that count in each range. Default: the catalog's.

        Returns:
            A query for `session.explain` and `session.release`.

        Raises:
            ParameterError: If ranges or edges are of another kind, or not in order.

        Example:
            >>> import discreet as dp
            >>> query = dp.table("visits").ranges("age", [(21, 33), (21, 65)])
        """
        cap = None if max_rows_per_group is None else whole(max_rows_per_group, "max_rows_per_group")
        output = logical.Output(name, range_measure(column, edges, ranges))
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
        """Number of rows in each area of every level, as whole numbers that add up from level to level.

        Args:
            levels: Names of columns from the coarsest to the finest: "state", "county", "tract".
            keys: Public table (Arrow, pandas, Polars) with these columns and one row per finest area.
            crossing: Further columns of `keys` whose areas nest in none of the levels. Default: none.
            name: Name of the output. Default "n".
            max_rows_per_group: Number of rows of one unit that count in each area. Default: the catalog's.

        Returns:
            A query for `session.explain` and `session.release`.

        Raises:
            ParameterError: If levels or keys are of another kind.

        Example:
            >>> import discreet as dp
            >>> import pyarrow as pa
            >>> areas = pa.table({"state": ["A", "A", "B"], "county": ["A1", "A2", "B1"]})
            >>> query = dp.table("people").hierarchy("state", "county", keys=areas)
        """
        measure, grouping = hierarchy_measure(levels, keys, crossing, max_rows_per_group)
        return Query(logical.Aggregate(self._relation, (logical.Output(name, measure),), grouping))

    @short_traceback
    def moments(
        self,
        *columns: str,
        bounds: Mapping[str, tuple[Number, Number]] | None = None,
        products: logical.Products = "all",
        name: str = "total",
    ) -> Query:
        """Count, sums and sums of products of columns, in one query: sufficient statistics of linear models.

        Values are scaled to [-1, 1] by their bounds, on a lattice of 2,048 steps. A missing value counts as the middle
        of the bounds, unless the catalog declares another number. `dp.learning.Ridge` reads the release.

        Args:
            columns: Names of numeric or boolean columns.
            bounds: Lowest and highest value of columns. Default: those of the catalog.
            products: "all" products of two columns, or only "squares", for means and deviations. Default "all".
            name: Name of the output. Default "total".

        Returns:
            A query for `session.explain` and `session.release`.

        Raises:
            ParameterError: If columns or bounds are of another kind.

        Example:
            >>> import discreet as dp
            >>> query = dp.table("people").moments("age", "hours_per_week", bounds={"age": (17, 90)})
        """
        output = logical.Output(name, moments_measure(columns, bounds, products))
        return Query(logical.Aggregate(self._relation, (output,), logical.Grouping()))


def moments_measure(
    columns: tuple[str, ...], bounds: Mapping[str, tuple[Number, Number]] | None, products: logical.Products
) -> logical.MomentsMeasure:
    """The measure of moments: columns, each once, and their bounds where these are given."""
    given = {} if bounds is None else dict(bounds)
    if not columns or not all(isinstance(each, str) for each in columns) or len(set(columns)) != len(columns):
        raise ParameterError(
            "moments without column names, each once",
            because="each product is of two columns, or of a column with itself",
            instead='moments("age", "hours", "income")',
        )
    if set(given) - set(columns) or products not in ("all", "squares"):
        raise ParameterError(
            "bounds of another column, or products of another kind",
            because='bounds are for the columns of the moments, and products are "all" or "squares"',
            instead='moments("age", "income", bounds={"age": (17, 90)}, products="all")',
        )
    pairs = {name: _increasing_bounds(name, pair) for name, pair in given.items()}
    return logical.MomentsMeasure(columns, tuple(pairs.get(name) for name in columns), products)


def _increasing_bounds(name: str, pair: object) -> tuple[Fraction, Fraction]:
    if isinstance(pair, str) or not isinstance(pair, Sequence) or len(pair) != 2:
        raise ParameterError(
            f"bounds of {name!r} that are not a pair",
            because="bounds are the lowest and the highest value",
            instead=f"bounds={{{name!r}: (0, 100)}}",
        )
    low, high = (rational(end, "bounds") for end in pair)
    if low >= high:
        raise ParameterError(
            f"bounds of {name!r} that do not increase",
            because="a column is scaled by the width of its bounds",
            instead=f"bounds={{{name!r}: (0, 100)}}",
        )
    return low, high


def range_measure(column: object, edges: Iterable[Any] | None, given: Iterable[Any] | None) -> logical.Ranges:
    """The measure of ranges: edges, smallest first, and each range as the places of its ends."""
    if not isinstance(column, str):
        raise ParameterError(
            f"ranges(...) of type {type(column).__name__}",
            because="a column is named by text",
            instead='ranges("age", ranges=[(21, 33)])',
        )
    if given is None:
        raise _unfit(f"ranges of {column!r} without any", "each of them is asked for by its ends")
    pairs = [_pair(each) for each in _as_list(given, "ranges")]
    known = _sort_ends(pairs) if edges is None else _as_list(edges, "edges")
    places = {edge: place for place, edge in enumerate(known)}
    return logical.Ranges(logical.ColumnRef(column), known, tuple(_places(pair, places) for pair in pairs))


def hierarchy_measure(
    levels: tuple[str, ...], keys: object, crossing: Sequence[str], max_rows_per_group: int | None
) -> tuple[logical.HierarchyCounts, logical.Grouping]:
    """The measure of a hierarchy, and the grouping by its finest cells: the rows of a public table."""
    across = (crossing,) if isinstance(crossing, str) else tuple(crossing)
    columns = (*levels, *across)
    if not levels or not all(isinstance(each, str) for each in columns) or len(set(columns)) != len(columns):
        raise ParameterError(
            "a hierarchy without column names, each once",
            because="levels are named from the coarsest to the finest, and areas that cross them beside",
            instead='hierarchy("state", "county", keys=public_table, crossing=["zip"])',
        )
    if keys is None:
        named = ", ".join(f'"{each}"' for each in columns)
        raise ParameterError(
            "a hierarchy without keys",
            because="areas and their parents come from the rows of a public table",
            instead=f"hierarchy({named}, keys=public_table), with a row for each finest area and these columns",
        )
    values, rows = key_lists.read(columns, keys)
    if rows is None:
        raise ParameterError(
            "a hierarchy whose keys are not a table",
            because="areas and their parents come from the rows of a public table",
            instead='keys=pa.table({"state": ["A", "A"], "county": ["A1", "A2"]})',
        )
    cap = None if max_rows_per_group is None else whole(max_rows_per_group, "max_rows_per_group")
    return logical.HierarchyCounts(levels, across), logical.Grouping(columns, values, rows, None, cap)


def _as_list(given: object, what: str) -> tuple[Any, ...]:
    if isinstance(given, str | bytes | set | frozenset) or not isinstance(given, Iterable):
        raise _unfit(f"{what} of type {type(given).__name__}", f"{what} are a list")
    listed = tuple(given)
    if not 0 < len(listed) <= MOST_RANGES:
        raise _unfit(f"{len(listed):,} {what}", f"there are 1 to {MOST_RANGES:,} of them")
    return listed


def _pair(given: object) -> tuple[Any, Any]:
    if isinstance(given, str) or not isinstance(given, Sequence) or len(given) != 2:
        raise _unfit("a range that is not a pair", "a range goes from one value up to another, which is not in it")
    for end in given:
        if not isinstance(end, int | float | str | dt.date) or end != end:  # noqa: PLR0124 - only NaN differs from itself
            raise _unfit(f"a range that ends at a {type(end).__name__}", "ends are numbers, or dates")
    return given[0], given[1]


def _sort_ends(pairs: list[tuple[Any, Any]]) -> tuple[Any, ...]:
    try:
        return tuple(sorted({end for pair in pairs for end in pair}))
    except TypeError:
        raise _unfit("ranges whose ends have no order", "ends are numbers, or dates") from None


def _places(pair: tuple[Any, Any], places: dict[Any, int]) -> tuple[int, int]:
    for end in pair:
        if end not in places:
            raise _unfit(f"a range that ends at {end!r}", "it is not among the edges", f"edges=[..., {end!r}, ...]")
    lo, hi = places[pair[0]], places[pair[1]]
    if lo >= hi:
        raise _unfit(f"the range {pair!r}", "it does not end after it begins", f"ranges=[({pair[1]!r}, {pair[0]!r})]")
    return lo, hi


def _unfit(what: str, because: str, instead: str = "ranges=[(21, 33), (21, 65)]") -> ParameterError:
    return ParameterError(what, because=because, instead=instead)
