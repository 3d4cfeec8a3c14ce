"""A reservation: the right to answer a charge, or the answer that is already stored."""

from dataclasses import dataclass

from discreet.ledger.records.receipt import Receipt


@dataclass(frozen=True, kw_only=True)
class Reservation:
    """Result of `charge`: the receipts, and either the stored answer or the right to give one.

    Attributes:
        receipts: Receipts, one for each dataset, by name.
        attempt: Fencing token, from 1: a process whose lease has ended finds a higher one and cannot answer.
        payload: The stored answer; None if this reservation is to give it. An empty answer is an answer.

    Example:
        >>> from fractions import Fraction
        >>> from discreet import Budget, SQLiteLedger, events
        >>> from discreet.ledger import Dataset
        >>> ledger = SQLiteLedger(":memory:")
        >>> facts = {"name": "visits", "source": "visits.csv", "unit": "one person", "facts": "{}"}
        >>> registration = ledger.register(Dataset(**facts, budget=Budget(epsilon=1)))
        >>> query = {"version": 1, "analyst": "ann", "event": events.PureEvent(Fraction(1, 10)), "question": "5f1d"}
        >>> reservation = ledger.charge("visits", **query, description="{}")
        >>> ledger.answer(reservation, b"12")
        b'12'
        >>> ledger.charge("visits", **query, description="{}").payload
        b'12'
    """

    receipts: tuple[Receipt, ...]
    attempt: int = 1
    payload: bytes | None = None

    @property
    def receipt(self) -> Receipt:
        """The receipt of the first dataset, by name; of the only one, usually."""
        return self.receipts[0]


def reservation_of(reservation: "Reservation | Receipt") -> Reservation:
    """A reservation; a receipt alone stands for the first attempt."""
    return reservation if isinstance(reservation, Reservation) else Reservation(receipts=(reservation,))
