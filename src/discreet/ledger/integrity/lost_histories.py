"""Lost histories: which anchors that the chain does not hold are of one history, and which receipts are in it.

Where the evidence does not say whether two anchors are of one history, they are of two, and a recovery adds both. So it
is with a receipt: its number alone does not say that it is in the history of a later anchor.
"""

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from itertools import chain, pairwise

from discreet.accounting.costs import Cost, total_cost
from discreet.ledger.integrity.anchors import Anchor, covers
from discreet.ledger.records.receipt import Receipt


@dataclass(frozen=True)
class LostHistory:
    """Lost anchors of one history, in the order of their numbers."""

    anchors: tuple[Anchor, ...]

    @property
    def first(self) -> Anchor:
        """The anchor with the lowest number."""
        return self.anchors[0]

    @property
    def last(self) -> Anchor:
        """The anchor with the highest number, which has the most spent."""
        return self.anchors[-1]

    @property
    def stores(self) -> frozenset[str]:
        """The ids of the stores of shared anchors that its anchors were written with."""
        return frozenset(each.store for each in self.anchors if each.store is not None)

    @property
    def homes(self) -> frozenset[str]:
        """The ids of the homes that wrote its anchors."""
        return frozenset(each.home for each in self.anchors if each.home is not None)

    @property
    def is_rising(self) -> bool:
        """Whether numbers and totals rise."""
        return all(_goes_on(one, other) for one, other in pairwise(self.anchors))


def ancestry(heads: Collection[str], receipts: Iterable[Receipt]) -> set[str]:
    """The hashes of some events and of those before them, as far back as receipts name the event before."""
    previous = {receipt.hash: receipt.previous for receipt in receipts}
    found: set[str] = set()
    for head in heads:
        place: str | None = head
        while place is not None and place not in found:
            found.add(place)
            place = previous.get(place)
    return found


@dataclass(frozen=True)
class Stretch:
    """What is known of a lost history after event `first`, with `spent` by then: its anchors."""

    first: int
    spent: Cost
    anchors: tuple[Anchor, ...]

    def __contains__(self, sequence: int) -> bool:
        return self.first < sequence <= max((each.sequence for each in self.anchors), default=0)


def are_all_receipts(receipts: Collection[Receipt], stretch: Stretch) -> bool:
    """Whether receipts are all those of a stretch of one history, and of no other one.

    Events between two charges, such as answers, leave them without a link by hash. So it asks for all of this: no
    number has two events, times rise with numbers, and the costs are what each anchor says, to the unit.
    """
    within = [each for each in receipts if each.sequence in stretch]
    places = {(each.sequence, each.hash, each.time) for each in within}
    if not within or not _is_in_order(places, stretch.anchors):
        return False
    return all(
        stretch.spent + total_cost(each.cost for each in within if each.sequence <= anchor.sequence) == anchor.spent
        for anchor in stretch.anchors
    )


def _is_in_order(places: Collection[tuple[int, str, str]], anchors: Iterable[Anchor]) -> bool:
    """Whether each number has one event, and times rise with numbers; an anchor is written after its event."""
    found = {number: (name, time) for number, name, time in places}
    if len(found) < len(places) or any(found.get(each.sequence, (each.head,))[0] != each.head for each in anchors):
        return False
    ordered = sorted([(number, 0, time) for number, _, time in places] + [(a.sequence, 1, a.time) for a in anchors])
    return all(one[2] <= other[2] for one, other in pairwise(ordered))


def lost_histories(lost: list[Anchor]) -> list[LostHistory]:
    """The histories of all homes; those that were written with one store are one if together they rise.

    A process anchors only while the highest anchor of all machines, in the store that they share, is in its chain.
    Where numbers or totals contradict this, the store is an older copy too, and nothing in it is known to be of one.
    """
    found = []
    for histories in _groups(_histories_of_homes(lost)):
        anchors = {(each.head, each.spent): each for history in histories for each in history.anchors}
        joint = LostHistory(tuple(sorted(anchors.values(), key=lambda each: each.sequence)))
        found += [joint] if joint.is_rising else histories
    return found


def _histories_of_homes(lost: list[Anchor]) -> list[LostHistory]:
    """Those of each key and home. Its processes may write anchors in another order than their numbers."""
    ended: list[LostHistory] = []
    latest: dict[str, LostHistory] = {}
    for anchor in sorted(lost, key=lambda each: each.sequence):
        own = latest.get(anchor.origin)
        if own and _goes_on(own.last, anchor):
            latest[anchor.origin] = LostHistory((*own.anchors, anchor))
            continue
        ended += [own] if own else []
        latest[anchor.origin] = LostHistory((anchor,))
    return [*ended, *latest.values()]


def _groups(histories: list[LostHistory]) -> list[list[LostHistory]]:
    """Groups of histories of which each has something in common with another one of its group."""
    groups: list[list[LostHistory]] = []
    for history in histories:
        near = [any(_may_be_one(each, history) for each in group) for group in groups]
        joint = [history, *chain.from_iterable(group for group, is_near in zip(groups, near, strict=True) if is_near)]
        groups = [*(group for group, is_near in zip(groups, near, strict=True) if not is_near), joint]
    return groups


def _may_be_one(one: LostHistory, other: LostHistory) -> bool:
    """Whether two histories have a store, a home or a key in common; a key alone where a home wrote no id yet."""
    if one.stores & other.stores or one.homes & other.homes:
        return True
    return one.first.key == other.first.key and not (one.homes and other.homes)


def _goes_on(one: Anchor, other: Anchor) -> bool:
    """Whether an anchor may be of the history of a lower one."""
    return one.sequence < other.sequence and covers(other.spent, one.spent)
