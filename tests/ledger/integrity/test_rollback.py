"""Anchors are written in time, on top of each other, and what is behind one is refused."""

import json
import re
from fractions import Fraction
from pathlib import Path

import pytest

from discreet.errors import LedgerError
from discreet.ledger import Ledger, PostgresLedger, SQLiteLedger
from discreet.ledger.integrity import anchors
from discreet.ledger.integrity.anchors import Anchor
from discreet.ledger.records import faults
from tampering import roll_back, tampering

CROWD = """
import faulthandler, os, sys, threading
from fractions import Fraction
from discreet import Budget, events
from discreet.ledger import Dataset, SQLiteLedger
from discreet.ledger.integrity import anchors

faulthandler.dump_traceback_later(90, exit=True)
anchors.MOST_LINES = 3
with SQLiteLedger(sys.argv[1]) as ledger:
    ledger.register(Dataset(name="visits", source="v.csv", unit="one p", facts="{}", budget=Budget(epsilon=1)))
    ledger._detector._every = 1

    def charge():
        for _ in range(30):
            event, question = events.PureEvent(Fraction(1, 1000)), os.urandom(16).hex()
            ledger.charge("visits", version=1, analyst="ann", event=event, question=question, description="{}")

    threads = [threading.Thread(target=charge) for _ in range(8)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    print(ledger.spent("visits").epsilon // 10**9, ledger.verify().ok)
"""


def file_of(ledger: Ledger) -> Path:
    return ledger._detector._directory / f"{ledger._detector._ledger}.jsonl"


def anchored(ledger: Ledger) -> list[int]:
    """The events that were anchored, in the order of the file."""
    return [json.loads(line)["sequence"] for line in file_of(ledger).read_text().splitlines()]


def test_the_first_event_that_a_process_sees_is_anchored_and_then_one_of_so_many(sqlite_ledger, dataset, charge):
    sqlite_ledger.register(dataset())
    for _ in range(25):
        charge(sqlite_ledger, epsilon=Fraction(1, 100))
    assert anchored(sqlite_ledger) == [1, 11, 21]


def test_of_postgresql_one_event_in_a_hundred_is_anchored(postgres_address):
    with PostgresLedger(postgres_address) as ledger:
        assert ledger._detector._every == 100
        assert ledger._detector._seconds == 60


def test_an_event_that_comes_long_after_the_last_anchor_is_anchored(visits, charge):
    charge(visits)
    assert anchored(visits) == [1]
    visits._detector._seconds = 0
    charge(visits)
    assert anchored(visits) == [1, 3]


def test_closing_anchors_what_was_seen_since_and_nothing_twice(visits, another, charge):
    charge(visits)
    visits.close()
    assert anchored(visits) == [1, 2]
    other = another()
    other.spent("visits")
    other.close()
    assert anchored(visits) == [1, 2]


def test_closing_anchors_at_home_also_where_machines_share_anchors(visits, another, charge, tmp_path):
    """The shared anchors may be lost: what a machine knows of lost charges stands in its home."""
    visits.share_anchors(tmp_path / "shared", reason="a test")
    for _ in range(4):
        charge(visits)
    visits.close()
    assert another()._detector.anchors_at_home()["visits"].sequence == 5


def test_anchoring_on_request_is_for_every_dataset(visits, dataset, charge):
    visits.register(dataset(name="stays"))
    charge(visits)
    visits.anchor()
    told = [json.loads(line) for line in file_of(visits).read_text().splitlines()]
    assert {(each["dataset"], each["sequence"]) for each in told[-2:]} == {("stays", 1), ("visits", 2)}


def test_an_anchor_tells_where_the_chain_stands_under_which_promise(visits, charge):
    receipt = charge(visits)
    visits.anchor()
    anchor = visits._detector.anchors()["visits"]
    assert (anchor.sequence, anchor.head, anchor.spent) == (2, receipt.hash, receipt.cost)
    assert anchor.budget["epsilon"] == "1/1"
    assert Anchor.from_json(file_of(visits).read_text().splitlines()[-1]).verify(visits._public_keys())


def test_the_directory_of_anchors_is_its_owners_alone(visits):
    assert file_of(visits).parent.stat().st_mode & 0o777 == 0o700
    assert file_of(visits).stat().st_mode & 0o777 == 0o600


def test_anchors_that_cannot_be_written_are_told_in_one_sentence(path, tmp_path):
    (tmp_path / "file").write_text("not a directory")
    with pytest.raises(LedgerError, match=re.escape(anchors.UNWRITABLE)) as caught:
        SQLiteLedger(path, anchors=tmp_path / "file" / "anchors")
    assert str(tmp_path) not in str(caught.value)


def test_a_ledger_in_memory_has_no_anchors_and_remembers_all_the_same(dataset, charge):
    with SQLiteLedger(":memory:") as ledger:
        ledger.register(dataset())
        charge(ledger)
        ledger.anchor()
        assert ledger._detector.anchors() == {}
        assert ledger._detector.every_anchor() == {}
        assert ledger._detector._seen["visits"].sequence == 2
        assert ledger.verify()


@pytest.mark.pitfall("D")
def test_less_spent_by_a_longer_chain_is_noticed_by_whoever_saw_more(visits, another, charge, tamperer, tmp_path):
    """Another process, which saw nothing, made the copy longer than what was lost."""
    for _ in range(3):
        charge(visits)
    other = another(anchors=tmp_path / "other")
    with tampering(tamperer) as hand:
        roll_back(hand, "visits", 2)
    file_of(visits).unlink()
    for _ in range(4):
        charge(other, epsilon=Fraction(1, 1000))
    for _ in range(2):
        with pytest.raises(LedgerError, match=re.escape(faults.BEHIND)):
            charge(visits)


def test_what_only_memory_knows_of_a_lost_history_is_written_down(visits, another, charge, tamperer, tmp_path):
    for _ in range(3):
        charge(visits)
    other = another(anchors=tmp_path / "other")
    with tampering(tamperer) as hand:
        roll_back(hand, "visits", 2)
    for _ in range(4):
        charge(other)
    visits._detector._every = 1
    with pytest.raises(LedgerError, match=re.escape(faults.BEHIND)):
        charge(visits)
    assert anchored(visits) == [1, 4]
    assert "event 4 is not the one that was anchored" in str(another().verify())


def test_a_store_that_is_behind_is_not_anchored_on_request(visits, another, charge, tamperer):
    charge(visits)
    visits.close()
    before = anchored(visits)
    with tampering(tamperer) as hand:
        roll_back(hand, "visits", 1)
    ledger = another()
    with pytest.raises(LedgerError, match=re.escape(faults.BEHIND)):
        ledger.anchor()
    ledger.close()
    assert anchored(visits) == before


def test_closing_leaves_what_was_seen_also_where_the_store_was_put_back(visits, another, charge, tamperer):
    for _ in range(3):
        charge(visits)
    with tampering(tamperer) as hand:
        roll_back(hand, "visits", 2)
    visits.close()
    assert anchored(visits) == [1, 4]
    with pytest.raises(LedgerError, match=re.escape(faults.BEHIND)):
        charge(another())


def test_lines_that_no_key_of_the_ledger_signed_are_told_and_stop_nobody(visits, another, charge):
    """Whoever may write the file could otherwise stop the ledger; what they say of it counts for nothing."""
    visits.anchor()
    forged = json.loads(file_of(visits).read_text().splitlines()[-1]) | {"sequence": 99}
    with file_of(visits).open("a") as file:
        file.write(json.dumps(forged, sort_keys=True, separators=(",", ":")) + "\nnonsense\n")
    for ledger in (visits, another()):
        findings = ledger.verify().findings
        assert [str(finding) for finding in findings] == [
            "line 3 of the anchors is not signed by a known key",
            "line 4 of the anchors cannot be read",
        ]
        assert not any(finding.is_ours for finding in findings)
        charge(ledger)
        ledger.recover(reason="test")
        charge(ledger)


def test_a_file_of_anchors_that_was_cut_is_told_by_whoever_had_read_it(visits, charge):
    charge(visits)
    visits.anchor()
    assert visits.verify()
    file_of(visits).write_bytes(b"")
    (finding,) = visits.verify().findings
    assert (str(finding), finding.is_ours) == (anchors.CHANGED, False)
    assert visits._detector._seen["visits"].sequence == 2


def test_the_anchors_of_one_ledger_say_nothing_of_another(path, tmp_path, dataset, charge):
    with SQLiteLedger(path) as ledger:
        ledger.register(dataset())
        charge(ledger)
    with SQLiteLedger(tmp_path / "another") as other:
        other.register(dataset())
        charge(other)
        assert other.verify()
        assert file_of(other) != file_of(ledger)


def test_a_ledger_without_its_id_does_not_open(address, another, visits, tamperer):
    with tampering(tamperer) as hand:
        hand.execute("DELETE FROM ledger")
    with pytest.raises(LedgerError, match=re.escape(faults.DAMAGED)):
        another()
    assert "the ledger's id is not the one" in str(visits.verify())


@pytest.mark.pitfall("D")
def test_threads_that_charge_while_the_file_of_anchors_is_shortened_wait_for_nobody(script, path):
    """Shortening asks the store which anchors stand, while others who hold the store ask for the anchors."""
    done = script(CROWD, path)
    assert done.returncode == 0, done.stderr[-2_000:]
    assert done.stdout.split() == ["240", "True"]
