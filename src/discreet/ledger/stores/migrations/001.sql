-- The ledger on PostgreSQL, version 1. The rules are those of sqlite_schema.py, in PostgreSQL's words.
-- Run by the owner of the schema; the service has a role of its own that may neither change nor delete an event.

CREATE TABLE discreet.schema_versions (
  version INTEGER PRIMARY KEY,
  applied TEXT NOT NULL,
  library TEXT NOT NULL
);

CREATE TABLE discreet.ledger (
  id TEXT PRIMARY KEY
);

CREATE TABLE discreet.datasets (
  name TEXT COLLATE "C" PRIMARY KEY,
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
  spent_epsilon BIGINT CHECK (spent_epsilon >= 0),
  spent_rho BIGINT NOT NULL CHECK (spent_rho >= 0),
  spent_delta BIGINT NOT NULL CHECK (spent_delta >= 0),
  floor_epsilon BIGINT,
  floor_rho BIGINT NOT NULL,
  floor_delta BIGINT NOT NULL,
  sequence BIGINT NOT NULL CHECK (sequence >= 1),
  head TEXT NOT NULL,
  CONSTRAINT promise CHECK (
    (spent_delta <= cap_delta
      AND ((spent_epsilon IS NOT NULL AND spent_epsilon <= cap_epsilon) OR spent_rho <= cap_rho))
    OR (spent_epsilon IS NOT DISTINCT FROM floor_epsilon AND spent_rho = floor_rho AND spent_delta = floor_delta)
  )
) WITH (fillfactor = 50);

CREATE TABLE discreet.versions (
  dataset TEXT COLLATE "C" NOT NULL REFERENCES discreet.datasets (name),
  version INTEGER NOT NULL CHECK (version >= 1),
  source TEXT NOT NULL,
  facts TEXT NOT NULL,
  population BIGINT,
  registered BIGINT NOT NULL,
  PRIMARY KEY (dataset, version)
);

CREATE TABLE discreet.aliases (
  alias TEXT COLLATE "C" PRIMARY KEY,
  dataset TEXT COLLATE "C" NOT NULL REFERENCES discreet.datasets (name)
);

CREATE TABLE discreet.analysts (
  dataset TEXT COLLATE "C" NOT NULL REFERENCES discreet.datasets (name),
  analyst TEXT COLLATE "C" NOT NULL,
  quota TEXT,
  is_own INTEGER NOT NULL CHECK (is_own IN (0, 1)),
  cap_epsilon BIGINT CHECK (cap_epsilon >= 0),
  cap_rho BIGINT CHECK (cap_rho >= 0),
  cap_delta BIGINT CHECK (cap_delta >= 0),
  spent_epsilon BIGINT CHECK (spent_epsilon >= 0),
  spent_rho BIGINT NOT NULL CHECK (spent_rho >= 0),
  spent_delta BIGINT NOT NULL CHECK (spent_delta >= 0),
  floor_epsilon BIGINT,
  floor_rho BIGINT NOT NULL,
  floor_delta BIGINT NOT NULL,
  failures BIGINT NOT NULL CHECK (failures >= 0),
  most_failures BIGINT NOT NULL CHECK (most_failures >= 0),
  PRIMARY KEY (dataset, analyst),
  CONSTRAINT quota CHECK (
    cap_rho IS NULL
    OR (spent_delta <= cap_delta
      AND ((spent_epsilon IS NOT NULL AND spent_epsilon <= cap_epsilon) OR spent_rho <= cap_rho))
    OR (spent_epsilon IS NOT DISTINCT FROM floor_epsilon AND spent_rho = floor_rho AND spent_delta = floor_delta)
  ),
  CONSTRAINT whole_quota CHECK (
    (quota IS NULL) = (cap_epsilon IS NULL) AND (quota IS NULL) = (cap_rho IS NULL)
    AND (quota IS NULL) = (cap_delta IS NULL)
  )
) WITH (fillfactor = 50);

CREATE TABLE discreet.events (
  dataset TEXT COLLATE "C" NOT NULL,
  sequence BIGINT NOT NULL,
  format INTEGER NOT NULL,
  kind TEXT NOT NULL CONSTRAINT events_kind_check CHECK (
    kind IN (
      'REGISTERED', 'VERSIONED', 'RENAMED', 'CAPPED', 'LIMITED', 'REJECTED', 'RESERVED', 'RESUMED', 'ANSWERED',
      'FORFEITED', 'RECOVERED'
    )
  ),
  time TEXT NOT NULL,
  version INTEGER NOT NULL,
  analyst TEXT COLLATE "C",
  event TEXT,
  cost_epsilon BIGINT CHECK (cost_epsilon >= 0),
  cost_rho BIGINT NOT NULL CHECK (cost_rho >= 0),
  cost_delta BIGINT NOT NULL CHECK (cost_delta >= 0),
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
  )
);

CREATE TABLE discreet.reservations (
  dataset TEXT COLLATE "C" NOT NULL,
  sequence BIGINT NOT NULL,
  analyst TEXT COLLATE "C" NOT NULL,
  request TEXT COLLATE "C",
  question TEXT COLLATE "C" NOT NULL,
  description TEXT NOT NULL,
  state TEXT COLLATE "C" NOT NULL CHECK (state IN ('RESERVED', 'ANSWERED', 'FORFEITED')),
  attempt INTEGER NOT NULL CHECK (attempt >= 1),
  lease BIGINT NOT NULL,
  PRIMARY KEY (dataset, sequence)
);

CREATE TABLE discreet.answers (
  dataset TEXT COLLATE "C" NOT NULL,
  reservation BIGINT NOT NULL,
  payload BYTEA NOT NULL,
  PRIMARY KEY (dataset, reservation)
);

CREATE TABLE discreet.halts (
  id TEXT PRIMARY KEY,
  dataset TEXT COLLATE "C" NOT NULL,
  time TEXT NOT NULL,
  finding TEXT NOT NULL,
  cleared BIGINT
);

CREATE UNIQUE INDEX one_outcome ON discreet.events (dataset, reservation) WHERE kind IN ('ANSWERED', 'FORFEITED');
CREATE UNIQUE INDEX one_charge ON discreet.reservations (dataset, analyst, request) WHERE request IS NOT NULL;
CREATE INDEX asked_before ON discreet.reservations (dataset, question, state, sequence);
CREATE INDEX standing ON discreet.halts (dataset) WHERE cleared IS NULL;

CREATE FUNCTION discreet.never() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  RAISE EXCEPTION 'the ledger is append-only' USING ERRCODE = 'integrity_constraint_violation';
END
$$;

CREATE FUNCTION discreet.refused(rule TEXT) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  RAISE EXCEPTION '%', rule USING ERRCODE = 'integrity_constraint_violation';
END
$$;

CREATE FUNCTION discreet.is_charged(name TEXT) RETURNS boolean LANGUAGE sql STABLE AS $$
  SELECT EXISTS (SELECT 1 FROM discreet.events AS e WHERE e.dataset = is_charged.name AND e.kind = 'RESERVED')
$$;

CREATE FUNCTION discreet.guard_dataset() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF NEW.name <> OLD.name OR NEW.hash_key <> OLD.hash_key OR NEW.part_of IS DISTINCT FROM OLD.part_of
    OR NEW.slice_start IS DISTINCT FROM OLD.slice_start OR NEW.slice_end IS DISTINCT FROM OLD.slice_end THEN
    PERFORM discreet.refused('a dataset keeps its name, hash key and slice');
  END IF;
  IF (NEW.unit <> OLD.unit OR NEW.neighbours <> OLD.neighbours) AND discreet.is_charged(OLD.name) THEN
    PERFORM discreet.refused('a dataset that was charged keeps its unit and neighbours');
  END IF;
  IF NEW.spent_rho < OLD.spent_rho OR NEW.spent_delta < OLD.spent_delta
    OR (OLD.spent_epsilon IS NULL AND NEW.spent_epsilon IS NOT NULL) OR NEW.spent_epsilon < OLD.spent_epsilon THEN
    PERFORM discreet.refused('what was spent never falls');
  END IF;
  IF NEW.epsilon = OLD.epsilon AND NEW.delta = OLD.delta AND NEW.reserved_delta = OLD.reserved_delta AND (
    NEW.cap_epsilon > OLD.cap_epsilon OR NEW.cap_rho > OLD.cap_rho OR NEW.cap_delta > OLD.cap_delta) THEN
    PERFORM discreet.refused('a raised cap is a new promise');
  END IF;
  IF (NEW.floor_epsilon IS DISTINCT FROM OLD.floor_epsilon OR NEW.floor_rho <> OLD.floor_rho
      OR NEW.floor_delta <> OLD.floor_delta)
    AND (NEW.floor_epsilon IS DISTINCT FROM NEW.spent_epsilon OR NEW.floor_rho <> NEW.spent_rho
      OR NEW.floor_delta <> NEW.spent_delta) THEN
    PERFORM discreet.refused('a floor is what is spent when it is set');
  END IF;
  IF NEW.sequence <= OLD.sequence OR NEW.head = OLD.head THEN
    PERFORM discreet.refused('a dataset changes only with an event');
  END IF;
  RETURN NEW;
END
$$;

CREATE FUNCTION discreet.guard_version() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF discreet.is_charged(OLD.dataset) THEN
    PERFORM discreet.refused('a dataset that was charged keeps its versions as they are');
  END IF;
  IF NEW.dataset <> OLD.dataset OR NEW.version <> OLD.version OR NOT EXISTS (
    SELECT 1 FROM discreet.datasets AS d
    JOIN discreet.events AS e ON e.dataset = d.name AND e.sequence = d.sequence
    WHERE d.name = OLD.dataset AND e.kind = 'REGISTERED'
      AND (e.version = OLD.version
        OR (NEW.source = OLD.source AND NEW.facts = OLD.facts AND NEW.population IS NOT DISTINCT FROM OLD.population))
  ) THEN
    PERFORM discreet.refused('a version changes only with the event that registers it again');
  END IF;
  RETURN NEW;
END
$$;

CREATE FUNCTION discreet.guard_event() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
  d discreet.datasets%ROWTYPE;
  last BIGINT;
BEGIN
  SELECT * INTO d FROM discreet.datasets WHERE name = NEW.dataset;
  IF d.sequence IS DISTINCT FROM NEW.sequence OR d.head IS DISTINCT FROM NEW.hash THEN
    PERFORM discreet.refused('an event is written only as the head of its chain');
  END IF;
  IF NEW.kind <> 'RECOVERED' THEN
    SELECT max(sequence) INTO last FROM discreet.events WHERE dataset = NEW.dataset;
    IF NEW.sequence <> COALESCE(last, 0) + 1 THEN
      PERFORM discreet.refused('an event follows the one before it');
    END IF;
  END IF;
  IF NEW.kind = 'RESERVED' AND (
    (d.spent_epsilon IS NOT DISTINCT FROM d.floor_epsilon AND d.spent_rho = d.floor_rho AND d.spent_delta = d.floor_delta)
    OR NOT EXISTS (
      SELECT 1 FROM discreet.analysts AS a WHERE a.dataset = NEW.dataset AND a.analyst = NEW.analyst
        AND NOT (a.spent_epsilon IS NOT DISTINCT FROM a.floor_epsilon AND a.spent_rho = a.floor_rho
          AND a.spent_delta = a.floor_delta)
    )
  ) THEN
    PERFORM discreet.refused('a charge does not move a floor');
  END IF;
  IF NEW.kind = 'REGISTERED' AND NEW.sequence > 1 AND discreet.is_charged(NEW.dataset) THEN
    PERFORM discreet.refused('a dataset that was charged is not registered again');
  END IF;
  RETURN NEW;
END
$$;

CREATE FUNCTION discreet.guard_share() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF NEW.spent_rho < OLD.spent_rho OR NEW.spent_delta < OLD.spent_delta
    OR (OLD.spent_epsilon IS NULL AND NEW.spent_epsilon IS NOT NULL) OR NEW.spent_epsilon < OLD.spent_epsilon
    OR NEW.failures < OLD.failures OR NEW.dataset <> OLD.dataset OR NEW.analyst <> OLD.analyst THEN
    PERFORM discreet.refused('what an analyst spent never falls');
  END IF;
  RETURN NEW;
END
$$;

CREATE FUNCTION discreet.guard_reservation() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF OLD.state <> 'RESERVED' OR NEW.attempt < OLD.attempt
    OR (NEW.state <> 'RESERVED' AND NEW.attempt <> OLD.attempt) OR NEW.dataset <> OLD.dataset
    OR NEW.sequence <> OLD.sequence OR NEW.analyst <> OLD.analyst OR NEW.request IS DISTINCT FROM OLD.request
    OR NEW.question <> OLD.question OR NEW.description <> OLD.description THEN
    PERFORM discreet.refused('a reservation is answered or forfeited once');
  END IF;
  RETURN NEW;
END
$$;

CREATE FUNCTION discreet.guard_charge() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF NOT EXISTS (
    SELECT 1 FROM discreet.events AS e
    WHERE e.dataset = NEW.dataset AND e.sequence = NEW.sequence AND e.kind = 'RESERVED') THEN
    PERFORM discreet.refused('a reservation is written with its charge');
  END IF;
  IF EXISTS (
    SELECT 1 FROM discreet.analysts AS a
    WHERE a.dataset = NEW.dataset AND a.analyst = NEW.analyst AND a.failures >= a.most_failures) THEN
    PERFORM discreet.refused('an analyst with too many failures charges nothing');
  END IF;
  RETURN NEW;
END
$$;

CREATE FUNCTION discreet.guard_answer() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF NOT EXISTS (
    SELECT 1 FROM discreet.reservations AS r
    WHERE r.dataset = NEW.dataset AND r.sequence = NEW.reservation AND r.state = 'ANSWERED') THEN
    PERFORM discreet.refused('an answer is stored with its outcome');
  END IF;
  RETURN NEW;
END
$$;

CREATE FUNCTION discreet.guard_halt() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF OLD.cleared IS NOT NULL OR NEW.cleared IS NULL OR NEW.id <> OLD.id OR NEW.dataset <> OLD.dataset
    OR NEW.time <> OLD.time OR NEW.finding <> OLD.finding THEN
    PERFORM discreet.refused('a halt is cleared once, by a recovery');
  END IF;
  RETURN NEW;
END
$$;

CREATE TRIGGER dataset_rules BEFORE UPDATE ON discreet.datasets
  FOR EACH ROW EXECUTE FUNCTION discreet.guard_dataset();
CREATE TRIGGER version_rules BEFORE UPDATE ON discreet.versions
  FOR EACH ROW EXECUTE FUNCTION discreet.guard_version();
CREATE TRIGGER event_rules BEFORE INSERT ON discreet.events
  FOR EACH ROW EXECUTE FUNCTION discreet.guard_event();
CREATE TRIGGER share_rules BEFORE UPDATE ON discreet.analysts
  FOR EACH ROW EXECUTE FUNCTION discreet.guard_share();
CREATE TRIGGER reservation_rules BEFORE UPDATE ON discreet.reservations
  FOR EACH ROW EXECUTE FUNCTION discreet.guard_reservation();
CREATE TRIGGER charge_rules BEFORE INSERT ON discreet.reservations
  FOR EACH ROW EXECUTE FUNCTION discreet.guard_charge();
CREATE TRIGGER answer_rules BEFORE INSERT ON discreet.answers
  FOR EACH ROW EXECUTE FUNCTION discreet.guard_answer();
CREATE TRIGGER halt_rules BEFORE UPDATE ON discreet.halts
  FOR EACH ROW EXECUTE FUNCTION discreet.guard_halt();

CREATE TRIGGER versions_written_once BEFORE UPDATE ON discreet.schema_versions
  FOR EACH STATEMENT EXECUTE FUNCTION discreet.never();
CREATE TRIGGER ledger_written_once BEFORE UPDATE ON discreet.ledger
  FOR EACH STATEMENT EXECUTE FUNCTION discreet.never();
CREATE TRIGGER aliases_written_once BEFORE UPDATE ON discreet.aliases
  FOR EACH STATEMENT EXECUTE FUNCTION discreet.never();
CREATE TRIGGER events_written_once BEFORE UPDATE ON discreet.events
  FOR EACH STATEMENT EXECUTE FUNCTION discreet.never();
CREATE TRIGGER answers_written_once BEFORE UPDATE ON discreet.answers
  FOR EACH STATEMENT EXECUTE FUNCTION discreet.never();

CREATE TRIGGER schema_versions_stay BEFORE DELETE OR TRUNCATE ON discreet.schema_versions
  FOR EACH STATEMENT EXECUTE FUNCTION discreet.never();
CREATE TRIGGER ledger_stays BEFORE DELETE OR TRUNCATE ON discreet.ledger
  FOR EACH STATEMENT EXECUTE FUNCTION discreet.never();
CREATE TRIGGER datasets_stay BEFORE DELETE OR TRUNCATE ON discreet.datasets
  FOR EACH STATEMENT EXECUTE FUNCTION discreet.never();
CREATE TRIGGER versions_stay BEFORE DELETE OR TRUNCATE ON discreet.versions
  FOR EACH STATEMENT EXECUTE FUNCTION discreet.never();
CREATE TRIGGER aliases_stay BEFORE DELETE OR TRUNCATE ON discreet.aliases
  FOR EACH STATEMENT EXECUTE FUNCTION discreet.never();
CREATE TRIGGER analysts_stay BEFORE DELETE OR TRUNCATE ON discreet.analysts
  FOR EACH STATEMENT EXECUTE FUNCTION discreet.never();
CREATE TRIGGER events_stay BEFORE DELETE OR TRUNCATE ON discreet.events
  FOR EACH STATEMENT EXECUTE FUNCTION discreet.never();
CREATE TRIGGER reservations_stay BEFORE DELETE OR TRUNCATE ON discreet.reservations
  FOR EACH STATEMENT EXECUTE FUNCTION discreet.never();
CREATE TRIGGER answers_stay BEFORE DELETE OR TRUNCATE ON discreet.answers
  FOR EACH STATEMENT EXECUTE FUNCTION discreet.never();
CREATE TRIGGER halts_stay BEFORE DELETE OR TRUNCATE ON discreet.halts
  FOR EACH STATEMENT EXECUTE FUNCTION discreet.never();

INSERT INTO discreet.ledger VALUES (replace(gen_random_uuid()::text, '-', ''));
