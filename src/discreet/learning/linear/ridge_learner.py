"""Ridge regression on declared features, from one noisy sum of products.

Definition
    A row has p features and a target. An ordered feature is the middle of its bin, scaled to [-1, 1] with missing
    values at 0; a category is a column of its own, 1 in the rows that have it. With the constant and the target a row
    has m = p + 2 entries that are not zero, each at most 1. The sum adds their m (m + 1)/2 products over rows. Ridge
    regression follows from the noisy products alone (linear/least_squares.py).

Guarantee
    A row moves the sum by at most sqrt(m (m + 1)/2), which is the clip of a person with any number of rows.
    A fit is one Gaussian event. Proof: docs/proofs/learning/linear/ridge_learner.md.

Exactness
    Entries are whole numbers of 2^-10, products of 2^-20, sums are integers. Weights are floats made from noisy sums
    and rounded to steps: they are public.

Not covered
    Bins, categories and bounds of the target, which are declared and never learned. Values within a bin count alike.

References
    Wang, Revisiting Differentially Private Linear Regression, UAI 2018 (a ridge term from the noise).
    Dwork, Talwar, Thakurta and Zhang, Analyze Gauss, STOC 2014 (noise on products).
"""

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from discreet.learning.core.features import DeclaredFeature
from discreet.learning.core.lattice import BITS, ONE, Integers, root_up
from discreet.learning.core.learner import OneSumLearner
from discreet.learning.core.rows import EncodedRows
from discreet.learning.core.sums import Contributions
from discreet.learning.core.training import NoisySums
from discreet.learning.linear.least_squares import RidgeSolution, ridge_solution, symmetric
from discreet.learning.linear.linear_model import LinearModel, first_slots, weight_steps

HALF_BITS = BITS // 2
SCALE = 1 << HALF_BITS
"""Steps of an entry that are 1; a product of two is a step of the lattice."""


@dataclass(frozen=True)
class RidgeDesign:
    """Which column of the design each slot has, and which value there.

    Attributes:
        columns: Column of each slot of each feature; 0 is the constant, and the target is the last.
        values: Value of each slot, in steps of 2^-10.
        firsts: Where the slots of each feature begin.
        width: Number of columns.
    """

    columns: Integers
    values: Integers
    firsts: Integers
    width: int

    @property
    def has_fixed_columns(self) -> bool:
        """Whether every slot of a feature has the same column: all features are numbers."""
        return self.width == len(self.firsts) + 2


def design_of(features: Mapping[str, DeclaredFeature]) -> RidgeDesign:
    """The design of declared features: public."""
    columns: list[int] = []
    values: list[int] = []
    width = 1
    for feature in features.values():
        if feature.is_ordered:
            bins = feature.slots - 1
            columns += [width] * feature.slots
            values += [0, *(SCALE * (2 * place + 1 - bins) // bins for place in range(bins))]
            width += 1
        else:
            columns += range(width, width + feature.slots)
            values += [SCALE] * feature.slots
            width += feature.slots
    return RidgeDesign(
        np.asarray(columns, dtype=np.int64), np.asarray(values, dtype=np.int64), first_slots(features), width + 1
    )


@dataclass(frozen=True)
class ProductSums:
    """The products of the entries of a row that are not zero, the constant and the target among them."""

    design: RidgeDesign
    clip: int
    has_distinct_places: bool = True

    @property
    def length(self) -> int:
        """One place for each pair of columns."""
        return self.design.width * (self.design.width + 1) // 2

    def contributions(self, rows: EncodedRows) -> Contributions:
        """Every product of two entries of the row, at the place of their columns."""
        slots = rows.codes.astype(np.int64) + self.design.firsts
        count, width = len(rows), self.design.width
        target = (np.clip(rows.target, -ONE, ONE) + SCALE // 2) >> HALF_BITS
        constant = np.full((count, 1), SCALE, dtype=np.int64)
        entries = np.hstack([constant, self.design.values[slots], target[:, None]])
        found = self.design.columns[self.design.firsts[None, :] if self.design.has_fixed_columns else slots]
        first, last = (np.full((len(found), 1), column, dtype=np.int64) for column in (0, width - 1))
        columns = np.hstack([first, found, last])
        one, other = np.triu_indices(entries.shape[1])
        low, high = columns[:, one], columns[:, other]
        places = low * width - low * (low - 1) // 2 + high - low
        products = entries[:, one] * entries[:, other]
        return Contributions(np.broadcast_to(places, products.shape), products)


@dataclass(frozen=True)
class RidgeLearner(OneSumLearner):
    """Ridge regression with all its public parameters.

    Attributes:
        features: The declared features, by name, in the order of the codes.
        rho: Privacy cost of the fit.
        replace_one: Whether neighbouring datasets replace a person, rather than add or remove one.
        alpha: Ridge term beside the one that the noise asks for.
    """

    features: Mapping[str, DeclaredFeature]
    rho: Fraction
    replace_one: bool = False
    alpha: float = 0.0

    def train(self, sums: NoisySums) -> LinearModel:
        """The model, from noisy products alone."""
        step, (planned,) = self._step(), self.schedule.sums
        moments = symmetric(sums.sum(step) / ONE, step.design.width)
        solution = ridge_solution(moments, planned.noise.sigma / ONE, self.alpha)
        return LinearModel(self.features, slot_weights(step.design, solution))

    def feature_text(self, feature: DeclaredFeature) -> str:
        """A number is a straight line over its bins."""
        return f"line over {feature.slots - 1:,} bins" if feature.is_ordered else super().feature_text(feature)

    def _step(self) -> ProductSums:
        entries = len(self.features) + 2
        return ProductSums(design_of(self.features), root_up(entries * (entries + 1) // 2 * ONE * ONE))


def slot_weights(design: RidgeDesign, solution: RidgeSolution) -> Integers:
    """The weight of each slot, in steps; those of the first feature hold the intercept too."""
    weights = solution.coefficients[design.columns - 1] * design.values / SCALE
    first = slice(None) if len(design.firsts) == 1 else slice(0, int(design.firsts[1]))
    weights[first] += solution.intercept
    return weight_steps(weights)[:, None]
