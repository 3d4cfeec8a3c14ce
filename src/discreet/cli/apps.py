"""The app of one command. This module loads nothing else: a shell that starts waits for `discreet completion`."""

import typer


def command_app(name: str) -> typer.Typer:
    """The app of one command."""
    # a pretty traceback prints local variables, and those may hold rows
    return typer.Typer(name=name, add_completion=False, rich_markup_mode=None, pretty_exceptions_enable=False)
