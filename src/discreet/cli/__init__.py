"""The command `discreet`: one module for each command, each with a function `command` that typer reads.

A command prints its answer to standard output and everything else to standard error, colours only in a terminal, and
says in words what it says in colour. It ends with 0 when all is well, 1 when discreet refused, failed or found a
problem, and 2 when it was called wrongly.
"""

import sys
from typing import Annotated

import typer

from discreet.cli import doctor, version
from discreet.errors import DiscreetError

app = typer.Typer(
    name="discreet",
    help="Private answers from the engine you already have.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    # a pretty traceback prints local variables, and those may hold rows
    pretty_exceptions_enable=False,
)
app.command("doctor")(doctor.command)
app.command("version")(version.command)


@app.callback(invoke_without_command=True)
def root(
    show_version: Annotated[
        bool, typer.Option("--version", help="Print the version of discreet and end.", is_eager=True)
    ] = False,
) -> None:
    """Private answers from the engine you already have."""
    if show_version:
        print(version.line())
        raise typer.Exit


def main() -> None:
    """Run the command line; a refusal is printed as its three parts, without a traceback."""
    try:
        app()
    except DiscreetError as error:
        print(f"{type(error).__name__}: {error}", file=sys.stderr)
        sys.exit(1)
