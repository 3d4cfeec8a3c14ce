"""The checks of a chain, each as a tally: it takes the events in order, and says in the end what does not agree.

A tally keeps a few totals and the latest declarations, never the events. What it keeps is plain data (`to_data`), so a
later verification goes on from there. What a check finds does not depend on where an earlier one stopped.
"""

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Protocol, Self

from discreet.accounting.costs import NOTHING, RHO_UNITS, Cost, FilterCaps, restate
from discreet.exact.zcdp import cap_at_order
from discreet.ledger.integrity.anchors import covers
from discreet.ledger.integrity.evidence import CurrentTables, Row
from discreet.ledger.integrity.findings import IntegrityFinding, seal
from discreet.ledger.integrity.replay import (
    AnalystTotals,
    replay_event,
    totals_from_data,
    totals_in_row,
    totals_to_data,
)
from discreet.ledger.records.account import are_caps_of, parse_order
from discreet.ledger.records.admission import is_divergence_paid, is_paid
from discreet.ledger.records.canonical_text import digest
from discreet.ledger.records.chain import GENESIS, Kind, cost_in
from discreet.ledger.records.registration import budget_columns, budget_of, slice_columns, version_digest

_COSTLY = (Kind.RESERVED, Kind.CAPPED, Kind.RECOVERED)
BUDGET_EVENTS = (Kind.REGISTERED, Kind.CAPPED, Kind.RECOVERED)


class Tally(Protocol):
    """One check of a chain."""

    def add(self, row: Row, *, is_intact: bool) -> None:
        """Take the next event; the words of one that was changed are not believed."""

    def findings(self, name: str, tables: CurrentTables) -> Iterator[IntegrityFinding]:
        """What does not agree with the tables, or among the events."""

    def to_data(self) -> Any:
        """What is kept, as plain data."""

    @classmethod
    def from_data(cls, data: Any) -> Self:
        """The tally that `to_data` wrote."""


@dataclass
class ChainTally:
    """Every link follows the one before it; a recovery alone may leave a gap, and says from where it went on."""

    place: int = 0
    previous: str = GENESIS
    found: list[tuple[str, int, str]] = field(default_factory=list)

    def add(self, row: Row, *, is_intact: bool) -> None:
        sequence, before = row["sequence"], row["sequence"] - 1
        if row["kind"] == Kind.RECOVERED:
            before = json.loads(row["detail"])["from"]["sequence"]
        if before != self.place:
            what = f"event {self.place + 1} of the chain is missing or out of order"
            self.found.append((what, sequence, self._seal(before, row)))
        if row["previous"] != self.previous:
            self.found.append(("it does not follow the event before it", sequence, self._seal(before, row)))
        if not is_intact:
            self.found.append(("it was changed after it was written", sequence, seal(row)))
        self.previous, self.place = row["hash"], sequence

    def _seal(self, before: int, row: Row) -> str:
        return seal(self.previous, self.place, before, row["previous"])

    def findings(self, name: str, tables: CurrentTables) -> Iterator[IntegrityFinding]:  # noqa: ARG002 - of the chain alone
        for what, sequence, sealed in self.found:
            yield IntegrityFinding(what, name, sequence, seal=sealed)

    def to_data(self) -> Any:
        return [self.place, self.previous]

    @classmethod
    def from_data(cls, data: Any) -> Self:
        return cls(*data)


@dataclass
class BeginningTally:
    """A chain begins with its registration, which is corrected only before the first charge."""

    is_begun: bool = False
    is_charged: bool = False
    found: list[tuple[str, int, str]] = field(default_factory=list)

    def add(self, row: Row, *, is_intact: bool) -> None:  # noqa: ARG002 - of changed events too
        self.is_charged = self.is_charged or cost_in(row, "cost") != NOTHING
        if not self.is_begun and row["kind"] != Kind.REGISTERED:
            self.found.append(("a chain begins with its registration", row["sequence"], seal(row)))
        if self.is_charged and row["kind"] == Kind.REGISTERED:
            self.found.append(("a registration was replaced after a charge", row["sequence"], seal(row)))
        self.is_begun = True

    def findings(self, name: str, tables: CurrentTables) -> Iterator[IntegrityFinding]:  # noqa: ARG002 - of the chain alone
        for what, sequence, sealed in self.found:
            yield IntegrityFinding(what, name, sequence, seal=sealed)

    def to_data(self) -> Any:
        return [self.is_begun, self.is_charged]

    @classmethod
    def from_data(cls, data: Any) -> Self:
        return cls(*data)


@dataclass
class HeadTally:
    """The chain ends where the dataset's row says."""

    sequence: int = 0
    hash: str = GENESIS

    def add(self, row: Row, *, is_intact: bool) -> None:  # noqa: ARG002 - of changed events too
        self.sequence, self.hash = row["sequence"], row["hash"]

    def findings(self, name: str, tables: CurrentTables) -> Iterator[IntegrityFinding]:
        if tables.dataset is None:
            yield IntegrityFinding("the dataset's own row is missing", name)
        elif (tables.dataset["sequence"], tables.dataset["head"]) != (self.sequence, self.hash):
            what = "the chain does not end where the dataset's row says: its end was cut or replaced"
            yield IntegrityFinding(what, name)

    def to_data(self) -> Any:
        return [self.sequence, self.hash]

    @classmethod
    def from_data(cls, data: Any) -> Self:
        return cls(*data)


@dataclass
class TotalTally:
    """The total of the dataset is the sum of its charges."""

    total: Cost = NOTHING

    def add(self, row: Row, *, is_intact: bool) -> None:  # noqa: ARG002 - of changed events too
        if row["kind"] in _COSTLY:
            self.total += cost_in(row, "cost")

    def findings(self, name: str, tables: CurrentTables) -> Iterator[IntegrityFinding]:
        if tables.dataset is not None and cost_in(tables.dataset, "spent") != self.total:
            yield IntegrityFinding("the total spent is not the sum of the charges", name)

    def to_data(self) -> Any:
        return self.total.units()

    @classmethod
    def from_data(cls, data: Any) -> Self:
        return cls(Cost.of_units(*data))


@dataclass
class PriceTally:
    """A charge costs at least the price of its event, which no database computes; it keeps nothing."""

    found: list[tuple[int, str]] = field(default_factory=list)

    def add(self, row: Row, *, is_intact: bool) -> None:
        if is_intact and row["kind"] == Kind.RESERVED and not is_paid(cost_in(row, "cost"), row["event"]):
            self.found.append((row["sequence"], seal(row)))

    def findings(self, name: str, tables: CurrentTables) -> Iterator[IntegrityFinding]:  # noqa: ARG002 - of the chain alone
        for sequence, sealed in self.found:
            yield IntegrityFinding("its cost is below the price of its event", name, sequence, seal=sealed)

    def to_data(self) -> Any:
        return None

    @classmethod
    def from_data(cls, data: Any) -> Self:  # noqa: ARG003 - checkpoints of earlier versions have none
        return cls()


@dataclass
class BudgetTally:
    """The row's privacy budget is the last one that the chain records; the floor is what was spent by then.

    Every event with a budget declares caps within it, says what it replaces, and counts what was spent before. Every
    charge counts its Renyi divergence at the order of that budget. `last` is the hash of the event before; where that
    is missing or was changed, nothing is compared with the past until a recovery: the damage itself is found.
    """

    detail: str | None = None
    total: Cost = NOTHING
    floor: Cost = NOTHING
    last: str | None = None
    is_whole: bool = True
    found: list[tuple[str, int, str]] = field(default_factory=list)

    def add(self, row: Row, *, is_intact: bool) -> None:
        before = self.total
        self.is_whole = self.is_whole and is_intact and self.last in (None, row["previous"])
        self.last = row["hash"]
        if row["kind"] in _COSTLY:
            self.total += cost_in(row, "cost")
        if is_intact and row["kind"] == Kind.RESERVED and not self._is_divergence_paid(row):
            self.found.append(("its Renyi divergence is below that of its event", row["sequence"], seal(row)))
        if not is_intact or row["kind"] not in BUDGET_EVENTS:
            return
        faults = [*_caps_fault(row["detail"]), *(self._replacement_faults(row, before) if self.is_whole else ())]
        self.found += [(what, row["sequence"], seal(row)) for what in faults]
        self.is_whole = self.is_whole or row["kind"] == Kind.RECOVERED
        self.detail, self.floor = row["detail"], self.total

    def _is_divergence_paid(self, row: Row) -> bool:
        if self.detail is None or not self.is_whole:
            return True
        paid, order = cost_in(row, "cost"), parse_order(self.declaration().get("order"))
        return paid.renyi >= paid.rho or is_divergence_paid(paid, row["event"], order)

    def _replacement_faults(self, row: Row, before: Cost) -> Iterator[str]:
        """What an event that replaces a budget says wrongly of what it replaces.

        A recovery replaces what the row says, which need not be what was declared.
        """
        declared = json.loads(row["detail"])
        if self.detail is None or "new" not in declared or row["kind"] == Kind.RECOVERED:
            return
        known = latest_declaration(self.detail)
        if _terms(declared["old"]) != _terms(known):
            yield "the budget that it replaces is not the one that was declared before it"
        if row["kind"] != Kind.CAPPED:
            return
        if not covers(Cost.of_units(*declared["spent"]), before):
            yield "what was spent before it is more than it says"
        orders = parse_order(known.get("order")), parse_order(declared["new"].get("order"))
        if orders[0] != orders[1] and self.total.renyi < restate(before, *orders).renyi:
            yield "what was spent before it is not restated at its order"

    def findings(self, name: str, tables: CurrentTables) -> Iterator[IntegrityFinding]:
        for what, sequence, sealed in self.found:
            yield IntegrityFinding(what, name, sequence, seal=sealed)
        row = tables.dataset
        if row is None or self.detail is None:
            return
        declared = self.declaration()
        if declared["budget"] != {column: row[column] for column in declared["budget"]}:
            yield IntegrityFinding("its budget is not the one that the chain records", name)
        if cost_in(row, "floor") != self.floor:
            yield IntegrityFinding("what was spent when the cap was set is not what the chain records", name)
        if [row["cap_epsilon"], row["cap_rho"], row["cap_delta"]] != declared["caps"]:
            yield IntegrityFinding("its caps are not those that the chain records", name)
        if row["renyi_order"] != declared.get("order"):
            yield IntegrityFinding("the order of its Renyi filter is not the one that the chain records", name)
        if not _cap_converts(row):
            yield IntegrityFinding("its cap on rho does not convert to its budget at its order", name)

    def declaration(self) -> Row:
        """What the last event with a privacy budget declares; nothing where there is none."""
        return {} if self.detail is None else latest_declaration(self.detail)

    def to_data(self) -> Any:
        return [self.detail, self.total.units(), self.floor.units()]

    @classmethod
    def from_data(cls, data: Any) -> Self:
        detail, total, floor = data
        return cls(detail, Cost.of_units(*total), Cost.of_units(*floor))


def _terms(declared: Row) -> tuple[object, ...]:
    """The terms of a declaration: its budget, however the numbers are written, its caps and its order."""
    return budget_columns(budget_of(declared["budget"])), declared["caps"], parse_order(declared.get("order"))


def _caps_fault(detail: str) -> Iterator[str]:
    declared = latest_declaration(detail)
    caps, order = FilterCaps(*declared["caps"]), parse_order(declared.get("order"))
    if not are_caps_of(caps, budget_of(declared["budget"]), order):
        yield "the caps that it declares are above those of its budget"


def _cap_converts(row: Row) -> bool:
    """Whether the cap of the Renyi filter gives the budget at the stored order, however it was chosen."""
    order, budget = parse_order(row["renyi_order"]), budget_of(row)
    if order is None:
        return True
    if not budget.conversion_delta:
        return False
    return bool(row["cap_rho"] <= RHO_UNITS * cap_at_order(budget.epsilon, budget.conversion_delta, order))


@dataclass
class ShareTally:
    """What each analyst spent and failed, and the quota they have, are what the chain records."""

    totals: dict[str, AnalystTotals] = field(default_factory=dict)

    def add(self, row: Row, *, is_intact: bool) -> None:
        replay_event(self.totals, row, is_intact=is_intact)

    def findings(self, name: str, tables: CurrentTables) -> Iterator[IntegrityFinding]:
        if self.totals.keys() != {row["analyst"] for row in tables.shares}:
            yield IntegrityFinding("the analysts are not those that the chain records", name)
        for row in tables.shares:
            own, expected = totals_in_row(row), self.totals.get(row["analyst"], AnalystTotals())
            if own.spent != expected.spent:
                yield IntegrityFinding(f"what {row['analyst']!r} spent is not the sum of their charges", name)
            if own.failures != expected.failures:
                what = f"the failures of {row['analyst']!r} are not those that the chain records"
                yield IntegrityFinding(what, name)
            if (own.limits, own.is_own, own.floor) != (expected.limits, expected.is_own, expected.floor):
                yield IntegrityFinding(f"the quota of {row['analyst']!r} is not the one that the chain records", name)

    def to_data(self) -> Any:
        return totals_to_data(self.totals)

    @classmethod
    def from_data(cls, data: Any) -> Self:
        return cls(totals_from_data(data))


@dataclass
class IdentityTally:
    """The privacy unit is the registered one, in this ledger."""

    first: str | None = None
    latest: str | None = None

    def add(self, row: Row, *, is_intact: bool) -> None:
        if is_intact and row["kind"] == Kind.REGISTERED:
            self.first, self.latest = self.first or row["detail"], row["detail"]

    def findings(self, name: str, tables: CurrentTables) -> Iterator[IntegrityFinding]:
        row = tables.dataset
        if row is None:
            return
        if self.latest is None or self.first is None:
            yield IntegrityFinding("its registration is not in the chain as it was written", name)
            return
        registered = latest_declaration(self.latest)
        identity = {"unit": row["unit"], "neighbours": row["neighbours"], "hash_key": digest(row["hash_key"])}
        if identity != {column: registered[column] for column in identity}:
            yield IntegrityFinding("its unit, neighbours or hash key are not those registered", name)
        if registered.get("slice", slice_columns(None)) != {column: row[column] for column in slice_columns(None)}:
            yield IntegrityFinding("its slice is not the one that was registered", name)
        if json.loads(self.first).get("ledger", tables.ledger) != tables.ledger:
            yield IntegrityFinding("the ledger's id is not the one that it was registered under", name)

    def to_data(self) -> Any:
        return [self.first, self.latest]

    @classmethod
    def from_data(cls, data: Any) -> Self:
        return cls(*data)


@dataclass
class VersionTally:
    """The versions are as they were registered; a new version changes nothing for the others, a correction may."""

    sealed: dict[int, str | None] = field(default_factory=dict)
    added: dict[int, int] = field(default_factory=dict)
    corrected: int | None = None

    def add(self, row: Row, *, is_intact: bool) -> None:  # noqa: ARG002 - of changed events too
        if row["kind"] not in (Kind.REGISTERED, Kind.VERSIONED):
            return
        self.sealed[row["version"]] = row["digest"]
        if row["kind"] == Kind.REGISTERED:
            self.corrected = row["sequence"]
        else:
            self.added[row["version"]] = row["sequence"]

    def findings(self, name: str, tables: CurrentTables) -> Iterator[IntegrityFinding]:
        stored = {row["version"]: version_digest(row) for row in tables.versions}
        for version in sorted(self.sealed.keys() | stored.keys()):
            if self.sealed.get(version) != stored.get(version):
                yield IntegrityFinding(f"version {version} is not as it was registered", name)
        for row in tables.versions:
            places = [place for place in (self.corrected, self.added.get(row["version"])) if place is not None]
            if row["registered"] != max(places, default=None):
                yield IntegrityFinding(f"version {row['version']} was not registered by the event it names", name)

    def to_data(self) -> Any:
        return [list(map(list, self.sealed.items())), list(map(list, self.added.items())), self.corrected]

    @classmethod
    def from_data(cls, data: Any) -> Self:
        sealed, added, corrected = data
        return cls(dict(sealed), dict(added), corrected)


@dataclass
class NameTally:
    """The other names of the dataset are those that the chain records, and its own name leads to no other dataset."""

    details: list[str] = field(default_factory=list)

    def add(self, row: Row, *, is_intact: bool) -> None:
        if is_intact and row["kind"] == Kind.RENAMED:
            self.details.append(row["detail"])

    def findings(self, name: str, tables: CurrentTables) -> Iterator[IntegrityFinding]:
        recorded = sorted(json.loads(detail)["alias"] for detail in self.details)
        if recorded != sorted(tables.aliases):
            yield IntegrityFinding("its other names are not those that the chain records", name)
        for other in tables.leads_to if tables.dataset is not None else ():
            yield IntegrityFinding(f"its name leads to {other!r} too, which would be a second budget", name)

    def to_data(self) -> Any:
        return self.details

    @classmethod
    def from_data(cls, data: Any) -> Self:
        return cls(list(data))


def latest_declaration(detail: str) -> Row:
    """What an event declares: for a change, the new of its old and new."""
    declared: dict[str, Any] = json.loads(detail)
    latest: Row = declared.get("new", declared)
    return latest
