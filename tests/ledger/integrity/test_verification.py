"""Whoever owns the database can change anything; `verify` finds it.

Most tests change one row in a transaction that is undone, and look at what the rows say: it is not the rules of the
database that find it. Both stores hold the same ledger, with one of everything in it.
"""

import importlib.util
import itertools
import json
import re
import shutil
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from discreet.errors import LedgerError, NameNotFoundError, PendingError
from discreet.ledger import Ledger, PostgresLedger, Receipt, Signer, SQLiteLedger, SupersededError
from discreet.ledger.integrity.verification import IntegrityFinding, Verification
from discreet.ledger.records import faults
from discreet.ledger.records.account import account_of
from discreet.ledger.records.chain import columns_of
from discreet.ledger.records.other_release import UNREADABLE
from discreet.ledger.records.receipt import receipt_of
from servers import SERVICE, STEWARD
from tampering import TABLES, Hand, Place, new_database, rehash, roll_back, tampering

_spec = importlib.util.spec_from_file_location("make_golden", (Path(__file__).parents[1] / "make_golden.py"))
_golden = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(_golden)

COLUMNS = {
    "ledger": "id",
    "datasets": "name unit neighbours hash_key part_of slice_start slice_end"
    " epsilon delta reserved_delta ceiling reason cap_epsilon cap_rho cap_delta renyi_order"
    " spent_epsilon spent_rho spent_delta spent_renyi floor_epsilon floor_rho floor_delta floor_renyi"
    " sequence head",
    "versions": "dataset version source facts population registered",
    "aliases": "alias dataset",
    "analysts": "dataset analyst quota is_own cap_epsilon cap_rho cap_delta spent_epsilon spent_rho spent_delta"
    " spent_renyi floor_epsilon floor_rho floor_delta floor_renyi failures most_failures",
    "events": "dataset sequence format kind time version analyst event cost_epsilon cost_rho cost_delta cost_renyi"
    " question request reservation digest detail library previous hash",
    "reservations": "dataset sequence analyst request question description state attempt lease",
    "answers": "dataset reservation payload",
    "halts": "id dataset time finding cleared",
    "keys": "sequence document",
}
UNSEALED = {("reservations", "lease")}
"""Whose turn it is is not sealed; see the tests of leases below. Neither are halts: `verify` halts again. Acts on keys
have tests of their own (test_keys.py)."""
QUESTION = "ab12"
EVERY_COLUMN = {
    table: [column for column in columns.split() if (table, column) not in UNSEALED]
    for table, columns in COLUMNS.items()
    if table not in ("halts", "keys")
}
WHOLE = {"id", "name", "alias", "dataset"}
NUMBERS = (
    "epsilon",
    "rho",
    "delta",
    "renyi",
    "sequence",
    "version",
    "reservation",
    "population",
    "registered",
    "format",
)


def filled_ledger(ledger: Ledger) -> Receipt:
    with ledger:
        receipt = _golden.fill(ledger)
        _golden.fill_further(ledger)
        assert ledger.verify()
        return receipt


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """The key and the anchors of ledgers that outlive a test."""
    place = tmp_path_factory.mktemp("outside")
    return {"key": place / "key", "anchors": place / "anchors"}


@pytest.fixture(scope="module")
def filled_file(tmp_path_factory: pytest.TempPathFactory, home: dict[str, Path]) -> Path:
    path = tmp_path_factory.mktemp("filled") / "ledger.sqlite"
    receipt = filled_ledger(SQLiteLedger(path, lease=_golden.LEASE, **home))
    path.with_suffix(".receipt").write_text(receipt.to_json())
    return path


@pytest.fixture(scope="module")
def filled_database(ledger_server: Any, home: dict[str, Path]) -> Place:
    place = new_database(ledger_server, "filled")
    PostgresLedger.create(place.owner, role=SERVICE, steward=STEWARD, **home)
    filled_ledger(PostgresLedger(place.steward, lease=_golden.LEASE, **home))
    return place


@pytest.fixture(params=["sqlite", "postgres"])
def hand(request: pytest.FixtureRequest) -> Iterator[Hand]:
    """A hand in the tables of a full ledger; what it does is undone after the test."""
    if request.param == "sqlite":
        address = str(request.getfixturevalue("filled_file"))
    else:
        address = request.getfixturevalue("filled_database").tamperer
    with tampering(address, is_kept=False) as opened:
        yield opened


@pytest.fixture
def copy(filled_file: Path, path: Path) -> str:
    """A full ledger that a test may harm for good."""
    shutil.copy(filled_file, path)
    return str(path)


@pytest.fixture
def report(home: dict[str, Path]) -> Any:
    def verified(path: str, *names: str, **options: Any) -> Verification:
        with SQLiteLedger(path, **home) as ledger:
            found = ledger.verify(*names, **options)
            assert found.ok == bool(found) == (not found.findings)
            return found

    return verified


def test_tampering_with_nothing_leaves_nothing_to_find(hand, copy, report):
    assert hand.findings() == []
    with tampering(copy) as idle:
        idle.execute("SELECT 1")
    assert report(copy)


def test_the_list_of_tables_and_columns_is_complete(copy):
    with tampering(copy, is_kept=False) as raw:
        tables = {row["name"] for row in raw.execute("SELECT name FROM sqlite_schema WHERE type = 'table'")}
        raw.execute("INSERT INTO halts VALUES ('1', '', '', '', NULL)")
        assert {table: " ".join(raw.columns(table)) for table in TABLES} == COLUMNS
    assert tables - {"schema_versions"} == set(COLUMNS)  # which says when a version was applied, and decides nothing


def _others(column: str, value: object) -> list[object]:
    """What a tamperer may write instead."""
    if value is None:
        return [7] if column.endswith(NUMBERS) and column != "slice_end" else ["7"]
    if isinstance(value, bytes):
        return [value + b"x", *([b""] if value else [])]
    if isinstance(value, int):
        return [value + 1_000, *([0] if value else [])]
    return [f"{value}x", ""]


@pytest.mark.guarantee("ledger")
@pytest.mark.pitfall("D")
@pytest.mark.parametrize("table", EVERY_COLUMN)
def test_an_edit_of_any_column_of_any_row_is_found(hand, table):
    rows = hand.execute(f"SELECT {{row}} AS place, {table}.* FROM {table}")
    assert rows
    for column, row in itertools.product(EVERY_COLUMN[table], rows):
        name = None if column in WHOLE else row["name" if table == "datasets" else "dataset"]
        others = _others(column, row[column])
        for other in others if hand.is_file else others[:1]:
            with hand.undone():
                edit = f"UPDATE {table} SET {column} = :other WHERE {{row}} = :place"
                hand.execute(edit, other=other, place=row["place"])
                assert hand.findings(name), (column, row["place"], other)
    assert hand.findings() == []


@pytest.mark.guarantee("ledger")
@pytest.mark.pitfall("D")
@pytest.mark.parametrize("table", [table for table in TABLES if table not in ("halts", "keys")])
def test_a_deletion_of_any_row_is_found(hand, table):
    for row in hand.execute(f"SELECT {{row}} AS place FROM {table}"):
        with hand.undone():
            hand.execute(f"DELETE FROM {table} WHERE {{row}} = :place", place=row["place"])
            assert hand.findings(), row


@pytest.mark.guarantee("ledger")
@pytest.mark.pitfall("D")
@pytest.mark.parametrize("is_rehashed", [False, True], ids=["as they were", "with new hashes"])
def test_two_events_that_change_places_are_found(hand, is_rehashed):
    moved = "UPDATE events SET sequence = :after WHERE sequence = :before AND dataset = :name"
    for name in ("visits", "stays 1"):
        last = hand.execute("SELECT max(sequence) AS last FROM events WHERE dataset = :name", name=name)[0]["last"]
        for one, other in itertools.combinations(range(1, last + 1), 2):
            with hand.undone():
                for before, after in ((one, -1), (other, one), (-1, other)):
                    hand.execute(moved, before=before, after=after, name=name)
                if is_rehashed:
                    rehash(hand, name)
                assert hand.findings(name), (one, other)


@pytest.mark.parametrize(
    ("change", "found"),
    [
        ("UPDATE datasets SET spent_epsilon = 0, spent_rho = 1, spent_delta = 0", "the total spent is not the sum"),
        ("UPDATE datasets SET spent_rho = spent_rho - 1", "the total spent is not the sum"),
        ("UPDATE datasets SET cap_epsilon = 9000000000000", "its caps are not those"),
        ("UPDATE datasets SET epsilon = '9/1'", "its budget is not the one"),
        ("UPDATE datasets SET part_of = 'other' WHERE name = 'stays 1'", "its slice is not the one"),
        ("UPDATE events SET cost_rho = 1 WHERE kind = 'RESERVED'", "it was changed after it was written"),
        ("DELETE FROM answers WHERE dataset = 'visits'", "its stored answer is not the one that was given"),
        ("UPDATE reservations SET state = 'RESERVED'", "its state is not the one that the chain records"),
        ("UPDATE reservations SET state = 'FORFEITED' WHERE state = 'RESERVED'", "its state is not the one"),
        ("UPDATE reservations SET attempt = 9", "its attempts are not those"),
        ("UPDATE versions SET source = 'other.csv'", "is not as it was registered"),
        ("UPDATE versions SET registered = registered + 1", "was not registered by the event it names"),
        ("DELETE FROM datasets WHERE name = 'people'", "the dataset's own row is missing"),
        ("DELETE FROM aliases", "its other names are not those"),
        ("INSERT INTO aliases VALUES ('visits', 'people')", "its other names are not those"),
        ("UPDATE analysts SET spent_rho = 0 WHERE analyst = 'ann'", "what 'ann' spent is not the sum of their charges"),
        ("UPDATE analysts SET failures = 0 WHERE analyst = 'bob'", "the failures of 'bob' are not those"),
        ("UPDATE analysts SET most_failures = 99 WHERE analyst = 'bob'", "the quota of 'bob' is not the one"),
        ("UPDATE analysts SET is_own = 0 WHERE analyst = 'bob'", "the quota of 'bob' is not the one"),
        ("DELETE FROM analysts WHERE analyst = '*'", "the analysts are not those"),
        ("UPDATE ledger SET id = 'another'", "the ledger's id is not the one"),
    ],
)
def test_a_finding_says_what_was_changed(hand, change, found):
    hand.execute(change)
    assert found in "\n".join(map(str, hand.findings()))


def _forged(hand: Hand, name: str, kind: str, **columns: object) -> None:
    """An event that follows the head as it should, written by somebody who knows how."""
    (row,) = hand.execute("SELECT datasets.*, 0 AS halts FROM datasets WHERE name = :name", name=name)
    link = account_of(row).link(kind, version=1, **columns)
    moved = "UPDATE datasets SET sequence = :sequence, head = :head WHERE name = :name"
    hand.execute(moved, sequence=link.sequence, head=link.hash, name=name)
    written = columns_of(link)
    marks = ", ".join(f":{column}" for column in written)
    hand.execute(f"INSERT INTO events ({', '.join(written)}) VALUES ({marks})", **written)


def test_a_registration_after_a_charge_is_found_even_where_it_follows_the_chain(hand):
    last = "SELECT detail, digest FROM events WHERE dataset = 'people' AND kind = 'REGISTERED' ORDER BY sequence DESC"
    registered = hand.execute(last)[0]
    _forged(hand, "people", "REGISTERED", **registered)
    assert "a registration was replaced after a charge" in "\n".join(map(str, hand.findings("people")))


def test_what_was_registered_before_a_correction_cannot_be_put_back_unseen(hand):
    """The rows as the first registration sealed them: the chain's last one says otherwise."""
    hand.execute("UPDATE datasets SET neighbours = 'add_remove' WHERE name = 'people'")
    assert "its unit, neighbours or hash key are not those registered" in str(hand.findings("people")[0])


def test_a_correction_without_its_event_is_found(address, tamperer, ledger, dataset):
    """Before the first charge the rules let a unit change with an event; one that records something else is found."""
    ledger.register(dataset())
    with tampering(tamperer, is_kept=False) as hand:
        _forged(hand, "visits", "REJECTED")
        hand.execute("UPDATE datasets SET unit = 'one row'")
        assert "its unit, neighbours or hash key are not those registered" in str(hand.findings()[0])
        hand.execute("UPDATE datasets SET unit = 'one patient_id'")
        hand.execute("UPDATE versions SET facts = '{}'")
        assert "version 1 is not as it was registered" in str(hand.findings()[0])


def test_a_forged_recovery_does_not_hide_what_it_claims_to_accept(hand):
    """Its own words count for the rows that it seals, and a recovery says where it went on from."""
    hand.execute("UPDATE datasets SET spent_rho = 0 WHERE name = 'visits'")
    accepted = [[str(finding), finding.seal] for finding in hand.findings("visits")]
    (capped,) = hand.execute("SELECT detail FROM events WHERE kind = 'CAPPED'")
    (row,) = hand.execute("SELECT sequence, head FROM datasets WHERE name = 'visits'")
    told = {"from": row, "accepted": accepted, "receipts": {}, "shares": {}, "anchor": None}
    _forged(hand, "visits", "RECOVERED", detail=json.dumps(json.loads(capped["detail"]) | told))
    assert "the total spent is not the sum" in "\n".join(map(str, hand.findings("visits")))


def test_rows_that_nobody_can_read_are_a_finding_and_no_failure(hand):
    for change in (
        "UPDATE events SET detail = '[]', hash = hash WHERE kind = 'RENAMED'",
        "UPDATE events SET kind = 'RECOVERED' WHERE kind = 'REJECTED'",
        "UPDATE events SET detail = NULL WHERE kind = 'LIMITED'",
        "UPDATE datasets SET spent_epsilon = NULL",
    ):
        with hand.undone():
            hand.execute(change)
            assert hand.findings(), change


@pytest.mark.pitfall("D")
@pytest.mark.parametrize("name", ["visits", "stays 1"])
def test_an_end_that_was_cut_without_mending_everything_else_is_found(hand, name):
    """First the events alone, then with the head that fits, then with the total, then with the reservations."""
    last = hand.execute("SELECT max(sequence) AS last FROM events WHERE dataset = :name", name=name)[0]["last"]
    for kept in range(1, last):
        with hand.undone():
            hand.execute("DELETE FROM events WHERE dataset = :name AND sequence > :kept", name=name, kept=kept)
            assert "its end was cut or replaced" in "\n".join(map(str, hand.findings(name)))
            hand.execute(
                "UPDATE datasets SET sequence = :kept, head = (SELECT hash FROM events WHERE dataset = :name"
                " AND sequence = :kept) WHERE name = :name",
                name=name,
                kept=kept,
            )
            assert hand.findings(name)
            costs = "SELECT COALESCE(sum(cost_rho), 0) FROM events WHERE dataset = :name"
            hand.execute(f"UPDATE datasets SET spent_rho = ({costs}) WHERE name = :name", name=name)
            assert hand.findings(name)


def test_an_end_that_was_cut_everywhere_is_found_by_nothing_inside(hand):
    """It is an older copy, and a true ledger: hence anchors and receipts."""
    for name in ("visits", "stays 1"):
        last = hand.execute("SELECT max(sequence) AS last FROM events WHERE dataset = :name", name=name)[0]["last"]
        for kept in range(1, last):
            with hand.undone():
                roll_back(hand, name, kept)
                assert hand.findings() == [], (name, kept)


@pytest.mark.guarantee("ledger")
@pytest.mark.pitfall("D")
def test_an_end_that_was_cut_everywhere_is_found_by_anchors_and_by_receipts(
    tamperer, visits, charge, another, tmp_path
):
    receipts = [charge(visits, epsilon=0.01) for _ in range(4)]
    visits.anchor()
    for kept in (4, 3, 2, 1):
        without_anchors = another(anchors=tmp_path / f"none {kept}")
        with tampering(tamperer) as hand:
            roll_back(hand, "visits", kept)
        assert "it is an older copy" in str(visits.verify())
        assert without_anchors.verify(receipts=receipts[: kept - 1]).findings == ()  # but the dataset is stopped
        found = without_anchors.verify(receipts=receipts)
        lost = [f"receipt {receipt.id} is not in the chain" for receipt in receipts[kept - 1 :]]
        assert [finding.what for finding in found.findings] == lost


@pytest.mark.guarantee("ledger")
@pytest.mark.pitfall("D")
def test_a_receipt_of_a_history_that_parted_before_a_recovery_is_not_covered_by_its_anchor(
    visits, charge, put_back, another, tmp_path
):
    """An anchor covers the events between where the chain went on and where the anchor was; none before."""
    elsewhere = another(anchors=tmp_path / "elsewhere")
    parted = charge(elsewhere)
    elsewhere.close()
    put_back(1)
    receipts = [charge(visits) for _ in range(4)]
    visits.close()
    put_back(3)
    ledger = another()
    assert ledger.recover(reason="a test")
    assert ledger.verify(receipts=receipts)
    assert parted.sequence < 3 < receipts[-1].sequence
    (finding,) = ledger.verify(receipts=[*receipts, parted]).findings
    assert (finding.what, finding.is_ours) == (f"receipt {parted.id} is not in the chain", True)
    assert ledger.recover(reason="a test", receipts=[*receipts, parted])
    assert ledger.spent("visits").epsilon == 5 * 10**11


def test_a_receipt_that_was_changed_is_found_and_stops_nobody(visits, charge):
    text = charge(visits).to_json().replace('"ann"', '"bob"')
    found = visits.verify(receipts=[Receipt.from_json(text)])
    assert "was changed, and no key of this ledger signed it" in str(found)
    charge(visits)


def test_a_receipt_that_no_key_of_the_ledger_signed_is_told_and_stops_nobody(visits, charge, tmp_path):
    """Anybody can compute a hash."""
    receipt = charge(visits)
    forged = receipt_of(replace(receipt.link(), sequence=99)).sign(Signer.at(tmp_path / "a key of theirs"))
    assert forged.verify()
    assert not forged.verify(visits._public_keys())
    for made_up in (forged, replace(forged, key=None, signature=None), replace(forged, key=receipt.key)):
        (finding,) = visits.verify(receipts=[receipt, made_up]).findings
        assert not finding.is_ours
        assert "is not in the chain, and no key of this ledger signed it" in str(finding)
    charge(visits)


@pytest.mark.guarantee("ledger")
def test_a_receipt_whose_list_of_other_releases_was_replaced_or_removed_is_told_and_stops_nobody(visits, charge):
    """The hash of a charge does not cover the list, and a receipt may have no signature."""
    early = charge(visits)
    visits.add_other_release("visits", "one", kind="exact")
    visits.add_other_release("visits", "two", kind="synthetic")
    late = charge(visits)
    first, second = late.others
    lists = [(), (first,), (second, first), (*late.others, first), (first.replace("one", "eno"), second), ("nothing",)]
    for others in [*lists, (f"{UNREADABLE} (event 3)", second)]:
        for changes in ({}, {"key": None, "signature": None}):
            (finding,) = visits.verify(receipts=[early, late, replace(late, others=others, **changes)]).findings
            assert not finding.is_ours
            assert "lists other releases than the chain before it, and no key of this ledger signed" in str(finding)
    (finding,) = visits.verify(receipts=[replace(early, others=(first,))]).findings
    assert "lists other releases" in finding.what
    assert visits.verify(receipts=[early, late, replace(late, key=None, signature=None)])
    charge(visits)


def test_a_receipt_agrees_with_what_is_left_of_a_list_that_was_changed_or_lost_and_recovered(visits, charge, tamper):
    for what in ("one", "two", "three"):
        visits.add_other_release("visits", what, kind="exact")
    receipt = charge(visits)
    tamper("UPDATE events SET analyst = 'bob' WHERE sequence = 2")
    changed = charge(visits)
    assert changed.others[0] == f"{UNREADABLE} (event 2)"
    tamper("DELETE FROM events WHERE sequence = 3")
    assert visits.recover(reason="a test"), str(visits.verify())
    for honest in (receipt, changed, replace(receipt, key=None, signature=None)):
        assert visits.verify(receipts=[honest]), str(visits.verify(receipts=[honest]))
    one, two, three = receipt.others
    for others in ((), (one, two), (one, two, three.replace("three", "3")), (*receipt.others, "x (event 5)"), ("x",)):
        assert not visits.verify(receipts=[replace(receipt, others=others)])
    charge(visits)


def test_a_signed_receipt_of_a_time_when_a_release_was_changed_halts_nothing_once_it_is_put_right(
    visits, charge, tamper
):
    visits.add_other_release("visits", "one", kind="exact", author="ann")
    tamper("UPDATE events SET analyst = 'bob' WHERE sequence = 2")
    receipt = charge(visits)
    tamper("UPDATE events SET analyst = 'ann' WHERE sequence = 2")
    assert receipt.others == (f"{UNREADABLE} (event 2)",)
    assert visits.verify(receipts=[receipt])


def test_a_receipt_of_another_ledger_with_the_same_key_is_told_and_stops_nobody(visits, dataset, charge, tmp_path):
    """Two ledgers of one home sign with one key: what was charged to one convicts the other of nothing."""
    charge(visits)
    with SQLiteLedger(tmp_path / "staging.sqlite") as staging:
        staging.register(dataset())
        foreign = [charge(staging) for _ in range(3)][-1]
    assert foreign.verify(visits._public_keys())
    (finding,) = visits.verify(receipts=[foreign]).findings
    assert (finding.is_ours, finding.what.endswith("and it names another ledger")) == (False, True)
    visits.recover(reason="a test", receipts=[foreign])
    assert visits.spent("visits").epsilon == 10**11
    charge(visits)


def test_a_finding_about_a_dataset_that_the_ledger_does_not_know_halts_nothing(visits, charge):
    """A halt of a name that is not there would stop whoever registers it first."""
    lost = receipt_of(replace(charge(visits).link(), dataset="later")).sign(visits._key.signer)
    (finding,) = visits.verify(receipts=[lost]).findings
    assert finding.is_ours
    assert visits._look(lambda pen: pen.rows("SELECT * FROM halts")) == []


def test_receipts_of_keys_that_were_rotated_count(path, dataset, charge, tmp_path):
    key = tmp_path / "key"
    with SQLiteLedger(path, key=key) as ledger:
        ledger.register(dataset())
        receipt = charge(ledger)
    Signer.rotate(key)
    with SQLiteLedger(path, key=key) as ledger:
        assert ledger.verify(receipts=[receipt, charge(ledger)])


def test_one_dataset_can_be_verified_alone(copy, report):
    with tampering(copy) as hand:
        hand.execute("UPDATE datasets SET spent_rho = spent_rho + 1 WHERE name = 'people'")
    assert report(copy, "visits")
    assert "the total spent" in str(report(copy, "people"))
    assert str(report(copy, "persons")) == str(report(copy, "people"))  # by its other name


def test_receipts_of_other_datasets_do_not_matter_to_one_that_is_verified_alone(copy, report, filled_file):
    receipt = Receipt.from_json(filled_file.with_suffix(".receipt").read_text())
    assert report(copy, "people", receipts=[receipt])
    assert report(copy, "visits", receipts=[receipt])


def test_a_dataset_that_nothing_tells_of_is_refused_by_its_name(copy, report):
    with pytest.raises(NameNotFoundError, match="'gone'"):
        report(copy, "gone")


def test_a_dataset_that_only_its_events_tell_of_is_found_by_its_name(copy, report):
    with tampering(copy) as hand:
        for table in ("datasets", "versions", "aliases", "analysts", "reservations", "answers"):
            hand.execute(f"DELETE FROM {table} WHERE {'name' if table == 'datasets' else 'dataset'} = 'people'")
    assert "own row is missing" in str(report(copy, "people"))


def test_a_tampered_answer_is_not_served(address, tamperer, visits, turn):
    visits.answer(turn(visits, question=QUESTION), b"12")
    with tampering(tamperer) as hand:
        hand.execute("UPDATE answers SET payload = :payload", payload=b"13")
    with pytest.raises(LedgerError, match=re.escape(faults.DAMAGED)):
        visits.stored_answer("visits", QUESTION)
    with pytest.raises(LedgerError, match=re.escape(faults.DAMAGED)):
        turn(visits, question=QUESTION)


@pytest.mark.parametrize("lease", [0, -1, 2**62])
def test_an_edited_lease_hands_the_turn_on_and_never_allows_a_second_answer(visits, another, turn, tamperer, lease):
    """It says whose turn it is and not what is true; one that no clock of ours could have given counts as expired."""
    held = turn(visits, question=QUESTION)
    with tampering(tamperer) as hand:
        hand.execute("UPDATE reservations SET lease = :lease", lease=lease)
    assert visits.verify()
    other = another()
    taken = turn(other, question=QUESTION)
    assert taken.attempt == 2
    with pytest.raises(SupersededError):
        visits.answer(held, b"1")
    assert other.answer(taken, b"2") == b"2"
    assert visits.answer(held, b"1") == b"2"
    assert visits.spent("visits") == held.receipt.cost
    assert visits.verify()


def test_a_lease_that_was_lengthened_makes_others_wait_and_nothing_else(visits, another, turn, tamperer):
    held = turn(visits, question=QUESTION)
    with tampering(tamperer) as hand:
        hand.execute("UPDATE reservations SET lease = lease + 3600000")
    with pytest.raises(PendingError):
        turn(another(), question=QUESTION, patience=0.05)
    assert visits.answer(held, b"1") == turn(another(), question=QUESTION).payload == b"1"
    assert visits.verify()


def test_the_report_reads_as_a_sentence(copy, report):
    events = report(copy, full=True).events
    assert str(report(copy, full=True)) == f"4 datasets, {events} events: everything agrees"
    with tampering(copy) as hand:
        hand.execute("UPDATE datasets SET spent_rho = spent_rho + 1 WHERE name = 'people'")
    extent = "4 datasets, 0 events verified since earlier verifications (--full verifies all)"
    told = f"{extent}: 1 finding\n  'people': the total spent is not the sum of the charges"
    assert str(report(copy)) == told
    assert str(IntegrityFinding("it was changed", "visits", 3)) == "'visits' event 3: it was changed"
