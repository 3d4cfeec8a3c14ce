"""Risks of a synthetic table by the three attacks of the risk report: singling out, linkability and inference.

Each attack is run on people of the data and, as a control, on people whose rows were not synthesized. What succeeds on
both is knowledge about the population; only the excess is due to a person's own row. Attempts are rows: a person of
several rows is attacked by each of them. Distances from a real row to the nearest synthetic one are not reported, and
are not evidence: a table may copy secrets and keep all rows apart, and a private one may come near likely rows by
chance. A rate of an attack says what that attack found. The guarantee bounds every attack.

References:
    Giomi, Boenisch, Wehmeyer and Tasnadi, A Unified Framework for Quantifying Privacy Risk in Synthetic Data
    (Anonymeter), PoPETs 2023.
    Ganev and De Cristofaro, The Inadequacy of Similarity-based Privacy Metrics, IEEE S&P 2025 (nearest neighbours).
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from discreet.anonymity.linkage import inference, linkability, singling_out
from discreet.anonymity.linkage.attack_rates import AttackRisk
from discreet.plan.slots import SlotColumn
from discreet.synthesis.quality.encoding import as_slots, as_values

ATTEMPTS = 500
"""Attempts of each attack on each group."""
WIDTH, NEIGHBOURS = 5, 10
"""Columns of a description that singles out, and nearest rows of each half of a link: a copied table shows in both."""
MOST_ROWS = 50_000
"""Rows of each table that attacks use; of larger tables a random sample."""


def attack_risks(
    columns: Sequence[SlotColumn],
    data: object,
    synthetic: object,
    control: object,
    *,
    learn: str,
    generator: np.random.Generator,
) -> tuple[AttackRisk, ...]:
    """The risks under the three headings; singling out alone where the table has one column.

    A value is guessed right by inference if it is in the slot of the true one. Links are made between the first half of
    the columns and the second.

    Args:
        columns: The columns of the synthetic table, with their slots.
        data: The rows that were synthesized.
        synthetic: The synthetic rows.
        control: Rows of the same population that were not synthesized.
        learn: The column that is guessed.
        generator: Random choices of the attacks.

    Returns:
        Singling out, linkability and inference.
    """
    tables = [_sample(as_values(columns, each), generator) for each in (data, synthetic, control)]
    options: dict[str, Any] = {"attempts": ATTEMPTS, "generator": generator}
    found = [singling_out.assess(*tables, size=min(WIDTH, len(columns)), **options)]
    if len(columns) > 1:
        names = [column.name for column in columns]
        half = (len(names) + 1) // 2
        first, second = names[:half], names[half:]
        found.append(linkability.assess(*tables, first=first, second=second, neighbours=NEIGHBOURS, **options))
        column = next(each for each in columns if each.name == learn)
        place = names.index(learn)
        in_slots = [table.set_column(place, learn, pa.array(as_slots(column, table))) for table in tables]
        found.append(inference.assess(*in_slots, learn=learn, **options))
    return tuple(found)


def risk_line(found: AttackRisk) -> str:
    """A risk as a line: both rates of success, and the excess with its interval."""
    low, high = (max(-1.0, end) for end in found.interval)
    caveat = "" if found.is_informative else "; this attack does not beat random guesses, so it measures nothing"
    return (
        f"{found.heading}: {found.attack.rate:.1%} of {found.attack.attempts:,} attempts succeed, "
        f"{found.control.rate:.1%} on the control group, and "
        f"{found.baseline.rate:.1%} by random guesses: risk {found.risk:.1%} ({low:.1%} to {high:.1%}){caveat}"
    )


def _sample(table: pa.Table, generator: np.random.Generator) -> pa.Table:
    if table.num_rows <= MOST_ROWS:
        return table
    return table.take(pa.array(np.sort(generator.permutation(table.num_rows)[:MOST_ROWS])))
