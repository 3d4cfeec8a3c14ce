"""The command `discreet`: one module for each command, each with a function `command` or an `app` that typer reads.

A command prints its answer to standard output and everything else to standard error, colours only in a terminal, and
says in words what it says in colour. With `--json` it prints one JSON document to standard output, also for an error;
`sql` prints one per line, and `completion` and `demo` have no `--json`.
The exit codes are in `exit_codes`. No address is printed as it was typed, since it may hold a password; of shared
anchors, and of a ledger that was moved, the host, the port and the database are.
"""

import os
import sys
from importlib import import_module
from typing import Annotated, Any

import typer
from typer.core import TyperCommand, TyperGroup

from discreet.cli import doctor, exit_codes, output, version
from discreet.cli.address import without_addresses
from discreet.errors import DiscreetError, Refusal

LATER = (
    *("audit", "check", "completion", "demo", "epsilon", "harm", "init", "ledger", "local", "materialise", "plan"),
    *("preview", "receipt", "release", "report", "risk", "run", "sql", "synth"),
)
"""Commands that are loaded when they are named: `discreet version` should not wait for Arrow."""
_ARGUMENTS = "discreet.arguments"
COMPLETION = "_DISCREET_COMPLETE"
"""What a shell sets when it asks how a line may go on; `discreet completion` prints the script that does."""


class Commands(TyperGroup):
    """The commands; an error about a wrong call does not show the addresses in it."""

    _is_completing_names = False

    def list_commands(self, ctx: Any) -> list[str]:
        """The names of all commands, in order."""
        return sorted([*super().list_commands(ctx), *LATER])

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """A command by its name, or None."""
        if cmd_name in LATER and self._is_completing_names:
            return TyperCommand(cmd_name)
        if cmd_name in LATER:
            return typer.main.get_command(import_module(f"discreet.cli.{cmd_name}").app)
        return super().get_command(ctx, cmd_name)

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Read the arguments, and remember them for errors."""
        ctx.meta[_ARGUMENTS] = tuple(args)
        return super().parse_args(ctx, args)

    def shell_complete(self, ctx: Any, incomplete: str) -> list[Any]:
        """The commands that go on from what is typed; none of them is loaded for its name."""
        self._is_completing_names = True
        try:
            return super().shell_complete(ctx, incomplete)
        finally:
            self._is_completing_names = False

    def invoke(self, ctx: Any) -> Any:
        """Run a command; its errors show no address, and are JSON on standard output where JSON is asked for."""
        arguments: tuple[str, ...] = ctx.meta[_ARGUMENTS]
        try:
            return super().invoke(ctx)
        except Exception as error:
            if isinstance(error, Refusal):
                output.hide_addresses(error, arguments)
            # typer brings a click of its own or uses the installed one, so its class has no one name
            message = getattr(error, "message", None)
            if isinstance(message, str):
                error.message = without_addresses(message)  # type: ignore[attr-defined]
            if output.wants_json(arguments):
                _end_with_json(error)
            raise


def _end_with_json(error: Exception) -> None:
    """Print an error as JSON and end; an error that is not expected goes on to standard error."""
    if isinstance(error, DiscreetError):
        output.print_json(output.error_document(error))
        raise typer.Exit(exit_codes.PROBLEM)
    if hasattr(error, "format_message"):
        output.print_json(output.wrong_call_document(error))
        raise typer.Exit(exit_codes.WRONG_CALL)
    if not hasattr(error, "exit_code") and type(error).__name__ != "Abort":  # it did not end by itself
        output.print_json(output.error_document(error))


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
app.command("doctor", epilog="Example: discreet doctor")(doctor.command)
app.command("version", epilog="Example: discreet version")(version.command)


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
    if COMPLETION in os.environ:
        import_module("typer.completion").completion_init()
    try:
        app()
    except DiscreetError as error:
        print(f"{type(error).__name__}: {error}", file=sys.stderr)
        sys.exit(exit_codes.PROBLEM)
