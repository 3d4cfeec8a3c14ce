"""Group privacy: the guarantee for several units that follows from the one for one unit.

Definition
    Two datasets that differ in k units are joined by k steps between neighbours.
Guarantee
    epsilon-DP for one unit is k epsilon-DP for k. (epsilon, delta)-DP is (k epsilon, d)-DP with
    d = delta (1 + e^epsilon + ... + e^((k-1) epsilon)), which is at most k e^((k-1) epsilon) delta.
    rho-zCDP is k^2 rho-zCDP. The first and third are tight (Laplace and Gaussian noise reach them).
Exactness
    Exact, except d, which is rounded up to 12 digits.
Not covered
    A unit with k rows where rows were bounded and the sensitivity computed for the unit: that is one unit already, and
    its privacy cost needs no group. Approximate zCDP with a delta of its own: convert it to (epsilon, delta) first.
References
    Dwork and Roth, The Algorithmic Foundations of Differential Privacy, 2014, Theorem 2.2.
    Vadhan, The Complexity of Differential Privacy, 2017, Lemma 2.2 (the sum of powers).
    Bun and Steinke, Concentrated Differential Privacy, TCC 2016, Proposition 1.9.
    Proofs: docs/proofs/accounting/group.md.
"""

from fractions import Fraction

from discreet.accounting.approximate import Parameters
from discreet.errors import AccountingError, short_traceback
from discreet.exact.numbers import Number, positive, probability, shown, whole
from discreet.exact.rounding import brief_up, exp_up

LARGEST_EXPONENT = 10_000


@short_traceback
def pure(*, epsilon: Number, size: int) -> Fraction:
    """Group privacy: the epsilon for several units.

    Args:
        epsilon: Epsilon for one unit.
        size: Number of units in the group.

    Returns:
        The epsilon, size times as large.

    Raises:
        ParameterError: If an argument is outside its range.

    Example:
        >>> import discreet as dp
        >>> dp.accounting.group.pure(epsilon=0.5, size=4)
        Fraction(2, 1)
    """
    return whole(size, "size") * positive(epsilon, "epsilon")


@short_traceback
def approximate(*, epsilon: Number, delta: Number, size: int) -> Parameters:
    """Group privacy: epsilon and delta for several units.

    Args:
        epsilon: Epsilon for one unit.
        delta: Delta for one unit.
        size: Number of units in the group.

    Returns:
        Epsilon and delta.

    Raises:
        AccountingError: If the delta would be 1 or more.
        ParameterError: If an argument is outside its range.

    Example:
        >>> import discreet as dp
        >>> float(dp.accounting.group.approximate(epsilon=0.5, delta=1e-9, size=4).delta)
        9.8486921695e-09
    """
    units, single, small = whole(size, "size"), positive(epsilon, "epsilon"), probability(delta, "delta")
    if (units - 1) * single > LARGEST_EXPONENT:
        raise _says_nothing(units)
    growth = exp_up(single)
    grown = small * units if growth == 1 else small * (growth**units - 1) / (growth - 1)
    if grown >= 1:
        raise _says_nothing(units)
    return Parameters(units * single, brief_up(grown))


@short_traceback
def simple_delta(*, epsilon: Number, delta: Number, size: int) -> Fraction:
    """Textbook delta for a group, size e^((size-1) epsilon) delta, for comparison. It is never charged.

    Args:
        epsilon: Epsilon for one unit.
        delta: Delta for one unit.
        size: Number of units in the group.

    Returns:
        The delta, rounded up.

    Raises:
        ParameterError: If an argument is outside its range.

    Example:
        >>> import discreet as dp
        >>> float(dp.accounting.group.simple_delta(epsilon=0.5, delta=1e-9, size=4)) < 2e-8
        True
    """
    units = whole(size, "size")
    return brief_up(units * exp_up((units - 1) * positive(epsilon, "epsilon")) * probability(delta, "delta"))


@short_traceback
def concentrated(*, rho: Number, size: int) -> Fraction:
    """Group privacy: the rho for several units.

    Args:
        rho: Rho for one unit.
        size: Number of units in the group.

    Returns:
        The rho, size^2 times as large.

    Raises:
        ParameterError: If an argument is outside its range.

    Example:
        >>> import discreet as dp
        >>> dp.accounting.group.concentrated(rho=0.5, size=4)
        Fraction(8, 1)
    """
    return whole(size, "size") ** 2 * positive(rho, "rho")


def _says_nothing(units: int) -> AccountingError:
    return AccountingError(
        f"a group of {shown(Fraction(units))} units",
        because="delta grows by e^epsilon with each unit and has reached one",
        instead="a smaller group, a smaller delta, or accounting.group.concentrated(rho=..., size=...)",
    )
