"""The tables of a ledger on SQLite, the rules that hold whatever the code does, and the way to later versions.

The CHECK on `datasets` is the promise: a filter holds, or nothing was charged since the cap was last set (an owner
may lower a cap below what is spent). Triggers make the store append-only; a registration alone may be replaced, by an
event that says so, as long as nothing was ever charged. SQL's NULL does what None does in a cost: a total without a
finite epsilon is NULL, and no comparison with NULL admits anything.
"""

import re
import sqlite3
from collections.abc import Mapping

from discreet.errors import LedgerError
from discreet.ledger.chain import now
from discreet.version import __version__

VERSION = 1
APPLICATION = 0x64697363

NEWER = "the ledger was written by a newer version of discreet; nothing was changed, and this version cannot serve it"
OLDER = "the ledger is of a version that this version of discreet cannot migrate; nothing was changed"

_TABLES = (
    """CREATE TABLE schema_versions (
  version INTEGER PRIMARY KEY NOT NULL,
  applied TEXT NOT NULL,
  library TEXT NOT NULL
) STRICT""",
    """CREATE TABLE datasets (
  name TEXT PRIMARY KEY NOT NULL,
  unit TEXT NOT NULL,
  neighbours TEXT NOT NULL,
  hash_key TEXT NOT NULL,
  epsilon TEXT NOT NULL,
  delta TEXT NOT NULL,
  reserved_delta TEXT NOT NULL,
  ceiling TEXT NOT NULL,
  reason TEXT,
  cap_epsilon INTEGER NOT NULL CHECK (cap_epsilon >= 0),
  cap_rho INTEGER NOT NULL CHECK (cap_rho >= 0),
  cap_delta INTEGER NOT NULL CHECK (cap_delta >= 0),
  spent_epsilon INTEGER CHECK (spent_epsilon >= 0),
  spent_rho INTEGER NOT NULL CHECK (spent_rho >= 0),
  spent_delta INTEGER NOT NULL CHECK (spent_delta >= 0),
  floor_epsilon INTEGER,
  floor_rho INTEGER NOT NULL,
  floor_delta INTEGER NOT NULL,
  sequence INTEGER NOT NULL CHECK (sequence >= 1),
  head TEXT NOT NULL,
  CONSTRAINT promise CHECK (
    (spent_delta <= cap_delta
      AND ((spent_epsilon IS NOT NULL AND spent_epsilon <= cap_epsilon) OR spent_rho <= cap_rho))
    OR (spent_epsilon IS floor_epsilon AND spent_rho = floor_rho AND spent_delta = floor_delta)
  )
) STRICT""",
    """CREATE TABLE versions (
  dataset TEXT NOT NULL REFERENCES datasets (name),
  version INTEGER NOT NULL CHECK (version >= 1),
  source TEXT NOT NULL,
  facts TEXT NOT NULL,
  population INTEGER,
  PRIMARY KEY (dataset, version)
) STRICT""",
    """CREATE TABLE events (
  dataset TEXT NOT NULL REFERENCES datasets (name),
  sequence INTEGER NOT NULL,
  format INTEGER NOT NULL,
  kind TEXT NOT NULL CHECK (
    kind IN ('REGISTERED', 'VERSIONED', 'CAPPED', 'REJECTED', 'RESERVED', 'ANSWERED', 'FORFEITED')
  ),
  time TEXT NOT NULL,
  version INTEGER NOT NULL,
  analyst TEXT,
  event TEXT,
  cost_epsilon INTEGER CHECK (cost_epsilon >= 0),
  cost_rho INTEGER NOT NULL CHECK (cost_rho >= 0),
  cost_delta INTEGER NOT NULL CHECK (cost_delta >= 0),
  question TEXT,
  request TEXT,
  reservation INTEGER,
  digest TEXT,
  detail TEXT,
  library TEXT NOT NULL,
  previous TEXT NOT NULL,
  hash TEXT NOT NULL,
  PRIMARY KEY (dataset, sequence),
  CONSTRAINT price CHECK (
    (kind = 'RESERVED') = (cost_epsilon IS NULL OR cost_epsilon > 0 OR cost_rho > 0 OR cost_delta > 0)
  )
) STRICT""",
    """CREATE TABLE reservations (
  dataset TEXT NOT NULL,
  sequence INTEGER NOT NULL,
  analyst TEXT NOT NULL,
  request TEXT,
  question TEXT NOT NULL,
  description TEXT NOT NULL,
  state TEXT NOT NULL CHECK (state IN ('RESERVED', 'ANSWERED', 'FORFEITED')),
  PRIMARY KEY (dataset, sequence),
  FOREIGN KEY (dataset, sequence) REFERENCES events (dataset, sequence)
) STRICT""",
    """CREATE TABLE answers (
  dataset TEXT NOT NULL,
  reservation INTEGER NOT NULL,
  payload BLOB NOT NULL,
  PRIMARY KEY (dataset, reservation),
  FOREIGN KEY (dataset, reservation) REFERENCES reservations (dataset, sequence)
) STRICT""",
)

_INDEXES = (
    "CREATE UNIQUE INDEX one_outcome ON events (dataset, reservation) WHERE reservation IS NOT NULL",
    "CREATE UNIQUE INDEX one_charge ON reservations (dataset, analyst, request) WHERE request IS NOT NULL",
    "CREATE INDEX asked_before ON reservations (dataset, question)",
    "CREATE INDEX registrations ON events (dataset, sequence) WHERE kind IN ('REGISTERED', 'VERSIONED')",
)


def _refusing(name: str, act: str, when: str, because: str) -> str:
    condition = f" WHEN {when}" if when else ""
    return f"CREATE TRIGGER {name} BEFORE {act}{condition}\nBEGIN SELECT RAISE(ABORT, '{because}'); END"


def _charged(dataset: str) -> str:
    return f"EXISTS (SELECT 1 FROM events WHERE dataset = {dataset} AND kind = 'RESERVED')"


_FROZEN = (
    *(
        _refusing(f"{table}_never_change", f"UPDATE ON {table}", "", f"{table} are append-only")
        for table in ("schema_versions", "events", "answers")
    ),
    *(
        _refusing(f"{table}_never_vanish", f"DELETE ON {table}", "", f"{table} are never deleted")
        for table in ("schema_versions", "datasets", "versions", "events", "reservations", "answers")
    ),
)

_KEYS = {"datasets": ("name",), "versions": ("dataset", "version"), "reservations": ("dataset", "sequence")}
_KEYS |= {"answers": ("dataset", "reservation")}

_ONCE = tuple(  # the DELETE of an INSERT OR REPLACE fires no trigger
    _refusing(
        f"{table}_are_written_once",
        f"INSERT ON {table}",
        f"EXISTS (SELECT 1 FROM {table} WHERE {' AND '.join(f'{column} = NEW.{column}' for column in columns)})",
        f"{table} are never replaced",
    )
    for table, columns in _KEYS.items()
)

_TRIGGERS = (
    *_FROZEN,
    *_ONCE,
    _refusing(
        "identity_is_frozen",
        "UPDATE OF name, hash_key ON datasets",
        "",
        "a dataset keeps its name and hash key",
    ),
    _refusing(
        "unit_is_frozen_by_a_charge",
        "UPDATE OF unit, neighbours ON datasets",
        _charged("OLD.name"),
        "a dataset that was charged keeps its unit and neighbours",
    ),
    _refusing(
        "versions_are_frozen_by_a_charge",
        "UPDATE ON versions",
        _charged("OLD.dataset"),
        "a dataset that was charged keeps its versions as they are",
    ),
    _refusing(
        "versions_follow_their_registration",
        "UPDATE ON versions",
        "NEW.dataset <> OLD.dataset OR NEW.version <> OLD.version OR NOT EXISTS ("
        "SELECT 1 FROM datasets JOIN events ON events.dataset = name AND events.sequence = datasets.sequence"
        " WHERE name = OLD.dataset AND kind = 'REGISTERED' AND version = OLD.version)",
        "a version changes only with the event that registers it again",
    ),
    _refusing(
        "registered_before_charged",
        "INSERT ON events",
        f"NEW.kind = 'REGISTERED' AND {_charged('NEW.dataset')}",
        "a dataset that was charged is not registered again",
    ),
    _refusing(
        "no_refunds",
        "UPDATE ON datasets",
        "NEW.spent_rho < OLD.spent_rho OR NEW.spent_delta < OLD.spent_delta"
        " OR (OLD.spent_epsilon IS NULL AND NEW.spent_epsilon IS NOT NULL) OR NEW.spent_epsilon < OLD.spent_epsilon",
        "what was spent never falls",
    ),
    _refusing(
        "caps_follow_the_promise",
        "UPDATE ON datasets",
        "NEW.epsilon = OLD.epsilon AND NEW.delta = OLD.delta AND NEW.reserved_delta = OLD.reserved_delta"
        " AND (NEW.cap_epsilon <> OLD.cap_epsilon OR NEW.cap_rho <> OLD.cap_rho OR NEW.cap_delta <> OLD.cap_delta"
        " OR NEW.floor_epsilon IS NOT OLD.floor_epsilon OR NEW.floor_rho <> OLD.floor_rho"
        " OR NEW.floor_delta <> OLD.floor_delta)",
        "a changed cap is a new promise",
    ),
    _refusing(
        "every_change_is_an_event",
        "UPDATE ON datasets",
        "NEW.sequence <> OLD.sequence + 1 OR NEW.head = OLD.head",
        "a dataset changes only with an event",
    ),
    _refusing(
        "events_are_appended",
        "INSERT ON events",
        "NOT EXISTS (SELECT 1 FROM datasets WHERE name = NEW.dataset AND sequence = NEW.sequence AND head = NEW.hash)",
        "an event is written only as the head of its chain",
    ),
    _refusing(
        "one_way",
        "UPDATE ON reservations",
        "OLD.state <> 'RESERVED' OR NEW.state = 'RESERVED' OR NEW.dataset <> OLD.dataset"
        " OR NEW.sequence <> OLD.sequence OR NEW.analyst <> OLD.analyst OR NEW.request IS NOT OLD.request"
        " OR NEW.question <> OLD.question OR NEW.description <> OLD.description",
        "a reservation is answered or forfeited once",
    ),
)

STATEMENTS = (*_TABLES, *_INDEXES, *_TRIGGERS)

MIGRATIONS: Mapping[int, tuple[str, ...]] = {}


def create(connection: sqlite3.Connection) -> None:
    """Make an empty ledger of this version, in one transaction."""
    connection.execute("BEGIN EXCLUSIVE")
    for statement in STATEMENTS:
        connection.execute(statement)
    connection.execute(f"PRAGMA application_id = {APPLICATION}")
    _record(connection, VERSION)
    connection.execute("COMMIT")


def is_ledger(connection: sqlite3.Connection) -> bool:
    """Whether the file says that it is a ledger; reads its header only."""
    return _pragma(connection, "application_id") == APPLICATION


def migrate(
    connection: sqlite3.Connection, *, target: int = VERSION, steps: Mapping[int, tuple[str, ...]] = MIGRATIONS
) -> None:
    """Bring an older ledger to the target version, all steps or none; a newer one is refused untouched."""
    if _pragma(connection, "user_version") == target:
        return
    connection.execute("BEGIN IMMEDIATE")
    try:
        for version in range(_migratable(connection, target, steps), target):
            for statement in steps[version]:
                connection.execute(statement)
            _record(connection, version + 1)
    except BaseException:
        connection.execute("ROLLBACK")
        raise
    connection.execute("COMMIT")


def changed_rules(connection: sqlite3.Connection) -> list[str]:
    """The tables, indexes and triggers that were dropped, altered or added since this version wrote them."""
    stored = {tuple(row) for row in connection.execute("SELECT name, sql FROM sqlite_schema WHERE sql IS NOT NULL")}
    written = {(_name_of(statement), statement) for statement in STATEMENTS}
    return sorted({name for name, _ in stored ^ written})


def is_recorded(connection: sqlite3.Connection) -> bool:
    """Whether the version in the file's header is the last one that the table records."""
    recorded = connection.execute("SELECT max(version) FROM schema_versions").fetchone()[0]
    return bool(recorded == _pragma(connection, "user_version"))


def _name_of(statement: str) -> str:
    match = re.match(r"CREATE (?:UNIQUE )?(?:TABLE|INDEX|TRIGGER) (\w+)", statement)
    return match[1] if match else statement


def _migratable(connection: sqlite3.Connection, target: int, steps: Mapping[int, tuple[str, ...]]) -> int:
    stored = _pragma(connection, "user_version")
    if stored > target:
        raise LedgerError(NEWER)
    if any(version not in steps for version in range(stored, target)):
        raise LedgerError(OLDER)
    return stored


def _record(connection: sqlite3.Connection, version: int) -> None:
    connection.execute("INSERT INTO schema_versions VALUES (?, ?, ?)", (version, now(), __version__))
    connection.execute(f"PRAGMA user_version = {version:d}")


def _pragma(connection: sqlite3.Connection, name: str) -> int:
    return int(connection.execute(f"PRAGMA {name}").fetchone()[0])
