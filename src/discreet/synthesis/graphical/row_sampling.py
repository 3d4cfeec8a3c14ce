"""Rows from a junction tree: each clique is drawn given the columns that it shares with its parent.

Rows that agree in the shared columns are given their other columns by systematic sampling: evenly spaced quantiles
from one random start. So each cell gets its expected number of rows, rounded up or down without bias. Rows of a cell
are spread evenly over the columns that were drawn before, which leaves less error of sampling in marginals of both.
"""

import numpy as np

from discreet.synthesis.core.domain import Columns
from discreet.synthesis.core.measurement import Floats, Integers
from discreet.synthesis.graphical.belief_propagation import Beliefs

LARGEST_KEY = 1 << 62


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
    columns: dict[str, Integers] = {}
    for clique, shared, table in zip(tree.cliques, tree.separators, beliefs.marginals, strict=True):
        others = tuple(name for name in clique if name not in shared)
        conditional = table.transpose([clique.index(name) for name in (*shared, *others)])
        groups = _codes(columns, shared, tree.domain.shape(shared), number)
        cells = _draw(conditional.reshape(tree.domain.cells(shared), -1), groups, generator)
        order = _order(groups, [columns[name] for name in columns if name not in shared], generator)
        drawn = np.empty(number, dtype=np.int64)
        drawn[order] = cells
        columns |= dict(zip(others, np.unravel_index(drawn, tree.domain.shape(others)), strict=True))
    return np.stack([columns[name] for name in tree.domain.names], axis=1)


def _codes(columns: dict[str, Integers], shared: Columns, shape: tuple[int, ...], number: int) -> Integers:
    if not shared:
        return np.zeros(number, dtype=np.int64)
    return np.asarray(np.ravel_multi_index(tuple(columns[name] for name in shared), shape), dtype=np.int64)


def _draw(table: Floats, groups: Integers, generator: np.random.Generator) -> Integers:
    """Cells for the rows in the order of their groups: of the line of the table that a group names, spread evenly."""
    sums = table.sum(axis=1)
    table = np.where(sums[:, None] > 0, table, 1.0)  # groups without mass have no rows but by rounding
    cumulative = np.cumsum(table, axis=1)
    cumulative /= cumulative[:, -1:].copy()
    counts = np.bincount(groups, minlength=len(table))
    lines = np.repeat(np.arange(len(table)), counts)
    quantiles = (_ranks(counts) + np.repeat(generator.random(len(table)), counts)) / np.repeat(counts, counts)
    cumulative += np.arange(len(table))[:, None]
    found = np.searchsorted(cumulative.ravel(), lines + quantiles, side="right") - lines * table.shape[1]
    last = table.shape[1] - 1 - np.argmax(table[:, ::-1] > 0, axis=1)  # cells after it never occur, nor by rounding
    cells = np.minimum(np.maximum(found, 0), last[lines])
    starts = np.flatnonzero(np.diff(lines * table.shape[1] + cells, prepend=-1))  # runs of rows of one cell
    runs = np.diff(starts, append=len(cells))
    evenly = (_ranks(runs) + np.repeat(generator.random(len(runs)), runs)) / np.repeat(runs, runs)
    return np.asarray(cells[np.argsort(lines + evenly)])


def _ranks(counts: Integers) -> Integers:
    """0, 1, 2 and so on in each of several groups that follow each other."""
    return np.asarray(np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts))


def _order(groups: Integers, others: list[Integers], generator: np.random.Generator) -> Integers:
    """The rows by group, then by as many other columns as 62 bits hold, then at random."""
    key, size = groups, int(groups.max(initial=0)) + 1
    for other in others:
        slots = int(other.max(initial=0)) + 1
        if size * slots > LARGEST_KEY:
            break
        key, size = key * slots + other, size * slots
    order = generator.permutation(len(groups))
    return np.asarray(order[np.argsort(key[order], kind="stable")])
