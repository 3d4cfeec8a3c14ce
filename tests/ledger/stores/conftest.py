"""A ledger on each store with a row in every table, and a way to undo what a test does to it."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, closing, contextmanager
from fractions import Fraction
from typing import Any

import psycopg
import pytest
from psycopg.rows import dict_row

from discreet import events
from discreet.accounting.filters import Budget
from discreet.ledger import Dataset, Ledger, PostgresLedger, Receipt, SQLiteLedger
from servers import SERVICE, STEWARD, PostgresServer
from tampering import Place, new_database

Undone = Callable[[str], AbstractContextManager["psycopg.Connection[dict[str, Any]]"]]


def fill(ledger: Ledger) -> None:
    """Two datasets, one of them charged, and a row in every table; 'visits' has events 1 to 7."""
    declared = {"source": "visits.csv", "unit": "one patient_id", "facts": "{}"}
    with ledger:
        ledger.register(Dataset(name="visits", budget=Budget(epsilon=1, delta=1e-9), **declared))
        ledger.register(Dataset(name="stays", budget=Budget(epsilon=1), **declared))
        ledger.answer(spend(ledger, "aa"), b"12")
        spend(ledger, "bb")
        ledger.rename("visits", "others", reason="test")
        ledger.forfeit(spend(ledger, "cc", analyst="bob"), "timeout")
        halt = {"time": "", "finding": "", "dataset": "none"}
        for name, cleared in (("1", 3), ("2", None)):
            ledger._run(lambda pen, row=halt | {"id": name, "cleared": cleared}: pen.insert("halts", row))
        assert ledger.verify()


def spend(ledger: Ledger, question: str, analyst: str = "ann") -> Receipt:
    given = {"version": 1, "event": events.PureEvent(Fraction(1, 10)), "description": "{}"}
    return ledger.charge("visits", analyst=analyst, question=question, patience=1, **given).receipt


@pytest.fixture(scope="module")
def outside(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """The key and the anchors of ledgers that outlive a test."""
    place = tmp_path_factory.mktemp("outside")
    return {"key": place / "key", "anchors": place / "anchors"}


@pytest.fixture(scope="module")
def filled(ledger_server: PostgresServer, outside: dict[str, Any]) -> Place:
    """A database with a ledger in it; what tests do to it is undone."""
    place = new_database(ledger_server, "ruled")
    PostgresLedger.create(place.owner, role=SERVICE, steward=STEWARD, **outside)
    fill(PostgresLedger(place.steward, **outside))
    return place


@pytest.fixture(scope="module")
def filled_file(tmp_path_factory: pytest.TempPathFactory, outside: dict[str, Any]) -> str:
    path = tmp_path_factory.mktemp("ruled") / "ledger.sqlite"
    fill(SQLiteLedger(path, **outside))
    return str(path)


@contextmanager
def _undone(address: str) -> Iterator["psycopg.Connection[dict[str, Any]]"]:
    """A connection to the ledger's schema whose work is undone."""
    with closing(psycopg.connect(address, row_factory=dict_row)) as connection:
        connection.execute("SET search_path = discreet")
        yield connection
        connection.rollback()


@pytest.fixture(scope="session")
def undone() -> Undone:
    """Opens a connection to a ledger's schema, and undoes its work in the end."""
    return _undone
