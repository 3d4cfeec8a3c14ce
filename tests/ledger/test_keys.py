"""Only a process with a key that the ledger lists may charge; listing and revoking are acts of the owner."""

import re
import shutil
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from fractions import Fraction

import psycopg
import pytest

from discreet import events
from discreet.accounting.filters import Budget
from discreet.errors import LedgerError, NameNotFoundError, ParameterError
from discreet.ledger import DatasetCharge, PostgresLedger, Signer, SQLiteLedger
from discreet.ledger.records import faults
from discreet.ledger.stores import postgres_schema
from processes import wait_for
from servers import SERVICE, STEWARD
from tampering import tampering

WHY = {"reason": "a test"}
WAITS = "SELECT 1 FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()"


@pytest.fixture
def owner(address, ledger_server, another):
    """The ledger as its owner opens it: on PostgreSQL by the role that owns the database."""
    if not address.startswith("postgresql:"):
        yield another()
        return
    with PostgresLedger(ledger_server.owner_url, as_owner=True) as opened:
        yield opened


@pytest.fixture
def machine(another, tmp_path):
    """The ledger as another machine opens it, which has a home of its own."""

    def opened(name="pod", **options):
        home = tmp_path / name
        home.mkdir(exist_ok=True)
        return another(key=home / "key", anchors=home / "anchors", **options)

    return opened


@pytest.fixture
def public(tmp_path):
    def of(name="pod"):
        (tmp_path / name).mkdir(exist_ok=True)
        return Signer.at(tmp_path / name / "key").public

    return of


def refused(act, sentence):
    with pytest.raises(LedgerError) as caught:
        act()
    assert str(caught.value) == sentence


@pytest.mark.guarantee("ledger")
@pytest.mark.pitfall("B18")
def test_a_machine_whose_key_is_not_listed_changes_nothing_and_reads_what_is_there(visits, machine, charge, dataset):
    receipt = charge(visits)
    visits.answer(receipt, b"12")
    fresh = machine()
    for act in (
        lambda: charge(fresh),
        lambda: fresh.register(dataset(name="other")),
        lambda: fresh.set_cap("visits", Budget(epsilon=2), **WHY),
        lambda: fresh.set_quota("visits", "ann", None, **WHY),
        lambda: fresh.rename("visits", "stays", **WHY),
        lambda: fresh.add_other_release("visits", "ages in tens", kind="generalised"),
        lambda: fresh.recover(**WHY),
    ):
        refused(act, faults.UNLISTED_KEY)
    assert fresh.spent("visits") == visits.spent("visits")
    assert len(fresh.history("visits")) == len(visits.history("visits"))
    assert fresh.verify()


def test_a_stored_answer_is_repeated_for_a_key_that_is_not_listed_and_its_receipt_is_not_signed(visits, machine, turn):
    visits.answer(turn(visits), b"12")
    again = turn(machine())
    assert again.payload == b"12"
    assert again.receipt.key is None
    assert again.receipt.verify()


def test_a_key_may_charge_from_the_moment_that_it_is_listed_until_it_is_revoked(
    visits, owner, machine, public, charge, tmp_path
):
    pod = machine()
    refused(lambda: charge(pod), faults.UNLISTED_KEY)
    owner.share_anchors(tmp_path / "shared", **WHY)
    listed = owner.list_key(public(), name="pod", **WHY)
    assert listed.name == "pod"
    receipt = charge(pod)
    assert visits.verify(receipts=[receipt])
    charge(visits)
    assert owner.revoke_key(listed.key, **WHY).is_revoked
    refused(lambda: charge(pod), faults.REVOKED_KEY)
    charge(visits)
    assert visits.verify(receipts=[receipt])
    assert [each.is_revoked for each in visits.listed_keys()] == [False, True]


@pytest.mark.guarantee("ledger")
@pytest.mark.pitfall("B18")
@pytest.mark.parametrize("what", ["the key is revoked", "the dataset is halted"])
def test_a_charge_that_waits_for_the_dataset_counts_what_is_committed_meanwhile(
    postgres_address, ledger_server, tmp_path, dataset, charge, public, what
):
    key = public()
    with (
        PostgresLedger(ledger_server.owner_url, as_owner=True) as owner,
        PostgresLedger(postgres_address, key=tmp_path / "pod" / "key", anchors=tmp_path / "pod" / "anchors") as pod,
        psycopg.connect(ledger_server.superuser_url) as holder,
        psycopg.connect(ledger_server.superuser_url, autocommit=True) as hand,
        ThreadPoolExecutor() as threads,
    ):
        owner.share_anchors(tmp_path / "shared", **WHY)
        listed = owner.list_key(key, name="pod", **WHY)
        owner.register(dataset())
        charge(pod)
        holder.execute("SELECT 1 FROM discreet.datasets FOR UPDATE")
        waiting = threads.submit(charge, pod)
        wait_for(lambda: hand.execute(WAITS).fetchone(), 20, lambda: "nobody waits")
        if what == "the key is revoked":
            owner.revoke_key(listed.key, **WHY)
        else:
            hand.execute("INSERT INTO discreet.halts VALUES ('1', 'visits', '', 'a test', NULL)")
        holder.rollback()
        refused(waiting.result, faults.REVOKED_KEY if "revoked" in what else faults.HALTED)
        assert owner.spent("visits").epsilon == owner.history("visits")[1].cost.epsilon


@pytest.fixture
def waiting(cluster, dataset, ledger_server):
    """Runs an act that waits for the row of dataset 'b' and for registrations, and something else meanwhile."""
    group = cluster(2)
    for name in ("a", "b"):
        group.open(0).register(dataset(name=name, source=f"{name}.csv"))

    def run(act, meanwhile):
        with (
            psycopg.connect(group.place.tamperer) as holder,
            psycopg.connect(group.place.tamperer, autocommit=True) as hand,
            ThreadPoolExecutor() as threads,
        ):
            holder.execute("SELECT 1 FROM discreet.datasets WHERE name = 'b' FOR UPDATE")
            holder.execute("SELECT pg_advisory_xact_lock(%s)", (postgres_schema.LOCK + 1,))
            found = threads.submit(act, group.open(1))
            wait_for(lambda: hand.execute(WAITS).fetchone(), 20, lambda: "nobody waits")
            meanwhile(group, hand)
            holder.rollback()
            return found.result

    return run


@pytest.mark.guarantee("ledger")
@pytest.mark.pitfall("B18")
@pytest.mark.full
def test_a_charge_to_two_datasets_counts_a_halt_of_the_first_while_it_waits_for_the_second(waiting):
    def charge_both(ledger):
        event = events.PureEvent(Fraction(1, 10))
        parts = [DatasetCharge(name=name, version=1, event=event) for name in ("a", "b")]
        return ledger.charge_together(parts, analyst="ann", question="aa", description="{}")

    def halt(_, hand):
        hand.execute("INSERT INTO discreet.halts VALUES ('1', 'a', '', 'a test', NULL)")

    refused(waiting(charge_both, halt), faults.HALTED)


ACTS = {
    "set_cap": lambda ledger, _: ledger.set_cap("b", Budget(epsilon=9), **WHY),
    "register": lambda ledger, dataset: ledger.register(dataset(name="c", source="c.csv")),
}


@pytest.mark.guarantee("ledger")
@pytest.mark.pitfall("B18")
@pytest.mark.full
@pytest.mark.parametrize("act", ACTS)
def test_an_act_of_the_owner_that_waits_while_its_key_is_revoked_changes_nothing(waiting, dataset, act):
    def revoke(group, _):
        with group.open_as_owner() as owner:
            owner.revoke_key(owner.listed_keys()[1].key, **WHY)

    refused(waiting(lambda ledger: ACTS[act](ledger, dataset), revoke), faults.REVOKED_KEY)


@pytest.mark.pitfall("B18")
def test_several_keys_without_anchors_that_they_share_charge_nothing(visits, owner, machine, public, charge, tmp_path):
    """Ledgers of versions that did not refuse the second key may have them."""
    owner._write_act(owner._owner_act("LISTED", public(), name="pod", **WHY))
    for ledger in (visits, machine()):
        refused(lambda each=ledger: charge(each), faults.UNSHARED_ANCHORS)
    owner.share_anchors(tmp_path / "shared", **WHY)
    for ledger in (visits, machine()):
        charge(ledger)


@pytest.mark.pitfall("B18")
def test_a_second_key_is_refused_before_the_ledger_names_shared_anchors(
    visits, owner, machine, public, charge, tmp_path
):
    with pytest.raises(ParameterError, match="names no shared anchors") as caught:
        owner.list_key(public(), name="pod", **WHY)
    assert "share-anchors PLACE" in caught.value.instead
    assert len(owner.listed_keys()) == 1
    charge(visits)
    own = owner.listed_keys()[0]
    assert owner.list_key(own.public, name="again", **WHY).is_owner
    owner.share_anchors(tmp_path / "shared", **WHY)
    owner.list_key(public(), name="pod", **WHY)
    for ledger in (visits, machine()):
        charge(ledger)


def test_only_the_owner_lists_and_revokes_keys_and_names_anchors(visits, owner, machine, public, charge, tmp_path):
    owner.share_anchors(tmp_path / "shared", **WHY)
    owner.list_key(public(), name="pod", **WHY)
    pod = machine()
    charge(pod)
    for act in (
        lambda: pod.list_key(public("eve"), name="eve", **WHY),
        lambda: pod.share_anchors(tmp_path / "elsewhere", **WHY),
        lambda: pod.revoke_key(Signer.at(tmp_path / "pod" / "key").key, **WHY),
    ):
        refused(act, faults.NOT_THE_OWNER)
    assert not (tmp_path / "elsewhere").exists()


def test_a_key_that_is_none_or_that_is_not_listed_or_is_the_owners_is_refused(owner, visits):
    with pytest.raises(ParameterError, match="begins with 'ed25519:'"):
        owner.list_key("5a1b2c3d", name="pod", **WHY)
    with pytest.raises(NameNotFoundError, match="does not list it"):
        owner.revoke_key("5a1b2c3d", **WHY)
    (own,) = owner.listed_keys()
    with pytest.raises(NameNotFoundError, match="the owner's own"):
        owner.revoke_key(own.key, **WHY)


@pytest.mark.guarantee("ledger")
def test_a_revoked_key_is_neither_listed_nor_revoked_again(visits, owner, public, tmp_path):
    owner.share_anchors(tmp_path / "shared", **WHY)
    pod = owner.list_key(public(), name="pod", **WHY)
    owner.revoke_key(pod.key, **WHY)
    with pytest.raises(ParameterError, match="a revoked key never charges again") as caught:
        owner.list_key(pod.public, name="pod", **WHY)
    assert caught.value.instead.startswith("discreet ledger key rotate on its machine")
    with pytest.raises(NameNotFoundError, match="revoked already"):
        owner.revoke_key(pod.key, **WHY)
    assert owner.listed_keys()[1].is_revoked


def test_an_anchor_that_would_not_count_is_refused(visits, owner, machine, public, charge, tmp_path):
    owner.share_anchors(tmp_path / "shared", **WHY)
    owner.list_key(public(), name="pod", **WHY)
    pod, stranger = machine(), machine("stranger")
    pod.anchor()
    refused(stranger.anchor, faults.UNLISTED_KEY)
    (tmp_path / "shared").rename(tmp_path / "unmounted")
    for ledger in (visits, pod, machine()):
        with pytest.raises(LedgerError) as caught:
            ledger.anchor()
        assert str(caught.value) in faults.WITHOUT_SHARED_ANCHORS
    (tmp_path / "unmounted").rename(tmp_path / "shared")
    pod.anchor()


def test_a_ledger_in_memory_has_no_keys(dataset, charge):
    with SQLiteLedger(":memory:") as ledger:
        ledger.register(dataset())
        charge(ledger)
        assert ledger.listed_keys() == ()


# The owner's key


def test_the_owners_key_is_rotated_and_what_runs_goes_on(path, dataset, charge, discreet_home):
    with SQLiteLedger(path) as running:
        running.register(dataset())
        charge(running)
        Signer.rotate(discreet_home / "signing.key")
        Signer.rotate(discreet_home / "signing.key")
        with SQLiteLedger(path) as ledger:
            charge(ledger)
        receipt = charge(running)
        assert receipt.key == Signer.at(discreet_home / "signing.key").key
        assert [each.is_revoked for each in running.listed_keys()] == [True, False]
        assert running.verify(receipts=[receipt])


def test_a_lost_owners_key_is_replaced_by_a_takeover_that_the_ledger_keeps(visits, owner, machine, charge):
    charge(visits)
    found = machine()
    found.take_over(reason="the disk was lost")
    charge(found)
    refused(lambda: charge(visits), faults.REVOKED_KEY)
    assert found.listed_keys()[-1].is_owner
    with pytest.raises(ParameterError, match="reason"):
        owner.take_over(reason=" ")


def test_the_role_of_the_owner_charges_nothing(address, owner, visits, charge):
    if address.startswith("postgresql:"):
        refused(lambda: charge(owner), faults.TOO_MANY_RIGHTS)


# Damage


@pytest.mark.guarantee("ledger")
@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE keys SET document = replace(document, 'owner', 'other') WHERE sequence = 1",
        "DELETE FROM keys WHERE sequence = 1",
        "INSERT INTO keys SELECT max(sequence) + 1, min(document) FROM keys",
    ],
)
def test_acts_that_were_changed_are_found_and_nobody_charges(
    visits, owner, public, tamperer, charge, tmp_path, statement
):
    owner.share_anchors(tmp_path / "shared", **WHY)
    owner.list_key(public(), name="pod", **WHY)
    with tampering(tamperer) as hand:
        hand.execute(statement)
    refused(lambda: charge(visits), faults.DAMAGED_KEYS)
    assert faults.DAMAGED_KEYS in str(visits.verify())


@pytest.mark.pitfall("B18")
def test_acts_that_were_all_deleted_make_no_other_machine_the_owner(visits, charge, machine, tamperer, address):
    charge(visits)
    visits.close()
    with tampering(tamperer) as hand:
        hand.execute("DELETE FROM keys")
    stranger = machine()
    refused(lambda: charge(stranger), faults.UNOWNED)


# Ledgers of earlier versions


def test_the_machine_whose_anchors_stand_in_a_migrated_ledger_becomes_its_owner(path, dataset, charge, tamper, another):
    if not str(another().__class__.__name__).startswith("SQLite"):
        pytest.skip("the role of the service writes no acts on PostgreSQL")
    with SQLiteLedger(path) as ledger:
        ledger.register(dataset())
        charge(ledger)
    with tampering(str(path)) as hand:
        hand.execute("DELETE FROM keys")
    with SQLiteLedger(path) as ledger:
        charge(ledger)
        assert [each.is_owner for each in ledger.listed_keys()] == [True]


def test_a_copy_on_another_machine_does_not_charge(path, dataset, charge, tmp_path):
    with SQLiteLedger(path) as ledger:
        ledger.register(dataset())
        charge(ledger)
    shutil.copy(path, tmp_path / "copy.sqlite")
    with closing(SQLiteLedger(tmp_path / "copy.sqlite", key=tmp_path / "key", anchors=tmp_path / "none")) as copy:
        refused(lambda: charge(copy), faults.UNLISTED_KEY)


def test_creating_it_again_by_another_machine_changes_no_owner(postgres_address, ledger_server, tmp_path):
    with PostgresLedger(postgres_address) as ledger:
        before = ledger.listed_keys()
        PostgresLedger.create(
            ledger_server.owner_url, role=SERVICE, steward=STEWARD, key=tmp_path / "key", anchors=tmp_path / "none"
        )
        assert ledger.listed_keys() == before


def test_no_sentence_about_keys_names_a_key(visits, machine, charge, tmp_path):
    with pytest.raises(LedgerError) as caught:
        charge(machine())
    assert not re.search(r"[0-9a-f]{16}", str(caught.value))
