"""What a store holds about a dataset, and the pages in which a verification reads it.

A page has the events of a range of sequence numbers, and the reservations, outcomes and answers of the charges in that
range. Its rows are of one moment. The last page also has the tables that say where the dataset stands now.
"""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Protocol

from discreet.accounting.costs import NOTHING, Cost
from discreet.ledger.integrity.anchors import Anchor, covers
from discreet.ledger.integrity.findings import UNREADABLE_ROWS
from discreet.ledger.records.chain import Kind, cost_in, link_of
from discreet.ledger.records.other_release import OtherRelease, read_release

Row = Mapping[str, Any]

OUTCOMES = (Kind.ANSWERED, Kind.FORFEITED)
CONCLUSIONS = (*OUTCOMES, Kind.RESUMED)
LEAST, MOST = -(2**63), 2**63 - 1
"""The range of sequence numbers that a database may hold."""


def is_intact(row: Row) -> bool:
    """Whether an event is as it was written: its hash is that of its columns."""
    try:
        return bool(link_of(row).hash == row["hash"])
    except UNREADABLE_ROWS:
        return False


def is_counted(anchor: Anchor, recoveries: Iterable[Mapping[str, Any]]) -> bool:
    """Whether one of some recoveries counted an anchor of a history that was lost: this one, or one that follows it."""
    return any(anchor.head in each.get("anchors", ()) or _counts_later(each, anchor) for each in recoveries)


def _counts_later(recovery: Mapping[str, Any], anchor: Anchor) -> bool:
    """Whether a recovery counted a later anchor of the same key and home, in the store that this one was written to.

    A process that finds an anchor at home that is not in the chain writes no other. So where its home wrote a later
    one, that is of the same history. Anchors of other homes prove nothing: the store itself may be an older copy.
    """
    shared = recovery.get("shared")
    if shared is None or shared["store"] != anchor.store:
        return False
    counted = Cost.of_units(*recovery["new"]["spent"])
    is_within = recovery["from"]["sequence"] < anchor.sequence <= shared["ends"].get(anchor.origin, 0)
    return is_within and covers(counted, anchor.spent)


@dataclass(frozen=True, kw_only=True)
class CurrentTables:
    """Where a dataset stands: its row, and the small tables; `leads_to` are other datasets that its name leads to."""

    dataset: Row | None
    versions: list[dict[str, Any]]
    shares: list[dict[str, Any]]
    aliases: list[str]
    ledger: str
    leads_to: list[str] = field(default_factory=list)


@dataclass(frozen=True, kw_only=True)
class Charges:
    """Rows of some charges, by their places: events, reservations, outcomes in order, digests of stored answers."""

    events: Mapping[int, Row]
    reservations: Mapping[int, Row]
    outcomes: Iterable[Row]
    answers: Mapping[int, str]


@dataclass(frozen=True, kw_only=True)
class Ending:
    """What is read with the last page: the tables, and again the charges about which the reader is in doubt."""

    tables: CurrentTables
    doubtful: Charges


@dataclass(frozen=True, kw_only=True)
class Page:
    """Some events in order, with the charges in their range; `concluded` has the charges that the events conclude.

    Its rows are of one moment. The last page has an `ending`.
    """

    events: list[dict[str, Any]]
    charges: Charges
    concluded: Mapping[int, Row]
    ending: Ending | None = None


class PageReader(Protocol):
    """Reads the pages of one dataset."""

    def read(self, first: int, doubtful: frozenset[int]) -> Page:
        """The page that begins at a sequence number; with the doubtful charges where it is the last."""


@dataclass(frozen=True, kw_only=True)
class DatasetRows:
    """Everything that a store holds about one dataset; `answers` maps a charge to the digest of its stored answer."""

    name: str
    dataset: Row | None
    versions: list[dict[str, Any]] = field(default_factory=list)
    events: list[dict[str, Any]] = field(default_factory=list)
    reservations: list[dict[str, Any]] = field(default_factory=list)
    answers: dict[int, str] = field(default_factory=dict)
    shares: list[dict[str, Any]] = field(default_factory=list)
    aliases: list[str] = field(default_factory=list)
    ledger: str = ""
    leads_to: list[str] = field(default_factory=list)

    def recorded_total(self) -> Cost:
        """What the dataset's own row says was spent."""
        return NOTHING if self.dataset is None else cost_in(self.dataset, "spent")

    @cached_property
    def heads(self) -> Mapping[int, str]:
        """The hashes of the events that are as they were written, by sequence."""
        return {row["sequence"]: row["hash"] for row in self.events if is_intact(row)}

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

    def counts(self, anchor: Anchor) -> bool:
        """Whether a recovery counted an anchor of a history that was lost."""
        return is_counted(anchor, self.recoveries)

    def is_covered(self, sequence: int) -> bool:
        """Whether an event that the chain lost is among those that an anchor covered in a recovery."""
        return any(detail["from"]["sequence"] < sequence <= (detail["anchor"] or 0) for detail in self.recoveries)

    def is_whole_before(self, sequence: int) -> bool:
        """Whether every event before a place is there as it was written."""
        return all(place in self.heads for place in range(1, sequence))

    def of_kind(self, *kinds: Kind) -> list[dict[str, Any]]:
        """The events of some kinds, in order."""
        return [row for row in self.events if row["kind"] in kinds]

    def intact(self, *kinds: Kind) -> list[dict[str, Any]]:
        """The events of some kinds that are as they were written, in order."""
        return [row for row in self.of_kind(*kinds) if row["sequence"] in self.heads]

    def read(self, first: int, doubtful: frozenset[int]) -> Page:  # noqa: ARG002 - it has all charges
        """All of it as one page, which is the last."""
        charges = Charges(
            events={row["sequence"]: row for row in self.of_kind(Kind.RESERVED)},
            reservations={row["sequence"]: row for row in self.reservations},
            outcomes=self.of_kind(*OUTCOMES),
            answers=self.answers,
        )
        tables = CurrentTables(
            dataset=self.dataset,
            versions=self.versions,
            shares=self.shares,
            aliases=self.aliases,
            ledger=self.ledger,
            leads_to=self.leads_to,
        )
        events = [row for row in self.events if row["sequence"] >= first]
        ending = Ending(tables=tables, doubtful=charges)
        return Page(events=events, charges=charges, concluded=charges.events, ending=ending)
