SET check_function_bodies = false;
CREATE SCHEMA discreet;
ALTER SCHEMA discreet OWNER TO data_owner;
CREATE FUNCTION discreet.answer(given_name text, given_reservation bigint, given_charge jsonb, given_attempt integer, given_version integer, given_analyst text, given_question text, given_digest text, given_payload bytea, given_time text, given_library text, given_format integer, least_sequence bigint, before text, between_them text, after_them text) RETURNS TABLE(previous_head text, new_head text, new_sequence bigint, total_epsilon bigint, total_rho bigint, total_delta bigint, promised_epsilon text, promised_delta text, promised_reserve text, promised_ceiling text, promised_reason text, stored bytea)
    LANGUAGE plpgsql
    AS $$
DECLARE
  d discreet.datasets%ROWTYPE;
BEGIN
  SELECT * INTO d FROM discreet.datasets AS known WHERE known.name = given_name FOR UPDATE;
  IF NOT FOUND OR d.sequence < least_sequence
    OR current_setting('fsync') <> 'on' OR current_setting('full_page_writes') <> 'on'
    OR current_setting('synchronous_commit') = 'off'
    OR NOT EXISTS (
      SELECT 1 FROM discreet.reservations AS r
      WHERE r.dataset = given_name AND r.sequence = given_reservation AND r.state = 'RESERVED'
        AND r.attempt = given_attempt)
    OR NOT EXISTS (
      SELECT 1 FROM discreet.events AS e
      WHERE e.dataset = given_name AND e.sequence = given_reservation AND to_jsonb(e) = given_charge)
  THEN
    RETURN;
  END IF;
  previous_head := d.head;
  d.sequence := d.sequence + 1;
  d.head := encode(sha256(convert_to(before || previous_head || between_them || d.sequence || after_them, 'UTF8')), 'hex');
  UPDATE discreet.datasets AS known SET sequence = d.sequence, head = d.head WHERE known.name = given_name;
  INSERT INTO discreet.events (dataset, sequence, format, kind, time, version, analyst, cost_epsilon, cost_rho,
    cost_delta, question, reservation, digest, library, previous, hash)
  VALUES (given_name, d.sequence, given_format, 'ANSWERED', given_time, given_version, given_analyst, 0, 0, 0,
    given_question, given_reservation, given_digest, given_library, previous_head, d.head);
  UPDATE discreet.reservations AS r SET state = 'ANSWERED'
  WHERE r.dataset = given_name AND r.sequence = given_reservation;
  INSERT INTO discreet.answers AS a (dataset, reservation, payload)
  VALUES (given_name, given_reservation, given_payload) RETURNING a.payload INTO stored;
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
ALTER FUNCTION discreet.answer(given_name text, given_reservation bigint, given_charge jsonb, given_attempt integer, given_version integer, given_analyst text, given_question text, given_digest text, given_payload bytea, given_time text, given_library text, given_format integer, least_sequence bigint, before text, between_them text, after_them text) OWNER TO data_owner;
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
INSERT INTO discreet.datasets VALUES ('visits', 'one patient_id', 'add_remove', '2a8c75545bda9ffb', NULL, NULL, NULL, '12/1', '1/1000000000', '1/10000000000', '10/1', 'a second study', 12000000000000, 1496375267009015, 100000000, NULL, 12300000000000, 10000000, NULL, 12300000000000, 10000000, 16, '62e888930cd550c32771d050d52c6d3b60f40792619aabc1857cb60a00310e53');
INSERT INTO discreet.datasets VALUES ('people', 'one row (protects rows, not people)', 'replace_one', '67ba96a833a295f3', NULL, NULL, NULL, '1/3', '0/1', '0/1', '10/1', NULL, 333333333333, 0, 0, 333000000000, 55444500000000, 0, 0, 0, 0, 5, '709e561f66adb40e701ca07c1c9cfbfb1e43a856e0e18d2384cdff6db62408a1');
INSERT INTO discreet.datasets VALUES ('stays 2', 'one patient_id', 'add_remove', '5f442462fb9284f5', 'stays', '2026-02-01T00:00:00.000000', '2026-03-01T00:00:00.000000', '1/1', '0/1', '0/1', '10/1', NULL, 1000000000000, 0, 0, 200000000000, 10000000000000, 0, 0, 0, 0, 5, '0e324297e5c3d9a789a0b48d13d1035ba30852a524dc1a96a5571d786eac8e1b');
INSERT INTO discreet.datasets VALUES ('stays 1', 'one patient_id', 'add_remove', '5520a05b6d3d26f4', 'stays', '2026-01-01T00:00:00.000000', '2026-02-01T00:00:00.000000', '1/1', '0/1', '0/1', '10/1', NULL, 1000000000000, 0, 0, 300000000000, 15000000000000, 0, 0, 0, 0, 7, 'd859035d20a8a9e4f07090ce4f489e3b84b57581860bde9d91d5b4adcce83b7a');
INSERT INTO discreet.events VALUES ('visits', 1, 1, 'REGISTERED', '2026-11-15T12:06:38.836922+00:00', 1, NULL, NULL, 0, 0, 0, NULL, NULL, NULL, '1a75888ad910062dcc6a5772640a806a1f36ee8b3a769c2d7a4b58c789cfc966', '{"budget":{"ceiling":"10/1","delta":"1/1000000000","epsilon":"2/1","reason":null,"reserved_delta":"1/10000000000"},"caps":[2000000000000,55817450132233,100000000],"hash_key":"cdf2788eff4c1c176f38624a130ef7b3fd157c070301fbaf357781e951da911c","ledger":"93d2c93e132e4ae180276ce30fbafe93","neighbours":"add_remove","slice":{"part_of":null,"slice_end":null,"slice_start":null},"unit":"one patient_id"}', '0.1.0', '0000000000000000000000000000000000000000000000000000000000000000', '0e8db58fb2b1c5d1f1742643e97a6994228fe0ee38b58c35f075d6a916fe4bf0');
INSERT INTO discreet.events VALUES ('people', 1, 1, 'REGISTERED', '2026-11-15T12:06:38.905513+00:00', 1, NULL, NULL, 0, 0, 0, NULL, NULL, NULL, '4d1c802f37afbbe4461b77a779839047da00bf156022dd086b313769b53f0776', '{"budget":{"ceiling":"10/1","delta":"0/1","epsilon":"1/1","reason":null,"reserved_delta":"0/1"},"caps":[1000000000000,0,0],"hash_key":"688578dc1b5e4386cd90f706086bc71944bc8b8b076972de2acecad1ae74216a","ledger":"93d2c93e132e4ae180276ce30fbafe93","neighbours":"add_remove","slice":{"part_of":null,"slice_end":null,"slice_start":null},"unit":"one row (protects rows, not people)"}', '0.1.0', '0000000000000000000000000000000000000000000000000000000000000000', 'c8086de29b1fa51502e8d1aaac15abf937dc9f91b513c571f044e531d656ef75');
INSERT INTO discreet.events VALUES ('people', 2, 1, 'REGISTERED', '2026-11-15T12:06:39.214076+00:00', 1, NULL, NULL, 0, 0, 0, NULL, NULL, NULL, '4d1c802f37afbbe4461b77a779839047da00bf156022dd086b313769b53f0776', '{"new":{"budget":{"ceiling":"10/1","delta":"0/1","epsilon":"1/3","reason":null,"reserved_delta":"0/1"},"caps":[333333333333,0,0],"dataset":"people","facts":"{}","hash_key":"688578dc1b5e4386cd90f706086bc71944bc8b8b076972de2acecad1ae74216a","neighbours":"replace_one","population":null,"slice":{"part_of":null,"slice_end":null,"slice_start":null},"source":"memory","unit":"one row (protects rows, not people)","version":1},"old":{"budget":{"ceiling":"10/1","delta":"0/1","epsilon":"1/1","reason":null,"reserved_delta":"0/1"},"caps":[1000000000000,0,0],"dataset":"people","facts":"{}","hash_key":"688578dc1b5e4386cd90f706086bc71944bc8b8b076972de2acecad1ae74216a","neighbours":"add_remove","population":null,"slice":{"part_of":null,"slice_end":null,"slice_start":null},"source":"memory","unit":"one row (protects rows, not people)","version":1}}', '0.1.0', 'c8086de29b1fa51502e8d1aaac15abf937dc9f91b513c571f044e531d656ef75', '06c00becafc05c2bdadcdb07af526025f7472025d45090c5d5d1e96309b2ed4e');
INSERT INTO discreet.events VALUES ('visits', 2, 1, 'RESERVED', '2026-11-15T12:06:39.370722+00:00', 1, 'ann', '{"epsilon":"1/10","kind":"PureEvent"}', 100000000000, 5000000000000, 0, 'ab', 'r-1', NULL, '4ff3e22665259e4977cc76b05710cc561b6516e97277dd75abda9b5eac54d4b5', NULL, '0.1.0', '0e8db58fb2b1c5d1f1742643e97a6994228fe0ee38b58c35f075d6a916fe4bf0', '5285c571302d3a5757c35eae9d6fcc9c6185835227906038bcab155c734a49fb');
INSERT INTO discreet.events VALUES ('visits', 3, 1, 'ANSWERED', '2026-11-15T12:06:39.438842+00:00', 1, 'ann', NULL, 0, 0, 0, 'ab', NULL, 2, 'adff6dac415bc9e028c14de440d46c5cfad3ff5f9f92f5ca03a8a45bb53404ab', NULL, '0.1.0', '5285c571302d3a5757c35eae9d6fcc9c6185835227906038bcab155c734a49fb', 'c3d41003df1f75481770eef729ae1ce2d503c662ae0c1f086d4dced55b6ce155');
INSERT INTO discreet.events VALUES ('visits', 4, 1, 'RESERVED', '2026-11-15T12:06:39.479248+00:00', 1, 'ann', '{"dimension":1,"kind":"DiscreteGaussianEvent","squared_sensitivity":"1/1","variance":"400/1"}', NULL, 1250000000000, 0, 'cd', 'auto-dda3f3bea62a196887722cd8b3a4b131', NULL, '4ff3e22665259e4977cc76b05710cc561b6516e97277dd75abda9b5eac54d4b5', NULL, '0.1.0', 'c3d41003df1f75481770eef729ae1ce2d503c662ae0c1f086d4dced55b6ce155', 'ae17ab194937d5493930d0aff95a805307bac21ffae29d63486f459224201b07');
INSERT INTO discreet.events VALUES ('visits', 5, 1, 'ANSWERED', '2026-11-15T12:06:39.514819+00:00', 1, 'ann', NULL, 0, 0, 0, 'cd', NULL, 4, 'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855', NULL, '0.1.0', 'ae17ab194937d5493930d0aff95a805307bac21ffae29d63486f459224201b07', '7cd080eb5f5755c99eb6bd3dfd7c789de755405d58e88a2bffb698e4a1a08eb9');
INSERT INTO discreet.events VALUES ('visits', 6, 1, 'RESERVED', '2026-11-15T12:06:39.555011+00:00', 1, 'ann', '{"delta":"1/100000000000","epsilon":"1/10","kind":"ApproximateEvent"}', 100000000000, 5000000000000, 10000000, 'ef', 'auto-79e9720b8e90994dbd8b6d7e0cf85579', NULL, '4ff3e22665259e4977cc76b05710cc561b6516e97277dd75abda9b5eac54d4b5', NULL, '0.1.0', '7cd080eb5f5755c99eb6bd3dfd7c789de755405d58e88a2bffb698e4a1a08eb9', '81608a3308f930f839e94bde0535c867a88efbc72342fea9175f8e9c815622c2');
INSERT INTO discreet.events VALUES ('visits', 7, 1, 'ANSWERED', '2026-11-15T12:06:39.577890+00:00', 1, 'ann', NULL, 0, 0, 0, 'ef', NULL, 6, '5feceb66ffc86f38d952786c6d696c79c2dbc239dd4e91b46729d73a27fb57e9', NULL, '0.1.0', '81608a3308f930f839e94bde0535c867a88efbc72342fea9175f8e9c815622c2', 'e431e655a3ee06d8b654626e275ba48bd6ac2d53e339364cdde128d56f3fa94c');
INSERT INTO discreet.events VALUES ('visits', 8, 1, 'VERSIONED', '2026-11-15T12:06:39.681978+00:00', 2, NULL, NULL, 0, 0, 0, NULL, NULL, NULL, '15c67519802ee1a866c3a9abc3b56d0a1fe480afde5199e46c86311d9cf3cc80', NULL, '0.1.0', 'e431e655a3ee06d8b654626e275ba48bd6ac2d53e339364cdde128d56f3fa94c', '394756380c290a7f3bee4c67b82315b76cd9b2ab77d8377f85c4dd3413548814');
INSERT INTO discreet.events VALUES ('visits', 9, 1, 'RESERVED', '2026-11-15T12:06:39.797437+00:00', 2, 'bob', '{"delta":"0/1","kind":"ConcentratedEvent","rho":"1/1000"}', NULL, 1000000000000, 0, 'ab', 'auto-a27e756d0d1f91f7cfb3fd87fe797145', NULL, '4ff3e22665259e4977cc76b05710cc561b6516e97277dd75abda9b5eac54d4b5', NULL, '0.1.0', '394756380c290a7f3bee4c67b82315b76cd9b2ab77d8377f85c4dd3413548814', '68ae840167fe99fdaf31a7d0d0cd95750880eadd21077ba8ac760750ab30d4c1');
INSERT INTO discreet.events VALUES ('visits', 10, 1, 'FORFEITED', '2026-11-15T12:06:39.830239+00:00', 2, 'bob', NULL, 0, 0, 0, 'ab', NULL, 9, NULL, '{"code":"timeout"}', '0.1.0', '68ae840167fe99fdaf31a7d0d0cd95750880eadd21077ba8ac760750ab30d4c1', '03f3ef51cd34de1ed43cf05a42b246976e47212b2ccba90013836334d1662a7e');
INSERT INTO discreet.events VALUES ('visits', 11, 1, 'RESERVED', '2026-11-15T12:06:39.938936+00:00', 1, 'Ann Müller', '{"kind":"DiscreteLaplaceEvent","scale":"100/1","sensitivity":"1/1"}', 10000000000, 50000000000, 0, 'ab', 'auto-a406d154751e58c5c346939f0c4d8d51', NULL, '4ff3e22665259e4977cc76b05710cc561b6516e97277dd75abda9b5eac54d4b5', NULL, '0.1.0', '03f3ef51cd34de1ed43cf05a42b246976e47212b2ccba90013836334d1662a7e', '80b930d78df16f766f7f1ece2f0b8e178b3978b781167993253af455f6084608');
INSERT INTO discreet.events VALUES ('visits', 12, 1, 'REJECTED', '2026-11-15T12:06:40.043543+00:00', 1, 'ann', '{"epsilon":"3/1","kind":"PureEvent"}', 0, 0, 0, 'ab', 'auto-a15646e3226b878fdb38c0abbac71ddf', NULL, '4ff3e22665259e4977cc76b05710cc561b6516e97277dd75abda9b5eac54d4b5', '{"asked":[3000000000000,3000000000000000,0]}', '0.1.0', '80b930d78df16f766f7f1ece2f0b8e178b3978b781167993253af455f6084608', 'cc39bd1141b44b3585105da7eb18dfc6a293fb791d69c22b806d5197c005d1ec');
INSERT INTO discreet.events VALUES ('visits', 13, 1, 'CAPPED', '2026-11-15T12:06:40.173932+00:00', 2, NULL, NULL, 0, 0, 0, NULL, NULL, NULL, NULL, '{"new":{"budget":{"ceiling":"10/1","delta":"1/1000000000","epsilon":"12/1","reason":"a second study","reserved_delta":"1/10000000000"},"caps":[12000000000000,1496375267009015,100000000]},"old":{"budget":{"ceiling":"10/1","delta":"1/1000000000","epsilon":"2/1","reason":null,"reserved_delta":"1/10000000000"},"caps":[2000000000000,55817450132233,100000000]},"reason":"the board''s decision","spent":[null,12300000000000,10000000]}', '0.1.0', 'cc39bd1141b44b3585105da7eb18dfc6a293fb791d69c22b806d5197c005d1ec', '1fbcfc585f65ddd44d1005bc6cd2e91c50af4a090dcb424dbadee3554fae2004');
INSERT INTO discreet.events VALUES ('people', 3, 1, 'RESERVED', '2026-11-15T12:06:40.241762+00:00', 1, 'ann', '{"epsilon":"333/1000","kind":"PureEvent"}', 333000000000, 55444500000000, 0, 'ab', 'auto-2f7ba60f94c42f4c2ff2a718da956e16', NULL, '4ff3e22665259e4977cc76b05710cc561b6516e97277dd75abda9b5eac54d4b5', NULL, '0.1.0', '06c00becafc05c2bdadcdb07af526025f7472025d45090c5d5d1e96309b2ed4e', '19a077865df2db47117914cd34a712db913925debc84207394a4c7d6945931e1');
INSERT INTO discreet.events VALUES ('visits', 14, 1, 'LIMITED', '2026-11-15T12:06:40.280378+00:00', 2, NULL, NULL, 0, 0, 0, NULL, NULL, NULL, NULL, '{"analyst":"bob","cap_delta":0,"cap_epsilon":1000000000000,"cap_rho":14973057673588,"most_failures":7,"quota":"{\"ceiling\":\"10/1\",\"delta\":\"1/1000000000\",\"epsilon\":\"1/1\",\"reason\":null,\"reserved_delta\":\"0/1\"}","reason":"a small study"}', '0.1.0', '1fbcfc585f65ddd44d1005bc6cd2e91c50af4a090dcb424dbadee3554fae2004', 'c893e7f86d579309e72875b3fa6ade01db2ee891eb3d0c326ce7eafbefba777b');
INSERT INTO discreet.events VALUES ('visits', 15, 1, 'LIMITED', '2026-11-15T12:06:40.296601+00:00', 2, NULL, NULL, 0, 0, 0, NULL, NULL, NULL, NULL, '{"analyst":"*","cap_delta":100000000,"cap_epsilon":12000000000000,"cap_rho":1496375267009015,"most_failures":100,"quota":"{\"ceiling\":\"10/1\",\"delta\":\"1/1000000000\",\"epsilon\":\"12/1\",\"reason\":\"all\",\"reserved_delta\":\"1/10000000000\"}","reason":"fair"}', '0.1.0', 'c893e7f86d579309e72875b3fa6ade01db2ee891eb3d0c326ce7eafbefba777b', '2977df4710754231c44b7a57350efc52bcbde5933ef26f49c167181c0ae8e344');
INSERT INTO discreet.events VALUES ('people', 4, 1, 'RENAMED', '2026-11-15T12:06:40.343311+00:00', 1, NULL, NULL, 0, 0, 0, NULL, NULL, NULL, NULL, '{"alias":"persons","reason":"plain words"}', '0.1.0', '19a077865df2db47117914cd34a712db913925debc84207394a4c7d6945931e1', 'a65c2ee9f0df101da699c277118825f086f9db2efbf59e5ad77b6d9568389a85');
INSERT INTO discreet.events VALUES ('stays 1', 1, 1, 'REGISTERED', '2026-11-15T12:06:40.469788+00:00', 1, NULL, NULL, 0, 0, 0, NULL, NULL, NULL, 'b846e26c9c7a911fd04063219f51fd5f8fbc19a12319c17b36a551746fdf9ac3', '{"budget":{"ceiling":"10/1","delta":"0/1","epsilon":"1/1","reason":null,"reserved_delta":"0/1"},"caps":[1000000000000,0,0],"hash_key":"db52922d4cc73d88be9b9d5ade5c2b8248f0b3d5905b9b42ba4cc8faa67d9b1e","ledger":"93d2c93e132e4ae180276ce30fbafe93","neighbours":"add_remove","slice":{"part_of":"stays","slice_end":"2026-02-01T00:00:00.000000","slice_start":"2026-01-01T00:00:00.000000"},"unit":"one patient_id"}', '0.1.0', '0000000000000000000000000000000000000000000000000000000000000000', '9972d529449df7b674f71728b2efe234f1adee16e771cbdec091c3b86b36b678');
INSERT INTO discreet.events VALUES ('stays 2', 1, 1, 'REGISTERED', '2026-11-15T12:06:40.544423+00:00', 1, NULL, NULL, 0, 0, 0, NULL, NULL, NULL, '369316bca04f903d191f666b10a39de3165e56ff810b7195e4580dd86c906bd9', '{"budget":{"ceiling":"10/1","delta":"0/1","epsilon":"1/1","reason":null,"reserved_delta":"0/1"},"caps":[1000000000000,0,0],"hash_key":"ddbd226e079265e5818562ccf6b259ad6b7ae37f210a904d1bcf6caf7f920c1a","ledger":"93d2c93e132e4ae180276ce30fbafe93","neighbours":"add_remove","slice":{"part_of":"stays","slice_end":"2026-03-01T00:00:00.000000","slice_start":"2026-02-01T00:00:00.000000"},"unit":"one patient_id"}', '0.1.0', '0000000000000000000000000000000000000000000000000000000000000000', 'ededbf406c7e1c22844be43b53b45294ccdb66c36d73372af44fe5765d37d3ad');
INSERT INTO discreet.events VALUES ('stays 1', 2, 1, 'RESERVED', '2026-11-15T12:06:40.612476+00:00', 1, 'ann', '{"epsilon":"1/10","kind":"PureEvent"}', 100000000000, 5000000000000, 0, 'aa', 'r-2', NULL, '44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a', '{"together":["stays 1","stays 2"]}', '0.1.0', '9972d529449df7b674f71728b2efe234f1adee16e771cbdec091c3b86b36b678', '1cd0530e032b9903982e865b68432d40ecec421763097d63e3947a65f7f21c3d');
INSERT INTO discreet.events VALUES ('stays 2', 2, 1, 'RESERVED', '2026-11-15T12:06:40.612618+00:00', 1, 'ann', '{"epsilon":"1/10","kind":"PureEvent"}', 100000000000, 5000000000000, 0, 'aa', 'r-2', NULL, '44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a', '{"together":["stays 1","stays 2"]}', '0.1.0', 'ededbf406c7e1c22844be43b53b45294ccdb66c36d73372af44fe5765d37d3ad', 'cbccda70578a53ad8193df73a843c283d05b6bcf37f8131d0443de0f05781713');
INSERT INTO discreet.events VALUES ('stays 1', 3, 1, 'ANSWERED', '2026-11-15T12:06:40.639803+00:00', 1, 'ann', NULL, 0, 0, 0, 'aa', NULL, 2, '0c24734d7bf5954f08e5bfe4820b0b2f63da8d658df37c9d50080485e034b721', NULL, '0.1.0', '1cd0530e032b9903982e865b68432d40ecec421763097d63e3947a65f7f21c3d', 'a6dcb5a0ff976d4d20aac422e301e632e545d12b284972d577f6a1286548e9f9');
INSERT INTO discreet.events VALUES ('stays 2', 3, 1, 'ANSWERED', '2026-11-15T12:06:40.639881+00:00', 1, 'ann', NULL, 0, 0, 0, 'aa', NULL, 2, '0c24734d7bf5954f08e5bfe4820b0b2f63da8d658df37c9d50080485e034b721', NULL, '0.1.0', 'cbccda70578a53ad8193df73a843c283d05b6bcf37f8131d0443de0f05781713', '813458f07218351be92d05e723e5673fb06d69502ab3e3cdc37f41025340ae49');
INSERT INTO discreet.events VALUES ('stays 1', 4, 1, 'RESERVED', '2026-11-15T12:06:40.650075+00:00', 1, 'ann', '{"epsilon":"1/10","kind":"PureEvent"}', 100000000000, 5000000000000, 0, 'ab', 'auto-198ed599b172ed8b18622c780d9adef7', NULL, '4ff3e22665259e4977cc76b05710cc561b6516e97277dd75abda9b5eac54d4b5', NULL, '0.1.0', 'a6dcb5a0ff976d4d20aac422e301e632e545d12b284972d577f6a1286548e9f9', 'bff56ad6280cb85c6dabfbe3391f01211a8f5f9a05cf73b3a575b136b6f5e6d9');
INSERT INTO discreet.events VALUES ('stays 1', 5, 1, 'RESUMED', '2026-11-15T12:06:41.223233+00:00', 1, 'ann', NULL, 0, 0, 0, 'ab', NULL, 4, NULL, NULL, '0.1.0', 'bff56ad6280cb85c6dabfbe3391f01211a8f5f9a05cf73b3a575b136b6f5e6d9', '6fc4b90ab0cab0e5ef0b2ff65827b8086a786ee571e761a5900a6dbce1fdef07');
INSERT INTO discreet.events VALUES ('stays 1', 6, 1, 'ANSWERED', '2026-11-15T12:06:41.268846+00:00', 1, 'ann', NULL, 0, 0, 0, 'ab', NULL, 4, '0343ba7f6d63784231e94e9ce00815fd019f966d9848d089b9de9c9bb97d7234', NULL, '0.1.0', '6fc4b90ab0cab0e5ef0b2ff65827b8086a786ee571e761a5900a6dbce1fdef07', '09530ebe2cf2cd1e30dd2feedaf2b5f29c19f21957328f04a014aebdb72fb978');
INSERT INTO discreet.events VALUES ('stays 2', 4, 1, 'RESERVED', '2026-11-15T12:06:41.280938+00:00', 1, 'ann', '{"epsilon":"1/10","kind":"PureEvent"}', 100000000000, 5000000000000, 0, 'bb', 'auto-c84a38ae463524327d6797fe2ee10b29', NULL, '4ff3e22665259e4977cc76b05710cc561b6516e97277dd75abda9b5eac54d4b5', NULL, '0.1.0', '813458f07218351be92d05e723e5673fb06d69502ab3e3cdc37f41025340ae49', '671a908fc0e5fb38f18a143ad290883137dca98d5bbc2df58d7bf4fef95950ba');
INSERT INTO discreet.events VALUES ('visits', 16, 1, 'FORFEITED', '2026-11-15T12:06:41.859629+00:00', 1, 'Ann Müller', NULL, 0, 0, 0, 'ab', NULL, 11, NULL, '{"code":"lease_expired"}', '0.1.0', '2977df4710754231c44b7a57350efc52bcbde5933ef26f49c167181c0ae8e344', '62e888930cd550c32771d050d52c6d3b60f40792619aabc1857cb60a00310e53');
INSERT INTO discreet.events VALUES ('people', 5, 1, 'FORFEITED', '2026-11-15T12:06:41.900331+00:00', 1, 'ann', NULL, 0, 0, 0, 'ab', NULL, 3, NULL, '{"code":"lease_expired"}', '0.1.0', 'a65c2ee9f0df101da699c277118825f086f9db2efbf59e5ad77b6d9568389a85', '709e561f66adb40e701ca07c1c9cfbfb1e43a856e0e18d2384cdff6db62408a1');
INSERT INTO discreet.events VALUES ('stays 2', 5, 1, 'FORFEITED', '2026-11-15T12:06:41.918777+00:00', 1, 'ann', NULL, 0, 0, 0, 'bb', NULL, 4, NULL, '{"code":"lease_expired"}', '0.1.0', '671a908fc0e5fb38f18a143ad290883137dca98d5bbc2df58d7bf4fef95950ba', '0e324297e5c3d9a789a0b48d13d1035ba30852a524dc1a96a5571d786eac8e1b');
INSERT INTO discreet.events VALUES ('stays 1', 7, 1, 'RESERVED', '2026-11-15T12:06:41.925457+00:00', 1, 'ann', '{"epsilon":"1/10","kind":"PureEvent"}', 100000000000, 5000000000000, 0, 'dd', 'auto-50fa30e4eaa3ebf12b6fccf7a633d83c', NULL, '4ff3e22665259e4977cc76b05710cc561b6516e97277dd75abda9b5eac54d4b5', NULL, '0.1.0', '09530ebe2cf2cd1e30dd2feedaf2b5f29c19f21957328f04a014aebdb72fb978', 'd859035d20a8a9e4f07090ce4f489e3b84b57581860bde9d91d5b4adcce83b7a');
INSERT INTO discreet.ledger VALUES ('93d2c93e132e4ae180276ce30fbafe93');
INSERT INTO discreet.reservations VALUES ('visits', 2, 'ann', 'r-1', 'ab', '{"plan":"count"}', 'ANSWERED', 1, 1794744399724);
INSERT INTO discreet.reservations VALUES ('visits', 4, 'ann', 'auto-dda3f3bea62a196887722cd8b3a4b131', 'cd', '{"plan":"count"}', 'ANSWERED', 1, 1794744399782);
INSERT INTO discreet.reservations VALUES ('visits', 6, 'ann', 'auto-79e9720b8e90994dbd8b6d7e0cf85579', 'ef', '{"plan":"count"}', 'ANSWERED', 1, 1794744399857);
INSERT INTO discreet.reservations VALUES ('visits', 9, 'bob', 'auto-a27e756d0d1f91f7cfb3fd87fe797145', 'ab', '{"plan":"count"}', 'FORFEITED', 1, 1794744400115);
INSERT INTO discreet.reservations VALUES ('stays 1', 2, 'ann', 'r-2', 'aa', '{}', 'ANSWERED', 1, 1794744400924);
INSERT INTO discreet.reservations VALUES ('stays 2', 2, 'ann', 'r-2', 'aa', '{}', 'ANSWERED', 1, 1794744400924);
INSERT INTO discreet.reservations VALUES ('stays 1', 4, 'ann', 'auto-198ed599b172ed8b18622c780d9adef7', 'ab', '{"plan":"count"}', 'ANSWERED', 2, 1794744401537);
INSERT INTO discreet.reservations VALUES ('visits', 11, 'Ann Müller', 'auto-a406d154751e58c5c346939f0c4d8d51', 'ab', '{"plan":"count"}', 'FORFEITED', 1, 1794744400259);
INSERT INTO discreet.reservations VALUES ('people', 3, 'ann', 'auto-2f7ba60f94c42f4c2ff2a718da956e16', 'ab', '{"plan":"count"}', 'FORFEITED', 1, 1794744400548);
INSERT INTO discreet.reservations VALUES ('stays 2', 4, 'ann', 'auto-c84a38ae463524327d6797fe2ee10b29', 'bb', '{"plan":"count"}', 'FORFEITED', 1, 1794744401582);
INSERT INTO discreet.reservations VALUES ('stays 1', 7, 'ann', 'auto-50fa30e4eaa3ebf12b6fccf7a633d83c', 'dd', '{"plan":"count"}', 'RESERVED', 1, 1794744402227);
INSERT INTO discreet.schema_versions VALUES (1, '2026-11-15T12:06:38.317252+00:00', '0.1.0');
INSERT INTO discreet.schema_versions VALUES (2, '2026-11-15T12:06:38.341887+00:00', '0.1.0');
INSERT INTO discreet.schema_versions VALUES (3, '2026-11-15T12:06:38.376650+00:00', '0.1.0');
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
