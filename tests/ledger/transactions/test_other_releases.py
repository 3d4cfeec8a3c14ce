"""Other releases: in the chain, free of charge, found by whoever verifies, on each store."""

import json
from dataclasses import replace
from fractions import Fraction

import pytest

from discreet.accounting.filters import Budget
from discreet.errors import LedgerError, NameNotFoundError, ParameterError
from discreet.events import PureEvent
from discreet.ledger import DatasetCharge, Kind
from discreet.ledger.integrity.recovery import dataset_rows
from discreet.ledger.records.canonical_text import digest
from discreet.ledger.records.other_release import MOST_LISTED, UNREADABLE
from discreet.ledger.transactions import other_releases
from discreet.ledger.transactions.store import UnknownOutcomeError
from tampering import rehash, tampering

SHA256 = "0123456789abcdef" * 4


@pytest.fixture
def published(visits, charge):
    """A charge, a release of another kind, and a charge after it."""
    charge(visits)
    visits.add_other_release("visits", "wards, ages in tens", kind="generalised", sha256=SHA256, author="ann")
    charge(visits)
    return visits


def test_it_is_an_event_of_the_chain_with_all_that_was_recorded(visits, another):
    given = visits.add_other_release("visits", "wards, ages in tens", kind="generalised", sha256=SHA256, author="ann")
    assert (given.dataset, given.version, given.sequence, given.author) == ("visits", 1, 2, "ann")
    assert another().other_releases("visits") == visits.other_releases("visits") == (given,)
    entry = visits.history("visits")[-1]
    assert (entry.kind, entry.sequence, entry.analyst, entry.state) == (Kind.PUBLISHED, 2, "ann", None)
    assert json.loads(entry.detail) == {"kind": "generalised", "what": "wards, ages in tens"}
    assert visits.verify(), str(visits.verify())


def test_a_dataset_without_other_releases_has_an_empty_list(visits):
    assert visits.other_releases("visits") == ()


def test_totals_caps_shares_and_the_room_for_charges_do_not_move(visits, charge, another):
    charge(visits)
    before = _standing(visits)
    for kind in ("generalised", "exact", "synthetic", "differentially_private", "other"):
        visits.add_other_release("visits", "a file", kind=kind)
    assert _standing(visits) == before
    for _ in range(9):
        charge(visits)
    with pytest.raises(Exception, match="is left of the privacy budget"):
        charge(visits)
    assert visits.verify(), str(visits.verify())


def _standing(ledger):
    account = ledger._look(lambda writer: dataset_rows(writer, "visits")).dataset
    moved = {name: value for name, value in account.items() if name not in ("sequence", "head")}
    return moved, ledger.share("visits", "ann"), ledger.spent("visits"), ledger.report("visits").total


def test_by_another_name_it_is_of_the_same_dataset_and_in_the_order_of_the_chain(visits, dataset):
    first = visits.add_other_release("visits", "one", kind="exact")
    visits.rename("visits", "stays", reason="plain words")
    visits.register(dataset(version=2))
    second = visits.add_other_release("stays", "two", kind="exact")
    assert visits.other_releases("stays") == visits.other_releases("visits") == (first, second)
    assert (first.version, second.version, second.dataset) == (1, 2, "visits")
    assert first.author == "owner"


def test_a_registration_may_still_be_corrected_because_nothing_was_charged(visits, dataset):
    visits.add_other_release("visits", "one", kind="exact")
    visits.register(dataset(budget=Budget(epsilon=2)))
    assert visits.budget("visits").epsilon == 2
    assert visits.verify(), str(visits.verify())


def test_an_unknown_dataset_is_refused(visits):
    with pytest.raises(NameNotFoundError, match="visit"):
        visits.add_other_release("visit", "one", kind="exact")
    with pytest.raises(NameNotFoundError, match="visit"):
        visits.other_releases("visit")


def test_a_wrong_argument_leaves_the_chain_as_it_was(visits):
    with pytest.raises(ParameterError, match="kind"):
        visits.add_other_release("visits", "one", kind="anonymous")
    with pytest.raises(ParameterError, match="do not print"):
        visits.add_other_release("visits", "one\ntwo", kind="exact")
    assert [entry.kind for entry in visits.history("visits")] == [Kind.REGISTERED]


@pytest.mark.parametrize(
    "change",
    [
        'detail = \'{"kind":"generalised","what":"nothing of note"}\'',
        "detail = NULL",
        "digest = NULL",
        f"digest = '{digest('x')}'",
        "analyst = 'bob'",
        "time = '2020-01-01'",
        "version = 2",
        "request = 'other'",
        "kind = 'LIMITED'",
        "library = '9'",
    ],
)
@pytest.mark.parametrize("is_rehashed", [False, True])
def test_a_change_of_any_field_is_found(published, tamperer, change, is_rehashed):
    with tampering(tamperer) as hand:
        hand.execute(f"UPDATE events SET {change} WHERE kind = 'PUBLISHED'")
        if is_rehashed:
            rehash(hand, "visits")
    assert not published.verify()


def test_a_removed_or_added_release_is_found(published, tamperer, tamper):
    tamper("DELETE FROM events WHERE kind = 'PUBLISHED'")
    found = published.verify()
    assert "missing or out of order" in str(found)


def test_a_changed_release_is_not_believed_and_is_listed_as_such_by_its_place(published, tamper, charge):
    tamper("UPDATE events SET digest = NULL WHERE kind = 'PUBLISHED'")
    assert [each.what for each in published.other_releases("visits")] == [UNREADABLE]
    assert charge(published).others == (f"{UNREADABLE} (event 3)",)
    assert not published.verify()
    with pytest.raises(LedgerError, match="was stopped"):
        published.add_other_release("visits", "one more", kind="exact")
    assert published.recover(reason="a test"), str(published.verify())
    later = published.add_other_release("visits", "one more", kind="exact")
    left, last = published.other_releases("visits")
    assert (left.what, left.sequence, last) == (UNREADABLE, 3, later)
    assert published.verify(), str(published.verify())


def test_an_older_copy_that_lost_a_release_is_found_and_records_nothing_before_its_recovery(
    published, put_back, another
):
    published.close()
    put_back(2)
    with another() as older:
        assert older.other_releases("visits") == ()
        with pytest.raises(LedgerError, match="behind its anchors"):
            older.add_other_release("visits", "one more", kind="exact")
        assert not older.verify()
        assert older.recover(reason="a disk was replaced")
        again = older.add_other_release("visits", "wards, ages in tens", kind="generalised", sha256=SHA256)
        assert again.sequence > 4  # numbers that an anchor saw are not used again
        assert older.verify(), str(older.verify())


def test_a_copy_that_lost_nothing_but_a_release_is_found_too(visits, put_back, another):
    visits.add_other_release("visits", "one", kind="exact")
    visits.close()
    put_back(1)
    with another() as older:
        assert older.stopped_datasets().keys() == {"visits"}
        assert not older.verify()


# Receipts


def test_a_receipt_lists_the_releases_before_its_charge_and_no_later_one(visits, turn):
    first = visits.add_other_release("visits", "one", kind="exact")
    early = turn(visits).receipt
    second = visits.add_other_release("visits", "two", kind="synthetic", sha256=SHA256)
    late = turn(visits, question="ab").receipt
    assert early.others == (first.text,)
    assert late.others == (first.text, second.text)
    assert visits.verify(receipts=[early, late])


def test_a_repeat_has_the_very_receipt_of_its_charge_whatever_was_recorded_since(visits, turn, another):
    visits.add_other_release("visits", "one", kind="exact")
    charged = turn(visits)
    visits.answer(charged, b"answer")
    visits.add_other_release("visits", "two", kind="exact")
    for ledger in (visits, another()):
        again = turn(ledger)
        assert again.payload == b"answer"
        assert again.receipt.to_json() == charged.receipt.to_json()


def test_a_charge_that_is_taken_over_has_the_same_receipt(another, dataset, turn):
    quick = another(lease=0.2)
    quick.register(dataset())
    quick.add_other_release("visits", "one", kind="exact")
    lost = turn(quick)
    quick.add_other_release("visits", "two", kind="exact")
    over = turn(quick, analyst="bob")
    assert (over.attempt, over.receipt.to_json()) == (2, lost.receipt.to_json())


def test_every_receipt_of_a_charge_to_several_datasets_lists_those_of_its_own(visits, dataset):
    visits.register(dataset(name="stays", source="stays.csv"))
    visits.add_other_release("stays", "one", kind="exact")
    parts = [DatasetCharge(name=name, version=1, event=PureEvent(Fraction(1, 10))) for name in ("visits", "stays")]
    both = visits.charge_together(parts, analyst="ann", question="ab", description="{}").receipts
    assert {receipt.dataset: len(receipt.others) for receipt in both} == {"stays": 1, "visits": 0}


def test_a_receipt_has_at_most_100_in_words_and_the_number_of_the_earlier_ones(visits, turn, another):
    """Else each charge would be longer than the one before: 3,000 releases made an answer of 36 MB."""
    for number in range(MOST_LISTED):
        visits.add_other_release("visits", f"file {number}", kind="exact")
    every = turn(visits)
    assert every.receipt.others == tuple(each.text for each in visits.other_releases("visits"))
    for number in range(3):
        visits.add_other_release("visits", f"later {number}", kind="exact")
        released = turn(visits, question=f"a{number}")
        newest = tuple(each.text for each in visits.other_releases("visits")[-MOST_LISTED:])
        noun = "1 earlier release" if number == 0 else f"{number + 1} earlier releases"
        assert released.receipt.others[1:] == newest
        assert released.receipt.others[0].startswith(f"{noun}, before event ")
    visits.answer(released, b"answer")
    visits.add_other_release("visits", "the last", kind="exact")
    again = turn(another(), question="a2")
    assert (again.payload, again.receipt.to_json()) == (b"answer", released.receipt.to_json())
    assert visits.verify(receipts=[every.receipt, released.receipt])
    for others in ((), released.receipt.others[1:], ("9 earlier releases, before event 3", *newest), newest[1:]):
        assert not visits.verify(receipts=[replace(released.receipt, others=others)])


# Many at once, an unknown outcome


def test_releases_and_charges_of_many_threads_have_each_their_place(visits, charge, at_once):
    publish = [lambda n=n: visits.add_other_release("visits", f"file {n}", kind="exact") for n in range(8)]
    done = at_once(*publish, *(lambda: charge(visits) for _ in range(8)))
    assert [each for each in done if isinstance(each, Exception)] == []
    places = [each.sequence for each in done]
    assert sorted(places) == list(range(2, 18))
    for receipt in done[8:]:
        assert len(receipt.others) == sum(place < receipt.sequence for place in places[:8])
    assert visits.spent("visits").epsilon == 8 * 10**11
    assert visits.verify(receipts=done[8:]), str(visits.verify())


@pytest.mark.parametrize("arrived", [False, True])
def test_a_commit_without_a_reply_is_looked_up_and_recorded_once(visits, monkeypatch, arrived):
    run, lost = visits._store.run, []

    def unanswered(work):
        if lost:
            return run(work)
        lost.append(run(work) if arrived else None)
        raise UnknownOutcomeError

    monkeypatch.setattr(visits._store, "run", unanswered)
    given = visits.add_other_release("visits", "one", kind="exact")
    assert visits.other_releases("visits") == (given,)
    assert given.sequence == 2
    assert visits.verify(), str(visits.verify())


def test_the_few_are_found_by_an_index_and_not_by_reading_every_event(sqlite_ledger, dataset):
    sqlite_ledger.register(dataset())
    for statement in (
        other_releases.IN_ORDER,
        other_releases._NEWEST_BEFORE,
        other_releases._NUMBER_BEFORE,
        other_releases._BY_REQUEST,
    ):
        values = {"name": "visits", "sequence": 9, "request": "r"}
        plan = sqlite_ledger._store.ask((f"EXPLAIN QUERY PLAN {statement}", values))
        assert "INDEX other_releases" in plan[0]["detail"]
        assert plan[0]["detail"].startswith("SEARCH events USING")
        assert len(plan) == 1  # nothing is sorted
