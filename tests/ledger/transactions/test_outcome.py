"""The answer transaction and the ends of a charge: whoever holds it answers it, renews it or lets it go."""

import json
import sqlite3
import time
from contextlib import closing
from fractions import Fraction
from functools import partial

import psycopg
import pytest

from discreet.errors import Failure, LedgerError, PendingError
from discreet.events import PureEvent
from discreet.ledger import DatasetCharge, Reservation, State, SupersededError
from discreet.ledger.transactions.outcome import EXPIRED

SHORT = 0.1
HELD = 1.0


def _expire() -> None:
    time.sleep(1.5 * SHORT)


@pytest.fixture
def brief(another, dataset):
    """A ledger whose leases are short, with one dataset."""
    ledger = another(lease=SHORT)
    ledger.register(dataset())
    return ledger


def test_the_reply_is_what_the_store_holds(visits, another, turn):
    asked = turn(visits)
    assert another().answer(asked, b"theirs") == b"theirs"
    assert visits.answer(asked, b"ours") == b"theirs"


def test_answers_given_at_once_are_one_answer(visits, another, turn, at_once):
    asked, ledgers = turn(visits), [visits, another()]
    replies = at_once(*(lambda draw=draw: ledgers[draw % 2].answer(asked, b"%d" % draw) for draw in range(6)))
    assert len(set(replies)) == 1
    assert visits.stored_answer("visits", asked.receipt.question) == replies[0]
    assert visits.verify()


def test_an_answer_and_a_failure_at_once_are_one_outcome(visits, another, turn, at_once):
    other = another()
    for number in range(5):
        asked = turn(visits, question=f"{number:02x}")
        answer, forfeit = partial(visits.answer, asked, b"answer"), partial(other.forfeit, asked, "timeout")
        reply, state = at_once(answer, forfeit)
        assert (reply, state) == (b"answer", State.ANSWERED) or (type(reply), state) == (Failure, State.FORFEITED)
        assert visits.state(asked.receipt) is state
    assert visits.verify()


def test_a_failure_is_recorded_with_its_code_and_counted(visits, another, turn):
    asked = turn(visits)
    assert another().forfeit(asked, "timeout") is State.FORFEITED
    assert visits.share("visits", "ann").failures == 1
    assert visits.forfeit(asked, "again") is State.FORFEITED
    assert visits.share("visits", "ann").failures == 1


def test_an_attempt_that_never_was_cannot_answer(visits, turn):
    asked = turn(visits)
    ahead = Reservation(receipts=asked.receipts, attempt=2)
    with pytest.raises(SupersededError):
        visits.answer(ahead, b"answer")
    assert visits.forfeit(ahead, "timeout") is State.RESERVED
    assert visits.answer(asked, b"answer") == b"answer"


@pytest.mark.guarantee("ledger")
def test_one_dataset_of_a_charge_to_several_is_neither_answered_nor_failed_nor_renewed_alone(ledger, dataset):
    """One charge pays for one answer: by two receipts, one by one, it would have two."""
    for name in ("a", "b", "c"):
        ledger.register(dataset(name=name))

    def asked(names: str, question: str) -> Reservation:
        parts = [DatasetCharge(name=name, version=1, event=PureEvent(Fraction(1, 10))) for name in names]
        return ledger.charge_together(parts, analyst="ann", question=question, description="{}", patience=HELD)

    whole, other = asked("ab", "ab"), asked("c", "cd")
    mixed = Reservation(receipts=(whole.receipts[0], asked("ab", "ef").receipts[1]))
    for part in (*whole.receipts, Reservation(receipts=whole.receipts + other.receipts), mixed):
        with pytest.raises(LedgerError, match="not of this ledger"):
            ledger.answer(part, b"answer")
        with pytest.raises(LedgerError, match="not of this ledger"):
            ledger.forfeit(part, "timeout")
    assert ledger.answer(Reservation(receipts=whole.receipts[::-1]), b"answer") == b"answer"
    assert ledger.verify()


def test_a_superseded_attempt_is_told_that_its_charge_stands():
    error = SupersededError()
    assert isinstance(error, LedgerError)
    assert "its charge stands" in str(error)


# Renewal


def test_a_lease_that_is_held_is_not_taken_over(another, dataset, turn):
    holder, other = another(lease=HELD), another()
    holder.register(dataset())
    asked = turn(holder)
    with holder.holding(asked):
        time.sleep(1.3 * HELD)
        with pytest.raises(PendingError):
            turn(other, analyst="bob", patience=0)
        assert holder.answer(asked, b"answer") == b"answer"
    assert turn(other, patience=0).payload == b"answer"
    assert holder.spent("visits").epsilon == 10**11
    assert holder.verify()


def test_a_lease_that_was_taken_over_is_not_renewed(brief, another, turn):
    """The sleeper wakes up and renews; whoever took over keeps the charge."""
    other, asked = another(lease=60), turn(brief)
    _expire()
    second = turn(other)
    with brief.holding(asked):
        _expire()
    with pytest.raises(SupersededError):
        brief.answer(asked, b"late")
    assert other.answer(second, b"answer") == b"answer"


def test_a_lease_is_let_go_when_its_holder_is_done(brief, turn):
    with brief.holding(turn(brief)):
        _expire()
    _expire()
    assert turn(brief, patience=0).attempt == 2


def test_renewal_writes_no_event(brief, turn):
    asked = turn(brief)
    before = brief.verify(full=True).events
    with brief.holding(asked):
        _expire()
    assert brief.verify(full=True).events == before


# Charges that nobody came back to


def test_charges_whose_holder_went_silent_are_forfeited_after_a_grace(brief, turn):
    asked = turn(brief)
    _expire()
    assert brief.forfeit_expired() == 0
    assert brief.forfeit_expired(grace=0) == 1
    assert brief.forfeit_expired(grace=0) == 0
    assert brief.state(asked.receipt) is State.FORFEITED
    with pytest.raises(Failure):
        brief.answer(asked, b"late")
    assert brief.spent("visits").epsilon == 10**11
    assert brief.share("visits", "ann").failures == 1
    assert brief.verify()


def _code(address: str) -> str:
    query = "SELECT detail FROM {}events WHERE kind = 'FORFEITED'"
    if address.startswith("postgresql"):
        with psycopg.connect(address) as connection:
            return json.loads(connection.execute(query.format("discreet.").encode()).fetchone()[0])["code"]
    with closing(sqlite3.connect(address)) as connection:
        return json.loads(connection.execute(query.format("")).fetchone()[0])["code"]


def test_the_chain_tells_an_expired_charge_from_one_that_failed(address, brief, turn):
    turn(brief)
    _expire()
    brief.forfeit_expired(grace=0)
    assert _code(address) == EXPIRED


def test_only_charges_without_an_outcome_are_forfeited(brief, another, turn, charge):
    brief.answer(turn(brief), b"answer")
    brief.forfeit(charge(brief), "timeout")
    charge(another(lease=60))
    assert brief.forfeit_expired(grace=0) == 0
    charge(brief)
    _expire()
    assert brief.forfeit_expired(grace=0) == 1
    states = [entry.state for entry in brief.history("visits")[1:]]
    assert states == [State.ANSWERED, State.FORFEITED, State.RESERVED, State.FORFEITED]


def test_charges_of_every_dataset_are_forfeited_by_several_at_once_and_counted_once(
    brief, another, dataset, charge, at_once
):
    other = another()
    brief.register(dataset(name="other"))
    for name in ("visits", "other"):
        for _ in range(3):
            charge(brief, name=name)
    _expire()
    assert sum(at_once(lambda: brief.forfeit_expired(grace=0), lambda: other.forfeit_expired(grace=0))) == 6
    assert [brief.share(name, "ann").failures for name in ("visits", "other")] == [3, 3]
    assert brief.verify()


@pytest.mark.pitfall("D")
@pytest.mark.parametrize("change", ["cost_epsilon = 1", "cost_rho = 1", "event = '{}'", "analyst = 'bob'"])
def test_a_charge_that_was_changed_since_is_not_answered(visits, turn, tamper, change):
    asked = turn(visits)
    tamper(f"UPDATE events SET {change} WHERE dataset = 'visits' AND kind = 'RESERVED'")
    with pytest.raises(LedgerError, match="damaged"):
        visits.answer(asked, b"answer")
