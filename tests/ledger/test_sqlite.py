import shutil
import subprocess
import sys
from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet import events
from discreet.accounting.filters import NOTHING, Budget, Cost, cost
from discreet.errors import BudgetError, Failure, LedgerError, NameNotFoundError, ParameterError
from discreet.ledger import Dataset, Kind, Ledger, Receipt, SQLiteLedger, State

GOLDEN = Path(__file__).parents[1] / "golden" / "ledger"
SHIM = """
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>
#include <time.h>
int clock_gettime(clockid_t id, struct timespec *t) {
  int (*real)(clockid_t, struct timespec *) = dlsym(RTLD_NEXT, "clock_gettime");
  int result = real(id, t);
  if (id == CLOCK_REALTIME && getenv("CLOCK_OFFSET")) t->tv_sec += atol(getenv("CLOCK_OFFSET"));
  return result;
}
"""


@pytest.fixture
def visits(ledger, dataset) -> SQLiteLedger:
    ledger.register(dataset())
    return ledger


def test_the_ledger_on_sqlite_meets_the_contract(visits):
    contract: Ledger = visits
    assert contract.budget("visits") == Budget(epsilon=1)


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
    assert visits.stored("visits", receipt.question) is None


def test_an_answered_charge_cannot_be_forfeited(visits, charge):
    receipt = charge(visits)
    visits.answer(receipt, b"answer")
    assert visits.forfeit(receipt, "late") is State.ANSWERED
    assert visits.answer(receipt, b"other") == b"answer"


def test_a_rejected_charge_costs_nothing_and_is_recorded(visits, charge):
    with pytest.raises(BudgetError):
        charge(visits, epsilon=2)
    assert visits.spent("visits") == NOTHING
    rejected = visits.history("visits")[-1]
    assert (rejected.kind, rejected.state, rejected.cost) == (Kind.REJECTED, State.REJECTED, NOTHING)
    assert visits.verify()


def test_a_reservation_can_be_named_by_its_place(visits, charge):
    receipt = charge(visits)
    assert visits.answer((receipt.dataset, receipt.sequence), b"answer") == b"answer"


def test_a_receipt_of_another_ledger_is_refused(visits, charge, dataset):
    with SQLiteLedger(":memory:") as other:
        other.register(dataset())
        foreign = charge(other)
    charge(visits)
    with pytest.raises(LedgerError, match="not of this ledger"):
        visits.answer(foreign, b"answer")
    with pytest.raises(LedgerError, match="not of this ledger"):
        visits.forfeit(("visits", 99), "timeout")


def test_an_answer_is_bytes(visits, charge):
    with pytest.raises(TypeError):
        visits.answer(charge(visits), "text")


# Answers


@pytest.mark.pitfall("B11")
@pytest.mark.parametrize("payload", [b"", b"0", b"0.0", b"null", b"NaN", b"[]", b"\x00"])
def test_an_answer_that_looks_like_nothing_is_an_answer(visits, charge, payload):
    receipt = charge(visits)
    assert visits.stored("visits", receipt.question) is None
    assert visits.answer(receipt, payload) == payload
    assert visits.stored("visits", receipt.question) == payload
    assert visits.stored("visits", receipt.question) is not None


def test_the_latest_answer_to_a_question_is_the_one_that_is_repeated(visits, charge):
    for payload in (b"first", b"second"):
        visits.answer(charge(visits), payload)
    charge(visits)
    assert visits.stored("visits", charge(visits).question) == b"second"


def test_the_same_question_to_another_dataset_is_another_question(visits, charge, dataset):
    visits.register(dataset(name="other"))
    receipt = charge(visits)
    visits.answer(receipt, b"answer")
    assert visits.stored("other", receipt.question) is None


def test_a_stored_answer_is_read_at_no_cost(visits, charge):
    receipt = charge(visits)
    visits.answer(receipt, b"answer")
    before = len(visits.history("visits"))
    assert visits.stored("visits", receipt.question) == b"answer"
    assert (visits.spent("visits").epsilon, len(visits.history("visits"))) == (10**11, before)


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
    assert ledger.spent("visits") == Cost(5, 5, 0)


@pytest.mark.pitfall("B1")
def test_ten_analysts_together_spend_one_cap(visits, charge):
    for i in range(10):
        charge(visits, analyst=f"analyst {i}")
    with pytest.raises(BudgetError, match="over all analysts"):
        charge(visits, analyst="a new one")


def test_an_event_without_an_epsilon_leaves_only_the_other_filter(ledger, dataset, charge):
    budget = Budget(epsilon=2, delta=1e-9)
    ledger.register(dataset(budget=budget))
    charge(ledger, event=events.ConcentratedEvent(budget.rho(1)))
    assert ledger.spent("visits").epsilon is None
    with pytest.raises(BudgetError):
        charge(ledger, epsilon=1)
    charge(ledger, epsilon=Fraction(1, 10))


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
    [Budget(epsilon=1), Budget(epsilon=1, delta=1e-9), Budget(epsilon=2, delta=1e-9, reserved_delta=3e-10)]
)


@settings(max_examples=60, deadline=None)
@given(_BUDGETS, st.lists(st.one_of(_EVENTS, _BUDGETS), max_size=15))
@pytest.mark.guarantee("ledger")
def test_the_store_admits_exactly_what_the_filters_admit(budget, acts):
    """A model of five lines beside the store: charges and changed caps in any order."""
    with SQLiteLedger(":memory:") as ledger:
        ledger.register(Dataset(name="d", source="memory", unit="one row", facts="{}", budget=budget))
        spent, promise = NOTHING, budget
        for act in acts:
            if isinstance(act, Budget):
                divided_anew = spent != NOTHING and act.reserved_delta != promise.reserved_delta
                if act != promise and not divided_anew:
                    ledger.set_cap("d", act, reason="a test")
                    promise = act
                continue
            admitted = promise.admits(spent + cost(act))
            try:
                ledger.charge("d", version=1, analyst="ann", event=act, question="ab", description="{}")
                assert admitted
                spent += cost(act)
            except BudgetError:
                assert not admitted
            assert ledger.spent("d") == spent
        assert ledger.verify()


# Caps that change


def test_a_raised_cap_is_recorded_with_both_promises_and_its_reason(visits, charge):
    charge(visits, epsilon=1)
    visits.set_cap("visits", Budget(epsilon=2), reason="a second study")
    entry = visits.history("visits")[-1]
    assert entry.kind is Kind.CAPPED
    for text in ("a second study", '"epsilon":"1/1"', '"epsilon":"2/1"', "1000000000000", "2000000000000"):
        assert text in entry.detail
    charge(visits, epsilon=1)
    assert visits.spent("visits").epsilon == 2 * 10**12
    assert visits.verify()


def test_a_cap_below_what_is_spent_leaves_nothing_and_gives_nothing_back(visits, charge):
    charge(visits, epsilon=Fraction(1, 2))
    visits.set_cap("visits", Budget(epsilon=Fraction(1, 4)), reason="too much")
    with pytest.raises(BudgetError):
        charge(visits, epsilon=Fraction(1, 10**12))
    assert visits.spent("visits").epsilon == 5 * 10**11
    assert visits.verify()


def test_a_new_cap_is_what_must_be_declared_from_then_on(visits, dataset, charge):
    charge(visits)
    visits.set_cap("visits", Budget(epsilon=2), reason="a second study")
    assert visits.register(dataset(budget=Budget(epsilon=2))).budget.epsilon == 2
    with pytest.raises(BudgetError, match="new promise"):
        visits.register(dataset())


@pytest.mark.parametrize("reason", ["", " ", None, "a\nb"])
def test_a_cap_does_not_change_without_a_reason(visits, reason):
    with pytest.raises(ParameterError):
        visits.set_cap("visits", Budget(epsilon=2), reason=reason)


def test_the_cap_that_is_already_set_is_refused(visits):
    with pytest.raises(ParameterError, match="it is the cap already"):
        visits.set_cap("visits", Budget(epsilon=1), reason="again")


# Reading


def test_every_dataset_is_listed_with_its_newest_version(visits, dataset):
    visits.register(dataset(version=2))
    visits.register(dataset(name="a"))
    assert [(d.name, d.version) for d in visits.datasets()] == [("a", 1), ("visits", 2)]


def test_an_unknown_dataset_is_refused_with_the_nearest_name(visits):
    for call in (visits.spent, visits.budget, visits.history, lambda name: visits.stored(name, "ab")):
        with pytest.raises(NameNotFoundError) as caught:
            call("visit")
        assert caught.value.instead == "visits"


def test_an_unregistered_version_is_refused(visits, charge):
    with pytest.raises(NameNotFoundError) as caught:
        charge(visits, version=2)
    assert caught.value.instead == "version=1"


@pytest.mark.parametrize(
    "change",
    [
        {"analyst": "a\x00b"},
        {"analyst": ""},
        {"question": "count"},
        {"request": ""},
        {"description": "SELECT"},
        {"version": 0},
    ],
)
def test_a_charge_that_cannot_be_recorded_is_refused_before_it_is_made(visits, charge, change):
    with pytest.raises(ParameterError):
        charge(visits, **change)
    assert len(visits.history("visits")) == 1


# Time and restarts


def test_a_restart_never_resets(path, dataset, charge):
    for already in range(5):
        with SQLiteLedger(path) as ledger:
            ledger.register(dataset())
            assert ledger.spent("visits").epsilon == already * 10**11
            charge(ledger)


@pytest.mark.skipif(shutil.which("cc") is None, reason="needs a C compiler to move a process's clock")
def test_a_clock_that_is_a_year_off_changes_neither_order_nor_totals(tmp_path, path):
    """Real processes whose clock is moved by an interposed clock_gettime: now, a year ahead, a year behind, now."""
    shim = tmp_path / "shim.so"
    subprocess.run(["cc", "-shared", "-fPIC", "-o", shim, "-xc", "-", "-ldl"], input=SHIM, text=True, check=True)
    year = 365 * 24 * 3600
    for offset in (0, year, -year, 0):
        program = [sys.executable, str(Path(__file__).with_name("spender.py")), path, "ann", "1", "1/10"]
        world = {"LD_PRELOAD": str(shim), "CLOCK_OFFSET": str(offset)}
        subprocess.run(program, check=True, env=world, capture_output=True, timeout=60)
    with SQLiteLedger(path) as ledger:
        entries = ledger.history("visits")[1:]
        assert ledger.spent("visits").epsilon == 4 * 10**11
        assert ledger.verify()
    assert [e.sequence for e in entries] == [2, 3, 4, 5]
    times = [e.time for e in entries]
    assert times[1] > times[3] > times[0] > times[2]


# The golden ledger


@pytest.mark.parametrize("version", [1])
def test_a_ledger_of_every_released_version_opens_and_verifies(tmp_path, version):
    shutil.copy(GOLDEN / f"v{version}.sqlite", tmp_path / "ledger.sqlite")
    receipt = Receipt.from_json((GOLDEN / f"v{version}.receipt.json").read_text())
    assert receipt.verify()
    with SQLiteLedger(tmp_path / "ledger.sqlite") as ledger:
        report = ledger.verify(receipts=[receipt])
        assert report, str(report)
        assert ledger.spent("visits") == Cost(None, 12_300_000_000_000, 10_000_000)
        assert ledger.spent("people").epsilon == 333_000_000_000
        assert ledger.stored("visits", "cd") == b""
        assert ledger.stored("visits", "ef") == b"0"
        assert ledger.answer(receipt, b"another") == b'{"n": 12}'
