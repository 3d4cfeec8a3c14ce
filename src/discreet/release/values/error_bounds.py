"""How far several independent noises go together, each counted a whole number of times.

Definition
    S = sum of t_i Y_i over independent additive noises Y_i with public whole t_i. A
    margin at confidence c is a public m with P[|S| <= m] >= c. Noises that are alike and count alike are a `Crowd`.

Guarantee
    `margin` and `margin_of_crowds` return such an m, for every mixture and every confidence below 1. Where S has few
    possible values, m is the least; elsewhere it is above the least by a few parts in a thousand; for confidences next
    to certainty it is Chernoff's. Proof: docs/proofs/release/values/error_bounds.md.

Exactness
    Values that are too many to be written out are put into cells, and what that may have moved them is added. Sums of
    probabilities are floats, whose errors of about 1e-13 are covered by a slack of a hundred-thousandth of what may be
    outside, which is at least 1e-7 there.

Not covered
    What noise does not do: clamping to bounds, rows beyond contribution bounds, sampling of the population. No privacy
    rests on it.

References
    Hoeffding, Probability Inequalities for Sums of Bounded Random Variables, JASA 1963, Theorem 2.
    Canonne, Kamath and Steinke, The Discrete Gaussian for Differential Privacy, NeurIPS 2020 (its tails are
    no heavier than those of the Gaussian).
"""

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from fractions import Fraction
from functools import lru_cache
from math import ceil
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from discreet.mechanisms.additive import AdditiveNoise

Mixture = Sequence[tuple[int, AdditiveNoise]]

_CELLS = 2**12
_LARGEST_CIRCLE = 2**20
_MOST_KINDS = 64
_BEYOND = 10**6
_SLACK = 1e-5
_LEAST_OUTSIDE = Fraction(1, 10**7)
_FLOATS = 1e-13
_ORDERS = 400


class Crowd(NamedTuple):
    """So many independent noises that are alike, each counted the same number of times."""

    size: int
    times: int
    noise: AdditiveNoise


def margin(mixture: Mixture, confidence: Fraction) -> int:
    """What the sum of so many times each noise, in steps of grid 1, stays within with at least this probability."""
    return margin_of_crowds(Counter((abs(times), noise) for times, noise in mixture), confidence)


def margin_of_crowds(sizes: Mapping[tuple[int, AdditiveNoise], int], confidence: Fraction) -> int:
    """The margin of a mixture in which sizes[times, noise] noises count `times` times each."""
    crowds = tuple(Crowd(size, times, noise) for (times, noise), size in sizes.items() if times and size)
    shared = math.gcd(*(crowd.times for crowd in crowds))
    alone = tuple(crowd._replace(times=crowd.times // shared) for crowd in crowds)
    if sum(crowd.size for crowd in alone) <= 1:
        return sum(shared * _alone(crowd.noise, confidence) for crowd in alone)
    return shared * _together(alone, 1 - confidence)


@lru_cache(maxsize=4096)
def _alone(noise: AdditiveNoise, confidence: Fraction) -> int:
    return int(noise.margin(confidence))


@lru_cache(maxsize=4096)
def _together(crowds: tuple[Crowd, ...], outside: Fraction) -> int:
    if outside < _LEAST_OUTSIDE or len(crowds) > _MOST_KINDS:
        return _farthest(crowds, outside)
    return _from_cells(crowds, outside)


def _farthest(crowds: tuple[Crowd, ...], outside: Fraction) -> int:
    """A margin without a distribution: Chernoff's, or that of each noise added up, whichever is less."""
    each = outside / sum(crowd.size for crowd in crowds)
    added = sum(crowd.size * crowd.times * _reach(crowd.noise, each) for crowd in crowds)
    return min(added, _chernoff(crowds, outside))


def _from_cells(crowds: tuple[Crowd, ...], outside: Fraction) -> int:
    """The least number of cells that hold enough, and what putting values into cells may have moved."""
    count = sum(crowd.size for crowd in crowds)
    reaches = [_reach(crowd.noise, outside / (_BEYOND * count)) for crowd in crowds]
    farthest = sum(c.size * c.times * reach for c, reach in zip(crowds, reaches, strict=True))
    span = min(farthest, _chernoff(crowds, outside / _BEYOND))
    wanted = _CELLS if count <= len(crowds) else _LARGEST_CIRCLE // 8
    cell = max(1, ceil(Fraction(span, wanted)))
    size = 2 ** (2 * (span // cell + count) + 1).bit_length()
    size = min(size, max(_LARGEST_CIRCLE, 2 ** (2 * span // cell + 1).bit_length()))
    spectrum = np.ones(1, complex)
    for crowd, reach in zip(crowds, reaches, strict=True):
        half = _masses(crowd.noise, crowd.times, reach, cell)
        spectrum = spectrum * np.fft.rfft(_circle(half, size)) ** crowd.size
    masses = np.fft.irfft(spectrum, size)[: size // 2]
    within = masses[0] + 2 * np.concatenate([[0.0], np.cumsum(masses[1:])])
    is_whole = cell == 1 and size > 2 * farthest
    allowed = float(outside) - (_FLOATS if is_whole else float(outside) * _SLACK)
    cells = int(np.argmax(within >= 1 - allowed))
    return cells if cell == 1 else ceil(cell * cells + _rounding_bound(cell, count, outside))


def _rounding_bound(cell: int, count: int, outside: Fraction) -> Fraction:
    """How far rounding to cells changes the sum: at most half a cell each, and by Hoeffding far less if they are many.

    The rest of each noise in its cell is symmetric, so of mean zero, and it is at most half a cell.
    """
    most = Fraction(cell * count, 2)
    missed = 2 / (float(outside) * _SLACK / 4)
    return min(most, Fraction(ceil(cell * math.sqrt(count * math.log(missed) / 2) * (1 + 1e-9))))


def _chernoff(crowds: tuple[Crowd, ...], outside: Fraction) -> int:
    """The least over s of (ln E[e^(sS)] + ln(2/outside)) / s: any s gives a margin."""
    wanted = math.log(2) + math.log(outside.denominator) - math.log(outside.numerator)
    widest = max(crowd.times * crowd.noise.width for crowd in crowds)
    deviation = math.sqrt(math.fsum(c.size * (c.times * c.noise.width) ** 2 for c in crowds))
    places = np.geomspace(1e-3 / deviation, 1e3 / widest, _ORDERS)
    bounds = [(_log_moment(crowds, float(s)) + wanted) / float(s) for s in places]
    return ceil(min(bounds) * (1 + 1e-9))


def _log_moment(crowds: tuple[Crowd, ...], s: float) -> float:
    return math.fsum(crowd.size * crowd.noise.log_moment(s * crowd.times) for crowd in crowds)


def _reach(noise: AdditiveNoise, outside: Fraction) -> int:
    return int(noise.margin(1 - outside))


def _masses(noise: AdditiveNoise, times: int, reach: int, cell: int) -> NDArray[np.float64]:
    """The probability of each cell of times * noise, from zero upwards: cell j holds what is nearest to j * cell."""
    if reach <= _CELLS:
        masses = np.zeros(times * reach // cell + 2)
        for step in range(reach + 1):
            place = (2 * times * step + cell) // (2 * cell)
            masses[place] += noise.pmf(step) * (2 if step and not place else 1)
        return masses
    edges = [((2 * j + 1) * cell - 1) // (2 * times) for j in range(times * reach // cell + 1)]
    above = np.array([noise.tail(edge) / 2 for edge in edges])
    return np.concatenate([[1 - 2 * above[0]], above[:-1] - above[1:]])


def _circle(half: NDArray[np.float64], size: int) -> NDArray[np.float64]:
    """A symmetric distribution, given from zero upwards, around a circle of so many places."""
    masses = np.zeros(size)
    places = np.arange(len(half))
    np.add.at(masses, places % size, half)
    np.add.at(masses, -places[1:] % size, half[1:])
    return masses
