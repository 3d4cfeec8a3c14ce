"""Whatever goes wrong between a ledger and PostgreSQL is told in one constant sentence, and nothing else is told."""

import logging
import re
import socket
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

import psycopg
import pytest
from psycopg.errors import lookup

from discreet.errors import LedgerError
from discreet.ledger import PostgresLedger
from discreet.ledger.records import faults
from discreet.ledger.stores import postgres_errors
from discreet.ledger.stores.postgres_errors import sentence_of, sentences
from grids import over
from servers import DATABASE, ENGINE, SERVICE, STEWARD, PostgresServer, free_port, give_to_server
from tls import certificate

SECRET = "s3cret-word"  # noqa: S105 - of a server that these tests start


@dataclass(frozen=True)
class Guarded:
    """A server with TLS, which lets some roles in and others not; `root` is the file of its certificate."""

    server: PostgresServer
    root: str


@pytest.fixture(scope="module")
def guarded(postgres_installed: None) -> Iterator[Guarded]:
    with certificate("127.0.0.1") as files:
        settings = {"ssl": "on", "ssl_cert_file": files.certificate, "ssl_key_file": files.key}
        with PostgresServer(durable=True, **settings) as server:
            PostgresLedger.create(server.owner_url, role=SERVICE, steward=STEWARD)
            hba = server.directory / "data" / "pg_hba.conf"
            hba.write_text(f"hostnossl all {SERVICE} 127.0.0.1/32 reject\n{hba.read_text()}")
            give_to_server(hba)
            with psycopg.connect(server.superuser_url, autocommit=True) as connection:
                connection.execute("SELECT pg_reload_conf()")
                connection.execute("CREATE ROLE stranger LOGIN PASSWORD 's3cret-word'")
                connection.execute("CREATE ROLE crowd LOGIN PASSWORD 's3cret-word' CONNECTION LIMIT 0")
                connection.execute("GRANT CONNECT ON DATABASE records TO crowd")
                connection.execute("CREATE ROLE guest NOLOGIN PASSWORD 's3cret-word'")
            yield Guarded(server, files.certificate)


@pytest.fixture(scope="module")
def silent() -> Iterator[int]:
    """The port of a server that takes connections and never says a word."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        yield listening.getsockname()[1]


def password_of(address: str) -> str:
    return re.search(r":([0-9a-f]{32})@", address)[1]


def whole_story(error: BaseException | None) -> str:
    """All that an error and those that it refers to say, with what they hold."""
    told = ""
    while error is not None:
        told += f"{error!r} {error} {vars(error)}"
        error = error.__cause__ or error.__context__
    return told


def sentence(address: str, caplog: pytest.LogCaptureFixture, *secrets: str, act: Callable = PostgresLedger) -> str:
    """What is said of an address; none of the secrets is in it, in what it refers to, or in a log."""
    caplog.clear()
    caplog.set_level(logging.DEBUG)
    with pytest.raises(LedgerError) as caught:
        act(address)
    assert caught.value.__cause__ is caught.value.__context__ is None
    logged = "".join(f"{record.getMessage()} {record.args} {record.exc_info}" for record in caplog.records)
    told = whole_story(caught.value) + logged
    for each in (*secrets, address):
        assert each not in told
    return str(caught.value)


def at(server: PostgresServer, role: str, password: str = SECRET, **parts: str) -> str:
    """The address of a server for a role, with other parts."""
    port, database = parts.pop("port", str(server.port)), parts.pop("database", DATABASE)
    options = "&".join(f"{name}={quote(value, safe='')}" for name, value in parts.items())
    return f"postgresql://{role}:{password}@127.0.0.1:{port}/{database}?{options}"


# No connection.

CAUSES: dict[str, tuple[Callable[[Guarded, int], str], str]] = {
    "wrong password": (lambda given, _: at(given.server, SERVICE), faults.NOT_AUTHENTICATED),
    "wrong password without TLS": (
        lambda given, _: at(given.server, ENGINE, sslmode="disable"),
        faults.NOT_AUTHENTICATED,
    ),
    "unknown role": (lambda given, _: at(given.server, "nobody"), faults.NOT_AUTHENTICATED),
    "role that may not log in": (lambda given, _: at(given.server, "guest"), faults.NOT_AUTHENTICATED),
    "closed port": (lambda given, _: at(given.server, SERVICE, port=str(free_port())), faults.NOT_LISTENING),
    "no socket": (
        lambda *_: f"postgresql://{SERVICE}:{SECRET}@/{DATABASE}?host={quote('/s3cret-directory', safe='')}",
        faults.NOT_LISTENING,
    ),
    "unknown name": (
        lambda *_: f"postgresql://{SERVICE}:{SECRET}@no-such-host.invalid/{DATABASE}",
        faults.UNKNOWN_HOST,
    ),
    "no reply": (
        lambda given, port: at(given.server, SERVICE, port=str(port), connect_timeout="2"),
        faults.NO_REPLY,
    ),
    "authority that is not known": (
        lambda given, _: at(given.server, SERVICE, sslmode="verify-full", sslrootcert=other_root(given)),
        faults.NOT_TRUSTED,
    ),
    "no file of authorities": (
        lambda given, _: at(given.server, SERVICE, sslmode="verify-full", sslrootcert="/s3cret-root.crt"),
        faults.NOT_TRUSTED,
    ),
    "another name than the certificate's": (
        lambda given, _: at(
            given.server, SERVICE, sslmode="verify-full", sslrootcert=given.root, hostaddr="127.0.0.1"
        ).replace("@127.0.0.1", "@ledger.example.org"),
        faults.NOT_TRUSTED,
    ),
    "role that is admitted by TLS only": (
        lambda given, _: at(given.server, SERVICE, sslmode="disable"),
        faults.NOT_ADMITTED,
    ),
    "missing database": (
        lambda given, _: given.server.service_url.replace("/records", "/s3cret_database"),
        faults.NO_DATABASE,
    ),
    "no right to connect": (lambda given, _: at(given.server, "stranger"), faults.NO_RIGHTS),
    "no connection left": (lambda given, _: at(given.server, "crowd"), faults.NO_CONNECTION_LEFT),
}


def other_root(given: Guarded) -> str:
    """A file of authorities in which that of the server is not: nobody signed with its keys."""
    with certificate("127.0.0.1") as files:
        path = given.server.directory / "other.crt"
        path.write_text(Path(files.certificate).read_text())
    return str(path)


@pytest.mark.parametrize("cause", CAUSES)
def test_why_there_is_no_connection_is_told_without_a_secret(guarded, silent, caplog, monkeypatch, cause):
    monkeypatch.delenv("PGPASSWORD", raising=False)
    address_of, expected = CAUSES[cause]
    address = address_of(guarded, silent)
    for act in (PostgresLedger, lambda where: PostgresLedger.create(where, role="x")):
        assert sentence(address, caplog, SECRET, "s3cret", act=act) == expected


def test_a_server_without_tls_is_not_trusted_where_it_is_required(ledger_server, caplog):
    address = f"{ledger_server.service_url}?sslmode=verify-full"
    assert sentence(address, caplog, password_of(address)) == faults.NOT_TRUSTED


def test_an_address_without_a_password_is_told_that_it_was_not_accepted(guarded, caplog, monkeypatch):
    monkeypatch.delenv("PGPASSWORD", raising=False)
    monkeypatch.setenv("PGPASSFILE", "/dev/null")
    address = re.sub(r":[0-9a-f]{32}@", "@", guarded.server.service_url)
    assert sentence(address, caplog) == faults.NOT_AUTHENTICATED
    monkeypatch.setenv("PGPASSWORD", SECRET)
    assert sentence(address, caplog, SECRET) == faults.NOT_AUTHENTICATED


def test_a_role_without_usage_of_the_schema_lacks_a_right(guarded, caplog):
    address = guarded.server.engine_url
    assert sentence(address, caplog, password_of(address)) == faults.NO_RIGHTS


def test_a_right_that_is_taken_away_while_the_ledger_is_open_is_told(postgres_address, ledger_server, dataset, charge):
    def run(statement: str) -> None:
        with psycopg.connect(ledger_server.superuser_url, autocommit=True) as connection:
            connection.execute(statement.encode())

    with PostgresLedger(postgres_address) as ledger:
        ledger.register(dataset())
        run(f"REVOKE INSERT ON discreet.events FROM {STEWARD}")
        try:
            with pytest.raises(LedgerError, match=re.escape(faults.NO_RIGHTS)):
                charge(ledger)
        finally:
            run(f"GRANT INSERT ON discreet.events TO {STEWARD}")
        charge(ledger)
        assert ledger.verify()


@pytest.mark.parametrize(
    "address",
    [
        f"postgresql://someone:{SECRET}@[nonsense/records",
        f"postgresql://someone:{SECRET}@127.0.0.1/records?no_such_option=1",
        f"postgresql://someone:{SECRET}%zz@127.0.0.1/records",
        f"postgresql://someone:{SECRET}@127.0.0.1:99999/records",
        f"postgresql://someone:{SECRET}@127.0.0.1:five/records",
        f"postgresql://someone:{SECRET}@127.0.0.1/records?sslmode=s3cret",
        f"postgresql://someone:{SECRET}@127.0.0.1/records?hostaddr=s3cret",
        f"postgresql://someone:{SECRET}@127.0.0.1/records?service=s3cret",
        f"postgresql://someone:{SECRET}@127.0.0.1/records?connect_timeout=s3cret",
        f"postgresql://someone:{SECRET}\0@127.0.0.1/records",
        f"postgresql://someone:{SECRET}\udcff@127.0.0.1/records",
        f"postgresql://someone:{SECRET}@/{SECRET}@127.0.0.1/records",
        f"postgresql://someone:a@{SECRET}@127.0.0.1/records",
        f"postgresql://someone:a/{SECRET}@127.0.0.1/records",
    ],
)
def test_an_address_that_cannot_be_read_is_told_so_and_not_repeated(address, caplog):
    for act in (PostgresLedger, lambda where: PostgresLedger.create(where, role="x")):
        assert sentence(address, caplog, SECRET, "s3cret", act=act) == faults.BAD_ADDRESS


def test_a_part_of_a_password_is_never_looked_up_as_the_name_of_a_host(monkeypatch):
    def looked_up(*_: object, **__: object) -> None:
        raise AssertionError("a name was looked up")

    monkeypatch.setattr(socket, "getaddrinfo", looked_up)
    monkeypatch.setattr(psycopg, "connect", looked_up)
    for address in ("postgresql://someone:a@b@host/records", "postgresql://someone:a/b@host/records"):
        with pytest.raises(LedgerError, match=re.escape(faults.BAD_ADDRESS)):
            PostgresLedger(address)


def test_a_cause_in_another_language_is_not_guessed(guarded, caplog):
    """The driver has the server's text alone, and no SQLSTATE."""
    with psycopg.connect(guarded.server.superuser_url, autocommit=True) as connection:
        connection.execute("CREATE DATABASE closed ALLOW_CONNECTIONS false")
    address = guarded.server.service_url.replace("/records", "/closed")
    assert sentence(address, caplog, password_of(address)) == faults.NOT_CONNECTED


# What is quoted may be called anything.

TEXTS = {
    'connection to server at "ssl.example.org" (10.0.0.1), port 5432 failed: Connection refused': faults.NOT_LISTENING,
    'connection to server at "h" (10.0.0.1), port 5432 failed: FATAL:  database "no pg_hba.conf" does not exist': (
        faults.NO_DATABASE
    ),
    'connection to server at "h", port 5432 failed: FATAL:  role "timeout" does not exist': faults.NOT_AUTHENTICATED,
    'connection to server at "h", port 5432 failed: FATAL:  the database system is starting up': faults.UNREACHABLE,
    'connection to server at "h", port 5432 failed: SSL SYSCALL error: EOF detected': faults.UNREACHABLE,
    'connection to server at "h", port 5432 failed: FATAL:  sorry, too many clients already': (
        faults.NO_CONNECTION_LEFT
    ),
    'connection to server at "h" (10.0.0.1), port 5432 failed: No route to host': faults.NO_REPLY,
    'connection to server at "h", port 5432 failed: FATAL:  Datenbank »x« existiert nicht': faults.NOT_CONNECTED,
}


@over("text", TEXTS)
def test_the_words_of_the_driver_count_and_names_do_not(text):
    assert postgres_errors._cause(psycopg.OperationalError(text)) == TEXTS[text]


# Errors of statements.

KNOWN = sorted({state for state in psycopg.errors._sqlcodes if re.fullmatch(r"[0-9A-Z]{5}", state)})
OF_DAMAGE = {"XX001", "XX002", "22012", "21000"}  # the last two are how a guarded update says that it changed no row


@over("state", KNOWN)
def test_only_codes_of_damage_are_called_damage(state):
    said = sentence_of(lookup(state)("text of the driver"))
    assert (said == faults.DAMAGED) == (state in OF_DAMAGE)
    assert said in vars(faults).values() or said == faults.unrecognised(f"SQLSTATE {state}")


RAISED = {
    "22023": faults.unrecognised("SQLSTATE 22023"),
    "0A000": faults.unrecognised("SQLSTATE 0A000"),
    "XX000": faults.unrecognised("SQLSTATE XX000"),
    "XX001": faults.DAMAGED,
    "XX002": faults.DAMAGED,
    "ZZ999": faults.unrecognised("SQLSTATE ZZ999"),
    "53100": faults.FULL,
    "53200": faults.unrecognised("SQLSTATE 53200"),
    "42501": faults.NO_RIGHTS,
    "25006": faults.REPLICA,
    "40P01": faults.BUSY,
    "55P03": faults.BUSY,
    "57014": faults.BUSY,
    "P0001": faults.BROKEN_RULE,
}


@pytest.mark.parametrize("state", RAISED)
def test_an_error_of_the_server_is_told_by_its_code_alone(postgres_address, caplog, state):
    statement = f"DO $$ BEGIN RAISE EXCEPTION 's3cret of a row' USING ERRCODE = '{state}'; END $$"

    def act(address: str) -> None:
        with PostgresLedger(address) as ledger:
            ledger._store.run(lambda work: work.read((statement, {})))

    assert sentence(postgres_address, caplog, "s3cret", act=act) == RAISED[state]


def test_an_error_of_the_driver_without_a_code_is_neither_damage_nor_a_lost_server(postgres_address):
    with PostgresLedger(postgres_address) as ledger, pytest.raises(LedgerError) as caught:
        ledger._store.ask(("SELECT :missing", {}))
    assert str(caught.value) == faults.unrecognised("an error of the driver, without a SQLSTATE")
    assert caught.value.__cause__ is caught.value.__context__ is None


def test_a_connection_that_is_lost_says_so(postgres_address, ledger_server):
    def act() -> None:
        with sentences():
            lost.execute("SELECT 1")

    with psycopg.connect(postgres_address, autocommit=True) as lost:
        with psycopg.connect(ledger_server.superuser_url, autocommit=True) as connection:
            connection.execute("SELECT pg_terminate_backend(%s, 5000)", (lost.info.backend_pid,))
        with pytest.raises(LedgerError) as caught:
            act()
    assert str(caught.value) == faults.UNREACHABLE
    assert caught.value.__cause__ is caught.value.__context__ is None
