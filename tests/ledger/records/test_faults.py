import re
from pathlib import Path

import pytest
import typer

from discreet.cli import app
from discreet.ledger.records import faults
from grids import over

SENTENCES = {name: text for name, text in vars(faults).items() if name.isupper() and isinstance(text, str)}
PAGE = Path(__file__).parents[3] / "docs" / "reference" / "ledger.md"


@over("name", SENTENCES)
def test_a_fault_is_one_constant_sentence_in_the_house_style(name):
    text = SENTENCES[name]
    assert text[0].islower()
    assert not text.endswith(".")
    assert not {"{", "%", "\n"} & set(text)
    assert "please" not in text
    assert "invalid" not in text


def test_every_fault_says_what_to_do_on_the_page_about_the_ledger():
    rows = [line.split("|")[1].strip() for line in PAGE.read_text().splitlines() if line.count("|") == 3]
    told = [row for row in rows if len(row) > 10]
    assert [name for name, text in SENTENCES.items() if not any(text.startswith(row) for row in told)] == []


COMMAND = re.compile(r"discreet ledger(?: (?:key )?[a-z][a-z-]*)(?: --[a-z-]+| [A-Z]+\b| \d+| \"[^\"]*\")*")
ERRORS = PAGE.read_text().partition("## Errors")[2]
COMMANDS = sorted({found for text in (*SENTENCES.values(), ERRORS) for found in COMMAND.findall(text)})


def parse(command: str) -> None:
    """Read the words of a command as typer does, without running it."""
    found, words = typer.main.get_command(app), re.findall(r'"[^"]*"|\S+', command)[1:]
    while hasattr(found, "get_command"):
        found = found.get_command(typer.Context(found), words.pop(0))
    found.parse_args(typer.Context(found), words)


@pytest.mark.parametrize("command", COMMANDS)
def test_a_command_in_the_advice_of_a_fault_has_all_that_it_requires(command):
    parse(command)


def test_the_commands_of_faults_are_found():
    assert len(COMMANDS) > 8
    with pytest.raises(Exception, match="Missing parameter: reason"):
        parse("discreet ledger recover --ledger LEDGER")
