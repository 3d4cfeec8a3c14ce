"""Discrete staircase noise: the pure mechanism of least variance for one number that a unit moves by several steps.

Definition
    The answer x, a whole multiple of the grid g, is released as x + g Y. Y is an integer with
    P[Y = y] = a b^s(|y|), b = e^(-1/scale), s(m) = floor((m + D - r)/D): all integers at most r - 1 from zero have one
    probability, and every D further ones have b times that of those before. D is the step, r the inner width with
    1 <= r <= D, and a = (1 - b)/(2r - 1 + b (2D - 2r + 1)). Independent for each coordinate of a vector.

Guarantee
    If the answers of neighbouring datasets differ in at most `coordinates` coordinates, in each by at most
    `sensitivity` = D g, a release is epsilon-DP with epsilon = coordinates/scale. An L1 bound is not enough: the loss
    is a step function of the shift, so a shift of one step may cost as much as one of D. With D = 1 it is the discrete
    Laplace mechanism. Proof: docs/proofs/mechanisms/staircase.md.

Exactness
    The scale is the least double at or above coordinates/epsilon, and the event has the cost of that very double. Noise
    is drawn exactly (samplers/discrete.py). Margins are decided in rationals and are the least; `pmf`, `cdf`, `tail`,
    `variance` and the choice of r are floats, for display and for accuracy.

Not covered
    Whether `sensitivity` and `coordinates` are true of the query. How often `release` is called. The time a draw takes.
    Weighted sums of many such noises: no bound is proved, so range workloads, hierarchies and trees do not use it.
    The event is that of any pure mechanism; accountants do not use that its loss takes few values.

References
    Geng and Viswanath, The Optimal Mechanism in Differential Privacy, ISIT 2014, and The Optimal Noise-Adding Mechanism
    in Differential Privacy, IEEE Transactions on Information Theory 2016, Theorem 7 (integers).
"""

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Self

from discreet.errors import ParameterError, public_class, short_traceback
from discreet.events import PureEvent
from discreet.exact.numbers import Number, positive, whole
from discreet.exact.rounding import double_up, exp_down, exp_up
from discreet.mechanisms import lattice
from discreet.mechanisms.additive import AdditiveNoise, Norms
from discreet.mechanisms.lattice import Scalar
from discreet.samplers import discrete

LARGEST_STEP = 2**62
LEAST_INNER = Fraction(1, 64)
"""The least r/D: a draw of the inner steps is accepted with at least this probability."""
_FARTHEST = 2**80


@public_class
@dataclass(frozen=True, init=False)
class Staircase(AdditiveNoise):
    """Discrete staircase mechanism: probabilities fall by e^(-1/scale) once in every `step` integers.

    Raises:
        ParameterError: If an argument is outside its range.

    Example:
        >>> import discreet as dp
        >>> dp.mechanisms.Staircase(sensitivity=1_000, epsilon=6).margin()
        103
    """

    tag = "staircase"
    name = "discrete staircase"
    norms = ("l0", "linf")
    cost = "epsilon"
    power = 2
    mean_over_deviation = math.sqrt(1 / 2)
    width_name = "scale"
    bounds_sums = False
    is_subgaussian = False

    step: int
    inner: int
    coordinates: int
    scale: float
    grid: Fraction

    @short_traceback
    def __init__(
        self,
        *,
        sensitivity: Number,
        epsilon: Number,
        coordinates: int = 1,
        inner: int | None = None,
        grid: Number = 1,
    ) -> None:
        """Calibrate to an epsilon.

        Args:
            sensitivity: The most that one unit moves any coordinate (Linf).
            epsilon: The epsilon of one release of all coordinates.
            coordinates: The number of coordinates that one unit moves (L0).
            inner: The width r of the innermost stair, in grid steps. Default: the one of least variance.
            grid: The grid that answers are on.
        """
        spacing = positive(grid, "grid")
        step, dimension = _step(positive(sensitivity, "sensitivity"), spacing), whole(coordinates, "coordinates")
        scale = dimension / positive(epsilon, "epsilon")
        discrete.check_scale(scale, "scale", "Staircase(sensitivity=10, epsilon=3)")
        width = double_up(scale)
        object.__setattr__(self, "step", step)
        object.__setattr__(self, "inner", best_inner(width, step) if inner is None else _inner(inner, step))
        object.__setattr__(self, "coordinates", dimension)
        object.__setattr__(self, "scale", width)
        object.__setattr__(self, "grid", spacing)

    @classmethod
    def calibrate(cls, sensitivity: Norms, amount: Fraction) -> Self:
        return cls(sensitivity=sensitivity.linf, coordinates=sensitivity.l0, epsilon=amount)

    @classmethod
    def from_release(cls, width: float, shape: tuple[int, ...], l1: int, l2_squared: int) -> Self:  # noqa: ARG003
        step, inner, coordinates = shape
        epsilon = coordinates / Fraction(width)
        return cls(sensitivity=step, epsilon=epsilon, coordinates=coordinates, inner=inner)

    @classmethod
    def unit_variance(cls, sensitivity: Norms) -> Fraction:
        return Fraction(2 * (sensitivity.l0 * sensitivity.linf) ** 2)

    @property
    def width(self) -> float:
        """The scale."""
        return self.scale

    @property
    def shape(self) -> tuple[int, ...]:
        """The step, the inner width and the number of coordinates."""
        return self.step, self.inner, self.coordinates

    @property
    def epsilon(self) -> Fraction:
        """The epsilon of one release: exact, and at most the one asked for."""
        return self.coordinates / Fraction(self.scale)

    @property
    def amount(self) -> Fraction:
        """The epsilon."""
        return self.epsilon

    def covers(self, sensitivity: Norms) -> bool:
        return sensitivity.l0 <= self.coordinates and sensitivity.linf <= self.step

    @property
    def calibration(self) -> tuple[str, float]:
        """The Linf sensitivity; the scale stands for the L0 norm."""
        return "Linf", float(self.step)

    @property
    def variance(self) -> float:
        """The variance of the noise in the answer's own terms."""
        return _variance(self.scale, self.step, self.inner) * float(self.grid) ** 2

    @property
    def variance_bound(self) -> float:
        """The variance, in squared grid steps."""
        return _variance(self.scale, self.step, self.inner)

    def description(self, step: float, *, brief: bool = False) -> str:
        stairs = f"stairs of {self.step * step:,.6g}, each e^-{1 / self.scale:.4g} as likely as the one before"
        return stairs if brief else f"{stairs}, for an Linf sensitivity of {self.step * step:,.6g}"

    def event(self) -> PureEvent:
        return PureEvent(self.epsilon)

    def pmf(self, y: int) -> float:
        outer = math.exp(-1 / self.scale)
        top = -math.expm1(-1 / self.scale) / (2 * self.inner - 1 + outer * (2 * (self.step - self.inner) + 1))
        return top * math.exp(self.log_weight(y))

    def log_weight(self, y: int) -> float:
        return -min(self._stair(abs(y)), _FARTHEST) / self.scale

    def cdf(self, y: int) -> float:
        return self.tail(-y - 1) / 2 if y < 0 else 1 - self.tail(y) / 2

    def tail(self, t: int) -> float:
        if t < 0:
            return 1.0
        stair, left = self._beyond(t)
        ratio = math.exp(-1 / self.scale)
        mass = (left + ratio * (self.step - left)) / (2 * self.inner - 1 + ratio * (2 * (self.step - self.inner) + 1))
        return 2 * mass * math.exp(-min(stair, _FARTHEST) / self.scale)

    def log_moment(self, s: float) -> float:
        if s == 0:
            return 0.0
        if abs(s) * self.step >= 1 / self.scale:
            return math.inf
        ratio = math.exp(-1 / self.scale)
        total = 2 * self.inner - 1 + ratio * (2 * (self.step - self.inner) + 1)
        above, below = self._log_series(abs(s)), self._series_below(abs(s))
        return math.log(-math.expm1(-1 / self.scale) / total) + above + math.log1p((below - 1) * math.exp(-above))

    def simultaneous_margin(self, count: int, confidence: Number = 0.95) -> Scalar:
        outside = lattice.allowed_tail(whole(count, "count"), lattice.confidence_of(confidence))
        short, enough = -1, self.inner
        while self._tail_up(enough) > outside:
            short, enough = enough, 2 * enough
        while enough - short > 1:
            middle = (short + enough) // 2
            short, enough = (middle, enough) if self._tail_up(middle) > outside else (short, middle)
        return lattice.value_of(enough, self.grid)

    def draw(self, count: int) -> list[int]:
        drawn: list[int] = discrete.discrete_staircase(self.scale, self.step, self.inner, count).tolist()
        return drawn

    def _stair(self, magnitude: int) -> int:
        """s(m): how many times the probability has fallen so far from zero."""
        return (magnitude + self.step - self.inner) // self.step

    def _beyond(self, t: int) -> tuple[int, int]:
        """The stair that t + 1 is on, and how many integers of that stair are beyond t."""
        stair = self._stair(t + 1)
        return stair, self.inner + stair * self.step - t - 1

    def _tail_up(self, t: int) -> Fraction:
        """A rational at least P[|Y| > t], above it by less than one part in 10^50."""
        decay = -1 / Fraction(self.scale)
        stair, left = self._beyond(t)
        mass = left + exp_up(decay) * (self.step - left)  # grows with b, as left <= D
        total = 2 * self.inner - 1 + exp_down(decay) * (2 * (self.step - self.inner) + 1)
        return 2 * exp_up(decay * stair) * mass / total if stair else 2 * mass / total

    def _log_series(self, s: float) -> float:
        """The logarithm of the sum of b^s(m) e^(s m) over all m >= 0, for s > 0: no float may hold the sum itself."""
        first = _log_expm1(s * self.inner) - _log_expm1(s)
        later = s * self.inner - 1 / self.scale + _log_expm1(s * self.step) - _log_expm1(s)
        later -= math.log(-math.expm1(s * self.step - 1 / self.scale))
        return max(first, later) + math.log1p(math.exp(-abs(first - later)))

    def _series_below(self, s: float) -> float:
        """The sum of b^s(m) e^(-s m) over all m >= 0, for s > 0."""
        falls = math.expm1(-s)
        first, later = math.expm1(-s * self.inner) / falls, math.expm1(-s * self.step) / falls
        return first + math.exp(-s * self.inner - 1 / self.scale) * later / -math.expm1(-s * self.step - 1 / self.scale)


def _log_expm1(x: float) -> float:
    """ln(e^x - 1), for x > 0 of any size."""
    return x + math.log(-math.expm1(-x))


@lru_cache(maxsize=1024)
def best_inner(scale: float, step: int) -> int:
    """The inner width of least variance, at least 1/64 of the step."""
    low, high = max(1, math.ceil(step * LEAST_INNER)), step
    while high - low > 2:
        left, right = low + (high - low) // 3, high - (high - low) // 3
        low, high = (low, right) if _variance(scale, step, left) <= _variance(scale, step, right) else (left, high)
    return min(range(low, high + 1), key=lambda inner: _variance(scale, step, inner))


def _variance(scale: float, step: int, inner: int) -> float:
    """E[Y^2]: the inner stair, and the others by the moments of a geometric number of steps."""
    ratio, rest = math.exp(-1 / scale), -math.expm1(-1 / scale)
    mean, square = ratio / rest, ratio * (1 + ratio) / rest**2  # of the number k of further steps
    within = step * (step - 1) / 2, (step - 1) * step * (2 * step - 1) / 6
    start = inner + step * mean  # of the first integer of a later stair: its mean, and its mean square
    start_square = inner**2 + 2 * inner * step * mean + step**2 * square
    later = step * start_square + 2 * start * within[0] + within[1]
    first = (inner - 1) * inner * (2 * inner - 1) / 6
    total = 2 * inner - 1 + ratio * (2 * (step - inner) + 1)
    return 2 * (rest * first + ratio * later) / total


def _step(sensitivity: Fraction, grid: Fraction) -> int:
    """The most whole grid steps that one coordinate moves; 1 where the stated sensitivity is below a step."""
    steps = max(1, math.floor(sensitivity / grid))
    if steps > LARGEST_STEP:
        raise ParameterError(
            "staircase noise on a sensitivity above 2**62 grid steps",
            because="a place within a step is drawn as 62 bits",
            instead="a coarser grid, or Laplace(sensitivity=1, epsilon=0.1)",
        )
    return steps


def _inner(inner: int, step: int) -> int:
    width = whole(inner, "inner")
    if not LEAST_INNER * step <= width <= step:
        raise ParameterError(
            f"inner={width}",
            because=f"the innermost stair has between 1/64 of the step and all of it, {step:,}",
            instead=f"inner={max(1, step // 2)}, or none for the least variance",
        )
    return width
