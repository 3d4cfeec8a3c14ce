"""The process that every chunk of one lane is forked from: libraries and the function, never a row.

It runs in a fresh Python, started before anything is charged, and imports what the function needs. Then, for each
chunk, it forks a child, which reads the rows from a file of its own, computes, writes eight bytes and ends; what it
changes, changes in its own memory, and the next child starts from the same template. The function itself is put
together in the child alone, after it has been shut in.

    parent -> template   "r" with two files: the rows, and a pipe for the answer   -> "r", the child runs
    parent -> template   "e" and seconds that it may still take to end              -> its status and CPU

A template whose parent is gone ends, and its child with it.
"""

import gc
import importlib
import marshal
import math
import os
import select
import signal
import socket
import struct
import sys
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, NoReturn

from discreet.sandbox import kernel, parcel

ROWS, ANSWER = 3, 4
RUN, END = b"r", b"e"
LENGTH = struct.Struct("=Q")
ENDED = struct.Struct("=iQ")
PATIENCE = struct.Struct("=d")
NUMBER = struct.Struct("<d")
TOLD = 2_000
OPEN_FILES = 5
_MOST_FILES = 1 << 16
_TEXTS = (str, bytes, bytearray)
_LATE = ("resource",)  # what Python itself imports when it is first needed: here by os.wait4


def serve(control: socket.socket) -> None:
    """Prepare, say what was found, and run one chunk after another until the parent closes its end."""
    order = marshal.loads(_received(control))  # noqa: S302 - our own parent wrote it
    _sent(control, marshal.dumps(_prepared(order)))
    child = 0
    while True:
        message, files, _, _ = socket.recv_fds(control, 1, 2)
        if message == RUN:
            child = _forked(order, files)
            control.sendall(RUN)
        elif message == END:
            (patience,) = PATIENCE.unpack(exactly(control, PATIENCE.size))
            status, used = _ended(child, patience)
            control.sendall(ENDED.pack(1 if status is None else status, used))
            child = 0
        else:
            _ended(child, 0)
            return


def _prepared(order: Mapping[str, Any]) -> dict[str, object]:
    """Import and separate; what could not be imported, and how far a child of this process is shut in."""
    with suppress(OSError):
        os.sched_setaffinity(0, {order["core"]})
    kernel.is_preferred_victim()
    separated = kernel.separate() if order["isolation"] == "kernel" else []
    for name in (*_LATE, *order["modules"]):
        try:
            importlib.import_module(name)
        except Exception:  # noqa: BLE001 - whatever a module raises while it is imported
            return {"missing": name}
    if order["isolation"] == "kernel" and kernel.become_nobody():
        separated.append("rights")
    if kernel.has_shared_memory():
        return {"shared": True}
    gc.freeze()
    return {"separated": separated, "locked": order["isolation"] == "kernel" and _can_be_locked(order)}


def _can_be_locked(order: Mapping[str, Any]) -> bool:
    """Whether a child that is shut in really cannot open, connect, fork, signal or look around."""
    child = os.fork()
    if child == 0:
        _leave(0 if _is_shut_in(order) else 1)
    return os.waitpid(child, 0)[1] == 0


def _is_shut_in(order: Mapping[str, Any]) -> bool:
    attempts: tuple[Callable[[], object], ...] = (
        lambda: os.open("/", os.O_RDONLY),
        lambda: Path("/").stat(),
        lambda: list(Path("/proc").iterdir()),
        socket.socket,
        os.fork,
        os.pipe,
        lambda: os.kill(os.getpid(), 0),
        lambda: os.dup(0),
    )
    try:
        _shut_in(order)
    except OSError:
        return False
    return all(_is_denied(attempt) for attempt in attempts)


def _is_denied(attempt: Callable[[], object]) -> bool:
    try:
        made = attempt()
    except PermissionError:
        return True
    if made == 0:
        os._exit(1)  # a child that should not have been possible
    return False


def _forked(order: Mapping[str, Any], files: list[int]) -> int:
    child = os.fork()
    if child == 0:
        _run(order, files)
    for file in files:
        os.close(file)
    return child


def _run(order: Mapping[str, Any], files: list[int]) -> NoReturn:
    """One chunk, in a child that ends here whatever happens."""
    status = 1
    try:
        _hold_only(files)
        _shut_in(order)
        status = 0 if _answered(order) else 1
    except BaseException:  # noqa: BLE001, S110 - nothing that happens in here may be told
        pass
    finally:
        _leave(status)


def _answered(order: Mapping[str, Any]) -> bool:
    """Compute and write the answer; only a rehearsal, which sees no private row, tells what went wrong."""
    try:
        answer = NUMBER.pack(number(parcel.unpacked(order["function"])(_table())))
    except BaseException as error:
        if not order["tells"]:
            raise
        answer = f"{type(error).__name__}: {error}".encode(errors="replace")[:TOLD]
        os.write(ANSWER, answer.ljust(NUMBER.size + 1))
        return False
    return os.write(ANSWER, answer) == len(answer)


def number(value: object) -> float:
    """A finite double from what a function returned; text, NaN, infinities and the like are no answers."""
    if hasattr(value, "as_py"):
        value = value.as_py()
    if value is None or isinstance(value, _TEXTS):
        raise TypeError(f"a {type(value).__name__} is not a number")
    found = float(value)  # type: ignore[arg-type]
    if not math.isfinite(found):
        raise ValueError("the answer is not a finite number")
    return found


def _table() -> Any:
    pyarrow = sys.modules["pyarrow"]
    parts = []
    while part := os.read(ROWS, 1 << 24):
        parts.append(part)
    held = pyarrow.py_buffer(b"".join(parts) if len(parts) != 1 else parts[0])
    return pyarrow.ipc.open_stream(held).read_all()


def _hold_only(files: list[int]) -> None:
    """Keep the two files of this chunk, and of everything else only the three that lead nowhere."""
    high = [os.dup2(file, place + 100, inheritable=False) for file, place in zip(files, (ROWS, ANSWER), strict=True)]
    for file, place in zip(high, (ROWS, ANSWER), strict=True):
        os.dup2(file, place, inheritable=False)
    os.closerange(OPEN_FILES, _MOST_FILES)


def _shut_in(order: Mapping[str, Any]) -> None:
    """Limits and the filter, after the threads that libraries keep have been started: later no thread can be."""
    kernel.die_with_parent()
    _start_threads()
    is_shut = order["isolation"] == "kernel"
    kernel.limit(order["memory"], order["cpu"], OPEN_FILES if is_shut else None)
    if is_shut:
        kernel.lock()


def _start_threads() -> None:
    """Libraries compute in threads of their own, one each, which have to be there before a child is shut in."""
    numpy, pyarrow = sys.modules["numpy"], sys.modules["pyarrow"]
    numpy.random.seed()
    made = pyarrow.table({"a": [1], "b": [2]})
    made.group_by("a").aggregate([("b", "sum")])
    if "pandas" in sys.modules:
        made.to_pandas()
    if "polars" in sys.modules:
        sys.modules["polars"].from_arrow(made).lazy().sort("a").collect()


def _ended(child: int, patience: float) -> tuple[int | None, int]:
    """The status of a child that ends in time, and the microseconds of CPU that it took; another one is killed.

    The end of one that was killed is waited for: giving its memory back takes a while, which is no other chunk's.
    """
    if not child:
        return 1, 0
    watched = os.pidfd_open(child)
    try:
        select.select([watched], [], [], patience)
    finally:
        os.close(watched)
    ended, status, used = os.wait4(child, os.WNOHANG)
    if ended:
        return status, int((used.ru_utime + used.ru_stime) * 1_000_000)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return None, 0


def _leave(status: int) -> NoReturn:
    os._exit(status)


def _received(control: socket.socket) -> bytes:
    (length,) = LENGTH.unpack(exactly(control, LENGTH.size))
    return exactly(control, length)


def _sent(control: socket.socket, content: bytes) -> None:
    control.sendall(LENGTH.pack(len(content)) + content)


def exactly(control: socket.socket, length: int) -> bytes:
    """So many bytes; EOFError where the other side is gone."""
    content = bytearray()
    while len(content) < length:
        part = control.recv(min(1 << 20, length - len(content)))
        if not part:
            raise EOFError
        content += part
    return bytes(content)
