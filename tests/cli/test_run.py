"""`discreet run`: charge for a statement, answer it and save the table."""

import json
import os
import subprocess
import sys

import pexpect
import pytest
from pyarrow import csv

import discreet as dp
from discreet.errors import Refusal

BY_WARD = "SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward"
AT_ONCE = """
import rich.progress
from discreet import cli
from discreet.engines import progress
progress.DELAY = 0
cli.main()
"""


def test_a_statement_from_standard_input_is_charged_once_and_saved(discreet, visits_directory):
    first = discreet("run", "-", "--epsilon", "0.5", "--out", "table.csv", text=BY_WARD)
    assert first.exit_code == 0
    assert "saved table.csv" in first.stderr
    assert (visits_directory / "table.csv").read_text().startswith("ward,n,n_low,n_high\n")
    assert json.loads((visits_directory / "table.csv.json").read_text())["statement"] == BY_WARD
    discreet("run", "q.sql", "--epsilon", "0.5")
    assert "epsilon 1.5 left" in discreet("check").stdout


def test_a_refused_statement_is_not_charged(discreet):
    assert isinstance(discreet("run", "-", "--epsilon", "1", text="SELECT MAX(age) FROM visits").exception, Refusal)
    assert "epsilon 2 left" in discreet("check").stdout


def test_a_place_that_cannot_be_written_is_refused_before_the_charge(discreet):
    for out in ("table.xlsx", "nowhere/table.json"):
        assert isinstance(discreet("run", "q.sql", "--epsilon", "0.5", "--out", out).exception, Refusal)
    assert "epsilon 2 left" in discreet("check").stdout


def test_the_answer_for_programs_is_the_saved_document(discreet, visits_directory):
    result = discreet("run", "q.sql", "--epsilon", "0.5", "--out", "table.json", "--json")
    assert json.loads(result.stdout) == json.loads((visits_directory / "table.json").read_text())


@pytest.mark.full
def test_a_terminal_shows_a_bar_and_a_pipe_one_line(discreet, visits_directory):
    """The delay is zero here, and what draws is imported already: a run on a small file shows its bar, too."""
    csv.write_csv(dp.datasets.visits(20_000), visits_directory / "visits.csv")
    words = ["-c", AT_ONCE, "run", "q.sql", "--epsilon"]
    place = str(visits_directory)
    child = pexpect.spawn(
        sys.executable, [*words, "0.5"], cwd=place, env=os.environ | {"TERM": "xterm"}, encoding="utf-8", timeout=120
    )
    child.expect("answering .*0:00:0[0-9]")
    child.expect("receipt")
    child.expect(pexpect.EOF)
    pipe = subprocess.run(
        [sys.executable, *words, "0.6"], cwd=place, capture_output=True, text=True, check=True, env=os.environ
    )
    assert pipe.stderr.splitlines() == [
        f"discreet: the budget is kept in {visits_directory / 'home' / 'ledger.sqlite'}"
    ]
