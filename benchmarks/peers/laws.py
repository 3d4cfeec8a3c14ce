"""Half-widths of 95% intervals from the noise that a library states. Python's own modules only: peers run it too.

A law is the name of a distribution and its scale: the scale of Laplace noise, the standard deviation of Gaussian noise.
Noise on whole numbers is discrete.
"""

import math
import random
from collections.abc import Callable, Sequence

ALPHA = 0.05
DRAWS = 20_000
_NORMAL = 1.959963984540054

Law = tuple[str, float]
Draw = Callable[[], float]


def half_width(law: Law) -> float:
    """The least w with P(|noise| > w) <= 5%."""
    name, scale = law
    if name == "laplace":
        return scale * math.log(1 / ALPHA)
    if name == "gaussian":
        return scale * _NORMAL
    if name == "discrete laplace":
        decay = math.exp(-1 / scale)
        return max(0, math.ceil(scale * math.log(2 / ALPHA / (1 + decay)) - 1 - 1e-9))
    if name == "discrete gaussian":
        return _discrete_gaussian(scale)
    raise ValueError(name)


def _discrete_gaussian(sigma: float) -> float:
    """By summing the probabilities, which end beyond ten standard deviations."""
    weights = [math.exp(-((place / sigma) ** 2) / 2) for place in range(math.ceil(10 * sigma) + 2)]
    total = 2 * sum(weights) - 1
    width, outside = 0, 1 - 1 / total
    while outside > ALPHA:
        width += 1
        outside -= 2 * weights[width] / total
    return width


def variance(law: Law) -> float:
    """Of a Gaussian on whole numbers that of the continuous one, which is larger."""
    name, scale = law
    if name == "discrete laplace":
        decay = math.exp(-1 / scale)
        return 2 * decay / (1 - decay) ** 2
    return 2 * scale**2 if name == "laplace" else scale**2


def added_up(law: Law, bins: int) -> list[float]:
    """All ranges of a noisy histogram: the half-width of the widest by the normal law, and the root mean square."""
    each = variance(law)
    return [_NORMAL * math.sqrt(bins * each), math.sqrt((bins + 2) / 3 * each)]


def selection_within(scale: float, candidates: int, picks: int = 1) -> float:
    """How far below the best a winner is at most, in 95% of runs, with exponential or Gumbel noise of this scale.

    The bound of permute-and-flip and of the exponential mechanism, for each of the picks at 5% / picks.
    """
    return scale * (math.log(candidates) + math.log(picks / ALPHA))


def mean_half_width(total: Law, count: Law, rows: int, centre: float, bounds: tuple[float, float]) -> float:
    """The 95% quantile of the error of a noisy sum around `centre` over a noisy count, for the worst of five means."""
    draws = _pairs(total, count)
    errors = []
    for value in _evenly(bounds):
        exact = (value - centre) * rows
        errors.append([abs((exact + a) / max(1, rows + b) - exact / rows) for a, b in draws])
    return max(map(quantile, errors))


def variance_half_width(
    laws: Sequence[Law], rows: int, centres: tuple[float, float], bounds: tuple[float, float]
) -> float:
    """The same for a variance from a sum, a sum of squares around these centres, and a count.

    The rows are at the two bounds, in five proportions.
    """
    sums, squares, counts = (draws(law, seed) for seed, law in enumerate(laws))
    low, high = bounds
    errors = []
    for mean in _evenly(bounds):
        square = low**2 + (high**2 - low**2) * (mean - low) / (high - low)
        errors.append([])
        for a, b, c in zip(sums, squares, counts, strict=True):
            number = max(1, rows + c)
            noisy_mean = centres[0] + ((mean - centres[0]) * rows + a) / number
            noisy_square = centres[1] + ((square - centres[1]) * rows + b) / number
            errors[-1].append(abs(noisy_square - noisy_mean**2 - (square - mean**2)))
    return max(map(quantile, errors))


def quantile(errors: Sequence[float], share: float = 1 - ALPHA) -> float:
    """The least error that this share of the errors does not exceed."""
    return sorted(errors)[max(0, math.ceil(share * len(errors)) - 1)]


def draws(law: Law, seed: int, number: int = DRAWS) -> list[float]:
    """Seeded noise for expected errors; never for a release."""
    name, scale = law
    generator = random.Random(seed)  # noqa: S311
    if name.endswith("laplace"):
        return [generator.choice((-1, 1)) * generator.expovariate(1 / scale) for _ in range(number)]
    return [generator.gauss(0, scale) for _ in range(number)]


def _pairs(one: Law, other: Law) -> list[tuple[float, float]]:
    return list(zip(draws(one, 0), draws(other, 1), strict=True))


def _evenly(bounds: tuple[float, float]) -> list[float]:
    low, high = bounds
    return [low + (high - low) * part / 4 for part in range(5)]
