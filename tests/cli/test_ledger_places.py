"""Making a ledger in PostgreSQL, moving one there, and what is refused before anything was changed."""

import json

import psycopg
import pytest
from typer.testing import CliRunner

import discreet as dp
from discreet.cli import app, exit_codes
from discreet.cli.ledger_places import _address_of, _finding
from discreet.errors import LedgerError, ParameterError
from discreet.ledger import Dataset, PostgresLedger, SQLiteLedger
from discreet.ledger.records import faults
from servers import OWNER as OWNER_ROLE
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
    said, closed, goes_on, shared = again.stdout.splitlines()
    assert said == "1 dataset, 1 event: everything agrees"
    assert closed == "  the file accepts nothing any more"
    server = place.service.rpartition("@")[2]
    assert goes_on == f'  sessions go on with ledger="postgresql://{SERVICE}@{server}"'
    assert json.loads(told.stdout)["moved_to"] == f"postgresql://{SERVICE}@{server}"
    assert shared.startswith("  several machines share their anchors first: discreet ledger share-anchors PLACE")
    assert shared.endswith(f"--ledger postgresql://OWNER@{server}")
    with PostgresLedger(place.service) as ledger:
        assert [each.name for each in ledger.datasets()] == ["visits"]
    for command in ("show", "verify", "anchor"):
        refused = run(command, "--ledger", path)
        assert (refused.exit_code, str(refused.exception)) == (exit_codes.PROBLEM, faults.IN_POSTGRES)
        assert isinstance(refused.exception, LedgerError)
        assert refused.stderr == f"it was moved to postgresql://{server}\n"
    assert faults.IN_POSTGRES in run("health", "--ledger", path).stdout


@pytest.mark.full
def test_a_move_with_findings_sends_no_session_to_the_database(path, durable_postgres):
    place = new_database(durable_postgres, "moved_with_findings")
    assert run("move", place.owner, *ROLES, "--ledger", path).exit_code == exit_codes.OK
    default = f"ALTER DEFAULT PRIVILEGES FOR ROLE {OWNER_ROLE} {{}} ON TABLES {{}} {SERVICE}"
    with psycopg.connect(place.tamperer, autocommit=True) as connection:
        connection.execute(default.format("GRANT ALL", "TO").encode())
    found = run("move", place.owner, *ROLES, "--ledger", path)
    assert found.exit_code == exit_codes.PROBLEM
    assert "sessions go on" not in found.stdout
    verified = run("verify", "--ledger", place.service).stdout
    advice = " ".join(verified.split())
    assert "ALTER DEFAULT PRIVILEGES FOR ROLE OWNER REVOKE ALL ON TABLES FROM NAME" in advice
    recover = ("recover", "--reason", "a test", "--ledger", place.owner)
    assert "ALTER DEFAULT PRIVILEGES" in " ".join(run(*recover).stdout.split())
    with psycopg.connect(place.tamperer, autocommit=True) as connection:
        connection.execute(default.format("REVOKE ALL", "FROM").encode())
    assert run(*recover).exit_code == exit_codes.OK
    assert run("verify", "--ledger", place.service).exit_code == exit_codes.OK


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
            "--ledger FILE with the file of a ledger, or --ledger postgresql://discreet_service@db.example.org/records",
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


@pytest.mark.full
@pytest.mark.parametrize(("role", "option"), [(SERVICE, "--role"), (STEWARD, "--steward")])
def test_who_connects_as_a_role_to_be_named_is_sent_to_the_owner(durable_postgres, role, option):
    place = new_database(durable_postgres, "own_role")
    address = {SERVICE: place.service, STEWARD: place.steward}[role]
    refused = run("create", address, *ROLES)
    assert refused.exception.what.startswith(f"the role {role!r}")
    assert refused.exception.because == "this connects as that role, which does not own the database"
    assert refused.exception.instead.startswith("connect as the owner of the database, the role ")
    owner = refused.exception.instead.split("'")[1]
    words = {"--role": SERVICE, "--steward": STEWARD} | {option: owner}
    refused = run("create", place.owner, *(word for pair in words.items() for word in pair))
    assert "the owner's own role" in refused.exception.because


def test_who_names_another_store_for_a_lost_one_reads_that_everything_is_stopped(path, tmp_path):
    """Only then: a store that is named first, or in the place of one that is there, stops nothing."""
    why = ("--reason", "a test", "--ledger", path)
    for name in ("first", "second"):
        assert "stopped" not in run("share-anchors", tmp_path / name, *why).stdout
    (tmp_path / "second").rename(tmp_path / "gone")
    told = run("share-anchors", tmp_path / "third", "--lost", *why)
    assert told.exit_code == exit_codes.OK
    stopped, verified, *_, recovered = (line.strip() for line in told.stdout.splitlines()[2:])
    assert stopped == "every dataset is stopped: run"
    assert verified == "discreet ledger verify --ledger LEDGER"
    assert recovered == "discreet ledger recover --ledger LEDGER --reason TEXT"
    assert run("verify", "--ledger", path).exit_code == exit_codes.PROBLEM
    assert run("recover", *why).exit_code == exit_codes.OK
    assert run("verify", "--ledger", path).exit_code == exit_codes.OK


@pytest.mark.full
def test_a_store_that_cannot_be_used_is_refused_as_the_new_one(path, durable_postgres):
    place = new_database(durable_postgres, "new_anchors")
    for address, cause in {
        f"{place.owner}_none": "has no database of that name",
        place.service: "lacks a right",
    }.items():
        refused = run("share-anchors", address, "--reason", "a test", "--ledger", path).exception
        assert str(refused).startswith(faults.NEW_ANCHOR_DATABASE)
        assert cause in str(refused)
    assert run("verify", "--ledger", path).exit_code == exit_codes.OK


def test_who_shares_anchors_in_a_database_reads_what_each_machine_sets():
    assert _finding("/mnt/anchors") == "each finds them there, or where DISCREET_ANCHORS says"
    said = _finding("postgresql://anchors.example.org:5433/anchors").split()
    assert said[-1] == "DISCREET_ANCHORS=postgresql://ROLE@anchors.example.org:5433/anchors"


def test_an_address_for_another_role_has_no_password_and_no_options():
    assert _address_of("Postgres://ann:hunter2@db:5433/r?password=x", "svc") == "postgresql://svc@db:5433/r"
    assert _address_of("postgresql://db/r", "a@b") == "postgresql://a%40b@db/r"
