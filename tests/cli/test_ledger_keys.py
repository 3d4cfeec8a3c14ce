"""The commands on keys: those of this machine, and those that a ledger lists."""

import json
import os
import re
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from discreet.accounting.filters import Budget
from discreet.cli import app
from discreet.errors import LedgerError, NameNotFoundError, ParameterError, Refusal
from discreet.ledger import Dataset, PostgresLedger, Signer, SQLiteLedger
from discreet.ledger.records import faults
from servers import SERVICE, STEWARD
from tampering import new_database

WHY = ("--reason", "a test")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    file = tmp_path / "ledger.sqlite"
    SQLiteLedger(file).close()
    return file


def run(*words: object, **environment: str) -> Result:
    return CliRunner().invoke(app, ["ledger", *map(str, words)], env=environment)


def said(result: Result) -> str:
    assert result.exception is None, result.exception
    return result.stdout.strip()


def test_a_key_is_listed_and_revoked_by_the_owner(path, tmp_path):
    pod = Signer.at(tmp_path / "pod.key")
    assert said(run("key", "listed", "--ledger", path)).endswith("shared anchors: not named")
    said(run("share-anchors", tmp_path / "shared", *WHY, "--ledger", path))
    listed = said(run("key", "list", pod.public, "--name", "pod-2", *WHY, "--ledger", path))
    assert listed == f"{pod.key}  pod-2  may charge\n  {pod.public}"
    first, _, created, *second, since, place = said(run("key", "listed", "--ledger", path)).splitlines()
    assert place == f"shared anchors: {tmp_path / 'shared'}"
    assert first.endswith("owner  may charge, and lists keys")
    assert created.endswith("  the ledger was created")
    assert second == listed.splitlines()
    assert re.fullmatch(r"  listed  \d{4}-\d\d-\d\dT\S+  a test", since)
    assert "pod-2  revoked\n" in said(run("key", "revoke", pod.key, *WHY, "--ledger", path))
    document = json.loads(said(run("key", "listed", "--ledger", path, "--json")))
    assert [each["is_revoked"] for each in document["keys"]] == [False, True]
    assert (document["keys"][1]["reason"], document["keys"][1]["end_reason"]) == ("a test", "a test")
    assert document["keys"][1]["since"] < document["keys"][1]["until"]
    assert document["shared_anchors"] == str(tmp_path / "shared")


def test_a_second_key_of_one_name_is_named_with_the_first(path, tmp_path):
    said(run("share-anchors", tmp_path / "shared", *WHY, "--ledger", path))
    former, new = (Signer.at(tmp_path / f"{number}.key") for number in (1, 2))
    assert "names 2 keys" not in said(run("key", "list", former.public, "--name", "pod", *WHY, "--ledger", path))
    for told in (
        said(run("key", "list", new.public, "--name", "pod", *WHY, "--ledger", path)),
        said(run("key", "listed", "--ledger", path)),
    ):
        assert f"'pod' names 2 keys that may charge: {former.key}, {new.key};" in told
    said(run("key", "revoke", former.key, *WHY, "--ledger", path))
    assert "names 2 keys" not in said(run("key", "listed", "--ledger", path))


def test_a_stranger_anchors_nothing(path, tmp_path):
    Signer.at(tmp_path / "pod.key")
    words = ("anchor", "--ledger", path, "--signing-key", tmp_path / "pod.key", "--anchors", tmp_path / "none")
    assert str(run(*words).exception) == faults.UNLISTED_KEY
    said(run("share-anchors", tmp_path / "shared", *WHY, "--ledger", path))
    assert said(run("anchor", "--ledger", path)) == "0 datasets anchored"
    (tmp_path / "shared").rename(tmp_path / "unmounted")
    assert str(run("anchor", "--ledger", path).exception) in faults.WITHOUT_SHARED_ANCHORS


def test_what_is_no_key_or_not_listed_is_refused(path):
    assert isinstance(run("key", "list", "5a1b", "--name", "pod", *WHY, "--ledger", path).exception, ParameterError)
    assert isinstance(run("key", "revoke", "5a1b", *WHY, "--ledger", path).exception, NameNotFoundError)


@pytest.mark.parametrize(
    ("words", "advice"),
    [
        (("key", "list", "PUBLIC", "--name", "pod", *WHY), "discreet ledger share-anchors PLACE --reason TEXT"),
        (("key", "revoke", "5a1b2c3d4e5f6a7b", *WHY), "discreet ledger key listed"),
        (("recover", "--signing-key", "OPEN", *WHY), "discreet ledger key rotate --signing-key"),
        (("verify", "--signing-key", "NONE"), "discreet ledger key new --signing-key"),
        (("share-anchors", "NONE/anchors", *WHY), "the path of a directory that all machines mount"),
    ],
)
def test_a_refusal_advises_a_command_and_no_python(path, tmp_path, words, advice):
    public = Signer.at(tmp_path / "open.key").public
    (tmp_path / "open.key").chmod(0o644)
    for name, given in {"PUBLIC": public, "OPEN": str(tmp_path / "open.key"), "NONE": str(tmp_path / "none")}.items():
        words = tuple(word.replace(name, given) for word in words)
    refused = run(*words, "--ledger", path).exception
    assert isinstance(refused, Refusal)
    assert advice in refused.instead
    assert not re.search(r"\w\(|\w=[\"']", f"{refused.what} {refused.because} {refused.instead}")


def test_advice_about_a_key_that_was_named_names_it_again(tmp_path):
    """Without the option the commands are about the key at home, which is the owner's on its machine."""
    named = ("--signing-key", tmp_path / "the pod.key")
    option = f"--signing-key '{tmp_path / 'the pod.key'}'"
    assert run("key", "show", *named).exception.instead.endswith(f"discreet ledger key new {option}")
    said(run("key", "new", *named))
    assert f"discreet ledger key rotate {option}," in run("key", "new", *named).exception.instead
    said(run("key", "new"))
    assert "discreet ledger key rotate, which" in run("key", "new").exception.instead


def test_another_machine_than_the_owners_lists_nothing(path, tmp_path):
    pod = Signer.at(tmp_path / "pod.key")
    words = ("key", "list", pod.public, "--name", "pod", *WHY, "--ledger", path)
    result = run(*words, "--signing-key", tmp_path / "pod.key", "--anchors", tmp_path / "none")
    assert isinstance(result.exception, LedgerError)
    assert "not the ledger's owner" in str(result.exception)


def test_a_lost_owners_key_is_replaced_by_a_takeover(path, tmp_path):
    elsewhere = ("--signing-key", tmp_path / "new.key", "--anchors", tmp_path / "none")
    words = ("key", "take-over", "--reason", "the disk was lost", "--ledger", path, *elsewhere)
    refused = run(*words).exception
    assert "key new" in refused.instead
    assert not (tmp_path / "new.key").exists()
    made = said(run("key", "new", *elsewhere[:2]))
    assert made == said(run("key", "show", *elsewhere[:2]))
    assert isinstance(run("key", "new", *elsewhere[:2]).exception, ParameterError)
    told = said(run(*words))
    assert told.startswith(Signer.at(tmp_path / "new.key").key)
    assert "may charge, and lists keys\n" in told


def test_shared_anchors_are_named_once_and_found_by_a_second_machine(path, tmp_path):
    pod = Signer.at(tmp_path / "pod.key")
    assert "share their anchors" in said(run("share-anchors", tmp_path / "shared", *WHY, "--ledger", path))
    said(run("key", "list", pod.public, "--name", "pod", *WHY, "--ledger", path))
    with SQLiteLedger(path, key=tmp_path / "pod.key", anchors=tmp_path / "none") as ledger:
        ledger.register(Dataset(name="visits", source="v.csv", unit="one p", facts="{}", budget=Budget(epsilon=1)))
    assert len(list((tmp_path / "shared").glob("*/*.json"))) >= 2


@pytest.mark.full
def test_the_walk_of_the_runbook_on_postgresql(durable_postgres, tmp_path):
    place = new_database(durable_postgres, "several")
    words = ("create", place.owner, "--role", SERVICE, "--steward", STEWARD, "--shared-anchors", tmp_path / "shared")
    assert said(run(*words)).endswith(f"shared anchors: {tmp_path / 'shared'}")
    assert json.loads(said(run(*words, "--json")))["shared_anchors"] == str(tmp_path / "shared")
    pod = Signer.at(tmp_path / "pod.key")
    said(run("key", "list", pod.public, "--name", "pod-2", *WHY, "--ledger", place.owner))
    told = said(run("key", "listed", "--ledger", place.service))
    assert len(told.splitlines()) == 7
    with PostgresLedger(place.steward, key=tmp_path / "pod.key", anchors=tmp_path / "none") as ledger:
        ledger.register(Dataset(name="visits", source="v.csv", unit="one p", facts="{}", budget=Budget(epsilon=1)))
        assert ledger.verify()
    by_the_service = run("key", "revoke", pod.key, *WHY, "--ledger", place.service)
    assert isinstance(by_the_service.exception, LedgerError)
    assert os.environ.get("PGPASSWORD") is None
