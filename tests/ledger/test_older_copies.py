"""An older copy that was put back does not serve; anchors, memory and receipts each show it."""

import re
import shutil
import subprocess
import sys
from fractions import Fraction
from functools import partial
from pathlib import Path

import pytest

from discreet.accounting.filters import Budget
from discreet.errors import LedgerError, NameNotFoundError
from discreet.ledger import PostgresLedger, Signer, SQLiteLedger
from discreet.ledger.records import faults
from discreet.ledger.transactions import limits
from homes import anchors_at_home
from servers import SERVICE, STEWARD, PostgresServer
from tampering import anchor_file, clean, dump_of, new_database, put_back_dump, tampering, tenths

REASON = "a disk was replaced"
CLOSES_NOTHING = """
import sys
import discreet as dp

def main():
    facts = {"name": "visits", "privacy_unit": "patient_id", "max_rows": 3, "budget": dp.Budget(epsilon=1)}
    session = dp.protect(dp.datasets.visits(100), **facts, ledger=sys.argv[1])
    session.release(dp.table("visits").agg(n=dp.count_units()), epsilon=float(sys.argv[2]))
    MORE

main()
"""


@pytest.mark.guarantee("ledger")
@pytest.mark.pitfall("D")
@pytest.mark.parametrize("more", ["pass", "global kept; kept = session", "raise SystemExit"])
def test_a_backup_that_follows_a_script_that_closes_nothing_is_refused(tmp_path, discreet_home, more):
    """A session anchors its last charges when it ends: collected, or with its process."""
    path, copy = tmp_path / "l.sqlite", tmp_path / "copy.sqlite"

    def run(epsilon: float) -> str:
        command = [sys.executable, "-c", CLOSES_NOTHING.replace("MORE", more), str(path), str(epsilon)]
        return subprocess.run(command, capture_output=True, text=True, check=False).stderr

    assert run(0.1) == ""
    with SQLiteLedger(path) as ledger:
        ledger.backup(copy)
    assert run(0.4) == ""
    for each in tmp_path.glob("l.sqlite*"):
        each.unlink()
    shutil.copy(copy, path)
    assert faults.BEHIND in run(0.5)


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


@pytest.mark.guarantee("ledger")
@pytest.mark.pitfall("D")
def test_an_older_dump_that_was_restored_does_not_serve(ledger_server: PostgresServer, dataset, charge):
    place = new_database(ledger_server, "restored")
    PostgresLedger.create(place.owner, role=SERVICE, steward=STEWARD)
    with PostgresLedger(place.steward) as ledger:
        ledger.register(dataset())
    with PostgresLedger(place.service) as open_all_along:
        charge(open_all_along)
        dump = dump_of(place.tamperer)
        charge(open_all_along)
        put_back_dump(place.tamperer, dump)
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
    ledger.register(dataset(budget=Budget(epsilon=2)))
    for act in (lambda: charge(ledger), lambda: ledger.register(dataset(name="stays"))):
        with pytest.raises(LedgerError, match=re.escape(faults.BEHIND)):
            act()
    assert ledger.recover(reason=REASON)
    assert tenths(ledger) == 3
    assert ledger.budget("visits") == Budget(epsilon=1)  # the promise that was anchored
    charge(ledger)
    assert ledger.history("visits")[-1].sequence == 6
    assert clean(ledger)


@pytest.mark.guarantee("ledger")
@pytest.mark.pitfall("D")
def test_an_act_of_the_owner_on_an_older_copy_writes_nothing_and_a_lowered_cap_stays_lowered(
    visits, charge, dataset, another, put_back
):
    charge(visits, epsilon=0.4)
    visits.set_cap("visits", Budget(epsilon=0.5), reason="decided")
    visits.close()
    put_back(1)
    ledger = another()
    before = len(ledger.history("visits"))
    for act in (
        lambda: ledger.set_cap("visits", Budget(epsilon=3), reason="x"),
        lambda: ledger.set_quota("visits", "ann", failures=7, reason="x"),
        lambda: ledger.rename("visits", "stays", reason="x"),
        lambda: ledger.register(dataset(name="other", source="other.csv")),
    ):
        with pytest.raises(LedgerError, match=re.escape(faults.BEHIND)):
            act()
    assert len(ledger.history("visits")) == before
    assert ledger.recover(reason=REASON)
    assert ledger.budget("visits") == Budget(epsilon=0.5)


def test_an_older_copy_is_not_hidden_by_events_that_cost_nothing(lost, another, charge, dataset):
    """An earlier version wrote acts of the owner all the same; the chain grows past the anchor, and less is spent."""
    lost(1)
    ledger = another()
    for epsilon in (2, 3, 4):
        act = partial(limits.set_cap, name="visits", budget=Budget(epsilon=epsilon), reason="test")
        with pytest.raises(LedgerError, match=re.escape(faults.BEHIND)):
            ledger._run(act)
        ledger._commit(act)
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


@pytest.mark.guarantee("ledger")
@pytest.mark.pitfall("D")
@pytest.mark.parametrize("recovers", ["the same process", "another process"])
@pytest.mark.parametrize("more", [0, 3], ids=["shorter", "as long"])
def test_a_recovery_counts_what_only_a_running_process_saw(
    visits, another, charge, put_back, dataset, tmp_path, more, recovers
):
    """It had not anchored yet where it saw the chain go: that is due after many events, or a minute."""
    for _ in range(3):
        charge(visits)
    put_back(1)
    elsewhere = another(anchors=tmp_path / "elsewhere")
    for _ in range(more):
        charge(elsewhere)
    with pytest.raises(LedgerError, match=re.escape(faults.BEHIND)):
        charge(visits)
    ledger = visits if recovers == "the same process" else another()
    with pytest.raises(LedgerError, match=re.escape(faults.BEHIND)):
        charge(ledger)
    assert ledger.recover(reason=REASON)
    assert tenths(ledger) == 3 + more
    charge(ledger)
    charge(visits)
    assert clean(another())


@pytest.mark.guarantee("ledger")
@pytest.mark.pitfall("D")
@pytest.mark.parametrize("more", [3, 5])
def test_a_process_does_not_forget_what_it_saw_where_its_home_went_on_from_an_older_copy(
    visits, another, charge, put_back, more
):
    """Neither history is anchored: that is due after many events, or a minute."""
    for _ in range(3):
        charge(visits)
    put_back(2)
    same_home = another()
    for _ in range(more):
        charge(same_home)
    for _ in range(2):
        with pytest.raises(LedgerError, match=re.escape(faults.BEHIND)):
            charge(visits)
    assert visits.recover(reason=REASON)
    assert 0 <= tenths(visits) - (3 + more) <= 1  # of what both have in common the registration is anchored
    for each in (visits, same_home):
        charge(each, epsilon=Fraction(1, 100))
    assert clean(another())


@pytest.mark.guarantee("ledger")
@pytest.mark.pitfall("D")
def test_a_recovery_counts_what_its_own_process_saw_and_was_not_refused_yet(visits, charge, put_back):
    for _ in range(3):
        charge(visits)
    put_back(1)
    assert visits.recover(reason=REASON)
    assert tenths(visits) == 3
    assert clean(visits)


def move_aside(path: Path) -> Path:
    """Take a ledger's file away, as a disk that failed does."""
    aside = path.parent / "aside"
    aside.mkdir()
    for each in path.parent.glob(f"{path.name}*"):
        each.rename(aside / each.name)
    return aside


@pytest.mark.guarantee("ledger")
@pytest.mark.pitfall("D")
@pytest.mark.parametrize("is_shared", [False, True], ids=["anchors at home", "shared anchors, lost with the ledger"])
def test_closing_after_the_ledger_is_lost_anchors_what_was_seen(path, dataset, charge, tmp_path, is_shared):
    ledger, shared = SQLiteLedger(path), tmp_path / "shared"
    ledger.register(dataset())
    if is_shared:
        ledger.share_anchors(shared, reason=REASON)
    charge(ledger)
    ledger.backup(tmp_path / "copy")
    for _ in range(3):
        charge(ledger)
    move_aside(path)
    if is_shared:
        shutil.rmtree(shared)
    ledger.close()
    shutil.copy(tmp_path / "copy", path)
    with SQLiteLedger(path) as copy:
        if is_shared:
            copy.share_anchors(tmp_path / "another", reason=REASON, lost=True)
        else:
            with pytest.raises(LedgerError, match=re.escape(faults.BEHIND)):
                charge(copy)
        assert copy.recover(reason=REASON)
        assert tenths(copy) == 4


def test_what_was_anchored_while_the_ledger_was_away_stops_nothing_once_it_is_back(path, dataset, charge):
    ledger = SQLiteLedger(path)
    ledger.register(dataset())
    for _ in range(3):
        charge(ledger)
    aside = move_aside(path)
    for _ in range(3):
        ledger.anchor_memory()
    ledger.close()
    for each in aside.iterdir():
        each.rename(path.parent / each.name)
    with SQLiteLedger(path) as back:
        assert [each.sequence for each in anchors_at_home(back)] == [1, 4]
        charge(back)
        assert clean(back)
        assert tenths(back) == 4


@pytest.mark.guarantee("ledger")
@pytest.mark.pitfall("D")
@pytest.mark.parametrize("fault", [faults.BEHIND, faults.UNLISTED_KEY], ids=["home", "home without acts"])
def test_a_running_process_does_not_charge_where_the_ledger_has_as_many_other_acts_on_keys(
    path, dataset, charge, discreet_home, tmp_path, fault
):
    """The ledger is put back as it was before its key was rotated, and another machine takes it over."""
    with SQLiteLedger(path) as running:
        running.register(dataset())
        Signer.rotate(discreet_home / "signing.key")
        SQLiteLedger(path).close()
        charge(running)
        with tampering(str(path)) as hand:
            hand.execute("DELETE FROM keys WHERE sequence = 2")
        with SQLiteLedger(path, key=tmp_path / "key", anchors=tmp_path / "anchors") as other:
            other.take_over(reason=REASON)
        if fault == faults.UNLISTED_KEY:
            for acts in discreet_home.rglob("*.acts"):
                acts.unlink()
        for _ in range(2):
            with pytest.raises(LedgerError, match=re.escape(fault)):
                charge(running)
    with SQLiteLedger(path, key=tmp_path / "key", anchors=tmp_path / "anchors") as other:
        charge(other)
