SET check_function_bodies = false;
CREATE SCHEMA discreet;
ALTER SCHEMA discreet OWNER TO data_owner;
CREATE FUNCTION discreet.charge(given_name text, given_version integer, given_registration bigint, given_analyst text, given_question text, given_request text, is_fresh boolean, given_event text, given_epsilon bigint, given_rho bigint, given_delta bigint, given_digest text, given_description text, given_time text, given_library text, given_format integer, given_term bigint, least_sequence bigint, before text, between_them text, after_them text) RETURNS TABLE(previous_head text, new_head text, new_sequence bigint, total_epsilon bigint, total_rho bigint, total_delta bigint, promised_epsilon text, promised_delta text, promised_reserve text, promised_ceiling text, promised_reason text)
    LANGUAGE plpgsql
    AS $$
DECLARE
  d discreet.datasets%ROWTYPE;
  a discreet.analysts%ROWTYPE;
  largest CONSTANT BIGINT := 9223372036854775807;
BEGIN
  IF NOT is_fresh AND EXISTS (
    SELECT 1 FROM discreet.reservations AS r
    WHERE r.dataset = given_name AND r.question = given_question AND r.state <> 'FORFEITED') THEN
    RETURN;
  END IF;
  SELECT * INTO d FROM discreet.datasets AS known WHERE known.name = given_name FOR UPDATE;
  IF NOT FOUND OR d.sequence < least_sequence
    OR current_setting('fsync') <> 'on' OR current_setting('full_page_writes') <> 'on'
    OR current_setting('synchronous_commit') = 'off'
    OR EXISTS (SELECT 1 FROM discreet.halts AS h WHERE h.dataset IN (given_name, '') AND h.cleared IS NULL)
    OR EXISTS (
      SELECT 1 FROM discreet.reservations AS r
      WHERE r.dataset = given_name AND r.analyst = given_analyst AND r.request = given_request)
    OR (NOT is_fresh AND EXISTS (
      SELECT 1 FROM discreet.reservations AS r
      WHERE r.dataset = given_name AND r.question = given_question AND r.state <> 'FORFEITED'))
    OR NOT EXISTS (
      SELECT 1 FROM discreet.versions AS v
      WHERE v.dataset = given_name AND v.version = given_version
        AND (given_registration IS NULL OR v.registered = given_registration)) THEN
    RETURN;
  END IF;
  SELECT * INTO a FROM discreet.analysts AS share WHERE share.dataset = given_name AND share.analyst = given_analyst;
  IF NOT FOUND OR a.failures >= a.most_failures
    OR d.spent_rho > largest - given_rho OR d.spent_delta > largest - given_delta
    OR (d.spent_epsilon IS NOT NULL AND given_epsilon IS NOT NULL AND d.spent_epsilon > largest - given_epsilon) THEN
    RETURN;
  END IF;
  IF NOT (d.spent_delta + given_delta <= d.cap_delta AND (
      COALESCE(d.spent_epsilon + given_epsilon <= d.cap_epsilon, FALSE) OR d.spent_rho + given_rho <= d.cap_rho))
    OR NOT (a.cap_rho IS NULL OR (a.spent_delta + given_delta <= a.cap_delta AND (
      COALESCE(a.spent_epsilon + given_epsilon <= a.cap_epsilon, FALSE) OR a.spent_rho + given_rho <= a.cap_rho)))
  THEN
    RETURN;
  END IF;
  previous_head := d.head;
  d.sequence := d.sequence + 1;
  d.head := encode(sha256(convert_to(before || previous_head || between_them || d.sequence || after_them, 'UTF8')), 'hex');
  d.spent_epsilon := d.spent_epsilon + given_epsilon;
  d.spent_rho := d.spent_rho + given_rho;
  d.spent_delta := d.spent_delta + given_delta;
  UPDATE discreet.datasets AS known SET spent_epsilon = d.spent_epsilon, spent_rho = d.spent_rho,
    spent_delta = d.spent_delta, sequence = d.sequence, head = d.head
  WHERE known.name = given_name;
  UPDATE discreet.analysts AS share SET spent_epsilon = share.spent_epsilon + given_epsilon,
    spent_rho = share.spent_rho + given_rho, spent_delta = share.spent_delta + given_delta
  WHERE share.dataset = given_name AND share.analyst = given_analyst;
  INSERT INTO discreet.events (dataset, sequence, format, kind, time, version, analyst, event, cost_epsilon, cost_rho,
    cost_delta, question, request, digest, library, previous, hash)
  VALUES (given_name, d.sequence, given_format, 'RESERVED', given_time, given_version, given_analyst, given_event,
    given_epsilon, given_rho, given_delta, given_question, given_request, given_digest, given_library, previous_head,
    d.head);
  INSERT INTO discreet.reservations
    (dataset, sequence, analyst, request, question, description, state, attempt, lease)
  VALUES (given_name, d.sequence, given_analyst, given_request, given_question, given_description, 'RESERVED', 1,
    CAST(extract(epoch FROM clock_timestamp()) * 1000 AS BIGINT) + given_term);
  new_head := d.head;
  new_sequence := d.sequence;
  total_epsilon := d.spent_epsilon;
  total_rho := d.spent_rho;
  total_delta := d.spent_delta;
  promised_epsilon := d.epsilon;
  promised_delta := d.delta;
  promised_reserve := d.reserved_delta;
  promised_ceiling := d.ceiling;
  promised_reason := d.reason;
  RETURN NEXT;
END
$$;
ALTER FUNCTION discreet.charge(given_name text, given_version integer, given_registration bigint, given_analyst text, given_question text, given_request text, is_fresh boolean, given_event text, given_epsilon bigint, given_rho bigint, given_delta bigint, given_digest text, given_description text, given_time text, given_library text, given_format integer, given_term bigint, least_sequence bigint, before text, between_them text, after_them text) OWNER TO data_owner;
CREATE FUNCTION discreet.guard_answer() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
BEGIN
  IF NOT EXISTS (
    SELECT 1 FROM discreet.reservations AS r
    WHERE r.dataset = NEW.dataset AND r.sequence = NEW.reservation AND r.state = 'ANSWERED') THEN
    PERFORM discreet.refused('an answer is stored with its outcome');
  END IF;
  RETURN NEW;
END
$$;
ALTER FUNCTION discreet.guard_answer() OWNER TO data_owner;
CREATE FUNCTION discreet.guard_charge() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
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
ALTER FUNCTION discreet.guard_charge() OWNER TO data_owner;
CREATE FUNCTION discreet.guard_dataset() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
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
ALTER FUNCTION discreet.guard_dataset() OWNER TO data_owner;
CREATE FUNCTION discreet.guard_event() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
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
ALTER FUNCTION discreet.guard_event() OWNER TO data_owner;
CREATE FUNCTION discreet.guard_halt() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
BEGIN
  IF OLD.cleared IS NOT NULL OR NEW.cleared IS NULL OR NEW.id <> OLD.id OR NEW.dataset <> OLD.dataset
    OR NEW.time <> OLD.time OR NEW.finding <> OLD.finding THEN
    PERFORM discreet.refused('a halt is cleared once, by a recovery');
  END IF;
  RETURN NEW;
END
$$;
ALTER FUNCTION discreet.guard_halt() OWNER TO data_owner;
CREATE FUNCTION discreet.guard_reservation() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
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
ALTER FUNCTION discreet.guard_reservation() OWNER TO data_owner;
CREATE FUNCTION discreet.guard_share() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
BEGIN
  IF NEW.spent_rho < OLD.spent_rho OR NEW.spent_delta < OLD.spent_delta
    OR (OLD.spent_epsilon IS NULL AND NEW.spent_epsilon IS NOT NULL) OR NEW.spent_epsilon < OLD.spent_epsilon
    OR NEW.failures < OLD.failures OR NEW.dataset <> OLD.dataset OR NEW.analyst <> OLD.analyst THEN
    PERFORM discreet.refused('what an analyst spent never falls');
  END IF;
  RETURN NEW;
END
$$;
ALTER FUNCTION discreet.guard_share() OWNER TO data_owner;
CREATE FUNCTION discreet.guard_version() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
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
ALTER FUNCTION discreet.guard_version() OWNER TO data_owner;
CREATE FUNCTION discreet.is_charged(name text) RETURNS boolean
    LANGUAGE sql STABLE
    AS $$
  SELECT EXISTS (SELECT 1 FROM discreet.events AS e WHERE e.dataset = is_charged.name AND e.kind = 'RESERVED')
$$;
ALTER FUNCTION discreet.is_charged(name text) OWNER TO data_owner;
CREATE FUNCTION discreet.never() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
BEGIN
  RAISE EXCEPTION 'the ledger is append-only' USING ERRCODE = 'integrity_constraint_violation';
END
$$;
ALTER FUNCTION discreet.never() OWNER TO data_owner;
CREATE FUNCTION discreet.refused(rule text) RETURNS void
    LANGUAGE plpgsql
    AS $$
BEGIN
  RAISE EXCEPTION '%', rule USING ERRCODE = 'integrity_constraint_violation';
END
$$;
ALTER FUNCTION discreet.refused(rule text) OWNER TO data_owner;
CREATE TABLE discreet.aliases (
    alias text NOT NULL COLLATE pg_catalog."C",
    dataset text NOT NULL COLLATE pg_catalog."C"
);
ALTER TABLE discreet.aliases OWNER TO data_owner;
CREATE TABLE discreet.analysts (
    dataset text NOT NULL COLLATE pg_catalog."C",
    analyst text NOT NULL COLLATE pg_catalog."C",
    quota text,
    is_own integer NOT NULL,
    cap_epsilon bigint,
    cap_rho bigint,
    cap_delta bigint,
    spent_epsilon bigint,
    spent_rho bigint NOT NULL,
    spent_delta bigint NOT NULL,
    floor_epsilon bigint,
    floor_rho bigint NOT NULL,
    floor_delta bigint NOT NULL,
    failures bigint NOT NULL,
    most_failures bigint NOT NULL,
    CONSTRAINT analysts_cap_delta_check CHECK ((cap_delta >= 0)),
    CONSTRAINT analysts_cap_epsilon_check CHECK ((cap_epsilon >= 0)),
    CONSTRAINT analysts_cap_rho_check CHECK ((cap_rho >= 0)),
    CONSTRAINT analysts_failures_check CHECK ((failures >= 0)),
    CONSTRAINT analysts_is_own_check CHECK ((is_own = ANY (ARRAY[0, 1]))),
    CONSTRAINT analysts_most_failures_check CHECK ((most_failures >= 0)),
    CONSTRAINT analysts_spent_delta_check CHECK ((spent_delta >= 0)),
    CONSTRAINT analysts_spent_epsilon_check CHECK ((spent_epsilon >= 0)),
    CONSTRAINT analysts_spent_rho_check CHECK ((spent_rho >= 0)),
    CONSTRAINT quota CHECK (((cap_rho IS NULL) OR ((spent_delta <= cap_delta) AND (((spent_epsilon IS NOT NULL) AND (spent_epsilon <= cap_epsilon)) OR (spent_rho <= cap_rho))) OR ((NOT (spent_epsilon IS DISTINCT FROM floor_epsilon)) AND (spent_rho = floor_rho) AND (spent_delta = floor_delta)))),
    CONSTRAINT whole_quota CHECK ((((quota IS NULL) = (cap_epsilon IS NULL)) AND ((quota IS NULL) = (cap_rho IS NULL)) AND ((quota IS NULL) = (cap_delta IS NULL))))
)
WITH (fillfactor='50');
ALTER TABLE discreet.analysts OWNER TO data_owner;
CREATE TABLE discreet.answers (
    dataset text NOT NULL COLLATE pg_catalog."C",
    reservation bigint NOT NULL,
    payload bytea NOT NULL
);
ALTER TABLE discreet.answers OWNER TO data_owner;
CREATE TABLE discreet.datasets (
    name text NOT NULL COLLATE pg_catalog."C",
    unit text NOT NULL,
    neighbours text NOT NULL,
    hash_key text NOT NULL,
    part_of text,
    slice_start text COLLATE pg_catalog."C",
    slice_end text COLLATE pg_catalog."C",
    epsilon text NOT NULL,
    delta text NOT NULL,
    reserved_delta text NOT NULL,
    ceiling text NOT NULL,
    reason text,
    cap_epsilon bigint NOT NULL,
    cap_rho bigint NOT NULL,
    cap_delta bigint NOT NULL,
    spent_epsilon bigint,
    spent_rho bigint NOT NULL,
    spent_delta bigint NOT NULL,
    floor_epsilon bigint,
    floor_rho bigint NOT NULL,
    floor_delta bigint NOT NULL,
    sequence bigint NOT NULL,
    head text NOT NULL,
    CONSTRAINT datasets_cap_delta_check CHECK ((cap_delta >= 0)),
    CONSTRAINT datasets_cap_epsilon_check CHECK ((cap_epsilon >= 0)),
    CONSTRAINT datasets_cap_rho_check CHECK ((cap_rho >= 0)),
    CONSTRAINT datasets_sequence_check CHECK ((sequence >= 1)),
    CONSTRAINT datasets_spent_delta_check CHECK ((spent_delta >= 0)),
    CONSTRAINT datasets_spent_epsilon_check CHECK ((spent_epsilon >= 0)),
    CONSTRAINT datasets_spent_rho_check CHECK ((spent_rho >= 0)),
    CONSTRAINT promise CHECK ((((spent_delta <= cap_delta) AND (((spent_epsilon IS NOT NULL) AND (spent_epsilon <= cap_epsilon)) OR (spent_rho <= cap_rho))) OR ((NOT (spent_epsilon IS DISTINCT FROM floor_epsilon)) AND (spent_rho = floor_rho) AND (spent_delta = floor_delta))))
)
WITH (fillfactor='50');
ALTER TABLE discreet.datasets OWNER TO data_owner;
CREATE TABLE discreet.events (
    dataset text NOT NULL COLLATE pg_catalog."C",
    sequence bigint NOT NULL,
    format integer NOT NULL,
    kind text NOT NULL,
    "time" text NOT NULL,
    version integer NOT NULL,
    analyst text COLLATE pg_catalog."C",
    event text,
    cost_epsilon bigint,
    cost_rho bigint NOT NULL,
    cost_delta bigint NOT NULL,
    question text COLLATE pg_catalog."C",
    request text,
    reservation bigint,
    digest text,
    detail text,
    library text NOT NULL,
    previous text NOT NULL,
    hash text NOT NULL,
    CONSTRAINT events_cost_delta_check CHECK ((cost_delta >= 0)),
    CONSTRAINT events_cost_epsilon_check CHECK ((cost_epsilon >= 0)),
    CONSTRAINT events_cost_rho_check CHECK ((cost_rho >= 0)),
    CONSTRAINT events_kind_check CHECK ((kind = ANY (ARRAY['REGISTERED'::text, 'VERSIONED'::text, 'RENAMED'::text, 'CAPPED'::text, 'LIMITED'::text, 'REJECTED'::text, 'RESERVED'::text, 'RESUMED'::text, 'ANSWERED'::text, 'FORFEITED'::text, 'RECOVERED'::text]))),
    CONSTRAINT price CHECK ((((kind = 'RESERVED'::text) = ((cost_epsilon IS NULL) OR (cost_epsilon > 0) OR (cost_rho > 0) OR (cost_delta > 0))) OR (kind = 'RECOVERED'::text)))
);
ALTER TABLE discreet.events OWNER TO data_owner;
CREATE TABLE discreet.halts (
    id text NOT NULL,
    dataset text NOT NULL COLLATE pg_catalog."C",
    "time" text NOT NULL,
    finding text NOT NULL,
    cleared bigint
);
ALTER TABLE discreet.halts OWNER TO data_owner;
CREATE TABLE discreet.ledger (
    id text NOT NULL
);
ALTER TABLE discreet.ledger OWNER TO data_owner;
CREATE TABLE discreet.reservations (
    dataset text NOT NULL COLLATE pg_catalog."C",
    sequence bigint NOT NULL,
    analyst text NOT NULL COLLATE pg_catalog."C",
    request text COLLATE pg_catalog."C",
    question text NOT NULL COLLATE pg_catalog."C",
    description text NOT NULL,
    state text NOT NULL COLLATE pg_catalog."C",
    attempt integer NOT NULL,
    lease bigint NOT NULL,
    CONSTRAINT reservations_attempt_check CHECK ((attempt >= 1)),
    CONSTRAINT reservations_state_check CHECK ((state = ANY (ARRAY['RESERVED'::text, 'ANSWERED'::text, 'FORFEITED'::text])))
);
ALTER TABLE discreet.reservations OWNER TO data_owner;
CREATE TABLE discreet.schema_versions (
    version integer NOT NULL,
    applied text NOT NULL,
    library text NOT NULL
);
ALTER TABLE discreet.schema_versions OWNER TO data_owner;
CREATE TABLE discreet.versions (
    dataset text NOT NULL COLLATE pg_catalog."C",
    version integer NOT NULL,
    source text NOT NULL,
    facts text NOT NULL,
    population bigint,
    registered bigint NOT NULL,
    CONSTRAINT versions_version_check CHECK ((version >= 1))
);
ALTER TABLE discreet.versions OWNER TO data_owner;
INSERT INTO discreet.aliases VALUES ('persons', 'people');
INSERT INTO discreet.analysts VALUES ('visits', 'bob', '{"ceiling":"10/1","delta":"1/1000000000","epsilon":"1/1","reason":null,"reserved_delta":"0/1"}', 1, 1000000000000, 14973057673588, 0, NULL, 1000000000000, 0, NULL, 1000000000000, 0, 1, 7);
INSERT INTO discreet.analysts VALUES ('visits', '*', '{"ceiling":"10/1","delta":"1/1000000000","epsilon":"12/1","reason":"all","reserved_delta":"1/10000000000"}', 0, 12000000000000, 1496375267009015, 100000000, 0, 0, 0, 0, 0, 0, 0, 100);
INSERT INTO discreet.analysts VALUES ('visits', 'ann', '{"ceiling":"10/1","delta":"1/1000000000","epsilon":"12/1","reason":"all","reserved_delta":"1/10000000000"}', 0, 12000000000000, 1496375267009015, 100000000, NULL, 11250000000000, 10000000, NULL, 11250000000000, 10000000, 0, 100);
INSERT INTO discreet.analysts VALUES ('visits', 'Ann Müller', '{"ceiling":"10/1","delta":"1/1000000000","epsilon":"12/1","reason":"all","reserved_delta":"1/10000000000"}', 0, 12000000000000, 1496375267009015, 100000000, 10000000000, 50000000000, 0, 10000000000, 50000000000, 0, 1, 100);
INSERT INTO discreet.analysts VALUES ('people', 'ann', NULL, 0, NULL, NULL, NULL, 333000000000, 55444500000000, 0, 0, 0, 0, 1, 100);
INSERT INTO discreet.analysts VALUES ('stays 2', 'ann', NULL, 0, NULL, NULL, NULL, 200000000000, 10000000000000, 0, 0, 0, 0, 1, 100);
INSERT INTO discreet.analysts VALUES ('stays 1', 'ann', NULL, 0, NULL, NULL, NULL, 300000000000, 15000000000000, 0, 0, 0, 0, 1, 100);
INSERT INTO discreet.answers VALUES ('visits', 2, '\x7b226e223a2031327d');
INSERT INTO discreet.answers VALUES ('visits', 4, '\x');
INSERT INTO discreet.answers VALUES ('visits', 6, '\x30');
INSERT INTO discreet.answers VALUES ('stays 1', 2, '\x746f676574686572');
INSERT INTO discreet.answers VALUES ('stays 2', 2, '\x746f676574686572');
INSERT INTO discreet.answers VALUES ('stays 1', 4, '\x74616b656e206f766572');
INSERT INTO discreet.datasets VALUES ('visits', 'one patient_id', 'add_remove', 'c1eca726617316fb', NULL, NULL, NULL, '12/1', '1/1000000000', '1/10000000000', '10/1', 'a second study', 12000000000000, 1496375267009015, 100000000, NULL, 12300000000000, 10000000, NULL, 12300000000000, 10000000, 16, '48648d97a82e3691d915b0392b7c9ac07b8faa21d046bec0db7425478a2b331f');
INSERT INTO discreet.datasets VALUES ('people', 'one row (protects rows, not people)', 'replace_one', '3b61886eb931239a', NULL, NULL, NULL, '1/3', '0/1', '0/1', '10/1', NULL, 333333333333, 0, 0, 333000000000, 55444500000000, 0, 0, 0, 0, 5, '2f7a48b64dd15c63b2bac6ff4fd513437d8673c9dcbd6ed390124eae29c81838');
INSERT INTO discreet.datasets VALUES ('stays 2', 'one patient_id', 'add_remove', 'ef9f98e787ebf7aa', 'stays', '2026-02-01T00:00:00.000000', '2026-03-01T00:00:00.000000', '1/1', '0/1', '0/1', '10/1', NULL, 1000000000000, 0, 0, 200000000000, 10000000000000, 0, 0, 0, 0, 5, '97fe08ce0b2bb9fd64821532623e99ee3bba019d61076b6568592903eeaaf1a7');
INSERT INTO discreet.datasets VALUES ('stays 1', 'one patient_id', 'add_remove', 'cbf0919183b7941a', 'stays', '2026-01-01T00:00:00.000000', '2026-02-01T00:00:00.000000', '1/1', '0/1', '0/1', '10/1', NULL, 1000000000000, 0, 0, 300000000000, 15000000000000, 0, 0, 0, 0, 7, '137766aeff6a27f52e98176868f4136da094e28d26d51dc6e86fc8a1f981ae2e');
INSERT INTO discreet.events VALUES ('visits', 1, 1, 'REGISTERED', '2026-11-15T10:17:54.973512+00:00', 1, NULL, NULL, 0, 0, 0, NULL, NULL, NULL, '1a75888ad910062dcc6a5772640a806a1f36ee8b3a769c2d7a4b58c789cfc966', '{"budget":{"ceiling":"10/1","delta":"1/1000000000","epsilon":"2/1","reason":null,"reserved_delta":"1/10000000000"},"caps":[2000000000000,55817450132233,100000000],"hash_key":"52d195ab98f652678ddd381eaa9d82fa1e85f61a38f2a5ba5223421b2d665b37","ledger":"fd6d655290904c76955cf11943ddcc39","neighbours":"add_remove","slice":{"part_of":null,"slice_end":null,"slice_start":null},"unit":"one patient_id"}', '0.1.0', '0000000000000000000000000000000000000000000000000000000000000000', '5a8765c3043106f66031841115224e2e27e6943a849e8614db256aeb6b5fab23');
INSERT INTO discreet.events VALUES ('people', 1, 1, 'REGISTERED', '2026-11-15T10:17:54.987463+00:00', 1, NULL, NULL, 0, 0, 0, NULL, NULL, NULL, '4d1c802f37afbbe4461b77a779839047da00bf156022dd086b313769b53f0776', '{"budget":{"ceiling":"10/1","delta":"0/1","epsilon":"1/1","reason":null,"reserved_delta":"0/1"},"caps":[1000000000000,0,0],"hash_key":"e9bd86d1bc314e62e957d21491203d4f6f92e1e2c0db988649ea75e2b576ea82","ledger":"fd6d655290904c76955cf11943ddcc39","neighbours":"add_remove","slice":{"part_of":null,"slice_end":null,"slice_start":null},"unit":"one row (protects rows, not people)"}', '0.1.0', '0000000000000000000000000000000000000000000000000000000000000000', '90a5d9900a0eb593a0b4bb961226cc90d65331f9d777de716e90a255b1f5e25c');
INSERT INTO discreet.events VALUES ('people', 2, 1, 'REGISTERED', '2026-11-15T10:17:54.994313+00:00', 1, NULL, NULL, 0, 0, 0, NULL, NULL, NULL, '4d1c802f37afbbe4461b77a779839047da00bf156022dd086b313769b53f0776', '{"new":{"budget":{"ceiling":"10/1","delta":"0/1","epsilon":"1/3","reason":null,"reserved_delta":"0/1"},"caps":[333333333333,0,0],"dataset":"people","facts":"{}","hash_key":"e9bd86d1bc314e62e957d21491203d4f6f92e1e2c0db988649ea75e2b576ea82","neighbours":"replace_one","population":null,"slice":{"part_of":null,"slice_end":null,"slice_start":null},"source":"memory","unit":"one row (protects rows, not people)","version":1},"old":{"budget":{"ceiling":"10/1","delta":"0/1","epsilon":"1/1","reason":null,"reserved_delta":"0/1"},"caps":[1000000000000,0,0],"dataset":"people","facts":"{}","hash_key":"e9bd86d1bc314e62e957d21491203d4f6f92e1e2c0db988649ea75e2b576ea82","neighbours":"add_remove","population":null,"slice":{"part_of":null,"slice_end":null,"slice_start":null},"source":"memory","unit":"one row (protects rows, not people)","version":1}}', '0.1.0', '90a5d9900a0eb593a0b4bb961226cc90d65331f9d777de716e90a255b1f5e25c', '418b2dad358e2c9bb6275c485515b7226b12bc661da1d3913efc0186dc952cb9');
INSERT INTO discreet.events VALUES ('visits', 2, 1, 'RESERVED', '2026-11-15T10:17:55.011970+00:00', 1, 'ann', '{"epsilon":"1/10","kind":"PureEvent"}', 100000000000, 5000000000000, 0, 'ab', 'r-1', NULL, '4ff3e22665259e4977cc76b05710cc561b6516e97277dd75abda9b5eac54d4b5', NULL, '0.1.0', '5a8765c3043106f66031841115224e2e27e6943a849e8614db256aeb6b5fab23', '38364798b9c0fd1097ba26d3af93e7065ed00f44ee0883c79355e3bf63d15f1b');
INSERT INTO discreet.events VALUES ('visits', 3, 1, 'ANSWERED', '2026-11-15T10:17:55.022622+00:00', 1, 'ann', NULL, 0, 0, 0, 'ab', NULL, 2, 'adff6dac415bc9e028c14de440d46c5cfad3ff5f9f92f5ca03a8a45bb53404ab', NULL, '0.1.0', '38364798b9c0fd1097ba26d3af93e7065ed00f44ee0883c79355e3bf63d15f1b', 'f6c4b4e91042b63fb77f2791b9ef058ad83233405c041ff94dd266504419ae9b');
INSERT INTO discreet.events VALUES ('visits', 4, 1, 'RESERVED', '2026-11-15T10:17:55.027988+00:00', 1, 'ann', '{"dimension":1,"kind":"DiscreteGaussianEvent","squared_sensitivity":"1/1","variance":"400/1"}', NULL, 1250000000000, 0, 'cd', 'auto-a066e6f97eb9f7197a3f66ad5a6f0419', NULL, '4ff3e22665259e4977cc76b05710cc561b6516e97277dd75abda9b5eac54d4b5', NULL, '0.1.0', 'f6c4b4e91042b63fb77f2791b9ef058ad83233405c041ff94dd266504419ae9b', '51ce2deb5bfe3d69252832550849a04f4725c70932ff959012dd253da005fd2f');
INSERT INTO discreet.events VALUES ('visits', 5, 1, 'ANSWERED', '2026-11-15T10:17:55.035509+00:00', 1, 'ann', NULL, 0, 0, 0, 'cd', NULL, 4, 'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855', NULL, '0.1.0', '51ce2deb5bfe3d69252832550849a04f4725c70932ff959012dd253da005fd2f', '51e89a9df47af51acc4bb18da9cc14ae93689904d031f77e792f2781fa0e622e');
INSERT INTO discreet.events VALUES ('visits', 6, 1, 'RESERVED', '2026-11-15T10:17:55.039945+00:00', 1, 'ann', '{"delta":"1/100000000000","epsilon":"1/10","kind":"ApproximateEvent"}', 100000000000, 5000000000000, 10000000, 'ef', 'auto-4a4bfbe6971182d7bea4035408985bac', NULL, '4ff3e22665259e4977cc76b05710cc561b6516e97277dd75abda9b5eac54d4b5', NULL, '0.1.0', '51e89a9df47af51acc4bb18da9cc14ae93689904d031f77e792f2781fa0e622e', '752bdeeece1c94ecb9406e0c9c1feabcbe552f477a80f36dcefdb33bf9cc711a');
INSERT INTO discreet.events VALUES ('visits', 7, 1, 'ANSWERED', '2026-11-15T10:17:55.045894+00:00', 1, 'ann', NULL, 0, 0, 0, 'ef', NULL, 6, '5feceb66ffc86f38d952786c6d696c79c2dbc239dd4e91b46729d73a27fb57e9', NULL, '0.1.0', '752bdeeece1c94ecb9406e0c9c1feabcbe552f477a80f36dcefdb33bf9cc711a', '898211ee2e8b0420c5208c0ec88a1b932d88d8b3e0bb4272e32659ff2e5fc5a8');
INSERT INTO discreet.events VALUES ('visits', 8, 1, 'VERSIONED', '2026-11-15T10:17:55.050588+00:00', 2, NULL, NULL, 0, 0, 0, NULL, NULL, NULL, '15c67519802ee1a866c3a9abc3b56d0a1fe480afde5199e46c86311d9cf3cc80', NULL, '0.1.0', '898211ee2e8b0420c5208c0ec88a1b932d88d8b3e0bb4272e32659ff2e5fc5a8', 'f3c3049b0492faafeb8b93ef5848e887b10e2e34e776fd9bf70e942a27fcc6ee');
INSERT INTO discreet.events VALUES ('visits', 9, 1, 'RESERVED', '2026-11-15T10:17:55.057385+00:00', 2, 'bob', '{"delta":"0/1","kind":"ConcentratedEvent","rho":"1/1000"}', NULL, 1000000000000, 0, 'ab', 'auto-c4a694a7df467cf123557a4152968f98', NULL, '4ff3e22665259e4977cc76b05710cc561b6516e97277dd75abda9b5eac54d4b5', NULL, '0.1.0', 'f3c3049b0492faafeb8b93ef5848e887b10e2e34e776fd9bf70e942a27fcc6ee', 'b6036eca232ad06839cd799f0f4ba84204603996a0ad2f64a4f2164c77371d9d');
INSERT INTO discreet.events VALUES ('visits', 10, 1, 'FORFEITED', '2026-11-15T10:17:55.063534+00:00', 2, 'bob', NULL, 0, 0, 0, 'ab', NULL, 9, NULL, '{"code":"timeout"}', '0.1.0', 'b6036eca232ad06839cd799f0f4ba84204603996a0ad2f64a4f2164c77371d9d', '1f8d3e8cbafc841846ab053311a2b0eb5facaf18740da6281cf58ac1bbd314d3');
INSERT INTO discreet.events VALUES ('visits', 11, 1, 'RESERVED', '2026-11-15T10:17:55.070093+00:00', 1, 'Ann Müller', '{"kind":"DiscreteLaplaceEvent","scale":"100/1","sensitivity":"1/1"}', 10000000000, 50000000000, 0, 'ab', 'auto-cd54e347bad9b2ea9011cfb84dadcdf0', NULL, '4ff3e22665259e4977cc76b05710cc561b6516e97277dd75abda9b5eac54d4b5', NULL, '0.1.0', '1f8d3e8cbafc841846ab053311a2b0eb5facaf18740da6281cf58ac1bbd314d3', 'bdacd23f471fcb6355b67f698fe9a5e88835e1a7bc9023b68c24f09d654b4f8d');
INSERT INTO discreet.events VALUES ('visits', 12, 1, 'REJECTED', '2026-11-15T10:17:55.079909+00:00', 1, 'ann', '{"epsilon":"3/1","kind":"PureEvent"}', 0, 0, 0, 'ab', 'auto-a3ab1730c3efd6a9f3047a18db7a7394', NULL, '4ff3e22665259e4977cc76b05710cc561b6516e97277dd75abda9b5eac54d4b5', '{"asked":[3000000000000,3000000000000000,0]}', '0.1.0', 'bdacd23f471fcb6355b67f698fe9a5e88835e1a7bc9023b68c24f09d654b4f8d', 'c6eb11808365beff2e954e898e6fe0aa0eeff58065764ddbb8c8cf7a9bb6c0a6');
INSERT INTO discreet.events VALUES ('visits', 13, 1, 'CAPPED', '2026-11-15T10:17:55.084071+00:00', 2, NULL, NULL, 0, 0, 0, NULL, NULL, NULL, NULL, '{"new":{"budget":{"ceiling":"10/1","delta":"1/1000000000","epsilon":"12/1","reason":"a second study","reserved_delta":"1/10000000000"},"caps":[12000000000000,1496375267009015,100000000]},"old":{"budget":{"ceiling":"10/1","delta":"1/1000000000","epsilon":"2/1","reason":null,"reserved_delta":"1/10000000000"},"caps":[2000000000000,55817450132233,100000000]},"reason":"the board''s decision","spent":[null,12300000000000,10000000]}', '0.1.0', 'c6eb11808365beff2e954e898e6fe0aa0eeff58065764ddbb8c8cf7a9bb6c0a6', '8a2d521f6e554e860ca0d6ddaeaba216b4e4819c40d5d69549f4701b00dd1802');
INSERT INTO discreet.events VALUES ('people', 3, 1, 'RESERVED', '2026-11-15T10:17:55.097053+00:00', 1, 'ann', '{"epsilon":"333/1000","kind":"PureEvent"}', 333000000000, 55444500000000, 0, 'ab', 'auto-936ec6e9c856c6e523ebf7a8d56d7dea', NULL, '4ff3e22665259e4977cc76b05710cc561b6516e97277dd75abda9b5eac54d4b5', NULL, '0.1.0', '418b2dad358e2c9bb6275c485515b7226b12bc661da1d3913efc0186dc952cb9', '40c9ae0a3d12e7b4a84b5abc9fd1666c998065724f011713038fbed66c679316');
INSERT INTO discreet.events VALUES ('visits', 14, 1, 'LIMITED', '2026-11-15T10:17:55.103058+00:00', 2, NULL, NULL, 0, 0, 0, NULL, NULL, NULL, NULL, '{"analyst":"bob","cap_delta":0,"cap_epsilon":1000000000000,"cap_rho":14973057673588,"most_failures":7,"quota":"{\"ceiling\":\"10/1\",\"delta\":\"1/1000000000\",\"epsilon\":\"1/1\",\"reason\":null,\"reserved_delta\":\"0/1\"}","reason":"a small study"}', '0.1.0', '8a2d521f6e554e860ca0d6ddaeaba216b4e4819c40d5d69549f4701b00dd1802', '44a248c1f300fb19c073a64d7c1a31412a66e374c0818464f8aef2b875d6f77a');
INSERT INTO discreet.events VALUES ('visits', 15, 1, 'LIMITED', '2026-11-15T10:17:55.110274+00:00', 2, NULL, NULL, 0, 0, 0, NULL, NULL, NULL, NULL, '{"analyst":"*","cap_delta":100000000,"cap_epsilon":12000000000000,"cap_rho":1496375267009015,"most_failures":100,"quota":"{\"ceiling\":\"10/1\",\"delta\":\"1/1000000000\",\"epsilon\":\"12/1\",\"reason\":\"all\",\"reserved_delta\":\"1/10000000000\"}","reason":"fair"}', '0.1.0', '44a248c1f300fb19c073a64d7c1a31412a66e374c0818464f8aef2b875d6f77a', '770927f13837ed5311b48eb895091876ed0378cfa7fb42d6793a5364bdb14037');
INSERT INTO discreet.events VALUES ('people', 4, 1, 'RENAMED', '2026-11-15T10:17:55.115607+00:00', 1, NULL, NULL, 0, 0, 0, NULL, NULL, NULL, NULL, '{"alias":"persons","reason":"plain words"}', '0.1.0', '40c9ae0a3d12e7b4a84b5abc9fd1666c998065724f011713038fbed66c679316', '983a9278de3ce5263b272224ac3d7451a11c641065a3144bafc1542927dcb49b');
INSERT INTO discreet.events VALUES ('stays 1', 1, 1, 'REGISTERED', '2026-11-15T10:17:55.122586+00:00', 1, NULL, NULL, 0, 0, 0, NULL, NULL, NULL, 'b846e26c9c7a911fd04063219f51fd5f8fbc19a12319c17b36a551746fdf9ac3', '{"budget":{"ceiling":"10/1","delta":"0/1","epsilon":"1/1","reason":null,"reserved_delta":"0/1"},"caps":[1000000000000,0,0],"hash_key":"26da0cb6bd445fbf8141f6776c3528ca0d9657f244ce7725a6c4448f2b96c637","ledger":"fd6d655290904c76955cf11943ddcc39","neighbours":"add_remove","slice":{"part_of":"stays","slice_end":"2026-02-01T00:00:00.000000","slice_start":"2026-01-01T00:00:00.000000"},"unit":"one patient_id"}', '0.1.0', '0000000000000000000000000000000000000000000000000000000000000000', '035e6ccd68e2c9fc6f9c746a6d2a54a1bd64a65c53aed289bc1865f747dc4100');
INSERT INTO discreet.events VALUES ('stays 2', 1, 1, 'REGISTERED', '2026-11-15T10:17:55.130700+00:00', 1, NULL, NULL, 0, 0, 0, NULL, NULL, NULL, '369316bca04f903d191f666b10a39de3165e56ff810b7195e4580dd86c906bd9', '{"budget":{"ceiling":"10/1","delta":"0/1","epsilon":"1/1","reason":null,"reserved_delta":"0/1"},"caps":[1000000000000,0,0],"hash_key":"4e62036bf95cac32f5735c58c1cc8988dafabcf3d57a7621d80cb6703d66f66a","ledger":"fd6d655290904c76955cf11943ddcc39","neighbours":"add_remove","slice":{"part_of":"stays","slice_end":"2026-03-01T00:00:00.000000","slice_start":"2026-02-01T00:00:00.000000"},"unit":"one patient_id"}', '0.1.0', '0000000000000000000000000000000000000000000000000000000000000000', 'b0645593b54ca7c3547ec1ce0b4546b13cb802eb27da46fff0b3a3ac28b8a5f6');
INSERT INTO discreet.events VALUES ('stays 1', 2, 1, 'RESERVED', '2026-11-15T10:17:55.149304+00:00', 1, 'ann', '{"epsilon":"1/10","kind":"PureEvent"}', 100000000000, 5000000000000, 0, 'aa', 'r-2', NULL, '44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a', '{"together":["stays 1","stays 2"]}', '0.1.0', '035e6ccd68e2c9fc6f9c746a6d2a54a1bd64a65c53aed289bc1865f747dc4100', '942823f150c24e006b05237a00ca27379bb0228456a931294dee475ae8c12778');
INSERT INTO discreet.events VALUES ('stays 2', 2, 1, 'RESERVED', '2026-11-15T10:17:55.149437+00:00', 1, 'ann', '{"epsilon":"1/10","kind":"PureEvent"}', 100000000000, 5000000000000, 0, 'aa', 'r-2', NULL, '44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a', '{"together":["stays 1","stays 2"]}', '0.1.0', 'b0645593b54ca7c3547ec1ce0b4546b13cb802eb27da46fff0b3a3ac28b8a5f6', 'e6971f6beef5b6e1ca4939c529ea186a2436f0cd13b311e767b32c1a579b9125');
INSERT INTO discreet.events VALUES ('stays 1', 3, 1, 'ANSWERED', '2026-11-15T10:17:55.163894+00:00', 1, 'ann', NULL, 0, 0, 0, 'aa', NULL, 2, '0c24734d7bf5954f08e5bfe4820b0b2f63da8d658df37c9d50080485e034b721', NULL, '0.1.0', '942823f150c24e006b05237a00ca27379bb0228456a931294dee475ae8c12778', '20e975d04eb5f73273b9fbb52b932ee7881df249f172a7bbb49649ca6b3d2221');
INSERT INTO discreet.events VALUES ('stays 2', 3, 1, 'ANSWERED', '2026-11-15T10:17:55.163986+00:00', 1, 'ann', NULL, 0, 0, 0, 'aa', NULL, 2, '0c24734d7bf5954f08e5bfe4820b0b2f63da8d658df37c9d50080485e034b721', NULL, '0.1.0', 'e6971f6beef5b6e1ca4939c529ea186a2436f0cd13b311e767b32c1a579b9125', 'afa4e8243260da8daf2a538cd57bebaf3e03b63e7dfe17580b2416f8bae53388');
INSERT INTO discreet.events VALUES ('stays 1', 4, 1, 'RESERVED', '2026-11-15T10:17:55.183610+00:00', 1, 'ann', '{"epsilon":"1/10","kind":"PureEvent"}', 100000000000, 5000000000000, 0, 'ab', 'auto-2c156782c5b9f3d1991853b966e378ff', NULL, '4ff3e22665259e4977cc76b05710cc561b6516e97277dd75abda9b5eac54d4b5', NULL, '0.1.0', '20e975d04eb5f73273b9fbb52b932ee7881df249f172a7bbb49649ca6b3d2221', '1db142ce7ca00dd1e9a372fb1635d2ac4a6ad0be81909468e25b7ad0c2efbeb1');
INSERT INTO discreet.events VALUES ('stays 1', 5, 1, 'RESUMED', '2026-11-15T10:17:55.648221+00:00', 1, 'ann', NULL, 0, 0, 0, 'ab', NULL, 4, NULL, NULL, '0.1.0', '1db142ce7ca00dd1e9a372fb1635d2ac4a6ad0be81909468e25b7ad0c2efbeb1', 'e8cd8cea9015c85ee68aaf8bdf2cf0aff83ce4ddeaf475e45127cf47c3682dbf');
INSERT INTO discreet.events VALUES ('stays 1', 6, 1, 'ANSWERED', '2026-11-15T10:17:55.652704+00:00', 1, 'ann', NULL, 0, 0, 0, 'ab', NULL, 4, '0343ba7f6d63784231e94e9ce00815fd019f966d9848d089b9de9c9bb97d7234', NULL, '0.1.0', 'e8cd8cea9015c85ee68aaf8bdf2cf0aff83ce4ddeaf475e45127cf47c3682dbf', '6d3edcd746f2e22a9318e0c0385b99f5e0734c45fdb849ce1ca12c407101ab26');
INSERT INTO discreet.events VALUES ('stays 2', 4, 1, 'RESERVED', '2026-11-15T10:17:55.656256+00:00', 1, 'ann', '{"epsilon":"1/10","kind":"PureEvent"}', 100000000000, 5000000000000, 0, 'bb', 'auto-45a7862180d2afe013c015b863ee8e4b', NULL, '4ff3e22665259e4977cc76b05710cc561b6516e97277dd75abda9b5eac54d4b5', NULL, '0.1.0', 'afa4e8243260da8daf2a538cd57bebaf3e03b63e7dfe17580b2416f8bae53388', 'adc8e2e5d002a846516bacdd7e630bf6a965f833dd4bdc3638f9f60dadd55962');
INSERT INTO discreet.events VALUES ('visits', 16, 1, 'FORFEITED', '2026-11-15T10:17:56.117021+00:00', 1, 'Ann Müller', NULL, 0, 0, 0, 'ab', NULL, 11, NULL, '{"code":"lease_expired"}', '0.1.0', '770927f13837ed5311b48eb895091876ed0378cfa7fb42d6793a5364bdb14037', '48648d97a82e3691d915b0392b7c9ac07b8faa21d046bec0db7425478a2b331f');
INSERT INTO discreet.events VALUES ('people', 5, 1, 'FORFEITED', '2026-11-15T10:17:56.126457+00:00', 1, 'ann', NULL, 0, 0, 0, 'ab', NULL, 3, NULL, '{"code":"lease_expired"}', '0.1.0', '983a9278de3ce5263b272224ac3d7451a11c641065a3144bafc1542927dcb49b', '2f7a48b64dd15c63b2bac6ff4fd513437d8673c9dcbd6ed390124eae29c81838');
INSERT INTO discreet.events VALUES ('stays 2', 5, 1, 'FORFEITED', '2026-11-15T10:17:56.131852+00:00', 1, 'ann', NULL, 0, 0, 0, 'bb', NULL, 4, NULL, '{"code":"lease_expired"}', '0.1.0', 'adc8e2e5d002a846516bacdd7e630bf6a965f833dd4bdc3638f9f60dadd55962', '97fe08ce0b2bb9fd64821532623e99ee3bba019d61076b6568592903eeaaf1a7');
INSERT INTO discreet.events VALUES ('stays 1', 7, 1, 'RESERVED', '2026-11-15T10:17:56.138079+00:00', 1, 'ann', '{"epsilon":"1/10","kind":"PureEvent"}', 100000000000, 5000000000000, 0, 'dd', 'auto-219f5d13bdb444e83ba9fbbe0b93fd6f', NULL, '4ff3e22665259e4977cc76b05710cc561b6516e97277dd75abda9b5eac54d4b5', NULL, '0.1.0', '6d3edcd746f2e22a9318e0c0385b99f5e0734c45fdb849ce1ca12c407101ab26', '137766aeff6a27f52e98176868f4136da094e28d26d51dc6e86fc8a1f981ae2e');
INSERT INTO discreet.ledger VALUES ('fd6d655290904c76955cf11943ddcc39');
INSERT INTO discreet.reservations VALUES ('visits', 2, 'ann', 'r-1', 'ab', '{"plan":"count"}', 'ANSWERED', 1, 1794737875314);
INSERT INTO discreet.reservations VALUES ('visits', 4, 'ann', 'auto-a066e6f97eb9f7197a3f66ad5a6f0419', 'cd', '{"plan":"count"}', 'ANSWERED', 1, 1794737875330);
INSERT INTO discreet.reservations VALUES ('visits', 6, 'ann', 'auto-4a4bfbe6971182d7bea4035408985bac', 'ef', '{"plan":"count"}', 'ANSWERED', 1, 1794737875341);
INSERT INTO discreet.reservations VALUES ('visits', 9, 'bob', 'auto-c4a694a7df467cf123557a4152968f98', 'ab', '{"plan":"count"}', 'FORFEITED', 1, 1794737875359);
INSERT INTO discreet.reservations VALUES ('stays 1', 2, 'ann', 'r-2', 'aa', '{}', 'ANSWERED', 1, 1794737875453);
INSERT INTO discreet.reservations VALUES ('stays 2', 2, 'ann', 'r-2', 'aa', '{}', 'ANSWERED', 1, 1794737875453);
INSERT INTO discreet.reservations VALUES ('stays 1', 4, 'ann', 'auto-2c156782c5b9f3d1991853b966e378ff', 'ab', '{"plan":"count"}', 'ANSWERED', 2, 1794737875950);
INSERT INTO discreet.reservations VALUES ('visits', 11, 'Ann Müller', 'auto-cd54e347bad9b2ea9011cfb84dadcdf0', 'ab', '{"plan":"count"}', 'FORFEITED', 1, 1794737875372);
INSERT INTO discreet.reservations VALUES ('people', 3, 'ann', 'auto-936ec6e9c856c6e523ebf7a8d56d7dea', 'ab', '{"plan":"count"}', 'FORFEITED', 1, 1794737875398);
INSERT INTO discreet.reservations VALUES ('stays 2', 4, 'ann', 'auto-45a7862180d2afe013c015b863ee8e4b', 'bb', '{"plan":"count"}', 'FORFEITED', 1, 1794737875957);
INSERT INTO discreet.reservations VALUES ('stays 1', 7, 'ann', 'auto-219f5d13bdb444e83ba9fbbe0b93fd6f', 'dd', '{"plan":"count"}', 'RESERVED', 1, 1794737876439);
INSERT INTO discreet.schema_versions VALUES (1, '2026-11-15T10:17:54.841177+00:00', '0.1.0');
INSERT INTO discreet.schema_versions VALUES (2, '2026-11-15T10:17:54.845437+00:00', '0.1.0');
INSERT INTO discreet.versions VALUES ('visits', 1, 'visits.csv', '{"columns":{"ward":"text"}}', 50000, 1);
INSERT INTO discreet.versions VALUES ('people', 1, 'memory', '{}', NULL, 2);
INSERT INTO discreet.versions VALUES ('visits', 2, 'visits-2.csv', '{"columns":{"ward":"text"}}', 50000, 8);
INSERT INTO discreet.versions VALUES ('stays 1', 1, 'stays-1.csv', '{"columns":{"ward":"text"}}', NULL, 1);
INSERT INTO discreet.versions VALUES ('stays 2', 1, 'stays-2.csv', '{"columns":{"ward":"text"}}', NULL, 1);
ALTER TABLE ONLY discreet.aliases
    ADD CONSTRAINT aliases_pkey PRIMARY KEY (alias);
ALTER TABLE ONLY discreet.analysts
    ADD CONSTRAINT analysts_pkey PRIMARY KEY (dataset, analyst);
ALTER TABLE ONLY discreet.answers
    ADD CONSTRAINT answers_pkey PRIMARY KEY (dataset, reservation);
ALTER TABLE ONLY discreet.datasets
    ADD CONSTRAINT datasets_pkey PRIMARY KEY (name);
ALTER TABLE ONLY discreet.events
    ADD CONSTRAINT events_pkey PRIMARY KEY (dataset, sequence);
ALTER TABLE ONLY discreet.halts
    ADD CONSTRAINT halts_pkey PRIMARY KEY (id);
ALTER TABLE ONLY discreet.ledger
    ADD CONSTRAINT ledger_pkey PRIMARY KEY (id);
ALTER TABLE ONLY discreet.reservations
    ADD CONSTRAINT reservations_pkey PRIMARY KEY (dataset, sequence);
ALTER TABLE ONLY discreet.schema_versions
    ADD CONSTRAINT schema_versions_pkey PRIMARY KEY (version);
ALTER TABLE ONLY discreet.versions
    ADD CONSTRAINT versions_pkey PRIMARY KEY (dataset, version);
CREATE INDEX asked_before ON discreet.reservations USING btree (dataset, question, state, sequence);
CREATE UNIQUE INDEX one_charge ON discreet.reservations USING btree (dataset, analyst, request) WHERE (request IS NOT NULL);
CREATE UNIQUE INDEX one_outcome ON discreet.events USING btree (dataset, reservation) WHERE (kind = ANY (ARRAY['ANSWERED'::text, 'FORFEITED'::text]));
CREATE INDEX standing ON discreet.halts USING btree (dataset) WHERE (cleared IS NULL);
CREATE TRIGGER aliases_stay BEFORE DELETE OR TRUNCATE ON discreet.aliases FOR EACH STATEMENT EXECUTE FUNCTION discreet.never();
CREATE TRIGGER aliases_written_once BEFORE UPDATE ON discreet.aliases FOR EACH STATEMENT EXECUTE FUNCTION discreet.never();
CREATE TRIGGER analysts_stay BEFORE DELETE OR TRUNCATE ON discreet.analysts FOR EACH STATEMENT EXECUTE FUNCTION discreet.never();
CREATE TRIGGER answer_rules BEFORE INSERT ON discreet.answers FOR EACH ROW EXECUTE FUNCTION discreet.guard_answer();
CREATE TRIGGER answers_stay BEFORE DELETE OR TRUNCATE ON discreet.answers FOR EACH STATEMENT EXECUTE FUNCTION discreet.never();
CREATE TRIGGER answers_written_once BEFORE UPDATE ON discreet.answers FOR EACH STATEMENT EXECUTE FUNCTION discreet.never();
CREATE TRIGGER charge_rules BEFORE INSERT ON discreet.reservations FOR EACH ROW EXECUTE FUNCTION discreet.guard_charge();
CREATE TRIGGER dataset_rules BEFORE UPDATE ON discreet.datasets FOR EACH ROW EXECUTE FUNCTION discreet.guard_dataset();
CREATE TRIGGER datasets_stay BEFORE DELETE OR TRUNCATE ON discreet.datasets FOR EACH STATEMENT EXECUTE FUNCTION discreet.never();
CREATE TRIGGER event_rules BEFORE INSERT ON discreet.events FOR EACH ROW EXECUTE FUNCTION discreet.guard_event();
CREATE TRIGGER events_stay BEFORE DELETE OR TRUNCATE ON discreet.events FOR EACH STATEMENT EXECUTE FUNCTION discreet.never();
CREATE TRIGGER events_written_once BEFORE UPDATE ON discreet.events FOR EACH STATEMENT EXECUTE FUNCTION discreet.never();
CREATE TRIGGER halt_rules BEFORE UPDATE ON discreet.halts FOR EACH ROW EXECUTE FUNCTION discreet.guard_halt();
CREATE TRIGGER halts_stay BEFORE DELETE OR TRUNCATE ON discreet.halts FOR EACH STATEMENT EXECUTE FUNCTION discreet.never();
CREATE TRIGGER ledger_stays BEFORE DELETE OR TRUNCATE ON discreet.ledger FOR EACH STATEMENT EXECUTE FUNCTION discreet.never();
CREATE TRIGGER ledger_written_once BEFORE UPDATE ON discreet.ledger FOR EACH STATEMENT EXECUTE FUNCTION discreet.never();
CREATE TRIGGER reservation_rules BEFORE UPDATE ON discreet.reservations FOR EACH ROW EXECUTE FUNCTION discreet.guard_reservation();
CREATE TRIGGER reservations_stay BEFORE DELETE OR TRUNCATE ON discreet.reservations FOR EACH STATEMENT EXECUTE FUNCTION discreet.never();
CREATE TRIGGER schema_versions_stay BEFORE DELETE OR TRUNCATE ON discreet.schema_versions FOR EACH STATEMENT EXECUTE FUNCTION discreet.never();
CREATE TRIGGER share_rules BEFORE UPDATE ON discreet.analysts FOR EACH ROW EXECUTE FUNCTION discreet.guard_share();
CREATE TRIGGER version_rules BEFORE UPDATE ON discreet.versions FOR EACH ROW EXECUTE FUNCTION discreet.guard_version();
CREATE TRIGGER versions_stay BEFORE DELETE OR TRUNCATE ON discreet.versions FOR EACH STATEMENT EXECUTE FUNCTION discreet.never();
CREATE TRIGGER versions_written_once BEFORE UPDATE ON discreet.schema_versions FOR EACH STATEMENT EXECUTE FUNCTION discreet.never();
ALTER TABLE ONLY discreet.aliases
    ADD CONSTRAINT aliases_dataset_fkey FOREIGN KEY (dataset) REFERENCES discreet.datasets(name);
ALTER TABLE ONLY discreet.analysts
    ADD CONSTRAINT analysts_dataset_fkey FOREIGN KEY (dataset) REFERENCES discreet.datasets(name);
ALTER TABLE ONLY discreet.versions
    ADD CONSTRAINT versions_dataset_fkey FOREIGN KEY (dataset) REFERENCES discreet.datasets(name);
GRANT USAGE ON SCHEMA discreet TO ledger_service;
GRANT SELECT,INSERT ON TABLE discreet.aliases TO ledger_service;
GRANT SELECT,INSERT,UPDATE ON TABLE discreet.analysts TO ledger_service;
GRANT SELECT,INSERT ON TABLE discreet.answers TO ledger_service;
GRANT SELECT,INSERT,UPDATE ON TABLE discreet.datasets TO ledger_service;
GRANT SELECT,INSERT ON TABLE discreet.events TO ledger_service;
GRANT SELECT,INSERT ON TABLE discreet.halts TO ledger_service;
GRANT UPDATE(cleared) ON TABLE discreet.halts TO ledger_service;
GRANT SELECT ON TABLE discreet.ledger TO ledger_service;
GRANT SELECT,INSERT ON TABLE discreet.reservations TO ledger_service;
GRANT UPDATE(state) ON TABLE discreet.reservations TO ledger_service;
GRANT UPDATE(attempt) ON TABLE discreet.reservations TO ledger_service;
GRANT UPDATE(lease) ON TABLE discreet.reservations TO ledger_service;
GRANT SELECT ON TABLE discreet.schema_versions TO ledger_service;
GRANT SELECT,INSERT ON TABLE discreet.versions TO ledger_service;
GRANT UPDATE(source) ON TABLE discreet.versions TO ledger_service;
GRANT UPDATE(facts) ON TABLE discreet.versions TO ledger_service;
GRANT UPDATE(population) ON TABLE discreet.versions TO ledger_service;
GRANT UPDATE(registered) ON TABLE discreet.versions TO ledger_service;
