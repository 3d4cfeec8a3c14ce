"""The ledger on PostgreSQL: for an organisation, its servers and its analysts."""

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from discreet.errors import ParameterError, public_class
from discreet.home import home
from discreet.ledger.access import LEASE
from discreet.ledger.integrity.checkpoints import directory_beside
from discreet.ledger.integrity.rollback import RollbackDetector
from discreet.ledger.ledger import Ledger
from discreet.ledger.records.canonical_text import label
from discreet.ledger.records.signatures import Signer
from discreet.ledger.signing_key import CREATED
from discreet.ledger.stores import postgres_schema
from discreet.ledger.stores.postgres import PostgresStore
from discreet.ledger.stores.postgres_errors import connect, sentences

if TYPE_CHECKING:
    import psycopg

ANCHOR_EVERY = 100


@public_class
class PostgresLedger(Ledger):
    """A ledger in a PostgreSQL database, reached by the role of its service.

    The owner of the database makes or migrates it once, `PostgresLedger.create(owner_url, role="discreet_service")`;
    the service's role can then add events and never change or delete one. Receipts are signed with the key in `key`,
    and anchors are written to the directory `anchors`; both are at home (`DISCREET_HOME`) unless they are named.
    `shared_anchors` is where this machine finds the anchors that all share, unless it is where the ledger says.
    `as_owner` opens it under the role that owns the database, which lists and revokes keys and charges nothing.
    """

    def __init__(
        self,
        address: str,
        *,
        key: str | os.PathLike[str] | None = None,
        anchors: str | os.PathLike[str] | None = None,
        lease: float = LEASE,
        shared_anchors: str | os.PathLike[str] | None = None,
        as_owner: bool = False,
    ) -> None:
        signer = Signer.at(Path(key or home() / "signing.key"))
        directory = Path(anchors or home() / "anchors")
        super().__init__(
            PostgresStore(address, is_owner=as_owner),
            signer=signer,
            detector=RollbackDetector(directory, signer, every=ANCHOR_EVERY),
            lease=lease,
            checkpoints=directory_beside(directory),
            shared_anchors=shared_anchors,
            writes_keys=as_owner,
            charges=not as_owner,
        )

    @classmethod
    def create(
        cls,
        address: str,
        *,
        role: str,
        key: str | os.PathLike[str] | None = None,
        anchors: str | os.PathLike[str] | None = None,
        shared_anchors: str | os.PathLike[str] | None = None,
    ) -> None:
        """Make the ledger's schema, or bring it to the newest version, and give the service's role its rights.

        Run by the owner of the database; a second run changes nothing, and one that is killed half-way is run again.
        The key of this machine becomes the owner's key, which lists the keys of others. `shared_anchors` names the
        store of anchors that all machines share: a directory, or the address of a database of its own.
        """
        label(role, "role")
        with sentences(), connect(address) as connection:
            if connection.info.user == role:
                raise ParameterError(
                    f"role={role!r} for the service of the ledger",
                    because="it is the owner's own role, which may change and delete what it owns",
                    instead='role="discreet_service", after CREATE ROLE discreet_service LOGIN',
                )
            _refuse_unknown(connection, role)
            postgres_schema.migrate(connection, role)
        with cls(address, key=key, anchors=anchors, as_owner=True) as ledger:
            if shared_anchors is not None and not ledger.shares_anchors:
                ledger.share_anchors(shared_anchors, reason=CREATED)


def _refuse_unknown(connection: "psycopg.Connection[Any]", role: str) -> None:
    if connection.execute("SELECT 1 FROM pg_roles WHERE rolname = %s", (role,)).fetchone() is None:
        raise ParameterError(
            f"role={role!r} for the service of the ledger",
            because="the database server has no such role",
            instead=f"CREATE ROLE {role} LOGIN PASSWORD '...', run by a role with CREATEROLE, then again",
        )
