-- Acts on the keys of the ledger: documents that its owner signs, each with the hash of the one before it. The service reads
-- them; the owner of the database alone appends.

CREATE TABLE discreet.keys (
  sequence BIGINT PRIMARY KEY CHECK (sequence >= 1),
  document TEXT NOT NULL
);

CREATE FUNCTION discreet.guard_key() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF NEW.sequence <> 1 + COALESCE((SELECT max(k.sequence) FROM discreet.keys AS k), 0) THEN
    PERFORM discreet.refused('an act on the keys follows the one before it');
  END IF;
  RETURN NEW;
END
$$;

CREATE TRIGGER key_rules BEFORE INSERT ON discreet.keys
  FOR EACH ROW EXECUTE FUNCTION discreet.guard_key();
CREATE TRIGGER keys_written_once BEFORE UPDATE ON discreet.keys
  FOR EACH STATEMENT EXECUTE FUNCTION discreet.never();
CREATE TRIGGER keys_stay BEFORE DELETE OR TRUNCATE ON discreet.keys
  FOR EACH STATEMENT EXECUTE FUNCTION discreet.never();
