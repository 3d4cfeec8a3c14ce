"""The tables of a ledger and their indexes, in the words of PostgreSQL.

What stands in braces is for SQLite alone: there foreign keys cost nothing, on PostgreSQL rules take their place.

The CHECK on `datasets` is the privacy budget: a filter holds, or nothing was charged since the cap was set (an owner
may lower a cap below what is spent); the one on `analysts` is the quota. SQL's NULL does what None does in a cost: a
total without a finite epsilon is NULL, and no comparison with NULL admits anything.

The leases of reservations are the one thing that the chain does not seal: they say whose turn it is, not what is true.
"""

import re
from collections.abc import Iterator, Mapping

TABLES: Mapping[str, str] = {
    "schema_versions": """
  version INTEGER PRIMARY KEY NOT NULL,
  applied TEXT NOT NULL,
  library TEXT NOT NULL
""",
    "ledger": """
  id TEXT PRIMARY KEY NOT NULL
""",
    "keys": """
  sequence BIGINT PRIMARY KEY NOT NULL CHECK (sequence >= 1),
  document TEXT NOT NULL
""",
    "datasets": """
  name TEXT COLLATE "C" PRIMARY KEY NOT NULL,
  unit TEXT NOT NULL,
  neighbours TEXT NOT NULL,
  hash_key TEXT NOT NULL,
  part_of TEXT,
  slice_start TEXT COLLATE "C",
  slice_end TEXT COLLATE "C",
  epsilon TEXT NOT NULL,
  delta TEXT NOT NULL,
  reserved_delta TEXT NOT NULL,
  ceiling TEXT NOT NULL,
  reason TEXT,
  cap_epsilon BIGINT NOT NULL CHECK (cap_epsilon >= 0),
  cap_rho BIGINT NOT NULL CHECK (cap_rho >= 0),
  cap_delta BIGINT NOT NULL CHECK (cap_delta >= 0),
  renyi_order TEXT,
  spent_epsilon BIGINT CHECK (spent_epsilon >= 0),
  spent_rho BIGINT NOT NULL CHECK (spent_rho >= 0),
  spent_delta BIGINT NOT NULL CHECK (spent_delta >= 0),
  spent_renyi BIGINT NOT NULL CHECK (spent_renyi >= 0),
  floor_epsilon BIGINT,
  floor_rho BIGINT NOT NULL,
  floor_delta BIGINT NOT NULL,
  floor_renyi BIGINT NOT NULL,
  sequence BIGINT NOT NULL CHECK (sequence >= 1),
  head TEXT NOT NULL,
  CONSTRAINT promise CHECK (
    (spent_delta <= cap_delta
      AND ((spent_epsilon IS NOT NULL AND spent_epsilon <= cap_epsilon) OR spent_renyi <= cap_rho))
    OR (spent_epsilon IS NOT DISTINCT FROM floor_epsilon AND spent_rho = floor_rho AND spent_delta = floor_delta
      AND spent_renyi = floor_renyi)
  )
""",
    "versions": """
  dataset TEXT COLLATE "C" NOT NULL REFERENCES datasets (name),
  version INTEGER NOT NULL CHECK (version >= 1),
  source TEXT NOT NULL,
  facts TEXT NOT NULL,
  population BIGINT,
  registered BIGINT NOT NULL,
  PRIMARY KEY (dataset, version)
""",
    "aliases": """
  alias TEXT COLLATE "C" PRIMARY KEY NOT NULL,
  dataset TEXT COLLATE "C" NOT NULL REFERENCES datasets (name)
""",
    "analysts": """
  dataset TEXT COLLATE "C" NOT NULL REFERENCES datasets (name),
  analyst TEXT COLLATE "C" NOT NULL,
  quota TEXT,
  is_own INTEGER NOT NULL CHECK (is_own IN (0, 1)),
  cap_epsilon BIGINT CHECK (cap_epsilon >= 0),
  cap_rho BIGINT CHECK (cap_rho >= 0),
  cap_delta BIGINT CHECK (cap_delta >= 0),
  spent_epsilon BIGINT CHECK (spent_epsilon >= 0),
  spent_rho BIGINT NOT NULL CHECK (spent_rho >= 0),
  spent_delta BIGINT NOT NULL CHECK (spent_delta >= 0),
  spent_renyi BIGINT NOT NULL CHECK (spent_renyi >= 0),
  floor_epsilon BIGINT,
  floor_rho BIGINT NOT NULL,
  floor_delta BIGINT NOT NULL,
  floor_renyi BIGINT NOT NULL,
  failures BIGINT NOT NULL CHECK (failures >= 0),
  most_failures BIGINT NOT NULL CHECK (most_failures >= 0),
  PRIMARY KEY (dataset, analyst),
  CONSTRAINT quota CHECK (
    cap_rho IS NULL
    OR (spent_delta <= cap_delta
      AND ((spent_epsilon IS NOT NULL AND spent_epsilon <= cap_epsilon) OR spent_renyi <= cap_rho))
    OR (spent_epsilon IS NOT DISTINCT FROM floor_epsilon AND spent_rho = floor_rho AND spent_delta = floor_delta
      AND spent_renyi = floor_renyi)
  ),
  CONSTRAINT whole_quota CHECK (
    (quota IS NULL) = (cap_epsilon IS NULL) AND (quota IS NULL) = (cap_rho IS NULL)
    AND (quota IS NULL) = (cap_delta IS NULL)
  )
""",
    "events": """
  dataset TEXT COLLATE "C" NOT NULL{ REFERENCES datasets (name)},
  sequence BIGINT NOT NULL,
  format INTEGER NOT NULL,
  kind TEXT NOT NULL CHECK (
    kind IN (
      'REGISTERED', 'VERSIONED', 'RENAMED', 'CAPPED', 'LIMITED', 'REJECTED', 'RESERVED', 'RESUMED', 'ANSWERED',
      'FORFEITED', 'RECOVERED', 'PUBLISHED'
    )
  ),
  time TEXT NOT NULL,
  version INTEGER NOT NULL,
  analyst TEXT COLLATE "C",
  event TEXT,
  cost_epsilon BIGINT CHECK (cost_epsilon >= 0),
  cost_rho BIGINT NOT NULL CHECK (cost_rho >= 0),
  cost_delta BIGINT NOT NULL CHECK (cost_delta >= 0),
  cost_renyi BIGINT NOT NULL CHECK (cost_renyi >= 0),
  question TEXT COLLATE "C",
  request TEXT,
  reservation BIGINT,
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
""",
    "reservations": """
  dataset TEXT COLLATE "C" NOT NULL,
  sequence BIGINT NOT NULL,
  analyst TEXT COLLATE "C" NOT NULL,
  request TEXT COLLATE "C",
  question TEXT COLLATE "C" NOT NULL,
  description TEXT NOT NULL,
  state TEXT COLLATE "C" NOT NULL CHECK (state IN ('RESERVED', 'ANSWERED', 'FORFEITED')),
  attempt INTEGER NOT NULL CHECK (attempt >= 1),
  lease BIGINT NOT NULL,
  PRIMARY KEY (dataset, sequence){,
  FOREIGN KEY (dataset, sequence) REFERENCES events (dataset, sequence)}
""",
    "answers": """
  dataset TEXT COLLATE "C" NOT NULL,
  reservation BIGINT NOT NULL,
  payload BYTEA NOT NULL,
  PRIMARY KEY (dataset, reservation){,
  FOREIGN KEY (dataset, reservation) REFERENCES reservations (dataset, sequence)}
""",
    "halts": """
  id TEXT PRIMARY KEY NOT NULL,
  dataset TEXT COLLATE "C" NOT NULL,
  time TEXT NOT NULL,
  finding TEXT NOT NULL,
  cleared BIGINT
""",
}
"""The body of each table; a table comes after those that it refers to."""

INDEXES = (
    "CREATE UNIQUE INDEX one_outcome ON events (dataset, reservation) WHERE kind IN ('ANSWERED', 'FORFEITED')",
    "CREATE UNIQUE INDEX one_charge ON reservations (dataset, analyst, request) WHERE request IS NOT NULL",
    "CREATE INDEX asked_before ON reservations (dataset, question, state, sequence)",
    "CREATE INDEX unconcluded ON reservations (lease) WHERE state = 'RESERVED'",
    "CREATE INDEX standing ON halts (dataset) WHERE cleared IS NULL",
    "CREATE INDEX other_releases ON events (dataset, sequence) WHERE kind = 'PUBLISHED'",
)

CHANGED_OFTEN = ("datasets", "analysts")
"""Tables whose rows every charge changes: PostgreSQL leaves half of each page free, so that the new row fits there."""

_REFERENCE = re.compile(r"^  (\w+) [^{\n]* (REFERENCES \w+ \(\w+\))", re.MULTILINE)
_TYPE = r'(?:TEXT|INTEGER|BIGINT|BYTEA)(?: COLLATE "C")?'
_PRIMARY_KEY = re.compile(r"^  PRIMARY KEY \(([^)]*)\)", re.MULTILINE)
_COLUMN = re.compile(rf"^  ([a-z_]+) ({_TYPE})( PRIMARY KEY)?( NOT NULL)?", re.MULTILINE)


def columns(table: str) -> dict[str, str]:
    """The columns of a table with their types, in order."""
    return {name: kind for name, kind, _, _ in _COLUMN.findall(TABLES[table])}


def required(table: str) -> set[str]:
    """The columns of a table that are never NULL."""
    return {name for name, _, _, is_required in _COLUMN.findall(TABLES[table]) if is_required}


def primary_key(table: str) -> tuple[str, ...]:
    """The columns of the primary key of a table, in order."""
    body = TABLES[table]
    inline = tuple(name for name, _, is_key, _ in _COLUMN.findall(body) if is_key)
    return inline or tuple(_PRIMARY_KEY.findall(body)[0].split(", "))


def foreign_keys(table: str) -> list[str]:
    """The foreign keys of a table that PostgreSQL has, as constraints."""
    return [f"FOREIGN KEY ({column}) {text}" for column, text in _REFERENCE.findall(TABLES[table])]


def checks(table: str) -> Iterator[str]:
    """The conditions of the checks of a table, in parentheses."""
    text = TABLES[table]
    for match in re.finditer(r"CHECK (?=\()", text):
        depth = 0
        for end in range(match.end(), len(text)):
            depth += {"(": 1, ")": -1}.get(text[end], 0)
            if depth == 0:
                yield text[match.end() : end + 1]
                break
