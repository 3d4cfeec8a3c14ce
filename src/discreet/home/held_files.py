"""Files that this process holds open under POSIX locks, and must not open and close again.

A process loses all its POSIX locks on a file when it closes any descriptor of that file, also one that another part of
it opened to read the header (fcntl(2)). Code that looks into a file of the user's asks `is_held` first.
"""

import os
from pathlib import Path

Identity = tuple[int, int]
"""A file by its numbers on the machine: device and inode."""

_HELD: dict[int, Identity] = {}


def identity_of(path: str | os.PathLike[str]) -> Identity:
    """The file at a path; an OSError where there is none."""
    found = os.stat(path)  # noqa: PTH116 - twice in every charge, and half as slow as through Path
    return found.st_dev, found.st_ino


def hold(holder: object, identity: Identity) -> None:
    """Note that an object holds a file open."""
    _HELD[id(holder)] = identity


def let_go(holder: object) -> None:
    """Note that it does not any more."""
    _HELD.pop(id(holder), None)


def is_held(path: Path) -> bool:
    """Whether something in this process holds the file at a path open, under any name of it."""
    try:
        return identity_of(path) in list(_HELD.values())
    except (OSError, ValueError):
        return False
