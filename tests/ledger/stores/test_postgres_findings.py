"""What was dropped, switched off, rewritten, added or granted in the schema is found."""

import pytest

from discreet.ledger.stores import postgres_findings

GUARD = "datasets_before_update"
AGAIN = f"DROP TRIGGER {GUARD} ON datasets; CREATE TRIGGER {GUARD} BEFORE"
NOTHING = "CREATE FUNCTION public.nothing() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RETURN NULL; END $$;"
PROMISE = "ALTER TABLE datasets DROP CONSTRAINT promise, ADD CONSTRAINT promise CHECK"
SPENT = "spent_epsilon IS NOT NULL AND spent_epsilon <= cap_epsilon"
FLOOR = (
    "(spent_epsilon IS NOT DISTINCT FROM floor_epsilon AND spent_rho = floor_rho AND spent_delta = floor_delta"
    " AND spent_renyi = floor_renyi)"
)
CHANGED = {
    f"{PROMISE} (((spent_delta <= cap_delta AND {SPENT}) OR spent_renyi <= cap_rho) OR {FLOOR})": "a check",
    f"{PROMISE} (spent_delta <= cap_delta AND (({SPENT}) OR spent_renyi <= cap_rho OR {FLOOR}))": "a check",
    f"{PROMISE} ((spent_delta::text <= cap_delta::text"
    f" AND (({SPENT}) OR spent_renyi <= cap_rho)) OR {FLOOR})": "a check",
    f"{PROMISE} ((spent_delta <= cap_delta AND (({SPENT}) OR spent_renyi <= cap_rho)) OR {FLOOR}) NOT VALID": "a check",
    "ALTER TABLE datasets DROP CONSTRAINT datasets_cap_rho_check;"
    "ALTER TABLE analysts ADD CHECK (cap_rho >= 0)": "a check of the tables",
    f"{NOTHING} CREATE TRIGGER {GUARD} BEFORE INSERT ON events FOR EACH ROW"
    " EXECUTE FUNCTION public.nothing()": f"the trigger '{GUARD}'",
    f"{NOTHING} CREATE TRIGGER halts_never_vanish AFTER UPDATE ON events FOR EACH STATEMENT"
    " EXECUTE FUNCTION public.nothing()": "the trigger 'halts_never_vanish'",
    f"CREATE TRIGGER {GUARD} BEFORE INSERT ON events FOR EACH ROW WHEN (NEW.kind = 'RESERVED')"
    " EXECUTE FUNCTION never()": f"the trigger '{GUARD}'",
    f"CREATE CONSTRAINT TRIGGER {GUARD} AFTER INSERT ON events FOR EACH ROW"
    " EXECUTE FUNCTION never()": f"the trigger '{GUARD}'",
    "ALTER TABLE analysts DISABLE TRIGGER ALL;"
    "ALTER TABLE analysts ENABLE TRIGGER USER": "the foreign key of 'analysts'",
    "ALTER FUNCTION clear_halt(bigint, text) STRICT": "'clear_halt(bigint,text)'",
    "ALTER FUNCTION clear_halt(bigint, text) IMMUTABLE": "'clear_halt(bigint,text)'",
    "DROP INDEX one_outcome; CREATE UNIQUE INDEX one_outcome ON events (dataset, reservation)"
    " WHERE kind IN ('ANSWERED', 'FORFEITED') AND (reservation > 9 OR reservation < 1)": "the index 'one_outcome'",
    "ALTER TABLE events DISABLE TRIGGER events_before_insert": "the trigger 'events_before_insert'",
    "ALTER TABLE events DISABLE TRIGGER ALL": "the trigger 'events_never_vanish'",
    "ALTER TABLE events ENABLE REPLICA TRIGGER events_before_insert": "the trigger 'events_before_insert'",
    "DROP TRIGGER halts_never_vanish ON halts": "the trigger 'halts_never_vanish'",
    f"{AGAIN} UPDATE ON datasets FOR EACH ROW WHEN (false) EXECUTE FUNCTION {GUARD}()": f"the trigger '{GUARD}'",
    f"{AGAIN} UPDATE OF unit ON datasets FOR EACH ROW EXECUTE FUNCTION {GUARD}()": f"the trigger '{GUARD}'",
    f"{AGAIN} INSERT ON datasets FOR EACH ROW EXECUTE FUNCTION {GUARD}()": f"the trigger '{GUARD}'",
    f"{AGAIN} UPDATE ON datasets FOR EACH ROW EXECUTE FUNCTION halts_before_update()": f"the trigger '{GUARD}'",
    "CREATE OR REPLACE FUNCTION never() RETURNS trigger LANGUAGE plpgsql AS"
    " $$ BEGIN RETURN NEW; END $$": "the function 'never()'",
    "ALTER FUNCTION never() SECURITY DEFINER": "the function 'never()'",
    "ALTER FUNCTION events_before_insert() SET search_path = public": "the function 'events_before_insert()'",
    "ALTER FUNCTION clear_halt(bigint, text) SET search_path = public, discreet": "'clear_halt(bigint,text)'",
    "ALTER FUNCTION clear_halt(bigint, text) SECURITY INVOKER": "'clear_halt(bigint,text)'",
    "ALTER TABLE datasets DROP CONSTRAINT promise": "a check of the tables",
    "ALTER TABLE datasets DROP CONSTRAINT datasets_spent_rho_check": "a check of the tables",
    "ALTER TABLE datasets DROP CONSTRAINT promise, ADD CONSTRAINT promise CHECK (true)": "a check of the tables",
    "ALTER TABLE analysts DROP CONSTRAINT quota, ADD CONSTRAINT quota CHECK (spent_rho <= cap_rho OR true)": "a check",
    "DROP INDEX one_outcome": "the index 'one_outcome'",
    "DROP INDEX unconcluded; CREATE INDEX unconcluded ON reservations (lease)": "the index 'unconcluded'",
    "ALTER TABLE events DROP CONSTRAINT events_pkey": "the index 'events_pkey'",
    "ALTER TABLE analysts DROP CONSTRAINT analysts_dataset_fkey": "the foreign key of 'analysts'",
    "ALTER TABLE halts SET UNLOGGED": "a table is not logged",
    "ALTER TABLE schema_versions DISABLE TRIGGER ALL; DELETE FROM schema_versions": "the schema's version",
    "ALTER TABLE datasets ALTER COLUMN head DROP NOT NULL": "the column 'datasets.head'",
    """CREATE SCHEMA other; CREATE COLLATION other."C" (provider = icu, locale = 'und', deterministic = false);"""
    """ALTER TABLE aliases ALTER COLUMN alias TYPE text COLLATE other."C\"""": "the column 'aliases.alias'",
    "ALTER TABLE events ALTER COLUMN cost_rho SET DEFAULT 0": "the column 'events.cost_rho'",
    "ALTER TABLE events RENAME TO others": "the table 'events'",
    "ALTER TABLE halts ENABLE ROW LEVEL SECURITY": "the table 'halts'",
}
ADDED = {
    "CREATE FUNCTION no(bigint, bigint) RETURNS boolean LANGUAGE sql AS 'SELECT true';"
    "CREATE OPERATOR <= (LEFTARG = bigint, RIGHTARG = bigint, FUNCTION = no)": "operator 'discreet.<=(bigint,bigint)'",
    "CREATE DOMAIN small AS BIGINT": "the type 'discreet.small'",
    "CREATE TYPE pair AS (x int)": "the type 'discreet.pair'",
    "CREATE TYPE one AS ENUM ('a')": "the type 'discreet.one'",
    'CREATE COLLATION bytes FROM "C"': "the collation 'discreet.bytes'",
    "CREATE AGGREGATE most(bigint) (SFUNC = int8pl, STYPE = bigint)": "the function 'most(bigint)'",
    "CREATE SEQUENCE numbers": "the table 'numbers'",
    "CREATE FUNCTION never(name varchar) RETURNS boolean LANGUAGE sql AS 'SELECT false'": "'never(character varying)'",
    "CREATE PROCEDURE refund() LANGUAGE sql AS 'UPDATE datasets SET spent_rho = 0'": "the function 'refund()'",
    "CREATE TRIGGER refund AFTER UPDATE ON datasets FOR EACH ROW EXECUTE FUNCTION never()": "the trigger 'refund'",
    "CREATE FUNCTION public.f() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RETURN NULL; END $$;"
    "CREATE TRIGGER refund BEFORE INSERT ON events FOR EACH ROW EXECUTE FUNCTION public.f()": "the trigger 'refund'",
    "CREATE RULE silence AS ON INSERT TO halts DO INSTEAD NOTHING": "the rule 'silence'",
    "CREATE RULE copies AS ON UPDATE TO datasets DO ALSO DELETE FROM halts": "the rule 'copies'",
    "CREATE POLICY hidden ON events USING (kind <> 'RESERVED')": "the rule 'hidden'",
    "CREATE VIEW totals AS SELECT * FROM datasets": "the table 'totals'",
    "CREATE TABLE public.more () INHERITS (halts)": "the table 'halts'",
    "CREATE TABLE more (x int)": "the table 'more'",
    "ALTER TABLE datasets ADD COLUMN free BIGINT": "the column 'datasets.free'",
    "ALTER TABLE datasets ADD CONSTRAINT small CHECK (spent_rho < 9000000000000000000)": "a check of the tables",
    "ALTER TABLE answers ADD CONSTRAINT once UNIQUE (payload)": "the index 'once'",
    "CREATE UNIQUE INDEX one_at_all ON reservations (dataset, attempt, sequence)": "the index 'one_at_all'",
}


def test_a_schema_as_it_was_made_has_no_finding(undone, filled):
    with undone(filled.service) as connection:
        assert list(postgres_findings.findings(connection)) == []


@pytest.mark.guarantee("ledger")
@pytest.mark.parametrize("change", CHANGED)
def test_a_rule_that_is_gone_is_found(undone, filled, change):
    with undone(filled.tamperer) as connection:
        connection.execute(change.encode())
        assert CHANGED[change] in "\n".join(postgres_findings.findings(connection))


@pytest.mark.guarantee("ledger")
@pytest.mark.parametrize("change", ADDED)
def test_what_was_added_is_found(undone, filled, change):
    with undone(filled.tamperer) as connection:
        connection.execute(change.encode())
        assert ADDED[change] in "\n".join(postgres_findings.findings(connection))
