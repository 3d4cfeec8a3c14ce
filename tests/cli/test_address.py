"""An address is told from a path, and no part of one is shown."""

import ast
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

from discreet import ledger
from discreet.cli import app
from discreet.cli.address import NOT_SHOWN, in_lower_case, is_address, name, without_addresses
from discreet.ledger.records import faults


@pytest.mark.parametrize("text", ["postgresql://db/records", "postgres://ann:x@db", "PostgreSQL://db"])
def test_an_address_is_known_by_its_scheme(text):
    assert is_address(text)


def test_the_scheme_is_given_as_the_library_of_postgresql_reads_it():
    assert in_lower_case("Postgres://Ann:X@db/postgres://") == "postgresql://Ann:X@db/postgres://"


@pytest.mark.parametrize("text", ["ledger.sqlite", "./postgresql:/", "postgresql", "host=db dbname=records"])
def test_anything_else_is_a_path(text):
    assert not is_address(text)


@pytest.mark.parametrize(
    "secret",
    ["postgresql://ann:hunter2@db", "postgres:/ann:hunter2@db", "host=db password=hunter2", "PASSWORD = hunter2"],
)
def test_a_text_is_cut_off_before_a_password_can_come(secret):
    shown = without_addresses(f"no such command '{secret}', or another")
    assert shown.startswith("no such command '")
    assert shown.endswith(f"{NOT_SHOWN}'")
    assert "hunter2" not in shown


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("the file 'postgresql://u:x@h' is not there", f"the file '{NOT_SHOWN}'"),
        ('no "host=db password=x"', f'no "host=db {NOT_SHOWN}"'),
        ("""--one '"mysql://u:x@h/d"'""", f"""--one '"{NOT_SHOWN}"'"""),
        ("'a' and mysql://u:x@h/d", f"'a' and {NOT_SHOWN}"),
        ("the ledger's place mysql://u:x@h/d", f"the ledger's place {NOT_SHOWN}"),
    ],
)
def test_a_quote_around_what_is_not_shown_is_closed(text, shown):
    assert without_addresses(text) == shown


def test_a_text_without_an_address_stays_as_it_is():
    assert without_addresses("no such command 'docter'") == "no such command 'docter'"


def test_an_address_is_no_name():
    assert name("visits") == "visits"
    with pytest.raises(typer.BadParameter) as refused:
        name("postgresql://ann:hunter2@db")
    assert "hunter2" not in str(refused.value)


@pytest.mark.parametrize(
    "text", ["no file at 'postgresql+psycopg2://u:SECRET@h/db'", "mysql://u:SECRET@h/db", "POSTGRES://u:SECRET@h"]
)
def test_a_password_in_an_address_of_any_kind_is_not_shown(text):
    assert "SECRET" not in without_addresses(text)


@pytest.mark.parametrize(
    "text", ["A ledger in a file, or postgresql://... Default: home.", "at 12:30 by ann@example.org"]
)
def test_our_own_help_and_other_texts_are_shown_whole(text):
    assert without_addresses(text) == text


def texts_of_the_ledger() -> list[str]:
    """Every text in the source of the ledger, but docstrings, that has an address in a sentence."""
    source = Path(ledger.__file__).parent
    trees = [ast.parse(path.read_text(encoding="utf-8")) for path in source.rglob("*.py")]
    constants = [node.value for tree in trees for node in ast.walk(tree) if isinstance(node, ast.Constant)]
    texts = [each for each in constants if isinstance(each, str) and "postgresql://" in each and "\n" not in each]
    return [text for text in texts if " " in text and "(?" not in text]  # and no regular expression


def test_an_address_in_a_sentence_of_the_ledger_is_shown():
    texts = texts_of_the_ledger()
    assert faults.BAD_ADDRESS in texts
    assert any(text.startswith("an address begins with postgresql://; ") for text in texts)
    assert [text for text in texts if without_addresses(text) != text] == []


@pytest.mark.parametrize(
    "text",
    ["postgresql:// u:SECRET@h", "postgresql://; u:SECRET@h", "postgresql://  u:SECRET@h/d", "postgresql://.SECRET"],
)
def test_a_password_after_the_scheme_alone_is_not_shown(text):
    assert "SECRET" not in without_addresses(text)


def test_bad_shared_anchors_are_refused_with_a_whole_sentence(tmp_path, monkeypatch):
    ledger.SQLiteLedger(tmp_path / "ledger.sqlite").close()
    monkeypatch.setenv("DISCREET_ANCHORS", "http://x/y")
    refused = CliRunner().invoke(app, ["ledger", "anchor", "--ledger", str(tmp_path / "ledger.sqlite")])
    assert refused.exception.because.startswith("an address begins with postgresql://; anything else")


@pytest.mark.parametrize("words", [["run"], ["plan"], ["sql"]])
def test_help_without_arguments_is_whole(words):
    found = CliRunner().invoke(app, words)
    assert "--ledger" in found.output
    assert NOT_SHOWN not in found.output
    assert "--json" in found.output
