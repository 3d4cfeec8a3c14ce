"""Propose, test, release: a bound is proposed, the data's distance from breaking it tested, and the answer released.

Definition
    D(x) is the least k with A_k(x) > bound, A_k from a local object. Y is an integer with
    P[Y = y] = (1 - q)/(1 + q) q^|y|, q = e^(-1/scale), scale the least double at or above 1/epsilon. If D(x) + Y >
    threshold, then f(x) + (bound/epsilon) Z is released, Z with density e^(-|z|)/2, rounded to a public grid; else
    nothing. The threshold is the least integer T >= 0 with P[Y > T] = q^(T+1)/(1 + q) <= delta. Where no A_k exceeds
    the bound, on this data and so on all, the answer is always released.

Guarantee
    (2 epsilon, delta)-DP, and rho = epsilon^2 but for delta, where the local object keeps its contract; the privacy
    cost is the same when nothing is released. delta is reached up to the step from T to T + 1. Proof:
    docs/proofs/mechanisms/smooth/proposing.md. The textbook's threshold ln(2/delta)/(2 epsilon) lets unsafe data pass
    with probability sqrt(delta/8) (continuous noise; 1.1e-3 where delta = 1e-5 and epsilon = 1).

Exactness
    D and Y are integers, the threshold is decided in rationals, and the rounded answer has exactly the distribution of
    the rounded real one (continuous.py). `chance` is a float, for display.

Not covered
    That nothing was released is an output like any other and tells, noisily, how far the data is from breaking the
    bound. The bound is public and must not be chosen by looking at the data. The time of a release.

References
    Dwork and Lei, Differential Privacy and Robust Statistics, STOC 2009, Section 3; Dwork and Roth, The Algorithmic
    Foundations of Differential Privacy, 2014, Section 7.2.
"""

import math
from dataclasses import dataclass
from fractions import Fraction

from discreet.errors import public_class, short_traceback
from discreet.events import ApproximateEvent, ComposedEvent, DiscreteLaplaceEvent
from discreet.exact.numbers import Number, positive, probability
from discreet.exact.rounding import double_up, exp_down, exp_up, log_down, log_up
from discreet.mechanisms import lattice
from discreet.mechanisms.lattice import Scalar
from discreet.mechanisms.smooth.local import Local
from discreet.samplers import continuous, discrete


def distance(local: Local, bound: Fraction) -> int | None:
    """The least k with A_k > bound; None where there is none, on this data and so on all. Private."""
    if local.at(local.reach) <= bound:
        return None
    least, most = 0, local.reach
    while least < most:
        middle = (least + most) // 2
        if local.at(middle) > bound:
            most = middle
        else:
            least = middle + 1
    return least


@public_class
@dataclass(frozen=True, init=False)
class ProposeTestRelease:
    """Propose-test-release: Laplace noise scaled to a proposed bound, if a private test passes.

    Args:
        bound: Proposed bound on the local sensitivity.
        epsilon: Epsilon of the test, and of the answer: 2 epsilon in all.
        delta: Probability with which the test passes wrongly.
        grid: Releases are multiples of it. Default 1.

    Raises:
        ParameterError: If an argument is outside its range.

    Example:
        >>> import discreet as dp
        >>> proposing = dp.mechanisms.smooth.ProposeTestRelease(bound=5, epsilon=0.5, delta=1e-9)
        >>> proposing.margin(), proposing.threshold
        (31, 40)
    """

    bound: Fraction
    epsilon: Fraction
    delta: Fraction
    grid: Fraction
    scale: float
    threshold: int

    @short_traceback
    def __init__(self, *, bound: Number, epsilon: Number, delta: Number, grid: Number = 1) -> None:
        price = positive(epsilon, "epsilon")
        positive(delta, "delta")
        discrete.check_scale(1 / price, "scale", "ProposeTestRelease(bound=1, epsilon=0.5, delta=1e-6)")
        object.__setattr__(self, "bound", positive(bound, "bound"))
        object.__setattr__(self, "epsilon", price)
        object.__setattr__(self, "delta", probability(delta, "delta", example="1e-6"))
        object.__setattr__(self, "grid", positive(grid, "grid"))
        object.__setattr__(self, "scale", double_up(1 / price))
        object.__setattr__(self, "threshold", least_threshold(Fraction(self.scale), self.delta))

    def event(self) -> ComposedEvent:
        """Event of a release, whether or not the test passes.

        Returns:
            The event.
        """
        test = DiscreteLaplaceEvent(scale=Fraction(self.scale), sensitivity=Fraction(1))
        return ComposedEvent((test, ApproximateEvent(self.epsilon, self.delta)))

    def chance(self, steps: int) -> float:
        """Probability that data at a distance passes the test.

        Args:
            steps: Number of units to change until the bound is broken.

        Returns:
            The probability.
        """
        ahead = steps - self.threshold
        one_plus_q = 1 + math.exp(-1 / self.scale)
        if ahead > 0:
            return 1 - math.exp(-ahead / self.scale) / one_plus_q
        return math.exp((ahead - 1) / self.scale) / one_plus_q

    def margin(self, confidence: Number = 0.95) -> Scalar:
        """Margin of error of a released answer; public.

        Args:
            confidence: Probability with which the margin holds. Default 0.95.

        Returns:
            A multiple of the grid.
        """
        outside = 1 - lattice.confidence_of(confidence)
        farthest = self.bound / self.epsilon * log_up(1 / outside) / self.grid + Fraction(1, 2)
        return lattice.value_of(math.ceil(farthest), self.grid)

    @short_traceback
    def release(self, local: Local) -> Scalar | None:
        """Answer with fresh noise, on the grid, or None if the test does not pass; the cost is the same.

        Args:
            local: An answer with its local sensitivity at every distance.

        Returns:
            The noisy answer, or None.
        """
        far = distance(local, self.bound)
        passes = far is None or far + int(discrete.discrete_laplace(self.scale, 1)[0]) > self.threshold
        scale = self.bound / self.epsilon
        steps = continuous.round_with_noise(local.value(), scale, continuous.StandardLaplace(), self.grid)
        return lattice.value_of(steps, self.grid) if passes else None


def least_threshold(scale: Fraction, delta: Fraction) -> int:
    """The least integer T >= 0 with q^(T+1)/(1 + q) <= delta, q = e^(-1/scale)."""
    one_plus_q = 1 + exp_down(-1 / scale)
    threshold = max(0, math.floor(scale * log_down(1 / (delta * one_plus_q))) - 1)
    while exp_up(-(threshold + 1) / scale) / one_plus_q > delta:
        threshold += 1
    return threshold
