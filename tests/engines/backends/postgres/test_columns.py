"""Columns of PostgreSQL by its catalog: how they are stored and read, and that no cast of an owner takes part."""

import pytest

from discreet.catalog.catalog import ColumnType
from discreet.engines.backends.postgres.engine import DIALECT, draft, source
from discreet.engines.sql.dialect import StorageType
from discreet.errors import SourceError
from postgres_questions import N, T, answer, as_superuser

TYPES = {
    "smallint": (StorageType.INTEGER, "integer"),
    "oid": (StorageType.INTEGER, "integer"),
    "real": (StorageType.REAL, "real"),
    "numeric": (StorageType.DECIMAL, "real"),
    "numeric(10,2)": (StorageType.DECIMAL, "real"),
    "numeric(10,0)": (StorageType.WIDE, "integer"),
    "numeric(3,-2)": (StorageType.WIDE, "integer"),
    "boolean": (StorageType.BOOLEAN, "boolean"),
    "date": (StorageType.DATE, "date"),
    "timestamp(0)": (StorageType.TIMESTAMP, "timestamp"),
    "timestamptz": (StorageType.ZONED, "timestamp"),
    "varchar(3)": (StorageType.TEXT, "text"),
    "char(3)": (StorageType.TEXT, "text"),
    '"char"': (StorageType.TEXT, "text"),
    "name": (StorageType.TEXT, "text"),
    "uuid": (StorageType.TEXT, "text"),
    "inet": (StorageType.TEXT, "text"),
    "mood": (StorageType.TEXT, "text"),
    "positive": (StorageType.INTEGER, "integer"),
    "narrow": (StorageType.WIDE, "integer"),
    "bytea": (StorageType.OTHER, "binary"),
    "jsonb": (StorageType.OTHER, "document"),
    "integer[]": (StorageType.OTHER, "document"),
    "int4range": (StorageType.OTHER, "document"),
    "interval": (StorageType.OTHER, "document"),
    "time": (StorageType.OTHER, "document"),
    "pair": (StorageType.OTHER, "document"),
    "money": (StorageType.OTHER, "document"),
}


def test_columns_are_described_and_drafted_by_the_catalog_of_the_server(postgres, open_postgres):
    postgres.execute(
        "DROP TABLE IF EXISTS typed; DROP TYPE IF EXISTS mood, pair CASCADE;"
        "DROP DOMAIN IF EXISTS narrow, positive CASCADE;"
        "CREATE TYPE mood AS ENUM ('glad', 'sad'); CREATE TYPE pair AS (a int, b int);"
        "CREATE DOMAIN positive AS integer NOT NULL CHECK (VALUE > 0); CREATE DOMAIN narrow AS numeric(10,0);"
        f"CREATE TABLE typed (id int, {', '.join(f'c{i} {kind}' for i, kind in enumerate(TYPES))});"
        "INSERT INTO typed (id, c18, c26) VALUES (1, 1, ROW(NULL, 1)), (2, 2, ROW(NULL, NULL))"
    )
    engine = open_postgres("typed")
    assert list(engine._place("t").stored.values())[1:] == [stored for stored, _ in TYPES.values()]
    assert list(map(str, draft(source(postgres.engine_url, "typed")).values()))[1:] == [
        kind for _, kind in TYPES.values()
    ]
    for declared in ColumnType:
        columns = {
            f"c{i}": str(declared)
            for i, (stored, _) in enumerate(TYPES.values())
            if (stored, declared) in DIALECT.reads
        }
        for name in columns:
            present = answer(engine, T.where(T[name].is_present()).agg(n=N), columns | {"id": "integer"})
            is_one_of_two = name == "c18" and declared is ColumnType.BOOLEAN  # 1 is true, 2 is missing
            assert present == [[1 if is_one_of_two else 2 if name in ("c18", "c26") else 0]]


def test_columns_that_the_role_may_not_read_are_left_out(postgres, open_postgres):
    postgres.execute(
        "DROP TABLE IF EXISTS halves; CREATE TABLE halves (id bigint, g text, x float8, secret text);"
        "REVOKE ALL ON halves FROM analyst_engine; GRANT SELECT (id, g, x) ON halves TO analyst_engine"
    )
    found = source(postgres.engine_url, "halves")
    assert found.columns == ("id", "g", "x")
    assert found.unreadable == {"secret": "the role may not read it"}
    assert answer(open_postgres("halves"), T.agg(n=N)) == [[0]]
    postgres.execute("REVOKE ALL ON halves FROM analyst_engine; REVOKE ALL (id, g, x) ON halves FROM analyst_engine")
    with pytest.raises(SourceError, match="may not read") as refusal:
        source(postgres.engine_url, "halves")
    assert refusal.value.instead == "GRANT SELECT ON public.halves TO analyst_engine;"


def test_a_column_with_a_name_of_postgresql_is_left_out(postgres):
    postgres.execute("CREATE OR REPLACE VIEW odd AS SELECT 1 AS id, 2 AS ctid")
    found = source(postgres.engine_url, "odd")
    assert found.columns == ("id",)
    assert "keeps this name" in found.unreadable["ctid"]


# casts that a database's owner defined


@pytest.mark.pitfall("A29")
def test_an_enumeration_is_read_by_its_own_labels_whatever_casts_its_owner_defined(postgres, open_postgres):
    postgres.execute(
        "DROP TABLE IF EXISTS moods; DROP TYPE IF EXISTS feeling CASCADE;"
        "CREATE TYPE feeling AS ENUM ('glad', 'sad'); CREATE DOMAIN felt AS feeling;"
        "CREATE FUNCTION lie(feeling) RETURNS text LANGUAGE plpgsql AS"
        " $$ BEGIN IF $1 = 'sad' THEN RAISE 'caught'; END IF; RETURN 'sad'; END $$;"
        "CREATE CAST (feeling AS text) WITH FUNCTION lie(feeling) AS IMPLICIT;"
        "CREATE TABLE moods (id int, g feeling, x felt);"
        "INSERT INTO moods VALUES (1, 'glad', 'sad'), (2, 'sad', 'glad'), (3, NULL, NULL)"
    )
    engine = open_postgres("moods")
    keys = ["glad", "sad", None]
    for column in ("g", "x"):
        grouped = T.group_by(column, keys={column: keys}).agg(n=N)
        for caps in ({}, {"max_rows": None, "privacy_unit": "dp.ROW"}):
            assert answer(engine, grouped, {"id": "integer", "g": "text", "x": "text"}, **caps) == [[1, 1, 1]]


@pytest.mark.pitfall("A29")
def test_casts_of_an_owner_between_postgresqls_own_types_are_refused_and_those_by_text_are_not(visits):
    as_superuser(visits, "CREATE CAST (bigint AS text) WITH INOUT")
    try:
        assert source(visits.engine_url, "visits").columns == ("id", "g", "x")
    finally:
        as_superuser(visits, "DROP CAST (bigint AS text)")
    as_superuser(
        visits,
        "CREATE FUNCTION public.lie(bigint) RETURNS text LANGUAGE sql AS $$ SELECT 'lie' $$",
        "CREATE CAST (bigint AS text) WITH FUNCTION public.lie(bigint)",
    )
    with pytest.raises(SourceError, match="casts of its own") as refusal:
        source(visits.engine_url, "visits")
    as_superuser(visits, refusal.value.instead, "DROP FUNCTION public.lie(bigint)")
    assert source(visits.engine_url, "visits").columns == ("id", "g", "x")


@pytest.mark.full
@pytest.mark.pitfall("A29")
def test_padded_text_that_postgresql_cannot_cast_is_missing(postgres, open_postgres):
    """The cast of `bpchar` to text asks for eight bytes for each byte of the cell, and fails above 128 MB."""
    postgres.execute("DROP TABLE IF EXISTS padded; CREATE TABLE padded (id int, g bpchar)")
    postgres.execute("INSERT INTO padded VALUES (1, repeat('x', 140000000)), (2, 'a  ')")
    engine = open_postgres("padded")
    assert answer(engine, T.where(T.g.is_present()).agg(n=N), {"id": "integer", "g": "text"}) == [[1]]
    assert answer(engine, T.where(T.g == "a").agg(n=N), {"id": "integer", "g": "text"}) == [[1]]
    postgres.execute("DROP TABLE padded")
