"""Estimators of the number of people who are alone in their class in the population, from class sizes in a sample.

- Pitman: classes grow as in the two-parameter model of Pitman (Hoshino 2001, Journal of Official Statistics 17:499).
  Maximum likelihood over 0 <= alpha < 1, theta > -alpha: for each alpha the score in theta has a sign change in a
  bracket that is known beforehand, so bisection ends; the profile score in alpha is scanned and bisected. The estimate
  is the exact expectation of the model for N people; for large N it is Gamma(theta+1)/Gamma(theta+alpha) N^alpha.
- Zayatz: Bayes' rule with the class sizes of the sample in place of those of the population (Zayatz 1991, Census
  Bureau SRD 91-08). It is far too high where the sampling fraction is small.
- SNB: the size of a class less one is negative binomial (Chen and Keller-McNulty 1998, Journal of Official Statistics
  14:79). The number of classes is estimated by the third estimator of Shlosser's kind in Haas and Stokes 1998 (JASA
  93:1475). Both parameters solve the equations of the expected sample uniques and pairs.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from discreet.anonymity.owners import OwnerResult
from discreet.anonymity.uniques.gamma import digamma_difference, digamma_step, log_gamma_difference
from discreet.errors import public_class

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]

AT_BOUNDARY = "the likelihood is largest at alpha = 0; where classes are of similar size it can be 1,000 times too high"

_HALVINGS = 200
_UNDERFLOW = 800.0
_SMALL_RATIO = 1e-4
_ALPHAS = np.concatenate([[1e-9, 1e-6, 1e-4, 1e-3], np.linspace(0.01, 0.99, 50), 1 - 10.0 ** -np.arange(3, 10)])
_LOGITS = np.linspace(-40, 36, 3001)


@dataclass(frozen=True)
class SampleHistogram:
    """Class sizes of a sample and the size of its population.

    Attributes:
        sizes: The class sizes that occur, ascending.
        counts: The number of classes of each size.
        population: Number of people in the population.
    """

    sizes: Ints
    counts: Ints
    population: int

    @property
    def people(self) -> int:
        """Number of people in the sample."""
        return int((self.sizes * self.counts).sum())

    @property
    def classes(self) -> int:
        """Number of classes in the sample."""
        return int(self.counts.sum())

    @property
    def fraction(self) -> float:
        """The share of the population that is in the sample."""
        return self.people / self.population

    def classes_of_size(self, size: int) -> int:
        """Number of classes of one size."""
        return int(self.counts[self.sizes == size].sum())


@public_class
@dataclass(frozen=True, repr=False)
class PopulationEstimate(OwnerResult):
    """One estimator's result.

    Attributes:
        method: "pitman", "zayatz" or "snb".
        uniques: Estimated number of population uniques, or None where the estimator has no solution.
        note: Why there is no number, or what limits it; may be empty.
        parameters: Fitted parameters by name. Of Pitman also `limit`: the formula for large populations, as ARX has it.

    Example:
        >>> import discreet as dp
        >>> found = dp.anonymity.population_uniques([(1, 40)], sampling_fraction=0.05)
        >>> print(found.estimates[0])
        population estimate
          pitman: no estimate (no maximum of the likelihood: everyone is alone)
        For the owners of the data only: these are exact figures about people, not differentially private.
    """

    kind = "population estimate"

    method: str
    uniques: float | None
    note: str = ""
    parameters: tuple[tuple[str, float], ...] = ()

    @property
    def summary(self) -> str:
        """The estimate and its note on one line."""
        number = "no estimate" if self.uniques is None else f"{self.uniques:,.0f}"
        return f"{self.method}: {number}" + (f" ({self.note})" if self.note else "")

    def _lines(self) -> list[str]:
        return [self.summary]


def estimate_zayatz(sample: SampleHistogram) -> PopulationEstimate:
    """Sample uniques, times the probability that one is a population unique, over the sampling fraction."""
    ones = sample.classes_of_size(1)
    if not ones:
        return PopulationEstimate("zayatz", 0.0)
    chance = _single_draw_chance(sample)
    return PopulationEstimate("zayatz", ones / float((sample.counts * chance).sum()) * ones)


def _single_draw_chance(sample: SampleHistogram) -> Floats:
    """The hypergeometric probability that a class of each size has exactly one of its people in the sample."""
    n, everyone = sample.people, sample.population
    longest = int(min(sample.sizes.max(), math.ceil(_UNDERFLOW / sample.fraction) + 1, everyone - n + 1))
    k = np.arange(1, longest, dtype=np.float64)
    logs = np.concatenate([[0.0], np.cumsum(np.log1p(-(n - 1) / (everyone - k)))])
    short = sample.sizes <= longest
    sizes = sample.sizes[short]
    chance = np.zeros(len(sample.sizes))
    chance[short] = sizes * (n / everyone) * np.exp(logs[sizes - 1])
    return chance


def estimate_pitman(sample: SampleHistogram) -> PopulationEstimate:
    """Expected number of classes of one person under the fitted two-parameter model."""
    if sample.classes < 2 or sample.classes == sample.people:
        note = "no maximum of the likelihood: " + ("one class" if sample.classes < 2 else "everyone is alone")
        return PopulationEstimate("pitman", None, note)
    alpha = _best_alpha(sample)
    theta = _theta_of(alpha, sample)
    uniques = pitman_uniques(theta, alpha, sample.population)
    limit = math.exp(float(log_gamma_difference(theta + alpha, 1 - alpha))) * sample.population**alpha
    note = AT_BOUNDARY if alpha == 0 else ""
    return PopulationEstimate("pitman", uniques, note, (("alpha", alpha), ("theta", theta), ("limit", limit)))


def pitman_uniques(theta: float, alpha: float, people: int) -> float:
    """Expected number of classes of one among so many people: N times the product of (theta+alpha+i-1) / (theta+i)."""
    rest = 1 - alpha
    change = log_gamma_difference(theta + alpha, rest) - log_gamma_difference(theta + alpha + people - 1, rest)
    return people * math.exp(float(change))


def _best_alpha(sample: SampleHistogram) -> float:
    """The alpha of the largest likelihood among the boundary and all roots of the profile score."""

    def score(alpha: float) -> float:
        return _alpha_score(_theta_of(alpha, sample), alpha, sample)

    scores = [score(alpha) for alpha in _ALPHAS]
    falls = [i for i in range(len(scores) - 1) if scores[i] > 0 >= scores[i + 1]]
    roots = [_bisect(score, float(_ALPHAS[i]), float(_ALPHAS[i + 1])) for i in falls]
    if scores[0] <= 0:
        roots.append(0.0)
    if scores[-1] > 0:
        roots.append(float(_ALPHAS[-1]))
    return max(roots, key=lambda alpha: _log_likelihood(_theta_of(alpha, sample), alpha, sample))


def _theta_of(alpha: float, sample: SampleHistogram) -> float:
    """The theta of the largest likelihood for one alpha.

    The score rises to infinity at -alpha and is negative far out, because there are fewer classes than people.
    """
    classes, people = sample.classes, sample.people

    def score(log_excess: float) -> float:
        theta = math.exp(log_excess) - alpha
        return _class_sum(theta, alpha, classes - 1) - digamma_step(theta + 1, people - 1)

    low, high = -1.0, 1.0
    while score(low) <= 0 and low > -600:
        low *= 2
    while score(high) >= 0 and high < 600:
        high *= 2
    return math.exp(_bisect(score, low, high)) - alpha


def _class_sum(theta: float, alpha: float, count: int) -> float:
    """Sum of 1 / (theta + i alpha) over i = 1, ..., count."""
    if alpha == 0:
        return count / theta
    return digamma_step((theta + alpha) / alpha, count) / alpha


def _alpha_score(theta: float, alpha: float, sample: SampleHistogram) -> float:
    """Derivative of the log-likelihood in alpha."""
    u = sample.classes
    if alpha * u < _SMALL_RATIO * theta:
        # the sum of i / (theta + i alpha), expanded in alpha / theta: its closed form would lose all digits here
        ones, ratio = u * (u - 1) / 2, alpha / theta
        rises = (ones - ratio * ones * (2 * u - 1) / 3 + ratio**2 * ones**2) / theta
    else:
        rises = ((u - 1) - theta * _class_sum(theta, alpha, u - 1)) / alpha
    return rises - float((sample.counts * digamma_difference(1 - alpha, sample.sizes - 1)).sum())


def _log_likelihood(theta: float, alpha: float, sample: SampleHistogram) -> float:
    u, n = sample.classes, sample.people
    if alpha == 0:
        first = (u - 1) * math.log(theta)
    else:
        first = (u - 1) * math.log(alpha) + float(log_gamma_difference((theta + alpha) / alpha, u - 1))
    within = float((sample.counts * log_gamma_difference(1 - alpha, sample.sizes - 1)).sum())
    return first - float(log_gamma_difference(theta + 1, n - 1)) + within


def _bisect(function: Callable[[float], float], low: float, high: float) -> float:
    """A root of a function that is positive at `low` and not above zero at `high`."""
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        if not low < middle < high:
            break
        low, high = (middle, high) if function(middle) > 0 else (low, middle)
    return (low + high) / 2


def estimate_snb(sample: SampleHistogram) -> PopulationEstimate:
    """Classes, times the probability that a class has one person, under the fitted shifted negative binomial."""
    ones, twos = sample.classes_of_size(1), sample.classes_of_size(2)
    if not ones or not twos:
        return PopulationEstimate("snb", None, "no solution: the sample has no classes of one or of two people")
    if sample.fraction >= 1:
        return PopulationEstimate("snb", float(ones))
    classes = estimate_classes(sample)
    gaps = _snb_gap(_LOGITS, classes, sample)
    roots = np.flatnonzero((gaps[:-1] > 0) != (gaps[1:] > 0))
    if not len(roots):
        return PopulationEstimate("snb", None, "no solution: the model cannot have these numbers of ones and pairs")
    logits = np.array([_bisect_snb(float(_LOGITS[i]), float(_LOGITS[i + 1]), classes, sample) for i in roots])
    beta = 1 / (1 + np.exp(-logits))
    alpha = _snb_alpha(logits, sample)
    people = classes * (1 + alpha * np.exp(-logits))
    best = int(np.argmin(np.abs(np.log(people / sample.population))))
    uniques = float(classes * np.exp(alpha[best] * np.log(beta[best])))
    note = f"{len(roots)} solutions: the one whose population is nearest" if len(roots) > 1 else ""
    fit = (("classes", classes), ("alpha", float(alpha[best])), ("beta", float(beta[best])))
    return PopulationEstimate("snb", uniques, note, fit)


def estimate_classes(sample: SampleHistogram) -> float:
    """Number of classes in the population: the third estimator of Shlosser's kind, Haas and Stokes 1998."""
    if sample.fraction >= 1 or not sample.classes_of_size(1):
        return float(sample.classes)
    f, sizes, counts = sample.fraction, sample.sizes.astype(np.float64), sample.counts
    lost = float((np.power(1 - f, sizes) * counts).sum())
    single = float((sizes * f * np.power(1 - f, sizes - 1) * counts).sum())
    twice = float((sizes * f**2 * np.power(1 - f**2, sizes - 1) * counts).sum())
    again = float(((np.power(1 - f**2, sizes) - np.power(1 - f, sizes)) * counts).sum())
    return sample.classes + sample.classes_of_size(1) * (twice / again) * (lost / single) ** 2


def _snb_alpha(logit: Floats, sample: SampleHistogram) -> Floats:
    """For each beta the one alpha that gives the ratio of pairs to ones: the positive root of a quadratic."""
    f, rest = sample.fraction, 1 / (1 + np.exp(logit))
    ratio = 2 * sample.classes_of_size(2) / sample.classes_of_size(1)
    d = (1 - f) * rest
    scale = ratio * (1 - d) / (f * rest)
    b = 2 - d - scale * d
    root = np.sqrt(b * b + 4 * d * scale * (1 - d))
    # of the two forms of the root, the one that subtracts nothing
    return np.asarray(np.where(b > 0, 2 * scale * (1 - d) / (b + root), (root - b) / (2 * d)))


def _snb_gap(logit: Floats, classes: float, sample: SampleHistogram) -> Floats:
    """Log of the expected over the observed number of sample uniques."""
    f, rest = sample.fraction, 1 / (1 + np.exp(logit))
    alpha, d = _snb_alpha(logit, sample), (1 - f) * rest
    log_base = -np.log1p(f * np.exp(-logit))
    expected = np.log(classes * f) + alpha * log_base + np.log1p(alpha * d / (1 - d))
    return np.asarray(expected - math.log(sample.classes_of_size(1)))


def _bisect_snb(low: float, high: float, classes: float, sample: SampleHistogram) -> float:
    sign = 1 if float(_snb_gap(np.array([low]), classes, sample)[0]) > 0 else -1
    return _bisect(lambda logit: sign * float(_snb_gap(np.array([logit]), classes, sample)[0]), low, high)
