"""`discreet ledger health`: for people and for monitors, also of a ledger that cannot be opened."""

import json
import re
import shutil
from fractions import Fraction
from pathlib import Path

import psycopg
import pytest
from typer.testing import CliRunner, Result

from discreet import events
from discreet.accounting.filters import Budget
from discreet.cli import app, exit_codes
from discreet.ledger import Dataset, Ledger, PostgresLedger, Signer, SQLiteLedger
from discreet.ledger.records import faults
from discreet.ledger.reporting.health import CURE, KEYLESS, SCHEMA
from servers import SERVICE, STEWARD, PostgresServer
from tampering import new_database, tampering

VISITS = Dataset(name="visits", source="v.csv", unit="one p", facts="{}", budget=Budget(epsilon=2))
TENTH = events.PureEvent(Fraction(1, 10))


@pytest.fixture
def path(tmp_path: Path) -> Path:
    file = tmp_path / "ledger.sqlite"
    with SQLiteLedger(file) as ledger:
        spend(ledger)
    return file


def spend(ledger: Ledger, question: str = "ab12") -> None:
    ledger.register(VISITS)
    ledger.answer(
        ledger.charge("visits", version=1, analyst="ann", event=TENTH, question=question, description="{}"), b"1"
    )


def run(*words: object) -> Result:
    return CliRunner().invoke(app, ["ledger", "health", *map(str, words)])


def document(*words: object, code: int) -> dict:
    result = run(*words, "--json")
    assert result.exit_code == code, result.output
    found = json.loads(result.stdout)
    assert found["schema"] == "discreet.health/1"
    assert found["healthy"] is (code == exit_codes.OK)
    return found


def test_a_ledger_that_serves_ends_with_0(path):
    result = run("--ledger", path)
    assert (result.exit_code, result.stderr) == (exit_codes.OK, "")
    assert re.search(r"^  visits +0\.1 +2 +5% +\d+ s +0 +0 +0  serves$", result.stdout, re.MULTILINE)
    assert document("--ledger", path, code=0)["problems"] == []


def test_a_process_without_a_key_cannot_charge_and_that_is_a_problem_where_it_is_asked_for(path, monkeypatch, tmp_path):
    monkeypatch.setenv("DISCREET_HOME", str(tmp_path / "empty"))
    result = run("--ledger", path)
    assert result.exit_code == exit_codes.OK
    assert "This process has no signing key, so it cannot charge; 1 key may charge." in " ".join(result.stdout.split())
    (problem,) = document("--ledger", path, "--needs-key", code=1)["problems"]
    assert (problem["problem"], problem["what"]) == ("keys", KEYLESS)
    monkeypatch.undo()


@pytest.mark.full
def test_a_role_that_may_do_too_much_is_a_problem_and_the_owner_is_not(durable_postgres):
    place = new_database(durable_postgres, "powerful")
    PostgresLedger.create(place.owner, role=SERVICE, steward=STEWARD)
    for address in (place.service, place.steward, place.owner):
        assert document("--ledger", address, code=0)["role_is_owner"] is (address == place.owner)
    assert "This role owns the database" in run("--ledger", place.owner).stdout
    assert "owns the database" not in run("--ledger", place.steward).stdout
    (problem,) = document("--ledger", place.tamperer, code=1)["problems"]
    assert (problem["problem"], problem["what"]) == ("rights", faults.TOO_MANY_RIGHTS)
    with psycopg.connect(place.tamperer, autocommit=True) as connection:
        connection.execute(f"GRANT DELETE ON discreet.events TO {SERVICE}")
    (problem,) = document("--ledger", place.service, code=1)["problems"]
    assert problem["what"] == faults.TOO_MANY_RIGHTS


def test_a_finding_names_its_dataset_once_and_says_what_to_do(path, tmp_path):
    with tampering(str(path)) as hand:
        hand.execute("UPDATE datasets SET spent_epsilon = 0")
    assert CliRunner().invoke(app, ["ledger", "verify", "--full", "--ledger", str(path)]).exit_code == 1
    (problem,) = document("--ledger", path, code=1)["problems"]
    assert problem["dataset"] == "visits"
    assert "visits" not in problem["what"]
    assert problem["what"].endswith(CURE)
    shown = CliRunner().invoke(app, ["ledger", "show", "--ledger", str(path)])
    assert shown.stderr.count("visits") == 1
    assert "discreet ledger recover --ledger LEDGER --reason TEXT" in shown.stderr


def test_an_older_copy_ends_with_1(path, tmp_path):
    shutil.copy(path, tmp_path / "older")
    with SQLiteLedger(path) as ledger:
        spend(ledger, "ab13")
    shutil.copy(tmp_path / "older", path)
    found = document("--ledger", path, code=1)
    assert found["behind_anchors"] is True
    assert found["problems"] == [{"problem": "stopped", "dataset": "visits", "what": faults.BEHIND}]
    text = run("--ledger", path).stdout
    assert text.startswith("unhealthy, 1 problem: 1 dataset on SQLite")
    assert "stopped" in text


def test_a_wrong_call_has_the_schema_of_the_document_too(path):
    result = run("--ledger", path, "--most-spent", "90", "--json")
    assert result.exit_code == exit_codes.WRONG_CALL
    found = json.loads(result.stdout)
    assert (found["schema"], found["healthy"], found["error"]["type"]) == (SCHEMA, False, "UsageError")


def test_a_dataset_that_cannot_be_charged_from_here_does_not_serve_here(path, tmp_path):
    Signer.at(tmp_path / "pod.key")
    result = run("--ledger", path, "--signing-key", tmp_path / "pod.key")
    assert re.search(r"^  visits .*  not here$", result.stdout, re.MULTILINE)
    assert "not here: nothing can be charged from here" in " ".join(result.stdout.split())
    command = "discreet ledger key list PUBLIC --name NAME --reason TEXT --ledger LEDGER"
    assert command in [line.strip() for line in result.stdout.splitlines()]
    (dataset,) = document("--ledger", path, "--signing-key", tmp_path / "pod.key", code=1)["datasets"]
    assert (dataset["state"], dataset["stopped"]) == ("not here", None)
    assert document("--ledger", path, code=0)["datasets"][0]["state"] == "serves"


def test_limits_are_given_as_options(path):
    assert document("--ledger", path, "--most-spent", "0.5", code=0)
    assert document("--ledger", path, "--most-spent", "0.05", code=1)["problems"][0]["problem"] == "spent"
    assert document("--ledger", path, "--oldest-anchor", "3600", code=0)
    assert document("--ledger", path, "--most-spent", "1", code=0)
    for words in ("0", "-1", "1.001", "90", "nan", "half"):
        assert run("--ledger", path, "--most-spent", words).exit_code == exit_codes.WRONG_CALL


def test_a_key_that_is_not_listed_or_not_there_ends_with_1_and_no_key_with_0(path, tmp_path, monkeypatch):
    Signer.at(tmp_path / "pod.key")
    found = document("--ledger", path, "--signing-key", tmp_path / "pod.key", code=1)
    assert (found["keys"]["state"], found["problems"][0]["what"]) == ("not listed", faults.UNLISTED_KEY)
    found = document("--ledger", path, "--signing-key", tmp_path / "none", code=1)
    assert found["problems"] == [{"problem": "keys", "dataset": None, "what": faults.NO_KEY}]
    assert not (tmp_path / "none").exists()
    monkeypatch.setenv("DISCREET_HOME", str(tmp_path / "home"))
    assert document("--ledger", path, code=0)["keys"]["key"] is None


def test_a_key_that_cannot_be_used_is_a_problem_in_the_same_document(path, tmp_path):
    """One that others can read, and one that is none."""
    Signer.at(tmp_path / "open.key")
    (tmp_path / "open.key").chmod(0o644)
    (tmp_path / "no.key").write_text("no key")
    (tmp_path / "no.key").chmod(0o600)
    for name, error, words in (("open.key", "ParameterError", "chmod 600"), ("no.key", "LedgerError", "is damaged")):
        found = document("--ledger", path, "--signing-key", tmp_path / name, code=1)
        assert found["problems"][0]["problem"] == "keys"
        assert (found["error"]["type"], words in found["error"]["what"]) == (error, True)


def test_a_ledger_that_is_gone_is_unreachable_and_nothing_is_made(tmp_path, monkeypatch):
    monkeypatch.setenv("DISCREET_HOME", str(tmp_path / "home"))
    for words in ((), ("--ledger", tmp_path / "none.sqlite")):
        found = document(*words, code=1)
        assert found["reachable"] is False
        assert found["error"] == {"type": "LedgerError", "what": faults.NO_FILE}
        first, tried = run(*words).stdout.splitlines()
        assert first == f"unhealthy: {faults.NO_FILE}"
        assert tried.startswith("  tried: /")
    assert list(tmp_path.iterdir()) == []


@pytest.fixture
def address(durable_postgres: PostgresServer) -> str:
    place = new_database(durable_postgres, "health")
    PostgresLedger.create(place.owner, role=SERVICE, steward=STEWARD)
    with PostgresLedger(place.steward) as ledger:
        spend(ledger)
    return place.service


@pytest.mark.full
def test_it_is_the_same_on_postgresql(address):
    found = document("--ledger", address, code=0)
    assert (found["store"], found["schema_version"]) == ("PostgreSQL", 7)
    assert found["datasets"][0]["share"]["exact"] == "1/20"


@pytest.mark.full
def test_a_wrong_password_is_one_sentence_without_it(address, caplog):
    password = re.search(r":([0-9a-f]{32})@", address)[1]
    wrong = address.replace(password, "s3cret")
    result = run("--ledger", wrong, "--json")
    assert json.loads(result.stdout)["error"]["what"] == faults.NOT_AUTHENTICATED
    assert result.exit_code == exit_codes.PROBLEM
    everything = result.output + run("--ledger", wrong).output + caplog.text
    assert not re.search("s3cret|postgresql://|127.0.0.1", everything)


@pytest.mark.full
def test_a_stopped_server_is_unreachable_and_healthy_when_it_is_back(address, durable_postgres):
    durable_postgres.kill()
    try:
        found = document("--ledger", address, code=1)
    finally:
        durable_postgres.restart()
    assert (found["reachable"], found["error"]["what"]) == (False, faults.NOT_LISTENING)
    assert document("--ledger", address, code=0)


def test_health_says_where_this_process_looks_for_the_shared_anchors_if_the_ledger_says_another_place(
    path, tmp_path, monkeypatch
):
    with SQLiteLedger(path) as ledger:
        ledger.share_anchors(tmp_path / "shared", reason="a test")
    assert document("--ledger", path, code=0)["keys"]["shared_anchors_tried"] is None
    monkeypatch.setenv("DISCREET_ANCHORS", str(tmp_path / "sahred"))
    keys = document("--ledger", path, code=1)["keys"]
    assert (keys["shared_anchors"], keys["shared_anchors_tried"]) == ("unreachable", str(tmp_path / "sahred"))
    told = "".join(run("--ledger", path).stdout.split())  # lines are broken at hyphens of a path too
    assert f"at{tmp_path / 'shared'},lookedforat{tmp_path / 'sahred'}." in told
