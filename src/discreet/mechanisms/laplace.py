"""Discrete Laplace noise: a pure guarantee for counts, sums and vectors of them.

Definition
    The answer x, a whole multiple of the grid g, is released as x + g Y. Y is an integer with
    P[Y = y] = (1 - q)/(1 + q) q^|y|, q = e^(-1/scale), independent for each coordinate of a vector.

Guarantee
    If the answers of neighbouring datasets differ by at most `sensitivity` in L1 norm, a release is epsilon-DP with
    epsilon = (sensitivity/g)/scale. It is tight where some pair of neighbours reaches the sensitivity. Proof:
    docs/proofs/mechanisms/laplace.md.

Exactness
    The scale is the least double at or above (sensitivity/g)/epsilon, and the event is priced from that very double,
    so the price is at most the epsilon asked for. Noise is drawn exactly for that double (see noise.py). Margins are
    decided in rationals and are the least; `pmf`, `cdf`, `tail` and `variance` are floats, for display.

Not covered
    Whether `sensitivity` is true of the query. How often `release` is called: every call is a new release, with its own
    price. The time a draw takes. Answers that come as floats: they are refused.

References
    Dwork, McSherry, Nissim and Smith, Calibrating Noise to Sensitivity in Private Data Analysis, TCC 2006,
    Proposition 1; Ghosh, Roughgarden and Sundararajan, Universally Utility-Maximizing Privacy Mechanisms, STOC 2009;
    Canonne, Kamath and Steinke, The Discrete Gaussian for Differential Privacy, NeurIPS 2020, Section 5.2 (sampler).
"""

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from typing import Self, overload

from discreet.errors import public_class, short_traceback
from discreet.events import DiscreteLaplaceEvent
from discreet.exact import Number, double_up, exp_down, exp_up, log_up, positive, rational, whole
from discreet.mechanisms import lattice
from discreet.mechanisms.lattice import Scalar, Vector
from discreet.samplers import discrete

_FARTHEST = 2**80


@public_class
@dataclass(frozen=True, init=False)
class Laplace:
    """Noise with P[y] proportional to exp(-|y|/scale), y counted in grid steps."""

    sensitivity: Fraction
    scale: float
    grid: Fraction

    @short_traceback
    def __init__(self, *, sensitivity: Number, epsilon: Number, grid: Number = 1) -> None:
        size, spacing = positive(sensitivity, "sensitivity"), positive(grid, "grid")
        scale = size / spacing / positive(epsilon, "epsilon")
        discrete.check_scale(scale, "scale", "Laplace(sensitivity=1, epsilon=0.1, grid=1)")
        object.__setattr__(self, "sensitivity", size)
        object.__setattr__(self, "scale", double_up(scale))
        object.__setattr__(self, "grid", spacing)

    @classmethod
    @short_traceback
    def with_scale(cls, *, scale: Number, sensitivity: Number, grid: Number = 1) -> Self:
        """Noise of a given scale in grid steps; a double is taken exactly, another number is rounded up to one."""
        steps = positive(scale, "scale")
        exact = Fraction(scale) if isinstance(scale, float) else steps
        size = positive(sensitivity, "sensitivity") / positive(grid, "grid")
        discrete.check_scale(exact, "scale", "Laplace.with_scale(scale=10.0, sensitivity=1)")
        return cls(sensitivity=sensitivity, epsilon=size / Fraction(double_up(exact)), grid=grid)

    @property
    def epsilon(self) -> Fraction:
        """The epsilon of one release: exact, and at most the one asked for."""
        return self.sensitivity / self.grid / Fraction(self.scale)

    @property
    def variance(self) -> float:
        """The variance of the noise in the answer's own terms, 2q/(1-q)^2 grid^2."""
        decay = -1 / self.scale
        return 2 * math.exp(decay) / math.expm1(decay) ** 2 * float(self.grid) ** 2

    @property
    def standard_deviation(self) -> float:
        """The standard deviation of the noise in the answer's own terms."""
        return math.sqrt(self.variance)

    def event(self) -> DiscreteLaplaceEvent:
        """What a release does: priced from the very double that is drawn."""
        return DiscreteLaplaceEvent(scale=Fraction(self.scale), sensitivity=self.sensitivity / self.grid)

    def pmf(self, y: int) -> float:
        """P[Y = y], y in grid steps."""
        return math.tanh(0.5 / self.scale) * self._power(abs(y))

    def cdf(self, y: int) -> float:
        """P[Y <= y], y in grid steps."""
        return self._power(-y) / self._one_plus_q() if y < 0 else 1 - self._power(y + 1) / self._one_plus_q()

    def tail(self, t: int) -> float:
        """P[|Y| > t] = 2 q^(t+1)/(1+q), t in grid steps."""
        return 1.0 if t < 0 else 2 * self._power(t + 1) / self._one_plus_q()

    def coverage(self, margin: Number) -> float:
        """The probability that the noise stays within +/- margin, in the answer's own terms."""
        return 1 - self.tail(math.floor(rational(margin, "margin") / self.grid))

    def margin(self, confidence: Number = 0.95) -> Scalar:
        """The least multiple of the grid that the noise stays within, with at least this probability."""
        return self.simultaneous_margin(1, confidence)

    def simultaneous_margin(self, count: int, confidence: Number = 0.95) -> Scalar:
        """The least multiple of the grid that all of `count` independent draws stay within together."""
        outside = lattice.allowed_tail(whole(count, "count"), lattice.confidence_of(confidence))
        steps = max(0, math.ceil(self._crossing(outside)) - 1)
        while steps > 0 and self._tail_up(steps - 1) <= outside:
            steps -= 1
        while self._tail_up(steps) > outside:
            steps += 1
        return lattice.value_of(steps, self.grid)

    @overload
    def release(self, value: Scalar) -> Scalar: ...
    @overload
    def release(self, value: Vector) -> list[Scalar]: ...
    @short_traceback
    def release(self, value: Scalar | Vector) -> Scalar | list[Scalar]:
        """An int, a Fraction, or a vector of them, with fresh noise; the sensitivity is that of the whole vector."""
        return lattice.release(value, self.grid, partial(discrete.discrete_laplace, self.scale))

    def _power(self, steps: int) -> float:
        return math.exp(-min(steps, _FARTHEST) / self.scale)

    def _one_plus_q(self) -> float:
        return 1 + math.exp(-1 / self.scale)

    def _tail_up(self, steps: int) -> Fraction:
        """A rational at least P[|Y| > steps], above it by less than one part in 10^56."""
        step = -1 / Fraction(self.scale)
        return 2 * exp_up(step * (steps + 1)) / (1 + exp_down(step))

    def _crossing(self, outside: Fraction) -> Fraction:
        """Where 2 q^t/(1+q) meets `outside`, up to rounding."""
        q = exp_down(-1 / Fraction(self.scale))
        return Fraction(self.scale) * log_up(2 / ((1 + q) * outside))
