"""A function of somebody's own over private rows: each block in a fresh process that can compute and nothing else.

    from discreet import sandbox

    def median_age(table):
        import statistics
        return statistics.median(table["age"].to_pylist())

    sandbox.rehearse(median_age, made_up_rows)                                  # what it says, and what goes wrong
    limits = sandbox.Limits(seconds=0.5)
    with sandbox.Sandbox(median_age, limits=limits) as box:                     # refuses here, before any charge
        answers = box.outputs(engine.blocks(prepared), default=40)              # one exact number for each block

What a block's process cannot do, by a filter in the kernel that only lists what it can: open or look at a file, a
directory or /proc; make a socket, a pipe, a process or a thread; send a signal, trace or read another process; share
memory; change its limits, its core or the filter. Around that stand, where the kernel allows them, namespaces without
network, shared memory and mounts of the machine, and the user nobody in place of root. Its address space and its CPU
are bounded, its standard files lead nowhere, its environment and working directory say nothing.

What runs before a process is locked: our own code, and the import of the modules that the owner allows (`modules=`, or
`modules=` of `dp.protect` for a session). A function imports nothing outside the lock. As text, a
string with one `def`, it is compiled and executed in locked processes alone.

What passes between blocks: nothing that a process can write. Each is forked from a template that never held a row and
has no memory that children share, gets its rows in a file of its own and ends before the next one of its worker begins.
Blocks start on a public timetable (`Limits`), so that the clock tells them nothing of each other; the answers are there
at a public moment. A block that fails, hangs, takes too much or returns no finite number gives the declared default,
and no error shows it.

What is not covered: caches, memory bandwidth and the heat of the processor, through which processes of one machine feel
each other; the load that others put on the machine, which can make a slow block too slow (CPU time is the measure, and
`seconds` should be generous beside it); that an engine took longer than `reading`, which fails the release and is one
bit; faults of the kernel; the address that the kernel writes into its own log when a process crashes; and with
`isolation="process"` everything that a filter would stop.
"""

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from discreet.sandbox.blocks import Blocks, Function, Sandbox, outputs, rehearse
    from discreet.sandbox.limits import Limits

_HOMES = {
    "Blocks": "blocks",
    "Function": "blocks",
    "Limits": "limits",
    "Sandbox": "blocks",
    "outputs": "blocks",
    "rehearse": "blocks",
}

__all__ = ["Blocks", "Function", "Limits", "Sandbox", "outputs", "rehearse"]


def __getattr__(name: str) -> object:
    """Names load on first use: the process of a function leaves the network before libraries make threads."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"{__name__}.{_HOMES[name]}"), name)
