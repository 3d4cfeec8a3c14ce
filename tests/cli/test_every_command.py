"""Every command of the app, found by walking it: help, wrong calls, JSON, refusals, examples and the reference page."""

import json
import os
import sys

import pytest
from typer.testing import CliRunner

from cli.command_tree import COMMANDS, EXAMPLES, LOCAL, OTHERS, SCRIPT, prepare
from cli.conftest import BY_WARD, CATALOG
from discreet.cli import app, exit_codes
from servers import SERVICE, STEWARD

NAMES = sorted(COMMANDS)
NEVER_REFUSED = {"doctor", "ledger key new", "local demo", "materialise", "version"}
"""Commands that need no file, catalog or ledger."""
CHANGING = {"ledger cap", "ledger rename"}
"""Commands after which the catalog of the other examples is no longer that of the ledger."""
BROKEN = {"audit"}
"""Commands whose example finds a problem, which is what it shows."""


def invoke(words, **environment):
    return CliRunner().invoke(app, words, env=environment)


@pytest.fixture(scope="module", params=["text", "json"])
def prepared(request, tmp_path_factory):
    """A directory with everything that the examples name, and its environment; one for text and one for JSON."""
    place = tmp_path_factory.mktemp(request.param)
    return request.param, place, prepare(place, CATALOG, BY_WARD)


@pytest.mark.parametrize("name", NAMES)
def test_help_is_printed_in_whole_sentences(name):
    result = invoke([*name.split(), "--help"])
    assert result.exit_code == exit_codes.OK
    text = result.stdout
    for usual in ("ed25519:...", "postgresql://...", "[...]", "{FILE}..."):
        text = text.replace(usual, "")
    assert "..." not in text
    assert max(map(len, text.splitlines())) <= 80


@pytest.mark.parametrize("group", [(), ("ledger",), ("ledger", "key"), ("receipt",), ("release",), ("local",)])
def test_lists_of_commands_are_not_cut(group):
    text = invoke([*group, "--help"], COLUMNS="80").stdout.replace("[ARGS]...", "")
    assert "..." not in text


@pytest.mark.parametrize("name", NAMES)
def test_a_wrong_option_ends_with_2_and_says_so_on_standard_error_or_as_json(name):
    result = invoke([*name.split(), "--no-such-option"])
    assert result.exit_code == exit_codes.WRONG_CALL
    assert result.stdout == ""
    assert "--no-such-option" in result.stderr
    as_json = invoke([*name.split(), "--no-such-option", "--json"])
    assert as_json.exit_code == exit_codes.WRONG_CALL
    error = json.loads(as_json.stdout)["error"]
    assert error["type"] == "UsageError"
    assert "--no-such-option" in error["what"]
    assert error["instead"].endswith("--help")


@pytest.mark.parametrize("name", NAMES)
def test_json_and_an_example_are_there(name):
    options = {text for parameter in COMMANDS[name].params for text in parameter.opts}
    assert "--json" in options or name in OTHERS
    assert name in EXAMPLES


@pytest.mark.parametrize("name", sorted(set(LOCAL) - OTHERS))
def test_the_example_runs_as_text_and_as_one_json_document(name, prepared, monkeypatch, tmp_path):
    form, place, environment = prepared
    if name in CHANGING:
        place, environment = tmp_path, prepare(tmp_path, CATALOG, BY_WARD)
    monkeypatch.chdir(place)
    words = [os.path.expandvars(word.replace("$KEY", environment["KEY"])) for word in LOCAL[name]]
    result = invoke([*words, *(["--json"] if form == "json" else [])], **environment)
    assert result.exit_code == (exit_codes.PROBLEM if name in BROKEN else exit_codes.OK), result.output
    assert result.stdout.strip()
    if form == "json":
        assert "error" not in json.loads(result.stdout)
    else:
        assert not result.stdout.startswith("{")


@pytest.mark.parametrize("name", sorted(set(LOCAL) - OTHERS - NEVER_REFUSED))
def test_where_nothing_is_there_the_example_is_refused_with_1(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delitem(sys.modules, "mine", raising=False)  # the module of the example of `audit`
    words = [word.replace("$KEY", f"ed25519:{'A' * 43}=") for word in LOCAL[name]]
    assert invoke(words).exit_code == exit_codes.PROBLEM
    result = invoke([*words, "--json"])
    assert result.exit_code == exit_codes.PROBLEM
    error = json.loads(result.stdout)["error"]
    assert error["type"].endswith("Error")
    assert error.keys() in ({"type", "what"}, {"type", "what", "because", "instead"})


def test_a_machine_without_a_directory_ends_with_1(tmp_path):
    (tmp_path / "file").write_text("")
    result = invoke(["doctor", "--json"], DISCREET_HOME=str(tmp_path / "file"))
    assert result.exit_code == exit_codes.PROBLEM
    assert json.loads(result.stdout)["healthy"] is False


ROLES = {"discreet_service": SERVICE, "discreet_steward": STEWARD}


def test_the_example_that_needs_a_server_runs_on_one(durable_postgres):
    for more in ([], ["--json"]):
        words = [durable_postgres.owner_url if "db.example.org" in word else word for word in EXAMPLES["ledger create"]]
        result = invoke([ROLES.get(word, word) for word in [*words, *more]])
        assert result.exit_code == exit_codes.OK, result.output
    assert json.loads(result.stdout)["role"] == SERVICE


def test_the_reference_page_is_what_the_commands_say():
    assert SCRIPT.PAGE.read_text(encoding="utf-8") == SCRIPT.page(), "run scripts/commands"


def test_every_command_with_codes_of_its_own_is_there():
    assert set(exit_codes.OF_COMMANDS) <= set(COMMANDS)
