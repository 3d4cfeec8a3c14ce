"""Errors of PostgreSQL, its driver and its network, each as one constant sentence; nothing else of them is passed on.

An error of a statement has a SQLSTATE. An error of a connection that was not made has none: the driver passes on the
text of libpq alone, so the cause is looked up in that text. A server or a client that writes in another language than
English leaves a cause that is not known, which is what the sentence then says.
"""

import contextlib
import logging
import os
import re
import threading
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, NoReturn
from urllib.parse import quote

from discreet.errors import LedgerError, SourceError
from discreet.ledger.records import faults

if TYPE_CHECKING:
    import psycopg

_CLASSES = {
    "08": faults.UNREACHABLE,
    "23": faults.BROKEN_RULE,
    "28": faults.NOT_AUTHENTICATED,
    "40": faults.BUSY,
}
_STATES = {
    "21000": faults.DAMAGED,  # a write of the steward changed another number of rows than one
    "22012": faults.DAMAGED,  # a guarded update of the ledger's own did
    "25006": faults.REPLICA,
    "25P03": faults.BUSY,  # it held its locks for too long and was cut off
    "3D000": faults.NO_DATABASE,
    "42501": faults.NO_RIGHTS,
    "53100": faults.FULL,
    "53300": faults.NO_CONNECTION_LEFT,
    "55P03": faults.BUSY,
    "57014": faults.BUSY,
    "58030": faults.FULL,
    "P0001": faults.BROKEN_RULE,
    "XX001": faults.DAMAGED,
    "XX002": faults.DAMAGED,
}
_STATES |= dict.fromkeys(("57P01", "57P02", "57P03", "57P04", "57P05"), faults.UNREACHABLE)

CATALOGUE_ALONE = "pg_catalog, pg_temp"
CONNECT_SECONDS = 15
"""So long a server may take to let a connection in; psycopg waits for two minutes."""
_QUOTED = re.compile(r"\"[^\"\n]*\"|'[^'\n]*'")
# Without what is quoted: names of hosts, roles and databases may contain any of these words. The first match counts.
_CAUSES = (
    (
        r"invalid (\S+ value|port|integer)|could not parse network address|definition of service|servname not",
        faults.BAD_ADDRESS,
    ),
    (r"could not translate host name|failed to resolve host", faults.UNKNOWN_HOST),
    (
        r"no password supplied|authentication failed|not permitted to log in|role \"\" does not exist|no such user",
        faults.NOT_AUTHENTICATED,
    ),
    (r"pg_hba\.conf", faults.NOT_ADMITTED),
    (r"database \"\" does not exist|no such database", faults.NO_DATABASE),
    (r"permission denied for database", faults.NO_RIGHTS),
    (
        r"too many (clients|connections)|connection slots|no more connections allowed|connection limit exceeded",
        faults.NO_CONNECTION_LEFT,
    ),
    (r"syscall error|the database system is|server closed the connection|terminating connection", faults.UNREACHABLE),
    (r"ssl|tls|certificate", faults.NOT_TRUSTED),
    (r"connection refused|no such file or directory", faults.NOT_LISTENING),
    (r"timeout|timed out|no route to host|network is unreachable|host is (down|unreachable)", faults.NO_REPLY),
    (r"connection reset|broken pipe", faults.UNREACHABLE),
)


class _Quiet(logging.Filter):
    """Drops what the driver logs of the ledger's own work: it quotes addresses, statements and values."""

    def __init__(self) -> None:
        super().__init__()
        self.at_work = threading.local()

    def filter(self, record: logging.LogRecord) -> bool:  # noqa: ARG002 - all records
        return not getattr(self.at_work, "depth", 0)

    @contextlib.contextmanager
    def __call__(self) -> Iterator[None]:
        logging.getLogger("psycopg").addFilter(self)
        self.at_work.depth = getattr(self.at_work, "depth", 0) + 1
        try:
            yield
        finally:
            self.at_work.depth -= 1


_QUIETLY = _Quiet()


@contextlib.contextmanager
def sentences() -> Iterator[None]:
    """Turn the driver's errors into constant sentences; its own text goes nowhere, and neither does its log."""
    try:
        import psycopg  # noqa: PLC0415 - an optional driver
    except ImportError:
        raise SourceError(
            "a ledger on PostgreSQL", because="psycopg is not installed", instead="pip install 'discreet[postgres]'"
        ) from None
    try:
        with _QUIETLY():
            yield
    except psycopg.Error as error:
        raise_alone(LedgerError(sentence_of(error)))
    except LedgerError as error:
        raise_alone(error)


def sentence_of(error: "psycopg.Error") -> str:
    """The sentence for an error of a statement, by its SQLSTATE; without one the connection was lost."""
    from psycopg import OperationalError  # noqa: PLC0415 - an optional driver

    state = error.sqlstate
    if state is None:
        is_lost = isinstance(error, OperationalError)
        return faults.UNREACHABLE if is_lost else faults.unrecognised("an error of the driver, without a SQLSTATE")
    return _STATES.get(state) or _CLASSES.get(state[:2]) or faults.unrecognised(f"SQLSTATE {state}")


def connect(address: str, **settings: Any) -> "psycopg.Connection[Any]":
    """A connection that commits each statement by itself; it is waited for as long as the address says, or 15 s."""
    import psycopg  # noqa: PLC0415 - an optional driver

    if "connect_timeout" not in _parts(address) and "PGCONNECT_TIMEOUT" not in os.environ:
        settings = {"connect_timeout": CONNECT_SECONDS} | settings
    try:
        return psycopg.connect(address, autocommit=True, **settings)
    except (psycopg.Error, ValueError) as error:
        raise_alone(LedgerError(_cause(error)))


def connect_to_administer(address: str) -> "psycopg.Connection[Any]":
    """A connection for acts of the owner, with nothing but PostgreSQL's own catalogue in its search path.

    Otherwise a role that may create functions in another schema of that path, such as public, could have one called
    with the owner's rights: a bare name is that of the function whose parameters fit best, in any schema of the path.
    """
    connection = connect(address)
    try:
        connection.execute(f"SET search_path = {CATALOGUE_ALONE}".encode())
    except BaseException:
        connection.close()
        raise
    return connection


def public_address(address: str) -> str:
    """The hosts, the ports and the database of an address, without role, password and options, however it is written.

    Raises:
        LedgerError: If libpq does not understand the address; it is not repeated, as it may hold a password.
    """
    with sentences():
        parts = _parts(address)
    hosts = str(parts.get("host") or parts.get("hostaddr") or "").split(",")
    ports = str(parts.get("port") or "").split(",")
    ports = ports * len(hosts) if len(ports) == 1 else ports
    named = (f"[{host}]" if ":" in host else quote(host, safe="") for host in hosts)
    places = (f"{host}:{port}" if port else host for host, port in zip(named, ports, strict=False))
    return f"postgresql://{','.join(places)}/{quote(str(parts.get('dbname') or ''), safe='')}"


def _parts(address: str) -> dict[str, Any]:
    """The parts of an address; one that libpq does not understand is refused.

    So is one that it understands by taking a part of the password for another part: a password with an unescaped @ or /
    ends there, and the rest is taken for the host or for the database.
    """
    from psycopg import Error, conninfo  # noqa: PLC0415 - an optional driver

    try:
        parts = conninfo.conninfo_to_dict(address)
    except (Error, ValueError):
        parts = {"host": "@"}
    if "\0" in address or "@" in f"{parts.get('host') or ''}{parts.get('dbname') or ''}":
        raise_alone(LedgerError(faults.BAD_ADDRESS))
    return parts


def _cause(error: Exception) -> str:
    """Why there is no connection; what the driver says is looked at, and dropped."""
    if isinstance(error, ValueError) or "bad value for" in str(error):
        return faults.BAD_ADDRESS
    if state := getattr(error, "sqlstate", None):
        return _STATES.get(state) or _CLASSES.get(state[:2]) or faults.unrecognised(f"SQLSTATE {state}")
    if getattr(getattr(error, "pgconn", None), "needs_password", False):
        return faults.NOT_AUTHENTICATED
    text = _QUOTED.sub('""', str(error)).lower()
    return next((sentence for words, sentence in _CAUSES if re.search(words, text)), faults.NOT_CONNECTED)


def raise_alone(error: LedgerError) -> NoReturn:
    """Raise an error that refers to no other: the driver's quotes addresses, and `from None` would only hide it."""
    try:
        raise error
    except LedgerError:
        error.__cause__ = error.__context__ = None
        raise
