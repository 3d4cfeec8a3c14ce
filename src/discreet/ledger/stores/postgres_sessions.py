"""What lies between a ledger and its server when it is opened: a pooler that shares sessions, a network that is read.

The ledger sets up each session: its search path, its time limits. A pooler in transaction mode gives every transaction
another session of the server. It is found in three steps.

1. A pooler answers for the server, so it gives its clients a key for cancelling that is its own. Where the process id
   in this key is that of the session's backend, there is no pooler, and nothing else is tried.
2. Otherwise a second connection looks at its session, and the first at its own, many times. In session mode each keeps
   one backend and its settings. In transaction mode, with nobody else there, the two meet in one backend, or one of
   them changes it, or its settings are reset: the next transaction gets the backend that was left last, or, where they
   are given in turn, another one.
3. Others who use the pooler at that moment may hide this. So each transaction also checks that its session is one that
   this store has set up (`MARK`), and sets its own search path, in its own round trip: the mark says whose session it
   is, not what others of the same role have done in it meanwhile.
"""

import contextlib
import ipaddress
import logging
import secrets
import select
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from discreet.errors import LedgerError
from discreet.ledger.records import faults

if TYPE_CHECKING:
    import psycopg

log = logging.getLogger("discreet")

MARK = "discreet.session"
"""The setting that tells a session which this store has set up."""
UNCHECKED = (
    "%s is on another machine, and the identity of its server is not checked (sslmode=%s): "
    "an attacker on the way can read the privacy ledger and change what is charged. Add ?sslmode=verify-full to the "
    "address, and sslrootcert=FILE if the authority of its certificate is not known to this machine"
)
LOOKS = 24
PATIENCE = 2.0
# With their schema: the session may have a search path of somebody else's.
_BACKEND = "SELECT pg_catalog.pg_backend_pid()"
_SESSION = f"SELECT pg_catalog.pg_backend_pid(), pg_catalog.current_setting('{MARK}', TRUE)"

_Session = tuple[int, str | None]


def set_mark(mark: str) -> str:
    """The statement that marks a session as set up; a mark is hexadecimal."""
    return f"SET {MARK} = '{mark}'"


def refuse_shared_sessions(
    first: "psycopg.Connection[Any]", mark: str, connect_another: "Callable[[], psycopg.Connection[Any]]"
) -> None:
    """Refuse a pooler that gives the transactions of one connection to several sessions of the server.

    Args:
        first: A connection whose session has the mark.
        mark: The mark of the store.
        connect_another: Connects to the same address.

    Raises:
        LedgerError: If a session was shared, changed or reset.
    """
    if first.info.backend_pid == _one(first, _BACKEND)[0]:
        return
    mine, others = _sessions_seen(first, connect_another)
    has_settings = all(found == mark for _, found in mine)
    is_shared = {pid for pid, _ in mine} & {pid for pid, _ in others}
    if not has_settings or is_shared or len(mine) > 1 or len(others) > 1:
        raise LedgerError(faults.POOLED)


def warn_of_unchecked_server(connection: "psycopg.Connection[Any]", database: str = "the ledger's database") -> None:
    """Warn where the server is on another machine and nothing proves that it is the server."""
    options = {option.keyword: option.val for option in connection.pgconn.info}
    mode = (options.get(b"sslmode") or b"prefer").decode()
    if mode != "verify-full" and is_remote(connection.info.hostaddr):
        log.warning(UNCHECKED, database, mode)


def is_remote(address: str) -> bool:
    """Whether an address of the network is not on this machine's loopback; a Unix socket has none."""
    if not address:
        return False
    found = ipaddress.ip_address(address.partition("%")[0])
    mapped = getattr(found, "ipv4_mapped", None)
    return not (mapped or found).is_loopback


def _sessions_seen(
    first: "psycopg.Connection[Any]", connect_another: "Callable[[], psycopg.Connection[Any]]"
) -> tuple[set[_Session], set[_Session]]:
    """The sessions that two connections see; only those of the first where the second gets none.

    With as few sessions as clients a pooler in session mode lets the second wait, and a server refuses it. They look in
    no fixed order, with which the looks of others could keep step.
    """
    from psycopg import Error  # noqa: PLC0415 - an optional driver

    mine, others = {_one(first, _SESSION)}, set[_Session]()
    with contextlib.suppress(Error, LedgerError), contextlib.closing(connect_another()) as second:
        for _ in range(LOOKS if _is_set_up(second, secrets.token_hex(8)) else 0):
            connection, seen = ((first, mine), (second, others))[secrets.randbelow(2)]
            seen.add(_one(connection, _SESSION))
    return mine, others


def _is_set_up(connection: "psycopg.Connection[Any]", mark: str) -> bool:
    """Mark a session; False where there is none for this connection in time."""
    connection.pgconn.send_query(set_mark(mark).encode())
    if not select.select([connection.pgconn.socket], [], [], PATIENCE)[0]:
        return False
    while connection.pgconn.get_result() is not None:
        pass
    return True


def _one(connection: "psycopg.Connection[Any]", statement: str) -> Any:
    """The only row of a statement, as a tuple."""
    from psycopg.rows import tuple_row  # noqa: PLC0415 - an optional driver

    with connection.cursor(row_factory=tuple_row) as cursor:
        return cursor.execute(statement.encode(), prepare=False).fetchone()
