"""Missing cells as wildcards: which classes a class cannot be distinguished from.

Two classes are compatible if they agree in every column in which both have a value. Classes are compared pattern by
pattern: those with values in the same columns are matched with those of another pattern on the columns that both have.
The number of compatible pairs may grow with the square of the number of classes where many cells are missing.
"""

import itertools
from collections.abc import Iterator, Sequence

import numpy as np

from discreet.anonymity.classes.base_groups import BaseGroups
from discreet.anonymity.classes.encoding import Integers, null_code
from discreet.anonymity.classes.keys import ClassKeys, pack, renumber

Pairs = tuple[Integers, Integers]


def reach(groups: BaseGroups, names: Sequence[str]) -> tuple[ClassKeys, Integers]:
    """Every class with every group that is compatible with it: the number of the class, and the index of the group.

    Classes are numbered in the order of their keys.
    """
    numbers, bits = renumber(groups.keys(names).values)
    order = np.argsort(numbers, kind="stable")
    classes = int(numbers.max(initial=-1)) + 1
    starts = np.searchsorted(numbers[order], np.arange(classes + 1))
    first = groups.take(order[starts[:-1]])
    parts = list(_compatible_classes(first, names))
    target, source = (np.concatenate([part[i] for part in parts] or [np.zeros(0, np.int64)]) for i in (0, 1))
    which, position = _spread(starts[source], starts[source + 1])
    return ClassKeys(target[which], bits), order[position]


def _compatible_classes(classes: BaseGroups, names: Sequence[str]) -> Iterator[Pairs]:
    """Pairs of compatible classes, by their numbers."""
    patterns = np.zeros(len(classes.rows), np.int64)
    for name in names:
        code = null_code(classes.values[name])
        patterns = 2 * patterns + (0 if code is None else classes.codes[name] == code)
    members = {int(each): np.flatnonzero(patterns == each) for each in np.unique(patterns)}
    for (one, targets), (other, sources) in itertools.product(members.items(), repeat=2):
        missing = one | other
        common = [name for i, name in enumerate(names) if not missing >> (len(names) - 1 - i) & 1]
        yield _match(classes, common, targets, sources)


def _match(classes: BaseGroups, common: Sequence[str], targets: Integers, sources: Integers) -> Pairs:
    """Pairs of the two lists of classes that agree in the common columns."""
    both = np.concatenate([targets, sources])
    columns = [(classes.codes[name][both], len(classes.values[name])) for name in common]
    keys = pack(columns, len(both)).values
    wanted, found = keys[: len(targets)], keys[len(targets) :]
    order = np.argsort(found, kind="stable")
    low, high = (np.searchsorted(found[order], wanted, side) for side in ("left", "right"))
    which, position = _spread(low, high)
    return targets[which], sources[order[position]]


def _spread(low: Integers, high: Integers) -> Pairs:
    """All integers of half-open ranges, each with the number of its range."""
    lengths = high - low
    which = np.repeat(np.arange(len(low)), lengths)
    ends = np.cumsum(lengths)
    return which, np.arange(len(which)) - (ends - lengths)[which] + low[which]
