"""Examples in the help can be copied into a shell as they are printed."""

import re
import shlex

import pytest
from typer.testing import CliRunner

from cli.command_tree import COMMANDS
from discreet.cli import app
from discreet.cli.examples import examples, in_epilog

LONG = "discreet ledger verify --full --ledger postgresql://discreet_service@db.example.org/records"


def test_a_long_example_goes_on_after_a_backslash_and_a_short_one_stays_as_it_is():
    epilog = examples("discreet ledger verify", LONG)
    assert "verify --full \\\n  --ledger" in epilog
    assert in_epilog(epilog) == ["discreet ledger verify", LONG]
    assert in_epilog("Example: discreet doctor") == ["discreet doctor"]
    assert in_epilog(None) == in_epilog("Not an example.") == []


@pytest.mark.parametrize("name", sorted(COMMANDS))
def test_what_the_help_prints_in_80_columns_is_the_command_whole(name):
    text = CliRunner().invoke(app, [*name.split(), "--help"], env={"COLUMNS": "80"}).stdout
    printed = re.findall(r"^  Example: ((?:.*\\\n)*.*)$", text, re.MULTILINE)
    joined = [each.replace("\\\n", "") for each in printed]  # as a shell does
    assert [shlex.split(each) for each in joined] == [shlex.split(each) for each in in_epilog(COMMANDS[name].epilog)]
    assert printed


@pytest.mark.parametrize("name", ["health", "recover", "verify"])
def test_commands_that_run_beside_a_database_have_an_example_with_its_address(name):
    assert any("postgresql://" in each for each in in_epilog(COMMANDS[f"ledger {name}"].epilog))


@pytest.mark.parametrize("words", [["ledger"], ["ledger", "share-anchors"]])
def test_the_help_names_the_variables_that_say_where_files_are(words):
    text = CliRunner().invoke(app, [*words, "--help"]).stdout
    assert {"DISCREET_HOME", "DISCREET_ANCHORS"} <= set(re.findall(r"DISCREET_\w+", text))


def test_no_argument_is_named_in_lower_case():
    texts = [CliRunner().invoke(app, [*name.split(), "--help"]).stdout for name in COMMANDS]
    assert [usage for text in texts for usage in re.findall(r"^Usage:.*\{[a-z].*$", text, re.MULTILINE)] == []
