"""Options that commands on a ledger share."""

from pathlib import Path
from typing import Annotated, Any

import typer

HOUSE: dict[str, Any] = {
    "no_args_is_help": True,
    "add_completion": False,
    "rich_markup_mode": None,
    "pretty_exceptions_enable": False,
}

Where = Annotated[
    str | None,
    typer.Option(
        "--ledger",
        metavar="PATH|ADDRESS",
        help="A file, or postgresql://role@host/database; the ledger at home otherwise.",
        show_default=False,
    ),
]
KeyFile = Annotated[
    Path | None,
    typer.Option("--signing-key", metavar="FILE", help="The ledger's signing key; the one at home otherwise."),
]
Anchors = Annotated[
    Path | None,
    typer.Option("--anchors", metavar="DIRECTORY", help="Where its anchors are; those at home otherwise."),
]
Reason = Annotated[str, typer.Option("--reason", metavar="TEXT", help="Why; the chain keeps it.", show_default=False)]
