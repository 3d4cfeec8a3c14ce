"""Verification: the chain recomputed, and everything else that the store holds compared with it.

The checks read evidence, not a database, so that every store is verified by the same code. They find edits, deletions,
reorderings and cuts of any row. What a chain cannot show is its own end cut off together with the head, the total and
every row that mentioned it: for that one needs evidence outside, such as the receipts that analysts hold.

A recovery goes on from a damaged history: it records each finding with a digest of the rows that it is about, and so
hides those very rows and nothing else. What was declared (the unit, the versions, the names) cannot be recovered: it
comes back from a copy, or the dataset stays halted.
"""

import json
from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from discreet.accounting.costs import NOTHING, RHO_UNITS, Cost
from discreet.errors import Refusal
from discreet.exact.zcdp import cap_at_order
from discreet.ledger.integrity.replay import AnalystTotals, replay_totals, totals_in_row
from discreet.ledger.records.account import parse_order
from discreet.ledger.records.canonical_text import canonical, digest
from discreet.ledger.records.chain import GENESIS, Kind, State, cost_in, link_of
from discreet.ledger.records.description import plan_of
from discreet.ledger.records.other_release import (
    MOST_LISTED,
    UNREADABLE,
    OtherRelease,
    place_in_line,
    read_release,
    receipt_lines,
)
from discreet.ledger.records.receipt import Receipt
from discreet.ledger.records.registration import budget_of, slice_columns, version_digest

Row = Mapping[str, Any]

OUTCOMES = (Kind.ANSWERED, Kind.FORFEITED)
_COSTLY = (Kind.RESERVED, Kind.CAPPED, Kind.RECOVERED)
_PROMISING = (Kind.REGISTERED, Kind.CAPPED, Kind.RECOVERED)
_UNREADABLE = (KeyError, ValueError, TypeError, AttributeError, ArithmeticError, Refusal)


@dataclass(frozen=True)
class IntegrityFinding:
    """One thing that does not agree, and where; `is_ours` says that what the ledger itself vouches for shows it.

    `seal` is the digest of what it is about: the same words about anything else are another finding.
    """

    what: str
    dataset: str | None = None
    sequence: int | None = None
    is_ours: bool = True
    seal: str = ""

    def __str__(self) -> str:
        place = "" if self.dataset is None else f"{self.dataset!r}"
        place += "" if self.sequence is None else f" event {self.sequence}"
        return f"{place}: {self.what}" if place else self.what


@dataclass(frozen=True)
class Verification:
    """The report: how much was checked, and every finding; true where there is none."""

    datasets: int
    events: int
    findings: tuple[IntegrityFinding, ...]

    @property
    def ok(self) -> bool:
        """Whether everything agrees."""
        return not self.findings

    def __bool__(self) -> bool:
        return self.ok

    def __str__(self) -> str:
        checked = f"{_pluralize(self.datasets, 'dataset')}, {_pluralize(self.events, 'event')}"
        if self.ok:
            return f"{checked}: everything agrees"
        return "\n  ".join([f"{checked}: {_pluralize(len(self.findings), 'finding')}", *map(str, self.findings)])


@dataclass(frozen=True, kw_only=True)
class Evidence:
    """Everything that a store holds about one dataset; `answers` maps a charge to the digest of its stored answer."""

    name: str
    dataset: Row | None
    versions: list[dict[str, Any]]
    events: list[dict[str, Any]]
    reservations: list[dict[str, Any]]
    answers: dict[int, str]
    shares: list[dict[str, Any]] = field(default_factory=list)
    aliases: list[str] = field(default_factory=list)
    ledger: str = ""

    def recorded_total(self) -> Cost:
        """What the dataset's own row says was spent."""
        return NOTHING if self.dataset is None else cost_in(self.dataset, "spent")

    @cached_property
    def heads(self) -> dict[int, str]:
        """The hashes of the events that are as they were written, by sequence."""
        return {row["sequence"]: row["hash"] for row in self.events if _is_intact(row)}

    @cached_property
    def other_releases(self) -> list[OtherRelease]:
        """The other releases that the chain records, in order."""
        return [read_release(row) for row in self.of_kind(Kind.PUBLISHED)]

    @cached_property
    def recoveries(self) -> list[dict[str, Any]]:
        """What each recovery records."""
        return [json.loads(row["detail"]) for row in self.intact(Kind.RECOVERED)]

    def recovered_receipts(self) -> dict[str, Cost]:
        """The costs of charges that the chain lost and that recoveries counted, by the hashes of their receipts."""
        return {name: Cost.of_units(*cost) for detail in self.recoveries for name, cost in detail["receipts"].items()}

    def recovered_anchors(self) -> set[str]:
        """The heads of anchors of lost histories that recoveries counted."""
        return {head for detail in self.recoveries for head in detail.get("anchors", ())}

    def is_covered(self, sequence: int) -> bool:
        """Whether an event that the chain lost is among those that an anchor covered in a recovery."""
        return any(detail["from"]["sequence"] < sequence <= (detail["anchor"] or 0) for detail in self.recoveries)

    def of_kind(self, *kinds: Kind) -> list[dict[str, Any]]:
        """The events of some kinds, in order."""
        return [row for row in self.events if row["kind"] in kinds]

    def intact(self, *kinds: Kind) -> list[dict[str, Any]]:
        """The events of some kinds that are as they were written, in order."""
        return [row for row in self.of_kind(*kinds) if row["sequence"] in self.heads]


def verification(
    evidence: Iterable[Evidence],
    findings: tuple[IntegrityFinding, ...] = (),
    receipts: tuple[Receipt, ...] = (),
    publics: Mapping[str, str] | None = None,
    ledger: str = "",
) -> Verification:
    """The report on all the evidence; `publics` are the keys that may have signed receipts of this `ledger`."""
    every = list(evidence)
    found = [finding for each in every for finding in open_findings(each)]
    missing = list(_check_receipts(every, receipts, publics, ledger))
    return Verification(
        datasets=len(every), events=sum(len(e.events) for e in every), findings=(*findings, *found, *missing)
    )


def open_findings(evidence: Evidence) -> list[IntegrityFinding]:
    """What is wrong with a dataset and was not recovered from."""
    accepted = _accepted_damage(evidence)
    damage = [finding for finding in damage_in(evidence) if (str(finding), finding.seal) not in accepted]
    return [*damage, *_run_checks(_DECLARED, evidence)]


def damage_in(evidence: Evidence) -> list[IntegrityFinding]:
    """What is wrong with a dataset's history and what follows from it; a recovery may go on from what has a seal."""
    return _run_checks(_FOLLOWING, evidence)


def recorded_budget(evidence: Evidence) -> Mapping[str, Any] | None:
    """The budget that the chain records last; None where it records none as it was written."""
    promises = evidence.intact(*_PROMISING)
    return _latest(promises)["budget"] if promises else None


def recorded_order(evidence: Evidence) -> str | None:
    """The order of the Renyi filter that the chain records last."""
    promises = evidence.intact(*_PROMISING)
    return _latest(promises).get("order") if promises else None


def _run_checks(
    checks: Iterable[Callable[[Evidence], Iterator[IntegrityFinding]]], evidence: Evidence
) -> list[IntegrityFinding]:
    found: list[IntegrityFinding] = []
    for check in checks:
        try:
            found += list(check(evidence))
        except _UNREADABLE:
            found.append(IntegrityFinding("its rows cannot be read", evidence.name))
    return found


def _accepted_damage(evidence: Evidence) -> set[tuple[str, str]]:
    """The damage that recoveries went on from, with its seals; without a seal nothing is accepted."""
    try:
        return {(str(text), seal) for detail in evidence.recoveries for text, seal in detail["accepted"] if seal}
    except _UNREADABLE:
        return set()


def _is_intact(row: Row) -> bool:
    try:
        return bool(link_of(row).hash == row["hash"])
    except _UNREADABLE:
        return False


def _seal(*about: object) -> str:
    return digest(canonical(about))


def _check_chain(evidence: Evidence) -> Iterator[IntegrityFinding]:
    """Every link follows the one before it; a recovery alone may leave a gap, and says from where it went on."""
    previous, place = GENESIS, 0
    for row in evidence.events:
        sequence, before = row["sequence"], row["sequence"] - 1
        if row["kind"] == Kind.RECOVERED:
            before = json.loads(row["detail"])["from"]["sequence"]
        seal = _seal(previous, place, before, row["previous"])
        if before != place:
            what = f"event {place + 1} of the chain is missing or out of order"
            yield IntegrityFinding(what, evidence.name, sequence, seal=seal)
        if row["previous"] != previous:
            yield IntegrityFinding("it does not follow the event before it", evidence.name, sequence, seal=seal)
        if sequence not in evidence.heads:
            yield IntegrityFinding("it was changed after it was written", evidence.name, sequence, seal=_seal(row))
        previous, place = row["hash"], sequence


def _check_beginning(evidence: Evidence) -> Iterator[IntegrityFinding]:
    """A chain begins with its registration, which is corrected only before the first charge."""
    charged = False
    for place, row in enumerate(evidence.events, start=1):
        charged = charged or cost_in(row, "cost") != NOTHING
        if place == 1 and row["kind"] != Kind.REGISTERED:
            yield IntegrityFinding(
                "a chain begins with its registration", evidence.name, row["sequence"], seal=_seal(row)
            )
        if charged and row["kind"] == Kind.REGISTERED:
            what = "a registration was replaced after a charge"
            yield IntegrityFinding(what, evidence.name, row["sequence"], seal=_seal(row))


def _check_head(evidence: Evidence) -> Iterator[IntegrityFinding]:
    if evidence.dataset is None:
        yield IntegrityFinding("the dataset's own row is missing", evidence.name)
        return
    last = evidence.events[-1] if evidence.events else {"sequence": 0, "hash": GENESIS}
    if (evidence.dataset["sequence"], evidence.dataset["head"]) != (last["sequence"], last["hash"]):
        yield IntegrityFinding(
            "the chain does not end where the dataset's row says: its end was cut or replaced", evidence.name
        )


def _check_totals(evidence: Evidence) -> Iterator[IntegrityFinding]:
    if evidence.dataset is not None and evidence.recorded_total() != _total(evidence.of_kind(*_COSTLY)):
        yield IntegrityFinding("the total spent is not the sum of the charges", evidence.name)


def _check_promise(evidence: Evidence) -> Iterator[IntegrityFinding]:
    """The row's privacy budget is the last one that the chain records."""
    row, promises = evidence.dataset, evidence.intact(*_PROMISING)
    if row is None or not promises:
        return
    promise = _latest(promises)
    if promise["budget"] != {name: row[name] for name in promise["budget"]}:
        yield IntegrityFinding("its budget is not the one that the chain records", evidence.name)
    before = [charge for charge in evidence.of_kind(*_COSTLY) if charge["sequence"] <= promises[-1]["sequence"]]
    if cost_in(row, "floor") != _total(before):
        yield IntegrityFinding("what was spent when the cap was set is not what the chain records", evidence.name)
    if [row["cap_epsilon"], row["cap_rho"], row["cap_delta"]] != promise["caps"]:
        yield IntegrityFinding("its caps are not those that the chain records", evidence.name)
    if row["renyi_order"] != promise.get("order"):
        yield IntegrityFinding("the order of its Renyi filter is not the one that the chain records", evidence.name)
    if not _cap_converts(row):
        yield IntegrityFinding("its cap on rho does not convert to its budget at its order", evidence.name)


def _cap_converts(row: Row) -> bool:
    """Whether the cap of the Renyi filter gives the budget at the stored order, however it was chosen."""
    order, budget = parse_order(row["renyi_order"]), budget_of(row)
    if order is None:
        return True
    if not budget.conversion_delta:
        return False
    return bool(row["cap_rho"] <= RHO_UNITS * cap_at_order(budget.epsilon, budget.conversion_delta, order))


def _check_identity(evidence: Evidence) -> Iterator[IntegrityFinding]:
    """The privacy unit is the registered one, in this ledger."""
    row, registrations = evidence.dataset, evidence.intact(Kind.REGISTERED)
    if row is None:
        return
    if not registrations:
        yield IntegrityFinding("its registration is not in the chain as it was written", evidence.name)
        return
    registered = _latest(registrations)
    identity = {"unit": row["unit"], "neighbours": row["neighbours"], "hash_key": digest(row["hash_key"])}
    if identity != {name: registered[name] for name in identity}:
        yield IntegrityFinding("its unit, neighbours or hash key are not those registered", evidence.name)
    if registered.get("slice", slice_columns(None)) != {name: row[name] for name in slice_columns(None)}:
        yield IntegrityFinding("its slice is not the one that was registered", evidence.name)
    if json.loads(registrations[0]["detail"]).get("ledger", evidence.ledger) != evidence.ledger:
        yield IntegrityFinding("the ledger's id is not the one that it was registered under", evidence.name)


def _check_versions(evidence: Evidence) -> Iterator[IntegrityFinding]:
    sealed = {row["version"]: row["digest"] for row in evidence.of_kind(Kind.REGISTERED, Kind.VERSIONED)}
    stored = {row["version"]: version_digest(row) for row in evidence.versions}
    for version in sorted(sealed.keys() | stored.keys()):
        if sealed.get(version) != stored.get(version):
            yield IntegrityFinding(f"version {version} is not as it was registered", evidence.name)
    for row in evidence.versions:
        if row["registered"] != max(_registrations(evidence, row["version"]), default=None):
            yield IntegrityFinding(f"version {row['version']} was not registered by the event it names", evidence.name)


def _registrations(evidence: Evidence, version: int) -> Iterator[int]:
    """The events that registered a version: a new version changes nothing for the others, a correction may."""
    for row in evidence.of_kind(Kind.REGISTERED, Kind.VERSIONED):
        if row["kind"] == Kind.REGISTERED or row["version"] == version:
            yield row["sequence"]


def _check_names(evidence: Evidence) -> Iterator[IntegrityFinding]:
    recorded = sorted(json.loads(row["detail"])["alias"] for row in evidence.intact(Kind.RENAMED))
    if recorded != sorted(evidence.aliases):
        yield IntegrityFinding("its other names are not those that the chain records", evidence.name)


def _check_shares(evidence: Evidence) -> Iterator[IntegrityFinding]:
    """What each analyst spent and failed, and the quota they have, are what the chain records."""
    recorded = replay_totals(evidence.events, evidence.heads)
    if recorded.keys() != {row["analyst"] for row in evidence.shares}:
        yield IntegrityFinding("the analysts are not those that the chain records", evidence.name)
    for row in evidence.shares:
        own, expected = totals_in_row(row), recorded.get(row["analyst"], AnalystTotals())
        if own.spent != expected.spent:
            yield IntegrityFinding(f"what {row['analyst']!r} spent is not the sum of their charges", evidence.name)
        if own.failures != expected.failures:
            yield IntegrityFinding(
                f"the failures of {row['analyst']!r} are not those that the chain records", evidence.name
            )
        if (own.limits, own.is_own, own.floor) != (expected.limits, expected.is_own, expected.floor):
            yield IntegrityFinding(
                f"the quota of {row['analyst']!r} is not the one that the chain records", evidence.name
            )


def _check_reservations(evidence: Evidence) -> Iterator[IntegrityFinding]:
    charges = {row["sequence"]: row for row in evidence.of_kind(Kind.RESERVED)}
    stored = {row["sequence"]: row for row in evidence.reservations}
    outcomes = {row["reservation"]: row["kind"] for row in evidence.of_kind(*OUTCOMES)}
    resumed = Counter(row["reservation"] for row in evidence.of_kind(Kind.RESUMED))
    for sequence in sorted(charges.keys() | stored.keys()):
        charge, row = charges.get(sequence), stored.get(sequence)
        held = None if row is None else {name: value for name, value in row.items() if name != "lease"}
        seal = _seal(charge, held, outcomes.get(sequence), resumed[sequence])
        if charge is None or row is None or not _describes(row, charge):
            yield IntegrityFinding("its reservation is not as it was charged", evidence.name, sequence, seal=seal)
        elif row["state"] != outcomes.get(sequence, State.RESERVED):
            yield IntegrityFinding(
                "its state is not the one that the chain records", evidence.name, sequence, seal=seal
            )
        elif row["attempt"] != 1 + resumed[sequence]:
            yield IntegrityFinding(
                "its attempts are not those that the chain records", evidence.name, sequence, seal=seal
            )


def _check_answers(evidence: Evidence) -> Iterator[IntegrityFinding]:
    charges = {row["sequence"]: row for row in evidence.of_kind(Kind.RESERVED)}
    for row in evidence.of_kind(*OUTCOMES, Kind.RESUMED):
        charge = charges.get(row["reservation"])
        if charge is None or any(row[name] != charge[name] for name in ("analyst", "question", "version")):
            seal = _seal(row, charge)
            yield IntegrityFinding("it concludes a charge that is not there", evidence.name, row["sequence"], seal=seal)
    sealed = {row["reservation"]: row["digest"] for row in evidence.of_kind(Kind.ANSWERED)}
    for sequence in sorted(sealed.keys() | evidence.answers.keys()):
        stored = sealed.get(sequence), evidence.answers.get(sequence)
        if stored[0] != stored[1]:
            what = "its stored answer is not the one that was given"
            yield IntegrityFinding(what, evidence.name, sequence, seal=_seal(stored))


_FOLLOWING = (
    _check_chain,
    _check_beginning,
    _check_head,
    _check_totals,
    _check_promise,
    _check_shares,
    _check_reservations,
    _check_answers,
)
_DECLARED = (_check_identity, _check_versions, _check_names)


def _check_receipts(
    evidence: list[Evidence], receipts: tuple[Receipt, ...], publics: Mapping[str, str] | None, ledger: str
) -> Iterator[IntegrityFinding]:
    """Receipts must be in the chain and list its other releases; one that the ledger did not sign convicts nobody.

    A charge that the chain lost and that a recovery counted, or that an anchor covered in one, is accounted for.
    """
    held = {each.name: each for each in evidence}
    for receipt in receipts:
        is_signed = receipt.verify(publics)
        if not receipt.verify():
            what = f"receipt {receipt.id} was changed"
        elif receipt.dataset not in held or not _holds(held[receipt.dataset], receipt):
            what = f"receipt {receipt.id} is not in the chain"
        elif not _agrees_on_releases(held[receipt.dataset], receipt, is_signed=is_signed):
            what = f"receipt {receipt.id} lists other releases than the chain before it"
        else:
            continue
        whose = "" if is_signed else ", and no key of this ledger signed it"
        if not receipt.is_of(ledger):
            whose = ", and it names another ledger"
        yield IntegrityFinding(what + whose, receipt.dataset, receipt.sequence, is_ours=not whose)


def _holds(evidence: Evidence, receipt: Receipt) -> bool:
    if evidence.heads.get(receipt.sequence) == receipt.hash:
        return True
    try:
        return receipt.hash in evidence.recovered_receipts() or evidence.is_covered(receipt.sequence)
    except _UNREADABLE:
        return False


def _agrees_on_releases(evidence: Evidence, receipt: Receipt, *, is_signed: bool) -> bool:
    """Whether a receipt lists the other releases before its charge; its hash does not cover the list.

    A charge that the chain lost has no place in it, so there is nothing to compare.
    """
    if evidence.heads.get(receipt.sequence) != receipt.hash:
        return True
    total = bisect_left(evidence.other_releases, receipt.sequence, key=lambda release: release.sequence)
    before = evidence.other_releases[:total]
    if receipt.others == receipt_lines(before[-MOST_LISTED:], total):
        return True
    is_whole = all(place in evidence.heads for place in range(1, receipt.sequence))
    return (is_signed or not is_whole) and _agrees_on_what_is_left(evidence, receipt, before, is_signed=is_signed)


def _agrees_on_what_is_left(
    evidence: Evidence, receipt: Receipt, before: list[OtherRelease], *, is_signed: bool
) -> bool:
    """The same where events were changed or lost before or after the charge: those as they were written must agree.

    A receipt of a time when an event was changed lists it as such; without a signature that is not believed.
    """
    intact = {release.sequence: release for release in before if release.sequence in evidence.heads}
    lines = {place: line for line in receipt.others if (place := place_in_line(line)) is not None}
    for place, line in lines.items():
        is_own = place in intact and line == intact[place].text
        was_changed = place in intact and is_signed and line == f"{UNREADABLE} (event {place})"
        if place in evidence.heads and not (is_own or was_changed):
            return False
    is_cut = len(lines) == MOST_LISTED == len(receipt.others) - 1
    first = min(lines) if is_cut else 0
    return all(place in lines for place in intact if place >= first) and len(lines) + is_cut == len(receipt.others)


def _latest(events: list[dict[str, Any]]) -> Row:
    """What the last of some events declares: for a change, the new of its old and new."""
    detail: dict[str, Any] = json.loads(events[-1]["detail"])
    declared: Row = detail.get("new", detail)
    return declared


def _pluralize(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def _describes(reservation: Row, charge: Row) -> bool:
    same = all(reservation[name] == charge[name] for name in ("analyst", "request", "question"))
    return same and digest(plan_of(reservation["description"])) == charge["digest"]


def _total(charges: list[dict[str, Any]]) -> Cost:
    return sum((cost_in(row, "cost") for row in charges), NOTHING)
