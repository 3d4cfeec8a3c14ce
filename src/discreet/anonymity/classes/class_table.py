"""Class sizes: how many people each combination of values has, and how many people share each person's class."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from discreet.anonymity.classes.base_groups import BaseGroups
from discreet.anonymity.classes.compatible import wildcard_sizes
from discreet.anonymity.classes.encoding import Codes32, Integers
from discreet.anonymity.classes.keys import bits_of, first_of_runs, runs
from discreet.anonymity.classes.sensitive_table import SensitiveTable


@dataclass(frozen=True)
class ClassTable:
    """Classes of some columns, in the order of their keys.

    Attributes:
        keys: Key of each class.
        own: Number of people with a row in the class.
        sizes: Number of people whom a member cannot be distinguished from; other than `own` only for wildcards.
        persons: Pairs of the number of a class and the code of a person, where persons have several rows.
        people: Number of people.
    """

    keys: Integers
    own: Integers
    sizes: Integers
    persons: tuple[Integers, Integers] | None
    people: int

    @property
    def pairs(self) -> int:
        """Number of pairs of a person and a class of theirs."""
        return int(self.own.sum())

    @cached_property
    def histogram(self) -> tuple[Integers, Integers]:
        """Sizes in ascending order, and the number of classes of each."""
        if int(self.sizes.max(initial=0)) > 4 * len(self.sizes) + 1024:
            return runs(np.sort(self.sizes))
        numbers = np.bincount(self.sizes)
        found = np.flatnonzero(numbers)
        return found, numbers[found]

    @cached_property
    def pairs_by_size(self) -> tuple[Integers, Integers]:
        """Sizes in ascending order, and the number of pairs of a person and a class of theirs of that size."""
        if self.sizes is not self.own:
            return weighted_runs(self.sizes, self.own)
        sizes, number = self.histogram
        return sizes, sizes * number

    @cached_property
    def people_by_size(self) -> tuple[Integers, Integers]:
        """Sizes in ascending order, and the number of people whose smallest class has that size."""
        if self.persons is None:
            return self.pairs_by_size
        classes, persons = self.persons
        width = bits_of(int(self.sizes.max(initial=0)) + 1)
        both = np.sort(persons << width | self.sizes[classes])
        smallest = both[first_of_runs(both >> width)] & ((1 << width) - 1)
        return runs(np.sort(smallest))

    @property
    def alone(self) -> int:
        """Number of people who have a class of their own."""
        sizes, people = self.people_by_size
        return int(people[sizes == 1].sum())


def weighted_runs(values: Integers, weights: Integers) -> tuple[Integers, Integers]:
    """Distinct values in ascending order, and the sum of the weights of each."""
    if not len(values):
        return values, weights
    largest = int(values.max())
    if largest <= 4 * len(values) + 1024:  # sums of people stay below 2^53, so doubles hold them exactly
        sums = np.bincount(values, weights=weights).astype(np.int64)
        found = np.flatnonzero(sums)
        return found, sums[found]
    order = np.argsort(values)
    starts = np.flatnonzero(first_of_runs(values[order]))
    return values[order][starts], np.add.reduceat(weights[order], starts)


def classes_of(table: SensitiveTable) -> ClassTable:
    """The classes of a table of sensitive values, where each person has one row and one value."""
    keys = table.starts if table.classes is None else table.classes
    return ClassTable(keys, table.sums, table.sums, None, int(table.sums.sum()))


def class_table(groups: BaseGroups, names: Sequence[str], *, are_wildcards: bool = False) -> ClassTable:
    """The classes of groups by some columns."""
    keys, people = groups.keys(names), groups.people
    if people.persons is None:
        found, own = people.by(keys)
        members, number = None, int(people.counts.sum())
    else:
        each, persons = people.pairs(keys)
        found, own = runs(each)
        members = (np.cumsum(first_of_runs(each)) - 1, persons)
        number = distinct_persons(persons, people.number)
    sizes = wildcard_sizes(groups, names) if are_wildcards and groups.has_null(names).any() else own
    return ClassTable(found, own, sizes, members, number)


def distinct_persons(persons: Integers | Codes32, number: int) -> int:
    """Number of distinct codes of persons."""
    is_there = np.zeros(number, bool)
    is_there[persons] = True
    return int(is_there.sum())
