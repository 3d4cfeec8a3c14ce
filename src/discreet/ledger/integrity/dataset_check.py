"""The verification of one dataset: pages read and added to tallies, until a page is the last and nothing is open."""

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Self

from discreet.ledger.integrity.charge_tally import ChargeTally
from discreet.ledger.integrity.evidence import LEAST, Ending, Page, PageReader, Row, is_intact
from discreet.ledger.integrity.findings import UNREADABLE_ROWS, IntegrityFinding, unreadable
from discreet.ledger.integrity.tallies import (
    BeginningTally,
    BudgetTally,
    ChainTally,
    HeadTally,
    IdentityTally,
    NameTally,
    PriceTally,
    ShareTally,
    Tally,
    TotalTally,
    VersionTally,
)
from discreet.ledger.records.chain import GENESIS, Kind

_FOLLOWING: dict[str, type[Tally]] = {
    "chain": ChainTally,
    "beginning": BeginningTally,
    "head": HeadTally,
    "total": TotalTally,
    "prices": PriceTally,
    "budget": BudgetTally,
    "shares": ShareTally,
}
_DECLARED: dict[str, type[Tally]] = {"identity": IdentityTally, "versions": VersionTally, "names": NameTally}
_TALLIES = _FOLLOWING | _DECLARED


@dataclass
class DatasetCheck:
    """The tallies of one dataset, and how far they came.

    `start` is the event after which it began, where an earlier verification came as far. Up to event `whole` every
    event is there as it was written; `last` is the last one that is. `recovered` are the places of recoveries.
    """

    name: str
    tallies: dict[str, Tally] = field(default_factory=lambda: {name: kind() for name, kind in _TALLIES.items()})
    charges: ChargeTally = field(default_factory=ChargeTally)
    start: int | None = None
    sequence: int = 0
    head: str = GENESIS
    whole: int = 0
    last: int = 0
    events: int = 0
    recovered: list[int] = field(default_factory=list)
    recoveries: list[Row] = field(default_factory=list)
    _unreadable: set[str] = field(default_factory=set)

    def run(self, reader: PageReader) -> Ending:
        """Read to the end of the chain; what was read there, with every charge that is doubtful by then."""
        while True:
            doubtful = self.charges.questions()
            page = reader.read(self._next(), doubtful)
            self._add(page)
            if page.ending is not None and self.charges.questions() <= doubtful:
                self.charges.conclude(page.ending.doubtful)
                return page.ending

    def damage(self, ending: Ending) -> list[IntegrityFinding]:
        """What is wrong with the history and what follows from it; a recovery may go on from what has a seal."""
        found = [finding for name in _FOLLOWING for finding in self._of_tally(name, ending)]
        for name, check in (
            ("reservations", self.charges.reservation_findings),
            ("answers", self.charges.answer_findings),
        ):
            found += self._guarded(name, partial(check, self.name, ending.doubtful))
        return found

    def declared(self, ending: Ending) -> list[IntegrityFinding]:
        """What is wrong with the declarations, which no recovery mends."""
        return [finding for name in _DECLARED for finding in self._of_tally(name, ending)]

    def open_findings(self, ending: Ending) -> list[IntegrityFinding]:
        """What is wrong and was not recovered from."""
        accepted = self._accepted()
        damage = [finding for finding in self.damage(ending) if (str(finding), finding.seal) not in accepted]
        return [*damage, *self.declared(ending)]

    def recovery_details(self) -> list[dict[str, Any]]:
        """What each recovery records."""
        return [json.loads(row["detail"]) for row in self.recoveries]

    def to_data(self) -> dict[str, Any]:
        """What is kept for a later verification, as plain data."""
        return {
            "tallies": {name: tally.to_data() for name, tally in self.tallies.items()},
            "charges": self.charges.to_data(),
            "whole": self.whole,
            "last": self.last,
            "recovered": self.recovered,
        }

    @classmethod
    def from_data(cls, name: str, sequence: int, head: str, data: Mapping[str, Any]) -> Self:
        """The check that `to_data` wrote after event `sequence`, to go on from there."""
        return cls(
            name=name,
            tallies={each: kind.from_data(data["tallies"].get(each)) for each, kind in _TALLIES.items()},
            charges=ChargeTally.from_data(data["charges"], sequence),
            start=sequence,
            sequence=sequence,
            head=head,
            whole=data["whole"],
            last=data["last"],
            recovered=list(data["recovered"]),
        )

    def _next(self) -> int:
        return LEAST if self.start is None and not self.events else self.sequence + 1

    def _add(self, page: Page) -> None:
        for row in page.events:
            self._add_event(row)
        try:
            self.charges.add(page)
        except UNREADABLE_ROWS:
            self._unreadable |= {"reservations", "answers"}

    def _add_event(self, row: Row) -> None:
        intact = is_intact(row)
        for name, tally in self.tallies.items():
            try:
                tally.add(row, is_intact=intact)
            except UNREADABLE_ROWS:
                self._unreadable.add(name)
        self.events, self.sequence, self.head = self.events + 1, row["sequence"], row["hash"]
        if not intact:
            return
        self.last = self.sequence
        self.whole += self.sequence == self.whole + 1
        if row["kind"] == Kind.RECOVERED:
            self.recovered.append(self.sequence)
            self.recoveries.append(row)

    def _of_tally(self, name: str, ending: Ending) -> list[IntegrityFinding]:
        return self._guarded(name, partial(self.tallies[name].findings, self.name, ending.tables))

    def _guarded(self, name: str, find: Callable[..., Iterable[IntegrityFinding]]) -> list[IntegrityFinding]:
        try:
            found = list(find())
        except UNREADABLE_ROWS:
            return [unreadable(self.name)]
        return [unreadable(self.name)] if name in self._unreadable else found

    def _accepted(self) -> set[tuple[str, str]]:
        """The damage that recoveries went on from, with its seals; without a seal nothing is accepted."""
        try:
            details = self.recovery_details()
            return {(str(text), seal) for detail in details for text, seal in detail["accepted"] if seal}
        except UNREADABLE_ROWS:
            return set()
