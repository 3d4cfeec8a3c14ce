"""What the chain says of analysts is what the table says of them, whatever happened."""

import json
from fractions import Fraction

import pytest

from discreet.accounting.costs import NOTHING, Cost
from discreet.accounting.filters import Budget
from discreet.errors import Failure
from discreet.ledger.integrity.replay import AnalystTotals, replay_totals, totals_in_row
from discreet.ledger.records.quota import Share

LIMITS = Share(dataset="", analyst="").limits()


def event(sequence: int, kind: str, analyst: str | None = None, cost: Cost = NOTHING, **detail: object) -> dict:
    columns = {f"cost_{name}": value for name, value in vars(cost).items()}
    return {"sequence": sequence, "kind": kind, "analyst": analyst, "detail": json.dumps(detail)} | columns


def limited(sequence: int, analyst: str, limits: dict) -> dict:
    return event(sequence, "LIMITED") | {"detail": json.dumps({"analyst": analyst} | limits)}


def told(*rows: dict) -> dict[str, AnalystTotals]:
    return replay_totals(rows, {row["sequence"] for row in rows})


def test_charges_add_up_and_failures_are_counted_by_whose_charge_it_was():
    rows = (
        event(2, "RESERVED", "ann", Cost(1, 2, 3, 2)),
        event(3, "RESERVED", "bob", Cost(None, 5, 0, 5)),
        event(4, "RESERVED", "ann", Cost(1, 2, 3, 2)),
        event(5, "FORFEITED", "ann"),
        event(6, "RESUMED", "ann"),
        event(7, "ANSWERED", "bob"),
        event(8, "REJECTED", "eve"),
    )
    assert told(*rows) == {
        "ann": AnalystTotals(spent=Cost(2, 4, 6, 4), failures=2),
        "bob": AnalystTotals(spent=Cost(None, 5, 0, 5)),
    }


def test_a_quota_of_everyone_reaches_those_who_come_later_and_those_who_have_none_of_their_own():
    own, general = LIMITS | {"most_failures": 5}, LIMITS | {"most_failures": 9}
    found = told(
        event(2, "RESERVED", "ann", Cost(1, 1, 0, 1)),
        limited(3, "bob", own),
        limited(4, "*", general),
        event(5, "RESERVED", "eve", Cost(2, 2, 0, 2)),
    )
    assert found["ann"] == AnalystTotals(spent=Cost(1, 1, 0, 1), floor=Cost(1, 1, 0, 1), limits=general)
    assert found["bob"] == AnalystTotals(is_own=True, limits=own)
    assert found["eve"] == AnalystTotals(spent=Cost(2, 2, 0, 2), limits=general)
    assert found["*"] == AnalystTotals(limits=general)


def test_a_recovery_says_where_an_analyst_goes_on_from():
    mended = AnalystTotals(spent=Cost(7, 7, 0, 7), floor=Cost(7, 7, 0, 7), failures=3, is_own=True, limits=LIMITS)
    found = told(
        event(2, "RESERVED", "ann", Cost(1, 1, 0, 1)),
        event(3, "RESERVED", "bob", Cost(1, 1, 0, 1)),
        event(4, "RECOVERED", shares={"ann": mended.recovery_detail()}),
        event(5, "RESERVED", "ann", Cost(1, 1, 0, 1)),
    )
    assert found["ann"].spent == Cost(8, 8, 0, 8)
    assert (found["ann"].floor, found["ann"].failures, found["ann"].is_own) == (Cost(7, 7, 0, 7), 3, True)
    assert found["bob"].spent == Cost(1, 1, 0, 1)


def test_the_words_of_an_event_that_was_changed_are_not_believed():
    rows = [event(2, "RESERVED", "ann", Cost(1, 1, 0, 1)), event(3, "LIMITED") | {"detail": "nonsense"}]
    assert replay_totals(rows, {2}) == {"ann": AnalystTotals(spent=Cost(1, 1, 0, 1))}


def test_a_row_is_read_as_it_is_written():
    own = AnalystTotals(spent=Cost(None, 2, 3, 2), floor=Cost(0, 1, 2, 1), failures=4, is_own=True, limits=LIMITS)
    assert totals_in_row(own.row("visits", "ann")) == own
    with pytest.raises(KeyError):
        totals_in_row(own.row("visits", "ann") | {"is_own": 2})


def test_the_table_says_what_the_chain_says(visits, charge):
    """`verify` compares the two; here everything that moves either happens once."""
    small = Budget(epsilon=Fraction(1, 2))
    visits.set_quota("visits", "ann", small, failures=3, reason="test")
    charge(visits)
    visits.forfeit(charge(visits, analyst="bob"), "timeout")
    visits.set_quota("visits", quota=small, reason="test")
    charge(visits, analyst="eve")
    visits.set_quota("visits", "ann", None, reason="test")
    with pytest.raises(Failure):
        visits.answer(_forfeited(visits, charge), b"late")
    visits.set_quota("visits", quota=None, failures=7, reason="test")
    assert visits.verify(), str(visits.verify())


def _forfeited(ledger, charge):
    receipt = charge(ledger)
    ledger.forfeit(receipt, "timeout")
    return receipt
