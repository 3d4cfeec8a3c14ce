"""Counts that are not negative and add up to the number of reports: norm-sub, the projection onto the simplex.

One number is subtracted from every count and negative ones become zero, so that the rest adds up to the number of
reports. That is the nearest such table in squared distance (Wang et al., Locally Differentially Private Frequency
Estimation with Consistency, NDSS 2020). It is post-processing. The result is biased: rare values are pulled to zero
and the common ones move, so there are no intervals. Norm-sub also makes false reports more effective.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from discreet.errors import public_class

if TYPE_CHECKING:
    import pandas as pd

Floats = NDArray[np.float64]


@public_class
@dataclass(frozen=True, eq=False)
class ConsistentCounts:
    """Counts that are not negative and add up; biased, and without intervals.

    Attributes:
        values: The values of the domain.
        counts: A count for each value.
        reports: Number of reports, which is the sum of the counts.

    Example:
        >>> ConsistentCounts(["red", "green"], simplex([12.0, -2.0], 10), 10).to_arrow().to_pylist()
        [{'value': 'red', 'count': 10.0}, {'value': 'green', 'count': 0.0}]
    """

    values: list[str] | list[int] | list[float]
    counts: Floats
    reports: int

    @property
    def shares(self) -> Floats:
        """A share of the reports for each value."""
        return self.counts / self.reports

    def to_arrow(self) -> pa.Table:
        """The counts as an Arrow table.

        Returns:
            The columns value and count.
        """
        return pa.table({"value": self.values, "count": self.counts})

    def to_pandas(self) -> "pd.DataFrame":
        """The counts as a pandas frame.

        Returns:
            The columns value and count.
        """
        frame: pd.DataFrame = self.to_arrow().to_pandas()
        return frame


def simplex(counts: Floats | list[float], total: float) -> Floats:
    """The nearest counts that are not negative and have this sum.

    Args:
        counts: The counts.
        total: The sum.

    Returns:
        The projected counts.

    Example:
        >>> simplex([12.0, 3.0, -5.0], 10).tolist()
        [9.5, 0.5, 0.0]
    """
    values = np.asarray(counts, dtype=np.float64)
    falling = np.sort(values)[::-1]
    excess = (np.cumsum(falling) - total) / np.arange(1, len(values) + 1)
    last = np.flatnonzero(falling > excess)[-1] if total > 0 else 0
    projected: Floats = np.maximum(values - excess[last], 0.0)
    return projected
