"""Views of PostgreSQL: admitted where their definition is row-local and total, refused otherwise, never by reading."""

import pyarrow as pa
import pytest

import discreet as dp
from discreet.engines import Statements
from discreet.engines.backends.postgres import server, views
from discreet.engines.backends.postgres.engine import source
from discreet.errors import SourceError
from postgres_questions import COLUMNS, N, T, answer, as_superuser

STATED = Statements(row_local=True)
TABLE = """
DROP TABLE IF EXISTS facts, more_facts CASCADE; DROP TYPE IF EXISTS grade CASCADE;
CREATE TYPE grade AS ENUM ('low', 'high');
CREATE TABLE facts (id int, g varchar(20), t text, x float8, n numeric, k bigint, b bool, d date, w timestamp,
  z timestamptz, u uuid, c char(3), e grade, j jsonb, a int[]);
CREATE TABLE more_facts (id int, g varchar(20), x float8, n numeric);
"""
LOCAL = [
    "SELECT * FROM facts",
    "SELECT id, x FROM facts WHERE x > 0.5 AND g IN ('a', 'b') ORDER BY id",
    "SELECT id, CASE g WHEN 'a' THEN 1 ELSE 2 END AS h, coalesce(x, 0) AS x FROM facts WHERE NOT b OR b IS NULL",
    "SELECT id, left(t, 2) AS s, length(t) AS l, md5(t) AS m FROM facts WHERE t LIKE 'a%' AND t NOT LIKE '_b'",
    "SELECT id, extract(year FROM d) AS y, extract(MONTH FROM w) AS o FROM facts WHERE d >= '2020-01-01'",
    "SELECT id::bigint AS id, k::text AS k, u::text AS u, floor(x) AS x, greatest(x, 1.0) AS y FROM facts",
    "SELECT id, nullif(g, '') AS g, e = 'low' AS low, w::date AS day FROM facts WHERE z < '2020-01-01 00:00+00'",
    "SELECT id FROM facts WHERE d > date '2020-01-01' + 30 AND g = CURRENT_USER AND e IS DISTINCT FROM 'low'",
    "SELECT s.i AS id FROM (SELECT id AS i, x FROM facts WHERE x > 0) AS s WHERE s.x < 9",
    "SELECT id, g, x FROM facts WHERE x > 1 UNION ALL SELECT id, g, x FROM more_facts",
    'SELECT id, g AS ":hasAggs true", t AS "{(a) b" FROM facts',
    "SELECT 1 AS id",
]
OTHER = {
    "SELECT id, x / max(x) OVER () AS x FROM facts": "a window function",
    "SELECT id, count(*) AS n FROM facts GROUP BY id": "GROUP BY",
    "SELECT max(id) AS id FROM facts": "an aggregate",
    "SELECT 1 AS id FROM facts HAVING true": "HAVING",
    "SELECT DISTINCT id FROM facts": "DISTINCT",
    "SELECT DISTINCT ON (id) id, x FROM facts ORDER BY id, x": "DISTINCT",
    "SELECT id FROM facts LIMIT 5": "LIMIT",
    "SELECT id FROM facts OFFSET 5": "OFFSET",
    "SELECT id FROM facts ORDER BY id FETCH FIRST 1 ROW WITH TIES": "LIMIT",
    "SELECT id FROM facts UNION SELECT id FROM more_facts": "a set operation",
    "SELECT id FROM facts EXCEPT ALL SELECT id FROM more_facts": "a set operation",
    "SELECT id FROM facts UNION ALL SELECT id FROM facts": "one table twice",
    "SELECT id, x FROM facts UNION ALL SELECT id, n FROM more_facts": "of different types",
    "SELECT id FROM facts WHERE x > (SELECT avg(x) FROM facts)": "a subquery",
    "SELECT id FROM facts WHERE id IN (SELECT id FROM more_facts)": "a subquery",
    "SELECT f.id FROM facts AS f JOIN more_facts AS m ON f.id = m.id": "a join",
    "SELECT f.id FROM facts AS f, more_facts AS m": "a join",
    "SELECT f.id FROM facts AS f CROSS JOIN LATERAL (SELECT f.x AS y) AS s": "a join",
    "WITH s AS (SELECT * FROM facts) SELECT id FROM s": "WITH",
    "SELECT id FROM facts TABLESAMPLE BERNOULLI (50)": "TABLESAMPLE",
    "SELECT id, unnest(a) AS v FROM facts": "a function that returns several rows",
    "SELECT id FROM generate_series(1, 9) AS s (id)": "a function in FROM",
    "SELECT id FROM (VALUES (1)) AS s (id)": "VALUES",
    "SELECT id, t::int AS v FROM facts": "a cast that can fail",
    "SELECT id, n::int AS v FROM facts": "a function or cast",
    "SELECT id, n::float8 AS v FROM facts": "a function or cast",
    "SELECT id, n::numeric(5, 2) AS v FROM facts": "a function or cast",
    "SELECT id, 1 / x AS v FROM facts": "an operator",
    "SELECT id, k + 1 AS v FROM facts": "an operator",
    "SELECT id, t || t AS v FROM facts": "an operator",
    "SELECT id FROM facts WHERE t ~ 'a'": "an operator",
    "SELECT id FROM facts WHERE t LIKE 'a\\'": "a pattern with a backslash",
    "SELECT id FROM facts WHERE t LIKE g": "not constant",
    "SELECT id FROM facts WHERE t LIKE ANY (ARRAY['a', 'b'])": "not constant",
    "SELECT id, extract(hour FROM d) AS v FROM facts": "EXTRACT of another field",
    "SELECT id, date_trunc('century', w) AS v FROM facts": "a function or cast",
    "SELECT id, lower(t) AS v FROM facts": "a function or cast",
    "SELECT id, random() AS v FROM facts": "a function or cast",
    "SELECT id FROM facts WHERE z > now()": "a function or cast",
    "SELECT id FROM facts WHERE d > CURRENT_DATE": "the current time",
    "SELECT id FROM facts WHERE z::date > '2020-01-01'": "a function or cast",
    "SELECT id, twice(id) AS v FROM facts": "a function or cast",
    "SELECT id, id === 1 AS v FROM facts": "an operator",
    "SELECT id, x::positive AS v FROM facts": "a cast to a domain",
    "SELECT id, ctid AS v FROM facts": "a system column",
    "SELECT id, facts AS v FROM facts": "a system column or a whole row",
    "SELECT id, greatest(t, 'a') AS v FROM facts": "GREATEST or LEAST",
    "SELECT id, ARRAY[t, t] AS v FROM facts": "an array of columns",
    "SELECT id, j ->> 'a' AS v FROM facts": "an operator",
    "SELECT id FROM facts WHERE (id, x) < (1, 2)": "an expression that is not known",
    'SELECT id FROM facts WHERE t = \'a\' COLLATE "public"."folding"': "a nondeterministic collation",
    "SELECT id FROM facts ORDER BY t": "ORDER BY",
    "SELECT id FROM facts FOR UPDATE": "FOR UPDATE",
}


@pytest.fixture(scope="module")
def facts(postgres):
    """The server with a table of many types, and things that an owner made."""
    postgres.execute(TABLE)
    as_superuser(
        postgres,
        "CREATE COLLATION IF NOT EXISTS public.folding "
        "(provider = icu, locale = 'und-u-ks-level1', deterministic = false)",
    )
    postgres.execute(
        "CREATE OR REPLACE FUNCTION twice(int) RETURNS int IMMUTABLE LANGUAGE sql AS 'SELECT 2 * $1';"
        "CREATE OR REPLACE FUNCTION alike(int, int) RETURNS bool IMMUTABLE LANGUAGE sql AS 'SELECT $1 = $2';"
        "DROP OPERATOR IF EXISTS === (int, int);"
        "CREATE OPERATOR === (FUNCTION = alike, LEFTARG = int, RIGHTARG = int);"
        "DROP DOMAIN IF EXISTS positive CASCADE; CREATE DOMAIN positive AS float8 CHECK (VALUE > 0)"
    )
    return postgres


def _as_view(server, definition, name="looked_at"):
    server.execute(f"DROP VIEW IF EXISTS {name} CASCADE; CREATE VIEW {name} AS {definition}")


@pytest.fixture(scope="module")
def judged(facts):
    """Why each definition is refused, or None, over one connection."""
    found = {}
    with server.connect(facts.owner_url) as owner, server.connect(facts.engine_url) as connection:
        for i, definition in enumerate([*LOCAL, *OTHER]):
            owner.execute(f"CREATE OR REPLACE VIEW judged_{i} AS {definition}".encode())
            relation = server.relation(connection, f"public.judged_{i}", {})
            try:
                found[definition] = views.refuse_view(connection, relation.oid, relation.name)
            except SourceError as refusal:
                found[definition] = refusal.because
    return found


@pytest.mark.pitfall("A28")
@pytest.mark.parametrize("definition", LOCAL)
def test_a_row_local_view_is_admitted_by_its_definition(judged, definition):
    assert judged[definition] is None


@pytest.mark.pitfall("A28")
@pytest.mark.parametrize("definition", OTHER)
def test_a_view_that_may_look_at_other_rows_or_fail_is_refused(judged, definition):
    assert OTHER[definition] in (judged[definition] or "")


@pytest.mark.pitfall("A29")
def test_no_cell_makes_a_view_fail_that_is_admitted(facts, judged):
    """Every cell at the ends of its type, in every view of the list, row by row and in every column."""
    ends = {
        "id": ["-2147483648", "2147483647"],
        "g": ["", "%", "\\"],
        "t": ["", "a\\", "\u00e9" * 400_000],
        "x": ["NaN", "-Infinity", "1.7976931348623157e308", "5e-324"],
        "n": ["NaN", "Infinity", "9" * 1000],
        "k": ["-9223372036854775808"],
        "d": ["infinity", "-infinity", "4713-01-01 BC", "5874897-12-31"],
        "w": ["infinity", "-infinity", "4714-11-24 00:00:00 BC", "294276-12-31 23:59:59.999999"],
        "z": ["infinity", "4714-11-24 00:00:00+00 BC", "294276-12-31 23:59:59.999999+00"],
        "u": ["ffffffff-ffff-ffff-ffff-ffffffffffff"],
        "c": ["   "],
    }
    with server.connect(facts.owner_url) as owner:
        owner.execute("TRUNCATE facts")
        for column, cells in ends.items():
            for cell in cells:
                owner.execute(f"INSERT INTO facts ({column}, b, e) VALUES (%s, true, 'low')".encode(), (cell,))
        for i in range(len(LOCAL)):
            owner.execute(f"CREATE TEMPORARY TABLE judged_rows AS SELECT * FROM public.judged_{i}".encode())
            owner.execute("DROP TABLE judged_rows")
        owner.execute("TRUNCATE facts")


def test_a_definition_that_cannot_be_understood_is_refused(facts):
    with server.connect(facts.engine_url) as connection, pytest.raises(SourceError, match="no definition"):
        views.refuse_view(connection, 1, "public.nothing")


@pytest.mark.pitfall("A28")
def test_a_view_over_a_view_is_judged_with_it(facts):
    _as_view(facts, "SELECT id, x FROM facts WHERE x > 0", "inner_view")
    _as_view(facts, "SELECT id FROM inner_view WHERE x < 9")
    assert source(facts.engine_url, "looked_at").columns == ("id",)
    _as_view(facts, "SELECT id, rank() OVER (ORDER BY x) AS x FROM facts", "inner_view")
    _as_view(facts, "SELECT id FROM inner_view WHERE x < 9")
    with pytest.raises(SourceError, match="a window function"):
        source(facts.engine_url, "looked_at")


@pytest.mark.pitfall("A28")
def test_a_table_and_its_partition_in_one_view_are_one_table_twice(facts):
    facts.execute(
        "DROP TABLE IF EXISTS months CASCADE; CREATE TABLE months (id int) PARTITION BY HASH (id);"
        "CREATE TABLE month_0 PARTITION OF months FOR VALUES WITH (MODULUS 1, REMAINDER 0)"
    )
    _as_view(facts, "SELECT id FROM months UNION ALL SELECT id FROM month_0")
    with pytest.raises(SourceError, match="one table twice"):
        source(facts.engine_url, "looked_at")


@pytest.mark.parametrize("name", ['"Odd one"', "plain"])
def test_the_table_that_a_refusal_advises_can_be_created(facts, name):
    facts.execute('DROP TABLE IF EXISTS "Odd one_rows", plain_rows')
    _as_view(facts, "SELECT DISTINCT id FROM facts", name)
    with pytest.raises(SourceError) as refusal:
        source(facts.engine_url, name)
    statement = refusal.value.instead.partition(": ")[2].partition(";")[0]
    facts.execute(statement)
    created = statement.removeprefix("CREATE TABLE ").partition(" AS ")[0]
    assert source(facts.engine_url, created).columns == ("id",)


@pytest.mark.pitfall("A28")
def test_protect_refuses_a_view_across_people_records_a_statement_and_takes_a_table(facts):
    """One person moved a sum from 1000 to 10 where 50 are allowed: `x / max(x) OVER ()`."""
    facts.execute("TRUNCATE facts; INSERT INTO facts (id, x) SELECT i, i FROM generate_series(1, 9) AS i")
    _as_view(facts, "SELECT id, x / max(x) OVER () AS x FROM facts")
    words = {"table": "looked_at", "name": "v", "privacy_unit": "id", "max_rows": 1, "budget": dp.Budget(epsilon=1)}
    with pytest.raises(SourceError, match="a window function"):
        dp.protect(facts.engine_url, **words, ledger=":memory:")
    with dp.protect(facts.engine_url, **words, row_local=True, ledger=":memory:") as session:
        assert '"row_local":true' in session.ledger.registration("v").facts
    facts.execute("DROP TABLE IF EXISTS fixed_rows; CREATE TABLE fixed_rows AS SELECT * FROM looked_at")
    dp.protect(facts.engine_url, **(words | {"table": "fixed_rows"}), ledger=":memory:").close()


def test_a_public_view_need_not_be_row_local(facts):
    facts.load("public_groups", pa.table({"g": ["a", "a", "b"]}))
    _as_view(facts, "SELECT DISTINCT g FROM public_groups")
    tables = {
        "facts": {
            "relation": "facts",
            "privacy_unit": "id",
            "budget": {"epsilon": 1},
            "columns": {"id": {"type": "integer"}},
        },
        "groups": {"public": True, "relation": "looked_at", "columns": {"g": {"type": "text"}}},
    }
    catalog = dp.Catalog.model_validate({"tables": tables})
    sources = dict.fromkeys(tables, facts.engine_url)
    with dp.Session(catalog, sources=sources, ledger=":memory:") as session:
        assert session.catalog.tables["groups"].public


# policies and columns that are computed when they are read


@pytest.mark.pitfall("A28")
def test_a_policy_that_looks_at_other_rows_is_refused_also_below_a_view(facts):
    facts.execute(
        "DROP TABLE IF EXISTS guarded CASCADE; CREATE TABLE guarded AS SELECT id, x FROM facts;"
        "ALTER TABLE guarded ENABLE ROW LEVEL SECURITY; CREATE POLICY few ON guarded USING (id < 5)"
    )
    _as_view(facts, "SELECT id FROM guarded")
    assert source(facts.engine_url, "guarded").columns == ("id", "x")
    assert source(facts.engine_url, "looked_at").columns == ("id",)
    facts.execute(
        "DROP POLICY few ON guarded; CREATE POLICY high ON guarded USING (x > (SELECT avg(f.x) FROM facts AS f))"
    )
    for name, what in (("guarded", "which row security filters"), ("looked_at", "the view")):
        with pytest.raises(SourceError, match=what) as refusal:
            source(facts.engine_url, name)
        assert "a subquery" in refusal.value.because
        assert source(facts.engine_url, name, STATED)
    assert source(facts.superuser_url, "guarded").columns == ("id", "x")


@pytest.mark.pitfall("A29")
def test_a_column_that_is_generated_when_it_is_read_is_left_out(facts):
    """PostgreSQL 18 has such columns; here one is only marked so."""
    facts.execute("DROP TABLE IF EXISTS made CASCADE; CREATE TABLE made (id int, x int)")
    _as_view(facts, "SELECT id FROM made")
    as_superuser(
        facts,
        "UPDATE pg_attribute SET attgenerated = 'v' WHERE attrelid = 'public.made'::regclass AND attname = 'x'",
    )
    found = source(facts.engine_url, "made")
    assert found.columns == ("id",)
    assert "VIRTUAL" in found.unreadable["x"]
    with pytest.raises(SourceError, match="a virtual generated column"):
        source(facts.engine_url, "looked_at")


# guards of a view that was stated


@pytest.mark.pitfall("A29")
@pytest.mark.parametrize("max_rows", [None, 1])
@pytest.mark.parametrize("column", ["x", "id"])
def test_conditions_of_a_question_are_never_evaluated_before_those_of_the_view(facts, open_postgres, max_rows, column):
    """The guard costs more than the cast behind it, and PostgreSQL evaluates cheap conditions first."""
    guard = " AND ".join(["facts.t IS NOT NULL", *(f"length(facts.t) < {i}" for i in range(50, 70))])
    guard = f"CASE WHEN {guard} THEN t ~ '^[0-9]+$' ELSE false END"
    columns = {"x": "t::int AS x, id", "id": "0 AS x, t::int AS id"}[column]
    _as_view(facts, f"SELECT {columns}, g FROM facts WHERE {guard}")
    facts.execute("TRUNCATE facts; INSERT INTO facts (id, g, t) VALUES (1, 'a', '7'), (2, 'a', 'not a number')")
    engine = open_postgres("looked_at", stated=STATED)
    unit = {"privacy_unit": "id"} if max_rows else {"privacy_unit": "dp.ROW"}
    counted = T.where(T[column] > 5).agg(n=N)
    types = COLUMNS | {"x": "integer", "g": "text"}
    assert answer(engine, counted, types, max_rows=max_rows, **unit) == [[1]]
