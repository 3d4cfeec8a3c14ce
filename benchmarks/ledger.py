"""Charges per second of many spenders, on PostgreSQL and on SQLite, beside the bare database in the same run.

    scripts/bench ledger [--stores postgresql,sqlite] [--datasets 1,40] [--spenders 40] [--processes 8]
                         [--seconds 3] [--rounds 5]

Bare is what any ledger costs at least: a transaction of one guarded UPDATE of a cap and one INSERT of 600 bytes, the
size of an event. It is written in several ways; the ratio is to the fastest of them. All spenders charge one dataset,
where every COMMIT waits for the one before, or as many datasets as they are, where the database can write its log for
several at once. PostgreSQL is on the loopback and durable, SQLite in WAL with synchronous=FULL.

Each round of a contender has processes of its own, forked before anything is connected, with threads in them. They
spend from before the time that is measured until after it; charges that come back within it are counted. The rounds of
the contenders take turns, so that a noisy machine is noisy for all, and the median is told. In the end each store must
hold as many charges as it acknowledged. CPU is that of all spenders and of the server.

Ours is `discreet.ledger` as a server uses it: one ledger in each process, shared by its threads, signed receipts,
anchors, distinct questions with plans of 600 bytes. Measured are a charge, and a charge with a stored answer of 600
bytes that is read back, so its ratio compares two transactions and a read with one.
"""

import argparse
import itertools
import json
import multiprocessing.connection
import sqlite3
import statistics
import sys
import tempfile
import threading
import time
import traceback
from collections.abc import Callable, Iterator
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from contextlib import ExitStack, closing
from dataclasses import dataclass, field
from fractions import Fraction
from functools import partial
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, NamedTuple

import psycopg
from measuring import once

sys.path.append(str(Path(__file__).resolve().parents[1] / "tests"))
from discreet import events
from discreet.accounting.filters import Budget
from discreet.ledger import Dataset, Kind, Ledger, PostgresLedger, SQLiteLedger
from servers import SERVICE, STEWARD, PostgresServer

CAP = 10**15
BODY = "e" * 600
LEAD_IN, PATIENCE = 1.0, 120.0
CHARGES_OF_A_ROUND = 10**7
FORK = multiprocessing.get_context("fork")


@dataclass(frozen=True)
class Contender:
    """One way to charge.

    `open` is called once a process if what it gives is `shared` by threads, else once a spender; what it gives has
    close(). `spend(opened, i)` makes charge i, a number that comes once, to dataset i % datasets, and raises if it does
    not fit. `stored` tells in the end how many charges the store holds.
    """

    name: str
    open: Callable[[], Any]
    spend: Callable[[Any, int], object]
    stored: Callable[[], int]
    shared: bool = False
    is_bare: bool = False


class Spent(NamedTuple):
    """Charges that came back: within the time that is measured, and at all."""

    measured: int
    acknowledged: int

    @classmethod
    def together(cls, parts: list["Spent"]) -> "Spent":
        """Those of several spenders."""
        return cls(sum(part.measured for part in parts), sum(part.acknowledged for part in parts))


@dataclass
class Result:
    """What the rounds of a contender gave: charges per second, seconds of CPU for a charge, all charges."""

    rates: list[float] = field(default_factory=list)
    cpu: list[float] = field(default_factory=list)
    acknowledged: int = 0

    def rate(self) -> float:
        """Charges per second."""
        return statistics.median(self.rates)


def spend(contender: Contender, opened: Any, numbers: Iterator[int], start: float, end: float) -> Spent:
    """One spender: charge after charge until the end."""
    measured = acknowledged = 0
    now = time.monotonic()
    while now < end:
        contender.spend(opened, next(numbers))
        now = time.monotonic()
        acknowledged += 1
        measured += start <= now < end
    return Spent(measured, acknowledged)


def spend_in_threads(contender: Contender, spenders: list[Iterator[int]], orders: Connection) -> None:
    """The spenders of one process: connect, say so, and spend in the time that is told."""
    with ExitStack() as stack, ThreadPoolExecutor(len(spenders)) as threads:
        needed = 1 if contender.shared else len(spenders)
        opened = [stack.enter_context(closing(contender.open())) for _ in range(needed)]
        orders.send((True, "connected"))
        start, end = orders.recv()
        running = [
            threads.submit(spend, contender, mine, numbers, start, end)
            for mine, numbers in zip(itertools.cycle(opened), spenders, strict=False)
        ]
        # A failure is told at once: other spenders may wait for a lock that the one who failed holds.
        done, _ = wait(running, return_when=FIRST_EXCEPTION)
        try:
            orders.send((True, Spent.together([each.result() for each in done])))
        except BaseException:
            orders.send((False, traceback.format_exc()))
            raise


def work(contender: Contender, spenders: list[Iterator[int]], orders: Connection) -> None:
    """The whole life of a process."""
    try:
        spend_in_threads(contender, spenders, orders)
    except BaseException:  # noqa: BLE001 - told to the process that waits for us
        orders.send((False, traceback.format_exc()))


def heard(pipes: list[Connection]) -> list[Any]:
    """One word of each process, in any order; a failure as soon as it is told."""
    words, silent = [], set(pipes)
    while silent:
        speaking = multiprocessing.connection.wait(silent, PATIENCE)
        if not speaking:
            raise TimeoutError("processes of spenders say nothing")
        for pipe in speaking:
            is_well, word = pipe.recv()
            if not is_well:
                raise RuntimeError(f"a process of spenders failed: {word}")
            words.append(word)
        silent.difference_update(speaking)
    return words


def play(contender: Contender, number: int, given: argparse.Namespace) -> Spent:
    """One round: processes with their spenders, all at once."""
    first = number * CHARGES_OF_A_ROUND * given.spenders
    numbers = [itertools.count(first + spender, given.spenders) for spender in range(given.spenders)]
    pipes, processes = [], []
    try:
        for place in range(given.processes):
            ours, theirs = FORK.Pipe()
            pipes.append(ours)
            arguments = (contender, numbers[place :: given.processes], theirs)
            processes.append(FORK.Process(target=work, args=arguments, daemon=True))
            processes[-1].start()
        heard(pipes)
        start = time.monotonic() + LEAD_IN
        for pipe in pipes:
            pipe.send((start, start + given.seconds))
        spent = Spent.together(heard(pipes))
        for process in processes:
            process.join(PATIENCE)
    finally:
        for process in processes:
            process.kill()
    return spent


def timed(play_round: Callable[[], Spent]) -> tuple[Spent, float]:
    """What a round gave, and the CPU of all processes during it."""
    given: list[Spent] = []
    timing = once(lambda: given.append(play_round()))
    return given[0], timing.cpu


def measure(contenders: list[Contender], given: argparse.Namespace) -> dict[str, Result]:
    """Rounds in turns; every charge that was acknowledged must be there in the end."""
    results = {contender.name: Result() for contender in contenders}
    for number, contender in enumerate(contenders * given.rounds):
        spent, cpu = timed(partial(play, contender, number, given))
        result = results[contender.name]
        result.rates.append(spent.measured / given.seconds)
        result.cpu.append(cpu / spent.acknowledged)
        result.acknowledged += spent.acknowledged
    for contender in contenders:
        stored, acknowledged = contender.stored(), results[contender.name].acknowledged
        if stored != acknowledged:
            raise AssertionError(f"{contender.name}: {acknowledged} charges were acknowledged, {stored} are stored")
    return results


# Bare PostgreSQL. A journey is one wait for the server's answer.

GUARDED = "UPDATE {0}_cap SET spent = spent + 1 WHERE dataset = %s AND spent + 1 <= cap"
INSERTED = "INSERT INTO {0}_event (number, dataset, body) VALUES (%s, %s, %s)"
TOGETHER = (
    "WITH charged AS (UPDATE {0}_cap SET spent = spent + 1 WHERE dataset = %s AND spent + 1 <= cap RETURNING dataset) "
    "INSERT INTO {0}_event (number, dataset, body) SELECT %s, dataset, %s FROM charged"
)
TABLES = """
CREATE TABLE {0}_cap (dataset BIGINT PRIMARY KEY, spent BIGINT NOT NULL, cap BIGINT NOT NULL, CHECK (spent <= cap));
CREATE TABLE {0}_event (number BIGINT PRIMARY KEY, dataset BIGINT NOT NULL, body TEXT NOT NULL);
"""


def in_four_journeys(connection: psycopg.Connection, i: int, datasets: int) -> None:
    """BEGIN, the guarded update, the insert, COMMIT: as it is written without thinking of journeys."""
    with connection.transaction():
        must_fit(connection.execute(GUARDED.format("four"), (i % datasets,), prepare=True).rowcount)
        connection.execute(INSERTED.format("four"), (i, i % datasets, BODY), prepare=True)


def in_two_journeys(connection: psycopg.Connection, i: int, datasets: int) -> None:
    """BEGIN with the guarded update, and the insert with COMMIT."""
    with connection.pipeline():
        connection.execute("BEGIN", prepare=True)
        guarded = connection.execute(GUARDED.format("two") + " RETURNING 1", (i % datasets,), prepare=True)
        must_fit(len(guarded.fetchall()))
        connection.execute(INSERTED.format("two"), (i, i % datasets, BODY), prepare=True)
        connection.execute("COMMIT", prepare=True)


def in_one_journey(connection: psycopg.Connection, i: int, datasets: int) -> None:
    """Both in one statement, which is its own transaction."""
    done = connection.execute(TOGETHER.format("one"), (i % datasets, i, BODY), prepare=True)
    must_fit(done.rowcount)


def must_fit(rows: int) -> None:
    """The guarded update changed a row."""
    if rows != 1:
        raise RuntimeError("the charge did not fit")


def bare_postgres(url: str, datasets: int) -> list[Contender]:
    """A connection for each spender: the server works for one while another waits for its log to be written."""
    ways = {"four": in_four_journeys, "two": in_two_journeys, "one": in_one_journey}
    with psycopg.connect(url, autocommit=True) as connection:
        for name in ways:
            connection.execute(f"DROP TABLE IF EXISTS {name}_cap, {name}_event")
            connection.execute(TABLES.format(name))
            connection.execute(
                f"INSERT INTO {name}_cap SELECT n, 0, {CAP} FROM generate_series(0, {datasets - 1}) AS n"
            )

    def stored(name: str) -> int:
        with psycopg.connect(url) as connection:
            charges = f"SELECT count(*), (SELECT sum(spent) FROM {name}_cap) FROM {name}_event"
            return agreed(connection.execute(charges).fetchone())

    return [
        Contender(
            f"bare: {name} journey{'' if name == 'one' else 's'}",
            partial(psycopg.connect, url, autocommit=True),
            partial(way, datasets=datasets),
            partial(stored, name),
            is_bare=True,
        )
        for name, way in ways.items()
    ]


def agreed(counts: Any) -> int:
    """Events and the sum of what was spent, which are one number."""
    events, spent = counts
    if events != spent:
        raise AssertionError(f"{events} events, but {spent} spent")
    return int(events)


# Bare SQLite.


class Queued:
    """A connection to a file and the lock on which the threads of a process wait for it."""

    def __init__(self, path: Path) -> None:
        self.lock = threading.Lock()
        self.connection = sqlite3.connect(path, timeout=60, isolation_level=None, check_same_thread=False)
        self.connection.execute("PRAGMA journal_mode = WAL")
        self.connection.execute("PRAGMA synchronous = FULL")

    def close(self) -> None:
        self.connection.close()


def in_sqlite(queued: Queued, i: int, datasets: int) -> None:
    """The same transaction under SQLite's write lock."""
    with queued.lock:
        queued.connection.execute("BEGIN IMMEDIATE")
        must_fit(queued.connection.execute(GUARDED.format("bare").replace("%s", "?"), (i % datasets,)).rowcount)
        queued.connection.execute(INSERTED.format("bare").replace("%s", "?"), (i, i % datasets, BODY))
        queued.connection.execute("COMMIT")


def bare_sqlite(directory: Path, datasets: int) -> list[Contender]:
    """A connection for each process, whose threads queue; and one for each spender, who waits as SQLite does."""
    contenders = []
    for name, shared in (("a connection a process", True), ("a connection a spender", False)):
        path = directory / f"{name} {datasets}.sqlite"
        with closing(Queued(path)) as queued:
            queued.connection.executescript(TABLES.format("bare"))
            rows = [(dataset, 0, CAP) for dataset in range(datasets)]
            queued.connection.executemany("INSERT INTO bare_cap VALUES (?, ?, ?)", rows)
        opening, spending = partial(Queued, path), partial(in_sqlite, datasets=datasets)
        contenders.append(Contender(f"bare: {name}", opening, spending, partial(stored_in_sqlite, path), shared, True))
    return contenders


def stored_in_sqlite(path: Path) -> int:
    """The charges in a file."""
    with closing(Queued(path)) as queued:
        charges = "SELECT count(*), (SELECT sum(spent) FROM bare_cap) FROM bare_event"
        return agreed(queued.connection.execute(charges).fetchone())


# Ours, on either store.

PLAN = json.dumps({"plan": "p" * 589})
CHEAP = events.PureEvent(Fraction(1, 10**12))


def charge_ours(ledger: Ledger, i: int, names: list[str], spenders: int, *, with_answer: bool) -> None:
    """A charge for a query that nobody asked before, and its answer if it is wanted; each spender is an analyst."""
    asked = {"analyst": f"analyst {i % spenders}", "question": f"{i:064x}", "description": PLAN}
    turn = ledger.charge(names[i % len(names)], version=1, event=CHEAP, **asked)
    if with_answer:
        ledger.answer(turn, BODY.encode())


def ours(
    opening: Callable[[], Ledger], datasets: int, spenders: int, registering: Callable[[], Ledger] | None = None
) -> list[Contender]:
    """One ledger for each process; each way to charge has datasets of its own."""
    contenders = []
    for words, with_answer in (("charge", False), ("charge and answer", True)):
        names = [f"{words} {number} of {datasets}" for number in range(datasets)]
        with (registering or opening)() as ledger:
            for name in names:
                facts = {"source": name, "unit": "one person", "facts": "{}"}
                ledger.register(Dataset(name=name, budget=Budget(epsilon=10), **facts))
        spending = partial(charge_ours, names=names, spenders=spenders, with_answer=with_answer)
        contenders.append(
            Contender(f"ours: {words}", opening, spending, partial(stored_by_us, opening, names), shared=True)
        )
    return contenders


def stored_by_us(opening: Callable[[], Ledger], names: list[str]) -> int:
    """The charges in some datasets, each of one unit."""
    with opening() as ledger:
        charges = sum(entry.kind == Kind.RESERVED for name in names for entry in ledger.history(name))
        return agreed((charges, sum(ledger.spent(name).epsilon or 0 for name in names)))


# The run.


def tell(store: str, datasets: int, results: dict[str, Result], bare: list[str]) -> None:
    """One table: charges per second, their spread over the rounds, the ratio to the fastest bare way, CPU."""
    fastest = max(results[name].rate() for name in bare)
    print(f"\n{store}, {datasets} dataset{'s' if datasets > 1 else ''}")
    print(f"{'':<34}{'charges/s':>10}{'least':>8}{'most':>8}{'ratio':>8}{'CPU ms':>8}{'charges':>10}")
    for name, result in results.items():
        print(
            f"{name:<34}{result.rate():>10.0f}{min(result.rates):>8.0f}{max(result.rates):>8.0f}"
            f"{result.rate() / fastest:>8.2f}{1000 * statistics.median(result.cpu):>8.2f}{result.acknowledged:>10,}",
            flush=True,
        )


def compete(store: str, datasets: int, contenders: list[Contender], given: argparse.Namespace) -> None:
    """Measure and tell."""
    results = measure(contenders, given)
    tell(store, datasets, results, [contender.name for contender in contenders if contender.is_bare])


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--stores", default="postgresql,sqlite")
    options.add_argument("--datasets", default="1,40")
    options.add_argument("--spenders", type=int, default=40)
    options.add_argument("--processes", type=int, default=8)
    options.add_argument("--seconds", type=float, default=3)
    options.add_argument("--rounds", type=int, default=5)
    given = options.parse_args()
    print(f"{given.spenders} spenders in {given.processes} processes, {given.rounds} rounds of {given.seconds:g} s")
    numbers = [int(each) for each in given.datasets.split(",")]
    if "postgresql" in given.stores:
        with PostgresServer(durable=True, max_connections="300") as server:
            PostgresLedger.create(server.owner_url, role=SERVICE, steward=STEWARD)
            for datasets in numbers:
                urls = (server.service_url, server.steward_url)
                charging, registering = (partial(PostgresLedger, url) for url in urls)
                our = ours(charging, datasets, given.spenders, registering)
                compete("PostgreSQL", datasets, bare_postgres(server.owner_url, datasets) + our, given)
    if "sqlite" in given.stores:
        with tempfile.TemporaryDirectory() as directory:
            for datasets in numbers:
                our = ours(partial(SQLiteLedger, Path(directory, "ours.sqlite")), datasets, given.spenders)
                compete("SQLite", datasets, bare_sqlite(Path(directory), datasets) + our, given)


if __name__ == "__main__":
    main()
