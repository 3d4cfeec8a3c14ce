"""The command `discreet`: one module for each command, each with a function `command` or an `app` that typer reads.

A command prints its answer to standard output and everything else to standard error, colours only in a terminal, and
says in words what it says in colour. It ends with 0 when all is well, 1 when discreet refused, failed or found a
problem, and 2 when it was called wrongly; `release verify` ends with 3 when no signature covers the numbers. No part of
a database's address is ever printed: it may hold a password.
"""

import sys
from importlib import import_module
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from discreet.cli import doctor, version
from discreet.cli.address import without_addresses
from discreet.errors import DiscreetError

LATER = ("audit", "check", "epsilon", "harm", "init", "ledger", "materialise", "plan", "receipt", "release", "run")
"""Commands that are loaded when they are named: `discreet version` should not wait for Arrow."""


class Commands(TyperGroup):
    """The commands; an error about a wrong call does not show the addresses in it."""

    def list_commands(self, ctx: Any) -> list[str]:
        """The names of all commands, in order."""
        return sorted([*super().list_commands(ctx), *LATER])

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """A command by its name, or None."""
        if cmd_name in LATER:
            return typer.main.get_command(import_module(f"discreet.cli.{cmd_name}").app)
        return super().get_command(ctx, cmd_name)

    def invoke(self, ctx: Any) -> Any:
        """Run a command."""
        try:
            return super().invoke(ctx)
        except Exception as error:
            # typer brings a click of its own or uses the installed one, so its class has no one name
            message = getattr(error, "message", None)
            if isinstance(message, str):
                error.message = without_addresses(message)  # type: ignore[attr-defined]
            raise


app = typer.Typer(
    cls=Commands,
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
    """Run the command line; a `Refusal` is printed as its three parts, without a traceback."""
    try:
        app()
    except DiscreetError as error:
        print(f"{type(error).__name__}: {error}", file=sys.stderr)
        sys.exit(1)
