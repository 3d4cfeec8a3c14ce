"""`discreet ledger key`: the keys of this machine, and those that a ledger lists."""

import os
import shlex
from collections.abc import Iterable
from pathlib import Path
from typing import Annotated

import typer

from discreet.cli.examples import examples
from discreet.cli.key_terms import KeyTerm, key_terms, of_one_name, same_name_lines
from discreet.cli.ledger_options import HOUSE, Anchors, KeyFile, Reason, Where
from discreet.cli.opening import open_ledger_at
from discreet.cli.output import AsJson, print_result
from discreet.errors import ParameterError
from discreet.home import home
from discreet.ledger import ListedKey, Signer
from discreet.ledger.records.signatures import public_keys

_AFTER_ROTATION = (
    "\n  next, if it was the owner's: open the ledger; on PostgreSQL: discreet ledger create ADDRESS --role NAME"
    "\n  next, if it was another: discreet ledger key list {public} --name NAME --reason TEXT --ledger LEDGER"
)

keys = typer.Typer(help="The keys that sign receipts and anchors.", **HOUSE)


@keys.command("show", epilog="Example: discreet ledger key show")
def show_keys(as_json: AsJson = False, key: KeyFile = None) -> None:
    """List every public key that this machine ever had, oldest first."""
    path = _key_at(key)
    current = Signer.at(path).key if path.exists() else None
    listed = public_keys(path)
    if not listed:
        raise ParameterError(
            f"the keys at {str(path)!r}",
            because="no key was ever made there",
            instead=f"--signing-key FILE as the ledger was opened with, or discreet ledger key new{_option(key)}",
        )
    keys_listed = [{"key": name, "public": public, "signs": name == current} for name, public in listed.items()]
    lines = [_key_line(name, public, is_current=name == current) for name, public in listed.items()]
    print_result({"keys": keys_listed}, "\n".join(lines), as_json=as_json)


@keys.command("new", epilog="Example: discreet ledger key new --signing-key container.key")
def new_key(as_json: AsJson = False, key: KeyFile = None) -> None:
    """Make a signing key where there is none.

    The owner of a ledger lists it before it can charge.
    """
    path = _key_at(key)
    if os.path.lexists(path):
        raise ParameterError(
            "a new signing key",
            because="there is one at that path, and a key is never lost by a slip",
            instead=f"discreet ledger key rotate{_option(key)}, which puts a new one in its place, or"
            " --signing-key FILE with a path where nothing is",
        )
    _print_key(Signer.at(path), as_json=as_json)


@keys.command("rotate", epilog="Example: discreet ledger key rotate")
def rotate_key(as_json: AsJson = False, key: KeyFile = None) -> None:
    """Put a new key in the place of the one that signs now.

    The owner of a ledger on several machines lists the new key, unless it succeeds the owner's own.
    """
    _print_key(Signer.rotate(_key_at(key)), as_json=as_json, note=_AFTER_ROTATION)


def _print_key(signer: Signer, *, as_json: bool, note: str = "") -> None:
    document = {"key": signer.key, "public": signer.public, "signs": True}
    line = _key_line(signer.key, signer.public, is_current=True)
    print_result(document, line + note.format(public=signer.public), as_json=as_json)


def _key_line(name: str, public: str, *, is_current: bool) -> str:
    return f"{name}  {public}  {'signs' if is_current else 'retired'}"


def _key_at(path: Path | None) -> Path:
    return home() / "signing.key" if path is None else path


def _option(path: Path | None) -> str:
    """The option by which a command was given a key: the advice is about that key, and not about the one at home."""
    return "" if path is None else f" --signing-key {shlex.quote(str(path))}"


@keys.command(
    "listed", epilog=examples("discreet ledger key listed --ledger postgresql://service@db.example.org/records")
)
def listed_keys(as_json: AsJson = False, where: Where = None, key: KeyFile = None, anchors: Anchors = None) -> None:
    """List the keys that may charge a ledger, or might once.

    Each has the time and the reason of its listing, and of its end.
    """
    with open_ledger_at(where, key, anchors) as ledger:
        terms, place = key_terms(ledger), ledger.shared_anchors_place
    same = of_one_name(terms)
    lines = [*(each.story for each in terms), *same_name_lines(same), f"shared anchors: {place or 'not named'}"]
    document = {"keys": [each.to_dict() for each in terms], "same_names": same, "shared_anchors": place}
    print_result(document, "\n".join(lines), as_json=as_json)


@keys.command(
    "list",
    epilog=examples(
        "discreet ledger key list $KEY --name pod-2 --reason growth"
        " --ledger postgresql://ledger_owner@db.example.org/records"
    ),
)
def list_key(
    public: Annotated[
        str, typer.Argument(metavar="PUBLIC", help="As `key show` prints it where the key is.", show_default=False)
    ],
    name: Annotated[str, typer.Option(metavar="NAME", help="Name of the machine.", show_default=False)],
    reason: Reason,
    as_json: AsJson = False,
    where: Where = None,
    key: KeyFile = None,
    anchors: Anchors = None,
) -> None:
    """Let processes with a key charge; run where the owner's key is.

    In PostgreSQL it needs the steward's role, or the one that owns the database.
    """
    with open_ledger_at(where, key, anchors, as_owner=True) as ledger:
        listed = ledger.list_key(public, name=name, reason=reason)
        terms = key_terms(ledger)
    same = {each: keys for each, keys in of_one_name(terms).items() if each == listed.name}
    _print_term(terms, listed, as_json=as_json, lines=same_name_lines(same))


@keys.command(
    "revoke",
    epilog=examples(
        "discreet ledger key revoke 5a1b2c3d4e5f6a7b --reason stolen"
        " --ledger postgresql://ledger_owner@db.example.org/records"
    ),
)
def revoke_key(
    identifier: Annotated[
        str, typer.Argument(metavar="KEY", help="Its id, as `key listed` prints it.", show_default=False)
    ],
    reason: Reason,
    as_json: AsJson = False,
    where: Where = None,
    key: KeyFile = None,
    anchors: Anchors = None,
) -> None:
    """Let processes with a key charge nothing any more.

    Run where the owner's key is.
    """
    with open_ledger_at(where, key, anchors, as_owner=True) as ledger:
        revoked = ledger.revoke_key(identifier, reason=reason)
        terms = key_terms(ledger)
    _print_term(terms, revoked, as_json=as_json)


@keys.command("take-over", epilog='Example: discreet ledger key take-over --reason "the owner\'s disk was lost"')
def take_over(
    reason: Reason, as_json: AsJson = False, where: Where = None, key: KeyFile = None, anchors: Anchors = None
) -> None:
    """Make this machine's key the owner's, whose key is lost.

    It cannot be undone. The ledger keeps that the former owner did not sign it.
    """
    with open_ledger_at(where, key, anchors, as_owner=True) as ledger:
        ledger.take_over(reason=reason)
        terms = key_terms(ledger)
    (owner,) = (each.listed for each in terms if each.listed.is_owner)
    _print_term(terms, owner, as_json=as_json)


def _print_term(terms: list[KeyTerm], listed: ListedKey, *, as_json: bool, lines: Iterable[str] = ()) -> None:
    """Print the term of one key, then other lines."""
    (term,) = (each for each in terms if each.listed.key == listed.key)
    print_result(term.to_dict(), "\n".join([str(term), *lines]), as_json=as_json)
