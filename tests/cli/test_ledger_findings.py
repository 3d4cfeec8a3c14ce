"""A verification is printed for people or for programs, and ends with 1 where it found something."""

import json
from fractions import Fraction

import pytest
import typer

from discreet.accounting.costs import NOTHING
from discreet.accounting.filters import Budget
from discreet.cli import exit_codes
from discreet.cli.ledger_findings import (
    conclude,
    health_of,
    next_lines,
    recovery_document,
    recovery_lines,
    schema_lines,
    waiting,
)
from discreet.errors import LedgerError
from discreet.events import PureEvent
from discreet.ledger import IntegrityFinding, LedgerHealth, SQLiteLedger, Verification
from discreet.ledger.records import faults
from discreet.ledger.reporting.health import DatasetHealth

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


def test_after_a_finding_comes_the_command_that_recovers_on_a_line_of_its_own():
    lines = next_lines(HARMED)
    assert lines[-1].strip() == "discreet ledger recover --ledger LEDGER --reason TEXT"
    assert "the steward's or the owner's address" in " ".join(each.strip() for each in lines)
    assert next_lines(SOUND) == []
    others = Verification(datasets=1, events=3, findings=(IntegrityFinding("a forged receipt", is_ours=False),))
    assert next_lines(others) == []  # it stops nothing, so there is nothing to recover


def test_findings_of_the_schema_say_who_mends_it_before_the_recovery():
    sentences = ["a role may do more with 'datasets' than discreet grants", "the trigger 'x' is not one of discreet"]
    found = Verification(datasets=1, events=3, findings=tuple(map(IntegrityFinding, sentences)))
    lines = [line.strip() for line in next_lines(found)]
    assert "discreet ledger create ADDRESS --role NAME --steward NAME" in lines
    assert "no recovery mends a schema" in " ".join(lines)
    assert lines[-1] == "discreet ledger recover --ledger LEDGER --reason TEXT"
    assert schema_lines(HARMED) == schema_lines(SOUND) == []
    damaged = Verification(datasets=0, events=0, findings=(IntegrityFinding(faults.DAMAGED),))
    assert schema_lines(damaged) == []  # its own sentence says what to do


def test_a_sign_of_life_is_written_on_standard_error_alone(capsys):
    with waiting("verifying ..."):
        pass
    assert capsys.readouterr().out == ""


def health(*spent: tuple[str, Fraction, int]) -> LedgerHealth:
    """A ledger of datasets with a budget of 1: the name of each, what is spent, and the number of its events."""
    budget = Budget(epsilon=1)
    each = {"budget": budget, "anchors": {}}
    datasets = tuple(
        DatasetHealth(
            dataset=name, spent=budget.cost(PureEvent(epsilon)) if epsilon else NOTHING, events=events, **each
        )
        for name, epsilon, events in spent
    )
    return LedgerHealth(store="SQLite", time="", problems=(), datasets=datasets)


def test_what_a_recovery_added_is_told_of_each_dataset_that_it_recovered():
    tenth, half, nine = Fraction(1, 10), Fraction(1, 2), Fraction(9, 10)
    before = health(("visits", Fraction(2, 5), 3), ("stays", tenth, 2), ("beds", half, 5))
    after = health(("visits", nine, 9), ("stays", tenth, 3), ("beds", half, 5))
    assert recovery_lines(before, after) == [
        "'visits': epsilon 0.5 was added, 0.9 is spent",
        "'stays': nothing was added, 0.1 is spent",
    ]
    document = recovery_document(before, after)
    assert [each["dataset"] for each in document] == ["visits", "stays"]
    assert (document[0]["added"]["exact"], document[0]["spent"]["exact"]) == ("1/2", "9/10")
    assert recovery_lines(after, after) == ["nothing to recover in any dataset"]
    assert recovery_lines(LedgerHealth.unreachable("SQLite", LedgerError("damaged")), after) == []
    assert recovery_document(after, after) == []


def test_rows_that_cannot_be_read_do_not_stop_a_recovery(monkeypatch):
    def unreadable(_):
        raise ValueError("a row")

    with SQLiteLedger(":memory:") as ledger:
        assert health_of(ledger)
        monkeypatch.setattr(SQLiteLedger, "health", unreadable)
        assert health_of(ledger).error is not None
