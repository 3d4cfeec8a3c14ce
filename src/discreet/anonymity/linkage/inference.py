"""Inference: an attribute of a person is guessed from published rows that are like what is known of the person.

The guess is the value of the nearest published rows. It also succeeds on people who are not in the data, where columns
depend on each other; only the excess over such a control group is due to the person's own row.
"""

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from discreet.anonymity.classes.column_lists import one_column
from discreet.anonymity.linkage.attack_rates import (
    AttackRate,
    AttackRisk,
    attack_tables,
    confidence_level,
    fresh,
    shared_columns,
)
from discreet.anonymity.linkage.nearest import RowDistances, as_numbers, is_number
from discreet.engines.sources.arrow_tables import Codes, encode
from discreet.errors import ParameterError, TypeMismatchError, short_traceback
from discreet.exact.numbers import Number, rational, whole
from discreet.plots.style import pluralize


@short_traceback
def assess(
    original: object,
    published: object,
    control: object,
    *,
    learn: str,
    known: Sequence[str] | None = None,
    tolerance: Number | None = None,
    neighbours: int = 1,
    attempts: int = 1_000,
    level: Number = 0.95,
    generator: np.random.Generator | None = None,
) -> AttackRisk:
    """How often the value of a column is guessed from the nearest published rows.

    Args:
        original: Rows of the people whose data was published, one row a person.
        published: Published rows: generalised, perturbed or synthetic, with columns of the same types.
        control: Rows of people of the same population whose data was not used.
        learn: Column that is guessed.
        known: Columns that the attacker knows. Default: all other columns that the three tables have.
        tolerance: For a column of numbers, the largest difference that counts as right. Default: equal values.
        neighbours: Number of nearest rows whose commonest value is the guess, or with a tolerance whose median is.
            Default 1.
        attempts: Largest number of people attacked in each group. Default 1,000.
        level: Confidence level. Default 0.95.
        generator: Source of random choices. Default: a fresh one.

    Returns:
        The rates of success and the risk.

    Raises:
        ParameterError: If an argument is outside its range or a table has no rows.
        NameNotFoundError: If a table lacks a column.
        TypeMismatchError: If a tolerance is given for a column that is not of numbers or dates.

    Example:
        >>> import discreet as dp
        >>> people = dp.datasets.people(400).select(["birth_date", "state", "zip_code", "income"])
        >>> copy, others = people[:200], people[200:]
        >>> dp.anonymity.inference.assess(copy, copy, others, learn="income").attack.rate > 0.9
        True
    """
    one_column(learn, "learn", example='"income"')
    columns = [name for name in shared_columns(known, original, published, control, besides=[learn]) if name != learn]
    if not columns:
        raise ParameterError(
            f"known={known!r}",
            because="the column that is guessed is not known",
            instead='known=["age", "sex"], columns of all three tables',
        )
    tables = attack_tables(original, published, control, [*columns, learn])
    draw, number, confidence = fresh(generator), whole(attempts, "attempts"), confidence_level(level)
    near, distance = (
        whole(neighbours, "neighbours"),
        None if tolerance is None else float(rational(tolerance, "tolerance")),
    )
    _check_tolerance(tables, learn, distance)
    rates = {}
    for name, table in (("attack", tables[0]), ("control", tables[2])):
        people = draw.permutation(table.num_rows)[:number]
        rows = RowDistances(tables[1], table, columns).nearest(people, near, draw)
        rates[name] = _rate(tables[1], table, learn, people, rows, distance, confidence)
    people = draw.permutation(tables[0].num_rows)[:number]
    rows = draw.integers(0, tables[1].num_rows, size=(len(people), 1))
    rates["baseline"] = _rate(tables[1], tables[0], learn, people, rows, distance, confidence)
    details = f"{learn!r} is guessed from {', '.join(columns)} by {pluralize(near, 'nearest published row')}"
    return AttackRisk("inference", **rates, level=confidence, details=details)


def _check_tolerance(tables: tuple[pa.Table, ...], learn: str, distance: float | None) -> None:
    if distance is None or all(is_number(table.schema.field(learn).type) for table in tables):
        return
    raise TypeMismatchError(
        f"a tolerance for column {learn!r}",
        because="only numbers and dates have differences",
        instead="tolerance=None",
    )


def _rate(
    published: pa.Table,
    table: pa.Table,
    learn: str,
    people: Codes,
    rows: Codes,
    distance: float | None,
    level: float,
) -> AttackRate:
    if distance is None:
        codes = encode([published[learn], table[learn]], learn)
        is_right = _commonest(codes[: published.num_rows][rows]) == codes[published.num_rows :][people]
    else:
        guesses = np.sort(as_numbers(published[learn])[rows], axis=1)[:, (rows.shape[1] - 1) // 2]
        is_right = np.abs(guesses - as_numbers(table[learn])[people]) <= distance
    return AttackRate(int(is_right.sum()), len(people), level)


def _commonest(codes: Codes) -> NDArray[np.int64]:
    """The commonest code of each line; of equally common ones the least."""
    order = np.sort(codes, axis=1)
    times = (order[:, :, None] == order[:, None, :]).sum(axis=2)
    return np.asarray(order[np.arange(len(order)), times.argmax(axis=1)])
