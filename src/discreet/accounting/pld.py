"""Privacy-loss distributions: the tightest account of a batch that is fixed in advance, and of reports.

Definition
    The privacy loss of an answer is ln(P/Q) under P, for a pair of distributions that dominates every pair of
    neighbours. Losses of events add, so their distributions convolve; delta at epsilon is E[(1 - e^(epsilon - loss))+].
    The pairs:
        Gaussian            N(0, 1) and N(m, 1), m^2 the sum of s^2/sigma^2 over all of them
        Laplace, discrete   noise at 0 and at the whole L1 sensitivity, which dominates every way to spread it over a
                            vector (docs/proofs/accounting/pld.md)
        discrete Gaussian   noise at 0 and at the most whole steps that the sensitivity allows, where one unit moves
                            one coordinate; the same at one step, several times, where the squared sensitivity is below
                            4; else, and for sigma above 200,000, the pair that dominates everything of that rho
        sampled Gaussian    (1 - q) N(0, 1) + q N(m, 1) and N(0, 1), and the same exchanged, m^2 = s^2/(sigma^2 - 40):
                            discrete noise is a post-processing of continuous noise of 40 less variance, but for a
                            factor within 1 +- 10^-300 (docs/proofs/accounting/sampled_gaussian.md); the pair of its rho
                            where sigma^2 is at most 80
        best of runs        the pair of its epsilon or of its rho; accounting.renyi says less
        epsilon, delta      randomized response, with probability delta lost
        bounded range       losses between -epsilon and epsilon with density proportional to e^(loss/2), which is tight
                            for one event; or the pair of its rho, which is tighter for many; whichever says less.
                            Here accounting.renyi can say less still
        rho-zCDP            the lower convex hull of the tight conversion, read as a privacy profile
Guarantee
    The composed events are (epsilon, delta)-DP if they were fixed before any answer was seen. Within 0.5% of the exact
    epsilon for Gaussian noise, from 1 to 10,000 releases.
Exactness
    Doubles. Losses lie on a grid; a loss between two points is split so that both distributions keep their mass, which
    dominates the original. The step of the grid is a whole part, at most a 64th, of the smallest spread of a loss
    (sensitivity/sigma, epsilon, sqrt(2 rho)); it is at most 1/5,000 and at least 1/2^18 of the range of the composed
    loss. From delta, 2^-50 for each composed event is taken away for the rounding of the Fourier transforms, and a
    delta below ten times that is refused.
Not covered
    Analysts who choose as they go: the ledger does not charge by this, and has no way to.
References
    Doroshenko, Ghazi, Kamath, Kumar and Manurangsi, Connect the Dots, PoPETs 2022.
    Zhu, Dong and Wang, Optimal Accounting of Differential Privacy via Characteristic Function, AISTATS 2022,
    Proposition 8 and Theorem 10 (dominating pairs compose).
    Sommer, Meiser and Mohammadi, Privacy Loss Classes, PoPETs 2019.
    Dong, Durfee and Rogers, Optimal Differential Privacy Composition for Exponential Mechanisms, ICML 2020.
"""

import math
from collections import Counter
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet import events
from discreet.accounting.prices import price
from discreet.errors import AccountingError, missing_extra, short_traceback
from discreet.exact.numbers import Number, positive, probability, shown
from discreet.exact.rounding import double_down, double_up, sqrt_double_up

try:
    from dp_accounting.pld import pld_pmf
    from dp_accounting.pld import privacy_loss_distribution as distributions
except ImportError:
    raise missing_extra("privacy-loss distributions", "dp-accounting", "audit") from None

Floats = NDArray[np.float64]

_STEPS_PER_SPREAD = 64
_FEWEST_STEPS, _MOST_STEPS = 5_000, 2**18
_WIDEST_SIGMA = 200_000
_LARGEST_SHIFT = 10**6
_SQUARE_OF_TWO_STEPS = 4
_SEVERAL = 2
_ROUNDING_VARIANCE = 40
_BY_RHO = (events.BoundedRangeEvent, events.ApproximateConcentratedEvent)
_TAIL = 11.6
_LOST_TAIL = 1e-29
_ALLOWANCE = 2.0**-50
_FARTHEST_LOSS = 600.0


@short_traceback
def epsilon(event: events.Event, delta: Number) -> float:
    """Epsilon of an event fixed in advance at delta, by its privacy loss distribution.

    Args:
        event: The event.
        delta: The delta.

    Returns:
        The epsilon, a double on the safe side.

    Raises:
        AccountingError: If it is not an event, or the accountant does not know it.
        ParameterError: If delta is outside its range.

    Example:
        >>> import discreet as dp
        >>> event = dp.mechanisms.Laplace(sensitivity=1, epsilon=0.1).event()
        >>> 0 < dp.accounting.pld.epsilon(event, delta=1e-6) <= 0.1001
        True
    """
    asked = probability(delta, "delta")
    return min(_epsilon(_parts(read), asked) for read in _readings(event))


@short_traceback
def delta(event: events.Event, epsilon: Number) -> float:
    """Delta of an event fixed in advance at epsilon, by its privacy loss distribution.

    Args:
        event: The event.
        epsilon: The epsilon.

    Returns:
        The delta, a double on the safe side.

    Raises:
        AccountingError: If it is not an event, or the accountant does not know it.
        ParameterError: If epsilon is not positive.

    Example:
        >>> import discreet as dp
        >>> event = dp.mechanisms.Laplace(sensitivity=1, epsilon=0.1).event()
        >>> 0 < dp.accounting.pld.delta(event, epsilon=0.05) < 0.1
        True
    """
    reached = float(positive(epsilon, "epsilon"))
    return min(_delta(_parts(read), reached) for read in _readings(event))


def _epsilon(parts: Counter[events.Event], delta: Fraction) -> float:
    if not parts:
        return 0.0
    if delta == 0:
        raise _no_delta()
    allowance = _allowance(parts)
    if delta < 10 * allowance:
        raise _too_small(delta, allowance)
    found = float(_compose(parts).get_epsilon_for_delta(float(delta) - allowance))
    if math.isinf(found):
        raise _no_epsilon(delta)
    return found


def _delta(parts: Counter[events.Event], reached: float) -> float:
    if not parts:
        return 0.0
    return min(1.0, float(_compose(parts).get_delta_for_epsilon(reached)) + _allowance(parts))


def _readings(event: events.Event) -> list[events.Event]:
    """The event, and with parts of several bounded ranges, or batches, known by their rho alone: both are valid."""
    counted = list(events.leaves(event))
    ranges = sum(count for leaf, count in counted if isinstance(leaf, events.BoundedRangeEvent))
    if ranges < _SEVERAL and not any(isinstance(leaf, events.ApproximateConcentratedEvent) for leaf, _ in counted):
        return [event]
    by_rho = [
        (events.ConcentratedEvent(price(leaf).rho) if isinstance(leaf, _BY_RHO) else leaf, count)
        for leaf, count in counted
    ]
    return [event, events.ComposedEvent(tuple(events.RepeatedEvent(leaf, count) for leaf, count in by_rho))]


def _parts(event: events.Event) -> Counter[events.Event]:
    """The simple events that reveal something, with equal ones counted and those of one closed form merged."""
    counted: Counter[events.Event] = Counter()
    ratio = rho = own = Fraction(0)
    for leaf, count in events.leaves(event):
        if not any(price(leaf)[1:]):
            continue
        match leaf:
            case events.GaussianEvent(variance, squared):
                ratio += count * squared / variance
            case events.ConcentratedEvent(one_rho, one_delta):
                rho, own = rho + count * one_rho, own + count * one_delta
            case _ if _is_beyond_a_sum(leaf):
                rho += count * price(leaf).rho
            case events.DiscreteGaussianEvent(variance, squared, dimension) if dimension > 1:
                steps = min(max(1, math.floor(squared)), dimension)
                counted[events.DiscreteGaussianEvent(variance, Fraction(1))] += count * steps
            case events.SampledGaussianEvent(rate, variance, squared):
                continuous = squared / (variance - _ROUNDING_VARIANCE)
                counted[events.SampledGaussianEvent(rate, Fraction(1), continuous)] += count
            case _:
                counted[leaf] += count
    if ratio:
        counted[events.GaussianEvent(Fraction(1), ratio)] = 1
    if rho or own:
        counted[events.ConcentratedEvent(rho, min(own, Fraction(1)))] = 1
    return counted


def _is_beyond_a_sum(event: events.Event) -> bool:
    """Whether an event without an epsilon has no pair of its own, so that its rho is all that is known."""
    match event:
        case events.SampledGaussianEvent(_, variance, _):
            return variance <= 2 * _ROUNDING_VARIANCE
        case events.DiscreteGaussianEvent(variance, squared, dimension):
            moves_by_steps = dimension == 1 or squared < _SQUARE_OF_TWO_STEPS
            return not moves_by_steps or variance > _WIDEST_SIGMA**2
        case events.RepeatedSelectionEvent():
            return price(event).epsilon is None
    return False


def _compose(parts: Counter[events.Event]) -> Any:
    step = _grid_step(parts)
    composed = None
    for part, count in parts.items():
        single = _distribution(part, step)
        several = single if count == 1 else single.self_compose(count)
        composed = several if composed is None else composed.compose(several)
    return composed


def _grid_step(parts: Counter[events.Event]) -> float:
    """A whole part of the smallest spread, as fine as the range of the composed loss allows."""
    smallest, reach = min(map(_spread, parts)), _reach(parts)
    pieces = math.ceil(max(_STEPS_PER_SPREAD, smallest * _FEWEST_STEPS / reach))
    return max(smallest / pieces, reach / _MOST_STEPS)


def _reach(parts: Counter[events.Event]) -> float:
    """About the largest loss that matters."""
    bounded = [(_spread(part), count) for part, count in parts.items() if price(part).epsilon is not None]
    unbounded = [(_spread(part), count) for part, count in parts.items() if price(part).epsilon is None]
    sum_of_bounded = sum(count * spread for spread, count in bounded)
    sampled = [math.sqrt(2 * float(price(part).rho)) for part in parts if isinstance(part, events.SampledGaussianEvent)]
    one_sample = _normal_reach([(max(sampled, default=0.0), 1)])
    return min(sum_of_bounded, _normal_reach(bounded)) + max(_normal_reach(unbounded), one_sample)


def _normal_reach(spreads: list[tuple[float, int]]) -> float:
    variance = sum(count * spread**2 for spread, count in spreads)
    return variance / 2 + 2 * _TAIL * math.sqrt(variance)


def _spread(part: events.Event) -> float:
    """About the standard deviation of the loss."""
    spread = float(price(part).epsilon or 0) or math.sqrt(2 * float(price(part).rho))
    return (spread or 1.0) * (float(part.rate) if isinstance(part, events.SampledGaussianEvent) else 1.0)


def _distribution(part: events.Event, step: float) -> Any:
    match part:
        case events.GaussianEvent(_, squared):
            return distributions.from_gaussian_mechanism(
                1.0, sqrt_double_up(squared), value_discretization_interval=step
            )
        case events.SampledGaussianEvent(share, _, squared):
            return distributions.from_gaussian_mechanism(
                1.0,
                sqrt_double_up(squared),
                value_discretization_interval=step,
                sampling_prob=min(1.0, double_up(share)),
            )
        case events.LaplaceEvent(scale, sensitivity):
            rate = double_up(sensitivity / scale)
            return distributions.from_laplace_mechanism(1.0, rate, value_discretization_interval=step)
        case events.DiscreteLaplaceEvent(scale, sensitivity) if _is_summable(sensitivity):
            return _split(*_discrete_laplace(double_up(1 / scale), int(sensitivity)), step=step, lost=0.0)
        case events.DiscreteGaussianEvent(variance, squared, _):
            shift = max(1, math.isqrt(math.floor(squared)))
            return _split(*_discrete_gaussian(double_down(variance), shift), step=step, lost=_LOST_TAIL)
        case events.BoundedRangeEvent(rate):
            return _bounded_range(double_up(rate), step)
        case events.ConcentratedEvent(rho, own):
            return _of_rho(double_up(rho), double_up(own), step)
        case _:
            known = price(part)
            return _split(*_coin(double_up(known.epsilon or Fraction(0))), step=step, lost=double_up(known.delta))


def _is_summable(sensitivity: Fraction) -> bool:
    return sensitivity.denominator == 1 and sensitivity <= _LARGEST_SHIFT


def _coin(rate: float) -> tuple[Floats, Floats]:
    """Losses and probabilities of randomized response."""
    return np.array([rate, -rate]), np.array([1 / (1 + math.exp(-rate)), 1 / (1 + math.exp(rate))])


def _bounded_range(rate: float, step: float) -> Any:
    """The pair that dominates everything of this range: its delta at e is (1 - e^((e - rate)/2))^2/(1 - e^-rate)."""
    places = np.arange(-math.ceil(rate / step), math.ceil(rate / step) + 1)
    losses = np.clip(places * step, -rate, rate)
    profile = np.expm1((losses - rate) / 2) ** 2 / -math.expm1(-rate)
    profile[0] = -math.expm1(float(places[0] * step))
    profile[-1] = 0.0
    pmf = pld_pmf.create_pmf_pessimistic_connect_dots(step, places, np.clip(profile, 0.0, 1.0)).to_dense_pmf()
    return distributions.PrivacyLossDistribution(pmf)


def _discrete_laplace(decay: float, shift: int) -> tuple[Floats, Floats]:
    """Losses and probabilities of P[y] proportional to e^(-decay |y|) at 0 against the same at `shift`."""
    between = np.arange(1, shift)
    losses = decay * np.concatenate(([shift], shift - 2.0 * between, [-shift]))
    flat = 1 / (1 + math.exp(-decay))
    height = math.tanh(decay / 2)
    probabilities = np.concatenate(([flat], height * np.exp(-decay * between), [flat * math.exp(-decay * shift)]))
    return losses, probabilities


def _discrete_gaussian(variance: float, shift: int) -> tuple[Floats, Floats]:
    """Losses and probabilities of P[y] proportional to e^(-y^2/(2 variance)) at 0 against the same at `shift`."""
    bound = math.ceil(_TAIL * math.sqrt(variance)) + 1
    values = np.arange(-bound, bound + 1, dtype=np.float64)
    weights = np.exp(-(values**2) / (2 * variance))
    return shift * (shift / 2 - values) / variance, weights / weights.sum()


def _split(losses: Floats, probabilities: Floats, *, step: float, lost: float) -> Any:
    """The losses on a grid, split so that both distributions keep their mass; `lost` has infinite loss."""
    below = np.floor(losses / step).astype(np.int64)
    above = np.clip(np.expm1(below * step - losses) / math.expm1(-step), 0.0, 1.0)
    first = int(below.min())
    size = int(below.max()) - first + 2
    masses = np.bincount(below - first, weights=probabilities * (1 - above), minlength=size)
    masses += np.bincount(below - first + 1, weights=probabilities * above, minlength=size)
    inner = pld_pmf.DensePLDPmf(step, first, masses * (1 - lost), lost, pessimistic_estimate=True)
    return distributions.PrivacyLossDistribution(inner)


def _of_rho(rho: float, lost: float, step: float) -> Any:
    """The pair that dominates everything of this rho: the convex hull of the tight conversion."""
    if rho == 0:
        return _split(np.array([0.0]), np.array([1.0]), step=step, lost=lost)
    reach = min(_FARTHEST_LOSS, rho + 2 * math.sqrt(rho * 40))
    places = np.arange(-math.ceil(reach / step), math.ceil(reach / step) + 1)
    losses = np.asarray(places * step, dtype=np.float64)
    profile = _profile(rho, losses)
    corners = _hull(np.exp(losses), profile)
    pmf = pld_pmf.create_pmf_pessimistic_connect_dots(step, places[corners], profile[corners]).to_dense_pmf()
    whole = distributions.PrivacyLossDistribution(pmf)
    return whole if lost == 0 else whole.compose(_split(np.array([0.0]), np.array([1.0]), step=step, lost=lost))


def _profile(rho: float, epsilons: Floats) -> Floats:
    """An upper bound on delta at each epsilon, negative ones included."""
    direct = _convert_rho(rho, epsilons)
    mirrored = 1 - np.exp(epsilons) * (1 - _convert_rho(rho, -epsilons))
    return np.asarray(np.clip(np.where(epsilons < 0, np.minimum(direct, mirrored), direct), 0.0, 1.0))


def _convert_rho(rho: float, epsilons: Floats) -> Floats:
    """The tight conversion of rho, at orders that bisection finds near the best."""
    low, high = np.full_like(epsilons, -60.0), np.full_like(epsilons, 60.0)
    for _ in range(60):
        middle = (low + high) / 2
        excess = np.exp(middle)
        too_far = (2 * excess + 1) * rho - np.log1p(1 / excess) > epsilons
        low, high = np.where(too_far, low, middle), np.where(too_far, middle, high)
    excess = np.exp((low + high) / 2)
    order = 1 + excess
    exponent = excess * (order * rho - epsilons) - order * np.log1p(1 / excess) - np.log(excess)
    return np.asarray(np.exp(np.minimum(exponent, 0.0)) * (1 + 1e-12))


def _hull(across: Floats, heights: Floats) -> list[int]:
    """The corners of the lower convex hull, from the first point on."""
    corners: list[int] = []
    for place in range(len(across)):
        while len(corners) > 1 and _turns_up(across, heights, corners[-2], corners[-1], place):
            corners.pop()
        corners.append(place)
    return corners


def _turns_up(across: Floats, heights: Floats, first: int, middle: int, last: int) -> bool:
    rise = (heights[middle] - heights[first]) * (across[last] - across[first])
    return bool(rise >= (heights[last] - heights[first]) * (across[middle] - across[first]))


def _allowance(parts: Counter[events.Event]) -> float:
    return _ALLOWANCE * parts.total()


def _no_delta() -> AccountingError:
    return AccountingError(
        "a loss distribution at delta=0",
        because="it is kept in doubles, whose rounding needs a delta above zero",
        instead="accounting.pure.epsilon(event) for Laplace noise, or delta=1e-9",
    )


def _too_small(asked: Fraction, allowance: float) -> AccountingError:
    return AccountingError(
        f"a loss distribution at delta={shown(asked)}",
        because="doubles round by about that much when this many events are composed",
        instead=f"delta={10 * allowance:.0e} or larger, or accounting.concentrated.epsilon(event, delta)",
    )


def _no_epsilon(asked: Fraction) -> AccountingError:
    return AccountingError(
        f"an epsilon at delta={shown(asked)}",
        because="the deltas of the events, or losses beyond doubles, sum to at least delta",
        instead="a larger delta",
    )
