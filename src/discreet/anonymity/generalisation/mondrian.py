"""Local recoding by Mondrian: boxes of at least k people, each with its own ranges and sets of values."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from math import fsum, log2
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from discreet.anonymity.classes.cube import Codes, Cube
from discreet.anonymity.classes.encoding import ranks as value_ranks
from discreet.anonymity.generalisation.loss import sum_by
from discreet.anonymity.generalisation.partitioning import (
    BoxRows,
    ValueAxis,
    distinct_counts,
    partition_rows,
    value_axis,
)
from discreet.anonymity.generalisation.rollup import merge_rows
from discreet.anonymity.generalisation.sources import levels_of_column, open_cube
from discreet.anonymity.owners import OwnerResult
from discreet.errors import ParameterError, public_class, short_traceback
from discreet.exact.numbers import whole

PEOPLE = "people"


@dataclass(frozen=True)
class ClassBoxes:
    """The classes of a partition: for each column the places that a class spans.

    Attributes:
        cube: The cube.
        axes: The values of each column in order.
        rows: For each row of the cube the number of its class; -1 where it is suppressed.
        lows: For each column and class the first place of its span.
        highs: For each column and class the last place of its span.
        sizes: Number of people of each class.
    """

    cube: Cube
    axes: tuple[ValueAxis, ...]
    rows: Codes
    lows: NDArray[np.int64]
    highs: NDArray[np.int64]
    sizes: Codes

    @cached_property
    def records(self) -> Codes:
        """Number of records of each class."""
        return sum_by(self.rows, self.cube.people, len(self.sizes))

    def entropy(self) -> float:
        """Non-uniform entropy in bits; the frequency of a box is that of all values within its span."""
        parts = []
        for column, (name, axis) in enumerate(zip(self.cube.quasi, self.axes, strict=True)):
            counts = sum_by(self.cube.codes[name], self.cube.people, len(axis.order))
            parts += [-count * log2(count) for count in counts.tolist() if count]
            below = np.concatenate(([0], np.cumsum(counts[axis.order])))
            within = below[self.highs[column] + 1] - below[self.lows[column]]
            spans = merge_rows([within], self.records)
            parts += [n * log2(size) for size, n in zip(spans.words[0].tolist(), spans.records.tolist(), strict=True)]
        return max(0.0, fsum(parts))

    def labels(self, column: int) -> pa.Array:
        """The text of each class in a column."""
        axis, values = self.axes[column], self.cube.values[self.cube.quasi[column]].to_pylist()
        bits = max(1, len(axis.order).bit_length())
        spans, codes = np.unique((self.lows[column] << bits) | self.highs[column], return_inverse=True)
        pairs = [(span >> bits, span & ((1 << bits) - 1)) for span in spans.tolist()]
        texts = [_span_text(axis, [values[code] for code in axis.order[a : b + 1].tolist()], a, b) for a, b in pairs]
        return pa.array(texts, pa.large_string()).take(pa.array(codes))


def _span_text(axis: ValueAxis, values: list[Any], low: int, high: int) -> str | None:
    """A value, a range, the label of a group, or a set of groups."""
    if axis.labels:
        return _group_text(axis, low, high)
    known = [value for value in values if value is not None]
    if not known:
        return None
    text = str(known[0]) if len(known) == 1 else f"[{known[0]}, {known[-1]}]"
    return text if len(known) == len(values) else f"{text} or missing"


def _group_text(axis: ValueAxis, low: int, high: int) -> str | None:
    """The finest group that the span fills, or the set of groups that it has at the coarsest level with two groups."""
    for groups, labels in zip(axis.groups, axis.labels, strict=True):
        group = int(groups[low])
        fills = groups[high] == group and (low == 0 or groups[low - 1] != group)
        if fills and (high + 1 == len(groups) or groups[high + 1] != group):
            return labels[group]
    level = max(level for level, groups in enumerate(axis.groups) if groups[low] != groups[high])
    chosen = axis.labels[level][axis.groups[level][low] : axis.groups[level][high] + 1]
    return "{" + ", ".join("missing" if label is None else label for label in chosen) + "}"


@public_class
@dataclass(frozen=True, repr=False)
class MondrianPartition(OwnerResult):
    """Classes of a local recoding: boxes that hold k people, do not overlap and cover everybody.

    Cuts are at medians of the data, so that the borders of the boxes themselves depend on people. A reader who knows
    the method can infer finer values from them (downcoding: Cohen 2022, "Attacks on deidentification's defenses").

    Attributes:
        people: Number of people.
        classes: Number of classes.
        k: Number of people in the smallest class; None without a class.
        l: Least number of distinct sensitive values in a class; None without a class or a sensitive column.
        suppressed: Number of people without a class: all, where the whole table does not hold k and l, otherwise 0.
        class_sizes: Pairs of a size and the number of classes that have it, ascending.
        discernibility: Sum of squared class sizes, plus the number of people for each suppressed person.
        average_class_size: People over classes; the suppressed are one class.
        non_uniform_entropy: Bits that the recoding removes from the cells; None where everybody is suppressed.
        boxes: The classes themselves.

    Example:
        >>> import discreet as dp
        >>> import pyarrow as pa
        >>> found = dp.anonymity.mondrian(pa.table({"age": [21, 22, 35, 38, 39]}), ["age"], k=2)
        >>> found.apply().to_pydict()
        {'age': ['[21, 22]', '[35, 39]'], 'people': [2, 3]}
    """

    kind = "Mondrian partition"

    people: int
    classes: int
    k: int | None
    l: int | None  # noqa: E741 - the field's letter
    suppressed: int
    class_sizes: tuple[tuple[int, int], ...]
    discernibility: int
    average_class_size: Fraction
    non_uniform_entropy: float | None
    boxes: ClassBoxes

    def box(self, number: int) -> dict[str, tuple[Any, ...]]:
        """The values of one class.

        Args:
            number: Number of the class, from 0.

        Returns:
            For each column the distinct values of the table within the box, in the order of the column.
        """
        cube, boxes = self.boxes.cube, self.boxes
        spans = zip(cube.quasi, boxes.axes, boxes.lows[:, number], boxes.highs[:, number], strict=True)
        return {
            name: tuple(cube.values[name].take(pa.array(axis.order[low : high + 1])).to_pylist())
            for name, axis, low, high in spans
        }

    def apply(self) -> pa.Table:
        """The generalised table: one row for each class, or for each class and sensitive value.

        Returns:
            An Arrow table with the texts of the boxes, the sensitive column where there is one, and the number of
            people. Suppressed people are not in it. The last column is `people`, or `people_` where the table has a
            column of that name.
        """
        boxes, cube = self.boxes, self.boxes.cube
        labels = [boxes.labels(column) for column in range(len(cube.quasi))]
        if not cube.sensitive:
            return pa.table({**dict(zip(cube.quasi, labels, strict=True)), self._count_name(): pa.array(boxes.sizes)})
        classes, values, counts = _counts_by_value(boxes)
        columns = {name: each.take(pa.array(classes)) for name, each in zip(cube.quasi, labels, strict=True)}
        name = cube.sensitive[0]
        return pa.table(
            {**columns, name: cube.values[name].take(pa.array(values)), self._count_name(): pa.array(counts)}
        )

    def _count_name(self) -> str:
        """A name for the number of people that no column has."""
        name = PEOPLE
        while name in self.boxes.cube.values:
            name += "_"
        return name

    def to_json(self) -> dict[str, Any]:
        """The figures as plain data, with the stamp; the boxes are left out, `apply` has them.

        Returns:
            A dict for JSON.
        """
        document = OwnerResult.to_json(self)
        del document["figures"]["boxes"]
        return document

    def _lines(self) -> list[str]:
        if not self.classes:
            return [f"No class: the {self.people:,} people of the table do not hold k and l, and all are suppressed."]
        found = f"k={self.k}" + (f", l={self.l}" if self.l is not None else "")
        return [
            f"{self.classes:,} classes of {self.people:,} people; {found}",
            f"average class size {float(self.average_class_size):,.4g}; discernibility {self.discernibility:,}",
            f"non-uniform entropy {self.non_uniform_entropy:,.6g} bits",
            "Borders of boxes depend on the data; finer values can be inferred from them (downcoding, Cohen 2022).",
        ]


@short_traceback
def mondrian(
    source: object,
    quasi: Sequence[str] | Mapping[str, Any],
    *,
    k: int,
    l: int | None = None,  # noqa: E741 - the field's letter
    sensitive: str | None = None,
    person: str | None = None,
    table: str | None = None,
    memory_limit: str | None = None,
) -> MondrianPartition:
    """Partition people into boxes of at least k by strict multidimensional Mondrian.

    Numbers, dates and texts are cut in their order, missing values last. A column with a hierarchy is cut between the
    groups of the hierarchy. `generalisation.partitioning` states the order of the cuts.

    Args:
        source: A cube, or the source of rows: what `dp.protect` takes.
        quasi: Names of the quasi-identifiers, or a dict of them with a hierarchy or None each.
        k: Least number of people in a class.
        l: Least number of distinct sensitive values in a class. Default: not measured.
        sensitive: The sensitive column; l needs it.
        person: Column that names the person of a row. Default: each row is a person.
        table: Name of the table, where the source is a database.
        memory_limit: Memory of the engine that reads the rows, such as "4GB". Default: the engine's own.

    Returns:
        The partition; without classes where the whole table does not hold k and l.

    Raises:
        ParameterError: If k or l is not a whole number of at least 1, l has no sensitive column, or a column has two
            roles.
        NameNotFoundError: If a column does not exist.

    Example:
        >>> import discreet as dp
        >>> import pyarrow as pa
        >>> people = pa.table({"age": [21, 22, 35, 38], "sex": ["f", "f", "f", "m"]})
        >>> dp.anonymity.mondrian(people, ["age", "sex"], k=2).apply().to_pydict()
        {'age': ['[21, 22]', '[35, 38]'], 'sex': ['f', '[f, m]'], 'people': [2, 2]}
    """
    least_people = whole(k, "k")
    least_values = None if l is None else whole(l, "l")
    if least_values is not None and sensitive is None:
        raise ParameterError(
            "l without a sensitive column", because="l counts its distinct values", instead='sensitive="disease"'
        )
    names = list(quasi) if not isinstance(quasi, str) else quasi
    cube = open_cube(source, names, sensitive, person=person, table=table, memory_limit=memory_limit)
    hierarchies = quasi if isinstance(quasi, Mapping) else {}
    axes = tuple(_axis(cube, name, hierarchies.get(name)) for name in cube.quasi)
    return _result(cube, _partition(cube, axes, least_people, least_values))


def _axis(cube: Cube, name: str, hierarchy: object) -> ValueAxis:
    levels = None if hierarchy is None else levels_of_column(name, hierarchy, cube.values[name])
    return value_axis(cube.values[name], levels)


def _partition(cube: Cube, axes: tuple[ValueAxis, ...], k: int, least: int | None) -> ClassBoxes:
    places = np.array([axis.places[cube.codes[name]] for name, axis in zip(cube.quasi, axes, strict=True)])
    sensitive = cube.codes[cube.sensitive[0]] if cube.sensitive else None
    data = BoxRows(places, cube.people, cube.persons, sensitive)
    rows, number = partition_rows(axes, data, k, least)
    lows, highs = _spans(axes, places, rows, number)
    inside = np.flatnonzero(rows >= 0)
    return ClassBoxes(cube, axes, rows, lows, highs, data.people(inside, rows[inside], number))


def _spans(
    axes: tuple[ValueAxis, ...], places: NDArray[np.int64], rows: Codes, number: int
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """First and last place of each class; with a hierarchy whole groups of the coarsest level that has two of them."""
    if not number:
        return np.zeros((len(axes), 0), dtype=np.int64), np.zeros((len(axes), 0), dtype=np.int64)
    order = np.argsort(rows, kind="stable")
    starts = np.flatnonzero(np.diff(rows[order], prepend=-1))
    lows = np.array([np.minimum.reduceat(each[order], starts) for each in places])
    highs = np.array([np.maximum.reduceat(each[order], starts) for each in places])
    for column, axis in enumerate(axes):
        low, high = lows[column].copy(), highs[column].copy()
        for groups in axis.groups[1:]:
            differs = groups[low] != groups[high]
            lows[column][differs] = np.searchsorted(groups, groups[low[differs]], side="left")
            highs[column][differs] = np.searchsorted(groups, groups[high[differs]], side="right") - 1
    return lows, highs


def _counts_by_value(boxes: ClassBoxes) -> tuple[Codes, Codes, Codes]:
    """People of each class with each sensitive value, the values in their order."""
    cube = boxes.cube
    inside = np.flatnonzero(boxes.rows >= 0)
    ranks = value_ranks(cube.values[cube.sensitive[0]])
    owners = boxes.rows[inside] * max(1, len(ranks)) + ranks[cube.codes[cube.sensitive[0]][inside]]
    keys, codes = np.unique(owners, return_inverse=True)
    if cube.persons is None:
        counts = sum_by(codes, cube.people[inside], len(keys))
    else:
        counts = distinct_counts(codes.astype(np.int64), cube.persons[inside], len(keys))
    return keys // max(1, len(ranks)), np.argsort(ranks)[keys % max(1, len(ranks))], counts


def _result(cube: Cube, boxes: ClassBoxes) -> MondrianPartition:
    number, people = len(boxes.sizes), cube.total
    suppressed = 0 if number else people
    sizes, times = np.unique(boxes.sizes, return_counts=True)
    distinct = None
    if number and cube.sensitive:
        distinct = int(distinct_counts(boxes.rows, cube.codes[cube.sensitive[0]], number).min())
    pairs = tuple(zip(sizes.tolist(), times.tolist(), strict=True))
    return MondrianPartition(
        people=people,
        classes=number,
        k=pairs[0][0] if number else None,
        l=distinct,
        suppressed=suppressed,
        class_sizes=pairs,
        discernibility=sum(size * size * each for size, each in pairs) + people * suppressed,
        average_class_size=Fraction(int(boxes.sizes.sum()) + suppressed, max(1, number + (suppressed > 0))),
        non_uniform_entropy=boxes.entropy() if number else None,
        boxes=boxes,
    )
