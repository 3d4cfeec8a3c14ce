"""Missing cells as wildcards: which classes a class cannot be distinguished from.

Two classes are compatible if they agree in every column in which both have a value. Classes are compared pattern by
pattern: those with values in the same columns are matched with those of another pattern on the columns that both have.
The number of compatible pairs may grow with the square of the number of classes where many cells are missing. Sums over
them are differences of running sums, without the pairs; where pairs are needed they come in blocks of bounded size.
"""

import itertools
from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from discreet.anonymity.classes.base_groups import BaseGroups
from discreet.anonymity.classes.encoding import Integers, null_code
from discreet.anonymity.classes.keys import ClassKeys, pack, renumber

Pairs = tuple[Integers, Integers]
_MOST_PAIRS = 2**20
"""Pairs of a block, unless one class has more."""


def wildcard_sizes(groups: BaseGroups, names: Sequence[str]) -> Integers:
    """Number of people of the groups that are compatible with each class, in the order of the keys of the classes."""
    numbers, first = _numbered_classes(groups, names)
    people, classes = groups.people, len(first.rows)
    if people.persons is None:
        own = np.bincount(numbers, weights=people.counts, minlength=classes).astype(np.int64)  # below 2^53: exact
        return _sums(first, names, own)
    # people of one group are added up; only those of several may be counted twice
    has_several = np.bincount(people.persons, minlength=people.number)[people.persons] > 1
    sizes = _sums(first, names, np.bincount(numbers[~has_several], minlength=classes))
    for keys, index in reach(groups, names, has_several):
        found, number = groups.take(index).people.by(keys)
        sizes[found] += number
    return sizes


def reach(
    groups: BaseGroups, names: Sequence[str], is_source: NDArray[np.bool_] | None = None
) -> Iterator[tuple[ClassKeys, Integers]]:
    """Every class with every group that is compatible with it: the number of the class, and the index of the group.

    Classes are numbered in the order of their keys, and all pairs of a class are in one block, in that order. Where
    some groups are chosen, only they are reached.
    """
    numbers, first = _numbered_classes(groups, names)
    classes = len(first.rows)
    sources = np.arange(len(numbers)) if is_source is None else np.flatnonzero(is_source)
    order = sources[np.argsort(numbers[sources], kind="stable")]
    starts = np.searchsorted(numbers[order], np.arange(classes + 1))
    ends = np.cumsum(_sums(first, names, np.diff(starts)))
    cuts = np.flatnonzero(np.diff(ends // _MOST_PAIRS)) + 1
    bits = renumber(np.arange(classes))[1]
    for low, high in itertools.pairwise([0, *cuts.tolist(), classes]):
        parts = [
            (targets[which], found[position])
            for targets, found, low_end, high_end in _matches(first, names, low, high)
            for which, position in [_spread(low_end, high_end)]
        ]
        target, source = (np.concatenate([part[i] for part in parts] or [np.zeros(0, np.int64)]) for i in (0, 1))
        which, position = _spread(starts[source], starts[source + 1])
        yield ClassKeys(target[which], bits), order[position]


def _numbered_classes(groups: BaseGroups, names: Sequence[str]) -> tuple[Integers, BaseGroups]:
    """The number of the class of each group, and one group of each class."""
    numbers, _ = renumber(groups.keys(names).values)
    order = np.argsort(numbers, kind="stable")
    classes = int(numbers.max(initial=-1)) + 1
    return numbers, groups.take(order[np.searchsorted(numbers[order], np.arange(classes))])


def _sums(classes: BaseGroups, names: Sequence[str], weights: Integers) -> Integers:
    """For each class the sum of the weights of the classes that are compatible with it."""
    sums = np.zeros(len(weights), np.int64)
    for targets, sources, low, high in _matches(classes, names, 0, len(weights)):
        running = np.concatenate([np.zeros(1, np.int64), np.cumsum(weights[sources])])
        sums[targets] += running[high] - running[low]
    return sums


def _matches(
    classes: BaseGroups, names: Sequence[str], low: int, high: int
) -> Iterator[tuple[Integers, Integers, Integers, Integers]]:
    """Classes with a number in a range, other classes in an order, and the part of these that each is compatible with.

    One pair of patterns after another: the parts of several add up.
    """
    patterns = np.zeros(len(classes.rows), np.int64)
    for name in names:
        code = null_code(classes.values[name])
        patterns = 2 * patterns + (0 if code is None else classes.codes[name] == code)
    members = {int(each): np.flatnonzero(patterns == each) for each in np.unique(patterns)}
    for (one, every), (other, sources) in itertools.product(members.items(), repeat=2):
        targets = every[np.searchsorted(every, low) : np.searchsorted(every, high)]
        if len(targets):
            missing = one | other
            common = [name for i, name in enumerate(names) if not missing >> (len(names) - 1 - i) & 1]
            yield targets, *_match(classes, common, targets, sources)


def _match(
    classes: BaseGroups, common: Sequence[str], targets: Integers, sources: Integers
) -> tuple[Integers, Integers, Integers]:
    """The second list of classes in an order, and the range of it that agrees with each of the first."""
    both = np.concatenate([targets, sources])
    columns = [(classes.codes[name][both], len(classes.values[name])) for name in common]
    keys = pack(columns, len(both)).values
    wanted, found = keys[: len(targets)], keys[len(targets) :]
    order = np.argsort(found, kind="stable")
    low, high = (np.searchsorted(found[order], wanted, side) for side in ("left", "right"))
    return sources[order], low, high


def _spread(low: Integers, high: Integers) -> Pairs:
    """All integers of half-open ranges, each with the number of its range."""
    lengths = high - low
    which = np.repeat(np.arange(len(low)), lengths)
    ends = np.cumsum(lengths)
    return which, np.arange(len(which)) - (ends - lengths)[which] + low[which]
