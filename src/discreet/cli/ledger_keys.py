"""`discreet ledger key`: the keys of this machine, and those that a ledger lists."""

import os
from pathlib import Path
from typing import Annotated, Any

import typer

from discreet.cli.ledger_options import HOUSE, Anchors, KeyFile, Reason, Where
from discreet.cli.opening import open_ledger_at
from discreet.cli.output import AsJson, print_result
from discreet.errors import ParameterError
from discreet.home import home
from discreet.ledger import ListedKey, Signer
from discreet.ledger.records.signatures import public_keys

keys = typer.Typer(help="The keys that sign receipts and anchors.", **HOUSE)


@keys.command("show", epilog="Example: discreet ledger key show")
def show_keys(as_json: AsJson = False, key: KeyFile = None) -> None:
    """List every public key that this machine ever had, oldest first."""
    path = _key_at(key)
    current = Signer.at(path).key if path.exists() else None
    listed = public_keys(path)
    if not listed:
        raise ParameterError(
            "the keys of a ledger",
            because="no key was ever made there",
            instead="--signing-key FILE as the ledger was opened with, or discreet ledger key new",
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
            instead="discreet ledger key rotate, which puts a new one in its place, or another --signing-key",
        )
    _print_key(Signer.at(path), as_json=as_json)


@keys.command("rotate", epilog="Example: discreet ledger key rotate")
def rotate_key(as_json: AsJson = False, key: KeyFile = None) -> None:
    """Put a new key in the place of the one that signs now."""
    _print_key(Signer.rotate(_key_at(key)), as_json=as_json)


def _print_key(signer: Signer, *, as_json: bool) -> None:
    document = {"key": signer.key, "public": signer.public, "signs": True}
    print_result(document, _key_line(signer.key, signer.public, is_current=True), as_json=as_json)


def _key_line(name: str, public: str, *, is_current: bool) -> str:
    return f"{name}  {public}  {'signs' if is_current else 'retired'}"


def _key_at(path: Path | None) -> Path:
    return home() / "signing.key" if path is None else path


@keys.command(
    "listed", epilog="Example: discreet ledger key listed --ledger postgresql://service@db.example.org/records"
)
def listed_keys(as_json: AsJson = False, where: Where = None, key: KeyFile = None, anchors: Anchors = None) -> None:
    """List the keys that may charge a ledger, or might once."""
    with open_ledger_at(where, key, anchors) as ledger:
        listed, place = ledger.listed_keys(), ledger.shared_anchors_place
    lines = [*map(_listed_line, listed), f"shared anchors: {place or 'not named'}"]
    document = {"keys": [_document(each) for each in listed], "shared_anchors": place}
    print_result(document, "\n".join(lines), as_json=as_json)


@keys.command(
    "list",
    epilog="Example: discreet ledger key list $KEY --name pod-2 --reason growth"
    " --ledger postgresql://ledger_owner@db.example.org/records",
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

    A ledger in PostgreSQL is reached by the role that owns the database.
    """
    with open_ledger_at(where, key, anchors, as_owner=True) as ledger:
        listed = ledger.list_key(public, name=name, reason=reason)
    print_result(_document(listed), _listed_line(listed), as_json=as_json)


@keys.command(
    "revoke",
    epilog="Example: discreet ledger key revoke 5a1b2c3d4e5f6a7b --reason stolen"
    " --ledger postgresql://ledger_owner@db.example.org/records",
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
    print_result(_document(revoked), _listed_line(revoked), as_json=as_json)


@keys.command("take-over", epilog='Example: discreet ledger key take-over --reason "the owner\'s disk was lost"')
def take_over(
    reason: Reason, as_json: AsJson = False, where: Where = None, key: KeyFile = None, anchors: Anchors = None
) -> None:
    """Make this machine's key the owner's, whose key is lost.

    It cannot be undone. The ledger keeps that the former owner did not sign it.
    """
    with open_ledger_at(where, key, anchors, as_owner=True) as ledger:
        ledger.take_over(reason=reason)
        (owner,) = (each for each in ledger.listed_keys() if each.is_owner)
    print_result(_document(owner), _listed_line(owner), as_json=as_json)


def _document(listed: ListedKey) -> dict[str, Any]:
    return {name: value for name, value in vars(listed).items() if name != "since"} | {"listed": listed.since}


def _listed_line(listed: ListedKey) -> str:
    state = "revoked" if listed.is_revoked else "may charge, and lists keys" if listed.is_owner else "may charge"
    return f"{listed.key}  {listed.name}  {state}\n  {listed.public}"
