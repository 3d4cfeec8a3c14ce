"""Damage inside a ledger is recovered from where that lowers nothing, and what comes later is found all the same."""

import re
import sqlite3
from contextlib import closing
from dataclasses import replace
from fractions import Fraction

import psycopg
import pytest

from discreet.accounting.filters import Budget
from discreet.errors import BudgetError, LedgerError
from discreet.ledger import SQLiteLedger, State
from discreet.ledger.records import faults
from tampering import TABLES, TENTH, Hand, clean, tampering, tenths

REASON = "a disk was replaced"


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
    assert visits.forfeit_expired(grace=0) == 0
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
            hand.execute("UPDATE datasets SET spent_rho = cap_rho + 1, spent_renyi = cap_rho + 1, spent_epsilon = NULL")
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
    (written,) = _as_owner(
        tamperer, "SELECT pg_get_triggerdef(oid) FROM pg_trigger WHERE tgname = 'datasets_before_update'"
    )
    _as_owner(tamperer, "DROP TRIGGER datasets_before_update ON discreet.datasets")
    return written


def _as_owner(tamperer: str, statement: str) -> tuple[str, ...]:
    connect = psycopg.connect if tamperer.startswith("postgresql:") else sqlite3.connect
    with closing(connect(tamperer)) as raw, raw:
        cursor = raw.execute(statement)
        return () if cursor.description is None else cursor.fetchone()
