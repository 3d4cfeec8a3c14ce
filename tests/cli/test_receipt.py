"""A receipt is checked by anyone, with a public key and nothing else."""

import json
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from discreet import events
from discreet.accounting.filters import Budget
from discreet.cli import app
from discreet.errors import LedgerError, ParameterError
from discreet.ledger import Dataset, Receipt, Signer, SQLiteLedger

GOLDEN = Path(__file__).parents[1] / "golden" / "ledger"


@pytest.fixture
def signer() -> Signer:
    return Signer.in_memory()


@pytest.fixture
def receipt(signer: Signer) -> Receipt:
    with SQLiteLedger(":memory:") as ledger:
        ledger.register(
            Dataset(name="visits", source="v.csv", unit="one patient_id", facts="{}", budget=Budget(epsilon=1))
        )
        asked = {"version": 1, "analyst": "ann", "question": "5f1d", "description": "{}", "patience": 1.0}
        turn = ledger.charge("visits", event=events.PureEvent(Fraction(1, 4)), **asked)
    return turn.receipt.sign(signer)


def check(tmp_path: Path, text: str, *publics: str) -> Result:
    file = tmp_path / "receipt.json"
    file.write_text(text)
    keys = [word for public in publics for word in ("--key", public)]
    return CliRunner().invoke(app, ["receipt", "verify", str(file), *keys])


def test_a_receipt_that_the_key_signed_ends_with_0(tmp_path, receipt, signer):
    result = check(tmp_path, receipt.to_json(), signer.public)
    assert result.exit_code == 0
    told = result.stdout.splitlines()
    assert told[0] == f"receipt {receipt.id} of 'visits', event 2, by 'ann': signed by key {signer.key}"
    assert told[1:] == [f"it says: epsilon 0.25 charged to version 1 at {receipt.time}"]


def test_one_of_several_keys_is_enough(tmp_path, receipt, signer):
    assert check(tmp_path, receipt.to_json(), Signer.in_memory().public, signer.public).exit_code == 0


def test_a_release_that_holds_a_receipt_is_read_and_its_numbers_are_not_vouched_for(tmp_path, receipt, signer):
    text = json.dumps({"schema": "discreet.release/1", "receipt": json.loads(receipt.to_json())})
    result = check(tmp_path, text, signer.public)
    assert result.exit_code == 0
    assert "for the numbers run `discreet release verify`" in result.stdout


def test_a_changed_receipt_ends_with_1(tmp_path, receipt, signer):
    changed = json.loads(receipt.to_json()) | {"analyst": "bob"}
    result = check(tmp_path, json.dumps(changed), signer.public)
    assert result.exit_code == 1
    assert "it was changed" in result.stdout


def test_a_receipt_of_another_key_ends_with_1_and_names_the_key(tmp_path, receipt, signer):
    result = check(tmp_path, receipt.to_json(), Signer.in_memory().public)
    assert result.exit_code == 1
    assert result.stdout.endswith(f"another key signed it, {signer.key}\n")


def test_a_signature_of_something_else_ends_with_1(tmp_path, receipt, signer):
    forged = json.loads(receipt.to_json()) | {"signature": signer.sign("another text")}
    result = check(tmp_path, json.dumps(forged), signer.public)
    assert result.exit_code == 1
    assert "its signature is not that of the key it names" in result.stdout


def test_a_receipt_of_the_first_format_was_signed_by_nobody(tmp_path, signer):
    result = check(tmp_path, (GOLDEN / "v1.receipt.json").read_text(), signer.public)
    assert result.exit_code == 1
    assert "no key signed it" in result.stdout


@pytest.mark.parametrize(
    "text", ["", "[]", "7", "{}", '{"receipt": {}}', '{"format": "discreet.receipt/9"}', "[" * 10**5]
)
def test_a_text_that_is_no_receipt_is_refused(tmp_path, signer, text):
    assert isinstance(check(tmp_path, text, signer.public).exception, LedgerError)


def test_a_file_that_is_not_there_is_refused(tmp_path, signer):
    result = CliRunner().invoke(app, ["receipt", "verify", str(tmp_path / "none.json"), "--key", signer.public])
    assert isinstance(result.exception, ParameterError)


@pytest.mark.parametrize("public", ["", "ed25519:", "ed25519:AAAA", "ssh-ed25519 AAAA"])
def test_a_key_that_is_none_is_refused_before_the_receipt_is_read(tmp_path, public):
    result = CliRunner().invoke(app, ["receipt", "verify", str(tmp_path / "none.json"), "--key", public])
    assert isinstance(result.exception, ParameterError)
    assert "public key" in result.exception.because


def test_without_a_key_nothing_is_vouched_for_so_one_is_asked_for(tmp_path, receipt):
    assert check(tmp_path, receipt.to_json()).exit_code == 2


def test_other_releases_before_the_charge_are_listed_as_they_print(tmp_path, receipt, signer):
    listing = replace(receipt, others=("ages in tens (event 2)", "a\x1b[2Jb")).sign(signer)
    lines = check(tmp_path, listing.to_json(), signer.public).stdout.splitlines()
    assert lines[2] == "other release before it: ages in tens (event 2)"
    assert "\x1b" not in lines[3]
