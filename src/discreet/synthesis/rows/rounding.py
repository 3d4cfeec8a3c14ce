"""Expected counts become whole numbers that add up: every cell is rounded down or up.

Columns of a table keep their totals as well as rounding allows: what one row rounds away, a later row makes up for.
"""

import numpy as np

from discreet.synthesis.core.measurement import Floats, Integers

_CLOSE = 1e-9


def round_counts(probabilities: Floats, number: int, generator: np.random.Generator) -> Integers:
    """Whole numbers of rows for each slot, by systematic sampling: evenly spaced quantiles from one random start.

    The largest remainders would do for few slots. Of many improbable slots they never choose one, so that a small
    synthetic table of a long list of values would hold the frequent values alone.

    Args:
        probabilities: Probability of each slot. If all are 0, all slots are equally probable.
        number: What the counts add to.
        generator: The start, and the order of the slots.

    Returns:
        The counts; each is its expectation rounded down or up, and on average the expectation.
    """
    order = generator.permutation(probabilities.size)
    shares = normalise(probabilities[None, order]).ravel()
    bounds = np.cumsum(shares) * number
    bounds[np.flatnonzero(shares)[-1] :] = number  # a slot of probability 0 gets no row by rounding
    places = np.searchsorted(np.arange(number) + generator.random(), bounds)
    counts = np.empty(probabilities.size, dtype=np.int64)
    counts[order] = np.diff(places, prepend=0)
    return counts


def round_table(conditional: Floats, totals: Integers, generator: np.random.Generator) -> Integers:
    """A table of whole numbers with given totals of its rows.

    Args:
        conditional: Probability of each child slot (columns) given each parent slot (rows). A row of zeros
            stands for the mean of the others.
        totals: The number of rows of each parent slot.
        generator: The order in which rows are rounded, and the choice between equal remainders.

    Returns:
        The table. A cell that has the probability 0 is 0; every cell is its expectation rounded down or up.
    """
    expected = normalise(conditional, totals) * totals[:, None]
    table = np.floor(expected + _CLOSE).astype(np.int64)
    remainders = np.where(expected > table + _CLOSE, expected - table, 0.0)
    missing = totals - table.sum(axis=1)
    carry = np.zeros(table.shape[1])
    for row in generator.permutation(np.flatnonzero(totals)):
        fraction = remainders[row]
        if missing[row] > 0:
            urgency = np.where(fraction > 0, fraction + carry + _CLOSE * generator.random(carry.size), -np.inf)
            table[row, np.argsort(-urgency)[: missing[row]]] += 1
        carry += expected[row] - table[row]
    return table


def normalise(conditional: Floats, weights: Integers | None = None) -> Floats:
    """Rows that add to 1; a row of zeros becomes the weighted mean of the others, or uniform if there are none."""
    sums = conditional.sum(axis=1, keepdims=True)
    filled = sums[:, 0] > 0
    rows = np.divide(conditional, sums, out=np.zeros(conditional.shape), where=sums > 0)
    if not filled.all():
        shares = filled * (1.0 if weights is None else weights) + 1e-300 * filled
        mean = shares @ rows / shares.sum() if filled.any() else np.full(rows.shape[1], 1 / rows.shape[1])
        rows[~filled] = mean
    return np.asarray(rows, dtype=np.float64)
