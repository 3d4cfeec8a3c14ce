"""Rights beyond those that discreet grants are found, in the schema and around it."""

import pytest

from discreet.ledger.stores import postgres_findings
from servers import ENGINE, OWNER, SERVICE, STEWARD

GRANTED = {
    f"GRANT UPDATE ON datasets TO {SERVICE}": "'datasets'",
    f"GRANT UPDATE (cap_rho) ON datasets TO {SERVICE}": "'datasets'",
    f"GRANT DELETE ON halts TO {STEWARD}": "'halts'",
    f"GRANT INSERT ON keys TO {STEWARD}": "'keys'",
    f"GRANT SELECT ON answers TO {SERVICE} WITH GRANT OPTION": "'answers'",
    f"GRANT CREATE ON SCHEMA discreet TO {SERVICE}": "'discreet'",
    "GRANT SELECT ON events TO PUBLIC": "'events'",
    "GRANT EXECUTE ON FUNCTION clear_halt TO PUBLIC": "'clear_halt'",
    f"GRANT EXECUTE ON FUNCTION never TO {SERVICE}": "'never'",
}
PARTS = "a role may call some functions of the steward, and not all of them"
OUTSIDE = "'public.{}', outside the ledger's schema, gives a role more than discreet grants"
RAISED = "LANGUAGE sql SECURITY DEFINER AS 'UPDATE discreet.datasets SET cap_rho = 9 RETURNING 1'"
PASSAGES = {
    f"CREATE FUNCTION public.raised() RETURNS int {RAISED}; ALTER FUNCTION public.raised() OWNER TO {OWNER}": (
        f"the function {OUTSIDE.format('raised()')}"
    ),
    f"CREATE FUNCTION public.raised() RETURNS int {RAISED}; ALTER FUNCTION public.raised() OWNER TO {STEWARD}": (
        f"the function {OUTSIDE.format('raised()')}"
    ),
    f"CREATE VIEW public.totals AS SELECT * FROM datasets; GRANT UPDATE ON public.totals TO {SERVICE}": (
        f"the view or table {OUTSIDE.format('totals')}"
    ),
    f"CREATE VIEW public.totals AS SELECT * FROM datasets; GRANT UPDATE (cap_rho) ON public.totals TO {SERVICE}": (
        f"the view or table {OUTSIDE.format('totals')}"
    ),
    "CREATE VIEW public.totals AS SELECT * FROM datasets; CREATE VIEW public.others AS SELECT * FROM public.totals;"
    f"GRANT UPDATE ON public.others TO {SERVICE}": f"the view or table {OUTSIDE.format('others')}",
    "CREATE TABLE public.asked (x int); GRANT INSERT ON public.asked TO PUBLIC;"
    "CREATE RULE refund AS ON INSERT TO public.asked DO ALSO UPDATE datasets SET spent_rho = 0": (
        f"the view or table {OUTSIDE.format('asked')}"
    ),
    f"GRANT SET ON PARAMETER session_replication_role TO {SERVICE}": (
        "a role that is no superuser may switch the triggers off (session_replication_role)"
    ),
}
DEFINER = "SECURITY DEFINER AS $$ BEGIN EXECUTE x; RETURN x; END $$;REVOKE ALL ON FUNCTION public.raised{} FROM PUBLIC;"
OF_OWNER = f"ALTER FUNCTION public.raised{{}} OWNER TO {OWNER};"
WITHOUT_GRANTS = {
    "of the owner, by a trigger": (
        "CREATE TABLE public.asked (x text);"
        "CREATE FUNCTION public.raised() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER"
        " AS $$ BEGIN EXECUTE NEW.x; RETURN NULL; END $$; REVOKE ALL ON FUNCTION public.raised() FROM PUBLIC;"
        "CREATE TRIGGER raised BEFORE INSERT ON public.asked FOR EACH ROW EXECUTE FUNCTION public.raised();"
        f"{OF_OWNER.format('()')} GRANT INSERT ON public.asked TO {SERVICE}"
    ),
    "of the owner, by an aggregate": (
        f"CREATE FUNCTION public.raised(s text, x text) RETURNS text LANGUAGE plpgsql {DEFINER.format('(text,text)')}"
        f"{OF_OWNER.format('(text, text)')}"
        "CREATE AGGREGATE public.all_raised(text) (SFUNC = public.raised, STYPE = text)"
    ),
    "of a member of the owner's role": (
        f"CREATE ROLE one; GRANT {OWNER} TO one; CREATE ROLE other; GRANT one TO other;"
        f"CREATE FUNCTION public.raised(x text) RETURNS text LANGUAGE plpgsql {DEFINER.format('(text)')}"
        "ALTER FUNCTION public.raised(text) OWNER TO other"
    ),
    "of a member of a steward's role who does not inherit": (
        f"CREATE ROLE one NOINHERIT; GRANT {STEWARD} TO one;"
        f"CREATE FUNCTION public.raised(x text) RETURNS text LANGUAGE plpgsql {DEFINER.format('(text)')}"
        "ALTER FUNCTION public.raised(text) OWNER TO one"
    ),
}
MEMBER = "a role of the service belongs to a role that may do more: the owner's, a steward's or one of the server"
SWITCHED = "a setting of a role or of the database switches the triggers off (session_replication_role)"
OF_ROLES = {
    f"GRANT {OWNER} TO {SERVICE}": MEMBER,
    f"CREATE ROLE one; GRANT {OWNER} TO one; GRANT one TO {SERVICE}": MEMBER,
    f"CREATE ROLE one; GRANT {OWNER}, {SERVICE} TO one": MEMBER,
    f"GRANT {STEWARD} TO {SERVICE}": MEMBER,
    f"GRANT pg_write_all_data TO {SERVICE}": MEMBER,
    f"CREATE ROLE one SUPERUSER; GRANT one TO {SERVICE}": MEMBER,
    f"ALTER ROLE {SERVICE} SET session_replication_role = replica": SWITCHED,
    f"ALTER ROLE {SERVICE} IN DATABASE {{database}} SET session_replication_role = 'REPLICA'": SWITCHED,
    "ALTER DATABASE {database} SET session_replication_role = replica": SWITCHED,
    "ALTER ROLE ALL SET session_replication_role = replica": SWITCHED,
}
ORDINARY = {
    "a steward in the owner's group": f"GRANT {OWNER} TO {STEWARD}",
    "a person in the owner's group": f"CREATE ROLE one; GRANT {OWNER} TO one",
    "a person who is steward and service": f"CREATE ROLE one; GRANT {STEWARD}, {SERVICE} TO one",
    "a person of the service": f"CREATE ROLE one; GRANT {SERVICE} TO one",
    "an owner in the service's group, and a person in its own": (
        f"GRANT {SERVICE} TO {OWNER}; CREATE ROLE one; GRANT {OWNER} TO one"
    ),
    "a superuser": f"CREATE ROLE one SUPERUSER; GRANT {OWNER}, {SERVICE} TO one",
    "a superuser who copies tables": (
        "CREATE ROLE one SUPERUSER; ALTER ROLE one SET session_replication_role = replica"
    ),
    "the usual setting": f"ALTER ROLE {SERVICE} SET session_replication_role = origin",
    "a function of a superuser in the owner's group": (
        f"CREATE ROLE one SUPERUSER; GRANT {OWNER} TO one;"
        f"CREATE FUNCTION public.raised(x text) RETURNS text LANGUAGE plpgsql {DEFINER.format('(text)')}"
        "ALTER FUNCTION public.raised(text) OWNER TO one"
    ),
    "a function of the service": (
        "CREATE FUNCTION public.one() RETURNS int LANGUAGE sql SECURITY DEFINER AS 'SELECT 1';"
        f"ALTER FUNCTION public.one() OWNER TO {SERVICE}"
    ),
}
DEFAULTS = "default privileges of the schema's owner give a role more with what is made next than discreet grants"
FOR_OWNER = f"ALTER DEFAULT PRIVILEGES FOR ROLE {OWNER}"
TO_STRANGERS = {
    f"GRANT EXECUTE ON FUNCTION clear_halt TO {SERVICE}": PARTS,
    f"REVOKE EXECUTE ON FUNCTION set_budget FROM {STEWARD}": PARTS,
    f"{FOR_OWNER} GRANT EXECUTE ON FUNCTIONS TO {ENGINE}": DEFAULTS,
    f"{FOR_OWNER} IN SCHEMA discreet GRANT EXECUTE ON FUNCTIONS TO {ENGINE}": DEFAULTS,
    f"{FOR_OWNER} GRANT INSERT ON TABLES TO {ENGINE}": DEFAULTS,
    f"{FOR_OWNER} GRANT CREATE ON SCHEMAS TO {ENGINE}": DEFAULTS,
}


def test_a_role_that_only_reads_is_no_finding(undone, filled):
    with undone(filled.tamperer) as connection:
        connection.execute(f"{FOR_OWNER} GRANT SELECT ON TABLES TO analyst_engine".encode())
        connection.execute(f"{FOR_OWNER} REVOKE EXECUTE ON FUNCTIONS FROM PUBLIC".encode())
        connection.execute("GRANT USAGE ON SCHEMA discreet TO analyst_engine")
        connection.execute("GRANT SELECT ON events, datasets TO analyst_engine")
        assert list(postgres_findings.findings(connection)) == []


@pytest.mark.guarantee("ledger")
@pytest.mark.parametrize("change", GRANTED)
def test_rights_that_discreet_does_not_grant_are_found(undone, filled, change):
    with undone(filled.tamperer) as connection:
        connection.execute(change.encode())
        (found,) = postgres_findings.findings(connection)
        assert found == f"a role may do more with {GRANTED[change]} than discreet grants"


@pytest.mark.guarantee("ledger")
@pytest.mark.parametrize("change", TO_STRANGERS)
def test_a_part_of_the_stewards_rights_and_rights_by_default_are_found(undone, filled, change):
    with undone(filled.tamperer) as connection:
        connection.execute(change.encode())
        assert list(postgres_findings.findings(connection)) == [TO_STRANGERS[change]]


@pytest.mark.guarantee("ledger")
@pytest.mark.parametrize("change", PASSAGES)
def test_a_way_around_the_schema_that_gives_more_rights_is_found(undone, filled, change):
    with undone(filled.tamperer) as connection:
        connection.execute(f"GRANT CREATE ON SCHEMA public TO {OWNER}, {STEWARD}".encode())
        connection.execute(change.encode())
        assert list(postgres_findings.findings(connection)) == [PASSAGES[change]]


@pytest.mark.guarantee("ledger")
@pytest.mark.pitfall("D")
@pytest.mark.parametrize("way", WITHOUT_GRANTS)
def test_a_function_with_more_rights_is_found_also_where_nobody_has_a_right_on_it(undone, filled, way):
    with undone(filled.tamperer) as connection:
        connection.execute(f"GRANT CREATE ON SCHEMA public TO {OWNER}".encode())
        connection.execute(WITHOUT_GRANTS[way].encode())
        (found,) = postgres_findings.findings(connection)
        assert "the function 'public.raised(" in found


@pytest.mark.guarantee("ledger")
@pytest.mark.pitfall("D")
@pytest.mark.parametrize("change", OF_ROLES)
def test_a_service_that_may_do_more_by_a_membership_or_a_setting_is_found(undone, filled, change):
    with undone(filled.tamperer) as connection:
        connection.execute(change.format(database=connection.info.dbname).encode())
        assert list(postgres_findings.findings(connection)) == [OF_ROLES[change]]


@pytest.mark.guarantee("ledger")
@pytest.mark.pitfall("D")
@pytest.mark.parametrize("change", ORDINARY)
def test_memberships_functions_and_settings_that_give_a_service_nothing_are_no_finding(undone, filled, change):
    with undone(filled.tamperer) as connection:
        connection.execute(f"GRANT CREATE ON SCHEMA public TO {SERVICE}".encode())
        connection.execute(ORDINARY[change].encode())
        assert list(postgres_findings.findings(connection)) == []


def test_what_reads_the_ledger_or_belongs_to_others_outside_the_schema_is_no_finding(undone, filled):
    with undone(filled.tamperer) as connection:
        connection.execute(
            "CREATE VIEW public.totals AS SELECT * FROM datasets; GRANT SELECT ON public.totals TO PUBLIC"
        )
        connection.execute("CREATE FUNCTION public.one() RETURNS int LANGUAGE sql SECURITY DEFINER AS 'SELECT 1'")
        assert list(postgres_findings.findings(connection)) == []


def test_a_right_on_a_function_with_the_name_of_another_is_found(undone, filled):
    with undone(filled.tamperer) as connection:
        connection.execute("CREATE FUNCTION clear_halt(text) RETURNS void LANGUAGE sql AS 'SELECT'")
        connection.execute("REVOKE ALL ON FUNCTION clear_halt(text) FROM PUBLIC")
        connection.execute(f"GRANT EXECUTE ON FUNCTION clear_halt(text) TO {STEWARD}".encode())
        found = "\n".join(postgres_findings.findings(connection))
        assert "a role may do more with 'clear_halt' than discreet grants" in found
