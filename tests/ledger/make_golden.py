"""Writes a small ledger with one of everything in it, and a receipt of it.

The golden files of a schema version are made once, when that version is released, and never again:
    python tests/ledger/make_golden.py tests/golden/ledger/v5.sqlite
    PYTHONPATH=tests python tests/ledger/make_golden.py tests/golden/ledger/v7.postgres.sql
    python tests/ledger/make_golden.py tests/golden/ledger/budgets.sqlite
The last was made by sessions, when a budget that did not say so reserved no delta.
"""

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from fractions import Fraction
from pathlib import Path

import pyarrow as pa

import discreet as dp
from discreet import events
from discreet.accounting.filters import Budget
from discreet.errors import BudgetError
from discreet.ledger import (
    Dataset,
    DatasetCharge,
    Ledger,
    PostgresLedger,
    Receipt,
    RegisteredSlice,
    Reservation,
    SQLiteLedger,
)

LEASE = 0.3
VISITS = {"name": "visits", "unit": "one patient_id", "source": "visits.csv", "facts": '{"columns":{"ward":"text"}}'}
PEOPLE = {"name": "people", "unit": "one row (protects rows, not people)", "source": "memory", "facts": "{}"}
TENTH = events.PureEvent(Fraction(1, 10))


def charge(ledger: Ledger, event: events.Event, *, question: str = "ab", **changes: object) -> Reservation:
    usual = {"name": "visits", "version": 1, "analyst": "ann", "description": '{"plan":"count"}', "fresh": True}
    return ledger.charge(event=event, question=question, **(usual | changes))


def fill(ledger: Ledger) -> Receipt:
    """What there is since version 1: every state, every notion of cost; returns the receipt of the first charge."""
    budget = Budget(epsilon=2, delta=1e-9, reserved_delta=1e-10)
    ledger.register(Dataset(budget=budget, population=50_000, **VISITS))
    ledger.register(Dataset(budget=Budget(epsilon=1), **PEOPLE))
    ledger.register(Dataset(budget=Budget(epsilon=Fraction(1, 3)), neighbours="replace_one", **PEOPLE))
    first = charge(ledger, TENTH, request="r-1")
    ledger.answer(first, b'{"n": 12}')
    ledger.answer(charge(ledger, events.DiscreteGaussianEvent(400, 1), question="cd"), b"")
    ledger.answer(charge(ledger, events.ApproximateEvent(Fraction(1, 10), Fraction(1, 10**11)), question="ef"), b"0")
    ledger.register(Dataset(budget=budget, version=2, **(VISITS | {"source": "visits-2.csv"})))
    ledger.forfeit(charge(ledger, events.ConcentratedEvent(Fraction(1, 1000)), version=2, analyst="bob"), "timeout")
    charge(ledger, events.DiscreteLaplaceEvent(100, 1), analyst="Ann Müller")
    try:
        charge(ledger, events.PureEvent(3))
    except BudgetError:
        raised = Budget(epsilon=12, delta=1e-9, reserved_delta=1e-10, reason="a second study")
        ledger.set_cap("visits", raised, reason="the board's decision")
    charge(ledger, events.PureEvent(Fraction(333, 1000)), name="people")
    return first.receipt


def fill_further(ledger: Ledger) -> None:
    """What came with version 2: quotas, names, slices, several datasets together, leases that were taken over."""
    ledger.set_quota("visits", "bob", Budget(epsilon=1, delta=1e-9), failures=7, reason="a small study")
    ledger.set_quota("visits", quota=Budget(epsilon=12, delta=1e-9, reserved_delta=1e-10, reason="all"), reason="fair")
    ledger.rename("people", "persons", reason="plain words")
    for month in (1, 2):
        part = RegisteredSlice("stays", f"2026-0{month}-01", f"2026-0{month + 1}-01")
        columns = VISITS | {"name": f"stays {month}", "source": f"stays-{month}.csv"}
        ledger.register(Dataset(budget=Budget(epsilon=1), slice=part, **columns))
    parts = [DatasetCharge(name=f"stays {month}", version=1, event=TENTH) for month in (2, 1)]
    together = ledger.charge_together(parts, analyst="ann", question="aa", request="r-2", description="{}")
    ledger.answer(together, b"together")
    charge(ledger, TENTH, name="stays 1", fresh=False)
    time.sleep(1.5 * LEASE)
    ledger.answer(charge(ledger, TENTH, name="stays 1", fresh=False, analyst="bob"), b"taken over")
    charge(ledger, TENTH, name="stays 2", question="bb")
    time.sleep(1.5 * LEASE)
    ledger.forfeit_expired(grace=0)
    charge(ledger, TENTH, name="stays 1", question="dd")


def fill_other_releases(ledger: Ledger) -> None:
    """What came with version 4 on SQLite and 5 on PostgreSQL: releases that were not charged."""
    ledger.add_other_release("people", "people.csv, ages in tens", kind="generalised", sha256="ab" * 32)
    ledger.add_other_release("persons", "Tabelle für die Presse", kind="exact", author="ann")


def lose_a_charge(path: Path, ledger: SQLiteLedger, **options: Path) -> SQLiteLedger:
    """An older copy is put back, and recovered from the receipt of what came after it."""
    ledger.close()
    copy = path.with_suffix(".copy")
    shutil.copy(path, copy)
    with SQLiteLedger(path, **options) as later:
        lost = charge(later, TENTH, name="stays 2", question="cc").receipt
    copy.replace(path)
    recovered = SQLiteLedger(path, **options)
    recovered.recover(reason="a disk was replaced", receipts=[lost])
    return recovered


def finish(ledger: Ledger, receipt: Receipt, target: Path) -> None:
    found = ledger.verify(receipts=[receipt])
    if not found:
        raise SystemExit(str(found))
    target.write_text(receipt.to_json() + "\n")


def make_file(target: Path, home: Path) -> None:
    options = {"key": home / "key", "anchors": home / "anchors"}
    ledger = SQLiteLedger(target, lease=LEASE, **options)
    receipt = fill(ledger)
    fill_further(ledger)
    fill_other_releases(ledger)
    with lose_a_charge(target, ledger, **options) as whole:
        finish(whole, receipt, target.with_suffix(".receipt.json"))


def people() -> pa.Table:
    """The rows behind `budgets.sqlite`; whoever opens it again gives the same."""
    return pa.table({"id": list(range(400)), "ward": ["A", "B"] * 200, "cost": [i % 50 for i in range(400)]})


BUDGETS = {
    "pure": Budget(epsilon=2),
    "mixed": Budget(epsilon=2, delta=1e-9),
    "unasked": Budget(epsilon=2, delta=1e-9),
    "reserving": Budget(epsilon=2, delta=1e-9, reserved_delta=3e-10),
}
FACTS = {"privacy_unit": "id", "max_rows": 1, "keys": {"ward": ["A", "B"]}, "bounds": {"cost": (0, 50)}}


def make_budgets(target: Path, home: Path) -> None:
    """A dataset under each kind of budget, all but one of them asked, and quotas that do not speak of delta.

    One answer is a mean whose automatic bounds found nothing, as it was released then.
    """
    with SQLiteLedger(target, lease=LEASE, key=home / "key", anchors=home / "anchors") as ledger:
        for name, budget in BUDGETS.items():
            with dp.protect(people(), name=name, budget=budget, ledger=ledger, **FACTS) as session:
                if name != "unasked":
                    session.release(dp.table(name).group_by("ward").agg(n=dp.count()), epsilon=0.5)
                if name == "pure":
                    session.release(dp.table(name).agg(m=dp.mean("cost", bounds="auto")), epsilon=0.01)
            ledger.set_quota(name, "ann", Budget(epsilon=1), reason="a small study")
        ledger.set_quota("mixed", quota=Budget(epsilon=1.5, delta=1e-9), reason="fair")
        finish(ledger, Receipt.from_json(_first_receipt(ledger)), target.with_suffix(".receipt.json"))


def _first_receipt(ledger: Ledger) -> str:
    (charged,) = [entry for entry in ledger.history("mixed") if entry.question]
    return json.dumps(json.loads(ledger.stored_answer("mixed", charged.question))["receipt"])


@contextmanager
def database(home: Path) -> Iterator[tuple[PostgresLedger, list[object]]]:
    from servers import SERVICE, STEWARD, PostgresServer, postgres_binaries  # noqa: PLC0415 - for PostgreSQL only

    with PostgresServer(durable=True) as server:
        options = {"key": home / "key", "anchors": home / "anchors"}
        PostgresLedger.create(server.owner_url, role=SERVICE, steward=STEWARD, **options)
        command = [postgres_binaries() / "pg_dump", "--inserts", "--schema=discreet", server.superuser_url]
        with PostgresLedger(server.steward_url, lease=LEASE, **options) as ledger:
            yield ledger, command


def make_dump(target: Path, home: Path) -> None:
    with database(home) as (ledger, command):
        receipt = fill(ledger)
        fill_further(ledger)
        fill_other_releases(ledger)
        finish(ledger, receipt, target.with_suffix("").with_suffix(".postgres.receipt.json"))
        dump = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    target.write_text("SET check_function_bodies = false;\n" + plain(dump))


def plain(dump: str) -> str:
    """The dump without what tells of the server that made it; bodies of functions, between $$, stay as they are."""
    parts = dump.split("$$")
    parts[::2] = [
        re.sub(r"^(--.*|SET .*|\\.*|SELECT pg_catalog.*|)\n", "", part, flags=re.MULTILINE) for part in parts[::2]
    ]
    return "$$".join(parts)


if __name__ == "__main__":
    os.umask(0o077)
    with tempfile.TemporaryDirectory() as directory:
        target = Path(sys.argv[1])
        make = make_dump if target.suffix == ".sql" else make_budgets if target.stem == "budgets" else make_file
        make(target, Path(directory))
