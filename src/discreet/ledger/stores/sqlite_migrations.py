"""Bringing a ledger on SQLite to the present version of its schema, all steps in one transaction.

A step that changes tables makes them anew and copies their rows: SQLite cannot change the checks of a table. Only the
last step gives tables their checks, keys and triggers; a step before it leaves plain tables to the next one.
"""

import sqlite3
from collections.abc import Mapping

from discreet.errors import LedgerError
from discreet.ledger.records import faults
from discreet.ledger.records.quota import MOST_FAILURES
from discreet.ledger.stores.schema import tables
from discreet.ledger.stores.sqlite_schema import INDEXES, TABLE_NAMES, TABLES, TRIGGERS, VERSION, pragma, record


def migrate(
    connection: sqlite3.Connection, *, target: int = VERSION, steps: Mapping[int, tuple[str, ...]] | None = None
) -> None:
    """Bring an older ledger to the target version, all steps or none; a newer one is refused untouched."""
    if pragma(connection, "user_version") == target:
        return
    known = MIGRATIONS if steps is None else steps
    connection.execute("BEGIN IMMEDIATE")
    try:
        for version in range(_migratable(connection, target, known), target):
            for statement in known[version]:
                connection.execute(statement)
            record(connection, version + 1)
    except BaseException:
        connection.execute("ROLLBACK")
        raise
    connection.execute("COMMIT")


def _migratable(connection: sqlite3.Connection, target: int, steps: Mapping[int, tuple[str, ...]]) -> int:
    stored = pragma(connection, "user_version")
    if stored > target:
        raise LedgerError(faults.NEWER)
    if any(version not in steps for version in range(stored, target)):
        raise LedgerError(faults.OLDER)
    return stored


def _plain_tables(kept: tuple[str, ...], made: Mapping[str, str]) -> tuple[str, ...]:
    """Tables without rules, from the rows of those that are there, which are called `old_...` meanwhile."""
    rows = {table: f"SELECT * FROM old_{table}" for table in kept} | dict(made)
    return (
        *(f"CREATE TEMP TABLE old_{table} AS SELECT * FROM main.{table}" for table in kept),
        *(f"DROP TABLE main.{table}" for table in reversed(kept)),
        *(f"CREATE TABLE main.{table} AS {select}" for table, select in rows.items()),
        *(f"DROP TABLE temp.old_{table}" for table in kept),
    )


def _tables_with_rules(made: Mapping[str, str]) -> tuple[str, ...]:
    """The tables of this version, from the rows of those that are there."""
    rows = {table: made.get(table, f"SELECT * FROM main.{table}") for table in TABLE_NAMES}
    columns = {table: ", ".join(tables.columns(table)) for table in TABLE_NAMES}
    return (
        *(f"CREATE TEMP TABLE new_{table} AS SELECT {columns[table]} FROM ({rows[table]})" for table in TABLE_NAMES),
        *(f"DROP TABLE IF EXISTS main.{table}" for table in reversed(TABLE_NAMES)),
        *TABLES,
        *(f"INSERT INTO main.{table} SELECT * FROM temp.new_{table}" for table in TABLE_NAMES),
        *INDEXES,
        *TRIGGERS,
        *(f"DROP TABLE temp.new_{table}" for table in TABLE_NAMES),
    )


# What an analyst spent and failed is what the chain records.
_FROM_1_TO_2 = _plain_tables(
    ("schema_versions", "datasets", "versions", "events", "reservations", "answers"),
    {
        "ledger": "SELECT lower(hex(randomblob(16))) AS id",
        "datasets": "SELECT *, NULL AS part_of, NULL AS slice_start, NULL AS slice_end FROM old_datasets",
        "versions": """SELECT *, (
  SELECT max(sequence) FROM old_events AS e WHERE e.dataset = v.dataset AND kind IN ('REGISTERED', 'VERSIONED')
  AND (kind = 'REGISTERED' OR e.version = v.version)) AS registered FROM old_versions AS v""",
        "analysts": f"""SELECT dataset, analyst, NULL AS quota, 0 AS is_own, NULL AS cap_epsilon, NULL AS cap_rho,
  NULL AS cap_delta, CASE WHEN count(*) = count(cost_epsilon) THEN sum(cost_epsilon) END AS spent_epsilon,
  sum(cost_rho) AS spent_rho, sum(cost_delta) AS spent_delta, 0 AS floor_epsilon, 0 AS floor_rho, 0 AS floor_delta,
  sum(kind = 'FORFEITED') AS failures, {MOST_FAILURES} AS most_failures FROM old_events
WHERE kind IN ('RESERVED', 'FORFEITED') GROUP BY dataset, analyst""",
        "reservations": "SELECT *, 1 AS attempt, 0 AS lease FROM old_reservations",
        "aliases": "SELECT '' AS alias, '' AS dataset WHERE FALSE",
        "halts": "SELECT '' AS id, '' AS dataset, '' AS time, '' AS finding, NULL AS cleared WHERE FALSE",
    },
)

# What was spent counts by its rho, which bounds the Renyi divergence of every order.
_FROM_2_TO_3 = _plain_tables(
    tuple(table for table in TABLE_NAMES if table != "keys"),
    {
        "datasets": """SELECT *, NULL AS renyi_order, spent_rho AS spent_renyi, floor_rho AS floor_renyi
FROM old_datasets""",
        "analysts": "SELECT *, spent_rho AS spent_renyi, floor_rho AS floor_renyi FROM old_analysts",
        "events": "SELECT *, cost_rho AS cost_renyi FROM old_events",
    },
)

# One more kind of event, and its index: the checks of the next step.
_FROM_3_TO_4: tuple[str, ...] = ()

# Acts on keys; a process that opens a ledger without any, and whose key signed its anchors, becomes the owner.
_FROM_4_TO_5 = _tables_with_rules({"keys": "SELECT 0 AS sequence, '' AS document WHERE FALSE"})

MIGRATIONS: Mapping[int, tuple[str, ...]] = {1: _FROM_1_TO_2, 2: _FROM_2_TO_3, 3: _FROM_3_TO_4, 4: _FROM_4_TO_5}
