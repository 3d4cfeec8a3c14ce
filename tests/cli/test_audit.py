"""`discreet audit` runs a mechanism that anybody wrote, says what it found, and ends with 1 where a claim is broken."""

import json
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from discreet import auditing
from discreet.auditing.finding import Finding, Verdict
from discreet.cli import app, audit
from discreet.cli.address import NOT_SHOWN
from discreet.errors import Refusal

MINE = """
import discreet as dp
from discreet.testing import generator

GENERATOR = generator(1)
LOW, HIGH = [0, 0, 0], [0, 0, 1]

def loud(data, count):
    return data + GENERATOR.laplace(0, 0.2, count)

def fair(data, count):
    return dp.mechanisms.Laplace(sensitivity=1, epsilon=1).release([sum(data)] * count)
"""


@pytest.fixture(autouse=True)
def _in_a_directory_with_a_module(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine_for_audits.py").write_text(MINE)


def run(*words):
    return CliRunner().invoke(app, ["audit", *words])


def test_a_broken_claim_ends_with_1_and_says_which_event_broke_it():
    result = run("mine_for_audits:loud", "--epsilon", "1", "--one", "0.0", "--other", "1.0", "--many")
    assert result.exit_code == 1
    assert "broken" in result.output
    assert "came" in result.output


def test_a_true_claim_ends_with_0_and_datasets_are_named_in_modules():
    words = ("--one", "mine_for_audits:LOW", "--other", "mine_for_audits:HIGH", "--many", "--alarm", "1e-6")
    result = run("mine_for_audits:fair", "--epsilon", "1", *words, "--samples", "2000")
    assert result.exit_code == 0, result.output
    assert "nothing found" in result.output


def test_the_report_is_saved_as_html_and_json():
    words = ("--one", "0.0", "--other", "1.0", "--many", "--save", "a.html", "--save", "a.json")
    run("mine_for_audits:loud", "--epsilon", "1", *words)
    assert json.loads(Path("a.json").read_text())["findings"][0]["verdict"] == "broken"
    assert "<h1>audit of mine_for_audits:loud</h1>" in Path("a.html").read_text()


@pytest.mark.parametrize(
    "dataset", ["postgresql://u:hunter2@host/db", "POSTGRES://u:hunter2@host", "host=h password = hunter2"]
)
def test_a_report_says_what_was_typed_but_no_address_and_no_password(monkeypatch, dataset):
    words = ["mine_for_audits:fair", "--epsilon", "1", "--one", json.dumps(dataset), "--other", '"b"']
    typed = [*words, "--samples", "100", "--save", "a.html", "--save", "a.json"]
    monkeypatch.setattr("sys.argv", ["discreet", "audit", *typed])
    assert "hunter2" not in run(*typed).output
    about = json.loads(Path("a.json").read_text())["about"]
    assert about.startswith("discreet audit mine_for_audits:fair --epsilon 1 --one")
    assert about.endswith(f"{NOT_SHOWN}\"'")
    assert "hunter2" not in Path("a.json").read_text() + Path("a.html").read_text()


def test_what_was_typed_is_told_whole_where_it_holds_no_address(monkeypatch):
    words = ["mine_for_audits:loud", "--epsilon", "1", "--one", "0.0", "--other", "1.0", "--many", "--save", "a.json"]
    monkeypatch.setattr("sys.argv", ["discreet", "audit", *words])
    run(*words)
    assert json.loads(Path("a.json").read_text())["about"] == f"discreet audit {' '.join(words)}"


@pytest.mark.parametrize("place", ["target", "dataset"])
def test_a_refusal_repeats_no_address(place):
    hidden = "postgresql://u:hunter2@host/db"
    words = [hidden] if place == "target" else ["mine_for_audits:fair", "--one", hidden]
    result = run(*words, "--epsilon", "1")
    assert result.exit_code == 1
    assert "hunter2" not in result.output + repr(result.exception)
    assert NOT_SHOWN in str(result.exception)
    as_json = run(*words, "--epsilon", "1", "--json")
    assert as_json.exit_code == 1
    assert "hunter2" not in as_json.output
    assert NOT_SHOWN in json.loads(as_json.stdout)["error"]["what"]


@pytest.mark.parametrize("verdict", [Verdict.NOTHING_FOUND, Verdict.VOID])
@pytest.mark.parametrize("words", [[], ["--long"]])
def test_our_own_audits_are_run_by_their_names(monkeypatch, verdict, words):
    found = Finding(subject="ours", layer="", claim="", verdict=verdict, evidence="")
    asked = []
    monkeypatch.setattr(auditing, "run_controls", lambda *, quick: asked.append(quick) or [found])
    result = run("controls", *words)
    assert (result.exit_code, asked) == (3 * (verdict is Verdict.VOID), [not words])
    assert "ours" in result.output


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["no_such_module_here:f"], "No module named"),
        (["mine_for_audits:missing"], "missing"),
        (["control"], "controls or discreet"),
        (["mine_for_audits:fair", "--one", "LOW"], "neither JSON nor MODULE:NAME"),
        (["mine_for_audits:fair", "--one", "[1, 2"], "neither JSON nor MODULE:NAME"),
        (["mine_for_audits:fair", "--save", "a.pdf"], "neither JSON nor HTML"),
        (["mine_for_audits:fair", "--save", "nowhere/a.html"], "no such directory"),
        (["controls"], "a claim of its own"),
    ],
)
def test_an_audit_is_refused_before_anything_runs(words, told):
    result = run(*words, "--epsilon", "1")
    assert result.exit_code == 1
    assert isinstance(result.exception, Refusal)
    assert told in str(result.exception)


def test_a_file_is_taken_for_its_module():
    assert audit.import_value("mine_for_audits.py:LOW") == [0, 0, 0]


def test_a_mechanism_without_a_claim_is_refused():
    assert isinstance(run("mine_for_audits:fair").exception, Refusal)


def test_a_report_for_programs_is_one_document_though_the_mechanism_prints():
    with Path("mine_for_audits.py").open("a") as module:
        module.write("\ndef chatty(data, count):\n    print('hello')\n    return loud(data, count)\n")
    words = ("--one", "0.0", "--other", "1.0", "--many", "--json")
    sys.modules.pop("mine_for_audits", None)
    result = run("mine_for_audits:chatty", "--epsilon", "1", *words)
    assert result.exit_code == 1
    assert json.loads(result.stdout)["findings"][0]["verdict"] == "broken"
    assert "hello" in result.stderr
