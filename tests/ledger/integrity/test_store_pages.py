"""Pages of a dataset hold what evidence in memory holds, a few rows at a time."""

import pytest

from discreet.ledger.integrity import store_pages
from discreet.ledger.integrity.evidence import LEAST, MOST
from discreet.ledger.integrity.recovery import dataset_rows
from discreet.ledger.integrity.store_pages import StorePages, answer_digests
from discreet.ledger.records.canonical_text import digest


@pytest.fixture
def filled(visits, turn):
    for number in range(5):
        visits.answer(turn(visits, question=f"a{number}", epsilon=0.01), b"%d" % number)
    turn(visits, question="b", epsilon=0.01)
    return visits


@pytest.mark.parametrize("most", [1, 2, 3, 12, 13, 1_000])
def test_pages_of_any_size_hold_every_row_once(filled, most):
    held = filled._look(lambda writer: dataset_rows(writer, "visits"))
    pages, first = [], LEAST
    while not pages or pages[-1].ending is None:
        pages.append(StorePages(filled._look, "visits", most=most).read(first, frozenset()))
        first = pages[-1].events[-1]["sequence"] + 1 if pages[-1].events else first
    assert [row for page in pages for row in page.events] == held.events
    assert [row for page in pages for row in page.charges.reservations.values()] == held.reservations
    assert {place: each for page in pages for place, each in page.charges.answers.items()} == held.answers
    assert sorted(row["reservation"] for page in pages for row in page.charges.outcomes) == [2, 4, 6, 8, 10]
    assert sorted(place for page in pages for place in page.concluded) == [2, 4, 6, 8, 10]
    assert all(len(page.events) <= most for page in pages)


def test_the_last_page_has_the_charges_that_were_asked_for(filled):
    page = StorePages(filled._look, "visits").read(LEAST, frozenset({2, 3, 99}))
    found = page.ending.doubtful
    assert (list(found.events), list(found.reservations)) == ([2], [2])
    assert [row["kind"] for row in found.outcomes] == ["ANSWERED"]
    assert found.answers == {2: digest(b"0")}


def test_answers_are_read_as_many_at_a_time_as_fit(filled, monkeypatch):
    whole = filled._look(lambda writer: answer_digests(writer, "visits", LEAST, MOST))
    assert whole == {2 * place: digest(b"%d" % (place - 1)) for place in range(1, 6)}
    for largest in (0, 1, 2, 3, 100):
        monkeypatch.setattr(store_pages, "LARGEST_BATCH", largest)
        batches = list(store_pages._batches({"reservation": place, "size": 1} for place in whole))
        assert len(batches) == -(-5 // max(largest, 1))
        assert filled._look(lambda writer: answer_digests(writer, "visits", LEAST, MOST)) == whole
