"""How far a weighted sum of independent noises goes, with at most a given probability: closed forms that are proved.

Definition
    Z is a sum of c_i X_i over independent X_i, each discrete Laplace noise of scale s_i, or each discrete Gaussian
    noise of parameter sigma_i. With S = sum (c_i s_i)^2 and m = max |c_i| s_i, or V = sum (c_i sigma_i)^2.

Guarantee
    P[|Z| > x] is at most 2 exp(-x u/m) (1 - u^2)^(-S/m^2) for Laplace noise and every u in (0, 1), and at most
    2 exp(-x^2/(2 V)) for Gaussian noise; the margin is the least x for which the best of these is at most `outside`.
    They are bounds, not tight: of one Laplace noise the margin is 1.95 times the least at 95%, of many equal ones the
    factor tends to 1.4. Proof: docs/proofs/mechanisms/tails.md.

Exactness
    Floats, after the noise; rounded up by a part in 10^9. Privacy does not rest on them.

Not covered
    Noises that depend on each other. Mixtures of both kinds.

References
    Canonne, Kamath and Steinke, The Discrete Gaussian for Differential Privacy, NeurIPS 2020, Corollary 17 (discrete
    Gaussian noise is subgaussian); Boucheron, Lugosi and Massart, Concentration Inequalities, 2013, Section 2.2.
"""

import math

_UP = 1 + 1e-9
_STEPS = 100


def gaussian_margin(variance: float, outside: float) -> float:
    """What a sum with this total of (weight sigma)^2 stays within, but for `outside`."""
    return math.sqrt(2 * variance * math.log(2 / outside)) * _UP


def laplace_margin(squares: float, largest: float, outside: float) -> float:
    """What a sum with this total of (weight scale)^2, and this largest one, stays within, but for `outside`."""
    if largest <= 0:
        return 0.0
    terms, wanted = squares / largest**2, math.log(2 / outside)
    low, high = 0.0, wanted + terms + 1
    while _exponent(high, terms) < wanted:
        high *= 2
    for _ in range(_STEPS):
        middle = (low + high) / 2
        low, high = (low, middle) if _exponent(middle, terms) >= wanted else (middle, high)
    return high * largest * _UP


def _exponent(distance: float, terms: float) -> float:
    """The largest d u + n ln(1 - u^2) over u in (0, 1), where d counts in largest scales and n = S/m^2."""
    if distance <= 0:
        return 0.0
    best = (math.sqrt(terms**2 + distance**2) - terms) / distance
    return distance * best + terms * math.log1p(-(best**2))
