"""Mechanisms: noise with a proof. They stand alone for those who learn or build, and a session uses the same ones.

    import discreet as dp

    count = dp.mechanisms.Laplace(sensitivity=1, epsilon=0.1)
    count.release(14237)        # an integer near 14237
    count.margin()              # 30: the noise stays within it 95% of the time
    count.event()               # what an accountant prices

A mechanism is a frozen value that keeps this contract: `event()` says what was done, precisely enough to account for
it, and is true of the noise that `release` really adds; `pmf(y)` is the probability of y steps of noise, and draws fit
it; `margin(confidence)` is public and says how far the noise goes; `release(value)` adds fresh noise to an exact
answer, leaves it on the public grid, and shows the value in no message. A module's headings (Definition, Guarantee,
Exactness, Not covered, References) say what is proved; the proof is at the same path under docs/proofs/.

These add noise to numbers that a query has. Others have contracts of their own, stated by their families:
`selection` (Exponential, PermuteAndFlip, NoisyMax, TopK: which candidate has a high score) and `threshold`
(AboveThreshold: which of many answers are above one), `smooth` (noise that fits the data), `sampled` (any function,
asked about chunks) and `quantile` (RankSelection, NoisyTree: the value that a part of the rows are below).

Releasing spends privacy whether or not anybody counts it: here nobody does. Sessions do.
"""

from typing import Protocol, overload, runtime_checkable

from discreet.events import Event
from discreet.exact import Number
from discreet.mechanisms import quantile, sampled, smooth
from discreet.mechanisms.gaussian import Gaussian
from discreet.mechanisms.laplace import Laplace
from discreet.mechanisms.lattice import Scalar, Vector
from discreet.mechanisms.selection import Exponential, NoisyMax, PermuteAndFlip, TopK
from discreet.mechanisms.threshold import AboveThreshold

__all__ = [
    "AboveThreshold",
    "Exponential",
    "Gaussian",
    "Laplace",
    "Mechanism",
    "NoisyMax",
    "PermuteAndFlip",
    "TopK",
    "quantile",
    "sampled",
    "smooth",
]


@runtime_checkable
class Mechanism(Protocol):
    """The contract of the family."""

    def event(self) -> Event:
        """What a release does, for accountants."""

    def pmf(self, y: int) -> float:
        """The probability of exactly y grid steps of noise."""

    def margin(self, confidence: Number = 0.95) -> Scalar:
        """The least multiple of the grid that the noise stays within, with at least this probability."""

    @overload
    def release(self, value: Scalar) -> Scalar: ...
    @overload
    def release(self, value: Vector) -> list[Scalar]: ...
    def release(self, value: Scalar | Vector) -> Scalar | list[Scalar]:
        """The exact answer with fresh noise."""
