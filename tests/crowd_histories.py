"""A history checker for crowds that race for the same requests under kills.

Clients write what they are about to ask, what they were told, and when by the clock of the machine. This is
compared with the ledger. Each check returns what is wrong, in words, and nothing where all is well. Checks of single
requests are in histories.py.
"""

import json
from bisect import bisect_left
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate

from discreet.ledger import Anchor, Kind, Ledger, Receipt
from histories import NAME

_EVENTS = """SELECT sequence, kind, hash, cost_epsilon, question, detail FROM events
WHERE dataset = :name ORDER BY sequence"""


@dataclass(frozen=True)
class Try:
    """One try of a request: what it costs, when it was begun, and when it was accepted or refused, in nanoseconds.

    One that a fault or a kill ended was told nothing: `ended` is None. A refused one has no receipt.
    """

    question: str
    cost: int
    begun: int
    ended: int | None = None
    receipt: Receipt | None = None

    @property
    def is_refused(self) -> bool:
        """Whether the client was told that the request does not fit."""
        return self.ended is not None and self.receipt is None


@dataclass(frozen=True)
class Event:
    """One event of the chain, with the total before it; `cost` is what was asked, also where it was refused."""

    sequence: int
    kind: str
    hash: str
    cost: int
    question: str | None
    before: int

    @property
    def after(self) -> int:
        """The total after it."""
        return self.before + (self.cost if self.kind == Kind.RESERVED else 0)


def events_of(ledger: Ledger) -> list[Event]:
    """The chain as the store holds it."""
    found: list[Event] = []
    for row in ledger._look(lambda writer: writer.rows(_EVENTS, name=NAME)):
        cost = json.loads(row["detail"])["asked"][0] if row["kind"] == Kind.REJECTED else row["cost_epsilon"]
        before = found[-1].after if found else 0
        found.append(Event(row["sequence"], row["kind"], row["hash"], cost, row["question"], before))
    return found


def wrong_with_a_crowd(events: Iterable[Event], tries: Iterable[Try], *, cap: int) -> list[str]:
    """Within the cap, in the order of time, nothing acknowledged is lost, and refusals only where there is no room."""
    check = _Crowd(tuple(events), tuple(tries), cap)
    return [*check.totals(), *check.receipts(), *check.order(), *check.refusals()]


@dataclass(frozen=True)
class _Crowd:
    events: tuple[Event, ...]
    tries: tuple[Try, ...]
    cap: int

    @cached_property
    def charges(self) -> list[Event]:
        return [each for each in self.events if each.kind == Kind.RESERVED]

    @cached_property
    def begun(self) -> dict[str, int]:
        """By question, when it was first asked."""
        return _first((each.question, each.begun) for each in self.tries)

    @cached_property
    def acknowledged(self) -> dict[str, int]:
        """By question, when somebody was first told that it is charged."""
        return _first((each.question, each.ended) for each in self.tries if each.ended is not None and each.receipt)

    @cached_property
    def earliest(self) -> list[int]:
        """For each charge, the time before which it was not made: it and all before it were asked for by then."""
        times = [0]
        for each in self.charges:
            times.append(max(times[-1], self.begun.get(each.question or "", 0)))
        return times[1:]

    def totals(self) -> Iterator[str]:
        """By the chain alone."""
        for each in self.events:
            if each.kind == Kind.RESERVED and each.after > self.cap:
                yield f"event {each.sequence} spends {each.after} units of a cap of {self.cap}"
            if each.kind == Kind.REJECTED and each.before + each.cost <= self.cap:
                yield f"event {each.sequence} refuses {each.cost} units while there was room"

    def receipts(self) -> Iterator[str]:
        """Every acknowledged charge stands in the chain, with its hash and at its cost; one charge for a question."""
        held = {each.sequence: each for each in self.charges}
        for question, count in Counter(each.question for each in self.charges).items():
            if count > 1:
                yield f"question {question} was charged {count} times"
        for receipt, cost in {(each.receipt, each.cost) for each in self.tries if each.receipt}:
            event = held.get(receipt.sequence)
            if event is None or event.hash != receipt.hash or event.question != receipt.question:
                yield f"the acknowledged charge {receipt.sequence} is not in the ledger"
            elif not event.cost == cost == receipt.cost.epsilon:
                yield f"the acknowledged charge {receipt.sequence} has another cost"

    def order(self) -> Iterator[str]:
        """A charge that was acknowledged before another was asked for stands before it."""
        for each, earliest in zip(self.charges, self.earliest, strict=True):
            if self.acknowledged.get(each.question or "", earliest) < earliest:
                yield f"event {each.sequence} was acknowledged before one with a lower number was asked for"

    def refusals(self) -> Iterator[str]:
        """What clients were told: the total at the end of a refused try is at most what was asked for by then."""
        refused = [each for each in self.tries if each.is_refused]
        recorded = sum(each.kind == Kind.REJECTED for each in self.events)
        if len(refused) > recorded:
            yield f"{len(refused)} refusals were told and {recorded} are recorded"
        for each in refused:
            if self._most_spent_at(each.ended or 0) + each.cost <= self.cap:
                yield f"{each.cost} units were refused while there was room"
            if self.acknowledged.get(each.question, each.begun) < each.begun:
                yield f"question {each.question} was refused after its charge was acknowledged"

    def _most_spent_at(self, time: int) -> int:
        place = bisect_left(self.earliest, time)
        return self.charges[place - 1].after if place else 0


def _first(times: Iterable[tuple[str, int]]) -> dict[str, int]:
    found: dict[str, int] = {}
    for question, time in times:
        found[question] = min(time, found.get(question, time))
    return found


def wrong_with_anchors(events: Iterable[Event], homes: Mapping[str, Iterable[Anchor]]) -> list[str]:
    """Each home and the shared store has anchors, each of an event in the chain with the total at that event."""
    held = {each.sequence: each for each in events}
    found = []
    for home, anchors in homes.items():
        known = list(anchors)
        found += [] if known else [f"{home}: there are no anchors"]
        for anchor in known:
            event = held.get(anchor.sequence)
            if event is None or (event.hash, event.after) != (anchor.head, anchor.spent.epsilon):
                found.append(f"{home}: the anchor of event {anchor.sequence} does not agree with the chain")
    return found


def wrong_with_acknowledgements(tries: Iterable[Try], looks: Iterable[tuple[int, int]]) -> list[str]:
    """No charge is acknowledged before the shared anchors reach it.

    A look is a time, and the highest event that was anchored in the shared store then or later.
    """
    told = sorted((each.ended, each.receipt.sequence) for each in tries if each.ended is not None and each.receipt)
    highest = [0, *accumulate((sequence for _, sequence in told), max)]
    found = []
    for time, anchored in looks:
        acknowledged = highest[bisect_left(told, (time, 0))]
        if acknowledged > anchored:
            found.append(f"event {acknowledged} was acknowledged while the shared anchors ended at event {anchored}")
    return found


def wrong_with_the_end(events: Iterable[Event], shared: Iterable[Anchor]) -> list[str]:
    """The shared anchors reach the last event, once all processes have ended in good order."""
    last, anchored = max(each.sequence for each in events), max((each.sequence for each in shared), default=0)
    return [] if last == anchored else [f"the chain ends at event {last}, and the shared anchors at event {anchored}"]


def wrong_with_faults(faults: Mapping[str, int], *, expected: Collection[str]) -> list[str]:
    """Clients were told of no other faults than those of kills."""
    return [f"{count} times: {fault}" for fault, count in faults.items() if fault not in expected]
