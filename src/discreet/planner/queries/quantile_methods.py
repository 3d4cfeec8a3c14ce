"""Two ways to find quantiles of groups from how many rows are at each step: choose a step, or read a noisy tree.

Choosing costs each quantile its own share and knows the ranks of one quantile well; a tree costs once and serves all
quantiles. Which is better is a matter of public facts: how many quantiles, steps, groups and rows of one unit, and, if
that is known, how many rows a group has.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from discreet import events
from discreet.catalog.catalog import ColumnType
from discreet.catalog.privacy_unit import Caps, Neighbours
from discreet.mechanisms import AdditiveNoise
from discreet.mechanisms.quantile import NoisyTree, RankSelection, bisect_steps
from discreet.mechanisms.quantile.tree import wrong_decisions
from discreet.plan.fingerprint import canonical
from discreet.plan.physical import CountRows, Read, SumSteps
from discreet.planner.budget.allocation import Spending
from discreet.planner.sensitivity.sensitivity import Sensitivity, sensitivity
from discreet.release.release import MeasuredColumn
from discreet.release.values.columns import measured_column
from discreet.release.values.weighted_sums import Sums
from discreet.workloads.tree import Tree

BRANCHINGS = (2, 3, 4, 6, 8, 12, 16, 32)
_FINE = 1_000
_ROUNDS = 5
_BOUNDARIES = 64
_MOST_EXACT = 512
_VALUE = Read("value", ColumnType.INTEGER)

Noisy = Sequence[Sequence[int]]
Vector = NDArray[np.float64]


@dataclass(frozen=True)
class Layout:
    """Where rows can be: so many groups of so many steps, under contribution bounds, for a neighbour relation."""

    caps: Caps
    groups: int
    neighbours: Neighbours
    steps: int

    def score_sensitivity(self, share: Fraction) -> Sensitivity:
        """How far one unit moves the scores of all groups: as it moves a sum of values from -p to m - p."""
        worth = SumSteps(_VALUE, Fraction(1), -share.numerator, share.denominator - share.numerator)
        return sensitivity(worth, self.caps, self.groups, self.neighbours)

    def level(self, nodes: int) -> Sensitivity:
        """How far one unit moves a level with so many nodes in each group."""
        return sensitivity(CountRows(), self.caps, self.groups, self.neighbours, nodes)

    def group_counts(self, counts: Sequence[int]) -> list[Sequence[int]]:
        """The counts of each group."""
        return [counts[start : start + self.steps] for start in range(0, len(counts), self.steps)]


@dataclass(frozen=True)
class ByChoice:
    """A selection for each quantile, which gives every group one step."""

    layout: Layout
    selections: tuple[RankSelection, ...]

    @property
    def name(self) -> str:
        """The mechanism, in words."""
        pure = isinstance(self.selections[0].event(), events.PureEvent)
        return "permute and flip by ranks" if pure else "the exponential mechanism by ranks"

    @property
    def event(self) -> events.Event:
        """What a release does, for the accountants."""
        return events.ComposedEvent(tuple(selection.event() for selection in self.selections))

    def randomize(self, counts: Sequence[int]) -> list[list[int]]:
        """A step for each quantile and group, chosen afresh."""
        return [selection.release(self.layout.group_counts(counts)) for selection in self.selections]

    def combine(self, counts: Sequence[int]) -> list[list[int]]:
        """The step for each quantile and group that is nearest, without noise."""
        return [[each.nearest(group) for group in self.layout.group_counts(counts)] for each in self.selections]

    def places(self, noisy: Noisy) -> list[list[int]]:
        """The step of each quantile and group."""
        return [list(steps) for steps in noisy]

    def margin(self, place: int, confidence: Fraction) -> int:
        """The ranks that a quantile is off by, at most, with this probability."""
        return self.selections[place].margin(self.layout.steps, confidence)

    def expected_error(self, rows: int | None) -> float:
        """The mean distance in ranks, at most, over all quantiles."""
        found = [selection.expected_error(self.layout.steps, rows) for selection in self.selections]
        return sum(found) / len(found)

    def describe(self, place: int) -> str:
        """The noise of a quantile in words."""
        return f"{self.name}, a weight of e^(-{float(self.selections[place].rank_rate):.4g}) for each rank"

    def measurements(self, noisy: Noisy, low: int, grid: Fraction) -> tuple[MeasuredColumn, ...]:
        """The steps as they were chosen."""
        return tuple(
            MeasuredColumn(
                measure=canonical(("quantile", each.probability)),
                mechanism=self.name,
                scale=float(1 / each.rank_rate),
                l1=each.l1,
                l2_squared=each.l2_squared,
                grid=grid,
                steps=tuple(low + place for place in places),
            )
            for each, places in zip(self.selections, noisy, strict=True)
        )

    def restore_noisy(self, measured: Sequence[MeasuredColumn], low: int) -> list[list[int]]:
        """What is noisy, from a release."""
        return [[step - low for step in each.steps] for each in measured]


@dataclass(frozen=True)
class ByTree:
    """One noisy tree for each group, which all quantiles are read off."""

    layout: Layout
    tree: Tree
    noise: NoisyTree
    probabilities: tuple[Fraction, ...]

    @property
    def name(self) -> str:
        """The mechanism, in words."""
        return f"{self._noise(0).name} noise on a tree of {self.tree.branching} branches"

    @property
    def event(self) -> events.Event:
        """What a release does, for the accountants."""
        return self.noise.event()

    def randomize(self, counts: Sequence[int]) -> list[list[int]]:
        """The counts of every level that is measured, with fresh noise."""
        return self.noise.release(self.combine(counts))

    def combine(self, counts: Sequence[int]) -> list[list[int]]:
        """The integers that get noise: the counts of each measured level, all groups of a level in one list."""
        trees = [self.tree.sums(group) for group in self.layout.group_counts(counts)]
        return [[node for levels in trees for node in levels[level]] for level in self._measured_levels]

    def places(self, noisy: Noisy) -> list[list[int]]:
        """The step of each quantile and group."""
        given = dict(zip(self._measured_levels, noisy, strict=True))
        levels = [
            np.array(given.get(level, [0] * self.layout.groups * width), dtype=np.float64).reshape(-1, width)
            for level, width in enumerate(self.tree.widths)
        ]
        leaves = self.tree.solve(levels, self.noise.variances)
        below = np.cumsum(np.pad(leaves, ((0, 0), (1, 0))), axis=1)
        return [[bisect_steps(group, share) for group in below] for share in self.probabilities]

    def margin(self, place: int, confidence: Fraction) -> int:
        """The ranks that a quantile is off by, at most, with this probability."""
        outside = 2 * (1 - confidence) / wrong_decisions(self.layout.steps)
        return _contrast_margin(self.tree, self.noise, self.probabilities[place], outside)

    def expected_error(self, rows: int | None) -> float:
        """The mean distance in ranks over all quantiles, as Gaussian noise has it; for so many rows in equal parts."""
        room = 0.0 if rows is None else rows / self.layout.steps / 2
        found = [_beyond(math.sqrt(self._variances(i).mean()), room) for i in range(len(self.probabilities))]
        return sum(found) / len(found)

    def describe(self, place: int) -> str:
        """The noise of a quantile in words."""
        widest = math.sqrt(self._variances(place).max())
        return f"{self.name}, a deviation of at most {widest:,.4g} ranks"

    def measurements(self, noisy: Noisy, low: int, grid: Fraction) -> tuple[MeasuredColumn, ...]:  # noqa: ARG002 - counts have none
        """The noisy counts of every level that is measured."""
        return tuple(self._level(level, nodes) for level, nodes in zip(self._measured_levels, noisy, strict=True))

    def restore_noisy(self, measured: Sequence[MeasuredColumn], low: int) -> list[list[int]]:  # noqa: ARG002 - counts have none
        """What is noisy, from a release."""
        return [list(each.steps) for each in measured]

    @property
    def _measured_levels(self) -> list[int]:
        return [level for level, noise in enumerate(self.noise.levels) if noise is not None]

    def _level(self, level: int, nodes: Sequence[int]) -> MeasuredColumn:
        width = self.tree.widths[level]
        measure = canonical(("rows", width, self.tree.branching))
        places = f"nodes of level {level}, {width:,} for each group"
        return measured_column(measure, self._noise(level), self.layout.level(width), nodes, Fraction(1), places)

    def _noise(self, level: int) -> AdditiveNoise:
        """The noise of a level that is measured, as the leaves are."""
        noise = self.noise.levels[level]
        assert noise is not None  # noqa: S101 - the caller chose a measured level
        return noise

    def _variances(self, place: int) -> Vector:
        return _contrasts(self.tree, self.noise.variances, self.probabilities[place], self.tree.leaves)


Method = ByChoice | ByTree


def by_choice(layout: Layout, spent: Spending, shares: Sequence[tuple[Fraction, Fraction]]) -> ByChoice:
    """Selections for quantiles with their weights, at the privacy cost of the spending."""
    whole = sum(weight for _, weight in shares)
    made = []
    for share, weight in shares:
        moved, part = layout.score_sensitivity(share), spent.part(weight / whole)
        price = {"rho": part.amount} if part.kind.cost == "rho" else {"epsilon": part.pure_epsilon}
        made.append(RankSelection(probability=share, l1=moved.l1, l2_squared=moved.l2_squared, **price))
    return ByChoice(layout, tuple(made))


def by_tree(layout: Layout, spent: Spending, probabilities: tuple[Fraction, ...]) -> ByTree:
    """The tree with the least expected error at the privacy cost of the spending."""
    tree, shares = _best(layout, spent.kind, probabilities)
    levels = [
        spent.part(share).noise(layout.level(width)) if share else None
        for width, share in zip(tree.widths, shares, strict=True)
    ]
    return ByTree(layout, tree, NoisyTree(tuple(levels)), probabilities)


@lru_cache(maxsize=256)
def _best(
    layout: Layout, kind: type[AdditiveNoise], probabilities: tuple[Fraction, ...]
) -> tuple[Tree, tuple[Fraction, ...]]:
    """The branching and the shares of the levels whose estimates vary least; they do not depend on the privacy cost."""
    found = []
    for branching in sorted({*(b for b in BRANCHINGS if b < layout.steps), layout.steps}):
        tree = Tree(layout.steps, branching)
        shares = _shares(tree, layout, kind)
        variances = _unit_variances(tree, layout, kind, [float(share) for share in shares])
        each = [_contrasts(tree, variances, share, _BOUNDARIES).mean() for share in probabilities]
        found.append((sum(math.sqrt(variance) for variance in each), branching, tree, shares))
    *_, tree, shares = min(found)
    return tree, shares


def _shares(tree: Tree, layout: Layout, kind: type[AdditiveNoise]) -> tuple[Fraction, ...]:
    """What each level gets: by Lagrange, the cube root (of a rho, the square root) of what its noise is worth."""
    inner = _sample_boundaries(tree.leaves, _BOUNDARIES)
    lo, hi = np.concatenate([0 * inner, inner]), np.concatenate([inner, 0 * inner + tree.leaves])
    shares = np.full(len(tree.widths), 1 / len(tree.widths))
    power = kind.power
    for _ in range(_ROUNDS):
        variances = _unit_variances(tree, layout, kind, shares.tolist())
        worth = tree.slopes(lo, hi, variances) * np.array(variances) * shares**power
        shares = np.maximum(worth, 0) ** (1 / (power + 1))
        shares = np.maximum(shares / shares.sum(), 1 / _FINE**2)
    parts = [max(int(level == 0), round(_FINE * share)) for level, share in enumerate(shares)]
    return tuple(Fraction(part, sum(parts)) for part in parts)


def _unit_variances(
    tree: Tree, layout: Layout, kind: type[AdditiveNoise], shares: Sequence[float]
) -> tuple[float, ...]:
    """The variance of each level's noise at the privacy cost of one."""
    units = [float(kind.unit_variance(layout.level(width))) for width in tree.widths]
    return tuple(unit / share**kind.power if share else math.inf for unit, share in zip(units, shares, strict=True))


@lru_cache(maxsize=1024)
def _contrast_margin(tree: Tree, noise: NoisyTree, share: Fraction, outside: Fraction) -> int:
    """The margin of (rows below) - q (all rows) at every boundary between steps; of very many steps, Chernoff's."""
    noises = [level for level in noise.levels if level is not None]
    if tree.leaves > _MOST_EXACT and all(each.is_subgaussian for each in noises):
        variances = _contrasts(tree, noise.variances, share, tree.leaves)
        return math.ceil(float(Sums.bounded(noises, variances, variances).chernoff(outside).max()))
    measured = [level for level, each in enumerate(noise.levels) if each is not None]
    weights, counts = tree.contrast_weights(float(share), noise.variances)
    sums = Sums.of(noises, [weights[level] for level in measured], [counts[level] for level in measured])
    found = sums.margins(1 - outside) if tree.leaves <= _MOST_EXACT else sums.chernoff(outside)
    return math.ceil(float(found.max()))


def _contrasts(tree: Tree, variances: Sequence[float], share: Fraction, most: int) -> Vector:
    """The variances of (rows below) - q (all rows), at boundaries between steps: from those of both sides and of all.

    It is (1-q) P - q S of the rows P below and S above, and 2 Cov(P, S) = Var(P + S) - Var P - Var S.
    """
    q = float(share)
    below, above, whole = _sides(tree, tuple(variances), most)
    return (1 - q) * below + q * above - q * (1 - q) * whole


@lru_cache(maxsize=64)
def _sides(tree: Tree, variances: tuple[float, ...], most: int) -> tuple[Vector, Vector, float]:
    """The variances of the rows below boundaries, of those above, and of all."""
    inner = _sample_boundaries(tree.leaves, most)
    below = tree.range_variances(0 * inner, inner, variances)
    above = tree.range_variances(inner, 0 * inner + tree.leaves, variances)
    return below, above, tree.range_variance(0, tree.leaves, variances)


def _sample_boundaries(steps: int, most: int) -> NDArray[np.int_]:
    """The boundaries between steps, or so many of them at equal distances."""
    return np.unique(np.linspace(1, steps - 1, min(steps - 1, most)).astype(np.int_))


def _beyond(deviation: float, room: float) -> float:
    """The mean of how far Gaussian noise goes beyond some room, on either side."""
    if not deviation:
        return 0.0
    far = room / deviation
    density = math.exp(-(far**2) / 2) / math.sqrt(2 * math.pi)
    return 2 * max(0.0, deviation * density - room * math.erfc(far / math.sqrt(2)) / 2)
