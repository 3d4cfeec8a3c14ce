"""Writes a small ledger with one of everything in it, and a receipt of it.

The golden files of a schema version are made once, when that version is released, and never again:
    python tests/ledger/make_golden.py tests/golden/ledger/v1
"""

import sys
from fractions import Fraction
from pathlib import Path

from discreet import events
from discreet.accounting.filters import Budget
from discreet.errors import BudgetError
from discreet.ledger import Dataset, Receipt, SQLiteLedger

VISITS = {"name": "visits", "unit": "one patient_id", "source": "visits.csv", "facts": '{"columns":{"ward":"text"}}'}
PEOPLE = {"name": "people", "unit": "one row (protects rows, not people)", "source": "memory", "facts": "{}"}


def charge(ledger: SQLiteLedger, event: events.Event, *, question: str = "ab", **changes: object) -> Receipt:
    usual = {"name": "visits", "version": 1, "analyst": "ann", "description": '{"plan":"count"}'}
    return ledger.charge(event=event, question=question, **(usual | changes))


def fill(ledger: SQLiteLedger) -> Receipt:
    """Every kind of event, every state, every notion of cost; returns the receipt of the first charge."""
    budget = Budget(epsilon=2, delta=1e-9, reserved_delta=1e-10)
    ledger.register(Dataset(budget=budget, population=50_000, **VISITS))
    ledger.register(Dataset(budget=Budget(epsilon=1), **PEOPLE))
    ledger.register(Dataset(budget=Budget(epsilon=Fraction(1, 3)), neighbours="replace_one", **PEOPLE))
    first = charge(ledger, events.PureEvent(Fraction(1, 10)), request="r-1")
    ledger.answer(first, b'{"n": 12}')
    ledger.answer(charge(ledger, events.DiscreteGaussianEvent(400, 1), question="cd"), b"")
    ledger.answer(charge(ledger, events.ApproximateEvent(Fraction(1, 10), Fraction(1, 10**11)), question="ef"), b"0")
    ledger.register(Dataset(budget=budget, version=2, **(VISITS | {"source": "visits-2.csv"})))
    ledger.forfeit(charge(ledger, events.ConcentratedEvent(Fraction(1, 1000)), version=2, analyst="bob"), "timeout")
    charge(ledger, events.DiscreteLaplaceEvent(100, 1), analyst="Ann Müller")
    try:
        charge(ledger, events.PureEvent(3))
    except BudgetError:
        raised = Budget(epsilon=12, delta=1e-9, reserved_delta=1e-10, reason="a second study")
        ledger.set_cap("visits", raised, reason="the board's decision")
    charge(ledger, events.PureEvent(Fraction(333, 1000)), name="people")
    return first


if __name__ == "__main__":
    target = Path(sys.argv[1])
    with SQLiteLedger(target.with_suffix(".sqlite")) as golden:
        target.with_suffix(".receipt.json").write_text(fill(golden).to_json() + "\n")
        if not golden.verify():
            raise SystemExit(str(golden.verify()))
