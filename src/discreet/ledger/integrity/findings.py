"""What a verification finds, and the digest by which a recovery accepts a finding."""

from dataclasses import dataclass

from discreet.errors import Refusal
from discreet.ledger.records.canonical_text import canonical, digest

UNREADABLE_ROWS = (KeyError, ValueError, TypeError, AttributeError, ArithmeticError, Refusal)
"""The errors of reading rows that discreet did not write."""


@dataclass(frozen=True)
class IntegrityFinding:
    """One thing that does not agree, and where; `is_ours` says that what the ledger itself vouches for shows it.

    `seal` is the digest of what it is about: the same words about anything else are another finding.
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
