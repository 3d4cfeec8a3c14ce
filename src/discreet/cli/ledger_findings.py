"""What `verify`, `recover` and `move` tell of a verification."""

from typing import Any

import typer
from rich.console import Console
from rich.status import Status

from discreet.cli import exit_codes
from discreet.cli.output import print_result
from discreet.ledger import Verification


def waiting(what: str) -> Status:
    """A sign of life on standard error while something takes its time."""
    return Console(stderr=True).status(what)


def conclude(found: Verification, *, as_json: bool, has_anchors: bool) -> None:
    """Print what a verification found, and end with 1 where it found something."""
    findings = [{"what": f.what, "dataset": f.dataset, "event": f.sequence} for f in found.findings]
    counted: dict[str, Any] = {"agrees": found.ok, "datasets": found.datasets, "events": found.events}
    counted |= {"since": dict(found.since), "anchors": has_anchors}
    print_result(counted | {"findings": findings}, str(found), as_json=as_json)
    if not found.ok:
        raise typer.Exit(exit_codes.PROBLEM)
