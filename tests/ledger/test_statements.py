"""Retries by request key: one charge, one answer; and the places where a row must be there."""

import threading
from fractions import Fraction

import pytest

from discreet.errors import Failure, LedgerError, ParameterError
from discreet.ledger import SQLiteLedger, statements


@pytest.fixture
def visits(ledger, dataset) -> SQLiteLedger:
    ledger.register(dataset())
    return ledger


def test_a_retried_request_is_charged_once_and_answered_alike(visits, charge):
    first = charge(visits, request="r-1")
    assert charge(visits, request="r-1") == first
    visits.answer(first, b"answer")
    assert visits.answer(charge(visits, request="r-1"), b"another draw") == b"answer"
    assert visits.spent("visits").epsilon == 10**11


def test_twelve_identical_requests_at_once_are_one_charge_one_answer_and_twelve_equal_replies(visits, charge):
    gate, replies = threading.Barrier(12), []

    def ask(draw: int) -> None:
        gate.wait()
        replies.append(visits.answer(charge(visits, request="r-1"), b"%d" % draw))

    threads = [threading.Thread(target=ask, args=(draw,)) for draw in range(12)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(replies) == 12
    assert len(set(replies)) == 1
    assert visits.spent("visits").epsilon == 10**11


@pytest.mark.parametrize("change", [{"question": "ff"}, {"epsilon": Fraction(1, 5)}, {"description": "{}"}])
def test_a_request_key_stands_for_one_question(visits, charge, change):
    charge(visits, request="r-1")
    with pytest.raises(ParameterError, match="for another question"):
        charge(visits, request="r-1", **change)
    assert visits.spent("visits").epsilon == 10**11


def test_request_keys_of_different_analysts_are_different(visits, charge):
    charge(visits, request="r-1")
    charge(visits, request="r-1", analyst="bob")
    assert visits.spent("visits").epsilon == 2 * 10**11


def test_the_retry_of_a_failed_request_fails_alike(visits, charge):
    visits.forfeit(charge(visits, request="r-1"), "timeout")
    with pytest.raises(Failure):
        charge(visits, request="r-1")
    assert visits.spent("visits").epsilon == 10**11


def test_a_link_that_does_not_follow_the_head_is_not_written(visits, charge):
    """Two writers cannot extend the same head, even if the file lock failed."""
    with visits._database.snapshot() as connection:
        stale = statements.account(connection, "visits").link("REJECTED", version=1)
    charge(visits)
    with pytest.raises(LedgerError, match="damaged"), visits._database.transaction() as connection:
        statements.append(connection, stale)
    assert visits.verify()
