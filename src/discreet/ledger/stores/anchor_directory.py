"""A store of anchors in a directory that the machines of a ledger mount: one file for each writer."""

import errno
import os
import re
from collections.abc import Mapping
from pathlib import Path

from discreet.errors import LedgerError
from discreet.home.durable_files import write_file
from discreet.ledger.records import faults

_FILES = re.compile(r"([0-9a-f]+-[0-9a-f]+(?:\.[0-9a-f]+)?)\.json")
_READS = 20
IDENTITY = "store"
"""The document with the id of the store."""


class AnchorDirectory:
    """A store in a directory: one file for each writer."""

    def __init__(self, directory: Path, ledger: str) -> None:
        self._directory = directory / ledger

    def identity(self) -> str | None:
        """The document with the id of the store; None where there is none."""
        try:
            return self._file(IDENTITY).read_text(encoding="utf-8")
        except FileNotFoundError:
            return None
        except OSError as error:
            raise LedgerError(_fault_of(error)) from None

    def absence(self) -> str:
        """Whether the directory of all ledgers is not there, or holds nothing of this one."""
        return faults.OTHER_ANCHORS if self._directory.parent.is_dir() else faults.NO_ANCHOR_DIRECTORY

    def create(self, identity: str) -> None:
        """Create the store: make the directory of the ledger, and write the document with the id of the store."""
        try:
            self._directory.parent.mkdir(mode=0o770, exist_ok=True)
            self._directory.mkdir(mode=0o770, exist_ok=True)
            write_file(self._file(IDENTITY), lambda file: file.write(identity.encode()), mode=0o640)
        except OSError as error:
            raise LedgerError(_fault_of(error)) from None

    def mark(self) -> object:
        """The names, sizes and times of the files."""
        try:
            with os.scandir(self._directory) as entries:
                found = [(each.name, each.stat()) for each in entries if _FILES.fullmatch(each.name)]
        except FileNotFoundError:
            if self._directory.is_dir():
                return None  # a file was replaced while it was looked at: read again
            raise LedgerError(faults.NO_ANCHOR_DIRECTORY) from None
        except OSError as error:
            raise LedgerError(_fault_of(error)) from None
        return sorted((name, stat.st_ino, stat.st_size, stat.st_mtime_ns) for name, stat in found)

    def documents(self) -> Mapping[str, str]:
        """The documents by their names, read again where one was renamed meanwhile."""
        for _ in range(_READS):
            found = self._read()
            if None not in found.values():
                break
        return {name: content for name, content in found.items() if content is not None}

    def write(self, writer: str, content: str) -> None:
        """Replace a writer's file; it is on the disk when this returns."""
        try:
            write_file(self._file(writer), lambda file: file.write(content.encode()), mode=0o640)
        except OSError as error:
            raise LedgerError(_fault_of(error)) from None

    def take(self, name: str) -> tuple[str, str] | None:
        """Give the file another name and read it."""
        taken = other_name(name)
        try:
            self._file(name).rename(self._file(taken))
            content = _content(self._file(taken))
        except FileNotFoundError:
            return None
        except OSError as error:
            raise LedgerError(_fault_of(error)) from None
        return None if content is None else (taken, content)

    def drop(self, name: str) -> None:
        """Remove a file that was taken."""
        try:
            self._file(name).unlink(missing_ok=True)
        except OSError as error:
            raise LedgerError(_fault_of(error)) from None

    def close(self) -> None:
        """Nothing is held."""

    def _file(self, name: str) -> Path:
        return self._directory / f"{name}.json"

    def _read(self) -> dict[str, str | None]:
        try:
            names = [found[1] for path in self._directory.iterdir() if (found := _FILES.fullmatch(path.name))]
            return {name: _content(self._file(name)) for name in names}
        except OSError as error:
            raise LedgerError(_fault_of(error)) from None


def _content(path: Path) -> str | None:
    """What a file holds; None where it was taken or replaced meanwhile, nothing for a directory of such a name."""
    try:
        return path.read_text(encoding="utf-8", errors="replace")
    except FileNotFoundError:
        return None
    except IsADirectoryError:
        return ""


def _fault_of(error: OSError) -> str:
    """The sentence for an error of the file system."""
    if error.errno in (errno.EACCES, errno.EPERM, errno.EROFS):
        return faults.ANCHORS_NOT_PERMITTED
    return faults.NO_ANCHOR_DIRECTORY if error.errno == errno.ENOENT else faults.NO_SHARED_ANCHORS


def other_name(name: str) -> str:
    """A name that no writer has; a document may be taken again, from a process that was killed."""
    return f"{name.partition('.')[0]}.{os.urandom(8).hex()}"
