"""Columns of rows, one after another: each column given its parent, with whole numbers of rows in every cell."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from discreet.synthesis.core.measurement import Floats
from discreet.synthesis.core.model import MarginalModel, Slots
from discreet.synthesis.rows.rounding import round_counts, round_table

ROWS_IN_A_BLOCK = 1_000_000


def slot_type(size: int) -> "np.dtype[Any]":
    """The smallest integers that hold this number of slots."""
    return np.min_scalar_type(max(size - 1, 0))


def draw_column(probabilities: Floats, number: int, generator: np.random.Generator) -> Slots:
    """A column on its own, in random order.

    Args:
        probabilities: Probability of each slot.
        number: The number of rows.
        generator: The order of the rows.

    Returns:
        A slot for each row; each slot occurs as often as expected, rounded down or up.
    """
    counts = round_counts(probabilities, number, generator)
    return generator.permutation(np.repeat(np.arange(counts.size, dtype=slot_type(counts.size)), counts))


def draw_child(parent: Slots, conditional: Floats, generator: np.random.Generator) -> Slots:
    """A column given another one.

    Args:
        parent: The slot of each row in the other column.
        conditional: Probability of each slot (columns) given each slot of the parent (rows).
        generator: Which rows of a parent slot get which child slot.

    Returns:
        A slot for each row; each pair of slots occurs as often as expected, rounded down or up.
    """
    parents, size = conditional.shape
    table = round_table(conditional, np.bincount(parent, minlength=parents), generator)
    order = generator.permutation(parent.size)
    order = order[np.argsort(parent[order], kind="stable")]
    drawn = np.empty(parent.size, dtype=slot_type(size))
    drawn[order] = np.repeat(np.tile(np.arange(size, dtype=drawn.dtype), parents), table.ravel())
    return drawn


def row_blocks(
    model: MarginalModel, number: int, generator: np.random.Generator, block: int = ROWS_IN_A_BLOCK
) -> Iterator[Slots]:
    """Rows of a model in blocks, so that memory is bounded by the size of a block.

    Every block has whole numbers of rows for itself, so with b blocks a cell is off by less than b.
    """
    for start in range(0, number, block):
        yield model.rows(min(block, number - start), generator)
