"""What was tampered with or put back stops the service, and a recovery goes on from the most that any evidence shows.

Charges are counted in tenths of epsilon: `tenths(ledger)` is what was spent.
"""

import re
import shutil
import sqlite3
import subprocess
import threading
from collections.abc import Callable
from contextlib import closing, suppress
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import psycopg
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from discreet import events
from discreet.accounting.filters import EPSILON_UNITS, Budget
from discreet.errors import BudgetError, Failure, LedgerError, NameNotFoundError, ParameterError
from discreet.ledger import (
    Dataset,
    Kind,
    Ledger,
    PostgresLedger,
    Receipt,
    Signer,
    SQLiteLedger,
    State,
    faults,
)
from discreet.ledger.receipt import receipt_of
from servers import SERVICE, PostgresServer, postgres_binaries
from tampering import TABLES, Hand, new_database, roll_back, tampering

TENTH = EPSILON_UNITS // 10
QUESTION = "ab12"
REASON = "a disk was replaced"


@pytest.fixture
def tamperer(address: str, request: pytest.FixtureRequest) -> str:
    """Where whoever tampers with the ledger of this test connects."""
    is_file = not address.startswith("postgresql:")
    return address if is_file else request.getfixturevalue("ledger_server").superuser_url


@pytest.fixture
def tamper(tamperer: str) -> Callable[..., None]:
    def changed(statement: str, **values: object) -> None:
        with tampering(tamperer) as hand:
            hand.execute(statement, **values)

    return changed


@pytest.fixture
def put_back(tamperer: str) -> Callable[[int], None]:
    """Put 'visits' back to where it stood after an event."""

    def older(kept: int) -> None:
        with tampering(tamperer) as hand:
            roll_back(hand, "visits", kept)

    return older


def tenths(ledger: Ledger) -> Fraction | None:
    spent = ledger.spent("visits").epsilon
    return None if spent is None else Fraction(spent, TENTH)


def anchor_file(ledger: Ledger) -> Path:
    return ledger._witness._directory / f"{ledger._witness._ledger}.jsonl"


def clean(ledger: Ledger, **options: object) -> bool:
    found = ledger.verify(**options)
    assert found, str(found)
    return True


# What was found stops the service.

EDITS = {
    "datasets": "UPDATE datasets SET spent_rho = spent_rho + 1",
    "versions": "UPDATE versions SET facts = '{}'",
    "aliases": "DELETE FROM aliases",
    "analysts": "UPDATE analysts SET spent_epsilon = spent_epsilon - 1",
    "events": "UPDATE events SET cost_epsilon = cost_epsilon - 1 WHERE kind = 'RESERVED'",
    "a deleted event": "DELETE FROM events WHERE kind = 'REJECTED'",
    "reservations": "UPDATE reservations SET state = 'FORFEITED' WHERE state = 'RESERVED'",
    "answers": "DELETE FROM answers",
    "ledger": "UPDATE ledger SET id = 'another'",
}


@pytest.mark.guarantee("ledger")
@pytest.mark.pitfall("D")
@pytest.mark.parametrize("edit", EDITS)
def test_what_verify_finds_stops_every_charge_here_and_elsewhere(visits, another, charge, turn, tamper, edit):
    visits.rename("visits", "stays", reason="test")
    visits.answer(turn(visits, question=QUESTION), b"12")
    with pytest.raises(BudgetError):
        charge(visits, epsilon=2)
    charge(visits)
    other = another()
    tamper(EDITS[edit])
    charge(other)  # nobody has looked yet
    assert not visits.verify()
    for ledger in (visits, other, another()):
        with pytest.raises(LedgerError, match=re.escape(faults.HALTED)):
            charge(ledger)
        if edit != "aliases":
            with pytest.raises(LedgerError, match=re.escape(faults.HALTED)):
                charge(ledger, name="stays")


SPEND = """
import sys
from fractions import Fraction
from discreet import events
from discreet.ledger import open_ledger

with open_ledger(sys.argv[1]) as ledger:
    event = events.PureEvent(Fraction(1, 100))
    ledger.charge("visits", version=1, analyst="bob", event=event, question="ef", description="{}", patience=1)
"""


def test_another_process_is_stopped_too(address, visits, tamper, script):
    assert script(SPEND, address).returncode == 0
    tamper("UPDATE datasets SET spent_rho = spent_rho + 1")
    assert not visits.verify()
    assert faults.HALTED in script(SPEND.replace("ef", "0f"), address).stderr


def test_a_stopped_ledger_answers_nobody_but_can_still_be_read(visits, turn, tamper):
    """Reads harm nobody, and what is in flight was paid for; a question is not answered, not even one that was."""
    visits.answer(turn(visits, question=QUESTION), b"12")
    held = turn(visits, question="cd")
    tamper("UPDATE analysts SET spent_rho = 0")
    assert not visits.verify()
    assert visits.stored("visits", QUESTION) == b"12"
    with pytest.raises(LedgerError, match=re.escape(faults.HALTED)):
        turn(visits, question=QUESTION)
    assert visits.answer(held, b"13") == b"13"
    assert tenths(visits) == 2
    assert len(visits.history("visits")) == 3
    assert visits.budget("visits") == Budget(epsilon=1)
    assert visits.state(held.receipt) is State.ANSWERED


def test_one_dataset_that_was_tampered_with_stops_no_other(visits, dataset, charge, tamper):
    visits.register(dataset(name="stays"))
    tamper("UPDATE datasets SET spent_rho = 1 WHERE name = 'stays'")
    assert not visits.verify()
    charge(visits)
    with pytest.raises(LedgerError, match=re.escape(faults.HALTED)):
        charge(visits, name="stays")


def test_a_halt_that_was_deleted_is_made_again_by_the_next_verify(visits, charge, tamper):
    """A halt is not sealed: whoever may delete one may serve until somebody looks again."""
    tamper("UPDATE datasets SET spent_rho = 1")
    for hidden in ("DELETE FROM halts", "UPDATE halts SET cleared = 1"):
        assert not visits.verify()
        with pytest.raises(LedgerError, match=re.escape(faults.HALTED)):
            charge(visits)
        tamper(hidden)
        charge(visits, epsilon=Fraction(1, 100))
    assert not visits.verify()
    with pytest.raises(LedgerError, match=re.escape(faults.HALTED)):
        charge(visits)


def test_verifying_twice_halts_once_and_a_recovery_clears_it(visits, another, charge, tamper, tamperer):
    tamper("UPDATE datasets SET spent_rho = 1")
    assert not visits.verify()
    assert not another().verify()
    with tampering(tamperer) as hand:
        (halt,) = hand.execute("SELECT * FROM halts")
    assert (halt["dataset"], halt["cleared"]) == ("visits", None)
    assert halt["finding"] == "'visits': the total spent is not the sum of the charges"
    assert visits.recover(reason=REASON)
    charge(visits)
    charge(another())


def test_a_ledger_that_cannot_be_looked_at_is_not_called_tampered_with(visits, another, charge):
    """A store that is closed, busy or away is a fault to be told, and no reason to stop everybody."""
    other = another()
    other.close()
    with pytest.raises(LedgerError, match=re.escape(faults.CLOSED)):
        other.verify()
    charge(visits)


def test_verifying_while_others_charge_and_anchor_raises_no_alarm(visits, another, charge):
    """The anchors that are compared are older than what is read of the store."""
    other, stop = another(), threading.Event()

    def spend() -> None:
        while not stop.is_set():
            charge(other, epsilon=Fraction(1, 10_000))
            other.anchor()

    spender = threading.Thread(target=spend)
    spender.start()
    try:
        for _ in range(25):
            clean(visits)
    finally:
        stop.set()
        spender.join()


# An older copy.


@pytest.fixture
def lost(visits, charge, put_back) -> Callable[..., list]:
    """Three charges stay, so many more are lost; their receipts."""

    def older(more: int = 2, **changes: object) -> list:
        for _ in range(3):
            charge(visits)
        receipts = [charge(visits, **changes) for _ in range(more)]
        visits.close()
        put_back(4)
        return receipts

    return older


@pytest.mark.guarantee("ledger")
@pytest.mark.pitfall("D")
def test_an_older_file_that_was_put_back_does_not_serve(path, dataset, charge, tmp_path):
    with SQLiteLedger(path) as ledger:
        ledger.register(dataset())
        charge(ledger)
    shutil.copy(path, tmp_path / "older")
    with SQLiteLedger(path) as ledger:
        charge(ledger)
    shutil.copy(tmp_path / "older", path)
    with SQLiteLedger(path) as ledger:
        with pytest.raises(LedgerError, match=re.escape(faults.BEHIND)):
            charge(ledger)
        assert tenths(ledger) == 1
        assert ledger.recover(reason=REASON)
        assert tenths(ledger) == 2
        charge(ledger)
        assert clean(ledger)


def _dumped(superuser: str) -> str:
    command = [postgres_binaries() / "pg_dump", "--schema=discreet", superuser]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def _restored(superuser: str, dump: str) -> None:
    text = "DROP SCHEMA discreet CASCADE;\n" + dump
    command = [postgres_binaries() / "psql", "--quiet", "--set=ON_ERROR_STOP=1", superuser]
    subprocess.run(command, check=True, input=text, capture_output=True, text=True)


@pytest.mark.guarantee("ledger")
@pytest.mark.pitfall("D")
def test_an_older_dump_that_was_restored_does_not_serve(ledger_server: PostgresServer, dataset, charge):
    place = new_database(ledger_server, "restored")
    PostgresLedger.create(place.owner, role=SERVICE)
    with PostgresLedger(place.service) as open_all_along, PostgresLedger(place.service) as ledger:
        ledger.register(dataset())
        charge(open_all_along)
        dump = _dumped(place.tamperer)
        charge(open_all_along)
        _restored(place.tamperer, dump)
        for _ in range(2):
            with pytest.raises(LedgerError, match=re.escape(faults.BEHIND)):
                charge(open_all_along)
    with PostgresLedger(place.service) as ledger:
        with pytest.raises(LedgerError, match=re.escape(faults.BEHIND)):
            charge(ledger)
        assert tenths(ledger) == 1
        assert ledger.recover(reason=REASON)
        assert tenths(ledger) == 2
        charge(ledger)
        assert clean(ledger)


@pytest.mark.pitfall("D")
def test_the_next_opening_compares_with_the_anchors(lost, another, charge):
    lost()
    for _ in range(2):
        ledger = another()
        with pytest.raises(LedgerError, match=re.escape(faults.BEHIND)):
            charge(ledger)
    assert "it ends at event 4, and was anchored at event 6: it is an older copy" in str(ledger.verify())
    with pytest.raises(LedgerError, match=re.escape(faults.BEHIND)):
        charge(ledger)


@pytest.mark.pitfall("D")
def test_a_process_remembers_what_it_saw_where_no_anchor_is_left(visits, charge, put_back):
    for _ in range(3):
        charge(visits)
    put_back(3)
    anchor_file(visits).unlink()
    with pytest.raises(LedgerError, match=re.escape(faults.BEHIND)):
        charge(visits)


def test_only_receipts_show_it_where_no_anchor_is_left(lost, visits, another, charge):
    receipts = lost()
    anchor_file(visits).unlink()
    ledger = another()
    assert clean(ledger)
    charge(ledger, epsilon=Fraction(1, 100))
    assert not ledger.verify(receipts=receipts)
    with pytest.raises(LedgerError, match=re.escape(faults.HALTED)):
        charge(ledger)
    assert ledger.recover(reason=REASON, receipts=receipts)
    assert tenths(ledger) == 5 + Fraction(1, 10)
    charge(ledger)


@pytest.mark.pitfall("D")
def test_a_dataset_that_is_gone_altogether_comes_back_with_all_that_was_spent(visits, dataset, charge, tamper, another):
    """Registering it again is the way to recover it: its declaration is what no witness has."""
    for _ in range(3):
        charge(visits)
    visits.close()
    for table in ("answers", "reservations", "events", "analysts", "versions", "datasets"):
        tamper(f"DELETE FROM {table}")
    ledger = another()
    with pytest.raises(NameNotFoundError):
        charge(ledger)
    assert "it was anchored, and the store does not know it" in str(ledger.verify())
    assert not ledger.recover(reason=REASON)
    for again in (lambda: ledger.register(dataset(budget=Budget(epsilon=2))), lambda: charge(ledger)):
        with pytest.raises(LedgerError, match=re.escape(faults.BEHIND)):
            again()
    assert ledger.recover(reason=REASON)
    assert tenths(ledger) == 3
    assert ledger.budget("visits") == Budget(epsilon=1)  # the promise that was anchored
    charge(ledger)
    assert ledger.history("visits")[-1].sequence == 6
    assert clean(ledger)


def test_an_older_copy_is_not_hidden_by_events_that_cost_nothing(lost, another, charge, dataset):
    """Other events than charges are written all the same; the chain grows past the anchor, and less is spent."""
    lost(1)
    ledger = another()
    for epsilon in (2, 3, 4):
        with pytest.raises(LedgerError, match=re.escape(faults.BEHIND)):
            ledger.set_cap("visits", Budget(epsilon=epsilon), reason="test")
    for opened in (ledger, another()):
        with pytest.raises(LedgerError, match=re.escape(faults.BEHIND)):
            charge(opened)
    assert "is not the one that was anchored" in str(ledger.verify())


def test_a_history_that_took_the_place_of_another_is_found_by_whoever_saw_the_other(
    visits, another, charge, put_back, tmp_path
):
    """Another machine with anchors of its own went on from an older copy; then more is spent, and more happened."""
    elsewhere = another(anchors=tmp_path / "elsewhere")
    for _ in range(4):
        charge(visits)
    put_back(2)
    for _ in range(6):
        charge(elsewhere)
    visits._witness._every = 1
    with pytest.raises(LedgerError, match=re.escape(faults.BEHIND)):
        charge(visits)
    with pytest.raises(LedgerError, match=re.escape(faults.BEHIND)):
        charge(visits)
    assert "it has another history" in str(visits.verify())
    assert visits.recover(reason=REASON)
    assert 11 <= tenths(visits) <= 12  # 1 was common, 3 are lost, 6 are new, and 1 was charged before it was found


# How much is recovered.


@pytest.mark.guarantee("ledger")
def test_the_store_says_three_the_anchor_five_and_receipts_beyond_it_two_more(visits, charge, put_back, another):
    for _ in range(3):
        charge(visits)
    covered = [charge(visits) for _ in range(2)]
    visits.anchor()
    anchors = anchor_file(visits).read_bytes()
    beyond = [charge(visits) for _ in range(2)]
    visits.close()
    anchor_file(visits).write_bytes(anchors)
    put_back(4)
    ledger = another()
    found = ledger.recover(reason=REASON, receipts=[*beyond, *beyond])
    assert found, str(found)
    assert tenths(ledger) == 7
    told = ledger.history("visits")[-1]
    assert (told.kind, told.sequence) == (Kind.RECOVERED, 9)  # 8 was the last that a receipt saw
    assert told.cost.epsilon == 4 * TENTH
    events_before = ledger.verify().events
    assert clean(ledger, receipts=[*covered, *beyond])
    for receipts in ([], beyond, covered, [*covered, *beyond]):
        assert ledger.recover(reason=REASON, receipts=receipts)
    assert ledger.verify().events == events_before
    assert tenths(ledger) == 7
    for _ in range(3):
        charge(ledger)
    with pytest.raises(BudgetError):
        charge(ledger, epsilon=Fraction(1, 100))
    assert clean(ledger)


@pytest.mark.parametrize(("given", "expected"), [(0, 5), (1, 6), (2, 7)])
def test_without_receipts_the_anchor_decides(visits, charge, put_back, another, given, expected):
    for _ in range(5):
        charge(visits)
    visits.anchor()
    anchors = anchor_file(visits).read_bytes()
    beyond = [charge(visits) for _ in range(2)]
    visits.close()
    anchor_file(visits).write_bytes(anchors)
    put_back(4)
    ledger = another()
    assert ledger.recover(reason=REASON, receipts=beyond[:given])
    assert tenths(ledger) == expected
    assert ledger.recover(reason=REASON, receipts=beyond)
    assert tenths(ledger) == 7  # what comes to light later is added once
    assert clean(ledger, receipts=beyond)


@pytest.mark.parametrize(("given", "expected"), [([0], 4), ([1], 4), ([0, 1], 5), ([0, 0, 1, 1], 5)])
def test_without_anchors_the_receipts_decide(lost, visits, another, given, expected):
    receipts = lost()
    anchor_file(visits).unlink()
    ledger = another()
    assert ledger.recover(reason=REASON, receipts=[receipts[place] for place in given])
    assert tenths(ledger) == expected
    assert ledger.recover(reason=REASON, receipts=receipts)
    assert tenths(ledger) == 5
    assert clean(ledger, receipts=receipts)


def test_a_lost_charge_without_a_finite_epsilon_leaves_none(visits, charge, put_back, another, dataset):
    """Of what was spent in Gaussian answers only rho is told, and stays told."""
    visits.set_cap("visits", Budget(epsilon=1, delta=1e-9), reason="test")
    charge(visits)
    gaussian = events.ConcentratedEvent(Fraction(1, 1000))
    rho = charge(visits, event=gaussian).cost.rho
    before = visits.spent("visits")
    visits.close()
    put_back(3)
    ledger = another()
    assert ledger.spent("visits").epsilon == TENTH
    assert ledger.recover(reason=REASON)
    assert ledger.spent("visits") == before
    assert (before.epsilon, rho > 0) == (None, True)
    charge(ledger, event=gaussian)
    assert ledger.spent("visits").epsilon is None
    assert clean(ledger)


def test_a_total_without_a_finite_epsilon_stays_so_where_finite_charges_are_lost(visits, charge, put_back, another):
    visits.set_cap("visits", Budget(epsilon=1, delta=1e-9), reason="test")
    charge(visits, event=events.ConcentratedEvent(Fraction(1, 1000)))
    lost = charge(visits)
    before = visits.spent("visits")
    visits.close()
    put_back(3)
    ledger = another()
    assert ledger.recover(reason=REASON, receipts=[lost])
    assert ledger.spent("visits") == before
    assert clean(ledger)


@pytest.mark.parametrize("epsilon", [Fraction(1, 2), Fraction(2)])
def test_a_cap_that_was_changed_after_the_copy_is_the_anchors(visits, charge, put_back, another, epsilon):
    charge(visits)
    visits.set_cap("visits", Budget(epsilon=epsilon), reason="the board's decision")
    visits.close()
    put_back(2)
    ledger = another()
    assert ledger.budget("visits") == Budget(epsilon=1)
    assert ledger.recover(reason=REASON)
    assert ledger.budget("visits") == Budget(epsilon=epsilon)
    with pytest.raises(BudgetError):
        charge(ledger, epsilon=epsilon - Fraction(9, 100))
    charge(ledger, epsilon=epsilon - Fraction(1, 10))
    assert clean(ledger)


def test_what_was_in_flight_in_the_older_copy_is_forfeited_so_that_no_charge_pays_for_two_answers(
    visits, turn, put_back, another
):
    held = turn(visits, question=QUESTION)
    assert visits.answer(held, b"12") == b"12"
    visits.close()
    put_back(2)
    ledger = another(lease=0.01)
    assert ledger.state(held.receipt) is State.RESERVED
    assert ledger.recover(reason=REASON)
    assert ledger.state(held.receipt) is State.FORFEITED
    with pytest.raises(Failure):
        ledger.answer(held, b"13")
    again = turn(ledger, question=QUESTION)
    assert again.payload is None
    assert again.receipt.sequence != held.receipt.sequence
    assert tenths(ledger) == 2
    assert ledger.share("visits", "ann").failures == 1
    assert clean(ledger)


def test_a_recovery_of_nothing_writes_nothing(visits, another, charge):
    receipts = [charge(visits) for _ in range(3)]
    before = visits.verify().events
    for ledger in (visits, another()):
        assert ledger.recover(reason=REASON)
        assert ledger.recover(reason=REASON, receipts=receipts)
        assert (
            ledger.recover(reason=REASON, receipts=[replace(receipts[0], analyst="bob")]).findings[0].is_ours is False
        )
    assert visits.verify().events == before
    assert tenths(visits) == 3


def test_receipts_that_no_key_of_the_ledger_signed_recover_nothing(visits, charge, tmp_path):
    link = replace(charge(visits)._link(), sequence=99)
    forged = receipt_of(link).signed(Signer.at(tmp_path / "theirs"))
    assert not visits.recover(reason=REASON, receipts=[forged])
    assert tenths(visits) == 1
    assert visits.history("visits")[-1].sequence == 2


def test_a_recovery_needs_a_reason_and_keeps_it(lost, another):
    lost()
    ledger = another()
    with pytest.raises(ParameterError):
        ledger.recover(reason=" ")
    assert ledger.recover(reason=REASON)
    assert f'"reason":"{REASON}"' in ledger.history("visits")[-1].detail


def test_whoever_was_stopped_serves_again_after_somebody_else_recovered(lost, another, charge):
    lost()
    stopped, owner = another(), another()
    with pytest.raises(LedgerError, match=re.escape(faults.BEHIND)):
        charge(stopped)
    assert owner.recover(reason=REASON)
    charge(stopped)
    assert tenths(stopped) == 6


# Damage inside.


DAMAGE = {
    "UPDATE datasets SET spent_epsilon = 0": 3,
    "UPDATE datasets SET spent_epsilon = 400000000000": 4,
    "UPDATE events SET cost_epsilon = 1 WHERE sequence = 3": 3,
    "UPDATE events SET cost_epsilon = 300000000000 WHERE sequence = 3": 5,
    "DELETE FROM events WHERE sequence = 3": 3,
    "DELETE FROM events WHERE sequence = 4": 3,
    "UPDATE events SET hash = 'x' WHERE sequence = 3": 3,
    "DELETE FROM reservations": 3,
    "UPDATE reservations SET state = 'FORFEITED'": 3,
    "UPDATE reservations SET attempt = 7": 3,
    "DELETE FROM analysts": 3,
    "UPDATE analysts SET spent_epsilon = 0, failures = 5": 3,
    "UPDATE datasets SET head = 'x'": 3,
    "UPDATE datasets SET sequence = 9": 3,
}


@pytest.mark.parametrize("change", DAMAGE)
def test_damage_is_recovered_from_and_damage_that_comes_later_is_found(
    visits, charge, tamper, tamperer, another, change
):
    receipts = [charge(visits) for _ in range(3)]
    tamper(change)
    assert not visits.verify()
    found = visits.recover(reason=REASON)
    assert found, str(found)
    assert tenths(visits) == DAMAGE[change]
    clean(another())
    with tampering(tamperer, is_kept=False) as hand:
        for other in LATER:
            with hand.undone():
                before = everything(hand)
                hand.execute(other)
                assert before == everything(hand) or hand.findings(), other
    charge(visits)
    clean(visits)
    assert visits.recover(reason=REASON, receipts=receipts)
    clean(visits, receipts=receipts)


@pytest.mark.parametrize("change", DAMAGE)
def test_receipts_of_damaged_charges_may_count_twice_and_never_less(path, dataset, charge, change):
    """Whether a receipt's charge is in the total is not known where its event and the one after it are gone."""
    with SQLiteLedger(path) as ledger:
        ledger.register(dataset())
        receipts = [charge(ledger) for _ in range(3)]
        with tampering(str(path)) as hand:
            hand.execute(change)
        assert ledger.recover(reason=REASON, receipts=receipts)
        assert DAMAGE[change] <= tenths(ledger) <= DAMAGE[change] + 1
        clean(ledger, receipts=receipts)
        charge(ledger)


def test_a_row_that_breaks_a_check_is_damage_like_any_other(path, dataset, charge):
    """PostgreSQL lets nobody write one, SQLite whoever switches checks off."""
    with SQLiteLedger(path) as ledger:
        ledger.register(dataset())
        charge(ledger)
        with tampering(str(path)) as hand:
            hand.execute("UPDATE events SET cost_epsilon = -5 WHERE sequence = 2")
            hand.execute("UPDATE datasets SET spent_rho = cap_rho + 1, spent_epsilon = NULL")
        assert not ledger.verify()
        assert ledger.recover(reason=REASON)
        assert ledger.spent("visits").epsilon is None
        with pytest.raises(BudgetError):
            charge(ledger)


def everything(hand: Hand) -> list[list[str]]:
    return [sorted(map(repr, hand.execute(f"SELECT * FROM {table}"))) for table in TABLES]


LATER = (
    "UPDATE datasets SET spent_epsilon = spent_epsilon - 1",
    "UPDATE datasets SET cap_epsilon = 7",
    "UPDATE events SET cost_epsilon = 7 WHERE sequence = 3",
    "UPDATE events SET cost_epsilon = 7 WHERE sequence = 2",
    "UPDATE events SET hash = 'y' WHERE sequence = 3",
    "DELETE FROM events WHERE sequence = 2",
    "DELETE FROM events WHERE sequence = 4",
    "DELETE FROM events WHERE kind = 'RECOVERED'",
    "DELETE FROM reservations",
    "UPDATE reservations SET analyst = 'bob'",
    "UPDATE reservations SET state = 'RESERVED'",
    "DELETE FROM analysts",
    "UPDATE analysts SET spent_epsilon = 1",
)


@pytest.mark.parametrize(
    "change",
    [
        "UPDATE datasets SET epsilon = '9/1', cap_epsilon = 9000000000000",
        "UPDATE datasets SET cap_epsilon = 9000000000000",
        "UPDATE datasets SET reason = 'because'",
    ],
)
def test_a_promise_that_was_raised_behind_the_chains_back_is_put_back(visits, charge, tamper, change):
    charge(visits)
    tamper(change)
    assert not visits.verify()
    assert visits.recover(reason=REASON)
    assert visits.budget("visits").epsilon == 1
    charge(visits, epsilon=Fraction(9, 10))
    with pytest.raises(BudgetError):
        charge(visits, epsilon=Fraction(1, 100))
    assert clean(visits)


@pytest.mark.parametrize("change", ["UPDATE datasets SET cap_epsilon = 5", "DELETE FROM events WHERE kind = 'CAPPED'"])
def test_of_two_promises_that_do_not_agree_the_smaller_one_holds(visits, charge, tamper, change):
    visits.set_cap("visits", Budget(epsilon=Fraction(1, 2)), reason="the board's decision")
    tamper(change)
    assert not visits.verify()
    assert visits.recover(reason=REASON)
    assert visits.budget("visits") == Budget(epsilon=Fraction(1, 2))
    with pytest.raises(BudgetError):
        charge(visits, epsilon=Fraction(6, 10))
    assert clean(visits)


@pytest.mark.parametrize(
    "change",
    [
        "UPDATE analysts SET spent_epsilon = 0, spent_rho = 0 WHERE analyst = 'ann'",
        "DELETE FROM analysts WHERE analyst = 'ann'",
        "UPDATE analysts SET quota = NULL, cap_epsilon = NULL, cap_rho = NULL, cap_delta = NULL WHERE analyst = 'ann'",
    ],
)
def test_quotas_and_what_was_spent_of_them_are_those_of_the_chain_again(visits, charge, tamper, change):
    visits.set_quota("visits", "ann", Budget(epsilon=Fraction(3, 10)), reason="a small study")
    charge(visits)
    charge(visits)
    before = visits.share("visits", "ann")
    tamper(change)
    assert not visits.verify()
    assert visits.recover(reason=REASON)
    assert visits.share("visits", "ann") == replace(before, floor=before.spent, failures=2)  # both were in flight
    charge(visits)
    with pytest.raises(BudgetError, match="their quota"):
        charge(visits)
    assert clean(visits)


def test_receipts_of_lost_charges_count_for_the_quota_of_whoever_asked(visits, charge, put_back, another):
    visits.set_quota("visits", quota=Budget(epsilon=Fraction(3, 10)), reason="fair")
    charge(visits)
    receipts = [charge(visits), charge(visits, analyst="bob")]
    visits.close()
    put_back(3)
    ledger = another()
    assert ledger.recover(reason=REASON, receipts=receipts)
    assert [ledger.share("visits", who).spent.epsilon for who in ("ann", "bob", "eve")] == [2 * TENTH, TENTH, 0]
    charge(ledger)
    with pytest.raises(BudgetError, match="their quota"):
        charge(ledger)
    assert clean(ledger)


@pytest.mark.parametrize(
    ("change", "undo"),
    [
        ("UPDATE datasets SET neighbours = 'replace_one'", "UPDATE datasets SET neighbours = 'add_remove'"),
        ("UPDATE datasets SET unit = 'one row'", "UPDATE datasets SET unit = 'one patient_id'"),
        ("UPDATE versions SET population = 5", "UPDATE versions SET population = NULL"),
        ("UPDATE aliases SET alias = 'other'", "UPDATE aliases SET alias = 'stays'"),
        ("UPDATE events SET digest = 'x' WHERE sequence = 1", ""),
    ],
)
def test_what_was_declared_is_not_recovered_but_put_back(visits, charge, tamper, change, undo):
    """A recovery would make a changed unit, version or name the true one; the dataset stays halted instead."""
    visits.rename("visits", "stays", reason="test")
    charge(visits)
    tamper(change)
    assert not visits.verify()
    assert not visits.recover(reason=REASON)
    with pytest.raises(LedgerError, match=re.escape(faults.HALTED)):
        charge(visits)
    if undo:
        tamper(undo)
        assert visits.recover(reason=REASON)
        charge(visits)
        assert clean(visits)


def test_a_row_that_cannot_be_read_stops_its_dataset_and_no_other(visits, dataset, charge, tamper, another):
    visits.register(dataset(name="stays"))
    visits.anchor()
    tamper("UPDATE datasets SET neighbours = 'nonsense' WHERE name = 'visits'")
    ledger = another()
    assert not ledger.verify()
    with pytest.raises(LedgerError):
        charge(ledger)
    assert not ledger.recover(reason=REASON)
    charge(ledger, name="stays")
    ledger.anchor()


def test_what_concerns_the_database_itself_stops_all_of_it_until_it_is_mended(visits, charge, tamperer, another):
    """Its rules cannot be mended by an event: the owner does it, then recovers."""
    held = charge(visits)
    written = _without_a_trigger(tamperer)
    assert "is not as discreet wrote it" in str(visits.verify())
    assert not visits.recover(reason=REASON)
    with pytest.raises(LedgerError, match=re.escape(faults.HALTED)):
        charge(another())
    _as_owner(tamperer, written)
    assert visits.recover(reason=REASON)
    assert visits.state(held) is State.RESERVED  # nothing was lost
    charge(another())


def _without_a_trigger(tamperer: str) -> str:
    if not tamperer.startswith("postgresql:"):
        (written,) = _as_owner(tamperer, "SELECT sql FROM sqlite_schema WHERE name = 'no_refunds'")
        _as_owner(tamperer, "DROP TRIGGER no_refunds")
        return written
    (written,) = _as_owner(tamperer, "SELECT pg_get_triggerdef(oid) FROM pg_trigger WHERE tgname = 'dataset_rules'")
    _as_owner(tamperer, "DROP TRIGGER dataset_rules ON discreet.datasets")
    return written


def _as_owner(tamperer: str, statement: str) -> tuple[str, ...]:
    connect = psycopg.connect if tamperer.startswith("postgresql:") else sqlite3.connect
    with closing(connect(tamperer)) as raw, raw:
        cursor = raw.execute(statement)
        return () if cursor.description is None else cursor.fetchone()


ACTS = ("charge", "charge", "save", "restore", "forget anchors", "recover all", "recover some")


@settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck))
@given(acts=st.lists(st.sampled_from(ACTS), min_size=6, max_size=16), data=st.data())
def test_over_random_histories_nothing_is_lowered_and_nothing_counted_twice(
    acts, data, tmp_path_factory, dataset, charge
):
    """Older copies, lost anchors and some of the receipts, in any order: with all receipts the total is exact."""
    world = World(tmp_path_factory.mktemp("world"), dataset(budget=Budget(epsilon=900, ceiling=900)), charge)
    for act in acts:
        world.do(act, data)
    world.recover(world.receipts)
    assert world.total() == len(world.receipts)


class World:
    """A ledger in a file, copies of it, and the receipts that analysts hold of all charges there ever were."""

    def __init__(self, directory: Path, declared: Dataset, charge: Callable[..., Receipt]) -> None:
        self._path, self._anchors = directory / "ledger", directory / "anchors"
        self._copies: list[bytes] = []
        self._charge = charge
        self.receipts: list[Receipt] = []
        with self._opened() as ledger:
            ledger.register(declared)
        self.do("save", None)

    def do(self, act: str, data: st.DataObject | None) -> None:
        if act == "charge":
            with self._opened() as ledger, suppress(LedgerError):
                self.receipts.append(self._charge(ledger))
        elif act == "save":
            self._copies.append(self._path.read_bytes())
        elif act == "restore":
            self._path.write_bytes(data.draw(st.sampled_from(self._copies)))
        elif act == "forget anchors":
            shutil.rmtree(self._anchors, ignore_errors=True)
        else:
            some = st.lists(st.sampled_from(self.receipts)) if self.receipts else st.just([])
            self.recover(self.receipts if act == "recover all" else data.draw(some))

    def recover(self, receipts: list[Receipt]) -> None:
        before = self.total()
        with self._opened() as ledger:
            found = ledger.recover(reason=REASON, receipts=receipts)
            assert found, str(found)
            assert ledger.verify(receipts=receipts)
        assert before <= self.total() <= len(self.receipts)

    def total(self) -> Fraction:
        with self._opened() as ledger:
            return tenths(ledger)

    def _opened(self) -> SQLiteLedger:
        return SQLiteLedger(self._path, anchors=self._anchors)
