"""Histograms and contingency tables as groupings: columns cut into bins by public edges, each bin with its label."""

import datetime as dt
import itertools
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from discreet.errors import ParameterError, UnsupportedError, short_traceback
from discreet.exact.numbers import Number, positive, rational, whole
from discreet.plan import logical
from discreet.query import keys as key_lists
from discreet.query.expression import Expr

Edges = Iterable[Any]


@short_traceback
def bins(low: Number, high: Number, width: Number | None = None) -> tuple[int | float, ...]:
    """Edges of regular bins, each the number nearest to its exact place.

    Args:
        low: First edge.
        high: Last edge.
        width: Width of each bin; a whole number of them fits between `low` and `high`.

    Returns:
        The edges, smallest first.

    Raises:
        ParameterError: If the width is missing, or does not divide the range into 1 to 9,999 bins.

    Example:
        >>> import discreet as dp
        >>> dp.bins(0, 1, 0.25)
        (0.0, 0.25, 0.5, 0.75, 1.0)
    """
    if width is None:
        raise ParameterError(
            "bins without a width",
            because="bins go from low to high, each as wide as the third number says",
            instead="dp.bins(0, 100, 10)",
        )
    first, last, step = rational(low, "low"), rational(high, "high"), positive(width, "width")
    number = (last - first) / step
    if number.denominator != 1 or not 0 < number < logical.MOST_EDGES:
        raise ParameterError(
            f"bins({low!r}, {high!r}, {width!r})",
            because=f"from low to high there are 1 to {logical.MOST_EDGES - 1:,} whole bins of that width",
            instead=f"dp.bins({low!r}, {_number(float(first + step * max(1, min(100, round(number)))))}, {width!r})",
        )
    edges = [first + step * i for i in range(int(number) + 1)]
    is_whole = all(edge.denominator == 1 for edge in edges)
    return tuple(int(edge) if is_whole else float(edge) for edge in edges)


@dataclass(frozen=True)
class Cells:
    """A relation whose binned columns hold the number of their bin, and the grouping that names its cells."""

    relation: logical.Relation
    grouping: logical.Grouping


def histogram(
    relation: logical.Relation,
    column: str,
    edges: Edges | None,
    *,
    missing: bool = False,
    max_groups: int | None = None,
    max_rows_per_group: int | None = None,
) -> Cells:
    """The bins of one column."""
    if not isinstance(column, str):
        raise ParameterError(
            f"a histogram of type {type(column).__name__}",
            because="a column is named by text, and derived columns have names too",
            instead='histogram("age", bins=range(0, 101, 10)), or derive(band=...) and histogram("band", bins=...)',
        )
    if edges is None:
        raise ParameterError(
            f"a histogram of {column!r} without bins",
            because="where bins begin and end is public, and never taken from the data",
            instead=f'histogram("{column}", bins=range(0, 101, 10))',
        )
    caps: dict[str, Any] = {"max_groups": max_groups, "max_rows_per_group": max_rows_per_group}
    return cells(relation, (column,), {column: edges}, missing=missing, **caps)


def cells(
    relation: logical.Relation,
    columns: tuple[str, ...],
    edges: Mapping[str, Edges],
    *,
    keys: Mapping[str, Any] | None = None,
    missing: bool = False,
    max_groups: int | None = None,
    max_rows_per_group: int | None = None,
) -> Cells:
    """Every combination of the keys of columns, some of which are cut into bins."""
    _require_column_names(columns)
    _refuse_unfit(columns, edges, keys)
    cut = {name: _cut(name, edges[name]) for name in columns if name in edges}
    known: dict[str, Any] = dict(keys or {})
    for name, node in cut.items():
        relation = logical.Derive(relation, name, node)
        known[name] = [*range(len(node.edges) + 1), *([None] if missing else [])]
    values, rows = key_lists.read(columns, known)
    labels = tuple(_labels(cut[name].edges) if name in cut else None for name in columns)
    grouping = logical.Grouping(
        columns,
        values,
        rows,
        None if max_groups is None else whole(max_groups, "max_groups"),
        None if max_rows_per_group is None else whole(max_rows_per_group, "max_rows_per_group"),
        labels=labels if cut else (),
    )
    return Cells(relation, grouping)


def within(grouping: logical.Grouping, inner: Cells) -> Cells:
    """The bins of one column within each group; contribution bounds of either hold for the cells of both."""
    if grouping.discovery is not None:
        listed = ", ".join(f'"{name}": ["A", "B"]' for name in grouping.columns)
        raise UnsupportedError(
            "a histogram for keys that are discovered",
            because="bins are public, so partition selection does not apply",
            instead=f"group_by({_quote_names(grouping.columns)}, keys={{{listed}}}).histogram(...), "
            "with keys that are public or that an earlier release found",
        )
    if grouping.rows is not None or set(grouping.columns) & set(inner.grouping.columns):
        raise ParameterError(
            "a histogram within groups that are rows of a table, or of a column that is grouped by",
            because="its bins are crossed with the lists of keys of other columns",
            instead='group_by("ward", keys={"ward": ["A", "B"]}).histogram("age", bins=range(20, 100, 10))',
        )
    return replace(
        inner,
        grouping=replace(
            grouping,
            columns=(*grouping.columns, *inner.grouping.columns),
            values=(*grouping.values, *inner.grouping.values),
            labels=(*(None for _ in grouping.columns), *inner.grouping.labels),
            max_groups=_one_cap("max_groups", grouping.max_groups, inner.grouping.max_groups),
            max_rows_per_group=_one_cap(
                "max_rows_per_group", grouping.max_rows_per_group, inner.grouping.max_rows_per_group
            ),
        ),
    )


def _one_cap(name: str, outer: int | None, inner: int | None) -> int | None:
    """A contribution bound that is given once, or twice with the same value."""
    if outer is not None and inner is not None and outer != inner:
        raise ParameterError(
            f"{name}={outer} in group_by and {name}={inner} in histogram",
            because="both are about the same cells",
            instead=f"{name}={min(outer, inner)} in one of them",
        )
    return inner if outer is None else outer


def _require_column_names(columns: tuple[str, ...]) -> None:
    if not columns:
        raise ParameterError(
            "contingency() of no column", because="its cells are named by columns", instead='contingency("sex", "race")'
        )
    for name in columns:
        if isinstance(name, list | tuple) and name and all(isinstance(each, str) for each in name):
            raise ParameterError(
                f"contingency(...) of type {type(name).__name__}",
                because="columns are given one after another",
                instead=f"contingency({_quote_names(name)})",
            )
        if not isinstance(name, str):
            raise ParameterError(
                f"contingency(...) of type {type(name).__name__}",
                because="a column is named by text, and derived columns have names too",
                instead='contingency("sex", "race"), or derive(band=...) and contingency("sex", "band", bins=...)',
            )
    if len(set(columns)) != len(columns):
        raise ParameterError(
            f"contingency({_quote_names(columns)})",
            because="each column is there once",
            instead=f"contingency({_quote_names(tuple(dict.fromkeys(columns)))})",
        )


def _refuse_unfit(columns: tuple[str, ...], edges: object, keys: object) -> None:
    """Refuse bins and keys that are not given by column."""
    if not isinstance(edges, Mapping):
        raise ParameterError(
            f"bins of type {type(edges).__name__} for {len(columns)} column{'s' * (len(columns) > 1)}",
            because="bins and keys belong to named columns",
            instead=f'bins={{"{columns[-1]}": {_edges_text(edges)}}}',
        )
    stray = [name for name in edges if name not in columns]
    if stray:
        raise ParameterError(
            f"bins for {stray[0]!r}",
            because="it is not among the columns",
            instead=f"contingency({_quote_names((*columns, stray[0]))}, bins=...)",
        )
    told = keys if isinstance(keys, Mapping) else {}
    if isinstance(keys, key_lists.Discover) or any(isinstance(each, key_lists.Discover) for each in told.values()):
        raise UnsupportedError(
            "a contingency table of keys that are discovered",
            because="every cell of it is answered, and which cells there are has to be public",
            instead=f"group_by({_quote_names(columns)}, keys=dp.discover(delta=1e-10)).agg(n=dp.count())",
        )
    if keys is not None and not isinstance(keys, Mapping):
        raise ParameterError(
            f"keys of type {type(keys).__name__}",
            because="cells are all combinations of lists of keys, each of one column",
            instead=f'keys={{"{columns[0]}": ["A", "B"]}}, or group_by({_quote_names(columns)}, keys=...) of a table',
        )


def _cut(name: str, edges: Edges) -> logical.Bin:
    if isinstance(edges, int | float):
        raise ParameterError(
            f"bins={edges!r} of {name!r}",
            because="a number of bins would take their edges from the data",
            instead="bins=range(0, 100, 10), or bins=dp.bins(0, 1, 0.1)",
        )
    if isinstance(edges, str | bytes | set | frozenset | Mapping | Expr) or not isinstance(edges, Iterable):
        raise _unfit(f"bins of type {type(edges).__name__} for {name!r}", "bins are a list of edges, smallest first")
    listed = list(itertools.islice(edges, logical.MOST_EDGES + 1))
    if not 0 < len(listed) <= logical.MOST_EDGES:
        number = f"more than {logical.MOST_EDGES:,}" if listed else "no"
        raise _unfit(f"{number} edges of bins for {name!r}", f"there are 1 to {logical.MOST_EDGES:,} of them")
    node = Expr(logical.ColumnRef(name)).bin(listed).node
    assert isinstance(node, logical.Bin)  # noqa: S101 - of a bin it is
    for one, other in itertools.pairwise(node.edges):
        if isinstance(one, int | float) and isinstance(other, int | float) and one >= other:
            ordered = sorted({edge for edge in node.edges if isinstance(edge, int | float)})
            raise _unfit(
                f"bins of {name!r} with {other!r} after {one!r}",
                "edges increase, each once",
                f"bins={_edges_text(ordered)}",
            )
    return node


def _unfit(what: str, because: str, instead: str = "bins=range(0, 101, 10), or bins=[18, 30, 45]") -> ParameterError:
    return ParameterError(what, because=because, instead=instead)


def _quote_names(names: Sequence[object]) -> str:
    return ", ".join(f'"{name}"' if isinstance(name, str) else repr(name) for name in names)


def _edges_text(edges: object) -> str:
    """Edges as they could be typed, where they are few."""
    if isinstance(edges, range):
        return repr(edges)
    if isinstance(edges, list | tuple) and 0 < len(edges) <= 12:
        return repr(list(edges))
    return "[18, 30, 45]"


def _labels(edges: tuple[logical.Scalar, ...]) -> tuple[str, ...]:
    """How each bin is called: an edge belongs to the bin that it opens."""
    if not edges:
        return ()
    names = [_number(edge) for edge in edges]
    between = [f"[{low}, {high})" for low, high in itertools.pairwise(names)]
    return f"below {names[0]}", *between, f"{names[-1]} and above"


def _number(edge: object) -> str:
    if isinstance(edge, dt.datetime):
        return edge.isoformat(sep=" ")
    if isinstance(edge, float):
        return repr(edge).removesuffix(".0")
    return str(edge)
