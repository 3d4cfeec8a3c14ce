"""Text files to which many processes append whole lines, and which one reads from where one stopped.

A batch of lines is one write to a file opened with O_APPEND, so on a local disk the lines of processes never mix. A
line that a crash cut off has no end: readers leave it, and the next writer closes it with a mark, so that it swallows
nothing that comes after it.
"""

import errno
import glob
import os
import secrets
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import BinaryIO

from discreet.home.durable_files import sync_directory

MODE = 0o600
MOST_LINES = 4_096

_CUT = b" #cut off\n"
_TAIL = 64
_TAKEN = ".taken"


@dataclass(frozen=True)
class FilePosition:
    """How far a file was read, and enough of it to notice that it is no longer the same one."""

    offset: int = 0
    number: int = 0
    file: tuple[int, int] | None = None
    tail: bytes = b""


BEGINNING = FilePosition()


@dataclass(frozen=True)
class LineBatch:
    """Some lines with their numbers and the place after them; `is_anew` if the file was cut, replaced or deleted."""

    lines: tuple[tuple[int, bytes], ...]
    place: FilePosition
    is_anew: bool = False


def append(path: Path, lines: Iterable[str], *, sync: bool = False) -> None:
    """Append lines in one write; with `sync` they are on the disk when this returns.

    Where the file was taken by `take` before the write, it is written again to the one in its place: a reader who has
    taken a file sees all that was written to it.
    """
    text = "".join(f"{line}\n" for line in lines).encode(errors="surrogateescape")
    while text and not _append_once(path, text, sync=sync):
        pass


def take(path: Path) -> Path | None:
    """Give a file another name, so that lines are appended to a new one from now on; None where there is no file."""
    taken = path.with_name(f"{path.name}.{secrets.token_hex(8)}{_TAKEN}")
    try:
        path.rename(taken)
    except FileNotFoundError:
        return None
    return taken


def taken_files(path: Path) -> list[Path]:
    """The files that were taken and not removed, by a process that is at it or was killed."""
    return sorted(path.parent.glob(f"{glob.escape(path.name)}.*{_TAKEN}"))


def _append_once(path: Path, text: bytes, *, sync: bool) -> bool:
    """Append, and say whether the file still has its name."""
    descriptor = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, MODE)
    try:
        size = os.fstat(descriptor).st_size
        is_cut = size > 0 and os.pread(descriptor, 1, size - 1) != b"\n"
        content = _CUT + text if is_cut else text
        if os.write(descriptor, content) != len(content):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        if sync:
            os.fsync(descriptor)
        written = os.fstat(descriptor)
    finally:
        os.close(descriptor)
    if sync or not size:
        sync_directory(path.parent)
    return _has_name(path, written)


def _has_name(path: Path, file: os.stat_result) -> bool:
    try:
        found = path.stat()
    except FileNotFoundError:
        return False
    return (found.st_dev, found.st_ino) == (file.st_dev, file.st_ino)


def read_after(path: Path, place: FilePosition = BEGINNING, *, most: int = MOST_LINES) -> LineBatch:
    """The next whole lines after a place, at most so many; a cut-off end is left for later."""
    try:
        file_object = path.open("rb")
    except FileNotFoundError:
        return LineBatch((), BEGINNING, is_anew=place != BEGINNING)
    with file_object:
        found = os.fstat(file_object.fileno())
        file = (found.st_dev, found.st_ino)
        is_same = place.file == file and found.st_size >= place.offset and _tail_stands(file_object, place)
        start = place if is_same else FilePosition(file=file)
        lines, end = _read_lines(file_object, start, most)
    return LineBatch(lines, end, is_anew=not is_same and place != BEGINNING)


def read_all(path: Path) -> list[tuple[int, bytes]]:
    """All whole lines of a short file, with their numbers; none where there is no file."""
    place = BEGINNING
    lines: list[tuple[int, bytes]] = []
    while (batch := read_after(path, place)).place != place:
        place = batch.place
        lines += batch.lines
    return lines


def _tail_stands(file_object: BinaryIO, place: FilePosition) -> bool:
    file_object.seek(place.offset - len(place.tail))
    return file_object.read(len(place.tail)) == place.tail


def _read_lines(
    file_object: BinaryIO, start: FilePosition, most: int
) -> tuple[tuple[tuple[int, bytes], ...], FilePosition]:
    file_object.seek(start.offset)
    offset, number, last, lines = start.offset, start.number, start.tail, []
    for line in islice(file_object, most):
        if not line.endswith(b"\n"):
            break
        offset, number, last = offset + len(line), number + 1, line
        if not line.endswith(_CUT):
            lines.append((number, line[:-1]))
    return tuple(lines), FilePosition(offset, number, start.file, last[-_TAIL:])
