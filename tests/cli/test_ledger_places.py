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

OWNER = "postgresql://owner@db.example.org/records"
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
    ("words", "because", "instead"),
    [
        (
            ("move", "elsewhere.sqlite", *ROLES, "--ledger", "PATH"),
            "a ledger moves to a database, and this is not an address of one",
            f"discreet ledger move {OWNER} --role discreet_service --steward discreet_steward --ledger PATH",
        ),
        (
            ("move", "postgresql://o@db/r", *ROLES, "--ledger", "postgresql://s@db/r"),
            "only a ledger in a SQLite file is moved, and this names a database as the source",
            "discreet ledger move ADDRESS --role NAME --ledger FILE, with ADDRESS where it goes",
        ),
        (
            ("move", "postgresql://o@db/r", *ROLES, "--ledger", "none.sqlite"),
            "there is no file at that path",
            "--ledger ledger.sqlite, or --ledger postgresql://discreet_service@db.example.org/records",
        ),
        (
            ("create", "ledger.sqlite", *ROLES),
            "a ledger in a file needs no creation: the first session makes it",
            f"discreet ledger create {OWNER} --role discreet_service --steward discreet_steward",
        ),
    ],
)
def test_what_is_no_move_is_refused_with_the_call_that_was_meant(path, words, because, instead):
    refused = run(*(path if word == "PATH" else word for word in words))
    assert refused.exit_code == exit_codes.PROBLEM
    assert isinstance(refused.exception, ParameterError)
    assert refused.exception.because == because
    assert refused.exception.instead == instead.replace("PATH", str(path))
