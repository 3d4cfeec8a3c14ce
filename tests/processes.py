"""Processes by their ids, as Linux tells them: which live below another one, and whether one has ended."""

import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

ENDED = frozenset("ZX")


def state(pid: int) -> str:
    """The letter that Linux gives to what a process does; X if there is none."""
    return _stat(pid)[0]


def children(parent: int) -> list[int]:
    """The processes that another one started and that have not ended."""
    return [pid for pid in _pids() for letter, of in [_stat(pid)] if of == parent and letter not in ENDED]


def is_child(pid: int, parent: int) -> bool:
    """Whether a process lives and was started by that other one: an id alone may have come to a stranger."""
    letter, of = _stat(pid)
    return of == parent and letter not in ENDED


def wait_for(condition: Callable[[], bool], seconds: float, failure: Callable[[], str]) -> None:
    """Come back as soon as the condition holds."""
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            raise TimeoutError(failure())
        time.sleep(0.002)


def _pids() -> Iterator[int]:
    return (int(path.name) for path in Path("/proc").iterdir() if path.name.isdigit())


def _stat(pid: int) -> tuple[str, int]:
    with suppress(OSError):
        letter, parent = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[:2]
        return letter, int(parent)
    return "X", 0
