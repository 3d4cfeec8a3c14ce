"""Move a ledger from a SQLite file to PostgreSQL. It goes on there, and the file serves no more.

1. A transaction on PostgreSQL makes the schema and copies every row.
2. The file records, in one transaction with the reading of these rows, that its ledger moved, and to which database.
   Under the lock of that transaction the move is refused if the file names another database by then.
3. The transaction on PostgreSQL is committed; everything is verified against the same anchors as before.

A move that ends before 2 changed nothing. One that ends between 2 and 3 leaves a ledger that serves nowhere; run again,
it finds the file as it was and the same database. At no moment do both accept a charge. A database serves only after
the file names it, and the file names one for ever: of moves to two databases one is refused.

A move needs a listed key, and anchors of the ledger, at home or shared: without them an older copy of the file would
look like the newest one.
"""

import os
from collections.abc import Iterator
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from discreet.errors import LedgerError, ParameterError
from discreet.ledger.home_files import anchor_directory
from discreet.ledger.integrity.rollback import RollbackDetector
from discreet.ledger.integrity.verification import Verification
from discreet.ledger.ledger import Ledger
from discreet.ledger.postgres import PostgresLedger, refuse_roles
from discreet.ledger.records import faults
from discreet.ledger.records.address import is_address
from discreet.ledger.signing_key import signer_at
from discreet.ledger.sqlite import ANCHOR_EVERY, SQLiteLedger
from discreet.ledger.stores import postgres_schema
from discreet.ledger.stores.postgres import refuse_unfit_database
from discreet.ledger.stores.postgres_errors import connect_to_administer, sentences
from discreet.ledger.stores.schema import tables
from discreet.ledger.stores.sqlite import SQLiteStore
from discreet.ledger.stores.sqlite_schema import Destination

if TYPE_CHECKING:
    import psycopg

_MOVE = "discreet ledger move ADDRESS --role NAME --ledger FILE, with ADDRESS where it goes"
_BY_ITS_HOME = "DISCREET_HOME, or --signing-key and --anchors, of a process that charges this ledger"


def move_to_postgres(
    path: str | os.PathLike[str],
    address: str,
    *,
    role: str,
    steward: str | None = None,
    key: str | os.PathLike[str] | None = None,
    anchors: str | os.PathLike[str] | None = None,
) -> Verification:
    """Move a ledger from a file to a PostgreSQL database, with everything that it holds.

    Budgets, spending, answers, receipts, quotas, keys and anchors stay what they are. Afterwards the file accepts
    nothing, in no process. If the move is interrupted, run it again with the same arguments.

    Args:
        path: Path of the file.
        address: Where the owner of the database connects. The database has no ledger yet.
        role: Role of the service that will charge.
        steward: Role that will register, set budgets and recover. Default: the owner alone does this.
        key: Path of the signing key of the ledger. Default: in the home of discreet.
        anchors: Directory of its anchors. Default: in the home of discreet.

    Returns:
        The full verification of the ledger in PostgreSQL.

    Raises:
        LedgerError: If the file, the database or its rights do not allow it.
        ParameterError: If the ledger has findings, this process has no listed key or no anchors of it, the file names
            another database, or the database has a ledger already.
    """
    if is_address(os.fspath(path)):
        raise ParameterError(
            "a move of a ledger in PostgreSQL",
            because="only a ledger in a SQLite file is moved, and this names a database as the source",
            instead=_MOVE,
        )
    if not Path(path).is_file():
        raise ParameterError("a ledger to be moved", because="there is no file at that path", instead=_MOVE)
    with sentences(), connect_to_administer(address) as connection:
        refuse_roles(connection, role, steward)
        refuse_unfit_database(address)
        postgres_schema.refuse_anchors(connection)
        to = Destination(postgres_schema.database_identity(connection), _address_of(connection))
        with closing(SQLiteStore(path, moved_to=to.identity)) as store:
            if store.destination is None:
                _check_source(SQLiteLedger(path, key=key, anchors=anchors))
            elif postgres_schema.schema_version(connection) == 0:
                _check_source(_MovedFile(path, to.identity, key=key, anchors=anchors))
            with connection.transaction():
                _move(store, connection, to)
    PostgresLedger.create(address, role=role, steward=steward, key=key, anchors=anchors)
    with PostgresLedger(address, key=key, anchors=anchors, as_owner=True) as ledger:
        return ledger.verify(full=True)


class _MovedFile(SQLiteLedger):
    """The ledger of a file that says that it moved, for the checks of a move that is run again; nothing is changed."""

    def __init__(
        self,
        path: str | os.PathLike[str],
        moved_to: str,
        *,
        key: str | os.PathLike[str] | None,
        anchors: str | os.PathLike[str] | None,
    ) -> None:
        signer, directory = signer_at(key, read_only=True), anchor_directory(anchors, read_only=True)
        detector = RollbackDetector(directory, signer, every=ANCHOR_EVERY, read_only=True)
        store = SQLiteStore(path, moved_to=moved_to, read_only=True)
        Ledger.__init__(self, store, signer=signer, detector=detector, read_only=True)


def _address_of(connection: "psycopg.Connection[Any]") -> str:
    """Host, port and database, without role and password."""
    return f"postgresql://{connection.info.host}:{connection.info.port}/{connection.info.dbname}"


def _check_source(ledger: SQLiteLedger) -> None:
    """Refuse a process that does not serve the ledger, or does not know how far it had come, and one with findings."""
    with ledger:
        _refuse_stranger(ledger)
        if not ledger.anchors():
            raise _without_anchors(has_datasets=bool(ledger.datasets()))
        found = ledger.verify(full=True)
    if not found:
        raise ParameterError(
            "a ledger with findings to be moved",
            because=f"what is moved has to be in order: {found.problems[0]}",
            instead="discreet ledger verify and discreet ledger recover, then again",
        )


def _refuse_stranger(ledger: SQLiteLedger) -> None:
    """Refuse a process whose key may not charge, or that does not reach the shared anchors."""
    health = ledger.health()
    if health.keys is None:
        raise LedgerError(health.error or faults.DAMAGED)
    has_no_key = health.keys.fault is None and health.keys.key is None
    if health.keys.fault == faults.UNLISTED_KEY or has_no_key:
        raise ParameterError(
            "a ledger to be moved by this process",
            because="the ledger does not list the signing key of this process, so it may be an older copy",
            instead=_BY_ITS_HOME,
        )
    if health.keys.fault is not None:
        raise LedgerError(health.keys.fault)


def _without_anchors(*, has_datasets: bool) -> ParameterError:
    if not has_datasets:
        return ParameterError(
            "a ledger without a dataset to be moved",
            because="nothing was registered in it, so there is nothing to move",
            instead="discreet ledger create ADDRESS --role NAME, which makes one in the database",
        )
    return ParameterError(
        "a ledger without anchors to be moved",
        because="this process finds no anchor of it, at home or shared, so it may be an older copy",
        instead=f"{_BY_ITS_HOME}; if its anchors are lost and this is the newest copy, discreet ledger anchor before",
    )


def _move(store: SQLiteStore, connection: "psycopg.Connection[Any]", to: Destination) -> None:
    """Copy the rows and close the file, unless an earlier run, or one at the same time, has committed both."""
    postgres_schema.wait_for_lock(connection)
    ledger = store.ask(("SELECT id FROM ledger", {}))[0]["id"]
    if postgres_schema.schema_version(connection) == 0:
        postgres_schema.create_with_rows(connection, lambda new: store.move(to, partial(_receive, new)))
        return
    there = connection.execute("SELECT id FROM discreet.ledger").fetchone()
    is_here = store.destination is not None and store.destination.identity == to.identity
    if not (is_here and there == (ledger,)):
        raise ParameterError(
            "a database with a ledger to move another one to",
            because="two ledgers are never made one: what was spent would have to be added up dataset by dataset",
            instead="the address of a database that has no ledger",
        )


def _receive(connection: "psycopg.Connection[Any]", table: str, rows: Iterator[tuple[object, ...]]) -> None:
    names = ", ".join(tables.columns(table))
    with connection.cursor() as cursor, cursor.copy(f"COPY discreet.{table} ({names}) FROM STDIN".encode()) as copy:
        for row in rows:
            copy.write_row(row)
