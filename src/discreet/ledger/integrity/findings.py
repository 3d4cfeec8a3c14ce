"""What a verification finds, and the digest by which a recovery accepts a finding."""

from dataclasses import dataclass

from discreet.errors import Refusal
from discreet.ledger.records.canonical_text import canonical, digest

UNREADABLE_ROWS = (KeyError, ValueError, TypeError, AttributeError, ArithmeticError, Refusal)
"""The errors of reading rows that discreet did not write."""


@dataclass(frozen=True)
class IntegrityFinding:
    """One thing that does not agree, and where. Print it to read it.

    Attributes:
        what: The finding in words.
        dataset: Name of the dataset, or None.
        sequence: Number of the event in the chain, or None.
        is_ours: Whether records that the ledger signed or wrote show it; only then the dataset stops.
        seal: Digest of the rows that it is about: the same words about other rows are another finding.

    Example:
        >>> from discreet.ledger import IntegrityFinding
        >>> print(IntegrityFinding("its total is less than its charges", "visits", 4))
        'visits' event 4: its total is less than its charges
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


def seal(*about: object) -> str:
    """The digest of what a finding is about."""
    return digest(canonical(about))


def unreadable(name: str) -> IntegrityFinding:
    """The finding of a check that could not read the rows of a dataset; no recovery accepts it."""
    return IntegrityFinding("its rows cannot be read", name)
