"""The tables of a ledger on SQLite, and the rules that its constraints enforce.

The CHECK on `datasets` is the privacy budget: a filter holds, or nothing was charged since the cap was set (an owner
may lower a cap below what is spent); the one on `analysts` is the quota. Triggers make the store append-only; a
registration alone may be replaced, by an event that says so, as long as nothing was ever charged. SQL's NULL does what
None does in a cost: a total without a finite epsilon is NULL, and no comparison with NULL admits anything.

The leases of reservations are the one thing that the chain does not seal: they say whose turn it is, not what is true.
"""

import re
import secrets
import sqlite3
from collections.abc import Iterator

from discreet.ledger.records.chain import now
from discreet.version import __version__

VERSION = 5
APPLICATION = 0x64697363

TABLES = (
    """CREATE TABLE schema_versions (
  version INTEGER PRIMARY KEY NOT NULL,
  applied TEXT NOT NULL,
  library TEXT NOT NULL
) STRICT""",
    """CREATE TABLE ledger (
  id TEXT PRIMARY KEY NOT NULL
) STRICT""",
    """CREATE TABLE keys (
  sequence INTEGER PRIMARY KEY NOT NULL CHECK (sequence >= 1),
  document TEXT NOT NULL
) STRICT""",
    """CREATE TABLE datasets (
  name TEXT PRIMARY KEY NOT NULL,
  unit TEXT NOT NULL,
  neighbours TEXT NOT NULL,
  hash_key TEXT NOT NULL,
  part_of TEXT,
  slice_start TEXT,
  slice_end TEXT,
  epsilon TEXT NOT NULL,
  delta TEXT NOT NULL,
  reserved_delta TEXT NOT NULL,
  ceiling TEXT NOT NULL,
  reason TEXT,
  cap_epsilon INTEGER NOT NULL CHECK (cap_epsilon >= 0),
  cap_rho INTEGER NOT NULL CHECK (cap_rho >= 0),
  cap_delta INTEGER NOT NULL CHECK (cap_delta >= 0),
  renyi_order TEXT,
  spent_epsilon INTEGER CHECK (spent_epsilon >= 0),
  spent_rho INTEGER NOT NULL CHECK (spent_rho >= 0),
  spent_delta INTEGER NOT NULL CHECK (spent_delta >= 0),
  spent_renyi INTEGER NOT NULL CHECK (spent_renyi >= 0),
  floor_epsilon INTEGER,
  floor_rho INTEGER NOT NULL,
  floor_delta INTEGER NOT NULL,
  floor_renyi INTEGER NOT NULL,
  sequence INTEGER NOT NULL CHECK (sequence >= 1),
  head TEXT NOT NULL,
  CONSTRAINT promise CHECK (
    (spent_delta <= cap_delta
      AND ((spent_epsilon IS NOT NULL AND spent_epsilon <= cap_epsilon) OR spent_renyi <= cap_rho))
    OR (spent_epsilon IS floor_epsilon AND spent_rho = floor_rho AND spent_delta = floor_delta
      AND spent_renyi = floor_renyi)
  )
) STRICT""",
    """CREATE TABLE versions (
  dataset TEXT NOT NULL REFERENCES datasets (name),
  version INTEGER NOT NULL CHECK (version >= 1),
  source TEXT NOT NULL,
  facts TEXT NOT NULL,
  population INTEGER,
  registered INTEGER NOT NULL,
  PRIMARY KEY (dataset, version)
) STRICT""",
    """CREATE TABLE aliases (
  alias TEXT PRIMARY KEY NOT NULL,
  dataset TEXT NOT NULL REFERENCES datasets (name)
) STRICT""",
    """CREATE TABLE analysts (
  dataset TEXT NOT NULL REFERENCES datasets (name),
  analyst TEXT NOT NULL,
  quota TEXT,
  is_own INTEGER NOT NULL CHECK (is_own IN (0, 1)),
  cap_epsilon INTEGER CHECK (cap_epsilon >= 0),
  cap_rho INTEGER CHECK (cap_rho >= 0),
  cap_delta INTEGER CHECK (cap_delta >= 0),
  spent_epsilon INTEGER CHECK (spent_epsilon >= 0),
  spent_rho INTEGER NOT NULL CHECK (spent_rho >= 0),
  spent_delta INTEGER NOT NULL CHECK (spent_delta >= 0),
  spent_renyi INTEGER NOT NULL CHECK (spent_renyi >= 0),
  floor_epsilon INTEGER,
  floor_rho INTEGER NOT NULL,
  floor_delta INTEGER NOT NULL,
  floor_renyi INTEGER NOT NULL,
  failures INTEGER NOT NULL CHECK (failures >= 0),
  most_failures INTEGER NOT NULL CHECK (most_failures >= 0),
  PRIMARY KEY (dataset, analyst),
  CONSTRAINT quota CHECK (
    cap_rho IS NULL
    OR (spent_delta <= cap_delta
      AND ((spent_epsilon IS NOT NULL AND spent_epsilon <= cap_epsilon) OR spent_renyi <= cap_rho))
    OR (spent_epsilon IS floor_epsilon AND spent_rho = floor_rho AND spent_delta = floor_delta
      AND spent_renyi = floor_renyi)
  ),
  CONSTRAINT whole_quota CHECK (
    (quota IS NULL) = (cap_epsilon IS NULL) AND (quota IS NULL) = (cap_rho IS NULL)
    AND (quota IS NULL) = (cap_delta IS NULL)
  )
) STRICT""",
    """CREATE TABLE events (
  dataset TEXT NOT NULL REFERENCES datasets (name),
  sequence INTEGER NOT NULL,
  format INTEGER NOT NULL,
  kind TEXT NOT NULL CHECK (
    kind IN (
      'REGISTERED', 'VERSIONED', 'RENAMED', 'CAPPED', 'LIMITED', 'REJECTED', 'RESERVED', 'RESUMED', 'ANSWERED',
      'FORFEITED', 'RECOVERED', 'PUBLISHED'
    )
  ),
  time TEXT NOT NULL,
  version INTEGER NOT NULL,
  analyst TEXT,
  event TEXT,
  cost_epsilon INTEGER CHECK (cost_epsilon >= 0),
  cost_rho INTEGER NOT NULL CHECK (cost_rho >= 0),
  cost_delta INTEGER NOT NULL CHECK (cost_delta >= 0),
  cost_renyi INTEGER NOT NULL CHECK (cost_renyi >= 0),
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
    OR kind = 'RECOVERED'
  ),
  CONSTRAINT divergence CHECK (cost_renyi = 0 OR kind IN ('RESERVED', 'CAPPED', 'RECOVERED'))
) STRICT""",
    """CREATE TABLE reservations (
  dataset TEXT NOT NULL,
  sequence INTEGER NOT NULL,
  analyst TEXT NOT NULL,
  request TEXT,
  question TEXT NOT NULL,
  description TEXT NOT NULL,
  state TEXT NOT NULL CHECK (state IN ('RESERVED', 'ANSWERED', 'FORFEITED')),
  attempt INTEGER NOT NULL CHECK (attempt >= 1),
  lease INTEGER NOT NULL,
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
    """CREATE TABLE halts (
  id TEXT PRIMARY KEY NOT NULL,
  dataset TEXT NOT NULL,
  time TEXT NOT NULL,
  finding TEXT NOT NULL,
  cleared INTEGER
) STRICT""",
)

INDEXES = (
    "CREATE UNIQUE INDEX one_outcome ON events (dataset, reservation) WHERE kind IN ('ANSWERED', 'FORFEITED')",
    "CREATE UNIQUE INDEX one_charge ON reservations (dataset, analyst, request) WHERE request IS NOT NULL",
    "CREATE INDEX asked_before ON reservations (dataset, question, state, sequence)",
    "CREATE INDEX unconcluded ON reservations (lease) WHERE state = 'RESERVED'",
    "CREATE INDEX standing ON halts (dataset) WHERE cleared IS NULL",
    "CREATE INDEX other_releases ON events (dataset, sequence) WHERE kind = 'PUBLISHED'",
)


def _refusing(name: str, act: str, when: str, because: str) -> str:
    condition = f" WHEN {when}" if when else ""
    return f"CREATE TRIGGER {name} BEFORE {act}{condition}\nBEGIN SELECT RAISE(ABORT, '{because}'); END"


def _has_charges(dataset: str) -> str:
    return f"EXISTS (SELECT 1 FROM events WHERE dataset = {dataset} AND kind = 'RESERVED')"


TABLE_NAMES = tuple(re.findall(r"CREATE TABLE (\w+)", "\n".join(TABLES)))

_FROZEN = (
    *(
        _refusing(f"{table}_never_change", f"UPDATE ON {table}", "", f"{table} are append-only")
        for table in ("schema_versions", "ledger", "keys", "aliases", "events", "answers")
    ),
    *(
        _refusing(f"{table}_never_vanish", f"DELETE ON {table}", "", f"{table} are never deleted")
        for table in TABLE_NAMES
    ),
)

_KEYS = {"datasets": ("name",), "versions": ("dataset", "version"), "reservations": ("dataset", "sequence")}
_KEYS |= {"answers": ("dataset", "reservation"), "aliases": ("alias",), "halts": ("id",)}
_KEYS |= {"analysts": ("dataset", "analyst"), "events": ("dataset", "sequence"), "keys": ("sequence",)}

_ONCE = tuple(  # the DELETE of an INSERT OR REPLACE fires no trigger
    _refusing(
        f"{table}_are_written_once",
        f"INSERT ON {table}",
        f"EXISTS (SELECT 1 FROM {table} WHERE {' AND '.join(f'{column} = NEW.{column}' for column in columns)})",
        f"{table} are never replaced",
    )
    for table, columns in _KEYS.items()
)

_FALLING = (
    "NEW.spent_rho < OLD.spent_rho OR NEW.spent_delta < OLD.spent_delta OR NEW.spent_renyi < OLD.spent_renyi"
    " OR (OLD.spent_epsilon IS NULL AND NEW.spent_epsilon IS NOT NULL) OR NEW.spent_epsilon < OLD.spent_epsilon"
)
_AT_THE_FLOOR = (
    "spent_epsilon IS floor_epsilon AND spent_rho = floor_rho AND spent_delta = floor_delta"
    " AND spent_renyi = floor_renyi"
)

TRIGGERS = (
    *_FROZEN,
    *_ONCE,
    _refusing(
        "identity_is_frozen",
        "UPDATE OF name, hash_key, part_of, slice_start, slice_end ON datasets",
        "",
        "a dataset keeps its name, hash key and slice",
    ),
    _refusing(
        "unit_is_frozen_by_a_charge",
        "UPDATE ON datasets",
        f"(NEW.unit <> OLD.unit OR NEW.neighbours <> OLD.neighbours) AND {_has_charges('OLD.name')}",
        "a dataset that was charged keeps its unit and neighbours",
    ),
    _refusing(
        "versions_are_frozen_by_a_charge",
        "UPDATE ON versions",
        _has_charges("OLD.dataset"),
        "a dataset that was charged keeps its versions as they are",
    ),
    _refusing(
        "versions_follow_their_registration",
        "UPDATE ON versions",
        "NEW.dataset <> OLD.dataset OR NEW.version <> OLD.version OR NOT EXISTS ("
        "SELECT 1 FROM datasets JOIN events ON events.dataset = name AND events.sequence = datasets.sequence"
        " WHERE name = OLD.dataset AND kind = 'REGISTERED' AND (version = OLD.version"
        " OR (NEW.source = OLD.source AND NEW.facts = OLD.facts AND NEW.population IS OLD.population)))",
        "a version changes only with the event that registers it again",
    ),
    _refusing(
        "registered_before_charged",
        "INSERT ON events",
        f"NEW.kind = 'REGISTERED' AND {_has_charges('NEW.dataset')}",
        "a dataset that was charged is not registered again",
    ),
    _refusing(
        "no_refunds",
        "UPDATE ON datasets",
        _FALLING,
        "what was spent never falls",
    ),
    _refusing(
        "no_refunds_to_analysts",
        "UPDATE ON analysts",
        f"{_FALLING} OR NEW.failures < OLD.failures OR NEW.dataset <> OLD.dataset OR NEW.analyst <> OLD.analyst",
        "what an analyst spent never falls",
    ),
    _refusing(
        "caps_follow_the_promise",
        "UPDATE ON datasets",
        "NEW.epsilon = OLD.epsilon AND NEW.delta = OLD.delta AND NEW.reserved_delta = OLD.reserved_delta"
        " AND (NEW.cap_epsilon > OLD.cap_epsilon OR NEW.cap_rho > OLD.cap_rho OR NEW.cap_delta > OLD.cap_delta)",
        "a raised cap is a new promise",
    ),
    _refusing(
        "orders_follow_a_budget",
        "UPDATE ON datasets",
        "NEW.renyi_order IS NOT OLD.renyi_order AND (NEW.floor_epsilon IS NOT NEW.spent_epsilon"
        " OR NEW.floor_rho <> NEW.spent_rho OR NEW.floor_delta <> NEW.spent_delta"
        " OR NEW.floor_renyi <> NEW.spent_renyi)",
        "an order is fixed with a budget",
    ),
    _refusing(
        "floors_are_what_was_spent",
        "UPDATE ON datasets",
        "(NEW.floor_epsilon IS NOT OLD.floor_epsilon OR NEW.floor_rho <> OLD.floor_rho"
        " OR NEW.floor_delta <> OLD.floor_delta OR NEW.floor_renyi <> OLD.floor_renyi)"
        " AND (NEW.floor_epsilon IS NOT NEW.spent_epsilon OR NEW.floor_rho <> NEW.spent_rho"
        " OR NEW.floor_delta <> NEW.spent_delta OR NEW.floor_renyi <> NEW.spent_renyi)",
        "a floor is what is spent when it is set",
    ),
    _refusing(
        "charges_leave_the_floor",
        "INSERT ON events",
        f"NEW.kind = 'RESERVED' AND (EXISTS (SELECT 1 FROM datasets WHERE name = NEW.dataset AND {_AT_THE_FLOOR})"
        " OR NOT EXISTS (SELECT 1 FROM analysts WHERE dataset = NEW.dataset AND analyst = NEW.analyst"
        f" AND NOT ({_AT_THE_FLOOR})))",
        "a charge does not move a floor",
    ),
    _refusing(
        "every_change_is_an_event",
        "UPDATE ON datasets",
        "NEW.sequence <= OLD.sequence OR NEW.head = OLD.head",
        "a dataset changes only with an event",
    ),
    _refusing(
        "events_are_appended",
        "INSERT ON events",
        "NOT EXISTS (SELECT 1 FROM datasets WHERE name = NEW.dataset AND sequence = NEW.sequence AND head = NEW.hash)",
        "an event is written only as the head of its chain",
    ),
    _refusing(
        "events_leave_no_gap",
        "INSERT ON events",
        "NEW.kind <> 'RECOVERED' AND NEW.sequence <> 1 + COALESCE("
        "(SELECT max(sequence) FROM events WHERE dataset = NEW.dataset), 0)",
        "an event follows the one before it",
    ),
    _refusing(
        "acts_leave_no_gap",
        "INSERT ON keys",
        "NEW.sequence <> 1 + COALESCE((SELECT max(sequence) FROM keys), 0)",
        "an act on the keys follows the one before it",
    ),
    _refusing(
        "one_way",
        "UPDATE ON reservations",
        "OLD.state <> 'RESERVED' OR NEW.attempt < OLD.attempt"
        " OR (NEW.state <> 'RESERVED' AND NEW.attempt <> OLD.attempt) OR NEW.dataset <> OLD.dataset"
        " OR NEW.sequence <> OLD.sequence OR NEW.analyst <> OLD.analyst OR NEW.request IS NOT OLD.request"
        " OR NEW.question <> OLD.question OR NEW.description <> OLD.description",
        "a reservation is answered or forfeited once",
    ),
    _refusing(
        "answers_follow_their_outcome",
        "INSERT ON answers",
        "NOT EXISTS (SELECT 1 FROM reservations WHERE dataset = NEW.dataset AND sequence = NEW.reservation"
        " AND state = 'ANSWERED')",
        "an answer is stored with its outcome",
    ),
    _refusing(
        "failures_are_capped",
        "INSERT ON reservations",
        "EXISTS (SELECT 1 FROM analysts WHERE dataset = NEW.dataset AND analyst = NEW.analyst"
        " AND failures >= most_failures)",
        "an analyst with too many failures charges nothing",
    ),
    _refusing(
        "halts_are_cleared_once",
        "UPDATE ON halts",
        "OLD.cleared IS NOT NULL OR NEW.cleared IS NULL OR NEW.id <> OLD.id OR NEW.dataset <> OLD.dataset"
        " OR NEW.time <> OLD.time OR NEW.finding <> OLD.finding",
        "a halt is cleared once, by a recovery",
    ),
)

STATEMENTS = (*TABLES, *INDEXES, *TRIGGERS)


def create(connection: sqlite3.Connection) -> None:
    """Make an empty ledger of this version, in one transaction."""
    connection.execute("BEGIN EXCLUSIVE")
    for statement in STATEMENTS:
        connection.execute(statement)
    connection.execute("INSERT INTO ledger VALUES (?)", (secrets.token_hex(16),))
    connection.execute(f"PRAGMA application_id = {APPLICATION}")
    record(connection, VERSION)
    connection.execute("COMMIT")


def is_ledger(connection: sqlite3.Connection) -> bool:
    """Whether the file says that it is a ledger; reads its header only."""
    return pragma(connection, "application_id") == APPLICATION


def findings(connection: sqlite3.Connection, *, pages: bool = True) -> Iterator[str]:
    """What is wrong with the file itself; rows that break a check or refer to nothing are found by what they say.

    SQLite reads the whole file to check its `pages`.
    """
    for row in connection.execute("PRAGMA integrity_check") if pages else ():
        if row[0] != "ok" and not row[0].startswith("CHECK constraint failed"):
            yield "SQLite's integrity check failed"
    for rule in changed_rules(connection):
        yield f"the table, index or trigger {rule!r} is not as discreet wrote it"
    if not is_recorded(connection):
        yield "the schema's version is not the one that was recorded"


def changed_rules(connection: sqlite3.Connection) -> list[str]:
    """The tables, indexes and triggers that were dropped, altered or added since this version wrote them."""
    stored = {tuple(row) for row in connection.execute("SELECT name, sql FROM sqlite_schema WHERE sql IS NOT NULL")}
    written = {(_name_of(statement), statement) for statement in STATEMENTS}
    return sorted({name for name, _ in stored ^ written})


def is_recorded(connection: sqlite3.Connection) -> bool:
    """Whether the version in the file's header is the last one that the table records."""
    recorded = connection.execute("SELECT max(version) FROM schema_versions").fetchone()[0]
    return bool(recorded == pragma(connection, "user_version"))


def _name_of(statement: str) -> str:
    match = re.match(r"CREATE (?:UNIQUE )?(?:TABLE|INDEX|TRIGGER) (\w+)", statement)
    return match[1] if match else statement


def record(connection: sqlite3.Connection, version: int) -> None:
    """Write down that the schema is of a version now."""
    connection.execute("INSERT INTO schema_versions VALUES (?, ?, ?)", (version, now(), __version__))
    connection.execute(f"PRAGMA user_version = {version:d}")


def pragma(connection: sqlite3.Connection, name: str) -> int:
    """A number in the header of the file."""
    return int(connection.execute(f"PRAGMA {name}").fetchone()[0])
