"""A charge is never written to a write-ahead log that has lost its place, whatever this process does to the file."""

import hashlib
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from contextlib import closing, suppress
from pathlib import Path

import pytest

import discreet as dp
from discreet.engines.backends.sqlite import is_source
from discreet.errors import DiscreetError, LedgerError
from discreet.ledger import SQLiteLedger
from discreet.ledger.records import faults
from discreet.ledger.stores.sqlite_file import LedgerFile
from discreet.ledger.transactions.store import UnknownOutcomeError

PROGRAMS = str(Path(__file__).parents[1])
linux = pytest.mark.skipif(sys.platform != "linux", reason="locks of open file descriptions are Linux's")

OPENS_AND_CLOSES = "SQLiteLedger(path).close()"
CHARGES = """
with SQLiteLedger(path) as ledger:
    charge(ledger, Fraction(sys.argv[2]))
"""
WITHOUT_OWN_LOCKS = """
import os, sys
from discreet.ledger.stores import sqlite_file
sqlite_file._lacking_locks.add(os.stat(os.path.dirname(sys.argv[1])).st_dev)
"""


def run(code: str, path: Path, *arguments: object) -> str:
    """What another process prints that runs the code on a ledger."""
    start = f"""
import shutil, subprocess, sys
from fractions import Fraction
from pathlib import Path
sys.path.insert(0, {PROGRAMS!r})
from discreet.errors import DiscreetError
from discreet.ledger import SQLiteLedger
from faulty_world import charge, registered
path = sys.argv[1]
"""
    command = [sys.executable, "-c", start + code, str(path), *map(str, arguments)]
    done = subprocess.run(command, check=False, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def log_of(path: Path) -> Path:
    return path.with_name(f"{path.name}-wal")


def copied(path: Path) -> None:
    shutil.copy(path, path.with_name("copy.sqlite"))


def hashed(path: Path) -> None:
    hashlib.sha256(path.read_bytes()).digest()


def protected(path: Path) -> None:
    with suppress(DiscreetError):
        dp.protect(str(path), name="x", privacy_unit=dp.ROW, budget=dp.Budget(epsilon=1), ledger=":memory:")


@linux
@pytest.mark.guarantee("ledger")
@pytest.mark.parametrize("read", [copied, hashed, protected])
def test_a_process_that_reads_the_file_of_its_ledger_keeps_the_log_in_its_place(
    path, dataset, charge, read: Callable[[Path], None]
):
    with SQLiteLedger(path) as ledger:
        ledger.register(dataset())
        before = log_of(path).stat().st_ino
        read(path)
        run(OPENS_AND_CLOSES, path)
        with pytest.raises(sqlite3.OperationalError, match="locked"):
            run_in_sqlite(path, "PRAGMA journal_mode = DELETE")
        assert log_of(path).stat().st_ino == before
        charge(ledger)
        spent = ledger.spent("visits")
        run(CHARGES, path, "1/10")
        assert ledger.spent("visits").epsilon == spent.epsilon + 10**11
        assert ledger.verify()
    assert not log_of(path).exists()


def run_in_sqlite(path: Path, statement: str) -> None:
    """A program that is not discreet and knows SQLite's locks alone."""
    with closing(sqlite3.connect(path, timeout=0, isolation_level=None)) as other:
        other.execute(statement)


@linux
def test_of_two_ledgers_on_one_file_the_last_to_close_folds_the_log(path, dataset, charge):
    first, second = SQLiteLedger(path), SQLiteLedger(path)
    first.register(dataset())
    first.close()
    copied(path)
    run(OPENS_AND_CLOSES, path)
    charge(second)
    assert log_of(path).exists()
    second.close()
    assert not log_of(path).exists()
    with SQLiteLedger(path) as ledger:
        assert ledger.spent("visits").epsilon == 10**11


@pytest.mark.guarantee("ledger")
def test_a_log_that_was_deleted_takes_no_charge_and_gives_no_total(path, dataset, charge):
    with SQLiteLedger(path) as ledger, SQLiteLedger(path) as second:
        ledger.register(dataset())
        log_of(path).unlink()
        for act in (lambda: charge(ledger), lambda: ledger.spent("visits"), lambda: second.spent("visits")):
            with pytest.raises(LedgerError) as caught:
                act()
            assert str(caught.value) == faults.LOST_LOG
        with pytest.raises(LedgerError) as caught:  # SQLite would read a new log by the index of the lost one
            SQLiteLedger(path)
        assert str(caught.value) == faults.LOST_LOG


@pytest.mark.guarantee("ledger")
def test_a_log_that_is_deleted_while_a_charge_commits_acknowledges_nothing(path, dataset, charge):
    with SQLiteLedger(path) as ledger:
        ledger.register(dataset())
        with pytest.raises(UnknownOutcomeError):
            ledger._store.run(lambda _: log_of(path).unlink())
        with pytest.raises(LedgerError) as caught:
            charge(ledger)
        assert str(caught.value) == faults.LOST_LOG


LOSES_ITS_LOG = """
ledger = registered(path)
shutil.copy(path, path + ".copy")
ledger._store._connected.connection.execute("PRAGMA wal_checkpoint")
for name in ("-wal", "-shm"):
    Path(path + name).unlink()
ledger._store._connected.connection.execute("INSERT INTO halts VALUES ('lost', 'visits', 'now', 'a test', NULL)")
other = [sys.executable, "-c", sys.argv[2], path, "1/2"]
subprocess.run(other, check=True)
try:
    charge(ledger, Fraction(9, 10))
except DiscreetError as error:
    print(error)
ledger.close()
"""


def test_a_lost_log_is_not_folded_over_what_others_have_written_since(path):
    """SQLite folds its log into the file on any close, also at the end of a process.

    Its files are deleted as another last user deletes them, and the last commit to the lost log is not checked.
    """
    other = f"""
import sys
from fractions import Fraction
sys.path.insert(0, {PROGRAMS!r})
from discreet.ledger import SQLiteLedger
from faulty_world import charge
with SQLiteLedger(sys.argv[1]) as ledger:
    charge(ledger, Fraction(sys.argv[2]))
"""
    assert run(LOSES_ITS_LOG, path, other) == faults.LOST_LOG
    with SQLiteLedger(path) as ledger:
        assert ledger.spent("visits").epsilon == 5 * 10**11
        assert ledger.verify(full=True)
        assert ledger._store.ask(("SELECT id FROM halts", {})) == []


@pytest.mark.parametrize("is_another_in_its_place", [True, False])
def test_a_file_that_was_set_aside_deletes_nothing_of_the_one_in_its_place(
    path, dataset, charge, tmp_path_factory, is_another_in_its_place
):
    """As in a restore, but for a process that was forgotten: SQLite deletes a log by its name."""
    aside = tmp_path_factory.mktemp("aside")
    first = SQLiteLedger(path)
    first.register(dataset())
    charge(first)
    first.backup(aside / "backup.sqlite")
    for file in (path, log_of(path), path.with_name(f"{path.name}-shm")):
        file.rename(aside / file.name)
    if not is_another_in_its_place:
        first.close()
        assert not any(path.parent.iterdir())
        return
    shutil.copy(aside / "backup.sqlite", path)
    with SQLiteLedger(path) as second:
        charge(second)
        first.close()
        assert log_of(path).exists()
        charge(second)
        assert second.spent("visits").epsilon == 3 * 10**11


WITHOUT_SUCH_LOCKS = """
ledger = registered(path)
charge(ledger, Fraction(1, 10))
if sys.argv[3] == "copy":
    shutil.copy(path, path + ".copy")
else:
    from discreet.engines.backends import sqlite
    print(sqlite.is_source(path))
subprocess.run([sys.executable, "-c", sys.argv[2], path], check=True)
try:
    charge(ledger, Fraction(8, 10))
    print("charged")
except DiscreetError as error:
    print(error)
"""


@pytest.mark.parametrize(("how", "printed"), [("copy", faults.LOST_LOG), ("source", "True\ncharged")])
def test_where_no_such_locks_exist_a_lost_log_is_noticed_and_discreet_itself_loses_none(path, how, printed):
    other = "import sys; from discreet.ledger import SQLiteLedger; SQLiteLedger(sys.argv[1]).close()"
    path = path.with_name("ledger.db")
    assert run(WITHOUT_OWN_LOCKS + WITHOUT_SUCH_LOCKS, path, WITHOUT_OWN_LOCKS + other, how) == printed
    with SQLiteLedger(path) as ledger:
        assert ledger.spent("visits").epsilon == (9 if how == "source" else 1) * 10**11
        assert ledger.verify(full=True)


def test_an_open_ledger_is_a_sqlite_source_by_any_name(path):
    path = path.with_name("ledger.of.visits")
    with SQLiteLedger(path):
        assert is_source(path)
    assert is_source(path)


@linux
def test_an_opening_waits_while_the_last_user_folds_the_log_and_says_if_it_never_ends(path):
    SQLiteLedger(path).close()
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("PRAGMA locking_mode = EXCLUSIVE")
        other.execute("BEGIN EXCLUSIVE")
        file = LedgerFile(str(path))
        with pytest.raises(LedgerError) as caught:
            file.keep_log(0.05)
        assert str(caught.value) == faults.BUSY
    file.keep_log(0.05)
    file.close()


def _in_another_mode(path: Path, dataset: Callable[[], object]) -> None:
    with SQLiteLedger(path) as ledger:
        ledger.register(dataset())
    run_in_sqlite(path, "PRAGMA journal_mode = DELETE")


def test_a_ledger_in_another_journal_mode_gets_a_log_that_is_kept(path, dataset, charge):
    _in_another_mode(path, dataset)
    with SQLiteLedger(path) as ledger:
        copied(path)
        run(OPENS_AND_CLOSES, path)
        charge(ledger)
    with SQLiteLedger(path) as ledger:
        assert ledger.spent("visits").epsilon == 10**11


def test_who_only_reads_a_ledger_in_another_journal_mode_keeps_nobody_from_charging_it(path, dataset, charge):
    _in_another_mode(path, dataset)
    with SQLiteLedger(path, read_only=True) as reader:
        assert reader.spent("visits").epsilon == 0
        with SQLiteLedger(path) as ledger:
            charge(ledger)
        assert reader.spent("visits").epsilon == 10**11


@linux
def test_a_closed_or_refused_ledger_leaves_no_descriptor_open(path):
    SQLiteLedger(path).close()
    run_in_sqlite(path, "PRAGMA user_version = 99")
    with pytest.raises(LedgerError):
        SQLiteLedger(path)
    names = [str(each.readlink()) for each in Path("/proc/self/fd").iterdir() if each.is_symlink()]
    assert not any(str(path) in name for name in names)
    assert [each.name for each in path.parent.iterdir()] == [path.name]


MOUNTED_ALONE = """
import sys
from discreet.errors import LedgerError
from discreet.ledger import SQLiteLedger
for path in sys.argv[1:]:
    for read_only in (False, True):
        try:
            SQLiteLedger(path, read_only=read_only).close()
            print("opened")
        except LedgerError as error:
            print(error)
"""


def in_other_mounts(file: Path, place: Path, *paths: Path) -> str:
    """What a process prints that opens ledgers, with a file or a directory mounted at another place for it alone."""
    code = 'mount --bind "$1" "$2" && shift 2 && exec "$@"'
    command = ["unshare", "--mount", "sh", "-c", code, "sh", str(file), str(place)]
    if (
        shutil.which("unshare") is None
        or subprocess.run([*command, "true"], check=False, capture_output=True).returncode
    ):
        pytest.skip("mounts need root, or rights to mount")
    command += [sys.executable, "-c", MOUNTED_ALONE, *map(str, paths)]
    return subprocess.run(command, check=True, capture_output=True, text=True, timeout=60).stdout


@linux
@pytest.mark.guarantee("ledger")
def test_a_ledger_whose_file_is_mounted_alone_is_refused_and_gets_no_second_log(tmp_path):
    host, container = tmp_path / "host", tmp_path / "a container\\of\ttwo"
    for directory in (host, container):
        directory.mkdir()
    SQLiteLedger(host / "ledger.sqlite").close()
    place, link = container / "ledger.sqlite", tmp_path / "link.sqlite"
    place.touch()
    link.symlink_to(place)
    printed = in_other_mounts(host / "ledger.sqlite", place, place, link, host / "ledger.sqlite")
    assert printed.splitlines() == [faults.MOUNTED] * 4 + ["opened"] * 2
    assert [each.name for each in container.iterdir()] == [place.name]


@linux
def test_a_ledger_in_a_directory_that_is_mounted_is_opened(tmp_path):
    host, container = tmp_path / "host", tmp_path / "container"
    for directory in (host, container):
        directory.mkdir()
    SQLiteLedger(host / "ledger.sqlite").close()
    assert in_other_mounts(host, container, container / "ledger.sqlite").splitlines() == ["opened"] * 2
