"""What a block may use, and when: public numbers that say how long a release takes, for any data.

Block i runs in worker i % workers, in round i // workers. Round r begins at `reading + r * (seconds + rest)` seconds
after the start. A block that is done sooner leaves its time unused, and one that is not done then is stopped: no block
can tell from the clock what another one did, or how long the engine took, and the time of the release is known in
advance. An engine that is not done within `reading` makes the release fail, as any failure after its charge does.
"""

import math
import os
from contextlib import suppress
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Literal

from discreet.errors import ParameterError, public_class
from discreet.exact.numbers import Number, positive, rational, whole

Isolation = Literal["kernel", "process"]

MEGABYTE = 2**20
LEAST_SECONDS, MOST_SECONDS = Fraction(1, 100), 86_400
LEAST_MEMORY = 16 * MEGABYTE
LEAST_REST = Fraction(1, 50)
GIVEN_BACK = 2**31
"""Bytes of a process that a machine gives back in a second, at least: 4 GB were measured on a busy one."""

_CONTAINERS = ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes")


@public_class
@dataclass(frozen=True, init=False)
class Limits:
    """Public limits of each block of `Frame.apply`.

    Args:
        seconds: Time of a block in seconds, 0.01 to 86,400; a later result is not used. Default 1.
        cpu: CPU time of a block in seconds. Default: the same as `seconds`.
        memory: Bytes that a block may take besides Python and the libraries. Default 512 MB.
        workers: Number of blocks that run at once, each on its own core. Default: the number of cores.
        rest: Seconds between two blocks of a worker, in which its memory is freed. Default: enough for all of `memory`.
        reading: Seconds that the engine has before the first block begins; if it takes longer, the release fails.
            Default 5.
        constant_time: False lets blocks begin and the release end early. The duration then depends on the data, and a
            function that reads the clock learns about other blocks. Default True.
        isolation: "kernel": no files, no network, no other process, or an error where the kernel cannot do that.
            "process": a process with limits, for a function that the owner trusts. Default "kernel".

    Raises:
        ParameterError: If a limit is outside its range, or the machine has less memory or fewer cores.

    Example:
        >>> import discreet as dp
        >>> dp.sandbox.Limits(seconds=0.5, workers=1, rest=0, reading=1).deadline(10)
        Fraction(6, 1)
    """

    seconds: Fraction
    cpu: Fraction
    memory: int
    workers: int
    rest: Fraction
    reading: Fraction
    constant_time: bool
    isolation: Isolation

    def __init__(
        self,
        *,
        seconds: Number = 1,
        cpu: Number | None = None,
        memory: int = 512 * MEGABYTE,
        workers: int | None = None,
        rest: Number | None = None,
        reading: Number = 5,
        constant_time: bool = True,
        isolation: Isolation = "kernel",
    ) -> None:
        time = _time(seconds, "seconds")
        memory = whole(memory, "memory", least=LEAST_MEMORY)
        read: dict[str, object] = {
            "seconds": time,
            "cpu": time if cpu is None else min(time, _time(cpu, "cpu")),
            "memory": memory,
            "workers": _workers(workers),
            "rest": LEAST_REST + Fraction(memory, GIVEN_BACK) if rest is None else _pause(rest, "rest"),
            "reading": _pause(reading, "reading"),
            "constant_time": constant_time,
            "isolation": isolation,
        }
        for name, value in read.items():
            object.__setattr__(self, name, value)
        self._check()

    @property
    def fingerprint_text(self) -> str:
        """The limits as text for fingerprints; it does not change with the names in this class."""
        return (
            f"Limits(seconds={self.seconds!r}, cpu={self.cpu!r}, memory={self.memory!r}, workers={self.workers!r}, "
            f"rest={self.rest!r}, reading={self.reading!r}, constant_time={self.constant_time!r}, "
            f"isolation={self.isolation!r})"
        )

    def rounds(self, blocks: int) -> int:
        """Number of blocks that one worker runs, one after another.

        Args:
            blocks: Number of blocks in all.

        Returns:
            The number of rounds.

        Raises:
            ParameterError: If the number is not whole and positive.
        """
        return math.ceil(whole(blocks, "blocks") / self.workers)

    def begins(self, turn: int) -> Fraction:
        """Start of a round.

        Args:
            turn: Number of the round, from 0.

        Returns:
            Seconds after the start of the release.
        """
        return self.reading + turn * (self.seconds + self.rest)

    def deadline(self, blocks: int) -> Fraction:
        """Time at which all results are there, if the engine keeps to `reading`.

        Args:
            blocks: Number of blocks in all.

        Returns:
            Seconds after the start of the release.

        Raises:
            ParameterError: If the number is not whole and positive.
        """
        return self.begins(self.rounds(blocks))

    def _check(self) -> None:
        if not isinstance(self.constant_time, bool):
            raise ParameterError(
                f"constant_time={self.constant_time!r}", because="it is True or False", instead="constant_time=True"
            )
        if self.isolation not in ("kernel", "process"):
            raise ParameterError(
                f"isolation={self.isolation!r}",
                because='there are two kinds: "kernel" keeps a function from files, network and other processes',
                instead='isolation="kernel", or "process" for a function that the owner trusts',
            )
        installed = installed_memory()
        if installed is not None and self.memory * self.workers > installed:
            raise ParameterError(
                f"{self.workers} workers with {self.memory // MEGABYTE} MB each",
                because="the machine or its container has less memory",
                instead=f"memory={max(LEAST_MEMORY, installed // self.workers // 2)}, or fewer workers",
            )


def cores() -> list[int]:
    """The cores that this process may run on, where the system tells."""
    if hasattr(os, "sched_getaffinity"):
        return sorted(os.sched_getaffinity(0))
    return list(range(os.cpu_count() or 1))


def installed_memory() -> int | None:
    """Bytes of memory of this machine, or of its container where that has less, where the system tells."""
    found = []
    with suppress(AttributeError, OSError, ValueError):
        found.append(int(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")))
    for path in _CONTAINERS:
        with suppress(OSError, ValueError):
            found.append(int(Path(path).read_text(encoding="ascii")))
    return min(found, default=None)


def _workers(given: int | None) -> int:
    most = len(cores())
    if given is None:
        return most
    if whole(given, "workers") > most:
        raise ParameterError(
            f"workers={given}",
            because=f"there are {most} cores, and blocks that share one affect each other's time",
            instead=f"workers={most}",
        )
    return int(given)


def _time(value: Number, name: str) -> Fraction:
    number = positive(value, name)
    if not LEAST_SECONDS <= number <= MOST_SECONDS:
        raise ParameterError(
            f"{name} outside 0.01 to {MOST_SECONDS}",
            because="starting a block takes 0.01 seconds, and the caller waits for all blocks",
            instead=f"{name}=1",
        )
    return number


def _pause(value: Number, name: str) -> Fraction:
    number = rational(value, name)
    if not 0 <= number <= MOST_SECONDS:
        raise ParameterError(
            f"{name} outside 0 to {MOST_SECONDS}", because="it is a number of seconds to wait", instead=f"{name}=0"
        )
    return number
