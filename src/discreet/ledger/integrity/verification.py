"""Verification: the chain recomputed, and everything else that the store holds compared with it.

The checks read pages of rows, not a database, so that every store is verified by the same code. They find edits,
deletions, reorderings and cuts of any row. What a chain cannot show is its own end cut off together with the head, the
total and every row that mentioned it: for that one needs evidence outside, such as the receipts that analysts hold.

A verification goes on from the point up to which an earlier one found nothing, or it is full and reads everything. From
such a point on it finds all of the above, and that the point itself is no longer in the chain. It does not find changes
of rows before the point.

A recovery goes on from a damaged history: it records each finding with a digest of the rows that it is about, and so
hides those very rows and nothing else. What was declared (the unit, the versions, the names) cannot be recovered: it
comes back from a copy, or the dataset stays halted.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from discreet.ledger.integrity.anchors import Anchor
from discreet.ledger.integrity.dataset_check import DatasetCheck
from discreet.ledger.integrity.evidence import DatasetRows, Ending, PageReader, is_intact
from discreet.ledger.integrity.findings import IntegrityFinding
from discreet.ledger.integrity.tallies import BUDGET_EVENTS, latest_declaration
from discreet.ledger.records.other_release import OtherRelease, read_release
from discreet.ledger.transactions.other_releases import IN_ORDER as PUBLISHED_IN_ORDER
from discreet.ledger.transactions.store import Ask

__all__ = [
    "Verification",
    "VerifiedDataset",
    "damage_in",
    "open_findings",
    "recorded_budget",
    "recorded_order",
    "resume",
    "verify_dataset",
]


EVERY_DATASET = "every dataset"
_AT_PLACE = "SELECT * FROM events WHERE dataset = :name AND sequence = :sequence"


@dataclass(frozen=True)
class Verification:
    """Result of a verification: how much was checked, and every finding.

    Print it; it is true if there is no finding and no dataset is stopped, also by an earlier verification.

    Attributes:
        datasets: Number of datasets.
        events: Number of events that were read.
        findings: The findings.
        since: By dataset, the last event of an earlier verification, after which this one went on.
        stopped: Since when and why datasets accept no charges before `recover`, by dataset; '' stands for all of them.

    Example:
        >>> import discreet as dp
        >>> with dp.SQLiteLedger(":memory:") as ledger:
        ...     print(ledger.verify())
        0 datasets, 0 events: everything agrees
    """

    datasets: int
    events: int
    findings: tuple[IntegrityFinding, ...]
    since: Mapping[str, int] = field(default_factory=dict)
    stopped: Mapping[str, str] = field(default_factory=dict)

    @property
    def ok(self) -> bool:
        """Whether everything agrees, and no dataset is stopped."""
        return not self.findings and not self.stopped

    @property
    def problems(self) -> list[str]:
        """The findings in words, then the stopped datasets of which nothing was found now."""
        found = {finding.dataset or "" for finding in self.findings if finding.is_ours}
        earlier = {name: why for name, why in self.stopped.items() if name not in found}
        stops = [f"{repr(name) if name else EVERY_DATASET} is stopped {why}" for name, why in earlier.items()]
        return [*map(str, self.findings), *stops]

    def __bool__(self) -> bool:
        return self.ok

    def __str__(self) -> str:
        checked = f"{_pluralize(self.datasets, 'dataset')}, {_pluralize(self.events, 'event')}{self._extent()}"
        if self.ok:
            return f"{checked}: everything agrees"
        found = _pluralize(len(self.findings), "finding")
        return "\n  ".join([f"{checked}: {found if self.findings else self._stops()}", *self.problems])

    def _stops(self) -> str:
        every = EVERY_DATASET if "" in self.stopped else _pluralize(len(self.stopped), "dataset")
        return f"no new finding, but {every} {'is' if every in (EVERY_DATASET, '1 dataset') else 'are'} stopped"

    def _extent(self) -> str:
        if not self.since:
            return ""
        (first, *others) = self.since.values()
        after = "earlier verifications" if others or self.datasets > 1 else f"event {first}"
        return f" verified since {after} (--full verifies all)"


class VerifiedDataset(DatasetRows):
    """A dataset that was verified page by page; single events are looked up in the store.

    `lost` is what an earlier verification kept, where the chain no longer holds the event up to which it came.
    """

    def __init__(self, check: DatasetCheck, ending: Ending, ask: Ask, lost: Anchor | None = None) -> None:
        super().__init__(name=check.name, dataset=ending.tables.dataset)
        self.__dict__ |= {"check": check, "lost": lost, "_ask": ask}
        self.__dict__ |= {"findings": tuple(check.open_findings(ending))}

    check: DatasetCheck
    lost: Anchor | None
    findings: tuple[IntegrityFinding, ...]
    _ask: Ask

    @cached_property
    def heads(self) -> Mapping[int, str]:
        """The hashes of the events that are as they were written, by sequence; only the last one is listed."""
        return _StoredHeads(self._ask, self.name, self.check.last)

    @cached_property
    def other_releases(self) -> list[OtherRelease]:
        """The other releases that the chain records, in order."""
        return [read_release(row) for row in self._ask((PUBLISHED_IN_ORDER, {"name": self.name}))]

    @cached_property
    def recoveries(self) -> list[dict[str, Any]]:
        """What each recovery records."""
        return self.check.recovery_details()

    def is_whole_before(self, sequence: int) -> bool:
        """Whether every event before a place is there as it was written."""
        return self.check.whole >= sequence - 1


class _StoredHeads(Mapping[int, str]):
    """The hashes of events, looked up in the store one by one."""

    def __init__(self, ask: Ask, name: str, last: int) -> None:
        self._ask = ask
        self._name = name
        self._last = last

    def __getitem__(self, sequence: int) -> str:
        row = event_at(self._ask, self._name, sequence)
        if row is None or not is_intact(row):
            raise KeyError(sequence)
        return str(row["hash"])

    def __iter__(self) -> Iterator[int]:
        return iter([self._last] if self._last else [])

    def __len__(self) -> int:
        return int(self._last > 0)


def event_at(ask: Ask, name: str, sequence: int) -> dict[str, Any] | None:
    """The event at a place of a chain, or None."""
    rows = ask((_AT_PLACE, {"name": name, "sequence": sequence}))
    return rows[0] if rows else None


def verify_dataset(
    name: str, reader: PageReader, ask: Ask, *, after: DatasetCheck | None = None, lost: Anchor | None = None
) -> VerifiedDataset:
    """Verify one dataset from its beginning, or `after` what an earlier verification kept."""
    check = after or DatasetCheck(name)
    return VerifiedDataset(check, check.run(reader), ask, lost)


def resume(check: DatasetCheck, ask: Ask) -> bool:
    """Whether a check can go on: the event up to which it came is in the chain, as it was written.

    The recoveries before it are read again.
    """
    row = event_at(ask, check.name, check.sequence)
    if row is None or row["hash"] != check.head or not is_intact(row):
        return False
    rows = (event_at(ask, check.name, place) for place in check.recovered)
    check.recoveries = [row for row in rows if row is not None and is_intact(row)]
    return True


def open_findings(evidence: DatasetRows) -> list[IntegrityFinding]:
    """What is wrong with a dataset and was not recovered from."""
    check = DatasetCheck(evidence.name)
    return check.open_findings(check.run(evidence))


def damage_in(evidence: DatasetRows) -> list[IntegrityFinding]:
    """What is wrong with a dataset's history and what follows from it; a recovery may go on from what has a seal."""
    check = DatasetCheck(evidence.name)
    return check.damage(check.run(evidence))


def recorded_budget(evidence: DatasetRows) -> Mapping[str, Any] | None:
    """The budget that the chain records last; None where it records none as it was written."""
    declared = evidence.intact(*BUDGET_EVENTS)
    return latest_declaration(declared[-1]["detail"])["budget"] if declared else None


def recorded_order(evidence: DatasetRows) -> str | None:
    """The order of the Renyi filter that the chain records last."""
    declared = evidence.intact(*BUDGET_EVENTS)
    return latest_declaration(declared[-1]["detail"]).get("order") if declared else None


def _pluralize(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
