"""AUC, accuracy, calibration, ROC points and errors from noisy tables, each with an interval for the noise.

Post-processing: only noisy tables and public facts are read. An interval covers the figure that the exact table of the
same rows would give; it says nothing about other people than those who were evaluated.

Rates (accuracy, calibration, ROC points, base rate, mean squared error) are quotients of sums of cells. Let a be the
sum of the upper cells and t that of all cells. For the exact rate r, the noisy a - r t is noise alone, of a known
variance. The interval holds all r whose a - r t is within a normal quantile (Fieller). It is exact but for the lattice:
noise is a sum of discrete Gaussians of thousands of steps each.

AUC is a quotient of forms in two histograms. With M = A - r J, where A compares bins (1 above, 1/2 equal) and J is all
ones, p'Mn = 0 for the exact AUC r of the table. The noisy form has the mean 0 and the variance
s^2(|Mn|^2 + |M'p|^2) + s^4 |M|^2. The interval holds all r within a normal quantile, where noisy p and n stand for the
exact ones, which raises the variance on average. That bound is simulated, not proved: test_figures.py measures its
coverage.

A table cannot tell the order of rows in one bin; it counts such pairs as 1/2. So the AUC of the table differs from that
of the rows by at most half the share of pairs of the two classes that are in one bin: `ScoreTable.binning_error`.
"""

import math
from dataclasses import dataclass
from itertools import pairwise
from statistics import NormalDist
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from discreet.learning.core.lattice import ONE, Floats, Integers
from discreet.learning.evaluation.scores import UNIT

_LARGE = 1_000
"""Figures from here on are shown without digits after the point."""

BASE_RATE = "base_rate"
"""The figure that is the share of one class, which is shown with its name."""

WEIGHT = "weight"
"""The figure whose unit is a person of one row, which is shown as a whole number."""


class Figure(NamedTuple):
    """A figure with its confidence interval for the noise.

    Attributes:
        value: The figure.
        low: Lower end.
        high: Upper end.
    """

    value: float
    low: float
    high: float

    def __str__(self) -> str:
        form = ".4f" if abs(self.high) < _LARGE else ",.0f"
        return f"{self.value:{form}} ({self.low:{form}} to {self.high:{form}})"


class CalibrationRow(NamedTuple):
    """Rows whose score lies between two edges: their weight, and the share of it that is of the class.

    Attributes:
        low: Lower edge of the score, in logits; minus infinity for the lowest.
        high: Upper edge of the score, in logits.
        weight: Weight of the rows, as `ScoreTable.weight` counts it.
        rate: Observed share of the class.
    """

    low: float
    high: float
    weight: Figure
    rate: Figure


class OperatingPoint(NamedTuple):
    """A point of the ROC curve: rows with a score above the threshold are predicted to be of the class.

    Attributes:
        threshold: The score, in logits.
        false_positive_rate: Share of the other class above it.
        true_positive_rate: Share of the class above it.
    """

    threshold: float
    false_positive_rate: Figure
    true_positive_rate: Figure


@dataclass(frozen=True, eq=False)
class ScoreTable:
    """A noisy histogram of scores by class, in rows.

    Attributes:
        counts: Noisy counts: histogram, then 0 for the other classes and 1 for the class, then bin.
        edges: Edges of the bins, in steps.
        sigma: Standard deviation of the noise of a cell, in rows.
        confidence: Probability that one interval covers its figure.
    """

    counts: Floats
    edges: tuple[int, ...]
    sigma: float
    confidence: float = 0.95

    @property
    def auc(self) -> Figure:
        """Area under the ROC curve; for several classes the mean of each class against the rest."""
        return mean([self._auc(column) for column in range(len(self.counts))])

    @property
    def accuracy(self) -> Figure:
        """Share of rows whose predicted class is theirs."""
        if len(self.counts) == 1:
            right = np.zeros(self.counts[0].shape, dtype=np.bool_)
            right[0, : self._middle], right[1, self._middle :] = True, True
            return self._rate(self.counts[0], right)
        weights = np.zeros(self.counts.shape)
        weights[:, 1, self._middle :] = 1
        return self._quotient(weights, np.full(self.counts.shape, 1 / len(self.counts)))

    @property
    def base_rate(self) -> Figure:
        """Share of the class 1 of two, or of the first class of several."""
        return self._rate(self.counts[0], np.array([[False], [True]]) & np.ones(self.counts.shape[2], dtype=np.bool_))

    @property
    def weight(self) -> Figure:
        """Weight of all people together, by which every other figure counts them.

        People whose rows are at most `max_rows` weigh 1 for each row. With `max_rows` 1 and two classes, a person
        weighs the square root of the number of different cells of the rows, which is at least 1.
        """
        total, width = float(self.counts[0].sum()), self._quantile * self.sigma * math.sqrt(self.counts[0].size)
        return Figure(total, max(0.0, total - width), max(0.0, total + width))

    @property
    def binning_error(self) -> float:
        """Estimated bound on the difference between the AUC of the table and that of the rows, from the noisy table."""
        errors = []
        for negative, positive in np.maximum(self.counts, 0):
            pairs = negative.sum() * positive.sum()
            errors.append(float(negative @ positive) / pairs / 2 if pairs else 0.5)
        return sum(errors) / len(errors)

    def confusion(self, column: int = 0) -> Floats:
        """Counts by class and predicted class: two rows, two columns."""
        table = self.counts[column]
        return np.column_stack([table[:, : self._middle].sum(axis=1), table[:, self._middle :].sum(axis=1)])

    def calibration(self, groups: int = 8, column: int = 0) -> list[CalibrationRow]:
        """The observed rate of the class by groups of neighbouring bins."""
        table, cuts = self.counts[column], np.linspace(0, self.counts.shape[2], groups + 1).astype(int).tolist()
        found = []
        for start, end in pairwise(cuts):
            part = table[:, start:end]
            if not part.size:
                continue
            width = self._quantile * self.sigma * math.sqrt(part.size)
            total = float(part.sum())
            number = Figure(total, max(0.0, total - width), max(0.0, total + width))
            is_class = np.array([[False], [True]]) & np.ones(end - start, dtype=np.bool_)
            found.append(CalibrationRow(self._edge(start), self._edge(end), number, self._rate(part, is_class)))
        return found

    def operating_points(self, column: int = 0) -> list[OperatingPoint]:
        """The ROC curve at every edge."""
        negative, positive = self.counts[column]
        found = []
        for place, edge in enumerate(self.edges):
            above = np.arange(len(negative)) > place
            rates = self._rate(negative, above), self._rate(positive, above)
            found.append(OperatingPoint(edge / ONE, *rates))
        return found

    @property
    def _middle(self) -> int:
        """The first bin of scores above 0."""
        return self.edges.index(0) + 1

    @property
    def _quantile(self) -> float:
        return normal_quantile(self.confidence)

    def _edge(self, place: int) -> float:
        if place == 0:
            return -math.inf
        return math.inf if place > len(self.edges) else self.edges[place - 1] / ONE

    def _rate(self, counts: Floats, upper: NDArray[np.bool_]) -> Figure:
        """The share of the upper cells in the sum of all of these cells."""
        inside, cells = int(upper.sum()), upper.size
        total, part = float(counts.sum()), float(counts[upper].sum())
        variance = self.sigma**2
        return quotient(part, total, (variance * inside, -2 * variance * inside, variance * cells), self._quantile)

    def _quotient(self, upper: Floats, lower: Floats) -> Figure:
        """The quotient of two weighted sums of all cells."""
        variance = self.sigma**2
        terms = (variance * (upper**2).sum(), -2 * variance * (upper * lower).sum(), variance * (lower**2).sum())
        above, below = float((upper * self.counts).sum()), float((lower * self.counts).sum())
        return quotient(above, below, (float(terms[0]), float(terms[1]), float(terms[2])), self._quantile)

    def _auc(self, column: int) -> Figure:
        negative, positive = self.counts[column]
        below, above = np.cumsum(negative) - negative / 2, np.cumsum(positive[::-1])[::-1] - positive / 2
        left, right, bins = float(negative.sum()), float(positive.sum()), len(negative)
        if left <= 0 or right <= 0:
            return Figure(0.5, 0.0, 1.0)
        variance = self.sigma**2
        constant = float(below @ below + above @ above)
        linear = -2 * float(left * below.sum() + right * above.sum())
        terms = (variance * constant, variance * linear, variance * bins * (left**2 + right**2))
        return quotient(float(positive @ below), left * right, terms, self._quantile)


@dataclass(frozen=True)
class ErrorTable:
    """The noisy count and sum of squared errors of a regression.

    Attributes:
        count: Noisy number of rows.
        squares: Noisy sum of squared errors, as shares of the largest square.
        largest: Largest error, in the unit of the target.
        sigma: Standard deviation of the noise of each, in rows.
        confidence: Probability that the interval covers the figure.
    """

    count: float
    squares: float
    largest: float
    sigma: float
    confidence: float = 0.95

    @property
    def mean_squared_error(self) -> Figure:
        """Mean of the squared errors, where errors beyond the largest count as that."""
        variance = self.sigma**2
        share = quotient(self.squares, self.count, (variance, 0.0, variance), normal_quantile(self.confidence))
        return Figure(*(each * self.largest**2 for each in share))

    @property
    def root_mean_squared_error(self) -> Figure:
        """Square root of the mean squared error."""
        return Figure(*map(math.sqrt, self.mean_squared_error))


def figure_text(name: str, figure: Figure, base_class: object = None) -> str:
    """A figure in words: weights are shown as whole numbers, and a base rate with its class, if that is given."""
    if name == BASE_RATE and base_class is not None:
        return f"{figure} of {base_class!r}"
    if name != WEIGHT:
        return str(figure)
    value, low, high = (f"{round(each):,}" for each in figure)
    return f"{value} ({low} to {high})"


def score_table(noisy: Integers, edges: tuple[int, ...], sigma: float, confidence: float = 0.95) -> ScoreTable:
    """The table of a noisy sum, whose noise has this sigma in steps."""
    counts = np.asarray(noisy, dtype=np.float64).reshape(-1, 2, len(edges) + 1) / UNIT
    return ScoreTable(counts, edges, sigma / UNIT, confidence)


def error_table(noisy: Integers, largest: float, sigma: float, confidence: float = 0.95) -> ErrorTable:
    """The table of a noisy count and sum of squares; `largest` is the largest error in the unit of the target."""
    count, squares = np.asarray(noisy).tolist()
    return ErrorTable(count / UNIT, squares / UNIT, largest, sigma / UNIT, confidence)


def table_from_json(data: dict[str, Any]) -> ScoreTable | ErrorTable:
    """The table of the plain data that `Scoring.measure` gives: noisy integers and what is public about them."""
    noisy = np.asarray(data["noisy"], dtype=np.int64)
    sigma, confidence = float(data["sigma"]), float(data["confidence"])
    if "edges" in data:
        return score_table(noisy, tuple(map(int, data["edges"])), sigma, confidence)
    return error_table(noisy, float(data["largest"]), sigma, confidence)


def quotient(above: float, below: float, variance: tuple[float, float, float], quantile: float) -> Figure:
    """A quotient between 0 and 1 whose `above - r below` has the variance c0 + c1 r + c2 r^2: Fieller's interval.

    The whole range from 0 to 1 where the denominator is not known to be above zero.
    """
    value = min(1.0, max(0.0, above / below)) if below > 0 else 0.5
    square = quantile**2
    second = below**2 - square * variance[2]
    if below <= 0 or second <= 0:
        return Figure(value, 0.0, 1.0)
    first, constant = -2 * above * below - square * variance[1], above**2 - square * variance[0]
    root = math.sqrt(max(0.0, first**2 - 4 * second * constant))
    ends = (-first - root) / (2 * second), (-first + root) / (2 * second)
    low, high = (min(1.0, max(0.0, end)) for end in ends)
    return Figure(value, min(low, value), max(high, value))


def mean(figures: list[Figure]) -> Figure:
    """The mean of figures of independent noise: the squares of their half-widths are added."""
    number = len(figures)
    value = sum(each.value for each in figures) / number
    if number == 1:
        return figures[0]
    below = math.sqrt(sum((each.value - each.low) ** 2 for each in figures)) / number
    above = math.sqrt(sum((each.high - each.value) ** 2 for each in figures)) / number
    return Figure(value, value - below, value + above)


def normal_quantile(confidence: float) -> float:
    """The half-width of a confidence interval of standard normal noise."""
    return NormalDist().inv_cdf((1 + confidence) / 2)
