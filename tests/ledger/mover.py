"""A program for tests: a move of a ledger to PostgreSQL that is killed at a step, and a client that charges meanwhile.

    python mover.py move PATH ADDRESS ROLE STEP
    python mover.py pause PATH ADDRESS ROLE STEP
    python mover.py charge PATH ANALYST

A client prints the receipt of each charge, and at its end the sentence that refused the next one.
"""

import json
import os
import signal
import sys
from collections.abc import Callable
from fractions import Fraction
from typing import Any

from discreet import events
from discreet.errors import LedgerError, ParameterError
from discreet.ledger import PostgresLedger, SQLiteLedger, move_to_postgres, moving
from discreet.ledger.stores import postgres_rights, sqlite, sqlite_schema

Step = tuple[object, str, bool, str]
STEPS: dict[str, Step] = {
    "before the copy": (sqlite.SQLiteStore, "move", True, ""),
    "between two tables": (moving, "_receive", True, "events"),
    "before the file records the move": (sqlite_schema, "record_move", True, ""),
    "before the file's COMMIT": (sqlite, "_commit", True, ""),
    "after the file's COMMIT": (sqlite, "_commit", False, ""),
    "before the roles get their rights": (postgres_rights, "grant", True, ""),
    "before the verification": (PostgresLedger, "verify", True, ""),
}
"""What is called at each step, whether the process dies before it or after it, and the table that is copied then."""
MOVED_AFTER = "after the file's COMMIT"


def send_at(step: str, sent: signal.Signals) -> None:
    """Send this process a signal at a step; after SIGKILL nothing of it runs any more, as when power fails."""
    place, name, is_before, table = STEPS[step]
    there: Callable[..., Any] = getattr(place, name)

    def dying(*given: Any, **more: Any) -> Any:
        if table in ("", *given) and is_before:
            os.kill(os.getpid(), sent)
        result = there(*given, **more)
        if table in ("", *given):
            os.kill(os.getpid(), sent)
        return result

    setattr(place, name, dying)


def move(path: str, address: str, role: str, step: str) -> None:
    """The move, which never ends."""
    send_at(step, signal.SIGKILL)
    move_to_postgres(path, address, role=role)


def pause(path: str, address: str, role: str, step: str) -> None:
    """The move, which stops at a step until it is let go on; its end with 3 says that it was refused."""
    send_at(step, signal.SIGSTOP)
    try:
        move_to_postgres(path, address, role=role)
    except ParameterError as error:
        print(error, flush=True)
        raise SystemExit(3) from None


def charge(path: str, analyst: str) -> None:
    """Charges until one is refused."""
    event = events.PureEvent(Fraction(1, 10**6))
    with SQLiteLedger(path) as ledger:
        try:
            for number in range(10**6):
                asked = {"version": 1, "event": event, "analyst": analyst, "description": "{}"}
                held = ledger.charge("visits", question=f"{number:06x}{analyst.encode().hex()}", **asked)
                ledger.answer(held, analyst.encode())
                print(json.dumps(held.receipts[0].to_json()), flush=True)
        except LedgerError as error:
            print(error, flush=True)


if __name__ == "__main__":
    {"move": move, "pause": pause, "charge": charge}[sys.argv[1]](*sys.argv[2:])
