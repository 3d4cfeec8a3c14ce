"""The contract of a ledger, the same over every store: states, answers, sums, reading, restarts."""

import itertools
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from fractions import Fraction

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from clocks import Clock
from discreet import events
from discreet.accounting.costs import NOTHING, Cost, restate
from discreet.accounting.filters import Budget
from discreet.errors import BudgetError, Failure, LedgerError, NameNotFoundError, ParameterError
from discreet.ledger import Dataset, Kind, Ledger, PostgresLedger, SQLiteLedger, State

SPENDER = """
import sys
from fractions import Fraction
from discreet import events
from discreet.ledger import open_ledger

with open_ledger(sys.argv[1]) as ledger:
    event = events.PureEvent(Fraction(1, 10))
    for line in sys.stdin:
        question, draw = line.split()
        turn = ledger.charge("visits", version=1, analyst="ann", event=event, question=question, description="{}")
        if draw != "-":
            print((ledger.answer(turn, draw.encode()) if turn.payload is None else turn.payload).decode(), flush=True)
"""


@contextmanager
def _spender(address: str, **environment: str) -> Iterator[Callable[[str, str], str]]:
    """Another process that asks one question after the other, and answers with what it is told; `-` leaves it open."""
    command, world = [sys.executable, "-c", SPENDER, address], os.environ | environment
    with subprocess.Popen(command, env=world, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:

        def spend(question: str, draw: str) -> str:
            process.stdin.write(f"{question} {draw}\n")
            process.stdin.flush()
            return "" if draw == "-" else process.stdout.readline().strip()

        yield spend
        process.stdin.close()
        assert process.wait(timeout=60) == 0


def test_every_store_carries_the_same_ledger(visits):
    assert isinstance(visits, Ledger)
    assert visits.budget("visits") == Budget(epsilon=1)


# The state machine


@pytest.mark.guarantee("ledger")
def test_a_charge_is_reserved_and_then_answered_once(visits, charge):
    receipt = charge(visits)
    assert visits.state(receipt) is State.RESERVED
    assert visits.answer(receipt, b"first") == b"first"
    assert visits.state(receipt) is State.ANSWERED
    assert visits.answer(receipt, b"second") == b"first"
    assert visits.spent("visits").epsilon == 10**11


@pytest.mark.pitfall("B3")
def test_a_forfeited_charge_stays_charged_and_is_never_answered(visits, charge):
    receipt = charge(visits)
    assert visits.forfeit(receipt, "timeout") is State.FORFEITED
    assert visits.forfeit(receipt, "again") is State.FORFEITED
    with pytest.raises(Failure):
        visits.answer(receipt, b"late")
    assert visits.spent("visits").epsilon == 10**11
    assert visits.stored_answer("visits", receipt.question) is None
    assert visits.state(receipt) is State.FORFEITED


def test_an_answered_charge_cannot_be_forfeited(visits, charge):
    receipt = charge(visits)
    visits.answer(receipt, b"answer")
    assert visits.forfeit(receipt, "late") is State.ANSWERED
    assert visits.answer(receipt, b"other") == b"answer"
    assert visits.share("visits", "ann").failures == 0


def test_a_rejected_charge_costs_nothing_and_is_recorded(visits, charge):
    with pytest.raises(BudgetError):
        charge(visits, epsilon=2)
    assert visits.spent("visits") == NOTHING
    rejected = visits.history("visits")[-1]
    assert (rejected.kind, rejected.state, rejected.cost) == (Kind.REJECTED, State.REJECTED, NOTHING)
    assert visits.verify()


def test_the_state_of_a_charge_can_be_asked_by_its_place(visits, charge):
    receipt = charge(visits)
    assert visits.state((receipt.dataset, receipt.sequence)) is State.RESERVED
    visits.answer(receipt, b"answer")
    assert visits.state((receipt.dataset, receipt.sequence)) is State.ANSWERED
    for nowhere in (("visits", 99), ("other", 2), ("visits", 1)):
        with pytest.raises(LedgerError, match="not of this ledger"):
            visits.state(nowhere)


def test_a_receipt_of_another_ledger_is_refused(visits, charge, dataset):
    with SQLiteLedger(":memory:") as other:
        other.register(dataset())
        foreign = charge(other)
    charge(visits)
    for act in (
        lambda: visits.answer(foreign, b"answer"),
        lambda: visits.forfeit(foreign, "timeout"),
        lambda: visits.state(foreign),
    ):
        with pytest.raises(LedgerError, match="not of this ledger"):
            act()
    assert [entry.state for entry in visits.history("visits")] == [None, State.RESERVED]


def test_an_answer_is_bytes(visits, charge):
    receipt = charge(visits)
    for payload in ("text", None, 7, bytearray(b"answer")):
        with pytest.raises(TypeError):
            visits.answer(receipt, payload)
    assert visits.state(receipt) is State.RESERVED


def test_a_failure_is_told_by_a_code_and_never_by_a_message(visits, charge):
    receipt = charge(visits)
    for code in ("", "Conversion Error: 'HIV+ alice'", None):
        with pytest.raises(ParameterError):
            visits.forfeit(receipt, code)
    assert visits.state(receipt) is State.RESERVED


# Answers


@pytest.mark.pitfall("B11")
def test_an_answer_that_looks_like_nothing_is_an_answer(visits, charge, turn):
    payloads = [b"", b"0", b"0.0", b"null", b"NaN", b"[]", b"\x00", b"\xff\xfe" * 1000]
    for number, payload in enumerate(payloads):
        question = f"{number:02x}"
        receipt = charge(visits, question=question)
        assert visits.stored_answer("visits", question) is None
        assert visits.answer(receipt, payload) == payload
        assert visits.stored_answer("visits", question) == payload
        assert visits.stored_answer("visits", question) is not None
        assert turn(visits, question=question).payload == payload
    assert visits.spent("visits").epsilon == len(payloads) * 10**11


def test_the_latest_answer_to_a_question_is_the_one_that_is_repeated(visits, charge):
    for payload in (b"first", b"second"):
        visits.answer(charge(visits), payload)
    charge(visits)
    assert visits.stored_answer("visits", charge(visits).question) == b"second"


def test_the_same_question_to_another_dataset_is_another_question(visits, charge, dataset):
    visits.register(dataset(name="other"))
    receipt = charge(visits)
    visits.answer(receipt, b"answer")
    assert visits.stored_answer("other", receipt.question) is None


# Sums and caps


def test_sums_are_exact_and_the_cap_is_reached_to_the_last_unit(visits, charge):
    for _ in range(10):
        charge(visits)
    assert visits.spent("visits").epsilon == 10**12
    with pytest.raises(BudgetError):
        charge(visits, epsilon=Fraction(1, 10**12))


@pytest.mark.pitfall("B4")
def test_charges_too_small_to_write_down_still_cost_a_unit_each(ledger, dataset, charge):
    ledger.register(dataset(budget=Budget(epsilon=Fraction(5, 10**12))))
    for _ in range(5):
        charge(ledger, epsilon=Fraction(1, 10**17))
    with pytest.raises(BudgetError):
        charge(ledger, epsilon=Fraction(1, 10**17))
    assert ledger.spent("visits") == Cost(5, 5, 0, 5)


@pytest.mark.pitfall("B1")
def test_ten_analysts_together_spend_one_cap(visits, charge):
    for i in range(10):
        charge(visits, analyst=f"analyst {i}")
    with pytest.raises(BudgetError, match="over all analysts"):
        charge(visits, analyst="a new one")


@pytest.mark.pitfall("B5")
def test_a_crowd_that_spends_at_once_never_gets_more_than_the_cap(visits, another, charge, at_once):
    """Three ledgers over one store and four threads on each ask for more than twice the cap at the same moment."""
    ledgers = [visits, another(), another()]
    fifth = Fraction(1, 5)
    acts = [lambda who=who: charge(ledgers[who % 3], analyst=f"a{who}", epsilon=fifth) for who in range(12)]
    outcomes = at_once(*acts)
    assert sorted(type(each).__name__ for each in outcomes) == ["BudgetError"] * 7 + ["Receipt"] * 5
    assert visits.spent("visits").epsilon == 10**12
    assert [entry.kind for entry in visits.history("visits")].count(Kind.RESERVED) == 5
    assert visits.verify()


def test_an_event_without_an_epsilon_leaves_only_the_other_filter(ledger, dataset, charge):
    budget = Budget(epsilon=2, delta=1e-9)
    ledger.register(dataset(budget=budget))
    charge(ledger, event=events.ConcentratedEvent(budget.rho(1)))
    assert ledger.spent("visits").epsilon is None
    with pytest.raises(BudgetError):
        charge(ledger, epsilon=1)
    charge(ledger, epsilon=Fraction(1, 10))
    assert ledger.verify()


def test_a_gaussian_query_for_the_whole_promise_spends_exactly_the_promise(ledger, dataset, charge):
    budget = Budget(epsilon=2, delta=1e-9)
    ledger.register(dataset(budget=budget))
    charge(ledger, event=events.ConcentratedEvent(budget.rho(2)))
    assert ledger.spent("visits").rho == budget.caps().rho


def test_a_total_beyond_64_bits_is_refused_and_not_wrapped(ledger, dataset, charge):
    ledger.register(dataset(budget=Budget(epsilon=1000, reason="a control")))
    charge(ledger, epsilon=900)
    with pytest.raises(BudgetError, match="beyond what the ledger can count"):
        charge(ledger, epsilon=9_000)
    assert ledger.spent("visits").epsilon == 900 * 10**12
    assert ledger.verify()


_EVENTS = st.one_of(
    st.builds(events.PureEvent, st.fractions(Fraction(1, 10**13), 1)),
    st.builds(events.ConcentratedEvent, st.fractions(Fraction(1, 10**16), Fraction(1, 20)), st.just(Fraction(0))),
    st.builds(
        events.ApproximateEvent, st.fractions(0, Fraction(1, 4)), st.fractions(Fraction(1, 10**12), Fraction(1, 10**10))
    ),
)
_BUDGETS = st.sampled_from(
    [
        Budget(epsilon=1, reserved_delta=0),
        Budget(epsilon=1, delta=1e-9, reserved_delta=0),
        Budget(epsilon=2, delta=1e-9, reserved_delta=3e-10),
    ]
)
_ACTS = st.lists(st.one_of(_EVENTS, _BUDGETS), max_size=15)
_NAMES = (f"d{number}" for number in itertools.count())


def _is_admitted(ledger: Ledger, name: str, event: events.Event) -> bool:
    """A question of its own each time, so that no answer is repeated."""
    try:
        ledger.charge(name, version=1, analyst="ann", event=event, question="ab", description="{}", fresh=True)
    except BudgetError:
        return False
    return True


def _compare_with_the_filters(ledger: Ledger, budget: Budget, acts: list[object]) -> None:
    """A model of five lines beside the store: charges and changed caps in any order."""
    name = next(_NAMES)
    ledger.register(Dataset(name=name, source="memory", unit="one row", facts="{}", budget=budget))
    spent, promise = NOTHING, budget
    for act in acts:
        if isinstance(act, Budget):
            divided_anew = spent != NOTHING and act.reserved_delta != promise.reserved_delta
            if act != promise and not divided_anew:
                ledger.set_cap(name, act, reason="a test")
                spent, promise = restate(spent, promise.order, act.order), act
            continue
        admitted = promise.admits(spent + promise.cost(act))
        assert _is_admitted(ledger, name, act) == admitted
        spent += promise.cost(act) if admitted else NOTHING
        assert ledger.spent(name) == ledger.share(name, "ann").spent == spent
    assert ledger.verify(name)


@settings(max_examples=50, deadline=None)
@given(_BUDGETS, _ACTS)
@pytest.mark.guarantee("ledger")
def test_the_store_admits_exactly_what_the_filters_admit(budget, acts):
    with SQLiteLedger(":memory:") as ledger:
        _compare_with_the_filters(ledger, budget, acts)


@settings(max_examples=12, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(_BUDGETS, _ACTS)
@pytest.mark.guarantee("ledger")
def test_postgresql_admits_exactly_what_the_filters_admit(postgres_address, budget, acts):
    with PostgresLedger(postgres_address) as ledger:
        _compare_with_the_filters(ledger, budget, acts)


# Reading


def test_an_unknown_dataset_is_refused_with_the_nearest_name(visits, charge):
    for call in (
        visits.spent,
        visits.budget,
        visits.history,
        visits.report,
        visits.verify,
        lambda name: visits.stored_answer(name, "ab"),
        lambda name: visits.share(name, "ann"),
        lambda name: visits.set_cap(name, Budget(epsilon=2), reason="a test"),
        lambda name: visits.set_quota(name, "ann", Budget(epsilon=1), reason="a test"),
        lambda name: visits.rename(name, "other", reason="a test"),
        lambda name: charge(visits, name=name),
    ):
        with pytest.raises(NameNotFoundError) as caught:
            call("visit")
        assert caught.value.instead == "visits"
    assert visits.registration("visit") is None
    assert visits.verify()


def test_an_unregistered_version_is_refused(visits, charge):
    with pytest.raises(NameNotFoundError) as caught:
        charge(visits, version=2)
    assert caught.value.instead == "version=1"


def test_a_charge_that_cannot_be_recorded_is_refused_before_it_is_made(visits, charge):
    for change in (
        {"analyst": "a\x00b"},
        {"analyst": ""},
        {"question": "count"},
        {"request": ""},
        {"description": "SELECT"},
        {"version": 0},
    ):
        with pytest.raises(ParameterError):
            charge(visits, **change)
    assert len(visits.history("visits")) == 1


# Restarts, other processes, other clocks


def test_a_restart_never_resets(another, dataset, charge):
    for already in range(5):
        with another() as ledger:
            ledger.register(dataset())
            assert ledger.spent("visits").epsilon == already * 10**11
            charge(ledger)


def test_another_process_gets_the_stored_answer_at_no_cost(address, visits, turn):
    visits.answer(turn(visits, question="ab", description="{}"), b"ours")
    with _spender(address) as spend:
        assert spend("ab", "another-draw") == "ours"
        assert spend("cd", "theirs") == "theirs"
    assert turn(visits, question="cd", description="{}", analyst="bob").payload == b"theirs"
    assert visits.spent("visits").epsilon == 2 * 10**11


@pytest.mark.usefixtures("other_clocks")
def test_a_clock_that_is_a_year_off_changes_neither_order_nor_totals(tmp_path, address, visits):
    """A real process whose clock is moved: now, a year ahead, a year behind, now."""
    clock = Clock(tmp_path)
    with _spender(address, **clock.environment()) as spend:
        for number, shift in enumerate(("+0", "+1y", "-1y", "+0")):
            clock.move(shift)
            assert spend(f"{number:02x}", str(number)) == str(number)
    entries = visits.history("visits")[1:]
    assert visits.spent("visits").epsilon == 4 * 10**11
    assert visits.verify()
    assert [entry.sequence for entry in entries] == [2, 4, 6, 8]
    times = [entry.time for entry in entries]
    assert times[1] > times[3] > times[0] > times[2]


@pytest.mark.usefixtures("other_clocks")
def test_a_charge_left_by_a_process_a_year_ahead_is_not_held_for_a_year(tmp_path, path, dataset, turn):
    """The file's clock is the process's: a lease that ends beyond a day counts as expired."""
    with SQLiteLedger(path) as ledger:
        ledger.register(dataset())
        with _spender(str(path), **Clock(tmp_path, "+1y").environment()) as spend:
            spend("ab", "-")
        again = turn(ledger, question="ab", description="{}", patience=0)
        assert (again.attempt, again.payload) == (2, None)
        assert ledger.answer(again, b"answer") == b"answer"
        assert ledger.spent("visits").epsilon == 10**11
        assert ledger.verify()
