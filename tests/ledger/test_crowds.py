"""Many spenders at once, in real threads and real processes: never over the cap, never under-counted."""

import subprocess
import sys
import threading
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import pytest

from campaigns import spent_together
from discreet.accounting.filters import Budget
from discreet.errors import BudgetError
from discreet.ledger import Kind, State
from histories import Charge, Request, wrong_with_requests, wrong_with_spending

UNIT = Fraction(1, 10**12)
TENTH = 10**11
PROGRAM = Path(__file__).with_name("faulty_world.py")


@pytest.mark.pitfall("B5")
@pytest.mark.pitfall("D")
@pytest.mark.guarantee("ledger")
@pytest.mark.parametrize("cap", [200, pytest.param(2_000, marks=pytest.mark.nightly)])
def test_forty_spenders_in_eight_processes_spend_exactly_the_cap(address, another, cap):
    """Each spends one unit at a time until it is refused; the receipts alone tell totals and order."""
    tries = spent_together(address, processes=8, threads=5, epsilon=UNIT, cap=cap * UNIT)
    receipts = [each.receipt for each in tries if each.receipt]
    assert len(tries) == cap + 40
    assert wrong_with_spending(tries, cap=cap) == []
    ledger = another()
    assert ledger.spent("visits").epsilon == cap
    charges = [entry for entry in ledger.history("visits") if entry.kind == Kind.RESERVED]
    assert sum(entry.cost.epsilon for entry in charges) == cap == sum(receipt.cost.epsilon for receipt in receipts)
    verified = ledger.verify(receipts=receipts)
    assert verified, str(verified)


@pytest.mark.pitfall("B5")
def test_eight_threads_on_one_ledger_spend_exactly_the_cap(ledger, dataset, charge):
    ledger.register(dataset(budget=Budget(epsilon=50 * UNIT)))
    gate, accepted = threading.Barrier(8), []

    def spend() -> None:
        gate.wait()
        for _ in range(10):
            try:
                receipt = charge(ledger, epsilon=UNIT)
                accepted.append(ledger.answer(receipt, receipt.hash.encode()) == receipt.hash.encode())
            except BudgetError:
                pass

    threads = [threading.Thread(target=spend) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert accepted == [True] * 50
    assert ledger.spent("visits").epsilon == 50
    assert ledger.verify()


@pytest.mark.pitfall("D")
@pytest.mark.guarantee("ledger")
@pytest.mark.parametrize("key", [(), ("r-1",)], ids=["the same question", "the same request"])
def test_twelve_identical_requests_from_twelve_processes_are_one_charge_one_answer_and_twelve_equal_replies(
    address, visits, key
):
    """Everybody who gets a turn draws another answer."""
    command = [sys.executable, str(PROGRAM), "identical", address, "12", *key]
    told = subprocess.run(command, capture_output=True, text=True, check=True, timeout=120).stdout.split()
    assert told[-1] == "12"
    assert len(told) == 13
    assert set(told[:-1]) == {visits.stored_answer("visits", "ab").decode()}
    assert visits.spent("visits").epsilon == TENTH
    assert [entry.state for entry in visits.history("visits")] == [None, State.ANSWERED]
    assert visits.verify()


# The checker itself notices what it is there for


@pytest.fixture
def spent(ledger, dataset, charge) -> list[Charge]:
    """Five charges to a cap of five, and a refusal, one after the other."""
    ledger.register(dataset(budget=Budget(epsilon=5 * UNIT)))
    tries = [Charge(10 * i, 10 * i + 5, charge(ledger, epsilon=UNIT)) for i in range(5)]
    return [*tries, Charge(50, 55, None)]


def test_the_checker_has_nothing_against_what_is_right(spent):
    assert wrong_with_spending(spent, cap=5) == []


@pytest.mark.parametrize(
    ("harm", "finding"),
    [
        (lambda tries: tries[:2] + tries[3:], "event 5 does not follow event 3"),
        (lambda tries: [*tries, replace(tries[4], begun=60, ended=65)], "event 6 does not follow event 6"),
        (lambda tries: tries[1:], "4 units were acknowledged of a cap of 5"),
        (lambda tries: [*tries[:4], replace(tries[4], begun=0, ended=3), tries[5]], "event 6 ended before"),
        (lambda tries: [*tries[:5], Charge(1, 2, None)], "1 charges were refused while there was room"),
        (
            lambda tries: [replace(tries[0], receipt=replace(tries[0].receipt, analyst="bob")), *tries[1:]],
            "the receipt of event 2 does not verify",
        ),
    ],
    ids=["a lost charge", "a charge counted twice", "a charge too few", "another order", "room", "a forged receipt"],
)
def test_the_checker_finds_what_is_wrong_with_spending(spent, harm, finding):
    assert any(wrong.startswith(finding) for wrong in wrong_with_spending(harm(spent), cap=5))


def test_the_checker_finds_what_is_wrong_with_requests(visits, turn):
    asked = turn(visits, question="ab", request="r-1")
    seen = Request("r-1", "ab", asked.receipts, ("answer",))
    assert wrong_with_requests(visits, [seen]) != []
    visits.answer(asked, b"answer")
    assert wrong_with_requests(visits, [seen]) == []
    for wrong in (replace(seen, replies=("another",)), replace(seen, receipts=()), replace(seen, question="cd")):
        assert wrong_with_requests(visits, [wrong]) != []
    turn(visits, question="ef")
    assert wrong_with_requests(visits, [seen]) != []
