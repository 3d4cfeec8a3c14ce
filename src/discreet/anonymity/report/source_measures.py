"""Figures of the report where missing cells are wildcards, from one GROUP BY; t of sensitive columns by `measure`."""

from collections.abc import Sequence

import numpy as np

from discreet.anonymity.classes.base_groups import read_groups
from discreet.anonymity.classes.class_table import ClassTable, class_table
from discreet.anonymity.classes.cube import Cube
from discreet.anonymity.classes.keys import sum_of_ratios
from discreet.anonymity.classes.null_policies import NullPolicy
from discreet.anonymity.classes.risk import measure
from discreet.anonymity.report.exposure import (
    ClassCounts,
    ColumnExposure,
    KnownColumns,
    SensitiveExposure,
    sensitive_exposure,
)
from discreet.engines.exact_tables import open_table

WILDCARD = "wildcard"


class WildcardClasses:
    """Classes of sets of columns of one source, which is read once; missing cells match every value."""

    def __init__(self, source: object, quasi: Sequence[str], *, person: str | None, table: str | None) -> None:
        self._quasi = tuple(quasi)
        with open_table(source, table=table) as rows:
            self._groups = read_groups(rows, quasi, person)
        self._counts: dict[tuple[str, ...], ClassCounts] = {}

    def growth(self) -> tuple[KnownColumns, ...]:
        """The classes of the first column, of the first two, and so on."""
        prefixes = [self._quasi[: place + 1] for place in range(len(self._quasi))]
        return tuple(KnownColumns(columns, self.counts(columns)) for columns in prefixes)

    def columns(self) -> tuple[ColumnExposure, ...]:
        """What each column adds, the most revealing first."""
        found = []
        for name in self._quasi:
            alone = self.counts((name,))
            others = tuple(other for other in self._quasi if other != name)
            without = self.counts(others).unique_people if others else None
            found.append(ColumnExposure(name, alone.classes, alone.unique_people, without))
        return tuple(sorted(found, key=lambda each: (each.without or 0, -each.alone, -each.distinct)))

    def counts(self, columns: tuple[str, ...]) -> ClassCounts:
        """The classes of some columns."""
        if columns not in self._counts:
            self._counts[columns] = _counts(class_table(self._groups, columns, are_wildcards=True))
        return self._counts[columns]


def sensitive_exposures(
    source: object, cube: Cube, *, person: str | None, nulls: NullPolicy, table: str | None
) -> tuple[SensitiveExposure, ...]:
    """What is learned about each sensitive column; the cube has its classes unless missing cells are wildcards."""
    if not cube.sensitive:
        return ()
    measures = measure(source, cube.quasi, sensitive=cube.sensitive, person=person, nulls=nulls, table=table)
    if nulls != WILDCARD:
        return tuple(sensitive_exposure(cube, name, measures.closeness[name]) for name in cube.sensitive)
    return tuple(
        SensitiveExposure(
            name=name,
            distinct=len(np.unique(cube.codes[name])),
            least=measures.diversity[name].distinct,
            closeness=measures.closeness[name],
            classes=None,
            people=None,
            sharing=None,
        )
        for name in cube.sensitive
    )


def _counts(classes: ClassTable) -> ClassCounts:
    sizes, number = classes.histogram
    pair_sizes, pairs = classes.pairs_by_size
    person_sizes, people = classes.people_by_size
    return ClassCounts(
        people=classes.people,
        pairs=classes.pairs,
        classes=len(classes.keys),
        k=int(sizes[0]) if len(sizes) else 0,
        unique_people=classes.alone,
        sizes=tuple(zip(sizes.tolist(), number.tolist(), strict=True)),
        people_by_size=tuple(zip(person_sizes.tolist(), people.tolist(), strict=True)),
        marketer=sum_of_ratios(pairs.tolist(), pair_sizes.tolist()) / max(classes.pairs, 1),
    )


def unnamed_rows(source: object, person: str | None, table: str | None) -> int:
    """Number of rows without a person; each of them counts as one."""
    if person is None:
        return 0
    with open_table(source, table=table) as rows:
        return rows.unnamed_rows(person)
