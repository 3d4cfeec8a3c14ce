"""What triggers refuse to every role: the store is append-only, totals never fall, every change is an event.

A registration alone may be replaced, by an event that says so, as long as nothing was ever charged. `when` is a
condition on the rows OLD and NEW in the words of PostgreSQL; both stores evaluate it.
"""

from dataclasses import dataclass

from discreet.ledger.stores.schema.tables import TABLES, primary_key


@dataclass(frozen=True)
class RefusedChange:
    """A change of a row that is refused, and the sentence that says why.

    `when` may be empty, where every change is refused, or every change of some `columns`.
    """

    name: str
    table: str
    act: str
    when: str
    because: str
    columns: tuple[str, ...] = ()


def _has_charges(dataset: str) -> str:
    return f"EXISTS (SELECT 1 FROM events WHERE dataset = {dataset} AND kind = 'RESERVED')"


FROZEN = ("schema_versions", "ledger", "keys", "aliases", "events", "answers")
"""The tables whose rows never change; rows of no table are deleted."""

APPEND_ONLY = (
    *(RefusedChange(f"{table}_never_change", table, "UPDATE", "", f"{table} are append-only") for table in FROZEN),
    *(RefusedChange(f"{table}_never_vanish", table, "DELETE", "", f"{table} are never deleted") for table in TABLES),
)

WRITTEN_ONCE = tuple(
    RefusedChange(
        f"{table}_are_written_once",
        table,
        "INSERT",
        f"EXISTS (SELECT 1 FROM {table} WHERE {' AND '.join(f'{column} = NEW.{column}' for column in columns)})",
        f"{table} are never replaced",
    )
    for table, columns in (
        (table, primary_key(table)) for table in TABLES if table not in ("schema_versions", "ledger")
    )
)
"""For SQLite alone, where the DELETE of an INSERT OR REPLACE fires no trigger."""

_FALLING = (
    "NEW.spent_rho < OLD.spent_rho OR NEW.spent_delta < OLD.spent_delta OR NEW.spent_renyi < OLD.spent_renyi"
    " OR (OLD.spent_epsilon IS NULL AND NEW.spent_epsilon IS NOT NULL) OR NEW.spent_epsilon < OLD.spent_epsilon"
)
_AT_THE_FLOOR = (
    "spent_epsilon IS NOT DISTINCT FROM floor_epsilon AND spent_rho = floor_rho AND spent_delta = floor_delta"
    " AND spent_renyi = floor_renyi"
)

RULES = (
    RefusedChange(
        "identity_is_frozen",
        "datasets",
        "UPDATE",
        "",
        "a dataset keeps its name, hash key and slice",
        columns=("name", "hash_key", "part_of", "slice_start", "slice_end"),
    ),
    RefusedChange(
        "unit_is_frozen_by_a_charge",
        "datasets",
        "UPDATE",
        f"(NEW.unit <> OLD.unit OR NEW.neighbours <> OLD.neighbours) AND {_has_charges('OLD.name')}",
        "a dataset that was charged keeps its unit and neighbours",
    ),
    RefusedChange(
        "versions_are_frozen_by_a_charge",
        "versions",
        "UPDATE",
        _has_charges("OLD.dataset"),
        "a dataset that was charged keeps its versions as they are",
    ),
    RefusedChange(
        "versions_follow_their_registration",
        "versions",
        "UPDATE",
        "NEW.dataset <> OLD.dataset OR NEW.version <> OLD.version OR NOT EXISTS ("
        "SELECT 1 FROM datasets JOIN events ON events.dataset = name AND events.sequence = datasets.sequence"
        " WHERE name = OLD.dataset AND kind = 'REGISTERED' AND (version = OLD.version"
        " OR (NEW.source = OLD.source AND NEW.facts = OLD.facts"
        " AND NEW.population IS NOT DISTINCT FROM OLD.population)))",
        "a version changes only with the event that registers it again",
    ),
    RefusedChange(
        "registered_before_charged",
        "events",
        "INSERT",
        f"NEW.kind = 'REGISTERED' AND {_has_charges('NEW.dataset')}",
        "a dataset that was charged is not registered again",
    ),
    RefusedChange("no_refunds", "datasets", "UPDATE", _FALLING, "what was spent never falls"),
    RefusedChange(
        "no_refunds_to_analysts",
        "analysts",
        "UPDATE",
        f"{_FALLING} OR NEW.failures < OLD.failures OR NEW.dataset <> OLD.dataset OR NEW.analyst <> OLD.analyst",
        "what an analyst spent never falls",
    ),
    RefusedChange(
        "caps_follow_the_promise",
        "datasets",
        "UPDATE",
        "NEW.epsilon = OLD.epsilon AND NEW.delta = OLD.delta AND NEW.reserved_delta = OLD.reserved_delta"
        " AND (NEW.cap_epsilon > OLD.cap_epsilon OR NEW.cap_rho > OLD.cap_rho OR NEW.cap_delta > OLD.cap_delta)",
        "a raised cap is a new promise",
    ),
    RefusedChange(
        "orders_follow_a_budget",
        "datasets",
        "UPDATE",
        "NEW.renyi_order IS DISTINCT FROM OLD.renyi_order AND (NEW.floor_epsilon IS DISTINCT FROM NEW.spent_epsilon"
        " OR NEW.floor_rho <> NEW.spent_rho OR NEW.floor_delta <> NEW.spent_delta"
        " OR NEW.floor_renyi <> NEW.spent_renyi)",
        "an order is fixed with a budget",
    ),
    RefusedChange(
        "floors_are_what_was_spent",
        "datasets",
        "UPDATE",
        "(NEW.floor_epsilon IS DISTINCT FROM OLD.floor_epsilon OR NEW.floor_rho <> OLD.floor_rho"
        " OR NEW.floor_delta <> OLD.floor_delta OR NEW.floor_renyi <> OLD.floor_renyi)"
        " AND (NEW.floor_epsilon IS DISTINCT FROM NEW.spent_epsilon OR NEW.floor_rho <> NEW.spent_rho"
        " OR NEW.floor_delta <> NEW.spent_delta OR NEW.floor_renyi <> NEW.spent_renyi)",
        "a floor is what is spent when it is set",
    ),
    RefusedChange(
        "charges_leave_the_floor",
        "events",
        "INSERT",
        f"NEW.kind = 'RESERVED' AND (EXISTS (SELECT 1 FROM datasets WHERE name = NEW.dataset AND {_AT_THE_FLOOR})"
        " OR NOT EXISTS (SELECT 1 FROM analysts WHERE dataset = NEW.dataset AND analyst = NEW.analyst"
        f" AND NOT ({_AT_THE_FLOOR})))",
        "a charge does not move a floor",
    ),
    RefusedChange(
        "every_change_is_an_event",
        "datasets",
        "UPDATE",
        "NEW.sequence <= OLD.sequence OR NEW.head = OLD.head",
        "a dataset changes only with an event",
    ),
    RefusedChange(
        "events_are_appended",
        "events",
        "INSERT",
        "NOT EXISTS (SELECT 1 FROM datasets WHERE name = NEW.dataset AND sequence = NEW.sequence AND head = NEW.hash)",
        "an event is written only as the head of its chain",
    ),
    RefusedChange(
        "events_leave_no_gap",
        "events",
        "INSERT",
        "NEW.kind <> 'RECOVERED' AND NEW.sequence <> 1 + COALESCE("
        "(SELECT max(sequence) FROM events WHERE dataset = NEW.dataset), 0)",
        "an event follows the one before it",
    ),
    RefusedChange(
        "acts_leave_no_gap",
        "keys",
        "INSERT",
        "NEW.sequence <> 1 + COALESCE((SELECT max(sequence) FROM keys), 0)",
        "an act on the keys follows the one before it",
    ),
    RefusedChange(
        "one_way",
        "reservations",
        "UPDATE",
        "OLD.state <> 'RESERVED' OR NEW.attempt < OLD.attempt"
        " OR (NEW.state <> 'RESERVED' AND NEW.attempt <> OLD.attempt) OR NEW.dataset <> OLD.dataset"
        " OR NEW.sequence <> OLD.sequence OR NEW.analyst <> OLD.analyst OR NEW.request IS DISTINCT FROM OLD.request"
        " OR NEW.question <> OLD.question OR NEW.description <> OLD.description",
        "a reservation is answered or forfeited once",
    ),
    RefusedChange(
        "answers_follow_their_outcome",
        "answers",
        "INSERT",
        "NOT EXISTS (SELECT 1 FROM reservations WHERE dataset = NEW.dataset AND sequence = NEW.reservation"
        " AND state = 'ANSWERED')",
        "an answer is stored with its outcome",
    ),
    RefusedChange(
        "failures_are_capped",
        "reservations",
        "INSERT",
        "EXISTS (SELECT 1 FROM analysts WHERE dataset = NEW.dataset AND analyst = NEW.analyst"
        " AND failures >= most_failures)",
        "an analyst with too many failures charges nothing",
    ),
    RefusedChange(
        "halts_are_cleared_once",
        "halts",
        "UPDATE",
        "OLD.cleared IS NOT NULL OR NEW.cleared IS NULL OR NEW.id <> OLD.id OR NEW.dataset <> OLD.dataset"
        " OR NEW.time <> OLD.time OR NEW.finding <> OLD.finding",
        "a halt is cleared once, by a recovery",
    ),
)
