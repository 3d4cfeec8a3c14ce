"""Smooth sensitivity: a bound on how far one unit moves the answer that changes little between neighbours itself.

Definition
    S(x) = max over k >= 0 of w_k A_k(x), with A_k from a local object and w_k a rational at or above e^(-rate k),
    rate = beta (1 - 2^-40); rate k is cut off at 10^4.

Guarantee
    Where the local object keeps its contract, |f(x) - f(x')| <= S(x) and S(x) <= e^beta S(x') for all neighbours, and
    S(x) > 0. Proof: docs/proofs/mechanisms/smooth/smoothing.md.

Exactness
    S is the exact maximum of finitely many rationals. The weights are above e^(-rate k) by less than one part in 10^50,
    which the 2^-40 taken off beta pays for; a beta below 10^-30 is refused.

Not covered
    S is private: it depends on the data, and nobody may see it or a noise scale made from it.

References
    Nissim, Raskhodnikova and Smith, Smooth Sensitivity and Sampling in Private Data Analysis, STOC 2007, Section 2
    (smooth bounds) and Section 3 (computing them).
"""

import heapq
from fractions import Fraction
from typing import NamedTuple

from discreet.errors import ParameterError
from discreet.events import Event
from discreet.exact.rounding import exp_up
from discreet.mechanisms.smooth.local import Local
from discreet.samplers import continuous

LEAST_BETA = Fraction(1, 10**30)

_SLACK = Fraction(1, 2**40)
_FARTHEST = Fraction(10**4)


class Calibration(NamedTuple):
    """What a noise asks for: S smooth with parameter beta, noise of width S/shift; and what that costs."""

    noise: continuous.Noise
    beta: Fraction
    shift: Fraction
    event: Event


def smooth_sensitivity(local: Local, beta: Fraction) -> Fraction:
    """S(x), for a public beta: private."""
    search = _Search(local, require_rounding_room(beta) * (1 - _SLACK))
    first, width = 0, 1
    while first <= local.reach and search.weight(first) * local.largest > search.best:
        search.consider(first, min(first + width, local.reach + 1) - 1)
        first, width = first + width, first + width
    return search.run()


def require_rounding_room(part: Fraction) -> Fraction:
    """A beta, or a shift, that is large enough for the rounding of weights to be paid for."""
    if part < LEAST_BETA:
        raise ParameterError(
            "an epsilon, a rho or a share of one, below 10^-30",
            because="the weights of smooth sensitivity are rounded more coarsely than that",
            instead="a larger epsilon or rho, and share=0.5",
        )
    return part


class _Search:
    """The exact maximum of w_k A_k by best bound first: on [i, j], w_k A_k <= w_i A_j, since w falls and A grows."""

    def __init__(self, local: Local, rate: Fraction) -> None:
        self._local, self._rate = local, rate
        self._open: list[tuple[Fraction, int, int]] = []
        self.best = Fraction(0)

    def weight(self, distance: int) -> Fraction:
        """A rational at or above e^(-rate k), that never grows with k."""
        return exp_up(-min(self._rate * distance, _FARTHEST))

    def consider(self, first: int, last: int) -> None:
        """Take the first distance of a stretch into account, and keep the rest for later where it may hold more."""
        weight = self.weight(first)
        self.best = max(self.best, weight * self._local.at(first))
        bound = weight * self._local.at(last)
        if last > first and bound > self.best:
            heapq.heappush(self._open, (-bound, first, last))

    def run(self) -> Fraction:
        """Split the stretch with the highest bound until none is above the best that was found."""
        while self._open and -self._open[0][0] > self.best:
            _, first, last = heapq.heappop(self._open)
            middle = (first + last) // 2
            self.consider(first, middle)
            self.consider(middle + 1, last)
        return self.best
