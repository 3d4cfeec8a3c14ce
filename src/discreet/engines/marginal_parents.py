"""Parents of marginals: a few larger marginals that one GROUP BY each counts, and of which all others are sums.

A scan of the codes costs much more than a sum over the cells of a parent, as in the computation of a data cube from its
smallest parents. A parent has at most `MOST_PARENT_CELLS` cells, unless it is a marginal that was asked for. Counts are
integers, so a marginal is the same from every parent. Parents are sums on the way, and are not returned.

References
    Harinarayan, Rajaraman and Ullman, Implementing Data Cubes Efficiently, SIGMOD 1996.
"""

import math
from collections import Counter
from collections.abc import Iterable, Mapping

import numpy as np
from numpy.typing import NDArray

from discreet.plan.slots import Marginal, MarginalBatch

MOST_PARENT_CELLS = 1 << 14

Parents = dict[Marginal, list[Marginal]]
"""The marginals that are sums of each parent."""

Slots = Mapping[str, int]
"""The number of slots of each column."""


def parents(batch: MarginalBatch) -> Parents:
    """A parent for every marginal, found greedily: the column next that completes most marginals within the cells.

    Marginals of units count other rows than all others do, so they have parents of their own.
    """
    units = [each for each in batch.marginals if batch.units is not None and batch.units.covers(each)]
    rows = [each for each in batch.marginals if each not in set(units)]
    names = tuple({name: None for each in batch.marginals for name in each})
    slots = dict(zip(names, batch.shape(names), strict=True))
    return _parents(units, slots) | _parents(rows, slots)


def project(counts: NDArray[np.int64], parent: Marginal, marginal: Marginal) -> NDArray[np.int64]:
    """The counts of a marginal as sums of those of its parent."""
    kept = [name for name in parent if name in marginal]
    summed = counts.sum(axis=tuple(place for place, name in enumerate(parent) if name not in marginal))
    return np.asarray(summed.transpose([kept.index(name) for name in marginal]))


def _parents(marginals: Iterable[Marginal], slots: Slots) -> Parents:
    found: Parents = {}
    waiting = dict.fromkeys(sorted(marginals, key=lambda each: (-_cells(each, slots), each)))
    by_column: dict[str, dict[Marginal, None]] = {}
    for marginal in waiting:
        for name in marginal:
            by_column.setdefault(name, {})[marginal] = None
    while waiting:
        parent = next(iter(waiting))
        while added := _next_column(parent, by_column, slots):
            parent = (*parent, added)
        inside = set(parent)
        near = {each: None for name in parent for each in by_column[name]}
        found[parent] = [each for each in near if inside.issuperset(each)]
        for marginal in found[parent]:
            del waiting[marginal]
            for name in marginal:
                del by_column[name][marginal]
    return found


def _next_column(parent: Marginal, waiting: Mapping[str, Mapping[Marginal, None]], slots: Slots) -> str | None:
    """The column that completes most of the waiting marginals; of several, one with few slots."""
    inside, most = set(parent), MOST_PARENT_CELLS // _cells(parent, slots)
    near = {each: None for name in parent for each in waiting[name]}
    missing = ([name for name in each if name not in inside] for each in near)
    completed = Counter(names[0] for names in missing if len(names) == 1)
    fitting = [name for name in completed if slots[name] <= most]
    return min(fitting, key=lambda name: (-completed[name], slots[name], name), default=None)


def _cells(marginal: Marginal, slots: Slots) -> int:
    return math.prod(slots[name] for name in marginal)
