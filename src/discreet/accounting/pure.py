"""Pure epsilon: the sum of epsilons, and nothing else.

Definition
    Events that are each epsilon_i-differentially private, one after another.
Guarantee
    Together they are (sum of epsilon_i)-differentially private, also where each is chosen after seeing the answers to
    earlier ones. Tight: randomized response reaches the sum.
Exactness
    Rational in, rational out; a fraction of more than 12 digits is rounded up to 12.
Not covered
    Gaussian noise and anything else with a delta: refused, because no finite epsilon holds for it alone.
References
    Dwork, McSherry, Nissim and Smith, Calibrating Noise to Sensitivity in Private Data Analysis, TCC 2006.
    Rogers, Roth, Ullman and Vadhan, Privacy Odometers and Filters, NeurIPS 2016 (epsilons chosen as one goes).
"""

from fractions import Fraction

from discreet import events
from discreet.accounting.prices import total
from discreet.errors import AccountingError, short_traceback
from discreet.rounding import brief_up


@short_traceback
def epsilon(event: events.Event) -> Fraction:
    """The epsilon of an event with everything inside it."""
    price = total(event)
    if price.epsilon is None or price.delta:
        raise AccountingError(
            "a pure epsilon",
            because="Gaussian noise and events with a delta of their own have none",
            instead="accounting.concentrated.epsilon(event, delta=1e-9)",
        )
    return brief_up(price.epsilon)
