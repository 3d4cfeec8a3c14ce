"""Which additive noise an integer gets: of those that cost the same, the one with the smallest 95% margin.

Definition
    A privacy cost is a pure epsilon, or, under a privacy budget with a delta, a rho: a bound on the Renyi divergence at
    given orders, divided by the order. Every kind of noise is calibrated to the same cost. Gaussian noise has the same
    quotient at every order; Laplace and staircase noise get the largest epsilon whose event is within the bound at
    every one of the orders.

Guarantee
    The event of the noise costs at most what was asked for, at every order. Which noise is taken depends on its margin,
    which is public, and never on data or on what is spent. Proof: docs/proofs/planner/budget/least_margin.md.

Exactness
    Costs are rationals (`accounting.renyi_inverse`); margins are those of the mechanisms.

Not covered
    Whether the sensitivity is true of the query. Margins of answers that several noisy integers are added up to.

References
    Mironov, Renyi Differential Privacy, CSF 2017 (divergences of Laplace and Gaussian noise); Canonne, Kamath and
    Steinke, The Discrete Gaussian for Differential Privacy, NeurIPS 2020, Proposition 12 (conversion at one order).
"""

import math
from contextlib import suppress
from fractions import Fraction
from functools import lru_cache

from discreet.accounting.renyi_inverse import coin, discrete_laplace, laplace_epsilon, near, pure_epsilon
from discreet.errors import ParameterError
from discreet.mechanisms import AdditiveNoise, Gaussian, Laplace, Staircase
from discreet.planner.sensitivity.sensitivity import Sensitivity
from discreet.release.result import DEFAULT_CONFIDENCE

"""The confidence at which margins of two kinds of noise are compared."""
_LN_20 = math.log(20)
_ROUGHLY = 1.1

Kinds = tuple[type[AdditiveNoise], ...]
Orders = tuple[Fraction, ...]
"""The orders at which a rho bounds Renyi divergences; none for an amount that each kind takes as it is."""

UNDER_DELTA: Kinds = (Gaussian, Laplace, Staircase)
"""The candidates under a privacy budget with a delta; of equal margins the first is taken."""
PURE: Kinds = (Laplace, Staircase)
"""The candidates for a pure epsilon."""


@lru_cache(maxsize=4096)
def least_margin(kinds: Kinds, moved: Sensitivity, amount: Fraction, orders: Orders) -> AdditiveNoise:
    """The noise of the smallest margin at a cost; beside the first kind, one that cannot be drawn is left out.

    Args:
        kinds: The candidates, of which the first is taken where margins are equal.
        moved: The sensitivity of the integers.
        amount: The cost: a rho at the orders; without any, the epsilon or rho that all candidates are made by.
        orders: The orders.

    Raises:
        ParameterError: If the first candidate cannot be drawn.
    """
    first, *others = kinds
    found = [calibrate(first, moved, amount, orders)]
    for kind in others:
        if _may_win(kind, moved, amount, orders, found[0]):
            with suppress(ParameterError):
                found.append(calibrate(kind, moved, amount, orders))
    return min(found, key=lambda noise: noise.margin(DEFAULT_CONFIDENCE))


def calibrate(kind: type[AdditiveNoise], moved: Sensitivity, amount: Fraction, orders: Orders) -> AdditiveNoise:
    """Noise of a kind whose cost is at most an amount, at every order.

    Args:
        kind: The kind of noise.
        moved: The sensitivity of the integers.
        amount: The cost.
        orders: The orders; without any, the amount is the epsilon or rho of the noise.

    Raises:
        ParameterError: If such noise cannot be drawn.
    """
    if not orders or kind.cost == "rho":
        return kind.calibrate(moved, amount)
    if kind is Laplace:
        return kind.calibrate(moved, laplace_epsilon(amount, orders, moved.l1))
    return kind.calibrate(moved, pure_epsilon(amount, orders))


def _may_win(
    kind: type[AdditiveNoise], moved: Sensitivity, amount: Fraction, orders: Orders, first: AdditiveNoise
) -> bool:
    """Whether a kind is considered beside the first one: calibrating takes time.

    Staircase noise is considered where a coordinate moves by several steps and has an epsilon above 1; elsewhere it is
    hardly narrower than Laplace noise. Laplace noise goes beyond scale ln 20 about once in 20 times.
    """
    if kind is Staircase:
        return moved.linf > 1 and (near(amount, orders, coin) if orders else amount) > moved.l0
    if kind is not Laplace or not orders:
        return True
    epsilon = near(amount, orders, lambda rate, order: discrete_laplace(rate, order, moved.l1))
    return moved.l1 * _LN_20 <= epsilon * (_ROUGHLY * float(first.margin(DEFAULT_CONFIDENCE)) + 1)
