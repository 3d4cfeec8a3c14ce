import json
import time
from fractions import Fraction

import pytest

from discreet import events
from discreet.accounting.costs import NOTHING
from discreet.accounting.filters import Budget
from discreet.errors import BudgetError
from discreet.ledger import Kind, State
from discreet.ledger.records.description import describe

HALT = {"id": "1", "dataset": "visits", "time": "", "finding": "a test", "cleared": None}


def test_the_history_shows_each_charge_with_its_state_in_order(visits, charge):
    visits.answer(charge(visits), b"answer")
    visits.forfeit(charge(visits, analyst="bob"), "timeout")
    charge(visits)
    entries = visits.history("visits")
    assert [e.kind for e in entries] == [Kind.REGISTERED, Kind.RESERVED, Kind.RESERVED, Kind.RESERVED]
    assert [e.state for e in entries] == [None, State.ANSWERED, State.FORFEITED, State.RESERVED]
    assert [e.analyst for e in entries] == [None, "ann", "bob", "ann"]
    assert all(e.time.endswith("+00:00") for e in entries)


def test_an_entry_holds_the_event_for_any_accountant_to_price_again(visits, charge):
    receipt = charge(visits, version=1)
    entry = visits.history("visits")[-1]
    assert events.from_json(json.loads(entry.event)) == events.from_json(json.loads(receipt.event))
    assert (entry.cost, entry.version, entry.question) == (receipt.cost, 1, receipt.question)


def test_the_costs_in_the_history_sum_to_what_is_spent(visits, charge):
    for _ in range(3):
        charge(visits)
    with pytest.raises(BudgetError):
        charge(visits, epsilon=5)
    assert sum((entry.cost for entry in visits.history("visits")), NOTHING) == visits.spent("visits")


def test_the_history_tells_what_an_owner_did_and_not_what_became_of_each_charge(visits, charge, dataset):
    visits.register(dataset(version=2))
    visits.answer(charge(visits), b"answer")
    visits.set_quota("visits", "ann", failures=3, reason="a test")
    visits.rename("visits", "stays", reason="a test")
    entries = visits.history("stays")
    kinds = [Kind.REGISTERED, Kind.VERSIONED, Kind.RESERVED, Kind.LIMITED, Kind.RENAMED]
    assert [entry.kind for entry in entries] == kinds
    assert [entry.sequence for entry in entries] == [1, 2, 3, 5, 6]


def test_a_charge_that_was_taken_over_is_one_entry(another, dataset, turn):
    ledger = another(lease=0.1)
    ledger.register(dataset())
    turn(ledger)
    time.sleep(0.2)
    ledger.answer(turn(ledger), b"answer")
    assert [(e.kind, e.state) for e in ledger.history("visits")[1:]] == [(Kind.RESERVED, State.ANSWERED)]


def test_an_entry_is_one_line_that_a_person_can_read(visits, charge):
    visits.answer(charge(visits), b"answer")
    registered, charged = map(str, visits.history("visits"))
    assert "registered" in registered
    assert charged.startswith("2  ")
    assert charged.endswith("reserved, answered by 'ann': epsilon 0.1")


def test_a_query_in_words_cannot_forge_a_line_of_the_history(visits, charge):
    """Names and words are the analyst's; the owner reads the history."""
    words = (("score", "w\n99  2026-11-17  reserved, answered by 'mallory'\x1b[31m"),)
    charge(visits, description=describe((words,), "{}"))
    shown = str(visits.history("visits")[-1])
    assert len(shown.splitlines()) == 2
    assert "\x1b" not in shown


def test_an_act_of_the_owner_is_shown_with_what_it_changed_and_its_reason(visits, charge, put_back):
    visits.set_cap("visits", Budget(epsilon=2), reason="decided by the board")
    visits.set_quota("visits", "ann", Budget(epsilon=Fraction(1, 2)), failures=3, reason="a trial")
    visits.set_quota("visits", failures=7, reason="for all")
    visits.rename("visits", "stays", reason="as the register has it")
    charge(visits)
    visits._run(lambda writer: writer.insert("halts", HALT))
    visits.recover(reason="looked at by hand")
    shown = "\n".join(map(str, visits.history("visits")))
    for words in (
        "   privacy budget: epsilon 1 before, epsilon 2 now\n   reason: decided by the board\n",
        "   quota of 'ann': epsilon 0.5; at most 3 failures\n   reason: a trial\n",
        "   quota of everyone without a quota of their own: none; at most 7 failures\n   reason: for all\n",
        "   also named 'stays'\n   reason: as the register has it\n",
        "   privacy budget: epsilon 2 before, epsilon 2 now\n   reason: looked at by hand",
    ):
        assert words in shown


def test_a_record_that_was_changed_is_shown_without_words(visits, tamper):
    visits.set_cap("visits", Budget(epsilon=2), reason="decided by the board")
    for detail in ("{}", "no document", '{"reason": "x", "old": 1, "new": {}}', '{"alias": 1}'):
        tamper("UPDATE events SET detail = :detail WHERE kind = 'CAPPED'", detail=detail)
        assert len(str(visits.history("visits")[-1]).splitlines()) == 1


def test_no_line_of_the_history_is_longer_than_a_terminal_and_none_of_its_words_begins_one(visits, charge):
    words = (("score", "99  2026-11-17  reserved " * 20),)
    charge(visits, description=describe((words,), "{}"))
    _, *more = str(visits.history("visits")[-1]).splitlines()
    assert more
    assert all(line.startswith("   ") and len(line) <= 80 for line in more)
