"""A database that would lose charges, and a role that could change them, are refused.

The server is of these tests alone, as they change its settings and its roles.
"""

import gc
import logging
import re
import signal
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import psycopg
import pytest

from discreet.errors import LedgerError
from discreet.ledger import PostgresLedger
from discreet.ledger.records import faults
from discreet.ledger.stores import postgres_schema
from discreet.ledger.transactions import statements
from processes import wait_for
from servers import (
    ENGINE,
    FAST,
    OWNER,
    SERVICE,
    STEWARD,
    PostgresServer,
    account_options,
    free_port,
    give_to_server,
    postgres_binaries,
)
from tampering import new_database

WRITING = "-c default_transaction_read_only=off"


class Changeable(PostgresServer):
    """A server whose durability is not given at its start, where it could not be changed; `key` is its owner's."""

    @property
    def key(self) -> Path:
        return self.directory / "owner.key"

    def _start(self, settings: Mapping[str, str]) -> None:
        super()._start({name: value for name, value in settings.items() if name not in FAST})

    def reload(self, **settings: str) -> None:
        """Give it other settings while it runs; None for the usual ones."""
        for name, value in settings.items():
            self.run(f"ALTER SYSTEM SET {name} = '{value}'" if value else f"ALTER SYSTEM RESET {name}")
        self.run("SELECT pg_reload_conf()")

    def run(self, statement: str) -> None:
        with psycopg.connect(self.superuser_url, autocommit=True, options=WRITING) as connection:
            connection.execute(statement.encode())


@pytest.fixture(scope="module")
def server(postgres_installed: None) -> Iterator[Changeable]:
    with Changeable(durable=True) as started:
        PostgresLedger.create(started.owner_url, role=SERVICE, steward=STEWARD, key=started.key)
        yield started


@pytest.fixture
def changed(server: Changeable) -> Iterator[Callable[[str, str], None]]:
    """Change something as the superuser until the end of the test."""
    undo: list[str] = []

    def change(statement: str, back: str) -> None:
        undo.append(back)
        server.run(statement)

    yield change
    for statement in reversed(undo):
        server.run(statement)


def refusal(address: str) -> str:
    with pytest.raises(LedgerError) as caught:
        PostgresLedger(address)
    password = re.search(r":([0-9a-f]{32})@", address)[1]
    assert password not in str(caught.value)
    assert address not in str(caught.value)
    assert str(caught.value) in vars(faults).values()
    return str(caught.value)


# Where charges would be lost.


@pytest.mark.guarantee("ledger")
@pytest.mark.pitfall("B6")
@pytest.mark.parametrize(
    ("statement", "back"),
    [
        (f"ALTER ROLE {SERVICE} SET synchronous_commit = off", f"ALTER ROLE {SERVICE} RESET synchronous_commit"),
        (
            f"ALTER ROLE {SERVICE} SET session_replication_role = replica",
            f"ALTER ROLE {SERVICE} RESET session_replication_role",
        ),
        ("ALTER DATABASE records SET synchronous_commit = off", "ALTER DATABASE records RESET synchronous_commit"),
        (
            f"ALTER ROLE {SERVICE} IN DATABASE records SET synchronous_commit = off",
            f"ALTER ROLE {SERVICE} IN DATABASE records RESET synchronous_commit",
        ),
        (
            "ALTER TABLE discreet.answers SET UNLOGGED",
            "ALTER TABLE discreet.answers SET LOGGED",
        ),
    ],
)
def test_settings_under_which_an_acknowledged_charge_is_lost_are_refused(server, changed, statement, back):
    changed(statement, back)
    assert refusal(server.service_url) == faults.UNSAFE


@pytest.mark.pitfall("B6")
@pytest.mark.parametrize("setting", FAST)
def test_durability_that_is_switched_off_is_refused_at_the_opening_and_while_connected(
    server, setting, dataset, charge
):
    with PostgresLedger(server.steward_url, key=server.key) as ledger:
        ledger.register(dataset(name=setting))
        charge(ledger, name=setting)
        server.reload(**{setting: "off"})
        try:
            wait_for(lambda: shown(server, setting) == "off", 10, lambda: "the server did not read its settings")
            for act in (lambda: charge(ledger, name=setting), lambda: ledger.register(dataset(name="other"))):
                with pytest.raises(LedgerError, match=re.escape(faults.UNSAFE)):
                    act()
            assert refusal(server.service_url) == faults.UNSAFE
        finally:
            server.reload(**{setting: ""})
            wait_for(lambda: shown(server, setting) == "on", 10, lambda: "the server did not read its settings")
        charge(ledger, name=setting)
        assert ledger.spent(setting).epsilon == 2 * ledger.history(setting)[-1].cost.epsilon
        assert ledger.verify()


def shown(server: Changeable, setting: str) -> str:
    with psycopg.connect(server.service_url) as connection:
        return connection.execute(f"SHOW {setting}".encode()).fetchone()[0]


def test_weaker_and_stronger_ways_to_wait_for_the_disk_are_allowed(server, changed):
    for kind in ("local", "remote_write", "on"):
        changed(f"ALTER ROLE {SERVICE} SET synchronous_commit = {kind}", f"ALTER ROLE {SERVICE} RESET ALL")
        PostgresLedger(server.steward_url).close()


# Where the primary is another.


@contextmanager
def standby(server: PostgresServer) -> Iterator[str]:
    """A real replica of a server, on a port of its own; the service's address there."""
    as_server = ["setpriv", "--pdeathsig", "INT", *account_options(), "--"]
    with tempfile.TemporaryDirectory(prefix="discreet-standby-", dir="/tmp") as place:
        directory, port = Path(place), free_port()
        give_to_server(directory)
        data, log = directory / "data", directory / "log"
        copy = ["-D", data, "-R", "--checkpoint=fast", "--no-sync", "-d", server.superuser_url.rpartition("/")[0]]
        subprocess.run([*as_server, postgres_binaries() / "pg_basebackup", *copy], check=True, capture_output=True)
        options = [f"--port={port}", "--listen_addresses=127.0.0.1", f"--unix_socket_directories={directory}"]
        command = [*as_server, postgres_binaries() / "postgres", "-D", data, *options]
        with log.open("w") as told, subprocess.Popen(command, stdout=told, stderr=told) as started:
            try:
                address = re.sub(r":\d+/", f":{port}/", server.service_url)
                wait_for(lambda: can_connect(address), 20, log.read_text)
                yield address
            finally:
                started.send_signal(signal.SIGINT)
                started.wait(20)


def can_connect(address: str) -> bool:
    try:
        psycopg.connect(address).close()
    except psycopg.OperationalError:
        return False
    return True


@pytest.mark.guarantee("ledger")
def test_a_replica_is_refused(server):
    with standby(server) as address:
        assert refusal(address) == faults.REPLICA


@pytest.mark.parametrize(
    ("statement", "back"),
    [
        (
            f"ALTER ROLE {SERVICE} SET default_transaction_read_only = on",
            f"ALTER ROLE {SERVICE} RESET default_transaction_read_only",
        ),
        (
            "ALTER DATABASE records SET default_transaction_read_only = on",
            "ALTER DATABASE records RESET default_transaction_read_only",
        ),
    ],
)
def test_a_database_that_only_reads_is_refused(server, changed, statement, back):
    changed(statement, back)
    assert refusal(server.service_url) == faults.REPLICA


# Whose role could change what happened.

OTHER = "CREATE ROLE other NOLOGIN"
GRANTS = {
    "update": ("GRANT UPDATE ON discreet.events TO {}", "REVOKE UPDATE ON discreet.events FROM {}"),
    "update of one column": (
        "GRANT UPDATE (time) ON discreet.events TO {}",
        "REVOKE UPDATE ON discreet.events FROM {}",
    ),
    "delete": ("GRANT DELETE ON discreet.events TO {}", "REVOKE DELETE ON discreet.events FROM {}"),
    "truncate": ("GRANT TRUNCATE ON discreet.events TO {}", "REVOKE TRUNCATE ON discreet.events FROM {}"),
    "trigger": ("GRANT TRIGGER ON discreet.events TO {}", "REVOKE TRIGGER ON discreet.events FROM {}"),
    "delete of halts": ("GRANT DELETE ON discreet.halts TO {}", "REVOKE DELETE ON discreet.halts FROM {}"),
    "update of answers": (
        "GRANT UPDATE ON discreet.answers TO {}",
        "REVOKE UPDATE ON discreet.answers FROM {}",
    ),
    "create in the schema": ("GRANT CREATE ON SCHEMA discreet TO {}", "REVOKE CREATE ON SCHEMA discreet FROM {}"),
    "one function of the steward": (
        "GRANT EXECUTE ON FUNCTION discreet.set_budget TO {}",
        "REVOKE EXECUTE ON FUNCTION discreet.set_budget FROM {}",
    ),
    "all data": ("GRANT pg_write_all_data TO {}", "REVOKE pg_write_all_data FROM {}"),
    "files": ("GRANT pg_write_server_files TO {}", "REVOKE pg_write_server_files FROM {}"),
    "owner": (f"GRANT {OWNER} TO {{}}", f"REVOKE {OWNER} FROM {{}}"),
    "roles": ("ALTER ROLE {} CREATEROLE", "ALTER ROLE {} NOCREATEROLE"),
    "superuser": ("ALTER ROLE {} SUPERUSER", "ALTER ROLE {} NOSUPERUSER"),
}


@pytest.mark.guarantee("ledger")
@pytest.mark.parametrize("right", GRANTS)
@pytest.mark.parametrize("way", ["directly", "by membership", "by a membership that is not inherited"])
def test_a_role_that_could_change_or_delete_what_happened_is_refused(server, changed, right, way):
    give, take = GRANTS[right]
    whom = SERVICE
    if way != "directly":
        changed("CREATE ROLE other NOLOGIN", "DROP ROLE other")
        changed(f"GRANT other TO {SERVICE}", f"REVOKE other FROM {SERVICE}")
        whom = "other"
    if way == "by a membership that is not inherited":
        changed(f"ALTER ROLE {SERVICE} NOINHERIT", f"ALTER ROLE {SERVICE} INHERIT")
    changed(give.format(whom), take.format(whom))
    assert refusal(server.service_url) == faults.TOO_MANY_RIGHTS


def test_a_steward_who_may_not_call_every_function_is_refused(server, changed):
    changed(
        f"REVOKE EXECUTE ON FUNCTION discreet.clear_halt FROM {STEWARD}",
        f"GRANT EXECUTE ON FUNCTION discreet.clear_halt TO {STEWARD}",
    )
    assert refusal(server.steward_url) == faults.TOO_MANY_RIGHTS


def test_a_function_with_the_owners_rights_that_is_not_of_discreet_is_refused(server, changed):
    changed(
        "CREATE FUNCTION discreet.refund() RETURNS void LANGUAGE sql SECURITY DEFINER AS 'SELECT'",
        "DROP FUNCTION discreet.refund",
    )
    assert refusal(server.service_url) == faults.TOO_MANY_RIGHTS
    assert refusal(server.steward_url) == faults.TOO_MANY_RIGHTS


def test_rights_of_everybody_count(server, changed):
    changed("GRANT DELETE ON discreet.events TO PUBLIC", "REVOKE DELETE ON discreet.events FROM PUBLIC")
    assert refusal(server.service_url) == faults.TOO_MANY_RIGHTS


def test_the_owner_and_the_superuser_are_refused_also_behind_another_role(server):
    assert refusal(server.owner_url) == faults.TOO_MANY_RIGHTS
    assert refusal(server.superuser_url) == faults.TOO_MANY_RIGHTS
    assert refusal(f"{server.superuser_url}?options=-c%20role%3D{SERVICE}") == faults.TOO_MANY_RIGHTS


def test_making_the_ledger_again_takes_back_what_was_granted_beyond_its_rights(server, changed):
    changed(f"GRANT UPDATE, DELETE ON discreet.events TO {SERVICE}", "SELECT 1")
    changed(f"GRANT UPDATE (hash) ON discreet.events TO {SERVICE}", "SELECT 1")
    assert refusal(server.service_url) == faults.TOO_MANY_RIGHTS
    PostgresLedger.create(server.owner_url, role=SERVICE, steward=STEWARD)
    PostgresLedger(server.steward_url).close()


# Where there is no ledger, or another one.


def test_a_database_without_a_ledger_is_refused(server):
    assert refusal(new_database(server, "empty").service) == faults.NO_LEDGER


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        (f"INSERT INTO discreet.schema_versions VALUES ({postgres_schema.VERSION + 1}, '', '')", faults.NEWER),
        (f"DELETE FROM discreet.schema_versions WHERE version = {postgres_schema.VERSION}", faults.UNMIGRATED),
    ],
)
def test_another_version_of_the_schema_is_refused_and_left_alone(server, change, expected):
    def replaced(statement: str) -> None:
        with psycopg.connect(server.superuser_url) as connection:
            connection.execute("SET LOCAL session_replication_role = replica")
            connection.execute(statement.encode())

    replaced(change)
    try:
        assert refusal(server.service_url) == expected
    finally:
        replaced("DELETE FROM discreet.schema_versions")
        for version in postgres_schema.steps():
            replaced(f"INSERT INTO discreet.schema_versions VALUES ({version}, '', '')")


def test_a_role_without_any_right_is_told_what_gives_it_some(server, changed):
    assert refusal(server.engine_url) == faults.NO_RIGHTS
    changed(f"GRANT USAGE ON SCHEMA discreet TO {ENGINE}", f"REVOKE USAGE ON SCHEMA discreet FROM {ENGINE}")
    assert refusal(server.engine_url) == faults.NO_RIGHTS


@pytest.mark.timing
def test_a_client_that_stops_between_its_reads_and_its_writes_is_cut_off(postgres_address, dataset, charge):
    """A laptop that sleeps with the lock of a dataset: without a Sync after the reads no timeout would run."""
    with PostgresLedger(postgres_address) as sleeper, PostgresLedger(postgres_address) as ledger:
        ledger.register(dataset())
        is_locked, outcome = threading.Event(), []

        def work(pen):
            pen.rows("SELECT set_config('idle_in_transaction_session_timeout', '300ms', TRUE)")
            statements.account(pen, "visits")
            is_locked.set()
            time.sleep(2)
            pen.rows("SELECT 1")

        def sleep() -> None:
            try:
                sleeper._run(work)
            except LedgerError as error:
                outcome.append(str(error))

        thread = threading.Thread(target=sleep)
        thread.start()
        assert is_locked.wait(10)
        began = time.monotonic()
        charge(ledger)
        assert time.monotonic() - began < 1.5
        thread.join()
        assert outcome in ([faults.BUSY], [faults.UNREACHABLE])
        assert charge(sleeper).verify()
        assert ledger.verify()


def test_the_log_of_the_driver_tells_nothing_of_the_ledger_and_all_of_others(postgres_address, dataset, caplog):
    caplog.set_level(logging.DEBUG, logger="psycopg")
    log = logging.getLogger("psycopg")

    def work(pen):
        log.warning("of the ledger")
        pen.rows("SELECT 1")

    with PostgresLedger(postgres_address) as ledger:
        ledger.register(dataset())
        ledger._run(work)
        log.warning("of others")
    with pytest.raises(LedgerError):
        PostgresLedger("postgresql://ann:s3cret@127.0.0.1:1/records")
    assert [record.getMessage() for record in caplog.records if record.name == "psycopg"] == ["of others"]


def test_a_ledger_that_nobody_closed_gives_its_connections_back(postgres_address, ledger_server):
    ledger = PostgresLedger(postgres_address)
    pids = [connection.info.backend_pid for connection in ledger._store._idle]
    asked = "SELECT count(*) FROM pg_stat_activity WHERE pid = ANY(%s)"
    with psycopg.connect(ledger_server.superuser_url, autocommit=True) as connection:
        assert connection.execute(asked, (pids,)).fetchone() == (1,)
        del ledger
        gc.collect()
        wait_for(lambda: connection.execute(asked, (pids,)).fetchone() == (0,), 10, lambda: "still there")
