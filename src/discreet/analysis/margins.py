"""How far several independent noises go together, each counted a whole number of times.

Where the sum has few possible values, its distribution is computed one by one, and the margin is the least. Elsewhere
values are put into cells, and the margin is rounded up by what that may have moved them: a few parts in a thousand.
"""

from collections.abc import Sequence
from fractions import Fraction
from functools import lru_cache
from math import ceil

import numpy as np
from numpy.typing import NDArray

from discreet.mechanisms import Gaussian, Laplace

Noise = Laplace | Gaussian
Mixture = Sequence[tuple[int, Noise]]

_CELLS = 2**12
_BEYOND = 10**6
_LEAST_OUTSIDE = Fraction(1, 10**9)


def margin(mixture: Mixture, confidence: Fraction) -> int:
    """What the sum of so many times each noise, in steps of grid 1, stays within with at least this probability."""
    parts = tuple((abs(times), noise) for times, noise in mixture if times)
    if len(parts) <= 1:
        return sum(times * int(noise.margin(confidence)) for times, noise in parts)
    return _together(parts, 1 - confidence)


@lru_cache(maxsize=1024)
def _together(parts: tuple[tuple[int, Noise], ...], outside: Fraction) -> int:
    if outside < _LEAST_OUTSIDE:
        return sum(times * _reach(noise, outside / len(parts)) for times, noise in parts)
    reaches = [_reach(noise, outside / _BEYOND) for _, noise in parts]
    farthest = sum(times * reach for (times, _), reach in zip(parts, reaches, strict=True))
    cell = max(1, ceil(Fraction(farthest, _CELLS)))
    spectrum = np.ones(1, complex)
    size = 2 ** (2 * (farthest // cell + len(parts)) + 1).bit_length()
    for (times, noise), reach in zip(parts, reaches, strict=True):
        spectrum = spectrum * np.fft.rfft(_circle(_masses(noise, times, reach, cell), size))
    masses = np.fft.irfft(spectrum, size)[: size // 2]
    within = masses[0] + 2 * np.concatenate([[0.0], np.cumsum(masses[1:])])
    cells = int(np.argmax(within >= 1 - float(outside)))
    return cells if cell == 1 else ceil(cell * (cells + Fraction(len(parts), 2)))


def _reach(noise: Noise, outside: Fraction) -> int:
    return int(noise.margin(1 - outside))


def _masses(noise: Noise, times: int, reach: int, cell: int) -> NDArray[np.float64]:
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
    masses[: len(half)] = half
    masses[size - len(half) + 1 :] = half[:0:-1]
    return masses
