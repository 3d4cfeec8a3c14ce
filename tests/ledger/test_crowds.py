"""Many spenders at once, in real threads and real processes: never over the cap, never under-counted."""

import subprocess
import sys
import threading
from contextlib import ExitStack
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import pytest

from campaigns import CLIENTS, crowd_on_homes, shares_of_kills, spent_together, wrong_with_crowd
from crowd_histories import (
    Event,
    Try,
    events_of,
    wrong_with_a_crowd,
    wrong_with_acknowledgements,
    wrong_with_anchors,
    wrong_with_faults,
    wrong_with_the_end,
)
from discreet.accounting.costs import Cost
from discreet.accounting.filters import Budget
from discreet.errors import BudgetError
from discreet.ledger import Anchor, Kind, State
from discreet.ledger.records import faults
from histories import Charge, Request, wrong_with_requests, wrong_with_spending
from homes import Homes, homes_with_anchor_server
from poolers import ABSENT, Pooler, has_pgbouncer
from servers import PostgresServer
from tampering import Place, new_database, roll_back, tampering

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


# Crowds on several homes


@pytest.fixture
def crowd_place(durable_postgres: PostgresServer) -> Place:
    """A database for one ledger, in a server that is killed."""
    return new_database(durable_postgres, "crowd")


@pytest.mark.full
@pytest.mark.pitfall("B18")
@pytest.mark.pitfall("D")
@pytest.mark.guarantee("ledger")
@pytest.mark.parametrize(
    ("kills", "sessions"),
    [
        pytest.param(10, None, id="10 kills"),
        pytest.param(10, 16, id="10 kills, fewer pooled sessions than processes"),
        pytest.param(60, None, id="60 kills", marks=pytest.mark.nightly),
        pytest.param(60, 40, id="60 kills, a pooled session for each", marks=pytest.mark.nightly),
        pytest.param(60, 16, id="60 kills, fewer pooled sessions than processes", marks=pytest.mark.nightly),
    ],
)
def test_a_crowd_on_three_homes_is_charged_once_and_answered_alike_whoever_is_killed(
    durable_postgres, crowd_place, tmp_path, kills, sessions
):
    """24 processes race for the same requests to the cap; clients, backends and the server are killed at random."""
    homes = Homes(crowd_place.owner, tmp_path, machines=3, shared=str(tmp_path / "shared"))
    with ExitStack() as stack:
        address = crowd_place.service
        if sessions is not None:
            if not has_pgbouncer():
                pytest.skip(ABSENT)
            address = stack.enter_context(Pooler.for_kills(durable_postgres, sessions)).through(address)
        history = crowd_on_homes(durable_postgres, address, homes, shares_of_kills(kills))
    assert len(history.requests) >= 3 * kills
    assert wrong_with_crowd(crowd_place.service, homes, history) == []


@pytest.mark.nightly
@pytest.mark.pitfall("B18")
@pytest.mark.pitfall("D")
@pytest.mark.guarantee("ledger")
def test_a_crowd_whose_shared_anchors_are_in_a_database_that_is_killed_too_is_charged_once(
    durable_postgres, crowd_place, tmp_path
):
    with PostgresServer(durable=True) as anchors:
        homes = homes_with_anchor_server(crowd_place.owner, anchors, tmp_path, machines=3)
        shares = shares_of_kills(60, anchor_servers=True)
        history = crowd_on_homes(durable_postgres, crowd_place.service, homes, shares, anchor_server=anchors)
        assert wrong_with_crowd(crowd_place.service, homes, history) == []


@pytest.mark.full
@pytest.mark.pitfall("B18")
def test_an_older_copy_put_back_after_a_crowd_is_found_from_every_home(durable_postgres, crowd_place, tmp_path):
    """A control of the campaign: nobody is killed but clients, and the newest events are taken away."""
    homes = Homes(crowd_place.owner, tmp_path, machines=2, shared=str(tmp_path / "shared"))
    history = crowd_on_homes(durable_postgres, crowd_place.service, homes, {CLIENTS: 2}, processes=4)
    assert wrong_with_crowd(crowd_place.service, homes, history) == []
    with tampering(crowd_place.tamperer) as hand:
        roll_back(hand, "visits", 8)
    found = "\n".join(wrong_with_crowd(crowd_place.service, homes, history))
    for words in ("home 1: ", "home 2: ", "an empty home: ", "is not in the ledger", "does not agree with the chain"):
        assert words in found


@pytest.fixture
def raced(ledger, dataset, charge) -> tuple[list[Event], list[Try]]:
    """Three charges of 1, 2 and 1 units of a cap of 5, and a refusal of 3: their events, and the tries."""
    ledger.register(dataset(budget=Budget(epsilon=5 * UNIT)))
    tries = []
    for place, units in enumerate((1, 2, 1)):
        question = f"{place:064x}"
        receipt = charge(ledger, epsilon=units * UNIT, question=question)
        tries.append(Try(question, units, 10 * place, 10 * place + 5, receipt))
    with pytest.raises(BudgetError):
        charge(ledger, epsilon=3 * UNIT, question="f" * 64)
    return events_of(ledger), [*tries, Try("f" * 64, 3, 30, 35)]


def test_the_checker_has_nothing_against_a_crowd_that_is_right(raced):
    events, tries = raced
    killed_before_it_was_told = Try(tries[0].question, 1, 2)
    assert wrong_with_a_crowd(events, [*tries, killed_before_it_was_told], cap=5) == []


@pytest.mark.parametrize(
    ("harm", "finding"),
    [
        (lambda events, tries: (events[:2] + events[3:], tries, 5), "the acknowledged charge 3 is not in the ledger"),
        (
            lambda events, tries: ([*events[:3], replace(events[3], hash="0" * 64)], tries, 5),
            "the acknowledged charge 4 is not in the ledger",
        ),
        (
            lambda events, tries: ([*events, replace(events[3], sequence=6)], tries, 5),
            f"question {2:064x} was charged 2 times",
        ),
        (lambda events, tries: (events, tries, 3), "event 4 spends 4 units of a cap of 3"),
        (lambda events, tries: (events, tries, 7), "event 5 refuses 3 units while there was room"),
        (lambda events, tries: (events, [*tries, Try("a", 1, 21, 22)], 5), "1 units were refused while there was room"),
        (lambda events, tries: (events, [*tries, tries[3]], 5), "2 refusals were told and 1 are recorded"),
        (
            lambda events, tries: (events, [*tries[:2], replace(tries[2], begun=0, ended=3)], 5),
            "event 4 was acknowledged before one with a lower number was asked for",
        ),
        (
            lambda events, tries: (events, [*tries[:3], replace(tries[2], begun=40, ended=45, receipt=None)], 5),
            f"question {2:064x} was refused after its charge was acknowledged",
        ),
        (
            lambda events, tries: (events, [replace(tries[0], cost=2), *tries[1:]], 5),
            "the acknowledged charge 2 has another cost",
        ),
    ],
    ids=[
        *("a lost charge", "another charge", "a charge counted twice", "overspending", "a refusal that is recorded"),
        *("a refusal that was told", "a refusal that is not recorded", "another order", "a forgotten charge"),
        "another cost",
    ],
)
def test_the_checker_finds_what_is_wrong_with_a_crowd(raced, harm, finding):
    events, tries, cap = harm(*raced)
    assert finding in wrong_with_a_crowd(events, tries, cap=cap)


def test_the_checker_finds_anchors_that_do_not_agree_with_the_chain(raced):
    events, _ = raced
    facts = {"ledger": "ab", "dataset": "visits", "budget": {}, "time": "2026-01-01T00:00:00Z"}
    right = Anchor(sequence=4, head=events[3].hash, spent=Cost(4, 0, 0, 0), **facts)
    assert wrong_with_anchors(events, {"home 1": [right]}) == []
    assert wrong_with_anchors(events, {"home 1": []}) == ["home 1: there are no anchors"]
    for wrong in (replace(right, sequence=3), replace(right, head="0" * 64), replace(right, spent=Cost(3, 0, 0, 0))):
        assert wrong_with_anchors(events, {"home 1": [right, wrong]}) == [
            f"home 1: the anchor of event {wrong.sequence} does not agree with the chain"
        ]
    assert wrong_with_the_end(events, [right]) == ["the chain ends at event 5, and the shared anchors at event 4"]
    assert wrong_with_the_end(events, [replace(right, sequence=5)]) == []


def test_the_checker_finds_a_charge_that_was_acknowledged_before_it_was_anchored(raced):
    _, tries = raced
    assert wrong_with_acknowledgements(tries, [(0, 0), (6, 2), (16, 3), (25, 3), (26, 4), (40, 5)]) == []
    found = wrong_with_acknowledgements(tries, [(6, 2), (26, 3)])
    assert found == ["event 4 was acknowledged while the shared anchors ended at event 3"]


def test_the_checker_finds_faults_that_no_kill_explains():
    seen = {faults.UNREACHABLE: 3, faults.BEHIND: 1}
    assert wrong_with_faults(seen, expected={faults.UNREACHABLE}) == [f"1 times: {faults.BEHIND}"]
