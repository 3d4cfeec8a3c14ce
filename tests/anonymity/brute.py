"""Oracle of `dp.anonymity.measure`: loops, dicts and Fractions over plain rows, written from the definitions.

    measure(rows, ["zip", "sex"], sensitive=["disease"], person="person")

Nothing here is shared with the library. A person is a distinct value of `person`; a row without one is a person of its
own. The class of a row is its combination of quasi-identifiers, and its size is the number of people with a row in it.
Literature: Sweeney 2002 (k), Machanavajjhala et al. 2007 (l), Li et al. 2007 (t), El Emam 2013 (risks).
"""

import math
from collections import Counter
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

Row = Mapping[str, Any]
Key = tuple[Hashable, ...]
Members = dict[Key, set[Hashable]]


@dataclass
class Diversity:
    """Diversity of one sensitive column, over the worst class."""

    distinct: int
    entropy: float
    least_c: Fraction | None  # recursive (c, l) holds for every c above this one; None: for no c

    def is_recursive(self, c: Fraction) -> bool:
        """Whether recursive (c, l)-diversity holds in every class."""
        return self.least_c is not None and c > self.least_c


@dataclass
class Measures:
    """Everything that is measured, as integers and Fractions."""

    rows: int
    excluded: int
    people: int
    classes: int
    pairs: int
    k: int
    class_sizes: tuple[tuple[int, int], ...]
    unique_people: int
    highest: Fraction
    average: Fraction
    marketer: Fraction
    share_above: Fraction
    uniqueness: dict[str, Fraction]
    selectivity: dict[str, Fraction]
    diversity: dict[str, Diversity] = field(default_factory=dict)
    closeness: dict[str, Fraction] = field(default_factory=dict)


@dataclass
class Journalist:
    """Risk of the classes of the sample, by their sizes in a population."""

    k_map: int | None  # over the classes that the population has
    absent_classes: int
    absent_people: int
    average: Fraction  # of 1/F over pairs of a person and a class that the population has


def is_null(cell: Any) -> bool:
    """Whether a cell is missing; not-a-number is."""
    return cell is None or (isinstance(cell, float) and math.isnan(cell))


def plain(cell: Any) -> Hashable:
    """A cell as a key: missing is None, minus zero is zero."""
    if is_null(cell):
        return None
    return cell + 0.0 if isinstance(cell, float) else cell


def persons_of(rows: Sequence[Row], person: str | None) -> list[Hashable]:
    """The person of each row."""
    if person is None:
        return [("row", i) for i in range(len(rows))]
    cells = [plain(row[person]) for row in rows]
    return [("row", i) if cell is None else ("person", cell) for i, cell in enumerate(cells)]


def classes_of(rows: Sequence[Row], columns: Sequence[str], persons: Sequence[Hashable]) -> Members:
    """For each combination of values the people with a row in it."""
    members: Members = {}
    for row, who in zip(rows, persons, strict=True):
        members.setdefault(tuple(plain(row[name]) for name in columns), set()).add(who)
    return members


def is_compatible(one: Key, other: Key) -> bool:
    """Whether two combinations agree wherever both have a value."""
    return all(a is None or b is None or a == b for a, b in zip(one, other, strict=True))


def _reach(keys: Iterable[Key], nulls: str) -> dict[Key, list[Key]]:
    """For each class the classes whose people count in it."""
    keys = list(keys)
    if nulls != "wildcard":
        return {key: [key] for key in keys}
    return {key: [other for other in keys if is_compatible(key, other)] for key in keys}


def measure(
    rows: Sequence[Row],
    quasi: Sequence[str],
    *,
    sensitive: Sequence[str] = (),
    ordered: Sequence[str] = (),
    person: str | None = None,
    nulls: str = "value",
    l: int = 2,  # noqa: E741
    threshold: Fraction = Fraction(1, 5),
) -> Measures:
    """All metrics of a table in memory."""
    total = len(rows)
    if nulls == "exclude":
        rows = [row for row in rows if not any(is_null(row[name]) for name in quasi)]
    persons = persons_of(rows, person)
    own = classes_of(rows, quasi, persons)
    reach = _reach(own, nulls)
    sizes = {key: len(set[Hashable]().union(*(own[other] for other in reach[key]))) for key in own}
    risk: dict[Hashable, Fraction] = {}
    for key, members in own.items():
        for who in members:
            risk[who] = max(risk.get(who, Fraction(0)), Fraction(1, sizes[key]))
    people = len(risk)
    pairs = sum(len(members) for members in own.values())
    expected = sum((Fraction(len(own[key]), sizes[key]) for key in own), Fraction(0))
    alone = {name: _columns(rows, name, persons, nulls) for name in quasi}
    return Measures(
        rows=total,
        excluded=total - len(rows),
        people=people,
        classes=len(own),
        pairs=pairs,
        k=min(sizes.values(), default=0),
        class_sizes=tuple(sorted(Counter(sizes.values()).items())),
        unique_people=sum(1 for each in risk.values() if each == 1),
        highest=max(risk.values(), default=Fraction(0)),
        average=Fraction(sum(risk.values(), Fraction(0)), max(people, 1)),
        marketer=expected / max(pairs, 1),
        share_above=Fraction(sum(1 for each in risk.values() if each > threshold), max(people, 1)),
        uniqueness={name: Fraction(one, max(people, 1)) for name, (one, _) in alone.items()},
        selectivity={name: Fraction(values, max(people, 1)) for name, (_, values) in alone.items()},
        diversity={name: _diversity(_counts(rows, quasi, name, persons, reach), l) for name in sensitive},
        closeness={
            name: _closeness(rows, quasi, name, persons, reach, is_ordered=name in ordered) for name in sensitive
        },
    )


def _columns(rows: Sequence[Row], name: str, persons: Sequence[Hashable], nulls: str) -> tuple[int, int]:
    """People alone in a class of one column, and its number of distinct values."""
    own = classes_of(rows, [name], persons)
    reach = _reach(own, nulls)
    alone: set[Hashable] = set()
    for key, members in own.items():
        if len(set[Hashable]().union(*(own[other] for other in reach[key]))) == 1:
            alone |= members
    return len(alone), len(own)


Table = dict[Hashable, int]


def _counts(
    rows: Sequence[Row], quasi: Sequence[str], name: str, persons: Sequence[Hashable], reach: Mapping[Key, list[Key]]
) -> dict[Key, Table]:
    """For each class and value the people of the class with a row of that value."""
    members: dict[Key, dict[Hashable, set[Hashable]]] = {}
    for row, who in zip(rows, persons, strict=True):
        key = tuple(plain(row[each]) for each in quasi)
        members.setdefault(key, {}).setdefault(plain(row[name]), set()).add(who)
    counts: dict[Key, Table] = {}
    for key in members:
        union: dict[Hashable, set[Hashable]] = {}
        for other in reach[key]:
            for value, people in members[other].items():
                union.setdefault(value, set()).update(people)
        counts[key] = {value: len(people) for value, people in union.items()}
    return counts


def entropy_l(counts: Iterable[int]) -> float:
    """exp of the Shannon entropy of counts: the number of equally frequent values with the same entropy."""
    counts = list(counts)
    total = sum(counts)
    return math.exp(-math.fsum(each / total * math.log(each / total) for each in counts))


def least_c(counts: Iterable[int], l: int) -> Fraction | None:  # noqa: E741
    """Recursive (c, l)-diversity, r1 < c * (r_l + ... + r_m), holds for c above this one; None if for no c."""
    largest_first = sorted(counts, reverse=True)
    tail = sum(largest_first[l - 1 :])
    return Fraction(largest_first[0], tail) if tail else None


def _diversity(counts: dict[Key, Table], l: int) -> Diversity:  # noqa: E741
    ratios = [least_c(table.values(), l) for table in counts.values()]
    known = [ratio for ratio in ratios if ratio is not None]
    return Diversity(
        distinct=min((len(table) for table in counts.values()), default=0),
        entropy=min((entropy_l(table.values()) for table in counts.values()), default=0.0),
        least_c=max(known) if known and len(known) == len(ratios) else None,
    )


def _last_null(value: Any) -> tuple[bool, Any]:
    return (value is None, 0 if value is None else value)


def distance(part: Table, whole: Table, *, is_ordered: bool) -> Fraction:
    """Earth mover's distance of two tables of counts, with equal or ordered ground distance."""
    values = sorted(whole, key=_last_null)
    one, all_ = sum(part.values()), sum(whole.values())
    differences = [Fraction(part.get(value, 0), one) - Fraction(whole[value], all_) for value in values]
    if not is_ordered:
        return sum((abs(each) for each in differences), Fraction(0)) / 2
    moved = sum((abs(sum(differences[: i + 1], Fraction(0))) for i in range(len(values))), Fraction(0))
    return moved / max(len(values) - 1, 1)


def _closeness(
    rows: Sequence[Row],
    quasi: Sequence[str],
    name: str,
    persons: Sequence[Hashable],
    reach: Mapping[Key, list[Key]],
    *,
    is_ordered: bool,
) -> Fraction:
    whole = {key[0]: len(people) for key, people in classes_of(rows, [name], persons).items()}
    counts = _counts(rows, quasi, name, persons, reach)
    return max((distance(part, whole, is_ordered=is_ordered) for part in counts.values()), default=Fraction(0))


def journalist(
    rows: Sequence[Row],
    population: Sequence[Row],
    quasi: Sequence[str],
    *,
    person: str | None = None,
    population_person: str | None = None,
) -> Journalist:
    """Risk of the classes of a sample, where the attacker knows a population of which the sample is a part."""
    own = classes_of(rows, quasi, persons_of(rows, person))
    everyone = classes_of(population, quasi, persons_of(population, population_person))
    sizes = {key: len(everyone[key]) for key in own if key in everyone}
    pairs = sum(len(own[key]) for key in sizes)
    expected = sum((Fraction(len(own[key]), size) for key, size in sizes.items()), Fraction(0))
    return Journalist(
        k_map=min(sizes.values(), default=None),
        absent_classes=len(own) - len(sizes),
        absent_people=len({who for key in own if key not in sizes for who in own[key]}),
        average=expected / max(pairs, 1),
    )


def class_weights(rows: Sequence[Row], quasi: Sequence[str], weight: str) -> dict[Key, Fraction]:
    """The sum of the sampling weights of each class: its estimated number of people in the population."""
    sums: dict[Key, Fraction] = {}
    for row in rows:
        key = tuple(plain(row[name]) for name in quasi)
        sums[key] = sums.get(key, Fraction(0)) + (Fraction(0) if is_null(row[weight]) else Fraction(row[weight]))
    return sums


def minimal_uniques(
    rows: Sequence[Row], quasi: Sequence[str], size: int, *, person: str | None = None
) -> dict[tuple[str, ...], set[Hashable]]:
    """For each set of columns up to a size the people with a class of their own on it, and on no part of it."""
    persons = persons_of(rows, person)
    alone: dict[tuple[str, ...], set[Hashable]] = {}
    minimal: dict[tuple[str, ...], set[Hashable]] = {}
    for k in range(1, size + 1):
        for columns in _combinations(quasi, k):
            own = classes_of(rows, columns, persons)
            alone[columns] = {next(iter(people)) for people in own.values() if len(people) == 1}
            parts = [part for j in range(1, k) for part in _combinations(columns, j)]
            minimal[columns] = alone[columns].difference(*(alone[part] for part in parts))
    return minimal


def _combinations(names: Sequence[str], k: int) -> list[tuple[str, ...]]:
    if k == 0:
        return [()]
    return [(names[i], *rest) for i in range(len(names)) for rest in _combinations(names[i + 1 :], k - 1)]
