"""The least noise that meets a target.

Definition
    Given a target (an epsilon, an epsilon at a delta, or a rho) and a function from a scale of noise to an event, the
    smallest scale at which a named accountant states no more than the target.
Guarantee
    The scale returned was checked: the accountant's statement for the event at that very double is within the target.
    It is at most 1 + 10^-6 times the least one, if more noise never costs more.
Exactness
    The scale is a double and the event is made from its exact value.
Not covered
    A target for analysts who choose as they go: spend from a budget instead.
References
    Those of the accountant, in its own module.
"""

import math
from collections.abc import Callable, Iterable
from fractions import Fraction

from discreet import events
from discreet.accounting import concentrated
from discreet.accounting.comparison import ACCOUNTANTS
from discreet.errors import AccountingError, ParameterError, short_traceback, suggestion
from discreet.exact.numbers import Number, positive, probability

PRECISION = 1e-6
_FARTHEST = 2.0**200
EventOfScale = Callable[[Fraction], events.Event | events.HasEvent]


@short_traceback
def least_scale(
    event_of: EventOfScale,
    *,
    epsilon: Number | None = None,
    delta: Number = 0,
    rho: Number | None = None,
    accountant: str = "concentrated",
) -> float:
    """Least scale of noise at which an event meets a target.

    Args:
        event_of: Function from a scale to an event or a mechanism.
        epsilon: Target epsilon; or give rho.
        delta: Target delta. Default 0.
        rho: Target rho. Default: none.
        accountant: Name of the accountant in `compare`, such as "pure" or "pld". Default "concentrated".

    Returns:
        The scale, a double on the safe side.

    Raises:
        AccountingError: If no scale meets the target.
        ParameterError: If the target or the accountant is not one of these.

    Example:
        >>> import discreet as dp
        >>> target = {"epsilon": 0.5, "accountant": "pure"}
        >>> round(dp.accounting.calibrate.least_scale(lambda scale: dp.events.LaplaceEvent(scale, 1), **target), 6)
        2.0
    """
    meets = _target(epsilon, delta, rho, accountant)
    low, high = _bracket(lambda scale: meets(events.event_of(event_of(Fraction(scale)))))
    while high > low * (1 + PRECISION):
        middle = math.sqrt(low) * math.sqrt(high)
        if meets(events.event_of(event_of(Fraction(middle)))):
            high = middle
        else:
            low = middle
    return high


@short_traceback
def least_multiplier(
    what: events.Event | events.HasEvent | Iterable[events.Event | events.HasEvent],
    *,
    epsilon: Number | None = None,
    delta: Number = 0,
    rho: Number | None = None,
    accountant: str = "concentrated",
) -> float:
    """Least factor for the noise of all events at which together they meet a target.

    Args:
        what: An event, a mechanism, or several.
        epsilon: Target epsilon; or give rho.
        delta: Target delta. Default 0.
        rho: Target rho. Default: none.
        accountant: Name of the accountant in `compare`, such as "pure" or "pld". Default "concentrated".

    Returns:
        The factor, a double on the safe side.

    Raises:
        AccountingError: If no factor meets the target.
        ParameterError: If the target or the accountant is not one of these.

    Example:
        >>> import discreet as dp
        >>> laplace = dp.mechanisms.Laplace(sensitivity=1, epsilon=0.1)
        >>> round(dp.accounting.calibrate.least_multiplier([laplace] * 20, epsilon=1, accountant="pure"), 6)
        2.0
    """
    whole = events.compose(what)
    return least_scale(
        lambda factor: with_more_noise(whole, factor), epsilon=epsilon, delta=delta, rho=rho, accountant=accountant
    )


@short_traceback
def with_more_noise(event: events.Event, factor: Fraction) -> events.Event:
    """The same event with more noise; parts known only by their guarantee stay.

    Args:
        event: The event.
        factor: Factor for the scale of the noise.

    Returns:
        The event.

    Raises:
        AccountingError: If it is not an event, or the accountant does not know it.

    Example:
        >>> import discreet as dp
        >>> dp.accounting.calibrate.with_more_noise(dp.events.LaplaceEvent(2, 1), 3)
        LaplaceEvent(scale=Fraction(6, 1), sensitivity=Fraction(1, 1))
    """
    match event:
        case events.ComposedEvent(parts):
            return events.ComposedEvent(tuple(with_more_noise(part, factor) for part in parts))
        case events.RepeatedEvent(part, count):
            return events.RepeatedEvent(with_more_noise(part, factor), count)
        case events.RepeatedSelectionEvent(run, eta, gamma):
            return events.RepeatedSelectionEvent(with_more_noise(run, factor), eta, gamma)
        case events.DiscreteLaplaceEvent(scale, sensitivity):
            return events.DiscreteLaplaceEvent(scale * factor, sensitivity)
        case events.LaplaceEvent(scale, sensitivity):
            return events.LaplaceEvent(scale * factor, sensitivity)
        case events.DiscreteGaussianEvent(variance, squared, dimension):
            return events.DiscreteGaussianEvent(variance * factor**2, squared, dimension)
        case events.GaussianEvent(variance, squared):
            return events.GaussianEvent(variance * factor**2, squared)
        case events.SampledGaussianEvent(rate, variance, squared):
            return events.SampledGaussianEvent(rate, variance * factor**2, squared)
        case (
            events.PureEvent()
            | events.BoundedRangeEvent()
            | events.ApproximateEvent()
            | events.ApproximateConcentratedEvent()
            | events.ConcentratedEvent()
        ):
            return event
    raise events.no_event(event)


def _target(
    epsilon: Number | None, delta: Number, rho: Number | None, accountant: str
) -> Callable[[events.Event], bool]:
    if (epsilon is None) == (rho is None):
        raise ParameterError(
            "epsilon and rho", because="exactly one target is needed", instead="epsilon=1, delta=1e-9; or rho=0.01"
        )
    if rho is not None:
        return _rho_target(positive(rho, "rho"))
    if accountant not in ACCOUNTANTS:
        raise ParameterError(
            f"accountant={accountant!r}",
            because="no accountant has that name",
            instead=f"accountant={suggestion(accountant, ACCOUNTANTS)!r}",
        )
    largest, allowed, account = positive(epsilon, "epsilon"), probability(delta, "delta"), ACCOUNTANTS[accountant]

    def meets(event: events.Event) -> bool:
        try:
            return account(event, allowed) <= largest
        except AccountingError:
            return False

    return meets


def _rho_target(largest: Fraction) -> Callable[[events.Event], bool]:
    def meets(event: events.Event) -> bool:
        found = concentrated.rho(event)
        return found.rho <= largest and found.delta == 0

    return meets


def _bracket(meets: Callable[[float], bool]) -> tuple[float, float]:
    """A scale that misses the target and one, not far above, that meets it."""
    scale = 1.0
    if meets(scale):
        while meets(scale / 2):
            scale /= 2
            if scale < 1 / _FARTHEST:
                raise _out_of_reach("it is met without noise", "a smaller target")
        return scale / 2, scale
    while not meets(scale * 2):
        scale *= 2
        if scale > _FARTHEST:
            raise _out_of_reach(
                "no amount of noise meets it under this accountant", "a larger epsilon or delta, or another accountant"
            )
    return scale, scale * 2


def _out_of_reach(because: str, instead: str) -> AccountingError:
    return AccountingError("a target for noise", because=because, instead=instead)
