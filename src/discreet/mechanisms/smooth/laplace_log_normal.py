"""Laplace log-normal noise on the scale of a smooth sensitivity: a concentrated guarantee.

Definition
    f(x) + S(x)/shift Z, Z = X e^(sigma Y), X with density e^(-|x|)/2, Y standard normal, S smooth with parameter
    beta = share sigma sqrt(2 rho), and shift = (1 - share) sqrt(2 rho) e^(-3 sigma^2/2), both rounded down.

Guarantee
    rho-zCDP: noise e^t times as wide costs (t/sigma)^2/2, noise moved by s costs (e^(3 sigma^2/2) s)^2/2, the square
    roots of costs add, and (beta/sigma + e^(3 sigma^2/2) shift)^2/2 <= rho. Proof:
    docs/proofs/mechanisms/smooth/laplace_log_normal.md.

Exactness
    beta and shift are rounded down to doubles; all else is rational.

Not covered
    Everything about S: see smoothing.py. The cost of moving is that of the worst ratio of densities, and an average
    over them would be a little less.

References
    Bun and Steinke, Average-Case Averages: Private Algorithms for Smooth Sensitivity and Mean Estimation, NeurIPS 2019
    (Laplace log-normal). Bun and Steinke, Concentrated Differential Privacy, TCC 2016, Section 5 (a
    triangle-like inequality).
"""

from fractions import Fraction

from discreet.events import ConcentratedEvent
from discreet.exact.numbers import Number
from discreet.exact.rounding import double_down, exp_up, sqrt_up
from discreet.mechanisms.smooth.smoothing import Calibration
from discreet.samplers import continuous


def calibrate(rho: Fraction, share: Fraction, sigma: Number) -> Calibration:
    """How smooth S must be, and how many shifts of S fit into the noise's width, for rho."""
    noise = continuous.LaplaceLogNormal(sigma)
    root = 2 * rho / sqrt_up(2 * rho)
    shift = (1 - share) * root / exp_up(3 * noise.sigma**2 / 2)
    beta = share * root * noise.sigma
    return Calibration(noise, Fraction(double_down(beta)), Fraction(double_down(shift)), ConcentratedEvent(rho))
