SET check_function_bodies = false;
CREATE SCHEMA discreet;
ALTER SCHEMA discreet OWNER TO data_owner;
CREATE FUNCTION discreet.add_alias(given_alias text, given_dataset text) RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'discreet', 'pg_temp'
    AS $$
BEGIN
  INSERT INTO aliases (alias, dataset)
  VALUES (given_alias, given_dataset);
END
$$;
ALTER FUNCTION discreet.add_alias(given_alias text, given_dataset text) OWNER TO data_owner;
CREATE FUNCTION discreet.add_dataset(given_name text, given_unit text, given_neighbours text, given_hash_key text, given_part_of text, given_slice_start text, given_slice_end text, given_epsilon text, given_delta text, given_reserved_delta text, given_ceiling text, given_reason text, given_cap_epsilon bigint, given_cap_rho bigint, given_cap_delta bigint, given_renyi_order text, given_spent_epsilon bigint, given_spent_rho bigint, given_spent_delta bigint, given_spent_renyi bigint, given_floor_epsilon bigint, given_floor_rho bigint, given_floor_delta bigint, given_floor_renyi bigint, given_sequence bigint, given_head text) RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'discreet', 'pg_temp'
    AS $$
BEGIN
  INSERT INTO datasets (name, unit, neighbours, hash_key, part_of, slice_start, slice_end, epsilon, delta, reserved_delta, ceiling, reason, cap_epsilon, cap_rho, cap_delta, renyi_order, spent_epsilon, spent_rho, spent_delta, spent_renyi, floor_epsilon, floor_rho, floor_delta, floor_renyi, sequence, head)
  VALUES (given_name, given_unit, given_neighbours, given_hash_key, given_part_of, given_slice_start, given_slice_end, given_epsilon, given_delta, given_reserved_delta, given_ceiling, given_reason, given_cap_epsilon, given_cap_rho, given_cap_delta, given_renyi_order, given_spent_epsilon, given_spent_rho, given_spent_delta, given_spent_renyi, given_floor_epsilon, given_floor_rho, given_floor_delta, given_floor_renyi, given_sequence, given_head);
END
$$;
ALTER FUNCTION discreet.add_dataset(given_name text, given_unit text, given_neighbours text, given_hash_key text, given_part_of text, given_slice_start text, given_slice_end text, given_epsilon text, given_delta text, given_reserved_delta text, given_ceiling text, given_reason text, given_cap_epsilon bigint, given_cap_rho bigint, given_cap_delta bigint, given_renyi_order text, given_spent_epsilon bigint, given_spent_rho bigint, given_spent_delta bigint, given_spent_renyi bigint, given_floor_epsilon bigint, given_floor_rho bigint, given_floor_delta bigint, given_floor_renyi bigint, given_sequence bigint, given_head text) OWNER TO data_owner;
CREATE FUNCTION discreet.add_event(given_dataset text, given_sequence bigint, given_format integer, given_kind text, given_time text, given_version integer, given_analyst text, given_event text, given_cost_epsilon bigint, given_cost_rho bigint, given_cost_delta bigint, given_cost_renyi bigint, given_question text, given_request text, given_reservation bigint, given_digest text, given_detail text, given_library text, given_previous text, given_hash text) RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'discreet', 'pg_temp'
    AS $$
BEGIN
  INSERT INTO events (dataset, sequence, format, kind, time, version, analyst, event, cost_epsilon, cost_rho, cost_delta, cost_renyi, question, request, reservation, digest, detail, library, previous, hash)
  VALUES (given_dataset, given_sequence, given_format, given_kind, given_time, given_version, given_analyst, given_event, given_cost_epsilon, given_cost_rho, given_cost_delta, given_cost_renyi, given_question, given_request, given_reservation, given_digest, given_detail, given_library, given_previous, given_hash);
END
$$;
ALTER FUNCTION discreet.add_event(given_dataset text, given_sequence bigint, given_format integer, given_kind text, given_time text, given_version integer, given_analyst text, given_event text, given_cost_epsilon bigint, given_cost_rho bigint, given_cost_delta bigint, given_cost_renyi bigint, given_question text, given_request text, given_reservation bigint, given_digest text, given_detail text, given_library text, given_previous text, given_hash text) OWNER TO data_owner;
CREATE FUNCTION discreet.add_key_act(given_sequence bigint, given_document text) RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'discreet', 'pg_temp'
    AS $$
BEGIN
  INSERT INTO keys (sequence, document)
  VALUES (given_sequence, given_document);
END
$$;
ALTER FUNCTION discreet.add_key_act(given_sequence bigint, given_document text) OWNER TO data_owner;
CREATE FUNCTION discreet.add_share(given_dataset text, given_analyst text, given_quota text, given_is_own integer, given_cap_epsilon bigint, given_cap_rho bigint, given_cap_delta bigint, given_spent_epsilon bigint, given_spent_rho bigint, given_spent_delta bigint, given_spent_renyi bigint, given_floor_epsilon bigint, given_floor_rho bigint, given_floor_delta bigint, given_floor_renyi bigint, given_failures bigint, given_most_failures bigint) RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'discreet', 'pg_temp'
    AS $$
BEGIN
  INSERT INTO analysts (dataset, analyst, quota, is_own, cap_epsilon, cap_rho, cap_delta, spent_epsilon, spent_rho, spent_delta, spent_renyi, floor_epsilon, floor_rho, floor_delta, floor_renyi, failures, most_failures)
  VALUES (given_dataset, given_analyst, given_quota, given_is_own, given_cap_epsilon, given_cap_rho, given_cap_delta, given_spent_epsilon, given_spent_rho, given_spent_delta, given_spent_renyi, given_floor_epsilon, given_floor_rho, given_floor_delta, given_floor_renyi, given_failures, given_most_failures);
END
$$;
ALTER FUNCTION discreet.add_share(given_dataset text, given_analyst text, given_quota text, given_is_own integer, given_cap_epsilon bigint, given_cap_rho bigint, given_cap_delta bigint, given_spent_epsilon bigint, given_spent_rho bigint, given_spent_delta bigint, given_spent_renyi bigint, given_floor_epsilon bigint, given_floor_rho bigint, given_floor_delta bigint, given_floor_renyi bigint, given_failures bigint, given_most_failures bigint) OWNER TO data_owner;
CREATE FUNCTION discreet.add_version(given_dataset text, given_version integer, given_source text, given_facts text, given_population bigint, given_registered bigint) RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'discreet', 'pg_temp'
    AS $$
BEGIN
  INSERT INTO versions (dataset, version, source, facts, population, registered)
  VALUES (given_dataset, given_version, given_source, given_facts, given_population, given_registered);
END
$$;
ALTER FUNCTION discreet.add_version(given_dataset text, given_version integer, given_source text, given_facts text, given_population bigint, given_registered bigint) OWNER TO data_owner;
CREATE FUNCTION discreet.analysts_before_insert() RETURNS trigger
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'discreet', 'pg_temp'
    AS $$
BEGIN
  PERFORM 1 FROM datasets WHERE name = NEW.dataset FOR UPDATE;
  IF NOT pg_has_role(current_user, (SELECT nspowner FROM pg_namespace WHERE nspname = 'discreet'), 'USAGE') AND (NEW.is_own <> 0 OR NEW.failures <> 0 OR NEW.floor_epsilon IS DISTINCT FROM 0 OR NEW.floor_rho <> 0 OR NEW.floor_delta <> 0 OR NEW.floor_renyi <> 0 OR NOT (EXISTS (SELECT 1 FROM analysts WHERE dataset = NEW.dataset AND analyst = '*' AND most_failures = NEW.most_failures AND quota IS NOT DISTINCT FROM NEW.quota AND cap_epsilon IS NOT DISTINCT FROM NEW.cap_epsilon AND cap_rho IS NOT DISTINCT FROM NEW.cap_rho AND cap_delta IS NOT DISTINCT FROM NEW.cap_delta) OR (NEW.most_failures = 100 AND NEW.quota IS NULL AND NEW.cap_epsilon IS NULL AND NEW.cap_rho IS NULL AND NEW.cap_delta IS NULL AND NOT EXISTS (SELECT 1 FROM analysts WHERE dataset = NEW.dataset AND analyst = '*')))) THEN
    RAISE EXCEPTION 'a new analyst has the quota of everyone' USING ERRCODE = 'integrity_constraint_violation';
  END IF;
  RETURN NEW;
END
$$;
ALTER FUNCTION discreet.analysts_before_insert() OWNER TO data_owner;
CREATE FUNCTION discreet.analysts_before_update() RETURNS trigger
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'discreet', 'pg_temp'
    AS $$
BEGIN
  IF NEW.spent_rho < OLD.spent_rho OR NEW.spent_delta < OLD.spent_delta OR NEW.spent_renyi < OLD.spent_renyi OR (OLD.spent_epsilon IS NULL AND NEW.spent_epsilon IS NOT NULL) OR NEW.spent_epsilon < OLD.spent_epsilon OR NEW.failures < OLD.failures OR NEW.dataset <> OLD.dataset OR NEW.analyst <> OLD.analyst THEN
    RAISE EXCEPTION 'what an analyst spent never falls' USING ERRCODE = 'integrity_constraint_violation';
  END IF;
  RETURN NEW;
END
$$;
ALTER FUNCTION discreet.analysts_before_update() OWNER TO data_owner;
CREATE FUNCTION discreet.answers_before_insert() RETURNS trigger
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'discreet', 'pg_temp'
    AS $$
BEGIN
  IF NOT EXISTS (SELECT 1 FROM reservations WHERE dataset = NEW.dataset AND sequence = NEW.reservation AND state = 'ANSWERED') THEN
    RAISE EXCEPTION 'an answer is stored with its outcome' USING ERRCODE = 'integrity_constraint_violation';
  END IF;
  RETURN NEW;
END
$$;
ALTER FUNCTION discreet.answers_before_insert() OWNER TO data_owner;
CREATE FUNCTION discreet.clear_halt(given_sequence bigint, given_id text) RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'discreet', 'pg_temp'
    AS $$
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
ALTER FUNCTION discreet.clear_halt(given_sequence bigint, given_id text) OWNER TO data_owner;
CREATE FUNCTION discreet.correct_version(given_source text, given_facts text, given_population bigint, given_registered bigint, given_dataset text, given_version integer) RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'discreet', 'pg_temp'
    AS $$
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
ALTER FUNCTION discreet.correct_version(given_source text, given_facts text, given_population bigint, given_registered bigint, given_dataset text, given_version integer) OWNER TO data_owner;
CREATE FUNCTION discreet.datasets_before_update() RETURNS trigger
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'discreet', 'pg_temp'
    AS $$
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
ALTER FUNCTION discreet.datasets_before_update() OWNER TO data_owner;
CREATE FUNCTION discreet.events_before_insert() RETURNS trigger
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'discreet', 'pg_temp'
    AS $$
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
ALTER FUNCTION discreet.events_before_insert() OWNER TO data_owner;
CREATE FUNCTION discreet.halts_before_update() RETURNS trigger
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'discreet', 'pg_temp'
    AS $$
BEGIN
  IF OLD.cleared IS NOT NULL OR NEW.cleared IS NULL OR NEW.id <> OLD.id OR NEW.dataset <> OLD.dataset OR NEW.time <> OLD.time OR NEW.finding <> OLD.finding THEN
    RAISE EXCEPTION 'a halt is cleared once, by a recovery' USING ERRCODE = 'integrity_constraint_violation';
  END IF;
  RETURN NEW;
END
$$;
ALTER FUNCTION discreet.halts_before_update() OWNER TO data_owner;
CREATE FUNCTION discreet.keys_before_insert() RETURNS trigger
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'discreet', 'pg_temp'
    AS $$
BEGIN
  IF NEW.sequence <> 1 + COALESCE((SELECT max(sequence) FROM keys), 0) THEN
    RAISE EXCEPTION 'an act on the keys follows the one before it' USING ERRCODE = 'integrity_constraint_violation';
  END IF;
  RETURN NEW;
END
$$;
ALTER FUNCTION discreet.keys_before_insert() OWNER TO data_owner;
CREATE FUNCTION discreet.never() RETURNS trigger
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'discreet', 'pg_temp'
    AS $$
BEGIN
  RAISE EXCEPTION 'the ledger is append-only' USING ERRCODE = 'integrity_constraint_violation';
END
$$;
ALTER FUNCTION discreet.never() OWNER TO data_owner;
CREATE FUNCTION discreet.register_again(given_registered bigint, given_dataset text, given_version integer) RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'discreet', 'pg_temp'
    AS $$
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
ALTER FUNCTION discreet.register_again(given_registered bigint, given_dataset text, given_version integer) OWNER TO data_owner;
CREATE FUNCTION discreet.repair_share(given_quota text, given_is_own integer, given_cap_epsilon bigint, given_cap_rho bigint, given_cap_delta bigint, given_spent_epsilon bigint, given_spent_rho bigint, given_spent_delta bigint, given_spent_renyi bigint, given_floor_epsilon bigint, given_floor_rho bigint, given_floor_delta bigint, given_floor_renyi bigint, given_failures bigint, given_most_failures bigint, given_dataset text, given_analyst text) RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'discreet', 'pg_temp'
    AS $$
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
ALTER FUNCTION discreet.repair_share(given_quota text, given_is_own integer, given_cap_epsilon bigint, given_cap_rho bigint, given_cap_delta bigint, given_spent_epsilon bigint, given_spent_rho bigint, given_spent_delta bigint, given_spent_renyi bigint, given_floor_epsilon bigint, given_floor_rho bigint, given_floor_delta bigint, given_floor_renyi bigint, given_failures bigint, given_most_failures bigint, given_dataset text, given_analyst text) OWNER TO data_owner;
CREATE FUNCTION discreet.reservations_before_insert() RETURNS trigger
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'discreet', 'pg_temp'
    AS $$
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
ALTER FUNCTION discreet.reservations_before_insert() OWNER TO data_owner;
CREATE FUNCTION discreet.reservations_before_update() RETURNS trigger
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'discreet', 'pg_temp'
    AS $$
BEGIN
  IF OLD.state <> 'RESERVED' OR NEW.attempt < OLD.attempt OR (NEW.state <> 'RESERVED' AND NEW.attempt <> OLD.attempt) OR NEW.dataset <> OLD.dataset OR NEW.sequence <> OLD.sequence OR NEW.analyst <> OLD.analyst OR NEW.request IS DISTINCT FROM OLD.request OR NEW.question <> OLD.question OR NEW.description <> OLD.description THEN
    RAISE EXCEPTION 'a reservation is answered or forfeited once' USING ERRCODE = 'integrity_constraint_violation';
  END IF;
  RETURN NEW;
END
$$;
ALTER FUNCTION discreet.reservations_before_update() OWNER TO data_owner;
CREATE FUNCTION discreet.restate_share(given_spent_renyi bigint, given_floor_epsilon bigint, given_floor_rho bigint, given_floor_delta bigint, given_floor_renyi bigint, given_dataset text, given_analyst text) RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'discreet', 'pg_temp'
    AS $$
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
ALTER FUNCTION discreet.restate_share(given_spent_renyi bigint, given_floor_epsilon bigint, given_floor_rho bigint, given_floor_delta bigint, given_floor_renyi bigint, given_dataset text, given_analyst text) OWNER TO data_owner;
CREATE FUNCTION discreet.set_budget(given_unit text, given_neighbours text, given_epsilon text, given_delta text, given_reserved_delta text, given_ceiling text, given_reason text, given_cap_epsilon bigint, given_cap_rho bigint, given_cap_delta bigint, given_renyi_order text, given_spent_epsilon bigint, given_spent_rho bigint, given_spent_delta bigint, given_spent_renyi bigint, given_floor_epsilon bigint, given_floor_rho bigint, given_floor_delta bigint, given_floor_renyi bigint, given_sequence bigint, given_head text, given_name text, given_previous text) RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'discreet', 'pg_temp'
    AS $$
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
ALTER FUNCTION discreet.set_budget(given_unit text, given_neighbours text, given_epsilon text, given_delta text, given_reserved_delta text, given_ceiling text, given_reason text, given_cap_epsilon bigint, given_cap_rho bigint, given_cap_delta bigint, given_renyi_order text, given_spent_epsilon bigint, given_spent_rho bigint, given_spent_delta bigint, given_spent_renyi bigint, given_floor_epsilon bigint, given_floor_rho bigint, given_floor_delta bigint, given_floor_renyi bigint, given_sequence bigint, given_head text, given_name text, given_previous text) OWNER TO data_owner;
CREATE FUNCTION discreet.set_limits(given_quota text, given_is_own integer, given_cap_epsilon bigint, given_cap_rho bigint, given_cap_delta bigint, given_floor_epsilon bigint, given_floor_rho bigint, given_floor_delta bigint, given_floor_renyi bigint, given_most_failures bigint, given_dataset text, given_analyst text) RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'discreet', 'pg_temp'
    AS $$
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
ALTER FUNCTION discreet.set_limits(given_quota text, given_is_own integer, given_cap_epsilon bigint, given_cap_rho bigint, given_cap_delta bigint, given_floor_epsilon bigint, given_floor_rho bigint, given_floor_delta bigint, given_floor_renyi bigint, given_most_failures bigint, given_dataset text, given_analyst text) OWNER TO data_owner;
CREATE FUNCTION discreet.versions_before_update() RETURNS trigger
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'discreet', 'pg_temp'
    AS $$
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
ALTER FUNCTION discreet.versions_before_update() OWNER TO data_owner;
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
    spent_renyi bigint NOT NULL,
    floor_epsilon bigint,
    floor_rho bigint NOT NULL,
    floor_delta bigint NOT NULL,
    floor_renyi bigint NOT NULL,
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
    renyi_order text,
    spent_epsilon bigint,
    spent_rho bigint NOT NULL,
    spent_delta bigint NOT NULL,
    spent_renyi bigint NOT NULL,
    floor_epsilon bigint,
    floor_rho bigint NOT NULL,
    floor_delta bigint NOT NULL,
    floor_renyi bigint NOT NULL,
    sequence bigint NOT NULL,
    head text NOT NULL,
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
    cost_renyi bigint NOT NULL,
    question text COLLATE pg_catalog."C",
    request text,
    reservation bigint,
    digest text,
    detail text,
    library text NOT NULL,
    previous text NOT NULL,
    hash text NOT NULL,
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
CREATE TABLE discreet.keys (
    sequence bigint NOT NULL,
    document text NOT NULL,
    CONSTRAINT keys_sequence_check CHECK ((sequence >= 1))
);
ALTER TABLE discreet.keys OWNER TO data_owner;
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
INSERT INTO discreet.analysts VALUES ('visits', 'bob', '{"ceiling":"10/1","delta":"1/1000000000","epsilon":"1/1","reason":null,"reserved_delta":"1/10000000000"}', 1, 1000000000000, 14884337183401, 100000000, NULL, 1000000000000, 0, 1000000000000, NULL, 1000000000000, 0, 1000000000000, 1, 7);
INSERT INTO discreet.analysts VALUES ('visits', '*', '{"ceiling":"10/1","delta":"1/1000000000","epsilon":"12/1","reason":"all","reserved_delta":"1/10000000000"}', 0, 12000000000000, 1496375267009015, 100000000, 0, 0, 0, 0, 0, 0, 0, 0, 0, 100);
INSERT INTO discreet.analysts VALUES ('visits', 'ann', '{"ceiling":"10/1","delta":"1/1000000000","epsilon":"12/1","reason":"all","reserved_delta":"1/10000000000"}', 0, 12000000000000, 1496375267009015, 100000000, NULL, 11250000000000, 10000000, 11250000000000, NULL, 11250000000000, 10000000, 11250000000000, 0, 100);
INSERT INTO discreet.analysts VALUES ('visits', 'Ann Müller', '{"ceiling":"10/1","delta":"1/1000000000","epsilon":"12/1","reason":"all","reserved_delta":"1/10000000000"}', 0, 12000000000000, 1496375267009015, 100000000, 10000000000, 50000000000, 0, 50000000000, 10000000000, 50000000000, 0, 50000000000, 1, 100);
INSERT INTO discreet.analysts VALUES ('people', 'ann', NULL, 0, NULL, NULL, NULL, 333000000000, 55444500000000, 0, 55444500000000, 0, 0, 0, 0, 1, 100);
INSERT INTO discreet.analysts VALUES ('stays 2', 'ann', NULL, 0, NULL, NULL, NULL, 200000000000, 10000000000000, 0, 10000000000000, 0, 0, 0, 0, 1, 100);
INSERT INTO discreet.analysts VALUES ('stays 1', 'ann', NULL, 0, NULL, NULL, NULL, 300000000000, 15000000000000, 0, 15000000000000, 0, 0, 0, 0, 1, 100);
INSERT INTO discreet.answers VALUES ('visits', 2, '\x7b226e223a2031327d');
INSERT INTO discreet.answers VALUES ('visits', 4, '\x');
INSERT INTO discreet.answers VALUES ('visits', 6, '\x30');
INSERT INTO discreet.answers VALUES ('stays 1', 2, '\x746f676574686572');
INSERT INTO discreet.answers VALUES ('stays 2', 2, '\x746f676574686572');
INSERT INTO discreet.answers VALUES ('stays 1', 4, '\x74616b656e206f766572');
INSERT INTO discreet.datasets VALUES ('stays 2', 'one patient_id', 'add_remove', 'd55f406bd4f10cf2', 'stays', '2026-02-01T00:00:00.000000', '2026-03-01T00:00:00.000000', '1/1', '0/1', '0/1', '10/1', NULL, 1000000000000, 0, 0, NULL, 200000000000, 10000000000000, 0, 10000000000000, 0, 0, 0, 0, 5, '9a19101c2ea1a43298f151f5c28e3bd1a5592fec74c51ec291d29f3a07d55305');
INSERT INTO discreet.datasets VALUES ('stays 1', 'one patient_id', 'add_remove', '4729cdc2bf7e3322', 'stays', '2026-01-01T00:00:00.000000', '2026-02-01T00:00:00.000000', '1/1', '0/1', '0/1', '10/1', NULL, 1000000000000, 0, 0, NULL, 300000000000, 15000000000000, 0, 15000000000000, 0, 0, 0, 0, 7, 'ae0656f4e2ed2e62f22f1515004c59cad74a7f27038e2ff9a4c3ad07bea4d37a');
INSERT INTO discreet.datasets VALUES ('visits', 'one patient_id', 'add_remove', '7dccb58ec67f8cb1', NULL, NULL, NULL, '12/1', '1/1000000000', '1/10000000000', '10/1', 'a second study', 12000000000000, 1496375267009015, 100000000, '2584931840176017/562949953421312', NULL, 12300000000000, 10000000, 12300000000000, NULL, 12300000000000, 10000000, 12300000000000, 16, '091d27432f3bed13e986272d4f45d44d45149f7e88f9335ce254b473dca9cb06');
INSERT INTO discreet.datasets VALUES ('people', 'one row (protects rows, not people)', 'replace_one', 'e6e62480f4cb7573', NULL, NULL, NULL, '1/3', '0/1', '0/1', '10/1', NULL, 333333333333, 0, 0, NULL, 333000000000, 55444500000000, 0, 55444500000000, 0, 0, 0, 0, 7, '56e5ef6c9ebeef4060b46d98ca6508cfb985ca298767479f470123262a068f11');
INSERT INTO discreet.events VALUES ('visits', 1, 1, 'REGISTERED', '2026-11-19T11:14:05.398713+00:00', 1, NULL, NULL, 0, 0, 0, 0, NULL, NULL, NULL, '1a75888ad910062dcc6a5772640a806a1f36ee8b3a769c2d7a4b58c789cfc966', '{"budget":{"ceiling":"10/1","delta":"1/1000000000","epsilon":"2/1","reason":null,"reserved_delta":"1/10000000000"},"caps":[2000000000000,55817450132233,100000000],"hash_key":"eb72ea6c790082d80922b85d82bb4f9653272b1371991cd53aa2d9117a20322f","ledger":"5791509e2dc34887a708088442a77a01","neighbours":"add_remove","order":"5320562508480651/281474976710656","slice":{"part_of":null,"slice_end":null,"slice_start":null},"unit":"one patient_id"}', '0.1.0', '0000000000000000000000000000000000000000000000000000000000000000', '1bd74c5ad6fec4910cfc0dbaf757c7f73c88e2b7c7c8c6361bcda11cb5e21f0d');
INSERT INTO discreet.events VALUES ('people', 1, 1, 'REGISTERED', '2026-11-19T11:14:05.423054+00:00', 1, NULL, NULL, 0, 0, 0, 0, NULL, NULL, NULL, '4d1c802f37afbbe4461b77a779839047da00bf156022dd086b313769b53f0776', '{"budget":{"ceiling":"10/1","delta":"0/1","epsilon":"1/1","reason":null,"reserved_delta":"0/1"},"caps":[1000000000000,0,0],"hash_key":"02e660ef36a7ef7760b6dce09aa804a00eef792749cb979c278765a3183390ee","ledger":"5791509e2dc34887a708088442a77a01","neighbours":"add_remove","order":null,"slice":{"part_of":null,"slice_end":null,"slice_start":null},"unit":"one row (protects rows, not people)"}', '0.1.0', '0000000000000000000000000000000000000000000000000000000000000000', '65983b5a80fe9496a9e5d0aca44b2dd87e4af50bb82b4703aaedb313dc40d554');
INSERT INTO discreet.events VALUES ('people', 2, 1, 'REGISTERED', '2026-11-19T11:14:05.439234+00:00', 1, NULL, NULL, 0, 0, 0, 0, NULL, NULL, NULL, '4d1c802f37afbbe4461b77a779839047da00bf156022dd086b313769b53f0776', '{"new":{"budget":{"ceiling":"10/1","delta":"0/1","epsilon":"1/3","reason":null,"reserved_delta":"0/1"},"caps":[333333333333,0,0],"dataset":"people","facts":"{}","hash_key":"02e660ef36a7ef7760b6dce09aa804a00eef792749cb979c278765a3183390ee","neighbours":"replace_one","order":null,"population":null,"slice":{"part_of":null,"slice_end":null,"slice_start":null},"source":"memory","unit":"one row (protects rows, not people)","version":1},"old":{"budget":{"ceiling":"10/1","delta":"0/1","epsilon":"1/1","reason":null,"reserved_delta":"0/1"},"caps":[1000000000000,0,0],"dataset":"people","facts":"{}","hash_key":"02e660ef36a7ef7760b6dce09aa804a00eef792749cb979c278765a3183390ee","neighbours":"add_remove","order":null,"population":null,"slice":{"part_of":null,"slice_end":null,"slice_start":null},"source":"memory","unit":"one row (protects rows, not people)","version":1}}', '0.1.0', '65983b5a80fe9496a9e5d0aca44b2dd87e4af50bb82b4703aaedb313dc40d554', 'b4c0c92c1618ff22f43fc32684b8040f734bc7fe4aa47dfa78b1f26bc1a09fda');
INSERT INTO discreet.events VALUES ('visits', 2, 1, 'RESERVED', '2026-11-19T11:14:05.466739+00:00', 1, 'ann', '{"epsilon":"1/10","kind":"PureEvent"}', 100000000000, 5000000000000, 0, 3459652233679, 'ab', 'r-1', NULL, '4ff3e22665259e4977cc76b05710cc561b6516e97277dd75abda9b5eac54d4b5', NULL, '0.1.0', '1bd74c5ad6fec4910cfc0dbaf757c7f73c88e2b7c7c8c6361bcda11cb5e21f0d', '8cd42ea61924803378d1d5aadbc62a9a4a4886e74362d1a841d3300d1946a179');
INSERT INTO discreet.events VALUES ('visits', 3, 1, 'ANSWERED', '2026-11-19T11:14:05.478378+00:00', 1, 'ann', NULL, 0, 0, 0, 0, 'ab', NULL, 2, 'adff6dac415bc9e028c14de440d46c5cfad3ff5f9f92f5ca03a8a45bb53404ab', NULL, '0.1.0', '8cd42ea61924803378d1d5aadbc62a9a4a4886e74362d1a841d3300d1946a179', 'c9602277c8dcf22dfb52d3f5019ead5b13896ef9055cc96ddb14fee2eccb7acd');
INSERT INTO discreet.events VALUES ('visits', 4, 1, 'RESERVED', '2026-11-19T11:14:05.496009+00:00', 1, 'ann', '{"dimension":1,"kind":"DiscreteGaussianEvent","squared_sensitivity":"1/1","variance":"400/1"}', NULL, 1250000000000, 0, 1250000000000, 'cd', 'auto-f3e582c9fca741a919966234696b35f4', NULL, '4ff3e22665259e4977cc76b05710cc561b6516e97277dd75abda9b5eac54d4b5', NULL, '0.1.0', 'c9602277c8dcf22dfb52d3f5019ead5b13896ef9055cc96ddb14fee2eccb7acd', '9919f2c7d5f5669ee0384ffa7ba25a56bd43305d593f6644ca955e32cb902d56');
INSERT INTO discreet.events VALUES ('visits', 5, 1, 'ANSWERED', '2026-11-19T11:14:05.513955+00:00', 1, 'ann', NULL, 0, 0, 0, 0, 'cd', NULL, 4, 'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855', NULL, '0.1.0', '9919f2c7d5f5669ee0384ffa7ba25a56bd43305d593f6644ca955e32cb902d56', 'f5da64d3c5a2fe8510979770596e7691672f01bc4901fbc15d8ffc9ee35eec9e');
INSERT INTO discreet.events VALUES ('visits', 6, 1, 'RESERVED', '2026-11-19T11:14:05.527467+00:00', 1, 'ann', '{"delta":"1/100000000000","epsilon":"1/10","kind":"ApproximateEvent"}', 100000000000, 5000000000000, 10000000, 3459652233679, 'ef', 'auto-860ffe72e0b14414ded43b89369b9324', NULL, '4ff3e22665259e4977cc76b05710cc561b6516e97277dd75abda9b5eac54d4b5', NULL, '0.1.0', 'f5da64d3c5a2fe8510979770596e7691672f01bc4901fbc15d8ffc9ee35eec9e', 'e84601c8c20108d1464aa632495dc721b5f38ba4414c81a5e6f408b86c2ade75');
INSERT INTO discreet.events VALUES ('visits', 7, 1, 'ANSWERED', '2026-11-19T11:14:05.541674+00:00', 1, 'ann', NULL, 0, 0, 0, 0, 'ef', NULL, 6, '5feceb66ffc86f38d952786c6d696c79c2dbc239dd4e91b46729d73a27fb57e9', NULL, '0.1.0', 'e84601c8c20108d1464aa632495dc721b5f38ba4414c81a5e6f408b86c2ade75', 'e2756cbea1875e68a1f58f26b84b06c30f3fcbbb4a38fa4e0cce132aaf80a191');
INSERT INTO discreet.events VALUES ('visits', 8, 1, 'VERSIONED', '2026-11-19T11:14:05.557104+00:00', 2, NULL, NULL, 0, 0, 0, 0, NULL, NULL, NULL, '15c67519802ee1a866c3a9abc3b56d0a1fe480afde5199e46c86311d9cf3cc80', NULL, '0.1.0', 'e2756cbea1875e68a1f58f26b84b06c30f3fcbbb4a38fa4e0cce132aaf80a191', 'cc258d1c93cbac913c05f786bdc85dd9da9b873e050911b515288ef76db63a35');
INSERT INTO discreet.events VALUES ('visits', 9, 1, 'RESERVED', '2026-11-19T11:14:05.570864+00:00', 2, 'bob', '{"delta":"0/1","kind":"ConcentratedEvent","rho":"1/1000"}', NULL, 1000000000000, 0, 1000000000000, 'ab', 'auto-94746da109b1e3a61da370f8629b6f6a', NULL, '4ff3e22665259e4977cc76b05710cc561b6516e97277dd75abda9b5eac54d4b5', NULL, '0.1.0', 'cc258d1c93cbac913c05f786bdc85dd9da9b873e050911b515288ef76db63a35', '3c6e750c3a5368c8b10f36ace2a3f19e036e159328ad450a318d2e175438686c');
INSERT INTO discreet.events VALUES ('visits', 10, 1, 'FORFEITED', '2026-11-19T11:14:05.582106+00:00', 2, 'bob', NULL, 0, 0, 0, 0, 'ab', NULL, 9, NULL, '{"code":"timeout"}', '0.1.0', '3c6e750c3a5368c8b10f36ace2a3f19e036e159328ad450a318d2e175438686c', '2645fee3adeec06afaa1560720bf38745411a052d9960b5a37a7281629f44778');
INSERT INTO discreet.events VALUES ('visits', 11, 1, 'RESERVED', '2026-11-19T11:14:05.607752+00:00', 1, 'Ann Müller', '{"kind":"DiscreteLaplaceEvent","scale":"100/1","sensitivity":"1/1"}', 10000000000, 50000000000, 0, 49720108121, 'ab', 'auto-a55dab963ae3f8cb232a6a421e49a3e3', NULL, '4ff3e22665259e4977cc76b05710cc561b6516e97277dd75abda9b5eac54d4b5', NULL, '0.1.0', '2645fee3adeec06afaa1560720bf38745411a052d9960b5a37a7281629f44778', 'd3aa8bfd0c379eaa2b54ae659be44a0013b0f81e513db97efe4b1feca4b773cd');
INSERT INTO discreet.events VALUES ('visits', 12, 1, 'REJECTED', '2026-11-19T11:14:05.631082+00:00', 1, 'ann', '{"epsilon":"3/1","kind":"PureEvent"}', 0, 0, 0, 0, 'ab', 'auto-c785726c0ba2f604a485907b62a2a83d', NULL, '4ff3e22665259e4977cc76b05710cc561b6516e97277dd75abda9b5eac54d4b5', '{"asked":[3000000000000,3000000000000000,0,158566129701699]}', '0.1.0', 'd3aa8bfd0c379eaa2b54ae659be44a0013b0f81e513db97efe4b1feca4b773cd', 'f9f02dc87622047207f9442597e17545e59785e0f2a5a58594c9a4de7a0ec14c');
INSERT INTO discreet.events VALUES ('visits', 13, 1, 'CAPPED', '2026-11-19T11:14:05.653648+00:00', 2, NULL, NULL, 0, 0, 0, 3080975424521, NULL, NULL, NULL, NULL, '{"new":{"budget":{"ceiling":"10/1","delta":"1/1000000000","epsilon":"12/1","reason":"a second study","reserved_delta":"1/10000000000"},"caps":[12000000000000,1496375267009015,100000000],"order":"2584931840176017/562949953421312"},"old":{"budget":{"ceiling":"10/1","delta":"1/1000000000","epsilon":"2/1","reason":null,"reserved_delta":"1/10000000000"},"caps":[2000000000000,55817450132233,100000000],"order":"5320562508480651/281474976710656"},"reason":"the board''s decision","restated":{"Ann M\u00fcller":50000000000,"ann":11250000000000,"bob":1000000000000},"spent":[null,12300000000000,10000000,9219024575479]}', '0.1.0', 'f9f02dc87622047207f9442597e17545e59785e0f2a5a58594c9a4de7a0ec14c', '6bbc3de78707c1c0250b1bb5a5dd907373bf5a9bea483b34a3fff6ae5b033663');
INSERT INTO discreet.events VALUES ('people', 3, 1, 'RESERVED', '2026-11-19T11:14:05.665770+00:00', 1, 'ann', '{"epsilon":"333/1000","kind":"PureEvent"}', 333000000000, 55444500000000, 0, 55444500000000, 'ab', 'auto-72ac75bcd8d692f08d50368726479a49', NULL, '4ff3e22665259e4977cc76b05710cc561b6516e97277dd75abda9b5eac54d4b5', NULL, '0.1.0', 'b4c0c92c1618ff22f43fc32684b8040f734bc7fe4aa47dfa78b1f26bc1a09fda', '35e55cee54b07419f21e867a32bea377e89fb5cc4155186352c9738451b8fbc6');
INSERT INTO discreet.events VALUES ('visits', 14, 1, 'LIMITED', '2026-11-19T11:14:05.692546+00:00', 2, NULL, NULL, 0, 0, 0, 0, NULL, NULL, NULL, NULL, '{"analyst":"bob","cap_delta":100000000,"cap_epsilon":1000000000000,"cap_rho":14884337183401,"most_failures":7,"quota":"{\"ceiling\":\"10/1\",\"delta\":\"1/1000000000\",\"epsilon\":\"1/1\",\"reason\":null,\"reserved_delta\":\"1/10000000000\"}","reason":"a small study"}', '0.1.0', '6bbc3de78707c1c0250b1bb5a5dd907373bf5a9bea483b34a3fff6ae5b033663', '94e2499dd78bdd07bd6b403097d394c45e4a863b6570fa0f31eccb6f4929527d');
INSERT INTO discreet.events VALUES ('visits', 15, 1, 'LIMITED', '2026-11-19T11:14:05.708634+00:00', 2, NULL, NULL, 0, 0, 0, 0, NULL, NULL, NULL, NULL, '{"analyst":"*","cap_delta":100000000,"cap_epsilon":12000000000000,"cap_rho":1496375267009015,"most_failures":100,"quota":"{\"ceiling\":\"10/1\",\"delta\":\"1/1000000000\",\"epsilon\":\"12/1\",\"reason\":\"all\",\"reserved_delta\":\"1/10000000000\"}","reason":"fair"}', '0.1.0', '94e2499dd78bdd07bd6b403097d394c45e4a863b6570fa0f31eccb6f4929527d', 'a642bf05fa6e71832478be184ed28018fa3e728ae96579214ecc371826f36743');
INSERT INTO discreet.events VALUES ('people', 4, 1, 'RENAMED', '2026-11-19T11:14:05.727015+00:00', 1, NULL, NULL, 0, 0, 0, 0, NULL, NULL, NULL, NULL, '{"alias":"persons","reason":"plain words"}', '0.1.0', '35e55cee54b07419f21e867a32bea377e89fb5cc4155186352c9738451b8fbc6', '031956b2e03e6cf29574a56ff7b86b829bb968bcdbe2078547ac78a6b9d7ef79');
INSERT INTO discreet.events VALUES ('stays 1', 1, 1, 'REGISTERED', '2026-11-19T11:14:05.744982+00:00', 1, NULL, NULL, 0, 0, 0, 0, NULL, NULL, NULL, 'b846e26c9c7a911fd04063219f51fd5f8fbc19a12319c17b36a551746fdf9ac3', '{"budget":{"ceiling":"10/1","delta":"0/1","epsilon":"1/1","reason":null,"reserved_delta":"0/1"},"caps":[1000000000000,0,0],"hash_key":"c8c83f4f1cb66ebeca1e0c726c9986d562884fc258195e87dd92da2f7ca8e2a7","ledger":"5791509e2dc34887a708088442a77a01","neighbours":"add_remove","order":null,"slice":{"part_of":"stays","slice_end":"2026-02-01T00:00:00.000000","slice_start":"2026-01-01T00:00:00.000000"},"unit":"one patient_id"}', '0.1.0', '0000000000000000000000000000000000000000000000000000000000000000', '0961c08278ab7b551b7e156ffed55e834131dfd6fe172e5a10bd32ade4bee515');
INSERT INTO discreet.events VALUES ('stays 2', 1, 1, 'REGISTERED', '2026-11-19T11:14:05.765202+00:00', 1, NULL, NULL, 0, 0, 0, 0, NULL, NULL, NULL, '369316bca04f903d191f666b10a39de3165e56ff810b7195e4580dd86c906bd9', '{"budget":{"ceiling":"10/1","delta":"0/1","epsilon":"1/1","reason":null,"reserved_delta":"0/1"},"caps":[1000000000000,0,0],"hash_key":"953118b4ccbb8917de2bfa896c12228c887e410ca7bfbe530fd2874a8000158e","ledger":"5791509e2dc34887a708088442a77a01","neighbours":"add_remove","order":null,"slice":{"part_of":"stays","slice_end":"2026-03-01T00:00:00.000000","slice_start":"2026-02-01T00:00:00.000000"},"unit":"one patient_id"}', '0.1.0', '0000000000000000000000000000000000000000000000000000000000000000', '3c8e492445ab69676d6a21520962afad9d243108cf0125e91d80cd7167759fa8');
INSERT INTO discreet.events VALUES ('stays 1', 2, 1, 'RESERVED', '2026-11-19T11:14:05.788184+00:00', 1, 'ann', '{"epsilon":"1/10","kind":"PureEvent"}', 100000000000, 5000000000000, 0, 5000000000000, 'aa', 'r-2', NULL, '44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a', '{"together":["stays 1","stays 2"]}', '0.1.0', '0961c08278ab7b551b7e156ffed55e834131dfd6fe172e5a10bd32ade4bee515', '072c1397a88ff6f0cdc6df9f9d05a50387ffce2866deefe1397c5760f0c498b3');
INSERT INTO discreet.events VALUES ('stays 2', 2, 1, 'RESERVED', '2026-11-19T11:14:05.790425+00:00', 1, 'ann', '{"epsilon":"1/10","kind":"PureEvent"}', 100000000000, 5000000000000, 0, 5000000000000, 'aa', 'r-2', NULL, '44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a', '{"together":["stays 1","stays 2"]}', '0.1.0', '3c8e492445ab69676d6a21520962afad9d243108cf0125e91d80cd7167759fa8', 'a95435aafd790de056d04eaff1183193d959f5afe376529f1d9fd6bd0f0fa800');
INSERT INTO discreet.events VALUES ('stays 1', 3, 1, 'ANSWERED', '2026-11-19T11:14:05.806361+00:00', 1, 'ann', NULL, 0, 0, 0, 0, 'aa', NULL, 2, '0c24734d7bf5954f08e5bfe4820b0b2f63da8d658df37c9d50080485e034b721', NULL, '0.1.0', '072c1397a88ff6f0cdc6df9f9d05a50387ffce2866deefe1397c5760f0c498b3', 'c859a0a43562adff3273dc99eb49f40571b9ae453a1ae555e589db88e24d5657');
INSERT INTO discreet.events VALUES ('stays 2', 3, 1, 'ANSWERED', '2026-11-19T11:14:05.806474+00:00', 1, 'ann', NULL, 0, 0, 0, 0, 'aa', NULL, 2, '0c24734d7bf5954f08e5bfe4820b0b2f63da8d658df37c9d50080485e034b721', NULL, '0.1.0', 'a95435aafd790de056d04eaff1183193d959f5afe376529f1d9fd6bd0f0fa800', '44f2f84fa7c72bb37e648d8a0ef888df0b05d0e12022cab81cc7e9e29bd600cc');
INSERT INTO discreet.events VALUES ('stays 1', 4, 1, 'RESERVED', '2026-11-19T11:14:05.825949+00:00', 1, 'ann', '{"epsilon":"1/10","kind":"PureEvent"}', 100000000000, 5000000000000, 0, 5000000000000, 'ab', 'auto-2fab145914afcf70f6530b13a8972796', NULL, '4ff3e22665259e4977cc76b05710cc561b6516e97277dd75abda9b5eac54d4b5', NULL, '0.1.0', 'c859a0a43562adff3273dc99eb49f40571b9ae453a1ae555e589db88e24d5657', '5fc457d4b6098280278268b47069c360eeeeacdc7dc2b10dc61093f4a09bc772');
INSERT INTO discreet.events VALUES ('stays 1', 5, 1, 'RESUMED', '2026-11-19T11:14:06.303021+00:00', 1, 'ann', NULL, 0, 0, 0, 0, 'ab', NULL, 4, NULL, NULL, '0.1.0', '5fc457d4b6098280278268b47069c360eeeeacdc7dc2b10dc61093f4a09bc772', '2872183df22f440deb69bb04b6cd335311002e4119e632b6b22b352d5bb019e9');
INSERT INTO discreet.events VALUES ('stays 1', 6, 1, 'ANSWERED', '2026-11-19T11:14:06.313518+00:00', 1, 'ann', NULL, 0, 0, 0, 0, 'ab', NULL, 4, '0343ba7f6d63784231e94e9ce00815fd019f966d9848d089b9de9c9bb97d7234', NULL, '0.1.0', '2872183df22f440deb69bb04b6cd335311002e4119e632b6b22b352d5bb019e9', '6f055e93d53318bd6e0e175c61b4531de247ac46090ac6e083facd5eb02ebad9');
INSERT INTO discreet.events VALUES ('stays 2', 4, 1, 'RESERVED', '2026-11-19T11:14:06.328834+00:00', 1, 'ann', '{"epsilon":"1/10","kind":"PureEvent"}', 100000000000, 5000000000000, 0, 5000000000000, 'bb', 'auto-58d3ae938c3584a3f4184d46a15e2a9e', NULL, '4ff3e22665259e4977cc76b05710cc561b6516e97277dd75abda9b5eac54d4b5', NULL, '0.1.0', '44f2f84fa7c72bb37e648d8a0ef888df0b05d0e12022cab81cc7e9e29bd600cc', '2199a69cb59cfd784293feddc48f4bc1041e91c7ebd6249a219d30d3a5e812db');
INSERT INTO discreet.events VALUES ('visits', 16, 1, 'FORFEITED', '2026-11-19T11:14:06.791134+00:00', 1, 'Ann Müller', NULL, 0, 0, 0, 0, 'ab', NULL, 11, NULL, '{"code":"lease_expired"}', '0.1.0', 'a642bf05fa6e71832478be184ed28018fa3e728ae96579214ecc371826f36743', '091d27432f3bed13e986272d4f45d44d45149f7e88f9335ce254b473dca9cb06');
INSERT INTO discreet.events VALUES ('people', 5, 1, 'FORFEITED', '2026-11-19T11:14:06.802680+00:00', 1, 'ann', NULL, 0, 0, 0, 0, 'ab', NULL, 3, NULL, '{"code":"lease_expired"}', '0.1.0', '031956b2e03e6cf29574a56ff7b86b829bb968bcdbe2078547ac78a6b9d7ef79', '93b6b1a0af8867ca237c193b388afdced29b6755cfa7399f7fbf684d51029aeb');
INSERT INTO discreet.events VALUES ('stays 2', 5, 1, 'FORFEITED', '2026-11-19T11:14:06.810575+00:00', 1, 'ann', NULL, 0, 0, 0, 0, 'bb', NULL, 4, NULL, '{"code":"lease_expired"}', '0.1.0', '2199a69cb59cfd784293feddc48f4bc1041e91c7ebd6249a219d30d3a5e812db', '9a19101c2ea1a43298f151f5c28e3bd1a5592fec74c51ec291d29f3a07d55305');
INSERT INTO discreet.events VALUES ('stays 1', 7, 1, 'RESERVED', '2026-11-19T11:14:06.824662+00:00', 1, 'ann', '{"epsilon":"1/10","kind":"PureEvent"}', 100000000000, 5000000000000, 0, 5000000000000, 'dd', 'auto-13ba4bb8f4b3301be4f01657ccb75ccd', NULL, '4ff3e22665259e4977cc76b05710cc561b6516e97277dd75abda9b5eac54d4b5', NULL, '0.1.0', '6f055e93d53318bd6e0e175c61b4531de247ac46090ac6e083facd5eb02ebad9', 'ae0656f4e2ed2e62f22f1515004c59cad74a7f27038e2ff9a4c3ad07bea4d37a');
INSERT INTO discreet.events VALUES ('people', 6, 1, 'PUBLISHED', '2026-11-19T11:14:06.846462+00:00', 1, 'owner', NULL, 0, 0, 0, 0, NULL, 'auto-737b8d6d4b643706ff859e85aafc483f', NULL, 'abababababababababababababababababababababababababababababababab', '{"kind":"generalised","what":"people.csv, ages in tens"}', '0.1.0', '93b6b1a0af8867ca237c193b388afdced29b6755cfa7399f7fbf684d51029aeb', '73841e4e7bd3b233e619baea45b688afe9a951638aa1874ba139c22d90cc71e5');
INSERT INTO discreet.events VALUES ('people', 7, 1, 'PUBLISHED', '2026-11-19T11:14:06.860761+00:00', 1, 'ann', NULL, 0, 0, 0, 0, NULL, 'auto-ee55948e71504a2c599a977851cbb5ee', NULL, NULL, '{"kind":"exact","what":"Tabelle f\u00fcr die Presse"}', '0.1.0', '73841e4e7bd3b233e619baea45b688afe9a951638aa1874ba139c22d90cc71e5', '56e5ef6c9ebeef4060b46d98ca6508cfb985ca298767479f470123262a068f11');
INSERT INTO discreet.keys VALUES (1, '{"format":"discreet.key-act/1","handover":null,"kind":"OWNED","ledger":"5791509e2dc34887a708088442a77a01","name":"owner","owner":"cffeb64ea52233c2","previous":"0000000000000000000000000000000000000000000000000000000000000000","reason":"the ledger was created","sequence":1,"signature":"HEPkKHt8+cCz1N2/0QempV1dPzaUW/MZRJ6pece8gg2lADwHQowBKTS7M4l1ta3g8uE01aFf3UP0q1cIRFZpCg==","time":"2026-11-19T11:14:05.311171+00:00","value":"ed25519:vrplNk7iqonrTZkRG7XXsvFfm5Rnd+HM056S8zzRrDw="}');
INSERT INTO discreet.ledger VALUES ('5791509e2dc34887a708088442a77a01');
INSERT INTO discreet.reservations VALUES ('visits', 2, 'ann', 'r-1', 'ab', '{"plan":"count"}', 'ANSWERED', 1, 1795086845770);
INSERT INTO discreet.reservations VALUES ('visits', 4, 'ann', 'auto-f3e582c9fca741a919966234696b35f4', 'cd', '{"plan":"count"}', 'ANSWERED', 1, 1795086845802);
INSERT INTO discreet.reservations VALUES ('visits', 6, 'ann', 'auto-860ffe72e0b14414ded43b89369b9324', 'ef', '{"plan":"count"}', 'ANSWERED', 1, 1795086845831);
INSERT INTO discreet.reservations VALUES ('visits', 9, 'bob', 'auto-94746da109b1e3a61da370f8629b6f6a', 'ab', '{"plan":"count"}', 'FORFEITED', 1, 1795086845876);
INSERT INTO discreet.reservations VALUES ('stays 1', 2, 'ann', 'r-2', 'aa', '{}', 'ANSWERED', 1, 1795086846093);
INSERT INTO discreet.reservations VALUES ('stays 2', 2, 'ann', 'r-2', 'aa', '{}', 'ANSWERED', 1, 1795086846096);
INSERT INTO discreet.reservations VALUES ('stays 1', 4, 'ann', 'auto-2fab145914afcf70f6530b13a8972796', 'ab', '{"plan":"count"}', 'ANSWERED', 2, 1795086846604);
INSERT INTO discreet.reservations VALUES ('visits', 11, 'Ann Müller', 'auto-a55dab963ae3f8cb232a6a421e49a3e3', 'ab', '{"plan":"count"}', 'FORFEITED', 1, 1795086845910);
INSERT INTO discreet.reservations VALUES ('people', 3, 'ann', 'auto-72ac75bcd8d692f08d50368726479a49', 'ab', '{"plan":"count"}', 'FORFEITED', 1, 1795086845972);
INSERT INTO discreet.reservations VALUES ('stays 2', 4, 'ann', 'auto-58d3ae938c3584a3f4184d46a15e2a9e', 'bb', '{"plan":"count"}', 'FORFEITED', 1, 1795086846632);
INSERT INTO discreet.reservations VALUES ('stays 1', 7, 'ann', 'auto-13ba4bb8f4b3301be4f01657ccb75ccd', 'dd', '{"plan":"count"}', 'RESERVED', 1, 1795086847126);
INSERT INTO discreet.schema_versions VALUES (7, '2026-11-19T11:14:05.151244+00:00', '0.1.0');
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
ALTER TABLE ONLY discreet.keys
    ADD CONSTRAINT keys_pkey PRIMARY KEY (sequence);
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
CREATE INDEX unconcluded ON discreet.reservations USING btree (lease) WHERE (state = 'RESERVED'::text);
CREATE TRIGGER aliases_never_change BEFORE UPDATE ON discreet.aliases FOR EACH STATEMENT EXECUTE FUNCTION discreet.never();
CREATE TRIGGER aliases_never_vanish BEFORE DELETE OR TRUNCATE ON discreet.aliases FOR EACH STATEMENT EXECUTE FUNCTION discreet.never();
CREATE TRIGGER analysts_before_insert BEFORE INSERT ON discreet.analysts FOR EACH ROW EXECUTE FUNCTION discreet.analysts_before_insert();
CREATE TRIGGER analysts_before_update BEFORE UPDATE ON discreet.analysts FOR EACH ROW EXECUTE FUNCTION discreet.analysts_before_update();
CREATE TRIGGER analysts_never_vanish BEFORE DELETE OR TRUNCATE ON discreet.analysts FOR EACH STATEMENT EXECUTE FUNCTION discreet.never();
CREATE TRIGGER answers_before_insert BEFORE INSERT ON discreet.answers FOR EACH ROW EXECUTE FUNCTION discreet.answers_before_insert();
CREATE TRIGGER answers_never_change BEFORE UPDATE ON discreet.answers FOR EACH STATEMENT EXECUTE FUNCTION discreet.never();
CREATE TRIGGER answers_never_vanish BEFORE DELETE OR TRUNCATE ON discreet.answers FOR EACH STATEMENT EXECUTE FUNCTION discreet.never();
CREATE TRIGGER datasets_before_update BEFORE UPDATE ON discreet.datasets FOR EACH ROW EXECUTE FUNCTION discreet.datasets_before_update();
CREATE TRIGGER datasets_never_vanish BEFORE DELETE OR TRUNCATE ON discreet.datasets FOR EACH STATEMENT EXECUTE FUNCTION discreet.never();
CREATE TRIGGER events_before_insert BEFORE INSERT ON discreet.events FOR EACH ROW EXECUTE FUNCTION discreet.events_before_insert();
CREATE TRIGGER events_never_change BEFORE UPDATE ON discreet.events FOR EACH STATEMENT EXECUTE FUNCTION discreet.never();
CREATE TRIGGER events_never_vanish BEFORE DELETE OR TRUNCATE ON discreet.events FOR EACH STATEMENT EXECUTE FUNCTION discreet.never();
CREATE TRIGGER halts_before_update BEFORE UPDATE ON discreet.halts FOR EACH ROW EXECUTE FUNCTION discreet.halts_before_update();
CREATE TRIGGER halts_never_vanish BEFORE DELETE OR TRUNCATE ON discreet.halts FOR EACH STATEMENT EXECUTE FUNCTION discreet.never();
CREATE TRIGGER keys_before_insert BEFORE INSERT ON discreet.keys FOR EACH ROW EXECUTE FUNCTION discreet.keys_before_insert();
CREATE TRIGGER keys_never_change BEFORE UPDATE ON discreet.keys FOR EACH STATEMENT EXECUTE FUNCTION discreet.never();
CREATE TRIGGER keys_never_vanish BEFORE DELETE OR TRUNCATE ON discreet.keys FOR EACH STATEMENT EXECUTE FUNCTION discreet.never();
CREATE TRIGGER ledger_never_change BEFORE UPDATE ON discreet.ledger FOR EACH STATEMENT EXECUTE FUNCTION discreet.never();
CREATE TRIGGER ledger_never_vanish BEFORE DELETE OR TRUNCATE ON discreet.ledger FOR EACH STATEMENT EXECUTE FUNCTION discreet.never();
CREATE TRIGGER reservations_before_insert BEFORE INSERT ON discreet.reservations FOR EACH ROW EXECUTE FUNCTION discreet.reservations_before_insert();
CREATE TRIGGER reservations_before_update BEFORE UPDATE ON discreet.reservations FOR EACH ROW EXECUTE FUNCTION discreet.reservations_before_update();
CREATE TRIGGER reservations_never_vanish BEFORE DELETE OR TRUNCATE ON discreet.reservations FOR EACH STATEMENT EXECUTE FUNCTION discreet.never();
CREATE TRIGGER schema_versions_never_change BEFORE UPDATE ON discreet.schema_versions FOR EACH STATEMENT EXECUTE FUNCTION discreet.never();
CREATE TRIGGER schema_versions_never_vanish BEFORE DELETE OR TRUNCATE ON discreet.schema_versions FOR EACH STATEMENT EXECUTE FUNCTION discreet.never();
CREATE TRIGGER versions_before_update BEFORE UPDATE ON discreet.versions FOR EACH ROW EXECUTE FUNCTION discreet.versions_before_update();
CREATE TRIGGER versions_never_vanish BEFORE DELETE OR TRUNCATE ON discreet.versions FOR EACH STATEMENT EXECUTE FUNCTION discreet.never();
ALTER TABLE ONLY discreet.aliases
    ADD CONSTRAINT aliases_dataset_fkey FOREIGN KEY (dataset) REFERENCES discreet.datasets(name);
ALTER TABLE ONLY discreet.analysts
    ADD CONSTRAINT analysts_dataset_fkey FOREIGN KEY (dataset) REFERENCES discreet.datasets(name);
ALTER TABLE ONLY discreet.versions
    ADD CONSTRAINT versions_dataset_fkey FOREIGN KEY (dataset) REFERENCES discreet.datasets(name);
GRANT USAGE ON SCHEMA discreet TO ledger_service;
GRANT USAGE ON SCHEMA discreet TO ledger_steward;
REVOKE ALL ON FUNCTION discreet.add_alias(given_alias text, given_dataset text) FROM PUBLIC;
GRANT ALL ON FUNCTION discreet.add_alias(given_alias text, given_dataset text) TO ledger_steward;
REVOKE ALL ON FUNCTION discreet.add_dataset(given_name text, given_unit text, given_neighbours text, given_hash_key text, given_part_of text, given_slice_start text, given_slice_end text, given_epsilon text, given_delta text, given_reserved_delta text, given_ceiling text, given_reason text, given_cap_epsilon bigint, given_cap_rho bigint, given_cap_delta bigint, given_renyi_order text, given_spent_epsilon bigint, given_spent_rho bigint, given_spent_delta bigint, given_spent_renyi bigint, given_floor_epsilon bigint, given_floor_rho bigint, given_floor_delta bigint, given_floor_renyi bigint, given_sequence bigint, given_head text) FROM PUBLIC;
GRANT ALL ON FUNCTION discreet.add_dataset(given_name text, given_unit text, given_neighbours text, given_hash_key text, given_part_of text, given_slice_start text, given_slice_end text, given_epsilon text, given_delta text, given_reserved_delta text, given_ceiling text, given_reason text, given_cap_epsilon bigint, given_cap_rho bigint, given_cap_delta bigint, given_renyi_order text, given_spent_epsilon bigint, given_spent_rho bigint, given_spent_delta bigint, given_spent_renyi bigint, given_floor_epsilon bigint, given_floor_rho bigint, given_floor_delta bigint, given_floor_renyi bigint, given_sequence bigint, given_head text) TO ledger_steward;
REVOKE ALL ON FUNCTION discreet.add_event(given_dataset text, given_sequence bigint, given_format integer, given_kind text, given_time text, given_version integer, given_analyst text, given_event text, given_cost_epsilon bigint, given_cost_rho bigint, given_cost_delta bigint, given_cost_renyi bigint, given_question text, given_request text, given_reservation bigint, given_digest text, given_detail text, given_library text, given_previous text, given_hash text) FROM PUBLIC;
GRANT ALL ON FUNCTION discreet.add_event(given_dataset text, given_sequence bigint, given_format integer, given_kind text, given_time text, given_version integer, given_analyst text, given_event text, given_cost_epsilon bigint, given_cost_rho bigint, given_cost_delta bigint, given_cost_renyi bigint, given_question text, given_request text, given_reservation bigint, given_digest text, given_detail text, given_library text, given_previous text, given_hash text) TO ledger_steward;
REVOKE ALL ON FUNCTION discreet.add_key_act(given_sequence bigint, given_document text) FROM PUBLIC;
GRANT ALL ON FUNCTION discreet.add_key_act(given_sequence bigint, given_document text) TO ledger_steward;
REVOKE ALL ON FUNCTION discreet.add_share(given_dataset text, given_analyst text, given_quota text, given_is_own integer, given_cap_epsilon bigint, given_cap_rho bigint, given_cap_delta bigint, given_spent_epsilon bigint, given_spent_rho bigint, given_spent_delta bigint, given_spent_renyi bigint, given_floor_epsilon bigint, given_floor_rho bigint, given_floor_delta bigint, given_floor_renyi bigint, given_failures bigint, given_most_failures bigint) FROM PUBLIC;
GRANT ALL ON FUNCTION discreet.add_share(given_dataset text, given_analyst text, given_quota text, given_is_own integer, given_cap_epsilon bigint, given_cap_rho bigint, given_cap_delta bigint, given_spent_epsilon bigint, given_spent_rho bigint, given_spent_delta bigint, given_spent_renyi bigint, given_floor_epsilon bigint, given_floor_rho bigint, given_floor_delta bigint, given_floor_renyi bigint, given_failures bigint, given_most_failures bigint) TO ledger_steward;
REVOKE ALL ON FUNCTION discreet.add_version(given_dataset text, given_version integer, given_source text, given_facts text, given_population bigint, given_registered bigint) FROM PUBLIC;
GRANT ALL ON FUNCTION discreet.add_version(given_dataset text, given_version integer, given_source text, given_facts text, given_population bigint, given_registered bigint) TO ledger_steward;
REVOKE ALL ON FUNCTION discreet.analysts_before_insert() FROM PUBLIC;
REVOKE ALL ON FUNCTION discreet.analysts_before_update() FROM PUBLIC;
REVOKE ALL ON FUNCTION discreet.answers_before_insert() FROM PUBLIC;
REVOKE ALL ON FUNCTION discreet.clear_halt(given_sequence bigint, given_id text) FROM PUBLIC;
GRANT ALL ON FUNCTION discreet.clear_halt(given_sequence bigint, given_id text) TO ledger_steward;
REVOKE ALL ON FUNCTION discreet.correct_version(given_source text, given_facts text, given_population bigint, given_registered bigint, given_dataset text, given_version integer) FROM PUBLIC;
GRANT ALL ON FUNCTION discreet.correct_version(given_source text, given_facts text, given_population bigint, given_registered bigint, given_dataset text, given_version integer) TO ledger_steward;
REVOKE ALL ON FUNCTION discreet.datasets_before_update() FROM PUBLIC;
REVOKE ALL ON FUNCTION discreet.events_before_insert() FROM PUBLIC;
REVOKE ALL ON FUNCTION discreet.halts_before_update() FROM PUBLIC;
REVOKE ALL ON FUNCTION discreet.keys_before_insert() FROM PUBLIC;
REVOKE ALL ON FUNCTION discreet.never() FROM PUBLIC;
REVOKE ALL ON FUNCTION discreet.register_again(given_registered bigint, given_dataset text, given_version integer) FROM PUBLIC;
GRANT ALL ON FUNCTION discreet.register_again(given_registered bigint, given_dataset text, given_version integer) TO ledger_steward;
REVOKE ALL ON FUNCTION discreet.repair_share(given_quota text, given_is_own integer, given_cap_epsilon bigint, given_cap_rho bigint, given_cap_delta bigint, given_spent_epsilon bigint, given_spent_rho bigint, given_spent_delta bigint, given_spent_renyi bigint, given_floor_epsilon bigint, given_floor_rho bigint, given_floor_delta bigint, given_floor_renyi bigint, given_failures bigint, given_most_failures bigint, given_dataset text, given_analyst text) FROM PUBLIC;
GRANT ALL ON FUNCTION discreet.repair_share(given_quota text, given_is_own integer, given_cap_epsilon bigint, given_cap_rho bigint, given_cap_delta bigint, given_spent_epsilon bigint, given_spent_rho bigint, given_spent_delta bigint, given_spent_renyi bigint, given_floor_epsilon bigint, given_floor_rho bigint, given_floor_delta bigint, given_floor_renyi bigint, given_failures bigint, given_most_failures bigint, given_dataset text, given_analyst text) TO ledger_steward;
REVOKE ALL ON FUNCTION discreet.reservations_before_insert() FROM PUBLIC;
REVOKE ALL ON FUNCTION discreet.reservations_before_update() FROM PUBLIC;
REVOKE ALL ON FUNCTION discreet.restate_share(given_spent_renyi bigint, given_floor_epsilon bigint, given_floor_rho bigint, given_floor_delta bigint, given_floor_renyi bigint, given_dataset text, given_analyst text) FROM PUBLIC;
GRANT ALL ON FUNCTION discreet.restate_share(given_spent_renyi bigint, given_floor_epsilon bigint, given_floor_rho bigint, given_floor_delta bigint, given_floor_renyi bigint, given_dataset text, given_analyst text) TO ledger_steward;
REVOKE ALL ON FUNCTION discreet.set_budget(given_unit text, given_neighbours text, given_epsilon text, given_delta text, given_reserved_delta text, given_ceiling text, given_reason text, given_cap_epsilon bigint, given_cap_rho bigint, given_cap_delta bigint, given_renyi_order text, given_spent_epsilon bigint, given_spent_rho bigint, given_spent_delta bigint, given_spent_renyi bigint, given_floor_epsilon bigint, given_floor_rho bigint, given_floor_delta bigint, given_floor_renyi bigint, given_sequence bigint, given_head text, given_name text, given_previous text) FROM PUBLIC;
GRANT ALL ON FUNCTION discreet.set_budget(given_unit text, given_neighbours text, given_epsilon text, given_delta text, given_reserved_delta text, given_ceiling text, given_reason text, given_cap_epsilon bigint, given_cap_rho bigint, given_cap_delta bigint, given_renyi_order text, given_spent_epsilon bigint, given_spent_rho bigint, given_spent_delta bigint, given_spent_renyi bigint, given_floor_epsilon bigint, given_floor_rho bigint, given_floor_delta bigint, given_floor_renyi bigint, given_sequence bigint, given_head text, given_name text, given_previous text) TO ledger_steward;
REVOKE ALL ON FUNCTION discreet.set_limits(given_quota text, given_is_own integer, given_cap_epsilon bigint, given_cap_rho bigint, given_cap_delta bigint, given_floor_epsilon bigint, given_floor_rho bigint, given_floor_delta bigint, given_floor_renyi bigint, given_most_failures bigint, given_dataset text, given_analyst text) FROM PUBLIC;
GRANT ALL ON FUNCTION discreet.set_limits(given_quota text, given_is_own integer, given_cap_epsilon bigint, given_cap_rho bigint, given_cap_delta bigint, given_floor_epsilon bigint, given_floor_rho bigint, given_floor_delta bigint, given_floor_renyi bigint, given_most_failures bigint, given_dataset text, given_analyst text) TO ledger_steward;
REVOKE ALL ON FUNCTION discreet.versions_before_update() FROM PUBLIC;
GRANT SELECT ON TABLE discreet.aliases TO ledger_service;
GRANT SELECT ON TABLE discreet.aliases TO ledger_steward;
GRANT SELECT,INSERT ON TABLE discreet.analysts TO ledger_service;
GRANT SELECT,INSERT ON TABLE discreet.analysts TO ledger_steward;
GRANT UPDATE(spent_epsilon) ON TABLE discreet.analysts TO ledger_service;
GRANT UPDATE(spent_epsilon) ON TABLE discreet.analysts TO ledger_steward;
GRANT UPDATE(spent_rho) ON TABLE discreet.analysts TO ledger_service;
GRANT UPDATE(spent_rho) ON TABLE discreet.analysts TO ledger_steward;
GRANT UPDATE(spent_delta) ON TABLE discreet.analysts TO ledger_service;
GRANT UPDATE(spent_delta) ON TABLE discreet.analysts TO ledger_steward;
GRANT UPDATE(spent_renyi) ON TABLE discreet.analysts TO ledger_service;
GRANT UPDATE(spent_renyi) ON TABLE discreet.analysts TO ledger_steward;
GRANT UPDATE(failures) ON TABLE discreet.analysts TO ledger_service;
GRANT UPDATE(failures) ON TABLE discreet.analysts TO ledger_steward;
GRANT SELECT,INSERT ON TABLE discreet.answers TO ledger_service;
GRANT SELECT,INSERT ON TABLE discreet.answers TO ledger_steward;
GRANT SELECT ON TABLE discreet.datasets TO ledger_service;
GRANT SELECT ON TABLE discreet.datasets TO ledger_steward;
GRANT UPDATE(spent_epsilon) ON TABLE discreet.datasets TO ledger_service;
GRANT UPDATE(spent_epsilon) ON TABLE discreet.datasets TO ledger_steward;
GRANT UPDATE(spent_rho) ON TABLE discreet.datasets TO ledger_service;
GRANT UPDATE(spent_rho) ON TABLE discreet.datasets TO ledger_steward;
GRANT UPDATE(spent_delta) ON TABLE discreet.datasets TO ledger_service;
GRANT UPDATE(spent_delta) ON TABLE discreet.datasets TO ledger_steward;
GRANT UPDATE(spent_renyi) ON TABLE discreet.datasets TO ledger_service;
GRANT UPDATE(spent_renyi) ON TABLE discreet.datasets TO ledger_steward;
GRANT UPDATE(sequence) ON TABLE discreet.datasets TO ledger_service;
GRANT UPDATE(sequence) ON TABLE discreet.datasets TO ledger_steward;
GRANT UPDATE(head) ON TABLE discreet.datasets TO ledger_service;
GRANT UPDATE(head) ON TABLE discreet.datasets TO ledger_steward;
GRANT SELECT,INSERT ON TABLE discreet.events TO ledger_service;
GRANT SELECT,INSERT ON TABLE discreet.events TO ledger_steward;
GRANT SELECT,INSERT ON TABLE discreet.halts TO ledger_service;
GRANT SELECT,INSERT ON TABLE discreet.halts TO ledger_steward;
GRANT SELECT ON TABLE discreet.keys TO ledger_service;
GRANT SELECT ON TABLE discreet.keys TO ledger_steward;
GRANT SELECT ON TABLE discreet.ledger TO ledger_service;
GRANT SELECT ON TABLE discreet.ledger TO ledger_steward;
GRANT SELECT,INSERT ON TABLE discreet.reservations TO ledger_service;
GRANT SELECT,INSERT ON TABLE discreet.reservations TO ledger_steward;
GRANT UPDATE(state) ON TABLE discreet.reservations TO ledger_service;
GRANT UPDATE(state) ON TABLE discreet.reservations TO ledger_steward;
GRANT UPDATE(attempt) ON TABLE discreet.reservations TO ledger_service;
GRANT UPDATE(attempt) ON TABLE discreet.reservations TO ledger_steward;
GRANT UPDATE(lease) ON TABLE discreet.reservations TO ledger_service;
GRANT UPDATE(lease) ON TABLE discreet.reservations TO ledger_steward;
GRANT SELECT ON TABLE discreet.schema_versions TO ledger_service;
GRANT SELECT ON TABLE discreet.schema_versions TO ledger_steward;
GRANT SELECT ON TABLE discreet.versions TO ledger_service;
GRANT SELECT ON TABLE discreet.versions TO ledger_steward;
