"""People by class and sensitive value: what diversity and closeness are measured on."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from discreet.anonymity.classes.base_groups import BaseGroups
from discreet.anonymity.classes.compatible import reach
from discreet.anonymity.classes.encoding import Integers, ranks
from discreet.anonymity.classes.keys import People, bits_of, first_of_runs, pack, run_lengths


@dataclass(frozen=True)
class SensitiveTable:
    """Counts of people by class and value, class after class, values in ascending order of rank or code.

    Attributes:
        starts: Position of the first value of each class.
        values: Rank or code of the value.
        counts: Number of people of the class with that value; at least 1.
        whole: Number of people of the table with each value.
        classes: Key of each class.
    """

    starts: Integers
    values: Integers
    counts: Integers
    whole: Integers
    classes: Integers | None = None

    @cached_property
    def sums(self) -> Integers:
        """The sum of the counts of each class."""
        return np.add.reduceat(self.counts, self.starts) if len(self.starts) else self.starts

    @cached_property
    def lengths(self) -> Integers:
        """Number of distinct values of each class."""
        return run_lengths(self.starts, len(self.counts))

    def part(self, classes: Integers) -> "SensitiveTable":
        """Some of the classes."""
        lengths = self.lengths[classes]
        ends = np.cumsum(lengths)
        index = np.arange(int(lengths.sum())) + np.repeat(self.starts[classes] - (ends - lengths), lengths)
        return SensitiveTable(ends - lengths, self.values[index], self.counts[index], self.whole)


def sensitive_table(
    groups: BaseGroups, quasi: Sequence[str], name: str, *, are_wildcards: bool = False
) -> SensitiveTable:
    """The counts of one sensitive column."""
    size = len(groups.values[name])
    codes = ranks(groups.values[name])[groups.codes[name]]
    whole = _whole(groups.people, codes, size)
    if are_wildcards and groups.has_null(quasi).any():
        keys, counts = _wildcard_counts(groups, quasi, codes, size)
    else:
        classes = groups.keys(quasi)
        keys, counts = groups.people.by(pack([(classes.values, 1 << classes.bits), (codes, size)], len(codes)))
    width = bits_of(size)
    values = keys & ((1 << width) - 1)
    keys >>= width
    starts = np.flatnonzero(first_of_runs(keys))
    if not whole.all():  # values of rows that were left out
        values = (np.cumsum(whole > 0) - 1)[values]
    return SensitiveTable(starts, values, counts, whole[whole > 0], keys[starts])


def _wildcard_counts(groups: BaseGroups, quasi: Sequence[str], codes: Integers, size: int) -> tuple[Integers, Integers]:
    """Keys of a class and a value with the people of all compatible classes; a class is in one block of pairs."""
    parts = [
        groups.take(index).people.by(pack([(classes.values, 1 << classes.bits), (codes[index], size)], len(index)))
        for classes, index in reach(groups, quasi)
    ]
    return np.concatenate([keys for keys, _ in parts]), np.concatenate([counts for _, counts in parts])


def _whole(people: People, codes: Integers, size: int) -> Integers:
    """Number of people with each value."""
    if people.persons is None:
        return np.bincount(codes, weights=people.counts, minlength=size).astype(np.int64)
    found, number = people.by(pack([(codes, size)], len(codes)))
    whole = np.zeros(size, np.int64)
    whole[found] = number
    return whole
