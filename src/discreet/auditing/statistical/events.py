"""Which event to test: one feature against one level, or a score that adds up what every feature says.

An event is {feature >= level}, {feature < level}, {feature == level} or its complement, likelier on the one dataset or
on the other. All of them are counted on samples that serve for choosing alone, by one sort of each feature. The best is
the one whose counts bound the claim's parameter highest, or the one that stands farthest above the claim's line in
standard deviations, which is what a bet earns by. How it is chosen touches how much is found and never what is true of
it: nothing here sees the samples that the event is tested on.

A score is a sum over features of the logarithm of how much likelier a bin is on the one dataset (naive Bayes). It is
fitted on half of the samples for choosing, and its level is chosen on the rest, so that it does not praise itself.
"""

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from discreet.auditing.claims import Claim
from discreet.auditing.statistical.features import ARRANGEMENTS, PRESENT, Columns
from discreet.auditing.statistical.outcomes import Floats

Relation = Literal[">=", "<", "==", "!="]
Level = float | str
Truths = NDArray[np.bool_]

SCORE = "likelihood score"
_MOST_LEVELS = 96
_MOST_VALUES = 24
_BINS = 16
_DEVIATIONS = 3.0
_FEWEST_HITS = 5
_SHORTLIST = 400
_PLACES_ON_THE_CURVE = np.concatenate([np.geomspace(1e-6, 0.1, 26), np.linspace(0.12, 1.0, 23)])
_DERIVED = ("sum", "smallest", "largest", PRESENT, "elsewhere", "seconds")


class Sides(NamedTuple):
    """The features of the outcomes on the one dataset and on the other."""

    one: Columns
    other: Columns

    def part(self, where: slice) -> "Sides":
        """The same runs of each."""
        return Sides(self.one.part(where), self.other.part(where))


@dataclass(frozen=True)
class LikelihoodScore:
    """How much likelier an outcome is on the one dataset, as a sum over its features."""

    edges: Mapping[str, Floats]
    weights: Mapping[str, Floats]
    categories: Mapping[str, Mapping[str | None, float]]

    @classmethod
    def fit(cls, sides: Sides) -> "LikelihoodScore":
        """Logarithms of the ratio of smoothed frequencies, bin by bin."""
        numbers = {
            name: np.concatenate([column, sides.other.numbers[name]])
            for name, column in sides.one.numbers.items()
            if name in sides.other.numbers and not name.startswith(_DERIVED)
        }
        edges = {name: _edges(column) for name, column in numbers.items() if (column != column[:1]).any()}
        weights = {
            name: _log_ratio(*(np.bincount(_bins(side.numbers[name], at), minlength=len(at) + 2) for side in sides))
            for name, at in edges.items()
        }
        categories = {
            name: _category_weights(Counter(column), Counter(sides.other.categories[name]))
            for name, column in sides.one.categories.items()
            if name in sides.other.categories and name not in ARRANGEMENTS
        }
        return cls(edges, weights, {name: known for name, known in categories.items() if len(known) > 1})

    def of(self, columns: Columns) -> Floats:
        """The score of each outcome."""
        total = np.zeros(columns.count)
        for name, weights in self.weights.items():
            column = columns.numbers.get(name)
            total += weights[-1] if column is None else weights[_bins(column, self.edges[name])]
        for name, known in self.categories.items():
            categories = columns.categories.get(name, [None] * columns.count)
            total += np.fromiter((known.get(category, 0.0) for category in categories), float, columns.count)
        return total.round(9)


@dataclass(frozen=True)
class Event:
    """A set of outcomes, assumed likelier on the one dataset, or on the other where `swapped`."""

    feature: str
    relation: Relation
    level: Level
    swapped: bool = False
    score: LikelihoodScore | None = None

    def __str__(self) -> str:
        if self.feature.startswith(PRESENT) and self.relation in (">=", "<"):
            return f"{self.feature.removeprefix(PRESENT)} {'present' if self.relation == '>=' else 'absent'}"
        level = repr(self.level) if isinstance(self.level, str) else f"{self.level:.6g}"
        return f"{self.feature} {self.relation} {level}"

    def holds(self, columns: Columns) -> Truths:
        """Of which outcomes it is true."""
        if self.relation == "!=":
            return ~self._compare(columns, "==")
        return self._compare(columns, self.relation)

    def _compare(self, columns: Columns, relation: Relation) -> Truths:
        column = self.column(columns)
        if column is None:
            return np.zeros(columns.count, dtype=bool)
        compare = {">=": np.greater_equal, "<": np.less, "==": np.equal}[relation]
        return np.asarray(compare(column, self.level), dtype=bool)

    def column(self, columns: Columns) -> NDArray[np.generic] | None:
        """The feature that it speaks of, if these outcomes have it."""
        if self.score is not None:
            return self.score.of(columns)
        if isinstance(self.level, str):
            return columns.categories.get(self.feature)
        return columns.numbers.get(self.feature)

    def on(self, sides: Sides) -> tuple[Truths, Truths]:
        """The outcomes in it: where it is assumed likelier, and where less likely."""
        one, other = self.holds(sides.one), self.holds(sides.other)
        return (other, one) if self.swapped else (one, other)


class SelectedEvent(NamedTuple):
    """An event with its counts among the samples that it was chosen on."""

    event: Event
    hits_here: int
    hits_there: int
    runs: int


@dataclass(frozen=True)
class Candidates:
    """Events with their counts, of `count` outcomes on each side; here is where an event is assumed likelier."""

    events: tuple[tuple[str, Relation, Level], ...]
    here: Floats
    there: Floats
    count: int
    score: LikelihoodScore | None = None

    @classmethod
    def among(cls, sides: Sides) -> "Candidates":
        """All features of both sides; of events with equal counts the first is taken, so the plainest come first."""
        counted = [*_of_categories(sides), *_of_numbers(sides)]
        return cls._from(sorted(counted, key=lambda c: c.feature in ARRANGEMENTS), sides.one.count, None)

    @classmethod
    def of_score(cls, sides: Sides) -> "Candidates":
        """The levels of a score that was fitted on the first half, counted on the second."""
        middle = sides.one.count // 2
        score, rest = LikelihoodScore.fit(sides.part(slice(0, middle))), sides.part(slice(middle, None))
        columns = score.of(rest.one), score.of(rest.other)
        return cls._from(list(_levels_of(SCORE, *columns)), rest.one.count, score)

    @classmethod
    def _from(cls, counted: list["_LevelCounts"], count: int, score: LikelihoodScore | None) -> "Candidates":
        events = tuple((name, relation, level) for name, relation, levels, _, _ in counted for level in levels)
        one = np.concatenate([np.asarray(c.one, dtype=float) for c in counted] or [np.empty(0)])
        other = np.concatenate([np.asarray(c.other, dtype=float) for c in counted] or [np.empty(0)])
        return cls(events, np.concatenate([one, other]), np.concatenate([other, one]), count, score)

    def highest_bound(self, claim: Claim, deviations: float = _DEVIATIONS) -> SelectedEvent | None:
        """The event whose counts bound the claim's parameter highest.

        Of an event and its complement with the datasets swapped, which say the same, the one is looked at that is
        the rarer: there p/q is the larger of the two ratios.
        """
        least, most = self._within(deviations)
        kept = np.flatnonzero((least > most) & (self.here + self.there <= self.count))
        if not len(kept):
            return self.most_apart()
        least, most = least[kept], most[kept]
        with np.errstate(divide="ignore"):
            near = np.union1d(_largest(np.log(least) - np.log(most)), _largest(ndtri(least) - ndtri(most)))
        return self._select(int(kept[near[np.argmax(claim.lower_bounds(least[near], most[near]))]]))

    def most_apart(self) -> SelectedEvent | None:
        """The event whose frequencies differ most."""
        return self._select(int(np.argmax(self.here - self.there))) if len(self.here) else None

    def farthest(self, claim: Claim) -> SelectedEvent | None:
        """The event that stands most standard deviations above the claim's line, of those that came a few times."""
        often = np.flatnonzero(self.here >= _FEWEST_HITS)
        if not len(often):
            return None
        here, there = (self.here + 0.5) / (self.count + 1), (self.there + 0.5) / (self.count + 1)
        lines = np.array([claim.line(place) for place in _PLACES_ON_THE_CURVE])
        nearest = np.searchsorted(_PLACES_ON_THE_CURVE, there).clip(0, len(lines) - 1)
        slopes, intercepts = lines[nearest].T
        spread = np.sqrt(here * (1 - here) + slopes**2 * there * (1 - there))
        above = (here - slopes * there - intercepts) / spread
        return self._select(int(often[np.argmax(above[often])]))

    def _within(self, deviations: float) -> tuple[Floats, Floats]:
        """Wilson's bounds: the probability here at least, there at most."""
        return _wilson(self.here, self.count, -deviations), _wilson(self.there, self.count, deviations)

    def _select(self, place: int) -> SelectedEvent:
        swapped, at = divmod(place, len(self.events))
        event = Event(*self.events[at], swapped=bool(swapped), score=self.score)
        return SelectedEvent(event, int(self.here[place]), int(self.there[place]), self.count)


class _LevelCounts(NamedTuple):
    """One feature and relation with several levels, and how often each held on either side."""

    feature: str
    relation: Relation
    levels: list[Level]
    one: Floats
    other: Floats


def _plainness(feature: str) -> tuple[int, str]:
    """Errors before types, presence before numbers, and a number itself before what is derived from it."""
    order = ("error", PRESENT, "NaNs", "+inf", "-inf", "value")
    return next((place for place, start in enumerate(order) if feature.startswith(start)), len(order)), feature


def _of_numbers(sides: Sides) -> Iterator[_LevelCounts]:
    for name in sorted({*sides.one.numbers, *sides.other.numbers}, key=_plainness):
        columns = (side.numbers.get(name, np.full(side.count, np.nan)) for side in sides)
        yield from _levels_of(name, *columns)


def _levels_of(name: str, one: Floats, other: Floats) -> Iterator[_LevelCounts]:
    ordered = [np.sort(column[~np.isnan(column)]) for column in (one, other)]
    distinct = np.unique(np.concatenate(ordered))
    if not len(distinct):
        return
    levels = _spread_out(distinct, np.sort(np.concatenate(ordered)))
    below = [np.searchsorted(column, levels, "left").astype(float) for column in ordered]
    equal = [np.searchsorted(column, levels, "right") - under for column, under in zip(ordered, below, strict=True)]
    named: list[Level] = levels.tolist()
    yield _LevelCounts(name, ">=", named, len(ordered[0]) - below[0], len(ordered[1]) - below[1])
    yield _LevelCounts(name, "<", named, below[0], below[1])
    often = np.argsort(-(equal[0] + equal[1]), kind="stable")[:_MOST_VALUES]
    often = often[(equal[0] + equal[1])[often] > 1]
    if len(often):
        values: list[Level] = levels[often].tolist()
        yield _LevelCounts(name, "==", values, equal[0][often], equal[1][often])
        yield _LevelCounts(name, "!=", values, len(one) - equal[0][often], len(other) - equal[1][often])


def _spread_out(distinct: Floats, ordered: Floats) -> Floats:
    """All levels, or as many as are enough: evenly over the samples, and closer in the tails."""
    if len(distinct) <= _MOST_LEVELS:
        return distinct
    tail = np.geomspace(1 / len(ordered), 0.02, 8)
    parts = np.concatenate([tail, np.linspace(0.02, 0.98, _MOST_LEVELS - 16), 1 - tail])
    return np.unique(ordered[(parts * len(ordered)).astype(int).clip(0, len(ordered) - 1)])


def _of_categories(sides: Sides) -> Iterator[_LevelCounts]:
    for name in sorted({*sides.one.categories, *sides.other.categories}, key=_plainness):
        counts = [Counter(side.categories[name]) if name in side.categories else Counter() for side in sides]
        levels: list[Level] = [
            level for level, _ in (counts[0] + counts[1]).most_common(_MOST_VALUES) if level is not None
        ]
        held = [np.array([count[level] for level in levels], dtype=float) for count in counts]
        yield _LevelCounts(name, "==", levels, held[0], held[1])
        yield _LevelCounts(name, "!=", levels, sides.one.count - held[0], sides.other.count - held[1])


def _largest(measure: Floats) -> NDArray[np.intp]:
    if len(measure) <= _SHORTLIST:
        return np.arange(len(measure))
    return np.argpartition(-measure, _SHORTLIST)[:_SHORTLIST]


def _wilson(hits: Floats, count: int, deviations: float) -> Floats:
    square = deviations**2
    middle = hits + square / 2
    bound = (middle + deviations * np.sqrt(hits * (count - hits) / count + square / 4)) / (count + square)
    return np.clip(bound, 0.0, 1.0)


def _edges(column: Floats) -> Floats:
    """Where bins begin: at each of a few values, or at quantiles of many."""
    ordered = np.sort(column[~np.isnan(column)])
    distinct = np.unique(ordered)
    if len(distinct) <= _MOST_VALUES:
        return distinct
    places = (np.linspace(0, 1, _BINS, endpoint=False) * len(ordered)).astype(int)
    return np.unique(ordered[places])


def _bins(column: Floats, edges: Floats) -> NDArray[np.intp]:
    """The bin of each number; those that are not there have the last one to themselves."""
    return np.where(np.isnan(column), len(edges) + 1, np.searchsorted(edges, column, "right"))


def _log_ratio(one: NDArray[np.intp], other: NDArray[np.intp]) -> Floats:
    ratio: Floats = np.log((one + 1) / (one.sum() + len(one))) - np.log((other + 1) / (other.sum() + len(other)))
    return ratio


def _category_weights(one: Counter[str | None], other: Counter[str | None]) -> dict[str | None, float]:
    levels = [level for level, _ in (one + other).most_common(_MOST_VALUES)]
    ratio = _log_ratio(np.array([one[level] for level in levels]), np.array([other[level] for level in levels]))
    return dict(zip(levels, ratio.tolist(), strict=True))
