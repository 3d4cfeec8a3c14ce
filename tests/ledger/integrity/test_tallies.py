"""What tallies keep is plain data, from which they go on as if they had never stopped.

What each of them finds is in test_verification.py and test_checkpoints.py, where every kind of damage is tried.
"""

import json

import pytest

from discreet.accounting.filters import Budget
from discreet.ledger.integrity.dataset_check import _TALLIES
from discreet.ledger.integrity.evidence import is_intact
from discreet.ledger.integrity.recovery import evidence
from discreet.ledger.integrity.tallies import PromiseTally, latest_declaration


@pytest.fixture
def held(visits, dataset, charge):
    """Rows of a dataset with every kind of declaration."""
    visits.register(dataset(budget=Budget(epsilon=2)))
    visits.register(dataset(version=2, source="visits-2.csv", budget=Budget(epsilon=2)))
    visits.rename("visits", "stays", reason="a test")
    visits.set_quota("visits", "bob", failures=3, reason="a test")
    charge(visits, epsilon=0.1)
    visits.set_cap("visits", Budget(epsilon=3, delta=1e-9), reason="a test")
    charge(visits, epsilon=0.1, analyst="bob")
    return visits._look(lambda writer: list(evidence(writer, "visits")))[0]


@pytest.mark.parametrize("name", _TALLIES)
def test_a_tally_that_is_written_and_read_after_any_event_ends_as_one_that_was_not(held, name):
    tables = held.read(0, frozenset()).ending.tables
    whole = _TALLIES[name]()
    for row in held.events:
        whole.add(row, is_intact=is_intact(row))
    assert list(whole.findings("visits", tables)) == []
    for place in range(len(held.events)):
        tally = _TALLIES[name]()
        for number, row in enumerate(held.events):
            if number == place:
                tally = _TALLIES[name].from_data(json.loads(json.dumps(tally.to_data())))
            tally.add(row, is_intact=is_intact(row))
        assert tally.to_data() == whole.to_data()
        assert list(tally.findings("visits", tables)) == []


def test_the_words_of_a_changed_event_are_not_believed(held):
    promise = PromiseTally()
    for row in held.events:
        promise.add(row, is_intact=row["kind"] != "CAPPED")
    assert promise.declaration()["budget"]["epsilon"] == "2/1"
    assert PromiseTally().declaration() == {}


def test_a_change_declares_what_is_new():
    assert latest_declaration('{"old":{"a":1},"new":{"a":2}}') == {"a": 2}
    assert latest_declaration('{"a":1}') == {"a": 1}
