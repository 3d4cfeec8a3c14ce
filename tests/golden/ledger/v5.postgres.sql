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
    CONSTRAINT divergence CHECK (((cost_renyi = 0) OR (kind = ANY (ARRAY['RESERVED'::text, 'CAPPED'::text, 'RECOVERED'::text])))),
    CONSTRAINT events_cost_delta_check CHECK ((cost_delta >= 0)),
    CONSTRAINT events_cost_epsilon_check CHECK ((cost_epsilon >= 0)),
    CONSTRAINT events_cost_renyi_check CHECK ((cost_renyi >= 0)),
    CONSTRAINT events_cost_rho_check CHECK ((cost_rho >= 0)),
    CONSTRAINT events_kind_check CHECK ((kind = ANY (ARRAY['REGISTERED'::text, 'VERSIONED'::text, 'RENAMED'::text, 'CAPPED'::text, 'LIMITED'::text, 'REJECTED'::text, 'RESERVED'::text, 'RESUMED'::text, 'ANSWERED'::text, 'FORFEITED'::text, 'RECOVERED'::text, 'PUBLISHED'::text]))),
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
INSERT INTO discreet.datasets VALUES ('stays 2', 'one patient_id', 'add_remove', '2df0c127c9ee2834', 'stays', '2026-02-01T00:00:00.000000', '2026-03-01T00:00:00.000000', '1/1', '0/1', '0/1', '10/1', NULL, 1000000000000, 0, 0, 200000000000, 10000000000000, 0, 0, 0, 0, 5, '2d9ad971437fdb07196fe7045c408eefb2b99658ef635ac4d273989df87ef8b7', NULL, 10000000000000, 0);
INSERT INTO discreet.datasets VALUES ('stays 1', 'one patient_id', 'add_remove', 'e202c007d7d398ae', 'stays', '2026-01-01T00:00:00.000000', '2026-02-01T00:00:00.000000', '1/1', '0/1', '0/1', '10/1', NULL, 1000000000000, 0, 0, 300000000000, 15000000000000, 0, 0, 0, 0, 7, '335454be71b39ee81487bacec15dd77dc70314c74c163b33b5d223148dac6e91', NULL, 15000000000000, 0);
INSERT INTO discreet.datasets VALUES ('visits', 'one patient_id', 'add_remove', '6d0d3437435dda1d', NULL, NULL, NULL, '12/1', '1/1000000000', '1/10000000000', '10/1', 'a second study', 12000000000000, 1496375267009015, 100000000, NULL, 12300000000000, 10000000, NULL, 12300000000000, 10000000, 16, 'b06b1a9bb8d68a3e42b6ec1a29546f0e243d685e8e61631361af9a49684f022b', '2584931840176017/562949953421312', 12300000000000, 12300000000000);
INSERT INTO discreet.datasets VALUES ('people', 'one row (protects rows, not people)', 'replace_one', '85731a4cde3e8995', NULL, NULL, NULL, '1/3', '0/1', '0/1', '10/1', NULL, 333333333333, 0, 0, 333000000000, 55444500000000, 0, 0, 0, 0, 7, '116fc1b3beed4808145a953ec9e18d15d702cdd8fbfca7bbe8f4ab6a3c28f8fa', NULL, 55444500000000, 0);
INSERT INTO discreet.events VALUES ('visits', 1, 1, 'REGISTERED', '2026-11-18T04:59:17.261341+00:00', 1, NULL, NULL, 0, 0, 0, NULL, NULL, NULL, '1a75888ad910062dcc6a5772640a806a1f36ee8b3a769c2d7a4b58c789cfc966', '{"budget":{"ceiling":"10/1","delta":"1/1000000000","epsilon":"2/1","reason":null,"reserved_delta":"1/10000000000"},"caps":[2000000000000,55817450132233,100000000],"hash_key":"551e993e5cb4447fe4f1b1a1c2f98d6c255c73601d7af85d10ab9e12e47a66be","ledger":"a680439969524db984f6a57b070e642b","neighbours":"add_remove","order":"5320562508480651/281474976710656","slice":{"part_of":null,"slice_end":null,"slice_start":null},"unit":"one patient_id"}', '0.1.0', '0000000000000000000000000000000000000000000000000000000000000000', '801438caf2a62538e7fbf72d42ea540ed5a0789cccf6a9aec462f1f0c0c5ecf3', 0);
INSERT INTO discreet.events VALUES ('people', 1, 1, 'REGISTERED', '2026-11-18T04:59:17.270026+00:00', 1, NULL, NULL, 0, 0, 0, NULL, NULL, NULL, '4d1c802f37afbbe4461b77a779839047da00bf156022dd086b313769b53f0776', '{"budget":{"ceiling":"10/1","delta":"0/1","epsilon":"1/1","reason":null,"reserved_delta":"0/1"},"caps":[1000000000000,0,0],"hash_key":"d07273d00e7fafdd32ce11d23544abf7594bfd05b7cdec17ef3e5e946434b63c","ledger":"a680439969524db984f6a57b070e642b","neighbours":"add_remove","order":null,"slice":{"part_of":null,"slice_end":null,"slice_start":null},"unit":"one row (protects rows, not people)"}', '0.1.0', '0000000000000000000000000000000000000000000000000000000000000000', 'a0d9a95513a357b404f9c7dd2bcd6e65fd77c87b1fa9c579b8c1847ed6a05194', 0);
INSERT INTO discreet.events VALUES ('people', 2, 1, 'REGISTERED', '2026-11-18T04:59:17.277062+00:00', 1, NULL, NULL, 0, 0, 0, NULL, NULL, NULL, '4d1c802f37afbbe4461b77a779839047da00bf156022dd086b313769b53f0776', '{"new":{"budget":{"ceiling":"10/1","delta":"0/1","epsilon":"1/3","reason":null,"reserved_delta":"0/1"},"caps":[333333333333,0,0],"dataset":"people","facts":"{}","hash_key":"d07273d00e7fafdd32ce11d23544abf7594bfd05b7cdec17ef3e5e946434b63c","neighbours":"replace_one","order":null,"population":null,"slice":{"part_of":null,"slice_end":null,"slice_start":null},"source":"memory","unit":"one row (protects rows, not people)","version":1},"old":{"budget":{"ceiling":"10/1","delta":"0/1","epsilon":"1/1","reason":null,"reserved_delta":"0/1"},"caps":[1000000000000,0,0],"dataset":"people","facts":"{}","hash_key":"d07273d00e7fafdd32ce11d23544abf7594bfd05b7cdec17ef3e5e946434b63c","neighbours":"add_remove","order":null,"population":null,"slice":{"part_of":null,"slice_end":null,"slice_start":null},"source":"memory","unit":"one row (protects rows, not people)","version":1}}', '0.1.0', 'a0d9a95513a357b404f9c7dd2bcd6e65fd77c87b1fa9c579b8c1847ed6a05194', '6edb6dbd73a848b6090b59df38a7736f87e86460e78e05999d6cea1d5f798176', 0);
INSERT INTO discreet.events VALUES ('visits', 2, 1, 'RESERVED', '2026-11-18T04:59:17.290338+00:00', 1, 'ann', '{"epsilon":"1/10","kind":"PureEvent"}', 100000000000, 5000000000000, 0, 'ab', 'r-1', NULL, '4ff3e22665259e4977cc76b05710cc561b6516e97277dd75abda9b5eac54d4b5', NULL, '0.1.0', '801438caf2a62538e7fbf72d42ea540ed5a0789cccf6a9aec462f1f0c0c5ecf3', '5249149e58221025fa9639ddb7e1a6a33d1a3e286d156e71b87106d3323ea9e1', 3459652233679);
INSERT INTO discreet.events VALUES ('visits', 3, 1, 'ANSWERED', '2026-11-18T04:59:17.294055+00:00', 1, 'ann', NULL, 0, 0, 0, 'ab', NULL, 2, 'adff6dac415bc9e028c14de440d46c5cfad3ff5f9f92f5ca03a8a45bb53404ab', NULL, '0.1.0', '5249149e58221025fa9639ddb7e1a6a33d1a3e286d156e71b87106d3323ea9e1', '653bf7a8412266b41f96f943fc0f82c8dbcf2852d00fbe0f98eadee12e842ce9', 0);
INSERT INTO discreet.events VALUES ('visits', 4, 1, 'RESERVED', '2026-11-18T04:59:17.302032+00:00', 1, 'ann', '{"dimension":1,"kind":"DiscreteGaussianEvent","squared_sensitivity":"1/1","variance":"400/1"}', NULL, 1250000000000, 0, 'cd', 'auto-e6609a7b69376d0240e00581e79a0114', NULL, '4ff3e22665259e4977cc76b05710cc561b6516e97277dd75abda9b5eac54d4b5', NULL, '0.1.0', '653bf7a8412266b41f96f943fc0f82c8dbcf2852d00fbe0f98eadee12e842ce9', 'b2d4da7dc6d0351411342392fef645fb59f41f8299491b6a3c3a13803c133582', 1250000000000);
INSERT INTO discreet.events VALUES ('visits', 5, 1, 'ANSWERED', '2026-11-18T04:59:17.309854+00:00', 1, 'ann', NULL, 0, 0, 0, 'cd', NULL, 4, 'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855', NULL, '0.1.0', 'b2d4da7dc6d0351411342392fef645fb59f41f8299491b6a3c3a13803c133582', '948ead12cda2124206a308649dec3df409cd5ebc68cb84454fc45b08187296f8', 0);
INSERT INTO discreet.events VALUES ('visits', 6, 1, 'RESERVED', '2026-11-18T04:59:17.316616+00:00', 1, 'ann', '{"delta":"1/100000000000","epsilon":"1/10","kind":"ApproximateEvent"}', 100000000000, 5000000000000, 10000000, 'ef', 'auto-bcc343283def94b8d43fefa557a1c6e0', NULL, '4ff3e22665259e4977cc76b05710cc561b6516e97277dd75abda9b5eac54d4b5', NULL, '0.1.0', '948ead12cda2124206a308649dec3df409cd5ebc68cb84454fc45b08187296f8', 'eb621f94cc114fddd18fd867132e1e797376242b236a901bee0909e41c99c329', 3459652233679);
INSERT INTO discreet.events VALUES ('visits', 7, 1, 'ANSWERED', '2026-11-18T04:59:17.320534+00:00', 1, 'ann', NULL, 0, 0, 0, 'ef', NULL, 6, '5feceb66ffc86f38d952786c6d696c79c2dbc239dd4e91b46729d73a27fb57e9', NULL, '0.1.0', 'eb621f94cc114fddd18fd867132e1e797376242b236a901bee0909e41c99c329', 'b6e34ec742a623fe4c2da128d0a507b943955e2b555b68e771ed2ee0c5baed1a', 0);
INSERT INTO discreet.events VALUES ('visits', 8, 1, 'VERSIONED', '2026-11-18T04:59:17.325632+00:00', 2, NULL, NULL, 0, 0, 0, NULL, NULL, NULL, '15c67519802ee1a866c3a9abc3b56d0a1fe480afde5199e46c86311d9cf3cc80', NULL, '0.1.0', 'b6e34ec742a623fe4c2da128d0a507b943955e2b555b68e771ed2ee0c5baed1a', '795524fd9e24be7167247160c1719009c9ab9d9df3190c06c121171e2b36b51f', 0);
INSERT INTO discreet.events VALUES ('visits', 9, 1, 'RESERVED', '2026-11-18T04:59:17.332475+00:00', 2, 'bob', '{"delta":"0/1","kind":"ConcentratedEvent","rho":"1/1000"}', NULL, 1000000000000, 0, 'ab', 'auto-b7f47bfb91dc71a25e8924def84e8cfa', NULL, '4ff3e22665259e4977cc76b05710cc561b6516e97277dd75abda9b5eac54d4b5', NULL, '0.1.0', '795524fd9e24be7167247160c1719009c9ab9d9df3190c06c121171e2b36b51f', 'f9711c12ff10510e1a03400176270b87277166e3861d8d53d60f479c27db65eb', 1000000000000);
INSERT INTO discreet.events VALUES ('visits', 10, 1, 'FORFEITED', '2026-11-18T04:59:17.336349+00:00', 2, 'bob', NULL, 0, 0, 0, 'ab', NULL, 9, NULL, '{"code":"timeout"}', '0.1.0', 'f9711c12ff10510e1a03400176270b87277166e3861d8d53d60f479c27db65eb', '2e3e44f9d60b6bd71f5ab78e13f7eaf73f0d2ca0a8ed8ce2ebc8240774cf630c', 0);
INSERT INTO discreet.events VALUES ('visits', 11, 1, 'RESERVED', '2026-11-18T04:59:17.344805+00:00', 1, 'Ann Müller', '{"kind":"DiscreteLaplaceEvent","scale":"100/1","sensitivity":"1/1"}', 10000000000, 50000000000, 0, 'ab', 'auto-40d4f80cae715b33627577311bf7c513', NULL, '4ff3e22665259e4977cc76b05710cc561b6516e97277dd75abda9b5eac54d4b5', NULL, '0.1.0', '2e3e44f9d60b6bd71f5ab78e13f7eaf73f0d2ca0a8ed8ce2ebc8240774cf630c', '221a98da01b59a091836b8a4069320565facf24795e5b3153ad5d5dd496825af', 49720108121);
INSERT INTO discreet.events VALUES ('visits', 12, 1, 'REJECTED', '2026-11-18T04:59:17.356336+00:00', 1, 'ann', '{"epsilon":"3/1","kind":"PureEvent"}', 0, 0, 0, 'ab', 'auto-82ce50c5d013dacc534e6e8b83668396', NULL, '4ff3e22665259e4977cc76b05710cc561b6516e97277dd75abda9b5eac54d4b5', '{"asked":[3000000000000,3000000000000000,0,158566129701699]}', '0.1.0', '221a98da01b59a091836b8a4069320565facf24795e5b3153ad5d5dd496825af', '0510775dce0122ebb48cf2d630a68052ecc0ed0adaaf99155ec608cf6cfcbbba', 0);
INSERT INTO discreet.events VALUES ('visits', 13, 1, 'CAPPED', '2026-11-18T04:59:17.361184+00:00', 2, NULL, NULL, 0, 0, 0, NULL, NULL, NULL, NULL, '{"new":{"budget":{"ceiling":"10/1","delta":"1/1000000000","epsilon":"12/1","reason":"a second study","reserved_delta":"1/10000000000"},"caps":[12000000000000,1496375267009015,100000000],"order":"2584931840176017/562949953421312"},"old":{"budget":{"ceiling":"10/1","delta":"1/1000000000","epsilon":"2/1","reason":null,"reserved_delta":"1/10000000000"},"caps":[2000000000000,55817450132233,100000000],"order":"5320562508480651/281474976710656"},"reason":"the board''s decision","restated":{"Ann M\u00fcller":50000000000,"ann":11250000000000,"bob":1000000000000},"spent":[null,12300000000000,10000000,9219024575479]}', '0.1.0', '0510775dce0122ebb48cf2d630a68052ecc0ed0adaaf99155ec608cf6cfcbbba', '6ea00a013c3967bbc98109b24643492cb40824b8a77a5088c4217b7d2a48ba7e', 3080975424521);
INSERT INTO discreet.events VALUES ('people', 3, 1, 'RESERVED', '2026-11-18T04:59:17.368291+00:00', 1, 'ann', '{"epsilon":"333/1000","kind":"PureEvent"}', 333000000000, 55444500000000, 0, 'ab', 'auto-ab3998b31c3bf40daa33bf91fe89dc17', NULL, '4ff3e22665259e4977cc76b05710cc561b6516e97277dd75abda9b5eac54d4b5', NULL, '0.1.0', '6edb6dbd73a848b6090b59df38a7736f87e86460e78e05999d6cea1d5f798176', '3afac22a211de2acc8dbd1c5743dda80ea7b9e5c8a00c5d15ace9bc83711d7da', 55444500000000);
INSERT INTO discreet.events VALUES ('visits', 14, 1, 'LIMITED', '2026-11-18T04:59:17.373482+00:00', 2, NULL, NULL, 0, 0, 0, NULL, NULL, NULL, NULL, '{"analyst":"bob","cap_delta":100000000,"cap_epsilon":1000000000000,"cap_rho":14884337183401,"most_failures":7,"quota":"{\"ceiling\":\"10/1\",\"delta\":\"1/1000000000\",\"epsilon\":\"1/1\",\"reason\":null,\"reserved_delta\":\"1/10000000000\"}","reason":"a small study"}', '0.1.0', '6ea00a013c3967bbc98109b24643492cb40824b8a77a5088c4217b7d2a48ba7e', '02856a6ed173d94923a13a6c97303613aaa42afe61419a63f0c67a10b641249c', 0);
INSERT INTO discreet.events VALUES ('visits', 15, 1, 'LIMITED', '2026-11-18T04:59:17.377558+00:00', 2, NULL, NULL, 0, 0, 0, NULL, NULL, NULL, NULL, '{"analyst":"*","cap_delta":100000000,"cap_epsilon":12000000000000,"cap_rho":1496375267009015,"most_failures":100,"quota":"{\"ceiling\":\"10/1\",\"delta\":\"1/1000000000\",\"epsilon\":\"12/1\",\"reason\":\"all\",\"reserved_delta\":\"1/10000000000\"}","reason":"fair"}', '0.1.0', '02856a6ed173d94923a13a6c97303613aaa42afe61419a63f0c67a10b641249c', '94f26062239189167247e6d760f253ff33ce93190ecd0d21bea63e4ac3843957', 0);
INSERT INTO discreet.events VALUES ('people', 4, 1, 'RENAMED', '2026-11-18T04:59:17.381832+00:00', 1, NULL, NULL, 0, 0, 0, NULL, NULL, NULL, NULL, '{"alias":"persons","reason":"plain words"}', '0.1.0', '3afac22a211de2acc8dbd1c5743dda80ea7b9e5c8a00c5d15ace9bc83711d7da', '4c5fc4e7e221f91e6b7896c1c468fcb161253f65d19e93a160f784dc1222d586', 0);
INSERT INTO discreet.events VALUES ('stays 1', 1, 1, 'REGISTERED', '2026-11-18T04:59:17.386277+00:00', 1, NULL, NULL, 0, 0, 0, NULL, NULL, NULL, 'b846e26c9c7a911fd04063219f51fd5f8fbc19a12319c17b36a551746fdf9ac3', '{"budget":{"ceiling":"10/1","delta":"0/1","epsilon":"1/1","reason":null,"reserved_delta":"0/1"},"caps":[1000000000000,0,0],"hash_key":"dd9e65bd650934fc41349820d934eea1f048cdfdc7bbcd709b0f77fb396dcd11","ledger":"a680439969524db984f6a57b070e642b","neighbours":"add_remove","order":null,"slice":{"part_of":"stays","slice_end":"2026-02-01T00:00:00.000000","slice_start":"2026-01-01T00:00:00.000000"},"unit":"one patient_id"}', '0.1.0', '0000000000000000000000000000000000000000000000000000000000000000', '20ea715466d482d2cc081e2daaee011bee50e97b81a78f4f7cc6914a127d2744', 0);
INSERT INTO discreet.events VALUES ('stays 2', 1, 1, 'REGISTERED', '2026-11-18T04:59:17.391527+00:00', 1, NULL, NULL, 0, 0, 0, NULL, NULL, NULL, '369316bca04f903d191f666b10a39de3165e56ff810b7195e4580dd86c906bd9', '{"budget":{"ceiling":"10/1","delta":"0/1","epsilon":"1/1","reason":null,"reserved_delta":"0/1"},"caps":[1000000000000,0,0],"hash_key":"b42ecb709c4b2d524dc21b0e3cf1795db7f788611777f77cc21e55e530a79327","ledger":"a680439969524db984f6a57b070e642b","neighbours":"add_remove","order":null,"slice":{"part_of":"stays","slice_end":"2026-03-01T00:00:00.000000","slice_start":"2026-02-01T00:00:00.000000"},"unit":"one patient_id"}', '0.1.0', '0000000000000000000000000000000000000000000000000000000000000000', '65ba9aaec9b9de6540ffa2934dc1cfbfd0eed297458d0e9a3a1c6c95a3ed57fd', 0);
INSERT INTO discreet.events VALUES ('stays 1', 2, 1, 'RESERVED', '2026-11-18T04:59:17.400304+00:00', 1, 'ann', '{"epsilon":"1/10","kind":"PureEvent"}', 100000000000, 5000000000000, 0, 'aa', 'r-2', NULL, '44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a', '{"together":["stays 1","stays 2"]}', '0.1.0', '20ea715466d482d2cc081e2daaee011bee50e97b81a78f4f7cc6914a127d2744', 'c1256d9366b0e453d14c88462ba3128482bcb2d8337ec81201a1704c84aa35a6', 5000000000000);
INSERT INTO discreet.events VALUES ('stays 2', 2, 1, 'RESERVED', '2026-11-18T04:59:17.400471+00:00', 1, 'ann', '{"epsilon":"1/10","kind":"PureEvent"}', 100000000000, 5000000000000, 0, 'aa', 'r-2', NULL, '44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a', '{"together":["stays 1","stays 2"]}', '0.1.0', '65ba9aaec9b9de6540ffa2934dc1cfbfd0eed297458d0e9a3a1c6c95a3ed57fd', 'cf75dff4570dfaf1e5a05ccbd80042717c0ba565df6d7faea0dd9d706ab80f5a', 5000000000000);
INSERT INTO discreet.events VALUES ('stays 1', 3, 1, 'ANSWERED', '2026-11-18T04:59:17.406002+00:00', 1, 'ann', NULL, 0, 0, 0, 'aa', NULL, 2, '0c24734d7bf5954f08e5bfe4820b0b2f63da8d658df37c9d50080485e034b721', NULL, '0.1.0', 'c1256d9366b0e453d14c88462ba3128482bcb2d8337ec81201a1704c84aa35a6', '5833d94e54f69aaae80224b5eb5bae4890149f26794e036bcc20feb97269cf7e', 0);
INSERT INTO discreet.events VALUES ('stays 2', 3, 1, 'ANSWERED', '2026-11-18T04:59:17.406093+00:00', 1, 'ann', NULL, 0, 0, 0, 'aa', NULL, 2, '0c24734d7bf5954f08e5bfe4820b0b2f63da8d658df37c9d50080485e034b721', NULL, '0.1.0', 'cf75dff4570dfaf1e5a05ccbd80042717c0ba565df6d7faea0dd9d706ab80f5a', 'ec9dabb9c04d45837b7b69d993e3cfcaf6f7834070d5db1d6c9347144b94525a', 0);
INSERT INTO discreet.events VALUES ('stays 1', 4, 1, 'RESERVED', '2026-11-18T04:59:17.409767+00:00', 1, 'ann', '{"epsilon":"1/10","kind":"PureEvent"}', 100000000000, 5000000000000, 0, 'ab', 'auto-e65a2a067c1b86f91e1838b602b7d262', NULL, '4ff3e22665259e4977cc76b05710cc561b6516e97277dd75abda9b5eac54d4b5', NULL, '0.1.0', '5833d94e54f69aaae80224b5eb5bae4890149f26794e036bcc20feb97269cf7e', 'b75a91378a5027e758ad2f3097a98d99df97f64bf6dc32171a104cf9b39b03f3', 5000000000000);
INSERT INTO discreet.events VALUES ('stays 1', 5, 1, 'RESUMED', '2026-11-18T04:59:17.869745+00:00', 1, 'ann', NULL, 0, 0, 0, 'ab', NULL, 4, NULL, NULL, '0.1.0', 'b75a91378a5027e758ad2f3097a98d99df97f64bf6dc32171a104cf9b39b03f3', '90e7d54758c515ad33f7b8619415759461e1ce3a359746624b44e09e6f76476d', 0);
INSERT INTO discreet.events VALUES ('stays 1', 6, 1, 'ANSWERED', '2026-11-18T04:59:17.872500+00:00', 1, 'ann', NULL, 0, 0, 0, 'ab', NULL, 4, '0343ba7f6d63784231e94e9ce00815fd019f966d9848d089b9de9c9bb97d7234', NULL, '0.1.0', '90e7d54758c515ad33f7b8619415759461e1ce3a359746624b44e09e6f76476d', 'cb4873ac658e0a1e9c265fe7325772bcfb482fc40d71cff872167ee3a2e7741f', 0);
INSERT INTO discreet.events VALUES ('stays 2', 4, 1, 'RESERVED', '2026-11-18T04:59:17.875401+00:00', 1, 'ann', '{"epsilon":"1/10","kind":"PureEvent"}', 100000000000, 5000000000000, 0, 'bb', 'auto-41dfcc04e54337cb9128721ea13519f1', NULL, '4ff3e22665259e4977cc76b05710cc561b6516e97277dd75abda9b5eac54d4b5', NULL, '0.1.0', 'ec9dabb9c04d45837b7b69d993e3cfcaf6f7834070d5db1d6c9347144b94525a', '698e3428280a0f7a9f56d229f28960d282db09efff512d2dcf126843d6bfe8e5', 5000000000000);
INSERT INTO discreet.events VALUES ('visits', 16, 1, 'FORFEITED', '2026-11-18T04:59:18.332973+00:00', 1, 'Ann Müller', NULL, 0, 0, 0, 'ab', NULL, 11, NULL, '{"code":"lease_expired"}', '0.1.0', '94f26062239189167247e6d760f253ff33ce93190ecd0d21bea63e4ac3843957', 'b06b1a9bb8d68a3e42b6ec1a29546f0e243d685e8e61631361af9a49684f022b', 0);
INSERT INTO discreet.events VALUES ('people', 5, 1, 'FORFEITED', '2026-11-18T04:59:18.338412+00:00', 1, 'ann', NULL, 0, 0, 0, 'ab', NULL, 3, NULL, '{"code":"lease_expired"}', '0.1.0', '4c5fc4e7e221f91e6b7896c1c468fcb161253f65d19e93a160f784dc1222d586', '0d342acd3f2db96f5a77d95a5b6792dd86ed16bffd998243d381aa3e13e4f473', 0);
INSERT INTO discreet.events VALUES ('stays 2', 5, 1, 'FORFEITED', '2026-11-18T04:59:18.343281+00:00', 1, 'ann', NULL, 0, 0, 0, 'bb', NULL, 4, NULL, '{"code":"lease_expired"}', '0.1.0', '698e3428280a0f7a9f56d229f28960d282db09efff512d2dcf126843d6bfe8e5', '2d9ad971437fdb07196fe7045c408eefb2b99658ef635ac4d273989df87ef8b7', 0);
INSERT INTO discreet.events VALUES ('stays 1', 7, 1, 'RESERVED', '2026-11-18T04:59:18.346226+00:00', 1, 'ann', '{"epsilon":"1/10","kind":"PureEvent"}', 100000000000, 5000000000000, 0, 'dd', 'auto-f9735dcc1710412c8865fe2add0ba51f', NULL, '4ff3e22665259e4977cc76b05710cc561b6516e97277dd75abda9b5eac54d4b5', NULL, '0.1.0', 'cb4873ac658e0a1e9c265fe7325772bcfb482fc40d71cff872167ee3a2e7741f', '335454be71b39ee81487bacec15dd77dc70314c74c163b33b5d223148dac6e91', 5000000000000);
INSERT INTO discreet.events VALUES ('people', 6, 1, 'PUBLISHED', '2026-11-18T04:59:18.352653+00:00', 1, 'owner', NULL, 0, 0, 0, NULL, 'auto-bd8153eb1c8853b3946ca4c76ccfbac5', NULL, 'abababababababababababababababababababababababababababababababab', '{"kind":"generalised","what":"people.csv, ages in tens"}', '0.1.0', '0d342acd3f2db96f5a77d95a5b6792dd86ed16bffd998243d381aa3e13e4f473', '7dcbf9f7cddfc7e8419188f9dbf7852fc5ba2d3f4686b8ef1ef0991bc7983ffd', 0);
INSERT INTO discreet.events VALUES ('people', 7, 1, 'PUBLISHED', '2026-11-18T04:59:18.356595+00:00', 1, 'ann', NULL, 0, 0, 0, NULL, 'auto-3b1a51d6688a3ff0414f67d7aa9339c8', NULL, NULL, '{"kind":"exact","what":"Tabelle f\u00fcr die Presse"}', '0.1.0', '7dcbf9f7cddfc7e8419188f9dbf7852fc5ba2d3f4686b8ef1ef0991bc7983ffd', '116fc1b3beed4808145a953ec9e18d15d702cdd8fbfca7bbe8f4ab6a3c28f8fa', 0);
INSERT INTO discreet.ledger VALUES ('a680439969524db984f6a57b070e642b');
INSERT INTO discreet.reservations VALUES ('visits', 2, 'ann', 'r-1', 'ab', '{"plan":"count"}', 'ANSWERED', 1, 1794977957593);
INSERT INTO discreet.reservations VALUES ('visits', 4, 'ann', 'auto-e6609a7b69376d0240e00581e79a0114', 'cd', '{"plan":"count"}', 'ANSWERED', 1, 1794977957608);
INSERT INTO discreet.reservations VALUES ('visits', 6, 'ann', 'auto-bcc343283def94b8d43fefa557a1c6e0', 'ef', '{"plan":"count"}', 'ANSWERED', 1, 1794977957619);
INSERT INTO discreet.reservations VALUES ('visits', 9, 'bob', 'auto-b7f47bfb91dc71a25e8924def84e8cfa', 'ab', '{"plan":"count"}', 'FORFEITED', 1, 1794977957634);
INSERT INTO discreet.reservations VALUES ('stays 1', 2, 'ann', 'r-2', 'aa', '{}', 'ANSWERED', 1, 1794977957702);
INSERT INTO discreet.reservations VALUES ('stays 2', 2, 'ann', 'r-2', 'aa', '{}', 'ANSWERED', 1, 1794977957703);
INSERT INTO discreet.reservations VALUES ('stays 1', 4, 'ann', 'auto-e65a2a067c1b86f91e1838b602b7d262', 'ab', '{"plan":"count"}', 'ANSWERED', 2, 1794977958171);
INSERT INTO discreet.reservations VALUES ('visits', 11, 'Ann Müller', 'auto-40d4f80cae715b33627577311bf7c513', 'ab', '{"plan":"count"}', 'FORFEITED', 1, 1794977957646);
INSERT INTO discreet.reservations VALUES ('people', 3, 'ann', 'auto-ab3998b31c3bf40daa33bf91fe89dc17', 'ab', '{"plan":"count"}', 'FORFEITED', 1, 1794977957670);
INSERT INTO discreet.reservations VALUES ('stays 2', 4, 'ann', 'auto-41dfcc04e54337cb9128721ea13519f1', 'bb', '{"plan":"count"}', 'FORFEITED', 1, 1794977958177);
INSERT INTO discreet.reservations VALUES ('stays 1', 7, 'ann', 'auto-f9735dcc1710412c8865fe2add0ba51f', 'dd', '{"plan":"count"}', 'RESERVED', 1, 1794977958649);
INSERT INTO discreet.schema_versions VALUES (1, '2026-11-18T04:59:17.160063+00:00', '0.1.0');
INSERT INTO discreet.schema_versions VALUES (2, '2026-11-18T04:59:17.163867+00:00', '0.1.0');
INSERT INTO discreet.schema_versions VALUES (3, '2026-11-18T04:59:17.165895+00:00', '0.1.0');
INSERT INTO discreet.schema_versions VALUES (4, '2026-11-18T04:59:17.172335+00:00', '0.1.0');
INSERT INTO discreet.schema_versions VALUES (5, '2026-11-18T04:59:17.175242+00:00', '0.1.0');
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
CREATE INDEX other_releases ON discreet.events USING btree (dataset, sequence) WHERE (kind = 'PUBLISHED'::text);
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
