CREATE TABLE discreet.schema_versions (
  version INTEGER PRIMARY KEY NOT NULL,
  applied TEXT NOT NULL,
  library TEXT NOT NULL
);

CREATE TABLE discreet.ledger (
  id TEXT PRIMARY KEY NOT NULL
);

CREATE TABLE discreet.keys (
  sequence BIGINT PRIMARY KEY NOT NULL CHECK (sequence >= 1),
  document TEXT NOT NULL
);

CREATE TABLE discreet.datasets (
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
  alias TEXT COLLATE "C" PRIMARY KEY NOT NULL,
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
) WITH (fillfactor = 50);

CREATE TABLE discreet.events (
  dataset TEXT COLLATE "C" NOT NULL,
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
  id TEXT PRIMARY KEY NOT NULL,
  dataset TEXT COLLATE "C" NOT NULL,
  time TEXT NOT NULL,
  finding TEXT NOT NULL,
  cleared BIGINT
);

CREATE UNIQUE INDEX one_outcome ON discreet.events (dataset, reservation) WHERE kind IN ('ANSWERED', 'FORFEITED');

CREATE UNIQUE INDEX one_charge ON discreet.reservations (dataset, analyst, request) WHERE request IS NOT NULL;

CREATE INDEX asked_before ON discreet.reservations (dataset, question, state, sequence);

CREATE INDEX unconcluded ON discreet.reservations (lease) WHERE state = 'RESERVED';

CREATE INDEX standing ON discreet.halts (dataset) WHERE cleared IS NULL;

CREATE INDEX other_releases ON discreet.events (dataset, sequence) WHERE kind = 'PUBLISHED';

CREATE FUNCTION discreet.never() RETURNS trigger LANGUAGE plpgsql SET search_path = pg_catalog, discreet, pg_temp AS $$
BEGIN
  RAISE EXCEPTION 'the ledger is append-only' USING ERRCODE = 'integrity_constraint_violation';
END
$$;

CREATE FUNCTION discreet.analysts_before_insert() RETURNS trigger LANGUAGE plpgsql SET search_path = pg_catalog, discreet, pg_temp AS $$
BEGIN
  PERFORM 1 FROM datasets WHERE name = NEW.dataset FOR UPDATE;
  IF NOT pg_has_role(current_user, (SELECT nspowner FROM pg_namespace WHERE nspname = 'discreet'), 'USAGE') AND (NEW.is_own <> 0 OR NEW.failures <> 0 OR NEW.floor_epsilon IS DISTINCT FROM 0 OR NEW.floor_rho <> 0 OR NEW.floor_delta <> 0 OR NEW.floor_renyi <> 0 OR NOT (EXISTS (SELECT 1 FROM analysts WHERE dataset = NEW.dataset AND analyst = '*' AND most_failures = NEW.most_failures AND quota IS NOT DISTINCT FROM NEW.quota AND cap_epsilon IS NOT DISTINCT FROM NEW.cap_epsilon AND cap_rho IS NOT DISTINCT FROM NEW.cap_rho AND cap_delta IS NOT DISTINCT FROM NEW.cap_delta) OR (NEW.most_failures = 100 AND NEW.quota IS NULL AND NEW.cap_epsilon IS NULL AND NEW.cap_rho IS NULL AND NEW.cap_delta IS NULL AND NOT EXISTS (SELECT 1 FROM analysts WHERE dataset = NEW.dataset AND analyst = '*')))) THEN
    RAISE EXCEPTION 'a new analyst has the quota of everyone' USING ERRCODE = 'integrity_constraint_violation';
  END IF;
  RETURN NEW;
END
$$;

CREATE FUNCTION discreet.analysts_before_update() RETURNS trigger LANGUAGE plpgsql SET search_path = pg_catalog, discreet, pg_temp AS $$
BEGIN
  IF NEW.spent_rho < OLD.spent_rho OR NEW.spent_delta < OLD.spent_delta OR NEW.spent_renyi < OLD.spent_renyi OR (OLD.spent_epsilon IS NULL AND NEW.spent_epsilon IS NOT NULL) OR NEW.spent_epsilon < OLD.spent_epsilon OR NEW.failures < OLD.failures OR NEW.dataset <> OLD.dataset OR NEW.analyst <> OLD.analyst THEN
    RAISE EXCEPTION 'what an analyst spent never falls' USING ERRCODE = 'integrity_constraint_violation';
  END IF;
  RETURN NEW;
END
$$;

CREATE FUNCTION discreet.answers_before_insert() RETURNS trigger LANGUAGE plpgsql SET search_path = pg_catalog, discreet, pg_temp AS $$
BEGIN
  IF NOT EXISTS (SELECT 1 FROM reservations WHERE dataset = NEW.dataset AND sequence = NEW.reservation AND state = 'ANSWERED') THEN
    RAISE EXCEPTION 'an answer is stored with its outcome' USING ERRCODE = 'integrity_constraint_violation';
  END IF;
  RETURN NEW;
END
$$;

CREATE FUNCTION discreet.datasets_before_update() RETURNS trigger LANGUAGE plpgsql SET search_path = pg_catalog, discreet, pg_temp AS $$
BEGIN
  IF NEW.name IS DISTINCT FROM OLD.name OR NEW.hash_key IS DISTINCT FROM OLD.hash_key OR NEW.part_of IS DISTINCT FROM OLD.part_of OR NEW.slice_start IS DISTINCT FROM OLD.slice_start OR NEW.slice_end IS DISTINCT FROM OLD.slice_end THEN
    RAISE EXCEPTION 'a dataset keeps its name, hash key and slice' USING ERRCODE = 'integrity_constraint_violation';
  END IF;
  IF (NEW.unit <> OLD.unit OR NEW.neighbours <> OLD.neighbours) AND EXISTS (SELECT 1 FROM events WHERE dataset = OLD.name AND kind = 'RESERVED') THEN
    RAISE EXCEPTION 'a dataset that was charged keeps its unit and neighbours' USING ERRCODE = 'integrity_constraint_violation';
  END IF;
  IF NEW.spent_rho < OLD.spent_rho OR NEW.spent_delta < OLD.spent_delta OR NEW.spent_renyi < OLD.spent_renyi OR (OLD.spent_epsilon IS NULL AND NEW.spent_epsilon IS NOT NULL) OR NEW.spent_epsilon < OLD.spent_epsilon THEN
    RAISE EXCEPTION 'what was spent never falls' USING ERRCODE = 'integrity_constraint_violation';
  END IF;
  IF NEW.epsilon = OLD.epsilon AND NEW.delta = OLD.delta AND NEW.reserved_delta = OLD.reserved_delta AND (NEW.cap_epsilon > OLD.cap_epsilon OR NEW.cap_rho > OLD.cap_rho OR NEW.cap_delta > OLD.cap_delta) THEN
    RAISE EXCEPTION 'a raised cap is a new promise' USING ERRCODE = 'integrity_constraint_violation';
  END IF;
  IF NEW.renyi_order IS DISTINCT FROM OLD.renyi_order AND (NEW.floor_epsilon IS DISTINCT FROM NEW.spent_epsilon OR NEW.floor_rho <> NEW.spent_rho OR NEW.floor_delta <> NEW.spent_delta OR NEW.floor_renyi <> NEW.spent_renyi) THEN
    RAISE EXCEPTION 'an order is fixed with a budget' USING ERRCODE = 'integrity_constraint_violation';
  END IF;
  IF (NEW.floor_epsilon IS DISTINCT FROM OLD.floor_epsilon OR NEW.floor_rho <> OLD.floor_rho OR NEW.floor_delta <> OLD.floor_delta OR NEW.floor_renyi <> OLD.floor_renyi) AND (NEW.floor_epsilon IS DISTINCT FROM NEW.spent_epsilon OR NEW.floor_rho <> NEW.spent_rho OR NEW.floor_delta <> NEW.spent_delta OR NEW.floor_renyi <> NEW.spent_renyi) THEN
    RAISE EXCEPTION 'a floor is what is spent when it is set' USING ERRCODE = 'integrity_constraint_violation';
  END IF;
  IF NEW.sequence <= OLD.sequence OR NEW.head = OLD.head THEN
    RAISE EXCEPTION 'a dataset changes only with an event' USING ERRCODE = 'integrity_constraint_violation';
  END IF;
  RETURN NEW;
END
$$;

CREATE FUNCTION discreet.events_before_insert() RETURNS trigger LANGUAGE plpgsql SET search_path = pg_catalog, discreet, pg_temp AS $$
BEGIN
  IF NEW.kind = 'REGISTERED' AND EXISTS (SELECT 1 FROM events WHERE dataset = NEW.dataset AND kind = 'RESERVED') THEN
    RAISE EXCEPTION 'a dataset that was charged is not registered again' USING ERRCODE = 'integrity_constraint_violation';
  END IF;
  IF NEW.kind = 'RESERVED' AND (EXISTS (SELECT 1 FROM datasets WHERE name = NEW.dataset AND spent_epsilon IS NOT DISTINCT FROM floor_epsilon AND spent_rho = floor_rho AND spent_delta = floor_delta AND spent_renyi = floor_renyi) OR NOT EXISTS (SELECT 1 FROM analysts WHERE dataset = NEW.dataset AND analyst = NEW.analyst AND NOT (spent_epsilon IS NOT DISTINCT FROM floor_epsilon AND spent_rho = floor_rho AND spent_delta = floor_delta AND spent_renyi = floor_renyi))) THEN
    RAISE EXCEPTION 'a charge does not move a floor' USING ERRCODE = 'integrity_constraint_violation';
  END IF;
  IF NOT EXISTS (SELECT 1 FROM datasets WHERE name = NEW.dataset AND sequence = NEW.sequence AND head = NEW.hash) THEN
    RAISE EXCEPTION 'an event is written only as the head of its chain' USING ERRCODE = 'integrity_constraint_violation';
  END IF;
  IF NEW.kind <> 'RECOVERED' AND NEW.sequence <> 1 + COALESCE((SELECT max(sequence) FROM events WHERE dataset = NEW.dataset), 0) THEN
    RAISE EXCEPTION 'an event follows the one before it' USING ERRCODE = 'integrity_constraint_violation';
  END IF;
  IF NEW.kind IN ('REGISTERED', 'VERSIONED', 'RENAMED', 'CAPPED', 'LIMITED', 'RECOVERED') AND NOT pg_has_role(current_user, (SELECT nspowner FROM pg_namespace WHERE nspname = 'discreet'), 'USAGE') THEN
    RAISE EXCEPTION 'only the steward changes budgets, quotas and names' USING ERRCODE = 'integrity_constraint_violation';
  END IF;
  RETURN NEW;
END
$$;

CREATE FUNCTION discreet.halts_before_update() RETURNS trigger LANGUAGE plpgsql SET search_path = pg_catalog, discreet, pg_temp AS $$
BEGIN
  IF OLD.cleared IS NOT NULL OR NEW.cleared IS NULL OR NEW.id <> OLD.id OR NEW.dataset <> OLD.dataset OR NEW.time <> OLD.time OR NEW.finding <> OLD.finding THEN
    RAISE EXCEPTION 'a halt is cleared once, by a recovery' USING ERRCODE = 'integrity_constraint_violation';
  END IF;
  RETURN NEW;
END
$$;

CREATE FUNCTION discreet.keys_before_insert() RETURNS trigger LANGUAGE plpgsql SET search_path = pg_catalog, discreet, pg_temp AS $$
BEGIN
  IF NEW.sequence <> 1 + COALESCE((SELECT max(sequence) FROM keys), 0) THEN
    RAISE EXCEPTION 'an act on the keys follows the one before it' USING ERRCODE = 'integrity_constraint_violation';
  END IF;
  RETURN NEW;
END
$$;

CREATE FUNCTION discreet.reservations_before_insert() RETURNS trigger LANGUAGE plpgsql SET search_path = pg_catalog, discreet, pg_temp AS $$
BEGIN
  IF EXISTS (SELECT 1 FROM analysts WHERE dataset = NEW.dataset AND analyst = NEW.analyst AND failures >= most_failures) THEN
    RAISE EXCEPTION 'an analyst with too many failures charges nothing' USING ERRCODE = 'integrity_constraint_violation';
  END IF;
  IF NOT EXISTS (SELECT 1 FROM events WHERE dataset = NEW.dataset AND sequence = NEW.sequence AND kind = 'RESERVED') THEN
    RAISE EXCEPTION 'a reservation is written with its charge' USING ERRCODE = 'integrity_constraint_violation';
  END IF;
  RETURN NEW;
END
$$;

CREATE FUNCTION discreet.reservations_before_update() RETURNS trigger LANGUAGE plpgsql SET search_path = pg_catalog, discreet, pg_temp AS $$
BEGIN
  IF OLD.state <> 'RESERVED' OR NEW.attempt < OLD.attempt OR (NEW.state <> 'RESERVED' AND NEW.attempt <> OLD.attempt) OR NEW.dataset <> OLD.dataset OR NEW.sequence <> OLD.sequence OR NEW.analyst <> OLD.analyst OR NEW.request IS DISTINCT FROM OLD.request OR NEW.question <> OLD.question OR NEW.description <> OLD.description THEN
    RAISE EXCEPTION 'a reservation is answered or forfeited once' USING ERRCODE = 'integrity_constraint_violation';
  END IF;
  RETURN NEW;
END
$$;

CREATE FUNCTION discreet.versions_before_update() RETURNS trigger LANGUAGE plpgsql SET search_path = pg_catalog, discreet, pg_temp AS $$
BEGIN
  IF EXISTS (SELECT 1 FROM events WHERE dataset = OLD.dataset AND kind = 'RESERVED') THEN
    RAISE EXCEPTION 'a dataset that was charged keeps its versions as they are' USING ERRCODE = 'integrity_constraint_violation';
  END IF;
  IF NEW.dataset <> OLD.dataset OR NEW.version <> OLD.version OR NOT EXISTS (SELECT 1 FROM datasets JOIN events ON events.dataset = name AND events.sequence = datasets.sequence WHERE name = OLD.dataset AND kind = 'REGISTERED' AND (version = OLD.version OR (NEW.source = OLD.source AND NEW.facts = OLD.facts AND NEW.population IS NOT DISTINCT FROM OLD.population))) THEN
    RAISE EXCEPTION 'a version changes only with the event that registers it again' USING ERRCODE = 'integrity_constraint_violation';
  END IF;
  RETURN NEW;
END
$$;

CREATE FUNCTION discreet.add_dataset(given_name TEXT, given_unit TEXT, given_neighbours TEXT, given_hash_key TEXT, given_part_of TEXT, given_slice_start TEXT, given_slice_end TEXT, given_epsilon TEXT, given_delta TEXT, given_reserved_delta TEXT, given_ceiling TEXT, given_reason TEXT, given_cap_epsilon BIGINT, given_cap_rho BIGINT, given_cap_delta BIGINT, given_renyi_order TEXT, given_spent_epsilon BIGINT, given_spent_rho BIGINT, given_spent_delta BIGINT, given_spent_renyi BIGINT, given_floor_epsilon BIGINT, given_floor_rho BIGINT, given_floor_delta BIGINT, given_floor_renyi BIGINT, given_sequence BIGINT, given_head TEXT) RETURNS void LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, discreet, pg_temp AS $$
BEGIN
  INSERT INTO datasets (name, unit, neighbours, hash_key, part_of, slice_start, slice_end, epsilon, delta, reserved_delta, ceiling, reason, cap_epsilon, cap_rho, cap_delta, renyi_order, spent_epsilon, spent_rho, spent_delta, spent_renyi, floor_epsilon, floor_rho, floor_delta, floor_renyi, sequence, head)
  VALUES (given_name, given_unit, given_neighbours, given_hash_key, given_part_of, given_slice_start, given_slice_end, given_epsilon, given_delta, given_reserved_delta, given_ceiling, given_reason, given_cap_epsilon, given_cap_rho, given_cap_delta, given_renyi_order, given_spent_epsilon, given_spent_rho, given_spent_delta, given_spent_renyi, given_floor_epsilon, given_floor_rho, given_floor_delta, given_floor_renyi, given_sequence, given_head);
END
$$;

CREATE FUNCTION discreet.add_version(given_dataset TEXT, given_version INTEGER, given_source TEXT, given_facts TEXT, given_population BIGINT, given_registered BIGINT) RETURNS void LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, discreet, pg_temp AS $$
BEGIN
  INSERT INTO versions (dataset, version, source, facts, population, registered)
  VALUES (given_dataset, given_version, given_source, given_facts, given_population, given_registered);
END
$$;

CREATE FUNCTION discreet.add_alias(given_alias TEXT, given_dataset TEXT) RETURNS void LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, discreet, pg_temp AS $$
BEGIN
  INSERT INTO aliases (alias, dataset)
  VALUES (given_alias, given_dataset);
END
$$;

CREATE FUNCTION discreet.add_key_act(given_sequence BIGINT, given_document TEXT) RETURNS void LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, discreet, pg_temp AS $$
BEGIN
  INSERT INTO keys (sequence, document)
  VALUES (given_sequence, given_document);
END
$$;

CREATE FUNCTION discreet.add_event(given_dataset TEXT, given_sequence BIGINT, given_format INTEGER, given_kind TEXT, given_time TEXT, given_version INTEGER, given_analyst TEXT, given_event TEXT, given_cost_epsilon BIGINT, given_cost_rho BIGINT, given_cost_delta BIGINT, given_cost_renyi BIGINT, given_question TEXT, given_request TEXT, given_reservation BIGINT, given_digest TEXT, given_detail TEXT, given_library TEXT, given_previous TEXT, given_hash TEXT) RETURNS void LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, discreet, pg_temp AS $$
BEGIN
  INSERT INTO events (dataset, sequence, format, kind, time, version, analyst, event, cost_epsilon, cost_rho, cost_delta, cost_renyi, question, request, reservation, digest, detail, library, previous, hash)
  VALUES (given_dataset, given_sequence, given_format, given_kind, given_time, given_version, given_analyst, given_event, given_cost_epsilon, given_cost_rho, given_cost_delta, given_cost_renyi, given_question, given_request, given_reservation, given_digest, given_detail, given_library, given_previous, given_hash);
END
$$;

CREATE FUNCTION discreet.add_share(given_dataset TEXT, given_analyst TEXT, given_quota TEXT, given_is_own INTEGER, given_cap_epsilon BIGINT, given_cap_rho BIGINT, given_cap_delta BIGINT, given_spent_epsilon BIGINT, given_spent_rho BIGINT, given_spent_delta BIGINT, given_spent_renyi BIGINT, given_floor_epsilon BIGINT, given_floor_rho BIGINT, given_floor_delta BIGINT, given_floor_renyi BIGINT, given_failures BIGINT, given_most_failures BIGINT) RETURNS void LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, discreet, pg_temp AS $$
BEGIN
  INSERT INTO analysts (dataset, analyst, quota, is_own, cap_epsilon, cap_rho, cap_delta, spent_epsilon, spent_rho, spent_delta, spent_renyi, floor_epsilon, floor_rho, floor_delta, floor_renyi, failures, most_failures)
  VALUES (given_dataset, given_analyst, given_quota, given_is_own, given_cap_epsilon, given_cap_rho, given_cap_delta, given_spent_epsilon, given_spent_rho, given_spent_delta, given_spent_renyi, given_floor_epsilon, given_floor_rho, given_floor_delta, given_floor_renyi, given_failures, given_most_failures);
END
$$;

CREATE FUNCTION discreet.set_budget(given_unit TEXT, given_neighbours TEXT, given_epsilon TEXT, given_delta TEXT, given_reserved_delta TEXT, given_ceiling TEXT, given_reason TEXT, given_cap_epsilon BIGINT, given_cap_rho BIGINT, given_cap_delta BIGINT, given_renyi_order TEXT, given_spent_epsilon BIGINT, given_spent_rho BIGINT, given_spent_delta BIGINT, given_spent_renyi BIGINT, given_floor_epsilon BIGINT, given_floor_rho BIGINT, given_floor_delta BIGINT, given_floor_renyi BIGINT, given_sequence BIGINT, given_head TEXT, given_name TEXT, given_previous TEXT) RETURNS void LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, discreet, pg_temp AS $$
DECLARE
  changed BIGINT;
BEGIN
  UPDATE datasets SET unit = given_unit, neighbours = given_neighbours,
    epsilon = given_epsilon, delta = given_delta, reserved_delta = given_reserved_delta, ceiling = given_ceiling, reason = given_reason,
    cap_epsilon = given_cap_epsilon, cap_rho = given_cap_rho, cap_delta = given_cap_delta, renyi_order = given_renyi_order,
    spent_epsilon = given_spent_epsilon, spent_rho = given_spent_rho, spent_delta = given_spent_delta, spent_renyi = given_spent_renyi,
    floor_epsilon = given_floor_epsilon, floor_rho = given_floor_rho, floor_delta = given_floor_delta, floor_renyi = given_floor_renyi,
    sequence = given_sequence, head = given_head
  WHERE name = given_name AND head = given_previous;
  GET DIAGNOSTICS changed = ROW_COUNT;
  IF changed <> 1 THEN
    RAISE EXCEPTION USING ERRCODE = 'cardinality_violation';
  END IF;
END
$$;

CREATE FUNCTION discreet.set_limits(given_quota TEXT, given_is_own INTEGER, given_cap_epsilon BIGINT, given_cap_rho BIGINT, given_cap_delta BIGINT, given_floor_epsilon BIGINT, given_floor_rho BIGINT, given_floor_delta BIGINT, given_floor_renyi BIGINT, given_most_failures BIGINT, given_dataset TEXT, given_analyst TEXT) RETURNS void LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, discreet, pg_temp AS $$
DECLARE
  changed BIGINT;
BEGIN
  UPDATE analysts SET quota = given_quota, is_own = given_is_own, cap_epsilon = given_cap_epsilon, cap_rho = given_cap_rho,
    cap_delta = given_cap_delta, floor_epsilon = given_floor_epsilon, floor_rho = given_floor_rho, floor_delta = given_floor_delta,
    floor_renyi = given_floor_renyi, most_failures = given_most_failures
  WHERE dataset = given_dataset AND analyst = given_analyst;
  GET DIAGNOSTICS changed = ROW_COUNT;
  IF changed <> 1 THEN
    RAISE EXCEPTION USING ERRCODE = 'cardinality_violation';
  END IF;
END
$$;

CREATE FUNCTION discreet.restate_share(given_spent_renyi BIGINT, given_floor_epsilon BIGINT, given_floor_rho BIGINT, given_floor_delta BIGINT, given_floor_renyi BIGINT, given_dataset TEXT, given_analyst TEXT) RETURNS void LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, discreet, pg_temp AS $$
DECLARE
  changed BIGINT;
BEGIN
  UPDATE analysts SET spent_renyi = given_spent_renyi, floor_epsilon = given_floor_epsilon, floor_rho = given_floor_rho,
    floor_delta = given_floor_delta, floor_renyi = given_floor_renyi
  WHERE dataset = given_dataset AND analyst = given_analyst;
  GET DIAGNOSTICS changed = ROW_COUNT;
  IF changed <> 1 THEN
    RAISE EXCEPTION USING ERRCODE = 'cardinality_violation';
  END IF;
END
$$;

CREATE FUNCTION discreet.repair_share(given_quota TEXT, given_is_own INTEGER, given_cap_epsilon BIGINT, given_cap_rho BIGINT, given_cap_delta BIGINT, given_spent_epsilon BIGINT, given_spent_rho BIGINT, given_spent_delta BIGINT, given_spent_renyi BIGINT, given_floor_epsilon BIGINT, given_floor_rho BIGINT, given_floor_delta BIGINT, given_floor_renyi BIGINT, given_failures BIGINT, given_most_failures BIGINT, given_dataset TEXT, given_analyst TEXT) RETURNS void LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, discreet, pg_temp AS $$
DECLARE
  changed BIGINT;
BEGIN
  UPDATE analysts SET quota = given_quota, is_own = given_is_own,
    cap_epsilon = given_cap_epsilon, cap_rho = given_cap_rho, cap_delta = given_cap_delta,
    spent_epsilon = given_spent_epsilon, spent_rho = given_spent_rho, spent_delta = given_spent_delta, spent_renyi = given_spent_renyi,
    floor_epsilon = given_floor_epsilon, floor_rho = given_floor_rho, floor_delta = given_floor_delta, floor_renyi = given_floor_renyi,
    failures = given_failures, most_failures = given_most_failures
  WHERE dataset = given_dataset AND analyst = given_analyst;
  GET DIAGNOSTICS changed = ROW_COUNT;
  IF changed <> 1 THEN
    RAISE EXCEPTION USING ERRCODE = 'cardinality_violation';
  END IF;
END
$$;

CREATE FUNCTION discreet.correct_version(given_source TEXT, given_facts TEXT, given_population BIGINT, given_registered BIGINT, given_dataset TEXT, given_version INTEGER) RETURNS void LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, discreet, pg_temp AS $$
DECLARE
  changed BIGINT;
BEGIN
  UPDATE versions SET source = given_source, facts = given_facts, population = given_population, registered = given_registered
  WHERE dataset = given_dataset AND version = given_version;
  GET DIAGNOSTICS changed = ROW_COUNT;
  IF changed <> 1 THEN
    RAISE EXCEPTION USING ERRCODE = 'cardinality_violation';
  END IF;
END
$$;

CREATE FUNCTION discreet.register_again(given_registered BIGINT, given_dataset TEXT, given_version INTEGER) RETURNS void LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, discreet, pg_temp AS $$
DECLARE
  changed BIGINT;
BEGIN
  UPDATE versions SET registered = given_registered WHERE dataset = given_dataset AND version = given_version;
  GET DIAGNOSTICS changed = ROW_COUNT;
  IF changed <> 1 THEN
    RAISE EXCEPTION USING ERRCODE = 'cardinality_violation';
  END IF;
END
$$;

CREATE FUNCTION discreet.clear_halt(given_sequence BIGINT, given_id TEXT) RETURNS void LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, discreet, pg_temp AS $$
DECLARE
  changed BIGINT;
BEGIN
  UPDATE halts SET cleared = given_sequence WHERE id = given_id;
  GET DIAGNOSTICS changed = ROW_COUNT;
  IF changed <> 1 THEN
    RAISE EXCEPTION USING ERRCODE = 'cardinality_violation';
  END IF;
END
$$;

CREATE TRIGGER analysts_before_insert BEFORE INSERT ON discreet.analysts FOR EACH ROW EXECUTE FUNCTION discreet.analysts_before_insert();

CREATE TRIGGER analysts_before_update BEFORE UPDATE ON discreet.analysts FOR EACH ROW EXECUTE FUNCTION discreet.analysts_before_update();

CREATE TRIGGER answers_before_insert BEFORE INSERT ON discreet.answers FOR EACH ROW EXECUTE FUNCTION discreet.answers_before_insert();

CREATE TRIGGER datasets_before_update BEFORE UPDATE ON discreet.datasets FOR EACH ROW EXECUTE FUNCTION discreet.datasets_before_update();

CREATE TRIGGER events_before_insert BEFORE INSERT ON discreet.events FOR EACH ROW EXECUTE FUNCTION discreet.events_before_insert();

CREATE TRIGGER halts_before_update BEFORE UPDATE ON discreet.halts FOR EACH ROW EXECUTE FUNCTION discreet.halts_before_update();

CREATE TRIGGER keys_before_insert BEFORE INSERT ON discreet.keys FOR EACH ROW EXECUTE FUNCTION discreet.keys_before_insert();

CREATE TRIGGER reservations_before_insert BEFORE INSERT ON discreet.reservations FOR EACH ROW EXECUTE FUNCTION discreet.reservations_before_insert();

CREATE TRIGGER reservations_before_update BEFORE UPDATE ON discreet.reservations FOR EACH ROW EXECUTE FUNCTION discreet.reservations_before_update();

CREATE TRIGGER versions_before_update BEFORE UPDATE ON discreet.versions FOR EACH ROW EXECUTE FUNCTION discreet.versions_before_update();

CREATE TRIGGER schema_versions_never_change BEFORE UPDATE ON discreet.schema_versions FOR EACH STATEMENT EXECUTE FUNCTION discreet.never();

CREATE TRIGGER ledger_never_change BEFORE UPDATE ON discreet.ledger FOR EACH STATEMENT EXECUTE FUNCTION discreet.never();

CREATE TRIGGER keys_never_change BEFORE UPDATE ON discreet.keys FOR EACH STATEMENT EXECUTE FUNCTION discreet.never();

CREATE TRIGGER aliases_never_change BEFORE UPDATE ON discreet.aliases FOR EACH STATEMENT EXECUTE FUNCTION discreet.never();

CREATE TRIGGER events_never_change BEFORE UPDATE ON discreet.events FOR EACH STATEMENT EXECUTE FUNCTION discreet.never();

CREATE TRIGGER answers_never_change BEFORE UPDATE ON discreet.answers FOR EACH STATEMENT EXECUTE FUNCTION discreet.never();

CREATE TRIGGER schema_versions_never_vanish BEFORE DELETE OR TRUNCATE ON discreet.schema_versions FOR EACH STATEMENT EXECUTE FUNCTION discreet.never();

CREATE TRIGGER ledger_never_vanish BEFORE DELETE OR TRUNCATE ON discreet.ledger FOR EACH STATEMENT EXECUTE FUNCTION discreet.never();

CREATE TRIGGER keys_never_vanish BEFORE DELETE OR TRUNCATE ON discreet.keys FOR EACH STATEMENT EXECUTE FUNCTION discreet.never();

CREATE TRIGGER datasets_never_vanish BEFORE DELETE OR TRUNCATE ON discreet.datasets FOR EACH STATEMENT EXECUTE FUNCTION discreet.never();

CREATE TRIGGER versions_never_vanish BEFORE DELETE OR TRUNCATE ON discreet.versions FOR EACH STATEMENT EXECUTE FUNCTION discreet.never();

CREATE TRIGGER aliases_never_vanish BEFORE DELETE OR TRUNCATE ON discreet.aliases FOR EACH STATEMENT EXECUTE FUNCTION discreet.never();

CREATE TRIGGER analysts_never_vanish BEFORE DELETE OR TRUNCATE ON discreet.analysts FOR EACH STATEMENT EXECUTE FUNCTION discreet.never();

CREATE TRIGGER events_never_vanish BEFORE DELETE OR TRUNCATE ON discreet.events FOR EACH STATEMENT EXECUTE FUNCTION discreet.never();

CREATE TRIGGER reservations_never_vanish BEFORE DELETE OR TRUNCATE ON discreet.reservations FOR EACH STATEMENT EXECUTE FUNCTION discreet.never();

CREATE TRIGGER answers_never_vanish BEFORE DELETE OR TRUNCATE ON discreet.answers FOR EACH STATEMENT EXECUTE FUNCTION discreet.never();

CREATE TRIGGER halts_never_vanish BEFORE DELETE OR TRUNCATE ON discreet.halts FOR EACH STATEMENT EXECUTE FUNCTION discreet.never();

