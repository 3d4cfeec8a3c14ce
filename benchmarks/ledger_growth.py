"""What charges, opening and verification take after many charges, beside the same after a few.

    scripts/bench ledger_growth [--stores postgresql,sqlite] [--few 1000] [--many 100000] [--rounds 40] [--charges 10]
                                [--no-anchors] [--no-verify] [--sizes]

Two ledgers of each store are filled row by row with charges, answers and anchors, as charges would have written them;
plans and answers have 600 bytes. Rounds of the two take turns: so many charges with answers of new queries. Told are
the medians over rounds and their ratio, and the time of opening. CPU is that of this process and of the server.

Verification: full, again with nothing new, and after 1,000 new charges. Memory is the peak of this process beside what
it had before.

--sizes: instead, bytes on the disk for each charge with its answer: of all so far, and of new ones in batches, with the
write-ahead log of PostgreSQL. Plans and answers, 1,200 bytes together, are part of them.
"""

import argparse
import itertools
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import psycopg
from measuring import Timing, once

sys.path.append(str(Path(__file__).resolve().parents[1] / "tests"))
from discreet.accounting.costs import NOTHING
from discreet.accounting.filters import Budget
from discreet.ledger import Dataset, Ledger, PostgresLedger, Signer, SQLiteLedger
from discreet.ledger.integrity.anchors import Anchor, AnchorFile
from discreet.ledger.postgres import ANCHOR_EVERY as EVERY_ON_POSTGRES
from discreet.ledger.records.chain import cost_in, now
from discreet.ledger.records.registration import budget_columns
from discreet.ledger.sqlite import ANCHOR_EVERY as EVERY_ON_SQLITE
from long_ledgers import ANALYSTS, ANSWER, DESCRIPTION, EVENT, fill
from servers import SERVICE, STEWARD, PostgresServer
from tampering import new_database, tampering

NAME = "visits"
NEW = 1_000
OPENINGS = 3
NUMBERS = itertools.count()
BATCH, BATCHES = 200, 5
SIZES = """SELECT sum(pg_table_size(oid)), sum(pg_indexes_size(oid)), pg_current_wal_lsn() - '0/0'::pg_lsn
FROM pg_class WHERE relnamespace = 'discreet'::regnamespace AND relkind = 'r'"""
COSTS = "SELECT sequence, hash, cost_epsilon, cost_rho, cost_delta, cost_renyi FROM events ORDER BY sequence"


@dataclass(frozen=True)
class Size:
    """How many charges a ledger has, and after how many events it was anchored; 0 for never."""

    charges: int
    anchored_every: int


@dataclass
class Rounds:
    """What rounds of one ledger took: seconds of a charge with its answer, of its CPU, and of the opening."""

    wall: list[float] = field(default_factory=list)
    cpu: list[float] = field(default_factory=list)
    opening: list[float] = field(default_factory=list)


def register(ledger: Ledger) -> None:
    """The dataset that is charged."""
    ledger.register(Dataset(name=NAME, source="v.csv", unit="one person", facts="{}", budget=Budget(epsilon=10)))


def grow(registering: Callable[[], Ledger], tamperer: str, directory: Path, size: Size) -> None:
    """Fill a ledger, and anchor it as charges would have."""
    with registering() as ledger:
        register(ledger)
        budget = budget_columns(ledger.budget(NAME))
    fill(tamperer, NAME, size.charges)
    if not size.anchored_every:
        return
    with tampering(tamperer, is_kept=False) as hand:
        (owner,) = hand.execute("SELECT id FROM ledger")
        events = hand.execute(COSTS)
    totals = itertools.accumulate((cost_in(row, "cost") for row in events), initial=NOTHING)
    places = [(row, spent) for row, spent in zip(events, itertools.islice(totals, 1, None), strict=True)]
    anchors = AnchorFile(directory / "anchors" / f"{owner['id']}.jsonl", Signer.at(directory / "key"))
    anchors.append(
        Anchor(
            ledger=owner["id"],
            dataset=NAME,
            sequence=row["sequence"],
            head=row["hash"],
            spent=spent,
            budget=budget,
            time=now(),
        )
        for row, spent in places
        if row["sequence"] % size.anchored_every == 0
    )


def charge(ledger: Ledger, charges: int) -> None:
    """Charges with answers, of queries that nobody asked before."""
    for _ in range(charges):
        number = next(NUMBERS)
        asked = {"analyst": ANALYSTS[number % len(ANALYSTS)], "question": f"{number:032x}", "description": DESCRIPTION}
        ledger.answer(ledger.charge(NAME, version=1, event=EVENT, **asked), ANSWER)


def compare(store: str, openings: dict[int, Callable[[], Ledger]], given: argparse.Namespace) -> None:
    """Rounds in turns, of a few charges each."""
    results = {charges: Rounds() for charges in openings}
    with ExitStack() as stack:
        ledgers = {charges: stack.enter_context(opening()) for charges, opening in openings.items()}
        for ledger in ledgers.values():
            charge(ledger, given.charges)
        for _ in range(given.rounds):
            for charges, ledger in ledgers.items():
                timing = once(lambda ledger=ledger: charge(ledger, given.charges))
                results[charges].wall.append(timing.wall / given.charges)
                results[charges].cpu.append(timing.cpu / given.charges)
    for _ in range(OPENINGS):
        for charges, opening in openings.items():
            start = time.perf_counter()
            with opening():
                results[charges].opening.append(time.perf_counter() - start)
    print(f"\n{store}\n{'earlier charges':<18}{'wall ms':>10}{'CPU ms':>10}{'opening s':>12}")
    medians = {n: [statistics.median(each) for each in (r.wall, r.cpu, r.opening)] for n, r in results.items()}
    for charges, (wall, cpu, opened) in medians.items():
        print(f"{charges:<18,}{1000 * wall:>10.2f}{1000 * cpu:>10.2f}{opened:>12.3f}")
    few, many = medians.values()
    print(f"{'ratio':<18}{many[0] / few[0]:>10.2f}{many[1] / few[1]:>10.2f}", flush=True)


def verify(opening: Callable[[], Ledger]) -> None:
    """A full verification, one with nothing new, and one after new charges."""
    with opening() as ledger:
        for words, full in (("full", True), ("nothing new", False), (f"{NEW:,} new charges", False)):
            if words.endswith("charges"):
                charge(ledger, NEW)
            tell(words, ledger, full=full)


def tell(words: str, ledger: Ledger, *, full: bool) -> None:
    """Time and memory of one verification."""
    before = once(lambda: None).memory
    found = []
    timing: Timing = once(lambda: found.append(ledger.verify(full=full)))
    memory = (timing.memory - before) / 2**20
    print(
        f"verify, {words}: {timing.wall:.2f} s, {timing.cpu:.2f} s of CPU, {memory:.0f} MB more; {found[0]}", flush=True
    )


def measure_sizes(store: str, openings: dict[int, Callable[[], Ledger]], disk: Callable[[int], dict[str, int]]) -> None:
    """Bytes for each charge: on the whole, and of batches of new ones; the range of the batches in brackets."""
    for charges, opening in openings.items():
        parts = disk(charges)
        whole = ", ".join(f"{name} {size / charges:,.0f}" for name, size in parts.items() if name != "log")
        print(f"{store}, {charges:,} charges, bytes for each: {whole}", flush=True)
        grown: dict[str, list[float]] = {}
        for _ in range(BATCHES):
            before = disk(charges)
            with opening() as ledger:
                charge(ledger, BATCH)
            for name, size in disk(charges).items():
                grown.setdefault(name, []).append((size - before[name]) / BATCH)
        new = (f"{name} {statistics.median(f):,.0f} ({min(f):,.0f} to {max(f):,.0f})" for name, f in grown.items())
        print(f"  {BATCHES} batches of {BATCH} new charges, bytes for each: {', '.join(new)}", flush=True)


def disk_of_sqlite(directory: Path, charges: int) -> dict[str, int]:
    """The size of a closed file, which has no log beside it."""
    return {"file": (directory / f"{charges}.sqlite").stat().st_size}


def disk_of_postgres(addresses: dict[int, str], charges: int) -> dict[str, int]:
    """The sizes of tables and indexes, and how much of the write-ahead log was ever written."""
    with psycopg.connect(addresses[charges]) as connection:
        (found,) = connection.execute(SIZES).fetchall()
    return dict(zip(("tables", "indexes", "log"), map(int, found), strict=True))


def on_sqlite(directory: Path, size: Size) -> Callable[[], Ledger]:
    """A filled ledger in a file."""
    path = directory / f"{size.charges}.sqlite"
    opening = partial(SQLiteLedger, path, key=directory / "key", anchors=directory / "anchors")
    grow(opening, str(path), directory, size)
    return opening


def on_postgres(server: PostgresServer, directory: Path, addresses: dict[int, str], size: Size) -> Callable[[], Ledger]:
    """A filled ledger in a database of its own, whose address for a superuser is noted."""
    place = new_database(server, f"grown_{size.charges}")
    addresses[size.charges] = place.tamperer
    home = {"key": directory / "key", "anchors": directory / "anchors"}
    PostgresLedger.create(place.owner, role=SERVICE, steward=STEWARD, **home)
    opening = partial(PostgresLedger, place.service, **home)
    grow(partial(PostgresLedger, place.steward, **home), place.tamperer, directory, size)
    return opening


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--stores", default="postgresql,sqlite")
    options.add_argument("--few", type=int, default=1_000)
    options.add_argument("--many", type=int, default=100_000)
    options.add_argument("--rounds", type=int, default=40)
    options.add_argument("--charges", type=int, default=10)
    options.add_argument("--sizes", action="store_true")
    options.add_argument("--anchors", action=argparse.BooleanOptionalAction, default=True)
    options.add_argument("--verify", action=argparse.BooleanOptionalAction, default=True)
    given = options.parse_args()
    with ExitStack() as stack:
        directory = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        makers: dict[str, Any] = {}
        if "sqlite" in given.stores:
            makers["SQLite"] = (EVERY_ON_SQLITE, partial(on_sqlite, directory), partial(disk_of_sqlite, directory))
        if "postgresql" in given.stores:
            server = stack.enter_context(PostgresServer(durable=True))
            known: dict[int, str] = {}
            making = partial(on_postgres, server, directory, known)
            makers["PostgreSQL"] = (EVERY_ON_POSTGRES, making, partial(disk_of_postgres, known))
        for store, (every, make, disk) in makers.items():
            sizes = [Size(charges, every if given.anchors else 0) for charges in (given.few, given.many)]
            openings = {size.charges: make(size) for size in sizes}
            if given.sizes:
                measure_sizes(store, openings, disk)
                continue
            compare(store, openings, given)
            if given.verify:
                verify(openings[given.many])


if __name__ == "__main__":
    main()
