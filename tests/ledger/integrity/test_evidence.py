"""What a store holds about a dataset, in memory."""

from dataclasses import replace

import pytest

from discreet.accounting.costs import Cost
from discreet.ledger.integrity.anchors import Anchor
from discreet.ledger.integrity.evidence import LEAST, is_counted, is_intact
from discreet.ledger.integrity.recovery import dataset_rows

RECOVERY = {
    "from": {"sequence": 5},
    "anchors": ["the highest"],
    "shared": {"store": "one", "ends": {"k": 10}},
    "new": {"spent": [10, 10, 0]},
}
LOST = Anchor(
    ledger="",
    dataset="visits",
    sequence=8,
    head="lost",
    spent=Cost(8, 8, 0, 8),
    budget={},
    time="",
    store="one",
    key="k",
)


def rows_of(ledger):
    return ledger._look(lambda writer: dataset_rows(writer, "visits"))


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


class TestIsCounted:
    """A recovery of a store that ended at event 5, whose shared anchors ended at event 10 with 10 spent."""

    def test_an_anchor_that_the_recovery_names_is_counted_wherever_it_was_written(self):
        assert is_counted(replace(LOST, head="the highest", sequence=20, store=None), [RECOVERY])

    def test_an_anchor_that_a_shared_one_of_the_same_store_and_key_followed_is_counted(self):
        assert is_counted(LOST, [RECOVERY])
        assert is_counted(replace(LOST, sequence=10, spent=Cost(10, 10, 0, 10)), [RECOVERY])

    @pytest.mark.pitfall("B18")
    @pytest.mark.parametrize(
        "other",
        [
            {"store": "another"},
            {"store": None},
            {"key": "another"},
            {"home": "another"},
            {"sequence": 5},
            {"sequence": 11},
            {"spent": Cost(11, 8, 0, 8)},
            {"spent": Cost(None, 8, 0, 8)},
        ],
    )
    def test_an_anchor_of_another_store_or_key_of_another_place_or_with_more_spent_is_not(self, other):
        assert not is_counted(replace(LOST, **other), [RECOVERY])

    @pytest.mark.pitfall("B18")
    def test_of_machines_that_share_a_key_the_home_that_wrote_a_later_anchor_is_counted_alone(self):
        recovery = RECOVERY | {"shared": {"store": "one", "ends": {"k/first": 10, "k/other": 7}}}
        assert is_counted(replace(LOST, home="first"), [recovery])
        assert not is_counted(replace(LOST, home="other"), [recovery])
        assert not is_counted(LOST, [recovery])

    @pytest.mark.parametrize("shared", [{}, {"shared": None}])
    def test_a_recovery_without_shared_anchors_counts_what_it_names_alone(self, shared):
        recovery = {name: value for name, value in RECOVERY.items() if name != "shared"} | shared
        assert not is_counted(LOST, [recovery])
        assert not is_counted(replace(LOST, store=None), [recovery])
        assert is_counted(replace(LOST, head="the highest"), [recovery])
