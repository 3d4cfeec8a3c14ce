"""A store of anchors in a database: why it cannot be used, without a password in any message, and never for long."""

import logging
import os
import re
import signal
import time
from contextlib import ExitStack, closing

import psycopg
import pytest

from discreet.errors import LedgerError
from discreet.ledger import SQLiteLedger
from discreet.ledger.integrity.shared_anchors import store_document
from discreet.ledger.records import faults
from discreet.ledger.stores import anchor_database, postgres_errors, postgres_sessions
from discreet.ledger.stores.anchor_database import AnchorDatabase
from servers import SERVICE, PostgresServer

LEDGER, STORE = "ab" * 16, "cd" * 16


def test_a_server_that_is_not_there_cannot_be_reached():
    gone = AnchorDatabase("postgresql://ann:s3cret@127.0.0.1:1/anchors", LEDGER)
    with pytest.raises(LedgerError) as caught:
        gone.identity()
    assert str(caught.value) == faults.of_anchor_database(faults.NOT_LISTENING)
    assert caught.value.__context__ is None or "s3cret" not in str(caught.value.__context__)


def test_causes_are_told_apart_and_no_password_is_repeated(anchor_database, caplog):
    """As for the ledger's own database."""
    service = anchor_database.service
    role, rest = service.removeprefix("postgresql://").partition("@")[::2]
    user, secret = role.split(":")
    causes = {
        f"postgresql://{user}:wr0ng@{rest}": faults.NOT_AUTHENTICATED,
        f"postgresql://nobody:{secret}@{rest}": faults.NOT_AUTHENTICATED,
        f"postgresql://{role}@{rest.rpartition('/')[0]}/none": faults.NO_DATABASE,
        f"postgresql://{role}@no.such.host.invalid/anchors": faults.UNKNOWN_HOST,
        f"{service}?sslmode=bogus": faults.BAD_ADDRESS,
    }
    for address, cause in causes.items():
        with closing(AnchorDatabase(address, LEDGER)) as store, pytest.raises(LedgerError) as caught:
            store.identity()
        assert str(caught.value) == faults.of_anchor_database(cause)
        assert str(caught.value) in faults.UNREACHABLE_ANCHORS
        assert caught.value.__context__ is None
        assert caught.value.__cause__ is None
        assert secret not in caplog.text + str(caught.value)


def test_a_role_without_rights_is_told_so(anchor_database):
    with closing(AnchorDatabase(anchor_database.tamperer, LEDGER)) as store:
        store.create(store_document(LEDGER, STORE))
    with psycopg.connect(anchor_database.tamperer, autocommit=True) as connection:
        connection.execute("REVOKE ALL ON discreet_anchors.documents FROM PUBLIC")
        connection.execute(f"REVOKE ALL ON discreet_anchors.documents FROM {SERVICE}".encode())
    with closing(AnchorDatabase(anchor_database.service, LEDGER)) as other, pytest.raises(LedgerError) as caught:
        other.identity()
    assert str(caught.value) == faults.of_anchor_database(faults.NO_RIGHTS)


def test_anchors_that_a_crash_would_lose_are_a_problem_of_their_own_database(anchor_database, path):
    database = anchor_database.service.rpartition("/")[2]
    setting = f"ALTER ROLE {SERVICE} IN DATABASE {database} %s"
    with SQLiteLedger(path) as ledger:
        ledger.share_anchors(anchor_database.tamperer, reason="a test")
    with psycopg.connect(anchor_database.tamperer, autocommit=True) as connection:
        connection.execute((setting % "SET synchronous_commit = off").encode())
    sentence = faults.of_anchor_database(faults.UNSAFE)
    assert sentence != faults.of_anchor_database(faults.NOT_CONNECTED)
    with closing(AnchorDatabase(anchor_database.service, LEDGER)) as store, pytest.raises(LedgerError) as caught:
        store.identity()
    assert str(caught.value) == sentence
    with SQLiteLedger(path, shared_anchors=anchor_database.service) as ledger:
        assert [(each.kind, each.what) for each in ledger.health().problems] == [("keys", sentence)]
        with pytest.raises(LedgerError, match=re.escape(sentence)):
            ledger.anchor()


@pytest.mark.guarantee("ledger")
def test_a_server_that_hangs_is_given_up(monkeypatch):
    monkeypatch.setattr(anchor_database, "STATEMENT_SECONDS", 1.0)
    monkeypatch.setattr(postgres_errors, "CONNECT_SECONDS", 2)
    with PostgresServer(durable=True) as server, ExitStack() as closed:
        store = closed.enter_context(closing(AnchorDatabase(server.superuser_url, LEDGER)))
        store.create(store_document(LEDGER, STORE))
        backend, first = store._connection.info.backend_pid, server.pid
        for pid in (backend, first):
            os.kill(pid, signal.SIGSTOP)
        try:
            for _ in range(2):  # an open connection, then one that is not made
                began = time.monotonic()
                with pytest.raises(LedgerError) as caught:
                    store.mark()
                assert str(caught.value) == faults.of_anchor_database(faults.NO_REPLY)
                assert time.monotonic() - began < 10
        finally:
            for pid in (backend, first):
                os.kill(pid, signal.SIGCONT)
        assert store.identity() == store_document(LEDGER, STORE)


def test_a_server_on_another_machine_whose_identity_is_not_checked_is_warned_of(anchor_database, monkeypatch, caplog):
    monkeypatch.setattr(postgres_sessions, "is_remote", lambda _: True)
    with caplog.at_level(logging.WARNING), closing(AnchorDatabase(anchor_database.service, LEDGER)) as store:
        store.identity()
    assert "the database of the ledger's shared anchors is on another machine" in caplog.text
