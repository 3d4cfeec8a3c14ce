"""A charge and its answer take the same work after many charges as after a few, on both stores.

Work is counted, not timed: the steps of SQLite's virtual machine, and the rows that PostgreSQL reads. Both count what
triggers and functions of the database do as well.
"""

import itertools
import re
import time
import tracemalloc
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import psycopg
import pytest

from discreet.ledger import Ledger, PostgresLedger, SQLiteLedger
from discreet.ledger.integrity.store_pages import StorePages
from discreet.ledger.integrity.verification import verify_dataset
from discreet.ledger.transactions import outcome
from long_ledgers import ANSWER, fill, question
from servers import SERVICE, STEWARD
from tampering import Place, new_database

FEW, MANY = 200, 2_000
TAKEOVER = "a charge that is taken over"
"""The one act that adds up all events: the totals must hold the charge, which may be planted beside them."""
LEASE = 0.2
MOST_ROWS = 12
BIG = {"events", "reservations", "answers"}
NAMES = BIG | {"r", "outcome", "earlier"}
READ = """SELECT relname, seq_scan, COALESCE(seq_tup_read, 0) + COALESCE(idx_tup_fetch, 0) FROM pg_stat_user_tables
WHERE schemaname = 'discreet'"""
AT_WORK = "SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()"

Act = tuple[str, Callable[[], object]]


def acts(ledger: Ledger, turn: Callable[..., Any]) -> Iterator[Act]:
    """Everything that charges run, each after what it needs."""
    held: list[Any] = []
    charge = partial(turn, ledger, epsilon=0.001)
    yield "a charge", lambda: held.append(charge(question="a1"))
    yield "an answer", lambda: ledger.answer(held[0], b"12")
    yield "a repeat", lambda: charge(question="a1")
    yield "a repeat of the first charge", lambda: charge(question=question(0))
    yield "a repeat under an earlier fingerprint", lambda: charge(question="a2", former=(question(1),))
    yield "a charge with fresh noise", lambda: charge(question="a1", fresh=True)
    yield "a charge of another", lambda: held.append(charge(question="a3", analyst="new"))
    yield "a renewal", lambda: ledger._run(lambda writer: outcome.renew(writer, held[1], 1_000))
    yield "a forfeit", lambda: ledger.forfeit(held[1], "timeout")
    yield "an answer of an earlier charge", lambda: charge(question="a4")
    yield "nothing", lambda: time.sleep(1.5 * LEASE)
    yield TAKEOVER, lambda: held.append(charge(question="a4", analyst="bob"))
    yield "its answer", lambda: ledger.answer(held[2], b"13")
    yield "what was spent", lambda: (ledger.spent("visits"), ledger.share("visits", "ann"))
    yield "earlier budgets", lambda: ledger.earlier_budgets("visits")
    yield "another release", lambda: ledger.add_other_release("visits", "a file", kind="exact")


def filled(ledger: Ledger, address: str, dataset: Callable[..., Any], charges: int) -> None:
    """Register a dataset, with so many charges behind it."""
    with ledger:
        ledger.register(dataset())
    fill(address, "visits", charges)


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    place = tmp_path_factory.mktemp("outside")
    return {"key": place / "key", "anchors": place / "anchors"}


@pytest.fixture
def file_with(tmp_path: Path, home: dict[str, Path], dataset: Callable[..., Any]) -> Callable[[int], Path]:
    def made(charges: int) -> Path:
        path = tmp_path / f"{charges}.sqlite"
        filled(SQLiteLedger(path, **home), str(path), dataset, charges)
        return path

    return made


@pytest.fixture(scope="module")
def database(ledger_server: Any, home: dict[str, Path], dataset: Callable[..., Any]) -> Place:
    place = new_database(ledger_server, "long")
    PostgresLedger.create(place.owner, role=SERVICE, steward=STEWARD, **home)
    filled(PostgresLedger(place.steward, **home), place.tamperer, dataset, MANY)
    return place


def test_a_ledger_that_was_filled_row_by_row_is_one_that_charges_would_have_written(file_with, home, turn):
    with SQLiteLedger(file_with(FEW), **home) as ledger:
        assert ledger.verify(), str(ledger.verify())
        ledger.answer(turn(ledger), b"12")
        assert ledger.verify()
        assert turn(ledger, question=question(3)).payload == ANSWER


def steps_of_acts(path: Path, home: dict[str, Path], turn: Callable[..., Any]) -> dict[str, int]:
    """By act, the steps of SQLite's virtual machine."""
    with SQLiteLedger(path, lease=LEASE, **home) as ledger:
        steps, counted = {}, itertools.count()
        ledger._store._current().set_progress_handler(lambda: next(counted) and None, 1)
        last = next(counted)
        for name, act in acts(ledger, turn):
            act()
            now = next(counted)
            steps[name], last = now - last, now
        return steps


def test_a_charge_and_its_answer_take_as_many_steps_of_sqlite_after_many_charges_as_after_a_few(file_with, home, turn):
    few, many = (steps_of_acts(file_with(charges), home, turn) for charges in (FEW, MANY))
    assert len(few) > 10
    slower = {name: (few[name], many[name]) for name in few if many[name] > 1.2 * few[name] + 50}
    assert slower.keys() == {TAKEOVER}
    assert many[TAKEOVER] < 1.2 * MANY / FEW * few[TAKEOVER]


def test_every_statement_of_a_charge_finds_its_rows_by_more_than_the_dataset_in_an_index_of_sqlite(
    file_with, home, turn
):
    with SQLiteLedger(file_with(FEW), lease=LEASE, **home) as ledger:
        statements: list[str] = []
        connection = ledger._store._current()
        connection.set_trace_callback(statements.append)
        for _, act in acts(ledger, turn):
            act()
        connection.set_trace_callback(None)
        queries = [text for text in statements if re.match("SELECT|UPDATE|INSERT", text) and "sum(cost_" not in text]
        plans = [row["detail"] for text in queries for row in connection.execute(f"EXPLAIN QUERY PLAN {text}")]
    assert any(
        plan.startswith("SEARCH outcome USING INDEX one_outcome (dataset=? AND reservation=?)") for plan in plans
    )
    found = [re.match(r"(SCAN|SEARCH) (\w+)(.*)", plan) for plan in plans]
    read = [match for match in found if match and match[2] in NAMES]
    assert len(read) > 20
    wide = [match[0] for match in read if match[1] == "SCAN" or "(dataset=?)" in match[3]]
    assert not [plan for plan in wide if "other_releases" not in plan]  # an index of a few events alone


def test_a_charge_and_its_answer_read_a_few_rows_of_postgresql_and_scan_no_table_that_grows(database, home, turn):
    with PostgresLedger(database.steward, lease=LEASE, **home) as ledger:
        before = rows_read(database, ledger)
        for name, act in acts(ledger, turn):
            act()
            after = rows_read(database, ledger)
            for table in BIG if name != TAKEOVER else set(BIG) - {"events"}:
                scans, rows = (now - then for now, then in zip(after[table], before[table], strict=True))
                assert (scans, rows <= MOST_ROWS) == (0, True), (name, table, scans, rows)
            before = after


def memory_of_verification(path: Path, home: dict[str, Path]) -> int:
    """The most bytes that a full verification holds at once, in pages of 50 events."""
    with SQLiteLedger(path, **home) as ledger:
        tracemalloc.start()
        try:
            found = verify_dataset("visits", StorePages(ledger._look, "visits", most=50), ledger._store.ask)
            return tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()
            assert found.findings == ()


def test_a_full_verification_of_many_charges_takes_as_much_memory_as_one_of_a_few(file_with, home):
    """The second run of each counts: caches of the process are filled by the first."""
    paths = [file_with(charges) for charges in (FEW, MANY)]
    for path in paths:
        memory_of_verification(path, home)
    few, many = (memory_of_verification(path, home) for path in paths)
    assert many < 1.5 * few


def rows_read(database: Place, ledger: PostgresLedger) -> dict[str, tuple[int, int]]:
    """By table, the scans and the rows read so far; a server process counts what it did when it ends."""
    ledger._store._close_idle()
    with psycopg.connect(database.tamperer, autocommit=True) as connection:
        while connection.execute(AT_WORK).fetchone() is not None:
            time.sleep(0.01)
        return {name: (scans, rows) for name, scans, rows in connection.execute(READ)}
