"""Crashes by the hundred and crowds of 100,000 charges against the ledger, with everything checked that clients saw.

    scripts/bench crashes [--parts clients,servers,crowds] [--stores postgresql,sqlite] [--waves 12] [--kills 60]
                          [--backends 40] [--charges 100000] [--processes 8] [--threads 5]

clients   a client is killed by SIGKILL at every named step of a charge and its answer, so many waves; two retries each
servers   eight spenders ask and answer while PostgreSQL is killed, all of its processes or one backend at a time
crowds    40 spenders in 8 processes charge one unit at a time until the cap refuses

What is checked is in tests/histories.py. The first thing that is wrong is told, and the run fails.
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
from campaigns import asked_through, crashed_clients, killed, robbed_of_a_backend, spent_together, wrong_with_crashes
from discreet.ledger import Ledger, PostgresLedger, SQLiteLedger
from histories import NAME, Charge, wrong_with_requests, wrong_with_spending
from servers import SERVICE, PostgresServer

UNIT = Fraction(1, 10**12)


@contextmanager
def empty_ledger(store: str) -> Iterator[tuple[str, Callable[[], Ledger], PostgresServer | None]]:
    """Where an empty ledger is, how it is opened, and its server."""
    with ExitStack() as stack:
        if store == "sqlite":
            path = Path(stack.enter_context(tempfile.TemporaryDirectory())) / "ledger.sqlite"
            yield str(path), lambda: SQLiteLedger(path), None
        else:
            server = stack.enter_context(PostgresServer(durable=True, max_connections="300"))
            PostgresLedger.create(server.owner_url, role=SERVICE)
            yield server.service_url, lambda: PostgresLedger(server.service_url), server


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


def duration(tries: list[Charge]) -> float:
    """Seconds from the first try to the end of the last."""
    return (max(each.ended for each in tries) - min(each.begun for each in tries)) / 1e9


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--parts", default="clients,servers,crowds")
    options.add_argument("--stores", default="postgresql,sqlite")
    options.add_argument("--waves", type=int, default=12)
    options.add_argument("--kills", type=int, default=60)
    options.add_argument("--backends", type=int, default=40)
    options.add_argument("--charges", type=int, default=100_000)
    options.add_argument("--processes", type=int, default=8)
    options.add_argument("--threads", type=int, default=5)
    given = options.parse_args()
    stores = given.stores.split(",")
    wrong = 0
    if "clients" in given.parts:
        wrong += sum(crash_clients(store, given.waves) for store in stores)
    if "servers" in given.parts and "postgresql" in stores:
        wrong += crash_servers(killed, given.kills) + crash_servers(robbed_of_a_backend, given.backends)
    if "crowds" in given.parts:
        wrong += sum(crowd(store, given) for store in stores)
    raise SystemExit(1 if wrong else 0)


if __name__ == "__main__":
    main()
