"""l and t of the classes of recoded rows: classes that fail them are left out, by the rule of `search`.

t is the distance to the sensitive values of the whole source, rows that are left out among them, as in a search.
Classes are left out whole, so that every other class keeps its rows, its people and its values.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from discreet.anonymity.classes.closeness import closeness_of
from discreet.anonymity.classes.column_lists import one_column
from discreet.anonymity.classes.cube import Codes
from discreet.anonymity.classes.encoding import ranks
from discreet.anonymity.classes.keys import first_of_runs
from discreet.anonymity.classes.sensitive_table import SensitiveTable
from discreet.anonymity.generalisation.recode_columns import CodedColumn, ColumnRule
from discreet.anonymity.generalisation.recode_people import RowGroups, classes_of
from discreet.errors import ParameterError


@dataclass(frozen=True)
class RecodedValues:
    """The sensitive column of the recoded rows.

    Attributes:
        place: Which column it is.
        is_ordered: Whether distances respect the order of its values.
    """

    place: int
    is_ordered: bool

    def table(self, columns: Sequence[CodedColumn], classes: Codes, groups: RowGroups) -> SensitiveTable:
        """Number of people with each value in each class; a person counts once for each value."""
        order = ranks(columns[self.place].values)
        values = order[columns[self.place].codes]
        pairs = classes_of([classes, values], len(classes))
        # pairs are numbered by class and then by value; any group of a pair tells both
        first = np.zeros(int(pairs.max(initial=-1)) + 1, dtype=np.int64)
        first[pairs] = np.arange(len(pairs))
        starts = np.flatnonzero(first_of_runs(classes[first])) if len(first) else np.zeros(0, dtype=np.int64)
        return SensitiveTable(starts, values[first], groups.people(pairs), groups.people(values))


def require_sensitive(
    rules: Sequence[ColumnRule], sensitive: str | None, ordered: Sequence[str]
) -> RecodedValues | None:
    """The place of the sensitive column, which is published as it is; refused before a row is read."""
    if sensitive is None:
        return None
    one_column(sensitive, "sensitive", example='"disease"')
    places = {rule.name: place for place, rule in enumerate(rules) if not rule.is_quasi}
    if sensitive not in places:
        raise ParameterError(
            f"sensitive={sensitive!r}",
            because="l and t are those of a column that is published as it is",
            instead=f"recoding | {{{sensitive!r}: None}}",
        )
    return RecodedValues(places[sensitive], sensitive in ordered)


def diversity_and_closeness(
    table: SensitiveTable, chosen: Codes, is_ordered: bool
) -> tuple[int | None, Fraction | None]:
    """Distinct l and t of the published classes; None where there is none."""
    if not len(chosen):
        return None, None
    part = table.part(chosen)
    return int(part.lengths.min()), closeness_of(part, is_ordered=is_ordered)
