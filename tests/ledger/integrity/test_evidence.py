"""What a store holds about a dataset, in memory."""

from discreet.ledger.integrity.evidence import LEAST, is_intact
from discreet.ledger.integrity.recovery import evidence


def rows_of(ledger):
    return ledger._look(lambda writer: list(evidence(writer, "visits")))[0]


def test_an_event_is_intact_as_long_as_its_hash_is_that_of_its_columns(visits, charge):
    charge(visits)
    held = rows_of(visits)
    assert list(held.heads) == [1, 2]
    for row in held.events:
        assert is_intact(row)
        assert not is_intact(row | {"analyst": "eve"})
        assert not is_intact(row | {"hash": None})
        assert not is_intact({})


def test_events_are_whole_up_to_the_first_one_that_was_changed(visits, charge, tamper):
    for _ in range(3):
        charge(visits)
    assert rows_of(visits).is_whole_before(5)
    tamper("UPDATE events SET analyst = 'eve' WHERE sequence = 3")
    assert [rows_of(visits).is_whole_before(place) for place in (1, 2, 3, 4, 5)] == [True, True, True, False, False]


def test_evidence_in_memory_is_one_page_which_is_the_last(visits, turn):
    visits.answer(turn(visits), b"12")
    held = rows_of(visits)
    page = held.read(LEAST, frozenset())
    assert [row["sequence"] for row in page.events] == [1, 2, 3]
    assert (list(page.charges.events), list(page.charges.reservations), list(page.charges.answers)) == ([2], [2], [2])
    assert page.ending is not None
    assert page.ending.tables.dataset == held.dataset
    assert held.read(3, frozenset()).events == page.events[2:]
