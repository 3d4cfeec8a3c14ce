"""What an audit found: one kind of result for every layer, so that one report tells them all."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from discreet.errors import public_class


class Verdict(StrEnum):
    """What an audit says of a claim. No audit can say that a claim is true.

    A control whose claim is known to be false is CAUGHT, as it must be; where it is missed the run is VOID.
    """

    NOTHING_FOUND = "nothing found"
    CAUGHT = "caught"
    BROKEN = "broken"
    VOID = "void"
    SKIPPED = "skipped"


@public_class
@dataclass(frozen=True, kw_only=True)
class Finding:
    """One thing examined against one claim.

    `stated` and `found` are in the claim's own parameter; `found` is a lower bound on the true one, or None where the
    layer measures none. `alarm` is the chance that a true claim is called broken: 0 where the check is exact.
    `samples` is the number of runs on each of the two datasets; `detail` holds what a
    report draws, in terms that JSON can say.
    """

    subject: str
    layer: str
    claim: str
    verdict: Verdict
    evidence: str
    stated: float | None = None
    found: float | None = None
    samples: int = 0
    alarm: float = 0.0
    seconds: float = 0.0
    detail: Mapping[str, Any] = field(default_factory=dict)

    @property
    def is_broken(self) -> bool:
        """Whether the claim was contradicted."""
        return self.verdict is Verdict.BROKEN

    def __str__(self) -> str:
        return f"{self.subject}, {self.claim}: {self.verdict} ({self.evidence})"
