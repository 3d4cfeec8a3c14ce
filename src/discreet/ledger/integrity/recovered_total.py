"""The total of a recovery: the most that the store, anchors and receipts show, in all histories that were seen."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from functools import cached_property
from itertools import accumulate
from typing import Any

from discreet.accounting.costs import LARGEST_UNITS, NOTHING, Cost, total_cost
from discreet.ledger.integrity.anchors import Anchor, covers, highest
from discreet.ledger.integrity.evidence import DatasetRows
from discreet.ledger.integrity.lost_histories import LostHistory, Stretch, ancestry, are_all_receipts, lost_histories
from discreet.ledger.records.account import Account
from discreet.ledger.records.canonical_text import parse_object
from discreet.ledger.records.chain import Kind, cost_in
from discreet.ledger.records.receipt import Receipt

SKEWS = 10
"""Times of two machines are ordered only if they differ by more than this multiple of the largest fall in a chain."""

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_LATEST = (datetime.max.replace(tzinfo=UTC) - _EPOCH) // timedelta(microseconds=1)


@dataclass(frozen=True, kw_only=True)
class RecoveryEvidence:
    """What is known about one dataset besides what the store holds: anchors, and receipts that the ledger signed.

    `shared` has the id of the store that machines share anchors in and the highest sequence number of each key there,
    where all of it was read.
    """

    name: str
    anchors: tuple[Anchor, ...]
    receipts: tuple[Receipt, ...]
    reason: str
    shared: Mapping[str, Any] | None = None

    @property
    def anchor(self) -> Anchor | None:
        """The highest anchor, with the most that any of them says was spent."""
        if not self.anchors:
            return None
        latest = max(self.anchors, key=lambda each: each.sequence)
        return replace(latest, spent=highest(NOTHING, (each.spent for each in self.anchors)))

    @property
    def given_receipts(self) -> list[Receipt]:
        """The receipts of this dataset, each once."""
        return list({receipt.hash: receipt for receipt in self.receipts if receipt.dataset == self.name}.values())


@dataclass(frozen=True)
class RecoveryCase:
    """A dataset to be recovered: its account, the rows that the store holds of it, and the evidence beside them."""

    known: Account
    held: DatasetRows
    proof: RecoveryEvidence

    @cached_property
    def lost_anchors(self) -> list[Anchor]:
        """Anchors of histories that the chain does not hold and no recovery counted, in the order of their file."""
        unlike = (each for each in self.proof.anchors if self.held.heads.get(each.sequence) != each.head)
        return [each for each in unlike if each.sequence and not self.held.counts(each)]

    @cached_property
    def standing_anchors(self) -> list[Anchor]:
        """Anchors that the chain holds."""
        return [each for each in self.proof.anchors if self.held.heads.get(each.sequence) == each.head]

    @cached_property
    def missing(self) -> list[Receipt]:
        """Receipts, each once, of charges that the chain does not hold and that no recovery counted."""
        known = {*self.held.heads.values(), *self.held.recovered_receipts()}
        return [each for each in self.proof.given_receipts if each.hash not in known]

    def is_deleted_end(self, anchor: Anchor) -> bool:
        """Whether only the last event was deleted, and an anchor is of it: the dataset's row still names it."""
        is_end = (anchor.sequence, anchor.head) == (self.known.sequence, self.known.head)
        return is_end and max(self.held.heads, default=0) == self.known.sequence - 1


def recovered_total(case: RecoveryCase) -> Cost:
    """The most of: the row, the chain, the charges of which the chain or a receipt is left, and the anchors.

    A receipt that an event names as the one before it was in this history, and its charge is in the row's total.
    """
    held = case.held
    lost = [*held.recovered_receipts().values(), *(receipt.cost for receipt in case.missing)]
    most = highest(
        _spent_here(case) + receipt_total(uncounted_receipts(case, ())),
        [
            event_total(held.events),
            event_total(held.intact(Kind.RESERVED)) + total_cost(lost),
            _anchored_cost(case),
            _cost_with_forks(case),
            *_capped_totals(held),
        ],
    )
    epsilon = None if most.epsilon is None else min(most.epsilon, LARGEST_UNITS)
    rho, delta, renyi = (min(units, LARGEST_UNITS) for units in (most.rho, most.delta, most.renyi))
    return Cost(epsilon, rho, delta, renyi)


def _spent_here(case: RecoveryCase) -> Cost:
    """The most that the row, the chain and the anchors in it say was spent in this history."""
    anchored = (each.spent for each in case.standing_anchors)
    return highest(case.known.spent, [event_total(case.held.events), *anchored])


def uncounted_receipts(case: RecoveryCase, lost: Iterable[Stretch]) -> list[Receipt]:
    """Missing receipts that are not known to be in the row's total, in what recoveries counted or in lost histories.

    A number says nothing: another history has an event of that number too. What counts is a link by hashes to an event
    of the chain or to an anchor, or that the receipts of one history are all given.
    """
    held, proof = case.held, case.proof
    stretches = [*lost, *_counted_stretches(case)]
    heads = {case.known.head, *(row["previous"] for row in held.events)}
    heads |= {head for detail in held.recoveries for head in detail.get("anchors", ())}
    heads |= {each.head for each in proof.anchors if held.counts(each)}
    heads |= {each.head for stretch in stretches for each in stretch.anchors}
    counted, chain = ancestry(heads, proof.given_receipts), set(held.heads.values())
    left = [each for each in case.missing if each.hash not in counted]
    receipts = [each for each in proof.given_receipts if each.hash not in chain] if left else []
    whole = [stretch for stretch in stretches if are_all_receipts(receipts, stretch)]
    return [each for each in left if not any(each.sequence in stretch for stretch in whole)]


def _counted_stretches(case: RecoveryCase) -> Iterator[Stretch]:
    """What earlier recoveries counted by anchors that are still there."""
    for detail in case.held.recoveries:
        anchors = tuple(each for each in case.proof.anchors if each.head in detail.get("anchors", ()))
        if "old" in detail:  # recoveries by earlier versions may lack it
            yield Stretch(detail["from"]["sequence"], Cost.of_units(*detail["old"]["spent"]), anchors)


def _capped_totals(held: DatasetRows) -> Iterator[Cost]:
    """What was spent when caps were set."""
    for row in held.intact(Kind.CAPPED):
        yield Cost.of_units(*parse_object(row["detail"])["spent"])


def _anchored_cost(case: RecoveryCase) -> Cost:
    """What was anchored and was charged later; after another history, all that is not known to be in both."""
    held, anchor = case.held, case.proof.anchor
    if anchor is None:
        return NOTHING
    spent = anchor.spent + receipt_total(receipt for receipt in case.missing if receipt.sequence > anchor.sequence)
    is_here = held.heads.get(anchor.sequence) == anchor.head or case.is_deleted_end(anchor)
    if anchor.sequence > case.known.sequence or is_here:
        return spent
    shared = max((each.sequence for each in case.standing_anchors), default=0)
    return spent + event_total(row for row in held.intact(Kind.RESERVED) if row["sequence"] > shared)


def _cost_with_forks(case: RecoveryCase) -> Cost:
    """What is spent here and, beside it, in histories that parted from this one: both were seen, so they add.

    An older copy that nobody charged since is no fork: its chain is the beginning of the one that is lost. Of several
    that are no forks, only the one with the most spent can go on from here: the others parted from that one.
    """
    forks: list[_Parting] = []
    ahead: _Parting | None = None
    for history in lost_histories(case.lost_anchors):
        each = _Parting.of(case, history)
        if _is_fork(case, each) or (ahead and covers(ahead.lost.last.spent, history.last.spent)):
            forks.append(each)
            continue
        forks += [ahead] if ahead else []
        ahead = each
    known, parted = case.known, [each.stretch for each in forks]
    spent = highest(_spent_here(case), [ahead.lost.last.spent] if ahead else [])
    beside = (difference(fork.lost.last.spent, each.spent) for fork, each in zip(forks, parted, strict=True))
    lost = [*([Stretch(known.sequence, known.spent, ahead.lost.anchors)] if ahead else []), *parted]
    return spent + total_cost(beside) + receipt_total(uncounted_receipts(case, lost))


@dataclass(frozen=True)
class _Parting:
    """A lost history, and where it and this chain parted.

    `common` is the last anchor that is known to be in both. `limit` is the last moment, by any clock and in
    microseconds, that is known to be before the lost history was anchored first.
    """

    lost: LostHistory
    common: Anchor | None
    limit: int

    @classmethod
    def of(cls, case: RecoveryCase, lost: LostHistory) -> "_Parting":
        """The last common anchor is written before the lost one, and has a lower number.

        This chain alone has what was anchored later: the older copy may have been charged before anybody noticed.
        Another home's clock says so only as far as clocks agree.
        """
        standing = [each for each in case.standing_anchors if each.sequence < lost.first.sequence]
        own = _own_common_anchor(standing, lost)
        limit = _limit(case.held, lost, own)
        common = [each for each in standing if _moment(each.time) <= limit]
        common += [own] if own else []
        return cls(lost, max(common, key=lambda each: each.sequence, default=None), limit)

    @property
    def stretch(self) -> Stretch:
        """The lost history after the last common anchor."""
        first, spent = (0, NOTHING) if self.common is None else (self.common.sequence, self.common.spent)
        return Stretch(first, spent, self.lost.anchors)


def _is_fork(case: RecoveryCase, parting: _Parting) -> bool:
    """Whether this chain went its own way: it is as long as a lost one, or may be written after that was anchored."""
    first = parting.lost.first
    if first.sequence <= case.known.sequence and not case.is_deleted_end(first):
        return True
    after = 0 if parting.common is None else parting.common.sequence
    return any(_moment(row["time"]) > parting.limit for row in case.held.events if row["sequence"] > after)


def _own_common_anchor(standing: Iterable[Anchor], lost: LostHistory) -> Anchor | None:
    """The highest of some anchors in the chain that a home of a lost history wrote before it wrote one that is lost.

    One home has one clock, and anchors only while its highest anchor is in its chain.
    """
    until = {each.origin: _moment(each.time) for each in reversed(lost.anchors)}
    own = [each for each in standing if each.origin in until and _moment(each.time) <= until[each.origin]]
    return max(own, key=lambda each: each.sequence, default=None)


def _limit(held: DatasetRows, lost: LostHistory, own: Anchor | None) -> int:
    """The last moment, by any clock, that is before a lost history was anchored first, in microseconds.

    Machines take turns in a chain, so where a time is before that of an earlier event their clocks differ. What came
    before the lost history's own last anchor in the chain does not matter.
    """
    until, first = _moment(lost.first.time), 0 if own is None else own.sequence
    times = [_moment(row["time"]) for row in held.events if row["sequence"] >= first]
    falls = (most - each for most, each in zip(accumulate(times, max), times, strict=True))
    return -1 if until == _LATEST else until - SKEWS * max(falls, default=0)


def _moment(time: object) -> int:
    """A time in microseconds; what cannot be read is later than any."""
    try:
        found = datetime.fromisoformat(str(time))
    except ValueError:
        return _LATEST
    zoned = found if found.tzinfo else found.replace(tzinfo=UTC)
    return (zoned - _EPOCH) // timedelta(microseconds=1)


def receipt_total(receipts: Iterable[Receipt]) -> Cost:
    """The sum of the costs of receipts."""
    return total_cost(receipt.cost for receipt in receipts)


def event_total(events: Iterable[dict[str, Any]]) -> Cost:
    """The sum of the costs of events."""
    return total_cost(cost_in(row, "cost") for row in events)


def difference(most: Cost, charged: Cost) -> Cost:
    """What must be added to the chain for its sum to be the total; None stays None."""
    if charged.epsilon is None or most.epsilon is None:
        epsilon = 0 if charged.epsilon is None else None
    else:
        epsilon = max(0, most.epsilon - charged.epsilon)
    rest = (max(0, getattr(most, name) - getattr(charged, name)) for name in ("rho", "delta", "renyi"))
    return Cost(epsilon, *rest)
