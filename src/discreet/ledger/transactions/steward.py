"""Writes that only the steward of a ledger may make: registrations, budgets, quotas, names, keys and recoveries.

Who may charge may not raise the cap. On PostgreSQL each of these writes is a function that only the role of the
steward may call (`stores/postgres_functions.py`); SQLite has no roles, and runs the statement itself.
"""

from dataclasses import dataclass

from discreet.ledger.records.chain import Kind
from discreet.ledger.transactions.store import Values, insert_statement

EVENTS = (Kind.REGISTERED, Kind.VERSIONED, Kind.RENAMED, Kind.CAPPED, Kind.LIMITED, Kind.RECOVERED)
"""The kinds of events that only the steward adds."""


@dataclass(frozen=True)
class StewardWrite:
    """A change of one row of a table: an update with `:name` for values, or, without one, the insertion of a row."""

    name: str
    table: str
    update: str = ""

    def statement(self, values: Values) -> str:
        """The statement itself, for a store without roles."""
        return self.update or insert_statement(self.table, values)[0]


ADD_DATASET = StewardWrite("add_dataset", "datasets")
ADD_VERSION = StewardWrite("add_version", "versions")
ADD_ALIAS = StewardWrite("add_alias", "aliases")
ADD_KEY_ACT = StewardWrite("add_key_act", "keys")
ADD_EVENT = StewardWrite("add_event", "events")
ADD_SHARE = StewardWrite("add_share", "analysts")
SET_BUDGET = StewardWrite(
    "set_budget",
    "datasets",
    """UPDATE datasets SET unit = :unit, neighbours = :neighbours,
  epsilon = :epsilon, delta = :delta, reserved_delta = :reserved_delta, ceiling = :ceiling, reason = :reason,
  cap_epsilon = :cap_epsilon, cap_rho = :cap_rho, cap_delta = :cap_delta, renyi_order = :renyi_order,
  spent_epsilon = :spent_epsilon, spent_rho = :spent_rho, spent_delta = :spent_delta, spent_renyi = :spent_renyi,
  floor_epsilon = :floor_epsilon, floor_rho = :floor_rho, floor_delta = :floor_delta, floor_renyi = :floor_renyi,
  sequence = :sequence, head = :head
WHERE name = :name AND head = :previous""",
)
SET_LIMITS = StewardWrite(
    "set_limits",
    "analysts",
    """UPDATE analysts SET quota = :quota, is_own = :is_own, cap_epsilon = :cap_epsilon, cap_rho = :cap_rho,
  cap_delta = :cap_delta, floor_epsilon = :floor_epsilon, floor_rho = :floor_rho, floor_delta = :floor_delta,
  floor_renyi = :floor_renyi, most_failures = :most_failures
WHERE dataset = :dataset AND analyst = :analyst""",
)
RESTATE_SHARE = StewardWrite(
    "restate_share",
    "analysts",
    """UPDATE analysts SET spent_renyi = :spent_renyi, floor_epsilon = :floor_epsilon, floor_rho = :floor_rho,
  floor_delta = :floor_delta, floor_renyi = :floor_renyi
WHERE dataset = :dataset AND analyst = :analyst""",
)
REPAIR_SHARE = StewardWrite(
    "repair_share",
    "analysts",
    """UPDATE analysts SET quota = :quota, is_own = :is_own,
  cap_epsilon = :cap_epsilon, cap_rho = :cap_rho, cap_delta = :cap_delta,
  spent_epsilon = :spent_epsilon, spent_rho = :spent_rho, spent_delta = :spent_delta, spent_renyi = :spent_renyi,
  floor_epsilon = :floor_epsilon, floor_rho = :floor_rho, floor_delta = :floor_delta, floor_renyi = :floor_renyi,
  failures = :failures, most_failures = :most_failures
WHERE dataset = :dataset AND analyst = :analyst""",
)
CORRECT_VERSION = StewardWrite(
    "correct_version",
    "versions",
    """UPDATE versions SET source = :source, facts = :facts, population = :population, registered = :registered
WHERE dataset = :dataset AND version = :version""",
)
REGISTER_AGAIN = StewardWrite(
    "register_again",
    "versions",
    "UPDATE versions SET registered = :registered WHERE dataset = :dataset AND version = :version",
)
CLEAR_HALT = StewardWrite("clear_halt", "halts", "UPDATE halts SET cleared = :sequence WHERE id = :id")

WRITES = (
    *(ADD_DATASET, ADD_VERSION, ADD_ALIAS, ADD_KEY_ACT, ADD_EVENT, ADD_SHARE),
    *(SET_BUDGET, SET_LIMITS, RESTATE_SHARE, REPAIR_SHARE, CORRECT_VERSION, REGISTER_AGAIN, CLEAR_HALT),
)
"""All of them."""
