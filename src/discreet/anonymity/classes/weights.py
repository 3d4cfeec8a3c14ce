"""Sampling weights: how many people of the population the rows of each class stand for, summed exactly."""

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import pyarrow as pa

from discreet.anonymity.classes.base_groups import BaseGroups
from discreet.anonymity.classes.encoding import Integers
from discreet.anonymity.classes.keys import ClassKeys, first_of_runs
from discreet.anonymity.owners import OwnerResult
from discreet.errors import ParameterError, public_class

SMALLEST_WEIGHT, LARGEST_WEIGHT = 1e-100, 1e100
"""Weights of other sizes than zero: sums of them, and ratios of sums, are ordinary doubles."""

_LIMB = 20
"""Bits of a limb: sums of limbs stay within 64 bits for 2^43 rows."""


@public_class
@dataclass(frozen=True, repr=False)
class WeightedClasses(OwnerResult):
    """Classes by the sum of the sampling weights of their rows.

    Attributes:
        population: Sum of all weights: the estimated size of the population.
        smallest: Least sum of a class: the estimated least number of people of the population in a class.
        expected: Estimated share of the rows that an attacker who knows the population identifies, the mean of
            1 / (sum of the class); a float, and not above 1 for each class.

    Example:
        >>> import discreet as dp
        >>> import pyarrow as pa
        >>> table = pa.table({"age": [30, 30, 40], "weight": [10.0, 12.5, 8.0]})
        >>> dp.anonymity.measure(table, ["age"], weight="weight").weights.smallest
        Fraction(8, 1)
    """

    kind = "classes by sampling weights"
    population: Fraction
    smallest: Fraction
    expected: float

    def _lines(self) -> list[str]:
        return [
            f"the rows stand for {float(self.population):,.0f} people",
            f"the rows of the smallest class stand for {float(self.smallest):,.1f} people",
            f"expected share of rows identified {self.expected:.2%}",
        ]


def weighted_classes(groups: BaseGroups, classes: ClassKeys, weight: str) -> WeightedClasses:
    """Sums of weights by class; a missing weight is zero."""
    numerators, denominator = _common_denominator(groups.values[weight], weight)
    order = np.argsort(classes.values)
    starts = np.flatnonzero(first_of_runs(classes.values[order]))
    if not len(starts):
        return WeightedClasses(Fraction(0), Fraction(0), 0.0)
    rows, codes = groups.rows[order], groups.codes[weight][order]
    limbs = _limbs(numerators)
    sums = [np.add.reduceat(limb[codes] * rows, starts) for limb in limbs]
    estimates = sum((each.astype(float) * 2.0 ** (_LIMB * i) for i, each in enumerate(sums)), np.zeros(len(starts)))
    near = np.flatnonzero(estimates <= estimates.min() * (1 + 2.0**-40))
    candidates = np.unique(np.stack([each[near] for each in sums]), axis=1)
    smallest = min(_joined(list(candidates), i) for i in range(candidates.shape[1]))
    everything = sum(int(each.sum(dtype=object)) << (_LIMB * i) for i, each in enumerate(sums))
    sizes = np.maximum(estimates / denominator, 1.0)
    expected = math.fsum(np.add.reduceat(rows, starts) / sizes) / int(rows.sum())
    return WeightedClasses(Fraction(everything, denominator), Fraction(smallest, denominator), expected)


def _common_denominator(values: pa.Array, name: str) -> tuple[list[int], int]:
    """Weights as integers over one denominator."""
    kind = values.type
    if not (pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_null(kind)):
        raise unfit_weights(name)
    cells = values.to_pylist()
    if any(cell and not SMALLEST_WEIGHT <= cell <= LARGEST_WEIGHT for cell in cells):
        raise unfit_weights(name)
    ratios = [Fraction(cell or 0) for cell in cells]
    denominator = math.lcm(*(each.denominator for each in ratios))
    return [int(each * denominator) for each in ratios], denominator


def unfit_weights(name: str) -> ParameterError:
    """The error for a column with a weight that is no number of people."""
    return ParameterError(
        f"weight={name!r}",
        because=f"sampling weights are zero, or from {SMALLEST_WEIGHT:g} to {LARGEST_WEIGHT:g}",
        instead="a column with the number of people that a row stands for",
    )


def _limbs(numerators: list[int]) -> list[Integers]:
    """The digits of integers, lowest first."""
    number = max(1, -(-max(numerators, default=0).bit_length() // _LIMB))
    mask = (1 << _LIMB) - 1
    return [np.array([each >> (_LIMB * i) & mask for each in numerators], np.int64) for i in range(number)]


def _joined(sums: list[Integers], index: int) -> int:
    return sum(int(each[index]) << (_LIMB * i) for i, each in enumerate(sums))
