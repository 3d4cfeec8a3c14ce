"""Blocks of rows through lanes, on a public timetable: one answer for each block, in order.

A `Sandbox` is opened before anything is charged: it packs the function, starts its lanes and finds out whether the
kernel can shut a function in. Nothing about a block leaves it but whether there is a number, and which.
"""

import json
import os
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from fractions import Fraction
from pathlib import Path
from types import TracebackType
from typing import Self

import pyarrow as pa

from discreet.errors import ParameterError, UnsupportedError, public_class, short_traceback
from discreet.exact import Number, rational
from discreet.sandbox import transport as parcels
from discreet.sandbox.limits import Limits, cores
from discreet.sandbox.modules import refused
from discreet.sandbox.template import NUMBER
from discreet.sandbox.worker import Lane, LaneError, Reply

Chunks = Iterable[tuple[int, pa.Table | None]]
Function = Callable[[pa.Table], object] | str
_OFTEN = 0.2


@public_class
class Sandbox:
    """A function in its lanes, ready for blocks; a context manager, and used for one release."""

    @short_traceback
    def __init__(
        self, function: Function | parcels.Parcel, *, limits: Limits | None = None, modules: tuple[str, ...] = ()
    ) -> None:
        self.limits = checked(limits)
        self._parcel = function if isinstance(function, parcels.Parcel) else parcels.packed(function, modules)
        self._lanes = _opened(self._parcel, self.limits, self.limits.workers)

    @property
    def isolation(self) -> tuple[str, ...]:
        """What a block's process is cut off from; empty where it is only a process of its own."""
        return self._lanes[0].cut_off

    @property
    def digest(self) -> str:
        """One name for the function with all that it uses: two of one name are the same function."""
        return self._parcel.digest

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

    def outputs(self, blocks: Chunks, *, default: Number, directory: Path | None = None) -> list[Fraction]:
        """One exact number for each block, the default where a block gave none in time.

        Chunks come in the order of their numbers, 0 first, and wait for their turns in a directory of their own, below
        `directory`. With a constant time the call ends `limits.deadline(blocks)` seconds after it began, whatever the
        function did; where the blocks took longer than `limits.reading`, it raises TimeoutError.
        """
        instead = rational(default, "default")
        answers = _Timetable(self.limits, self._lanes, self._renewed).run(blocks, directory)
        return [instead if answer is None else Fraction(answer) for answer in answers]

    def _renewed(self, place: int) -> Lane:
        """A new lane for one whose template is gone."""
        self._lanes[place].close()
        self._lanes[place] = _opened(self._parcel, self.limits, 1, first=place)[0]
        return self._lanes[place]


class _Timetable:
    """One run over blocks: all rows are put down first, and then a thread for each lane waits for its turns."""

    def __init__(self, limits: Limits, lanes: list[Lane], renewed: Callable[[int], Lane]) -> None:
        self._limits, self._lanes, self._renewed = limits, lanes, renewed
        self._stopped = threading.Event()
        self._start = time.monotonic()

    def run(self, blocks: Chunks, directory: Path | None) -> list[float | None]:
        """The answers of all blocks in order."""
        with tempfile.TemporaryDirectory(prefix="chunks-", dir=directory) as room:
            answers = self._in_turn(self._put_down(blocks, Path(room)))
        if self._limits.constant_time:
            _wait_until(self._start + float(self._limits.deadline(max(len(answers), 1))))
        return answers

    def _put_down(self, blocks: Chunks, room: Path) -> list[Path | None]:
        """A file for each block, before the first begins: how large one is takes no time from another."""
        found = []
        for number, (index, rows) in enumerate(blocks):
            if index != number:
                raise RuntimeError("blocks come in another order than their numbers")
            found.append(_written(rows, self._limits.memory, room / str(number)))
        if self._limits.constant_time and time.monotonic() > self._start + float(self._limits.reading):
            raise TimeoutError("the engine took longer than `reading`")
        return found

    def _in_turn(self, files: list[Path | None]) -> list[float | None]:
        number = len(self._lanes)
        with ThreadPoolExecutor(number, thread_name_prefix="discreet-lane") as pool, ExitStack() as undo:
            undo.callback(self._stop)
            found = [pool.submit(self._lane, place, files[place::number]) for place in range(number)]
            answers = [each.result() for each in found]
            undo.pop_all()
        return [answers[i % number][i // number] for i in range(len(files))]

    def _lane(self, place: int, files: list[Path | None]) -> list[float | None]:
        """The turns of one lane. One that begins late has its whole time still, and the next ones catch up in rests."""
        answers: list[float | None] = []
        for turn, file in enumerate(files):
            if self._limits.constant_time:
                _wait_until(self._start + float(self._limits.begins(turn)), self._stopped)
            if self._stopped.is_set():
                break
            answers.append(self._answer(place, file, time.monotonic() + float(self._limits.seconds)))
        return answers

    def _answer(self, place: int, file: Path | None, until: float) -> float | None:
        if file is None:
            return None
        try:
            return self._lanes[place].run(os.open(file, os.O_RDONLY), until).answer(self._limits)
        except LaneError:
            if not self._stopped.is_set():
                self._lanes[place] = self._renewed(place)
            return None

    def _stop(self) -> None:
        """Let the lanes end now: an interrupt, or an engine that failed."""
        self._stopped.set()
        for lane in self._lanes:
            lane.kill()


@short_traceback
def outputs(
    blocks: Chunks,
    function: Function,
    *,
    default: Number,
    limits: Limits | None = None,
    modules: tuple[str, ...] = (),
) -> list[Fraction]:
    """What a function says of each block, in one call: see `Sandbox`, which refuses before blocks are made."""
    with Sandbox(function, limits=limits, modules=modules) as sandbox:
        return sandbox.outputs(blocks, default=default)


@short_traceback
def rehearse(
    function: Function, table: pa.Table, *, limits: Limits | None = None, modules: tuple[str, ...] = ()
) -> float:
    """What a function says of rows that are yours to see, in the same sandbox; what goes wrong is told.

    A release tells nothing: a function that cannot work in a sandbox gives the default for every block.
    """
    bounds = checked(limits)
    if not isinstance(table, pa.Table):
        raise ParameterError(
            f"rows of type {type(table).__name__}",
            because="a function is given an Arrow table",
            instead="pyarrow.Table.from_pandas(frame), or pyarrow.table({...})",
        )
    lane = _opened(parcels.packed(function, modules), bounds, 1, tells=True)[0]
    try:
        with tempfile.TemporaryDirectory() as room:
            file = _written(table, bounds.memory, Path(room, "rows"))
            rows = os.open(os.devnull if file is None else file, os.O_RDONLY)
            reply = lane.run(rows, time.monotonic() + float(bounds.seconds))
    except LaneError:
        reply = Reply(b"", ended_well=False, cpu=0.0)
    finally:
        lane.close()
    answer = reply.answer(bounds)
    if answer is None:
        raise UnsupportedError(
            f"a function that gave no number: {_told(reply, bounds)}",
            because="in a sandbox there are no files, no network, no other processes and threads, and limits",
            instead="a function of its table alone; modules=(...) for what a library imports late; wider limits",
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
            _require_ready(lane, parcel, limits)
        undo.pop_all()
    return lanes


def checked(limits: object) -> Limits:
    """Limits as they are given, or those that go without saying."""
    if limits is None:
        return Limits()
    if not isinstance(limits, Limits):
        raise ParameterError(
            f"limits of type {type(limits).__name__}",
            because="time and memory of a block are several numbers",
            instead="limits=dp.sandbox.Limits(seconds=1)",
        )
    return limits


def _require_linux() -> None:
    if not sys.platform.startswith("linux") or not sys.executable:
        raise UnsupportedError(
            "a function of your own on this system",
            because="its limits are those of Linux, and a Python has to be started for it",
            instead="a machine with Linux",
        )


def _require_ready(lane: Lane, parcel: parcels.Parcel, limits: Limits) -> None:
    try:
        found = lane.found()
    except LaneError:
        raise UnsupportedError(
            "a function of your own on this machine",
            because="a fresh Python with discreet and the allowed modules did not start, or ended at once",
            instead="python -m discreet doctor, which tries it, or another Python: python -m venv",
        ) from None
    if "missing" in found:
        raise ParameterError(
            f"the module {found['missing']!r} for functions",
            because="a fresh Python could not import it",
            instead=f"pip install {found['missing'].partition('.')[0]}, or modules=(...) without it",
        )
    if "shared" in found or (limits.isolation == "kernel" and not lane.cut_off):
        raise UnsupportedError(
            "a function of your own without isolation",
            because="the kernel takes no filter of system calls here, or a library shares memory between processes",
            instead='Limits(isolation="process") if the owner trusts the function with files and network',
        )
    _require_sound(found.get("fault"), parcel)


def _require_sound(report: bytes | None, parcel: parcels.Parcel) -> None:
    """Refuse a function in which a locked process found a fault; what it wrote is not trusted to be well-formed."""
    try:
        found = dict(json.loads(report or b"null"))
    except (ValueError, TypeError):
        found = {"text": "it could not be read within limits of time and memory"}
    if "unlisted" in found:
        raise refused(str(found["unlisted"]), parcel.listed)
    if "absent" in found:
        raise refused(str(found["absent"]), parcel.listed, "the modules that the owner allows do not load it")
    if found:
        raise ParameterError(
            f"the text of a function: {found.get('text')}",
            because="it is read as Python, and has imports and one def",
            instead=r'"def answer(table):\n    return table.num_rows"',
        )


def _written(rows: pa.Table | None, memory: int, path: Path) -> Path | None:
    """A file with the rows as a stream of Arrow; none where they could not be held anyway."""
    if rows is None or rows.nbytes > memory:
        return None
    with pa.OSFile(str(path), "wb") as file, pa.ipc.new_stream(file, rows.schema) as stream:
        stream.write_table(rows)
    return path


def _wait_until(moment: float, stopped: threading.Event | None = None) -> None:
    while (left := moment - time.monotonic()) > 0:
        if stopped is None:
            time.sleep(min(left, _OFTEN))
        elif stopped.wait(left):
            return
