"""A pooler that shares sessions is refused when a ledger is opened, and a server whom nobody checks is warned of."""

import logging
import re
import select
import socket
import threading
from collections.abc import Callable, Iterator

import psycopg
import pytest

from discreet.accounting.filters import Budget
from discreet.errors import BudgetError, LedgerError
from discreet.ledger import Ledger, PostgresLedger
from discreet.ledger.records import faults
from discreet.ledger.stores import postgres_sessions
from discreet.ledger.stores.postgres_errors import connect
from grids import over
from poolers import ABSENT, Pooler, has_pgbouncer
from servers import SERVICE, STEWARD, PostgresServer, give_to_server
from tampering import new_database
from tls import certificate


@pytest.fixture(scope="module")
def pooler_installed() -> None:
    if not has_pgbouncer():
        pytest.skip(ABSENT)


# A pooler that shares sessions.

WAYS = {
    "last in, first out": {},
    "in turn": {"server_round_robin": "1"},
    "reset after each transaction": {"server_reset_query_always": "1"},
}


@pytest.mark.guarantee("ledger")
@pytest.mark.parametrize("mode", ["transaction", "statement"])
@pytest.mark.parametrize("size", [1, 3])
@pytest.mark.parametrize("way", WAYS)
def test_a_pooler_that_shares_sessions_is_refused_at_the_opening(
    pooler_installed, ledger_server, postgres_address, mode, size, way
):
    with Pooler(ledger_server, mode, size=size, **WAYS[way]) as pooler:
        _fill(pooler, size)
        with pytest.raises(LedgerError, match=re.escape(faults.POOLED)):
            PostgresLedger(pooler.service_url)


def _fill(pooler: Pooler, size: int) -> None:
    """Let the pooler make as many connections to the server as it may: each is at work at the same time."""

    def work() -> None:
        with psycopg.connect(pooler.service_url, autocommit=True) as client:
            client.execute("SELECT pg_sleep(0.3)")

    threads = [threading.Thread(target=work) for _ in range(size)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def test_it_is_refused_while_others_use_it(pooler_installed, ledger_server, postgres_address):
    """They take the sessions that would show it, and leave their own in their place."""
    with Pooler(ledger_server, "transaction", size=4) as pooler:
        is_over = threading.Event()

        def work() -> None:
            with psycopg.connect(pooler.service_url, autocommit=True, prepare_threshold=None) as client:
                while not is_over.is_set():
                    client.execute("SELECT pg_sleep(0.001)")

        threads = [threading.Thread(target=work) for _ in range(4)]
        for thread in threads:
            thread.start()
        try:
            for _ in range(5):
                with pytest.raises(LedgerError, match=re.escape(faults.POOLED)):
                    PostgresLedger(pooler.service_url)
        finally:
            is_over.set()
            for thread in threads:
                thread.join()


@pytest.mark.guarantee("ledger")
@pytest.mark.parametrize("size", [1, 8])
def test_a_pooler_that_keeps_a_session_for_each_client_is_accepted_and_charges(
    pooler_installed, ledger_server, postgres_address, dataset, turn, at_once, size
):
    with Pooler(ledger_server, "session", size=size) as pooler, PostgresLedger(pooler.steward_url) as ledger:
        ledger.register(dataset())
        acts = [lambda name=name: _charge_and_answer(ledger, turn, name) for name in "abcd"[:size]]
        assert at_once(*acts) == [b"12"] * len(acts)
        assert ledger.verify()
    with PostgresLedger(postgres_address) as direct:
        assert direct.spent("visits").epsilon == len(acts) * 10**11


def _charge_and_answer(ledger: Ledger, turn: Callable, analyst: str) -> bytes:
    for _ in range(2):  # the second by the shorter way: the analyst is known then
        held = turn(ledger, analyst=analyst, fresh=True, epsilon=0.05)
        stored = ledger.answer(held, b"12")
    return stored


@pytest.mark.guarantee("ledger")
def test_a_pooler_that_begins_to_share_sessions_later_is_refused_at_the_next_charge(
    pooler_installed, ledger_server, postgres_address, dataset, charge, monkeypatch
):
    monkeypatch.setattr(postgres_sessions, "PATIENCE", 0.5)
    with Pooler(ledger_server, "session", size=1) as pooler, PostgresLedger(pooler.steward_url) as ledger:
        ledger.register(dataset())
        charge(ledger)
        before = ledger.history("visits")
        pooler.change(pool_mode="transaction")
        ledger.history("visits")
        with psycopg.connect(pooler.service_url, autocommit=True) as other:
            other.execute("DISCARD ALL")  # in the session of the ledger
        acts = [lambda name=name: charge(ledger, analyst=name) for name in ("ann", "bob")]
        for act in (*acts, lambda: ledger.history("visits")):
            with pytest.raises(LedgerError, match=re.escape(faults.POOLED)):
                act()
        with PostgresLedger(postgres_address) as direct:
            assert direct.history("visits") == before


TABLES = ("datasets", "events", "reservations", "answers", "analysts", "versions", "aliases", "halts", "keys", "ledger")


def _take_over_the_session(address: str) -> psycopg.Connection:
    """Tables and a catalogue of its own, with a raised cap, in the session of another process of the same role."""
    other = psycopg.connect(address, prepare_threshold=None)
    for table in TABLES:
        other.execute(f"CREATE TEMP TABLE {table} AS TABLE discreet.{table}".encode())
    other.execute("UPDATE pg_temp.datasets SET cap_epsilon = 1000000000000000")
    other.execute("CREATE TEMP VIEW pg_trigger AS SELECT * FROM pg_catalog.pg_trigger WHERE FALSE")
    other.execute("SET search_path = pg_temp, pg_catalog, discreet")
    other.execute("SET default_transaction_isolation = 'repeatable read'")
    other.commit()
    return other


@pytest.mark.guarantee("ledger")
@pytest.mark.pitfall("D")
def test_what_others_change_in_a_session_that_a_pooler_shares_later_changes_no_charge_and_no_read(
    pooler_installed, ledger_server, dataset, charge, monkeypatch
):
    """The mark of the session is there still; the search path, the tables it finds and the isolation are others'."""
    monkeypatch.setattr(postgres_sessions, "PATIENCE", 0.5)
    place = new_database(ledger_server, "shared")  # where everybody may make temporary tables, which is the default
    PostgresLedger.create(place.owner, role=SERVICE, steward=STEWARD)
    with PostgresLedger(place.steward) as steward:
        steward.register(dataset(budget=Budget(epsilon=1)))
    with (
        Pooler(ledger_server, "session", size=1) as pooler,
        PostgresLedger(pooler.through(place.service)) as ledger,
    ):
        charge(ledger, epsilon=1)
        ledger._store._close_idle()  # the next connection is one of the new mode
        pooler.change(pool_mode="transaction")
        ledger.history("visits")
        with _take_over_the_session(pooler.through(place.service)) as other:
            (mark,) = other.execute(f"SELECT current_setting('{postgres_sessions.MARK}', TRUE)".encode()).fetchone()
            assert mark == ledger._store._mark
            other.commit()
            with pytest.raises(BudgetError):
                charge(ledger, analyst="bob", epsilon=1, fresh=True)
            assert ledger._run(lambda pen: pen.rows("SHOW transaction_isolation"))[0] == {
                "transaction_isolation": "read committed"
            }
            for read in (_caps_seen_by_ask, _caps_seen_by_look):
                assert read(ledger) == [{"cap_epsilon": 10**12}]
            assert ledger._store.findings(full=False) == []
            assert ledger.verify(full=True)
            assert other.execute("SELECT spent_epsilon FROM pg_temp.datasets").fetchone() == (10**12,)


def _caps_seen_by_ask(ledger: Ledger) -> list:
    return ledger._store.ask(("SELECT cap_epsilon FROM datasets", {}))


def _caps_seen_by_look(ledger: Ledger) -> list:
    return ledger._store.look(lambda transaction: transaction.read(("SELECT cap_epsilon FROM datasets", {})))[0]


@pytest.mark.guarantee("ledger")
@pytest.mark.pitfall("D")
def test_a_read_in_a_session_that_others_have_reset_is_refused(
    pooler_installed, ledger_server, postgres_address, dataset, charge, monkeypatch
):
    monkeypatch.setattr(postgres_sessions, "PATIENCE", 0.5)
    for read in (_caps_seen_by_ask, _caps_seen_by_look, lambda ledger: ledger._store.findings(full=False)):
        with Pooler(ledger_server, "session", size=1) as pooler, PostgresLedger(pooler.steward_url) as ledger:
            pooler.change(pool_mode="transaction")
            reset_by_another(pooler, lambda ledger=ledger, read=read: read(ledger))
            with pytest.raises(LedgerError, match=re.escape(faults.POOLED)):
                read(ledger)


def reset_by_another(pooler: Pooler, act: Callable[[], object]) -> None:
    """Another client resets the only session after an act; the pooler lets it go where it already has its new mode."""
    for is_last in (False, False, True):
        act()
        try:
            with psycopg.connect(pooler.steward_url, autocommit=True) as other:
                other.execute("DISCARD ALL")
        except psycopg.errors.ProtocolViolation:  # it waited too long for the session
            if is_last:
                raise
        else:
            return


@pytest.mark.guarantee("ledger")
@pytest.mark.pitfall("D")
def test_a_pooler_that_begins_to_take_single_statements_only_is_refused_and_not_tried_again(
    pooler_installed, ledger_server, postgres_address, monkeypatch
):
    monkeypatch.setattr(postgres_sessions, "PATIENCE", 0.5)
    with Pooler(ledger_server, "session", size=1) as pooler, PostgresLedger(pooler.steward_url) as ledger:
        pooler.change(pool_mode="statement")
        ledger._store._idle[0].execute("SELECT 1")
        with pytest.raises(LedgerError, match=re.escape(faults.POOLED)):
            _caps_seen_by_look(ledger)


@pytest.mark.guarantee("ledger")
@pytest.mark.pitfall("D")
@pytest.mark.parametrize("is_pooled", [False, True])
def test_no_statement_is_prepared_through_a_pooler_where_others_could_replace_it(
    pooler_installed, ledger_server, postgres_address, monkeypatch, is_pooled
):
    monkeypatch.setattr(postgres_sessions, "PATIENCE", 0.5)
    with Pooler(ledger_server, "session", size=1) as pooler:
        with PostgresLedger(pooler.service_url if is_pooled else postgres_address) as ledger:
            for _ in range(20):
                _caps_seen_by_look(ledger)
            prepared = ledger._store._idle[-1].execute("SELECT * FROM pg_prepared_statements").fetchall()
        assert bool(prepared) is not is_pooled


def test_the_servers_own_address_needs_no_second_connection(postgres_address, monkeypatch):
    def connected() -> psycopg.Connection:
        raise AssertionError("a second connection was made")

    with connect(postgres_address) as connection:
        postgres_sessions.refuse_shared_sessions(connection, "", connected)


# A server whom nobody checks.


def addresses_of_this_machine() -> list[str]:
    """Addresses of this machine that are not its loopback; no packet is sent."""
    found = []
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect(("192.0.2.1", 9))
            found = [probe.getsockname()[0]]
        except OSError:
            pass
    return [address for address in found if postgres_sessions.is_remote(address)]


@pytest.fixture(scope="module")
def remote(postgres_installed: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[PostgresServer, str]]:
    """A server with TLS that is reached by an address of this machine that is not its loopback; its certificate."""
    found = addresses_of_this_machine()
    if not found:
        pytest.skip("this machine has no address but its loopback")
    with certificate(found[0], "127.0.0.1") as files:
        settings = {"ssl": "on", "ssl_cert_file": files.certificate, "ssl_key_file": files.key}
        with PostgresServer(durable=True, listen_addresses=f"127.0.0.1,{found[0]}", **settings) as server:
            hba = server.directory / "data" / "pg_hba.conf"
            hba.write_text(f"{hba.read_text()}\nhost all all {found[0]}/32 scram-sha-256\n")
            give_to_server(hba)
            with psycopg.connect(server.superuser_url, autocommit=True) as connection:
                connection.execute("SELECT pg_reload_conf()")
            PostgresLedger.create(server.owner_url, role=SERVICE, steward=STEWARD)
            yield server, server.service_url.replace("127.0.0.1", found[0]) + f"?sslrootcert={files.certificate}"


def warnings_of(caplog: pytest.LogCaptureFixture, address: str) -> list[str]:
    """What is logged while a ledger is opened and used on several connections."""
    caplog.clear()
    with PostgresLedger(address) as ledger:
        gate = threading.Barrier(2)
        threads = [threading.Thread(target=lambda: ledger._store.look(lambda _: gate.wait(10))) for _ in range(2)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert all(record.name == "discreet" for record in caplog.records)
    return [record.getMessage() for record in caplog.records if record.levelno == logging.WARNING]


@pytest.mark.parametrize("mode", ["disable", "allow", "prefer", "require", "verify-ca", None])
def test_a_server_on_another_machine_that_is_not_checked_is_warned_of_once(remote, caplog, mode):
    server, address = remote
    if mode in ("require", None):  # a file of authorities makes verify-ca of require
        address = address.partition("?")[0]
        address += "?sslmode=require" if mode else ""
    else:
        address += f"&sslmode={mode}"
    (warning,) = warnings_of(caplog, address)
    assert warning == postgres_sessions.UNCHECKED % ("the ledger's database", mode or "prefer")
    password = re.search(r":(\w{32})@", server.service_url)[1]
    assert not any(part in warning for part in (password, address, address.split("@")[1].split(":")[0]))


def test_each_server_of_an_address_is_warned_of_when_it_is_reached(remote, caplog):
    """The first connection goes to this machine, and a later one over the network."""
    server, _ = remote
    (other,) = addresses_of_this_machine()
    port = server.port
    with socket.create_server(("127.0.0.1", 0)) as gate:
        near = gate.getsockname()[1]
        address = re.sub(r"@.*?/", f"@127.0.0.1:{near},{other}:{port}/", server.service_url) + "?sslmode=disable"
        forwarding = threading.Thread(target=forward_once, args=(gate, port), daemon=True)
        forwarding.start()
        with PostgresLedger(address) as ledger:
            assert caplog.records == []
            gate.close()
            for connection in ledger._store._idle:
                connection.close()
            assert ledger.datasets() == []
    assert [record.getMessage() for record in caplog.records if record.levelno == logging.WARNING] == [
        postgres_sessions.UNCHECKED % ("the ledger's database", "disable")
    ]


def forward_once(gate: socket.socket, port: int) -> None:
    """Pass on what one client and a server of this machine say to each other."""
    client, _ = gate.accept()
    with client, socket.create_connection(("127.0.0.1", port)) as server:
        while ready := select.select([client, server], [], [])[0]:
            for side in ready:
                words = side.recv(65536)
                if not words:
                    return
                (server if side is client else client).sendall(words)


def test_a_server_that_is_checked_is_not_warned_of(remote, caplog):
    assert warnings_of(caplog, remote[1] + "&sslmode=verify-full") == []


def test_the_mode_of_the_environment_counts(remote, caplog, monkeypatch):
    monkeypatch.setenv("PGSSLMODE", "verify-full")
    assert warnings_of(caplog, remote[1]) == []


def test_the_loopback_and_unix_sockets_are_not_warned_of(ledger_server, postgres_address, caplog):
    assert warnings_of(caplog, postgres_address) == []
    socket_address = re.sub(r"@.*/", "@/", postgres_address)
    socket_address += f"?host={ledger_server.directory}&port={ledger_server.port}"
    with connect(socket_address) as connection:
        postgres_sessions.warn_of_unchecked_server(connection)
    assert caplog.records == []


REMOTE = {
    "": False,
    "127.0.0.1": False,
    "127.8.0.1": False,
    "::1": False,
    "::ffff:127.0.0.1": False,
    "10.0.0.1": True,
    "192.0.2.7": True,
    "::ffff:10.0.0.1": True,
    "fe80::1%eth0": True,
    "2001:db8::1": True,
}


@over("address", REMOTE)
def test_an_address_is_remote_unless_it_is_of_the_loopback(address):
    assert postgres_sessions.is_remote(address) is REMOTE[address]
