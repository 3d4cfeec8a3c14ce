"""Distances between two tables of slots: total variation of marginals, the k-marginal score and its sample equivalent.

A side of a comparison is a fitted model or rows of slots. Marginals with more cells than `plan.slots.MOST_CELLS` are
left out. Nothing here is private by itself: a distance from data is an exact figure about people.

References:
    NIST, SDNist, sdnist/metrics/kmarginal.py: the score is (2 - mean L1 distance) * 500, from 0 to 1000. SDNist may
    draw a column twice for one marginal; here the columns of a marginal are distinct.
"""

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Protocol

import numpy as np

from discreet.plan.slots import MOST_CELLS
from discreet.synthesis.core.domain import Columns, Domain
from discreet.synthesis.core.measurement import Floats
from discreet.synthesis.core.model import Slots

TRIPLES = 200
"""Random 3-way marginals of a comparison."""
FRACTIONS = (0.001, 0.002, 0.005, 0.01, 0.02, 0.05, *(part / 10 for part in range(1, 10)), 0.95, 0.99)
"""Sizes of samples, as fractions of the rows, between which the sample equivalent is interpolated."""
_DRAWS = 50
"""Draws of columns for each wanted marginal, after which fewer marginals are taken."""


class MarginalSource(Protocol):
    """A side of a comparison: `MarginalModel` and `SlotRows` are such."""

    @property
    def domain(self) -> Domain:
        """The columns and their slots."""

    def marginal(self, columns: Iterable[str]) -> Floats:
        """The counts of any columns: one axis for each, in the order of the domain."""


@dataclass(frozen=True, eq=False)
class SlotRows:
    """Rows of slots.

    Attributes:
        domain: The columns and their slots.
        codes: A line for each row, and a slot for each column of the domain.
    """

    domain: Domain
    codes: Slots

    def marginal(self, columns: Iterable[str]) -> Floats:
        """The number of rows in each cell of some columns."""
        names = self.domain.ordered(columns)
        shape = self.domain.shape(names)
        places = [self.domain.names.index(name) for name in names]
        cells = np.zeros(len(self.codes), dtype=np.int64)
        for place, size in zip(places, shape, strict=True):
            cells = cells * size + self.codes[:, place]
        return np.bincount(cells, minlength=math.prod(shape)).reshape(shape).astype(np.float64)


@dataclass(frozen=True)
class MarginalDistances:
    """Mean total variation distances between two tables, from 0 (equal) to 1 (disjoint).

    Attributes:
        one_way: Mean over all columns.
        two_way: Mean over all pairs of columns; None where there is no pair.
        three_way: Mean over random triples of columns; None where there is no triple.
        triples: The triples.
        pairs: Each pair with its distance.
    """

    one_way: float
    two_way: float | None
    three_way: float | None
    triples: tuple[Columns, ...]
    pairs: tuple[tuple[Columns, float], ...] = ()


def total_variation(left: Floats, right: Floats) -> float:
    """The total variation distance of two tables of counts, each as shares of its total.

    Args:
        left: Counts from 0 on.
        right: Counts of the same cells.

    Returns:
        Half the L1 distance of the shares: from 0 to 1; 1 where one of the two has no rows.
    """
    totals = float(left.sum()), float(right.sum())
    if min(totals) <= 0:
        return 0.0 if max(totals) <= 0 else 1.0
    return float(np.abs(left / totals[0] - right / totals[1]).sum() / 2)


def mean_distance(left: MarginalSource, right: MarginalSource, marginals: Sequence[Columns]) -> float:
    """The mean total variation distance of some marginals.

    Args:
        left: One table or model.
        right: The other, with the same domain.
        marginals: The columns of each marginal; at least one.

    Returns:
        The mean, from 0 to 1.
    """
    return float(np.mean([total_variation(left.marginal(each), right.marginal(each)) for each in marginals]))


def all_marginals(domain: Domain, order: int) -> tuple[Columns, ...]:
    """All marginals of so many columns that have at most `MOST_CELLS` cells."""
    return tuple(each for each in combinations(domain.names, order) if domain.cells(each) <= MOST_CELLS)


def random_marginals(domain: Domain, order: int, number: int, generator: np.random.Generator) -> tuple[Columns, ...]:
    """Random marginals of so many distinct columns, each marginal once, with at most `MOST_CELLS` cells.

    Args:
        domain: The columns and their slots.
        order: The number of columns of each.
        number: How many; where there are not more, all of them.
        generator: The choice.

    Returns:
        The marginals.
    """
    if math.comb(len(domain.names), order) <= number:
        return all_marginals(domain, order)
    found: dict[Columns, None] = {}
    for columns in _draws(domain, order, _DRAWS * number, generator):
        if domain.cells(columns) <= MOST_CELLS:
            found[columns] = None
        if len(found) == number:
            break
    return tuple(found)


def marginal_distances(
    left: MarginalSource, right: MarginalSource, generator: np.random.Generator, triples: int = TRIPLES
) -> MarginalDistances:
    """The distances of two tables in all columns, all pairs and random triples.

    Args:
        left: One table or model.
        right: The other, with the same domain.
        generator: The choice of triples.
        triples: The number of triples.

    Returns:
        The mean distances.
    """
    domain = left.domain
    chosen = random_marginals(domain, 3, triples, generator)
    pairs = tuple((each, mean_distance(left, right, [each])) for each in all_marginals(domain, 2))
    return MarginalDistances(
        mean_distance(left, right, all_marginals(domain, 1)),
        float(np.mean([distance for _, distance in pairs])) if pairs else None,
        mean_distance(left, right, chosen) if chosen else None,
        chosen,
        pairs,
    )


def k_marginal_score(distance: float) -> float:
    """The k-marginal score of NIST: 1000 times (1 - the mean total variation distance of k-way marginals)."""
    return 1000 * (1 - distance)


def sample_equivalent(
    rows: SlotRows, distance: float, marginals: Sequence[Columns], generator: np.random.Generator
) -> float:
    """The fraction of the rows whose random sample is as far from all rows as a distance: "as good as an x% sample".

    Samples are drawn from the rows without replacement, at some of `FRACTIONS`. Between two of them, the distance is
    taken as linear in sqrt((1 - x) / x), which is how the sampling error of a share falls.

    Args:
        rows: The data.
        distance: A mean total variation distance of the marginals.
        marginals: The marginals.
        generator: The samples.

    Returns:
        The fraction, from the smallest of `FRACTIONS` (as good as that, or worse) to 1.
    """
    order = generator.permutation(len(rows.codes))
    known = {len(FRACTIONS): 0.0}
    low, high = 0, len(FRACTIONS)
    known[low] = _sample_distance(rows, order, FRACTIONS[low], marginals)
    if distance >= known[low] or distance <= 0:
        return 1.0 if distance <= 0 else FRACTIONS[0]
    while high - low > 1:
        middle = (low + high) // 2
        known[middle] = _sample_distance(rows, order, FRACTIONS[middle], marginals)
        low, high = (middle, high) if known[middle] >= distance else (low, middle)
    ends = [_error_scale(FRACTIONS[place]) if place < len(FRACTIONS) else 0.0 for place in (low, high)]
    part = (known[low] - distance) / (known[low] - known[high])
    scale = ends[0] + part * (ends[1] - ends[0])
    return 1 / (1 + scale**2)


def _draws(domain: Domain, order: int, number: int, generator: np.random.Generator) -> Iterator[Columns]:
    for _ in range(number):
        places = sorted(generator.choice(len(domain.names), size=order, replace=False))
        yield tuple(domain.names[place] for place in places)


def _sample_distance(rows: SlotRows, order: Slots, fraction: float, marginals: Sequence[Columns]) -> float:
    """The distance of the first rows of a random order from all rows."""
    number = max(1, round(fraction * len(order)))
    return mean_distance(SlotRows(rows.domain, rows.codes[order[:number]]), rows, marginals)


def _error_scale(fraction: float) -> float:
    return math.sqrt((1 - fraction) / fraction)
