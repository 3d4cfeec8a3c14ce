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
from discreet.exact.rounding import brief_up


@short_traceback
def epsilon(event: events.Event) -> Fraction:
    """Pure differential privacy: the sum of epsilons of an event.

    Args:
        event: The event.

    Returns:
        The epsilon, rounded up to 12 digits.

    Raises:
        AccountingError: If a part has no pure epsilon, or it is not an event.

    Example:
        >>> import discreet as dp
        >>> dp.accounting.pure.epsilon(dp.mechanisms.Laplace(sensitivity=1, epsilon=0.1).event())
        Fraction(1, 10)
    """
    price = total(event)
    if price.epsilon is None or price.delta:
        raise AccountingError(
            "a pure epsilon",
            because="Gaussian noise and events with a delta of their own have none",
            instead="accounting.concentrated.epsilon(event, delta=1e-9)",
        )
    return brief_up(price.epsilon)
