"""The process that every block of one worker is forked from: libraries and the function, never a row.

It runs in a fresh Python, started before anything is charged, and imports the modules on the owner's list: what it
imports does not depend on the function. Then, for each block, it forks a child, which reads the rows from a file of its
own, computes, writes eight bytes and ends; what it changes, changes in its own memory, and the next child starts from
the same template. The function itself is put together in the child alone, after it has been shut in; a first child
without rows finds out whether that can work.

A template keeps the rights that it was started with, because Python and libraries load parts late, and the user nobody
may not be able to read them. Each child gives them up after the last part is loaded and before it is shut in.

    parent -> template   "r" with two files: the rows, and a pipe for the answer   -> "r", the child runs
    parent -> template   "e" and seconds that it may still take to end              -> its status and CPU

A template whose parent is gone ends, and its child with it.
"""

import gc
import importlib
import json
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

from discreet.sandbox import seccomp, transport

ROWS, ANSWER = 3, 4
RUN, END = b"r", b"e"
LENGTH = struct.Struct("=Q")
ENDED = struct.Struct("=iQ")
PATIENCE = struct.Struct("=d")
NUMBER = struct.Struct("<d")
TOLD = 2_000
OPEN_FILES = 5
_MOST_FILES = 1 << 16
_REPORT = 1 << 16
_UNLOCKED, _LOCKED, _LOCKED_ROOT = 1, 0, 2
_TEXTS = (str, bytes, bytearray)
_LATE = ("_strptime", "resource")  # what Python itself imports when it is first needed: here by os.wait4
CHECKING = 30.0


def serve(control: socket.socket) -> None:
    """Prepare, say what was found, and run one block after another until the parent closes its end."""
    order = marshal.loads(_receive(control))  # noqa: S302 - our own parent wrote it
    _send(control, marshal.dumps(_prepare(order)))
    child = 0
    while True:
        message, files, _, _ = socket.recv_fds(control, 1, 2)
        if message == RUN:
            child = _fork_child(order, files)
            control.sendall(RUN)
        elif message == END:
            (patience,) = PATIENCE.unpack(exactly(control, PATIENCE.size))
            status, used = _wait_for_end(child, patience)
            control.sendall(ENDED.pack(1 if status is None else status, used))
            child = 0
        else:
            _wait_for_end(child, 0)
            return


def _prepare(order: Mapping[str, Any]) -> dict[str, object]:
    """Import modules and separate from the system; report failed imports and the isolation of a child."""
    with suppress(OSError):
        os.sched_setaffinity(0, {order["core"]})
    seccomp.is_preferred_victim()
    separated = seccomp.separate() if order["isolation"] == "kernel" else []
    for name in (*_LATE, *order["listed"]):
        try:
            importlib.import_module(name)
        except BaseException:  # noqa: BLE001 - any exception of a module that is imported
            return {"missing": name}
    if seccomp.has_shared_memory():
        return {"shared": True}
    gc.freeze()
    locked, ordinary = _try_lock(order) if order["isolation"] == "kernel" else (False, False)
    found = {"separated": [*separated, *(["rights"] if ordinary else [])], "locked": locked}
    return found if order["isolation"] == "kernel" and not locked else {**found, "fault": _fault(order)}


def _try_lock(order: Mapping[str, Any]) -> tuple[bool, bool]:
    """Whether a child that is shut in cannot open, connect, fork, signal or look around; and whether it is not root."""
    child = os.fork()
    if child == 0:
        status = _UNLOCKED
        with suppress(BaseException):
            status = _is_shut_in(order)
        _leave(status)
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    return code in (_LOCKED, _LOCKED_ROOT), code == _LOCKED


def _fault(order: Mapping[str, Any]) -> bytes | None:
    """What a child that is shut in finds wrong with the function, as JSON; None where it does not come back.

    This is the first process that reads a function's text, so its parent takes what it writes for bytes.
    """
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        _check(order, [os.open(os.devnull, os.O_RDONLY), writing])
    os.close(writing)
    try:
        status, _ = _wait_for_end(child, CHECKING)
        return os.read(reading, _REPORT) if status == 0 else None
    finally:
        os.close(reading)


def _check(order: Mapping[str, Any], files: list[int]) -> NoReturn:
    status = 1
    with suppress(BaseException):
        _hold_only(files)
        _shut_in(order)
        found = transport.fault(order["function"], order["needed"], order["listed"])
        shown = {kind: what[:TOLD].encode(errors="replace").decode() for kind, what in found.items()}
        os.write(ANSWER, json.dumps(shown).encode())
        status = 0
    _leave(status)


def _is_shut_in(order: Mapping[str, Any]) -> int:
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
    is_ordinary = _shut_in(order)
    if not all(_is_denied(attempt) for attempt in attempts):
        return _UNLOCKED
    return _LOCKED if is_ordinary else _LOCKED_ROOT


def _is_denied(attempt: Callable[[], object]) -> bool:
    try:
        result = attempt()
    except PermissionError:
        return True
    if result == 0:
        os._exit(1)  # a child that should not have been possible
    return False


def _fork_child(order: Mapping[str, Any], files: list[int]) -> int:
    child = os.fork()
    if child == 0:
        _run(order, files)
    for file in files:
        os.close(file)
    return child


def _run(order: Mapping[str, Any], files: list[int]) -> NoReturn:
    """One block, in a child that always ends here."""
    status = 1
    try:
        _hold_only(files)
        _shut_in(order)
        status = 0 if _write_answer(order) else 1
    except BaseException:  # noqa: BLE001, S110 - nothing that happens in here may be shown
        pass
    finally:
        _leave(status)


def _write_answer(order: Mapping[str, Any]) -> bool:
    """Compute and write the answer; only a dry run, which sees no private row, reports an error."""
    try:
        answer = NUMBER.pack(number(transport.unpack(order["function"])(_table())))
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
    """Keep the two files of this block, and of everything else only the three that lead nowhere."""
    high = [os.dup2(file, place + 100, inheritable=False) for file, place in zip(files, (ROWS, ANSWER), strict=True)]
    for file, place in zip(high, (ROWS, ANSWER), strict=True):
        os.dup2(file, place, inheritable=False)
    os.closerange(OPEN_FILES, _MOST_FILES)


def _shut_in(order: Mapping[str, Any]) -> bool:
    """Limits and the filter, after the threads that libraries keep have been started; whether it has no root rights."""
    _start_threads()
    is_shut = order["isolation"] == "kernel"
    is_ordinary = seccomp.become_nobody() if is_shut else False
    seccomp.die_with_parent()  # after the change of user, which makes the kernel forget it
    seccomp.limit(order["memory"], order["cpu"], OPEN_FILES if is_shut else None)
    if is_shut:
        seccomp.lock()
    return is_ordinary


def _start_threads() -> None:
    """Libraries compute in threads of their own, one each, which have to be there before a child is shut in."""
    numpy, pyarrow = sys.modules["numpy"], sys.modules["pyarrow"]
    numpy.random.seed()
    table = pyarrow.table({"a": [1], "b": [2]})
    table.group_by("a").aggregate([("b", "sum")])
    if "pandas" in sys.modules:
        table.to_pandas()
    if "polars" in sys.modules:
        sys.modules["polars"].from_arrow(table).lazy().sort("a").collect()


def _wait_for_end(child: int, patience: float) -> tuple[int | None, int]:
    """Wait for a child, and kill it if it is late: its exit status, and the microseconds of CPU that it took.

    The end of one that was killed is waited for: giving its memory back takes a while, which is no other block's.
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


def _receive(control: socket.socket) -> bytes:
    (length,) = LENGTH.unpack(exactly(control, LENGTH.size))
    return exactly(control, length)


def _send(control: socket.socket, content: bytes) -> None:
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
