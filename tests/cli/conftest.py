"""A directory with a catalog, a file of visits and a statement, for the commands on statements."""

import pytest
from pyarrow import csv
from typer.testing import CliRunner

import discreet as dp
from discreet.cli import app

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
def visits_directory(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("DISCREET_HOME", str(tmp_path / "home"))
    csv.write_csv(dp.datasets.visits(300), tmp_path / "visits.csv")
    (tmp_path / "catalog.yaml").write_text(CATALOG)
    (tmp_path / "q.sql").write_text(BY_WARD)
    return tmp_path


@pytest.fixture
def discreet(visits_directory):
    """The command `discreet` in that directory."""

    def invoke(*words, text=None):
        return CliRunner().invoke(app, [*map(str, words)], input=text)

    return invoke
