"""How much each single quasi-identifier tells people apart: uniqueness and selectivity."""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from discreet.anonymity.classes.base_groups import BaseGroups
from discreet.anonymity.classes.class_table import class_table, distinct_persons
from discreet.anonymity.classes.encoding import null_code
from discreet.anonymity.owners import OwnerResult
from discreet.errors import public_class


@public_class
@dataclass(frozen=True, repr=False)
class ColumnRisk(OwnerResult):
    """What one quasi-identifier alone reveals.

    Attributes:
        values: Number of distinct values; a missing cell is one.
        unique_people: Number of people who are alone with their value.
        uniqueness: Their share of all people.
        selectivity: Distinct values per person; 1 if everyone has a value of their own.

    Example:
        >>> import discreet as dp
        >>> import pyarrow as pa
        >>> table = pa.table({"age": [30, 30, 40, 50]})
        >>> dp.anonymity.measure(table, ["age"]).columns["age"].uniqueness
        Fraction(1, 2)
    """

    kind = "risk of one column"
    values: int
    unique_people: int
    uniqueness: Fraction
    selectivity: Fraction

    def _lines(self) -> list[str]:
        return [
            f"{self.values:,} values, selectivity {float(self.selectivity):.2%}",
            f"{self.unique_people:,} people are alone with their value ({float(self.uniqueness):.2%})",
        ]


def column_risks(
    groups: BaseGroups, quasi: Sequence[str], people: int, *, are_wildcards: bool
) -> dict[str, ColumnRisk]:
    """The risk of each column alone."""
    found = {}
    counts = groups.people.counts.astype(np.float64)  # people are fewer than 2^53, so that sums of doubles are exact
    for name in quasi:
        if are_wildcards and null_code(groups.values[name]) is not None:
            table = class_table(groups, [name], are_wildcards=True)
            values, alone = len(table.keys), table.alone
        else:
            values, alone = _alone(groups, name, counts)
        everyone = max(people, 1)
        found[name] = ColumnRisk(values, alone, Fraction(alone, everyone), Fraction(values, everyone))
    return found


def _alone(groups: BaseGroups, name: str, counts: NDArray[np.float64]) -> tuple[int, int]:
    """Number of distinct values, and of people who are alone with theirs."""
    codes, persons = groups.codes[name], groups.people.persons
    if persons is None:
        sums = np.bincount(codes, weights=counts)
        return int(np.count_nonzero(sums)), int(np.count_nonzero(sums == 1))
    # one person of each value; a value that has another person too is nobody's own
    some = np.full(len(groups.values[name]), -1, np.int32)
    some[codes] = persons
    values = np.count_nonzero(some >= 0)
    some[codes[some[codes] != persons]] = -1
    return int(values), distinct_persons(some[some >= 0], groups.people.number)
