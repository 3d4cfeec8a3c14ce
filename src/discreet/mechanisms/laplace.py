"""Discrete Laplace noise: a pure guarantee for counts, sums and vectors of them.

Definition
    The answer x, a whole multiple of the grid g, is released as x + g Y. Y is an integer with
    P[Y = y] = (1 - q)/(1 + q) q^|y|, q = e^(-1/scale), independent for each coordinate of a vector.

Guarantee
    If the answers of neighbouring datasets differ by at most `sensitivity` in L1 norm, a release is epsilon-DP with
    epsilon = (sensitivity/g)/scale. It is tight where some pair of neighbours reaches the sensitivity. Proof:
    docs/proofs/mechanisms/laplace.md.

Exactness
    The scale is the least double at or above (sensitivity/g)/epsilon, and the event has the cost of that very double,
    at most the epsilon asked for. Noise is drawn exactly for that double (samplers/discrete.py). Margins are
    decided in rationals and are the least; `pmf`, `cdf`, `tail` and `variance` are floats, for display.

Not covered
    Whether `sensitivity` is true of the query. How often `release` is called: every call is a new release, with its own
    privacy cost. The time a draw takes. Answers that come as floats: they are refused.

References
    Dwork, McSherry, Nissim and Smith, Calibrating Noise to Sensitivity in Private Data Analysis, TCC 2006,
    Proposition 1; Ghosh, Roughgarden and Sundararajan, Universally Utility-Maximizing Privacy Mechanisms, STOC 2009.
"""

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Self

import numpy as np
from numpy.typing import NDArray

from discreet.errors import public_class, short_traceback
from discreet.events import DiscreteLaplaceEvent
from discreet.exact.numbers import Number, positive, whole
from discreet.exact.rounding import double_up, exp_down, exp_up, log_up
from discreet.mechanisms import lattice
from discreet.mechanisms.additive import AdditiveNoise, Norms
from discreet.mechanisms.lattice import Scalar
from discreet.samplers import discrete

_FARTHEST = 2**80


@public_class
@dataclass(frozen=True, init=False)
class Laplace(AdditiveNoise):
    """Discrete Laplace mechanism: noise with P[y] proportional to exp(-|y|/scale), y in grid steps.

    Args:
        sensitivity: L1 sensitivity of the answers, in their unit.
        epsilon: Epsilon of one release.
        grid: Answers are multiples of it, in the unit of the answers. Default 1.

    Raises:
        ParameterError: If an argument is not a positive number, or the scale is outside the range of the sampler.

    Example:
        >>> import discreet as dp
        >>> laplace = dp.mechanisms.Laplace(sensitivity=1, epsilon=0.1)
        >>> laplace.margin(), laplace.event()
        (30, DiscreteLaplaceEvent(scale=Fraction(10, 1), sensitivity=Fraction(1, 1)))
    """

    tag = "laplace"
    name = "discrete Laplace"
    norms = ("l1",)
    cost = "epsilon"
    power = 2
    mean_over_deviation = math.sqrt(1 / 2)
    width_name = "scale"
    bounds_sums = True
    is_subgaussian = False

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
        """Noise of a given scale.

        Args:
            scale: Scale in grid steps; a double is taken exactly, another number is rounded up to one.
            sensitivity: L1 sensitivity of the answers, in their unit.
            grid: Answers are multiples of it, in the unit of the answers. Default 1.

        Returns:
            The mechanism.

        Raises:
            ParameterError: If an argument is not a positive number, or the scale is outside the range of the sampler.
        """
        steps = positive(scale, "scale")
        exact = Fraction(scale) if isinstance(scale, float) else steps
        size = positive(sensitivity, "sensitivity") / positive(grid, "grid")
        discrete.check_scale(exact, "scale", "Laplace.with_scale(scale=10.0, sensitivity=1)")
        return cls(sensitivity=sensitivity, epsilon=size / Fraction(double_up(exact)), grid=grid)

    @classmethod
    def calibrate(cls, sensitivity: Norms, amount: Fraction) -> Self:
        return cls(sensitivity=sensitivity.l1, epsilon=amount)

    @classmethod
    def from_release(cls, width: float, shape: tuple[int, ...], l1: int, l2_squared: int) -> Self:  # noqa: ARG003
        return cls.with_scale(scale=width, sensitivity=l1)

    @classmethod
    def unit_variance(cls, sensitivity: Norms) -> Fraction:
        return Fraction(2 * sensitivity.l1**2)

    @property
    def epsilon(self) -> Fraction:
        """The epsilon of one release: exact, and at most the one asked for."""
        return self.sensitivity / self.grid / Fraction(self.scale)

    @property
    def width(self) -> float:
        """The scale."""
        return self.scale

    @property
    def amount(self) -> Fraction:
        """The epsilon."""
        return self.epsilon

    def covers(self, sensitivity: Norms) -> bool:
        return sensitivity.l1 <= self.sensitivity / self.grid

    @property
    def calibration(self) -> tuple[str, float]:
        """The L1 sensitivity."""
        return "L1", float(self.sensitivity / self.grid)

    @property
    def variance(self) -> float:
        """The variance of the noise in the answer's own terms, 2q/(1-q)^2 grid^2."""
        decay = -1 / self.scale
        return 2 * math.exp(decay) / math.expm1(decay) ** 2 * float(self.grid) ** 2

    @property
    def variance_bound(self) -> float:
        """2 scale^2."""
        return 2 * self.scale**2

    def event(self) -> DiscreteLaplaceEvent:
        return DiscreteLaplaceEvent(scale=Fraction(self.scale), sensitivity=self.sensitivity / self.grid)

    def pmf(self, y: int) -> float:
        return math.tanh(0.5 / self.scale) * self._power(abs(y))

    def log_weight(self, y: int) -> float:
        return -abs(y) / self.scale

    def cdf(self, y: int) -> float:
        return self._power(-y) / self._one_plus_q() if y < 0 else 1 - self._power(y + 1) / self._one_plus_q()

    def tail(self, t: int) -> float:
        return 1.0 if t < 0 else 2 * self._power(t + 1) / self._one_plus_q()

    def log_moment(self, s: float) -> float:
        decay = 1 / self.scale
        if abs(s) >= decay:
            return math.inf
        return 2 * math.log(-math.expm1(-decay)) - math.log(-math.expm1(s - decay)) - math.log(-math.expm1(-s - decay))

    def characteristic(self, x: NDArray[np.float64]) -> NDArray[np.float64]:
        steps = self.variance / float(self.grid) ** 2
        result: NDArray[np.float64] = 1 / (1 + 2 * steps * np.sin(x / 2) ** 2)
        return result

    def simultaneous_margin(self, count: int, confidence: Number = 0.95) -> Scalar:
        outside = lattice.allowed_tail(whole(count, "count"), lattice.confidence_of(confidence))
        steps = max(0, math.ceil(self._crossing(outside)) - 1)
        while steps > 0 and self._tail_up(steps - 1) <= outside:
            steps -= 1
        while self._tail_up(steps) > outside:
            steps += 1
        return lattice.value_of(steps, self.grid)

    def draw(self, count: int) -> list[int]:
        drawn: list[int] = discrete.discrete_laplace(self.scale, count).tolist()
        return drawn

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
