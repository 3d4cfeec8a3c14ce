"""The files of a ledger on SQLite under a connection: the ledger itself, and its write-ahead log (-wal).

SQLite's locks on the ledger's file say that the log is in use: the last user to close the ledger folds the log into the
file and deletes it. They are POSIX locks, which a process loses when anything in it opens and closes the file: a copy,
a hash, a look at the header. The next process to close the ledger then deletes the log under this one, which goes on
charging a file without a name. Against this:

1. Beside SQLite's lock stands one of the same range that belongs to an open file description (Linux's F_OFD_SETLK). An
   unrelated close does not end it, and no process whatsoever can delete the log while it stands.
2. The log is remembered by device and inode, and compared after BEGIN and after COMMIT. This finds a log that was
   deleted by other means, and all of it where there are no such locks.
"""

import ctypes
import errno
import os
import re
import sqlite3
import struct
import sys
import threading
import time
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from typing import Any

from discreet.errors import LedgerError
from discreet.home.held_files import Identity, hold, identity_of, let_go
from discreet.ledger.records import faults

_fcntl: Any = import_module("fcntl") if sys.platform == "linux" else None
"""Only some systems have the module, and only Linux such locks."""

_SHARED_FIRST, _SHARED_SIZE = 0x40000002, 510
"""The bytes that readers of a SQLite file lock, and that the last user locks for itself (os.h, "lock byte page")."""
_WAL_VERSIONS, _IS_WAL = slice(18, 20), b"\x02\x02"
_NAP = 0.005
_MOUNTS = Path("/proc/self/mountinfo")
_ESCAPE = re.compile(rb"\\([0-7]{3})")

CLOSING = threading.RLock()
"""Held while a connection is closed: it may be the last one, and a descriptor closed beside it would end its locks."""

_open: list["LedgerFile"] = []
_lost: set[Identity] = set()
"""Ledgers whose log was lost under this process. SQLite shares the index of a log among the connections of a process,
so a new one would read another log by the index of the lost one."""
_lacking_locks: set[int] = set()
"""The devices of file systems on which the kernel has no such locks."""


def identity_with_one_name(path: str) -> Identity:
    """The file at a path; an OSError where there is none.

    Under two hard links a file has two write-ahead logs: what is spent under one name is not seen under the other. A
    ledger that is just being made has two names for a moment, so it gets a second.
    """
    for _ in range(50):
        found = os.stat(path)  # noqa: PTH116 - in every transaction
        if found.st_nlink == 1:
            return found.st_dev, found.st_ino
        time.sleep(0.02)
    raise LedgerError(faults.LINKED)


def refuse_mount_point(path: str) -> None:
    """A file that is mounted alone (a bind mount) has another path too, and so another log, with one name at each."""
    with suppress(OSError), _MOUNTS.open("rb") as mounts:
        points = {_ESCAPE.sub(lambda octal: bytes([int(octal[1], 8)]), line.split(b" ")[4]) for line in mounts}
        if os.fsencode(path) in points:
            raise LedgerError(faults.MOUNTED)


class LedgerFile:
    """The file under one connection: opened before it, closed after it."""

    def __init__(self, path: str) -> None:
        self._path = os.path.realpath(path)  # SQLite puts the log beside the file that a symbolic link points to
        refuse_mount_point(self._path)
        self._log: Identity | None = None
        self._descriptor: int | None = None
        try:
            self.identity = identity_of(self._path)
            if _fcntl is not None and self.identity[0] not in _lacking_locks:
                self._descriptor = os.open(self._path, os.O_RDONLY | os.O_CLOEXEC)
        except OSError:
            raise LedgerError(faults.UNWRITABLE) from None
        with CLOSING:
            hold(self, self.identity)
            _open.append(self)

    @property
    def needs_log(self) -> bool:
        """Whether the file is in another journal mode; only SQLite knows it where the lock does not exist."""
        if self._descriptor is None:
            return False
        with suppress(OSError):
            return os.pread(self._descriptor, 100, 0)[_WAL_VERSIONS] != _IS_WAL
        return True

    def keep_log(self, patience: float) -> None:
        """Let nobody delete the log from now on; wait while somebody does. The file has to be in WAL mode."""
        end = time.monotonic() + patience
        while self._descriptor is not None:
            try:
                self._set_lock("F_RDLCK")
            except OSError as error:
                if error.errno not in (errno.EAGAIN, errno.EACCES):
                    _lacking_locks.add(
                        self.identity[0]
                    )  # its descriptor stays open: to close it would end others' locks
                    self._descriptor = None
                    return
                if time.monotonic() > end:
                    raise LedgerError(faults.BUSY) from None
                time.sleep(_NAP)
            else:
                return

    def refuse_lost_log(self) -> None:
        """Refuse a ledger whose log was lost under another connection of this process, before one is opened."""
        with CLOSING:
            for other in _open.copy():  # a collected store closes its own meanwhile
                if other.identity == self.identity:
                    other.refuse_another_log()

    def remember_log(self) -> None:
        """Remember the log that the connection has opened; there is none if it only reads a file in another mode."""
        if self._path_identity() != self.identity:
            raise LedgerError(faults.MOVED)
        with suppress(FileNotFoundError):
            self._log = identity_of(self._log_path)

    def refuse_another_log(self) -> None:
        """Refuse a transaction in a log that is not at its path: nobody would ever see it."""
        if self.has_lost_log:
            raise LedgerError(faults.LOST_LOG)

    @property
    def has_lost_log(self) -> bool:
        """Whether another log, or none, is at the path of the one that the connection writes."""
        if self._log is None or self.identity in _lost:
            return self.identity in _lost
        with suppress(OSError):
            if identity_of(self._log_path) == self._log:
                return False
        _lost.add(self.identity)
        return True

    def close(self, connection: sqlite3.Connection | None = None) -> None:
        """Close the connection, which folds the log into the file if it is the last one.

        A lost log must not be folded over what others have written since, and SQLite does so on any close. So its
        connection stays open until the process ends, as does that of a file in whose place there is another one: SQLite
        deletes the log by its name.
        """
        with CLOSING:
            if connection is not None and not self._may_fold:
                ctypes.pythonapi.Py_IncRef(ctypes.py_object(connection))
                return
            self._log = None
            try:
                if self._descriptor is not None:
                    with suppress(OSError):
                        self._set_lock("F_UNLCK")
                if connection is not None:
                    connection.close()
            finally:
                self._forget()

    @property
    def _may_fold(self) -> bool:
        found = self._path_identity()
        if found is None:  # the file was deleted or moved, and nobody opens it at its path
            return self.identity not in _lost
        return found == self.identity and not self.has_lost_log

    def _path_identity(self) -> Identity | None:
        with suppress(OSError):
            return identity_of(self._path)
        return None

    def _forget(self) -> None:
        if self in _open:
            _open.remove(self)
        let_go(self)
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None

    @property
    def _log_path(self) -> str:
        return f"{self._path}-wal"

    def _set_lock(self, kind: str) -> None:
        lock = struct.pack("hhqqi0q", getattr(_fcntl, kind), os.SEEK_SET, _SHARED_FIRST, _SHARED_SIZE, 0)
        _fcntl.fcntl(self._descriptor, _fcntl.F_OFD_SETLK, lock)
