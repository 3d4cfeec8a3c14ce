"""Two-way tables that agree with each other, from noisy ones: post-processing.

Columns are estimated first, from all marginals that have them. Each table then starts as the product of its columns and
moves towards its noisy counts by mirror descent; iterative proportional fitting holds its sums at the columns. So cells
that noise hides stay near independence instead of being cut to 0.
"""

import math
from collections.abc import Mapping, Sequence

import numpy as np

from discreet.synthesis.core.domain import Columns
from discreet.synthesis.core.measurement import Floats, Measurement, estimated_total
from discreet.synthesis.core.merging import merged_slots
from discreet.synthesis.core.model import CountEstimate, combine, estimate_of, project
from discreet.synthesis.tree.model import TreeColumn, TreeModel

Groups = Mapping[str, tuple[int, ...]]

_STEPS = 100
_SWEEPS = 3
_LAST_SWEEPS = 30
_SMALLEST = 1e-12


def fit(measurements: Sequence[Measurement], groups: Groups) -> TreeModel:
    """The model of noisy marginals.

    Args:
        measurements: One-way marginals of all columns, and two-way marginals of merged slots, which are the edges of a
            forest.
        groups: The group of each slot of each column.

    Returns:
        The model; its total is the estimated number of rows, at least 0.
    """
    total = estimated_total(list(measurements))
    size = max(total, 1.0)
    columns = column_counts(measurements)
    pairs = [each for each in measurements if len(each.columns) > 1]
    found = {name: fit_column(name, columns[name], pairs, groups[name], size) for name in groups}
    tables: dict[Columns, Floats] = {}
    for each in pairs:
        one, other = (found[name].probabilities for name in each.columns)
        tables[each.columns] = fit_table(each.values / size, one, other)
    return TreeModel(max(total, 0.0), found, tables)


def column_counts(measurements: Sequence[Measurement]) -> Mapping[str, CountEstimate]:
    """The estimate of each column from its one-way marginals."""
    seen: dict[str, list[CountEstimate]] = {}
    for each in measurements:
        if len(each.columns) == 1:
            seen.setdefault(each.columns[0], []).append(estimate_of(each, each.columns))
    return {name: combine(estimates) for name, estimates in seen.items()}


def fit_table(noisy: Floats, rows: Floats, columns: Floats) -> Floats:
    """The table near noisy values that adds to given rows and columns, without negative cells.

    Args:
        noisy: Noisy values, one axis for the rows and one for the columns.
        rows: What the rows add to.
        columns: What the columns add to; they add to the same as the rows.

    Returns:
        A table whose rows and columns add to theirs.
    """
    table = np.outer(rows, columns) / max(rows.sum(), _SMALLEST)
    loss = float(((table - noisy) ** 2).sum())
    step = 0.5 / (np.abs(table - noisy).max() + _SMALLEST)
    for _ in range(_STEPS):
        slope = table - noisy
        moved = rake(table * np.exp(np.clip(-step * slope, -50.0, 50.0)), rows, columns, _SWEEPS)
        after = float(((moved - noisy) ** 2).sum())
        if after <= loss:
            table, loss, step = moved, after, 1.1 * step
        else:
            step /= 2
    return rake(table, rows, columns, _LAST_SWEEPS)


def rake(table: Floats, rows: Floats, columns: Floats, sweeps: int) -> Floats:
    """Iterative proportional fitting: rows and columns are scaled to their sums in turn; rows last."""
    for _ in range(sweeps):
        table = table * (columns / np.maximum(table.sum(axis=0), _SMALLEST * 1e-200))[None, :]
        table = table * (rows / np.maximum(table.sum(axis=1), _SMALLEST * 1e-200))[:, None]
    return table


def merge_rare(columns: Mapping[str, CountEstimate]) -> Groups:
    """The group of each slot of each column, from estimated counts."""
    return {name: merged_slots(each.values, math.sqrt(each.variance)) for name, each in columns.items()}


def fit_column(
    name: str, own: CountEstimate, pairs: Sequence[Measurement], groups: tuple[int, ...], size: float
) -> TreeColumn:
    """A column from its own marginal and those of its edges: groups from all of them, shares from its own.

    Args:
        name: Name of the column.
        own: Estimate of its slots, from its own marginals.
        pairs: Noisy two-way marginals of merged slots; those without the column play no part.
        groups: The group of each slot.
        size: The estimated number of rows.

    Returns:
        The column.
    """
    places = np.asarray(groups)
    members = np.bincount(places)
    others = [estimate_of(each, (name,)) for each in pairs if name in each.columns]
    # The variance of a group is that of its slots together.
    weights = 1 / (members * own.variance) + math.fsum(1 / each.variance for each in others)
    sums = np.bincount(places, weights=own.values) / (members * own.variance)
    sums = sums + sum(each.values / each.variance for each in others)
    probabilities = project(sums / weights, size)
    within = project(own.values, size)
    totals = np.bincount(places, weights=within)[places]
    shares = np.divide(within, totals, out=1 / members[places], where=totals > 0)
    return TreeColumn(groups, shares, probabilities / probabilities.sum())
