"""Claims of mechanisms: bounds on the probability of an event on one dataset by that on a neighbour.

Every privacy guarantee bounds the probability p of an event on one dataset by its probability q on a neighbour:

    ApproximateDP(epsilon, delta) p <= e^epsilon q + delta
    ConcentratedDP(rho)           the Renyi divergence of every order alpha > 1 is at most alpha rho
    GaussianDP(mu)                p <= Phi(Phi^-1(q) + mu), the trade-off curve of Gaussian noise

An audit bounds p from below and q from above. `found` is the least parameter that such a pair allows: a guarantee holds
in both directions and for the complement too, so the pair (1 - q, 1 - p) speaks as well. `line` is a straight
bound p <= slope q + intercept that the claim implies, for tests that bet on samples one by one, and `lines` are those
of the same claim with other parameters. Events are asked in both directions and with their complements, so slopes of
at least one are enough.

These are floats: they judge samples, and nothing that is released rests on them.
"""

from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr, ndtri

from discreet.errors import ParameterError, short_traceback
from discreet.exact.numbers import Number, positive, probability, rational, shown

Floats = NDArray[np.float64]

_ORDERS = 1 + np.geomspace(1e-3, 1e4, 120)
_LOSSES = np.geomspace(1e-4, 100, 200)
_NEWTON_STEPS = 8
_STEEPEST = 40.0
_LARGEST_LOSS = 300.0
_LEAST_PROBABILITY = 1e-60


class Line(NamedTuple):
    """A bound p <= slope q + intercept that holds for every event."""

    slope: float
    intercept: float


class Lines(NamedTuple):
    """One line for each of many parameters."""

    slopes: Floats
    intercepts: Floats


class Claim(Protocol):
    """A privacy claim that events can contradict: (epsilon, delta), rho or mu. `auditing.claim` makes one.

    Example:
        >>> import discreet as dp
        >>> dp.auditing.claim(epsilon=1).value
        1.0
    """

    @property
    def parameter(self) -> str:
        """The name of the number that `found` and `value` are: epsilon, rho or mu."""

    @property
    def value(self) -> float:
        """The claimed parameter."""

    def line(self, other: float) -> Line:
        """Tightest linear bound on probabilities, near events of some probability on the neighbour.

        Args:
            other: Probability on the neighbour.

        Returns:
            Slope and intercept.
        """

    def lines(self, parameters: Floats, other: float) -> Lines:
        """The same bound for other parameters of the claim.

        Args:
            parameters: The parameters.
            other: Probability on the neighbour.

        Returns:
            Slopes and intercepts.
        """

    def lower_bound(self, least: float, most: float) -> float:
        """Least parameter that allows an event.

        Args:
            least: Lower bound on the probability of an event on one dataset.
            most: Upper bound on its probability on the neighbour.

        Returns:
            The parameter.
        """

    def lower_bounds(self, least: Floats, most: Floats) -> Floats:
        """`lower_bound` for many pairs of probabilities at once.

        Args:
            least: Lower bound on the probability of an event on one dataset.
            most: Upper bound on its probability on the neighbour.

        Returns:
            The parameters.
        """


@dataclass(frozen=True)
class ApproximateDP:
    """(epsilon, delta)-differential privacy; delta is 0 for a pure guarantee."""

    epsilon: Fraction
    delta: Fraction = Fraction(0)
    parameter = "epsilon"

    def __str__(self) -> str:
        return f"epsilon {shown(self.epsilon)}" + (f", delta {shown(self.delta)}" if self.delta else "")

    @property
    def value(self) -> float:
        """The claimed epsilon."""
        return float(self.epsilon)

    def line(self, other: float) -> Line:
        """The definition itself."""
        return _only(self.lines(np.array([self.value]), other))

    def lines(self, parameters: Floats, other: float) -> Lines:  # noqa: ARG002 - the same bound everywhere
        """The definition itself, with the same delta; no bet can earn anything against a slope beyond e^300."""
        slopes = np.exp(np.minimum(parameters, _LARGEST_LOSS))
        return Lines(slopes, np.full(len(slopes), float(self.delta)))

    def lower_bound(self, least: float, most: float) -> float:
        """ln((p - delta)/q), or ln((1 - q - delta)/(1 - p))."""
        return float(self.lower_bounds(np.array([least]), np.array([most]))[0])

    def lower_bounds(self, least: Floats, most: Floats) -> Floats:
        """ln((p - delta)/q), or ln((1 - q - delta)/(1 - p))."""
        delta = float(self.delta)
        with np.errstate(divide="ignore", invalid="ignore"):
            event = np.log(least - delta) - np.log(most)
            rest = np.log(1 - most - delta) - np.log(1 - least)
        return _at_least_none(np.fmax(event, rest))


@dataclass(frozen=True)
class ConcentratedDP:
    """rho-zero-concentrated privacy."""

    rho: Fraction
    parameter = "rho"

    def __str__(self) -> str:
        return f"rho {shown(self.rho)}"

    @property
    def value(self) -> float:
        """The claimed rho."""
        return float(self.rho)

    def line(self, other: float) -> Line:
        """The best of the (epsilon, delta) that rho implies, by Canonne, Kamath and Steinke's conversion."""
        return _only(self.lines(np.array([self.value]), other))

    def lines(self, parameters: Floats, other: float) -> Lines:
        """The best (epsilon, delta) for each rho."""
        deltas = _deltas(tuple(parameters))
        best = np.argmin(np.exp(_LOSSES) * other + deltas, axis=1)
        return Lines(np.exp(_LOSSES[best]), deltas[np.arange(len(best)), best])

    def lower_bound(self, least: float, most: float) -> float:
        """The largest Renyi divergence of the two outcomes, event and complement, over its order."""
        return float(self.lower_bounds(np.array([least]), np.array([most]))[0])

    def lower_bounds(self, least: Floats, most: Floats) -> Floats:
        """The largest Renyi divergence of the two outcomes, either way, over its order."""
        more = np.maximum(least, most)
        return np.where(least > most, np.maximum(_divergence(more, most), _divergence(1 - most, 1 - more)), 0.0)


@dataclass(frozen=True)
class GaussianDP:
    """The trade-off curve of Gaussian noise whose sensitivity is mu standard deviations."""

    mu: Fraction
    parameter = "mu"

    def __str__(self) -> str:
        return f"mu {shown(self.mu)}"

    @property
    def value(self) -> float:
        """The claimed mu."""
        return float(self.mu)

    def line(self, other: float) -> Line:
        """The tangent of the curve, where it is at least as steep as one."""
        return _only(self.lines(np.array([self.value]), other))

    def lines(self, parameters: Floats, other: float) -> Lines:
        """The tangents of the curves."""
        places = np.minimum(float(ndtri(min(max(other, _LEAST_PROBABILITY), 1.0))), -parameters / 2)
        slopes = np.exp(-parameters * places - parameters**2 / 2)
        return Lines(slopes, np.maximum(0.0, ndtr(places + parameters) - slopes * ndtr(places)))

    def lower_bound(self, least: float, most: float) -> float:
        """Phi^-1(p) - Phi^-1(q)."""
        return float(self.lower_bounds(np.array([least]), np.array([most]))[0])

    def lower_bounds(self, least: Floats, most: Floats) -> Floats:
        """Phi^-1(p) - Phi^-1(q)."""
        with np.errstate(invalid="ignore"):
            return _at_least_none(ndtri(least) - ndtri(most))


@short_traceback
def claim(
    *, epsilon: Number | None = None, delta: Number = 0, rho: Number | None = None, mu: Number | None = None
) -> ApproximateDP | ConcentratedDP | GaussianDP:
    """A claim: epsilon with or without delta, or rho, or mu.

    Args:
        epsilon: Epsilon of differential privacy. Default: none.
        delta: Delta of differential privacy, with `epsilon`. Default 0.
        rho: Rho of zero-concentrated differential privacy. Default: none.
        mu: Mu of Gaussian differential privacy. Default: none.

    Returns:
        The claim.

    Raises:
        ParameterError: If not exactly one of epsilon, rho and mu is given.

    Example:
        >>> import discreet as dp
        >>> print(dp.auditing.claim(epsilon=1, delta=1e-6))
        epsilon 1, delta 1e-06
    """
    given = [name for name, value in (("epsilon", epsilon), ("rho", rho), ("mu", mu)) if value is not None]
    if len(given) != 1 or (delta and epsilon is None):
        raise ParameterError(
            f"a claim of {' and '.join(given) or 'nothing'}" + (" with a delta" if delta else ""),
            because="a claim is one of (epsilon, delta), rho and mu",
            instead="epsilon=1, or epsilon=1, delta=1e-6, or rho=0.5, or mu=1",
        )
    if epsilon is not None:
        return ApproximateDP(_at_least_zero(epsilon), probability(delta, "delta") if delta else Fraction(0))
    return ConcentratedDP(positive(rho, "rho")) if rho is not None else GaussianDP(positive(mu, "mu"))


def _at_least_zero(epsilon: Number) -> Fraction:
    return Fraction(0) if rational(epsilon, "epsilon") == 0 else positive(epsilon, "epsilon")


def _only(lines: Lines) -> Line:
    return Line(float(lines.slopes[0]), float(lines.intercepts[0]))


def _divergence(here: Floats, there: Floats) -> Floats:
    """The largest over the orders of the Renyi divergence of a coin from another, over its order; here >= there."""
    p, q, orders = here[:, None], there[:, None], _ORDERS[None, :]
    with np.errstate(divide="ignore", invalid="ignore"):
        event = orders * np.log(p) + (1 - orders) * np.log(q)
        rest = orders * np.log1p(-p) + (1 - orders) * np.log1p(-q)
        each = np.logaddexp(event, rest) / (orders - 1) / orders
    return _at_least_none(np.max(each, axis=1))


def _at_least_none(found: Floats) -> Floats:
    bounded: Floats = np.fmax(0.0, found)
    return bounded


@lru_cache(maxsize=8)
def _deltas(rhos: tuple[float, ...]) -> Floats:
    """A delta that each rho implies at each loss: any order gives one, and Newton's steps lead to the best."""
    rho, loss = np.array(rhos)[:, None], _LOSSES[None, :]
    more = np.maximum(1 / np.expm1(np.clip(3 * rho, np.log(2), _STEEPEST)), (loss - rho) / (2 * rho))
    for _ in range(_NEWTON_STEPS):
        more += (np.log1p(1 / more) + loss - rho - 2 * rho * more) / (2 * rho + 1 / (more * (more + 1)))
        more = np.maximum(more, np.exp(-_STEEPEST))
    logs = more * ((1 + more) * rho - loss) - np.log(more) - (1 + more) * np.log1p(1 / more)
    deltas: Floats = np.exp(np.minimum(0.0, logs))
    return deltas
