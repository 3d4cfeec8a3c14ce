"""Exact bounds on probabilities from counts, and what they say of a claim.

Clopper and Pearson's bounds hold for every sample size and every probability: if an event of probability p came `hits`
times in `count` independent runs, P[p < at_least(hits, count, alarm)] <= alarm, and the same from above. A bound on p
and one on q, with half of the alarm each, hold together. Every statement here comes from one such pair.
"""

from fractions import Fraction
from typing import NamedTuple

from scipy.special import betaincinv

from discreet.auditing.claims import ApproximateDP, Claim, ConcentratedDP, GaussianDP
from discreet.auditing.statistical.outcomes import Floats

_NONE = Fraction(0)


class Probabilities(NamedTuple):
    """The probability of an event: at least this where it is likelier, at most that on the other dataset."""

    least: float
    most: float


class TradeOff(NamedTuple):
    """A test between the datasets: its errors are at most these, so the true curve passes at or below the point."""

    level: float
    false_positive: float
    false_negative: float


def at_least(hits: int, count: int, alarm: float) -> float:
    """A lower bound on the probability, wrong with a chance of at most `alarm`."""
    return 0.0 if hits <= 0 else float(betaincinv(hits, count - hits + 1, alarm))


def at_most(hits: int, count: int, alarm: float) -> float:
    """An upper bound on the probability, wrong with a chance of at most `alarm`."""
    return 1.0 if hits >= count else float(1 - betaincinv(count - hits, hits + 1, alarm))


def probabilities(hits_here: int, hits_there: int, count: int, alarm: float) -> Probabilities:
    """Both bounds, together wrong with a chance of at most `alarm`."""
    return Probabilities(at_least(hits_here, count, alarm / 2), at_most(hits_there, count, alarm / 2))


def least(claim: Claim, hits_here: int, hits_there: int, count: int, alarm: float) -> float:
    """A lower bound on the claim's parameter, wrong with a chance of at most `alarm`."""
    return claim.lower_bound(*probabilities(hits_here, hits_there, count, alarm))


def statements(pair: Probabilities, claim: Claim) -> dict[str, float]:
    """What one pair of bounds says in every currency: epsilon at the claim's delta, rho, mu, delta at its epsilon."""
    approximate = claim if isinstance(claim, ApproximateDP) else ApproximateDP(epsilon=_NONE)
    said = {
        "epsilon": approximate.lower_bound(*pair),
        "rho": ConcentratedDP(rho=_NONE).lower_bound(*pair),
        "mu": GaussianDP(mu=_NONE).lower_bound(*pair),
    }
    if isinstance(claim, ApproximateDP):
        slope = claim.line(pair.most).slope
        said["delta"] = max(0.0, pair.least - slope * pair.most, (1 - pair.most) - slope * (1 - pair.least))
    return said


def trade_off(levels: Floats, here: Floats, there: Floats, count: int, alarm: float) -> list[TradeOff]:
    """Points at several levels that hold together: the alarm is split evenly between them and both errors.

    `here` and `there` count how often the event of each level came. A test that says "here" when the event comes has
    a false positive with its probability there, and a false negative with that of its complement here.
    """
    each = alarm / (2 * max(1, len(levels)))
    return [
        TradeOff(float(level), at_most(int(low), count, each), 1 - at_least(int(high), count, each))
        for level, high, low in zip(levels, here, there, strict=True)
    ]
