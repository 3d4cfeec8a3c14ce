"""Expected value of 1/F: the risk of a class whose size F in the population is known through sampling weights.

A class with f people in the sample has F people in the population. Given f, F has a negative binomial distribution with
success probability p = f / F^, where F^ is the sum of the sampling weights of the class. The risk of each of its people
is E(1/F | f) = p^f / f * 2F1(f, f; f+1; 1-p), which equals p * (integral over s from 0 to 1 of s^(f-1) / (p + q s)) for
q = 1 - p (Benedetti and Franconi 1998; Franconi and Polettini 2004, Privacy in Statistical Databases, LNCS 3050).

Two forms without cancellation cover all arguments:

- small f and p below 1/2: E_1 = p/q ln(1/p) and the recursion E_(f+1) = p/q (1/f - E_f), whose errors shrink by p/q;
- otherwise the series E_f = p/f * sum over k of q^k / C(f+k, k), whose terms are positive.
"""

import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.float64]

_LONGEST_RECURSION = 24
_MOST_TERMS = 200
_SMALLEST_SHARE = 2.0**-56


def posterior_risk(sample: ArrayLike, population: ArrayLike) -> Floats:
    """E(1/F | f) for arrays of f >= 1 and F^ >= f."""
    people = np.asarray(sample, dtype=np.float64)
    weights = np.asarray(population, dtype=np.float64)
    p, q = people / weights, (weights - people) / weights
    short = (people <= _LONGEST_RECURSION) & (p < 0.5)
    risk = np.empty(people.shape)
    risk[short] = _recursion(people[short], p[short], q[short])
    risk[~short] = _series(people[~short], p[~short], q[~short])
    return risk


def _recursion(people: Floats, p: Floats, q: Floats) -> Floats:
    risk = p / q * -np.log(p)
    for f in range(1, int(people.max(initial=1))):
        longer = people > f
        risk[longer] = p[longer] / q[longer] * (1 / f - risk[longer])
    return risk


def _series(people: Floats, p: Floats, q: Floats) -> Floats:
    total, term = np.ones(people.shape), np.ones(people.shape)
    for k in range(1, _MOST_TERMS):
        term = term * (q * (k / (people + k)))
        total += term
        if not np.any(term > _SMALLEST_SHARE * total):
            break
    return p / people * total
