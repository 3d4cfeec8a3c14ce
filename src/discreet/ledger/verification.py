"""Verification: the chain recomputed, and everything else that the store holds compared with it.

The checks read evidence, not a database, so that every store is verified by the same code. They find edits, deletions,
reorderings and cuts of any row. What a chain cannot show is its own end cut off together with the head, the total and
every row that mentioned it: for that one needs a witness outside, such as the receipts that analysts hold.
"""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from discreet.accounting.filters import NOTHING, Cost
from discreet.errors import Refusal
from discreet.ledger.chain import GENESIS, Kind, State, link_of
from discreet.ledger.receipt import Receipt
from discreet.ledger.registration import version_digest
from discreet.ledger.text import digest

Row = Mapping[str, Any]

_OUTCOMES = (Kind.ANSWERED, Kind.FORFEITED)
_UNREADABLE = (KeyError, ValueError, TypeError, AttributeError, ArithmeticError, Refusal)


@dataclass(frozen=True)
class Finding:
    """One thing that does not agree, and where."""

    what: str
    dataset: str | None = None
    sequence: int | None = None

    def __str__(self) -> str:
        place = "" if self.dataset is None else f"{self.dataset!r}"
        place += "" if self.sequence is None else f" event {self.sequence}"
        return f"{place}: {self.what}" if place else self.what


@dataclass(frozen=True)
class Verification:
    """The report: how much was checked, and every finding; true where there is none."""

    datasets: int
    events: int
    findings: tuple[Finding, ...]

    @property
    def ok(self) -> bool:
        """Whether everything agrees."""
        return not self.findings

    def __bool__(self) -> bool:
        return self.ok

    def __str__(self) -> str:
        checked = f"{_counted(self.datasets, 'dataset')}, {_counted(self.events, 'event')}"
        if self.ok:
            return f"{checked}: everything agrees"
        return "\n  ".join([f"{checked}: {_counted(len(self.findings), 'finding')}", *map(str, self.findings)])


@dataclass(frozen=True, kw_only=True)
class Evidence:
    """Everything that a store holds about one dataset; `answers` maps a charge to the digest of its stored answer."""

    name: str
    dataset: Row | None
    versions: list[dict[str, Any]]
    events: list[dict[str, Any]]
    reservations: list[dict[str, Any]]
    answers: dict[int, str]

    def of_kind(self, *kinds: Kind) -> list[dict[str, Any]]:
        """The events of some kinds, in order."""
        return [row for row in self.events if row["kind"] in kinds]


def verification(
    evidence: Iterable[Evidence], findings: tuple[Finding, ...] = (), receipts: tuple[Receipt, ...] = ()
) -> Verification:
    """The report on all the evidence."""
    every = list(evidence)
    found = [finding for each in every for check in _CHECKS for finding in _attempted(check, each)]
    missing = list(_check_receipts(every, receipts))
    return Verification(
        datasets=len(every), events=sum(len(e.events) for e in every), findings=(*findings, *found, *missing)
    )


def _attempted(check: Callable[[Evidence], Iterator[Finding]], evidence: Evidence) -> list[Finding]:
    try:
        return list(check(evidence))
    except _UNREADABLE:
        return [Finding("its rows cannot be read", evidence.name)]


def _check_chain(evidence: Evidence) -> Iterator[Finding]:
    previous = GENESIS
    for place, row in enumerate(evidence.events, start=1):
        sequence = row["sequence"]
        if sequence != place:
            yield Finding(f"event {place} of the chain is missing or out of order", evidence.name, sequence)
            return
        if row["previous"] != previous:
            yield Finding("it does not follow the event before it", evidence.name, sequence)
        if link_of(row).hash != row["hash"]:
            yield Finding("it was changed after it was written", evidence.name, sequence)
        previous = row["hash"]


def _check_beginning(evidence: Evidence) -> Iterator[Finding]:
    """A chain begins with its registration, which is corrected only before the first charge."""
    charged = False
    for place, row in enumerate(evidence.events, start=1):
        charged = charged or row["kind"] == Kind.RESERVED
        if place == 1 and row["kind"] != Kind.REGISTERED:
            yield Finding("a chain begins with its registration", evidence.name, row["sequence"])
        if charged and row["kind"] == Kind.REGISTERED:
            yield Finding("a registration was replaced after a charge", evidence.name, row["sequence"])


def _check_head(evidence: Evidence) -> Iterator[Finding]:
    if evidence.dataset is None:
        yield Finding("the dataset's own row is missing", evidence.name)
        return
    last = evidence.events[-1] if evidence.events else {"sequence": 0, "hash": GENESIS}
    if (evidence.dataset["sequence"], evidence.dataset["head"]) != (last["sequence"], last["hash"]):
        yield Finding("the chain does not end where the dataset's row says: its end was cut or replaced", evidence.name)


def _check_totals(evidence: Evidence) -> Iterator[Finding]:
    if evidence.dataset is not None and _columns(evidence.dataset, "spent") != _total(evidence.of_kind(Kind.RESERVED)):
        yield Finding("the total spent is not the sum of the charges", evidence.name)


def _check_promise(evidence: Evidence) -> Iterator[Finding]:
    """The row's promise is the last one that the chain records."""
    row, registrations = evidence.dataset, evidence.of_kind(Kind.REGISTERED)
    if row is None or not registrations:
        return
    promises = evidence.of_kind(Kind.REGISTERED, Kind.CAPPED)
    registered, promise = _latest(registrations), _latest(promises)
    identity = {"unit": row["unit"], "neighbours": row["neighbours"], "hash_key": digest(row["hash_key"])}
    if identity != {name: registered[name] for name in identity}:
        yield Finding("its unit, neighbours or hash key are not those registered", evidence.name)
    if promise["budget"] != {name: row[name] for name in promise["budget"]}:
        yield Finding("its budget is not the one that the chain records", evidence.name)
    before = [charge for charge in evidence.of_kind(Kind.RESERVED) if charge["sequence"] < promises[-1]["sequence"]]
    if _columns(row, "floor") != _total(before):
        yield Finding("what was spent when the cap was set is not what the chain records", evidence.name)
    if [row["cap_epsilon"], row["cap_rho"], row["cap_delta"]] != promise["caps"]:
        yield Finding("its caps are not those that the chain records", evidence.name)


def _check_versions(evidence: Evidence) -> Iterator[Finding]:
    sealed = {row["version"]: row["digest"] for row in evidence.of_kind(Kind.REGISTERED, Kind.VERSIONED)}
    stored = {row["version"]: version_digest(row) for row in evidence.versions}
    for version in sorted(sealed.keys() | stored.keys()):
        if sealed.get(version) != stored.get(version):
            yield Finding(f"version {version} is not as it was registered", evidence.name)


def _check_reservations(evidence: Evidence) -> Iterator[Finding]:
    charges = {row["sequence"]: row for row in evidence.of_kind(Kind.RESERVED)}
    stored = {row["sequence"]: row for row in evidence.reservations}
    outcomes = {row["reservation"]: row["kind"] for row in evidence.of_kind(*_OUTCOMES)}
    for sequence in sorted(charges.keys() | stored.keys()):
        charge, row = charges.get(sequence), stored.get(sequence)
        if charge is None or row is None or not _describes(row, charge):
            yield Finding("its reservation is not as it was charged", evidence.name, sequence)
        elif row["state"] != outcomes.get(sequence, State.RESERVED):
            yield Finding("its state is not the one that the chain records", evidence.name, sequence)


def _check_answers(evidence: Evidence) -> Iterator[Finding]:
    charges = {row["sequence"]: row for row in evidence.of_kind(Kind.RESERVED)}
    for row in evidence.of_kind(*_OUTCOMES):
        charge = charges.get(row["reservation"])
        if charge is None or any(row[name] != charge[name] for name in ("analyst", "question", "version")):
            yield Finding("it concludes a charge that is not there", evidence.name, row["sequence"])
    sealed = {row["reservation"]: row["digest"] for row in evidence.of_kind(Kind.ANSWERED)}
    for sequence in sorted(sealed.keys() | evidence.answers.keys()):
        if sealed.get(sequence) != evidence.answers.get(sequence):
            yield Finding("its stored answer is not the one that was given", evidence.name, sequence)


_CHECKS = (
    _check_chain,
    _check_beginning,
    _check_head,
    _check_totals,
    _check_promise,
    _check_versions,
    _check_reservations,
    _check_answers,
)


def _check_receipts(evidence: list[Evidence], receipts: tuple[Receipt, ...]) -> Iterator[Finding]:
    held = {(e.name, row["sequence"]): row["hash"] for e in evidence for row in e.events}
    for receipt in receipts:
        if not receipt.verify():
            yield Finding(f"receipt {receipt.id} was changed", receipt.dataset, receipt.sequence)
        elif held.get((receipt.dataset, receipt.sequence)) != receipt.hash:
            yield Finding(f"receipt {receipt.id} is not in the chain", receipt.dataset, receipt.sequence)


def _latest(events: list[dict[str, Any]]) -> Row:
    """What the last of some events declares: for a change, the new of its old and new."""
    detail: dict[str, Any] = json.loads(events[-1]["detail"])
    declared: Row = detail.get("new", detail)
    return declared


def _counted(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def _describes(reservation: Row, charge: Row) -> bool:
    same = all(reservation[name] == charge[name] for name in ("analyst", "request", "question"))
    return same and digest(reservation["description"]) == charge["digest"]


def _total(charges: list[dict[str, Any]]) -> Cost:
    return sum((_columns(row, "cost") for row in charges), NOTHING)


def _columns(row: Row, prefix: str) -> Cost:
    return Cost(row[f"{prefix}_epsilon"], row[f"{prefix}_rho"], row[f"{prefix}_delta"])
