"""CPU and wall time of calls, interleaved in one run so that a noisy machine is noisy for all of them."""

import time
from collections.abc import Callable
from dataclasses import dataclass


@dataclass
class Timing:
    """The least CPU and the least wall time of a call, in seconds."""

    cpu: float = float("inf")
    wall: float = float("inf")


def interleaved(calls: dict[str, Callable[[], object]], rounds: int) -> dict[str, Timing]:
    """Run every call once a round; keep the minimum of each."""
    timings = {name: Timing() for name in calls}
    for _ in range(rounds):
        for name, call in calls.items():
            measured = once(call)
            timings[name].cpu = min(timings[name].cpu, measured.cpu)
            timings[name].wall = min(timings[name].wall, measured.wall)
    return timings


def once(call: Callable[[], object]) -> Timing:
    """The CPU (all threads of this process) and wall time of one call."""
    cpu, wall = time.process_time(), time.perf_counter()
    call()
    return Timing(time.process_time() - cpu, time.perf_counter() - wall)
