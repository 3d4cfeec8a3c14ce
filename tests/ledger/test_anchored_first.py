"""With shared anchors nobody gets a charge or an answer that machines do not know of: a restore would draw it again."""

import os
import shutil
import signal
import time
from fractions import Fraction

import psycopg
import pytest

from discreet.errors import LedgerError
from discreet.ledger import PostgresLedger
from discreet.ledger.records import faults
from discreet.ledger.stores import postgres
from homes import shared_anchors
from tampering import dump_of, put_back_dump, tenths

WHY = {"reason": "a test"}
SHORT = {"lease": 0.5}

pytestmark = [pytest.mark.full, pytest.mark.guarantee("ledger"), pytest.mark.pitfall("B18")]


@pytest.fixture
def machines(cluster, dataset):
    """Two machines over a ledger with a dataset."""
    group = cluster(2)
    group.open(0).register(dataset())
    return group


def refuses(act, sentence):
    with pytest.raises(LedgerError) as caught:
        act()
    assert str(caught.value) == sentence


def lose_homes(group) -> None:
    """What containers do: nothing is left of a home but its key."""
    for number in (0, 1):
        group.empty(number)


def highest(ledger) -> int:
    return max(anchor.sequence for anchor in shared_anchors(ledger))


def test_an_answer_is_not_stored_while_the_shared_anchors_are_away(machines, turn, tmp_path):
    one = machines.open_as_service(0)
    asked = turn(one)
    (tmp_path / "shared").rename(tmp_path / "away")
    refuses(lambda: one.answer(asked, b"12"), faults.NO_ANCHOR_DIRECTORY)
    (tmp_path / "away").rename(tmp_path / "shared")
    assert str(one.state(asked.receipt)) == "RESERVED"
    assert one.answer(asked, b"12") == b"12"


def test_an_answer_that_could_not_be_anchored_is_given_to_nobody_before_it_is(machines, turn, tmp_path):
    """The shared anchors go between its COMMIT and its anchor."""
    one, other = machines.open_as_service(0), machines.open_as_service(1)
    asked = turn(one)
    see = one._detector.anchor_if_due

    def unmount(positions):
        (tmp_path / "shared").rename(tmp_path / "away")
        see(positions)

    one._detector.anchor_if_due = unmount
    refuses(lambda: one.answer(asked, b"12"), faults.NO_ANCHOR_DIRECTORY)
    refuses(lambda: turn(other), faults.NO_ANCHOR_DIRECTORY)
    (tmp_path / "away").rename(tmp_path / "shared")
    before = highest(other)
    assert other.stored_answer("visits", asked.receipt.question) is None
    assert turn(other).payload == b"12"
    assert highest(other) == before + 1
    assert other.stored_answer("visits", asked.receipt.question) == b"12"


def test_a_repeated_answer_is_anchored_if_its_writer_was_killed(machines, turn):
    one, other = machines.open_as_service(0), machines.open_as_service(1)
    asked = turn(one)
    dump = dump_of(machines.place.tamperer)
    child = os.fork()
    if child == 0:
        worker = PostgresLedger(machines.place.service, **machines.home(0))
        worker._detector.anchor_if_due = lambda _: os.kill(os.getpid(), signal.SIGKILL)  # after COMMIT
        worker.answer(asked, b"12")
    assert os.waitpid(child, 0)[1] == signal.SIGKILL
    assert turn(other).payload == b"12"
    put_back_dump(machines.place.tamperer, dump)
    lose_homes(machines)
    refuses(lambda: turn(machines.open_as_service(0)), faults.BEHIND)


def test_what_was_committed_without_a_reply_is_anchored_before_it_is_given(machines, turn, monkeypatch):
    """The connection is lost after each COMMIT, of the charge and of the answer."""
    one = machines.open_as_service(0)
    dump = dump_of(machines.place.tamperer)
    commit = postgres._run_and_commit
    lose = []

    def lost(connection, work, mark, *, is_steward=False):
        result = commit(connection, work, mark, is_steward=is_steward)
        if lose:
            lose.clear()
            connection.close()
            raise postgres.UnknownOutcomeError
        return result

    monkeypatch.setattr(postgres, "_run_and_commit", lost)
    lose.append(True)
    asked = turn(one, fresh=True)
    assert highest(one) == 2
    lose.append(True)
    assert one.answer(asked, b"12") == b"12"
    assert highest(one) == 3
    one._detector.close_without_anchoring()  # killed: nothing more is anchored
    put_back_dump(machines.place.tamperer, dump)
    lose_homes(machines)
    again = machines.open_as_service(1)
    refuses(lambda: turn(again, question="bb"), faults.BEHIND)
    machines.recover()
    assert tenths(again) == 1


def test_a_worker_that_slept_stores_no_answer_in_an_older_copy(machines, turn):
    slow, quick = machines.open_as_service(0, **SHORT), machines.open_as_service(1, **SHORT)
    asleep = turn(slow)
    dump = dump_of(machines.place.tamperer)
    time.sleep(0.6)
    assert quick.answer(turn(quick), b"first") == b"first"
    put_back_dump(machines.place.tamperer, dump)
    refuses(lambda: slow.answer(asleep, b"second"), faults.BEHIND)
    refuses(lambda: slow.forfeit(asleep, "timeout"), faults.BEHIND)
    with machines.open_as_service(1) as other:
        assert other.stored_answer("visits", asleep.receipt.question) is None
        assert [str(entry.kind) for entry in other.history("visits")] == ["REGISTERED", "RESERVED"]


@pytest.mark.parametrize("what", ["answer", "charge"])
def test_work_under_way_is_anchored_in_the_store_that_the_owner_names_meanwhile(machines, turn, tmp_path, what):
    worker = machines.open_as_service(0)
    asked = turn(worker) if what == "answer" else None
    with machines.open_as_owner() as owner:
        owner.share_anchors(tmp_path / "second", **WHY)
    dump = dump_of(machines.place.tamperer)
    if asked is None:
        turn(worker)
    else:
        worker.answer(asked, b"12")
    put_back_dump(machines.place.tamperer, dump)
    lose_homes(machines)
    refuses(lambda: turn(machines.open_as_service(1), question="bb"), faults.BEHIND)


def test_a_charge_is_anchored_in_a_store_that_is_named_between_its_commit_and_its_anchor(
    machines, turn, tmp_path, monkeypatch
):
    worker = machines.open_as_service(0)
    turn(worker, question="aa")
    append = worker._detector._append

    def name_another_store(*given):
        monkeypatch.undo()
        with machines.open_as_owner() as owner:
            owner._detector.anchor = lambda _: None  # killed before it anchors what is there in the new store
            owner.share_anchors(tmp_path / "second", **WHY)
        append(*given)

    monkeypatch.setattr(worker._detector, "_append", name_another_store)
    turn(worker, question="bb")
    assert highest(machines.open_as_service(1)) == 3
    turn(worker, question="cc")
    assert highest(machines.open_as_service(1)) == 4


def test_who_cannot_anchor_gets_no_answer_that_is_not_anchored(machines, turn, tmp_path):
    """A machine whose key is not listed repeats what others anchored, and nothing else."""
    one = machines.open_as_service(0)
    asked = turn(one)
    one._detector.anchor_if_due = lambda _: None  # killed before it anchors
    one.answer(asked, b"12")
    home = tmp_path / "stranger"
    home.mkdir()
    stranger = {"key": home / "key", "anchors": home / "anchors"}
    with PostgresLedger(machines.place.service, **stranger) as other:
        refuses(lambda: turn(other), faults.UNLISTED_KEY)
        assert turn(machines.open_as_service(1)).payload == b"12"
        assert turn(other).payload == b"12"


def test_an_answer_of_another_history_is_given_to_nobody(machines, turn):
    """The chain that nobody was told of ends as late as the one that took its place, and is put back."""
    one = machines.open_as_service(0, **SHORT)
    asked = turn(one)
    older = dump_of(machines.place.tamperer)
    one._detector.anchor_if_due = lambda _: None  # killed before it anchors
    one.answer(asked, b"first")
    crashed = dump_of(machines.place.tamperer)
    put_back_dump(machines.place.tamperer, older)
    time.sleep(0.6)
    with machines.open_as_service(1, **SHORT) as two:
        assert two.answer(turn(two), b"second") == b"second"
    put_back_dump(machines.place.tamperer, crashed)
    for number in (0, 1):
        again = machines.open_as_service(number)
        refuses(lambda again=again: turn(again), faults.BEHIND)
        assert again.stored_answer("visits", asked.receipt.question) is None


def test_an_answer_is_given_to_nobody_where_the_store_that_was_named_meanwhile_is_out_of_reach(
    machines, turn, tmp_path
):
    worker = machines.open_as_service(1)
    asked = turn(worker)
    check = worker._check_work
    (tmp_path / "parent").mkdir()

    def name_another_store(writer):
        check(writer)
        worker._check_work = check
        with machines.open_as_owner() as owner:
            owner.share_anchors(tmp_path / "parent" / "second", **WHY)
        (tmp_path / "parent").rename(tmp_path / "away")

    worker._check_work = name_another_store
    with pytest.raises(LedgerError) as caught:
        worker.answer(asked, b"12")
    assert str(caught.value) in faults.WITHOUT_SHARED_ANCHORS
    (tmp_path / "away").rename(tmp_path / "parent")
    assert machines.open_as_service(1).answer(asked, b"another") == b"12"


def test_a_position_that_is_no_event_is_never_anchored(machines, turn):
    """Whoever may change the row of a dataset writes a number there; a session that waits reads it."""
    session = machines.open_as_service(1)
    turn(session)
    before = shared_anchors(session)
    dump = dump_of(machines.place.tamperer)
    with psycopg.connect(machines.place.service) as connection:
        connection.execute("UPDATE discreet.datasets SET sequence = 4503599627370501, head = 'x'")
    refuses(lambda: turn(session, patience=0.0), faults.DAMAGED)
    assert shared_anchors(session) == before
    put_back_dump(machines.place.tamperer, dump)
    turn(machines.open_as_service(0), question="bb")


# Recoveries


@pytest.fixture
def lost(cluster, dataset, turn, tmp_path):
    """Two datasets of which one was charged to 0.9; the ledger is an older copy, anchors and homes are lost."""
    group = cluster(2)
    for name in ("a", "b"):
        group.open(0).register(dataset(name=name, source=f"{name}.csv"))
    dump = dump_of(group.place.tamperer)
    with group.open_as_service(1) as ledger:
        receipt = turn(ledger, name="b", epsilon=0.9).receipt
    group.close()
    put_back_dump(group.place.tamperer, dump)
    shutil.rmtree(tmp_path / "shared")
    lose_homes(group)
    with group.open_as_owner() as owner:
        owner.share_anchors(tmp_path / "second", **WHY, lost=True)
    return group, receipt


def test_another_store_is_named_where_the_owners_home_knows_what_was_lost(cluster, dataset, charge, tmp_path):
    """The shared anchors and the database are lost together; the dump is older than an act on keys and charges."""
    group = cluster(1)
    group.open(0).register(dataset())
    dump = dump_of(group.place.tamperer)
    group.list_machine(1)
    with group.open(0) as owner:
        charge(owner)
        charge(owner)
    with group.open_as_service(1) as other:
        receipt = charge(other)
    group.close()
    shutil.rmtree(tmp_path / "shared")
    put_back_dump(group.place.tamperer, dump)
    with group.open_as_owner() as owner:
        refuses(lambda: owner.recover(**WHY, receipts=[receipt]), faults.NO_ANCHOR_DIRECTORY)
        owner.share_anchors(tmp_path / "second", **WHY, lost=True)
        for number in (0, 1):  # each writes to the new store what it knows
            refuses(lambda number=number: charge(group.open_as_service(number)), faults.BEHIND)
        assert owner.recover(**WHY, receipts=[receipt])
        assert tenths(owner) == 3
    assert charge(group.open_as_service(1))


def test_no_dataset_serves_before_the_recovery_of_all_has_ended(lost, turn, monkeypatch):
    from discreet.ledger.integrity import recovery  # noqa: PLC0415 - the one step that is replaced

    group, receipt = lost
    recover, refused = recovery.recover, []

    def charge_meanwhile(writer, proof):
        if proof.name == "b":
            refuses(lambda: turn(group.open_as_service(1), name="b", epsilon=0.9), faults.HALTED)
            refused.append(proof.name)
        return recover(writer, proof)

    monkeypatch.setattr(recovery, "recover", charge_meanwhile)
    group.recover(receipts=[receipt])
    assert refused == ["b"]
    again = group.open_as_service(1)
    assert again.stopped_datasets() == {}
    assert again.spent("b").epsilon == 9 * 10**11


def test_a_recovery_that_was_killed_between_two_datasets_leaves_all_halted(lost, turn, monkeypatch):
    from discreet.ledger.integrity import recovery  # noqa: PLC0415 - the one step that is replaced

    group, receipt = lost
    child = os.fork()
    if child == 0:
        recover = recovery.recover

        def killed(writer, proof):
            if proof.name == "b":
                os.kill(os.getpid(), signal.SIGKILL)
            return recover(writer, proof)

        recovery.recover = killed
        group.recover(receipts=[receipt])
    assert os.waitpid(child, 0)[1] == signal.SIGKILL
    refuses(lambda: turn(group.open_as_service(1), name="b", epsilon=0.9), faults.HALTED)
    group.recover(receipts=[receipt])
    assert group.open_as_service(1).spent("b").epsilon == 9 * 10**11
    turn(group.open_as_service(1), name="a")


def test_two_histories_that_were_both_seen_add_up(ledger_server, cluster, dataset, charge):
    """A process that runs on saw the lost charges; the older copy was charged before anybody noticed."""
    group = cluster(1)
    with group.open(0) as ledger:
        ledger.register(dataset())
    group.close()
    running = PostgresLedger(group.place.service, **group.home(0))
    _forget_shared_anchors(running)
    charge(running)
    dump = dump_of(group.place.tamperer)
    for _ in range(3):
        charge(running)
    put_back_dump(group.place.tamperer, dump)
    with PostgresLedger(group.place.service, **group.home(0)) as unaware:
        _forget_shared_anchors(unaware)
        charge(unaware)
        charge(unaware)
    running.close()
    group.recover()
    assert tenths(group.open(0)) == 1 + 3 + 2


def _forget_shared_anchors(ledger) -> None:
    """What a process does that has no shared anchors: it anchors now and then, at home."""
    ledger._detector.drop_shared_anchors()


@pytest.fixture
def three(cluster, dataset, charge, tmp_path):
    """Three machines over a ledger, with a dump and a copy of the shared anchors, both from before the first charge."""
    group = cluster(3)
    with group.open(0) as ledger:
        ledger.register(dataset())
    group.empty(0)
    shutil.copytree(tmp_path / "shared", tmp_path / "older")
    return group, dump_of(group.place.tamperer)


def put_back_both(group, dump, directory) -> None:
    put_back_dump(group.place.tamperer, dump)
    shutil.rmtree(directory / "shared")
    shutil.copytree(directory / "older", directory / "shared")


def test_histories_of_two_machines_that_have_one_number_add_up(three, charge, tmp_path):
    """Ledger and shared anchors are put back together, twice; each of two homes knows of another history."""
    group, dump = three
    for number in (1, 2):
        with group.open_as_service(number) as ledger:
            charge(ledger, epsilon=Fraction(4, 10))
        put_back_both(group, dump, tmp_path)
    group.open_as_service(1)
    group.open_as_service(2)
    group.recover()
    assert tenths(group.open_as_service(1)) == 8


def test_histories_that_were_anchored_in_two_lost_stores_add_up(three, charge, tmp_path):
    """Ledger and shared anchors are lost twice; the machine that knows of the first history was away the first time."""
    group, dump = three

    def lose_all(store, lost):
        group.empty(0)
        put_back_dump(group.place.tamperer, dump)
        shutil.rmtree(tmp_path / lost)
        with group.open_as_owner() as owner:
            owner.share_anchors(tmp_path / store, **WHY, lost=True)

    with group.open_as_service(1) as ledger:
        charge(ledger, epsilon=Fraction(3, 10))
    lose_all("second", "shared")
    group.recover()
    with group.open_as_service(2) as ledger:
        charge(ledger, epsilon=Fraction(4, 10))
    lose_all("third", "second")
    group.open_as_service(1)
    group.open_as_service(2)
    group.recover()
    assert tenths(group.open_as_service(1)) == 7


def test_a_recovery_leaves_the_evidence_of_another_home_with_the_same_key(three, charge, tmp_path):
    """Replicas may share one key; what one of them wrote says nothing about what another one knows."""
    group, dump = three
    for name in ("key", "key.public"):
        shutil.copy(group.directory / "home-1" / name, group.directory / "home-2" / name)
    with group.open_as_service(1) as ledger:
        charge(ledger, epsilon=Fraction(1, 10))
    put_back_both(group, dump, tmp_path)
    with group.open_as_service(2) as ledger:
        for _ in range(3):
            charge(ledger, epsilon=Fraction(1, 10))
    put_back_dump(group.place.tamperer, dump)
    group.recover()
    refuses(lambda: charge(group.open_as_service(1)), faults.BEHIND)
    group.recover()
    assert tenths(group.open_as_service(1)) == 3 + 1


def test_one_lost_history_that_two_machines_know_of_is_counted_once(three, charge, tmp_path):
    """Ledger and shared anchors are put back together; both homes know of it, each up to its own last charge."""
    group, dump = three
    for number in (1, 2):
        with group.open_as_service(number) as ledger:
            charge(ledger, epsilon=Fraction(4, 10))
    put_back_both(group, dump, tmp_path)
    group.open_as_service(1)
    group.open_as_service(2)
    group.recover()
    assert tenths(group.open_as_service(1)) == 8
