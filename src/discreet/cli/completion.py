"""`discreet completion`: the script with which a shell completes commands and options."""

from enum import StrEnum
from typing import Annotated

import typer
from typer.completion import get_completion_script  # type: ignore[attr-defined]

from discreet.cli import COMPLETION
from discreet.cli.apps import command_app

app = command_app("completion")


class Shell(StrEnum):
    """The shells that have a script."""

    BASH = "bash"
    ZSH = "zsh"
    FISH = "fish"


@app.command("completion", no_args_is_help=True, epilog="Example: discreet completion bash")
def command(
    shell: Annotated[Shell, typer.Argument(metavar="SHELL", help="bash, zsh or fish.", show_default=False)],
) -> None:
    """Print the script for completion in a shell.

    For bash: source <(discreet completion bash), in ~/.bashrc. For zsh the same with zsh, in ~/.zshrc after compinit.
    For fish: discreet completion fish > ~/.config/fish/completions/discreet.fish
    """
    print(get_completion_script(prog_name="discreet", complete_var=COMPLETION, shell=str(shell)))
