"""Missing cells as wildcards: which classes a class cannot be distinguished from.

Two classes are compatible if they agree in every column in which both have a value. Classes are compared pattern by
pattern: those with values in the same columns are matched with those of another pattern on the columns that both have.
The number of compatible pairs may grow with the square of the number of classes where many cells are missing. Where
each person has one row, people are added up without the pairs.
"""

import itertools
from collections.abc import Iterator, Sequence

import numpy as np

from discreet.anonymity.classes.base_groups import BaseGroups
from discreet.anonymity.classes.encoding import Integers, null_code
from discreet.anonymity.classes.keys import ClassKeys, bits_of, first_of_runs, pack

Pairs = tuple[Integers, Integers]


def reach(groups: BaseGroups, names: Sequence[str]) -> tuple[ClassKeys, Integers]:
    """Every class with every group that is compatible with it: the number of the class, and the index of the group.

    Classes are numbered in the order of their keys.
    """
    order, starts = _runs_of_classes(groups, names)
    bits = bits_of(len(starts) - 1)
    parts = [_match(*found) for found in _patterns(groups.take(order[starts[:-1]]), names)]
    target, source = (np.concatenate([part[i] for part in parts] or [np.zeros(0, np.int64)]) for i in (0, 1))
    which, position = _spread(starts[source], starts[source + 1])
    return ClassKeys(target[which], bits), order[position]


def compatible_people(groups: BaseGroups, names: Sequence[str]) -> Integers:
    """Number of people in the classes that each class is compatible with, where each person has one row.

    Classes are in the order of their keys.
    """
    order, starts = _runs_of_classes(groups, names)
    own = np.add.reduceat(groups.people.counts[order], starts[:-1])
    sizes = np.zeros(len(own), np.int64)
    for classes, common, targets, sources in _patterns(groups.take(order[starts[:-1]]), names):
        in_order, low, high = _ranges(classes, common, targets, sources)
        sums = np.append(0, np.cumsum(own[sources[in_order]]))
        sizes[targets] += sums[high] - sums[low]
    return sizes


def _runs_of_classes(groups: BaseGroups, names: Sequence[str]) -> Pairs:
    """Groups in the order of their classes, and where each class starts; the last start is the end."""
    keys = groups.keys(names).values
    order = np.argsort(keys, kind="stable")
    return order, np.append(np.flatnonzero(first_of_runs(keys[order])), len(keys))


def _patterns(
    classes: BaseGroups, names: Sequence[str]
) -> Iterator[tuple[BaseGroups, Sequence[str], Integers, Integers]]:
    """Classes of two patterns of missing cells, by their numbers, with the columns in which both have values."""
    patterns = np.zeros(len(classes.rows), np.int64)
    for name in names:
        code = null_code(classes.values[name])
        patterns = 2 * patterns + (0 if code is None else classes.codes[name] == code)
    members = {int(each): np.flatnonzero(patterns == each) for each in np.unique(patterns)}
    for (one, targets), (other, sources) in itertools.product(members.items(), repeat=2):
        missing = one | other
        common = [name for i, name in enumerate(names) if not missing >> (len(names) - 1 - i) & 1]
        yield classes, common, targets, sources


def _match(classes: BaseGroups, common: Sequence[str], targets: Integers, sources: Integers) -> Pairs:
    """Pairs of the two lists of classes that agree in the common columns."""
    order, low, high = _ranges(classes, common, targets, sources)
    which, position = _spread(low, high)
    return targets[which], sources[order[position]]


def _ranges(
    classes: BaseGroups, common: Sequence[str], targets: Integers, sources: Integers
) -> tuple[Integers, Integers, Integers]:
    """An order of the sources, and for each target the range in it that agrees with the target."""
    both = np.concatenate([targets, sources])
    columns = [(classes.codes[name][both], len(classes.values[name])) for name in common]
    keys = pack(columns, len(both)).values
    wanted, found = keys[: len(targets)], keys[len(targets) :]
    order = np.argsort(found, kind="stable")
    in_order = found[order]
    return order, np.searchsorted(in_order, wanted, "left"), np.searchsorted(in_order, wanted, "right")


def _spread(low: Integers, high: Integers) -> Pairs:
    """All integers of half-open ranges, each with the number of its range."""
    lengths = high - low
    which = np.repeat(np.arange(len(low)), lengths)
    ends = np.cumsum(lengths)
    return which, np.arange(len(which)) - (ends - lengths)[which] + low[which]
