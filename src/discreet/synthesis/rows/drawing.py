"""Columns of rows, one after another: each column given its parent, with whole numbers of rows in every cell."""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from discreet.synthesis.core.measurement import Floats, Integers
from discreet.synthesis.core.model import MarginalModel, Slots
from discreet.synthesis.rows.rounding import round_counts, round_table

ROWS_IN_A_BLOCK = 1_000_000
MOST_ROWS_SPREAD = 200_000
"""Rows up to which columns are spread over others; with more rows the error of sampling is small by itself."""


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


def draw_child(
    parent: Slots, conditional: Floats, generator: np.random.Generator, others: Sequence[Slots] = ()
) -> Slots:
    """A column given another one.

    Args:
        parent: The slot of each row in the other column.
        conditional: Probability of each slot (columns) given each slot of the parent (rows).
        generator: Which rows of a parent slot get which child slot.
        others: Further columns of the rows, the most important first. The child slots of a parent slot are spread
            evenly over them, so that pairs with them are as often as expected, too, with little error of sampling.

    Returns:
        A slot for each row; each pair of slots occurs as often as expected, rounded down or up.
    """
    parents, size = conditional.shape
    counts = round_table(conditional, np.bincount(parent, minlength=parents), generator).ravel()
    child = np.repeat(np.tile(np.arange(size, dtype=slot_type(size)), parents), counts)
    drawn = np.empty_like(child)
    if others and parent.size <= MOST_ROWS_SPREAD:
        drawn[_order(parent, others, generator)] = child[_spread(counts, size, generator)]
    else:
        drawn[_order(parent, (), generator)] = child
    return drawn


def _spread(counts: Integers, size: int, generator: np.random.Generator) -> Integers:
    """The places of child slots, parent by parent: each child slot at even distances from a random start."""
    place = np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts)
    evenly = (place + np.repeat(generator.random(counts.size), counts)) / np.repeat(counts, counts)
    return np.argsort(evenly + np.repeat(np.arange(counts.size) // size, counts))


def _order(parent: Slots, others: Sequence[Slots], generator: np.random.Generator) -> Slots:
    """The rows by parent slot, then by as many other columns as 62 bits hold, then at random."""
    key = parent.astype(np.int64) if others else parent
    room = (1 << 62) // (int(parent.max(initial=0)) + 1)
    for other in others:
        size = int(other.max(initial=0)) + 1
        room //= size
        if room == 0:
            break
        key = key * size + other
    order = generator.permutation(parent.size)
    return np.asarray(order[np.argsort(key[order], kind="stable")])


def row_blocks(
    model: MarginalModel, number: int, generator: np.random.Generator, block: int = ROWS_IN_A_BLOCK
) -> Iterator[Slots]:
    """Rows of a model in blocks, so that memory is bounded by the size of a block.

    Every block has whole numbers of rows for itself, so with b blocks a cell is off by less than b.
    """
    for start in range(0, number, block):
        yield model.rows(min(block, number - start), generator)
