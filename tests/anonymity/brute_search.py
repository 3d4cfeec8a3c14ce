"""Oracle of `dp.anonymity.search`: every node of the lattice, every class in dicts, every loss by its definition."""

import itertools
import math
from collections import Counter
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import brute
import numpy as np
import pyarrow as pa

from discreet.anonymity.generalisation.levels import GeneralisationLevels

Node = tuple[int, ...]


@dataclass(frozen=True)
class Halves:
    """A hierarchy of a fixed list of values: at level i, 2^i neighbours are one; at the top all are."""

    universe: tuple[Any, ...]
    height: int

    def general(self, value: Any, level: int) -> Hashable:
        """What a value becomes."""
        if level == 0:
            return ("value", brute.plain(value))
        return ("all",) if level == self.height else (level, self.place(value) >> level)

    def place(self, value: Any) -> int:
        """The position of a value; a missing one is first."""
        plain = [brute.plain(each) for each in self.universe]
        return 0 if brute.is_null(value) else 1 + plain.index(brute.plain(value))

    def levels(self, values: pa.Array) -> GeneralisationLevels:
        """The same for the library."""
        cells = values.to_pylist()
        codes, labels = [], []
        for level in range(self.height + 1):
            groups = [self.general(value, level) for value in cells]
            distinct = list(dict.fromkeys(groups))
            codes.append(np.array([distinct.index(group) for group in groups], dtype=np.int64))
            labels.append(tuple(str(group) for group in distinct))
        return GeneralisationLevels(tuple(codes), tuple(labels))


@dataclass
class NodeOutcome:
    """A node that meets the requirement."""

    node: Node
    suppressed: int
    classes: int
    k: int | None
    losses: dict[str, Fraction | float]


def outcomes(
    rows: Sequence[Mapping[str, Any]],
    hierarchies: Mapping[str, Halves],
    *,
    k: int,
    suppression: Fraction,
    l: int | None = None,  # noqa: E741
    t: Fraction | None = None,
    sensitive: str | None = None,
    is_ordered: bool = False,
    person: str | None = None,
) -> tuple[int, list[NodeOutcome]]:
    """The number of nodes that k admits, and all nodes that meet the whole requirement."""
    persons = brute.persons_of(rows, person)
    limit = math.floor(suppression * len(set(persons)))
    by_k, found = 0, []
    for node in itertools.product(*(range(each.height + 1) for each in hierarchies.values())):
        members: dict[Hashable, list[int]] = {}
        for i, row in enumerate(rows):
            pairs = zip(hierarchies.items(), node, strict=True)
            key = tuple(each.general(row[name], level) for (name, each), level in pairs)
            members.setdefault(key, []).append(i)
        small = [each for each in members.values() if len({persons[i] for i in each}) < k]
        if len(_people(small, persons)) > limit:
            continue
        by_k += 1
        failing = [each for each in members.values() if _fails(rows, each, persons, k, l, t, sensitive, is_ordered)]
        if len(_people(failing, persons)) <= limit:
            published = [each for each in members.values() if each not in failing]
            found.append(_outcome(rows, hierarchies, node, published, failing, persons))
    return by_k, found


def _people(classes: Sequence[Sequence[int]], persons: Sequence[Hashable]) -> set[Hashable]:
    return {persons[i] for each in classes for i in each}


def _counts(rows: Sequence[Mapping[str, Any]], members: Sequence[int], persons: Any, name: str) -> brute.Table:
    people: dict[Hashable, set[Hashable]] = {}
    for i in members:
        people.setdefault(brute.plain(rows[i][name]), set()).add(persons[i])
    return {value: len(each) for value, each in people.items()}


def _fails(
    rows: Sequence[Mapping[str, Any]],
    members: Sequence[int],
    persons: Sequence[Hashable],
    k: int,
    l: int | None,  # noqa: E741
    t: Fraction | None,
    sensitive: str | None,
    is_ordered: bool,
) -> bool:
    if len({persons[i] for i in members}) < k:
        return True
    if sensitive is None:
        return False
    part = _counts(rows, members, persons, sensitive)
    whole = _counts(rows, range(len(rows)), persons, sensitive)
    return (l is not None and len(part) < l) or (
        t is not None and brute.distance(part, whole, is_ordered=is_ordered) > t
    )


def _outcome(
    rows: Sequence[Mapping[str, Any]],
    hierarchies: Mapping[str, Halves],
    node: Node,
    published: Sequence[Sequence[int]],
    failing: Sequence[Sequence[int]],
    persons: Sequence[Hashable],
) -> NodeOutcome:
    everyone, suppressed = len(set(persons)), len(_people(failing, persons))
    sizes = [len({persons[i] for i in each}) for each in published]
    lost = {i for each in failing for i in each}
    bits = []
    for (name, hierarchy), level in zip(hierarchies.items(), node, strict=True):
        values = Counter(brute.plain(row[name]) for row in rows)
        groups = Counter(hierarchy.general(row[name], level) for row in rows)
        for i, row in enumerate(rows):
            group = len(rows) if i in lost else groups[hierarchy.general(row[name], level)]
            bits.append(math.log2(group / values[brute.plain(row[name])]))
    return NodeOutcome(
        node,
        suppressed,
        len(published),
        min(sizes, default=None),
        {
            "discernibility": Fraction(sum(size**2 for size in sizes) + everyone * suppressed),
            "average_class_size": Fraction(sum(sizes) + suppressed, max(1, len(sizes) + (suppressed > 0))),
            "non_uniform_entropy": math.fsum(bits),
        },
    )
