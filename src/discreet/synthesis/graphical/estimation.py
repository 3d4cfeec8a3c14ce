"""Estimation: the distribution that fits noisy marginals best, in the exponential family of the measured columns.

It minimises half the squared error of each cell, divided by the variance of its noise, minus `entropy` times the
number of rows times the entropy of the distribution. With little entropy this is weighted least squares over all
distributions; more of it shrinks cells whose noise is large towards what the other marginals say. The dual problem is
smooth and concave in the potentials of the marginals. It is solved by L-BFGS with a diagonal preconditioner. Cells that
a rule forbids have no mass: a clique that holds the columns of the rule has the potential minus infinity there.

References
    McKenna, Sheldon and Miklau, Graphical-model based estimation and inference for differential privacy, ICML 2019,
    arXiv 1901.09136. Nocedal and Wright, Numerical Optimization, chapter 7 (L-BFGS).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from discreet.synthesis.core.domain import Columns, Domain
from discreet.synthesis.core.measurement import Floats
from discreet.synthesis.graphical.belief_propagation import Beliefs, calibrate
from discreet.synthesis.graphical.factors import expand, project
from discreet.synthesis.graphical.junction_tree import JunctionTree, junction_tree
from discreet.synthesis.rows.constraints import Allowed

Potentials = dict[Columns, Floats]
"""A table of logarithms for each measured marginal; their sum is the logarithm of the distribution, up to a number."""

Rules = Mapping[Columns, Allowed]
"""The cells of some columns that may have mass; all others are structural zeros."""

ENTROPY = 0.01
"""Weight of the entropy: a hundredth of what would be right for rows that are drawn from the model itself."""
MEMORY = 8
LEAST_STEP = 1e-6


class Target(NamedTuple):
    """Unbiased estimates of the counts of a marginal, with the variance of each cell."""

    values: Floats
    variance: Floats


class Fit(NamedTuple):
    """A distribution: its potentials, and the beliefs of its junction tree."""

    potentials: Potentials
    beliefs: Beliefs


@dataclass(frozen=True)
class _Point:
    """A place of the search: potentials in one line, the objective to be minimised, its slope, and the beliefs."""

    place: Floats
    value: float
    slope: Floats
    beliefs: Beliefs


def combine_targets(targets: Sequence[Target]) -> Target:
    """The mean of estimates of the same cells, weighted by the inverse of their variances."""
    weight = sum((1 / each.variance for each in targets), np.zeros(targets[0].values.shape))
    values = sum((each.values / each.variance for each in targets), np.zeros(targets[0].values.shape))
    return Target(values / weight, 1 / weight)


def fit(
    domain: Domain,
    targets: Mapping[Columns, Target],
    total: float,
    *,
    start: Mapping[Columns, Floats] | None = None,
    iterations: int = 100,
    tolerance: float = 1e-3,
    entropy: float = ENTROPY,
    rules: Rules | None = None,
) -> Fit:
    """The distribution that fits noisy marginals best.

    Args:
        domain: The columns and their slots.
        targets: The noisy marginals.
        total: The number of rows.
        start: Potentials to start from, for example of the round before.
        iterations: Most steps of the search.
        tolerance: The search ends when marginals are about this share of the rows from the optimum, in L1 norm.
        entropy: Weight of the entropy.
        rules: Cells that may have mass, by columns; all others have none. Some row keeps all rules. Default: none.

    Returns:
        The potentials and beliefs.
    """
    problem = _Problem(domain, targets, max(total, 1.0), entropy, rules or {})
    point = problem.point(problem.join(start or {}))
    scale = problem.preconditioner(point)
    memory: list[tuple[Floats, Floats]] = []
    for _ in range(iterations):
        if problem.distance(point, scale) < tolerance * problem.total:
            break
        step = -_direction(point.slope, memory, scale)
        found = _line_search(problem, point, step)
        if found is None:
            if not memory:
                break
            memory = []
            continue
        moved, bend = found.place - point.place, found.slope - point.slope
        if moved @ bend > 0:
            memory = [*memory[1 - MEMORY :], (moved, bend)]
        point = found
    return Fit(problem.split(point.place), point.beliefs)


class _Problem:
    """The dual objective with its slope, for potentials in one line."""

    def __init__(
        self, domain: Domain, targets: Mapping[Columns, Target], total: float, entropy: float, rules: Rules
    ) -> None:
        self.domain, self.total, self.rules = domain, total, rules
        self.tree: JunctionTree = junction_tree(domain, [*targets, *rules])
        self.names = sorted(targets, key=lambda columns: (-len(columns), -domain.cells(columns), columns))
        self.hosts = {columns: self._host(columns) for columns in self.names}
        self.values = np.concatenate([targets[columns].values.ravel() for columns in self.names])
        self.shrinkage = entropy * np.concatenate([targets[columns].variance.ravel() for columns in self.names])
        if rules:  # noisy counts of cells that never occur are noise alone
            possible = self._expected(calibrate(self.tree, self._clique_potentials(np.zeros(self.values.size)))) > 0
            self.values = np.where(possible, self.values, 0.0)

    def _host(self, columns: Columns) -> Columns | int:
        """The smallest other marginal that holds this one, or the place of the smallest clique."""
        larger = [other for other in self.names if set(columns) < set(other)]
        if larger:
            return min(larger, key=self.domain.cells)
        place = self.tree.place(columns)
        if place is None:
            raise ValueError("a marginal that no clique holds")
        return place

    def split(self, line: Floats) -> Potentials:
        ends = np.cumsum([self.domain.cells(columns) for columns in self.names])[:-1]
        parts = np.split(line, ends)
        return {
            columns: part.reshape(self.domain.shape(columns)) for columns, part in zip(self.names, parts, strict=True)
        }

    def join(self, potentials: Mapping[Columns, Floats]) -> Floats:
        zeros = {columns: np.zeros(self.domain.shape(columns)) for columns in self.names}
        return np.concatenate([potentials.get(columns, zeros[columns]).ravel() for columns in self.names])

    def point(self, line: Floats) -> _Point:
        beliefs = calibrate(self.tree, self._clique_potentials(line))
        expected = self.total * self._expected(beliefs)
        value = self.total * beliefs.log_partition - line @ self.values + (self.shrinkage * line) @ line / 2
        return _Point(line, float(value), expected - self.values + self.shrinkage * line, beliefs)

    def _clique_potentials(self, line: Floats) -> list[Floats]:
        return forbid(self.tree, clique_potentials(self.tree, self.split(line), self.hosts), self.rules)

    def _expected(self, beliefs: Beliefs) -> Floats:
        found: dict[Columns, Floats] = {}
        for columns in self.names:  # larger marginals stand before those that they hold
            host = self.hosts[columns]
            if isinstance(host, int):
                found[columns] = project(beliefs.marginals[host], self.tree.cliques[host], columns)
            else:
                found[columns] = project(found[host], host, columns)
        return np.concatenate([found[columns].ravel() for columns in self.names])

    def preconditioner(self, point: _Point) -> Floats:
        expected = point.slope + self.values - self.shrinkage * point.place
        return np.asarray(1 / (np.maximum(expected, 1e-2) + self.shrinkage))

    def distance(self, point: _Point, scale: Floats) -> float:
        """About how many rows the cells of a marginal are from the optimum: the step of a diagonal Newton method."""
        moved = np.abs(point.slope) * (1 - np.minimum(scale * self.shrinkage, 1 - 1e-3))
        return float(moved.sum()) / len(self.names)


def clique_potentials(
    tree: JunctionTree, potentials: Mapping[Columns, Floats], hosts: Mapping[Columns, Columns | int]
) -> list[Floats]:
    """The potentials of the cliques: each marginal is added to the marginal or clique that holds it."""
    cliques = [np.zeros(tree.domain.shape(clique)) for clique in tree.cliques]
    sums = dict(potentials)
    for columns in reversed(list(hosts)):  # smaller ones first
        host = hosts[columns]
        if isinstance(host, int):
            cliques[host] += expand(sums[columns], columns, tree.cliques[host])
        else:
            sums[host] = sums[host] + expand(sums[columns], columns, host)
    return cliques


def forbid(tree: JunctionTree, cliques: list[Floats], rules: Rules) -> list[Floats]:
    """Potentials of cliques that are minus infinity where a rule allows nothing: structural zeros."""
    for columns, allowed in rules.items():
        place = tree.place(columns)
        if place is None:
            raise ValueError("a rule that no clique holds")
        cliques[place] += expand(np.where(allowed, 0.0, -np.inf), columns, tree.cliques[place])
    return cliques


def beliefs_of(domain: Domain, potentials: Mapping[Columns, Floats], rules: Rules | None = None) -> Beliefs:
    """The beliefs of a distribution that is given by potentials of marginals, and by rules."""
    tree = junction_tree(domain, [*potentials, *(rules or {})])
    hosts = {columns: tree.place(columns) for columns in potentials}
    cliques = clique_potentials(tree, potentials, {name: at for name, at in hosts.items() if at is not None})
    return calibrate(tree, forbid(tree, cliques, rules or {}))


def _direction(slope: Floats, memory: list[tuple[Floats, Floats]], scale: Floats) -> Floats:
    """The slope times the approximate inverse of the second derivative, by the two loops of L-BFGS."""
    found, weights = slope.copy(), []
    for moved, bend in reversed(memory):
        weight = (moved @ found) / (moved @ bend)
        weights.append(weight)
        found -= weight * bend
    if memory:
        moved, bend = memory[-1]
        found *= scale * ((moved @ bend) / (bend @ (scale * bend)))
    else:
        found *= scale
    for (moved, bend), weight in zip(memory, reversed(weights), strict=True):
        found += (weight - (bend @ found) / (moved @ bend)) * moved
    return found


def _line_search(problem: _Problem, point: _Point, step: Floats) -> _Point | None:
    """The first of halving steps that descends enough, or None."""
    slope, length = float(point.slope @ step), 1.0
    while length > LEAST_STEP and slope < 0:
        found = problem.point(point.place + length * step)
        if found.value <= point.value + 1e-4 * length * slope:
            return found
        length /= 4
    return None
