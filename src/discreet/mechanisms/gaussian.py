"""Discrete Gaussian noise: less noise than Laplace where one unit moves many answers; it needs a delta.

Definition
    The answer x, a whole multiple of the grid g, is released as x + g Y. Y is an integer with
    P[Y = y] = exp(-y^2/(2 sigma^2))/Z, Z the sum of exp(-y^2/(2 sigma^2)) over all integers, independent for each
    coordinate of a vector.

Guarantee
    If the answers of neighbouring datasets differ by at most `sensitivity` in L2 norm, a release is rho-zCDP with
    rho = (sensitivity/g)^2/(2 sigma^2). Asked for (epsilon, delta), a release is (epsilon, delta)-DP: where one unit
    moves one coordinate by the exact sum for discrete noise (mechanisms/hockey_stick.py, tight), where it moves several
    by the tight conversion from rho (conversion.py). Proof: docs/proofs/mechanisms/gaussian.md.

Exactness
    sigma is a double; rho and delta are computed from that very double, rho exactly and delta rounded up, so the
    event's rho is at most the rho asked for. Noise is drawn exactly for that double (samplers/discrete.py).
    `pmf`, `cdf`, `tail` and margins are floats for display, right to about 12 digits up to sigma = 64 and 8 beyond: a
    margin may be one step off where the coverage is that close to the confidence, which touches usefulness and not
    privacy.

Not covered
    Whether `sensitivity` is true of the query. How often `release` is called. The time a draw takes. A ledger
    charges the event by its rho, which converts to a larger epsilon than one reached by the exact sum.

References
    Canonne, Kamath and Steinke, The Discrete Gaussian for Differential Privacy, NeurIPS 2020, Theorems 4, 7 and 14.
    Bun and Steinke, Concentrated Differential Privacy, TCC 2016, Proposition 1.6.
    For study: Dwork and Roth, The Algorithmic Foundations of Differential Privacy, 2014, Theorem A.1; Balle and Wang,
    Improving the Gaussian Mechanism for Differential Privacy, ICML 2018, Theorem 8; Mironov, Renyi Differential
    Privacy, CSF 2017, Proposition 7.
"""

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Self

import numpy as np
from numpy.typing import NDArray

from discreet.errors import AccountingError, ParameterError, public_class, short_traceback
from discreet.events import DiscreteGaussianEvent
from discreet.exact.numbers import Number, positive, probability, rational, whole
from discreet.exact.rounding import brief_up, double_up, sqrt_double_up
from discreet.exact.zcdp import delta_of, rho_of
from discreet.mechanisms import lattice
from discreet.mechanisms.additive import AdditiveNoise, Norms
from discreet.mechanisms.hockey_stick import delta_up, least_sigma
from discreet.mechanisms.lattice import Scalar
from discreet.samplers import discrete

_FARTHEST = 2**80
_LARGEST_SUMMED_SIGMA = 64
_SMOOTH_SIGMA = 2
_SINGLE_SIGMA = 3
_FARTHEST_BELOW_ONE = 11
_LARGEST_ANALYTIC = 1e6


@public_class
@dataclass(frozen=True, init=False)
class Gaussian(AdditiveNoise):
    """Discrete Gaussian mechanism: noise with P[y] proportional to exp(-y^2/(2 sigma^2)), y and sigma in grid steps.

    Args:
        sensitivity: L2 sensitivity of the answers, in their unit; or give its square.
        squared_sensitivity: Square of the L2 sensitivity, which may be rational where the sensitivity is not.
        rho: Rho of one release; or give epsilon and delta.
        epsilon: Epsilon of one release, with `delta`.
        delta: Delta of one release, with `epsilon`.
        dimension: Number of coordinates that one unit changes. Default 1.
        grid: Answers are multiples of it, in the unit of the answers. Default 1.

    Raises:
        ParameterError: If sensitivity or cost are given twice or not at all, or are outside their range.
        AccountingError: If delta is 0, or no finite noise reaches epsilon and delta.

    Example:
        >>> import discreet as dp
        >>> gaussian = dp.mechanisms.Gaussian(sensitivity=1, epsilon=0.5, delta=1e-6)
        >>> gaussian.margin()
        16
    """

    tag = "gaussian"
    name = "discrete Gaussian"
    norms = ("l0", "l2_squared")
    cost = "rho"
    power = 1
    mean_over_deviation = math.sqrt(2 / math.pi)
    width_name = "sigma"
    bounds_sums = True
    is_subgaussian = True

    squared_sensitivity: Fraction
    sigma: float
    dimension: int
    grid: Fraction

    @short_traceback
    def __init__(
        self,
        *,
        sensitivity: Number | None = None,
        squared_sensitivity: Number | None = None,
        rho: Number | None = None,
        epsilon: Number | None = None,
        delta: Number | None = None,
        dimension: int = 1,
        grid: Number = 1,
    ) -> None:
        squared, spacing = _squared_sensitivity(sensitivity, squared_sensitivity), positive(grid, "grid")
        coordinates, steps = whole(dimension, "dimension"), squared / spacing**2
        if rho is not None and epsilon is None and delta is None:
            sigma = _sigma_for_rho(steps, positive(rho, "rho"))
        elif rho is None and epsilon is not None and delta is not None:
            sigma = _sigma_for(steps, positive(epsilon, "epsilon"), _above_zero(delta), coordinates)
        else:
            raise _one_price()
        object.__setattr__(self, "squared_sensitivity", squared)
        object.__setattr__(self, "sigma", sigma)
        object.__setattr__(self, "dimension", coordinates)
        object.__setattr__(self, "grid", spacing)

    @classmethod
    @short_traceback
    def with_sigma(
        cls,
        *,
        sigma: Number,
        sensitivity: Number | None = None,
        squared_sensitivity: Number | None = None,
        dimension: int = 1,
        grid: Number = 1,
    ) -> Self:
        """Noise of a given sigma.

        Args:
            sigma: Sigma in grid steps; a double is taken exactly, another number is rounded up to one.
            sensitivity: L2 sensitivity of the answers, in their unit; or give its square.
            squared_sensitivity: Square of the L2 sensitivity.
            dimension: Number of coordinates that one unit changes. Default 1.
            grid: Answers are multiples of it, in the unit of the answers. Default 1.

        Returns:
            The mechanism.

        Raises:
            ParameterError: If an argument is outside its range, or the sensitivity is given twice or not at all.
        """
        steps = positive(sigma, "sigma")
        exact = Fraction(sigma) if isinstance(sigma, float) else steps
        discrete.check_scale(exact, "sigma", "Gaussian.with_sigma(sigma=10.0, sensitivity=1)")
        squared, spacing = _squared_sensitivity(sensitivity, squared_sensitivity), positive(grid, "grid")
        rho = squared / spacing**2 / (2 * Fraction(double_up(exact)) ** 2)
        return cls(squared_sensitivity=squared, rho=rho, dimension=dimension, grid=spacing)

    @classmethod
    def calibrate(cls, sensitivity: Norms, amount: Fraction) -> Self:
        return cls(squared_sensitivity=sensitivity.l2_squared, rho=amount, dimension=sensitivity.l0)

    @classmethod
    def from_release(cls, width: float, shape: tuple[int, ...], l1: int, l2_squared: int) -> Self:  # noqa: ARG003
        return cls.with_sigma(sigma=width, squared_sensitivity=l2_squared)

    @classmethod
    def unit_variance(cls, sensitivity: Norms) -> Fraction:
        return Fraction(sensitivity.l2_squared, 2)

    @property
    def rho(self) -> Fraction:
        """The rho of one release: exact, and at most the one asked for."""
        return self._squared_steps / (2 * Fraction(self.sigma) ** 2)

    @property
    def width(self) -> float:
        """The sigma."""
        return self.sigma

    @property
    def amount(self) -> Fraction:
        """The rho."""
        return self.rho

    def covers(self, sensitivity: Norms) -> bool:
        return sensitivity.l2_squared <= self._squared_steps and sensitivity.l0 <= self.dimension

    @property
    def calibration(self) -> tuple[str, float]:
        """The L2 sensitivity."""
        return "L2", float(self._squared_steps) ** 0.5

    @property
    def variance(self) -> float:
        """The variance of the noise in the answer's own terms; a little below (sigma grid)^2 for sigma below 1."""
        steps = self.sigma**2
        if self.sigma < _SMOOTH_SIGMA:
            steps = 2 * math.fsum(y * y * self.pmf(y) for y in range(1, 100))
        return steps * float(self.grid) ** 2

    @property
    def variance_bound(self) -> float:
        """sigma^2."""
        return self.sigma**2

    def event(self) -> DiscreteGaussianEvent:
        return DiscreteGaussianEvent(
            variance=Fraction(self.sigma) ** 2, squared_sensitivity=self._squared_steps, dimension=self.dimension
        )

    def delta(self, epsilon: Number) -> Fraction:
        """Delta at which one release is (epsilon, delta)-differentially private.

        Args:
            epsilon: The epsilon, at least 0.

        Returns:
            The delta, rounded up to 12 digits.

        Raises:
            ParameterError: If epsilon is below 0.
        """
        order = rational(epsilon, "epsilon")
        if order < 0:
            raise ParameterError("an epsilon below zero", because="a guarantee has epsilon >= 0", instead="epsilon=0.5")
        converted = delta_of(self.rho, order)
        if self.dimension > 1:
            return brief_up(converted)
        return brief_up(min(converted, delta_up(self.sigma, _shift(self._squared_steps), order)))

    def pmf(self, y: int) -> float:
        return self._weight(y) / self._total()

    def log_weight(self, y: int) -> float:
        return -((y / self.sigma) ** 2) / 2

    def cdf(self, y: int) -> float:
        return self._above(-y - 1) if y < 0 else 1 - self._above(y)

    def tail(self, t: int) -> float:
        return 1.0 if t < 0 else 2 * self._above(t)

    def log_moment(self, s: float) -> float:
        return (s * self.sigma) ** 2 / 2

    def characteristic(self, x: NDArray[np.float64]) -> NDArray[np.float64]:
        if self.sigma < 1:
            weights = [(2 if y else 1) * self.pmf(y) * np.cos(y * x) for y in range(_FARTHEST_BELOW_ONE)]
            return np.asarray(sum(weights), dtype=np.float64)
        place = np.abs(x - 2 * math.pi * np.rint(x / (2 * math.pi)))
        result: NDArray[np.float64] = np.exp(-((self.sigma * place) ** 2) / 2)
        if self.sigma < _SINGLE_SIGMA:  # by Poisson summation; further terms are below 1e-18
            beside = [np.exp(-((self.sigma * (place + turn)) ** 2) / 2) for turn in (-2 * math.pi, 2 * math.pi)]
            result = (result + beside[0] + beside[1]) / (1 + 2 * math.exp(-2 * (math.pi * self.sigma) ** 2))
        return result

    def simultaneous_margin(self, count: int, confidence: Number = 0.95) -> Scalar:
        outside = lattice.allowed_tail(whole(count, "count"), lattice.confidence_of(confidence))
        short, enough = -1, math.ceil(self.sigma)
        while self.tail(enough) > outside:
            short, enough = enough, 2 * enough
        while enough - short > 1:
            middle = (short + enough) // 2
            short, enough = (middle, enough) if self.tail(middle) > outside else (short, middle)
        return lattice.value_of(enough, self.grid)

    def draw(self, count: int) -> list[int]:
        drawn: list[int] = discrete.discrete_gaussian(self.sigma, count).tolist()
        return drawn

    @property
    def _squared_steps(self) -> Fraction:
        return self.squared_sensitivity / self.grid**2

    def _weight(self, y: int) -> float:
        return math.exp(-((min(abs(y), _FARTHEST) / self.sigma) ** 2) / 2)

    def _total(self) -> float:
        """Z, which is sigma sqrt(2 pi) to 30 digits from sigma = 2 on."""
        if self.sigma >= _SMOOTH_SIGMA:
            return self.sigma * math.sqrt(2 * math.pi)
        return _small_total(self.sigma)

    def _above(self, t: int) -> float:
        """P[Y > t] for t >= 0: summed, or the integral from t + 1/2 with its first correction."""
        if self.sigma <= _LARGEST_SUMMED_SIGMA:
            reach = 12 * math.ceil(self.sigma) + 12
            start = min(t, _FARTHEST) + 1
            return _weight_sum(self.sigma, start, start + reach) / self._total()
        place = (min(t, _FARTHEST) + 0.5) / self.sigma
        density = math.exp(-place * place / 2) / math.sqrt(2 * math.pi)
        return max(0.0, math.erfc(place / math.sqrt(2)) / 2 - place * density / (24 * self.sigma**2))


@lru_cache(maxsize=1024)
def _small_total(sigma: float) -> float:
    """Z of a sigma below 2; the variance asks for it a hundred times."""
    return 1 + 2 * _weight_sum(sigma, 1, 100)


def _weight_sum(sigma: float, start: int, stop: int) -> float:
    """The sum of exp(-y^2/(2 sigma^2)) over a range of integers."""
    return math.fsum([math.exp(-((y / sigma) ** 2) / 2) for y in range(start, stop)])


def classic_sigma(sensitivity: Number, epsilon: Number, delta: Number) -> float:
    """The textbook's sigma for continuous noise, sensitivity sqrt(2 ln(1.25/delta))/epsilon; for study.

    Its proof needs epsilon < 1, so it is refused elsewhere. Nothing in discreet draws continuous noise, and a formula
    for it says nothing about discrete noise: `Gaussian(sensitivity=..., epsilon=..., delta=...)` does.
    """
    size, order, outside = positive(sensitivity, "sensitivity"), positive(epsilon, "epsilon"), _above_zero(delta)
    if order >= 1:
        raise AccountingError(
            "the classic Gaussian formula at epsilon >= 1",
            because="it is proved for epsilon < 1 only, and is false for large epsilon",
            instead="Gaussian(sensitivity=..., epsilon=..., delta=...), or analytic_sigma(...) for continuous noise",
        )
    discrete.check_scale(size / order, "sigma", "classic_sigma(1, 0.5, 1e-6)")
    return math.sqrt(2 * (math.log(1.25) - _log(outside))) * float(size / order)


def analytic_sigma(sensitivity: Number, epsilon: Number, delta: Number) -> float:
    """The least sigma that makes continuous Gaussian noise (epsilon, delta)-DP (Balle and Wang); for study.

    It is in floats, and nothing in discreet draws such noise. Used for discrete noise it claims too much: at
    (8, 1e-6) and sensitivity 1 the true delta is 3 times the stated one.
    """
    size, order, outside = positive(sensitivity, "sensitivity"), positive(epsilon, "epsilon"), _above_zero(delta)
    discrete.check_scale(size, "sigma", "analytic_sigma(1, 1, 1e-6)")
    if order > 500 or _continuous_delta(_LARGEST_ANALYTIC, float(order)) > outside:
        raise AccountingError(
            "the analytic Gaussian formula at an extreme epsilon or delta",
            because="it is evaluated in floats: epsilon <= 500, sigma <= 10^6 sensitivities",
            instead="analytic_sigma(1, 1, 1e-6), or Gaussian(...), which is exact",
        )
    short, enough = 0.0, _LARGEST_ANALYTIC
    while short < (middle := (short + enough) / 2) < enough:
        short, enough = (middle, enough) if _continuous_delta(middle, float(order)) > outside else (short, middle)
    return float(size) * enough


def renyi_sigma(sensitivity: Number, alpha: Number, epsilon: Number) -> float:
    """The sigma for (alpha, epsilon)-Renyi DP, sqrt(sensitivity^2 alpha/(2 epsilon)); for study.

    It is stated for continuous noise; for discrete noise the same sigma suffices at every order (Canonne, Kamath and
    Steinke, Proposition 5), which is what `Gaussian(sensitivity=..., rho=epsilon/alpha)` rests on.
    """
    order = rational(alpha, "alpha")
    if order <= 1:
        raise ParameterError(
            "an order alpha of at most 1", because="Renyi divergence is used at orders above 1", instead="alpha=20"
        )
    return _sigma_for_rho(positive(sensitivity, "sensitivity") ** 2, positive(epsilon, "epsilon") / order)


def _continuous_delta(sigma: float, epsilon: float) -> float:
    middle, half = epsilon * sigma, 1 / (2 * sigma)
    return _normal_above(middle - half) - math.exp(epsilon) * _normal_above(middle + half)


def _normal_above(place: float) -> float:
    return math.erfc(place / math.sqrt(2)) / 2


def _log(value: Fraction) -> float:
    return math.log(value.numerator) - math.log(value.denominator)


def _squared_sensitivity(sensitivity: Number | None, squared_sensitivity: Number | None) -> Fraction:
    if sensitivity is not None and squared_sensitivity is None:
        return positive(sensitivity, "sensitivity") ** 2
    if squared_sensitivity is not None and sensitivity is None:
        return positive(squared_sensitivity, "squared_sensitivity")
    raise ParameterError(
        "Gaussian noise with both or neither of sensitivity and squared_sensitivity",
        because="the L2 sensitivity or its square is given, not both",
        instead="dp.mechanisms.Gaussian(sensitivity=1, rho=0.1), or Gaussian(squared_sensitivity=2, rho=0.1)",
    )


def _one_price() -> ParameterError:
    return ParameterError(
        "Gaussian noise without exactly one of its parameters",
        because="it is calibrated to rho, or to epsilon together with delta",
        instead="dp.mechanisms.Gaussian(sensitivity=1, rho=0.1), or Gaussian(sensitivity=1, epsilon=1, delta=1e-9)",
    )


def _above_zero(delta: Number) -> Fraction:
    number = probability(delta, "delta")
    if number == 0:
        raise AccountingError(
            "Gaussian noise at delta 0",
            because="it has no finite epsilon without a delta",
            instead="delta=1e-9, or Laplace(sensitivity=1, epsilon=1)",
        )
    return number


def _shift(squared_steps: Fraction) -> int:
    """The most whole steps that one coordinate can move; 1 where the stated sensitivity is below a step."""
    return max(1, math.isqrt(math.floor(squared_steps)))


def _sigma_for_rho(squared_steps: Fraction, rho: Fraction) -> float:
    """The least double with squared_steps/(2 sigma^2) <= rho."""
    refused_anyway = Fraction(2**200)
    variance = min(max(squared_steps / (2 * rho), 1 / refused_anyway), refused_anyway)
    sigma = sqrt_double_up(variance)
    discrete.check_scale(Fraction(sigma), "sigma", "Gaussian(sensitivity=1, rho=0.1, grid=1)")
    return sigma


def _sigma_for(squared_steps: Fraction, epsilon: Fraction, delta: Fraction, dimension: int) -> float:
    """By rho for a vector; for a scalar the exact sum then lowers it."""
    rho = rho_of(epsilon, delta)
    if rho == 0:
        raise AccountingError(
            "an (epsilon, delta) that no finite Gaussian noise is proved to reach",
            because="epsilon and delta are too small together",
            instead="epsilon=1, delta=1e-9",
        )
    proven = _sigma_for_rho(squared_steps, rho)
    return proven if dimension > 1 else least_sigma(_shift(squared_steps), epsilon, delta, proven)
