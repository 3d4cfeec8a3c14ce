"""Recoding in plain loops over rows, for comparison; nothing here is shared with the library."""

from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import brute

Rows = list[dict[str, Any]]


def recode(
    rows: Sequence[Mapping[str, Any]],
    quasi: Mapping[str, Callable[[Any], Any]],
    others: Sequence[str],
    *,
    k: int = 1,
    person: str | None = None,
) -> tuple[Counter, int]:
    """The published rows as a multiset, and the number of rows that are left out."""
    persons = brute.persons_of(rows, person)
    coarse = [
        {name: function(brute.plain(row[name])) for name, function in quasi.items()}
        | {name: brute.plain(row[name]) for name in others}
        for row in rows
    ]
    members = defaultdict(set)
    for row, who in zip(coarse, persons, strict=True):
        members[tuple(row[name] for name in quasi)].add(who)
    chosen = [row for row in coarse if len(members[tuple(row[name] for name in quasi)]) >= k]
    return Counter(tuple(row.values()) for row in chosen), len(rows) - len(chosen)


def people_of_classes(rows: Rows, columns: Sequence[str]) -> Counter:
    """Rows of each class."""
    return Counter(tuple(row[name] for name in columns) for row in rows)
