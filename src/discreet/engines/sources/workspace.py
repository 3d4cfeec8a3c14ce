"""The one directory that may hold rows: prepared tables and spill files live here, with mode 0700.

It is deleted at close. After a kill it is deleted at the next start: each workspace holds an exclusive SQLite lock on a
file of its own while its process lives, and the next start sweeps the workspaces whose lock is free. Starts wait
for each other, so that none sweeps a workspace that has not taken its lock yet.
"""

import contextlib
import secrets
import shutil
import sqlite3
from pathlib import Path

from discreet.home import home

ALIVE = "alive.sqlite"
STARTING = "starting.sqlite"
_PATIENCE = 60


class Workspace:
    """A private directory that disappears with its owner."""

    def __init__(self, parent: Path | None = None) -> None:
        rooms = (parent or home()) / "private"
        rooms.mkdir(mode=0o700, exist_ok=True)
        self.path = rooms / secrets.token_hex(8)
        with contextlib.closing(_exclusive(rooms / STARTING, _PATIENCE)):
            sweep(rooms)
            self.path.mkdir(mode=0o700)
            self._lock: sqlite3.Connection | None = _exclusive(self.path / ALIVE)

    def close(self) -> None:
        """Delete the directory and everything in it."""
        if self._lock is not None:
            self._lock.close()
            self._lock = None
        shutil.rmtree(self.path, ignore_errors=True)


def sweep(rooms: Path) -> None:
    """Delete the workspaces whose owners are gone, and what is left of those that were killed while they closed."""
    for room in rooms.iterdir():
        if room.is_dir() and (not (room / ALIVE).exists() or _is_free(room / ALIVE)):
            shutil.rmtree(room, ignore_errors=True)


def _exclusive(path: Path, patience: int = 0) -> sqlite3.Connection:
    connection = sqlite3.connect(path, timeout=patience, isolation_level=None, check_same_thread=False)
    try:
        connection.execute("BEGIN EXCLUSIVE")
    except sqlite3.Error:
        connection.close()
        raise
    return connection


def _is_free(path: Path) -> bool:
    with contextlib.suppress(sqlite3.Error):
        _exclusive(path).close()
        return True
    return False
