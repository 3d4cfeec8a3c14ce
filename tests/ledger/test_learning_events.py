"""Events of learning in a ledger: charged at the order of the budget, read back, verified and reported."""

from fractions import Fraction

import pytest

from discreet import Budget, events
from discreet.errors import BudgetError
from discreet.ledger import Dataset, SQLiteLedger

STEPS = events.RepeatedEvent(events.SampledGaussianEvent(0.01, 16 * 2**40, 2**40), 500)
SEARCH = events.RepeatedSelectionEvent(STEPS, 0, Fraction(1, 20))
NOISE = events.DiscreteGaussianEvent(10**4, 1)


def charged(ledger, event, question):
    given = {"version": 1, "analyst": "ann", "event": event, "question": question, "description": "{}"}
    ledger.answer(ledger.charge("visits", **given), b"{}")


@pytest.mark.parametrize("event", [STEPS, SEARCH], ids=["sampled", "selection"])
def test_a_charge_is_counted_at_the_order_and_survives_reopening(tmp_path, event):
    budget = Budget(epsilon=2, delta=1e-7)
    path = tmp_path / "ledger.sqlite"
    facts = Dataset(name="visits", source="visits.csv", unit="one patient_id", facts="{}", budget=budget)
    with SQLiteLedger(path) as ledger:
        ledger.register(facts)
        charged(ledger, event, "5f1d")
    with SQLiteLedger(path) as ledger:
        assert ledger.spent("visits") == budget.cost(event)
        assert ledger.spent("visits").renyi < ledger.spent("visits").rho
        assert "everything agrees" in str(ledger.verify())
        charged(ledger, NOISE, "5f1e")
        assert ledger.spent("visits") == budget.cost(events.ComposedEvent((event, NOISE)))
        total = ledger.report("visits", fixed_in_advance=True).batch
        assert total.figures[0].delta == Fraction(1, 10**6)
        assert 0 < total.figures[0].epsilon < 2


def test_a_fit_beyond_the_budget_is_refused(tmp_path):
    with SQLiteLedger(tmp_path / "ledger.sqlite") as ledger:
        budget = Budget(epsilon=0.1, delta=1e-7)
        ledger.register(Dataset(name="visits", source="visits.csv", unit="one patient_id", facts="{}", budget=budget))
        with pytest.raises(BudgetError):
            charged(ledger, events.RepeatedEvent(STEPS, 100), "5f1d")
