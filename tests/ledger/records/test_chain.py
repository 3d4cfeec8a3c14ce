import hashlib
from dataclasses import fields, replace

import pytest

from discreet.accounting.costs import Cost
from discreet.ledger.records.chain import GENESIS, ChainLink, Kind, columns_of, link_of

LINK = ChainLink(
    dataset="visits",
    sequence=2,
    kind=Kind.RESERVED,
    time="2026-01-01T00:00:00.000000+00:00",
    version=1,
    previous=GENESIS,
    library="0.1.0",
    cost=Cost(10, 20, 30, 20),
    analyst="ann",
    event="{}",
    question="ab",
    request="r",
    reservation=1,
    digest="cd",
    detail="{}",
)


def test_the_hash_of_a_link_never_changes():
    text = (
        '{"analyst":"ann","cost":[10,20,30],"dataset":"visits","detail":"{}","digest":"cd","event":"{}",'
        '"format":"discreet.ledger/1","kind":"RESERVED","library":"0.1.0","previous":"%s","question":"ab",'
        '"request":"r","reservation":1,"sequence":2,"time":"2026-01-01T00:00:00.000000+00:00","version":1}'
    )
    assert LINK.hash == hashlib.sha256((text % GENESIS).encode()).hexdigest()
    assert LINK.hash == "16a7c8f9c1d577c3876a21a901bad184d18fdf6d7f29ed57729238cfe4bc172f"


@pytest.mark.parametrize("column", [f.name for f in fields(ChainLink) if f.name != "cost"])
def test_the_hash_covers_every_column(column):
    value = getattr(LINK, column)
    other = value + 1 if isinstance(value, int) else f"{value}x"
    assert replace(LINK, **{column: other}).hash != LINK.hash


@pytest.mark.parametrize(
    "cost",
    [Cost(None, 20, 30, 20), Cost(11, 20, 30, 20), Cost(10, 21, 30, 21), Cost(10, 20, 31, 20), Cost(20, 10, 30, 10)],
)
def test_the_hash_covers_every_part_of_the_cost(cost):
    assert replace(LINK, cost=cost).hash != LINK.hash


@pytest.mark.parametrize("column", ["analyst", "event", "question", "request", "reservation", "digest", "detail"])
def test_nothing_and_empty_are_told_apart(column):
    assert replace(LINK, **{column: None}).hash != replace(LINK, **{column: ""}).hash


def test_text_cannot_move_from_one_column_to_the_next():
    assert replace(LINK, analyst="ann,", question="b").hash != replace(LINK, analyst="ann", question=",b").hash


def test_a_link_comes_back_from_its_columns():
    assert link_of(columns_of(LINK)) == LINK
