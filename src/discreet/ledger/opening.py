"""Where a ledger is, from what a user writes: a path, or the address of a PostgreSQL database."""

import os

from discreet.errors import ParameterError, short_traceback
from discreet.ledger.ledger import Ledger
from discreet.ledger.postgres import PostgresLedger
from discreet.ledger.records.address import in_lower_case, is_address, is_other_address
from discreet.ledger.sqlite import SQLiteLedger

NO_PLACE = "it is neither a path nor an address that begins with postgresql://"


@short_traceback
def open_ledger(where: str | os.PathLike[str]) -> Ledger:
    """Open the ledger at a path, which is created if absent, or in a PostgreSQL database that has one.

    Args:
        where: Path of a file, or address of a database: `postgresql://role@host/database`.

    Returns:
        The ledger; close it, or use it in a `with` block.

    Raises:
        ParameterError: If an address does not begin with `postgresql://`.
        LedgerError: If the ledger cannot be opened.

    Example:
        >>> from discreet.ledger import open_ledger
        >>> with open_ledger("ledger.sqlite") as ledger:
        ...     ledger.datasets()
        []
    """
    if isinstance(where, str) and is_address(where):
        return PostgresLedger(in_lower_case(where))
    if isinstance(where, str) and is_other_address(where):
        raise ParameterError(
            "this address of a ledger",
            because=NO_PLACE,
            instead='ledger="postgresql://discreet_service@db.example.org/records", or a path',
        )
    return SQLiteLedger(where)
