SET check_function_bodies = false;
CREATE SCHEMA discreet;
ALTER SCHEMA discreet OWNER TO data_owner;
CREATE FUNCTION discreet.answer(given_name text, given_reservation bigint, given_charge jsonb, given_attempt integer, given_version integer, given_analyst text, given_question text, given_digest text, given_payload bytea, given_time text, given_library text, given_format integer, least_sequence bigint, before text, between_them text, after_them text) RETURNS TABLE(previous_head text, new_head text, new_sequence bigint, total_epsilon bigint, total_rho bigint, total_delta bigint, total_renyi bigint, promised_epsilon text, promised_delta text, promised_reserve text, promised_ceiling text, promised_reason text, promised_order text, stored bytea)
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
    cost_delta, cost_renyi, question, reservation, digest, library, previous, hash)
  VALUES (given_name, d.sequence, given_format, 'ANSWERED', given_time, given_version, given_analyst, 0, 0, 0, 0,
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
  total_renyi := d.spent_renyi;
  promised_epsilon := d.epsilon;
  promised_delta := d.delta;
  promised_reserve := d.reserved_delta;
  promised_ceiling := d.ceiling;
  promised_reason := d.reason;
  promised_order := d.renyi_order;
  RETURN NEXT;
END
$$;
ALTER FUNCTION discreet.answer(given_name text, given_reservation bigint, given_charge jsonb, given_attempt integer, given_version integer, given_analyst text, given_question text, given_digest text, given_payload bytea, given_time text, given_library text, given_format integer, least_sequence bigint, before text, between_them text, after_them text) OWNER TO data_owner;
CREATE FUNCTION discreet.charge(given_name text, given_version integer, given_registration bigint, given_analyst text, given_question text, given_request text, is_fresh boolean, given_event text, given_epsilon bigint, given_rho bigint, given_delta bigint, given_renyi bigint, given_order text, given_digest text, given_description text, given_time text, given_library text, given_format integer, given_term bigint, least_sequence bigint, before text, between_them text, after_them text) RETURNS TABLE(previous_head text, new_head text, new_sequence bigint, total_epsilon bigint, total_rho bigint, total_delta bigint, total_renyi bigint, promised_epsilon text, promised_delta text, promised_reserve text, promised_ceiling text, promised_reason text, promised_order text)
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
  IF NOT FOUND OR d.sequence < least_sequence OR d.renyi_order IS DISTINCT FROM given_order
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
    OR d.spent_renyi > largest - given_renyi
    OR (d.spent_epsilon IS NOT NULL AND given_epsilon IS NOT NULL AND d.spent_epsilon > largest - given_epsilon) THEN
    RETURN;
  END IF;
  IF NOT (d.spent_delta + given_delta <= d.cap_delta AND (
      COALESCE(d.spent_epsilon + given_epsilon <= d.cap_epsilon, FALSE) OR d.spent_renyi + given_renyi <= d.cap_rho))
    OR NOT (a.cap_rho IS NULL OR (a.spent_delta + given_delta <= a.cap_delta AND (
      COALESCE(a.spent_epsilon + given_epsilon <= a.cap_epsilon, FALSE) OR a.spent_renyi + given_renyi <= a.cap_rho)))
  THEN
    RETURN;
  END IF;
  previous_head := d.head;
  d.sequence := d.sequence + 1;
  d.head := encode(sha256(convert_to(before || previous_head || between_them || d.sequence || after_them, 'UTF8')), 'hex');
  d.spent_epsilon := d.spent_epsilon + given_epsilon;
  d.spent_rho := d.spent_rho + given_rho;
  d.spent_delta := d.spent_delta + given_delta;
  d.spent_renyi := d.spent_renyi + given_renyi;
  UPDATE discreet.datasets AS known SET spent_epsilon = d.spent_epsilon, spent_rho = d.spent_rho,
    spent_delta = d.spent_delta, spent_renyi = d.spent_renyi, sequence = d.sequence, head = d.head
  WHERE known.name = given_name;
  UPDATE discreet.analysts AS share SET spent_epsilon = share.spent_epsilon + given_epsilon,
    spent_rho = share.spent_rho + given_rho, spent_delta = share.spent_delta + given_delta,
    spent_renyi = share.spent_renyi + given_renyi
  WHERE share.dataset = given_name AND share.analyst = given_analyst;
  INSERT INTO discreet.events (dataset, sequence, format, kind, time, version, analyst, event, cost_epsilon, cost_rho,
    cost_delta, cost_renyi, question, request, digest, library, previous, hash)
  VALUES (given_name, d.sequence, given_format, 'RESERVED', given_time, given_version, given_analyst, given_event,
    given_epsilon, given_rho, given_delta, given_renyi, given_question, given_request, given_digest, given_library,
    previous_head, d.head);
  INSERT INTO discreet.reservations
    (dataset, sequence, analyst, request, question, description, state, attempt, lease)
  VALUES (given_name, d.sequence, given_analyst, given_request, given_question, given_description, 'RESERVED', 1,
    CAST(extract(epoch FROM clock_timestamp()) * 1000 AS BIGINT) + given_term);
  new_head := d.head;
  new_sequence := d.sequence;
  total_epsilon := d.spent_epsilon;
  total_rho := d.spent_rho;
  total_delta := d.spent_delta;
  total_renyi := d.spent_renyi;
  promised_epsilon := d.epsilon;
  promised_delta := d.delta;
  promised_reserve := d.reserved_delta;
  promised_ceiling := d.ceiling;
  promised_reason := d.reason;
  promised_order := d.renyi_order;
  RETURN NEXT;
END
$$;
ALTER FUNCTION discreet.charge(given_name text, given_version integer, given_registration bigint, given_analyst text, given_question text, given_request text, is_fresh boolean, given_event text, given_epsilon bigint, given_rho bigint, given_delta bigint, given_renyi bigint, given_order text, given_digest text, given_description text, given_time text, given_library text, given_format integer, given_term bigint, least_sequence bigint, before text, between_them text, after_them text) OWNER TO data_owner;
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
  IF NEW.spent_rho < OLD.spent_rho OR NEW.spent_delta < OLD.spent_delta OR NEW.spent_renyi < OLD.spent_renyi
    OR (OLD.spent_epsilon IS NULL AND NEW.spent_epsilon IS NOT NULL) OR NEW.spent_epsilon < OLD.spent_epsilon THEN
    PERFORM discreet.refused('what was spent never falls');
  END IF;
  IF NEW.epsilon = OLD.epsilon AND NEW.delta = OLD.delta AND NEW.reserved_delta = OLD.reserved_delta AND (
    NEW.cap_epsilon > OLD.cap_epsilon OR NEW.cap_rho > OLD.cap_rho OR NEW.cap_delta > OLD.cap_delta) THEN
    PERFORM discreet.refused('a raised cap is a new promise');
  END IF;
  IF (NEW.floor_epsilon IS DISTINCT FROM OLD.floor_epsilon OR NEW.floor_rho <> OLD.floor_rho
      OR NEW.floor_delta <> OLD.floor_delta OR NEW.floor_renyi <> OLD.floor_renyi)
    AND (NEW.floor_epsilon IS DISTINCT FROM NEW.spent_epsilon OR NEW.floor_rho <> NEW.spent_rho
      OR NEW.floor_delta <> NEW.spent_delta OR NEW.floor_renyi <> NEW.spent_renyi) THEN
    PERFORM discreet.refused('a floor is what is spent when it is set');
  END IF;
  IF NEW.renyi_order IS DISTINCT FROM OLD.renyi_order AND (
    NEW.floor_epsilon IS DISTINCT FROM NEW.spent_epsilon OR NEW.floor_rho <> NEW.spent_rho
      OR NEW.floor_delta <> NEW.spent_delta OR NEW.floor_renyi <> NEW.spent_renyi) THEN
    PERFORM discreet.refused('an order is fixed with a budget');
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
    (d.spent_epsilon IS NOT DISTINCT FROM d.floor_epsilon AND d.spent_rho = d.floor_rho AND d.spent_delta = d.floor_delta
      AND d.spent_renyi = d.floor_renyi)
    OR NOT EXISTS (
      SELECT 1 FROM discreet.analysts AS a WHERE a.dataset = NEW.dataset AND a.analyst = NEW.analyst
        AND NOT (a.spent_epsilon IS NOT DISTINCT FROM a.floor_epsilon AND a.spent_rho = a.floor_rho
          AND a.spent_delta = a.floor_delta AND a.spent_renyi = a.floor_renyi)
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
  IF NEW.spent_rho < OLD.spent_rho OR NEW.spent_delta < OLD.spent_delta OR NEW.spent_renyi < OLD.spent_renyi
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
    spent_renyi bigint NOT NULL,
    floor_renyi bigint NOT NULL,
    CONSTRAINT analysts_cap_delta_check CHECK ((cap_delta >= 0)),
    CONSTRAINT analysts_cap_epsilon_check CHECK ((cap_epsilon >= 0)),
    CONSTRAINT analysts_cap_rho_check CHECK ((cap_rho >= 0)),
    CONSTRAINT analysts_failures_check CHECK ((failures >= 0)),
    CONSTRAINT analysts_is_own_check CHECK ((is_own = ANY (ARRAY[0, 1]))),
    CONSTRAINT analysts_most_failures_check CHECK ((most_failures >= 0)),
    CONSTRAINT analysts_spent_delta_check CHECK ((spent_delta >= 0)),
    CONSTRAINT analysts_spent_epsilon_check CHECK ((spent_epsilon >= 0)),
    CONSTRAINT analysts_spent_renyi_check CHECK ((spent_renyi >= 0)),
    CONSTRAINT analysts_spent_rho_check CHECK ((spent_rho >= 0)),
    CONSTRAINT quota CHECK (((cap_rho IS NULL) OR ((spent_delta <= cap_delta) AND (((spent_epsilon IS NOT NULL) AND (spent_epsilon <= cap_epsilon)) OR (spent_renyi <= cap_rho))) OR ((NOT (spent_epsilon IS DISTINCT FROM floor_epsilon)) AND (spent_rho = floor_rho) AND (spent_delta = floor_delta) AND (spent_renyi = floor_renyi)))),
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
    renyi_order text,
    spent_renyi bigint NOT NULL,
    floor_renyi bigint NOT NULL,
    CONSTRAINT datasets_cap_delta_check CHECK ((cap_delta >= 0)),
    CONSTRAINT datasets_cap_epsilon_check CHECK ((cap_epsilon >= 0)),
    CONSTRAINT datasets_cap_rho_check CHECK ((cap_rho >= 0)),
    CONSTRAINT datasets_sequence_check CHECK ((sequence >= 1)),
    CONSTRAINT datasets_spent_delta_check CHECK ((spent_delta >= 0)),
    CONSTRAINT datasets_spent_epsilon_check CHECK ((spent_epsilon >= 0)),
    CONSTRAINT datasets_spent_renyi_check CHECK ((spent_renyi >= 0)),
    CONSTRAINT datasets_spent_rho_check CHECK ((spent_rho >= 0)),
    CONSTRAINT promise CHECK ((((spent_delta <= cap_delta) AND (((spent_epsilon IS NOT NULL) AND (spent_epsilon <= cap_epsilon)) OR (spent_renyi <= cap_rho))) OR ((NOT (spent_epsilon IS DISTINCT FROM floor_epsilon)) AND (spent_rho = floor_rho) AND (spent_delta = floor_delta) AND (spent_renyi = floor_renyi))))
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
    cost_renyi bigint NOT NULL,
    CONSTRAINT events_cost_delta_check CHECK ((cost_delta >= 0)),
    CONSTRAINT events_cost_epsilon_check CHECK ((cost_epsilon >= 0)),
    CONSTRAINT events_cost_renyi_check CHECK ((cost_renyi >= 0)),
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
INSERT INTO discreet.analysts VALUES ('visits', 'bob', '{"ceiling":"10/1","delta":"1/1000000000","epsilon":"1/1","reason":null,"reserved_delta":"1/10000000000"}', 1, 1000000000000, 14884337183401, 100000000, NULL, 1000000000000, 0, NULL, 1000000000000, 0, 1, 7, 1000000000000, 1000000000000);
INSERT INTO discreet.analysts VALUES ('visits', '*', '{"ceiling":"10/1","delta":"1/1000000000","epsilon":"12/1","reason":"all","reserved_delta":"1/10000000000"}', 0, 12000000000000, 1496375267009015, 100000000, 0, 0, 0, 0, 0, 0, 0, 100, 0, 0);
INSERT INTO discreet.analysts VALUES ('visits', 'ann', '{"ceiling":"10/1","delta":"1/1000000000","epsilon":"12/1","reason":"all","reserved_delta":"1/10000000000"}', 0, 12000000000000, 1496375267009015, 100000000, NULL, 11250000000000, 10000000, NULL, 11250000000000, 10000000, 0, 100, 11250000000000, 11250000000000);
INSERT INTO discreet.analysts VALUES ('visits', 'Ann Müller', '{"ceiling":"10/1","delta":"1/1000000000","epsilon":"12/1","reason":"all","reserved_delta":"1/10000000000"}', 0, 12000000000000, 1496375267009015, 100000000, 10000000000, 50000000000, 0, 10000000000, 50000000000, 0, 1, 100, 50000000000, 50000000000);
INSERT INTO discreet.analysts VALUES ('people', 'ann', NULL, 0, NULL, NULL, NULL, 333000000000, 55444500000000, 0, 0, 0, 0, 1, 100, 55444500000000, 0);
INSERT INTO discreet.analysts VALUES ('stays 2', 'ann', NULL, 0, NULL, NULL, NULL, 200000000000, 10000000000000, 0, 0, 0, 0, 1, 100, 10000000000000, 0);
INSERT INTO discreet.analysts VALUES ('stays 1', 'ann', NULL, 0, NULL, NULL, NULL, 300000000000, 15000000000000, 0, 0, 0, 0, 1, 100, 15000000000000, 0);
INSERT INTO discreet.answers VALUES ('visits', 2, '\x7b226e223a2031327d');
INSERT INTO discreet.answers VALUES ('visits', 4, '\x');
INSERT INTO discreet.answers VALUES ('visits', 6, '\x30');
INSERT INTO discreet.answers VALUES ('stays 1', 2, '\x746f676574686572');
INSERT INTO discreet.answers VALUES ('stays 2', 2, '\x746f676574686572');
INSERT INTO discreet.answers VALUES ('stays 1', 4, '\x74616b656e206f766572');
INSERT INTO discreet.datasets VALUES ('people', 'one row (protects rows, not people)', 'replace_one', '4ef33c850ff7e76b', NULL, NULL, NULL, '1/3', '0/1', '0/1', '10/1', NULL, 333333333333, 0, 0, 333000000000, 55444500000000, 0, 0, 0, 0, 5, '7903e6879497af73fe9eadc538d324df1235b1498a3ef2e36058017b4e3406d4', NULL, 55444500000000, 0);
INSERT INTO discreet.datasets VALUES ('stays 2', 'one patient_id', 'add_remove', '496a6dc046d4af1e', 'stays', '2026-02-01T00:00:00.000000', '2026-03-01T00:00:00.000000', '1/1', '0/1', '0/1', '10/1', NULL, 1000000000000, 0, 0, 200000000000, 10000000000000, 0, 0, 0, 0, 5, '7a8349c4f5d80446d7f28e2b2def05898612c4eb2cc6d35d084889eb37ff4b33', NULL, 10000000000000, 0);
INSERT INTO discreet.datasets VALUES ('stays 1', 'one patient_id', 'add_remove', '418edc89022823e2', 'stays', '2026-01-01T00:00:00.000000', '2026-02-01T00:00:00.000000', '1/1', '0/1', '0/1', '10/1', NULL, 1000000000000, 0, 0, 300000000000, 15000000000000, 0, 0, 0, 0, 7, '03d226174a76bce297215ecef3714cdb54c5854fe395061d4f5caa43620121e5', NULL, 15000000000000, 0);
INSERT INTO discreet.datasets VALUES ('visits', 'one patient_id', 'add_remove', 'c19a17d83e12b82f', NULL, NULL, NULL, '12/1', '1/1000000000', '1/10000000000', '10/1', 'a second study', 12000000000000, 1496375267009015, 100000000, NULL, 12300000000000, 10000000, NULL, 12300000000000, 10000000, 16, 'de8e6ba721b3fc1bac2705f1c7733f94ee5cb1d47d9c6b2f9ae0c35054096c1c', '2584931840176017/562949953421312', 12300000000000, 12300000000000);
INSERT INTO discreet.events VALUES ('visits', 1, 1, 'REGISTERED', '2026-11-17T02:05:12.812113+00:00', 1, NULL, NULL, 0, 0, 0, NULL, NULL, NULL, '1a75888ad910062dcc6a5772640a806a1f36ee8b3a769c2d7a4b58c789cfc966', '{"budget":{"ceiling":"10/1","delta":"1/1000000000","epsilon":"2/1","reason":null,"reserved_delta":"1/10000000000"},"caps":[2000000000000,55817450132233,100000000],"hash_key":"51aef4dca376472150e68d58d9774a7e8d1b7245b4f69d7ba302e8453d61823a","ledger":"dda447b01da94ee38c09bc80a2c9a16d","neighbours":"add_remove","order":"5320562508480651/281474976710656","slice":{"part_of":null,"slice_end":null,"slice_start":null},"unit":"one patient_id"}', '0.1.0', '0000000000000000000000000000000000000000000000000000000000000000', '782d72b1de0d39c3cf5fde30994e6446415460795e994969089b3332fdc53c92', 0);
INSERT INTO discreet.events VALUES ('people', 1, 1, 'REGISTERED', '2026-11-17T02:05:12.829500+00:00', 1, NULL, NULL, 0, 0, 0, NULL, NULL, NULL, '4d1c802f37afbbe4461b77a779839047da00bf156022dd086b313769b53f0776', '{"budget":{"ceiling":"10/1","delta":"0/1","epsilon":"1/1","reason":null,"reserved_delta":"0/1"},"caps":[1000000000000,0,0],"hash_key":"55c7c05bc09c51c238b73acb58612fad0f5c67c717938af56e4b403ab352ae92","ledger":"dda447b01da94ee38c09bc80a2c9a16d","neighbours":"add_remove","order":null,"slice":{"part_of":null,"slice_end":null,"slice_start":null},"unit":"one row (protects rows, not people)"}', '0.1.0', '0000000000000000000000000000000000000000000000000000000000000000', 'a1a0b4fb983b99a16e4ab600acb575ad017bfea57574632cdbb2d8bc2836ce24', 0);
INSERT INTO discreet.events VALUES ('people', 2, 1, 'REGISTERED', '2026-11-17T02:05:12.846064+00:00', 1, NULL, NULL, 0, 0, 0, NULL, NULL, NULL, '4d1c802f37afbbe4461b77a779839047da00bf156022dd086b313769b53f0776', '{"new":{"budget":{"ceiling":"10/1","delta":"0/1","epsilon":"1/3","reason":null,"reserved_delta":"0/1"},"caps":[333333333333,0,0],"dataset":"people","facts":"{}","hash_key":"55c7c05bc09c51c238b73acb58612fad0f5c67c717938af56e4b403ab352ae92","neighbours":"replace_one","order":null,"population":null,"slice":{"part_of":null,"slice_end":null,"slice_start":null},"source":"memory","unit":"one row (protects rows, not people)","version":1},"old":{"budget":{"ceiling":"10/1","delta":"0/1","epsilon":"1/1","reason":null,"reserved_delta":"0/1"},"caps":[1000000000000,0,0],"dataset":"people","facts":"{}","hash_key":"55c7c05bc09c51c238b73acb58612fad0f5c67c717938af56e4b403ab352ae92","neighbours":"add_remove","order":null,"population":null,"slice":{"part_of":null,"slice_end":null,"slice_start":null},"source":"memory","unit":"one row (protects rows, not people)","version":1}}', '0.1.0', 'a1a0b4fb983b99a16e4ab600acb575ad017bfea57574632cdbb2d8bc2836ce24', 'a2e14b50094afa590a35bbc9788d8993ab97b4e826cd78fe8b2661a1bef6c502', 0);
INSERT INTO discreet.events VALUES ('visits', 2, 1, 'RESERVED', '2026-11-17T02:05:12.899415+00:00', 1, 'ann', '{"epsilon":"1/10","kind":"PureEvent"}', 100000000000, 5000000000000, 0, 'ab', 'r-1', NULL, '4ff3e22665259e4977cc76b05710cc561b6516e97277dd75abda9b5eac54d4b5', NULL, '0.1.0', '782d72b1de0d39c3cf5fde30994e6446415460795e994969089b3332fdc53c92', '75c4b5a3575fffc0693f11cda22c02dad5eb592eec91dcd511b35adb27eb422b', 3459652233679);
INSERT INTO discreet.events VALUES ('visits', 3, 1, 'ANSWERED', '2026-11-17T02:05:12.920342+00:00', 1, 'ann', NULL, 0, 0, 0, 'ab', NULL, 2, 'adff6dac415bc9e028c14de440d46c5cfad3ff5f9f92f5ca03a8a45bb53404ab', NULL, '0.1.0', '75c4b5a3575fffc0693f11cda22c02dad5eb592eec91dcd511b35adb27eb422b', 'c44b5792e512f716de0695a40039c4965ee20fd673701ba8d5df207dda10d442', 0);
INSERT INTO discreet.events VALUES ('visits', 4, 1, 'RESERVED', '2026-11-17T02:05:12.929371+00:00', 1, 'ann', '{"dimension":1,"kind":"DiscreteGaussianEvent","squared_sensitivity":"1/1","variance":"400/1"}', NULL, 1250000000000, 0, 'cd', 'auto-de276f23eef9dfc0c91523e271fb3b49', NULL, '4ff3e22665259e4977cc76b05710cc561b6516e97277dd75abda9b5eac54d4b5', NULL, '0.1.0', 'c44b5792e512f716de0695a40039c4965ee20fd673701ba8d5df207dda10d442', 'b85c52d2a04b061db7d6285a7d0028b8460898ff96ebdc5a344ab139411ec597', 1250000000000);
INSERT INTO discreet.events VALUES ('visits', 5, 1, 'ANSWERED', '2026-11-17T02:05:12.939468+00:00', 1, 'ann', NULL, 0, 0, 0, 'cd', NULL, 4, 'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855', NULL, '0.1.0', 'b85c52d2a04b061db7d6285a7d0028b8460898ff96ebdc5a344ab139411ec597', '8d50b549ab29d72b7e26a9e6fbb11c79a29c9e63d3080a9f57f517438fafbeee', 0);
INSERT INTO discreet.events VALUES ('visits', 6, 1, 'RESERVED', '2026-11-17T02:05:12.949854+00:00', 1, 'ann', '{"delta":"1/100000000000","epsilon":"1/10","kind":"ApproximateEvent"}', 100000000000, 5000000000000, 10000000, 'ef', 'auto-be0e263924402813d70c7a02735196d4', NULL, '4ff3e22665259e4977cc76b05710cc561b6516e97277dd75abda9b5eac54d4b5', NULL, '0.1.0', '8d50b549ab29d72b7e26a9e6fbb11c79a29c9e63d3080a9f57f517438fafbeee', 'd3cd0df25c3874c803e8a4c583be99260ab4433e2aa5ba63a4f260572fefecb5', 3459652233679);
INSERT INTO discreet.events VALUES ('visits', 7, 1, 'ANSWERED', '2026-11-17T02:05:12.958911+00:00', 1, 'ann', NULL, 0, 0, 0, 'ef', NULL, 6, '5feceb66ffc86f38d952786c6d696c79c2dbc239dd4e91b46729d73a27fb57e9', NULL, '0.1.0', 'd3cd0df25c3874c803e8a4c583be99260ab4433e2aa5ba63a4f260572fefecb5', '62a5e67b618c45d413a12b80232e5adac6feb127b9813323b5670cd70aa7c0c6', 0);
INSERT INTO discreet.events VALUES ('visits', 8, 1, 'VERSIONED', '2026-11-17T02:05:12.973528+00:00', 2, NULL, NULL, 0, 0, 0, NULL, NULL, NULL, '15c67519802ee1a866c3a9abc3b56d0a1fe480afde5199e46c86311d9cf3cc80', NULL, '0.1.0', '62a5e67b618c45d413a12b80232e5adac6feb127b9813323b5670cd70aa7c0c6', '15fc63bc87fc5d384d9eb917f69bc453d7440a105c7355cbd937f19b38e40a55', 0);
INSERT INTO discreet.events VALUES ('visits', 9, 1, 'RESERVED', '2026-11-17T02:05:12.998166+00:00', 2, 'bob', '{"delta":"0/1","kind":"ConcentratedEvent","rho":"1/1000"}', NULL, 1000000000000, 0, 'ab', 'auto-2a8f3e9c4ac74868e6de3bd27a138391', NULL, '4ff3e22665259e4977cc76b05710cc561b6516e97277dd75abda9b5eac54d4b5', NULL, '0.1.0', '15fc63bc87fc5d384d9eb917f69bc453d7440a105c7355cbd937f19b38e40a55', 'c91eaf712d1664acb98ac8d74e070cfc6af03f167781bb64039170b06c76c5aa', 1000000000000);
INSERT INTO discreet.events VALUES ('visits', 10, 1, 'FORFEITED', '2026-11-17T02:05:13.008135+00:00', 2, 'bob', NULL, 0, 0, 0, 'ab', NULL, 9, NULL, '{"code":"timeout"}', '0.1.0', 'c91eaf712d1664acb98ac8d74e070cfc6af03f167781bb64039170b06c76c5aa', '1be03de9b9ab006df2bba8361c8302adec4200b5d31dda8615d57fc71c316191', 0);
INSERT INTO discreet.events VALUES ('visits', 11, 1, 'RESERVED', '2026-11-17T02:05:13.027071+00:00', 1, 'Ann Müller', '{"kind":"DiscreteLaplaceEvent","scale":"100/1","sensitivity":"1/1"}', 10000000000, 50000000000, 0, 'ab', 'auto-fbf910e7946cab2badc549255029808c', NULL, '4ff3e22665259e4977cc76b05710cc561b6516e97277dd75abda9b5eac54d4b5', NULL, '0.1.0', '1be03de9b9ab006df2bba8361c8302adec4200b5d31dda8615d57fc71c316191', 'b5c42cb2aca4120191812f86d0c706e96f503b5a7d5ff59f7cdf4d8bc638947e', 49720108121);
INSERT INTO discreet.events VALUES ('visits', 12, 1, 'REJECTED', '2026-11-17T02:05:13.057348+00:00', 1, 'ann', '{"epsilon":"3/1","kind":"PureEvent"}', 0, 0, 0, 'ab', 'auto-1ade4defad73012d40252b072614990f', NULL, '4ff3e22665259e4977cc76b05710cc561b6516e97277dd75abda9b5eac54d4b5', '{"asked":[3000000000000,3000000000000000,0,158566129701699]}', '0.1.0', 'b5c42cb2aca4120191812f86d0c706e96f503b5a7d5ff59f7cdf4d8bc638947e', '2330902ea441abbfcc8ef0410a552ac8ca47fca449530774c55891f5e8938a70', 0);
INSERT INTO discreet.events VALUES ('visits', 13, 1, 'CAPPED', '2026-11-17T02:05:13.070835+00:00', 2, NULL, NULL, 0, 0, 0, NULL, NULL, NULL, NULL, '{"new":{"budget":{"ceiling":"10/1","delta":"1/1000000000","epsilon":"12/1","reason":"a second study","reserved_delta":"1/10000000000"},"caps":[12000000000000,1496375267009015,100000000],"order":"2584931840176017/562949953421312"},"old":{"budget":{"ceiling":"10/1","delta":"1/1000000000","epsilon":"2/1","reason":null,"reserved_delta":"1/10000000000"},"caps":[2000000000000,55817450132233,100000000],"order":"5320562508480651/281474976710656"},"reason":"the board''s decision","restated":{"Ann M\u00fcller":50000000000,"ann":11250000000000,"bob":1000000000000},"spent":[null,12300000000000,10000000,9219024575479]}', '0.1.0', '2330902ea441abbfcc8ef0410a552ac8ca47fca449530774c55891f5e8938a70', 'bc593635703b53ce1de362987a8b27bd3539949dcb54bb1c78350efa6295c25c', 3080975424521);
INSERT INTO discreet.events VALUES ('people', 3, 1, 'RESERVED', '2026-11-17T02:05:13.088006+00:00', 1, 'ann', '{"epsilon":"333/1000","kind":"PureEvent"}', 333000000000, 55444500000000, 0, 'ab', 'auto-c61410a9170984ce5dd0dbde3fcc698b', NULL, '4ff3e22665259e4977cc76b05710cc561b6516e97277dd75abda9b5eac54d4b5', NULL, '0.1.0', 'a2e14b50094afa590a35bbc9788d8993ab97b4e826cd78fe8b2661a1bef6c502', '4025bc59dc9feb284041be74d2cd42ccc8634b4ccd7a8f52a01af4ed38b9119a', 55444500000000);
INSERT INTO discreet.events VALUES ('visits', 14, 1, 'LIMITED', '2026-11-17T02:05:13.099356+00:00', 2, NULL, NULL, 0, 0, 0, NULL, NULL, NULL, NULL, '{"analyst":"bob","cap_delta":100000000,"cap_epsilon":1000000000000,"cap_rho":14884337183401,"most_failures":7,"quota":"{\"ceiling\":\"10/1\",\"delta\":\"1/1000000000\",\"epsilon\":\"1/1\",\"reason\":null,\"reserved_delta\":\"1/10000000000\"}","reason":"a small study"}', '0.1.0', 'bc593635703b53ce1de362987a8b27bd3539949dcb54bb1c78350efa6295c25c', '4629b5a5525055b3883ee968a075c8690928029c9b93dafba9f9faba6308b815', 0);
INSERT INTO discreet.events VALUES ('visits', 15, 1, 'LIMITED', '2026-11-17T02:05:13.106254+00:00', 2, NULL, NULL, 0, 0, 0, NULL, NULL, NULL, NULL, '{"analyst":"*","cap_delta":100000000,"cap_epsilon":12000000000000,"cap_rho":1496375267009015,"most_failures":100,"quota":"{\"ceiling\":\"10/1\",\"delta\":\"1/1000000000\",\"epsilon\":\"12/1\",\"reason\":\"all\",\"reserved_delta\":\"1/10000000000\"}","reason":"fair"}', '0.1.0', '4629b5a5525055b3883ee968a075c8690928029c9b93dafba9f9faba6308b815', 'fc58b8d9a699f9e6f137d9d15a692b120d2c3aea37f0af8d26b4b5abc6c1f964', 0);
INSERT INTO discreet.events VALUES ('people', 4, 1, 'RENAMED', '2026-11-17T02:05:13.113587+00:00', 1, NULL, NULL, 0, 0, 0, NULL, NULL, NULL, NULL, '{"alias":"persons","reason":"plain words"}', '0.1.0', '4025bc59dc9feb284041be74d2cd42ccc8634b4ccd7a8f52a01af4ed38b9119a', '6f8a9b11763a4bdd01ff2578facf12fece30c7d7c60045895e738c65a566fdcc', 0);
INSERT INTO discreet.events VALUES ('stays 1', 1, 1, 'REGISTERED', '2026-11-17T02:05:13.122103+00:00', 1, NULL, NULL, 0, 0, 0, NULL, NULL, NULL, 'b846e26c9c7a911fd04063219f51fd5f8fbc19a12319c17b36a551746fdf9ac3', '{"budget":{"ceiling":"10/1","delta":"0/1","epsilon":"1/1","reason":null,"reserved_delta":"0/1"},"caps":[1000000000000,0,0],"hash_key":"ba64ec35faf31fa720e383c5f56c0438d647b95160a6adf96969c81c938f58ee","ledger":"dda447b01da94ee38c09bc80a2c9a16d","neighbours":"add_remove","order":null,"slice":{"part_of":"stays","slice_end":"2026-02-01T00:00:00.000000","slice_start":"2026-01-01T00:00:00.000000"},"unit":"one patient_id"}', '0.1.0', '0000000000000000000000000000000000000000000000000000000000000000', '04e9190822565d7fdb5a7ae3a9f8fdcaf9253c54c4f83fe5d40f51c939b484e5', 0);
INSERT INTO discreet.events VALUES ('stays 2', 1, 1, 'REGISTERED', '2026-11-17T02:05:13.133379+00:00', 1, NULL, NULL, 0, 0, 0, NULL, NULL, NULL, '369316bca04f903d191f666b10a39de3165e56ff810b7195e4580dd86c906bd9', '{"budget":{"ceiling":"10/1","delta":"0/1","epsilon":"1/1","reason":null,"reserved_delta":"0/1"},"caps":[1000000000000,0,0],"hash_key":"aa55bad8c9d7818c392d00a37b007c21be7bbb1f3b3ac3bbee9ccf7f0cf8f912","ledger":"dda447b01da94ee38c09bc80a2c9a16d","neighbours":"add_remove","order":null,"slice":{"part_of":"stays","slice_end":"2026-03-01T00:00:00.000000","slice_start":"2026-02-01T00:00:00.000000"},"unit":"one patient_id"}', '0.1.0', '0000000000000000000000000000000000000000000000000000000000000000', 'dfd2434973c7ff12997a666c93de226ede127bc3a49cfebf76e70b1615df73b1', 0);
INSERT INTO discreet.events VALUES ('stays 1', 2, 1, 'RESERVED', '2026-11-17T02:05:13.158265+00:00', 1, 'ann', '{"epsilon":"1/10","kind":"PureEvent"}', 100000000000, 5000000000000, 0, 'aa', 'r-2', NULL, '44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a', '{"together":["stays 1","stays 2"]}', '0.1.0', '04e9190822565d7fdb5a7ae3a9f8fdcaf9253c54c4f83fe5d40f51c939b484e5', '459d90786e80cd137c50cc94f9c968c911e7c1b56ad60f9431a7a239c0d5e6a9', 5000000000000);
INSERT INTO discreet.events VALUES ('stays 2', 2, 1, 'RESERVED', '2026-11-17T02:05:13.158658+00:00', 1, 'ann', '{"epsilon":"1/10","kind":"PureEvent"}', 100000000000, 5000000000000, 0, 'aa', 'r-2', NULL, '44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a', '{"together":["stays 1","stays 2"]}', '0.1.0', 'dfd2434973c7ff12997a666c93de226ede127bc3a49cfebf76e70b1615df73b1', 'd125ac029a385e88c0833b8cde7e1629d60cf6a2f63549f3ec6481dd7f07a40f', 5000000000000);
INSERT INTO discreet.events VALUES ('stays 1', 3, 1, 'ANSWERED', '2026-11-17T02:05:13.169477+00:00', 1, 'ann', NULL, 0, 0, 0, 'aa', NULL, 2, '0c24734d7bf5954f08e5bfe4820b0b2f63da8d658df37c9d50080485e034b721', NULL, '0.1.0', '459d90786e80cd137c50cc94f9c968c911e7c1b56ad60f9431a7a239c0d5e6a9', 'b58b678c03edb28d289db2bf5d6922a2d06a7111fa167feee5cfecaaa4cfb5ef', 0);
INSERT INTO discreet.events VALUES ('stays 2', 3, 1, 'ANSWERED', '2026-11-17T02:05:13.169628+00:00', 1, 'ann', NULL, 0, 0, 0, 'aa', NULL, 2, '0c24734d7bf5954f08e5bfe4820b0b2f63da8d658df37c9d50080485e034b721', NULL, '0.1.0', 'd125ac029a385e88c0833b8cde7e1629d60cf6a2f63549f3ec6481dd7f07a40f', '5d17e05071314d7c8f9f86e0e78482625a3e7e7f30ad00aa642cb806d959be0f', 0);
INSERT INTO discreet.events VALUES ('stays 1', 4, 1, 'RESERVED', '2026-11-17T02:05:13.178407+00:00', 1, 'ann', '{"epsilon":"1/10","kind":"PureEvent"}', 100000000000, 5000000000000, 0, 'ab', 'auto-0540f387c24c7d84f770117d7e6287a1', NULL, '4ff3e22665259e4977cc76b05710cc561b6516e97277dd75abda9b5eac54d4b5', NULL, '0.1.0', 'b58b678c03edb28d289db2bf5d6922a2d06a7111fa167feee5cfecaaa4cfb5ef', '291659b2eff33c6c38236255b89acee02e2682802791ce1d93c55db47205293a', 5000000000000);
INSERT INTO discreet.events VALUES ('stays 1', 5, 1, 'RESUMED', '2026-11-17T02:05:13.711868+00:00', 1, 'ann', NULL, 0, 0, 0, 'ab', NULL, 4, NULL, NULL, '0.1.0', '291659b2eff33c6c38236255b89acee02e2682802791ce1d93c55db47205293a', '4b1b1a4e92c0bdccad5dbe2f237b6552feafc9d962e7c0ca2f22a184d708b92f', 0);
INSERT INTO discreet.events VALUES ('stays 1', 6, 1, 'ANSWERED', '2026-11-17T02:05:13.716999+00:00', 1, 'ann', NULL, 0, 0, 0, 'ab', NULL, 4, '0343ba7f6d63784231e94e9ce00815fd019f966d9848d089b9de9c9bb97d7234', NULL, '0.1.0', '4b1b1a4e92c0bdccad5dbe2f237b6552feafc9d962e7c0ca2f22a184d708b92f', 'bea42a5f3ab605e88197d89f6d3efa45918e16674f3a670162b23279b0d74a47', 0);
INSERT INTO discreet.events VALUES ('stays 2', 4, 1, 'RESERVED', '2026-11-17T02:05:13.727183+00:00', 1, 'ann', '{"epsilon":"1/10","kind":"PureEvent"}', 100000000000, 5000000000000, 0, 'bb', 'auto-e4e94e63be1821ccc939e3e269370beb', NULL, '4ff3e22665259e4977cc76b05710cc561b6516e97277dd75abda9b5eac54d4b5', NULL, '0.1.0', '5d17e05071314d7c8f9f86e0e78482625a3e7e7f30ad00aa642cb806d959be0f', '79753b0c38971d9d52bbf06239e533a6a991e42a94c5b841df198a8b3c4c4135', 5000000000000);
INSERT INTO discreet.events VALUES ('visits', 16, 1, 'FORFEITED', '2026-11-17T02:05:14.194934+00:00', 1, 'Ann Müller', NULL, 0, 0, 0, 'ab', NULL, 11, NULL, '{"code":"lease_expired"}', '0.1.0', 'fc58b8d9a699f9e6f137d9d15a692b120d2c3aea37f0af8d26b4b5abc6c1f964', 'de8e6ba721b3fc1bac2705f1c7733f94ee5cb1d47d9c6b2f9ae0c35054096c1c', 0);
INSERT INTO discreet.events VALUES ('people', 5, 1, 'FORFEITED', '2026-11-17T02:05:14.204324+00:00', 1, 'ann', NULL, 0, 0, 0, 'ab', NULL, 3, NULL, '{"code":"lease_expired"}', '0.1.0', '6f8a9b11763a4bdd01ff2578facf12fece30c7d7c60045895e738c65a566fdcc', '7903e6879497af73fe9eadc538d324df1235b1498a3ef2e36058017b4e3406d4', 0);
INSERT INTO discreet.events VALUES ('stays 2', 5, 1, 'FORFEITED', '2026-11-17T02:05:14.217024+00:00', 1, 'ann', NULL, 0, 0, 0, 'bb', NULL, 4, NULL, '{"code":"lease_expired"}', '0.1.0', '79753b0c38971d9d52bbf06239e533a6a991e42a94c5b841df198a8b3c4c4135', '7a8349c4f5d80446d7f28e2b2def05898612c4eb2cc6d35d084889eb37ff4b33', 0);
INSERT INTO discreet.events VALUES ('stays 1', 7, 1, 'RESERVED', '2026-11-17T02:05:14.225171+00:00', 1, 'ann', '{"epsilon":"1/10","kind":"PureEvent"}', 100000000000, 5000000000000, 0, 'dd', 'auto-5e8e0db284ee3fc1faa9b8c0e2c112d1', NULL, '4ff3e22665259e4977cc76b05710cc561b6516e97277dd75abda9b5eac54d4b5', NULL, '0.1.0', 'bea42a5f3ab605e88197d89f6d3efa45918e16674f3a670162b23279b0d74a47', '03d226174a76bce297215ecef3714cdb54c5854fe395061d4f5caa43620121e5', 5000000000000);
INSERT INTO discreet.ledger VALUES ('dda447b01da94ee38c09bc80a2c9a16d');
INSERT INTO discreet.reservations VALUES ('visits', 2, 'ann', 'r-1', 'ab', '{"plan":"count"}', 'ANSWERED', 1, 1794881113217);
INSERT INTO discreet.reservations VALUES ('visits', 4, 'ann', 'auto-de276f23eef9dfc0c91523e271fb3b49', 'cd', '{"plan":"count"}', 'ANSWERED', 1, 1794881113238);
INSERT INTO discreet.reservations VALUES ('visits', 6, 'ann', 'auto-be0e263924402813d70c7a02735196d4', 'ef', '{"plan":"count"}', 'ANSWERED', 1, 1794881113256);
INSERT INTO discreet.reservations VALUES ('visits', 9, 'bob', 'auto-2a8f3e9c4ac74868e6de3bd27a138391', 'ab', '{"plan":"count"}', 'FORFEITED', 1, 1794881113303);
INSERT INTO discreet.reservations VALUES ('stays 1', 2, 'ann', 'r-2', 'aa', '{}', 'ANSWERED', 1, 1794881113462);
INSERT INTO discreet.reservations VALUES ('stays 2', 2, 'ann', 'r-2', 'aa', '{}', 'ANSWERED', 1, 1794881113464);
INSERT INTO discreet.reservations VALUES ('stays 1', 4, 'ann', 'auto-0540f387c24c7d84f770117d7e6287a1', 'ab', '{"plan":"count"}', 'ANSWERED', 2, 1794881114014);
INSERT INTO discreet.reservations VALUES ('visits', 11, 'Ann Müller', 'auto-fbf910e7946cab2badc549255029808c', 'ab', '{"plan":"count"}', 'FORFEITED', 1, 1794881113330);
INSERT INTO discreet.reservations VALUES ('people', 3, 'ann', 'auto-c61410a9170984ce5dd0dbde3fcc698b', 'ab', '{"plan":"count"}', 'FORFEITED', 1, 1794881113391);
INSERT INTO discreet.reservations VALUES ('stays 2', 4, 'ann', 'auto-e4e94e63be1821ccc939e3e269370beb', 'bb', '{"plan":"count"}', 'FORFEITED', 1, 1794881114031);
INSERT INTO discreet.reservations VALUES ('stays 1', 7, 'ann', 'auto-5e8e0db284ee3fc1faa9b8c0e2c112d1', 'dd', '{"plan":"count"}', 'RESERVED', 1, 1794881114529);
INSERT INTO discreet.schema_versions VALUES (1, '2026-11-17T02:05:12.695302+00:00', '0.1.0');
INSERT INTO discreet.schema_versions VALUES (2, '2026-11-17T02:05:12.707019+00:00', '0.1.0');
INSERT INTO discreet.schema_versions VALUES (3, '2026-11-17T02:05:12.710423+00:00', '0.1.0');
INSERT INTO discreet.schema_versions VALUES (4, '2026-11-17T02:05:12.724656+00:00', '0.1.0');
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
