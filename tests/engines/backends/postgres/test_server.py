"""PostgreSQL before the first question: which table is meant, what the role may do, how the connection is set up."""

import logging
import sys
from dataclasses import replace
from urllib.parse import urlsplit

import pyarrow as pa
import pytest

from discreet.engines.backends.postgres import server
from discreet.engines.backends.postgres.engine import is_source, source
from discreet.errors import SourceError
from discreet.query import frame
from postgres_questions import ROWS, N, T, answer, as_superuser, question

# sources


def test_addresses_are_recognised_without_the_driver(script):
    assert is_source("postgresql://host/db")
    assert is_source("postgres://host/db")
    assert not is_source("visits.csv")
    assert not is_source(ROWS)
    told = script("import sys, discreet, discreet.engines.backends.postgres.engine; print('psycopg' in sys.modules)")
    assert told.stdout == "False\n"


def test_the_password_is_nowhere_but_in_the_address(visits, caplog):
    password = urlsplit(visits.engine_url).password or ""
    found = source(visits.engine_url, "visits")
    assert password in (found.address or "")
    assert password not in repr(found) + found.identity
    for url in (visits.engine_url.replace("/records", "/nothing"), visits.engine_url + "?nonsense=1"):
        with pytest.raises(SourceError, match=r"no database|cannot be understood") as refusal:
            source(url, "visits")
        assert password not in str(refusal.value) + repr(refusal.value.__context__)
    assert password not in caplog.text


@pytest.mark.parametrize(
    ("asked", "what"),
    [
        ("{role}:{password}@127.0.0.1:{port}/records?nonsense=1", "cannot be understood"),
        ("{role}:s3cr%t@127.0.0.1:{port}/records", "cannot be understood"),
        ("{role}:hush@s3cret@127.0.0.1:{port}/records", "cannot be understood"),
        ("{role}:hush/s3cret@127.0.0.1:{port}/records", "cannot be understood"),
        ("{role}:99/s3cret@127.0.0.1:{port}/records", "cannot be understood"),
        ("{role}:s3cret@127.0.0.1:{port}/records", "the role 'analyst_engine' at '127.0.0.1:{port}'"),
        ("nobody:s3cret@127.0.0.1:{port}/records", "the role 'nobody' at '127.0.0.1:{port}'"),
        ("{role}@127.0.0.1:{port}/records", "the role 'analyst_engine'"),
        ("{role}:{password}@127.0.0.1:{port}/recordz", "no database 'recordz' at '127.0.0.1:{port}'"),
        ("{role}:s3cret@nowhere.invalid:{port}/records", "a host that is not found: 'nowhere.invalid'"),
        ("{role}:s3cret@127.0.0.1:1/records", "no PostgreSQL server at '127.0.0.1:1'"),
        ("{role}:s3cret@/records?host=/nowhere&port=1", "no PostgreSQL server at '/nowhere:1'"),
        ("{role}:{password}@127.0.0.1:{port}/records?sslmode=require", "an encrypted connection to"),
        ("{role}:{password}@127.0.0.1:{port}/records?sslmode=s3cret", "cannot be reached"),
    ],
)
def test_each_cause_of_no_connection_has_its_own_words_and_never_the_password(visits, monkeypatch, asked, what):
    for name in ("PGPASSWORD", "PGPASSFILE"):
        monkeypatch.delenv(name, raising=False)
    url = urlsplit(visits.engine_url)
    parts = {"role": url.username, "password": url.password, "port": url.port}
    with pytest.raises(SourceError) as refusal:
        source(f"postgresql://{asked.format(**parts)}", "visits")
    assert what.format(**parts) in refusal.value.what
    said = str(refusal.value) + repr(refusal.value.__context__)
    assert not any(secret in said for secret in (url.password, "s3cr", "hush"))


def test_a_database_that_the_role_may_not_enter_is_named_with_the_grant(visits):
    as_superuser(visits, "DROP DATABASE IF EXISTS shut", "CREATE DATABASE shut")
    as_superuser(visits, "REVOKE ALL ON DATABASE shut FROM PUBLIC")
    with pytest.raises(SourceError, match="the database 'shut'") as refusal:
        source(visits.engine_url.replace("/records", "/shut"), "visits")
    assert refusal.value.instead == 'GRANT CONNECT, TEMPORARY ON DATABASE "shut" TO "analyst_engine";'


@pytest.mark.parametrize(
    ("table", "instead"),
    [
        ("vists", "table='public.visits'"),
        ("public.vists", "table='public.visits'"),
        ("stays", "table='clinic.stays' or table='hospital.stays'"),
        ("clinic.Stais", "table='clinic.stays'"),
        ("locked.stays_within", "GRANT USAGE ON SCHEMA locked TO analyst_engine;"),
        ("stays_within", "GRANT USAGE ON SCHEMA locked TO analyst_engine;"),
    ],
)
def test_a_table_that_is_not_found_is_told_with_the_nearest_or_the_right_that_is_missing(visits, table, instead):
    as_superuser(
        visits,
        *(
            f"CREATE SCHEMA IF NOT EXISTS {schema}; CREATE TABLE IF NOT EXISTS {schema}.{name} (id int)"
            for schema, name in (("clinic", "stays"), ("hospital", "stays"), ("locked", "stays_within"))
        ),
        "GRANT USAGE ON SCHEMA clinic, hospital TO analyst_engine",
    )
    try:
        with pytest.raises(SourceError) as refusal:
            source(visits.engine_url, table)
    finally:
        as_superuser(visits, "DROP SCHEMA clinic, hospital, locked CASCADE")
    assert refusal.value.instead == instead


def test_a_password_may_come_from_the_environment_or_a_file(visits, monkeypatch, tmp_path):
    url = urlsplit(visits.engine_url)
    bare = f"postgresql://{url.username}@127.0.0.1:{url.port}/records"
    monkeypatch.setenv("PGPASSWORD", url.password or "")
    assert source(bare, "visits").columns == ("id", "g", "x")
    monkeypatch.delenv("PGPASSWORD")
    (tmp_path / "pgpass").write_text(f"*:*:*:*:{url.password}\n")
    (tmp_path / "pgpass").chmod(0o600)
    monkeypatch.setenv("PGPASSFILE", str(tmp_path / "pgpass"))
    assert source(bare, "visits").columns == ("id", "g", "x")


@pytest.mark.parametrize(
    ("table", "what"),
    [
        (None, "without a table"),
        ("nothing", "no table 'nothing'"),
        ("nowhere.visits", "no table"),
        ("a.b.c.d", "no table"),
        ('"', "no table"),
        ("visits; DROP TABLE visits", "no table"),
        ("generate_series(1, 3)", "no table"),
        ("counter", "which is no table"),
        ("visits_by_id", "which is no table"),
        ("same", "not distinct"),
    ],
)
def test_what_is_no_table_is_refused(visits, table, what):
    visits.execute("CREATE SEQUENCE IF NOT EXISTS counter; CREATE INDEX IF NOT EXISTS visits_by_id ON visits (id)")
    visits.execute('CREATE TABLE IF NOT EXISTS same ("a" int, "A" int)')
    with pytest.raises(SourceError, match=what):
        source(visits.engine_url, table)


def test_an_address_with_a_driver_is_refused_with_the_address_to_use():
    assert is_source("postgresql+psycopg://host/db")
    with pytest.raises(SourceError, match="names a driver"):
        source("postgresql+psycopg://user:secret@host/db", "visits")


def test_views_and_the_like_are_sources(visits, open_postgres):
    visits.execute(
        "DROP VIEW IF EXISTS seen; DROP MATERIALIZED VIEW IF EXISTS kept; DROP TABLE IF EXISTS parted;"
        "CREATE VIEW seen AS SELECT * FROM visits; CREATE MATERIALIZED VIEW kept AS SELECT * FROM visits;"
        "CREATE TABLE parted (id bigint, g text, x double precision) PARTITION BY HASH (id);"
        "CREATE TABLE parted_0 PARTITION OF parted FOR VALUES WITH (MODULUS 1, REMAINDER 0);"
        "INSERT INTO parted SELECT * FROM visits"
    )
    for name in ("seen", "kept", "parted"):
        assert answer(open_postgres(name), T.agg(n=N, u=frame.count_units())) == [[3], [2]]


# rights


def test_a_role_that_may_only_read_is_enough_and_draws_no_warning(visits, open_postgres, caplog):
    assert answer(open_postgres("visits"), T.agg(n=N)) == [[3]]
    assert caplog.text == ""


def test_rights_that_reading_does_not_need_are_named(visits, caplog):
    visits.execute(
        "DROP TABLE IF EXISTS loose; CREATE TABLE loose (id int); GRANT INSERT, DELETE ON loose TO analyst_engine"
    )
    with caplog.at_level(logging.WARNING, "discreet"):
        source(visits.engine_url, "loose")
        source(visits.owner_url, "loose")
        source(visits.superuser_url, "loose")
    granted, owned, super_ = (record.getMessage() for record in caplog.records)
    assert granted.endswith("REVOKE INSERT, DELETE ON public.loose FROM analyst_engine;")
    assert "data_owner owns public.loose" in owned
    assert "GRANT SELECT ON public.loose TO reader;" in owned
    assert "postgres is a superuser" in super_


def test_a_filter_by_row_security_is_told(visits, open_postgres, caplog):
    visits.execute(
        "DROP TABLE IF EXISTS mine; CREATE TABLE mine AS SELECT * FROM visits;"
        "ALTER TABLE mine ENABLE ROW LEVEL SECURITY; CREATE POLICY one ON mine USING (id = 1)"
    )
    with caplog.at_level(logging.WARNING, "discreet"):
        engine = open_postgres("mine")
    assert "row security filters public.mine" in caplog.text
    assert answer(engine, T.agg(n=N)) == [[2]]


def test_without_temporary_tables_the_grant_is_named(visits):
    as_superuser(visits, "REVOKE TEMPORARY ON DATABASE records FROM analyst_engine")
    try:
        with pytest.raises(SourceError, match="temporary") as refusal:
            source(visits.engine_url, "visits")
    finally:
        as_superuser(visits, "GRANT TEMPORARY ON DATABASE records TO analyst_engine")
    assert refusal.value.instead == "GRANT TEMPORARY ON DATABASE records TO analyst_engine;"


def test_a_database_in_another_encoding_is_refused(visits):
    as_superuser(
        visits,
        "DROP DATABASE IF EXISTS old",
        "CREATE DATABASE old ENCODING 'SQL_ASCII' LOCALE 'C' LOCALE_PROVIDER libc TEMPLATE template0",
    )
    with pytest.raises(SourceError, match="encoding 'SQL_ASCII'"):
        source(visits.superuser_url.replace("/records", "/old"), "pg_class")


def test_settings_of_the_role_change_nothing(visits, open_postgres):
    hostile = {
        "DateStyle": "'SQL, DMY'",
        "TimeZone": "'Asia/Tokyo'",
        "standard_conforming_strings": "off",
        "default_transaction_read_only": "on",
        "search_path": "public",
        "transform_null_equals": "on",
    }
    as_superuser(visits, *(f"ALTER ROLE analyst_engine SET {name} = {value}" for name, value in hostile.items()))
    try:
        engine = open_postgres(pa.table({"id": [1, 2], "g": ["\\", "2020-01-02"], "x": [1.0, 2.0]}))
        counts = [T.where(T.g == "\\").agg(n=N), T.where(T.g.cast("date") == "2020-01-02").agg(n=N)]
        assert [answer(engine, each) for each in counts] == [[[1]], [[1]]]
    finally:
        as_superuser(visits, "ALTER ROLE analyst_engine RESET ALL")


def test_no_function_operator_or_type_of_a_user_is_ever_called(visits, open_postgres):
    """The attack of CVE-2018-1058: names that shadow PostgreSQL's own, in a schema on everybody's search path."""
    visits.execute(
        "CREATE OR REPLACE FUNCTION public.trap(text) RETURNS text LANGUAGE plpgsql AS $$ BEGIN RAISE 'caught'; END $$;"
        "CREATE OR REPLACE FUNCTION public.md5(varchar) RETURNS text LANGUAGE sql AS $$ SELECT public.trap('') $$;"
        "CREATE OR REPLACE FUNCTION public.hashint8extended(int, bigint) RETURNS bigint LANGUAGE sql"
        " AS $$ SELECT length(public.trap(''))::bigint $$;"
        "CREATE OR REPLACE FUNCTION public.caught(varchar, varchar) RETURNS boolean LANGUAGE sql"
        " AS $$ SELECT public.trap('') = '' $$;"
        "DROP OPERATOR IF EXISTS public.= (varchar, varchar); DROP OPERATOR IF EXISTS public.~ (varchar, varchar);"
        "CREATE OPERATOR public.= (FUNCTION = public.caught, LEFTARG = varchar, RIGHTARG = varchar);"
        "CREATE OPERATOR public.~ (FUNCTION = public.caught, LEFTARG = varchar, RIGHTARG = varchar);"
        "DROP TABLE IF EXISTS lured; CREATE TABLE lured (id int, g varchar, x varchar);"
        "INSERT INTO lured VALUES (1, 'a', '1'), (2, 'b', '2')"
    )
    as_superuser(visits, "ALTER ROLE analyst_engine SET search_path = public, pg_catalog")
    try:
        engine = open_postgres("lured")
        query = T.where(T.g == "a", T.x > 0).group_by("g", keys={"g": ["a", None]}).agg(n=N, u=frame.count_units())
        assert answer(engine, query) == [[1, 0], [1, 0]]
        asked = question(query)
        portable = replace(asked, scan=replace(asked.scan, portable=True))
        assert engine.run(engine.prepare(portable)) == [[1, 0], [1, 0]]
    finally:
        as_superuser(visits, "ALTER ROLE analyst_engine RESET ALL")
        visits.execute(  # other tests of this server make views, which would find these operators
            "DROP OPERATOR public.= (varchar, varchar); DROP OPERATOR public.~ (varchar, varchar);"
            "DROP FUNCTION public.caught(varchar, varchar), public.md5(varchar), "
            "public.hashint8extended(int, bigint), public.trap(text)"
        )


def test_what_the_driver_says_stays_with_the_driver(monkeypatch):
    monkeypatch.setitem(sys.modules, "psycopg", None)
    with pytest.raises(SourceError, match="without the driver") as refusal:
        server.driver()
    assert refusal.value.instead == "pip install 'discreet[postgres]'"
