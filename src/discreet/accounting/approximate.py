"""(epsilon, delta): basic composition, advanced composition, and the optimum that both are measured against.

Definition
    Events that are each (epsilon_i, delta_i)-differentially private, fixed in advance; `slack` is the delta that a
    composition theorem spends on top of theirs.
Guarantee
    Basic: (sum of epsilon_i, sum of delta_i), also for events chosen after seeing earlier answers.
    Advanced: sqrt(2 ln(1/slack) sum of epsilon_i^2) + sum of epsilon_i (e^epsilon_i - 1), with delta the sum of delta_i
    and slack; for events fixed in advance.
    Optimal: the least epsilon that holds for every k-fold composition of epsilon-DP mechanisms. Tight: randomized
    response reaches it.
    Textbook: 2 epsilon sqrt(2 k ln(1/slack)), which holds while the total is at most 1 and fails beyond: for k = 500,
    epsilon = 1, slack = 1e-5 it prints 214.59, where the true delta is 0.78. Refused there, and printed for teaching by
    `textbook_formula`.
Exactness
    Every result but that of `textbook_formula` is a rational rounded up, to 12 digits where it is longer.
Not covered
    Advanced and optimal composition for analysts who choose as they go: accounting.filters has that.
References
    Dwork, Rothblum and Vadhan, Boosting and Differential Privacy, FOCS 2010, Theorem III.3.
    Kairouz, Oh and Viswanath, The Composition Theorem for Differential Privacy, ICML 2015, Theorem 3.3.
    Proofs: docs/proofs/accounting/approximate.md.
"""

import math
from collections.abc import Iterable
from fractions import Fraction
from typing import NamedTuple

from discreet import events
from discreet.accounting.prices import price, total
from discreet.errors import AccountingError, ParameterError, short_traceback
from discreet.exact.numbers import Number, positive, probability, shown, whole
from discreet.exact.rounding import brief_up, exp_down, exp_up, log_up, sqrt_up

LARGEST_COUNT = 100_000
LARGEST_TOTAL = 10_000
_SPARE_DIGITS = 80


class Parameters(NamedTuple):
    """Parameters of approximate differential privacy.

    Attributes:
        epsilon: The epsilon.
        delta: The delta.

    Example:
        >>> import discreet as dp
        >>> dp.accounting.approximate.basic(dp.events.PureEvent(0.5)).delta
        Fraction(0, 1)
    """

    epsilon: Fraction
    delta: Fraction


@short_traceback
def basic(event: events.Event) -> Parameters:
    """Basic composition: sums of epsilons and deltas.

    Args:
        event: The event.

    Returns:
        Epsilon and delta of everything inside the event.

    Raises:
        AccountingError: If a part has no finite epsilon.

    Example:
        >>> import discreet as dp
        >>> float(dp.accounting.approximate.basic(dp.events.RepeatedEvent(dp.events.PureEvent(0.5), 4)).epsilon)
        2.0
    """
    exact = total(event)
    if exact.epsilon is None:
        raise _unbounded_error()
    return Parameters(brief_up(exact.epsilon), brief_up(exact.delta))


@short_traceback
def advanced(*, epsilon: Number, count: int, slack: Number, delta: Number = 0) -> Parameters:
    """Advanced composition of equal events, fixed in advance.

    Args:
        epsilon: Epsilon of each event.
        count: Number of events.
        slack: Delta that the composition adds.
        delta: Delta of each event. Default 0.

    Returns:
        Epsilon and delta of all of them.

    Raises:
        ParameterError: If an argument is outside its range.

    Example:
        >>> import discreet as dp
        >>> round(float(dp.accounting.approximate.advanced(epsilon=0.1, count=100, slack=1e-6).epsilon), 4)
        6.3082
    """
    one = Parameters(positive(epsilon, "epsilon"), probability(delta, "delta"))
    return _advanced_composition([(one, whole(count, "count"))], _check_slack(slack))


@short_traceback
def advanced_total(event: events.Event, *, slack: Number) -> Parameters:
    """Advanced composition of everything inside an event, with different epsilons.

    Args:
        event: The event.
        slack: Delta that the composition adds.

    Returns:
        Epsilon and delta of all of it.

    Raises:
        AccountingError: If a part has no finite epsilon.
        ParameterError: If the slack is outside its range.

    Example:
        >>> import discreet as dp
        >>> event = dp.events.RepeatedEvent(dp.events.PureEvent(0.1), 100)
        >>> round(float(dp.accounting.approximate.advanced_total(event, slack=1e-6).epsilon), 4)
        6.3082
    """
    parts = []
    for leaf, count in events.leaves(event):
        exact = price(leaf)
        if exact.epsilon is None:
            raise _unbounded_error()
        parts.append((Parameters(exact.epsilon, exact.delta), count))
    return _advanced_composition(parts, _check_slack(slack))


@short_traceback
def textbook(*, epsilon: Number, count: int, slack: Number) -> Fraction:
    """Textbook form of advanced composition, 2 epsilon sqrt(2 count ln(1/slack)), where it holds.

    Args:
        epsilon: Epsilon of each event.
        count: Number of events.
        slack: Delta that the composition adds.

    Returns:
        The total epsilon, rounded up.

    Raises:
        AccountingError: If the total exceeds 1, where the formula is false.
        ParameterError: If an argument is outside its range.

    Example:
        >>> import discreet as dp
        >>> float(dp.accounting.approximate.textbook(epsilon=0.01, count=50, slack=1e-6)) < 1
        True
    """
    rate, times, spent = positive(epsilon, "epsilon"), whole(count, "count"), _check_slack(slack)
    found = 2 * rate * sqrt_up(2 * times * log_up(1 / spent))
    if found > 1 or found < _advanced_composition([(Parameters(rate, Fraction(0)), times)], spent).epsilon:
        raise AccountingError(
            f"the textbook form of advanced composition at a total of {shown(found)}",
            because="it is proven for totals of at most 1 and false beyond",
            instead=f"accounting.approximate.advanced(epsilon={shown(rate)}, count={times}, slack={shown(spent)})",
        )
    return brief_up(found)


@short_traceback
def textbook_formula(*, epsilon: Number, count: int, slack: Number) -> float:
    """Textbook form of advanced composition, for teaching. It is not a guarantee where it exceeds 1.

    Args:
        epsilon: Epsilon of each event.
        count: Number of events.
        slack: Delta that the composition adds.

    Returns:
        The number of the formula.

    Raises:
        ParameterError: If an argument is outside its range.

    Example:
        >>> import discreet as dp
        >>> round(dp.accounting.approximate.textbook_formula(epsilon=0.1, count=100, slack=1e-6), 2)
        10.51
    """
    depth = math.log(1 / probability(slack, "slack"))
    return 2 * float(positive(epsilon, "epsilon")) * math.sqrt(2 * whole(count, "count") * depth)


@short_traceback
def optimal(*, epsilon: Number, count: int, delta: Number) -> Fraction:
    """Optimal composition: the least epsilon at delta, for every composition of equal epsilon-DP events.

    Args:
        epsilon: Epsilon of each event.
        count: Number of events.
        delta: The delta.

    Returns:
        The epsilon, rounded up.

    Raises:
        AccountingError: If there are too many events.
        ParameterError: If an argument is outside its range.

    Example:
        >>> import discreet as dp
        >>> float(dp.accounting.approximate.optimal(epsilon=0.1, count=100, delta=1e-6)) < 10
        True
    """
    weights = _Weights(positive(epsilon, "epsilon"), whole(count, "count"))
    allowed = math.floor(probability(delta, "delta") * weights.mass)
    likely, unlikely = 0, 0
    for steps in range(weights.count // 2 + 1):
        likely += weights.likely[steps]
        unlikely += weights.unlikely[steps]
        if likely - allowed > exp_down(max(Fraction(0), weights.loss(steps + 1))) * unlikely:
            return brief_up(min(weights.loss(steps), log_up(Fraction(likely - allowed, unlikely))))
    return Fraction(0)


@short_traceback
def optimal_delta(*, epsilon: Number, count: int, total_epsilon: Number) -> Fraction:
    """Optimal composition: the least delta at a total epsilon, for every composition of equal epsilon-DP events.

    Args:
        epsilon: Epsilon of each event.
        count: Number of events.
        total_epsilon: The total epsilon.

    Returns:
        The delta, rounded up.

    Raises:
        AccountingError: If there are too many events.
        ParameterError: If an argument is outside its range.

    Example:
        >>> import discreet as dp
        >>> float(dp.accounting.approximate.optimal_delta(epsilon=0.1, count=100, total_epsilon=5)) < 1e-5
        True
    """
    weights = _Weights(positive(epsilon, "epsilon"), whole(count, "count"))
    reached = positive(total_epsilon, "total_epsilon")
    telling = sum(weights.loss(steps) > reached for steps in range(weights.count + 1))
    likely, unlikely = sum(weights.likely[:telling]), sum(weights.unlikely[:telling])
    found = Fraction(likely - exp_down(reached) * unlikely) / weights.mass
    return brief_up(max(Fraction(0), min(Fraction(1), found)))


class _Weights:
    """The outcomes of `count` randomized responses, in fixed point: which are more likely under one neighbour.

    The outcome with `steps` answers against it has loss (count - 2 steps) epsilon; its probability is C(count, steps)
    e^(-steps epsilon)/mass under one neighbour, rounded up, and C(count, steps) e^(-(count - steps) epsilon)/mass under
    the other, rounded down.
    """

    def __init__(self, epsilon: Fraction, count: int) -> None:
        if epsilon * count > LARGEST_TOTAL or count > LARGEST_COUNT:
            raise AccountingError(
                f"the optimal composition of {count} events of epsilon {shown(epsilon)}",
                because=f"the exact sum is kept to {LARGEST_COUNT:,} events and a sum of epsilons of {LARGEST_TOTAL:,}",
                instead="accounting.pld.epsilon(event, delta=...)",
            )
        self.epsilon, self.count = epsilon, count
        one: int = 10 ** (_SPARE_DIGITS + math.ceil(epsilon * count / 2))
        up, down, ways = [one], [one], [1]
        factor_up, factor_down = exp_up(-epsilon), exp_down(-epsilon)
        for step in range(count):
            up.append(-((-up[-1] * factor_up.numerator) // factor_up.denominator))
            down.append(down[-1] * factor_down.numerator // factor_down.denominator)
            ways.append(ways[-1] * (count - step) // (step + 1))
        self.likely = [way * power for way, power in zip(ways, up, strict=True)]
        self.unlikely = [way * power for way, power in zip(ways, reversed(down), strict=True)]
        self.mass = sum(self.unlikely)

    def loss(self, steps: int) -> Fraction:
        return (self.count - 2 * steps) * self.epsilon


def _advanced_composition(parts: Iterable[tuple[Parameters, int]], slack: Fraction) -> Parameters:
    squares, drift, delta = Fraction(0), Fraction(0), slack
    for part, count in parts:
        squares += count * part.epsilon**2
        drift += count * part.epsilon * (exp_up(part.epsilon) - 1)
        delta += count * part.delta
    return Parameters(brief_up(sqrt_up(2 * log_up(1 / slack) * squares) + drift), brief_up(delta))


def _check_slack(slack: Number) -> Fraction:
    value = probability(slack, "slack")
    if value == 0:
        raise ParameterError("slack=0", because="advanced composition needs a delta above zero", instead="slack=1e-9")
    return value


def _unbounded_error() -> AccountingError:
    return AccountingError(
        "a sum of epsilons",
        because="Gaussian noise has no finite epsilon by itself",
        instead="accounting.concentrated.epsilon(event, delta=1e-9)",
    )
