"""Figures of the report from `measure`: t of sensitive columns, and all classes where missing cells are wildcards."""

from collections.abc import Sequence
from functools import cached_property

import numpy as np

from discreet.anonymity.classes.cube import Cube
from discreet.anonymity.classes.risk import AnonymityMeasures, measure
from discreet.anonymity.report.exposure import (
    ClassCounts,
    ColumnExposure,
    KnownColumns,
    SensitiveExposure,
    sensitive_exposure,
)

WILDCARD = "wildcard"


class SourceMeasures:
    """Measures sets of columns of one source."""

    def __init__(
        self,
        source: object,
        quasi: Sequence[str],
        sensitive: Sequence[str],
        *,
        person: str | None,
        nulls: str,
        table: str | None,
    ) -> None:
        self._source, self._quasi, self._sensitive = source, tuple(quasi), tuple(sensitive)
        self._person, self._nulls, self._table = person, nulls, table

    def growth(self) -> tuple[KnownColumns, ...]:
        """The classes of the first column, of the first two, and so on."""
        prefixes = [self._quasi[: place + 1] for place in range(len(self._quasi))]
        return tuple(KnownColumns(columns, _counts(self._measure(columns))) for columns in prefixes)

    def columns(self) -> tuple[ColumnExposure, ...]:
        """What each column adds, the most revealing first."""
        found = []
        for name in self._quasi:
            alone = self._measure((name,))
            others = tuple(other for other in self._quasi if other != name)
            without = self._measure(others).unique_people if others else None
            found.append(ColumnExposure(name, alone.classes, alone.unique_people, without))
        return tuple(sorted(found, key=lambda each: (each.without or 0, -each.alone, -each.distinct)))

    def sensitive_exposures(self, cube: Cube) -> tuple[SensitiveExposure, ...]:
        """What is learned about each sensitive column; the cube has its classes unless missing cells are wildcards."""
        measures = self._whole
        if self._nulls != WILDCARD:
            return tuple(sensitive_exposure(cube, name, measures.closeness[name]) for name in self._sensitive)
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
            for name in self._sensitive
        )

    @cached_property
    def _whole(self) -> AnonymityMeasures:
        return self._measure(self._quasi, self._sensitive)

    def _measure(self, columns: Sequence[str], sensitive: Sequence[str] = ()) -> AnonymityMeasures:
        return measure(
            self._source, columns, sensitive=sensitive, person=self._person, nulls=self._nulls, table=self._table
        )


def _counts(measures: AnonymityMeasures) -> ClassCounts:
    return ClassCounts(
        people=measures.people,
        pairs=measures.pairs,
        classes=measures.classes,
        k=measures.k,
        unique_people=measures.unique_people,
        sizes=measures.class_sizes,
        marketer=measures.marketer,
    )
