"""The private directory: nobody else's, gone at close, swept after a kill, left alone while its owner lives."""

import os
import signal
import stat
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from discreet.engines.sources.workspace import ALIVE, Workspace

OWNER = """
import sys, time
from pathlib import Path
from discreet.engines.sources.workspace import Workspace
room = Workspace(Path(sys.argv[1]))
(room.path / "spill").write_bytes(b"a row")
print(room.path, flush=True)
time.sleep(60)
"""


def _mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def _owner(place: Path) -> tuple[subprocess.Popen[str], Path]:
    """Another process with a workspace and a spill file in it."""
    process = subprocess.Popen([sys.executable, "-c", OWNER, str(place)], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    return process, Path(process.stdout.readline().strip())


def _killed(process: subprocess.Popen[str]) -> None:
    process.send_signal(signal.SIGKILL)
    process.wait()
    assert process.stdout is not None
    process.stdout.close()


def test_nobody_else_may_look_into_it(tmp_path):
    old = os.umask(0)
    try:
        room = Workspace(tmp_path)
    finally:
        os.umask(old)
    assert _mode(room.path) == 0o700
    assert _mode(room.path.parent) == 0o700
    room.close()


def test_it_is_in_the_home_of_discreet(discreet_home):
    room = Workspace()
    assert room.path.parent == discreet_home / "private"
    room.close()


def test_close_deletes_everything_and_may_be_repeated(tmp_path):
    room = Workspace(tmp_path)
    (room.path / "deep").mkdir()
    (room.path / "deep" / "spill").write_bytes(b"a row")
    room.close()
    room.close()
    assert not room.path.exists()


def test_what_a_killed_process_left_is_swept_at_the_next_start(tmp_path):
    process, room = _owner(tmp_path)
    _killed(process)
    assert (room / "spill").exists()
    Workspace(tmp_path).close()
    assert not room.exists()


def test_a_living_process_keeps_what_it_has(tmp_path):
    process, room = _owner(tmp_path)
    try:
        Workspace(tmp_path).close()
        assert (room / "spill").read_bytes() == b"a row"
    finally:
        _killed(process)


def test_another_workspace_of_the_same_process_keeps_what_it_has(tmp_path):
    first, second = Workspace(tmp_path), Workspace(tmp_path)
    assert first.path != second.path
    assert first.path.exists()
    first.close()
    second.close()


def test_what_is_left_of_a_kill_during_close_is_swept_too(tmp_path):
    """The lock file may go before the spill files do."""
    process, room = _owner(tmp_path)
    _killed(process)
    (room / ALIVE).unlink()
    Workspace(tmp_path).close()
    assert not room.exists()


def test_files_beside_the_workspaces_are_left_alone(tmp_path):
    Workspace(tmp_path).close()
    (tmp_path / "private" / "note").write_text("not ours", encoding="utf-8")
    Workspace(tmp_path).close()
    assert (tmp_path / "private" / "note").exists()


@pytest.mark.parametrize("starts", [16])
def test_many_starts_at_once_sweep_no_one_who_is_just_starting(tmp_path, starts):
    rooms: list[Workspace] = []
    failures: list[Exception] = []
    gate = threading.Barrier(starts)

    def start() -> None:
        gate.wait()
        try:
            rooms.append(Workspace(tmp_path))
        except Exception as error:  # noqa: BLE001 - told by the thread that waits
            failures.append(error)

    threads = [threading.Thread(target=start) for _ in range(starts)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    assert all((room.path / ALIVE).exists() for room in rooms)
    for room in rooms:
        room.close()
