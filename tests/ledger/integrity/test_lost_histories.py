"""Which anchors are of one lost history."""

from dataclasses import replace

import pytest

from discreet.accounting.costs import Cost
from discreet.ledger import Anchor, Receipt
from discreet.ledger.integrity.lost_histories import Stretch, ancestry, are_all_receipts, lost_histories

FIRST = Anchor(
    ledger="ab",
    dataset="visits",
    sequence=2,
    head="0" * 64,
    spent=Cost(1, 1, 0, 1),
    budget={},
    time="2026-01-01T00:00:00Z",
    key="k",
)


def anchor(sequence: int, spent: int, key: str = "k", **changes: str | None) -> Anchor:
    head = f"{key} {sequence}"
    return replace(
        FIRST, **{"sequence": sequence, "spent": Cost(spent, spent, 0, spent), "key": key, "head": head} | changes
    )


@pytest.mark.parametrize(
    ("anchors", "ends"),
    [
        ([anchor(2, 1), anchor(3, 2)], [(2, 3)]),
        ([anchor(3, 2), anchor(2, 1)], [(2, 3)]),
        ([anchor(2, 2), anchor(3, 1)], [(2, 2), (3, 3)]),
        ([anchor(2, 1), anchor(2, 3)], [(2, 2), (2, 2)]),
        ([anchor(2, 1), anchor(3, 2, "other")], [(2, 2), (3, 3)]),
    ],
    ids=["one that goes on", "in another order", "a total that falls", "one number twice", "two keys"],
)
def test_anchors_of_one_key_are_of_one_history_while_numbers_and_totals_rise(anchors, ends):
    found = lost_histories(anchors)
    assert sorted((each.first.sequence, each.last.sequence) for each in found) == ends


@pytest.mark.parametrize(
    ("anchors", "ends"),
    [
        ([anchor(2, 1, store="one"), anchor(3, 2, "other", store="one")], [(2, 3)]),
        ([anchor(3, 2, store="one"), anchor(2, 1, "other", store="one")], [(2, 3)]),
        ([anchor(2, 1, store="one", head="same"), anchor(2, 1, "other", store="one", head="same")], [(2, 2)]),
        ([anchor(2, 1, store="one"), anchor(2, 1, "other", store="one")], [(2, 2), (2, 2)]),
        ([anchor(2, 2, store="one"), anchor(3, 1, "other", store="one")], [(2, 2), (3, 3)]),
        ([anchor(2, 1, store="one"), anchor(3, 2, "other", store="two")], [(2, 2), (3, 3)]),
        ([anchor(2, 1), anchor(3, 2, "other")], [(2, 2), (3, 3)]),
        (
            [
                anchor(2, 1, store="one"),
                anchor(5, 4, store="two"),
                anchor(3, 2, "other", store="one"),
                anchor(6, 5, "third", store="two"),
            ],
            [(2, 6)],
        ),
        ([anchor(2, 1, home="a"), anchor(3, 2, "after a rotation", home="a")], [(2, 3)]),
        ([anchor(2, 1, home="a"), anchor(3, 2, home="b")], [(2, 2), (3, 3)]),
        ([anchor(2, 1), anchor(3, 2, home="a")], [(2, 3)]),
        (
            [anchor(2, 1, store="one", home="a"), anchor(2, 1, store="one", home="b", head="other")],
            [(2, 2), (2, 2)],
        ),
        (
            [anchor(2, 2, store="one"), anchor(2, 3, "other", store="one"), anchor(5, 4, "third", store="one")],
            [(2, 2), (2, 2), (5, 5)],
        ),
    ],
    ids=[
        "one that goes on",
        "in another order",
        "one event",
        "one number, two heads",
        "a total that falls",
        "two stores",
        "no store",
        "from a store to the next",
        "one home, two keys",
        "one key, two homes",
        "one key, and no home in older anchors",
        "one key, two homes, one number",
        "a third that may be of either",
    ],
)
def test_anchors_of_several_keys_are_of_one_history_if_one_store_had_them_and_nothing_contradicts_it(anchors, ends):
    found = lost_histories(anchors)
    assert sorted((each.first.sequence, each.last.sequence) for each in found) == ends


def receipt(sequence: int, name: str, previous: str = "an answer", **changes: object) -> Receipt:
    given = {
        "dataset": "visits",
        "version": 1,
        "sequence": sequence,
        "analyst": "ann",
        "time": f"2026-01-01T00:00:{sequence:02}Z",
        "event": "{}",
        "cost": Cost(1, 1, 0, 1),
        "question": "ab",
        "request": None,
        "description": "",
        "library": "",
        "previous": previous,
        "hash": name,
    }
    return Receipt(**given | changes)


def test_receipts_link_events_to_those_before_them_and_to_none_after():
    receipts = [receipt(3, "c", "b"), receipt(4, "d", "c"), receipt(5, "e", "d"), receipt(4, "z", "y")]
    assert ancestry({"d"}, receipts) == {"d", "c", "b"}
    assert ancestry({"another"}, receipts) == {"another"}


@pytest.mark.guarantee("ledger")
@pytest.mark.pitfall("D")
@pytest.mark.parametrize(
    ("receipts", "expected"),
    [
        ([receipt(3, "c"), receipt(5, "e"), receipt(7, "g")], True),
        ([receipt(3, "c"), receipt(5, "e"), receipt(7, "g"), receipt(9, "beyond")], True),
        ([receipt(3, "c"), receipt(5, "e")], False),
        ([receipt(3, "other"), receipt(5, "e"), receipt(7, "g")], False),
        ([receipt(4, "d"), receipt(5, "e"), receipt(7, "g")], False),
        ([receipt(3, "c"), receipt(5, "e"), receipt(5, "f")], False),
        ([receipt(3, "c"), receipt(5, "e", time="2026-01-01T00:00:01Z"), receipt(7, "g")], False),
        ([receipt(3, "c"), receipt(5, "e"), receipt(7, "g", cost=Cost(2, 2, 0, 2))], False),
    ],
    ids=[
        "all",
        "one beyond the last anchor",
        "one is not given",
        "another event at the number of an anchor",
        "none is linked",
        "one number twice",
        "an earlier time",
        "another cost",
    ],
)
def test_receipts_are_all_those_of_one_history_only_where_nothing_says_otherwise(receipts, expected):
    anchors = (
        anchor(3, 2, head="c", time="2026-01-01T00:00:03Z"),
        anchor(8, 4, head="h", time="2026-01-01T00:00:09Z"),
    )
    assert are_all_receipts(receipts, Stretch(2, Cost(1, 1, 0, 1), anchors)) is expected
