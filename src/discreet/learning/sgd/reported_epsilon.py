"""The epsilon of a training by its privacy loss distribution: what a guarantee states beside the charged epsilon.

A budget is charged by the Renyi divergence at its order, because later queries may depend on the model. A training is
fixed in advance, so its own privacy loss distribution holds for it by itself, with a smaller epsilon at the same delta.
Both are true of the model, and neither adds to the other. Accounting and proof: `discreet.accounting.pld`.
"""

from fractions import Fraction
from functools import lru_cache

from discreet import accounting, events
from discreet.errors import AccountingError, MissingExtraError
from discreet.exact.rounding import shown_up


@lru_cache(maxsize=64)
def reported_epsilon(event: events.Event, delta: Fraction) -> float | None:
    """The epsilon of an event at delta, by its privacy loss distribution.

    Args:
        event: The event of a whole training.
        delta: The delta.

    Returns:
        An upper bound; None without the package dp-accounting, or where doubles are too coarse for delta.
    """
    try:
        return accounting.pld.epsilon(event, delta)
    except (AccountingError, MissingExtraError):
        return None


def reported_text(event: events.Event, delta: Fraction) -> str:
    """The same as a sentence; empty without an epsilon.

    Args:
        event: The event of a whole training.
        delta: The delta of the guarantee.

    Returns:
        The sentence.
    """
    found = reported_epsilon(event, delta)
    if found is None:
        return ""
    return f"Epsilon {shown_up(Fraction(found), 4)} at the same delta by the privacy loss distribution of the training."
