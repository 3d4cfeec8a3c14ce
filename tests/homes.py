"""Homes of an owner and of machines over one ledger, each with a key and anchors of its own.

In PostgreSQL:

    homes = Homes(server.owner_url, directory, machines=3, shared=str(directory / "shared"))
    with homes.open_at(server.service_url, 1) as ledger: ...
    with homes.open_as_owner() as ledger: ...

In a file:

    with ExitStack() as closing:
        machines = SQLiteMachines(directory, closing)
        machines.share(3)

Home 0 is the owner's, which lists the keys of the others. All share a store of anchors.
"""

import os
import shutil
import signal
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path

import psycopg

from discreet.ledger import Anchor, Ledger, PostgresLedger, Signer, SQLiteLedger
from servers import OWNER, SERVICE, STEWARD, PostgresServer

OWNERS = 0


class Homes:
    """One ledger with the home of its owner and those of machines, whose keys are listed.

    `shared` is where the owner finds the shared anchors, and `shared_for_service` is where machines find them, unless
    it is the same place.
    """

    def __init__(
        self,
        owner_url: str,
        directory: Path,
        *,
        machines: int,
        shared: str | None,
        shared_for_service: str | None = None,
    ) -> None:
        self.directory = directory
        self.machines = range(1, machines + 1)
        self._owner_url = owner_url
        self._shared, self._shared_for_service = shared, shared_for_service or shared
        PostgresLedger.create(owner_url, role=SERVICE, steward=STEWARD, **self.home(OWNERS), shared_anchors=shared)
        for number in self.machines:
            self.list_machine(number)

    def list_machine(self, number: int) -> None:
        """List the key of a machine, an act of the owner."""
        public = Signer.at(self.home(number)["key"]).public
        with self.open_as_owner() as owner:
            owner.list_key(public, name=f"machine {number}", reason="a test")

    def recover(self, **evidence: object) -> None:
        """Recover where the owner's key is, by the role that owns the database."""
        with self.open_as_owner() as owner:
            assert owner.recover(reason="a restore", **evidence)

    def empty(self, number: int) -> None:
        """Lose all that a machine knew, but for its key."""
        shutil.rmtree(self.home(number)["anchors"], ignore_errors=True)

    @property
    def shared_anchors(self) -> str:
        """Where machines find the shared anchors."""
        return self._shared_for_service

    def open_at(self, address: str, number: int) -> Ledger:
        """The ledger as a process of a machine opens it."""
        return PostgresLedger(address, **self.home(number), shared_anchors=self._shared_for_service)

    def open_as_owner(self) -> Ledger:
        """The ledger as the owner of the database opens it, with the owner's key."""
        return PostgresLedger(self._owner_url, as_owner=True, **self.home(OWNERS), shared_anchors=self._shared)

    def open_in_empty_home(self, address: str, number: int) -> Ledger:
        """The ledger as a new machine opens it that has the key of another, and nothing else of it."""
        home = self.home_at("empty")
        shutil.copy(self.home(number)["key"], home["key"])
        return PostgresLedger(address, **home, shared_anchors=self._shared_for_service)

    def home(self, number: int) -> dict[str, Path]:
        """The options by which a process of a machine has its home."""
        return self.home_at(f"home-{number}")

    def home_at(self, name: str) -> dict[str, Path]:
        """The options by which a process has a home of some name."""
        home = self.directory / name
        home.mkdir(parents=True, exist_ok=True)
        return {"key": home / "key", "anchors": home / "anchors"}


class SQLiteMachines:
    """Machines over one file of a ledger, and a copy of it; ledgers that a test leaves open close with a stack.

    The store of anchors that they share is in the directory `first`, and after its loss in `second`.
    """

    def __init__(self, directory: Path, closing: ExitStack) -> None:
        self.path, self.directory, self._closing = directory / "ledger.sqlite", directory, closing
        self.first, self.second = directory / "first", directory / "second"

    def home(self, number: int) -> dict[str, Path]:
        """The options by which a process of a machine has its home."""
        home = self.directory / f"home-{number}"
        home.mkdir(exist_ok=True)
        return {"key": home / "key", "anchors": home / "anchors"}

    def key(self, number: int) -> Path:
        """The file of a machine's key."""
        return self.home(number)["key"]

    def open(self, number: int = OWNERS) -> SQLiteLedger:
        """The ledger as a process of a machine opens it."""
        return self._closing.enter_context(SQLiteLedger(self.path, **self.home(number)))

    def share(self, machines: int) -> None:
        """Name the shared anchors, and list the keys of so many machines, the owner's among them."""
        with self.open() as owner:
            owner.share_anchors(self.first, reason="a test")
            for number in range(1, machines):
                owner.list_key(Signer.at(self.key(number)).public, name=f"machine {number}", reason="a test")

    def back_up(self) -> None:
        """Copy the ledger."""
        with self.open() as owner:
            owner.backup(self.directory / "backup")

    def restore(self) -> None:
        """Put the copy back; processes that run have the former file open."""
        for path in self.directory.glob("ledger.sqlite*"):
            path.unlink()
        shutil.copy(self.directory / "backup", self.path)

    def lose_store(self) -> None:
        """Lose the shared anchors, and name another store."""
        shutil.rmtree(self.first)
        with self.open() as owner:
            owner.share_anchors(self.second, reason="a test", lost=True)

    def in_a_process_that_dies(self, work: Callable[[], list[str]]) -> list[str]:
        """The result of work in a process that is killed then, so that it anchors nothing more."""
        result = self.directory / "result"
        if (child := os.fork()) == 0:
            result.write_text("\n".join(work()))
            os.kill(os.getpid(), signal.SIGKILL)
        assert os.waitpid(child, 0)[1] == signal.SIGKILL
        return result.read_text().splitlines()


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
    prepare_for_anchors(anchor_server.superuser_url)
    shared, for_service = anchor_server.owner_url, anchor_server.service_url
    return Homes(owner_url, directory, machines=machines, shared=shared, shared_for_service=for_service)


def prepare_for_anchors(superuser_url: str) -> None:
    """Let the owner of a database make a store of anchors there, and the service write in it."""
    with psycopg.connect(superuser_url, autocommit=True) as connection:
        connection.execute(f"CREATE SCHEMA discreet_anchors AUTHORIZATION {OWNER}".encode())
        connection.execute(f"GRANT USAGE ON SCHEMA discreet_anchors TO {SERVICE}".encode())
        tables = f"ALTER DEFAULT PRIVILEGES FOR ROLE {OWNER} IN SCHEMA discreet_anchors GRANT ALL ON TABLES"
        connection.execute(f"{tables} TO {SERVICE}".encode())
