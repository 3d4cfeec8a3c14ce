"""Where a ledger is, from what a user writes: a path, or the address of a PostgreSQL database."""

import os
import re

from discreet.ledger.book import Ledger
from discreet.ledger.postgres import PostgresLedger
from discreet.ledger.sqlite import SQLiteLedger

_ADDRESS = re.compile(r"postgres(ql)?://", re.IGNORECASE)


def open_ledger(where: str | os.PathLike[str]) -> Ledger:
    """The ledger at a path, made if it is absent, or in a PostgreSQL database that has one."""
    if isinstance(where, str) and _ADDRESS.match(where):
        return PostgresLedger(_ADDRESS.sub("postgresql://", where, count=1))
    return SQLiteLedger(where)
