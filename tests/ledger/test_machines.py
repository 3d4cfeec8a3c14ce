"""Machines, each with a key and a home of its own, share one ledger: no copy that is put back forgets a charge."""

import random
import re
import shutil
from collections.abc import Callable
from contextlib import ExitStack
from fractions import Fraction
from pathlib import Path

import psycopg
import pytest

from discreet.accounting.costs import NOTHING
from discreet.accounting.filters import Budget
from discreet.errors import LedgerError
from discreet.ledger import Ledger, PostgresLedger, Signer
from discreet.ledger.records import faults
from ledger.conftest import Cluster
from servers import SERVICE, STEWARD
from tampering import TABLES, clean, dump_of, new_database, put_back_dump, tenths

WHY = {"reason": "a test"}
CENT = Fraction(1, 100)
MOMENTS = [pytest.param(moment, marks=[pytest.mark.nightly] if moment >= 6 else []) for moment in range(20)]


def put_back_with_the_shared_anchors(group: Cluster, dump: str, directory: Path) -> None:
    """An older copy of the ledger, and with it one of the shared anchors."""
    put_back_dump(group.place.tamperer, dump)
    shutil.rmtree(directory / "shared")
    shutil.copytree(directory / "older", directory / "shared")


def refuses(act: Callable[[], object], *sentences: str) -> None:
    with pytest.raises(LedgerError) as caught:
        act()
    assert str(caught.value) in sentences


@pytest.mark.guarantee("ledger")
@pytest.mark.pitfall("B18")
@pytest.mark.full
@pytest.mark.parametrize("machines", [2, 5])
@pytest.mark.parametrize("moment", MOMENTS)
def test_a_dump_of_any_moment_that_is_restored_forgets_no_charge(cluster, dataset, charge, machines, moment):
    """Nobody holds a receipt, and the machines that charged last have lost their homes."""
    chance = random.Random(f"{machines} machines, moment {moment}")  # noqa: S311 - which machine acts, not noise
    group = cluster(machines)
    opened = [group.open(number) for number in range(machines)]
    opened[0].register(dataset())

    def spend(number: int) -> None:
        receipt = charge(opened[number], epsilon=CENT, question=f"{chance.getrandbits(128):032x}")
        if chance.random() < 0.5:
            opened[number].answer(receipt, b"12")

    for _ in range(chance.randrange(1, 12)):
        spend(chance.randrange(machines))
    dump = dump_of(group.place.tamperer)
    later = chance.randrange(0, 6)
    for _ in range(later):
        spend(chance.randrange(machines))
    true = tenths(opened[0])
    put_back_dump(group.place.tamperer, dump)
    for number in range(machines):
        group.empty(number)
    again = [group.open(number) for number in range(machines)]
    if later:
        for ledger in again:
            refuses(lambda each=ledger: charge(each, epsilon=CENT), faults.BEHIND)
        group.recover()
    assert tenths(again[0]) == true
    for place, ledger in enumerate(again, start=1):
        charge(ledger, epsilon=CENT)
        assert tenths(ledger) == true + place * CENT * 10
    assert clean(again[-1])


@pytest.mark.guarantee("ledger")
@pytest.mark.pitfall("B18")
@pytest.mark.full
@pytest.mark.parametrize("moment", range(4))
def test_machines_that_kept_their_homes_go_on_after_the_recovery_of_one(cluster, dataset, charge, moment):
    """What they anchored and verified of the lost history was counted once, and is not counted again."""
    machines = 5
    chance = random.Random(f"{machines} homes, moment {moment}")  # noqa: S311 - which machine acts, not noise
    group = cluster(machines)
    running = [group.open(number) for number in range(machines)]
    running[0].register(dataset())

    def spend() -> None:
        with ExitStack() as closing:
            number = chance.randrange(machines)
            ledger = running[number] if chance.random() < 0.5 else closing.enter_context(group.open(number))
            charge(ledger, epsilon=CENT)
            assert chance.random() < 0.5 or ledger.verify()

    for _ in range(chance.randrange(1, 6)):
        spend()
    dump = dump_of(group.place.tamperer)
    for _ in range(chance.randrange(1, 8)):
        spend()
    true = tenths(running[0])
    put_back_dump(group.place.tamperer, dump)
    group.recover()
    for place, ledger in enumerate([*map(group.open, range(machines)), *running], start=1):
        assert ledger.verify()
        charge(ledger, epsilon=CENT)
        assert tenths(ledger) == true + place * CENT * 10
    group.recover()
    with group.open(1) as other:
        assert other.recover(reason="once more")
    assert clean(running[0])
    assert tenths(running[0]) == true + 2 * machines * CENT * 10


@pytest.mark.guarantee("ledger")
@pytest.mark.pitfall("B18")
def test_an_anchor_beyond_what_a_recovery_counted_still_refuses_on_the_machine_that_has_it(
    cluster, dataset, charge, tmp_path
):
    """The shared store was put back from an older copy with the database: the other machine's home knows more."""
    group = cluster(2)
    first = group.open(0)
    first.register(dataset())
    charge(first)
    dump = dump_of(group.place.tamperer)
    charge(first)
    shutil.copytree(tmp_path / "shared", tmp_path / "older")
    for _ in range(2):
        with group.open(1) as again:
            charge(again)
    true = tenths(first)
    put_back_with_the_shared_anchors(group, dump, tmp_path)
    group.empty(0)
    group.recover()
    refuses(lambda: charge(group.open(1)), faults.BEHIND)
    with group.open(1) as knowing:
        assert knowing.recover(reason="a restore")
        assert tenths(knowing) >= true


@pytest.mark.guarantee("ledger")
@pytest.mark.pitfall("B18")
def test_a_recovery_from_an_older_copy_of_the_shared_anchors_leaves_other_homes_their_evidence(
    cluster, dataset, charge, tmp_path
):
    """Ledger and shared anchors are put back together, charged, and the ledger is put back once more."""
    group = cluster(2)
    first = group.open(0)
    first.register(dataset())
    charge(first, epsilon=CENT)
    dump = dump_of(group.place.tamperer)
    shutil.copytree(tmp_path / "shared", tmp_path / "older")
    with group.open(1) as other:
        receipts = [charge(other, epsilon=CENT) for _ in range(3)]
        assert other.verify()
    put_back_with_the_shared_anchors(group, dump, tmp_path)
    first.close()
    group.empty(0)
    with group.open(0) as again:
        for _ in range(6):
            charge(again, epsilon=CENT)
    put_back_dump(group.place.tamperer, dump)
    group.recover()
    refuses(lambda: charge(group.open(1), epsilon=CENT), faults.BEHIND)
    with group.open(1) as knowing:
        assert not knowing.verify(receipts=receipts)
        assert knowing.recover(reason="a restore", receipts=receipts)
        assert tenths(knowing) == (1 + 6 + 3) * CENT * 10


@pytest.mark.guarantee("ledger")
@pytest.mark.pitfall("B18")
@pytest.mark.parametrize("kind", ["directory", "database"])
def test_a_charge_that_follows_a_restore_at_once_is_refused(
    cluster, dataset, charge, anchor_database, monkeypatch, kind
):
    """Such as a failover to a replica that lags; nothing that was read before it counts."""
    if kind == "database":
        monkeypatch.setenv("DISCREET_ANCHORS", anchor_database.owner)
    group = cluster(2, shared=anchor_database.owner if kind == "database" else "")
    if kind == "database":
        monkeypatch.setenv("DISCREET_ANCHORS", anchor_database.service)
    first, other = group.open(0), group.open(1)
    first.register(dataset())
    dump = dump_of(group.place.tamperer)
    put_back_dump(group.place.tamperer, dump)
    charge(first, question="aa")
    dump = dump_of(group.place.tamperer)
    charge(other, question="bb")
    put_back_dump(group.place.tamperer, dump)
    refuses(lambda: charge(first, question="cc"), faults.BEHIND)


@pytest.mark.guarantee("ledger")
@pytest.mark.pitfall("B18")
def test_what_a_process_saw_is_compared_though_later_anchors_of_others_are_in_the_chain(
    cluster, dataset, charge, tmp_path
):
    """The anchor of its charge was deleted from the shared store, and others went on from an older copy."""
    group = cluster(2)
    first, other = group.open(0), group.open(1)
    first.register(dataset())
    charge(first)
    dump = dump_of(group.place.tamperer)
    documents = set((tmp_path / "shared").rglob("*.json"))
    charge(other)
    put_back_dump(group.place.tamperer, dump)
    for document in set((tmp_path / "shared").rglob("*.json")) - documents:
        document.unlink()
    first.close()
    group.empty(0)
    with group.open(0) as again:
        for _ in range(3):
            charge(again)
    refuses(lambda: charge(other), faults.BEHIND)


@pytest.mark.pitfall("B18")
def test_a_fresh_container_charges_nothing_before_and_after_a_restore(cluster, dataset, charge):
    group = cluster(2)
    first = group.open(1)
    first.register(dataset())
    dump = dump_of(group.place.tamperer)
    charge(first)
    refuses(lambda: charge(group.open(7)), faults.UNLISTED_KEY)
    put_back_dump(group.place.tamperer, dump)
    refuses(lambda: charge(group.open(8)), faults.UNLISTED_KEY, faults.BEHIND)


@pytest.mark.guarantee("ledger")
@pytest.mark.pitfall("B18")
def test_a_key_that_was_listed_after_the_dump_was_taken_is_put_back_by_the_recovery(cluster, dataset, charge):
    group = cluster(2)
    group.open(0).register(dataset())
    dump = dump_of(group.place.tamperer)
    group.list_machine(2)
    charge(group.open(2))
    put_back_dump(group.place.tamperer, dump)
    group.empty(0)
    refuses(lambda: charge(group.open(0)), faults.BEHIND)
    group.recover()
    late = group.open(2)
    assert tenths(late) == 1
    charge(late)
    assert clean(late)


@pytest.mark.guarantee("ledger")
@pytest.mark.pitfall("B18")
def test_a_revocation_after_the_dump_was_taken_is_not_undone_by_the_restore(cluster, dataset, charge):
    group = cluster(3)
    group.open(0).register(dataset())
    stolen = group.open(2)
    charge(stolen)
    dump = dump_of(group.place.tamperer)
    with group.open_as_owner() as owner:
        owner.revoke_key(stolen.listed_keys()[2].key, **WHY)
    put_back_dump(group.place.tamperer, dump)
    refuses(lambda: charge(group.open(2)), faults.BEHIND)
    group.recover()
    refuses(lambda: charge(group.open(2)), faults.REVOKED_KEY)
    charge(group.open(1))


@pytest.mark.guarantee("ledger")
@pytest.mark.pitfall("B18")
def test_receipts_alone_tell_what_was_spent_where_the_shared_anchors_are_lost_too(cluster, dataset, charge, tmp_path):
    """The receipts are of a key that the restored copy does not list: their certificate is what convinces it."""
    group = cluster(1)
    group.open(0).register(dataset())
    dump = dump_of(group.place.tamperer)
    group.list_machine(1)
    other = group.open(1)
    receipts = [charge(other, epsilon=CENT) for _ in range(25)]
    put_back_dump(group.place.tamperer, dump)
    shutil.rmtree(tmp_path / "shared")
    for number in (0, 1):
        group.empty(number)
    refuses(lambda: charge(group.open(0)), faults.NO_ANCHOR_DIRECTORY)
    with group.open_as_owner() as owner:
        owner.share_anchors(tmp_path / "another", **WHY, lost=True)
        assert owner.recover(reason="a restore", receipts=receipts)
        assert tenths(owner) == 25 * CENT * 10
    assert charge(group.open(0), epsilon=CENT).sequence > receipts[-1].sequence
    refuses(lambda: charge(group.open(1)), faults.UNLISTED_KEY)


@pytest.mark.parametrize("number", [0, 1])
def test_an_empty_directory_in_the_place_of_the_shared_anchors_is_refused(cluster, dataset, charge, tmp_path, number):
    group = cluster(2)
    group.open(number).register(dataset())
    shutil.rmtree(tmp_path / "shared")
    refuses(lambda: charge(group.open(number)), faults.NO_ANCHOR_DIRECTORY)
    (tmp_path / "shared").mkdir()
    refuses(lambda: charge(group.open(number)), faults.OTHER_ANCHORS)
    assert group.open(number).spent("visits") == NOTHING


def test_a_charge_whose_anchor_cannot_be_written_is_not_answered(cluster, dataset, charge, tmp_path):
    group = cluster(2)
    ledger = group.open(1)
    ledger.register(dataset())
    (tmp_path / "shared").rename(tmp_path / "unmounted")
    refuses(lambda: charge(ledger), faults.NO_ANCHOR_DIRECTORY)
    (tmp_path / "unmounted").rename(tmp_path / "shared")
    charge(ledger)


@pytest.mark.guarantee("ledger")
@pytest.mark.pitfall("B18")
def test_a_second_database_keeps_the_anchors_as_a_directory_does(
    cluster, dataset, charge, anchor_database, monkeypatch
):
    monkeypatch.setenv("DISCREET_ANCHORS", anchor_database.owner)
    group = cluster(2, shared=anchor_database.owner)
    monkeypatch.delenv("DISCREET_ANCHORS")
    refuses(
        lambda: group.open(1).register(dataset()), faults.of_anchor_database(faults.NOT_AUTHENTICATED)
    )  # the ledger keeps no password
    monkeypatch.setenv("DISCREET_ANCHORS", anchor_database.service)
    ledger = group.open(1)
    ledger.register(dataset())
    charge(ledger)
    dump = dump_of(group.place.tamperer)
    charge(ledger)
    put_back_dump(group.place.tamperer, dump)
    group.empty(0)
    refuses(lambda: charge(group.open(0)), faults.BEHIND)
    group.recover()
    assert tenths(group.open(0)) == 2


def test_anchors_in_a_database_with_a_ledger_are_refused(cluster, ledger_server):
    place = new_database(ledger_server, "both")
    with pytest.raises(LedgerError, match="in a database with a ledger"):
        PostgresLedger.create(place.owner, role=SERVICE, steward=STEWARD, shared_anchors=place.owner)
    with psycopg.connect(place.tamperer) as connection:
        assert connection.execute("SELECT to_regnamespace('discreet') IS NULL").fetchone() == (True,)


def test_no_ledger_is_made_in_the_database_of_shared_anchors(cluster, anchor_database, monkeypatch):
    monkeypatch.setenv("DISCREET_ANCHORS", anchor_database.service)
    cluster(1, shared=anchor_database.owner)
    monkeypatch.delenv("DISCREET_ANCHORS")
    refuses(
        lambda: PostgresLedger.create(anchor_database.owner, role=SERVICE, steward=STEWARD), faults.DATABASE_OF_ANCHORS
    )
    with psycopg.connect(anchor_database.tamperer) as connection:
        assert connection.execute("SELECT to_regnamespace('discreet') IS NULL").fetchone() == (True,)


@pytest.mark.pitfall("B18")
def test_anchors_that_came_into_the_database_of_the_ledger_serve_nobody(
    cluster, dataset, charge, anchor_database, monkeypatch
):
    """As a restore of both into one database would: its next older copy would be noticed by nobody."""
    monkeypatch.setenv("DISCREET_ANCHORS", anchor_database.owner)
    group = cluster(1, shared=anchor_database.owner)
    group.open(0).register(dataset())
    with psycopg.connect(anchor_database.tamperer, autocommit=True) as connection:
        connection.execute("CREATE SCHEMA discreet; CREATE TABLE discreet.ledger (id TEXT)")
    refuses(lambda: charge(group.open(0)), faults.SAME_DATABASE)


def test_the_ledger_keeps_no_password_of_the_anchors(cluster, anchor_database, monkeypatch):
    monkeypatch.setenv("DISCREET_ANCHORS", anchor_database.service)
    group = cluster(1, shared=anchor_database.owner)
    password = re.search(r":([0-9a-f]{32})@", anchor_database.owner)[1]
    with psycopg.connect(group.place.tamperer) as connection:
        (documents,) = connection.execute("SELECT string_agg(document, '') FROM discreet.keys").fetchone()
    assert "ANCHORED" in documents
    assert password not in documents


# Acts of the owner by a role that may not write them

ACTS: dict[str, Callable[[Ledger, Path], object]] = {
    "listing": lambda ledger, _: ledger.list_key(Signer.in_memory().public, name="third", **WHY),
    "revoking": lambda ledger, _: ledger.revoke_key(ledger.listed_keys()[1].key, **WHY),
    "naming another store": lambda ledger, place: ledger.share_anchors(place / "another", **WHY),
    "naming the same store": lambda ledger, place: ledger.share_anchors(place / "shared", **WHY),
    "taking over": lambda ledger, _: ledger.take_over(**WHY),
    "recovering": lambda ledger, _: ledger.recover(**WHY),
    "a cap": lambda ledger, _: ledger.set_cap("visits", Budget(epsilon=2), **WHY),
    "a quota": lambda ledger, _: ledger.set_quota("visits", "ann", failures=7, **WHY),
    "a name": lambda ledger, _: ledger.rename("visits", "stays", **WHY),
}


def _everything(group: Cluster, shared: Path) -> tuple[dict[str, list[tuple]], dict[Path, bytes]]:
    """The rows of the ledger and the files of the shared anchors."""
    files = {path: path.read_bytes() for path in sorted(shared.parent.glob("*/*/*.json"))}
    with psycopg.connect(group.place.tamperer) as connection:
        rows = {
            table: connection.execute(f"SELECT * FROM discreet.{table} ORDER BY 1, 2".encode()).fetchall()
            for table in TABLES
            if table != "ledger"
        }
    return rows, {path: content for path, content in files.items() if shared in path.parents or "other" in str(path)}


@pytest.fixture
def acting(cluster, dataset, charge, tmp_path):
    """Two machines, and the owner's key in the hands of the service's role, which may charge and no more."""
    group = cluster(2)
    group.open(0).register(dataset())
    charge(group.open(1))
    return group, group.open_as_service(0)


@pytest.mark.guarantee("ledger")
@pytest.mark.pitfall("B18")
@pytest.mark.parametrize("act", ACTS)
def test_an_act_that_the_database_refuses_writes_nothing_anywhere_and_stops_nobody(acting, charge, tmp_path, act):
    group, service = acting
    with service:
        before = _everything(group, tmp_path / "shared")
        refuses(lambda: ACTS[act](service, tmp_path), faults.NOT_A_STEWARD)
        assert _everything(group, tmp_path / "shared") == before
        assert not (tmp_path / "another").exists()
        charge(service)
    charge(group.open(1))
    with group.open_as_owner() as owner:
        acts = owner._key.register.acts
        assert owner.recover(**WHY)
        assert owner._key.register.acts == acts
        assert clean(owner)


@pytest.mark.guarantee("ledger")
@pytest.mark.pitfall("B18")
def test_a_service_halts_and_recovers_nothing_where_the_shared_anchors_are_lost_or_ahead(acting, charge, tmp_path):
    group, service = acting
    with service:
        (tmp_path / "shared").rename(tmp_path / "other")
        for name in ("naming another store", "recovering"):
            before = _everything(group, tmp_path / "other")
            refuses(lambda name=name: ACTS[name](service, tmp_path), faults.NOT_A_STEWARD)
            assert _everything(group, tmp_path / "other") == before
        (tmp_path / "other").rename(tmp_path / "shared")
    dump = dump_of(group.place.tamperer)
    with group.open_as_owner() as owner:
        owner.revoke_key(owner.listed_keys()[1].key, **WHY)
    put_back_dump(group.place.tamperer, dump)
    with group.open_as_service(0) as service:
        before = _everything(group, tmp_path / "shared")
        refuses(lambda: ACTS["recovering"](service, tmp_path), faults.NOT_A_STEWARD)
        assert _everything(group, tmp_path / "shared") == before
    group.recover()
    refuses(lambda: charge(group.open(1)), faults.REVOKED_KEY)


@pytest.mark.pitfall("B18")
def test_an_act_that_loses_a_race_is_taken_back_from_the_former_store(acting, charge, tmp_path):
    """Another process of the owner writes an act after this one has read them, and before it writes its own."""
    group, _ = acting
    with (
        group.open_as_owner() as one,
        group.open_as_owner() as other,
    ):
        act = one._owner_act("ANCHORED", "0" * 32, name=str(tmp_path / "another"), reason="a test")
        other.list_key(Signer.in_memory().public, name="third", **WHY)
        with pytest.raises(LedgerError):
            one._write_certified_act(act, is_lost=False)
    charge(group.open(1))
    assert clean(group.open(1))
