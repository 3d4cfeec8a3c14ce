"""Making a ledger in PostgreSQL, moving one there, and what is refused before anything was changed."""

import json

import pytest
from typer.testing import CliRunner

import discreet as dp
from discreet.cli import app, exit_codes
from discreet.errors import LedgerError, ParameterError
from discreet.ledger import Dataset, PostgresLedger, SQLiteLedger
from discreet.ledger.records import faults
from servers import SERVICE, STEWARD
from tampering import new_database

ROLES = ("--role", SERVICE, "--steward", STEWARD)


@pytest.fixture
def path(tmp_path):
    """A ledger in a file, with one dataset."""
    with SQLiteLedger(tmp_path / "ledger.sqlite") as ledger:
        facts = {"source": "visits.csv", "unit": "one patient_id", "facts": "{}"}
        ledger.register(Dataset(name="visits", **facts, budget=dp.Budget(epsilon=1)))
    return tmp_path / "ledger.sqlite"


def run(*words):
    return CliRunner().invoke(app, ["ledger", *map(str, words)])


@pytest.mark.full
def test_a_ledger_is_moved_and_found_where_it_is_now(path, durable_postgres):
    place = new_database(durable_postgres, "moved_by_command")
    told = run("move", place.owner, *ROLES, "--ledger", path, "--json")
    assert told.exit_code == exit_codes.OK, told.output
    assert json.loads(told.stdout)["agrees"]
    again = run("move", place.owner, *ROLES, "--ledger", path)
    assert again.stdout == "1 dataset, 1 event: everything agrees\n"
    with PostgresLedger(place.service) as ledger:
        assert [each.name for each in ledger.datasets()] == ["visits"]
    for command in ("show", "verify", "anchor"):
        refused = run(command, "--ledger", path)
        assert (refused.exit_code, str(refused.exception)) == (exit_codes.PROBLEM, faults.IN_POSTGRES)
        assert isinstance(refused.exception, LedgerError)
    assert faults.IN_POSTGRES in run("health", "--ledger", path).stdout


@pytest.mark.parametrize(
    ("words", "what"),
    [
        (("move", "elsewhere.sqlite", *ROLES, "--ledger", "PATH"), "not one of PostgreSQL"),
        (
            ("move", "postgresql://o@db/r", *ROLES, "--ledger", "postgresql://s@db/r"),
            "only a ledger in a SQLite file is moved",
        ),
        (("move", "postgresql://o@db/r", *ROLES, "--ledger", "none.sqlite"), "the ledger that --ledger names"),
        (("create", "ledger.sqlite", *ROLES), "not one of PostgreSQL"),
    ],
)
def test_what_is_no_move_is_refused_with_the_call_that_was_meant(path, words, what):
    refused = run(*(path if word == "PATH" else word for word in words))
    assert refused.exit_code == exit_codes.PROBLEM
    assert isinstance(refused.exception, ParameterError)
    assert what in str(refused.exception)
    assert refused.exception.instead
    assert "pg_dump" not in str(refused.exception)
