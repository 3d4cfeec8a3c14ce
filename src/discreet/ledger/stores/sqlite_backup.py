"""Backups of a ledger on SQLite."""

import contextlib
import os
import sqlite3
import tempfile
from pathlib import Path

from discreet.errors import LedgerError, ParameterError
from discreet.home.durable_files import sync_directory

UNWRITABLE_BACKUP = (
    "the backup cannot be written; check its path, its directory, their rights and the space on its disk"
)


def copy_to(source: sqlite3.Connection, path: Path) -> None:
    """Copy a database to a new file, which appears whole or not at all.

    Its name is taken first, so that it replaces nothing.
    """
    try:
        path.touch(mode=0o600, exist_ok=False)
        try:
            _copy_over(source, path)
        except BaseException:
            path.unlink()
            raise
    except FileExistsError:
        raise ParameterError(
            f"a backup at {str(path)!r}",
            because="there is something at that path, and a backup replaces nothing",
            instead="a path where there is nothing yet",
        ) from None
    except (OSError, sqlite3.Error):
        raise LedgerError(UNWRITABLE_BACKUP) from None


def _copy_over(source: sqlite3.Connection, path: Path) -> None:
    descriptor, draft = tempfile.mkstemp(prefix=f".{path.name}.", suffix=".new", dir=path.parent)
    os.close(descriptor)
    try:
        with contextlib.closing(sqlite3.connect(draft)) as target:
            source.backup(target)
        Path(draft).replace(path)
    finally:
        Path(draft).unlink(missing_ok=True)
    sync_directory(path.parent)
