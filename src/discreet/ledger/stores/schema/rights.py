"""What each role of PostgreSQL may do with a ledger.

    owner     of the database: makes and migrates the schema
    steward   registers datasets, sets budgets and quotas, lists keys, recovers; by functions alone
    service   charges, answers, and records failures and findings

The steward may also do what the service may. Other roles may read, if the owner grants it. No role may delete.
"""

from collections.abc import Mapping

from discreet.ledger.records.quota import EVERYONE, MOST_FAILURES
from discreet.ledger.stores.schema.rules import RefusedChange
from discreet.ledger.transactions import steward

ADDED = ("analysts", "events", "reservations", "answers", "halts")
"""The tables to which the service adds rows."""
CHANGED: Mapping[str, tuple[str, ...]] = {
    "datasets": ("spent_epsilon", "spent_rho", "spent_delta", "spent_renyi", "sequence", "head"),
    "analysts": ("spent_epsilon", "spent_rho", "spent_delta", "spent_renyi", "failures"),
    "reservations": ("state", "attempt", "lease"),
}
"""The columns that the service changes: totals, the head of a chain, and what became of a charge."""

_IS_SERVICE = "NOT pg_has_role(current_user, (SELECT nspowner FROM pg_namespace WHERE nspname = 'discreet'), 'USAGE')"
_KINDS = ", ".join(f"'{kind}'" for kind in steward.EVENTS)
_LIMITS = ("quota", "cap_epsilon", "cap_rho", "cap_delta")
_SAME_LIMITS = " AND ".join(f"{column} IS NOT DISTINCT FROM NEW.{column}" for column in _LIMITS)
_NO_LIMITS = " AND ".join(f"NEW.{column} IS NULL" for column in _LIMITS)

RULES = (
    RefusedChange(
        "acts_of_the_steward",
        "events",
        "INSERT",
        f"NEW.kind IN ({_KINDS}) AND {_IS_SERVICE}",
        "only the steward changes budgets, quotas and names",
    ),
    RefusedChange(
        "limits_of_everyone",
        "analysts",
        "INSERT",
        f"{_IS_SERVICE} AND (NEW.is_own <> 0 OR NEW.failures <> 0 OR NEW.floor_epsilon IS DISTINCT FROM 0"
        " OR NEW.floor_rho <> 0 OR NEW.floor_delta <> 0 OR NEW.floor_renyi <> 0 OR NOT ("
        f"EXISTS (SELECT 1 FROM analysts WHERE dataset = NEW.dataset AND analyst = '{EVERYONE}'"
        f" AND most_failures = NEW.most_failures AND {_SAME_LIMITS})"
        f" OR (NEW.most_failures = {MOST_FAILURES} AND {_NO_LIMITS} AND NOT EXISTS ("
        f"SELECT 1 FROM analysts WHERE dataset = NEW.dataset AND analyst = '{EVERYONE}'))))",
        "a new analyst has the quota of everyone",
    ),
    RefusedChange(
        "charges_before_reservations",
        "reservations",
        "INSERT",
        "NOT EXISTS (SELECT 1 FROM events WHERE dataset = NEW.dataset AND sequence = NEW.sequence"
        " AND kind = 'RESERVED')",
        "a reservation is written with its charge",
    ),
)
"""Rules on PostgreSQL alone: what the service may insert, and what foreign keys say on SQLite."""
LOCKED = frozenset({("analysts", "INSERT")})
"""Acts whose rules read other rows of the dataset: they lock its row first, and see what was committed meanwhile."""
