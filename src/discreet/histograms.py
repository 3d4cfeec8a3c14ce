"""Histograms and contingency tables as groupings: columns cut into bins by public edges, each bin with its label."""

import datetime as dt
import itertools
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from discreet import keylists, plan
from discreet.errors import ParameterError
from discreet.exact import Number, positive, rational, whole
from discreet.expression import Expr

Edges = Iterable[Any]


def bins(low: Number, high: Number, width: Number) -> tuple[int | float, ...]:
    """The edges of regular bins from low to high, each the number nearest to its exact place: dp.bins(0, 1, 0.1)."""
    first, last, step = rational(low, "low"), rational(high, "high"), positive(width, "width")
    number = (last - first) / step
    if number.denominator != 1 or not 0 < number < plan.MOST_EDGES:
        raise ParameterError(
            f"bins({low!r}, {high!r}, {width!r})",
            because=f"from low to high there are 1 to {plan.MOST_EDGES - 1:,} whole bins of that width",
            instead=f"dp.bins({low!r}, {_number(float(first + step * max(1, min(100, round(number)))))}, {width!r})",
        )
    edges = [first + step * i for i in range(int(number) + 1)]
    is_whole = all(edge.denominator == 1 for edge in edges)
    return tuple(int(edge) if is_whole else float(edge) for edge in edges)


@dataclass(frozen=True)
class Cells:
    """A relation whose binned columns hold the number of their bin, and the grouping that names its cells."""

    relation: plan.Relation
    grouping: plan.Grouping


def cells(
    relation: plan.Relation,
    columns: tuple[str, ...],
    edges: Mapping[str, Edges],
    *,
    keys: Mapping[str, Any] | None = None,
    missing: bool = False,
    max_groups: int | None = None,
    max_rows_per_group: int | None = None,
) -> Cells:
    """Every combination of the keys of columns, some of which are cut into bins."""
    _refuse_unnamed(columns, edges)
    cut = {name: _cut(name, edges[name]) for name in columns if name in edges}
    known: dict[str, Any] = dict(keys or {})
    for name, node in cut.items():
        relation = plan.Derive(relation, name, node)
        known[name] = [*range(len(node.edges) + 1), *([None] if missing else [])]
    values, rows = keylists.read(columns, known)
    labels = tuple(_labels(cut[name].edges) if name in cut else None for name in columns)
    grouping = plan.Grouping(
        columns,
        values,
        rows,
        None if max_groups is None else whole(max_groups, "max_groups"),
        None if max_rows_per_group is None else whole(max_rows_per_group, "max_rows_per_group"),
        labels=labels if cut else (),
    )
    return Cells(relation, grouping)


def within(grouping: plan.Grouping, inner: Cells) -> Cells:
    """The bins of one column within each group of a grouping, whose caps hold for the cells of both."""
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
        ),
    )


def _refuse_unnamed(columns: tuple[str, ...], edges: Mapping[str, Edges]) -> None:
    if not columns or not all(isinstance(name, str) for name in columns) or len(set(columns)) != len(columns):
        raise ParameterError(
            "a table of cells without column names, each once",
            because="its cells are named by columns, and derived columns have names too",
            instead='contingency("sex", "race"), or derive(band=...) and histogram("band", bins=...)',
        )
    stray = [name for name in edges if name not in columns]
    if stray:
        raise ParameterError(
            f"bins for {stray[0]!r}",
            because="it is not among the columns",
            instead=f"contingency({', '.join(map(repr, (*columns, stray[0])))}, bins=...)",
        )


def _cut(name: str, edges: Edges) -> plan.Bin:
    if isinstance(edges, int | float):
        raise ParameterError(
            f"bins={edges!r} of {name!r}",
            because="where bins begin and end would have to come from the data, and it has to be public",
            instead="bins=range(0, 100, 10), or bins=dp.bins(0, 1, 0.1)",
        )
    node = Expr(plan.Column(name)).bin(edges).node
    assert isinstance(node, plan.Bin)  # noqa: S101 - of a bin it is
    return node


def _labels(edges: tuple[plan.Scalar, ...]) -> tuple[str, ...]:
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
