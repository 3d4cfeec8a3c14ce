"""The visits of a two-level table: which pairs of columns are measured, and the tree that fits them.

All columns of persons are one node of the tree: they are modelled already, and each column of visits has at most one
parent, which is a column of persons or of visits.
"""

import math
from collections.abc import Sequence
from fractions import Fraction
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from discreet.synthesis.core.domain import Columns
from discreet.synthesis.core.measurement import Floats, Measurement
from discreet.synthesis.core.model import CountEstimate, combine, estimate_of, project
from discreet.synthesis.core.private_counts import PrivateCounts
from discreet.synthesis.tree.choice import EdgeChoice, choose_edges, measure_edges, merged_counts, share_by_cells
from discreet.synthesis.tree.fitting import Groups, column_counts, fit_column, fit_table, merge_rare
from discreet.synthesis.tree.model import TreeColumn, TreeModel


class VisitShares(NamedTuple):
    """How the cost of visits is divided: for their columns, for choosing pairs; the rest is for the pairs."""

    columns: Fraction
    choice: Fraction


class VisitAnswers(NamedTuple):
    """What was measured of visits, and the merged slots of the pairs among it."""

    measurements: tuple[Measurement, ...]
    groups: Groups


def measure_visits(counts: PrivateCounts, persons: TreeModel, shares: VisitShares) -> VisitAnswers:
    """Measure the columns of visits, choose pairs privately, and measure these.

    Args:
        counts: The private counts of visits; all that is left of their cost is spent.
        persons: The persons, weighted by their numbers of visits.
        shares: How the cost is divided.

    Returns:
        The answers.
    """
    rho, total = counts.left, max(persons.total, 1.0)
    names: list[tuple[str]] = [(name,) for name in counts.domain.names if name not in persons.columns]
    costs = share_by_cells(counts.domain, names, shares.columns * rho)
    columns = [counts.measure(*each) for each in zip(names, costs, strict=True)]
    cost = shares.choice * rho
    sigma = math.sqrt(counts.contribution.l2_squared * len(names) / (2 * (counts.left - cost)))
    own, expected = column_counts(columns), {name: persons.marginal((name,)) for name in persons.columns}
    groups = {**merge_rare(own), **merge_rare({name: CountEstimate(each, sigma**2) for name, each in expected.items()})}
    expected |= {name: project(each.values, total) for name, each in own.items()}
    estimates = {name: merged_counts(each, groups[name]) for name, each in expected.items()}
    joined: tuple[Columns, ...] = tuple(pairwise(persons.columns))  # one node: no pair of them is offered
    merged = counts.merge(groups)
    edges = choose_edges(merged, EdgeChoice(estimates, total, sigma, cost, joined=joined))
    found = measure_edges(counts, merged, edges, [name for (name,) in names])
    return VisitAnswers((*columns, *found), groups)


def visit_total(measurements: Sequence[Measurement], persons: CountEstimate) -> float:
    """The number of visits: the mean of that of the persons and of all totals of visits, by inverse variances.

    Args:
        measurements: What was measured of visits.
        persons: The number of visits by the marginals of persons alone, with about its variance.

    Returns:
        The number.
    """
    return float(combine([persons, *(estimate_of(each, ()) for each in measurements)]).values)


def fit_visits(answers: VisitAnswers, persons: TreeModel, total: float) -> TreeModel:
    """The tree of visits with the columns of their persons.

    Args:
        answers: What was measured of visits.
        persons: The persons, weighted by their numbers of visits; their columns stay as they are.
        total: The estimated number of visits, at least 0.

    Returns:
        A tree that has the columns of persons first.
    """
    size, groups = max(total, 1.0), answers.groups
    pairs = [each for each in answers.measurements if len(each.columns) > 1]
    columns = dict(persons.columns)
    for name, own in column_counts(answers.measurements).items():
        columns[name] = fit_column(name, own, pairs, groups[name], size)
    tables = dict(persons.tables)
    for each in pairs:
        one, other = (columns[name] for name in each.columns)
        tables[each.columns] = _table(each.values / size, (one, other), groups[each.columns[0]])
    return TreeModel(total, columns, tables)


def _table(noisy: Floats, columns: Sequence[TreeColumn], groups: tuple[int, ...]) -> Floats:
    """The table of a pair; a column of persons was merged for it and is not in the tree, so its slots have shares."""
    one, other = columns
    if one.probabilities.size == noisy.shape[0]:
        return fit_table(noisy, one.probabilities, other.probabilities)
    places, merged = np.asarray(groups), merged_counts(one.probabilities, groups)
    table = fit_table(noisy, merged, other.probabilities)[places]
    shares = np.divide(one.probabilities, merged[places], out=np.zeros(places.size), where=merged[places] > 0)
    return np.asarray(table * shares[:, None], dtype=np.float64)
