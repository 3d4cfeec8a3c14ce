CREATE TABLE schema_versions (
  version INTEGER PRIMARY KEY NOT NULL,
  applied TEXT NOT NULL,
  library TEXT NOT NULL
) STRICT;

CREATE TABLE ledger (
  id TEXT PRIMARY KEY NOT NULL
) STRICT;

CREATE TABLE keys (
  sequence INTEGER PRIMARY KEY NOT NULL CHECK (sequence >= 1),
  document TEXT NOT NULL
) STRICT;

CREATE TABLE datasets (
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
) STRICT;

CREATE TABLE versions (
  dataset TEXT NOT NULL REFERENCES datasets (name),
  version INTEGER NOT NULL CHECK (version >= 1),
  source TEXT NOT NULL,
  facts TEXT NOT NULL,
  population INTEGER,
  registered INTEGER NOT NULL,
  PRIMARY KEY (dataset, version)
) STRICT;

CREATE TABLE aliases (
  alias TEXT PRIMARY KEY NOT NULL,
  dataset TEXT NOT NULL REFERENCES datasets (name)
) STRICT;

CREATE TABLE analysts (
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
) STRICT;

CREATE TABLE events (
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
) STRICT;

CREATE TABLE reservations (
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
) STRICT;

CREATE TABLE answers (
  dataset TEXT NOT NULL,
  reservation INTEGER NOT NULL,
  payload BLOB NOT NULL,
  PRIMARY KEY (dataset, reservation),
  FOREIGN KEY (dataset, reservation) REFERENCES reservations (dataset, sequence)
) STRICT;

CREATE TABLE halts (
  id TEXT PRIMARY KEY NOT NULL,
  dataset TEXT NOT NULL,
  time TEXT NOT NULL,
  finding TEXT NOT NULL,
  cleared INTEGER
) STRICT;

CREATE UNIQUE INDEX one_outcome ON events (dataset, reservation) WHERE kind IN ('ANSWERED', 'FORFEITED');

CREATE UNIQUE INDEX one_charge ON reservations (dataset, analyst, request) WHERE request IS NOT NULL;

CREATE INDEX asked_before ON reservations (dataset, question, state, sequence);

CREATE INDEX unconcluded ON reservations (lease) WHERE state = 'RESERVED';

CREATE INDEX standing ON halts (dataset) WHERE cleared IS NULL;

CREATE INDEX other_releases ON events (dataset, sequence) WHERE kind = 'PUBLISHED';

CREATE TRIGGER schema_versions_never_change BEFORE UPDATE ON schema_versions
BEGIN SELECT RAISE(ABORT, 'schema_versions are append-only'); END;

CREATE TRIGGER ledger_never_change BEFORE UPDATE ON ledger
BEGIN SELECT RAISE(ABORT, 'ledger are append-only'); END;

CREATE TRIGGER keys_never_change BEFORE UPDATE ON keys
BEGIN SELECT RAISE(ABORT, 'keys are append-only'); END;

CREATE TRIGGER aliases_never_change BEFORE UPDATE ON aliases
BEGIN SELECT RAISE(ABORT, 'aliases are append-only'); END;

CREATE TRIGGER events_never_change BEFORE UPDATE ON events
BEGIN SELECT RAISE(ABORT, 'events are append-only'); END;

CREATE TRIGGER answers_never_change BEFORE UPDATE ON answers
BEGIN SELECT RAISE(ABORT, 'answers are append-only'); END;

CREATE TRIGGER schema_versions_never_vanish BEFORE DELETE ON schema_versions
BEGIN SELECT RAISE(ABORT, 'schema_versions are never deleted'); END;

CREATE TRIGGER ledger_never_vanish BEFORE DELETE ON ledger
BEGIN SELECT RAISE(ABORT, 'ledger are never deleted'); END;

CREATE TRIGGER keys_never_vanish BEFORE DELETE ON keys
BEGIN SELECT RAISE(ABORT, 'keys are never deleted'); END;

CREATE TRIGGER datasets_never_vanish BEFORE DELETE ON datasets
BEGIN SELECT RAISE(ABORT, 'datasets are never deleted'); END;

CREATE TRIGGER versions_never_vanish BEFORE DELETE ON versions
BEGIN SELECT RAISE(ABORT, 'versions are never deleted'); END;

CREATE TRIGGER aliases_never_vanish BEFORE DELETE ON aliases
BEGIN SELECT RAISE(ABORT, 'aliases are never deleted'); END;

CREATE TRIGGER analysts_never_vanish BEFORE DELETE ON analysts
BEGIN SELECT RAISE(ABORT, 'analysts are never deleted'); END;

CREATE TRIGGER events_never_vanish BEFORE DELETE ON events
BEGIN SELECT RAISE(ABORT, 'events are never deleted'); END;

CREATE TRIGGER reservations_never_vanish BEFORE DELETE ON reservations
BEGIN SELECT RAISE(ABORT, 'reservations are never deleted'); END;

CREATE TRIGGER answers_never_vanish BEFORE DELETE ON answers
BEGIN SELECT RAISE(ABORT, 'answers are never deleted'); END;

CREATE TRIGGER halts_never_vanish BEFORE DELETE ON halts
BEGIN SELECT RAISE(ABORT, 'halts are never deleted'); END;

CREATE TRIGGER keys_are_written_once BEFORE INSERT ON keys WHEN EXISTS (SELECT 1 FROM keys WHERE sequence = NEW.sequence)
BEGIN SELECT RAISE(ABORT, 'keys are never replaced'); END;

CREATE TRIGGER datasets_are_written_once BEFORE INSERT ON datasets WHEN EXISTS (SELECT 1 FROM datasets WHERE name = NEW.name)
BEGIN SELECT RAISE(ABORT, 'datasets are never replaced'); END;

CREATE TRIGGER versions_are_written_once BEFORE INSERT ON versions WHEN EXISTS (SELECT 1 FROM versions WHERE dataset = NEW.dataset AND version = NEW.version)
BEGIN SELECT RAISE(ABORT, 'versions are never replaced'); END;

CREATE TRIGGER aliases_are_written_once BEFORE INSERT ON aliases WHEN EXISTS (SELECT 1 FROM aliases WHERE alias = NEW.alias)
BEGIN SELECT RAISE(ABORT, 'aliases are never replaced'); END;

CREATE TRIGGER analysts_are_written_once BEFORE INSERT ON analysts WHEN EXISTS (SELECT 1 FROM analysts WHERE dataset = NEW.dataset AND analyst = NEW.analyst)
BEGIN SELECT RAISE(ABORT, 'analysts are never replaced'); END;

CREATE TRIGGER events_are_written_once BEFORE INSERT ON events WHEN EXISTS (SELECT 1 FROM events WHERE dataset = NEW.dataset AND sequence = NEW.sequence)
BEGIN SELECT RAISE(ABORT, 'events are never replaced'); END;

CREATE TRIGGER reservations_are_written_once BEFORE INSERT ON reservations WHEN EXISTS (SELECT 1 FROM reservations WHERE dataset = NEW.dataset AND sequence = NEW.sequence)
BEGIN SELECT RAISE(ABORT, 'reservations are never replaced'); END;

CREATE TRIGGER answers_are_written_once BEFORE INSERT ON answers WHEN EXISTS (SELECT 1 FROM answers WHERE dataset = NEW.dataset AND reservation = NEW.reservation)
BEGIN SELECT RAISE(ABORT, 'answers are never replaced'); END;

CREATE TRIGGER halts_are_written_once BEFORE INSERT ON halts WHEN EXISTS (SELECT 1 FROM halts WHERE id = NEW.id)
BEGIN SELECT RAISE(ABORT, 'halts are never replaced'); END;

CREATE TRIGGER identity_is_frozen BEFORE UPDATE OF name, hash_key, part_of, slice_start, slice_end ON datasets
BEGIN SELECT RAISE(ABORT, 'a dataset keeps its name, hash key and slice'); END;

CREATE TRIGGER unit_is_frozen_by_a_charge BEFORE UPDATE ON datasets WHEN (NEW.unit <> OLD.unit OR NEW.neighbours <> OLD.neighbours) AND EXISTS (SELECT 1 FROM events WHERE dataset = OLD.name AND kind = 'RESERVED')
BEGIN SELECT RAISE(ABORT, 'a dataset that was charged keeps its unit and neighbours'); END;

CREATE TRIGGER versions_are_frozen_by_a_charge BEFORE UPDATE ON versions WHEN EXISTS (SELECT 1 FROM events WHERE dataset = OLD.dataset AND kind = 'RESERVED')
BEGIN SELECT RAISE(ABORT, 'a dataset that was charged keeps its versions as they are'); END;

CREATE TRIGGER versions_follow_their_registration BEFORE UPDATE ON versions WHEN NEW.dataset <> OLD.dataset OR NEW.version <> OLD.version OR NOT EXISTS (SELECT 1 FROM datasets JOIN events ON events.dataset = name AND events.sequence = datasets.sequence WHERE name = OLD.dataset AND kind = 'REGISTERED' AND (version = OLD.version OR (NEW.source = OLD.source AND NEW.facts = OLD.facts AND NEW.population IS OLD.population)))
BEGIN SELECT RAISE(ABORT, 'a version changes only with the event that registers it again'); END;

CREATE TRIGGER registered_before_charged BEFORE INSERT ON events WHEN NEW.kind = 'REGISTERED' AND EXISTS (SELECT 1 FROM events WHERE dataset = NEW.dataset AND kind = 'RESERVED')
BEGIN SELECT RAISE(ABORT, 'a dataset that was charged is not registered again'); END;

CREATE TRIGGER no_refunds BEFORE UPDATE ON datasets WHEN NEW.spent_rho < OLD.spent_rho OR NEW.spent_delta < OLD.spent_delta OR NEW.spent_renyi < OLD.spent_renyi OR (OLD.spent_epsilon IS NULL AND NEW.spent_epsilon IS NOT NULL) OR NEW.spent_epsilon < OLD.spent_epsilon
BEGIN SELECT RAISE(ABORT, 'what was spent never falls'); END;

CREATE TRIGGER no_refunds_to_analysts BEFORE UPDATE ON analysts WHEN NEW.spent_rho < OLD.spent_rho OR NEW.spent_delta < OLD.spent_delta OR NEW.spent_renyi < OLD.spent_renyi OR (OLD.spent_epsilon IS NULL AND NEW.spent_epsilon IS NOT NULL) OR NEW.spent_epsilon < OLD.spent_epsilon OR NEW.failures < OLD.failures OR NEW.dataset <> OLD.dataset OR NEW.analyst <> OLD.analyst
BEGIN SELECT RAISE(ABORT, 'what an analyst spent never falls'); END;

CREATE TRIGGER caps_follow_the_promise BEFORE UPDATE ON datasets WHEN NEW.epsilon = OLD.epsilon AND NEW.delta = OLD.delta AND NEW.reserved_delta = OLD.reserved_delta AND (NEW.cap_epsilon > OLD.cap_epsilon OR NEW.cap_rho > OLD.cap_rho OR NEW.cap_delta > OLD.cap_delta)
BEGIN SELECT RAISE(ABORT, 'a raised cap is a new promise'); END;

CREATE TRIGGER orders_follow_a_budget BEFORE UPDATE ON datasets WHEN NEW.renyi_order IS NOT OLD.renyi_order AND (NEW.floor_epsilon IS NOT NEW.spent_epsilon OR NEW.floor_rho <> NEW.spent_rho OR NEW.floor_delta <> NEW.spent_delta OR NEW.floor_renyi <> NEW.spent_renyi)
BEGIN SELECT RAISE(ABORT, 'an order is fixed with a budget'); END;

CREATE TRIGGER floors_are_what_was_spent BEFORE UPDATE ON datasets WHEN (NEW.floor_epsilon IS NOT OLD.floor_epsilon OR NEW.floor_rho <> OLD.floor_rho OR NEW.floor_delta <> OLD.floor_delta OR NEW.floor_renyi <> OLD.floor_renyi) AND (NEW.floor_epsilon IS NOT NEW.spent_epsilon OR NEW.floor_rho <> NEW.spent_rho OR NEW.floor_delta <> NEW.spent_delta OR NEW.floor_renyi <> NEW.spent_renyi)
BEGIN SELECT RAISE(ABORT, 'a floor is what is spent when it is set'); END;

CREATE TRIGGER charges_leave_the_floor BEFORE INSERT ON events WHEN NEW.kind = 'RESERVED' AND (EXISTS (SELECT 1 FROM datasets WHERE name = NEW.dataset AND spent_epsilon IS floor_epsilon AND spent_rho = floor_rho AND spent_delta = floor_delta AND spent_renyi = floor_renyi) OR NOT EXISTS (SELECT 1 FROM analysts WHERE dataset = NEW.dataset AND analyst = NEW.analyst AND NOT (spent_epsilon IS floor_epsilon AND spent_rho = floor_rho AND spent_delta = floor_delta AND spent_renyi = floor_renyi)))
BEGIN SELECT RAISE(ABORT, 'a charge does not move a floor'); END;

CREATE TRIGGER every_change_is_an_event BEFORE UPDATE ON datasets WHEN NEW.sequence <= OLD.sequence OR NEW.head = OLD.head
BEGIN SELECT RAISE(ABORT, 'a dataset changes only with an event'); END;

CREATE TRIGGER events_are_appended BEFORE INSERT ON events WHEN NOT EXISTS (SELECT 1 FROM datasets WHERE name = NEW.dataset AND sequence = NEW.sequence AND head = NEW.hash)
BEGIN SELECT RAISE(ABORT, 'an event is written only as the head of its chain'); END;

CREATE TRIGGER events_leave_no_gap BEFORE INSERT ON events WHEN NEW.kind <> 'RECOVERED' AND NEW.sequence <> 1 + COALESCE((SELECT max(sequence) FROM events WHERE dataset = NEW.dataset), 0)
BEGIN SELECT RAISE(ABORT, 'an event follows the one before it'); END;

CREATE TRIGGER acts_leave_no_gap BEFORE INSERT ON keys WHEN NEW.sequence <> 1 + COALESCE((SELECT max(sequence) FROM keys), 0)
BEGIN SELECT RAISE(ABORT, 'an act on the keys follows the one before it'); END;

CREATE TRIGGER one_way BEFORE UPDATE ON reservations WHEN OLD.state <> 'RESERVED' OR NEW.attempt < OLD.attempt OR (NEW.state <> 'RESERVED' AND NEW.attempt <> OLD.attempt) OR NEW.dataset <> OLD.dataset OR NEW.sequence <> OLD.sequence OR NEW.analyst <> OLD.analyst OR NEW.request IS NOT OLD.request OR NEW.question <> OLD.question OR NEW.description <> OLD.description
BEGIN SELECT RAISE(ABORT, 'a reservation is answered or forfeited once'); END;

CREATE TRIGGER answers_follow_their_outcome BEFORE INSERT ON answers WHEN NOT EXISTS (SELECT 1 FROM reservations WHERE dataset = NEW.dataset AND sequence = NEW.reservation AND state = 'ANSWERED')
BEGIN SELECT RAISE(ABORT, 'an answer is stored with its outcome'); END;

CREATE TRIGGER failures_are_capped BEFORE INSERT ON reservations WHEN EXISTS (SELECT 1 FROM analysts WHERE dataset = NEW.dataset AND analyst = NEW.analyst AND failures >= most_failures)
BEGIN SELECT RAISE(ABORT, 'an analyst with too many failures charges nothing'); END;

CREATE TRIGGER halts_are_cleared_once BEFORE UPDATE ON halts WHEN OLD.cleared IS NOT NULL OR NEW.cleared IS NULL OR NEW.id <> OLD.id OR NEW.dataset <> OLD.dataset OR NEW.time <> OLD.time OR NEW.finding <> OLD.finding
BEGIN SELECT RAISE(ABORT, 'a halt is cleared once, by a recovery'); END;

