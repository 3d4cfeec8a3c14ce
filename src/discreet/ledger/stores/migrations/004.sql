-- The Renyi filter: the divergence of each charge at the order of its budget, divided by the order, beside its rho. What
-- was spent before counts by its rho, which bounds the divergence of every order. The order of a budget that is
-- registered already is NULL until its next charge.

ALTER TABLE discreet.datasets
  ADD COLUMN renyi_order TEXT,
  ADD COLUMN spent_renyi BIGINT CHECK (spent_renyi >= 0),
  ADD COLUMN floor_renyi BIGINT;
ALTER TABLE discreet.analysts
  ADD COLUMN spent_renyi BIGINT CHECK (spent_renyi >= 0),
  ADD COLUMN floor_renyi BIGINT;
ALTER TABLE discreet.events ADD COLUMN cost_renyi BIGINT CHECK (cost_renyi >= 0);

ALTER TABLE discreet.datasets DISABLE TRIGGER dataset_rules;
ALTER TABLE discreet.analysts DISABLE TRIGGER share_rules;
ALTER TABLE discreet.events DISABLE TRIGGER events_written_once;
UPDATE discreet.datasets SET spent_renyi = spent_rho, floor_renyi = floor_rho;
UPDATE discreet.analysts SET spent_renyi = spent_rho, floor_renyi = floor_rho;
UPDATE discreet.events SET cost_renyi = cost_rho;
ALTER TABLE discreet.events ENABLE TRIGGER events_written_once;
ALTER TABLE discreet.analysts ENABLE TRIGGER share_rules;
ALTER TABLE discreet.datasets ENABLE TRIGGER dataset_rules;

ALTER TABLE discreet.datasets
  ALTER COLUMN spent_renyi SET NOT NULL,
  ALTER COLUMN floor_renyi SET NOT NULL,
  DROP CONSTRAINT promise,
  ADD CONSTRAINT promise CHECK (
    (spent_delta <= cap_delta
      AND ((spent_epsilon IS NOT NULL AND spent_epsilon <= cap_epsilon) OR spent_renyi <= cap_rho))
    OR (spent_epsilon IS NOT DISTINCT FROM floor_epsilon AND spent_rho = floor_rho AND spent_delta = floor_delta
      AND spent_renyi = floor_renyi)
  );
ALTER TABLE discreet.analysts
  ALTER COLUMN spent_renyi SET NOT NULL,
  ALTER COLUMN floor_renyi SET NOT NULL,
  DROP CONSTRAINT quota,
  ADD CONSTRAINT quota CHECK (
    cap_rho IS NULL
    OR (spent_delta <= cap_delta
      AND ((spent_epsilon IS NOT NULL AND spent_epsilon <= cap_epsilon) OR spent_renyi <= cap_rho))
    OR (spent_epsilon IS NOT DISTINCT FROM floor_epsilon AND spent_rho = floor_rho AND spent_delta = floor_delta
      AND spent_renyi = floor_renyi)
  );
ALTER TABLE discreet.events
  ALTER COLUMN cost_renyi SET NOT NULL,
  ADD CONSTRAINT divergence CHECK (cost_renyi = 0 OR kind IN ('RESERVED', 'CAPPED', 'RECOVERED'));

CREATE OR REPLACE FUNCTION discreet.guard_dataset() RETURNS trigger LANGUAGE plpgsql AS $$
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

CREATE OR REPLACE FUNCTION discreet.guard_event() RETURNS trigger LANGUAGE plpgsql AS $$
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

CREATE OR REPLACE FUNCTION discreet.guard_share() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF NEW.spent_rho < OLD.spent_rho OR NEW.spent_delta < OLD.spent_delta OR NEW.spent_renyi < OLD.spent_renyi
    OR (OLD.spent_epsilon IS NULL AND NEW.spent_epsilon IS NOT NULL) OR NEW.spent_epsilon < OLD.spent_epsilon
    OR NEW.failures < OLD.failures OR NEW.dataset <> OLD.dataset OR NEW.analyst <> OLD.analyst THEN
    PERFORM discreet.refused('what an analyst spent never falls');
  END IF;
  RETURN NEW;
END
$$;

-- The order must be the dataset's own: the caller has priced the event at it.
DROP FUNCTION discreet.charge;
CREATE FUNCTION discreet.charge(
  given_name TEXT, given_version INTEGER, given_registration BIGINT, given_analyst TEXT, given_question TEXT,
  given_request TEXT, is_fresh BOOLEAN, given_event TEXT, given_epsilon BIGINT, given_rho BIGINT, given_delta BIGINT,
  given_renyi BIGINT, given_order TEXT, given_digest TEXT, given_description TEXT, given_time TEXT, given_library TEXT, given_format INTEGER,
  given_term BIGINT, least_sequence BIGINT, before TEXT, between_them TEXT, after_them TEXT
) RETURNS TABLE (
  previous_head TEXT, new_head TEXT, new_sequence BIGINT, total_epsilon BIGINT, total_rho BIGINT, total_delta BIGINT,
  total_renyi BIGINT, promised_epsilon TEXT, promised_delta TEXT, promised_reserve TEXT, promised_ceiling TEXT,
  promised_reason TEXT, promised_order TEXT
) LANGUAGE plpgsql AS $$
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

DROP FUNCTION discreet.answer;
CREATE FUNCTION discreet.answer(
  given_name TEXT, given_reservation BIGINT, given_charge JSONB, given_attempt INTEGER, given_version INTEGER,
  given_analyst TEXT, given_question TEXT, given_digest TEXT, given_payload BYTEA, given_time TEXT, given_library TEXT,
  given_format INTEGER, least_sequence BIGINT, before TEXT, between_them TEXT, after_them TEXT
) RETURNS TABLE (
  previous_head TEXT, new_head TEXT, new_sequence BIGINT, total_epsilon BIGINT, total_rho BIGINT, total_delta BIGINT,
  total_renyi BIGINT, promised_epsilon TEXT, promised_delta TEXT, promised_reserve TEXT, promised_ceiling TEXT,
  promised_reason TEXT, promised_order TEXT, stored BYTEA
) LANGUAGE plpgsql AS $$
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
