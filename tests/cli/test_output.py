"""JSON for programs: one document on standard output, errors among them, and no address in any."""

import json

import pytest
import typer
from typer.testing import CliRunner

from discreet import cli
from discreet.cli import app, output
from discreet.cli.address import NOT_SHOWN
from discreet.errors import FAILURE, Failure, LedgerError, ParameterError

ADDRESS = "postgresql://ann:hunter2@db/records"


def refusal() -> ParameterError:
    return ParameterError("epsilon=0", because="epsilon must be above zero", instead="epsilon=0.1")


def test_an_option_after_two_dashes_is_no_option():
    assert output.wants_json(["plan", "q.sql", "--json"])
    assert not output.wants_json(["plan", "--", "--json"])


def test_a_refusal_has_its_three_parts_and_a_failure_its_constant_sentence_alone():
    parts = {"what": "epsilon=0", "because": "epsilon must be above zero", "instead": "epsilon=0.1"}
    assert output.error_document(refusal()) == {"error": {"type": "ParameterError"} | parts}
    assert output.error_document(Failure()) == {"error": {"type": "Failure", "what": FAILURE}}
    assert output.error_document(LedgerError("damaged")) == {"error": {"type": "LedgerError", "what": "damaged"}}


def test_an_error_that_is_not_expected_says_nothing_of_itself():
    assert output.error_document(ValueError("row 17")) == {"error": {"type": "ValueError", "what": output.UNEXPECTED}}


@pytest.mark.parametrize(
    ("error", "code"), [(refusal(), 1), (Failure(), 1), (typer.BadParameter(f"not {ADDRESS}"), 2), (ValueError("x"), 1)]
)
def test_an_error_of_a_command_is_one_document_on_standard_output(error, code, monkeypatch):
    def fail(*_, **__):
        raise error

    monkeypatch.setattr(cli.doctor, "examine", fail)
    result = CliRunner().invoke(app, ["doctor", "--json"])
    assert result.exit_code == code
    assert json.loads(result.stdout)["error"]["what"]
    assert "hunter2" not in result.output


def test_no_address_that_was_typed_is_shown_and_examples_of_addresses_stay():
    example = "--ledger postgresql://discreet_service@db.example.org/records"
    error = ParameterError(f"a file at {ADDRESS!r}", because="it is not there", instead=f"{example}, not {ADDRESS}")
    output.hide_addresses(error, ["run", ADDRESS])
    assert error.what == f"a file at '{NOT_SHOWN}'"
    assert error.instead == f"{example}, not {NOT_SHOWN}"
    assert "hunter2" not in repr(error) + str(error)


@pytest.mark.parametrize("words", [["run", ADDRESS, "--epsilon", "1"], ["init", ADDRESS], ["release", "show", ADDRESS]])
@pytest.mark.parametrize("form", [[], ["--json"]])
def test_an_address_in_the_place_of_a_file_is_not_printed(words, form, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "catalog.yaml").write_text("tables: {}")
    result = CliRunner().invoke(app, [*words, *form])
    assert result.exit_code == 1
    assert "hunter2" not in result.output + repr(result.exception)
