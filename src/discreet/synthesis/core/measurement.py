"""A noisy marginal: integers that are public, with the variance of their noise."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.synthesis.core.domain import Columns

Integers = NDArray[np.int64]
Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Measurement:
    """A marginal with independent discrete Gaussian noise on every cell.

    Attributes:
        columns: The columns, in the order of the domain.
        values: The noisy counts, one axis for each column.
        sigma: The parameter of the noise, which is about its standard deviation.
    """

    columns: Columns
    values: Integers
    sigma: float

    @property
    def total(self) -> int:
        """The noisy number of rows; the variance of its noise is the number of cells times sigma squared."""
        return int(self.values.sum())

    def to_json(self, groups: Mapping[str, Sequence[int]]) -> dict[str, Any]:
        """The measurement as plain data, with the group of each slot for those of its columns that were merged."""
        plain = {"columns": list(self.columns), "values": self.values.ravel().tolist(), "sigma": self.sigma}
        own = {name: list(groups[name]) for name in self.columns if name in groups}
        return plain | ({"groups": own} if own else {})


def estimated_total(measurements: list[Measurement]) -> float:
    """The number of rows: the mean of the totals of all measurements, weighted by the inverse of their variances."""
    weights = [1 / (each.values.size * each.sigma**2) for each in measurements]
    return float(np.average([each.total for each in measurements], weights=weights))
