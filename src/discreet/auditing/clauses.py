"""Clauses of a contract: each is checked by itself, and whatever happens in one, the others are still read."""

import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace

from discreet.auditing.finding import Finding, Verdict

LAYER = "contract"

Said = str | Finding | list[Finding]


class NotChecked(Exception):  # noqa: N818 - a reason, and no error of anybody's
    """Why a clause could not be checked here."""


def read(subject: str, clauses: dict[str, Callable[[], Said]]) -> list[Finding]:
    """The findings of every clause. A check gives its own, or says what is wrong: nothing where the clause is kept."""
    return [finding for claim, check in clauses.items() for finding in _read(subject, claim, check)]


def require(findings: Iterable[Finding]) -> None:
    """Raise an AssertionError with one line for each broken claim, or nothing."""
    broken = [finding for finding in findings if finding.is_broken]
    if broken:
        lines = "\n".join(f"  {finding.claim}: {finding.evidence}" for finding in broken)
        raise AssertionError(f"{broken[0].subject} breaks its contract\n{lines}")


def _read(subject: str, claim: str, check: Callable[[], Said]) -> Iterator[Finding]:
    started = time.perf_counter()
    verdict = Verdict.BROKEN
    try:
        found = check()
    except NotChecked as reason:
        verdict, found = Verdict.SKIPPED, str(reason)
    except Exception as error:  # noqa: BLE001 - what is checked may raise anything, and then the clause is not kept
        found = f"the check ended in {type(error).__name__}"
    if isinstance(found, str):
        kept = Verdict.NOTHING_FOUND
        found = Finding(
            subject=subject, layer=LAYER, claim=claim, verdict=verdict if found else kept, evidence=found or "kept"
        )
    seconds = time.perf_counter() - started
    parts = found if isinstance(found, list) else [found]
    yield from (part if part.seconds else replace(part, seconds=seconds) for part in parts)
