"""Student's t noise on the scale of a smooth sensitivity: a pure guarantee.

Definition
    f(x) + S(x)/shift Z, Z with density proportional to (1 + z^2/d)^(-(d+1)/2), S smooth with parameter
    beta = share epsilon/d, and shift = (1 - share) epsilon 2 sqrt(d)/(d + 1), rounded down.

Guarantee
    epsilon-DP: noise e^t times as wide costs d |t|, noise moved by s costs |s| (d + 1)/(2 sqrt(d)), and
    d beta + shift (d + 1)/(2 sqrt(d)) <= epsilon. Each of the two is reached in a limit. Proof:
    docs/proofs/mechanisms/smooth/student_t.md.

Exactness
    The shift is rounded down to a double; all else is rational.

Not covered
    Everything about S: see smoothing.py. Z has a finite mean from d = 2 and a finite variance from d = 3 on.

References
    Nissim, Raskhodnikova and Smith, Smooth Sensitivity and Sampling in Private Data Analysis, STOC 2007, Section 2
    (noise with polynomial tails). Bun and Steinke, Average-Case Averages: Private Algorithms for Smooth Sensitivity and
    Mean Estimation, NeurIPS 2019 (Student's t).
"""

from fractions import Fraction

from discreet.events import PureEvent
from discreet.exact.rounding import double_down, sqrt_up
from discreet.mechanisms.smooth.smoothing import Calibration
from discreet.samplers import continuous


def calibrate(epsilon: Fraction, share: Fraction, degrees: int) -> Calibration:
    """How smooth S must be, and how many shifts of S fit into the noise's width, for a pure epsilon."""
    noise = continuous.StudentT(degrees)
    d = noise.degrees
    shift = (1 - share) * epsilon * 2 * d / ((d + 1) * sqrt_up(Fraction(d)))
    return Calibration(noise, share * epsilon / d, Fraction(double_down(shift)), PureEvent(epsilon))
