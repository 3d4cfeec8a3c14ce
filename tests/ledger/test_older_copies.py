"""An older copy that was put back does not serve; anchors, memory and receipts each show it."""

import re
import shutil
import subprocess
from fractions import Fraction

import pytest

from discreet.accounting.filters import Budget
from discreet.errors import LedgerError, NameNotFoundError
from discreet.ledger import PostgresLedger, SQLiteLedger
from discreet.ledger.records import faults
from servers import SERVICE, STEWARD, PostgresServer, postgres_binaries
from tampering import anchor_file, clean, new_database, tenths

REASON = "a disk was replaced"


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
    PostgresLedger.create(place.owner, role=SERVICE, steward=STEWARD)
    with PostgresLedger(place.steward) as ledger:
        ledger.register(dataset())
    with PostgresLedger(place.service) as open_all_along:
        charge(open_all_along)
        dump = _dumped(place.tamperer)
        charge(open_all_along)
        _restored(place.tamperer, dump)
        for _ in range(2):
            with pytest.raises(LedgerError, match=re.escape(faults.BEHIND)):
                charge(open_all_along)
    with PostgresLedger(place.steward) as ledger:
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
    """Registering it again is the way to recover it: no rollback evidence holds its declaration."""
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
    visits._detector._every = 1
    with pytest.raises(LedgerError, match=re.escape(faults.BEHIND)):
        charge(visits)
    with pytest.raises(LedgerError, match=re.escape(faults.BEHIND)):
        charge(visits)
    assert "it has another history" in str(visits.verify())
    assert visits.recover(reason=REASON)
    assert 11 <= tenths(visits) <= 12  # 1 was common, 3 are lost, 6 are new, and 1 was charged before it was found
