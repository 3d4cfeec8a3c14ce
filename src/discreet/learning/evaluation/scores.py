"""Sums from which models are evaluated: histograms of scores by class on public bins, and squared errors.

Definition
    A row adds one unit to the cell (class, bin of its integer score) of a table with public bins; for more than two
    classes, to one such cell for each class against the rest. For regression a row adds one unit to a count, and the
    square of its error, cut and as a share of the largest square, to a sum. One unit is 2^12 steps. The rows of a
    person are added and clipped as `discreet.learning.core.sums` does, and discrete Gaussian noise is added.

Guarantee
    One person moves the table by at most `clip` steps in L2 norm where people are added or removed, and by twice that
    where one is replaced, for any number of rows of the person. A noisy table is rho-zCDP for the rho of its plan.
    Proof: docs/proofs/learning/evaluation/scores.md.

Exactness
    64-bit integers throughout: scores are integers of a public model, bins are found by comparing integers, and noise
    is drawn exactly (samplers/discrete.py). A person with one row counts whole. A person with more rows than the clip
    allows is scaled down, and the table then counts this person with a smaller weight (`ScoreTable.weight`).

Not covered
    What is computed from a noisy table, which is post-processing (figures.py). Whether the rows were used for training
    (holdout.py).

References
    Canonne, Kamath and Steinke, The Discrete Gaussian for Differential Privacy, NeurIPS 2020, Theorem 4.
    Boyd, Lantz and Page, Differential Privacy for Classifier Evaluation, AISec 2015 (AUC under noise).
"""

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from discreet.learning.core.lattice import ONE, Integers, root_up
from discreet.learning.core.learner import PublicModel
from discreet.learning.core.rows import EncodedRows
from discreet.learning.core.sums import LARGEST_CLIP, Contributions
from discreet.learning.core.training import PlannedSum, planned_sum

UNIT = 1 << 12
"""Steps of one row in one cell."""

DEFAULT_BINS = 32
WIDEST_SCORE = 4
MOST_ROWS = LARGEST_CLIP // (UNIT * 64)
"""The largest number of rows of a person that a clip may allow."""

MOST_CLASSES = 64**2
"""The largest number of classes: then the clip of the largest number of rows is within its bound."""


def score_edges(bins: int = DEFAULT_BINS, widest: int = WIDEST_SCORE) -> tuple[int, ...]:
    """Edges of bins of equal width between two scores of opposite sign, in steps; 0 is one of them.

    A score is in a bin if it is above the edge below: so bins from the middle on hold the rows of the positive class.
    """
    if bins < 2 or bins % 2:
        raise ValueError("a number of bins that is not even")
    return tuple(2 * widest * ONE * place // bins - widest * ONE for place in range(1, bins))


@dataclass(frozen=True)
class ScoreStep:
    """One histogram of scores by class: each row adds one unit to a cell, or to one for each of several classes.

    Attributes:
        model: The public model.
        classes: Number of classes.
        edges: Increasing edges of the bins, in steps.
        max_rows: Number of rows of a person that count whole.
        has_distinct_places: No row names a place twice.
    """

    model: PublicModel
    classes: int
    edges: tuple[int, ...]
    max_rows: int = 1
    has_distinct_places: bool = True

    @property
    def columns(self) -> int:
        """How many histograms there are: one for two classes, else one for each class against the rest."""
        return columns_of(self.classes)

    @property
    def length(self) -> int:
        """Number of cells."""
        return self.columns * 2 * (len(self.edges) + 1)

    @property
    def clip(self) -> int:
        """The largest L2 norm of a person's table: that of `rows` rows in the same cells, rounded up."""
        return clip_of(self.max_rows, self.columns)

    def contributions(self, rows: EncodedRows) -> Contributions:
        """The cells of each row, from its integer scores and its class."""
        scores = _columns(np.asarray(self.model.scores(rows.codes), dtype=np.int64), self.columns)
        bins = np.searchsorted(np.asarray(self.edges, dtype=np.int64), scores, side="left").astype(np.int64)
        column = np.arange(self.columns, dtype=np.int64)
        is_class = rows.target[:, None] == (column if self.columns > 1 else 1)
        places = (2 * column + is_class) * (len(self.edges) + 1) + bins
        return Contributions(places, np.full(places.shape, UNIT, dtype=np.int64))


@dataclass(frozen=True)
class ErrorStep:
    """A count and a sum of squared errors of a regression: errors beyond `largest` steps count as that.

    Attributes:
        model: The public model.
        largest: Largest error, in steps; 2^21 is the whole width of the bounds of the target.
        max_rows: Number of rows of a person that count whole.
        has_distinct_places: No row names a place twice.
    """

    model: PublicModel
    largest: int
    max_rows: int = 1
    has_distinct_places: bool = True

    @property
    def length(self) -> int:
        """Number of places."""
        return 2

    @property
    def clip(self) -> int:
        """The largest L2 norm of a person's vector."""
        return clip_of(self.max_rows, 2)

    def contributions(self, rows: EncodedRows) -> Contributions:
        """One unit, and the square of the error as a share of the largest square, in steps of a unit."""
        scores = np.clip(np.asarray(self.model.scores(rows.codes), dtype=np.int64).reshape(len(rows)), -ONE, ONE)
        error = np.minimum(np.abs(scores - np.clip(rows.target, -ONE, ONE)), self.largest)
        squares = error * error * UNIT // self.largest**2
        places = np.tile(np.arange(2, dtype=np.int64), (len(rows), 1))
        return Contributions(places, np.column_stack([np.full(len(rows), UNIT, dtype=np.int64), squares]))


def score_plan(step: ScoreStep | ErrorStep, rho: Fraction, *, replace_one: bool) -> PlannedSum:
    """The noise of one evaluation."""
    return planned_sum(step.clip, step.length, rho, replace_one=replace_one)


def columns_of(classes: int) -> int:
    """How many histograms a number of classes needs."""
    return 1 if classes == 2 else classes


def clip_of(rows: int, entries: int) -> int:
    """The norm, rounded up, of `rows` equal rows that add at most one unit to each of some places."""
    if not 1 <= rows <= MOST_ROWS:
        raise ValueError("a number of rows that a clip cannot allow")
    return root_up(entries * (rows * UNIT) ** 2)


def _columns(scores: Integers, columns: int) -> Integers:
    """One score for each histogram: above 0 if and only if the row is predicted to be of the class.

    Of several classes it is the lead over the best other class; the first of equal ones leads by one step.
    """
    if columns == 1:
        return scores.reshape(len(scores), 1)
    first, second = np.sort(scores, axis=1)[:, [-1, -2]].T
    best = scores.argmax(axis=1)
    lead: Integers = scores - first[:, None]
    places = np.arange(len(scores))
    lead[places, best] = np.maximum(first - second, 1)
    return lead
