import os
import shutil
import sqlite3
import stat
import subprocess
import sys
import tempfile
import threading
from contextlib import closing
from pathlib import Path

import pytest

from discreet.accounting.costs import NOTHING
from discreet.errors import LedgerError
from discreet.ledger import SQLiteLedger
from discreet.ledger.records import faults

GOLDEN = Path(__file__).parents[2] / "golden" / "ledger" / "v2.sqlite"
PROGRAM = Path(__file__).parents[1] / "faulty_world.py"
NOBODY = 65534


def _run(act: str, *arguments: object, **environment: str) -> str:
    command = [sys.executable, str(PROGRAM), act, *map(str, arguments)]
    world = os.environ | environment
    return subprocess.run(command, check=True, capture_output=True, text=True, timeout=60, env=world).stdout.strip()


def _settings(path: Path) -> dict[str, object]:
    with SQLiteLedger(path) as ledger, ledger._store._begin("BEGIN") as connection:
        names = ("journal_mode", "synchronous", "foreign_keys", "busy_timeout", "trusted_schema")
        return {name: connection.execute(f"PRAGMA {name}").fetchone()[0] for name in names}


def test_commits_are_durable_and_references_hold(path):
    expected = {"journal_mode": "wal", "synchronous": 2, "foreign_keys": 1, "busy_timeout": 60_000, "trusted_schema": 0}
    assert _settings(path) == expected


@pytest.mark.skipif(os.name != "posix", reason="modes are those of POSIX")
def test_only_the_owner_can_read_a_ledger(path, dataset):
    with SQLiteLedger(path) as ledger:
        ledger.register(dataset())
        modes = {stat.S_IMODE(file.stat().st_mode) for file in path.parent.iterdir()}
    assert modes == {0o600}


def test_a_closed_ledger_is_one_file(path, dataset):
    with SQLiteLedger(path) as ledger:
        ledger.register(dataset())
    assert [file.name for file in path.parent.iterdir()] == [path.name]


def test_a_ledger_made_by_many_threads_at_once_is_one_ledger(path, dataset, charge):
    gate = threading.Barrier(8)

    def open_and_charge() -> None:
        gate.wait()
        with SQLiteLedger(path) as ledger:
            ledger.register(dataset())
            charge(ledger)

    threads = [threading.Thread(target=open_and_charge) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    with SQLiteLedger(path) as ledger:
        assert ledger.spent("visits").epsilon == 8 * 10**11
        assert ledger.verify()


@pytest.mark.parametrize("content", [b"not a database" * 100, b"\x00" * 4096, b"SQLite format 3\x00" + b"\xff" * 5000])
def test_a_file_that_is_no_database_is_refused_and_left_alone(path, content):
    path.write_bytes(content)
    with pytest.raises(LedgerError) as caught:
        SQLiteLedger(path)
    assert str(caught.value) in (faults.FOREIGN, faults.DAMAGED)
    assert path.read_bytes() == content


def test_an_empty_file_is_never_taken_for_a_new_ledger(path):
    path.touch()
    with pytest.raises(LedgerError, match="is empty, which no ledger ever is"):
        SQLiteLedger(path)


def test_a_database_of_somebody_else_is_refused_and_left_alone(path):
    with closing(sqlite3.connect(path)) as other:
        other.execute("CREATE TABLE t (x)")
    before = path.read_bytes()
    with pytest.raises(LedgerError, match="not a ledger of discreet"):
        SQLiteLedger(path)
    assert path.read_bytes() == before


@pytest.mark.parametrize("kept", [100, 4096, 8192, 0.5])
def test_a_truncated_ledger_is_refused(path, kept):
    whole = GOLDEN.read_bytes()
    path.write_bytes(whole[: kept if isinstance(kept, int) else int(len(whole) * kept)])
    with pytest.raises(LedgerError) as caught:
        SQLiteLedger(path)
    assert str(caught.value) in (faults.FOREIGN, faults.DAMAGED)


@pytest.mark.parametrize("table", ["datasets", "events", "answers"])
def test_pages_that_rotted_are_found(path, table):
    shutil.copy(GOLDEN, path)
    SQLiteLedger(path).close()
    with closing(sqlite3.connect(path)) as raw:
        page = raw.execute("SELECT rootpage FROM sqlite_schema WHERE name = ?", (table,)).fetchone()[0]
    rotten = bytearray(path.read_bytes())
    rotten[4096 * (page - 1) : 4096 * page] = b"\xa5" * 4096
    path.write_bytes(rotten)
    with SQLiteLedger(path) as ledger:
        assert not ledger.verify()


def test_nothing_is_served_from_rotten_pages(path):
    shutil.copy(GOLDEN, path)
    SQLiteLedger(path).close()
    with closing(sqlite3.connect(path)) as raw:
        page = raw.execute("SELECT rootpage FROM sqlite_schema WHERE name = 'datasets'").fetchone()[0]
    rotten = bytearray(path.read_bytes())
    rotten[4096 * (page - 1) : 4096 * page] = b"\xa5" * 4096
    path.write_bytes(rotten)
    with SQLiteLedger(path) as ledger, pytest.raises(LedgerError, match="damaged"):
        ledger.datasets()


def test_a_directory_that_is_not_there_is_an_error_of_the_ledger(tmp_path):
    with pytest.raises(LedgerError, match="cannot be written"):
        SQLiteLedger(tmp_path / "missing" / "ledger.sqlite")


def test_a_path_that_is_a_directory_is_an_error_of_the_ledger(tmp_path):
    with pytest.raises(LedgerError, match="cannot be written"):
        SQLiteLedger(tmp_path)


def test_an_error_names_no_path_and_quotes_no_driver(tmp_path):
    with pytest.raises(LedgerError) as caught:
        SQLiteLedger(tmp_path / "missing" / "ledger.sqlite")
    assert str(tmp_path) not in str(caught.value)
    assert caught.value.__cause__ is None
    assert caught.value.__suppress_context__


@pytest.fixture
def home_of_nobody():
    """A home outside pytest's own private directory, for a process that gives up its rights."""
    home = Path(tempfile.mkdtemp())
    if os.geteuid() == 0:
        shutil.chown(home, NOBODY)
    yield str(home)
    shutil.rmtree(home)


@pytest.mark.skipif(os.name != "posix", reason="modes are those of POSIX")
@pytest.mark.parametrize("there", [True, False])
def test_a_read_only_directory_is_refused_before_data_is_read(tmp_path, home_of_nobody, there):
    """A real process without the right to write; a copy outside pytest's own private directory."""
    if there:
        shutil.copy(GOLDEN, tmp_path / "ledger.sqlite")
        (tmp_path / "ledger.sqlite").chmod(0o444)
    assert _run("read_only", tmp_path, DISCREET_HOME=home_of_nobody) == faults.UNWRITABLE


@pytest.mark.skipif(os.name != "posix", reason="limits are those of POSIX")
def test_a_full_disk_while_storing_keeps_the_charge_and_the_retry_works(path):
    assert _run("full_disk", path).splitlines() == [faults.FULL, "RESERVED", "100000000000", "1000000", "True"]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_parent_and_forked_child_charge_one_ledger_each_by_its_own_connection(path):
    assert _run("fork", path).splitlines() == ["300000000000", "True"]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_a_parent_that_closes_takes_nothing_from_its_forked_child(path):
    """A child that trusted inherited file locks would lose its log to the parent's last checkpoint."""
    assert _run("fork_and_close", path).splitlines() == ["3000000000000", "True"]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_a_fork_while_another_thread_charges_does_not_hang(path):
    assert _run("fork_amid_threads", path).splitlines() == ["True"]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_a_ledger_in_memory_does_not_follow_a_fork(path):
    assert _run("fork_in_memory") == faults.FORKED


def test_a_ledger_file_that_was_replaced_takes_no_charges(path, dataset, charge):
    with SQLiteLedger(path) as ledger:
        ledger.register(dataset())
        path.rename(path.with_name("moved.sqlite"))
        with pytest.raises(LedgerError, match="moved, deleted or replaced"):
            charge(ledger)
        shutil.copy(GOLDEN, path)
        with pytest.raises(LedgerError, match="moved, deleted or replaced"):
            charge(ledger)


def test_a_closed_ledger_says_so(path, dataset):
    ledger = SQLiteLedger(path)
    ledger.close()
    ledger.close()
    with pytest.raises(LedgerError, match="closed"):
        ledger.register(dataset())


def test_another_process_that_never_lets_go_ends_in_an_error_and_no_charge(path, dataset, charge):
    with SQLiteLedger(path) as ledger, closing(sqlite3.connect(path, isolation_level=None)) as other:
        ledger.register(dataset())
        ledger._store._connected.connection.execute("PRAGMA busy_timeout = 100")
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(LedgerError, match="nothing was charged by this call"):
            charge(ledger)
        other.execute("ROLLBACK")
        assert ledger.spent("visits").epsilon == 0


def test_reading_does_not_wait_for_a_writer(path, dataset):
    with SQLiteLedger(path) as ledger, closing(sqlite3.connect(path, isolation_level=None)) as other:
        ledger.register(dataset())
        ledger._store._connected.connection.execute("PRAGMA busy_timeout = 0")
        other.execute("BEGIN IMMEDIATE")
        assert ledger.spent("visits").epsilon == 0


def _interrupted(ledger: SQLiteLedger) -> None:
    with ledger._store._begin("BEGIN IMMEDIATE") as connection:
        connection.execute("UPDATE datasets SET spent_epsilon = 7, sequence = sequence + 1, head = 'x'")
        raise KeyboardInterrupt


def test_an_interrupt_inside_a_transaction_leaves_nothing_behind(path, dataset, charge):
    with SQLiteLedger(path) as ledger:
        ledger.register(dataset())
        with pytest.raises(KeyboardInterrupt):
            _interrupted(ledger)
        charge(ledger)
        assert ledger.spent("visits").epsilon == 10**11
        assert ledger.verify()


def test_a_ledger_under_two_hard_links_is_refused(path, dataset):
    with SQLiteLedger(path) as ledger:
        ledger.register(dataset())
    other = path.with_name("other.sqlite")
    os.link(path, other)
    for name in (path, other):
        with pytest.raises(LedgerError, match="second name") as refused:
            SQLiteLedger(name)
        assert refused.value.__traceback__ is not None  # what was opened for it is closed, even while the error is held
        open_files = [str(each.readlink()) for each in Path("/proc/self/fd").iterdir() if each.is_symlink()]
        assert not any(str(path.parent) in file for file in open_files)
    other.unlink()
    with SQLiteLedger(path) as ledger:
        assert ledger.spent("visits") == NOTHING
