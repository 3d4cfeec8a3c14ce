"""Linkability: two records of the same person, in two datasets, are linked through the published rows.

The attacker has some columns of a person from one source and others from a second source, and wants to know which
records belong together. A pair is linked if a published row is near to both.
"""

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from discreet.anonymity.classes.column_lists import names_of
from discreet.anonymity.linkage.attack_rates import AttackRate, AttackRisk, attack_tables, confidence_level, fresh
from discreet.anonymity.linkage.nearest import RowDistances
from discreet.engines.sources.arrow_tables import Codes
from discreet.errors import ParameterError, short_traceback
from discreet.exact.numbers import Number, whole


@short_traceback
def assess(
    original: object,
    published: object,
    control: object,
    *,
    first: Sequence[str],
    second: Sequence[str],
    neighbours: int = 1,
    attempts: int = 1_000,
    level: Number = 0.95,
    generator: np.random.Generator | None = None,
) -> AttackRisk:
    """How often the two halves of a person's record have a nearest published row in common.

    Args:
        original: Rows of the people whose data was published, one row a person.
        published: Published rows: generalised, perturbed or synthetic, with columns of the same types.
        control: Rows of people of the same population whose data was not used.
        first: Columns of the first source.
        second: Columns of the second source; none of them is in `first`.
        neighbours: Number of nearest rows of each half. Default 1.
        attempts: Largest number of people attacked in each group. Default 1,000.
        level: Confidence level. Default 0.95.
        generator: Source of random choices. Default: a fresh one.

    Returns:
        The rates of success and the risk. The baseline draws the rows of both halves at random.

    Raises:
        ParameterError: If an argument is outside its range, the halves overlap, or a table has no rows.
        NameNotFoundError: If a table lacks a column.

    Example:
        >>> import discreet as dp
        >>> people = dp.datasets.people(400)
        >>> copy, others = people[:200], people[200:]
        >>> halves = {"first": ["zip_code", "sex"], "second": ["birth_date", "income"]}
        >>> risk = dp.anonymity.linkability.assess(copy, copy, others, **halves)
        >>> risk.attack.rate > risk.control.rate
        True
    """
    halves = names_of(first, "first"), names_of(second, "second")
    if set(halves[0]) & set(halves[1]):
        raise ParameterError(
            f"first and second with {sorted(set(halves[0]) & set(halves[1]))}",
            because="a column of both sources links records without the published rows",
            instead=f"second={[name for name in halves[1] if name not in halves[0]]!r}",
        )
    tables = attack_tables(original, published, control, [*halves[0], *halves[1]])
    draw, number, confidence = fresh(generator), whole(attempts, "attempts"), confidence_level(level)
    near = min(whole(neighbours, "neighbours"), tables[1].num_rows)
    rates = {}
    for name, table in (("attack", tables[0]), ("control", tables[2])):
        people = draw.permutation(table.num_rows)[:number]
        rows = [_nearest(tables[1], table, half, people, near, draw) for half in halves]
        rates[name] = _rate(rows[0], rows[1], confidence)
    guesses = [_draw_rows(tables[1].num_rows, rates["attack"].attempts, near, draw) for _ in halves]
    rates["baseline"] = _rate(guesses[0], guesses[1], confidence)
    details = f"records with {', '.join(halves[0])} are linked to records with {', '.join(halves[1])}"
    return AttackRisk("linkability", **rates, level=confidence, details=details)


def _nearest(
    published: pa.Table,
    table: pa.Table,
    columns: Sequence[str],
    people: Codes,
    near: int,
    generator: np.random.Generator,
) -> Codes:
    return RowDistances(published, table, columns).nearest(people, near, generator)


def _rate(first: Codes, second: Codes, level: float) -> AttackRate:
    shared = (first[:, :, None] == second[:, None, :]).any(axis=(1, 2))
    return AttackRate(int(shared.sum()), len(first), level)


def _draw_rows(rows: int, attempts: int, near: int, generator: np.random.Generator) -> Codes:
    return np.array([generator.choice(rows, size=near, replace=False) for _ in range(attempts)]).reshape(attempts, near)
