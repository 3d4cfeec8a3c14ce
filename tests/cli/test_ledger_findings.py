"""A verification is printed for people or for programs, and ends with 1 where it found something."""

import json

import pytest
import typer

from discreet.cli import exit_codes
from discreet.cli.ledger_findings import conclude, waiting
from discreet.ledger import IntegrityFinding, Verification

SOUND = Verification(datasets=1, events=3, findings=())
HARMED = Verification(datasets=1, events=3, findings=(IntegrityFinding("it was changed", "visits", 2),))


def test_where_everything_agrees_it_ends_as_usual(capsys):
    conclude(SOUND, as_json=False, has_anchors=True)
    assert capsys.readouterr().out == "1 dataset, 3 events: everything agrees\n"


def test_a_finding_is_told_and_ends_with_1(capsys):
    with pytest.raises(typer.Exit) as ended:
        conclude(HARMED, as_json=True, has_anchors=False)
    assert ended.value.exit_code == exit_codes.PROBLEM
    told = json.loads(capsys.readouterr().out)
    assert (told["agrees"], told["anchors"]) == (False, False)
    assert told["findings"] == [{"what": "it was changed", "dataset": "visits", "event": 2}]


def test_a_sign_of_life_is_written_on_standard_error_alone(capsys):
    with waiting("verifying ..."):
        pass
    assert capsys.readouterr().out == ""
