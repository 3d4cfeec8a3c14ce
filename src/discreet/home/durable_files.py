"""Files that are whole or absent under their name, and that survive a power cut.

A file is written under another name in the same directory, and gets its name in one step when it is complete and on the
disk. By default the user alone may read it.
"""

import errno
import os
import secrets
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

PRIVATE = 0o600
SHARED = 0o666
"""Rights of a new file that the process's umask restricts, as `open` gives them."""

_PREFIX, _SUFFIX = ".discreet-", ".new"
_RANDOM_BYTES = 8


def fits(path: Path) -> bool:
    """Whether the file system takes a name and a path as long; the name of the draft has a fixed length."""
    try:
        _draft_of(path).exists()
        path.exists()
    except OSError as error:
        return error.errno != errno.ENAMETOOLONG
    return True


def write_file(path: Path, write: Callable[[BinaryIO], object], *, mode: int = PRIVATE) -> None:
    """Write a file that replaces what has its name, in one step and when it is complete."""
    with draft_file(path, write, mode=mode):
        pass


@contextmanager
def draft_file(path: Path, write: Callable[[BinaryIO], object], *, mode: int = PRIVATE) -> Iterator[Path]:
    """The file under a name of its own in the same directory; it gets its name when the block ends without an error."""
    draft = _draft_of(path)
    try:
        with open(draft, "xb", opener=lambda name, flags: os.open(name, flags, mode)) as file:
            write(file)
            file.flush()
            os.fsync(file.fileno())  # a full disk is known here, before the block announces the file
        yield draft
        publish(draft, path)
    finally:
        draft.unlink(missing_ok=True)


def publish(draft: Path, path: Path) -> None:
    """Give a complete file its name, in one step and when it is on the disk; both survive a power cut."""
    with draft.open("rb") as file:
        os.fsync(file.fileno())
    draft.replace(path)
    sync_directory(path.parent)


def sync_directory(directory: Path) -> None:
    """Make a new name in a directory survive a power cut, where directories can be opened."""
    if os.name != "posix":
        return
    descriptor = os.open(directory, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _draft_of(path: Path) -> Path:
    return path.with_name(f"{_PREFIX}{secrets.token_hex(_RANDOM_BYTES)}{_SUFFIX}")
