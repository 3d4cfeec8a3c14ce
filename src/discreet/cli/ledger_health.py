"""`discreet ledger health`: what a monitor has to know of a ledger, at one look."""

from typing import Annotated, Any, ClassVar

import typer
from typer.core import TyperCommand

from discreet.cli import exit_codes
from discreet.cli.examples import examples
from discreet.cli.ledger_options import Anchors, KeyFile, Where
from discreet.cli.opening import file_at, is_some_address, ledger_health_at
from discreet.cli.output import AsJson, print_result
from discreet.ledger.reporting.health import SCHEMA, UNREACHABLE

EXAMPLE = examples(
    "discreet ledger health --most-spent 0.9",
    "discreet ledger health --needs-key --ledger postgresql://discreet_service@db.example.org/records",
)

OldestAnchor = Annotated[
    float | None,
    typer.Option(
        metavar="SECONDS",
        help="A problem: events after the newest anchor, and that is older.",
        min=0.001,
        show_default=False,
    ),
]
MostSpent = Annotated[
    float | None,
    typer.Option(
        metavar="SHARE",
        help="A problem: this part of a privacy budget is spent.",
        min=0.001,
        max=1,
        show_default=False,
    ),
]


class HealthCommand(TyperCommand):
    """The command, whose document has its schema after a wrong call too: a monitor reads one format."""

    wrong_call_fields: ClassVar[dict[str, Any]] = {"schema": SCHEMA, "healthy": False}


NeedsKey = Annotated[bool, typer.Option("--needs-key", help="A problem: this process has no signing key.")]


def health(
    oldest_anchor: OldestAnchor = None,
    most_spent: MostSpent = None,
    needs_key: NeedsKey = False,
    as_json: AsJson = False,
    where: Where = None,
    key: KeyFile = None,
    anchors: Anchors = None,
) -> None:
    """Say whether a ledger serves; problems end with 1.

    For monitoring: it reads no chain, waits for no charge and changes nothing. No key is made.
    """
    limits = {"oldest_anchor": oldest_anchor, "most_spent": most_spent, "needs_key": needs_key}
    found = ledger_health_at(where, key, anchors, **limits)
    is_file = where is None or not is_some_address(where)
    is_away = any(each.kind == UNREACHABLE for each in found.problems)
    text = f"{found}\n  tried: {file_at(where)}" if is_file and is_away else found
    print_result(found.to_dict(), text, as_json=as_json)
    if not found:
        raise typer.Exit(exit_codes.PROBLEM)
