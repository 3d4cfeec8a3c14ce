"""What `verify`, `recover` and `move` tell of a verification."""

from collections.abc import Iterable
from fractions import Fraction
from typing import Any

import typer
from rich.console import Console
from rich.status import Status

from discreet.cli import exit_codes
from discreet.cli.output import print_result
from discreet.errors import LedgerError
from discreet.ledger import Ledger, LedgerHealth, Verification
from discreet.ledger.integrity.findings import UNREADABLE_ROWS
from discreet.ledger.integrity.verification import EVERY_DATASET
from discreet.ledger.records import faults
from discreet.ledger.reporting.health import CURE, DatasetHealth
from discreet.ledger.reporting.spending import SpendingTotal, plain_up, text_up
from discreet.ledger.reporting.tables import WIDTH, with_commands_apart

_DEFAULTS = (
    "the owner of the database takes default privileges back: ALTER DEFAULT PRIVILEGES FOR ROLE OWNER REVOKE ALL ON"
    " TABLES FROM NAME, also ON FUNCTIONS and ON SCHEMAS, and with IN SCHEMA where they have one (psql's \\ddp lists"
    " them)"
)
_RIGHTS = (
    "the owner of the database gives each role exactly its rights again, by discreet ledger create ADDRESS --role NAME"
    " --steward NAME; what PUBLIC was given it takes back by REVOKE"
)
_SCHEMA = (
    "no recovery mends a schema: on PostgreSQL the owner of the database removes what was added and restores what was"
    " changed, and a file is restored from a backup"
)
_CURES = {"default privileges ": _DEFAULTS, "a role may do more ": _RIGHTS, "a role may call some ": _RIGHTS}
"""By the beginning of a finding about the schema, how it is mended; `_SCHEMA` for others."""


def waiting(what: str) -> Status:
    """A sign of life on standard error while something takes its time."""
    return Console(stderr=True).status(what)


def conclude(
    found: Verification, *, as_json: bool, has_anchors: bool, lines: Iterable[str] = (), **more: object
) -> None:
    """Print what a verification found, then other lines; in JSON with more fields.

    End with 1 after a finding, or where a dataset is stopped.
    """
    findings = [{"what": f.what, "dataset": f.dataset, "event": f.sequence} for f in found.findings]
    counted: dict[str, Any] = {"agrees": found.ok, "datasets": found.datasets, "events": found.events}
    counted |= {"since": dict(found.since), "anchors": has_anchors}
    stopped = {name or EVERY_DATASET: why for name, why in found.stopped.items()}
    document = counted | {"findings": findings, "stopped": stopped} | more
    print_result(document, "\n".join([str(found), *(f"  {line}" for line in lines)]), as_json=as_json)
    if not found.ok:
        raise typer.Exit(exit_codes.PROBLEM)


def next_lines(found: Verification) -> list[str]:
    """What comes after findings that stop a dataset, and while one is stopped: the command that recovers it."""
    stops = found.stopped or any(finding.is_ours for finding in found.findings)
    return [*schema_lines(found), *with_commands_apart(CURE, WIDTH - 2)] if stops else []


def schema_lines(found: Verification) -> list[str]:
    """How findings about the whole store are mended, which no recovery does: those of the schema and of rights."""
    own = {faults.DAMAGED, faults.DAMAGED_KEYS}  # these sentences say what to do
    about_all = [each.what for each in found.findings if each.is_ours and each.dataset is None and each.what not in own]
    cures = [next((cure for words, cure in _CURES.items() if what.startswith(words)), _SCHEMA) for what in about_all]
    return [line for cure in dict.fromkeys(cures) for line in with_commands_apart(cure, WIDTH - 2)]


def health_of(ledger: Ledger) -> LedgerHealth:
    """The health of a ledger before or after a recovery, which damaged rows must not stop."""
    try:
        return ledger.health()
    except UNREADABLE_ROWS:
        return LedgerHealth.unreachable(ledger.STORE, LedgerError(faults.DAMAGED))


def recovery_lines(before: LedgerHealth, after: LedgerHealth) -> list[str]:
    """What a recovery added to each dataset that it recovered."""
    lines = []
    for each, (added, spent) in _recoveries(before, after).items():
        total = "more than its budget" if spent is None else text_up(spent)
        gain = "more than its budget" if added is None else f"epsilon {text_up(added)}" if added else "nothing"
        lines.append(f"{each!r}: {gain} was added, {total} is spent")
    is_known = before.error is None and after.error is None
    return lines or (["nothing to recover in any dataset"] if is_known else [])


def recovery_document(before: LedgerHealth, after: LedgerHealth) -> list[dict[str, Any]]:
    """The same for programs; null stands for more than the budget."""
    found = _recoveries(before, after).items()
    return [{"dataset": name, "added": plain_up(added), "spent": plain_up(spent)} for name, (added, spent) in found]


def _recoveries(before: LedgerHealth, after: LedgerHealth) -> dict[str, tuple[Fraction | None, Fraction | None]]:
    """By dataset with new events, what was added and what is spent, both in the terms of its budget of now."""
    known = {each.dataset: each for each in before.datasets}
    new = [each for each in after.datasets if each.dataset in known and each.events != known[each.dataset].events]
    return {each.dataset: (_added(known[each.dataset], each), each.epsilon) for each in new}


def _added(before: DatasetHealth, after: DatasetHealth) -> Fraction | None:
    former = SpendingTotal(cost=before.spent).of_promise(after.budget).epsilon
    return None if former is None or after.epsilon is None else max(Fraction(0), after.epsilon - former)
