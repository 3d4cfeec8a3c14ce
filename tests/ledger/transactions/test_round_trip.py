"""One journey: what the store is told is the link but for its place, and a place that is not ours is refused."""

import hashlib
from dataclasses import replace
from fractions import Fraction

import pytest

from discreet.accounting.costs import Cost
from discreet.errors import LedgerError
from discreet.events import PureEvent
from discreet.ledger import DatasetCharge, Reservation
from discreet.ledger.records.canonical_text import parse_object
from discreet.ledger.records.receipt import receipt_of
from discreet.ledger.transactions import round_trip
from discreet.ledger.transactions.charge import ChargeRequest

PART = DatasetCharge(name='na"me', version=1, event=PureEvent(Fraction(1, 10)))
ASKING = ChargeRequest(
    parts=(PART,), analyst='an","sequence":0,n', question="5f", request="r-1", description="{}", fresh=False, term=9
)
PROMISE = {"epsilon": "1", "delta": "0", "reserve": "0", "ceiling": "1", "reason": None, "order": "9/2"}


def reply(claim, sequence, head):
    text = f"{claim['before']}{head}{claim['between']}{sequence}{claim['after']}"
    made = {"previous_head": head, "new_sequence": sequence, "new_head": hashlib.sha256(text.encode()).hexdigest()}
    totals = {"total_epsilon": 1, "total_rho": 2, "total_delta": 0, "total_renyi": 1}
    return made | totals | {f"promised_{word}": value for word, value in PROMISE.items()}


def claims():
    link, claim = round_trip.charge_claim(ASKING, 0, Fraction(9, 2), acts=1)
    charged = round_trip.place_link(link, reply(claim, 7, "f" * 64))[0]
    turn = Reservation(receipts=(receipt_of(charged),), attempt=2)
    return {"charge": (link, claim), "answer": round_trip.answer_claim(turn, b"12", 7)}


@pytest.mark.parametrize("act", ["charge", "answer"])
class TestClaims:
    def test_the_hash_that_the_store_makes_is_that_of_the_placed_link(self, act):
        link, claim = claims()[act]
        placed, standing = round_trip.place_link(link, reply(claim, 8, "e" * 64))
        assert (placed.sequence, placed.previous, standing.head) == (8, "e" * 64, placed.hash)
        assert (standing.spent, standing.budget.epsilon, standing.order) == (Cost(1, 2, 0, 1), 1, Fraction(9, 2))

    def test_a_hash_of_something_else_is_refused(self, act):
        link, claim = claims()[act]
        with pytest.raises(LedgerError, match="damaged"):
            round_trip.place_link(replace(link, version=2), reply(claim, 8, "e" * 64))

    def test_every_parameter_of_the_function_is_told(self, act):
        _, claim = claims()[act]
        beside = {"charge": {round_trip.FORMER, round_trip.ACTS}, "answer": set()}[act]
        assert claim.keys() == {"charge": round_trip.CHARGE, "answer": round_trip.ANSWER}[act].keys() | beside


def test_a_charge_names_the_earlier_fingerprints_of_its_question_unless_it_is_to_be_fresh():
    asked = replace(ASKING, former=("aa", "bb"))
    assert round_trip.charge_claim(asked, 0, None, acts=1)[1][round_trip.FORMER] == "aa,bb"
    assert round_trip.charge_claim(replace(asked, fresh=True), 0, None, acts=1)[1][round_trip.FORMER] == ""


def test_an_answer_names_the_event_of_its_charge_column_by_column():
    _, claim = claims()["answer"]
    told = parse_object(claim["charge"])
    assert (told["dataset"], told["sequence"], told["kind"], told["cost_epsilon"]) == ('na"me', 7, "RESERVED", 10**11)
    assert claim["attempt"] == 2


def test_nothing_is_told_to_a_store_that_has_no_journeys_to_save(sqlite_ledger, dataset, turn, monkeypatch):
    def wasted(*_):
        raise AssertionError("a claim that nobody reads")

    for made in ("charge_claim", "answer_claim"):
        monkeypatch.setattr(round_trip, made, wasted)
    sqlite_ledger.register(dataset())
    asked = turn(sqlite_ledger)
    assert sqlite_ledger.answer(asked, b"12") == b"12"
    assert sqlite_ledger.verify(receipts=asked.receipts)
