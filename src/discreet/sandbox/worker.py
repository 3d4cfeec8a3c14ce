"""One worker: a template process, and the blocks that it runs one after another, each in a child of its own.

Rows go in through a file that this block alone has; eight bytes come back through a pipe. What a child does
with its files, when it ends and how, changes nothing but whether its own answer is used.
"""

import marshal
import os
import select
import socket
import subprocess
import sys
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from discreet.sandbox import template
from discreet.sandbox.limits import Limits
from discreet.sandbox.transport import PackedFunction

STARTING, ENDING = 120.0, 20.0
_PACKAGES = Path(__file__).resolve().parents[2]
_START = (
    # the discreet of this process, not another that is installed; all else as the fresh Python finds it
    "import socket, sys; sys.path.insert(0, sys.argv[2]); import discreet; sys.path.append(sys.path.pop(0)); "
    "from discreet.sandbox import template; template.serve(socket.socket(fileno=int(sys.argv[1])))"
)
_ENVIRONMENT = {
    "ARROW_DEFAULT_MEMORY_POOL": "system",
    "LC_ALL": "C.UTF-8",
    "TZ": "UTC",
    **dict.fromkeys(("MKL_NUM_THREADS", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "POLARS_MAX_THREADS"), "1"),
}


class WorkerError(Exception):
    """The template of a worker is gone or does not answer; it never saw a row, so this says nothing about one."""


@dataclass(frozen=True)
class Reply:
    """What came back of one block in time: its bytes, whether its process ended well, and seconds of CPU."""

    content: bytes
    ended_well: bool
    cpu: float

    def answer(self, limits: Limits) -> float | None:
        """The number, if there is one that counts."""
        if not self.ended_well or len(self.content) != template.NUMBER.size or self.cpu > limits.cpu:
            return None
        (number,) = template.NUMBER.unpack(self.content)
        return float(number) if abs(number) < float("inf") else None


class Worker:
    """A template process on one core."""

    def __init__(self, packed: PackedFunction, limits: Limits, core: int, *, tells: bool = False) -> None:
        ours, theirs = socket.socketpair()
        with theirs:
            self._process = subprocess.Popen(  # noqa: S603 - our own interpreter and code
                [sys.executable, "-I", "-c", _START, str(theirs.fileno()), str(_PACKAGES)],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                env=_ENVIRONMENT,
                cwd="/",
                pass_fds=(theirs.fileno(),),
                start_new_session=True,
            )
        self._control = ours
        self.cut_off: tuple[str, ...] = ()
        self._patience = float(limits.seconds) + ENDING
        order = {
            "function": packed.content,
            "needed": packed.needed,
            "listed": packed.listed,
            "isolation": limits.isolation,
            "memory": limits.memory,
            "cpu": -(-limits.cpu.numerator // limits.cpu.denominator) + 1,
            "core": core,
            "tells": tells,
        }
        content = marshal.dumps(order)
        with suppress(WorkerError):  # a process that is gone already is seen when its report is waited for
            self._tell(template.LENGTH.pack(len(content)) + content)

    def startup_report(self) -> Mapping[str, Any]:
        """The report of a template that is ready: a missing module, the isolation of children, any fault."""
        try:
            self._control.settimeout(STARTING)
            (length,) = template.LENGTH.unpack(template.exactly(self._control, template.LENGTH.size))
            report: Mapping[str, Any] = marshal.loads(template.exactly(self._control, length))  # noqa: S302
        except (OSError, EOFError):
            raise WorkerError from None
        if report.get("locked"):
            self.cut_off = ("system calls", *report["separated"])
        return report

    def run(self, rows: int, until: float) -> Reply:
        """Run one block, whose rows a file holds, to its end or until a moment of the clock, when it is killed.

        The file is closed here. What takes as long as there are rows happens in the block's own time.
        """
        reading, writing = os.pipe()
        try:
            self._start(rows, writing)
            content = _read(reading, until)
        finally:
            os.close(reading)
        patience = max(0.0, until - time.monotonic()) if content else 0.0
        self._tell(template.END + template.PATIENCE.pack(patience))
        status, microseconds = template.ENDED.unpack(self._receive(template.ENDED.size))
        return Reply(content, status == 0, microseconds / 1_000_000)

    def close(self) -> None:
        """End the template, and with it all of its children."""
        self._control.close()
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(timeout=0.5)
        self._process.kill()
        self._process.wait()

    def kill(self) -> None:
        """End the template at once, from any thread; threads that wait for it get a WorkerError."""
        self._process.kill()

    def _start(self, rows: int, writing: int) -> None:
        try:
            socket.send_fds(self._control, [template.RUN], [rows, writing])
        except OSError:
            raise WorkerError from None
        finally:
            os.close(rows)
            os.close(writing)
        self._receive(len(template.RUN))

    def _tell(self, content: bytes) -> None:
        try:
            self._control.sendall(content)
        except OSError:
            raise WorkerError from None

    def _receive(self, length: int) -> bytes:
        try:
            self._control.settimeout(self._patience)
            return template.exactly(self._control, length)
        except (OSError, EOFError):
            raise WorkerError from None


def in_memory(rows: memoryview) -> int:
    """A file without a name that holds the rows, to be read from its beginning."""
    held = os.memfd_create("rows")
    try:
        left = rows
        while left:
            left = left[os.write(held, left) :]
        os.lseek(held, 0, os.SEEK_SET)
    except BaseException:
        os.close(held)
        raise
    return held


def _read(reading: int, until: float) -> bytes:
    """All that comes before the end of the pipe, if that is in time and not too much; nothing otherwise."""
    waiting = select.poll()
    waiting.register(reading, select.POLLIN)
    content = b""
    while (left := until - time.monotonic()) > 0:
        if not waiting.poll(left * 1_000):
            break
        part = os.read(reading, template.TOLD + 1)
        if not part:
            return content
        content += part
        if len(content) > template.TOLD:
            break
    return b""
