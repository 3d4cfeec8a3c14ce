"""The largest epsilon of an event whose Renyi divergence is within a bound: guessed in floats, checked in rationals.

Definition
    For a family of events that grows with its epsilon, a bound rho and orders, about the largest epsilon whose event
    has `renyi.divergence_over_order` of at most rho at every one of the orders; without any, at all orders above 1.
Guarantee
    Every epsilon that is returned was checked at every order, in rationals that are rounded up, or is sqrt(2 rho)
    (sqrt(8 rho) for bounded range), which holds at all orders. It is within one part in a million of the largest one.
Exactness
    Floats choose where to look; what they choose is rounded down to nine digits before it is checked.
Not covered
    Events with a delta of their own.
References
    The divergences are those of `renyi`.
"""

import math
from collections.abc import Callable, Sequence
from fractions import Fraction

from discreet import events
from discreet.accounting.renyi import divergence_over_order
from discreet.errors import short_traceback
from discreet.exact.rounding import digits_down, sqrt_down

DIGITS = 9
_BISECTIONS = 60
_TRIES = 40
_LN_2 = math.log(2)
_SMALL = 1e-4

Divergence = Callable[[float, float], float]
"""From an epsilon and an order, in floats."""


@short_traceback
def pure_epsilon(rho: Fraction, orders: Sequence[Fraction]) -> Fraction:
    """Largest epsilon of a pure event whose divergences are within a bound.

    Args:
        rho: The bound on divergences over orders.
        orders: The orders, above 1; none stands for all of them.

    Returns:
        The epsilon, rounded down.

    Example:
        >>> from fractions import Fraction
        >>> import discreet as dp
        >>> round(float(dp.accounting.renyi_inverse.pure_epsilon(Fraction(1, 40), [Fraction(20)])), 1)
        0.5
    """
    return _largest(rho, orders, coin, events.PureEvent, sqrt_down(2 * rho))


@short_traceback
def bounded_range_epsilon(rho: Fraction, orders: Sequence[Fraction]) -> Fraction:
    """Largest epsilon of an event of bounded range whose divergences are within a bound.

    Args:
        rho: The bound on divergences over orders.
        orders: The orders, above 1; none stands for all of them.

    Returns:
        The epsilon, rounded down.

    Example:
        >>> from fractions import Fraction
        >>> import discreet as dp
        >>> round(float(dp.accounting.renyi_inverse.bounded_range_epsilon(Fraction(1, 40), [Fraction(20)])), 1)
        0.7
    """
    return _largest(rho, orders, one_sided_coin, events.BoundedRangeEvent, sqrt_down(8 * rho))


@short_traceback
def laplace_epsilon(rho: Fraction, orders: Sequence[Fraction], sensitivity: int) -> Fraction:
    """Largest epsilon of discrete Laplace noise whose divergences are within a bound.

    Args:
        rho: The bound on divergences over orders.
        orders: The orders, above 1; none stands for all of them.
        sensitivity: The L1 sensitivity, in grid steps.

    Returns:
        The epsilon, rounded down.

    Example:
        >>> from fractions import Fraction
        >>> import discreet as dp
        >>> round(float(dp.accounting.renyi_inverse.laplace_epsilon(Fraction(1, 40), [Fraction(20)], 1)), 1)
        0.5
    """

    def event(epsilon: Fraction) -> events.Event:
        return events.DiscreteLaplaceEvent(sensitivity / epsilon, Fraction(sensitivity))

    def divergence(epsilon: float, order: float) -> float:
        return discrete_laplace(epsilon, order, sensitivity)

    return _largest(rho, orders, divergence, event, sqrt_down(2 * rho))


def near(rho: Fraction, orders: Sequence[Fraction], divergence: Divergence) -> float:
    """About the largest epsilon whose divergences are within a bound, by floats alone: to be checked."""
    return min(_near(float(rho), float(order), divergence) for order in orders)


def _near(rho: float, order: float, divergence: Divergence) -> float:
    most = order * rho
    low, high = 0.0, 2 * most + 4 * math.sqrt(most)
    for _ in range(_BISECTIONS):
        middle = (low + high) / 2
        low, high = (middle, high) if divergence(middle, order) <= most else (low, middle)
    return low


def _largest(
    rho: Fraction,
    orders: Sequence[Fraction],
    divergence: Divergence,
    event: Callable[[Fraction], events.Event],
    sure: Fraction,
) -> Fraction:
    """The guess or a little less, once it is checked; at least the epsilon that fits at all orders there are."""
    if not orders:
        return sure
    guess = Fraction(near(rho, orders, divergence))
    for step in range(_TRIES):
        found = digits_down(guess * (1 - Fraction(2**step, 10**9)), DIGITS)
        if found <= sure:
            break
        if all(divergence_over_order(event(found), order) <= rho for order in orders):
            return found
    return sure


def coin(epsilon: float, order: float) -> float:
    """The divergence of randomized response, the largest that epsilon-DP allows, in floats."""
    return (_log_cosh((2 * order - 1) * epsilon / 2) - _log_cosh(epsilon / 2)) / (order - 1)


def one_sided_coin(epsilon: float, order: float) -> float:
    """The largest divergence that bounded range allows, in floats."""
    small = order * epsilon * epsilon / 8
    if order * epsilon < _SMALL:
        return small
    most, less = -math.expm1(-order * epsilon), -math.expm1(-(order - 1) * epsilon)
    ratio = (order - 1) * most / (order * less)
    found = math.log(ratio) + epsilon + math.log(most / (order * -math.expm1(-epsilon))) / (order - 1)
    return min(found, small, epsilon)


def discrete_laplace(epsilon: float, order: float, sensitivity: int) -> float:
    """The divergence of discrete Laplace noise, in floats: both flat ends, and the geometric series between them."""
    step, twice = epsilon / sensitivity, 2 * order - 1
    ends = 1 + math.exp(-twice * epsilon)
    falls = -math.expm1(-twice * step)
    between = math.exp(-twice * step) * -math.expm1(-twice * step * (sensitivity - 1)) / falls if falls else 0.0
    inside = (ends - math.expm1(-step) * between) / (1 + math.exp(-step))
    return epsilon + math.log(inside) / (order - 1)


def _log_cosh(value: float) -> float:
    """Ln cosh for a value of at least zero, without cancellation near zero."""
    return math.log1p(2 * math.sinh(value / 2) ** 2) if value < 1 else value + math.log1p(math.exp(-2 * value)) - _LN_2
