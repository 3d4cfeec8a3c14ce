"""The rows of a view become a table by the owner's own connection, and the owner is told what that states."""

import subprocess
import sys

import pexpect
import psycopg
import pytest
from typer.testing import CliRunner, Result

from discreet.cli import app
from discreet.engines.backends.postgres.engine import source
from discreet.errors import ParameterError, SourceError
from servers import PostgresServer


def run(*words: str) -> Result:
    return CliRunner().invoke(app, ["materialise", *words])


@pytest.fixture(scope="module")
def views(postgres: PostgresServer) -> PostgresServer:
    postgres.execute(
        "DROP SCHEMA IF EXISTS clinic CASCADE; CREATE TABLE IF NOT EXISTS people (id int, x float8);"
        "TRUNCATE people; INSERT INTO people VALUES (1, 1), (2, 4);"
        'CREATE OR REPLACE VIEW "Ranked" AS SELECT id, rank() OVER (ORDER BY x) AS place FROM people;'
        "CREATE OR REPLACE VIEW failing AS SELECT id, 1 / (id - 1) AS y FROM people;"
        'DROP TABLE IF EXISTS "Ranked rows", ranked_rows'
    )
    return postgres


def test_a_view_that_is_refused_becomes_a_table_that_is_not(views):
    with pytest.raises(SourceError, match="a window function"):
        source(views.engine_url, "Ranked")
    result = run(views.owner_url.replace("postgresql", "PostgreSQL"), "Ranked", "ranked_rows")
    assert result.exit_code == 0, result.exception
    first, *rest = result.stdout.splitlines()
    assert (
        first == "created public.ranked_rows; a role that reads it needs: GRANT SELECT ON public.ranked_rows TO reader;"
    )
    assert rest[0].startswith("The rows of public.ranked_rows are now your statement")
    assert source(views.engine_url, "ranked_rows").columns == ("id", "place")
    with psycopg.connect(views.owner_url) as connection:
        assert connection.execute("SELECT * FROM ranked_rows ORDER BY id").fetchall() == [(1, 1), (2, 2)]


def test_names_are_those_of_sql(views):
    assert run(views.owner_url, '"Ranked"', 'public."Ranked rows"').exit_code == 0
    assert source(views.engine_url, '"Ranked rows"').columns == ("id", "place")


@pytest.mark.parametrize(
    ("role", "view", "table", "what", "kind"),
    [
        ("owner", "nothing", "rows_of", "no view 'nothing'", SourceError),
        ("owner", "people", "people", "a relation of that name is there", SourceError),
        ("owner", "people", "nowhere.people", "no such schema", SourceError),
        ("engine", "people", "rows_of", "may not", SourceError),
        ("owner", "failing", "rows_of", "could not compute", SourceError),
        ("owner", "people", "a b; DROP TABLE people", "the table name", ParameterError),
        ("owner", "people", "a.b.c", "the table name", ParameterError),
    ],
)
def test_what_cannot_be_created_is_refused_without_a_cell_or_a_password(views, role, view, table, what, kind):
    address = views.owner_url if role == "owner" else views.engine_url
    result = run(address, view, table)
    assert result.exit_code == 1
    assert isinstance(result.exception, kind)
    assert what in str(result.exception)
    assert address.split(":")[2].split("@")[0] not in str(result.exception)
    assert "division" not in str(result.exception)
    assert result.exception.__context__ is None


def test_for_spark_the_line_to_run_is_printed():
    result = run("spark", "adults", "adults_rows")
    assert result.stdout.splitlines()[1].strip() == "spark.table('adults').write.saveAsTable('adults_rows')"
    assert "your statement" not in result.stdout


def test_other_places_have_no_views_that_are_sources():
    assert isinstance(run("visits.duckdb", "adults", "adults_rows").exception, ParameterError)


def test_a_terminal_shows_a_clock_and_a_pipe_stays_silent(views):
    views.execute(
        "CREATE OR REPLACE VIEW slow AS SELECT id, pg_sleep(5)::text AS waited FROM people WHERE id = 1;"
        "DROP TABLE IF EXISTS slow_rows, slow_again"
    )
    words = ["-m", "discreet", "materialise", views.owner_url, "slow"]
    child = pexpect.spawn(sys.executable, [*words, "slow_rows"], encoding="utf-8", timeout=60)
    child.expect("creating the table .*0:00:0[1-5]")
    child.expect("created public.slow_rows")
    child.expect(pexpect.EOF)
    pipe = subprocess.run([sys.executable, *words, "slow_again"], capture_output=True, text=True, check=True)
    assert pipe.stderr == ""
