"""The edges of the tree, chosen privately one after another: a maximum spanning tree by the exponential mechanism.

The score of a pair of columns is the L1 distance of its counts to the product of the one-way estimates, less a part of
the noise that measuring it would add, times the public weight of the pair. A pair of weight 0 stands for no further
edge.
"""

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import NamedTuple

import numpy as np

from discreet.synthesis.core.cost_shares import cost_weight
from discreet.synthesis.core.domain import Columns, Domain
from discreet.synthesis.core.measurement import Floats, Integers, Measurement
from discreet.synthesis.core.private_counts import LARGEST_COUNT, Candidate, PrivateCounts

NOISE_SHARE = 0.5
"""The part of the expected noise of a table that counts against it; fitting removes the rest."""

WANTED_WEIGHT = 4
"""The weight of a marginal of the workload; others have 1."""


class EdgeChoice(NamedTuple):
    """What the choice of edges rests on; all of it public.

    Attributes:
        estimates: Estimated counts of the slots of each column.
        total: The estimated number of rows.
        sigma: The expected noise of a cell of an edge.
        rho: The cost of all choices together.
        required: Pairs that are edges without a choice, because a constraint is about them.
        wanted: The pairs of the workload, which weigh more.
        joined: Pairs that are linked already and are no edges, because a model of them is known.
    """

    estimates: Mapping[str, Floats]
    total: float
    sigma: float
    rho: Fraction
    required: tuple[Columns, ...] = ()
    wanted: frozenset[Columns] = frozenset()
    joined: tuple[Columns, ...] = ()


def choose_edges(counts: PrivateCounts, choice: EdgeChoice) -> tuple[Columns, ...]:
    """The edges of a forest.

    Args:
        counts: The counts of all pairs that may be edges.
        choice: What the choice rests on.

    Returns:
        The edges: those that are required, and then the chosen ones. None closes a cycle.
    """
    pairs = [columns for columns in counts.candidates if len(columns) == 2]
    candidates = {pair: _candidate(pair, choice) for pair in pairs}
    tree = {name: name for name in counts.domain.names}
    edges = list(choice.required)
    for pair in (*choice.joined, *edges):
        tree = _join(tree, pair)
    rounds = len(tree) - 1 - len(choice.joined) - len(edges)
    for _ in range(rounds):
        possible = [pair for pair in pairs if tree[pair[0]] != tree[pair[1]]]
        if not possible:
            break
        offered = [candidates[pair] for pair in possible]
        place = counts.select([*offered, _nothing(offered[0])], choice.rho / rounds)
        if place == len(possible):
            break
        edges.append(possible[place])
        tree = _join(tree, possible[place])
    return tuple(edges)


def _join(tree: Mapping[str, str], pair: Columns) -> dict[str, str]:
    old, new = tree[pair[1]], tree[pair[0]]
    return {name: new if root == old else root for name, root in tree.items()}


def share_by_cells(
    domain: Domain, marginals: Sequence[Columns], rho: Fraction, wanted: frozenset[Columns] = frozenset()
) -> tuple[Fraction, ...]:
    """The cost of each marginal: the sum of all L1 errors is least where costs grow as cells to the power of 2/3.

    Errors of marginals of the workload count as often as their weight says.

    Args:
        domain: The columns and their slots.
        marginals: The columns of each marginal.
        rho: The cost of all together.
        wanted: The marginals of the workload. Default: none.

    Returns:
        The costs, which add to rho.
    """
    errors = [domain.cells(each) * (WANTED_WEIGHT if each in wanted else 1) for each in marginals]
    weights = [cost_weight(each) for each in errors]
    return tuple(rho * weight / sum(weights) for weight in weights)


def measure_edges(
    counts: PrivateCounts,
    merged: PrivateCounts,
    edges: Sequence[Columns],
    names: Sequence[str],
    wanted: frozenset[Columns] = frozenset(),
) -> list[Measurement]:
    """The marginals of edges over merged slots, and columns without an edge once more, for all that is left.

    Args:
        counts: The counts, over all slots.
        merged: The same counts over merged slots.
        edges: The edges.
        names: The columns that are measured again if they have no edge.
        wanted: The marginals of the workload. Default: none.

    Returns:
        The marginals of the edges, and then those of columns.
    """
    ends = {name for edge in edges for name in edge}
    alone: list[Columns] = [(name,) for name in names if name not in ends]
    costs = share_by_cells(merged.domain, [*edges, *alone], counts.left, wanted)
    views = [merged] * len(edges) + [counts] * len(alone)
    return [view.measure(each, cost) for view, each, cost in zip(views, [*edges, *alone], costs, strict=True)]


def merged_counts(values: Floats, groups: tuple[int, ...]) -> Floats:
    """The counts of groups of slots."""
    return np.bincount(np.asarray(groups), weights=values).astype(np.float64)


def whole_numbers(values: Floats) -> Integers:
    """Estimates in whole numbers, as a private choice needs them."""
    return np.rint(np.clip(values, -LARGEST_COUNT, LARGEST_COUNT)).astype(np.int64)


def _candidate(pair: Columns, choice: EdgeChoice) -> Candidate:
    one, other = (choice.estimates[name] for name in pair)
    product = np.outer(one, other) / max(choice.total, 1.0)
    # A fitted table has no negative cell, so noise moves a cell of few rows by little more than those.
    noise = NOISE_SHARE * np.minimum(np.sqrt(2 / np.pi) * choice.sigma, product).sum()
    weight = WANTED_WEIGHT if pair in choice.wanted else 1
    return Candidate(pair, whole_numbers(product), weight, weight * int(noise))


def _nothing(like: Candidate) -> Candidate:
    """No further edge: the score is 0 for every table."""
    return like._replace(weight=0, penalty=0)
