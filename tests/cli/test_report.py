"""`discreet report`: from saved releases to three files, or to JSON on standard output."""

import json
import subprocess
import sys

import pytest
from typer.testing import CliRunner

import discreet as dp
from discreet.cli import app

FACTS = {"name": "visits", "privacy_unit": "patient_id", "max_rows": 10, "budget": dp.Budget(epsilon=4)}


@pytest.fixture
def place(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    visits = dp.table("visits")
    with dp.protect(dp.datasets.visits(200), **FACTS, ledger=dp.SQLiteLedger(":memory:")) as session:
        session.release(visits.agg(n=dp.count()), epsilon=0.5).save(tmp_path / "n.csv")
        session.release(visits.agg(u=dp.count_units()), epsilon=0.25).save(tmp_path / "u.json")
    (tmp_path / "about.yaml").write_text("curator: Example hospital\nunit_name: patient\n", encoding="utf-8")
    return tmp_path


def run(*words):
    return CliRunner().invoke(app, ["report", *words])


def test_a_report_is_written_beside_its_data_and_registry(place):
    result = run("n.csv", "u.json", "--about", "about.yaml")
    assert result.exit_code == 0, result.output
    assert "epsilon 0.75, delta 0, for one patient_id, added or removed, over all 2 charges" in result.stdout
    assert "saved report.html" in result.stderr
    assert "not stated: deployment, purpose, justification, contact (--about)" in result.stderr
    page = (place / "report.html").read_text(encoding="utf-8")
    assert "one patient " in page
    assert json.loads((place / "report.json").read_text(encoding="utf-8"))["guarantees"][0]["epsilon"] == "3/4"
    assert "curator: Example hospital" in (place / "report.registry.yaml").read_text(encoding="utf-8")


def test_json_is_printed_and_files_are_written_only_on_request(place):
    result = run("n.csv", "--json")
    assert json.loads(result.stdout)["schema"] == "discreet.release-report/1"
    assert not (place / "report.html").exists()
    assert run("n.csv", "--json", "--out", "x.html").exit_code == 0
    assert (place / "x.html").exists()


def test_json_is_one_document_also_where_the_place_is_refused(place):
    words = [sys.executable, "-m", "discreet", "report", "n.csv", "--json", "--out", "nowhere/x.html"]
    result = subprocess.run(words, capture_output=True, text=True, check=False)
    assert result.returncode == 1
    assert json.loads(result.stdout)["error"]["type"] == "ParameterError"


def test_refusals_end_with_one(place):
    for words in (["missing.json"], ["n.csv", "--about", "missing.yaml"], ["n.csv", "--out", "n.pdf"]):
        result = run(*words)
        assert result.exit_code == 1
        assert isinstance(result.exception, dp.Refusal)


def test_no_files_print_the_help(place):
    assert "Usage" in run().output
