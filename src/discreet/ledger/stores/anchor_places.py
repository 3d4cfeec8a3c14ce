"""Where the store of anchors that machines share is: a directory that all of them mount, or a PostgreSQL database.

The *place* of a store is the path or the address by which a machine finds it. Its *id* is random, and the owner of the
ledger signs it.
"""

import os
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path

from discreet.errors import LedgerError, ParameterError
from discreet.ledger.records.address import in_lower_case, is_address, is_other_address
from discreet.ledger.stores.anchor_database import AnchorDatabase
from discreet.ledger.stores.anchor_directory import AnchorDirectory
from discreet.ledger.stores.postgres_errors import public_address


def anchor_store_at(place: str, ledger: str) -> AnchorDatabase | AnchorDirectory:
    """The store of a ledger's anchors at a path or an address."""
    return AnchorDatabase(place, ledger) if is_address(place) else AnchorDirectory(Path(place), ledger)


def absolute_place(place: str | os.PathLike[str]) -> str:
    """An address as it is; a path made absolute, so that it stays the same when the process changes its directory.

    An address of another kind may hold a password. It is refused without being repeated.
    """
    text = os.fspath(place)
    if is_address(text):
        return text
    if is_other_address(text):
        raise ParameterError(
            "a place of shared anchors that is neither a path nor an address that discreet knows",
            because="an address begins with postgresql://; anything else would be taken for a directory",
            instead="postgresql://owner@db.example.org/anchors, with its password in PGPASSWORD or ~/.pgpass",
        )
    return str(Path(text).absolute())


@contextmanager
def closing_on_error(store: AnchorDatabase | AnchorDirectory) -> Iterator[None]:
    """Close a store if the block raises an error."""
    try:
        yield
    except BaseException:
        store.close()
        raise


def public_place(place: str) -> str:
    """A path as it is; of an address only the hosts, the ports and the database."""
    return public_address(in_lower_case(place)) if is_address(place) else place


def shown_place(place: str) -> str | None:
    """A place as it may be printed; None for an address that cannot be read: any part of it may be of a password."""
    with suppress(LedgerError):
        return public_place(place)
    return None


def refuse_missing_mount(place: str) -> None:
    """Refuse a directory to be made under one that is not there, and a database that cannot be reached."""
    if is_address(place):
        with closing(AnchorDatabase(place, "")) as store:
            store.identity()
    elif not Path(place).parent.is_dir():
        raise ParameterError(
            f"shared anchors at {place!r}",
            because="the directory above it is not there, and one that is made would be of this machine alone",
            instead="the path of a directory that all machines mount, such as /mnt/anchors",
        )
