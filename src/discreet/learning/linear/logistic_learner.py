"""Logistic regression on declared features, by full-batch gradient descent on noisy integer sums.

Definition
    A row is one slot for each of its p features, and its score for a class is the sum of the p public weights of
    these slots. The first sum counts rows by slot. Each of the following T sums adds the gradient of the clipped
    logistic loss: a row adds g = y - q to the p slots it has, q the logistic function of its score; with more than two
    classes g is the vector of e_y - softmax. Weights follow from noisy sums alone (linear/descent.py).

Guarantee
    The schedule is a function of public facts: features, number of classes, declared size, rho. A person moves the
    counts by at most sqrt(p), and a gradient by at most sqrt(p)/2, or sqrt(p (1 - 1/classes)) with more than two
    classes, for any number of rows of the person. A fit is one event: 1 + T Gaussian events composed. Proof:
    docs/proofs/learning/linear/logistic_learner.md.

Exactness
    Scores, gradients, clipping and sums are integers; 2^20 steps are 1. Weights are floats made from noisy sums and
    rounded to steps before a row meets them: they are public. The lattice costs less than 0.0001 of AUC on Adult.

Not covered
    Bins and categories, which are declared and never learned. The time of a fit, which depends on the number of rows.

References
    Bassily, Smith and Thakurta, Private Empirical Risk Minimization, FOCS 2014 (noisy gradient descent).
    Abadi and others, Deep Learning with Differential Privacy, CCS 2016 (clipped gradients).
    James and Stein, Estimation with Quadratic Loss, 1961 (shrinkage of noisy gradients).
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

from discreet.learning.core.features import DeclaredFeature
from discreet.learning.core.lattice import ONE, root_up
from discreet.learning.core.learner import Learner
from discreet.learning.core.training import NoisySums, Schedule, planned_sum
from discreet.learning.linear.descent import COUNT_SHARE, Descent
from discreet.learning.linear.linear_model import LinearModel, first_slots, slot_count
from discreet.learning.linear.logistic_steps import LogisticGradient, SlotCounts

"""The share of rho that the counts get."""


@dataclass(frozen=True)
class LogisticLearner(Learner):
    """Logistic regression with all its public parameters.

    Attributes:
        features: The declared features, by name, in the order of the codes.
        classes: Number of classes, at least 2.
        size: Declared number of people; approximate and public.
        rho: Privacy cost of the fit.
        replace_one: Whether neighbouring datasets replace a person, rather than add or remove one.
        iterations: Number of gradient sums. Default: from rho, the declared size and the number of features.
    """

    features: Mapping[str, DeclaredFeature]
    classes: int
    size: int
    rho: Fraction
    replace_one: bool = False
    iterations: int | None = None

    @property
    def steps(self) -> int:
        """Number of gradient sums."""
        if self.iterations is not None:
            return self.iterations
        return default_iterations(self.size, len(self.features), self.rho)

    @property
    def defaults(self) -> dict[str, int | float]:
        """Iterations."""
        return {"iterations": self.steps}

    @property
    def columns(self) -> int:
        """Number of scores of a row."""
        return 1 if self.classes == 2 else self.classes

    @cached_property
    def schedule(self) -> Schedule:
        """The counts, then the gradient sums."""
        slots, width = slot_count(self.features), len(self.features)
        gradient_clip = clip_of(Fraction(width, 4) if self.columns == 1 else width * (1 - Fraction(1, self.classes)))
        share = self.rho * (1 - COUNT_SHARE) / self.steps
        counts = planned_sum(clip_of(Fraction(width)), slots, self.rho * COUNT_SHARE, replace_one=self.replace_one)
        gradient = planned_sum(gradient_clip, slots * self.columns, share, replace_one=self.replace_one)
        return Schedule((counts, *[gradient] * self.steps))

    def train(self, sums: NoisySums) -> LinearModel:
        """The model, from noisy sums alone."""
        firsts, slots = first_slots(self.features), slot_count(self.features)
        counts, gradient = self.schedule.sums[:2]
        noisy = sums.sum(SlotCounts(firsts, slots, counts.clip))
        descent = Descent(self.features, self.columns, noisy / ONE, gradient.noise.sigma / ONE)
        for _ in range(self.steps):
            step = LogisticGradient(firsts, descent.weights, gradient.clip)
            descent.move(sums.sum(step).reshape(slots, self.columns) / ONE)
        return LinearModel(self.features, descent.average)


def clip_of(square: Fraction) -> int:
    """The clip in steps whose square is the given number, rounded up."""
    return root_up(math.ceil(square * ONE * ONE))


def default_iterations(size: int, features: int, rho: Fraction) -> int:
    """Number of gradient sums, from public facts alone: more where the noise is small beside the people."""
    signal = size * math.sqrt(rho / features)
    return min(max(round(1.1 * math.sqrt(signal)), 5), 100)
