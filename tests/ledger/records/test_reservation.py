"""Whose turn it is: made from a receipt, or given by a charge."""

from dataclasses import FrozenInstanceError

import pytest

from discreet.ledger import SQLiteLedger, Turn
from discreet.ledger.records.reservation import turn_of


@pytest.fixture
def receipt(dataset, charge):
    with SQLiteLedger(":memory:") as ledger:
        ledger.register(dataset())
        return charge(ledger)


def test_a_receipt_alone_stands_for_the_first_attempt(receipt):
    assert turn_of(receipt) == Turn(receipts=(receipt,), attempt=1, payload=None)


def test_a_turn_stands_for_itself(receipt):
    turn = Turn(receipts=(receipt,), attempt=3)
    assert turn_of(turn) is turn


def test_the_receipt_of_a_turn_is_that_of_its_first_dataset(receipt):
    assert Turn(receipts=(receipt, None)).receipt is receipt


def test_an_empty_answer_is_an_answer(receipt):
    assert Turn(receipts=(receipt,), payload=b"").payload is not None


def test_a_turn_cannot_be_made_another_one(receipt):
    with pytest.raises(FrozenInstanceError):
        Turn(receipts=(receipt,)).attempt = 2
