"""Counts that are not negative and add up to the number of reports: norm-sub, the projection onto the simplex.

One number is subtracted from every count and negative ones become zero, so that the rest adds up to the number of
reports. That is the nearest such table in squared distance (Wang et al., Locally Differentially Private Frequency
Estimation with Consistency, NDSS 2020). It is post-processing. The result is biased: rare values are pulled to zero
and the common ones move, so there are no intervals. Norm-sub also makes false reports more effective.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from discreet.errors import public_class
from discreet.exact.numbers import whole
from discreet.local.estimates.listing import SHOWN, listing, whole_text
from discreet.local.oracles.randomizer import Floats
from discreet.plan.wording import counted
from discreet.release.forms import pandas_frame

if TYPE_CHECKING:
    import pandas as pd


@public_class
@dataclass(frozen=True, eq=False, repr=False)
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

    values: Sequence[str] | Sequence[int] | Sequence[float]
    counts: Floats
    reports: int

    def __len__(self) -> int:
        return len(self.counts)

    def __repr__(self) -> str:
        heading = f"{counted(self.reports, 'report')}, {counted(len(self), 'value')}; counts add up, and are biased"
        return listing(heading, ((value, f"{whole_text(count):>12}") for value, count in self.top()), len(self) - SHOWN)

    def top(self, number: int = SHOWN) -> list[tuple[str | int | float, float]]:
        """The values of the largest counts.

        Args:
            number: How many. Default 10.

        Returns:
            A value and its count, largest first.

        Raises:
            ParameterError: If the number is negative.
        """
        return [(self.values[slot], float(self.counts[slot])) for slot in largest(self.counts, number)]

    @property
    def shares(self) -> Floats:
        """A share of the reports for each value."""
        return self.counts / self.reports

    def to_arrow(self) -> pa.Table:
        """The counts as an Arrow table.

        Returns:
            The columns value and count.
        """
        return pa.table({"value": value_column(self.values), "count": self.counts})

    def to_pandas(self) -> "pd.DataFrame":
        """The counts as a pandas frame.

        Returns:
            The columns value and count.

        Raises:
            UnsupportedError: If pandas is not installed.
        """
        return pandas_frame(self.to_arrow())


def largest(counts: Floats, number: int) -> list[int]:
    """Places of the largest counts, largest first; of equal ones the first."""
    wanted = min(whole(number, "number", least=0), len(counts))
    if not wanted:
        return []
    bound = np.partition(counts, len(counts) - wanted)[len(counts) - wanted]
    places = np.flatnonzero(counts >= bound)
    order: list[int] = places[np.argsort(-counts[places], kind="stable")][:wanted].tolist()
    return order


def value_column(values: Sequence[str] | Sequence[int] | Sequence[float]) -> pa.Array:
    """Values as an Arrow column; slots without texts are a range, which takes no memory until here."""
    return pa.array(np.arange(len(values)) if isinstance(values, range) else values)


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
