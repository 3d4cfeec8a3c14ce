"""A ledger in a file moves to PostgreSQL with all that it holds; from then on the file accepts nothing."""

import json
import os
import re
import shutil
import signal
import sqlite3
import subprocess
import sys
from contextlib import ExitStack, closing
from pathlib import Path

import psycopg
import pytest

import discreet as dp
from discreet.errors import BudgetError, LedgerError, ParameterError
from discreet.ledger import PostgresLedger, Receipt, Signer, SQLiteLedger, State, move_to_postgres
from discreet.ledger.integrity import halts
from discreet.ledger.records import faults
from discreet.ledger.stores import sqlite_schema
from ledger.mover import MOVED_AFTER, STEPS
from processes import state, wait_for
from servers import OWNER, SERVICE, STEWARD, PostgresServer
from tampering import TABLES, new_database, tampering

PROGRAM = Path(__file__).with_name("mover.py")
MOVE = [sys.executable, PROGRAM, "move"]
GOLDEN = Path(__file__).parents[1] / "golden" / "ledger"
ROLES = {"role": SERVICE, "steward": STEWARD}
IN_POSTGRES = re.escape(faults.IN_POSTGRES)
ELSEWHERE = r"its file says that it moved to another one[\s\S]*which was postgresql://127\.0\.0\.1:\d+/\w+"
WHY = {"reason": "a test"}

pytestmark = pytest.mark.full


@pytest.fixture
def place(ledger_server, request):
    """A database without a ledger."""
    made = new_database(ledger_server, re.sub(r"\W+", "_", request.node.name)[-50:].lower())
    yield made
    drop(ledger_server, made)


@pytest.fixture
def filled(path, dataset, turn):
    """A ledger with an answer, a charge under way, a failure, a quota, another name, another release and a halt."""
    with SQLiteLedger(path) as ledger:
        ledger.register(dataset())
        ledger.register(dataset(name="stays", source="stays.csv"))
        ledger.answer(turn(ledger, question="aa", request="r-1"), b"12")
        turn(ledger, question="bb", analyst="bob")
        ledger.forfeit(turn(ledger, question="cc"), "test")
        ledger.set_quota("visits", "zoe", dp.Budget(epsilon=0.25), **WHY)
        ledger.rename("stays", "admissions", **WHY)
        ledger.add_other_release("visits", "ages in tens", kind="generalised", sha256="ab" * 32)
        halt = {"time": "", "finding": "a test", "dataset": "none"}
        for name, cleared in (("1", 3), ("2", None)):
            ledger._run(lambda writer, row=halt | {"id": name, "cleared": cleared}: writer.insert("halts", row))
    return path


@pytest.fixture
def second(ledger_server):
    """Another database without a ledger."""
    made = new_database(ledger_server, "second")
    yield made
    drop(ledger_server, made)


def drop(server, place) -> None:
    """Remove a database, so that the server has less to write before it stops."""
    with psycopg.connect(server.superuser_url, autocommit=True) as connection:
        connection.execute(f"DROP DATABASE {place.owner.rpartition('/')[2]} WITH (FORCE)".encode())


def has_ledger(place) -> bool:
    """Whether anything of a ledger is in a database."""
    with psycopg.connect(place.tamperer) as connection:
        return connection.execute("SELECT to_regnamespace('discreet') IS NOT NULL").fetchone()[0]


def rows(address: str) -> dict[str, list[tuple]]:
    """Everything that a ledger holds, in the order of its keys."""
    with tampering(address, is_kept=False) as hand:
        found = {table: hand.execute(f"SELECT * FROM {table} ORDER BY 1, 2") for table in TABLES if table != "ledger"}
        found["ledger"] = hand.execute("SELECT * FROM ledger")
    return {table: [tuple(row.values()) for row in each] for table, each in found.items()}


@pytest.mark.guarantee("ledger")
def test_every_row_is_kept_and_the_file_accepts_nothing_any_more(filled, place, charge, turn):
    with SQLiteLedger(filled) as running:
        spent = running.spent("visits")
        receipt = charge(running, question="dd")
        before = rows(str(filled))
        found = move_to_postgres(filled, place.owner, **ROLES)
        assert found, str(found)
        with pytest.raises(LedgerError, match=IN_POSTGRES):
            charge(running)
        with pytest.raises(LedgerError, match=IN_POSTGRES):
            running.answer(receipt, b"34")
    with pytest.raises(LedgerError, match=IN_POSTGRES):
        SQLiteLedger(filled)
    after = rows(place.tamperer)
    assert len(before["halts"]) == 2
    assert {table: each for table, each in after.items() if table != "schema_versions"} == {
        table: each for table, each in before.items() if table != "schema_versions"
    }
    with PostgresLedger(place.service) as ledger:
        assert ledger.spent("visits") == spent + receipt.cost
        assert turn(ledger, question="aa", request="r-1").payload == b"12"
        assert ledger.answer(receipt, b"34") == b"34"  # the charge under way is answered where the ledger is now
        assert ledger.share("visits", "zoe").quota.epsilon == 0.25
        assert ledger.spent("stays") == ledger.spent("admissions")
        assert len(ledger.other_releases("visits")) == 1
        charge(ledger, question="ee")
        assert ledger.verify(receipts=[receipt], full=True)


@pytest.mark.guarantee("ledger")
@pytest.mark.parametrize(
    ("setting", "sentence"), [("synchronous_commit = off", faults.UNSAFE), ("fsync = off", faults.UNSAFE)]
)
def test_a_move_to_a_server_that_would_lose_charges_changes_nothing(filled, setting, sentence, charge):
    """Neither the file, which goes on serving, nor the database."""
    name, _, value = setting.partition(" = ")
    with PostgresServer(durable=True, **{name: value}) as server:
        place = new_database(server, "unsafe")
        with pytest.raises(LedgerError, match=re.escape(sentence)):
            move_to_postgres(filled, place.owner, **ROLES)
        assert not has_ledger(place)
    with SQLiteLedger(filled) as ledger:
        assert charge(ledger).dataset == "visits"


def test_the_file_of_a_moved_ledger_is_one_of_a_newer_version_for_every_other_version_of_discreet(filled, place):
    move_to_postgres(filled, place.owner, **ROLES)
    with closing(sqlite3.connect(filled)) as raw:
        assert raw.execute("PRAGMA user_version").fetchone() == (sqlite_schema.MOVED,)
        assert raw.execute("SELECT max(version) FROM schema_versions").fetchone() == (sqlite_schema.MOVED,)


def test_a_session_goes_on_with_its_answers_and_its_budget(place, tmp_path):
    words = {"name": "visits", "privacy_unit": "patient_id", "max_rows": 3, "budget": dp.Budget(epsilon=1)}
    asked = dp.table("visits").agg(n=dp.count())
    with dp.protect(dp.datasets.visits(50), ledger=tmp_path / "own.sqlite", **words) as session:
        first = session.release(asked, epsilon=0.5)
    assert move_to_postgres(tmp_path / "own.sqlite", place.owner, **ROLES)
    with dp.protect(dp.datasets.visits(50), ledger=place.steward, **words) as session:
        assert session.release(asked, epsilon=0.5).receipt == first.receipt
        with pytest.raises(BudgetError):
            session.release(asked, epsilon=0.75)


@pytest.mark.guarantee("ledger")
@pytest.mark.parametrize("step", STEPS)
def test_a_move_that_was_killed_is_run_again_and_loses_nothing(filled, place, charge, step):
    done = subprocess.run([*MOVE, filled, place.owner, SERVICE, step], timeout=120, check=False)
    assert done.returncode == -signal.SIGKILL
    is_moved = list(STEPS).index(step) >= list(STEPS).index(MOVED_AFTER)
    if is_moved:
        with pytest.raises(LedgerError, match=IN_POSTGRES):
            SQLiteLedger(filled)
        with SQLiteLedger(_copy_from_before(filled)) as ledger:
            receipts = [entry for entry in ledger.history("visits") if entry.state is State.ANSWERED]
    else:
        with pytest.raises(LedgerError, match=re.escape(faults.NO_LEDGER)):
            PostgresLedger(place.owner, as_owner=True)
        with SQLiteLedger(filled) as ledger:
            charge(ledger, question="dd")
            receipts = [entry for entry in ledger.history("visits") if entry.state is State.ANSWERED]
    found = move_to_postgres(filled, place.owner, **ROLES)
    assert found, str(found)
    with PostgresLedger(place.service) as ledger:
        assert [each for each in ledger.history("visits") if each.state is State.ANSWERED] == receipts
        charge(ledger, question="ee")
    with pytest.raises(LedgerError, match=IN_POSTGRES):
        SQLiteLedger(filled)


def _copy_from_before(path: Path) -> Path:
    """The file without the record of its move, at another path, as a copy from before would be."""
    copied = path.with_name("copy.sqlite")
    with closing(sqlite3.connect(path)) as raw, closing(sqlite3.connect(copied)) as copy:
        raw.backup(copy)
        for (trigger,) in copy.execute(
            "SELECT name FROM sqlite_schema WHERE name LIKE '%!_moved!_%' ESCAPE '!'"
        ).fetchall():
            copy.execute(f"DROP TRIGGER {trigger}")
        copy.execute("DROP TRIGGER schema_versions_never_vanish")
        copy.execute("DELETE FROM schema_versions WHERE version = ?", (sqlite_schema.MOVED,))
        copy.execute(f"PRAGMA user_version = {sqlite_schema.VERSION}")
        copy.commit()
    return copied


@pytest.mark.guarantee("ledger")
def test_what_is_acknowledged_to_processes_that_charge_during_the_move_is_there_after_it(
    path, place, dataset, tmp_path
):
    with SQLiteLedger(path) as ledger:
        ledger.register(dataset())
    files = [tmp_path / name for name in ("ann", "bob", "zoe")]
    clients = []
    with ExitStack() as running:
        for file in files:
            told = running.enter_context(file.open("w"))
            command = [sys.executable, PROGRAM, "charge", path, file.name]
            clients.append(running.enter_context(subprocess.Popen(command, stdout=told)))
            running.callback(clients[-1].kill)
        wait_for(lambda: all(file.stat().st_size for file in files), 60, lambda: "nobody charges")
        assert move_to_postgres(path, place.owner, **ROLES)
        for client in clients:
            client.wait(60)
    lines = [line for file in files for line in file.read_text().splitlines()]
    receipts = [Receipt.from_json(json.loads(line)) for line in lines if line != faults.IN_POSTGRES]
    assert len(lines) == len(receipts) + 3
    with PostgresLedger(place.service) as ledger:
        assert ledger.verify(receipts=receipts, full=True)
        assert {ledger.state(receipt) for receipt in receipts} == {State.ANSWERED}
        assert ledger.spent("visits").epsilon >= sum(receipt.cost.epsilon for receipt in receipts)


@pytest.mark.pitfall("B18")
def test_a_copy_from_before_the_move_is_behind_the_anchors_of_the_ledger(filled, place, charge):
    shutil.copy(filled, filled.with_name("before.sqlite"))
    move_to_postgres(filled, place.owner, **ROLES)
    with PostgresLedger(place.service) as ledger:
        charge(ledger, question="dd")
        ledger.anchor()
    with (
        SQLiteLedger(filled.with_name("before.sqlite")) as copy,
        pytest.raises(LedgerError, match="behind its anchors"),
    ):
        charge(copy)


@pytest.mark.parametrize("version", [1, 2, 3, 4])
def test_a_file_of_every_version_moves(version, path, place, turn):
    shutil.copy(GOLDEN / f"v{version}.sqlite", path)
    with SQLiteLedger(path) as ledger:
        ledger.take_over(reason="its anchors are lost")
        ledger.anchor()
    found = move_to_postgres(path, place.owner, **ROLES)
    assert found, str(found)
    with PostgresLedger(place.service) as ledger:
        turn(ledger, question="0b", version=2, analyst="zoe")
        assert ledger.verify(full=True)


# What is refused, before anything was changed.


def test_a_ledger_with_findings_is_not_moved(filled, place):
    with tampering(str(filled)) as hand:
        hand.execute("UPDATE events SET cost_rho = 1 WHERE dataset = 'visits' AND sequence = 2")
    with pytest.raises(ParameterError, match="what is moved has to be in order"):
        move_to_postgres(filled, place.owner, **ROLES)
    assert sqlite3.connect(filled).execute("PRAGMA user_version").fetchone() == (sqlite_schema.VERSION,)


def test_a_ledger_with_a_stopped_dataset_is_not_moved(filled, place):
    with SQLiteLedger(filled) as ledger:
        halts.halt_after_lost_anchors(ledger._commit)
    with pytest.raises(ParameterError, match="in order: every dataset is stopped since"):
        move_to_postgres(filled, place.owner, **ROLES)


def test_a_database_with_a_ledger_takes_no_other_one(filled, place, charge):
    PostgresLedger.create(place.owner, **ROLES)
    with pytest.raises(ParameterError, match="two ledgers are never made one"):
        move_to_postgres(filled, place.owner, **ROLES)
    with SQLiteLedger(filled) as ledger:
        charge(ledger, question="dd")


def test_a_moved_ledger_moves_to_no_second_database(filled, place, second):
    move_to_postgres(filled, place.owner, **ROLES)
    with pytest.raises(ParameterError, match=ELSEWHERE):
        move_to_postgres(filled, second.owner, **ROLES)
    assert not has_ledger(second)


@pytest.mark.guarantee("ledger")
@pytest.mark.pitfall("B18")
def test_of_two_moves_at_once_to_two_databases_the_later_one_is_refused(filled, place, second, charge):
    command = [sys.executable, PROGRAM, "pause", filled, second.owner, SERVICE, "before the copy"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as late:
        try:
            wait_for(lambda: state(late.pid) == "T", 60, lambda: "the move does not stop at its step")
            assert move_to_postgres(filled, place.owner, **ROLES)
            late.send_signal(signal.SIGCONT)
            said, _ = late.communicate(timeout=120)
        finally:
            late.kill()
    assert late.returncode == 3
    assert re.search(ELSEWHERE, said)
    assert not has_ledger(second)
    with PostgresLedger(place.service) as ledger:
        charge(ledger, question="dd")


def test_two_moves_at_once_to_one_database_make_one_ledger(filled, place, at_once, charge):
    assert all(at_once(*[lambda: move_to_postgres(filled, place.owner, **ROLES)] * 2))
    with PostgresLedger(place.service) as ledger:
        charge(ledger, question="dd")


@pytest.mark.guarantee("ledger")
@pytest.mark.parametrize("step", ["between two tables", "before the file's COMMIT", MOVED_AFTER])
def test_a_move_that_was_killed_goes_to_another_database_only_if_the_file_names_none(
    filled, place, second, charge, step
):
    subprocess.run([*MOVE, filled, place.owner, SERVICE, step], timeout=120, check=False)
    if list(STEPS).index(step) < list(STEPS).index(MOVED_AFTER):
        assert move_to_postgres(filled, second.owner, **ROLES)
        serves, refused = second, place
    else:
        serves, refused = place, second
    with pytest.raises(ParameterError, match=ELSEWHERE):
        move_to_postgres(filled, refused.owner, **ROLES)
    assert move_to_postgres(filled, serves.owner, **ROLES)
    assert not has_ledger(refused)
    with PostgresLedger(serves.service) as ledger:
        charge(ledger, question="dd")


def test_a_database_that_was_restored_with_a_copy_of_the_ledger_takes_it_no_second_time(filled, place, charge):
    copied = filled.with_name("copy.sqlite")
    shutil.copy(filled, copied)
    move_to_postgres(filled, place.owner, **ROLES)
    with pytest.raises(ParameterError, match="two ledgers are never made one"):
        move_to_postgres(copied, place.owner, **ROLES)


def test_a_path_without_a_file_makes_no_ledger(path, place):
    with pytest.raises(ParameterError, match="no file at that path"):
        move_to_postgres(path, place.owner, **ROLES)
    assert not path.exists()


def test_a_role_that_does_not_own_the_database_leaves_the_file_as_it_was(filled, place, charge):
    with pytest.raises(LedgerError, match=re.escape(faults.NO_RIGHTS)):
        move_to_postgres(filled, place.service, role=STEWARD)
    with SQLiteLedger(filled) as ledger:
        charge(ledger, question="dd")


def test_a_database_that_refuses_the_schema_leaves_the_file_as_it_was(filled, place, charge):
    with psycopg.connect(place.tamperer, autocommit=True) as connection:
        connection.execute("CREATE SCHEMA discreet")
    with pytest.raises(LedgerError, match=r"[(]SQLSTATE 42P06[)]"):
        move_to_postgres(filled, place.owner, **ROLES)
    with SQLiteLedger(filled) as ledger:
        charge(ledger, question="dd")


@pytest.mark.pitfall("B18")
def test_a_ledger_moves_not_into_the_database_of_its_shared_anchors(filled, place, charge, monkeypatch):
    monkeypatch.setenv("DISCREET_ANCHORS", place.owner)
    with SQLiteLedger(filled) as ledger:
        ledger.share_anchors(place.owner, **WHY)
    with pytest.raises(LedgerError, match=re.escape(faults.DATABASE_OF_ANCHORS)):
        move_to_postgres(filled, place.owner, **ROLES)
    assert not has_ledger(place)
    with SQLiteLedger(filled) as ledger:
        charge(ledger, question="dd")


@pytest.mark.pitfall("B18")
def test_a_ledger_that_moved_shares_its_anchors_not_in_its_own_database(filled, place, charge):
    move_to_postgres(filled, place.owner, **ROLES)
    with PostgresLedger(place.owner, as_owner=True) as ledger:
        with pytest.raises(LedgerError, match=re.escape(faults.SAME_DATABASE)):
            ledger.share_anchors(place.owner, **WHY)
        assert ledger.shared_anchors_place is None
    with psycopg.connect(place.tamperer) as connection:
        assert connection.execute("SELECT to_regnamespace('discreet_anchors') IS NULL").fetchone() == (True,)


# Who moves it.

NO_KEY = "does not list the signing key of this process"
NO_ANCHORS = "finds no anchor of it, at home or shared"


@pytest.fixture
def elsewhere(tmp_path, monkeypatch):
    """Another home, which never saw the ledger."""
    home = tmp_path / "elsewhere"
    home.mkdir(mode=0o700)
    monkeypatch.setenv("DISCREET_HOME", str(home))
    return home


@pytest.mark.guarantee("ledger")
@pytest.mark.pitfall("B18")
def test_a_process_with_another_home_moves_no_copy_of_the_file(filled, place, charge, elsewhere, discreet_home):
    copied = filled.with_name("copy.sqlite")
    shutil.copy(filled, copied)
    with pytest.raises(ParameterError, match=NO_KEY) as caught:
        move_to_postgres(copied, place.owner, **ROLES)
    assert "DISCREET_HOME" in caught.value.instead
    key = discreet_home / "signing.key"
    with pytest.raises(ParameterError, match=NO_ANCHORS) as caught:
        move_to_postgres(copied, place.owner, **ROLES, key=key)
    assert "discreet ledger anchor" in caught.value.instead
    assert not has_ledger(place)
    assert move_to_postgres(filled, place.owner, **ROLES, key=key, anchors=discreet_home / "anchors")


def test_a_process_whose_anchors_are_lost_says_that_this_is_the_newest_copy(filled, place, elsewhere, discreet_home):
    key = discreet_home / "signing.key"
    with SQLiteLedger(filled, key=key) as ledger:
        ledger.anchor()
    assert move_to_postgres(filled, place.owner, **ROLES, key=key)


@pytest.mark.pitfall("B18")
def test_a_listed_key_with_an_empty_home_moves_by_the_shared_anchors_alone(filled, place, tmp_path, elsewhere):
    def move():
        return move_to_postgres(filled, place.owner, **ROLES)

    shared, own = tmp_path / "shared", Path(os.environ["DISCREET_HOME"])
    owner = {"key": own.parent / "owner.key", "anchors": own.parent / "owner"}
    with SQLiteLedger(filled, **owner) as ledger:
        ledger.take_over(**WHY)
        ledger.share_anchors(shared, **WHY)
        ledger.list_key(Signer.at(own / "signing.key").public, name="mover", **WHY)
    shared.rename(tmp_path / "unmounted")
    with pytest.raises(LedgerError, match=re.escape(faults.NO_ANCHOR_DIRECTORY)):
        move()
    (tmp_path / "unmounted").rename(shared)
    assert move()


@pytest.mark.pitfall("B18")
def test_a_move_that_was_killed_is_run_again_by_no_other_home(filled, place, monkeypatch, tmp_path):
    subprocess.run([*MOVE, filled, place.owner, SERVICE, MOVED_AFTER], timeout=120, check=False)
    (tmp_path / "other").mkdir(mode=0o700)
    with monkeypatch.context() as another:
        another.setenv("DISCREET_HOME", str(tmp_path / "other"))
        with pytest.raises(ParameterError, match=NO_KEY):
            move_to_postgres(filled, place.owner, **ROLES)
    assert not has_ledger(place)
    assert move_to_postgres(filled, place.owner, **ROLES)


@pytest.mark.guarantee("ledger")
@pytest.mark.pitfall("B18")
def test_a_file_that_moved_takes_not_the_place_of_its_ledger_that_was_lost_since(filled, place, charge):
    move_to_postgres(filled, place.owner, **ROLES)
    with PostgresLedger(place.service) as ledger:
        charge(ledger, question="dd")
        ledger.anchor()
    with psycopg.connect(place.tamperer, autocommit=True) as connection:
        connection.execute("DROP SCHEMA discreet CASCADE")
    with pytest.raises(ParameterError, match="it is an older copy"):
        move_to_postgres(filled, place.owner, **ROLES)
    assert not has_ledger(place)


def test_an_empty_ledger_is_made_anew_and_not_moved(path, place):
    SQLiteLedger(path).close()
    with pytest.raises(ParameterError, match="there is nothing to move") as caught:
        move_to_postgres(path, place.owner, **ROLES)
    assert "discreet ledger create" in caught.value.instead


@pytest.mark.parametrize("sentence", [faults.IN_POSTGRES, faults.NO_LEDGER])
def test_what_a_killed_move_leaves_says_how_it_is_run_again(sentence):
    assert "interrupted" in sentence
    assert "discreet ledger move ADDRESS --role NAME --ledger FILE" in sentence


def test_an_address_as_the_source_is_refused_before_anything_is_reached():
    with pytest.raises(ParameterError, match="only a ledger in a SQLite file is moved"):
        move_to_postgres("postgresql://steward@db.example.org/ledger", "postgresql://owner@db.example.org/x", **ROLES)


@pytest.mark.parametrize(
    ("roles", "because"),
    [
        ({"role": "nobody_of_this_name"}, "has no such role"),
        ({"role": OWNER}, "the owner's own role"),
        ({"role": SERVICE, "steward": SERVICE}, "a role that charges must not raise a budget"),
    ],
)
def test_roles_that_a_ledger_cannot_have_leave_the_file_as_it_was(filled, place, charge, roles, because):
    with pytest.raises(ParameterError, match=because):
        move_to_postgres(filled, place.owner, **roles)
    with SQLiteLedger(filled) as ledger:
        charge(ledger, question="dd")
