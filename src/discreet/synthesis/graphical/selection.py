"""Adaptive rounds: measure the marginal that the model describes worst, fit the model again, and so on.

All columns are measured first. Slots whose noisy count is small are merged, but not in columns with rules. In each
round the exponential mechanism chooses a marginal: the score is the L1 distance between counts and model, minus the L1
distance that noise alone would leave, times the weight of the marginal. Only marginals are candidates whose junction
tree keeps within the cell cap. If a measurement moves the model by less than its noise, fewer and larger rounds follow.
The last round spends the rest.

The cost goes through `PrivateCounts` alone; everything else is post-processing of noisy marginals.

References
    McKenna, Mullins, Sheldon and Miklau, AIM, VLDB 2022, arXiv 2201.12677.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np

from discreet.synthesis.core.cost_shares import cost_weight
from discreet.synthesis.core.domain import Columns, Domain
from discreet.synthesis.core.measurement import Floats, Measurement, estimated_total
from discreet.synthesis.core.merging import merged_slots
from discreet.synthesis.core.model import project
from discreet.synthesis.core.private_counts import Candidate, PrivateCounts
from discreet.synthesis.graphical.bounds import BoundTerms, MarginalBounds, merged_terms, round_terms, sum_terms
from discreet.synthesis.graphical.estimation import Fit, Rules, Target, combine_targets, fit
from discreet.synthesis.graphical.junction_tree import bridged_cells, tree_cells
from discreet.synthesis.graphical.model import GraphicalModel, SlotGroups

ONE_WAY_SHARE = Fraction(1, 5)
CHOICE_SHARE = Fraction(1, 10)
"""Shares of the cost: of all columns one by one, and of choices in the rest."""
ANNEALING = Fraction(3, 4)
"""What is left of the planned rounds after a round whose measurement moved the model by less than its noise."""
FIRST_CELLS = Fraction(1, 10)
"""Share of the cell cap that the first round may use; the share grows with the spent cost."""
MOST_COLUMNS_EXACT = 20
"""Columns up to which the junction tree of each candidate is computed; with more, its cells come from a bridge."""
COST_GRID = 1 << 96
MEAN_ABSOLUTE = math.sqrt(2 / math.pi)
"""Mean absolute value of a standard Gaussian."""


@dataclass(frozen=True)
class RoundsPlan:
    """The public parameters of adaptive rounds.

    Attributes:
        rounds: The rounds that are planned for; fewer follow where the model soon fits.
        max_cells: The cells that the junction tree may have at the end.
        weights: The weight of each candidate of several columns.
        rules: The cells that may have mass, by columns, whose slots are then not merged.
    """

    rounds: int
    max_cells: int
    weights: Mapping[Columns, int]
    rules: Rules = field(default_factory=dict, compare=False)


@dataclass(frozen=True, eq=False)
class AdaptiveResult:
    """What adaptive rounds give.

    Attributes:
        model: The model.
        one_way: The noisy columns, over all slots.
        rounds: The noisy marginals of the rounds, over merged slots.
        bounds: The bounds on the L1 errors of candidates.
    """

    model: GraphicalModel
    one_way: list[Measurement]
    rounds: list[Measurement]
    bounds: MarginalBounds


@dataclass(eq=False)
class _State:
    """The model between rounds, over merged slots."""

    domain: Domain
    total: float
    targets: dict[Columns, Target]
    fit: Fit
    budget: Fraction
    rounds_left: Fraction
    rules: Rules
    rounds: list[Measurement] = field(default_factory=list)
    last_bounds: dict[Columns, tuple[Candidate, BoundTerms]] = field(default_factory=dict)

    def refit(self, *, iterations: int = 30, tolerance: float = 3e-3) -> None:
        start = self.fit.potentials
        words: dict[str, Any] = {"iterations": iterations, "tolerance": tolerance, "rules": self.rules}
        self.fit = fit(self.domain, self.targets, self.total, start=start, **words)

    def learn(self, measurements: list[Measurement]) -> None:
        for each in measurements:
            values = each.values.astype(np.float64)
            found = Target(values, np.full(values.shape, each.sigma**2))
            known = self.targets.get(each.columns)
            self.targets[each.columns] = combine_targets([known, found]) if known else found
        self.rounds += measurements
        self.refit()

    def estimates(self, wanted: list[Columns]) -> dict[Columns, Floats]:
        beliefs = self.fit.beliefs
        found = beliefs.pairs([columns for columns in wanted if len(columns) == 2])
        found |= {columns: beliefs.marginal(columns) for columns in wanted if len(columns) != 2}
        return {columns: self.total * table for columns, table in found.items()}


def adaptive_rounds(counts: PrivateCounts, plan: RoundsPlan) -> AdaptiveResult:
    """A graphical model from noisy marginals that are chosen one after another; it spends all that is left.

    Args:
        counts: The private counts of all columns and candidates.
        plan: The public parameters.

    Returns:
        The model, with what it was made of.
    """
    one_way = measure_columns(counts, one_way_cost(plan, counts.left))
    total = max(estimated_total(one_way), 1.0)
    ruled = {name for columns in plan.rules for name in columns}
    free = [each for each in one_way if each.columns[0] not in ruled]
    groups = {each.columns[0]: found for each in free if (found := merge_small(each, total))}
    merged = counts.merge({name: each.groups for name, each in groups.items()})
    targets = {each.columns: _merged_target(each, groups) for each in one_way}
    state = _State(
        merged.domain,
        total,
        targets,
        fit(merged.domain, targets, total, rules=plan.rules),
        counts.left,
        Fraction(plan.rounds),
        plan.rules,
    )
    while plan.weights and not _is_spent(merged, state):
        names = _allowed(plan, state, 1 - counts.left / state.budget)
        if names:
            _round(merged, plan, state, names)
        else:
            state.learn(measure_columns(merged, merged.left))
    state.refit(iterations=100, tolerance=6e-4)
    model = GraphicalModel(counts.domain, total, groups, state.fit.potentials, plan.rules)
    return AdaptiveResult(model, one_way, state.rounds, _bounds(plan, state, one_way, groups))


def measure_columns(counts: PrivateCounts, rho: Fraction) -> list[Measurement]:
    """All columns one by one; the cost of each minimises the sum of the expected L1 errors."""
    return [counts.measure((name,), cost) for name, cost in column_costs(counts.domain, rho).items()]


def one_way_cost(plan: RoundsPlan, rho: Fraction) -> Fraction:
    """The part of the cost that measures all columns one by one; all of it where nothing is chosen then."""
    return rho * ONE_WAY_SHARE if plan.weights else rho


def column_costs(domain: Domain, rho: Fraction) -> dict[str, Fraction]:
    """The cost of each column, which minimises the sum of the expected L1 errors; public in advance."""
    sizes = {name: cost_weight(size) for name, size in domain.slots.items()}
    return {name: _on_grid(rho * size / sum(sizes.values())) for name, size in sizes.items()}


def merge_small(measurement: Measurement, total: float) -> SlotGroups | None:
    """The slots of a column where those with small noisy counts are one group; None if there is nothing to merge."""
    values = measurement.values.astype(np.float64)
    groups = np.asarray(merged_slots(values, measurement.sigma))
    if groups.max() + 1 == groups.size:
        return None
    positive = project(values, total)
    sums, sizes = np.bincount(groups, weights=positive)[groups], np.bincount(groups)[groups]
    shares = np.where(sums > 0, positive / np.where(sums > 0, sums, 1.0), 1 / sizes)
    return SlotGroups(tuple(groups.tolist()), tuple(shares.tolist()))


def _merged_target(measurement: Measurement, groups: Mapping[str, SlotGroups]) -> Target:
    values, variance = measurement.values.astype(np.float64), np.full(measurement.values.shape, measurement.sigma**2)
    own = groups.get(measurement.columns[0])
    if own is None:
        return Target(values, variance)
    sums, variances = (np.bincount(own.groups, weights=each).astype(np.float64) for each in (values, variance))
    return Target(sums, variances)


def _round(counts: PrivateCounts, plan: RoundsPlan, state: _State, names: list[Columns]) -> None:
    """One round: choose, measure, fit."""
    per_round = counts.left / max(state.rounds_left, Fraction(1))
    before = state.estimates(names)
    mean = sum(cost_weight(state.domain.cells(each)) for each in plan.weights) / len(plan.weights)
    costs = {
        each: per_round * (1 - CHOICE_SHARE) * Fraction(cost_weight(state.domain.cells(each)) / mean) for each in names
    }
    candidates = [_candidate(each, before[each], plan.weights[each], _sigma(counts, costs[each])) for each in names]
    choice = _on_grid(per_round * CHOICE_SHARE)
    place = counts.select(candidates, choice)
    columns = names[place]
    is_last = state.rounds_left <= 1 or costs[columns] > counts.left * Fraction(4, 5)
    measurement = counts.measure(columns, counts.left if is_last else _on_grid(costs[columns]))
    terms = round_terms(candidates, place, measurement, math.sqrt(8 * choice), counts.contribution.l1)
    state.last_bounds |= {each.columns: (each, found) for each, found in zip(candidates, terms, strict=True)}
    state.learn([measurement])
    state.rounds_left -= 1
    moved = np.abs(state.total * state.fit.beliefs.marginal(columns) - before[columns]).sum()
    if moved <= MEAN_ABSOLUTE * measurement.sigma * measurement.values.size:
        state.rounds_left = max(state.rounds_left * ANNEALING, Fraction(1))


def _bounds(
    plan: RoundsPlan, state: _State, one_way: list[Measurement], groups: Mapping[str, SlotGroups]
) -> MarginalBounds:
    """The bounds of the last round that a marginal was a candidate in, with what the model moved since."""
    found: dict[Columns, BoundTerms] = {}
    merged = {
        each.columns[0]: merged_terms(each, groups[each.columns[0]].groups)
        for each in one_way
        if each.columns[0] in groups
    }
    final = state.estimates(list(state.last_bounds))
    for columns, (candidate, terms) in state.last_bounds.items():
        moved = float(np.abs(candidate.estimate - final[columns]).sum())
        parts = [terms, BoundTerms(moved, 0.0, 0.0), *(merged[name] for name in columns if name in merged)]
        found[columns] = sum_terms(parts)
    return MarginalBounds(2 * plan.rounds + len(merged), found)


def _allowed(plan: RoundsPlan, state: _State, spent: Fraction) -> list[Columns]:
    """The candidates whose junction tree keeps within the cells of this round; those in a clique always do."""
    most = plan.max_cells * (FIRST_CELLS + (1 - FIRST_CELLS) * spent)
    tree, known = state.fit.beliefs.tree, [*state.targets, *plan.rules]
    is_wide = len(state.domain.slots) > MOST_COLUMNS_EXACT

    def cells(columns: Columns) -> int:
        if is_wide and len(columns) == 2:
            return bridged_cells(tree, columns)
        return tree_cells(state.domain, [*known, columns])

    return [columns for columns in plan.weights if tree.place(columns) is not None or cells(columns) <= most]


def _candidate(columns: Columns, estimate: Floats, weight: int, sigma: float) -> Candidate:
    penalty = weight * MEAN_ABSOLUTE * sigma * estimate.size
    return Candidate(columns, np.rint(estimate).astype(np.int64), weight, round(penalty))


def _sigma(counts: PrivateCounts, rho: Fraction) -> float:
    """About the standard deviation of the noise of a measurement at a cost."""
    return math.sqrt(counts.contribution.l2_squared / (2 * float(rho)))


def _is_spent(counts: PrivateCounts, state: _State) -> bool:
    return counts.left < state.budget / 10_000


def _on_grid(rho: Fraction) -> Fraction:
    """A cost on a grid, rounded down: a fraction with a short denominator."""
    return Fraction(int(rho * COST_GRID), COST_GRID)
