"""Renyi privacy: one divergence for each order; divergences of one order add.

Definition
    The divergence of order alpha > 1 between two distributions of an answer, (1/(alpha-1)) ln E_Q[(P/Q)^alpha], at its
    largest over neighbours. With e = sensitivity/scale or the epsilon of the event, and q = e^(-1/scale):
        Gaussian, discrete Gaussian   alpha s^2/(2 sigma^2), a bound for the discrete one
        Laplace                       e + ln(alpha/(2 alpha-1) + (alpha-1)/(2 alpha-1) e^(-(2 alpha-1) e))/(alpha-1)
        discrete Laplace              the same sum over integers, in closed form
        epsilon-DP                    e + ln((1 + e^(-(2 alpha-1) e))/(1 + e^-e))/(alpha-1), reached by a coin
        bounded range epsilon         ln z + ln((1 - e^(-alpha e))/(alpha (1 - e^-e)))/(alpha-1), reached by a coin;
                                      z = (alpha-1) (1 - e^(-alpha e))/(alpha e^-e (1 - e^(-(alpha-1) e)))
        rho-zCDP                      alpha rho
        sampled Gaussian              accounting.sampled_gaussian
        best of several runs          accounting.repeated_selection
Guarantee
    Divergences of one order add for events fixed in advance, and for events chosen as one goes if the order was fixed
    in advance, as that of a privacy budget is. Any order converts: the tight conversion is that of Canonne, Kamath and
    Steinke at this order.
Exactness
    Rationals rounded up, to 12 digits where they are longer. The orders tried are a fixed grid, refined twice around
    the best; each is valid by itself.
Not covered
    Choosing the order after seeing answers.
References
    Mironov, Renyi Differential Privacy, CSF 2017, Propositions 1, 3, 6, 7 and Corollary 2.
    Bun and Steinke, Concentrated Differential Privacy, TCC 2016, Proposition 3.3 (epsilon-DP).
    Dong, Durfee and Rogers, Optimal Differential Privacy Composition for Exponential Mechanisms, ICML 2020 (the coin).
    Canonne, Kamath and Steinke, The Discrete Gaussian for Differential Privacy, NeurIPS 2020, Proposition 12.
    Proofs for vectors under Laplace noise: docs/proofs/accounting/pld.md.
"""

from collections.abc import Callable
from fractions import Fraction
from functools import cache, lru_cache
from typing import NamedTuple

from discreet import events
from discreet.accounting import repeated_selection
from discreet.accounting.concentrated import delta_left
from discreet.accounting.prices import price, total
from discreet.accounting.sampled_gaussian import divergence as sampled_gaussian
from discreet.errors import AccountingError, ParameterError, short_traceback
from discreet.exact.numbers import Number, probability, rational
from discreet.exact.rounding import brief_up, exp_down, exp_up, log_up
from discreet.exact.zcdp import classic_epsilon_at_order, epsilon_at_order

_ORDERS = tuple(1 + Fraction(2**power, 64) for power in range(40))
_REFINEMENTS = 8
_FAINT = Fraction(-300)


class Conversion(NamedTuple):
    """Smallest epsilon found, and the order that gave it.

    Attributes:
        epsilon: Epsilon by the tight conversion.
        order: The order that gave it.
        classic_epsilon: Epsilon by the classic conversion.
        classic_order: The order that gave it.

    Example:
        >>> import discreet as dp
        >>> conversion = dp.accounting.renyi.conversion(dp.events.ConcentratedEvent(0.01), delta=1e-6)
        >>> conversion.epsilon <= conversion.classic_epsilon
        True
    """

    epsilon: Fraction
    order: Fraction
    classic_epsilon: Fraction
    classic_order: Fraction


@short_traceback
def epsilon(event: events.Event, alpha: Number) -> Fraction:
    """Renyi divergence of an event.

    Args:
        event: The event.
        alpha: The order, above 1.

    Returns:
        The divergence, rounded up.

    Raises:
        AccountingError: If a part has a delta of its own, or it is not an event.
        ParameterError: If the order is at most 1.

    Example:
        >>> import discreet as dp
        >>> float(dp.accounting.renyi.epsilon(dp.events.ConcentratedEvent(0.01), alpha=10))
        0.1
    """
    order = rational(alpha, "alpha")
    if order <= 1:
        raise ParameterError("alpha of at most 1", because="Renyi privacy has orders above 1", instead="alpha=10")
    if any(
        price(leaf).delta
        for leaf, _ in events.leaves(event)
        if not isinstance(leaf, events.ApproximateConcentratedEvent)
    ):
        raise AccountingError(
            "the Renyi divergence of an event with a delta of its own",
            because="it is infinite: with that probability anything may happen",
            instead="accounting.renyi.conversion(event, delta=...), with a delta above those of the events",
        )
    return brief_up(_sum(tuple(events.leaves(event)), order))


@short_traceback
def conversion(event: events.Event, delta: Number) -> Conversion:
    """Epsilon of an event fixed in advance at delta, by the best order of a grid.

    Args:
        event: The event.
        delta: The delta.

    Returns:
        The epsilon and its order.

    Raises:
        AccountingError: If the events have deltas of their own of at least delta.
        ParameterError: If delta is outside its range.

    Example:
        >>> import discreet as dp
        >>> float(dp.accounting.renyi.conversion(dp.events.ConcentratedEvent(0.01), delta=1e-6).epsilon) < 1
        True
    """
    left = delta_left(total(event).delta, probability(delta, "delta"))
    counted = tuple(events.leaves(event))

    @cache
    def divergence(order: Fraction) -> Fraction:
        return _sum(counted, order)

    def tight(order: Fraction) -> Fraction:
        return epsilon_at_order(divergence(order), order, left)

    def classic(order: Fraction) -> Fraction:
        return classic_epsilon_at_order(divergence(order), order, left)

    best, best_classic = _best(tight), _best(classic)
    return Conversion(brief_up(tight(best)), best, brief_up(classic(best_classic)), best_classic)


@short_traceback
def divergence_over_order(event: events.Event, alpha: Fraction) -> Fraction:
    """The divergence of order alpha of an event outside its own deltas, divided by alpha; at most its rho.

    Gaussian noise has the same value at every order, which is its rho.

    Args:
        event: The event.
        alpha: The order, above 1.

    Returns:
        The quotient, rounded up.

    Example:
        >>> from fractions import Fraction
        >>> import discreet as dp
        >>> float(dp.accounting.renyi.divergence_over_order(dp.events.PureEvent(1), Fraction(20))) < 0.05
        True
    """
    return sum((count * _leaf_rho(leaf, alpha) for leaf, count in events.leaves(event)), Fraction(0))


@lru_cache(maxsize=4096)
def _leaf_rho(leaf: events.Event, alpha: Fraction) -> Fraction:
    return min(price(leaf).rho, _simple(leaf, alpha) / alpha)


def _sum(counted: tuple[tuple[events.Event, int], ...], alpha: Fraction) -> Fraction:
    return sum((count * _simple(leaf, alpha) for leaf, count in counted), Fraction(0))


def _simple(event: events.Event, alpha: Fraction) -> Fraction:
    match event:
        case events.PureEvent(rate) | events.ApproximateEvent(rate, _):
            return _coin(rate, alpha)
        case events.BoundedRangeEvent(rate):
            return _one_sided_coin(rate, alpha)
        case events.LaplaceEvent(scale, sensitivity):
            return _laplace(sensitivity / scale, alpha)
        case events.DiscreteLaplaceEvent(scale, sensitivity):
            return _discrete_laplace(scale, sensitivity, alpha)
        case events.DiscreteGaussianEvent(variance, squared, _) | events.GaussianEvent(variance, squared):
            return alpha * squared / (2 * variance)
        case events.ConcentratedEvent(rho, _) | events.ApproximateConcentratedEvent(_, _, rho):
            return alpha * rho
        case events.SampledGaussianEvent():
            return sampled_gaussian(event, alpha)
        case events.RepeatedSelectionEvent():
            return _selection(event, alpha)
    raise events.no_event(event)


def _selection(event: events.RepeatedSelectionEvent, alpha: Fraction) -> Fraction:
    """Of the best of a random number of runs; of its epsilon or rho where that is less."""
    counted = tuple(events.leaves(event.event))
    known = price(event)
    bound = alpha * known.rho if known.epsilon is None else min(alpha * known.rho, _coin(known.epsilon, alpha))
    found = repeated_selection.divergence(
        lambda order: _sum(counted, order), _penalty(event.event, event.gamma), event.eta, event.gamma, alpha
    )
    return min(bound, found)


@lru_cache(maxsize=1024)
def _penalty(run: events.Event, gamma: Fraction) -> Fraction:
    """The least that an order of the grid adds to a selection among runs."""
    counted = tuple(events.leaves(run))

    @cache
    def at_order(order: Fraction) -> Fraction:
        divergence = _sum(counted, order) if order > 1 else Fraction(0)
        return repeated_selection.penalty_at(divergence, order, gamma)

    return min(at_order(Fraction(1)), at_order(_best(at_order)))


def _coin(rate: Fraction, alpha: Fraction) -> Fraction:
    """The divergence of randomized response, the largest that epsilon-DP allows."""
    inside = (1 + _exp_up(-(2 * alpha - 1) * rate)) / (1 + exp_down(-rate))
    return _below(rate, inside, alpha)


def _one_sided_coin(rate: Fraction, alpha: Fraction) -> Fraction:
    """The largest divergence that bounded range allows: of a coin whose two losses are the whole range apart."""
    bound = min(rate, alpha * rate**2 / 8)
    step_down, rest = exp_down(-rate), 1 - exp_up(-rate)
    most, less = 1 - _shallow(-alpha * rate), 1 - _exp_up(-(alpha - 1) * rate)
    if min(step_down, rest, less) <= 0:
        return bound
    found = log_up((alpha - 1) * most / (alpha * step_down * less)) + log_up(most / (alpha * rest)) / (alpha - 1)
    return max(Fraction(0), min(found, bound))


def _laplace(rate: Fraction, alpha: Fraction) -> Fraction:
    inside = (alpha + (alpha - 1) * _exp_up(-(2 * alpha - 1) * rate)) / (2 * alpha - 1)
    return _below(rate, inside, alpha)


def _discrete_laplace(scale: Fraction, sensitivity: Fraction, alpha: Fraction) -> Fraction:
    """The sum over integers: both flat ends, and the geometric series between them."""
    rate = sensitivity / scale
    ratio_up = _exp_up(-(2 * alpha - 1) / scale)
    if sensitivity.denominator != 1 or ratio_up >= 1 or not sensitivity:
        return _coin(rate, alpha)
    decay = exp_down(-1 / scale)
    ends = 1 + _exp_up(-(2 * alpha - 1) * rate)
    last = -(2 * alpha - 1) * (sensitivity - 1) / scale
    between = ratio_up * (1 - (exp_down(last) if last > _FAINT else 0)) / (1 - ratio_up)
    return _below(rate, (ends + (1 - decay) * between) / (1 + decay), alpha)


def _exp_up(exponent: Fraction) -> Fraction:
    """A rational at least e^exponent, which beyond 130 digits no longer matters."""
    return exp_up(max(exponent, _FAINT))


def _shallow(exponent: Fraction) -> Fraction:
    """A rational at most e^exponent, zero where it no longer matters."""
    return exp_down(exponent) if exponent > _FAINT else Fraction(0)


def _below(rate: Fraction, inside: Fraction, alpha: Fraction) -> Fraction:
    return max(Fraction(0), rate + log_up(min(Fraction(1), inside)) / (alpha - 1))


def _best(objective: Callable[[Fraction], Fraction]) -> Fraction:
    """The best order of the grid, then of two finer ones, each between the neighbours of the best so far."""
    orders = list(_ORDERS)
    for _ in range(2):
        place = min(range(len(orders)), key=lambda index: objective(orders[index]))
        low, high = orders[max(0, place - 1)], orders[min(len(orders) - 1, place + 1)]
        orders = [low + (high - low) * step / _REFINEMENTS for step in range(_REFINEMENTS + 1)]
    return min(orders, key=objective)
