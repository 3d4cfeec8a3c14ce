"""The ledger on PostgreSQL: for an organisation, its servers and its analysts."""

import os
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from discreet.errors import LedgerError, ParameterError, public_class
from discreet.ledger.access import LEASE
from discreet.ledger.home_files import anchor_directory
from discreet.ledger.integrity.checkpoints import directory_beside
from discreet.ledger.integrity.rollback import RollbackDetector
from discreet.ledger.ledger import Ledger
from discreet.ledger.records import faults
from discreet.ledger.records.address import in_lower_case, is_address
from discreet.ledger.records.canonical_text import label
from discreet.ledger.signing_key import signer_at
from discreet.ledger.stores import postgres_schema
from discreet.ledger.stores.anchor_places import absolute_place, refuse_missing_mount
from discreet.ledger.stores.postgres import PostgresStore, refuse_unfit_database
from discreet.ledger.stores.postgres_errors import connect_to_administer, sentences

if TYPE_CHECKING:
    import psycopg

ANCHOR_EVERY = 100
_DATABASE_OWNER = "SELECT pg_get_userbyid(datdba) FROM pg_database WHERE datname = current_database()"


@public_class
class PostgresLedger(Ledger):
    """Ledger in a PostgreSQL database, for several machines and analysts. Needs `pip install 'discreet[postgres]'`.

    The owner of the database creates or migrates it by `PostgresLedger.create`. The service's role charges, and never
    changes or deletes an event. The steward's also registers datasets, sets budgets and quotas, lists keys and
    recovers.

    Args:
        address: Address of the database: `postgresql://role@host/database`.
        key: Path of the key that signs receipts. Default: in the home of discreet, `DISCREET_HOME`.
        anchors: Directory of the anchors of this machine. Default: in the home of discreet.
        lease: Seconds for which a silent process keeps its reservation. Default 30.
        shared_anchors: Path or address at which this machine finds the anchors that all machines share. Default:
            `DISCREET_ANCHORS`, or as the ledger says.
        as_owner: Whether the role is the one that owns the database. It does what the steward does, and charges
            nothing. Default False.
        read_only: Whether to change nothing, for monitoring, by any of these roles: no key or anchor is made. Default
            False.

    Raises:
        LedgerError: If the database cannot be reached, has no ledger or an older one, or would lose charges.

    Example:
        >>> from discreet.ledger import PostgresLedger
        >>> with PostgresLedger("postgresql://discreet_service@db.example.org/ledger") as ledger:  # doctest: +SKIP
        ...     print(ledger.verify())
        1 dataset, 3 events: everything agrees
    """

    STORE = "PostgreSQL"

    def __init__(
        self,
        address: str,
        *,
        key: str | os.PathLike[str] | None = None,
        anchors: str | os.PathLike[str] | None = None,
        lease: float = LEASE,
        shared_anchors: str | os.PathLike[str] | None = None,
        as_owner: bool = False,
        read_only: bool = False,
    ) -> None:
        signer = signer_at(key, read_only=read_only)
        directory = anchor_directory(anchors, read_only=read_only)
        store = PostgresStore(address, refuses_more_rights=not (as_owner or read_only))
        super().__init__(
            store,
            signer=signer,
            detector=RollbackDetector(directory, signer, every=ANCHOR_EVERY, read_only=read_only),
            lease=lease,
            checkpoints=directory_beside(directory),
            shared_anchors=shared_anchors,
            writes_keys=store.is_steward,
            charges=not as_owner,
            read_only=read_only,
        )

    @classmethod
    def create(
        cls,
        address: str,
        *,
        role: str,
        steward: str | None = None,
        key: str | os.PathLike[str] | None = None,
        anchors: str | os.PathLike[str] | None = None,
        shared_anchors: str | os.PathLike[str] | None = None,
    ) -> None:
        """Make the ledger's schema, or bring it to the newest version, and give its roles their rights.

        Run by the owner of the database. It can be repeated, also after a kill. The key of this machine becomes the
        owner's key, which lists the keys of others.

        Args:
            address: Where the owner of the database connects.
            role: Role of the service, which charges.
            steward: Role that registers datasets, sets budgets and quotas, lists keys and recovers. Default: the owner
                does this, with `as_owner`.
            key: Path of the key that signs receipts. Default: in the home of discreet.
            anchors: Directory of the anchors of this machine. Default: in the home of discreet.
            shared_anchors: Store of anchors that all machines share: path of a directory, or address of a database of
                its own. A ledger that names another store is refused. Default: none is named.

        Raises:
            ParameterError: If a role is absent, is the owner's, or is both service and steward, or home,
                key or shared anchors are refused; then no schema is made.
            LedgerError: If the database cannot be reached, or does not allow it.
        """
        with sentences(), connect_to_administer(address) as connection:
            refuse_roles(connection, role, steward)
            refuse_unfit_database(address)
            signer_at(key)  # what is wrong with database, home or key leaves no schema behind
            if shared_anchors is not None:
                _refuse_anchors_here(connection, absolute_place(shared_anchors))
                refuse_missing_mount(absolute_place(shared_anchors))
            postgres_schema.make_or_migrate(connection, role, steward)
        with cls(address, key=key, anchors=anchors, as_owner=True) as ledger:
            ledger._upgrade_records()
            if shared_anchors is not None:
                ledger._share_anchors_at_creation(shared_anchors)


def _refuse_anchors_here(connection: "psycopg.Connection[Any]", place: str) -> None:
    """Refuse shared anchors in the database of the ledger; a place that cannot be reached is refused when it is named.

    An older copy of the database would put back both.
    """
    if not is_address(place):
        return
    here, there = postgres_schema.database_identity(connection), ""
    with suppress(LedgerError), connect_to_administer(in_lower_case(place)) as other:
        there = postgres_schema.database_identity(other)
    if here == there:
        raise LedgerError(faults.SAME_DATABASE)


def refuse_roles(connection: "psycopg.Connection[Any]", role: str, steward: str | None) -> None:
    """Refuse roles that are one, that own the database or that the server does not have."""
    for purpose, name in {"role": role, "steward": steward}.items():
        if name is not None:
            _refuse_role(connection, purpose, label(name, purpose))
    if steward == role:
        raise ParameterError(
            f"the role {steward!r} for the steward of the ledger",
            because="it is the service's own role, and a role that charges must not raise a budget",
            instead="another role for the steward, after CREATE ROLE discreet_steward LOGIN",
        )


def _refuse_role(connection: "psycopg.Connection[Any]", purpose: str, name: str) -> None:
    """Refuse the role of this connection, which should be the owner's, and one that the server does not have."""
    office = "service" if purpose == "role" else "steward"
    example = f"discreet_{office}"
    if connection.info.user == name and (owner := _database_owner(connection)) != name:
        raise ParameterError(
            f"the role {name!r} for the {office} of a ledger",
            because="this connects as that role, which does not own the database",
            instead=f"connect as the owner of the database, the role {owner!r}",
        )
    if connection.info.user == name:
        raise ParameterError(
            f"the role {name!r} for the {office} of a ledger",
            because="it is the owner's own role, which may change and delete what it owns",
            instead=f"another role for the {office}, after CREATE ROLE {example} LOGIN",
        )
    if connection.execute("SELECT 1 FROM pg_roles WHERE rolname = %s", (name,)).fetchone() is None:
        raise ParameterError(
            f"the role {name!r} for the {office} of a ledger",
            because="the database server has no such role",
            instead=f"CREATE ROLE {name} LOGIN PASSWORD '...', run by a role with CREATEROLE, then again",
        )


def _database_owner(connection: "psycopg.Connection[Any]") -> str:
    (owner,) = connection.execute(_DATABASE_OWNER).fetchone() or ("",)
    return str(owner)
