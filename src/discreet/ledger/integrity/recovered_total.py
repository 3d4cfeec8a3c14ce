"""The total of a recovery: the most that the store, anchors and receipts show, in all histories that were seen."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
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

    def lost_anchors(self, held: DatasetRows) -> list[Anchor]:
        """Anchors of histories that the chain does not hold and no recovery counted, in the order of their file."""
        unlike = (each for each in self.anchors if held.heads.get(each.sequence) != each.head)
        return [each for each in unlike if each.sequence and not held.counts(each)]

    @property
    def given_receipts(self) -> list[Receipt]:
        """The receipts of this dataset, each once."""
        return list({receipt.hash: receipt for receipt in self.receipts if receipt.dataset == self.name}.values())

    def standing_anchors(self, held: DatasetRows) -> list[Anchor]:
        """Anchors that the chain holds."""
        return [each for each in self.anchors if held.heads.get(each.sequence) == each.head]

    def missing(self, held: DatasetRows) -> list[Receipt]:
        """Receipts, each once, of charges that the chain does not hold and that no recovery counted."""
        known = {*held.heads.values(), *held.recovered_receipts()}
        return [each for each in self.given_receipts if each.hash not in known]


def recovered_total(known: Account, held: DatasetRows, missing: list[Receipt], proof: RecoveryEvidence) -> Cost:
    """The most of: the row, the chain, the charges of which the chain or a receipt is left, and the anchors.

    A receipt that an event names as the one before it was in this history, and its charge is in the row's total.
    """
    lost = [*held.recovered_receipts().values(), *(receipt.cost for receipt in missing)]
    most = highest(
        _spent_here(known, held, proof) + receipt_total(uncounted_receipts(known, held, missing, proof, ())),
        [
            event_total(held.events),
            event_total(held.intact(Kind.RESERVED)) + total_cost(lost),
            _anchored_cost(known, held, missing, proof),
            _cost_with_forks(known, held, missing, proof),
            *_capped_totals(held),
        ],
    )
    epsilon = None if most.epsilon is None else min(most.epsilon, LARGEST_UNITS)
    rho, delta, renyi = (min(units, LARGEST_UNITS) for units in (most.rho, most.delta, most.renyi))
    return Cost(epsilon, rho, delta, renyi)


def _spent_here(known: Account, held: DatasetRows, proof: RecoveryEvidence) -> Cost:
    """The most that the row, the chain and the anchors in it say was spent in this history."""
    return highest(known.spent, [event_total(held.events), *(each.spent for each in proof.standing_anchors(held))])


def uncounted_receipts(
    known: Account, held: DatasetRows, missing: list[Receipt], proof: RecoveryEvidence, lost: Iterable[Stretch]
) -> list[Receipt]:
    """Missing receipts that are not known to be in the row's total, in what recoveries counted or in lost histories.

    A number says nothing: another history has an event of that number too. What counts is a link by hashes to an event
    of the chain or to an anchor, or that the receipts of one history are all given.
    """
    stretches = [*lost, *_counted_stretches(held, proof)]
    heads = {known.head, *(row["previous"] for row in held.events)}
    heads |= {head for detail in held.recoveries for head in detail.get("anchors", ())}
    heads |= {each.head for each in proof.anchors if held.counts(each)}
    heads |= {each.head for stretch in stretches for each in stretch.anchors}
    counted, chain = ancestry(heads, proof.given_receipts), set(held.heads.values())
    left = [each for each in missing if each.hash not in counted]
    receipts = [each for each in proof.given_receipts if each.hash not in chain] if left else []
    whole = [stretch for stretch in stretches if are_all_receipts(receipts, stretch)]
    return [each for each in left if not any(each.sequence in stretch for stretch in whole)]


def _counted_stretches(held: DatasetRows, proof: RecoveryEvidence) -> Iterator[Stretch]:
    """What earlier recoveries counted by anchors that are still there."""
    for detail in held.recoveries:
        anchors = tuple(each for each in proof.anchors if each.head in detail.get("anchors", ()))
        if "old" in detail:  # recoveries by earlier versions may lack it
            yield Stretch(detail["from"]["sequence"], Cost.of_units(*detail["old"]["spent"]), anchors)


def _capped_totals(held: DatasetRows) -> Iterator[Cost]:
    """What was spent when caps were set."""
    for row in held.intact(Kind.CAPPED):
        yield Cost.of_units(*parse_object(row["detail"])["spent"])


def _anchored_cost(known: Account, held: DatasetRows, missing: list[Receipt], proof: RecoveryEvidence) -> Cost:
    """What was anchored and was charged later; after another history, all that is not known to be in both."""
    anchor = proof.anchor
    if anchor is None:
        return NOTHING
    spent = anchor.spent + receipt_total(receipt for receipt in missing if receipt.sequence > anchor.sequence)
    is_here = held.heads.get(anchor.sequence) == anchor.head or _is_deleted_end(known, held, anchor)
    if anchor.sequence > known.sequence or is_here:
        return spent
    shared = max((each.sequence for each in proof.anchors if held.heads.get(each.sequence) == each.head), default=0)
    return spent + event_total(row for row in held.intact(Kind.RESERVED) if row["sequence"] > shared)


def _cost_with_forks(known: Account, held: DatasetRows, missing: list[Receipt], proof: RecoveryEvidence) -> Cost:
    """What is spent here and, beside it, in histories that parted from this one: both were seen, so they add.

    An older copy that nobody charged since is no fork: its chain is the beginning of the one that is lost. Of several
    that are no forks, only the one with the most spent can go on from here: the others parted from that one.
    """
    forks: list[LostHistory] = []
    ahead: LostHistory | None = None
    for each in lost_histories(proof.lost_anchors(held)):
        if _is_fork(known, held, proof, each) or (ahead and covers(ahead.last.spent, each.last.spent)):
            forks.append(each)
            continue
        forks += [ahead] if ahead else []
        ahead = each
    spent = highest(_spent_here(known, held, proof), [ahead.last.spent] if ahead else [])
    parted = [_stretch_beside(each, held, proof) for each in forks]
    beside = (difference(fork.last.spent, each.spent) for fork, each in zip(forks, parted, strict=True))
    lost = [*([Stretch(known.sequence, known.spent, ahead.anchors)] if ahead else []), *parted]
    return spent + total_cost(beside) + receipt_total(uncounted_receipts(known, held, missing, proof, lost))


def _stretch_beside(fork: LostHistory, held: DatasetRows, proof: RecoveryEvidence) -> Stretch:
    """A lost history after the last place that is known to be in both."""
    common = _last_common_anchor(held, proof, fork)
    first, spent = (0, NOTHING) if common is None else (common.sequence, common.spent)
    return Stretch(first, spent, fork.anchors)


def _own_common_anchor(held: DatasetRows, proof: RecoveryEvidence, lost: LostHistory) -> Anchor | None:
    """The highest anchor in the chain that a home of a lost history wrote before it wrote one that is lost.

    One home has one clock, and anchors only while its highest anchor is in its chain.
    """
    until = {each.origin: _moment(each.time) for each in reversed(lost.anchors)}
    standing = (each for each in proof.standing_anchors(held) if each.sequence < lost.first.sequence)
    own = [each for each in standing if each.origin in until and _moment(each.time) <= until[each.origin]]
    return max(own, key=lambda each: each.sequence, default=None)


def _last_common_anchor(held: DatasetRows, proof: RecoveryEvidence, lost: LostHistory) -> Anchor | None:
    """The highest anchor in the chain that is in a lost history too.

    It is written before the lost one, and has a lower number. This chain alone has what was anchored later: the older
    copy may have been charged before anybody noticed. Another home's clock says so only as far as clocks agree.
    """
    own, limit = _own_common_anchor(held, proof, lost), _limit(held, proof, lost)
    standing = (each for each in proof.standing_anchors(held) if each.sequence < lost.first.sequence)
    common = [each for each in standing if _moment(each.time) <= limit]
    return max([*common, *([own] if own else [])], key=lambda each: each.sequence, default=None)


def _is_fork(known: Account, held: DatasetRows, proof: RecoveryEvidence, lost: LostHistory) -> bool:
    """Whether this chain went its own way: it is as long as a lost one, or may be written after that was anchored."""
    if lost.first.sequence <= known.sequence and not _is_deleted_end(known, held, lost.first):
        return True
    common, limit = _last_common_anchor(held, proof, lost), _limit(held, proof, lost)
    tail = [row for row in held.events if row["sequence"] > (0 if common is None else common.sequence)]
    return any(_moment(row["time"]) > limit for row in tail)


def _is_deleted_end(known: Account, held: DatasetRows, anchor: Anchor) -> bool:
    """Whether only the last event was deleted, and an anchor is of it: the dataset's row still names it."""
    is_end = (anchor.sequence, anchor.head) == (known.sequence, known.head)
    return is_end and max(held.heads, default=0) == known.sequence - 1


def _limit(held: DatasetRows, proof: RecoveryEvidence, lost: LostHistory) -> int:
    """The last moment, by any clock, that is before a lost history was anchored first, in microseconds.

    Machines take turns in a chain, so where a time is before that of an earlier event their clocks differ. What came
    before the lost history's own last anchor in the chain does not matter.
    """
    own, until = _own_common_anchor(held, proof, lost), _moment(lost.first.time)
    first = 0 if own is None else own.sequence
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
