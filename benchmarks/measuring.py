"""CPU, wall time and peak memory of calls, interleaved in one run so that a noisy machine is noisy for all of them.

CPU is that of this process and of every process below it: the JVM of a Spark driver, the backends and the parallel
workers of a PostgreSQL that this process started. Linux tells it of other processes in hundredths of a second.
"""

import os
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

_TICKS = os.sysconf("SC_CLK_TCK")
_RESET_PEAK = "5"


@dataclass
class Timing:
    """The least CPU and wall time of a call in seconds, and the most memory that it took in bytes.

    `memory` is the peak of this process, `engine_memory` that of the largest process below it, 0 if there is none.
    """

    cpu: float = float("inf")
    wall: float = float("inf")
    memory: int = 0
    engine_memory: int = 0

    def keep(self, other: "Timing") -> None:
        """Take what is better in another run of the same call, and the larger peaks."""
        self.cpu, self.wall = min(self.cpu, other.cpu), min(self.wall, other.wall)
        self.memory = max(self.memory, other.memory)
        self.engine_memory = max(self.engine_memory, other.engine_memory)


def interleaved(calls: dict[str, Callable[[], object]], rounds: int) -> dict[str, Timing]:
    """Run every call once a round; keep the minimum of each."""
    timings = {name: Timing() for name in calls}
    for _ in range(rounds):
        for name, call in calls.items():
            timings[name].keep(once(call))
    return timings


def once(call: Callable[[], object]) -> Timing:
    """The CPU, wall time and peak memory of one call, this process and those below it."""
    for pid in (os.getpid(), *_below()):
        with suppress(OSError):
            Path(f"/proc/{pid}/clear_refs").write_text(_RESET_PEAK)
    others = _cpu_of_others()
    cpu, wall = time.process_time(), time.perf_counter()
    call()
    cpu, wall = time.process_time() - cpu, time.perf_counter() - wall
    return Timing(cpu + _cpu_of_others() - others, wall, _peak(os.getpid()), max(map(_peak, _below()), default=0))


def _cpu_of_others() -> float:
    """Seconds of the processes below this one, and of those that have ended and left their times to their parents."""
    ended = sum(_stat(os.getpid())[13:15])
    return (ended + sum(sum(numbers[11:15]) for numbers in _below().values())) / _TICKS


def _below() -> dict[int, list[int]]:
    """The processes below this one, each with its times and the like."""
    known = {int(path.name): _stat(int(path.name)) for path in Path("/proc").iterdir() if path.name.isdigit()}
    below, waiting = {}, [os.getpid()]
    while waiting:
        parent = waiting.pop()
        children = [pid for pid, numbers in known.items() if numbers and numbers[1] == parent]
        below |= {pid: known[pid] for pid in children}
        waiting += children
    return below


def _stat(pid: int) -> list[int]:
    """Numbers of /proc/PID/stat from the third field on (the state as 0): 1 is the parent, 11 to 14 are times."""
    with suppress(OSError):
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        return [0, *map(int, fields[1:])]
    return []


def _peak(pid: int) -> int:
    with suppress(OSError):
        for line in Path(f"/proc/{pid}/status").read_text().splitlines():
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) * 1024
    return 0
