"""Chunks through lanes, on a public timetable: one answer for each chunk, in order.

A `Sandbox` is opened before anything is charged: it packs the function, starts its lanes and finds out whether the
kernel can shut a function in. Nothing about a chunk leaves it but whether there is a number, and which.
"""

import queue
import sys
import threading
import time
from collections.abc import Callable, Iterable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack
from fractions import Fraction
from types import TracebackType
from typing import Self

import pyarrow as pa

from discreet.errors import ParameterError, UnsupportedError, short_traceback
from discreet.exact import Number, rational
from discreet.sandbox import parcel as parcels
from discreet.sandbox.lane import Lane, LaneError, Reply
from discreet.sandbox.limits import Limits, cores
from discreet.sandbox.template import NUMBER

Chunks = Iterable[tuple[int, pa.Table | None]]
Function = Callable[[pa.Table], object]
_AHEAD = 2
_OFTEN = 0.2


class Sandbox:
    """A function in its lanes, ready for chunks; a context manager, and used for one release."""

    @short_traceback
    def __init__(self, function: Function, *, limits: Limits | None = None, modules: tuple[str, ...] = ()) -> None:
        self.limits = limits or Limits()
        self._parcel = parcels.packed(function, modules)
        self._lanes = _opened(self._parcel, self.limits, self.limits.workers)

    @property
    def isolation(self) -> tuple[str, ...]:
        """What a chunk's process is cut off from; empty where it is only a process of its own."""
        return self._lanes[0].cut_off

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """End every process of the sandbox."""
        for lane in self._lanes:
            lane.close()
        self._lanes = []

    def outputs(self, chunks: Chunks, *, default: Number) -> list[Fraction]:
        """One exact number for each chunk, the default where a chunk gave none in time.

        Chunks come in the order of their numbers, 0 first. With a constant time the call ends at
        `limits.deadline(chunks)` seconds after it began, whatever the function did.
        """
        instead = rational(default, "default")
        answers = _Timetable(self.limits, self._lanes, self._renewed).run(chunks)
        return [instead if answer is None else Fraction(answer) for answer in answers]

    def _renewed(self, place: int) -> Lane:
        """A new lane for one whose template is gone."""
        self._lanes[place].close()
        self._lanes[place] = _opened(self._parcel, self.limits, 1, first=place)[0]
        return self._lanes[place]


class _Timetable:
    """One run over chunks: this thread reads them, and a thread for each lane waits for its turns."""

    def __init__(self, limits: Limits, lanes: list[Lane], renewed: Callable[[int], Lane]) -> None:
        self._limits, self._lanes, self._renewed = limits, lanes, renewed
        self._queues: list[queue.Queue[pa.Buffer | None]] = [queue.Queue(_AHEAD) for _ in lanes]
        self._stopped = threading.Event()
        self._start = time.monotonic()

    def run(self, chunks: Chunks) -> list[float | None]:
        """The answers of all chunks in order."""
        with ThreadPoolExecutor(len(self._lanes), thread_name_prefix="discreet-lane") as pool, ExitStack() as undo:
            undo.callback(self._stop)
            found = [pool.submit(self._lane, place) for place in range(len(self._lanes))]
            number = self._hand_out(chunks, found)
            for place in range(len(self._lanes)):
                self._put(place, None, found)
            answers = [each.result() for each in found]
            undo.pop_all()
        if self._limits.constant_time:
            _wait_until(self._start + float(self._limits.deadline(max(number, 1))))
        return [answers[i % len(answers)][i // len(answers)] for i in range(number)]

    def _hand_out(self, chunks: Chunks, found: list[Future[list[float | None]]]) -> int:
        number = 0
        for index, rows in chunks:
            if index != number:
                raise RuntimeError("chunks come in another order than their numbers")
            self._put(number % len(self._lanes), _written(rows, self._limits.memory), found)
            number += 1
        return number

    def _put(self, place: int, rows: pa.Buffer | None, found: list[Future[list[float | None]]]) -> None:
        """Hand over to a lane; while it is busy, notice one that failed."""
        while True:
            try:
                return self._queues[place].put(rows, timeout=_OFTEN)
            except queue.Full:
                for each in found:
                    if each.done():
                        each.result()

    def _lane(self, place: int) -> list[float | None]:
        """The turns of one lane; they come later only where the engine does, or where a template had to be renewed."""
        answers: list[float | None] = []
        begins = self._start + float(self._limits.begins(0))
        turn = float(self._limits.seconds + self._limits.rest)
        while True:
            rows, is_late = self._taken(place)
            if rows is None or self._stopped.is_set():
                return answers
            begins = max(begins, time.monotonic()) if is_late or not self._limits.constant_time else begins
            _wait_until(begins, self._stopped)
            answer, is_renewed = self._answer(place, rows, begins + float(self._limits.seconds))
            answers.append(answer)
            begins = max(begins + turn, time.monotonic()) if is_renewed else begins + turn
            begins = begins if self._limits.constant_time else 0.0

    def _taken(self, place: int) -> tuple[pa.Buffer | None, bool]:
        """The next rows of a lane, and whether it had to wait for them."""
        try:
            return self._queues[place].get_nowait(), False
        except queue.Empty:
            return self._queues[place].get(), True

    def _answer(self, place: int, rows: pa.Buffer, until: float) -> tuple[float | None, bool]:
        """The answer to one chunk, and whether its lane had to be renewed."""
        if rows.size == 0:
            return None, False
        try:
            return self._lanes[place].run(memoryview(rows), until).answer(self._limits), False
        except LaneError:
            if not self._stopped.is_set():
                self._lanes[place] = self._renewed(place)
            return None, True

    def _stop(self) -> None:
        """Let the lanes end now: an interrupt, or an engine that failed."""
        self._stopped.set()
        for lane in self._lanes:
            lane.kill()
        for each in self._queues:
            while not each.empty():
                each.get_nowait()
            each.put(None)


@short_traceback
def outputs(
    chunks: Chunks,
    function: Function,
    *,
    default: Number,
    limits: Limits | None = None,
    modules: tuple[str, ...] = (),
) -> list[Fraction]:
    """What a function says of each chunk, in one call: see `Sandbox`, which refuses before chunks are made."""
    with Sandbox(function, limits=limits, modules=modules) as sandbox:
        return sandbox.outputs(chunks, default=default)


@short_traceback
def rehearse(
    function: Function, table: pa.Table, *, limits: Limits | None = None, modules: tuple[str, ...] = ()
) -> float:
    """What a function says of rows that are yours to see, in the same sandbox; what goes wrong is told.

    A release tells nothing: a function that cannot work in a sandbox gives the default for every chunk.
    """
    bounds = limits or Limits()
    lane = _opened(parcels.packed(function, modules), bounds, 1, tells=True)[0]
    try:
        reply = lane.run(memoryview(_written(table, bounds.memory)), time.monotonic() + float(bounds.seconds))
    finally:
        lane.close()
    answer = reply.answer(bounds)
    if answer is None:
        raise UnsupportedError(
            f"a function that gave no number: {_told(reply, bounds)}",
            because="in a sandbox there are no files, no network, no other processes and threads, and limits",
            instead="a function of its table alone; modules=(...) for what it imports late; wider limits",
        )
    return answer


def _told(reply: Reply, limits: Limits) -> str:
    if len(reply.content) > NUMBER.size:
        return reply.content.decode(errors="replace").strip()
    if reply.cpu > limits.cpu:
        return f"it took {reply.cpu:.2f} s of CPU"
    return "it was stopped, or it ended its process"


def _opened(parcel: parcels.Parcel, limits: Limits, number: int, *, first: int = 0, tells: bool = False) -> list[Lane]:
    """Lanes that are ready, each on its core; what the machine cannot do is refused."""
    _require_linux()
    known = cores()
    with ExitStack() as undo:
        lanes = []
        for place in range(first, first + number):
            lanes.append(Lane(parcel, limits, known[place % len(known)], tells=tells))
            undo.callback(lanes[-1].close)
        for lane in lanes:
            _require_ready(lane, limits)
        undo.pop_all()
    return lanes


def _require_linux() -> None:
    if not sys.platform.startswith("linux") or not sys.executable:
        raise UnsupportedError(
            "a function of your own on this system",
            because="its limits are those of Linux, and a Python has to be started for it",
            instead="a machine with Linux",
        )


def _require_ready(lane: Lane, limits: Limits) -> None:
    try:
        found = lane.found()
    except LaneError:
        found = {"missing": "discreet"}
    if "missing" in found:
        raise ParameterError(
            f"a function that needs the module {found['missing']!r}",
            because="a fresh Python could not import it",
            instead="a function that imports what is installed",
        )
    if "shared" in found or (limits.isolation == "kernel" and not lane.cut_off):
        raise UnsupportedError(
            "a function of your own without isolation",
            because="the kernel takes no filter of system calls here, or a library shares memory between processes",
            instead='Limits(isolation="process") if the owner trusts the function with files and network',
        )


def _written(rows: pa.Table | None, memory: int) -> pa.Buffer:
    """Rows as a stream of Arrow; nothing where they could not be held anyway."""
    if rows is None or rows.nbytes > memory:
        return pa.py_buffer(b"")
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, rows.schema) as stream:
        stream.write_table(rows)
    return sink.getvalue()


def _wait_until(moment: float, stopped: threading.Event | None = None) -> None:
    while (left := moment - time.monotonic()) > 0:
        if stopped is None:
            time.sleep(min(left, _OFTEN))
        elif stopped.wait(left):
            return
