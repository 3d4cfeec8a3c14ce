"""Crashes by the hundred and crowds of 100,000 charges against the ledger, with everything checked that clients saw.

    scripts/bench crashes [--parts clients,servers,crowds,homes,homes-pooled] [--stores postgresql,sqlite] [--waves 12]
                          [--kills 60] [--backends 40] [--charges 100000] [--processes 8] [--threads 5]

clients   a client is killed by SIGKILL at every named step of a charge and its answer, so many waves; two retries each
servers   eight spenders ask and answer while PostgreSQL is killed, all of its processes or one backend at a time
crowds    40 spenders in 8 processes charge one unit at a time until the cap refuses
homes     24 processes on three homes race for the same requests to the cap, while processes, backends and servers are
          killed, so often in all: half with shared anchors in a directory, half with them in a database on another
          server, which is killed too
homes-pooled  the same through PgBouncer in session mode: half with a session for each process, half with fewer, so that
          processes wait for one

What is checked is in tests/histories.py and tests/crowd_histories.py. What is wrong is told, and the run fails.
"""

import argparse
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from fractions import Fraction
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[1] / "tests"))
from campaigns import (
    asked_through,
    crashed_clients,
    crowd_on_homes,
    killed,
    robbed_of_a_backend,
    shares_of_kills,
    spent_together,
    wrong_with_crashes,
    wrong_with_crowd,
)
from discreet.ledger import Ledger, PostgresLedger, SQLiteLedger
from histories import NAME, Charge, wrong_with_requests, wrong_with_spending
from homes import Homes, homes_with_anchor_server
from poolers import Pooler
from servers import SERVICE, STEWARD, PostgresServer

UNIT = Fraction(1, 10**12)
ENOUGH, TOO_FEW = 40, 16  # sessions of a pooler for 24 processes


@contextmanager
def empty_ledger(store: str) -> Iterator[tuple[str, Callable[[], Ledger], PostgresServer | None]]:
    """Where an empty ledger is, how it is opened, and its server."""
    with ExitStack() as stack:
        if store == "sqlite":
            path = Path(stack.enter_context(tempfile.TemporaryDirectory())) / "ledger.sqlite"
            yield str(path), lambda: SQLiteLedger(path), None
        else:
            server = stack.enter_context(PostgresServer(durable=True, max_connections="300"))
            PostgresLedger.create(server.owner_url, role=SERVICE, steward=STEWARD)
            yield server.steward_url, lambda: PostgresLedger(server.steward_url), server


def tell(what: str, figures: str, wrong: list[str], begun: float) -> int:
    """One line of the report, and how much is wrong."""
    print(f"{what:<44}{figures}, {time.monotonic() - begun:.0f} s: {'everything agrees' if not wrong else 'WRONG'}")
    for each in wrong[:20]:
        print(f"    {each}")
    sys.stdout.flush()
    return len(wrong)


def crash_clients(store: str, waves: int) -> int:
    """Every step of a store, so many times."""
    begun = time.monotonic()
    with empty_ledger(store) as (address, opened, _):
        cases = crashed_clients(address, waves=waves)
        with opened() as ledger:
            wrong = wrong_with_crashes(ledger, cases)
    crashes, steps = sum(case["end"] < 0 for case in cases), len({case["step"] for case in cases})
    return tell(f"{store}: clients killed", f"{crashes:,} crashes at {steps} steps", wrong, begun)


def crash_servers(harm: Callable[[PostgresServer], None], times: int) -> int:
    """A server that is harmed so often under load."""
    begun = time.monotonic()
    with empty_ledger("postgresql") as (_, opened, server):
        if server is None:
            raise RuntimeError("no server")
        requests = asked_through(server, harm, times=times)
        with opened() as ledger:
            wrong = wrong_with_requests(ledger, requests)
    replies = sum(len(request.replies) for request in requests)
    figures = f"{times:,} crashes, {len(requests):,} requests, {replies:,} replies"
    return tell(f"postgresql: server {harm.__name__.replace('_', ' ')}", figures, wrong, begun)


def crowd(store: str, given: argparse.Namespace) -> int:
    """A crowd that spends the whole cap."""
    begun = time.monotonic()
    with empty_ledger(store) as (address, opened, _):
        many = {"processes": given.processes, "threads": given.threads}
        tries = spent_together(address, **many, epsilon=UNIT, cap=given.charges * UNIT)
        wrong = wrong_with_spending(tries, cap=given.charges)
        with opened() as ledger:
            if ledger.spent(NAME).epsilon != given.charges:
                wrong.append(f"{ledger.spent(NAME).epsilon} units are spent")
            verified = ledger.verify(receipts=[each.receipt for each in tries if each.receipt])
            wrong += [] if verified else [str(verified)]
    refused = sum(each.receipt is None for each in tries)
    seconds = duration(tries)
    figures = (
        f"{len(tries) - refused:,} charges and {refused} refusals in {seconds / 60:.1f} minutes, "
        f"{(len(tries) - refused) / seconds:.0f} charges/s"
    )
    return tell(f"{store}: {given.processes} x {given.threads} spenders", figures, wrong, begun)


def crowd_with_anchors_in_a_directory(kills: int, sessions: int = 0) -> int:
    """A crowd on homes with this many kills; through a pooler with so many sessions, if any."""
    with PostgresServer(durable=True, max_connections="300") as server, ExitStack() as stack:
        directory = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        homes = Homes(server.owner_url, directory, machines=3, shared=str(directory / "shared"))
        address, name = server.service_url, "postgresql: crowd on homes"
        if sessions:
            address = stack.enter_context(Pooler.for_kills(server, sessions)).service_url
            name = f"{name}, {sessions} pooled sessions"
        return crowd_on(homes, server, address, name, shares_of_kills(kills))


def crowd_with_anchors_in_a_database(kills: int) -> int:
    """A crowd on homes with this many kills, also of the server that has the shared anchors."""
    with (
        PostgresServer(durable=True, max_connections="300") as server,
        PostgresServer(durable=True, max_connections="300") as anchors,
        tempfile.TemporaryDirectory() as directory,
    ):
        homes = homes_with_anchor_server(server.owner_url, anchors, Path(directory), machines=3)
        shares = shares_of_kills(kills, anchor_servers=True)
        return crowd_on(homes, server, server.service_url, "postgresql: crowd on homes, anchor server", shares, anchors)


def crowd_on(
    homes: Homes,
    server: PostgresServer,
    address: str,
    name: str,
    shares: dict[str, int],
    anchor_server: PostgresServer | None = None,
) -> int:
    """Run a crowd on homes, and check and report it."""
    begun = time.monotonic()
    history = crowd_on_homes(server, address, homes, shares, anchor_server=anchor_server)
    return tell(name, f" {history}", wrong_with_crowd(server.service_url, homes, history), begun)


def duration(tries: list[Charge]) -> float:
    """Seconds from the first try to the end of the last."""
    return (max(each.ended for each in tries) - min(each.begun for each in tries)) / 1e9


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--parts", default="clients,servers,crowds,homes,homes-pooled")
    options.add_argument("--stores", default="postgresql,sqlite")
    options.add_argument("--waves", type=int, default=12)
    options.add_argument("--kills", type=int, default=60)
    options.add_argument("--backends", type=int, default=40)
    options.add_argument("--charges", type=int, default=100_000)
    options.add_argument("--processes", type=int, default=8)
    options.add_argument("--threads", type=int, default=5)
    given = options.parse_args()
    stores, parts = given.stores.split(","), given.parts.split(",")
    wrong = 0
    if "clients" in parts:
        wrong += sum(crash_clients(store, given.waves) for store in stores)
    if "servers" in parts and "postgresql" in stores:
        wrong += crash_servers(killed, given.kills) + crash_servers(robbed_of_a_backend, given.backends)
    if "crowds" in parts:
        wrong += sum(crowd(store, given) for store in stores)
    half = given.kills // 2
    if "homes" in parts:
        wrong += crowd_with_anchors_in_a_directory(given.kills - half) + crowd_with_anchors_in_a_database(half)
    if "homes-pooled" in parts:
        wrong += crowd_with_anchors_in_a_directory(given.kills - half, ENOUGH)
        wrong += crowd_with_anchors_in_a_directory(half, TOO_FEW)
    raise SystemExit(1 if wrong else 0)


if __name__ == "__main__":
    main()
