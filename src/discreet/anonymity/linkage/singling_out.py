"""Singling out: a description, made from published rows, that exactly one person of the original data fits.

The attacker takes a published row and some of its columns, and keeps descriptions that one published row fits. A number
above the published median becomes "at least", one below it "at most"; other values are compared exactly. A description
that isolates one person among a control group of the same size shows how much is chance.

References:
    Cohen and Nissim, Towards Formalizing the GDPR's Notion of Singling Out, PNAS 2020.
"""

from collections.abc import Iterator, Sequence

import numpy as np
import pyarrow as pa

from discreet.anonymity.linkage.attack_rates import (
    AttackRate,
    AttackRisk,
    attack_tables,
    confidence_level,
    fresh,
    shared_columns,
)
from discreet.anonymity.linkage.nearest import as_numbers, is_number
from discreet.engines.sources.arrow_tables import Codes, encode
from discreet.errors import short_traceback
from discreet.exact.numbers import Number, whole

Description = dict[int, int]
"""The published row that each column's value is taken from."""

_TRIES = 20


@short_traceback
def assess(
    original: object,
    published: object,
    control: object,
    *,
    columns: Sequence[str] | None = None,
    size: int = 3,
    attempts: int = 500,
    level: Number = 0.95,
    generator: np.random.Generator | None = None,
) -> AttackRisk:
    """How often a description that one published row fits is fitted by exactly one person of the original data.

    Original and control are cut to the same number of rows, drawn at random, because a description isolates somebody
    more easily among fewer people.

    Args:
        original: Rows of the people whose data was published, one row a person.
        published: Published rows: generalised, perturbed or synthetic, with columns of the same types.
        control: Rows of people of the same population whose data was not used.
        columns: Columns of descriptions. Default: all that the three tables have.
        size: Number of columns of a description. Default 3.
        attempts: Number of descriptions; fewer where not so many are found. Default 500.
        level: Confidence level. Default 0.95.
        generator: Source of random choices. Default: a fresh one.

    Returns:
        The rates of success and the risk. The baseline takes each value of a description from another published row.

    Raises:
        ParameterError: If an argument is outside its range or a table has no rows.
        NameNotFoundError: If a table lacks a column.

    Example:
        >>> import discreet as dp
        >>> people = dp.datasets.people(400).drop_columns(["person_id"])
        >>> copy, others = people[:200], people[200:]
        >>> risk = dp.anonymity.singling_out.assess(copy, copy, others, attempts=100)
        >>> risk.attack.rate > risk.control.rate
        True
    """
    names = shared_columns(columns, original, published, control)
    tables = attack_tables(original, published, control, names)
    draw, number, confidence = fresh(generator), whole(attempts, "attempts"), confidence_level(level)
    width = min(whole(size, "size"), len(names))
    rows = min(tables[0].num_rows, tables[2].num_rows)
    groups = [_sample(tables[place], rows, draw) for place in (0, 2)]
    fits = _Descriptions([tables[1], *groups], names)
    chosen = list(_isolating(fits, width, number, draw))
    counts = np.array([[fits.count(each, group) for group in (1, 2)] for each in chosen]).reshape(-1, 2)
    guesses = [_description(fits, width, draw, is_joint=False) for _ in chosen]
    alone = [int((counts[:, group] == 1).sum()) for group in (0, 1)]
    random = sum(fits.count(each, 1) == 1 for each in guesses)
    attack, group, baseline = (AttackRate(hits, len(chosen), confidence) for hits in (*alone, random))
    details = f"descriptions of {width} columns, evaluated on {rows:,} people of each group"
    return AttackRisk("singling out", attack, group, baseline, level=confidence, details=details)


class _Descriptions:
    """Descriptions evaluated on several tables; the first is the published one."""

    def __init__(self, tables: Sequence[pa.Table], names: Sequence[str]) -> None:
        self._columns = [_comparable(tables, name) for name in names]
        self.width = len(self._columns)
        self.rows = tables[0].num_rows

    def count(self, description: Description, table: int) -> int:
        """How many rows of a table fit a description."""
        fits = None
        for column, row in description.items():
            cells, median = self._columns[column]
            value, here = cells[0][row], cells[table]
            if median is None or np.isnan(value):
                part = (here == value) | (np.isnan(here) & np.isnan(value) if median is not None else False)
            else:
                part = here >= value if value >= median else here <= value
            fits = part if fits is None else fits & part
        return int(fits.sum()) if fits is not None else 0


def _comparable(tables: Sequence[pa.Table], name: str) -> tuple[list[Codes], float | None]:
    """The cells of a column by table, and the published median where it is one of numbers."""
    columns = [table[name] for table in tables]
    if all(is_number(column.type) for column in columns):
        cells = [as_numbers(column) for column in columns]
        known = cells[0][~np.isnan(cells[0])]
        return cells, float(np.median(known)) if len(known) else 0.0  # type: ignore[return-value]
    ends = np.cumsum([len(column) for column in columns])[:-1]
    return np.split(encode(columns, name), ends), None


def _isolating(fits: _Descriptions, width: int, number: int, generator: np.random.Generator) -> Iterator[Description]:
    """Distinct descriptions that one published row fits."""
    known: set[tuple[tuple[int, int], ...]] = set()
    for _ in range(_TRIES * number):
        if len(known) == number:
            return
        each = _description(fits, width, generator, is_joint=True)
        key = tuple(sorted(each.items()))
        if key not in known and fits.count(each, 0) == 1:
            known.add(key)
            yield each


def _description(fits: _Descriptions, width: int, generator: np.random.Generator, *, is_joint: bool) -> Description:
    """Some columns and the rows that their values come from: one row, or another one for each."""
    places = generator.choice(fits.width, size=width, replace=False).tolist()
    sources = (
        [int(generator.integers(fits.rows))] * width if is_joint else generator.integers(fits.rows, size=width).tolist()
    )
    return dict(zip(places, sources, strict=True))


def _sample(table: pa.Table, rows: int, generator: np.random.Generator) -> pa.Table:
    return table.take(pa.array(np.sort(generator.permutation(table.num_rows)[:rows])))
