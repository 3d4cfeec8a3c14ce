"""Gradient boosting with random splits: a schedule from public facts, and trees from noisy sums.

Definition
    Every tree divides the places of one term into random leaves, drawn without data. A person's residuals and Hessians
    are added to the places of their leaves, clipped together and summed over people; the sum is released with discrete
    Gaussian noise. A leaf's weight is a Newton step from its noisy sums, shrunk by the James-Stein factor of its tree.

Guarantee
    A fit has the privacy cost of its schedule: as many Gaussian releases of equal rho as trees, which add up to the rho
    of the learner. The schedule depends on declared features, size, classes and rho alone. Leaves, the order of terms
    and all weights are functions of noisy sums, public facts and independent randomness. Proof:
    docs/proofs/learning/boosting/learner.md.

Exactness
    Sums and noise are exact integers. Weights are computed in floats from noisy sums and rounded to the lattice once;
    they are public.

Not covered
    The time of a fit, which depends on the number of rows.

References
    Nori and others, Accuracy, Interpretability, and Differential Privacy via Explainable Boosting, ICML 2021.
    Maddock and others, Federated Boosted Decision Trees with Differential Privacy, CCS 2022 (random splits).
    James and Stein, Estimation with Quadratic Loss, Berkeley Symposium 1961.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from discreet.learning.boosting.choice import TermQueue
from discreet.learning.boosting.defaults import (
    LEAVES,
    PAIR_LEAVES,
    RIDGE,
    SHRINKAGE,
    default_learning_rate,
    default_rounds,
)
from discreet.learning.boosting.model import AdditiveModel
from discreet.learning.boosting.objectives import Objective
from discreet.learning.boosting.steps import ScoreCache, TreeStep
from discreet.learning.boosting.terms import Leaves, random_leaves, terms_of
from discreet.learning.core.features import DeclaredFeature
from discreet.learning.core.lattice import ONE, Integers
from discreet.learning.core.learner import Learner
from discreet.learning.core.training import NoisySums, Schedule, planned_sum

LARGEST_WEIGHT = 16


@dataclass(frozen=True)
class BoostingLearner(Learner):
    """Gradient boosting with all its public parameters.

    Attributes:
        features: The declared features, in the order of the columns.
        classes: Number of classes, or 0 for a target in steps from -2^20 to 2^20 of its declared range.
        size: Declared number of people.
        rho: Privacy cost of a fit.
        replace_one: Whether neighbours replace a person instead of adding or removing one.
        interactions: Pairs of features that have trees of their own.
        rounds: Trees for each term on average. None: from size, terms and rho.
        learning_rate: Share of a Newton step. None: from the rounds.
        leaves: Most leaves of a tree.
    """

    features: Mapping[str, DeclaredFeature]
    classes: int
    size: int
    rho: Fraction
    replace_one: bool = False
    interactions: tuple[tuple[str, str], ...] = ()
    rounds: int | None = None
    learning_rate: float | None = None
    leaves: int = LEAVES

    @property
    def objective(self) -> Objective:
        """The loss."""
        return Objective(self.classes)

    @property
    def trees(self) -> int:
        """Number of trees."""
        return self._rounds * (len(self.features) + len(self.interactions))

    @property
    def _rounds(self) -> int:
        terms = len(self.features) + len(self.interactions)
        return self.rounds or default_rounds(self.size, terms, self.rho, replace_one=self.replace_one)

    @property
    def _rate(self) -> float:
        return self.learning_rate or default_learning_rate(self._rounds)

    @property
    def defaults(self) -> dict[str, int | float]:
        """Rounds and learning rate."""
        return {"rounds": self._rounds, "learning_rate": self._rate}

    @property
    def schedule(self) -> Schedule:
        """One sum for each tree, all with the same noise."""
        most = max(self.leaves, PAIR_LEAVES**2 if self.interactions else 0)
        length = self.objective.width * most
        each = planned_sum(self.objective.clip, length, self.rho / self.trees, replace_one=self.replace_one)
        return Schedule((each,) * self.trees)

    def train(self, sums: NoisySums) -> AdditiveModel:
        """The model, from noisy sums alone."""
        generator = sums.public_generator()
        terms = terms_of(self.features, self.interactions)
        queue = TermQueue(len(terms), generator)
        model = AdditiveModel.empty(self.features, self.interactions, self.objective)
        cache = ScoreCache(model)
        for planned in self.schedule.sums:
            number = queue.next_term()
            leaves = random_leaves(terms[number], number, self.leaves, generator)
            noisy = sums.sum(TreeStep(model, leaves, cache)).reshape(leaves.count, -1)
            residuals, hessians = noisy[:, :-1], noisy[:, -1:]
            strength = _strength(residuals, planned.noise.sigma)
            queue.learn(number, strength, residuals.size)
            weights = self._leaf_weights(residuals, hessians, strength, planned.noise.sigma)
            table = weights[leaves.leaf]
            model = model.grow(number, table, _place_weights(hessians, leaves))
            cache.grow(model, number, table)
        return model

    def _leaf_weights(self, residuals: Integers, hessians: Integers, strength: float, sigma: float) -> Integers:
        """Newton steps on the lattice, shrunk by how far the residuals stand out of the noise."""
        factor = max(0.0, 1 - SHRINKAGE * residuals.size / strength) if strength > 0 else 0.0
        steps = residuals / (np.maximum(hessians, 0) / self.objective.hessian_weight + RIDGE * sigma)
        weights = np.clip(self._rate * factor * self.objective.step_scale * steps, -LARGEST_WEIGHT, LARGEST_WEIGHT)
        found: Integers = np.rint(weights * ONE).astype(np.int64)
        return found


def _strength(residuals: Integers, sigma: float) -> float:
    """The squared norm of noisy residuals, in variances of the noise."""
    scaled: NDArray[np.float64] = residuals / sigma
    return float((scaled**2).sum())


def _place_weights(hessians: Integers, leaves: Leaves) -> Integers:
    """The noisy Hessian of each leaf, spread evenly over its places: public, for plots and importance."""
    sizes = np.maximum(np.bincount(leaves.leaf, minlength=leaves.count), 1)
    each: Integers = np.maximum(hessians[:, 0], 0) // sizes
    return each[leaves.leaf]
