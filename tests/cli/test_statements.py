"""The commands on SQL statements: check, plan, epsilon and run, from a catalog and a file to a table."""

import json

import pytest
from pyarrow import csv
from typer.testing import CliRunner

import discreet as dp
from discreet.cli import app
from discreet.errors import Refusal

CATALOG = """
tables:
  visits:
    source: visits.csv
    privacy_unit: patient_id
    max_rows: 10
    budget: {epsilon: 2}
    columns:
      visit_id: {type: integer}
      patient_id: {type: integer}
      ward: {type: text, keys: [cardiology, emergency, surgery]}
      age: {type: integer, bounds: [0, 110]}
      cost: {type: real, bounds: [0, 5000]}
      day: {type: date}
      urgent: {type: boolean}
"""
BY_WARD = "SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward"


@pytest.fixture
def place(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("DISCREET_HOME", str(tmp_path / "home"))
    csv.write_csv(dp.datasets.visits(300), tmp_path / "visits.csv")
    (tmp_path / "catalog.yaml").write_text(CATALOG)
    (tmp_path / "q.sql").write_text(BY_WARD)
    return tmp_path


def run(*words, text=None):
    return CliRunner().invoke(app, [*map(str, words)], input=text)


def test_a_catalog_is_checked_and_what_is_left_is_printed(place):
    result = run("check")
    assert result.exit_code == 0
    assert "epsilon 2 left of epsilon 2" in result.stdout
    assert json.loads(run("check", "--json").stdout)["visits"]["epsilon"] == 2


def test_a_plan_costs_nothing_and_is_printed_as_text_or_json(place):
    assert "costs     epsilon 0.5" in run("plan", "q.sql", "--epsilon", "0.5").stdout
    data = json.loads(run("plan", "q.sql", "--epsilon", "0.5", "--json").stdout)
    assert data["cost"] == "epsilon 0.5"
    assert data["fits"] is True
    assert data["queries"][0]["outputs"][0]["name"] == "n"
    assert "epsilon 2 left" in run("check").stdout


def test_a_statement_from_standard_input_is_charged_once_and_saved(place):
    first = run("run", "-", "--epsilon", "0.5", "--out", "table.csv", text=BY_WARD)
    assert first.exit_code == 0
    assert "saved table.csv" in first.stderr
    assert (place / "table.csv").read_text().startswith("ward,n,n_low,n_high\n")
    assert json.loads((place / "table.csv.json").read_text())["statement"] == BY_WARD
    run("run", "q.sql", "--epsilon", "0.5")
    assert "epsilon 1.5 left" in run("check").stdout


def test_an_epsilon_for_a_margin_is_one_number(place):
    assert 0.2 < float(run("epsilon", "q.sql", "--margin", "100").stdout) < 1
    assert json.loads(run("epsilon", "q.sql", "--margin", "100", "--json").stdout)["epsilon"] < 1


@pytest.mark.parametrize(
    "words", [("run", "none.sql", "--epsilon", "1"), ("plan", "q.sql", "--epsilon", "1", "--catalog", "none.yaml")]
)
def test_a_file_that_is_not_there_is_refused(place, words):
    assert isinstance(run(*words).exception, Refusal)


def test_an_epsilon_that_is_not_a_number_is_a_wrong_call(place):
    assert run("run", "q.sql", "--epsilon", "much").exit_code == 2


def test_a_refused_statement_is_not_charged(place):
    assert isinstance(run("run", "-", "--epsilon", "1", text="SELECT MAX(age) FROM visits").exception, Refusal)
    assert "epsilon 2 left" in run("check").stdout
