-- T2 in one journey: the plain case, in which whoever holds a charge of one dataset answers it. The event of the charge
-- must be, column by column, the one that its receipt tells of.
-- It returns where the dataset stands after the answer, and the answer as it is stored, or no row where the case is not
-- plain; then nothing was written, and the longer way finds out why. The link's hash is made as in discreet.charge.

CREATE FUNCTION discreet.answer(
  given_name TEXT, given_reservation BIGINT, given_charge JSONB, given_attempt INTEGER, given_version INTEGER,
  given_analyst TEXT, given_question TEXT, given_digest TEXT, given_payload BYTEA, given_time TEXT, given_library TEXT,
  given_format INTEGER, least_sequence BIGINT, before TEXT, between_them TEXT, after_them TEXT
) RETURNS TABLE (
  previous_head TEXT, new_head TEXT, new_sequence BIGINT, total_epsilon BIGINT, total_rho BIGINT, total_delta BIGINT,
  promised_epsilon TEXT, promised_delta TEXT, promised_reserve TEXT, promised_ceiling TEXT, promised_reason TEXT,
  stored BYTEA
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
