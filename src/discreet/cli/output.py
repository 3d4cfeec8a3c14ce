"""What commands print for programs: with `--json` one document on standard output, also for an error.

An error is `{"error": {"type": ..., "what": ...}}`. A refusal, which is made before data is read, adds `because` and
`instead`. An error after data has its one constant sentence and nothing more.
"""

import itertools
import json
from collections.abc import Iterable, Sequence
from typing import Annotated, Any

import typer

from discreet.cli.address import NOT_SHOWN, without_addresses
from discreet.errors import DiscreetError, Refusal

FLAG = "--json"
AsJson = Annotated[bool, typer.Option(FLAG, help="Print JSON, for programs.")]
UNEXPECTED = "an error that discreet does not expect; standard error has the details"
_PARTS = ("what", "because", "instead")


def wants_json(arguments: Iterable[str]) -> bool:
    """Whether arguments of the command line ask for JSON; what follows `--` is no option."""
    return FLAG in itertools.takewhile(lambda each: each != "--", arguments)


def print_json(value: object) -> None:
    """Print one JSON document; in ASCII, so that no terminal or pipe can fail to encode it."""
    print(json.dumps(value, indent=2))


def print_json_line(value: object) -> None:
    """Print one JSON document on a line of its own, at once: a command that answers many times prints many of them."""
    print(json.dumps(value), flush=True)


def print_result(document: object, text: object, *, as_json: bool) -> None:
    """Print a result: for programs as JSON, or as text."""
    if as_json:
        print_json(document)
    else:
        print(text)


def error_document(error: BaseException) -> dict[str, Any]:
    """An error of discreet as plain data; of an error that is not expected, no more than its type."""
    kind: dict[str, str] = {"type": type(error).__name__}
    if isinstance(error, Refusal):
        return {"error": kind | {part: getattr(error, part) for part in _PARTS}}
    return {"error": kind | {"what": str(error) if isinstance(error, DiscreetError) else UNEXPECTED}}


def wrong_call_document(error: Any) -> dict[str, Any]:
    """An error of the option parser as plain data, with the fields that the command adds to every document."""
    path = getattr(getattr(error, "ctx", None), "command_path", None) or "discreet"
    because = "the command does not take what it was given"
    parts = {"what": str(error.format_message()), "because": because, "instead": f"{path} --help"}
    fields = getattr(getattr(getattr(error, "ctx", None), "command", None), "wrong_call_fields", {})
    return fields | {"error": {"type": "UsageError"} | parts}


def hide_addresses(error: Refusal, arguments: Sequence[str]) -> None:
    """Take the addresses of databases out of a refusal; advice may have an example of one, but none that was typed."""
    error.what, error.because = without_addresses(error.what), without_addresses(error.because)
    for typed in arguments:
        if without_addresses(typed) != typed:
            error.instead = error.instead.replace(typed, NOT_SHOWN)
    error.args = (error.what, error.because, error.instead)
