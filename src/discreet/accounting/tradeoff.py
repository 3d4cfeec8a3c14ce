"""What an attacker gains: the advantage, and the true positive rate at a false positive rate.

Definition
    An attacker sees the answers and decides which of two neighbouring datasets they come from. The false positive rate
    is how often the attacker names the first one where it is the second, the true positive rate how often where it is
    the first. The best true positive rates over all false positive rates are the trade-off curve. The advantage is the
    largest difference of the two rates, which is the total variation distance of the answers.
Guarantee
    Rates and advantages are upper bounds for every attacker, every pair of neighbours in either order, and any
    knowledge about other units. They hold for analysts who choose as they go, where the sums of epsilons, rhos and
    deltas were fixed in advance. Where the sums depend on the answers, the registered budget is the guarantee: rates at
    its sums hold. The smaller of the bounds by epsilon and by rho is returned.
Exactness
    Rationals, rounded up. Floats only choose an order, and a candidate that rationals confirm. The bound by epsilon is
    tight for randomized response. For rho up to 0.01 that by rho is within a tenth of the rate of Gaussian noise at 1%
    false positives.
Not covered
    Tighter curves for events fixed in advance: accounting.pld has those. Sums that were not fixed in advance.
References
    Kairouz, Oh and Viswanath, The Composition Theorem for Differential Privacy, ICML 2015, Theorem 2.1.
    Van Erven and Harremoes, Renyi Divergence and Kullback-Leibler Divergence, IEEE Transactions on Information Theory
    2014, Theorem 9 (data processing) and Theorem 31 (Pinsker).
    Bretagnolle and Huber, Estimation des densites: risque minimax, 1979.
    Proofs: docs/proofs/accounting/tradeoff.md.
"""

import math
from collections.abc import Iterator
from fractions import Fraction

from discreet import events
from discreet.accounting.prices import EventCost, total
from discreet.errors import short_traceback
from discreet.exact.numbers import Number, probability
from discreet.exact.rounding import brief_up, digits_up, exp_down, exp_up, point, power_ratio, sqrt_up

ONE = Fraction(1)
_DIGITS = 6
_ORDERS = (*(Fraction(n, 8) for n in range(9, 24)), *map(Fraction, sorted({round(1.15**n) for n in range(8, 50)})))
"""Orders of the divergence, from 9/8 to 942."""
_LARGEST_EXPONENT = 500
_HALVINGS = 60
_TRIES = 8


@short_traceback
def advantage(event: events.Event) -> Fraction:
    """The largest difference between true and false positive rate of an attacker.

    Args:
        event: The event.

    Returns:
        The advantage, from 0 to 1, rounded up to six digits.

    Raises:
        AccountingError: If it is not an event, or the accountants do not know it.

    Example:
        >>> import discreet as dp
        >>> float(dp.accounting.tradeoff.advantage(dp.events.PureEvent(1)))
        0.462118
    """
    cost = _brief_cost(event)
    by_rho = 2 * cost.delta + min(_pinsker(cost.rho), _bretagnolle_huber(cost.rho))
    return _brief(min(_advantage_by_epsilon(cost), by_rho))


@short_traceback
def true_positive_rate(event: events.Event, false_positive_rate: Number) -> Fraction:
    """The largest true positive rate of an attacker at a false positive rate.

    Args:
        event: The event.
        false_positive_rate: The false positive rate, such as 0.01.

    Returns:
        The true positive rate, from 0 to 1, rounded up to six digits.

    Raises:
        AccountingError: If it is not an event, or the accountants do not know it.
        ParameterError: If the false positive rate is outside its range.

    Example:
        >>> import discreet as dp
        >>> float(dp.accounting.tradeoff.true_positive_rate(dp.events.PureEvent(1), 0.01))
        0.0271829
    """
    rate, cost = probability(false_positive_rate, "false_positive_rate"), _brief_cost(event)
    return _brief(min(_rate_by_epsilon(cost, rate), _rate_by_rho(cost, rate)))


def _brief_cost(event: events.Event) -> EventCost:
    """The cost with numbers of few digits, rounded up: powers of long ones take seconds."""
    epsilon, rho, delta = total(event)
    return EventCost(None if epsilon is None else brief_up(epsilon), brief_up(rho), brief_up(min(ONE, delta)))


def _advantage_by_epsilon(cost: EventCost) -> Fraction:
    if cost.epsilon is None or cost.epsilon > _LARGEST_EXPONENT:
        return ONE
    factor = exp_up(cost.epsilon) if cost.epsilon else ONE
    return (factor - 1 + 2 * cost.delta) / (factor + 1)


def _pinsker(rho: Fraction) -> Fraction:
    return sqrt_up(rho / 2) if rho else rho


def _bretagnolle_huber(rho: Fraction) -> Fraction:
    return sqrt_up(1 - exp_down(-rho)) if rho else rho


def _rate_by_epsilon(cost: EventCost, rate: Fraction) -> Fraction:
    if cost.epsilon is None or cost.epsilon > _LARGEST_EXPONENT:
        return ONE
    up, down = (exp_up(cost.epsilon), exp_down(-cost.epsilon)) if cost.epsilon else (ONE, ONE)
    return min(cost.delta + up * rate, 1 - down * max(Fraction(0), 1 - cost.delta - rate))


def _rate_by_rho(cost: EventCost, rate: Fraction) -> Fraction:
    """The least rate that no attacker reaches, by the divergence of any order between two outcomes of a test."""
    if not cost.rho:
        return rate + cost.delta
    if not rate:
        return ONE
    candidates = sorted(_candidates(float(cost.rho), float(cost.delta), float(rate)))
    for guess, order in candidates[:_TRIES]:
        reached = max(rate + cost.delta, digits_up(Fraction(guess), _DIGITS) + Fraction(1, 10**9))
        if reached < 1 and _is_out_of_reach(cost, rate, reached, order):
            return reached
    return ONE


def _candidates(rho: float, delta: float, rate: float) -> Iterator[tuple[float, Fraction]]:
    """For each order about the largest rate that its divergence allows; floats choose, and rationals confirm."""
    for order in _ORDERS:
        exponent = float(order * (order - 1)) * rho
        if exponent > _LARGEST_EXPONENT:
            return
        low, high = min(1.0, rate + delta), 1.0
        for _ in range(_HALVINGS):
            middle = (low + high) / 2
            low, high = (low, middle) if _divergence(middle, delta, rate, float(order)) > exponent else (middle, high)
        yield high, order


def _divergence(reached: float, delta: float, rate: float, order: float) -> float:
    """The logarithm of the larger of the two sums of `_is_out_of_reach`, by its largest part alone."""
    direct = order * math.log(max(reached - delta, 1e-300)) - (order - 1) * math.log(rate)
    mirrored = order * math.log(max(1 - rate - delta, 1e-300)) - (order - 1) * math.log(max(1 - reached, 1e-300))
    rest = order * math.log(max(1 - reached - delta, 1e-300)) - (order - 1) * math.log(max(1 - rate, 1e-300))
    largest = max(direct, rest)
    both = largest + math.log(math.exp(direct - largest) + math.exp(rest - largest))
    return max(both, mirrored)


def _is_out_of_reach(cost: EventCost, rate: Fraction, reached: Fraction, order: Fraction) -> bool:
    """Whether a test of these two rates would have more than the divergence that rho allows, in either direction."""
    allowed = exp_up(order * (order - 1) * cost.rho)
    scale = (1 - cost.delta) ** math.ceil(order - 1)
    direct = _sum_of_powers((reached, rate), (1 - reached, 1 - rate), cost.delta, order)
    mirrored = _sum_of_powers((1 - rate, 1 - reached), (rate, reached), cost.delta, order)
    return scale * max(direct, mirrored) > allowed


def _sum_of_powers(
    first: tuple[Fraction, Fraction], second: tuple[Fraction, Fraction], delta: Fraction, order: Fraction
) -> Fraction:
    """The sum over both outcomes of (p - delta)^order/q^(order - 1), rounded down."""
    present = [(p - delta, q) for p, q in (first, second) if p > delta]
    return sum((power_ratio(point(p), point(q), order).low for p, q in present), Fraction(0))


def _brief(value: Fraction) -> Fraction:
    return min(ONE, digits_up(value, _DIGITS))
