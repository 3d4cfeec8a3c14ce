"""The ledger beside a reference of a few lines: whatever is done in whatever order, everything that can be read agrees.

Hypothesis chooses the acts: charges, repeats, retries, answers, failures, takeovers, caps, quotas, versions, names,
restarts. The reference keeps a list of charges and a dictionary of shares, and knows nothing of stores.
"""

import hashlib
import itertools
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    Bundle,
    RuleBasedStateMachine,
    initialize,
    invariant,
    multiple,
    rule,
    run_state_machine_as_test,
)

from discreet import events
from discreet.accounting.filters import Budget
from discreet.errors import BudgetError, Failure, ParameterError, PendingError
from discreet.ledger import Dataset, Kind, Ledger, PostgresLedger, Reservation, SQLiteLedger, State, SupersededError

TENTH = 10**11
ANALYSTS = ("ann", "bob", "eve")
EVERYONE = "*"
_NAMES = (f"d{number}" for number in itertools.count())


# The reference, in tenths of epsilon


@dataclass(eq=False)
class Charge:
    analyst: str
    question: str
    request: str | None
    cost: int
    state: State = State.RESERVED
    attempt: int = 1
    is_held: bool = True
    answer: bytes | None = None


@dataclass(frozen=True)
class Share:
    quota: int | None = None
    most: int = 100
    is_own: bool = False
    spent: int = 0
    failures: int = 0


@dataclass
class Reference:
    cap: int
    charges: list[Charge] = field(default_factory=list)
    shares: dict[str, Share] = field(default_factory=lambda: {EVERYONE: Share()})
    rejected: int = 0

    @property
    def spent(self) -> int:
        return sum(charge.cost for charge in self.charges)

    def share(self, analyst: str) -> Share:
        return self.shares.get(analyst, replace(self.shares[EVERYONE], is_own=False, spent=0, failures=0))

    def charge(self, analyst: str, question: str, request: str | None, cost: int, *, fresh: bool) -> Any:
        """A place and an attempt, a stored answer, or what is raised."""
        asked = [] if fresh else [c for c in self.charges if c.question == question and c.state != State.FORFEITED]
        answered = [c for c in asked if c.state == State.ANSWERED]
        requested = [c for c in self.charges if request and (c.analyst, c.request) == (analyst, request)]
        if answered:
            return answered[-1].answer
        if requested and requested[0].question != question:
            return ParameterError
        earlier = (requested or asked or [None])[-1]
        if earlier is not None and not self._is_given_up(earlier, analyst):
            return self._again(earlier)
        if earlier is not None:
            self.forfeit(self.charges.index(earlier), earlier.attempt)
        share = self.share(analyst)
        is_over = share.quota is not None and share.spent + cost > share.quota
        if self.spent + cost > self.cap or share.failures >= share.most or is_over:
            self.rejected += 1
            return BudgetError
        self.shares[analyst] = replace(share, spent=share.spent + cost)
        self.charges.append(Charge(analyst, question, request, cost))
        return len(self.charges) - 1, 1

    def _is_given_up(self, charge: Charge, analyst: str) -> bool:
        """Expired, and of somebody else who may fail no more."""
        share = self.share(charge.analyst)
        is_lost = charge.state == State.RESERVED and not charge.is_held
        return is_lost and charge.analyst != analyst and share.failures >= share.most

    def _is_given_up(self, charge: Charge, analyst: str) -> bool:
        """Another one's, who let it expire and may fail no more."""
        share = self.share(charge.analyst)
        is_lost = charge.state == State.RESERVED and not charge.is_held and charge.analyst != analyst
        return is_lost and share.failures >= share.most

    def _again(self, charge: Charge) -> Any:
        if charge.state != State.RESERVED:
            return Failure if charge.state == State.FORFEITED else charge.answer
        if charge.is_held:
            return PendingError
        if self.share(charge.analyst).failures >= self.share(charge.analyst).most:
            return BudgetError
        self._fail(charge)
        charge.attempt, charge.is_held = charge.attempt + 1, True
        return self.charges.index(charge), charge.attempt

    def answer(self, place: int, attempt: int, payload: bytes) -> Any:
        charge = self.charges[place]
        if charge.state == State.FORFEITED:
            return Failure
        if charge.state == State.RESERVED and charge.attempt != attempt:
            return SupersededError
        if charge.state == State.RESERVED:
            charge.state, charge.answer = State.ANSWERED, payload
        return charge.answer

    def is_ours(self, place: int, attempt: int) -> bool:
        return (self.charges[place].state, self.charges[place].attempt) == (State.RESERVED, attempt)

    def forfeit(self, place: int, attempt: int) -> State:
        if self.is_ours(place, attempt):
            self._forfeit(self.charges[place])
        return self.charges[place].state

    def forfeit_expired(self) -> int:
        lost = [i for i, c in enumerate(self.charges) if c.state == State.RESERVED and not c.is_held]
        return len([self.forfeit(place, self.charges[place].attempt) for place in lost])

    def limit(self, analyst: str, quota: int | None, failures: int | None) -> None:
        most = self.share(analyst).most if failures is None else failures
        followers = [name for name, share in self.shares.items() if analyst == EVERYONE and not share.is_own]
        for name in {analyst, *followers}:
            self.shares[name] = replace(self.share(name), quota=quota, most=most, is_own=analyst != EVERYONE)

    def _forfeit(self, charge: Charge) -> None:
        charge.state = State.FORFEITED
        self._fail(charge)

    def _fail(self, charge: Charge) -> None:
        share = self.share(charge.analyst)
        self.shares[charge.analyst] = replace(share, failures=share.failures + 1)


# The ledger beside it


def outcome(act: Any) -> Any:
    """What an act gives, or the class of what it raises."""
    try:
        return act()
    except (BudgetError, Failure, ParameterError, PendingError, SupersededError) as error:
        return type(error)


@dataclass(frozen=True)
class Asked:
    analyst: str
    cost: int
    request: str | None
    version: int = 1

    @property
    def question(self) -> str:
        return hashlib.sha256(f"{self.cost} of version {self.version}".encode()).hexdigest()


ASKED = st.builds(
    Asked, st.sampled_from(ANALYSTS), st.integers(1, 3), st.none() | st.sampled_from(("r-1", "r-2", "r-3"))
)


@dataclass(frozen=True)
class Held:
    """A turn as it was given once, however late it is used."""

    asked: Asked
    place: int
    turn: Reservation


def budget(tenths: int) -> Budget:
    return Budget(epsilon=Fraction(tenths, 10))


class Beside(RuleBasedStateMachine):
    """Each act is done to both, and what comes back is compared; then everything that can be read."""

    turns = Bundle("turns")

    def __init__(self, address: str) -> None:
        super().__init__()
        self.address = address
        self.names = [next(_NAMES)]
        self.version = 1
        self.receipts: list[Any] = []
        self.ledger, self.hasty = self._opened(), self._opened()
        self.hasty._term = 0  # shorter than anybody may ask for: what it renews has expired

    def _opened(self) -> Ledger:
        kind = PostgresLedger if self.address.startswith("postgresql:") else SQLiteLedger
        return kind(self.address, lease=3600.0)

    def _dataset(self) -> Dataset:
        facts = {"source": "memory", "unit": "one row", "facts": "{}", "budget": budget(self.reference.cap)}
        return Dataset(name=self.names[-1], version=self.version, **facts)

    @initialize(target=turns, cap=st.integers(5, 60), asked=st.lists(ASKED, min_size=3, max_size=6))
    def register(self, cap: int, asked: list[Asked]) -> Any:
        """With a few charges to begin with: Hypothesis leaves out some of the rules in each run."""
        self.reference = Reference(cap)
        self.ledger.register(self._dataset())
        return multiple(*(held for each in asked if isinstance(held := self._charged(each, fresh=True), Held)))

    @rule(target=turns, asked=ASKED, fresh=st.booleans(), any_version=st.integers(0, 9))
    def charge(self, asked: Asked, fresh: bool, any_version: int) -> Any:
        return self._charged(replace(asked, version=1 + any_version % self.version), fresh=fresh)

    @rule(target=turns, turn=turns, analyst=st.sampled_from(ANALYSTS))
    def ask_the_same_question(self, turn: Held, analyst: str) -> Any:
        return self._charged(replace(turn.asked, analyst=analyst, request=None))

    @rule(target=turns, turn=turns, fresh=st.booleans())
    def retry(self, turn: Held, fresh: bool) -> Any:
        return self._charged(turn.asked, fresh=fresh)

    @rule(target=turns, turn=turns, analyst=st.sampled_from(ANALYSTS), is_late=st.booleans())
    def take_over(self, turn: Held, analyst: str, is_late: bool) -> Any:
        """Its lease expires, somebody asks the same question, and perhaps it answers after all."""
        self._hold(turn, is_held=False)
        taken = self._charged(replace(turn.asked, analyst=analyst, request=None))
        if is_late:
            self.answer(turn, b"too late")
        return taken

    @rule(turn=turns, payload=st.binary(max_size=3))
    def answer(self, turn: Held, payload: bytes) -> None:
        expected = self.reference.answer(turn.place, turn.turn.attempt, payload)
        assert outcome(lambda: self.ledger.answer(turn.turn, payload)) == expected

    @rule(turn=turns)
    def forfeit(self, turn: Held) -> None:
        assert self.ledger.forfeit(turn.turn, "ValueError") == self.reference.forfeit(turn.place, turn.turn.attempt)

    @rule(turn=turns, is_held=st.booleans())
    def renew_or_expire(self, turn: Held, is_held: bool) -> None:
        self._hold(turn, is_held=is_held)

    @rule(act=st.sampled_from(("forfeit_expired", "add_a_version", "rename", "reopen")))
    def maintain(self, act: str) -> None:
        getattr(self, f"_{act}")()

    @rule(cap=st.integers(5, 60))
    def set_cap(self, cap: int) -> None:
        expected = ParameterError if cap == self.reference.cap else None
        assert outcome(lambda: self.ledger.set_cap(self.names[-1], budget(cap), reason="a test")) is expected
        self.reference.cap = cap

    @rule(
        analyst=st.sampled_from((*ANALYSTS, EVERYONE)),
        quota=st.none() | st.integers(1, 30),
        failures=st.none() | st.integers(0, 6),
    )
    def set_quota(self, analyst: str, quota: int | None, failures: int | None) -> None:
        given_quota = None if quota is None else budget(quota)
        self.ledger.set_quota(self.names[0], analyst, given_quota, failures=failures, reason="a test")
        self.reference.limit(analyst, quota, failures)

    def _charged(self, asked: Asked, *, fresh: bool = False) -> Any:
        expected = self.reference.charge(asked.analyst, asked.question, asked.request, asked.cost, fresh=fresh)
        told = {"analyst": asked.analyst, "question": asked.question, "request": asked.request, "description": "{}"}
        event = events.PureEvent(Fraction(asked.cost, 10))
        name = self.names[len(self.receipts) % len(self.names)]
        told |= {"version": asked.version, "event": event, "fresh": fresh, "patience": 0}
        got = outcome(lambda: self.ledger.charge(name, **told))
        if not isinstance(got, Reservation) or got.payload is not None:
            assert (got.payload if isinstance(got, Reservation) else got) == expected
            return multiple()
        place, attempt = expected
        if place == len(self.receipts):
            self.receipts.append(got.receipt)
        assert (got.receipt, got.attempt) == (self.receipts[place], attempt)
        return Held(asked, place, got)

    def _hold(self, turn: Held, *, is_held: bool) -> None:
        ours = self.reference.is_ours(turn.place, turn.turn.attempt)
        assert (self.ledger if is_held else self.hasty).holding(turn.turn)._renew() == ours
        if ours:
            self.reference.charges[turn.place].is_held = is_held

    def _forfeit_expired(self) -> None:
        assert self.ledger.forfeit_expired(grace=0) == self.reference.forfeit_expired()

    def _add_a_version(self) -> None:
        self.version += 1
        assert self.ledger.register(self._dataset()).version == self.version

    def _rename(self) -> None:
        self.names.append(next(_NAMES))
        self.ledger.rename(self.names[0], self.names[-1], reason="a test")

    def _reopen(self) -> None:
        self.ledger.close()
        self.ledger = self._opened()

    @invariant()
    def everything_agrees(self) -> None:
        name, reference = self.names[-1], self.reference
        entries = self.ledger.history(name)
        charges = [entry for entry in entries if entry.kind == Kind.RESERVED]
        read = [(entry.analyst, entry.question, entry.cost.epsilon, entry.state) for entry in charges]
        assert read == [(c.analyst, c.question, c.cost * TENTH, c.state) for c in reference.charges]
        assert [entry.sequence for entry in charges] == [receipt.sequence for receipt in self.receipts]
        assert sum(entry.kind == Kind.REJECTED for entry in entries) == reference.rejected
        assert self.ledger.spent(name).epsilon == reference.spent * TENTH
        assert self.ledger.budget(name) == budget(reference.cap)
        for analyst in ANALYSTS:
            share, known = self.ledger.share(name, analyst), reference.share(analyst)
            assert share.quota == (None if known.quota is None else budget(known.quota))
            counted = (share.spent.epsilon, share.failures, share.most_failures)
            assert counted == (known.spent * TENTH, known.failures, known.most)
        for question in {charge.question for charge in reference.charges}:
            answers = [c.answer for c in reference.charges if (c.question, c.state) == (question, State.ANSWERED)]
            assert self.ledger.stored_answer(name, question) == (answers[-1] if answers else None)

    def teardown(self) -> None:
        self.ledger.forfeit_expired(grace=0)  # it is for all datasets, also those of the next example
        verified = self.ledger.verify(self.names[0], receipts=self.receipts)
        self.ledger.close()
        self.hasty.close()
        assert verified, str(verified)


def compare(address: Callable[[], str], examples: int, steps: int) -> None:
    chosen = settings(
        max_examples=examples, stateful_step_count=steps, deadline=None, suppress_health_check=list(HealthCheck)
    )
    run_state_machine_as_test(lambda: Beside(address()), settings=chosen)


@pytest.mark.guarantee("ledger")
@pytest.mark.parametrize("examples", [15, pytest.param(150, marks=pytest.mark.nightly)])
def test_the_ledger_on_sqlite_is_its_reference(path, examples):
    numbers = itertools.count()
    compare(lambda: f"{path}.{next(numbers)}", examples, steps=30)


@pytest.mark.guarantee("ledger")
@pytest.mark.parametrize("examples", [4, pytest.param(30, marks=pytest.mark.nightly)])
def test_the_ledger_on_postgresql_is_its_reference(postgres_address, examples):
    compare(lambda: postgres_address, examples, steps=25)
