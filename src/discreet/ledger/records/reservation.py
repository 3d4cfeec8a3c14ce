"""A reservation: the right to answer a charge, or the answer that is already stored."""

from dataclasses import dataclass

from discreet.ledger.records.receipt import Receipt


@dataclass(frozen=True, kw_only=True)
class Reservation:
    """What `charge` gives: the receipts, one for each dataset, and either the stored answer or the right to give one.

    `attempt` is the fencing token: a process past its lease finds a higher one in the store and cannot answer.
    `payload` is the stored answer, and None where this reservation is to give it; an empty answer is an answer.
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
