"""Laplace noise on the scale of a smooth sensitivity: (epsilon, delta), with delta exactly.

Definition
    f(x) + S(x)/shift Z, Z with density e^(-|z|)/2, shift = (1 - share) epsilon, S smooth with parameter beta: the
    largest multiple of b/2^40, up to b = min(share epsilon, 64), with delta(shift, beta) <= delta, where
    delta(s, t) = (1 - e^-t) exp(-(epsilon + t)/(e^t - 1)) cosh(s/(e^t - 1)).

Guarantee
    (epsilon, delta)-DP. delta(s, t) is the exact hockey-stick divergence at epsilon between noise that is e^t times as
    wide and moved by s, and noise of width 1; it grows with s and t, so it is reached where some neighbours reach both
    bounds, and no larger beta serves all answers. The textbook's beta = epsilon/(2 ln(2/delta)), for share = 1/2, is
    smaller and so valid up to epsilon = 11, and breaks its guarantee from epsilon = 16 on, for delta between 1e-12
    and 1e-3. Proof: docs/proofs/mechanisms/smooth/laplace.md.

Exactness
    delta(s, t) is rounded up to a rational and compared in rationals; the search keeps a beta that was checked.

Not covered
    Everything about S: see smoothing.py. Tails: the noise has no finite epsilon without a delta.

References
    Nissim, Raskhodnikova and Smith, Smooth Sensitivity and Sampling in Private Data Analysis, STOC 2007, Section 2
    (beta = epsilon/(2 ln(2/delta)), for epsilon below 1).
"""

from fractions import Fraction
from functools import lru_cache

from discreet.events import ApproximateEvent
from discreet.exact.rounding import exp_down, exp_up
from discreet.mechanisms.smooth.smoothing import Calibration
from discreet.samplers import continuous

_PARTS = 2**40
_LARGEST = Fraction(64)


def calibrate(epsilon: Fraction, delta: Fraction, share: Fraction) -> Calibration:
    """How smooth S must be, and how many shifts of S fit into the noise's width, for (epsilon, delta)."""
    shift = (1 - share) * epsilon
    beta = largest_beta(epsilon, delta, shift)
    return Calibration(continuous.StandardLaplace(), beta, shift, ApproximateEvent(epsilon, delta))


@lru_cache(maxsize=256)
def largest_beta(epsilon: Fraction, delta: Fraction, shift: Fraction) -> Fraction:
    """The largest of the 2^40 multiples of b/2^40, b = min(epsilon - shift, 64), whose delta is within `delta`."""
    part = min(epsilon - shift, _LARGEST) / _PARTS
    good, bad = 0, _PARTS + 1
    while bad - good > 1:
        middle = (good + bad) // 2
        if delta_up(epsilon, shift, middle * part) <= delta:
            good = middle
        else:
            bad = middle
    return good * part


def delta_up(epsilon: Fraction, shift: Fraction, dilation: Fraction) -> Fraction:
    """A rational at least delta(shift, dilation), for a dilation above zero."""
    growth = exp_up(dilation) - 1
    sides = exp_up(-(epsilon + dilation - shift) / growth) + exp_up(-(epsilon + dilation + shift) / growth)
    return (1 - exp_down(-dilation)) * sides / 2
