"""Mechanisms: noise with a proof. They stand alone for those who learn or build, and a session uses the same ones.

    import discreet as dp

    count = dp.mechanisms.Laplace(sensitivity=1, epsilon=0.1)
    count.release(14237)        # an integer near 14237
    count.margin()              # 30: the noise stays within it 95% of the time
    count.event()               # what an accountant composes

`Laplace`, `Gaussian` and `Staircase` are additive noise. Such a mechanism is a frozen value with the interface
`AdditiveNoise`: `event()` says what was done, precisely enough to account for it, and is true of the noise that
`release` adds; `pmf(y)` is the probability of y steps of noise, and draws fit it; `margin(confidence)` is public and
is the half-width of a confidence interval; `release(value)` adds fresh noise to an exact answer, leaves it on the
public grid, and shows the value in no message. A module's headings (Definition, Guarantee, Exactness, Not covered,
References) say what is proved; the proof is at the same path under docs/proofs/.

Other mechanisms have contracts of their own, stated by their families:
`selection` (Exponential, PermuteAndFlip, NoisyMax, TopK: which candidate has a high score) and `threshold`
(AboveThreshold, RepeatedAboveThreshold: which of many answers are above one), `smooth` (smooth sensitivity),
`sampled` (any function, asked about blocks) and `quantile` (RankSelection, NoisyTree: the value that a part of the rows
are below).

Releasing spends privacy whether or not anybody counts it: here nobody does. Sessions do.
"""

from discreet.errors import short_traceback
from discreet.mechanisms import quantile, sampled, smooth
from discreet.mechanisms.additive import AdditiveNoise
from discreet.mechanisms.gaussian import Gaussian
from discreet.mechanisms.laplace import Laplace
from discreet.mechanisms.selection import Exponential, NoisyMax, PermuteAndFlip, TopK
from discreet.mechanisms.staircase import Staircase
from discreet.mechanisms.threshold import AboveThreshold, RepeatedAboveThreshold

__all__ = [
    "NOISES",
    "AboveThreshold",
    "AdditiveNoise",
    "Exponential",
    "Gaussian",
    "Laplace",
    "NoisyMax",
    "PermuteAndFlip",
    "RepeatedAboveThreshold",
    "Staircase",
    "TopK",
    "additive_noise",
    "quantile",
    "sampled",
    "smooth",
]


NOISES: tuple[type[AdditiveNoise], ...] = (Laplace, Gaussian, Staircase)
"""Every additive noise: those that `mechanism=` may ask for, and those that a release may say it has."""


@short_traceback
def additive_noise(name: str) -> type[AdditiveNoise] | None:
    """Class of additive noise by its tag or published name.

    Args:
        name: "laplace", "gaussian" or "staircase", or the name in a release, such as "discrete Laplace".

    Returns:
        The class, or None.

    Example:
        >>> import discreet as dp
        >>> dp.mechanisms.additive_noise("laplace") is dp.mechanisms.Laplace
        True
    """
    return next((noise for noise in NOISES if name in (noise.tag, noise.name)), None)
