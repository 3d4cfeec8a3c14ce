"""An empty ledger in each real store, a dataset, and a short way to charge it.

`ledger` gives every test twice: over a file of SQLite, and, in the full tier, over a PostgreSQL server that keeps what
it acknowledges; what is PostgreSQL's own (test_postgres*.py) is in the fast one too.
`another` opens the same store once more, as another process would.
"""

import hashlib
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from fractions import Fraction
from pathlib import Path
from typing import Any

import psycopg
import pytest

from discreet import events
from discreet.accounting.filters import Budget
from discreet.ledger import Dataset, Ledger, PostgresLedger, Receipt, Reservation, SQLiteLedger
from homes import Homes, prepare_for_anchors
from servers import SERVICE, STEWARD, PostgresServer
from tampering import Place, new_database, roll_back, tampering

FACTS = '{"columns": {"ward": "text", "cost": "integer"}}'
QUESTION = hashlib.sha256(b"how many").hexdigest()
PATIENCE = 5.0

EMPTIED = """SET LOCAL session_replication_role = replica;
DELETE FROM discreet.answers; DELETE FROM discreet.reservations; DELETE FROM discreet.events;
DELETE FROM discreet.analysts; DELETE FROM discreet.aliases; DELETE FROM discreet.versions;
DELETE FROM discreet.datasets; DELETE FROM discreet.halts; DELETE FROM discreet.keys; DELETE FROM discreet.ledger;
INSERT INTO discreet.ledger VALUES (replace(gen_random_uuid()::text, '-', ''))"""
ALONE = """SELECT pg_terminate_backend(pid) FROM pg_stat_activity
WHERE datname = current_database() AND pid <> pg_backend_pid()"""


@pytest.fixture(scope="session")
def ledger_server(postgres_installed: None) -> Iterator[PostgresServer]:
    """A durable PostgreSQL with a ledger in it, for tests that do it no harm."""
    with PostgresServer(durable=True) as server:
        PostgresLedger.create(server.owner_url, role=SERVICE, steward=STEWARD)
        yield server


@pytest.fixture
def postgres_address(ledger_server: PostgresServer, discreet_home: Path) -> str:
    """Where an empty ledger is, which no earlier test has seen."""
    with psycopg.connect(ledger_server.superuser_url) as connection:
        connection.execute(ALONE)
        connection.execute(EMPTIED.encode())
    PostgresLedger.create(ledger_server.owner_url, role=SERVICE, steward=STEWARD)  # this test's key is the owner's
    return ledger_server.steward_url


class Cluster(Homes):
    """Machines with listed keys over one ledger in PostgreSQL; machine 0 owns it."""

    def __init__(self, place: Place, directory: Path, shared: str | None, machines: int) -> None:
        self.place, self._closing = place, ExitStack()
        super().__init__(place.owner, directory, machines=machines - 1, shared=shared)

    def open(self, number: int, **options: Any) -> Ledger:
        """The ledger as a machine opens it, by the steward's role."""
        return self._closing.enter_context(PostgresLedger(self.place.steward, **self.home(number), **options))

    def open_as_service(self, number: int, **options: Any) -> Ledger:
        """The ledger as a machine opens it, by the role that charges."""
        return self._closing.enter_context(PostgresLedger(self.place.service, **self.home(number), **options))

    def open_as_owner(self) -> Ledger:
        """The ledger as the owner of the database opens it, with the owner's key."""
        return PostgresLedger(self.place.owner, as_owner=True, **self.home(0))

    def close(self) -> None:
        self._closing.close()


@pytest.fixture
def cluster(ledger_server: PostgresServer, tmp_path: Path) -> Iterator[Callable[..., Cluster]]:
    """So many machines over a ledger, with anchors that they share."""
    with ExitStack() as closing:

        def made(machines: int, shared: str | None = "") -> Cluster:
            place = new_database(ledger_server, "cluster")
            found = Cluster(place, tmp_path, str(tmp_path / "shared") if shared == "" else shared, machines)
            closing.callback(found.close)
            return found

        yield made


@pytest.fixture
def anchor_database(ledger_server: PostgresServer) -> Place:
    """A database for anchors alone, in which both roles may write."""
    place = new_database(ledger_server, "anchors")
    prepare_for_anchors(place.tamperer)
    return place


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "ledger.sqlite"


@pytest.fixture(params=["sqlite", pytest.param("postgres", marks=pytest.mark.full)])
def address(request: pytest.FixtureRequest) -> str:
    """Where a ledger is, or will be, in each store."""
    return str(request.getfixturevalue("path" if request.param == "sqlite" else "postgres_address"))


@pytest.fixture
def another(address: str) -> Iterator[Callable[..., Ledger]]:
    """Open the store once more; each is closed in the end."""
    kind = PostgresLedger if address.startswith("postgresql:") else SQLiteLedger
    with ExitStack() as closing:
        yield lambda **options: closing.enter_context(kind(address, **options))


@pytest.fixture
def ledger(another: Callable[..., Ledger]) -> Ledger:
    return another()


@pytest.fixture
def visits(ledger: Ledger, dataset: Callable[..., Dataset]) -> Ledger:
    """A ledger with one dataset of epsilon 1."""
    ledger.register(dataset())
    return ledger


@pytest.fixture
def sqlite_ledger(path: Path) -> Iterator[SQLiteLedger]:
    with SQLiteLedger(path) as opened:
        yield opened


@pytest.fixture(scope="session")
def dataset() -> Callable[..., Dataset]:
    """What an owner declares, with any part replaced."""

    def declared(**changes: Any) -> Dataset:
        usual = {"name": "visits", "source": "visits.csv", "unit": "one patient_id", "facts": FACTS}
        return Dataset(**({"budget": Budget(epsilon=1)} | usual | changes))

    return declared


@pytest.fixture(scope="session")
def turn() -> Callable[..., Reservation]:
    """Ask one question of 'visits', at epsilon 0.1 unless said, as one analyst would."""

    def asked(ledger: Ledger, **changes: Any) -> Reservation:
        epsilon = changes.pop("epsilon", Fraction(1, 10))
        usual = {
            "name": "visits",
            "version": 1,
            "analyst": "ann",
            "event": events.PureEvent(epsilon),
            "question": QUESTION,
            "description": '{"plan":"count"}',
            "patience": PATIENCE,
        }
        return ledger.charge(**(usual | changes))

    return asked


@pytest.fixture(scope="session")
def charge(turn: Callable[..., Reservation]) -> Callable[..., Receipt]:
    """A charge of its own each time, also where the question was asked before."""

    def charged(ledger: Ledger, **changes: Any) -> Receipt:
        return turn(ledger, **({"fresh": True} | changes)).receipt

    return charged


@pytest.fixture(scope="session")
def at_once() -> Callable[..., list[Any]]:
    """What each act gave, or raised, begun at the same moment in threads of their own."""

    def run_all(*acts: Callable[[], Any]) -> list[Any]:
        gate = threading.Barrier(len(acts))

        def run(act: Callable[[], Any]) -> Any:
            gate.wait()
            try:
                return act()
            except Exception as error:  # noqa: BLE001 - told to the test, which asserts on it
                return error

        with ThreadPoolExecutor(len(acts)) as threads:
            return list(threads.map(run, acts, timeout=60))

    return run_all


@pytest.fixture
def tamperer(address: str, request: pytest.FixtureRequest) -> str:
    """Where whoever tampers with the ledger of this test connects."""
    is_file = not address.startswith("postgresql:")
    return address if is_file else request.getfixturevalue("ledger_server").superuser_url


@pytest.fixture
def tamper(tamperer: str) -> Callable[..., None]:
    def changed(statement: str, **values: object) -> None:
        with tampering(tamperer) as hand:
            hand.execute(statement, **values)

    return changed


@pytest.fixture
def put_back(tamperer: str) -> Callable[[int], None]:
    """Put 'visits' back to where it stood after an event."""

    def older(kept: int) -> None:
        with tampering(tamperer) as hand:
            roll_back(hand, "visits", kept)

    return older


@pytest.fixture
def lost(
    visits: Ledger, charge: Callable[..., Receipt], put_back: Callable[[int], None]
) -> Callable[..., list[Receipt]]:
    """Three charges stay, so many more are lost; their receipts."""

    def older(more: int = 2, **changes: object) -> list[Receipt]:
        for _ in range(3):
            charge(visits)
        receipts = [charge(visits, **changes) for _ in range(more)]
        visits.close()
        put_back(4)
        return receipts

    return older
