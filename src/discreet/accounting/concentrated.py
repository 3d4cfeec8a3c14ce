"""Zero-concentrated privacy: rhos add, and convert to (epsilon, delta) at the end.

Definition
    A mechanism is rho-zCDP if for every order alpha > 1 the Renyi divergence between its answers on neighbours is at
    most alpha rho. It is delta-approximately so if that holds outside a part of probability delta.
Guarantee
    Rhos and deltas add, also where events are chosen after seeing earlier answers. rho-zCDP with own deltas summing to
    d is (epsilon, delta)-DP where rho converts to (epsilon, delta - d). From rho alone hardly anything tighter is
    possible (tests/exact/test_zcdp.py has a pair that reaches 99.8% of delta); for Gaussian noise itself the loss
    distribution is tighter.
Exactness
    Sums are exact. Conversions are rounded up (conversion.py). What is returned is rounded up to 12 digits.
Not covered
    A delta chosen after looking at answers.
References
    Bun and Steinke, Concentrated Differential Privacy, TCC 2016, Lemma 1.7 and Proposition 1.3 (the loose form).
    Canonne, Kamath and Steinke, The Discrete Gaussian for Differential Privacy, NeurIPS 2020, Proposition 12.
    Proofs: docs/proofs/accounting/concentrated.md and docs/proofs/exact/zcdp.md.
"""

from fractions import Fraction
from typing import Literal, NamedTuple

from discreet import events
from discreet.accounting.prices import total
from discreet.errors import AccountingError, ParameterError, short_traceback
from discreet.exact.numbers import Number, probability, shown
from discreet.exact.rounding import brief_up
from discreet.exact.zcdp import epsilon_of, loose_epsilon_of

Conversion = Literal["tight", "loose"]


class ConcentratedParameters(NamedTuple):
    """Parameters of an event that is delta-approximately rho-zCDP.

    Attributes:
        rho: The rho.
        delta: The delta.

    Example:
        >>> import discreet as dp
        >>> dp.accounting.concentrated.rho(dp.events.ConcentratedEvent(0.5)).delta
        Fraction(0, 1)
    """

    rho: Fraction
    delta: Fraction


@short_traceback
def rho(event: events.Event) -> ConcentratedParameters:
    """The rho of an event, and the sum of the deltas of its parts.

    Args:
        event: The event.

    Returns:
        Rho and delta.

    Raises:
        AccountingError: If it is not an event, or the accountant does not know it.

    Example:
        >>> import discreet as dp
        >>> dp.accounting.concentrated.rho(dp.events.PureEvent(1)).rho
        Fraction(1, 2)
    """
    price = total(event)
    return ConcentratedParameters(brief_up(price.rho), brief_up(price.delta))


@short_traceback
def epsilon(event: events.Event, delta: Number, conversion: Conversion = "tight") -> Fraction:
    """Epsilon of an event at delta, converted from rho.

    Args:
        event: The event.
        delta: The delta.
        conversion: "tight", or "loose" for comparison with older texts. Default "tight".

    Returns:
        The epsilon, rounded up.

    Raises:
        AccountingError: If the events have deltas of their own of at least delta.
        ParameterError: If delta or the conversion is not one of these.

    Example:
        >>> import discreet as dp
        >>> float(dp.accounting.concentrated.epsilon(dp.events.ConcentratedEvent(0.01), delta=1e-6)) < 1
        True
    """
    if conversion not in ("tight", "loose"):
        raise ParameterError(
            f"conversion={conversion!r}",
            because="there are two conversions from rho",
            instead='conversion="tight", or "loose" for comparison with older texts',
        )
    price = total(event)
    left = delta_left(price.delta, probability(delta, "delta"))
    return brief_up(epsilon_of(price.rho, left) if conversion == "tight" else loose_epsilon_of(price.rho, left))


@short_traceback
def delta_left(own: Fraction, delta: Fraction) -> Fraction:
    """Part of a delta that is left for the conversion.

    Args:
        own: Sum of the deltas of the events.
        delta: The delta in all.

    Returns:
        The rest.

    Raises:
        AccountingError: If nothing is left.

    Example:
        >>> import discreet as dp
        >>> from fractions import Fraction
        >>> dp.accounting.concentrated.delta_left(Fraction(1, 10), Fraction(3, 10))
        Fraction(1, 5)
    """
    if own and own >= delta:
        raise AccountingError(
            f"delta={shown(delta)}",
            because=f"the deltas of the events sum to {shown(own)}, and the conversion needs a part too",
            instead=f"delta={shown(2 * own)}",
        )
    return delta - own
