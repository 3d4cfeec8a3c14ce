"""`discreet ledger health`: what a monitor has to know of a ledger, at one look."""

from typing import Annotated

import typer

from discreet.cli import exit_codes
from discreet.cli.ledger_options import Anchors, KeyFile, Where
from discreet.cli.opening import ledger_health_at
from discreet.cli.output import AsJson, print_result

EXAMPLE = "Example: discreet ledger health --most-spent 0.9"

OldestAnchor = Annotated[
    float | None,
    typer.Option(
        metavar="SECONDS", help="A problem: an event without an anchor, after this time.", min=0.001, show_default=False
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


def health(
    oldest_anchor: OldestAnchor = None,
    most_spent: MostSpent = None,
    as_json: AsJson = False,
    where: Where = None,
    key: KeyFile = None,
    anchors: Anchors = None,
) -> None:
    """Say whether a ledger serves; problems end with 1.

    For monitoring: it reads no chain, waits for no charge and changes nothing. No key is made.
    """
    found = ledger_health_at(where, key, anchors, oldest_anchor=oldest_anchor, most_spent=most_spent)
    print_result(found.to_dict(), found, as_json=as_json)
    if not found:
        raise typer.Exit(exit_codes.PROBLEM)
