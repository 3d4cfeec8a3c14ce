"""Random small tables for the brute-force comparison: case i is the same table on every machine.

Texts collide under collations and padding, the empty text stands beside NULL, integers lie beyond 2^53, floats have
not-a-number and minus zero. People have several rows, some rows have no person, and columns and rows are reordered.
Tables of one family have the same columns, so that many of them fit into one table with a column that tells them apart.
"""

import datetime as dt
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa

import discreet as dp

TEXTS = ("a", "A", "a ", "\u00e9", "e\u0301", "", "NULL", "ss", "\u00df")
WHOLE = (0, -1, 7, 2**53, 2**53 + 1, -(2**53) - 1, 2**63 - 1, -(2**63))
REAL = (0.0, -0.0, math.nan, 0.1, 0.30000000000000004, -1.5, 1e300)
DAYS = (*(dt.date(1999, 12, 30) + dt.timedelta(days=i) for i in range(4)), dt.date(1900, 2, 28))
YES_NO = (False, True)

CELLS: Mapping[pa.DataType, Sequence[Any]] = {
    pa.string(): TEXTS,
    pa.int64(): WHOLE,
    pa.float64(): REAL,
    pa.date32(): DAYS,
    pa.bool_(): YES_NO,
}
TEXT, INTEGER, FLOAT, DATE, BOOLEAN = CELLS
# Names that a statement of the library might use for itself stand among those of the tables.
FAMILIES: tuple[Mapping[str, pa.DataType], ...] = (
    {"zip": TEXT, "age": INTEGER, "sex": TEXT, "disease": TEXT, "salary": INTEGER, "person": INTEGER},
    {"people": TEXT, "size": FLOAT, "born": DATE, "disease": TEXT, "stage": FLOAT, "person": TEXT},
    {"count": INTEGER, "rows": BOOLEAN, "n": TEXT, "value": DATE, "class": TEXT, "who": INTEGER},
    {"select": FLOAT, "Group": FLOAT, "group by": TEXT, "k": BOOLEAN, "l": INTEGER, "t": TEXT},
)
CASES = 1_000
ROWS = 24
NULLS = ("value", "wildcard", "exclude")


@dataclass(frozen=True)
class Case:
    """A table and what is asked of it."""

    index: int
    family: int
    table: pa.Table
    quasi: tuple[str, ...]
    sensitive: tuple[str, ...]
    ordered: tuple[str, ...]
    person: str | None
    nulls: str
    l: int  # noqa: E741
    c: Fraction
    threshold: Fraction

    @property
    def rows(self) -> list[dict[str, Any]]:
        """The table as plain rows."""
        return self.table.to_pylist()


def case(index: int) -> Case:
    """The table with this number."""
    rng = dp.testing.generator(18_000 + index)
    family = index % len(FAMILIES)
    names = list(FAMILIES[family])
    quasi = [str(name) for name in rng.permutation(names[:3])][: int(rng.integers(1, 4))]
    sensitive = tuple(names[3:5])[: int(rng.integers(1, 3))]
    return Case(
        index=index,
        family=family,
        table=_table(rng, FAMILIES[family]),
        quasi=tuple(quasi),
        sensitive=sensitive,
        ordered=tuple(name for name in sensitive if FAMILIES[family][name] != TEXT and rng.random() < 0.6),
        person=names[5] if rng.random() < 0.6 else None,
        nulls=NULLS[int(rng.integers(3))],
        l=int(rng.integers(2, 4)),
        c=Fraction(int(rng.integers(1, 9)), 2),
        threshold=Fraction(1, int(rng.integers(2, 6))),
    )


def _table(rng: np.random.Generator, family: Mapping[str, pa.DataType]) -> pa.Table:
    """Rows with few distinct values, some of them again, in any order of rows and columns."""
    rows = int(rng.integers(1, ROWS))
    columns = {name: _column(rng, kind, rows) for name, kind in family.items()}
    again = rng.integers(0, rows, size=int(rng.integers(0, rows + 1)))
    order = rng.permutation(np.concatenate([np.arange(rows), again]))
    names = [str(name) for name in rng.permutation(list(family))]
    return pa.table({name: pa.array([columns[name][i] for i in order], family[name]) for name in names})


def _column(rng: np.random.Generator, kind: pa.DataType, rows: int) -> list[Any]:
    cells = CELLS[kind]
    some = [cells[i] for i in rng.integers(0, len(cells), size=int(rng.integers(1, 5)))]
    share = float(rng.choice([0.0, 0.2, 0.5]))
    return [None if rng.random() < share else some[int(rng.integers(len(some)))] for _ in range(rows)]


def packed(cases: Sequence[Case], number: str) -> pa.Table:
    """Tables of one family as one table, in which the column `number` is that of the case."""
    names = list(FAMILIES[cases[0].family])
    parts = [
        each.table.select(names).append_column(number, pa.array([each.index] * each.table.num_rows, pa.int64()))
        for each in cases
    ]
    return pa.concat_tables(parts)
