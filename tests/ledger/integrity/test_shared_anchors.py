"""Machines share their anchors by documents, one for each process; whoever merges them loses none."""

import json
import multiprocessing
import os
import signal
import time
from contextlib import closing
from dataclasses import replace

import psycopg
import pytest

from discreet.accounting.costs import Cost
from discreet.errors import LedgerError
from discreet.ledger.integrity import shared_anchors
from discreet.ledger.integrity.anchors import Anchor
from discreet.ledger.integrity.shared_anchors import DOCUMENTS_TO_MERGE, MOST_HOMES, SharedAnchors, store_document
from discreet.ledger.records import faults
from discreet.ledger.records.key_acts import ActKind, KeyRegister
from discreet.ledger.records.signatures import Signer
from discreet.ledger.stores.anchor_database import AnchorDatabase
from discreet.ledger.stores.anchor_directory import AnchorDirectory
from processes import wait_for

OWNER, STRANGER = Signer.in_memory(), Signer.in_memory()
LEDGER, STORE = "ab" * 16, "cd" * 16


def all_settled(anchors):
    return {each.head for each in anchors}


def anchor(sequence=1, history="", **changes):
    usual = {"ledger": LEDGER, "dataset": "visits", "head": f"{history}{sequence:064x}", "budget": {}, "time": ""}
    return Anchor(sequence=sequence, spent=Cost(sequence, sequence, 0, sequence), **(usual | changes))


@pytest.fixture
def register():
    register = KeyRegister(LEDGER)
    return register.then(register.next_act(OWNER, ActKind.OWNED, OWNER.public, name="owner", reason="a test"))


@pytest.fixture(params=["directory", pytest.param("postgres", marks=pytest.mark.full)])
def opened_store(request, tmp_path):
    """A store of each kind; called, it is opened once more."""
    if request.param == "directory":
        made = AnchorDirectory(tmp_path, LEDGER)
        made.create(store_document(LEDGER, STORE))
        yield lambda: made
        return
    server = request.getfixturevalue("ledger_server")
    address = server.superuser_url.rpartition("/")[0] + "/anchors_of_tests"
    with psycopg.connect(server.superuser_url, autocommit=True) as connection:
        connection.execute("CREATE DATABASE anchors_of_tests")
    opened = []

    def again():
        opened.append(AnchorDatabase(address, LEDGER))
        return opened[-1]

    again().create(store_document(LEDGER, STORE))
    yield again
    for each in opened:
        each.close()
    with psycopg.connect(server.superuser_url, autocommit=True) as connection:
        connection.execute("DROP DATABASE anchors_of_tests WITH (FORCE)")


@pytest.fixture
def writer(opened_store, register):
    def opened(signer=OWNER, known=None, store_id=STORE):
        def publics(certificate):
            found = known or register
            return found.publics | found.certified_keys(certificate)

        return SharedAnchors(opened_store(), ledger=LEDGER, store_id=store_id, signer=signer, publics=publics)

    return opened


class TestSharing:
    def test_what_one_process_anchors_every_other_reads(self, writer):
        one, other = writer(), writer()
        one.record([anchor(3), anchor(1, dataset="stays")])
        assert {name: each.sequence for name, each in other.latest().items()} == {"visits": 3, "stays": 1}
        other.record([anchor(5)])
        assert one.latest()["visits"].sequence == 5
        assert one.largest_totals()["visits"] == Cost(5, 5, 0, 5)
        assert writer().latest() == one.latest()

    def test_an_anchor_that_comes_late_does_not_replace_a_higher_one(self, writer):
        one = writer()
        one.record([anchor(6)])
        one.record([anchor(5)])
        assert writer().latest()["visits"].sequence == 6

    def test_an_anchor_of_a_lost_history_stays_beside_the_present_one(self, writer):
        one = writer()
        one.record([anchor(5)])
        one.add_lost_anchors([anchor(7, history="f")])
        one.record([anchor(9)])
        assert [each.sequence for each in writer().every()] == [7, 9]
        assert [each.sequence for each in writer().unknown_anchors(lambda each: each.sequence == 9)] == [7]

    def test_what_was_read_stays_known_where_its_document_is_deleted(self, writer, opened_store):
        one, other = writer(), writer()
        one.record([anchor(4)])
        assert other.latest()["visits"].sequence == 4
        for name in opened_store().documents():
            opened_store().drop(name)
        assert other.latest()["visits"].sequence == 4

    def test_acts_are_in_every_document(self, writer, register):
        one = writer()
        one.certify((), [act.to_json() for act in register.acts])
        assert writer().chains_of_acts() == [tuple(act.to_json() for act in register.acts)]


class TestTrust:
    @pytest.mark.guarantee("ledger")
    @pytest.mark.pitfall("B18")
    def test_an_anchor_of_a_key_that_was_listed_later_counts_by_its_certificate(self, writer, register):
        pod = Signer.in_memory()
        later = register.then(register.next_act(OWNER, ActKind.LISTED, pod.public, name="pod", reason="a test"))
        by_pod = writer(pod, later)
        by_pod.certify(later.certificate(pod.key), [act.to_json() for act in later.acts])
        by_pod.record([anchor(8)])
        assert writer(known=register).latest()["visits"].sequence == 8

    def test_an_anchor_that_no_key_of_the_ledger_signed_is_told_and_counts_for_nothing(self, writer):
        writer(STRANGER).record([anchor(8)])
        reader = writer()
        assert reader.latest() == {}
        (finding,) = reader.findings()
        assert finding.endswith("has anchors that no known key signed")

    @pytest.mark.parametrize("content", ["", "[]", "{}", "[" * 10_000, json.dumps({"format": shared_anchors.FORMAT})])
    def test_a_document_that_is_none_is_told_and_counts_for_nothing(self, writer, opened_store, content):
        opened_store().write(f"{OWNER.key}-00", content)
        reader = writer()
        assert reader.latest() == {}
        (finding,) = reader.findings()
        assert finding.endswith("cannot be read")

    def test_anchors_of_another_ledger_count_for_nothing(self, writer):
        writer().record([anchor(8, ledger="ef" * 16)])
        assert writer().latest() == {}

    @pytest.mark.pitfall("B18")
    def test_another_store_is_refused(self, writer):
        with pytest.raises(LedgerError) as caught:
            writer(store_id="0" * 32)
        assert str(caught.value) == faults.OTHER_ANCHORS


class TestMerging:
    def test_many_documents_become_one_and_say_the_same(self, writer, opened_store):
        for number in range(1, 30):
            writer().record([anchor(number)])
        lost = writer()
        lost.add_lost_anchors([anchor(40, history="f")])
        last = writer()
        last.record([anchor(30)])
        last.merge(lambda anchors: {each.head for each in anchors} - {anchor(40, history="f").head})
        assert len(opened_store().documents()) == 2  # its anchors, and the acts on keys
        assert [each.sequence for each in writer().every()] == [30, 40]

    @pytest.mark.pitfall("B18")
    def test_the_highest_anchor_of_each_key_outlives_merges_and_those_who_wrote_it(
        self, writer, register, opened_store
    ):
        """A recovery records it, and the home of that key goes on."""
        pod = Signer.in_memory()
        later = register.then(register.next_act(OWNER, ActKind.LISTED, pod.public, name="pod", reason="a test"))
        acts = [act.to_json() for act in later.acts]
        for number in range(1, 12):
            for signer, sequence in ((pod, number), (OWNER, 20 + number)):
                each = writer(signer, later)
                each.certify(later.certificate(signer.key), acts)
                each.record([anchor(sequence)])
        for number in range(2):
            last = writer(known=later)
            last.merge(all_settled)
            last.record([anchor(40 + number)])
        assert writer(known=register).ends() == {"visits": {pod.key: 11, OWNER.key: 41}}
        assert len(opened_store().documents()) < 8

    @pytest.mark.pitfall("B18")
    def test_the_highest_anchor_of_each_home_outlives_merges_where_homes_share_a_key(self, writer):
        for number in range(1, 2 + DOCUMENTS_TO_MERGE):
            writer().record([anchor(number, home=f"home {number % 2}")])
        last = writer()
        last.merge(all_settled)
        last.record([anchor(40, home="home 1")])
        assert writer().ends() == {"visits": {f"{OWNER.key}/home 0": 16, f"{OWNER.key}/home 1": 40}}

    def test_of_many_homes_of_one_key_the_latest_stay(self, writer):
        """Containers come with a new home each time."""
        for number in range(1, 8 + MOST_HOMES):
            writer().record([anchor(number, home=f"home {number}")])
        writer().merge(all_settled)
        ends = writer().ends()["visits"]
        assert sorted(ends.values()) == list(range(8, 8 + MOST_HOMES))

    def test_few_documents_stay(self, writer, opened_store):
        for number in range(1, DOCUMENTS_TO_MERGE):
            writer().record([anchor(number)])
        before = opened_store().documents()
        writer().merge(all_settled)
        assert opened_store().documents() == before

    def test_a_writer_whose_document_was_merged_goes_on(self, writer):
        writers = [writer() for _ in range(20)]
        for number, each in enumerate(writers, start=1):
            each.record([anchor(number)])
        writer().merge(all_settled)
        writers[3].record([anchor(50)])
        assert writer().latest()["visits"].sequence == 50

    @pytest.mark.pitfall("D")
    @pytest.mark.full
    def test_processes_that_merge_while_others_write_and_are_killed_lose_no_anchor(self, tmp_path, register):
        """Each process anchors one number after another, and notes each when it is written."""
        made = AnchorDirectory(tmp_path, LEDGER)
        made.create(store_document(LEDGER, STORE))
        context = multiprocessing.get_context("fork")
        crowd = [context.Process(target=_write, args=(tmp_path, register, number)) for number in range(6)]
        for each in crowd:
            each.start()
        files = [tmp_path / f"{number}.noted" for number in range(6)]
        has_begun = lambda: all(file.exists() and file.read_text().endswith("\n") for file in files)  # noqa: E731
        wait_for(has_begun, 60, lambda: "a process anchored nothing")
        for each in crowd[:3]:
            time.sleep(0.2)
            os.kill(each.pid, signal.SIGKILL)
        for each in crowd:
            each.join(60)
        noted = {path.stem: int(path.read_text().split()[-1]) for path in tmp_path.glob("*.noted")}
        with closing(_anchors(tmp_path, register)) as reader:
            held = {name: each.sequence for name, each in reader.latest().items()}
        assert len(noted) == 6
        assert all(held[name] >= sequence for name, sequence in noted.items())


def _anchors(directory, register):
    opened = AnchorDirectory(directory, LEDGER)
    return SharedAnchors(opened, ledger=LEDGER, store_id=STORE, signer=OWNER, publics=lambda _: register.publics)


def _write(directory, register, number):
    with (directory / f"{number}.noted").open("a") as noted:
        for turn in range(1, 61):
            each = _anchors(directory, register)
            each.record([anchor(turn, dataset=str(number), head=f"{number:02}{turn:062}")])
            print(turn, file=noted, flush=True)
            each.merge(all_settled)
    os._exit(0)


def test_an_anchor_is_verified_once(writer, monkeypatch):
    one, other = writer(), writer()
    one.record([anchor(1)])
    other.latest()
    calls = []
    verify = Anchor.verify
    monkeypatch.setattr(Anchor, "verify", lambda self, public: calls.append(self.sequence) or verify(self, public))
    one.record([anchor(2), replace(anchor(1), dataset="stays", head="aa")])
    other.latest()
    assert 1 not in [each for each in calls if each == 1][1:]
    assert set(calls) <= {1, 2}
