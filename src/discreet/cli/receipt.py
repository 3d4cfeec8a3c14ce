"""`discreet receipt`: what a receipt proves, checked offline from the receipt and a public key."""

import json
from pathlib import Path
from typing import Annotated

import typer

from discreet.catalog import strict_json
from discreet.cli import exit_codes
from discreet.cli.output import AsJson, print_json
from discreet.errors import LedgerError, ParameterError
from discreet.ledger.records.history import cost_text
from discreet.ledger.records.receipt import Receipt, receipt_fault
from discreet.ledger.records.signatures import key_id
from discreet.release.values.rendering import cell

app = typer.Typer(
    name="receipt",
    help="Check the receipt of a charge, without its ledger.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)


@app.callback()
def root() -> None:
    """Check the receipt of a charge, without its ledger."""


@app.command(epilog='Example: discreet receipt verify release.json --key "$KEY"')
def verify(
    file: Annotated[
        Path, typer.Argument(metavar="FILE", help="A receipt, or a saved release, as JSON.", show_default=False)
    ],
    keys: Annotated[
        list[str],
        typer.Option("--key", help="A public key of the ledger, ed25519:...; may be repeated.", metavar="PUBLIC"),
    ],
    as_json: AsJson = False,
) -> None:
    """Check the hash of a receipt, and that the ledger's key signed it."""
    publics = [checked_key(text) for text in keys]
    found, is_release = read(file)
    wrong = receipt_fault(found, publics)
    if as_json:
        print_json({"verified": wrong is None, "fault": wrong, "receipt": json.loads(found.to_json())})
    else:
        _print(found, wrong, is_release=is_release)
    if wrong is not None:
        raise typer.Exit(exit_codes.PROBLEM)


def _print(found: Receipt, wrong: str | None, *, is_release: bool) -> None:
    text = f"receipt {found.id} of {found.dataset!r}, event {found.sequence}, by {found.analyst!r}"
    if wrong is not None:
        print(f"{text}: {wrong}")
        return
    print(f"{text}: signed by key {found.key}")
    print(f"it says: {cost_text(found.cost)} charged to version {found.version} at {found.time}")
    for text in found.others:
        print(f"other release before it: {cell(text)}")
    if is_release:
        print("it proves the charge; for the numbers run `discreet release verify`")


def read(file: Path) -> tuple[Receipt, bool]:
    """The receipt in a file, and whether a release holds it."""
    try:
        data = strict_json.loads(file.read_text(encoding="utf-8"))
    except OSError:
        raise ParameterError(
            f"a receipt in {str(file)!r}",
            because="the file is not there, or cannot be read",
            instead='a file with receipt.to_json() in it, or one that release.save("release.json") wrote',
        ) from None
    except (ValueError, RecursionError):
        data = None
    if not isinstance(data, dict):
        raise LedgerError("the file holds neither a receipt nor a release that this version of discreet can read")
    is_release = isinstance(data.get("receipt"), dict)
    return Receipt.from_json(json.dumps(data["receipt"] if is_release else data)), is_release


def checked_key(text: str) -> str:
    """A public key; anything else is refused."""
    if key_id(text) is None:
        raise ParameterError(
            f"--key {text!r}",
            because="a public key is ed25519: and 44 characters of base64",
            instead="a line of `discreet ledger key show`, run where the ledger is",
        )
    return text
