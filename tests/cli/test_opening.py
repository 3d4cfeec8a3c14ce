"""A command opens the ledger that is meant, and makes none."""

import shlex

import pytest
from typer.testing import CliRunner

from discreet.cli import app, exit_codes
from discreet.cli.opening import open_file_ledger, open_ledger_at, refuse_ledger_file
from discreet.errors import LedgerError, ParameterError
from discreet.ledger import Signer, SQLiteLedger
from discreet.ledger.opening import NO_PLACE


@pytest.fixture
def path(tmp_path):
    file = tmp_path / "ledger.sqlite"
    SQLiteLedger(file).close()
    return file


def test_a_ledger_is_opened_with_the_key_and_the_anchors_that_are_named(path, tmp_path):
    for way in (open_ledger_at, open_file_ledger):
        with pytest.raises(ParameterError, match="no file at that path") as caught:
            way(str(path), tmp_path / "own.key", tmp_path / "vault")
        assert f"key new --signing-key {tmp_path / 'own.key'}" in caught.value.instead
    assert list(tmp_path.iterdir()) == [path]
    Signer.at(tmp_path / "own.key")
    for way in (open_ledger_at, open_file_ledger):
        with way(str(path), tmp_path / "own.key", tmp_path / "vault") as ledger:
            assert ledger.verify().ok
    assert (tmp_path / "vault").is_dir()


def test_the_ledger_at_home_is_opened_where_none_is_named(discreet_home):
    SQLiteLedger(discreet_home / "ledger.sqlite").close()
    with open_ledger_at(None, None, None) as ledger:
        assert ledger.datasets() == []


@pytest.mark.parametrize("where", [None, "nowhere.sqlite", "."])
def test_where_there_is_no_ledger_none_is_made(where, tmp_path, discreet_home, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ParameterError, match="no file at that path"):
        open_ledger_at(where, None, None)
    assert [*tmp_path.iterdir(), *discreet_home.iterdir()] == []


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(ParameterError, match=r"nowhere\.sqlite"):
        open_ledger_at(str(tmp_path / "nowhere.sqlite"), None, None)
    with pytest.raises(ParameterError, match=r"nowhere\.key"):
        open_ledger_at(None, tmp_path / "nowhere.key", None)


def test_an_address_leads_to_postgresql():
    with pytest.raises(LedgerError, match="nothing listens"):
        open_ledger_at("postgresql://nobody@127.0.0.1:1/records", None, None)


@pytest.mark.parametrize(
    "where",
    [
        "postgresql+psycopg://r:SECRET@127.0.0.1/l",
        "mysql://r:SECRET@127.0.0.1/l",
        "host=127.0.0.1 dbname=l password=SECRET",
        "postgresql:/r:SECRET@127.0.0.1/l",
        "r:SECRET@127.0.0.1/l",
    ],
)
@pytest.mark.parametrize(
    "words", [["show"], ["health"], ["backup", "copy"], ["move", "postgresql://o@127.0.0.1:1/l", "--role", "r"]]
)
def test_an_address_in_other_words_is_no_path_and_is_not_repeated(words, where, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    result = CliRunner().invoke(app, ["ledger", *words, "--ledger", where, "--json"])
    assert result.exit_code == exit_codes.PROBLEM
    assert NO_PLACE in result.stdout
    assert "SECRET" not in result.output + repr(result.exception)
    assert list(tmp_path.iterdir()) == []


def test_the_advice_where_there_is_no_ledger_at_home_names_no_file_that_is_not_there(discreet_home):
    with pytest.raises(ParameterError) as refused:
        open_ledger_at(None, None, None)
    assert ".sqlite" not in refused.value.instead


def test_a_backup_of_a_database_is_the_databases_own_business():
    with pytest.raises(ParameterError, match="PostgreSQL's own means"):
        open_file_ledger("postgresql://nobody@127.0.0.1:1/records", None, None)


@pytest.mark.parametrize("verb", ["show", "verify"])
def test_the_path_of_a_ledger_in_the_place_of_a_dataset_is_refused_with_the_call_that_works(path, verb, discreet_home):
    result = CliRunner().invoke(app, ["ledger", verb, str(path)])
    assert isinstance(result.exception, ParameterError)
    assert result.exception.instead == f"discreet ledger {verb} --ledger {path}"
    assert CliRunner().invoke(app, shlex.split(result.exception.instead)[1:]).exit_code == 0
    with pytest.raises(ParameterError, match="history DATASET --ledger"):
        refuse_ledger_file(str(path), "history")


@pytest.mark.parametrize("name", [None, "visits", "a\0b", "."])
def test_a_name_of_a_dataset_is_no_path(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "visits").write_text("not a ledger")
    refuse_ledger_file(name, "show")
