-- T1 in one journey: the plain case, in which nothing has to be said but "charged".
-- It returns where the dataset stands after the charge, or no row where the case is not plain; then nothing was written,
-- and the longer way finds out why. The link's hash is that of `before || previous || between || sequence || after`.

CREATE FUNCTION discreet.charge(
  given_name TEXT, given_version INTEGER, given_registration BIGINT, given_analyst TEXT, given_question TEXT,
  given_request TEXT, is_fresh BOOLEAN, given_event TEXT, given_epsilon BIGINT, given_rho BIGINT, given_delta BIGINT,
  given_digest TEXT, given_description TEXT, given_time TEXT, given_library TEXT, given_format INTEGER,
  given_term BIGINT, least_sequence BIGINT, before TEXT, between_them TEXT, after_them TEXT
) RETURNS TABLE (
  previous_head TEXT, new_head TEXT, new_sequence BIGINT, total_epsilon BIGINT, total_rho BIGINT, total_delta BIGINT,
  promised_epsilon TEXT, promised_delta TEXT, promised_reserve TEXT, promised_ceiling TEXT, promised_reason TEXT
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
