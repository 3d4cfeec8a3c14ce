"""Whose turn it is: made from a receipt, or given by a charge."""

from dataclasses import FrozenInstanceError

import pytest

from discreet.ledger import Reservation, SQLiteLedger
from discreet.ledger.records.reservation import reservation_of


@pytest.fixture
def receipt(dataset, charge):
    with SQLiteLedger(":memory:") as ledger:
        ledger.register(dataset())
        return charge(ledger)


def test_a_receipt_alone_stands_for_the_first_attempt(receipt):
    assert reservation_of(receipt) == Reservation(receipts=(receipt,), attempt=1, payload=None)


def test_a_turn_stands_for_itself(receipt):
    turn = Reservation(receipts=(receipt,), attempt=3)
    assert reservation_of(turn) is turn


def test_the_receipt_of_a_turn_is_that_of_its_first_dataset(receipt):
    assert Reservation(receipts=(receipt, None)).receipt is receipt


def test_an_empty_answer_is_an_answer(receipt):
    assert Reservation(receipts=(receipt,), payload=b"").payload is not None


def test_a_turn_cannot_be_made_another_one(receipt):
    with pytest.raises(FrozenInstanceError):
        Reservation(receipts=(receipt,)).attempt = 2
