"""Scaling of columns by private means and deviations, from one noisy sum or from moments that a session released.

Definition
    Each of p columns is read as the middle of its bin, scaled to [-1, 1]; a missing value is 0. The sum adds over rows
    the constant, the p values and their p squares. Means and deviations follow from the noisy sums alone.

Guarantee
    A row moves the sum by at most sqrt(2 p + 1), which is the clip of a person with any number of rows.
    A fit is one Gaussian event. Proof: docs/proofs/learning/linear/scale_learner.md.

Exactness
    Values are whole numbers of 2^-10, squares of 2^-20, sums are integers. Means and deviations are floats made from
    noisy sums: they are public.

Not covered
    Bounds of columns, which are declared. A deviation includes the width of a bin, so bins are best narrow.

References
    Dwork, Talwar, Thakurta and Zhang, Analyze Gauss, STOC 2014 (noise on products).
"""

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Self

import numpy as np

from discreet.learning.core.features import DeclaredFeature
from discreet.learning.core.lattice import ONE, Floats, Integers, root_up
from discreet.learning.core.learner import OneSumLearner, PublicModel
from discreet.learning.core.rows import Codes, EncodedRows
from discreet.learning.core.sums import Contributions
from discreet.learning.core.training import NoisySums
from discreet.learning.linear.least_squares import means_and_deviations
from discreet.learning.linear.ridge_learner import SCALE, design_of


@dataclass(frozen=True)
class ScaleModel(PublicModel):
    """Means and deviations of columns.

    Attributes:
        means: Mean of each column.
        deviations: Standard deviation of each column.
    """

    means: Floats
    deviations: Floats

    def scores(self, codes: Codes) -> Integers:
        """None: it predicts nothing."""
        return np.zeros((len(codes), 0), dtype=np.int64)

    def to_json(self) -> dict[str, Any]:
        """The model as plain data."""
        return {"kind": "scale", "means": self.means.tolist(), "deviations": self.deviations.tolist()}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Self:
        """The model that `to_json` wrote."""
        means, deviations = (np.asarray(data[name], dtype=np.float64) for name in ("means", "deviations"))
        if data["kind"] != "scale" or means.ndim != 1 or means.shape != deviations.shape:
            raise ValueError("not a scale of columns")
        return cls(means, deviations)


@dataclass(frozen=True)
class SquareSums:
    """The constant, the value of each column, and its square."""

    values: Integers
    firsts: Integers
    clip: int
    has_distinct_places: bool = True

    @property
    def length(self) -> int:
        """One place for the constant, and two for each column."""
        return 1 + 2 * len(self.firsts)

    def contributions(self, rows: EncodedRows) -> Contributions:
        """What the row adds to each place."""
        values = self.values[rows.codes.astype(np.int64) + self.firsts]
        constant = np.full((len(rows), 1), ONE, dtype=np.int64)
        found = np.hstack([constant, values * SCALE, values * values])
        return Contributions(np.broadcast_to(np.arange(self.length), found.shape), found)


@dataclass(frozen=True)
class ScaleLearner(OneSumLearner):
    """Means and deviations with all public parameters.

    Attributes:
        features: Columns in bins of equal width, by name.
        rho: Privacy cost of the fit.
        replace_one: Whether neighbouring datasets replace a person, rather than add or remove one.
    """

    features: Mapping[str, DeclaredFeature]
    rho: Fraction
    replace_one: bool = False

    def train(self, sums: NoisySums) -> ScaleModel:
        """The model, from noisy sums alone."""
        step, width = self._step(), len(self.features)
        noisy = sums.sum(step) / ONE
        scaled = means_and_deviations(float(noisy[0]), noisy[1 : 1 + width], noisy[1 + width :])
        return scale_model(*scaled, *outer_bounds(self.features))

    def feature_text(self, feature: DeclaredFeature) -> str:
        """A number is read as the middle of its bin."""
        return f"middles of {feature.slots - 1:,} bins" if feature.is_ordered else super().feature_text(feature)

    def _step(self) -> SquareSums:
        design = design_of(self.features)
        return SquareSums(design.values, design.firsts, root_up((2 * len(self.features) + 1) * ONE * ONE))


def scale_model(means: Floats, deviations: Floats, lows: Floats, highs: Floats) -> ScaleModel:
    """Means and deviations in the units of the columns."""
    half = (highs - lows) / 2
    return ScaleModel(lows + half + half * means, half * deviations)


def outer_bounds(features: Mapping[str, DeclaredFeature]) -> tuple[Floats, Floats]:
    """The bounds of columns in bins of equal width."""
    edges = [np.asarray(feature.inner_edges) for feature in features.values()]
    lows = np.array([2 * each[0] - each[1] for each in edges])
    highs = np.array([2 * each[-1] - each[-2] for each in edges])
    return lows, highs


def has_equal_bins(feature: DeclaredFeature) -> bool:
    """Whether a feature has at least three bins, all of one width."""
    widths = np.diff(np.asarray(feature.inner_edges))
    return feature.is_ordered and len(widths) > 0 and bool(np.allclose(widths, widths[0], rtol=1e-6))
