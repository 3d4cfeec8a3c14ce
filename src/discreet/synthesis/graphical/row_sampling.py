"""Rows from a junction tree: each clique is drawn given the columns that it shares with its parent.

Rows that agree in the shared columns are given their other columns by systematic sampling: evenly spaced quantiles
from one random start, in random order. So each cell gets its expected number of rows, rounded up or down.
"""

import numpy as np

from discreet.synthesis.core.domain import Columns
from discreet.synthesis.core.measurement import Floats, Integers
from discreet.synthesis.graphical.belief_propagation import Beliefs


def draw_rows(beliefs: Beliefs, number: int, generator: np.random.Generator) -> Integers:
    """Rows of slots, one place for each column of the domain.

    Args:
        beliefs: The beliefs of a junction tree.
        number: How many rows.
        generator: Public randomness.

    Returns:
        One line for each row.
    """
    tree = beliefs.tree
    places = {name: place for place, name in enumerate(tree.domain.names)}
    rows = np.zeros((number, len(places)), dtype=np.int64)
    for clique, shared, table in zip(tree.cliques, tree.separators, beliefs.marginals, strict=True):
        others = tuple(name for name in clique if name not in shared)
        conditional = table.transpose([clique.index(name) for name in (*shared, *others)])
        conditional = conditional.reshape(tree.domain.cells(shared), -1)
        cells = _draw(conditional, _codes(rows, shared, beliefs, places), generator)
        for name, slots in zip(others, np.unravel_index(cells, tree.domain.shape(others)), strict=True):
            rows[:, places[name]] = slots
    return rows


def _codes(rows: Integers, shared: Columns, beliefs: Beliefs, places: dict[str, int]) -> Integers:
    if not shared:
        return np.zeros(len(rows), dtype=np.int64)
    columns = tuple(rows[:, places[name]] for name in shared)
    return np.asarray(np.ravel_multi_index(columns, beliefs.tree.domain.shape(shared)), dtype=np.int64)


def _draw(table: Floats, groups: Integers, generator: np.random.Generator) -> Integers:
    """A cell for each row: of the line of the table that its group names."""
    sums = table.sum(axis=1)
    table = np.where(sums[:, None] > 0, table, 1.0)  # groups without mass have no rows but by rounding
    cumulative = np.cumsum(table, axis=1)
    cumulative = cumulative / cumulative[:, -1:]
    counts = np.bincount(groups, minlength=len(table))
    order = generator.permutation(len(groups))
    order = order[np.argsort(groups[order], kind="stable")]  # by group, in random order within
    ranks = np.arange(len(groups)) - np.repeat(np.cumsum(counts) - counts, counts)
    starts = generator.random(len(table))
    quantiles = (ranks + np.repeat(starts, counts)) / np.repeat(counts, counts)
    lines = np.repeat(np.arange(len(table)), counts)
    flat = (cumulative + np.arange(len(table))[:, None]).ravel()
    found = np.searchsorted(flat, lines + quantiles, side="right") - lines * table.shape[1]
    cells = np.empty(len(groups), dtype=np.int64)
    cells[order] = np.clip(found, 0, table.shape[1] - 1)
    return cells
