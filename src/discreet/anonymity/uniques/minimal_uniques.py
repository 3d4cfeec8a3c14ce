"""Minimal sample uniques (SUDA2): on how few columns, and on which, people are alone in a file.

A minimal sample unique of a person is a set of columns on which nobody else has the person's values, while on each
smaller part of it somebody has. The SUDA score of a person adds up, over the person's minimal sets of k of the m
quasi-identifiers, the product of (m - i) for i = k, ..., size: fewer columns and more sets give a higher score (Elliot,
Manning, Mayes, Gurd and Bane 2005; the search is that of SUDA2, Manning, Haglin and Keane 2008).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from discreet.anonymity.classes.column_lists import names_of
from discreet.anonymity.owners import OwnerResult
from discreet.anonymity.uniques.row_codes import read_rows
from discreet.anonymity.uniques.suda import MinimalSets, find_minimal_sets, score_weights
from discreet.errors import public_class, short_traceback
from discreet.exact.numbers import whole

_SHOWN = 5


@public_class
@dataclass(frozen=True, repr=False)
class ColumnUniques(OwnerResult):
    """What one column adds to minimal sample uniques.

    Attributes:
        column: Name of the column.
        sets: Number of pairs of a person and a minimal set of the person that has the column.
        contribution: Share of the sum of all SUDA scores that is from sets with the column; shares overlap.

    Example:
        >>> import discreet as dp, pyarrow as pa
        >>> rows = pa.table({"a": [2, 1, 1], "b": [0, 3, 0], "c": [0, 6, 0]})
        >>> found = dp.anonymity.minimal_uniques(rows, ["a", "b", "c"])
        >>> [(each.column, float(each.contribution)) for each in found.columns]
        [('a', 0.5), ('b', 0.375), ('c', 0.375)]
    """

    kind = "column uniques"

    column: str
    sets: int
    contribution: Fraction

    def _lines(self) -> list[str]:
        return [f"{self.column}: in {self.sets:,} minimal sets, {float(self.contribution):.1%} of all scores"]


@public_class
@dataclass(frozen=True, repr=False)
class MinimalUniques(OwnerResult):
    """Minimal sample uniques of a file.

    Attributes:
        people: Number of people.
        size: Largest number of columns in a set.
        subsets: Number of sets of columns that were counted.
        unique_people: Number of people with at least one minimal set.
        by_size: For each size, in ascending order, the number of people with a minimal set of that size.
        by_smallest: For each size the number of people whose smallest minimal set has it; they add up to
            `unique_people`.
        columns: What each column adds, most exposed first.
        sets: The sets of columns that are minimal for most people, with their number of people, most first.
        scores: Pairs of a SUDA score above zero and the number of people who have it, ascending.

    Example:
        >>> import discreet as dp, pyarrow as pa
        >>> rows = pa.table({"zip": ["A", "A", "B", "B"], "sex": ["f", "m", "f", "m"], "age": [30, 30, 30, 71]})
        >>> found = dp.anonymity.minimal_uniques(rows, ["zip", "sex", "age"])
        >>> found.by_size, found.by_smallest
        ((1, 4, 0), (1, 3, 0))
        >>> found.sets[0]
        (('zip', 'sex'), 4)
    """

    kind = "minimal sample uniques"

    people: int
    size: int
    subsets: int
    unique_people: int
    by_size: tuple[int, ...]
    by_smallest: tuple[int, ...]
    columns: tuple[ColumnUniques, ...]
    sets: tuple[tuple[tuple[str, ...], int], ...]
    scores: tuple[tuple[int, int], ...]

    def _lines(self) -> list[str]:
        share = f" ({self.unique_people / self.people:.1%})" if self.people else ""
        alone = f"{self.unique_people:,} of {self.people:,} people{share} are alone on"
        lines = [f"{alone} {'one column' if self.size == 1 else f'at most {self.size} columns'}"]
        lines += [_need(n, k) for k, n in enumerate(self.by_smallest, 1) if n]
        lines += [f"{', '.join(names)}: minimal for {_people(n)}" for names, n in self.sets[:_SHOWN]]
        lines += [f"{each.column}: in {float(each.contribution):.1%} of the scores" for each in self.columns[:_SHOWN]]
        return lines


def _people(number: int) -> str:
    return f"{number:,} {'person' if number == 1 else 'people'}"


def _need(people: int, columns: int) -> str:
    verb = "needs" if people == 1 else "need"
    return f"{_people(people)} {verb} {columns} {'column' if columns == 1 else 'columns'} to be alone"


@short_traceback
def minimal_uniques(
    source: object,
    quasi: Sequence[str],
    *,
    size: int = 3,
    person: str | None = None,
    table: str | None = None,
    memory_limit: str | None = None,
) -> MinimalUniques:
    """Find the smallest sets of columns on which people are alone: minimal sample uniques, as SUDA2 does.

    Where persons have several rows, a person is alone on a set of columns where one of the person's classes on it has
    no other person. A missing cell is a value of its own.

    Args:
        source: The rows, as `dp.protect` takes them: a path, a table in memory, or a database with `table`.
        quasi: Names of the quasi-identifiers.
        size: Largest number of columns in a set; all sets up to it are counted. Default 3.
        person: Column that names the person of a row; a row without one is a person of its own. Default: each row is
            a person.
        table: Name of the table, where the source is a database.
        memory_limit: Memory of the engine that reads the rows, such as "2GB". Default: the engine's own.

    Returns:
        People by size of their minimal sets, the share of each column, and SUDA scores.

    Raises:
        ParameterError: If `size` is not a whole number of at least 1, or a column is listed twice.
        NameNotFoundError: If the source does not have a column.

    Example:
        >>> import discreet as dp
        >>> found = dp.anonymity.minimal_uniques(dp.datasets.people(500), ["state", "occupation", "sex"], size=2)
        >>> found.people, found.subsets
        (500, 6)
    """
    names = names_of(quasi, "quasi")
    largest = min(whole(size, "size"), len(names))
    rows = read_rows(source, names, person=person, table=table, memory_limit=memory_limit)
    return _summarise(find_minimal_sets(rows, largest), names, largest, rows.people)


def _summarise(found: MinimalSets, names: tuple[str, ...], size: int, people: int) -> MinimalUniques:
    weights = list(score_weights(len(names), size))
    has = [tally > 0 for tally in found.sets]
    seen = np.zeros(len(has[0]), dtype=np.bool_)
    smallest = []
    for flags in has:
        smallest.append(int((flags & ~seen).sum()))
        seen |= flags
    ranks = sorted(found.people.items(), key=lambda item: (-item[1], len(item[0]), item[0]))
    return MinimalUniques(
        people=people,
        size=size,
        subsets=len(found.people),
        unique_people=int(seen.sum()),
        by_size=tuple(int(flags.sum()) for flags in has),
        by_smallest=tuple(smallest),
        columns=_columns(found, names, weights),
        sets=tuple((tuple(names[c] for c in subset), count) for subset, count in ranks if count),
        scores=_scores(found, seen, weights),
    )


def _columns(found: MinimalSets, names: tuple[str, ...], weights: list[int]) -> tuple[ColumnUniques, ...]:
    total = sum(weights[len(subset) - 1] * count for subset, count in found.people.items())
    columns = []
    for c, name in enumerate(names):
        inside = {subset: count for subset, count in found.people.items() if c in subset}
        score = sum(weights[len(subset) - 1] * count for subset, count in inside.items())
        columns.append(ColumnUniques(name, sum(inside.values()), Fraction(score, total) if total else Fraction(0)))
    return tuple(sorted(columns, key=lambda each: -each.contribution))


def _scores(found: MinimalSets, seen: NDArray[np.bool_], weights: list[int]) -> tuple[tuple[int, int], ...]:
    """Scores in exact integers: people are grouped by their numbers of sets first, which are small."""
    group: NDArray[np.int64] = np.zeros(int(seen.sum()), dtype=np.int64)
    scores = [0]
    for tally, weight in zip(found.sets, weights, strict=True):
        most = int(tally.max(initial=0)) + 1
        values, group = np.unique(group * most + tally[seen], return_inverse=True)
        scores = [scores[value // most] + (value % most) * weight for value in values.tolist()]
    histogram: dict[int, int] = {}
    for score, people in zip(scores, np.bincount(group, minlength=len(scores)).tolist(), strict=True):
        histogram[score] = histogram.get(score, 0) + people
    return tuple(sorted((score, people) for score, people in histogram.items() if people))
