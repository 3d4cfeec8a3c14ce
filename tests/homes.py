"""Homes of an owner and of machines over one ledger in PostgreSQL, each with a key and anchors of its own.

    homes = Homes(server.owner_url, directory, machines=3, shared=str(directory / "shared"))
    with homes.open(server.service_url, 1) as ledger: ...
    with homes.open_as_owner() as ledger: ...

Home 0 is the owner's, which lists the keys of the others. All share a store of anchors.
"""

import shutil
from pathlib import Path

import psycopg

from discreet.ledger import Anchor, Ledger, PostgresLedger, Signer
from servers import OWNER, SERVICE, STEWARD, PostgresServer

OWNERS = 0


class Homes:
    """One ledger with the home of its owner and those of machines, whose keys are listed.

    `shared` is where the owner finds the shared anchors, and `shared_for_service` is where machines find them, unless
    it is the same place.
    """

    def __init__(
        self, owner_url: str, directory: Path, *, machines: int, shared: str, shared_for_service: str | None = None
    ) -> None:
        self.directory = directory
        self.machines = range(1, machines + 1)
        self._owner_url = owner_url
        self._shared, self._shared_for_service = shared, shared_for_service or shared
        PostgresLedger.create(owner_url, role=SERVICE, steward=STEWARD, **self._home(OWNERS), shared_anchors=shared)
        with self.open_as_owner() as owner:
            for number in self.machines:
                public = Signer.at(self._home(number)["key"]).public
                owner.list_key(public, name=f"machine {number}", reason="a test")

    @property
    def shared_anchors(self) -> str:
        """Where machines find the shared anchors."""
        return self._shared_for_service

    def open(self, address: str, number: int) -> Ledger:
        """The ledger as a process of a machine opens it."""
        return PostgresLedger(address, **self._home(number), shared_anchors=self._shared_for_service)

    def open_as_owner(self) -> Ledger:
        """The ledger as the owner of the database opens it, with the owner's key."""
        return PostgresLedger(self._owner_url, as_owner=True, **self._home(OWNERS), shared_anchors=self._shared)

    def open_in_empty_home(self, address: str, number: int) -> Ledger:
        """The ledger as a new machine opens it that has the key of another, and nothing else of it."""
        home = self._home_at("empty")
        shutil.copy(self._home(number)["key"], home["key"])
        return PostgresLedger(address, **home, shared_anchors=self._shared_for_service)

    def _home(self, number: int) -> dict[str, Path]:
        return self._home_at(f"home-{number}")

    def _home_at(self, name: str) -> dict[str, Path]:
        home = self.directory / name
        home.mkdir(parents=True, exist_ok=True)
        return {"key": home / "key", "anchors": home / "anchors"}


def anchors_at_home(ledger: Ledger) -> list[Anchor]:
    """The signed anchors in the home of this process."""
    file = ledger._detector._rollback_evidence._file
    return [] if file is None else list(file.every())


def shared_anchors(ledger: Ledger) -> list[Anchor]:
    """The signed anchors that all homes share."""
    shared = ledger._detector._rollback_evidence.shared
    return [] if shared is None else list(shared.every())


def homes_with_anchor_server(owner_url: str, anchor_server: PostgresServer, directory: Path, *, machines: int) -> Homes:
    """Homes whose shared anchors are in a database on another server."""
    _prepare_for_anchors(anchor_server)
    shared, for_service = anchor_server.owner_url, anchor_server.service_url
    return Homes(owner_url, directory, machines=machines, shared=shared, shared_for_service=for_service)


def _prepare_for_anchors(server: PostgresServer) -> None:
    """Let the owner of a database make a store of anchors there, and the service write in it."""
    with psycopg.connect(server.superuser_url, autocommit=True) as connection:
        connection.execute(f"CREATE SCHEMA discreet_anchors AUTHORIZATION {OWNER}".encode())
        connection.execute(f"GRANT USAGE ON SCHEMA discreet_anchors TO {SERVICE}".encode())
        tables = f"ALTER DEFAULT PRIVILEGES FOR ROLE {OWNER} IN SCHEMA discreet_anchors GRANT ALL ON TABLES"
        connection.execute(f"{tables} TO {SERVICE}".encode())
