"""Moments that a session released, read back for models: post-processing of a release, which costs nothing."""

import json
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from discreet import events
from discreet.errors import ParameterError
from discreet.learning.core.features import DeclaredFeature, linear_bins
from discreet.learning.core.lattice import Floats
from discreet.planner.queries.moments import LATTICE, PLACES, pairs_of
from discreet.release.release import Release


@dataclass(frozen=True)
class ReleasedMoments:
    """Noisy moments of columns scaled to [-1, 1], with the lattice of each column.

    Attributes:
        names: The columns.
        lows: Lowest value of each column.
        highs: Highest value of each column.
        middles: What a missing value counts as, scaled to [-1, 1].
        matrix: Noisy sums of products of (1, columns); those that were not released are NaN.
        deviation: Standard deviation of the noise of an entry.
        event: The event that was charged.
        guarantee: What the release reveals, in words.
    """

    names: tuple[str, ...]
    lows: tuple[float, ...]
    highs: tuple[float, ...]
    middles: tuple[float, ...]
    matrix: Floats
    deviation: float
    event: events.Event
    guarantee: str

    def place(self, name: str) -> int:
        """The place of a column among all."""
        if name not in self.names:
            raise ParameterError(
                f"moments without the column {name!r}",
                because="a model is made from the columns of the release",
                instead=f"{self.names[-1]!r}, or moments of {name!r} too",
            )
        return self.names.index(name)

    def feature(self, name: str) -> DeclaredFeature:
        """The column as bins of about one step of its lattice."""
        place = self.place(name)
        return linear_bins(self.lows[place], self.highs[place], 2 * LATTICE)


def read_moments(release: object) -> ReleasedMoments:
    """The moments of a release of `table.moments(...)`.

    Raises:
        ParameterError: If it is another release.
    """
    if not isinstance(release, Release) or not release.measured or release.measured[0].places != PLACES:
        raise ParameterError(
            "a release that is not of moments",
            because="a linear model is made from sums of products",
            instead='session.release(dp.table("people").moments("age", "income"), epsilon=1)',
        )
    (measured,) = release.measured
    axes = [(name, Fraction(grid["ratio"]), centre, missing) for name, grid, centre, missing in _axes(measured.measure)]
    count = len(axes)
    products: Any = "all" if len(measured.steps) == len(pairs_of(count, "all")) else "squares"
    matrix: Floats = np.full((count + 1, count + 1), np.nan)
    for (one, other), steps in zip(pairs_of(count, products), measured.steps, strict=True):
        matrix[one, other] = matrix[other, one] = steps / LATTICE**2
    return ReleasedMoments(
        names=tuple(name for name, *_ in axes),
        lows=tuple(float((centre - LATTICE) * grid) for _, grid, centre, _ in axes),
        highs=tuple(float((centre + LATTICE) * grid) for _, grid, centre, _ in axes),
        middles=tuple((missing - centre) / LATTICE for _, _, centre, missing in axes),
        matrix=matrix,
        deviation=float(measured.scale) / LATTICE**2,
        event=events.from_json(json.loads(release.receipt["event"])),
        guarantee=release.guarantee,
    )


def _axes(measure: str) -> list[Any]:
    axes: list[Any] = json.loads(measure)
    return axes
