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
    """Result of one examination of one claim.

    Attributes:
        subject: What was examined.
        layer: Kind of audit.
        claim: The claim, in words.
        verdict: What the audit says.
        evidence: The reason, in words.
        stated: Claimed parameter, or None.
        found: Lower bound on the true parameter, or None where none is measured.
        samples: Number of runs on each of the two datasets. Default 0.
        alarm: Probability that a true claim is called broken; 0 where the check is exact.
        seconds: Duration in seconds. Default 0.
        detail: What a report draws, as plain data. Default: nothing.

    Example:
        >>> import discreet as dp
        >>> yes_no = {"yes": 1, "no": 0}, {"yes": 0, "no": 1}
        >>> finding = dp.auditing.compare_masses(*yes_no, claim=dp.auditing.claim(epsilon=1))
        >>> str(finding.verdict)
        'broken'
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
