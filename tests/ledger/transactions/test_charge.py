"""The charge transaction: repeated queries, retries, queries in flight, leases taken over, several datasets."""

import hashlib
import threading
import time
from dataclasses import replace
from fractions import Fraction
from functools import partial

import pytest

from discreet import events
from discreet.accounting.costs import NOTHING, Cost
from discreet.accounting.filters import Budget
from discreet.errors import (
    BudgetError,
    Failure,
    LedgerError,
    NameNotFoundError,
    ParameterError,
    PendingError,
    SourceError,
)
from discreet.ledger import DatasetCharge, Kind, Ledger, Reservation, State, SupersededError
from discreet.ledger.records import admission
from discreet.ledger.records.account import Account
from discreet.ledger.records.canonical_text import digest
from discreet.ledger.records.chain import ChainLink
from discreet.ledger.records.description import plan_of
from discreet.ledger.records.receipt import receipt_of
from discreet.ledger.transactions import charge as charges
from discreet.ledger.transactions import outcome, statements, stored_charge
from discreet.ledger.transactions.charge import ChargeRequest
from discreet.ledger.transactions.statements import LedgerWriter

SHORT = 0.1
QUESTION = hashlib.sha256(b"how many").hexdigest()
TENTH = events.PureEvent(Fraction(1, 10))
PLAN = '{"plan":"count"}'


def _planted(known: Account, cost: Cost, request: str = "auto-1", **changes: object) -> ChainLink:
    """The link of a charge as whoever writes to the database without discreet would make it."""
    claim = {"analyst": "ann", "question": QUESTION, "version": 1, "event": events.canonical(TENTH)}
    claim |= {"digest": digest(plan_of(PLAN)), "request": request}
    return replace(known.link(Kind.RESERVED, cost=cost, **claim), **changes)


def _plant(ledger: Ledger, request: str | None, cost: Cost | None = None, **changes: object) -> ChainLink:
    """Plant a charge of 'visits' whose lease has ended, at its price or at a cost; all totals hold it."""

    def plant(writer: LedgerWriter) -> ChainLink:
        known = statements.account(writer, "visits")
        share, is_there = statements.share(writer, "visits", "ann")
        link = _planted(known, cost or admission.price(TENTH, known.order), request or "auto-1", **changes)
        writer.charge(known, link)
        statements.spend(writer, share, link.cost, is_there=is_there)
        writer.record(link)
        stored_charge.reserve(writer, link, PLAN, -1)
        return link

    return ledger._commit(plant)[0]


def _expire() -> None:
    """Longer than the lease of a ledger that was opened with SHORT."""
    time.sleep(1.5 * SHORT)


# The same question, the same answer


@pytest.mark.guarantee("ledger")
@pytest.mark.pitfall("B10")
def test_the_same_question_is_answered_from_the_store_at_no_cost(visits, turn):
    first = turn(visits)
    assert (first.payload, first.attempt) == (None, 1)
    visits.answer(first, b"\x00 noise")
    again = turn(visits)
    assert again.payload == b"\x00 noise"
    assert again.receipts == first.receipts
    assert visits.spent("visits").epsilon == 10**11
    assert len(visits.history("visits")) == 2


def test_another_analyst_and_another_ledger_get_the_same_answer_at_no_cost(visits, another, turn):
    visits.answer(turn(visits), b"answer")
    assert turn(another(), analyst="bob", patience=0).payload == b"answer"
    assert visits.spent("visits").epsilon == 10**11
    assert visits.share("visits", "bob").spent == NOTHING


def test_an_answer_is_repeated_also_when_nothing_is_left(visits, turn, charge):
    visits.answer(turn(visits), b"answer")
    charge(visits, epsilon=Fraction(9, 10))
    assert turn(visits).payload == b"answer"
    with pytest.raises(BudgetError):
        charge(visits)


def test_a_fresh_answer_is_charged_and_is_the_one_that_is_repeated_from_then_on(visits, turn):
    visits.answer(turn(visits), b"first")
    fresh = turn(visits, fresh=True)
    assert fresh.payload is None
    assert turn(visits).payload == b"first"
    visits.answer(fresh, b"second")
    assert turn(visits).payload == b"second"
    assert visits.spent("visits").epsilon == 2 * 10**11


def test_another_question_or_version_is_charged_and_another_plan_for_the_same_question_is_not(visits, dataset, turn):
    """The fingerprint of a question holds its price as asked; what was planned for it may change between versions."""
    visits.register(dataset(version=2))
    visits.answer(turn(visits), b"answer")
    for change in ({"epsilon": Fraction(1, 5)}, {"description": '{"plan":"sum"}'}):
        assert turn(visits, **change).payload == b"answer"
    assert visits.spent("visits").epsilon == 10**11
    for change in ({"question": "ff"}, {"version": 2}):
        assert turn(visits, **change).payload is None
    assert visits.spent("visits").epsilon == 3 * 10**11


def test_a_question_that_failed_can_be_asked_again_for_another_charge(visits, turn):
    visits.forfeit(turn(visits), "timeout")
    again = turn(visits)
    assert again.payload is None
    assert visits.answer(again, b"answer") == b"answer"
    assert visits.spent("visits").epsilon == 2 * 10**11
    assert visits.share("visits", "ann").failures == 1


def test_a_question_under_a_registration_that_was_replaced_is_refused(visits, dataset, turn):
    stale = visits.registration("visits").sequence
    visits.register(dataset(unit="one household"))
    with pytest.raises(SourceError, match="earlier registration of 'visits'"):
        turn(visits, registration=stale)
    assert visits.spent("visits") == NOTHING


# Retries by request key


def test_a_retried_request_is_charged_once_and_answered_alike(another, dataset, charge):
    visits = another(lease=SHORT)
    visits.register(dataset())
    first = charge(visits, request="r-1")
    _expire()
    assert charge(visits, request="r-1") == first
    _expire()
    turn_of_the_third = charge(visits, request="r-1")
    with pytest.raises(SupersededError):
        visits.answer(first, b"answer")
    assert turn_of_the_third == first
    assert visits.spent("visits").epsilon == 10**11


def test_a_retry_after_the_answer_returns_it(visits, charge, turn):
    first = charge(visits, request="r-1")
    visits.answer(first, b"answer")
    assert charge(visits, request="r-1") == first
    assert turn(visits, request="r-1", fresh=True).payload == b"answer"
    assert visits.answer(charge(visits, request="r-1"), b"another draw") == b"answer"
    assert visits.spent("visits").epsilon == 10**11


def test_a_request_key_stands_for_one_question(visits, charge):
    charge(visits, request="r-1")
    with pytest.raises(ParameterError, match="for another query"):
        charge(visits, request="r-1", question="ff")
    for change in ({"epsilon": Fraction(1, 5)}, {"description": "{}"}):
        with pytest.raises(ParameterError, match="planned otherwise now"):
            charge(visits, request="r-1", **change)
    assert visits.spent("visits").epsilon == 10**11


def test_a_request_key_with_another_question_that_has_an_answer_costs_nothing(visits, charge, turn):
    """The stored answer is free for everybody, whatever key came with the question."""
    visits.answer(charge(visits, question="ff"), b"answer")
    charge(visits, request="r-1")
    assert turn(visits, request="r-1", question="ff").payload == b"answer"
    assert visits.spent("visits").epsilon == 2 * 10**11


def test_request_keys_of_different_analysts_are_different(visits, charge):
    charge(visits, request="r-1")
    charge(visits, request="r-1", analyst="bob")
    assert visits.spent("visits").epsilon == 2 * 10**11


def test_the_retry_of_a_failed_request_fails_alike(visits, charge):
    visits.forfeit(charge(visits, request="r-1"), "timeout")
    for _ in range(2):
        with pytest.raises(Failure):
            charge(visits, request="r-1")
    assert visits.spent("visits").epsilon == 10**11
    assert visits.share("visits", "ann").failures == 1


# Questions in flight


def test_a_question_in_flight_is_waited_for_and_shared(visits, another, turn):
    first, replies = turn(visits), []
    waiting = threading.Thread(target=lambda: replies.append(turn(another(), analyst="bob")))
    waiting.start()
    time.sleep(0.1)
    assert replies == []
    visits.answer(first, b"answer")
    waiting.join(timeout=10)
    assert [(each.payload, each.receipts) for each in replies] == [(b"answer", first.receipts)]
    assert visits.spent("visits").epsilon == 10**11


def test_whoever_waits_for_a_question_that_fails_gets_a_turn_of_their_own(visits, another, turn):
    first, replies = turn(visits), []
    waiting = threading.Thread(target=lambda: replies.append(turn(another(), analyst="bob")))
    waiting.start()
    visits.forfeit(first, "timeout")
    waiting.join(timeout=10)
    assert replies[0].payload is None
    assert replies[0].receipt.analyst == "bob"
    assert visits.spent("visits").epsilon == 2 * 10**11


def test_patience_ends_in_a_refusal_that_charges_nothing(visits, turn):
    first = turn(visits)
    began = time.monotonic()
    for patience in (0, 0.2):
        with pytest.raises(PendingError, match="being answered already"):
            turn(visits, analyst="bob", patience=patience)
    assert time.monotonic() - began >= 0.2
    assert visits.spent("visits").epsilon == 10**11
    assert visits.answer(first, b"answer") == b"answer"


def test_whoever_waits_longer_is_told_so_once(visits, turn, caplog):
    turn(visits)
    with pytest.raises(PendingError):
        turn(visits, analyst="bob", patience=2.5)
    assert [record.getMessage()[:32] for record in caplog.records] == ["the same query is being answered"]


def test_a_retry_of_a_request_in_flight_waits_too(visits, turn):
    turn(visits, request="r-1")
    with pytest.raises(PendingError):
        turn(visits, request="r-1", patience=0)
    with pytest.raises(PendingError):
        turn(visits, request="r-1", patience=0, fresh=True)
    assert visits.spent("visits").epsilon == 10**11


@pytest.mark.guarantee("ledger")
def test_a_charge_of_another_event_at_the_same_price_is_not_taken_over(another, dataset, turn):
    ledger = another(lease=SHORT)
    ledger.register(dataset(budget=Budget(epsilon=1, delta=Fraction(1, 10**9))))
    noise = {"variance": Fraction(10**5), "squared_sensitivity": Fraction(1)}
    discrete, continuous = events.DiscreteGaussianEvent(**noise), events.GaussianEvent(**noise)
    assert admission.price(discrete) == admission.price(continuous)
    turn(ledger, event=discrete)
    _expire()
    second = turn(ledger, event=continuous)
    assert (second.attempt, second.receipt.sequence) == (1, 3)


@pytest.mark.guarantee("ledger")
@pytest.mark.parametrize("request_key", [None, "r-1"])
def test_twelve_identical_questions_at_once_are_one_charge_one_answer_and_twelve_equal_replies(
    visits, another, turn, at_once, request_key
):
    """Twelve threads over three ledgers; everybody who gets a turn draws another answer."""
    ledgers = [visits, another(), another()]

    def ask(draw: int) -> bytes:
        ledger = ledgers[draw % 3]
        asked = turn(ledger, request=request_key, patience=30)
        return ledger.answer(asked, b"%d" % draw) if asked.payload is None else asked.payload

    replies = at_once(*(lambda draw=draw: ask(draw) for draw in range(12)))
    assert len(set(replies)) == 1
    assert replies[0] in {b"%d" % draw for draw in range(12)}
    assert visits.spent("visits").epsilon == 10**11
    assert [entry.state for entry in visits.history("visits")] == [None, State.ANSWERED]
    assert visits.verify()


# Leases that are taken over


@pytest.mark.guarantee("ledger")
def test_an_expired_lease_is_taken_over_for_the_same_charge(another, dataset, turn):
    slept, other = another(lease=SHORT), another(lease=60)
    slept.register(dataset())
    first = turn(slept)
    _expire()
    second = turn(other, analyst="bob")
    assert (second.attempt, second.payload, second.receipts) == (2, None, first.receipts)
    with pytest.raises(SupersededError):
        slept.answer(first, b"late")
    assert slept.forfeit(first, "late") is State.RESERVED
    assert other.answer(second, b"answer") == b"answer"
    assert slept.answer(first, b"later still") == b"answer"
    assert other.spent("visits").epsilon == 10**11
    assert other.share("visits", "ann").failures == 1
    assert other.share("visits", "bob").failures == 0
    assert other.verify(), str(other.verify())


@pytest.mark.guarantee("ledger")
@pytest.mark.parametrize("request_key", [None, "r-1"])
@pytest.mark.parametrize(
    "below", [{"epsilon": 1}, {"rho": 1, "renyi": 1}, {"renyi": 1}], ids=["epsilon", "rho", "renyi"]
)
def test_a_charge_below_its_price_is_never_taken_over(ledger, dataset, turn, request_key, below):
    """Who writes to the database without discreet can plant one: no rule there computes the price of an event."""
    budget = Budget(epsilon=1, delta=Fraction(1, 10**9))
    price = admission.price(TENTH, budget.order)
    assert price.renyi < price.rho
    planted = replace(price, **below)
    ledger.register(dataset(budget=budget))

    _plant(ledger, request_key, planted)
    if request_key is not None:
        with pytest.raises(ParameterError, match="planned otherwise"):
            turn(ledger, request=request_key)
    reservation = turn(ledger)
    assert (reservation.attempt, reservation.receipt.sequence) == (1, 3)
    assert ledger.spent("visits") == price + planted


@pytest.mark.guarantee("ledger")
@pytest.mark.parametrize("request_key", [None, "r-1"])
def test_a_charge_that_the_totals_do_not_hold_is_never_taken_over(ledger, dataset, turn, charge, request_key):
    """The same by whoever may insert events: at its full price, beside the totals."""
    ledger.register(dataset(budget=Budget(epsilon=1)))
    charge(ledger, question="aa")

    def plant(writer):
        known = statements.account(writer, "visits")
        link = _planted(known, admission.price(TENTH, known.order), request_key or "auto-1")
        writer.append(known, link)
        stored_charge.reserve(writer, link, PLAN, -1)

    ledger._commit(plant)
    before = ledger.spent("visits")
    with pytest.raises(LedgerError, match="the ledger is damaged"):
        turn(ledger, request=request_key)
    assert ledger.spent("visits") == before
    assert "the total spent is not the sum" in str(ledger.verify())


@pytest.mark.guarantee("ledger")
@pytest.mark.pitfall("D")
@pytest.mark.parametrize("request_key", [None, "r-1"])
def test_a_planted_charge_is_not_taken_over_under_a_registration_that_was_replaced(visits, dataset, turn, request_key):
    """Its answer would be made from the facts of the earlier registration: for another privacy unit, say."""
    stale = visits.registration("visits").sequence
    visits.register(dataset(unit="one household"))
    planted = _plant(visits, request_key)
    with pytest.raises(SourceError, match="earlier registration of 'visits'"):
        turn(visits, registration=stale, request=request_key)
    assert len(visits.history("visits")) == planted.sequence
    assert visits.share("visits", "ann").failures == 0
    taken = turn(visits, registration=visits.registration("visits").sequence, request=request_key)
    assert (taken.attempt, taken.receipt.sequence) == (2, planted.sequence)


@pytest.mark.guarantee("ledger")
@pytest.mark.pitfall("D")
@pytest.mark.parametrize("request_key", [None, "r-1"])
def test_an_answer_of_a_planted_charge_below_its_price_is_not_given(visits, turn, request_key):
    """Nobody is answered by discreet below the price, so whoever planted the charge wrote the answer too."""
    planted = _plant(visits, request_key, Cost(1, 1, 0, 1))
    visits.answer(Reservation(receipts=(receipt_of(planted),)), b"forged")
    if request_key is not None:
        with pytest.raises(LedgerError, match="the ledger is damaged"):
            turn(visits, request=request_key)
    asked = turn(visits)
    assert (asked.payload, asked.receipt.sequence) == (None, 4)
    visits.answer(asked, b"answer")
    assert turn(visits).payload == b"answer"
    assert [str(each) for each in visits.verify().findings] == [
        "'visits' event 2: its cost is below the price of its event"
    ]


@pytest.mark.guarantee("ledger")
@pytest.mark.pitfall("D")
def test_a_planted_charge_below_its_price_is_not_waited_for(visits, turn, tamper):
    _plant(visits, None, Cost(1, 1, 0, 1))
    tamper("UPDATE reservations SET lease = lease + 3600000")
    assert turn(visits, patience=0).receipt.sequence == 3


@pytest.mark.parametrize("event", [TENTH, events.DiscreteGaussianEvent(10**5, 1)], ids=["pure", "gaussian"])
def test_an_answer_that_was_charged_at_another_order_is_repeated(ledger, dataset, turn, event):
    ledger.register(dataset(budget=Budget(epsilon=1, delta=Fraction(1, 10**9))))
    ledger.answer(turn(ledger, event=event), b"answer")
    for epsilon in (Fraction(1, 2), 4):
        ledger.set_cap("visits", Budget(epsilon=epsilon, delta=Fraction(1, 10**9)), reason="a test")
        assert turn(ledger, event=event).payload == b"answer"
        assert turn(ledger, event=event, fresh=True, patience=0).payload is None
        assert turn(ledger, event=event).payload == b"answer"
    assert ledger.verify(), str(ledger.verify())


@pytest.mark.guarantee("ledger")
@pytest.mark.pitfall("D")
@pytest.mark.parametrize("column", ["cap_epsilon", "cap_delta", "cap_rho"])
def test_nothing_is_charged_where_a_cap_is_above_that_of_the_budget(ledger, dataset, charge, tamper, column):
    ledger.register(dataset(budget=Budget(epsilon=1, delta=Fraction(1, 10**9))))
    charge(ledger)
    tamper(f"UPDATE datasets SET {column} = {column} + 1")
    with pytest.raises(LedgerError, match="the ledger is damaged"):
        charge(ledger)
    assert ledger.spent("visits").epsilon == 10**11
    assert ledger.recover(reason="a test")
    charge(ledger)


# A COMMIT without a reply


class _LostError(Exception):
    """In place of a COMMIT that never happened."""


@pytest.fixture
def lost(visits, charge):
    """A request whose charge was never committed, and the reservation that it would have been."""
    charge(visits, question="aa")  # so that the totals are not those of the floor
    part = DatasetCharge(name="visits", version=1, event=TENTH)
    usual = {"analyst": "ann", "question": QUESTION, "request": "r-1", "description": PLAN}
    request = ChargeRequest(parts=(part,), fresh=False, term=60_000, **usual)
    made = []

    def lose(writer: LedgerWriter) -> None:
        made.append(charges.charge(writer, request, lambda _: None))
        raise _LostError

    with pytest.raises(_LostError):
        visits._commit(lose)
    return request, made[0].receipt


def _resolved(ledger: Ledger, request: ChargeRequest) -> object:
    return ledger._run(lambda writer: charges.resolve(writer, request, lambda _: None))


@pytest.mark.guarantee("ledger")
@pytest.mark.pitfall("D")
def test_a_planted_charge_of_the_same_key_and_time_is_not_taken_for_ones_own(visits, lost):
    """Who shares the database sees when a statement began, and so guesses the time of the link."""
    request, receipt = lost
    _plant(visits, "r-1", Cost(1, 1, 0, 1), time=receipt.time)
    with pytest.raises(ParameterError, match="planned otherwise"):
        _resolved(visits, request)


@pytest.mark.guarantee("ledger")
@pytest.mark.pitfall("D")
def test_a_charge_of_ones_own_that_was_planted_beside_the_totals_is_not_taken_for_paid(visits, lost):
    request, receipt = lost

    def plant(writer):
        known = statements.account(writer, "visits")
        link = _planted(known, receipt.cost, "r-1", time=receipt.time)
        assert link.hash == receipt.hash
        writer.append(known, link)
        stored_charge.reserve(writer, link, PLAN, 60_000)

    visits._commit(plant)
    with pytest.raises(LedgerError, match="the ledger is damaged"):
        _resolved(visits, request)


@pytest.mark.guarantee("ledger")
def test_a_charge_of_any_attempt_to_commit_is_found_as_ones_own(visits, charge, lost):
    request, receipt = lost
    charge(visits, question="bb")  # whoever came between has the place of the link that was lost
    for _ in range(2):
        found = _resolved(visits, request).receipt
        assert (found.sequence, found.request) == (receipt.sequence + 1, "r-1")
    assert visits.spent("visits").epsilon == 3 * 10**11
    assert visits.verify(), str(visits.verify())


def test_each_attempt_supersedes_the_one_before(another, dataset, turn):
    ledger = another(lease=SHORT)
    ledger.register(dataset())
    attempts = []
    for _ in range(3):
        attempts.append(turn(ledger))
        _expire()
    assert [each.attempt for each in attempts] == [1, 2, 3]
    for superseded in attempts[:2]:
        with pytest.raises(SupersededError):
            ledger.answer(superseded, b"late")
    assert ledger.answer(attempts[2], b"answer") == b"answer"
    assert ledger.spent("visits").epsilon == 10**11
    assert ledger.share("visits", "ann").failures == 2
    assert ledger.verify()


def test_an_expired_lease_that_nobody_took_over_can_still_answer(another, dataset, turn):
    ledger = another(lease=SHORT)
    ledger.register(dataset())
    first = turn(ledger)
    _expire()
    assert ledger.answer(first, b"answer") == b"answer"
    assert ledger.share("visits", "ann").failures == 0


def test_one_of_many_takes_an_expired_lease_over(another, dataset, turn, at_once):
    slept, ledgers = another(lease=SHORT), [another(), another()]
    slept.register(dataset())
    turn(slept)
    _expire()

    def ask(draw: int) -> bytes:
        ledger = ledgers[draw % 2]
        asked = turn(ledger, patience=30)
        assert asked.attempt == 2
        return ledger.answer(asked, b"%d" % draw) if asked.payload is None else asked.payload

    replies = at_once(*(lambda draw=draw: ask(draw) for draw in range(6)))
    assert len(set(replies)) == 1
    assert slept.spent("visits").epsilon == 10**11
    assert slept.verify()


def test_a_lease_is_not_taken_over_from_an_analyst_who_may_fail_no_more(another, dataset, turn):
    ledger = another(lease=SHORT)
    ledger.register(dataset())
    ledger.set_quota("visits", "ann", failures=1, reason="a test")
    turn(ledger)
    _expire()
    assert turn(ledger).attempt == 2
    _expire()
    with pytest.raises(BudgetError, match="1 of their queries failed"):
        turn(ledger)
    ledger.set_quota("visits", "ann", failures=2, reason="it was the network")
    assert turn(ledger).attempt == 3
    assert ledger.spent("visits").epsilon == 10**11


@pytest.mark.parametrize("names", [("visits",), ("visits", "other")])
def test_an_analyst_who_may_fail_no_more_and_never_came_back_blocks_nobody_else(another, dataset, names):
    """Their expired charge is forfeited, and whoever asks the same is charged for themselves."""
    ledger = another(lease=SHORT)
    for name in ("visits", "other"):
        ledger.register(dataset(name=name))
    ledger.set_quota("visits", "ann", failures=1, reason="a test")
    parts = [DatasetCharge(name=name, version=1, event=TENTH) for name in names]

    def asked(analyst: str) -> Reservation:
        return ledger.charge_together(parts, analyst=analyst, question="ab", description="{}", patience=0)

    left = asked("ann")
    for attempt in (2, 1):
        _expire()
        taken = asked("bob")
        assert taken.attempt == attempt
    assert [ledger.state(receipt) for receipt in left.receipts] == [State.FORFEITED] * len(names)
    assert [receipt.analyst for receipt in taken.receipts] == ["bob"] * len(names)
    assert ledger.answer(taken, b"answer") == b"answer"
    assert [ledger.spent(name).epsilon for name in names] == [2 * 10**11] * len(names)
    assert (ledger.share("visits", "ann").failures, ledger.share("visits", "bob").failures) == (2, 0)
    assert ledger.verify(), str(ledger.verify())


# Several datasets together


@pytest.fixture
def together(ledger, dataset):
    """Three datasets, and a query over some of them."""
    for name in ("a", "b", "c"):
        ledger.register(dataset(name=name))

    def asked(on=ledger, names=("a", "b"), epsilon=Fraction(1, 10), **changes):
        parts = [DatasetCharge(name=name, version=1, event=events.PureEvent(epsilon)) for name in names]
        usual = {"analyst": "ann", "question": "ab", "description": "{}", "patience": 5}
        return on.charge_together(parts, **(usual | changes))

    return asked


def _spent(ledger) -> list[int | None]:
    return [ledger.spent(name).epsilon for name in ("a", "b", "c")]


def test_datasets_of_one_question_are_charged_and_answered_together(ledger, together):
    asked = together()
    assert [receipt.dataset for receipt in asked.receipts] == ["a", "b"]
    assert _spent(ledger) == [10**11, 10**11, 0]
    assert ledger.answer(asked, b"answer") == b"answer"
    assert [ledger.state(receipt) for receipt in asked.receipts] == [State.ANSWERED] * 2
    assert ledger.stored_answer("a", "ab") == ledger.stored_answer("b", "ab") == b"answer"
    assert ledger.verify(), str(ledger.verify())


def test_each_receipt_of_a_question_over_several_datasets_verifies_offline(together):
    for receipt in together().receipts:
        assert receipt.verify()


def test_nothing_is_charged_anywhere_where_one_dataset_has_nothing_left(ledger, together, charge):
    charge(ledger, name="a", epsilon=1)
    for names in (("a", "b"), ("b", "a"), ("b", "c", "a")):
        with pytest.raises(BudgetError, match="'a'"):
            together(names=names)
    assert _spent(ledger) == [10**12, 0, 0]
    assert [entry.kind for entry in ledger.history("a")][-1] is Kind.REJECTED
    assert len(ledger.history("b")) == 1
    assert ledger.verify()


def test_nothing_is_charged_anywhere_where_one_dataset_is_not_there(ledger, together):
    for part in ({"name": "d"}, {"version": 2}, {"registration": 7}):
        parts = [
            DatasetCharge(name="a", version=1, event=TENTH),
            DatasetCharge(**({"name": "b", "version": 1, "event": TENTH} | part)),
        ]
        with pytest.raises((NameNotFoundError, SourceError)):
            ledger.charge_together(parts, analyst="ann", question="ab", description="{}")
    assert _spent(ledger) == [0, 0, 0]
    assert len(ledger.history("a")) == 1


def test_the_same_question_over_the_same_datasets_is_free_in_any_order(ledger, another, together):
    ledger.answer(together(), b"answer")
    assert together(on=another(), names=("b", "a"), analyst="bob", patience=0).payload == b"answer"
    assert _spent(ledger) == [10**11, 10**11, 0]


def test_the_same_question_over_other_datasets_is_another_question(ledger, together, turn):
    ledger.answer(together(), b"answer")
    assert together(names=("a", "c")).payload is None
    assert together(names=("a", "b", "c")).payload is None
    assert turn(ledger, name="a", question="ab", description="{}").payload is None
    assert _spent(ledger) == [4 * 10**11, 2 * 10**11, 2 * 10**11]


def test_a_request_over_several_datasets_is_charged_once(ledger, together):
    first = together(request="r-1")
    ledger.answer(first, b"answer")
    again = together(request="r-1", fresh=True)
    assert (again.payload, again.receipts) == (b"answer", first.receipts)
    with pytest.raises(ParameterError, match="for another query"):
        together(request="r-1", question="ff")
    with pytest.raises(ParameterError, match="for another query"):
        together(request="r-1", fresh=True, names=("a", "c"))
    assert _spent(ledger) == [10**11, 10**11, 0]


def test_a_failure_is_one_of_every_dataset(ledger, together):
    asked = together(request="r-1")
    assert ledger.forfeit(asked, "timeout") is State.FORFEITED
    with pytest.raises(Failure):
        together(request="r-1")
    with pytest.raises(Failure):
        ledger.answer(asked, b"late")
    assert [ledger.share(name, "ann").failures for name in ("a", "b", "c")] == [1, 1, 0]


def test_an_expired_lease_over_several_datasets_is_taken_over_as_one(another, together):
    slept = another(lease=SHORT)
    first = together(on=slept)
    _expire()
    second = together(on=slept, analyst="bob")
    assert (second.attempt, second.receipts) == (2, first.receipts)
    with pytest.raises(SupersededError):
        slept.answer(first, b"late")
    assert slept.answer(second, b"answer") == b"answer"
    assert _spent(slept) == [10**11, 10**11, 0]
    assert slept.verify()


@pytest.mark.guarantee("ledger")
@pytest.mark.pitfall("D")
@pytest.mark.parametrize("replaced", ["a", "b"])
def test_a_lease_over_several_datasets_is_not_taken_over_where_one_was_registered_anew(another, together, replaced):
    slept = another(lease=SHORT)
    first = together(on=slept)
    _expire()
    parts = [
        DatasetCharge(name=name, version=1, event=TENTH, registration=9 if name == replaced else 1)
        for name in ("a", "b")
    ]
    with pytest.raises(SourceError, match=f"earlier registration of '{replaced}'"):
        slept.charge_together(parts, analyst="ann", question="ab", description="{}")
    assert [len(slept.history(name)) for name in ("a", "b")] == [2, 2]
    assert slept.answer(first, b"answer") == b"answer"


@pytest.mark.guarantee("ledger")
@pytest.mark.parametrize("request_key", [None, "r-1"])
@pytest.mark.parametrize("expired", ["a", "b"])
def test_a_lease_over_several_datasets_is_not_taken_over_while_one_of_them_has_not_expired(
    ledger, together, tamper, request_key, expired
):
    """Leases are written one after the other: for a moment one has expired and the other has not."""
    held = together(request=request_key)
    tamper("UPDATE reservations SET lease = 0 WHERE dataset = :name", name=expired)
    with pytest.raises(PendingError):
        together(request=request_key, patience=0)
    assert ledger.answer(held, b"answer") == b"answer"
    assert [ledger.share(name, "ann").failures for name in ("a", "b")] == [0, 0]
    assert ledger.verify()


def test_a_question_that_failed_for_one_dataset_alone_failed(another, together):
    """Expired charges are forfeited one by one: whoever is killed in between leaves a query that failed."""
    ledger = another(lease=SHORT)
    for place in (0, 1):
        failed = together(on=ledger, request=f"f-{place}", question=f"a{place}").receipts[place]
        _expire()
        forfeited = ledger._run(partial(outcome.forfeit_expired_charge, place=(failed.dataset, failed.sequence)))
        assert forfeited
        with pytest.raises(Failure):
            together(on=ledger, request=f"f-{place}", question=f"a{place}")
        assert together(on=ledger, question=f"a{place}").payload is None
    assert ledger.verify(), str(ledger.verify())


@pytest.mark.timing
def test_crowds_that_name_two_datasets_in_either_order_never_block_each_other(ledger, another, together, at_once):
    """Locks are taken in one order: no deadlock, which PostgreSQL would find only after a second."""
    other = another()

    def spend(on, names, who: str) -> None:
        for number in range(20):
            together(on=on, names=names, question=f"{number:02x}", analyst=who, epsilon=Fraction(1, 1000), fresh=True)

    began = time.monotonic()
    outcomes = at_once(lambda: spend(ledger, ("a", "b"), "ann"), lambda: spend(other, ("b", "a"), "bob"))
    assert outcomes == [None, None]
    assert time.monotonic() - began < 60
    assert _spent(ledger) == [40 * 10**9, 40 * 10**9, 0]
    assert ledger.verify()


def test_a_question_names_each_dataset_once(together):
    for names in ((), ("a", "a")):
        with pytest.raises(ParameterError, match="no dataset, or one twice"):
            together(names=names)


def test_a_dataset_cannot_be_named_twice_by_its_other_name(ledger, together):
    ledger.rename("a", "z", reason="a test")
    with pytest.raises(ParameterError, match="no dataset, or one twice"):
        together(names=("a", "z"))
    assert _spent(ledger) == [0, 0, 0]
    assert ledger.verify()


def test_a_question_over_several_datasets_is_the_same_by_their_other_names(ledger, together):
    ledger.rename("a", "z", reason="a test")
    ledger.answer(together(request="r-1"), b"answer")
    assert together(names=("z", "b"), request="r-1").payload == b"answer"
    asked = together(names=("b", "z"))
    assert asked.payload == b"answer"
    assert [receipt.dataset for receipt in asked.receipts] == ["a", "b"]
    assert {receipt.detail for receipt in asked.receipts} == {'{"together":["a","b"]}'}


def test_crowds_that_name_datasets_by_their_other_names_never_block_each_other(ledger, another, together, at_once):
    """Locks go by the datasets and not by what they are called: 'z' is 'a', and comes after 'b'."""
    ledger.rename("a", "z", reason="a test")
    other = another()

    def spend(on, names, who: str) -> None:
        for number in range(20):
            together(on=on, names=names, question=f"{number:02x}", analyst=who, epsilon=Fraction(1, 1000), fresh=True)

    outcomes = at_once(lambda: spend(ledger, ("a", "b"), "ann"), lambda: spend(other, ("b", "z"), "bob"))
    assert outcomes == [None, None]
    assert _spent(ledger) == [4 * 10**10, 4 * 10**10, 0]


# What cannot be asked


@pytest.mark.parametrize("event", [events.PureEvent(0), events.ComposedEvent(())])
def test_a_part_costs_something(event):
    with pytest.raises(ParameterError, match="costs nothing"):
        DatasetCharge(name="a", version=1, event=event)


def test_a_part_knows_its_price_and_its_event_as_text():
    part = DatasetCharge(name="a", version=1, event=TENTH)
    assert part.cost(None) == Cost(10**11, 5 * 10**12, 0, 5 * 10**12)
    assert part.cost(Fraction(20)).renyi < part.cost(None).renyi
    assert part.text == events.canonical(TENTH)


def test_what_a_question_tells_of_its_datasets_does_not_depend_on_their_order():
    parts = [DatasetCharge(name=name, version=1, event=TENTH) for name in ("b", "a")]
    usual = {"analyst": "ann", "question": "ab", "request": "r", "description": "{}", "fresh": False, "term": 1}
    one, other = (ChargeRequest(parts=tuple(each), **usual) for each in (parts, parts[::-1]))
    assert one.detail() == other.detail() == {"detail": '{"together":["a","b"]}'}
    assert ChargeRequest(parts=(parts[0],), **usual).detail() == {}


def test_nothing_is_charged_by_a_closed_ledger(visits, turn):
    visits.close()
    with pytest.raises(LedgerError, match="closed"):
        turn(visits)
