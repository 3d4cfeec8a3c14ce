"""Machines, each with a key and a home of its own, share one ledger: no copy that is put back forgets a charge."""

import random
import re
import shutil
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from fractions import Fraction
from pathlib import Path

import psycopg
import pytest

from discreet.accounting.costs import NOTHING
from discreet.errors import LedgerError
from discreet.ledger import Ledger, PostgresLedger, Signer
from discreet.ledger.records import faults
from ledger.test_older_copies import _dumped, _restored
from servers import OWNER, SERVICE, PostgresServer
from tampering import Place, clean, new_database, tenths

WHY = {"reason": "a test"}
CENT = Fraction(1, 100)


class Cluster:
    """Machines with listed keys over one ledger in PostgreSQL; the first one owns it."""

    def __init__(self, place: Place, homes: Path, shared: str, machines: int) -> None:
        self.place, self._homes, self._closing = place, homes, ExitStack()
        PostgresLedger.create(place.owner, role=SERVICE, **self._home(0), shared_anchors=shared)
        for number in range(1, machines):
            self.list_machine(number)

    def list_machine(self, number: int) -> None:
        """An owner's act."""
        public = Signer.at(self._home(number)["key"]).public
        with PostgresLedger(self.place.owner, as_owner=True, **self._home(0)) as owner:
            owner.list_key(public, name=f"machine {number}", **WHY)

    def open(self, number: int, **options: object) -> Ledger:
        """The ledger as a machine opens it."""
        return self._closing.enter_context(PostgresLedger(self.place.service, **self._home(number), **options))

    def recover(self, **evidence: object) -> None:
        """A recovery where the owner's key is, by the role that owns the database."""
        with PostgresLedger(self.place.owner, as_owner=True, **self._home(0)) as owner:
            assert owner.recover(reason="a restore", **evidence)

    def empty_home(self, number: int) -> None:
        """Lose all that a machine knew, but for its key."""
        shutil.rmtree(self._home(number)["anchors"], ignore_errors=True)

    def close(self) -> None:
        self._closing.close()

    def _home(self, number: int) -> dict[str, Path]:
        home = self._homes / f"machine-{number}"
        home.mkdir(exist_ok=True)
        return {"key": home / "key", "anchors": home / "anchors"}


@pytest.fixture
def cluster(ledger_server: PostgresServer, tmp_path: Path) -> Iterator[Callable[..., Cluster]]:
    with ExitStack() as closing:

        def made(machines: int, shared: str = "") -> Cluster:
            place = new_database(ledger_server, "cluster")
            found = Cluster(place, tmp_path, shared or str(tmp_path / "shared"), machines)
            closing.callback(found.close)
            return found

        yield made


@pytest.fixture
def anchor_database(ledger_server: PostgresServer) -> Place:
    """A database for anchors alone, in which both roles may write."""
    place = new_database(ledger_server, "anchors")
    with psycopg.connect(place.tamperer, autocommit=True) as connection:
        connection.execute(f"CREATE SCHEMA discreet_anchors AUTHORIZATION {OWNER}".encode())
        connection.execute(f"GRANT USAGE ON SCHEMA discreet_anchors TO {SERVICE}".encode())
        grants = (
            f"ALTER DEFAULT PRIVILEGES FOR ROLE {OWNER} IN SCHEMA discreet_anchors GRANT ALL ON TABLES TO {SERVICE}"
        )
        connection.execute(grants.encode())
    return place


def refuses(act: Callable[[], object], *sentences: str) -> None:
    with pytest.raises(LedgerError) as caught:
        act()
    assert str(caught.value) in sentences


@pytest.mark.guarantee("ledger")
@pytest.mark.pitfall("B18")
@pytest.mark.full
@pytest.mark.parametrize("machines", [2, 5])
@pytest.mark.parametrize("moment", range(20))
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
    dump = _dumped(group.place.tamperer)
    later = chance.randrange(0, 6)
    for _ in range(later):
        spend(chance.randrange(machines))
    true = tenths(opened[0])
    _restored(group.place.tamperer, dump)
    for number in range(machines):
        group.empty_home(number)
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


@pytest.mark.pitfall("B18")
def test_a_fresh_container_charges_nothing_before_and_after_a_restore(cluster, dataset, charge):
    group = cluster(2)
    first = group.open(1)
    first.register(dataset())
    dump = _dumped(group.place.tamperer)
    charge(first)
    refuses(lambda: charge(group.open(7)), faults.UNLISTED_KEY)
    _restored(group.place.tamperer, dump)
    refuses(lambda: charge(group.open(8)), faults.UNLISTED_KEY, faults.BEHIND)


@pytest.mark.guarantee("ledger")
@pytest.mark.pitfall("B18")
def test_a_key_that_was_listed_after_the_dump_was_taken_is_put_back_by_the_recovery(cluster, dataset, charge):
    group = cluster(2)
    group.open(0).register(dataset())
    dump = _dumped(group.place.tamperer)
    group.list_machine(2)
    charge(group.open(2))
    _restored(group.place.tamperer, dump)
    group.empty_home(0)
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
    dump = _dumped(group.place.tamperer)
    with PostgresLedger(group.place.owner, as_owner=True, **group._home(0)) as owner:
        owner.revoke_key(stolen.listed_keys()[2].key, **WHY)
    _restored(group.place.tamperer, dump)
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
    dump = _dumped(group.place.tamperer)
    group.list_machine(1)
    other = group.open(1)
    receipts = [charge(other, epsilon=CENT) for _ in range(25)]
    _restored(group.place.tamperer, dump)
    shutil.rmtree(tmp_path / "shared")
    for number in (0, 1):
        group.empty_home(number)
    refuses(lambda: charge(group.open(0)), faults.OTHER_ANCHORS)
    with PostgresLedger(group.place.owner, as_owner=True, **group._home(0)) as owner:
        owner.share_anchors(tmp_path / "another", **WHY)
        assert owner.recover(reason="a restore", receipts=receipts)
        assert tenths(owner) == 25 * CENT * 10
    assert charge(group.open(0), epsilon=CENT).sequence > receipts[-1].sequence
    refuses(lambda: charge(group.open(1)), faults.UNLISTED_KEY)


@pytest.mark.parametrize("number", [0, 1])
def test_an_empty_directory_in_the_place_of_the_shared_anchors_is_refused(cluster, dataset, charge, tmp_path, number):
    group = cluster(2)
    group.open(number).register(dataset())
    shutil.rmtree(tmp_path / "shared")
    refuses(lambda: charge(group.open(number)), faults.OTHER_ANCHORS)
    (tmp_path / "shared").mkdir()
    refuses(lambda: charge(group.open(number)), faults.OTHER_ANCHORS)
    assert group.open(number).spent("visits") == NOTHING


def test_a_charge_whose_anchor_cannot_be_written_is_not_answered(cluster, dataset, charge, tmp_path):
    group = cluster(2)
    ledger = group.open(1)
    ledger.register(dataset())
    (tmp_path / "shared").rename(tmp_path / "unmounted")
    refuses(lambda: charge(ledger), faults.NO_SHARED_ANCHORS)
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
    refuses(lambda: group.open(1).register(dataset()), faults.NO_SHARED_ANCHORS)  # the ledger keeps no password
    monkeypatch.setenv("DISCREET_ANCHORS", anchor_database.service)
    ledger = group.open(1)
    ledger.register(dataset())
    charge(ledger)
    dump = _dumped(group.place.tamperer)
    charge(ledger)
    _restored(group.place.tamperer, dump)
    group.empty_home(0)
    refuses(lambda: charge(group.open(0)), faults.BEHIND)
    group.recover()
    assert tenths(group.open(0)) == 2


def test_anchors_in_a_database_with_a_ledger_are_refused(cluster, ledger_server):
    place = new_database(ledger_server, "both")
    with pytest.raises(LedgerError, match="in a database with a ledger"):
        PostgresLedger.create(place.owner, role=SERVICE, shared_anchors=place.owner)


def test_the_ledger_keeps_no_password_of_the_anchors(cluster, anchor_database, monkeypatch):
    monkeypatch.setenv("DISCREET_ANCHORS", anchor_database.service)
    group = cluster(1, shared=anchor_database.owner)
    password = re.search(r":([0-9a-f]{32})@", anchor_database.owner)[1]
    with psycopg.connect(group.place.tamperer) as connection:
        (documents,) = connection.execute("SELECT string_agg(document, '') FROM discreet.keys").fetchone()
    assert "ANCHORED" in documents
    assert password not in documents
