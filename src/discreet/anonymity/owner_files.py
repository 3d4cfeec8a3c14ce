"""Files for the owners of the data: whole or absent under their name, durable, and readable by the user alone."""

import errno
import os
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from discreet.ledger.records.append_log import sync_directory

_PREFIX, _SUFFIX = ".discreet-", ".new"
_RANDOM = 8  # characters that tempfile puts between them


def fits(path: Path) -> bool:
    """Whether the file system takes a name and a path as long; the name of the draft has a fixed length."""
    try:
        path.with_name(_PREFIX + "." * _RANDOM + _SUFFIX).exists()
        path.exists()
    except OSError as error:
        return error.errno != errno.ENAMETOOLONG
    return True


def write_file(path: Path, write: Callable[[BinaryIO], object]) -> None:
    """Write a file that replaces what has its name, in one step and when it is complete."""
    with draft_file(path, write):
        pass


@contextmanager
def draft_file(path: Path, write: Callable[[BinaryIO], object]) -> Iterator[Path]:
    """The file under a name of its own in the same directory; it gets its name when the block ends without an error."""
    draft = _write_draft(path, write)
    try:
        yield draft
        draft.replace(path)
    finally:
        draft.unlink(missing_ok=True)
    sync_directory(path.parent)


def _write_draft(path: Path, write: Callable[[BinaryIO], object]) -> Path:
    """A complete file on the disk; mkstemp makes it with mode 0600."""
    descriptor, name = tempfile.mkstemp(prefix=_PREFIX, suffix=_SUFFIX, dir=path.parent)
    try:
        with os.fdopen(descriptor, "wb") as file:
            write(file)
            file.flush()
            os.fsync(file.fileno())
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise
    return Path(name)
