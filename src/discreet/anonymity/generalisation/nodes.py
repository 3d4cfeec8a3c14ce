"""Classes of one node of the lattice: their sizes in people, which of them are suppressed, and what l and t they have.

A class is suppressed where it has fewer than k people, fewer than l distinct sensitive values, or a distance above t to
the distribution of the whole table. ARX suppresses the same classes and compares their people with the same limit (its
source, `HashGroupify.isAnonymous`). A person is suppressed where one of their rows is in a suppressed class. The
other classes stay as they are.
"""

from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from discreet.anonymity.classes.closeness import classes_above, closeness_of
from discreet.anonymity.classes.cube import Codes, Cube
from discreet.anonymity.classes.encoding import ranks as value_ranks
from discreet.anonymity.classes.keys import People, first_of_runs, pack, runs
from discreet.anonymity.classes.sensitive_table import SensitiveTable
from discreet.anonymity.generalisation.rollup import BitField, KeyLayout, Node, NodeRows
from discreet.errors import ParameterError
from discreet.exact.numbers import rational, whole


@dataclass(frozen=True)
class ClassRequirement:
    """What every class of a published table must have.

    Attributes:
        k: Least number of people in a class.
        limit: Most people that may be suppressed.
        l: Least number of distinct sensitive values in a class, or None.
        t: Largest distance of a class to the whole table, or None.
    """

    k: int
    limit: int
    l: int | None = None  # noqa: E741 - the field's letter
    t: Fraction | None = None


def class_requirement(k: object, least: object, distance: object, sensitive: str | None) -> ClassRequirement:
    """A requirement without suppression, checked before a row is read."""
    largest = None if distance is None else rational(distance, "t")
    if largest is not None and not 0 <= largest <= 1:
        raise ParameterError(f"t={distance}", because="a distance is between 0 and 1", instead="t=0.2")
    if (least is not None or largest is not None) and sensitive is None:
        raise ParameterError(
            "l or t without a sensitive column",
            because="both measure a sensitive column",
            instead='sensitive="disease"',
        )
    return ClassRequirement(whole(k, "k"), 0, None if least is None else whole(least, "l"), largest)


@dataclass(frozen=True)
class ValueDistribution:
    """The sensitive values of the whole table.

    Attributes:
        field: Where the rank of a value is within keys.
        whole: Number of people with each value, by rank.
        is_ordered: Whether the distance respects the order of the values.
    """

    field: BitField
    whole: Codes
    is_ordered: bool


def value_distribution(cube: Cube, layout: KeyLayout, *, is_ordered: bool) -> ValueDistribution | None:
    """The distribution of the sensitive column of the cube; a person counts once for each value."""
    if layout.sensitive is None:
        return None
    values, codes = cube.values[cube.sensitive[0]], cube.codes[cube.sensitive[0]]
    people = People(cube.people, cube.persons, cube.total)
    found, counts = people.by(pack([(value_ranks(values)[codes], len(values))], len(codes)))
    whole = np.zeros(len(values), dtype=np.int64)
    whole[found] = counts
    return ValueDistribution(layout.sensitive, whole, is_ordered)


@dataclass(frozen=True)
class NodeClasses:
    """The classes of a node and which of them are suppressed.

    Attributes:
        node: The level of each column.
        layout: Where the codes are within keys.
        rows: The rows of the node.
        starts: Position of the first row of each class.
        sizes: Number of people in each class.
        suppressed: Whether a class is suppressed.
    """

    node: Node
    layout: KeyLayout
    rows: NodeRows
    starts: Codes
    sizes: Codes
    suppressed: NDArray[np.bool_]

    @cached_property
    def records(self) -> Codes:
        """Number of records in each class."""
        if self.layout.person is None:
            return self.sizes
        return _add_up(self.rows.records, self.starts)

    @cached_property
    def suppressed_people(self) -> int:
        """Number of people with a row in a suppressed class."""
        if self.layout.person is None:
            return int(self.sizes[self.suppressed].sum())
        persons = self.layout.codes(self.rows, self.layout.person)[np.repeat(self.suppressed, self.lengths)]
        return int(np.count_nonzero(np.bincount(persons))) if len(persons) else 0

    @cached_property
    def lengths(self) -> Codes:
        """Number of rows of each class."""
        return np.diff(self.starts, append=len(self.rows))

    @cached_property
    def k(self) -> int | None:
        """Number of people in the smallest class that is published; None where none is."""
        sizes = self.sizes[~self.suppressed]
        return int(sizes.min()) if len(sizes) else None

    @property
    def published_classes(self) -> int:
        """Number of published classes."""
        return len(self.sizes) - int(np.count_nonzero(self.suppressed))

    def column(self, number: int) -> Codes:
        """The code of each class in a column."""
        codes: Codes = self.layout.codes(self.rows, self.layout.fields[number])[self.starts]
        return codes


def node_classes(layout: KeyLayout, node: Node, rows: NodeRows, k: int) -> NodeClasses:
    """The classes of a node; those with fewer than k people are suppressed."""
    starts = layout.starts(rows, layout.class_masks)
    people = rows.records if layout.person is None else layout.changes(rows, layout.pair_masks).astype(np.int64)
    sizes = _add_up(people, starts)
    return NodeClasses(node, layout, rows, starts, sizes, sizes < k)


def sensitive_values(classes: NodeClasses, distribution: ValueDistribution) -> SensitiveTable:
    """Number of people with each sensitive value in each class; a person counts once for each value."""
    layout, field = classes.layout, distribution.field
    ranks = layout.codes(classes.rows, field)
    if layout.person is None:
        return SensitiveTable(classes.starts, ranks, classes.rows.records, distribution.whole)
    keys = np.repeat(np.arange(len(classes.starts)), classes.lengths) << field.bits
    keys, counts = runs(np.sort(keys | ranks))
    starts = np.flatnonzero(first_of_runs(keys >> field.bits))
    return SensitiveTable(starts, keys & ((1 << field.bits) - 1), counts, distribution.whole)


def suppress_by_values(
    classes: NodeClasses, requirement: ClassRequirement, distribution: ValueDistribution | None
) -> NodeClasses:
    """The same classes, where those that fail l or t are suppressed too."""
    if distribution is None or (requirement.l is None and requirement.t is None):
        return classes
    table = sensitive_values(classes, distribution)
    failing = failing_classes(table, requirement, is_ordered=distribution.is_ordered)
    return replace(classes, suppressed=classes.suppressed | failing)


def failing_classes(table: SensitiveTable, requirement: ClassRequirement, *, is_ordered: bool) -> NDArray[np.bool_]:
    """Whether each class fails l or t."""
    failing = np.zeros(len(table.starts), dtype=np.bool_)
    if requirement.l is not None:
        failing |= table.lengths < requirement.l
    if requirement.t is not None:
        failing |= classes_above(table, requirement.t, is_ordered=is_ordered)
    return failing


def measure_values(classes: NodeClasses, distribution: ValueDistribution) -> tuple[int, Fraction]:
    """Distinct l and t of the published classes, of which there is at least one."""
    table = sensitive_values(classes, distribution).part(np.flatnonzero(~classes.suppressed))
    return int(table.lengths.min()), closeness_of(table, is_ordered=distribution.is_ordered)


def _add_up(numbers: Codes, starts: Codes) -> Codes:
    return np.add.reduceat(numbers, starts) if len(starts) else np.zeros(0, dtype=np.int64)
