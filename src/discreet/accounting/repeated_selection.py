"""The best of a random number of runs: its Renyi divergence from that of one run.

Definition
    A mechanism runs K times with fresh randomness, and the output of the best score is published, without K. K has the
    truncated negative binomial law of eta > -1 and 0 < gamma < 1, with the mean
        E[K] = eta (1 - gamma)/(gamma (1 - gamma^eta)),  for eta = 0 its limit (1 - gamma)/(gamma ln(1/gamma)).
Guarantee
    Let one run have divergences of at most D(a) at order a. Then the selection has, at order alpha, at most
        D(b) + (1 + eta) ((1 - 1/c) D(c) + ln(1/gamma)/c) + ln E[K]/(b - 1)     for every b >= alpha and c >= 1.
    If one run is epsilon-DP, the selection is (2 + eta) epsilon-DP. If one run is rho-zCDP, the selection is zCDP of
        rho + 2 sqrt(rho ln E[K]) + (1 + eta) p
    with p = 2 sqrt(rho ln(1/gamma)) - rho, or ln(1/gamma) where that is below rho.
    Proof: docs/proofs/accounting/repeated_selection.md.
Exactness
    Rationals, rounded up. The orders b and c come from fixed grids; each pair is valid by itself.
Not covered
    Runs with a delta of their own. The time that the runs take, which shows K. Numbers of runs of a Poisson law.
References
    Papernot and Steinke, Hyperparameter Tuning with Renyi Differential Privacy, ICLR 2022, Theorem 2 and Lemma 7.
    Liu and Talwar, Private Selection from Private Candidates, STOC 2019.
"""

from collections.abc import Callable
from fractions import Fraction

from discreet.exact.rounding import exp_down, exp_up, log_down, log_up, sqrt_up

_FARTHER = Fraction(5, 4)
_LARGEST_FACTOR = 10**6
_PATIENCE = 3


def mean_runs(eta: Fraction, gamma: Fraction) -> Fraction:
    """The mean number of runs, rounded up.

    Args:
        eta: Shape, above -1.
        gamma: Parameter of the mean, above 0 and below 1.

    Returns:
        A rational at least E[K].
    """
    simple = 1 + max(Fraction(1), eta) * (1 - gamma) / gamma
    depth = log_down(1 / gamma)
    share = depth if eta == 0 else _share(eta, depth)
    return min(simple, (abs(eta) or 1) * (1 - gamma) / (gamma * share)) if share > 0 else simple


def _share(eta: Fraction, depth: Fraction) -> Fraction:
    """|1 - gamma^eta|, rounded down, from ln(1/gamma) rounded down."""
    return 1 - exp_up(-eta * depth) if eta > 0 else exp_down(-eta * depth) - 1


def penalty_at(divergence: Fraction, order: Fraction, gamma: Fraction) -> Fraction:
    """What an auxiliary order adds for each unit of 1 + eta.

    Args:
        divergence: The divergence of one run at this order.
        order: The order, at least 1.
        gamma: Parameter of the mean.

    Returns:
        (1 - 1/order) divergence + ln(1/gamma)/order, rounded up.
    """
    return (1 - 1 / order) * divergence + log_up(1 / gamma) / order


def divergence(
    one_run: Callable[[Fraction], Fraction], penalty: Fraction, eta: Fraction, gamma: Fraction, alpha: Fraction
) -> Fraction:
    """Bound on the Renyi divergence of a selection, rounded up.

    Args:
        one_run: From an order to the divergence of one run.
        penalty: A value of `penalty_at`, for any order.
        eta: Shape of the number of runs.
        gamma: Parameter of the mean.
        alpha: The order, above 1.

    Returns:
        The least over a grid of orders from alpha on, which ends where it grows.
    """
    logarithm = log_up(mean_runs(eta, gamma))
    excess, worse = alpha - 1, 0
    least = one_run(alpha) + logarithm / excess
    while worse < _PATIENCE and excess < (alpha - 1) * _LARGEST_FACTOR:
        excess *= _FARTHER
        found = one_run(1 + excess) + logarithm / excess
        least, worse = (found, 0) if found < least else (least, worse + 1)
    return (1 + eta) * penalty + least


def concentrated(rho: Fraction, eta: Fraction, gamma: Fraction) -> Fraction:
    """The rho of a selection from that of one run, rounded up.

    Args:
        rho: The rho of one run.
        eta: Shape of the number of runs.
        gamma: Parameter of the mean.

    Returns:
        The rho of the selection; 0 where one run reveals nothing.
    """
    if not rho:
        return rho
    depth = log_up(1 / gamma)
    penalty = 2 * sqrt_up(rho * depth) - rho if depth >= rho else depth
    return rho + 2 * sqrt_up(rho * log_up(mean_runs(eta, gamma))) + (1 + eta) * penalty
