"""The cost of an act in turns of a plain loop of Python, measured beside it: no bound depends on the machine.

Both are the best of several rounds in CPU time, so that neither other processes nor a slow moment count, and nothing is
traced meanwhile: a tracer makes every line of what is covered many times slower, and no line of the loop.
"""

import sys
import time
from collections.abc import Callable

ROUNDS = 3
TURNS = 1_000_000
A_SECOND = 17
"""About as many loops as a second has on an ordinary machine."""


def loops(act: Callable[[], object]) -> float:
    """How many loops of a million turns an act takes the time of."""
    tracer = sys.gettrace()
    sys.settrace(None)
    try:
        rounds = [(_seconds(_loop), _seconds(act)) for _ in range(ROUNDS)]
    finally:
        sys.settrace(tracer)
    looped, acted = map(min, zip(*rounds, strict=True))
    return acted / looped


def a_second() -> float:
    """The CPU time that takes here what takes a second on an ordinary machine."""
    return A_SECOND * min(_seconds(_loop) for _ in range(ROUNDS))


def times_as_long(act: Callable[[], object], other: Callable[[], object]) -> float:
    """How many times the CPU time of one act another one takes, each the better of two rounds."""
    rounds = [(_seconds(act), _seconds(other)) for _ in range(2)]
    first, second = map(min, zip(*rounds, strict=True))
    return first / second


def _loop() -> None:
    total = 0
    for number in range(TURNS):
        total += number


def _seconds(act: Callable[[], object]) -> float:
    started = time.process_time()
    act()
    return time.process_time() - started
