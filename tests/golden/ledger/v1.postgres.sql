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
INSERT INTO discreet.datasets VALUES ('visits', 'one patient_id', 'add_remove', 'd2afa3dc62878356', NULL, NULL, NULL, '12/1', '1/1000000000', '1/10000000000', '10/1', 'a second study', 12000000000000, 1496375267009015, 100000000, NULL, 12300000000000, 10000000, NULL, 12300000000000, 10000000, 16, 'd321034cbda9553aebdc35dc79d69a39180584b0b777684183ec711e7faab302');
INSERT INTO discreet.datasets VALUES ('people', 'one row (protects rows, not people)', 'replace_one', '72c35934bdc3c36c', NULL, NULL, NULL, '1/3', '0/1', '0/1', '10/1', NULL, 333333333333, 0, 0, 333000000000, 55444500000000, 0, 0, 0, 0, 5, 'f3a81acf5ffb57ab2e7b109ce8c2674abfd86d7c40a1f6371fad3c49734e4846');
INSERT INTO discreet.datasets VALUES ('stays 2', 'one patient_id', 'add_remove', '86d32f4ff0c350b9', 'stays', '2026-02-01T00:00:00.000000', '2026-03-01T00:00:00.000000', '1/1', '0/1', '0/1', '10/1', NULL, 1000000000000, 0, 0, 200000000000, 10000000000000, 0, 0, 0, 0, 5, '83a49eccae975712df79bbcdf02c9b7b10c2149492cff6493f15a21eb6ffd274');
INSERT INTO discreet.datasets VALUES ('stays 1', 'one patient_id', 'add_remove', '1f91d2f56a618ec5', 'stays', '2026-01-01T00:00:00.000000', '2026-02-01T00:00:00.000000', '1/1', '0/1', '0/1', '10/1', NULL, 1000000000000, 0, 0, 300000000000, 15000000000000, 0, 0, 0, 0, 7, 'c484411509e7f0681275aacfc960a06141cffbbdf35e62befd5e907fe6a4d63f');
INSERT INTO discreet.events VALUES ('visits', 1, 1, 'REGISTERED', '2026-11-15T09:31:59.554101+00:00', 1, NULL, NULL, 0, 0, 0, NULL, NULL, NULL, '1a75888ad910062dcc6a5772640a806a1f36ee8b3a769c2d7a4b58c789cfc966', '{"budget":{"ceiling":"10/1","delta":"1/1000000000","epsilon":"2/1","reason":null,"reserved_delta":"1/10000000000"},"caps":[2000000000000,55817450132233,100000000],"hash_key":"830f35045e98102d57bfed0167e9630009651695e4ccaab7ae17807f87099ae2","ledger":"cb87c83dbae7465fbc2bb9e3a51d1b09","neighbours":"add_remove","slice":{"part_of":null,"slice_end":null,"slice_start":null},"unit":"one patient_id"}', '0.1.0', '0000000000000000000000000000000000000000000000000000000000000000', 'f998a9909bb314d615efc143ca17d066c78e9e6c7983ca95d53ff68e92ec7040');
INSERT INTO discreet.events VALUES ('people', 1, 1, 'REGISTERED', '2026-11-15T09:31:59.587792+00:00', 1, NULL, NULL, 0, 0, 0, NULL, NULL, NULL, '4d1c802f37afbbe4461b77a779839047da00bf156022dd086b313769b53f0776', '{"budget":{"ceiling":"10/1","delta":"0/1","epsilon":"1/1","reason":null,"reserved_delta":"0/1"},"caps":[1000000000000,0,0],"hash_key":"f25fbd87e02ad90d956bfbd0f4e5d685c0d5f88ab869ca88c6b498467cb247cc","ledger":"cb87c83dbae7465fbc2bb9e3a51d1b09","neighbours":"add_remove","slice":{"part_of":null,"slice_end":null,"slice_start":null},"unit":"one row (protects rows, not people)"}', '0.1.0', '0000000000000000000000000000000000000000000000000000000000000000', '7072b8ebda4cc61804eca4952323fa06f6b8a0e58cd1705825e1eeb232c47e62');
INSERT INTO discreet.events VALUES ('people', 2, 1, 'REGISTERED', '2026-11-15T09:31:59.608211+00:00', 1, NULL, NULL, 0, 0, 0, NULL, NULL, NULL, '4d1c802f37afbbe4461b77a779839047da00bf156022dd086b313769b53f0776', '{"new":{"budget":{"ceiling":"10/1","delta":"0/1","epsilon":"1/3","reason":null,"reserved_delta":"0/1"},"caps":[333333333333,0,0],"dataset":"people","facts":"{}","hash_key":"f25fbd87e02ad90d956bfbd0f4e5d685c0d5f88ab869ca88c6b498467cb247cc","neighbours":"replace_one","population":null,"slice":{"part_of":null,"slice_end":null,"slice_start":null},"source":"memory","unit":"one row (protects rows, not people)","version":1},"old":{"budget":{"ceiling":"10/1","delta":"0/1","epsilon":"1/1","reason":null,"reserved_delta":"0/1"},"caps":[1000000000000,0,0],"dataset":"people","facts":"{}","hash_key":"f25fbd87e02ad90d956bfbd0f4e5d685c0d5f88ab869ca88c6b498467cb247cc","neighbours":"add_remove","population":null,"slice":{"part_of":null,"slice_end":null,"slice_start":null},"source":"memory","unit":"one row (protects rows, not people)","version":1}}', '0.1.0', '7072b8ebda4cc61804eca4952323fa06f6b8a0e58cd1705825e1eeb232c47e62', '49d2e05d15df366447188dd189beedbd942acbc415c2f47300b9ec8cbbc967af');
INSERT INTO discreet.events VALUES ('visits', 2, 1, 'RESERVED', '2026-11-15T09:31:59.638414+00:00', 1, 'ann', '{"epsilon":"1/10","kind":"PureEvent"}', 100000000000, 5000000000000, 0, 'ab', 'r-1', NULL, '4ff3e22665259e4977cc76b05710cc561b6516e97277dd75abda9b5eac54d4b5', NULL, '0.1.0', 'f998a9909bb314d615efc143ca17d066c78e9e6c7983ca95d53ff68e92ec7040', '895d2c35134643870167c083ee1ae8bb8542ebda9b517a2a27de0ee5836b52aa');
INSERT INTO discreet.events VALUES ('visits', 3, 1, 'ANSWERED', '2026-11-15T09:31:59.669464+00:00', 1, 'ann', NULL, 0, 0, 0, 'ab', NULL, 2, 'adff6dac415bc9e028c14de440d46c5cfad3ff5f9f92f5ca03a8a45bb53404ab', NULL, '0.1.0', '895d2c35134643870167c083ee1ae8bb8542ebda9b517a2a27de0ee5836b52aa', 'acde00ea7e2c5584c843b98561702d17686e796acf95691c020d546c53ea6ffb');
INSERT INTO discreet.events VALUES ('visits', 4, 1, 'RESERVED', '2026-11-15T09:31:59.682569+00:00', 1, 'ann', '{"dimension":1,"kind":"DiscreteGaussianEvent","squared_sensitivity":"1/1","variance":"400/1"}', NULL, 1250000000000, 0, 'cd', 'auto-6eb80a7462364afbb1959bff64b287f1', NULL, '4ff3e22665259e4977cc76b05710cc561b6516e97277dd75abda9b5eac54d4b5', NULL, '0.1.0', 'acde00ea7e2c5584c843b98561702d17686e796acf95691c020d546c53ea6ffb', 'f3adf82abe080b230419b9446e3551a53a88da4a624ee2dcb2a43b8f9f5ebccb');
INSERT INTO discreet.events VALUES ('visits', 5, 1, 'ANSWERED', '2026-11-15T09:31:59.699500+00:00', 1, 'ann', NULL, 0, 0, 0, 'cd', NULL, 4, 'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855', NULL, '0.1.0', 'f3adf82abe080b230419b9446e3551a53a88da4a624ee2dcb2a43b8f9f5ebccb', '7b1f36e232a88cea51fd37fd5301af9e082dc3250821e962141964e0e79857d7');
INSERT INTO discreet.events VALUES ('visits', 6, 1, 'RESERVED', '2026-11-15T09:31:59.718855+00:00', 1, 'ann', '{"delta":"1/100000000000","epsilon":"1/10","kind":"ApproximateEvent"}', 100000000000, 5000000000000, 10000000, 'ef', 'auto-9cfdff34855af0bf22bc82584fe9a76c', NULL, '4ff3e22665259e4977cc76b05710cc561b6516e97277dd75abda9b5eac54d4b5', NULL, '0.1.0', '7b1f36e232a88cea51fd37fd5301af9e082dc3250821e962141964e0e79857d7', 'c71ece3ea5f9d807dda2112a6feee6106647063129c4e8e14d3f05cb6a967d9d');
INSERT INTO discreet.events VALUES ('visits', 7, 1, 'ANSWERED', '2026-11-15T09:31:59.724102+00:00', 1, 'ann', NULL, 0, 0, 0, 'ef', NULL, 6, '5feceb66ffc86f38d952786c6d696c79c2dbc239dd4e91b46729d73a27fb57e9', NULL, '0.1.0', 'c71ece3ea5f9d807dda2112a6feee6106647063129c4e8e14d3f05cb6a967d9d', '52f4dc7dab3a5ceedecc1b25cffd88dd586e79645f52c905ca2acc4e939cfd83');
INSERT INTO discreet.events VALUES ('visits', 8, 1, 'VERSIONED', '2026-11-15T09:31:59.737229+00:00', 2, NULL, NULL, 0, 0, 0, NULL, NULL, NULL, '15c67519802ee1a866c3a9abc3b56d0a1fe480afde5199e46c86311d9cf3cc80', NULL, '0.1.0', '52f4dc7dab3a5ceedecc1b25cffd88dd586e79645f52c905ca2acc4e939cfd83', 'bccaf892d56941bd6d3738bf012538fe87a6c5283db420d9d5aefc9928bf9543');
INSERT INTO discreet.events VALUES ('visits', 9, 1, 'RESERVED', '2026-11-15T09:31:59.754612+00:00', 2, 'bob', '{"delta":"0/1","kind":"ConcentratedEvent","rho":"1/1000"}', NULL, 1000000000000, 0, 'ab', 'auto-94a075f24a93e097b3c702507f65c603', NULL, '4ff3e22665259e4977cc76b05710cc561b6516e97277dd75abda9b5eac54d4b5', NULL, '0.1.0', 'bccaf892d56941bd6d3738bf012538fe87a6c5283db420d9d5aefc9928bf9543', '8a3f32e2dec4b444c48845c94500f5dd8e1752d44d9db14fc76db7fec65a4e3b');
INSERT INTO discreet.events VALUES ('visits', 10, 1, 'FORFEITED', '2026-11-15T09:31:59.776860+00:00', 2, 'bob', NULL, 0, 0, 0, 'ab', NULL, 9, NULL, '{"code":"timeout"}', '0.1.0', '8a3f32e2dec4b444c48845c94500f5dd8e1752d44d9db14fc76db7fec65a4e3b', '4bb8d162674450132b4163274e5130fd14f4cfc35f4bfbb97e72369b15954932');
INSERT INTO discreet.events VALUES ('visits', 11, 1, 'RESERVED', '2026-11-15T09:31:59.791009+00:00', 1, 'Ann Müller', '{"kind":"DiscreteLaplaceEvent","scale":"100/1","sensitivity":"1/1"}', 10000000000, 50000000000, 0, 'ab', 'auto-937f6ca2b4989d7f6c2c0538efcff71d', NULL, '4ff3e22665259e4977cc76b05710cc561b6516e97277dd75abda9b5eac54d4b5', NULL, '0.1.0', '4bb8d162674450132b4163274e5130fd14f4cfc35f4bfbb97e72369b15954932', 'eeb82689774495d99524e619a12c65742171288758ddfb0a17608e48ca58f9ed');
INSERT INTO discreet.events VALUES ('visits', 12, 1, 'REJECTED', '2026-11-15T09:31:59.807475+00:00', 1, 'ann', '{"epsilon":"3/1","kind":"PureEvent"}', 0, 0, 0, 'ab', 'auto-c77229458ffbfdf0235bedc73bf78f40', NULL, '4ff3e22665259e4977cc76b05710cc561b6516e97277dd75abda9b5eac54d4b5', '{"asked":[3000000000000,3000000000000000,0]}', '0.1.0', 'eeb82689774495d99524e619a12c65742171288758ddfb0a17608e48ca58f9ed', 'e85ee1a8438d7d25ae4016f557c4a78bd7b6d97a6208c3c6d71d66208e1dbb8a');
INSERT INTO discreet.events VALUES ('visits', 13, 1, 'CAPPED', '2026-11-15T09:31:59.816173+00:00', 2, NULL, NULL, 0, 0, 0, NULL, NULL, NULL, NULL, '{"new":{"budget":{"ceiling":"10/1","delta":"1/1000000000","epsilon":"12/1","reason":"a second study","reserved_delta":"1/10000000000"},"caps":[12000000000000,1496375267009015,100000000]},"old":{"budget":{"ceiling":"10/1","delta":"1/1000000000","epsilon":"2/1","reason":null,"reserved_delta":"1/10000000000"},"caps":[2000000000000,55817450132233,100000000]},"reason":"the board''s decision","spent":[null,12300000000000,10000000]}', '0.1.0', 'e85ee1a8438d7d25ae4016f557c4a78bd7b6d97a6208c3c6d71d66208e1dbb8a', '7ee21e124fabe80e006b07299def26fd9dfcb568156f8def9185f839e323eed6');
INSERT INTO discreet.events VALUES ('people', 3, 1, 'RESERVED', '2026-11-15T09:31:59.824006+00:00', 1, 'ann', '{"epsilon":"333/1000","kind":"PureEvent"}', 333000000000, 55444500000000, 0, 'ab', 'auto-dd5ea450fbb9d28fdd773dab3fff5d4e', NULL, '4ff3e22665259e4977cc76b05710cc561b6516e97277dd75abda9b5eac54d4b5', NULL, '0.1.0', '49d2e05d15df366447188dd189beedbd942acbc415c2f47300b9ec8cbbc967af', 'de1d60d1584e0d7725a041dca2fc599dec5931dda05847768d21bdd706e19789');
INSERT INTO discreet.events VALUES ('visits', 14, 1, 'LIMITED', '2026-11-15T09:31:59.835757+00:00', 2, NULL, NULL, 0, 0, 0, NULL, NULL, NULL, NULL, '{"analyst":"bob","cap_delta":0,"cap_epsilon":1000000000000,"cap_rho":14973057673588,"most_failures":7,"quota":"{\"ceiling\":\"10/1\",\"delta\":\"1/1000000000\",\"epsilon\":\"1/1\",\"reason\":null,\"reserved_delta\":\"0/1\"}","reason":"a small study"}', '0.1.0', '7ee21e124fabe80e006b07299def26fd9dfcb568156f8def9185f839e323eed6', '91fb57bc17ee8af64a7f443ce38b58379a858892f78058473df9fa9b35f85465');
INSERT INTO discreet.events VALUES ('visits', 15, 1, 'LIMITED', '2026-11-15T09:31:59.843640+00:00', 2, NULL, NULL, 0, 0, 0, NULL, NULL, NULL, NULL, '{"analyst":"*","cap_delta":100000000,"cap_epsilon":12000000000000,"cap_rho":1496375267009015,"most_failures":100,"quota":"{\"ceiling\":\"10/1\",\"delta\":\"1/1000000000\",\"epsilon\":\"12/1\",\"reason\":\"all\",\"reserved_delta\":\"1/10000000000\"}","reason":"fair"}', '0.1.0', '91fb57bc17ee8af64a7f443ce38b58379a858892f78058473df9fa9b35f85465', '833caa5c6e09e78dd2936e0a4f5d049978a4a49026d5c3ae12c65208d87c817e');
INSERT INTO discreet.events VALUES ('people', 4, 1, 'RENAMED', '2026-11-15T09:31:59.849105+00:00', 1, NULL, NULL, 0, 0, 0, NULL, NULL, NULL, NULL, '{"alias":"persons","reason":"plain words"}', '0.1.0', 'de1d60d1584e0d7725a041dca2fc599dec5931dda05847768d21bdd706e19789', 'f66fd913d738901784890159139b09aaa5996209ba624571ca19b991f0581a97');
INSERT INTO discreet.events VALUES ('stays 1', 1, 1, 'REGISTERED', '2026-11-15T09:31:59.859810+00:00', 1, NULL, NULL, 0, 0, 0, NULL, NULL, NULL, 'b846e26c9c7a911fd04063219f51fd5f8fbc19a12319c17b36a551746fdf9ac3', '{"budget":{"ceiling":"10/1","delta":"0/1","epsilon":"1/1","reason":null,"reserved_delta":"0/1"},"caps":[1000000000000,0,0],"hash_key":"891ac0f6c87d0f21256f729842e3024b24c798e1e4ed944d4cc249bc8f8cd601","ledger":"cb87c83dbae7465fbc2bb9e3a51d1b09","neighbours":"add_remove","slice":{"part_of":"stays","slice_end":"2026-02-01T00:00:00.000000","slice_start":"2026-01-01T00:00:00.000000"},"unit":"one patient_id"}', '0.1.0', '0000000000000000000000000000000000000000000000000000000000000000', 'ca7407cf0e95963d3cdffa56e437062f1dd198e126e1a72e30c32efa08770c11');
INSERT INTO discreet.events VALUES ('stays 2', 1, 1, 'REGISTERED', '2026-11-15T09:31:59.874195+00:00', 1, NULL, NULL, 0, 0, 0, NULL, NULL, NULL, '369316bca04f903d191f666b10a39de3165e56ff810b7195e4580dd86c906bd9', '{"budget":{"ceiling":"10/1","delta":"0/1","epsilon":"1/1","reason":null,"reserved_delta":"0/1"},"caps":[1000000000000,0,0],"hash_key":"359eb2a058597b8b9f9715897fd0e21c4780a6a09f27722eeca2dc080ba7b134","ledger":"cb87c83dbae7465fbc2bb9e3a51d1b09","neighbours":"add_remove","slice":{"part_of":"stays","slice_end":"2026-03-01T00:00:00.000000","slice_start":"2026-02-01T00:00:00.000000"},"unit":"one patient_id"}', '0.1.0', '0000000000000000000000000000000000000000000000000000000000000000', 'ed67029da134a4a92aad38d3f639b7050cd7dbc033e1a8acfc28f6835d73ea3b');
INSERT INTO discreet.events VALUES ('stays 1', 2, 1, 'RESERVED', '2026-11-15T09:31:59.890069+00:00', 1, 'ann', '{"epsilon":"1/10","kind":"PureEvent"}', 100000000000, 5000000000000, 0, 'aa', 'r-2', NULL, '44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a', '{"together":["stays 1","stays 2"]}', '0.1.0', 'ca7407cf0e95963d3cdffa56e437062f1dd198e126e1a72e30c32efa08770c11', 'f58a08a54c6017b05777fa3f7fb92e2fc080d9bb536afe6e44d0e0caa1298576');
INSERT INTO discreet.events VALUES ('stays 2', 2, 1, 'RESERVED', '2026-11-15T09:31:59.890326+00:00', 1, 'ann', '{"epsilon":"1/10","kind":"PureEvent"}', 100000000000, 5000000000000, 0, 'aa', 'r-2', NULL, '44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a', '{"together":["stays 1","stays 2"]}', '0.1.0', 'ed67029da134a4a92aad38d3f639b7050cd7dbc033e1a8acfc28f6835d73ea3b', '762d47132b1a89ca4abc1a7e349cbe41bb23dd5d28e2551f08394d7f4d9292b2');
INSERT INTO discreet.events VALUES ('stays 1', 3, 1, 'ANSWERED', '2026-11-15T09:31:59.900922+00:00', 1, 'ann', NULL, 0, 0, 0, 'aa', NULL, 2, '0c24734d7bf5954f08e5bfe4820b0b2f63da8d658df37c9d50080485e034b721', NULL, '0.1.0', 'f58a08a54c6017b05777fa3f7fb92e2fc080d9bb536afe6e44d0e0caa1298576', 'dc7f49cf60cd26a8815dd6a933f59b3628c09cde7aa3d7ec9d7ae8dcb9ba08bd');
INSERT INTO discreet.events VALUES ('stays 2', 3, 1, 'ANSWERED', '2026-11-15T09:31:59.901030+00:00', 1, 'ann', NULL, 0, 0, 0, 'aa', NULL, 2, '0c24734d7bf5954f08e5bfe4820b0b2f63da8d658df37c9d50080485e034b721', NULL, '0.1.0', '762d47132b1a89ca4abc1a7e349cbe41bb23dd5d28e2551f08394d7f4d9292b2', '24d7e3d80869c2a6bb6e48208b6e6d9b04dc76fee8c4d53ef1d0a35c32da1198');
INSERT INTO discreet.events VALUES ('stays 1', 4, 1, 'RESERVED', '2026-11-15T09:31:59.911614+00:00', 1, 'ann', '{"epsilon":"1/10","kind":"PureEvent"}', 100000000000, 5000000000000, 0, 'ab', 'auto-f4ce00580c334479e44f511d9bb1e3bf', NULL, '4ff3e22665259e4977cc76b05710cc561b6516e97277dd75abda9b5eac54d4b5', NULL, '0.1.0', 'dc7f49cf60cd26a8815dd6a933f59b3628c09cde7aa3d7ec9d7ae8dcb9ba08bd', '4a3551f8fcb471aca7447b1a17909697a9c588882078284861f45d8cfde0fa06');
INSERT INTO discreet.events VALUES ('stays 1', 5, 1, 'RESUMED', '2026-11-15T09:32:00.387558+00:00', 1, 'ann', NULL, 0, 0, 0, 'ab', NULL, 4, NULL, NULL, '0.1.0', '4a3551f8fcb471aca7447b1a17909697a9c588882078284861f45d8cfde0fa06', 'dfbb7a4b018b707ba7770fefaab9c14d27c30ba0dbcef84a86a541161d8584e7');
INSERT INTO discreet.events VALUES ('stays 1', 6, 1, 'ANSWERED', '2026-11-15T09:32:00.395217+00:00', 1, 'ann', NULL, 0, 0, 0, 'ab', NULL, 4, '0343ba7f6d63784231e94e9ce00815fd019f966d9848d089b9de9c9bb97d7234', NULL, '0.1.0', 'dfbb7a4b018b707ba7770fefaab9c14d27c30ba0dbcef84a86a541161d8584e7', 'cd79c9515306ead3173a5bc6344cdb46757818e67d27588f3f3e6ad3f2ec8ea3');
INSERT INTO discreet.events VALUES ('stays 2', 4, 1, 'RESERVED', '2026-11-15T09:32:00.402729+00:00', 1, 'ann', '{"epsilon":"1/10","kind":"PureEvent"}', 100000000000, 5000000000000, 0, 'bb', 'auto-da6c45787fd87d0a844db68d4c969da3', NULL, '4ff3e22665259e4977cc76b05710cc561b6516e97277dd75abda9b5eac54d4b5', NULL, '0.1.0', '24d7e3d80869c2a6bb6e48208b6e6d9b04dc76fee8c4d53ef1d0a35c32da1198', '1d35cafdd5991e9c63a27b7c9dc518c325ce2cd10aeb630e43fca97df4f0d6cb');
INSERT INTO discreet.events VALUES ('visits', 16, 1, 'FORFEITED', '2026-11-15T09:32:00.882449+00:00', 1, 'Ann Müller', NULL, 0, 0, 0, 'ab', NULL, 11, NULL, '{"code":"lease_expired"}', '0.1.0', '833caa5c6e09e78dd2936e0a4f5d049978a4a49026d5c3ae12c65208d87c817e', 'd321034cbda9553aebdc35dc79d69a39180584b0b777684183ec711e7faab302');
INSERT INTO discreet.events VALUES ('people', 5, 1, 'FORFEITED', '2026-11-15T09:32:00.890950+00:00', 1, 'ann', NULL, 0, 0, 0, 'ab', NULL, 3, NULL, '{"code":"lease_expired"}', '0.1.0', 'f66fd913d738901784890159139b09aaa5996209ba624571ca19b991f0581a97', 'f3a81acf5ffb57ab2e7b109ce8c2674abfd86d7c40a1f6371fad3c49734e4846');
INSERT INTO discreet.events VALUES ('stays 2', 5, 1, 'FORFEITED', '2026-11-15T09:32:00.905448+00:00', 1, 'ann', NULL, 0, 0, 0, 'bb', NULL, 4, NULL, '{"code":"lease_expired"}', '0.1.0', '1d35cafdd5991e9c63a27b7c9dc518c325ce2cd10aeb630e43fca97df4f0d6cb', '83a49eccae975712df79bbcdf02c9b7b10c2149492cff6493f15a21eb6ffd274');
INSERT INTO discreet.events VALUES ('stays 1', 7, 1, 'RESERVED', '2026-11-15T09:32:00.914939+00:00', 1, 'ann', '{"epsilon":"1/10","kind":"PureEvent"}', 100000000000, 5000000000000, 0, 'dd', 'auto-f65e59eb76337ab105706e0143e572e9', NULL, '4ff3e22665259e4977cc76b05710cc561b6516e97277dd75abda9b5eac54d4b5', NULL, '0.1.0', 'cd79c9515306ead3173a5bc6344cdb46757818e67d27588f3f3e6ad3f2ec8ea3', 'c484411509e7f0681275aacfc960a06141cffbbdf35e62befd5e907fe6a4d63f');
INSERT INTO discreet.ledger VALUES ('cb87c83dbae7465fbc2bb9e3a51d1b09');
INSERT INTO discreet.reservations VALUES ('visits', 2, 'ann', 'r-1', 'ab', '{"plan":"count"}', 'ANSWERED', 1, 1794735119943);
INSERT INTO discreet.reservations VALUES ('visits', 4, 'ann', 'auto-6eb80a7462364afbb1959bff64b287f1', 'cd', '{"plan":"count"}', 'ANSWERED', 1, 1794735119985);
INSERT INTO discreet.reservations VALUES ('visits', 6, 'ann', 'auto-9cfdff34855af0bf22bc82584fe9a76c', 'ef', '{"plan":"count"}', 'ANSWERED', 1, 1794735120020);
INSERT INTO discreet.reservations VALUES ('visits', 9, 'bob', 'auto-94a075f24a93e097b3c702507f65c603', 'ab', '{"plan":"count"}', 'FORFEITED', 1, 1794735120065);
INSERT INTO discreet.reservations VALUES ('stays 1', 2, 'ann', 'r-2', 'aa', '{}', 'ANSWERED', 1, 1794735120196);
INSERT INTO discreet.reservations VALUES ('stays 2', 2, 'ann', 'r-2', 'aa', '{}', 'ANSWERED', 1, 1794735120196);
INSERT INTO discreet.reservations VALUES ('stays 1', 4, 'ann', 'auto-f4ce00580c334479e44f511d9bb1e3bf', 'ab', '{"plan":"count"}', 'ANSWERED', 2, 1794735120689);
INSERT INTO discreet.reservations VALUES ('visits', 11, 'Ann Müller', 'auto-937f6ca2b4989d7f6c2c0538efcff71d', 'ab', '{"plan":"count"}', 'FORFEITED', 1, 1794735120095);
INSERT INTO discreet.reservations VALUES ('people', 3, 'ann', 'auto-dd5ea450fbb9d28fdd773dab3fff5d4e', 'ab', '{"plan":"count"}', 'FORFEITED', 1, 1794735120131);
INSERT INTO discreet.reservations VALUES ('stays 2', 4, 'ann', 'auto-da6c45787fd87d0a844db68d4c969da3', 'bb', '{"plan":"count"}', 'FORFEITED', 1, 1794735120704);
INSERT INTO discreet.reservations VALUES ('stays 1', 7, 'ann', 'auto-f65e59eb76337ab105706e0143e572e9', 'dd', '{"plan":"count"}', 'RESERVED', 1, 1794735121216);
INSERT INTO discreet.schema_versions VALUES (1, '2026-11-15T09:31:59.210360+00:00', '0.1.0');
INSERT INTO discreet.schema_versions VALUES (2, '2026-11-15T09:31:59.245006+00:00', '0.1.0');
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
