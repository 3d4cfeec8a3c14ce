"""Two-sided Pareto noise on the scale of a smooth sensitivity: a pure guarantee, with the least noise of this family.

Definition
    f(x) + S(x)/shift Z, Z with density a/2 (1 + |z|)^(-(a+1)), a = 1/share, S smooth with parameter
    beta = share epsilon, and shift the lesser of e^(epsilon/(a+1)) - 1 and e^beta (e^((epsilon-beta)/(a+1)) - 1),
    rounded down, and at most 2^100.

Guarantee
    epsilon-DP. Changes of width cost most far out, where moves cost nothing, and moves cost most at the centre, where a
    change of width costs beta at most: so the two privacy costs do not add up. epsilon is reached. Proof:
    docs/proofs/mechanisms/smooth/pareto.md.

Exactness
    The shift is rounded down to a double; all else is rational.

Not covered
    Everything about S: see smoothing.py. Z has a finite mean where share < 1 and a finite variance where share < 1/2.

References
    Hladik and Tetek, Smooth Sensitivity Revisited: Towards Optimality, FORC 2025 (noise of this shape, and Laplace as
    its limit). Nissim, Raskhodnikova and Smith, Smooth Sensitivity and Sampling in Private Data Analysis, STOC 2007
    (noise with polynomial tails).
"""

from fractions import Fraction

from discreet.events import PureEvent
from discreet.exact.rounding import double_down, exp_down
from discreet.mechanisms.smooth.smoothing import Calibration
from discreet.samplers import continuous

_LARGEST_EXPONENT = Fraction(700)
_LARGEST_SHIFT = Fraction(2**100)


def calibrate(epsilon: Fraction, share: Fraction) -> Calibration:
    """How smooth S must be, and how many shifts of S fit into the noise's width, for a pure epsilon."""
    beta, steepness = share * epsilon, 1 + 1 / share
    still = _growth(epsilon / steepness)
    wider = exp_down(min(beta, _LARGEST_EXPONENT)) * _growth((epsilon - beta) / steepness)
    shift = Fraction(double_down(min(still, wider, _LARGEST_SHIFT)))
    return Calibration(continuous.Pareto(1 / share), beta, shift, PureEvent(epsilon))


def _growth(exponent: Fraction) -> Fraction:
    """At most e^exponent - 1."""
    return max(exponent, exp_down(min(exponent, _LARGEST_EXPONENT)) - 1)
