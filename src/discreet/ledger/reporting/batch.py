"""A history as one batch: its epsilons by privacy-loss distributions, where every query was fixed in advance.

Whether that was so is a fact about the analysts which no ledger can see, so the caller states it. Equal events are
counted and composed at once. Of more than `MOST_DISTINCT` different events the heaviest are composed as they are, and
the others are replaced by what is at least as revealing: an event with a finite epsilon by randomized response of an
epsilon at or above its own, out of `MOST_GROUPS` values; anything else by its rho. A charge without an event, which an
owner recovered from other evidence, counts by its rho and delta.
"""

import heapq
import math
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction

from discreet import accounting, events
from discreet.accounting.costs import DELTA_UNITS, NOTHING, RHO_UNITS, Cost
from discreet.accounting.prices import price
from discreet.errors import Refusal
from discreet.exact.rounding import double_up, units_up
from discreet.ledger.records.history import Entry
from discreet.ledger.reporting.spending import BY_LOSSES, AtDelta

MOST_DISTINCT = 128
MOST_GROUPS = 64
_FINE = 10**24  # exact sums of ten thousand different fractions have denominators of as many digits

NOT_FIXED = (
    "PLD is not shown: it holds only where every query was fixed before the first answer, "
    "not for analysts who choose as they go"
)
_STATED = "PLD holds because the caller states that every query was fixed before the first answer"

Counted = Counter[events.Event]


@dataclass(frozen=True)
class BatchTotal:
    """Epsilons by loss distributions at several deltas, and the condition they hold under, or why there are none."""

    figures: tuple[AtDelta, ...]
    note: str


def batch(entries: Iterable[Entry], known: Sequence[AtDelta]) -> BatchTotal:
    """The loss distributions of a whole history that was fixed in advance, at the deltas where it is known otherwise.

    What is known otherwise is taken where it is smaller, as rounding in groups can make it. An event that cannot be
    read is stated, not guessed.
    """
    try:
        _ = accounting.pld
    except Refusal as refusal:
        return BatchTotal((), f"PLD is not shown: {refusal.because}; {refusal.instead} adds it")
    texts: Counter[str] = Counter()
    unwritten: Counter[Cost] = Counter()
    for entry in entries:
        if entry.cost == NOTHING:
            continue
        if entry.event is None:
            unwritten[entry.cost] += 1
        else:
            texts[entry.event] += 1
    try:
        counted = _leaves(texts, unwritten)
        reduced = bound_events(counted)
    except Refusal as refusal:
        return BatchTotal((), f"PLD is not shown for {refusal.what}: {refusal.because}")
    event = _together(reduced)
    note = _STATED + _notes(len(counted), bounded=reduced is not counted, unwritten=unwritten.total())
    return BatchTotal(tuple(_at(event, otherwise) for otherwise in known), note)


def bound_events(counted: Counted) -> Counted:
    """The same events where few are different; else the heaviest of them, and something above each of the others."""
    if len(counted) <= MOST_DISTINCT:
        return counted
    heaviest = sorted(counted, key=lambda event: counted[event] * float(price(event).rho), reverse=True)
    bounded = Counter({event: counted[event] for event in heaviest[: MOST_DISTINCT - MOST_GROUPS]})
    rho = delta = 0
    epsilons: Counter[float] = Counter()
    for event in heaviest[MOST_DISTINCT - MOST_GROUPS :]:
        cost, count = price(event), counted[event]
        delta += units_up(count * cost.delta, _FINE)
        if cost.epsilon is None:
            rho += units_up(count * cost.rho, _FINE)
        else:
            epsilons[double_up(cost.epsilon)] += count
    for largest, count in _groups(epsilons):
        bounded[events.PureEvent(Fraction(largest))] += count
    bounded[events.ConcentratedEvent(Fraction(rho, _FINE), Fraction(min(delta, _FINE), _FINE))] += 1
    return bounded


def _leaves(texts: Counter[str], unwritten: Counter[Cost]) -> Counted:
    counted: Counted = Counter()
    for text, count in texts.items():
        for leaf, inside in events.leaves(events.from_canonical(text)):
            counted[leaf] += count * inside
    for cost, count in unwritten.items():
        counted[_event_of(cost)] += count
    return counted


def _event_of(cost: Cost) -> events.Event:
    """What a cost stands for by itself: its rho, since its epsilon may be that of a part."""
    return events.ConcentratedEvent(Fraction(cost.rho, RHO_UNITS), Fraction(min(cost.delta, DELTA_UNITS), DELTA_UNITS))


def _groups(counted: Counter[float]) -> Iterator[tuple[float, int]]:
    """The largest value of each group and how many are in it; each split is where it saves most."""
    values = sorted(counted)
    if not values:
        return
    heap = [_split(values, counted)]
    while len(heap) < MOST_GROUPS and heap[0][0] < 0:
        _, group, place = heapq.heappop(heap)
        for part in (group[:place], group[place:]):
            heapq.heappush(heap, _split(part, counted))
    for _, group, _ in heap:
        yield group[-1], sum(counted[value] for value in group)


def _split(group: list[float], counted: Counter[float]) -> tuple[float, list[float], int]:
    """Minus what the best split of a sorted group saves in squares, the group, and the place of that split."""
    top, below, saved, place = group[-1], 0, 0.0, 0
    for index, value in enumerate(group[:-1]):
        below += counted[value]
        saving = below * (top - value) * (top + value)
        if saving > saved:
            saved, place = saving, index + 1
    return -saved, group, place


def _together(counted: Counted) -> events.Event:
    return events.ComposedEvent(
        tuple(leaf if count == 1 else events.RepeatedEvent(leaf, count) for leaf, count in counted.items())
    )


def _at(event: events.Event, known: AtDelta) -> AtDelta:
    try:
        found = accounting.pld.epsilon(event, known.delta)
    except Refusal as refusal:
        return AtDelta(known.delta, None, refusal.because)
    epsilon = Fraction(math.nextafter(found, math.inf)) if found else Fraction(0)
    if known.epsilon is not None and known.epsilon < epsilon:
        return AtDelta(known.delta, known.epsilon, f"{known.by}, below PLD")
    return AtDelta(known.delta, epsilon, BY_LOSSES)


def _notes(distinct: int, *, bounded: bool, unwritten: int) -> str:
    notes = ""
    if bounded:
        notes += (
            f"; of {distinct:,} different events the {MOST_DISTINCT - MOST_GROUPS} heaviest are composed as they are, "
            "and the others rounded up in groups"
        )
    if unwritten:
        notes += f"; {unwritten:,} recovered without an event {'counts' if unwritten == 1 else 'count'} by rho"
    return notes
