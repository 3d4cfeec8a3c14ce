"""Exposure: how many people are alone as an attacker knows one column after another, from one count cube.

All figures are integers. A person with several rows belongs to every class that one of them falls in, and is alone if
one of those classes has nobody else.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from discreet.anonymity.classes.cube import Codes, Cube
from discreet.anonymity.classes.keys import ClassKeys, People, first_of_runs, pack, renumber, runs


@dataclass(frozen=True)
class ClassCounts:
    """The classes of some columns.

    Attributes:
        people: Number of people.
        pairs: Number of pairs of a person and a class; `people` where each person has one row.
        classes: Number of classes.
        k: Number of people in the smallest class; 0 without people.
        unique_people: Number of people who are alone in a class.
        sizes: Pairs of a size and the number of classes that have it, ascending.
        people_by_size: Pairs of a size and the number of people whose smallest class has it, ascending. Each person is
            counted once, however many classes they are in.
        marketer: Expected share of people who are matched with the right row.
    """

    people: int
    pairs: int
    classes: int
    k: int
    unique_people: int
    sizes: tuple[tuple[int, int], ...]
    people_by_size: tuple[tuple[int, int], ...]
    marketer: Fraction

    @property
    def unique_share(self) -> Fraction:
        """Share of people who are alone in a class."""
        return share(self.unique_people, self.people)

    @property
    def prosecutor(self) -> Fraction:
        """Highest chance that a known person is matched with the right row: 1/k."""
        return share(1, self.k)


@dataclass(frozen=True)
class KnownColumns:
    """The classes when an attacker knows these columns.

    Attributes:
        columns: The columns.
        counts: Their classes.
    """

    columns: tuple[str, ...]
    counts: ClassCounts


@dataclass(frozen=True)
class ColumnExposure:
    """What one column adds.

    Attributes:
        name: The column.
        distinct: Number of its values; a missing value is one.
        alone: Number of people who are alone by this column.
        without: Number of people who are alone by all other columns; None where there are none.
    """

    name: str
    distinct: int
    alone: int
    without: int | None


@dataclass(frozen=True)
class SensitiveExposure:
    """What an attacker learns about a sensitive column without a doubt.

    All values of a person are learned in a class where everybody has the same values. Somebody who is alone in a class
    is such a case, with any number of rows and values.

    Attributes:
        name: The column.
        distinct: Number of its values.
        least: Number of values in the class with the fewest: distinct l.
        closeness: Largest distance between the values of a class and those of the table: t.
        classes: Number of classes in which everybody has the same values; None where missing cells are wildcards.
        people: Number of people in such a class; None where missing cells are wildcards.
        sharing: Number of people in such a class who are not alone in it; None where missing cells are wildcards.
    """

    name: str
    distinct: int
    least: int
    closeness: Fraction
    classes: int | None
    people: int | None
    sharing: int | None


@dataclass(frozen=True)
class _Classes:
    """The class of each row of the cube, sizes of classes, and pairs of a class and a person."""

    of_row: Codes
    sizes: Codes
    pair_class: Codes
    pair_person: Codes | None


def class_counts(cube: Cube, columns: Sequence[str]) -> ClassCounts:
    """The classes of some columns of a cube."""
    classes = _classes(cube, columns)
    return ClassCounts(
        people=cube.total,
        pairs=int(classes.sizes.sum()),
        classes=len(classes.sizes),
        k=int(classes.sizes.min(initial=np.iinfo(np.int64).max)) if len(classes.sizes) else 0,
        unique_people=_people_in(classes, classes.sizes == 1),
        sizes=_histogram(classes.sizes),
        people_by_size=_people_by_size(classes, cube.total),
        marketer=share(len(classes.sizes), int(classes.sizes.sum())),
    )


def growth(cube: Cube) -> tuple[KnownColumns, ...]:
    """The classes of the first column, of the first two, and so on."""
    prefixes = (cube.quasi[: place + 1] for place in range(len(cube.quasi)))
    return tuple(KnownColumns(columns, class_counts(cube, columns)) for columns in prefixes)


def column_exposures(cube: Cube) -> tuple[ColumnExposure, ...]:
    """What each column adds, the most revealing first: the fewer are alone without it, the more it reveals."""
    found = []
    for name in cube.quasi:
        others = [other for other in cube.quasi if other != name]
        without = class_counts(cube, others).unique_people if others else None
        alone = class_counts(cube, [name])
        found.append(ColumnExposure(name, alone.classes, alone.unique_people, without))
    return tuple(sorted(found, key=lambda each: (each.without or 0, -each.alone, -each.distinct)))


def sensitive_exposure(cube: Cube, name: str, closeness: Fraction) -> SensitiveExposure:
    """What an attacker who knows all quasi-identifiers learns about a sensitive column of known t."""
    classes = _classes(cube, cube.quasi)
    width = len(cube.values[name]) or 1
    values = classes.of_row * width + cube.codes[name]
    diversity = _numbers(values // width, values, len(classes.sizes))
    same = diversity == 1
    if cube.persons is not None:
        # everybody has the same values where each person of the class has each value of the class
        each = renumber(values)[0] * (cube.total or 1) + cube.persons
        same = _numbers(classes.of_row, each, len(classes.sizes)) == diversity * classes.sizes
    return SensitiveExposure(
        name=name,
        distinct=len(np.unique(cube.codes[name])),
        least=int(diversity.min(initial=width)) if len(diversity) else 0,
        closeness=closeness,
        classes=int(same.sum()),
        people=_people_in(classes, same),
        sharing=_people_in(classes, same & (classes.sizes > 1)),
    )


def without_missing(cube: Cube) -> tuple[Cube, int]:
    """The cube without rows that have a missing quasi-identifier, and the number of people who have no other row."""
    known = np.ones(len(cube.people), dtype=bool)
    for name in cube.quasi:
        known &= cube.values[name].is_valid().to_numpy(zero_copy_only=False)[cube.codes[name]]
    codes = {name: each[known] for name, each in cube.codes.items()}
    persons = None if cube.persons is None else np.unique(cube.persons[known], return_inverse=True)[1].astype(np.int64)
    smaller = Cube(cube.quasi, cube.sensitive, cube.values, codes, cube.people[known], persons)
    return smaller, cube.total - smaller.total


def share(part: int, whole: int) -> Fraction:
    """A part of a whole; of nothing it is 0."""
    return Fraction(part, whole) if whole else Fraction(0)


def _classes(cube: Cube, names: Sequence[str]) -> _Classes:
    columns = [(cube.codes[name], len(cube.values[name])) for name in names]
    keys = ClassKeys(*renumber(pack(columns, len(cube.people)).values))
    people = People(cube.people, cube.persons, cube.total)
    # classes are numbered without gaps: the sizes stand in the order of the numbers
    sizes = people.by(keys)[1]
    pairs = (keys.values, None) if cube.persons is None else people.pairs(keys)
    return _Classes(keys.values, sizes, *pairs)


def _people_in(classes: _Classes, chosen: NDArray[np.bool_]) -> int:
    """Number of distinct people in the chosen classes."""
    if classes.pair_person is None:
        return int(classes.sizes[chosen].sum())
    return len(np.unique(classes.pair_person[chosen[classes.pair_class]]))


def _histogram(sizes: Codes) -> tuple[tuple[int, int], ...]:
    """Sizes in ascending order, and how often each stands there."""
    found, numbers = runs(np.sort(sizes))
    return tuple(zip(found.tolist(), numbers.tolist(), strict=True))


def _people_by_size(classes: _Classes, people: int) -> tuple[tuple[int, int], ...]:
    if classes.pair_person is None:
        return tuple((size, size * number) for size, number in _histogram(classes.sizes))
    smallest = np.full(people, np.iinfo(np.int64).max)
    np.minimum.at(smallest, classes.pair_person, classes.sizes[classes.pair_class])
    return _histogram(smallest)


def _numbers(of_row: Codes, values: Codes, classes: int) -> Codes:
    """Number of distinct values in the rows of each class; a value is in one class."""
    order = np.argsort(values)
    is_first = first_of_runs(values[order])
    return np.bincount(of_row[order][is_first], minlength=classes).astype(np.int64)
