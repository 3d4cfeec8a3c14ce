"""The checks of reservations, outcomes and answers, page by page.

In each page the rows of a charge are compared at once. Where they do not agree the charge is doubtful; so is one that
was resumed, or that had no outcome yet. Doubtful charges are read again with the last page, at one moment, and only
that says what is found. So what others charge meanwhile is never taken for damage.
"""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Self

from discreet.ledger.integrity.evidence import CONCLUSIONS, Charges, Page, Row
from discreet.ledger.integrity.findings import UNREADABLE_ROWS, IntegrityFinding, seal
from discreet.ledger.records.canonical_text import digest
from discreet.ledger.records.chain import Kind, State
from discreet.ledger.records.description import plan_of

_CLAIM = ("analyst", "question", "version")


@dataclass
class ChargeTally:
    """The charges of a chain; `pending` are those that had no outcome when they were read."""

    pending: set[int] = field(default_factory=set)
    resumed: Counter[int] = field(default_factory=Counter)
    start: int = 0
    doubtful: set[int] = field(default_factory=set)
    unfounded: list[tuple[Row, Row | None]] = field(default_factory=list)
    is_readable: bool = True

    def add(self, page: Page) -> None:
        """Take the next page."""
        for row in page.events:
            if row["kind"] in CONCLUSIONS:
                self._add_conclusion(row, page.concluded.get(row["reservation"]))
        charges = _ChargeRows(page.charges)
        for place in charges.places():
            if charges.outcomes.get(place) is None:
                self.pending.add(place)
            if not self._agrees(charges, place):
                self.doubtful.add(place)

    def _add_conclusion(self, row: Row, charge: Row | None) -> None:
        place = row["reservation"]
        if charge is None or any(row[name] != charge[name] for name in _CLAIM):
            self.unfounded.append((row, charge))
        if place is None:
            self.is_readable = self.is_readable and row["kind"] != Kind.ANSWERED
            return
        if row["kind"] == Kind.RESUMED:
            self.resumed[place] += 1
        if row["kind"] == Kind.RESUMED or place <= self.start or place in self.pending:
            self.doubtful.add(place)

    def _agrees(self, charges: "_ChargeRows", place: int) -> bool:
        try:
            return charges.fault(place, self.resumed[place]) is None and charges.answer_agrees(place)
        except UNREADABLE_ROWS:
            return False

    def questions(self) -> frozenset[int]:
        """The charges to read again with the last page."""
        return frozenset(
            self.doubtful | {row["reservation"] for row, _ in self.unfounded if row["reservation"] is not None}
        )

    def conclude(self, doubtful: Charges) -> None:
        """Take what the last page says of the doubtful charges: which of them have no outcome."""
        concluded = {row["reservation"] for row in doubtful.outcomes}
        self.pending -= concluded

    def reservation_findings(self, name: str, doubtful: Charges) -> Iterator[IntegrityFinding]:
        """Reservations that are not as the chain records them."""
        charges = _ChargeRows(doubtful)
        for place in sorted(self.doubtful):
            fault = charges.fault(place, self.resumed[place])
            if fault is not None:
                yield IntegrityFinding(fault, name, place, seal=charges.seal(place, self.resumed[place]))

    def answer_findings(self, name: str, doubtful: Charges) -> Iterator[IntegrityFinding]:
        """Outcomes of charges that are not there, and answers that are not those that were given."""
        for row, _ in self.unfounded:
            sealed = seal(row, doubtful.events.get(row["reservation"]))
            yield IntegrityFinding("it concludes a charge that is not there", name, row["sequence"], seal=sealed)
        if not self.is_readable:
            raise TypeError
        charges = _ChargeRows(doubtful)
        for place in sorted(self.doubtful):
            if not charges.answer_agrees(place):
                what = "its stored answer is not the one that was given"
                yield IntegrityFinding(what, name, place, seal=seal(charges.answers(place)))

    def to_data(self) -> Any:
        """What is kept for a later verification, as plain data."""
        return [sorted(self.pending), sorted(map(list, self.resumed.items()))]

    @classmethod
    def from_data(cls, data: Any, start: int) -> Self:
        """The tally that `to_data` wrote after event `start`; what was pending is read again."""
        pending, resumed = data
        return cls(set(pending), Counter(dict(resumed)), start, doubtful=set(pending))


class _ChargeRows:
    """Rows of charges, compared by place."""

    def __init__(self, charges: Charges) -> None:
        self._charges = charges
        self.outcomes: dict[int, str] = {}
        self._sealed: dict[int, str | None] = {}
        for row in charges.outcomes:
            self.outcomes[row["reservation"]] = row["kind"]
            if row["kind"] == Kind.ANSWERED:
                self._sealed[row["reservation"]] = row["digest"]

    def places(self) -> set[int]:
        """Every place of which any row tells."""
        charges = self._charges
        return {*charges.events, *charges.reservations, *charges.answers, *self._sealed}

    def fault(self, place: int, resumed: int) -> str | None:
        """What is wrong with a reservation; None where it is as the chain records it, or neither of them is there."""
        charge, row = self._charges.events.get(place), self._charges.reservations.get(place)
        if charge is None and row is None:
            return None
        if charge is None or row is None or not _describes(row, charge):
            return "its reservation is not as it was charged"
        if row["state"] != self.outcomes.get(place, State.RESERVED):
            return "its state is not the one that the chain records"
        if row["attempt"] != 1 + resumed:
            return "its attempts are not those that the chain records"
        return None

    def seal(self, place: int, resumed: int) -> str:
        """The seal of a finding about a reservation."""
        row = self._charges.reservations.get(place)
        held = None if row is None else {name: value for name, value in row.items() if name != "lease"}
        return seal(self._charges.events.get(place), held, self.outcomes.get(place), resumed)

    def answers(self, place: int) -> tuple[str | None, str | None]:
        """The digest of the answer that was given, and of the stored one."""
        return self._sealed.get(place), self._charges.answers.get(place)

    def answer_agrees(self, place: int) -> bool:
        """Whether the stored answer is the one that was given."""
        given, stored = self.answers(place)
        return given == stored


def _describes(reservation: Row, charge: Row) -> bool:
    same = all(reservation[name] == charge[name] for name in ("analyst", "request", "question"))
    return same and digest(plan_of(reservation["description"])) == charge["digest"]
