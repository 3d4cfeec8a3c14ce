import json

import pytest

from discreet import events
from discreet.accounting.filters import NOTHING
from discreet.errors import BudgetError
from discreet.ledger import Kind, SQLiteLedger, State


@pytest.fixture
def visits(ledger, dataset) -> SQLiteLedger:
    ledger.register(dataset())
    return ledger


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
