"""Clauses of a contract: each is checked by itself, also where another fails."""

import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace

from discreet.auditing.finding import Finding, Verdict
from discreet.errors import short_traceback

LAYER = "contract"

Said = str | Finding | list[Finding]


class CannotCheck(Exception):  # noqa: N818 - a reason, and no error of anybody's
    """Why a clause could not be checked here."""


def read(
    subject: str, clauses: Mapping[str, Callable[[], Said]], alarms: Mapping[str, float] | None = None
) -> list[Finding]:
    """The findings of every clause. A check gives its own, or says what is wrong: nothing where the clause is kept.

    `alarms` are of clauses that draw and give no finding of their own: how often a kept one is called broken.
    """
    rates = alarms or {}
    return [
        finding for claim, check in clauses.items() for finding in _read(subject, claim, check, rates.get(claim, 0.0))
    ]


@short_traceback
def require(findings: Finding | Iterable[Finding]) -> None:
    """Raise an error if a claim is broken or could not be judged; for tests.

    Args:
        findings: A finding, or several.

    Raises:
        AssertionError: If a finding is broken or void, with one line for each.

    Example:
        >>> import discreet as dp
        >>> laplace = dp.mechanisms.Laplace(sensitivity=1, epsilon=0.5)
        >>> dp.auditing.require(dp.auditing.check_masses(laplace))
    """
    given = [findings] if isinstance(findings, Finding) else findings
    failed = [finding for finding in given if finding.verdict in (Verdict.BROKEN, Verdict.VOID)]
    if failed:
        lines = "\n".join(f"  {finding.claim}: {_why(finding)}" for finding in failed)
        told = (
            "breaks its contract"
            if any(finding.is_broken for finding in failed)
            else "is not known to keep its contract"
        )
        raise AssertionError(f"{failed[0].subject} {told}\n{lines}")


def _why(finding: Finding) -> str:
    return finding.evidence if finding.is_broken else f"void, {finding.evidence}"


def _read(subject: str, claim: str, check: Callable[[], Said], alarm: float) -> Iterator[Finding]:
    started = time.perf_counter()
    verdict = Verdict.BROKEN
    try:
        found = check()
    except CannotCheck as reason:
        verdict, found = Verdict.SKIPPED, str(reason)
    except Exception as error:  # noqa: BLE001 - what is checked may raise anything, and then the clause is not kept
        found = f"the check ended in {type(error).__name__}"
    if isinstance(found, str):
        found = Finding(
            subject=subject,
            layer=LAYER,
            claim=claim,
            verdict=verdict if found else Verdict.NOTHING_FOUND,
            evidence=found or "kept",
            alarm=0.0 if verdict is Verdict.SKIPPED else alarm,
        )
    seconds = time.perf_counter() - started
    parts = found if isinstance(found, list) else [found]
    yield from (part if part.seconds else replace(part, seconds=seconds) for part in parts)
