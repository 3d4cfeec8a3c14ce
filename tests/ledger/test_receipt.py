import json
from dataclasses import fields, replace

import pytest

from discreet.accounting.filters import Cost
from discreet.errors import LedgerError
from discreet.ledger import Receipt


@pytest.fixture
def receipt(ledger, dataset, charge) -> Receipt:
    ledger.register(dataset())
    return charge(ledger, request="first")


def test_a_receipt_verifies_without_its_ledger(receipt):
    assert Receipt.from_json(receipt.to_json()).verify()


@pytest.mark.parametrize("name", [f.name for f in fields(Receipt) if f.name != "cost"])
def test_a_receipt_with_any_field_changed_does_not_verify(receipt, name):
    value = getattr(receipt, name)
    other = value + 1 if isinstance(value, int) else f"{value}x"
    assert not replace(receipt, **{name: other}).verify()


def test_a_receipt_with_another_cost_does_not_verify(receipt):
    assert not replace(receipt, cost=Cost(None, receipt.cost.rho, receipt.cost.delta)).verify()


def test_the_short_id_is_the_beginning_of_the_hash(receipt):
    assert len(receipt.id) == 12
    assert receipt.hash.startswith(receipt.id)


def test_a_receipt_names_its_format_and_writes_costs_as_text(receipt):
    data = json.loads(receipt.to_json())
    assert data["format"] == "discreet.receipt/1"
    assert data["cost"] == {"epsilon": "100000000000", "rho": "5000000000000", "delta": "0"}


def test_a_receipt_holds_a_digest_of_the_plan_and_not_the_plan(ledger, dataset, charge):
    ledger.register(dataset())
    assert "alice" not in charge(ledger, description='{"where": "name = alice"}').to_json()


@pytest.mark.parametrize(
    "change",
    [
        {"format": "discreet.receipt/2"},
        {"sequence": "2"},
        {"sequence": True},
        {"analyst": None},
        {"extra": 1},
        {"cost": {"epsilon": 1, "rho": "1", "delta": "0"}},
        {"cost": {"epsilon": "1", "rho": "1", "delta": "0", "more": "1"}},
        {"cost": {"rho": "1", "delta": "0"}},
        {"cost": "1"},
    ],
)
def test_text_that_is_not_a_receipt_is_refused(receipt, change):
    text = json.dumps(json.loads(receipt.to_json()) | change)
    with pytest.raises(LedgerError, match="not a receipt"):
        Receipt.from_json(text)


@pytest.mark.parametrize("text", ["", "[]", "null", "{}", "7", "not json"])
def test_text_of_another_kind_is_refused(text):
    with pytest.raises(LedgerError, match="not a receipt"):
        Receipt.from_json(text)
