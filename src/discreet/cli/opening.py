"""The ledger that a command works on: the one that is named, or the one at home; a command never makes one."""

import os
import shlex
import sqlite3
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

import typer

from discreet.cli.address import in_lower_case, is_address
from discreet.errors import DiscreetError, LedgerError, ParameterError
from discreet.home import home, location
from discreet.ledger import Ledger, LedgerHealth, PostgresLedger, SQLiteLedger
from discreet.ledger.opening import NO_PLACE
from discreet.ledger.records import faults
from discreet.ledger.records.address import is_other_address
from discreet.ledger.signing_key import signer_at
from discreet.ledger.stores.sqlite_schema import destination

_SQLITE = b"SQLite format 3\0"
"""How a file of SQLite begins."""
EXAMPLE = "--ledger FILE with the file of a ledger, or --ledger postgresql://discreet_service@db.example.org/records"


def open_ledger_at(where: str | None, key: Path | None, anchors: Path | None, *, as_owner: bool = False) -> Ledger:
    """The ledger at a path or an address; with `as_owner` for the acts of a steward, also by the role that owns it."""
    refuse_missing_key(key)
    if where is not None and is_address(where):
        return PostgresLedger(in_lower_case(where), key=key, anchors=anchors, as_owner=as_owner)
    file = existing_file(where)
    try:
        return SQLiteLedger(file, key=key, anchors=anchors)
    except LedgerError as error:
        if str(error) == faults.IN_POSTGRES and (address := moved_to(file)) is not None:
            typer.echo(f"it was moved to {address}", err=True)
        raise


def moved_to(file: Path) -> str | None:
    """The host, the port and the database to which the ledger of a file was moved, as the file records them."""
    with suppress(sqlite3.Error), closing(sqlite3.connect(f"{file.absolute().as_uri()}?mode=ro", uri=True)) as found:
        to = destination(found)
        return None if to is None else to.address
    return None


def ledger_health_at(where: str | None, key: Path | None, anchors: Path | None, **limits: Any) -> LedgerHealth:
    """The health of the ledger at a path or an address, also of one that cannot be opened; nothing is changed."""
    is_path = where is None or not is_some_address(where)
    store = (SQLiteLedger if is_path else PostgresLedger).STORE
    try:
        signer_at(key, read_only=True)
    except DiscreetError as error:
        return LedgerHealth.unreachable(store, error, "keys")
    try:
        with _open_read_only(where, key, anchors) as ledger:
            return ledger.health(**limits)
    except DiscreetError as error:
        return LedgerHealth.unreachable(store, error)


def refuse_missing_key(key: Path | None) -> None:
    """Refuse the path of a key where there is none: a slip in it would make a key that no ledger lists."""
    if key is not None and not os.path.lexists(key):
        raise ParameterError(
            f"the signing key {str(key)!r}",
            because="there is no file at that path, and a new key would be one that the ledger does not list",
            instead=f"the right path, or discreet ledger key new --signing-key {shlex.quote(str(key))}",
        )


def _open_read_only(where: str | None, key: Path | None, anchors: Path | None) -> Ledger:
    if where is not None and is_address(where):
        return PostgresLedger(in_lower_case(where), key=key, anchors=anchors, read_only=True)
    return SQLiteLedger(file_at(where), key=key, anchors=anchors, read_only=True)


def is_some_address(where: str) -> bool:
    """Whether a text is an address, also one that discreet does not know."""
    return is_address(where) or is_other_address(where)


def file_at(where: str | None) -> Path:
    """The file of a ledger, or where it would be at home; no home is made."""
    return location() / "ledger.sqlite" if where is None else _path(where)


def open_file_ledger(where: str | None, key: Path | None, anchors: Path | None) -> SQLiteLedger:
    """The ledger in a file, to be backed up; PostgreSQL has its own ways to do that."""
    refuse_missing_key(key)
    if where is not None and is_address(where):
        raise ParameterError(
            "a backup of a ledger in PostgreSQL",
            because="its database is backed up and restored as a whole, by PostgreSQL's own means",
            instead="pg_dump, or a base backup with archived logs: see docs/runbook-ledger.md",
        )
    return SQLiteLedger(existing_file(where), key=key, anchors=anchors)


def refuse_ledger_file(name: str | None, verb: str) -> None:
    """Refuse the path of a ledger in the place of a dataset's name, with the call that was meant."""
    if name is None:
        return
    try:
        with Path(name).open("rb") as file:
            is_ledger = file.read(len(_SQLITE)) == _SQLITE
    except (OSError, ValueError):
        return
    if is_ledger:
        dataset = " DATASET" if verb == "history" else ""
        raise ParameterError(
            f"a dataset named {name!r}",
            because="it is the path of a ledger, and not the name of a dataset",
            instead=f"discreet ledger {verb}{dataset} --ledger {shlex.quote(name)}",
        )


def existing_file(where: str | None) -> Path:
    """A path with a file; a slip in it must not make a new, empty ledger."""
    path = home() / "ledger.sqlite" if where is None else _path(where)
    if not path.is_file():
        raise ParameterError(
            f"the ledger {'at home, ' if where is None else ''}{str(path)!r}",
            because="there is no file at that path",
            instead=EXAMPLE,
        )
    return path


def _path(where: str) -> Path:
    """A path; an address in other words, which may hold a password, is refused without being repeated."""
    if is_other_address(where):
        raise ParameterError("the ledger that --ledger names", because=NO_PLACE, instead=EXAMPLE)
    return Path(where)
