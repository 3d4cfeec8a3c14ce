"""The ledger: the promise over every question ever asked of a dataset, kept through crashes, crowds and restarts.

A charge moves through one state machine, and nothing leads back:

    REJECTED                       it did not fit; no data was read, nothing was spent
    RESERVED ──> ANSWERED          the charge is durable; then one stored answer
             └─> FORFEITED         failed after data was read: the charge stays

    receipt = ledger.charge(...)             T1: durable before any data is read
    payload = ...                            read, aggregate, add noise
    answer = ledger.answer(receipt, payload) T2: stored once; the reply is what the store holds

Every store meets `Ledger`; SQLite is the first.
"""

from collections.abc import Iterable
from typing import Protocol

from discreet import events
from discreet.accounting.filters import Budget, Cost
from discreet.ledger.chain import Kind, State
from discreet.ledger.history import Entry
from discreet.ledger.receipt import Receipt, Reservation
from discreet.ledger.registration import Dataset, Registration
from discreet.ledger.sqlite import SQLiteLedger
from discreet.ledger.verification import Finding, Verification

__all__ = [
    "Dataset",
    "Entry",
    "Finding",
    "Kind",
    "Ledger",
    "Receipt",
    "Registration",
    "Reservation",
    "SQLiteLedger",
    "State",
    "Verification",
]


class Ledger(Protocol):
    """What a store of charges does. Refusals come from public facts; after T1 nothing is ever given back."""

    def register(self, dataset: Dataset) -> Registration:
        """Register a dataset or its next version, or return what is registered.

        Another declaration of a registered version replaces it until the first charge, and is refused from then on.
        """

    def registered(self, name: str, version: int | None = None) -> Registration | None:
        """What is registered under a name (its newest version unless one is given), or None."""

    def set_cap(self, name: str, budget: Budget, *, reason: str) -> None:
        """Make a new promise for a dataset: recorded with its reason; what was spent stays spent."""

    def charge(
        self,
        name: str,
        *,
        version: int,
        analyst: str,
        event: events.Event,
        question: str,
        request: str | None = None,
        description: str,
        registration: int | None = None,
    ) -> Receipt:
        """T1: charge an event, durably, before any data is read; `BudgetError` where it does not fit.

        `registration` is the sequence of the registration that the question was made under; where it was replaced
        since, the charge is refused.
        """

    def answer(self, reservation: Reservation, payload: bytes) -> bytes:
        """T2: store the answer of a charge unless it has one; returns what the store holds."""

    def forfeit(self, reservation: Reservation, code: str) -> State:
        """Record that a charge failed after data was read; the charge stays, and a stored answer stays too."""

    def state(self, reservation: Reservation) -> State:
        """Where a charge stands."""

    def stored(self, name: str, question: str) -> bytes | None:
        """The latest stored answer to a question, or None; an empty answer is an answer."""

    def spent(self, name: str) -> Cost:
        """What was ever charged to a dataset, by all analysts, over all versions."""

    def budget(self, name: str) -> Budget:
        """The promise of a dataset."""

    def history(self, name: str) -> list[Entry]:
        """Everything that happened to a dataset, in the order of its chain."""

    def datasets(self) -> list[Registration]:
        """The newest version of every dataset, by name."""

    def verify(self, name: str | None = None, *, receipts: Iterable[Receipt] = ()) -> Verification:
        """Recompute chains and compare them with everything else that the store holds."""

    def close(self) -> None:
        """Let go of the store."""
