"""Blocks of rows through workers, on a public timetable: one answer for each block, in order.

A `Sandbox` is opened before anything is charged: it packs the function, starts its workers and finds out whether the
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
from discreet.exact.numbers import Number, rational
from discreet.sandbox import transport
from discreet.sandbox.limits import Limits, cores
from discreet.sandbox.modules import unlisted_module_error
from discreet.sandbox.template import NUMBER
from discreet.sandbox.worker import Reply, Worker, WorkerError

Blocks = Iterable[tuple[int, pa.Table | None]]
Function = Callable[[pa.Table], object] | str
_OFTEN = 0.2


@public_class
class Sandbox:
    """A function in its worker processes, ready for the blocks of one release; a context manager.

    Args:
        function: A function of a `pyarrow.Table`, or its source text.
        limits: Limits of each block. Default: `Limits()`.
        modules: Modules that the function may import. Default: none besides numpy, pyarrow and parts of Python.

    Raises:
        UnsupportedError: If the function cannot be moved into a process, or the kernel cannot isolate it.

    Example:
        >>> import discreet as dp
        >>> import pyarrow as pa
        >>> limits = dp.sandbox.Limits(seconds=5, workers=1, constant_time=False, isolation="process")
        >>> with dp.sandbox.Sandbox("def rows(table): return table.num_rows", limits=limits) as sandbox:
        ...     sandbox.outputs([(0, pa.table({"age": [30, 40]}))], default=0)
        [Fraction(2, 1)]
    """

    @short_traceback
    def __init__(
        self,
        function: Function | transport.PackedFunction,
        *,
        limits: Limits | None = None,
        modules: tuple[str, ...] = (),
    ) -> None:
        self.limits = limits_or_default(limits)
        self._packed = function if isinstance(function, transport.PackedFunction) else transport.pack(function, modules)
        self._workers = _start_workers(self._packed, self.limits, self.limits.workers)

    @property
    def isolation(self) -> tuple[str, ...]:
        """What a block's process is cut off from; empty where it is only a process of its own."""
        return self._workers[0].cut_off

    @property
    def digest(self) -> str:
        """One name for the function with all that it uses: two of one name are the same function."""
        return self._packed.digest

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """End every process of the sandbox."""
        for worker in self._workers:
            worker.close()
        self._workers = []

    def outputs(self, blocks: Blocks, *, default: Number, directory: Path | None = None) -> list[Fraction]:
        """One exact number for each block, the default where a block gave none in time.

        With a constant time, the call ends `limits.deadline(blocks)` seconds after it began.

        Args:
            blocks: Pairs of a number, from 0 in order, and the rows of the block as an Arrow table.
            default: Number for a block that fails.
            directory: Directory for temporary files. Default: the system's.

        Returns:
            The numbers, in order.

        Raises:
            TimeoutError: If reading the blocks took longer than `limits.reading`.
            ParameterError: If the default is not a number.
        """
        instead = rational(default, "default")
        answers = _Timetable(self.limits, self._workers, self._replace_worker).run(blocks, directory)
        return [instead if answer is None else Fraction(answer) for answer in answers]

    def _replace_worker(self, place: int) -> Worker:
        """A new worker for one whose template is gone."""
        self._workers[place].close()
        self._workers[place] = _start_workers(self._packed, self.limits, 1, first=place)[0]
        return self._workers[place]


class _Timetable:
    """One run over blocks: all rows are put down first, and then a thread for each worker waits for its turns."""

    def __init__(self, limits: Limits, workers: list[Worker], replace_worker: Callable[[int], Worker]) -> None:
        self._limits, self._workers, self._replace_worker = limits, workers, replace_worker
        self._stopped = threading.Event()
        self._start = time.monotonic()

    def run(self, blocks: Blocks, directory: Path | None) -> list[float | None]:
        """The answers of all blocks in order."""
        with tempfile.TemporaryDirectory(prefix="blocks-", dir=directory) as room:
            answers = self._in_turn(self._put_down(blocks, Path(room)))
        if self._limits.constant_time:
            _wait_until(self._start + float(self._limits.deadline(max(len(answers), 1))))
        return answers

    def _put_down(self, blocks: Blocks, room: Path) -> list[Path | None]:
        """A file for each block, before the first begins: how large one is takes no time from another."""
        found = []
        for number, (index, rows) in enumerate(blocks):
            if index != number:
                raise RuntimeError("blocks come in another order than their numbers")
            found.append(_write_rows(rows, self._limits.memory, room / str(number)))
        if self._limits.constant_time and time.monotonic() > self._start + float(self._limits.reading):
            raise TimeoutError("the engine took longer than `reading`")
        return found

    def _in_turn(self, files: list[Path | None]) -> list[float | None]:
        number = len(self._workers)
        with ThreadPoolExecutor(number, thread_name_prefix="discreet-worker") as pool, ExitStack() as undo:
            undo.callback(self._stop)
            found = [pool.submit(self._run_worker, place, files[place::number]) for place in range(number)]
            answers = [each.result() for each in found]
            undo.pop_all()
        return [answers[i % number][i // number] for i in range(len(files))]

    def _run_worker(self, place: int, files: list[Path | None]) -> list[float | None]:
        """The turns of one worker. A late turn still has its whole time; the rests of later turns make up for it."""
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
            return self._workers[place].run(os.open(file, os.O_RDONLY), until).answer(self._limits)
        except WorkerError:
            if not self._stopped.is_set():
                self._workers[place] = self._replace_worker(place)
            return None

    def _stop(self) -> None:
        """Let the workers end now: an interrupt, or an engine that failed."""
        self._stopped.set()
        for worker in self._workers:
            worker.kill()


@short_traceback
def outputs(
    blocks: Blocks,
    function: Function,
    *,
    default: Number,
    limits: Limits | None = None,
    modules: tuple[str, ...] = (),
) -> list[Fraction]:
    """Results of a function on each block, in one call; no session, and no charge. See `Sandbox`.

    Args:
        blocks: Pairs of a number, from 0 in order, and the rows of the block as an Arrow table.
        function: A function of a `pyarrow.Table`, or its source text.
        default: Number for a block that fails.
        limits: Limits of each block. Default: `Limits()`.
        modules: Modules that the function may import. Default: none besides numpy, pyarrow and parts of Python.

    Returns:
        The numbers, in order.

    Raises:
        UnsupportedError: If the function cannot be moved into a process, or the kernel cannot isolate it.

    Example:
        >>> import discreet as dp
        >>> import pyarrow as pa
        >>> limits = dp.sandbox.Limits(seconds=5, workers=1, constant_time=False, isolation="process")
        >>> blocks = [(0, pa.table({"age": [30, 40]}))]
        >>> dp.sandbox.outputs(blocks, "def rows(table): return table.num_rows", default=0, limits=limits)
        [Fraction(2, 1)]
    """
    with Sandbox(function, limits=limits, modules=modules) as sandbox:
        return sandbox.outputs(blocks, default=default)


@short_traceback
def rehearse(
    function: Function, table: pa.Table, *, limits: Limits | None = None, modules: tuple[str, ...] = ()
) -> float:
    """Dry run of a function on rows that you may see, in the same sandbox; errors are shown.

    A release shows no errors: a function that cannot work in a sandbox gives the default for every block.

    Args:
        function: A function of a `pyarrow.Table`, or its source text.
        table: Rows that you may see.
        limits: Limits of the block. Default: `Limits()`.
        modules: Modules that the function may import. Default: none besides numpy, pyarrow and parts of Python.

    Returns:
        The number that the function returned.

    Raises:
        UnsupportedError: If the function gave no number, with what went wrong.
        ParameterError: If the rows are not an Arrow table.

    Example:
        >>> import discreet as dp
        >>> import pyarrow as pa
        >>> limits = dp.sandbox.Limits(seconds=5, workers=1, isolation="process")
        >>> dp.sandbox.rehearse("def rows(table): return table.num_rows", pa.table({"age": [30, 40]}), limits=limits)
        2.0
    """
    bounds = limits_or_default(limits)
    if not isinstance(table, pa.Table):
        raise ParameterError(
            f"rows of type {type(table).__name__}",
            because="a function is given an Arrow table",
            instead="pyarrow.Table.from_pandas(frame), or pyarrow.table({...})",
        )
    worker = _start_workers(transport.pack(function, modules), bounds, 1, tells=True)[0]
    try:
        with tempfile.TemporaryDirectory() as room:
            file = _write_rows(table, bounds.memory, Path(room, "rows"))
            rows = os.open(os.devnull if file is None else file, os.O_RDONLY)
            reply = worker.run(rows, time.monotonic() + float(bounds.seconds))
    except WorkerError:
        reply = Reply(b"", ended_well=False, cpu=0.0)
    finally:
        worker.close()
    answer = reply.answer(bounds)
    if answer is None:
        raise UnsupportedError(
            f"a function that gave no number: {_failure_text(reply, bounds)}",
            because="a sandbox has no files, no network, no other processes, and limits",
            instead="a function of its table alone; modules=(...) for what a library imports late; wider limits",
        )
    return answer


def _failure_text(reply: Reply, limits: Limits) -> str:
    if len(reply.content) > NUMBER.size:
        return reply.content.decode(errors="replace").strip()
    if reply.cpu > limits.cpu:
        return f"it took {reply.cpu:.2f} s of CPU"
    return "it was stopped, or it ended its process"


def _start_workers(
    packed: transport.PackedFunction, limits: Limits, number: int, *, first: int = 0, tells: bool = False
) -> list[Worker]:
    """Start workers, each on its core, and wait until they are ready; refuse what the machine cannot do."""
    _require_linux()
    known = cores()
    with ExitStack() as undo:
        workers = []
        for place in range(first, first + number):
            workers.append(Worker(packed, limits, known[place % len(known)], tells=tells))
            undo.callback(workers[-1].close)
        for worker in workers:
            _require_ready(worker, packed, limits)
        undo.pop_all()
    return workers


def limits_or_default(limits: object) -> Limits:
    """The limits that were given, or the default."""
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


def _require_ready(worker: Worker, packed: transport.PackedFunction, limits: Limits) -> None:
    try:
        found = worker.startup_report()
    except WorkerError:
        raise UnsupportedError(
            "a function of your own on this machine",
            because="a new Python with discreet and the allowed modules did not start",
            instead="python -m discreet doctor, which tries it, or another Python: python -m venv",
        ) from None
    if "missing" in found:
        raise ParameterError(
            f"the module {found['missing']!r} for functions",
            because="a fresh Python could not import it",
            instead=f"pip install {found['missing'].partition('.')[0]}, or modules=(...) without it",
        )
    if "shared" in found or (limits.isolation == "kernel" and not worker.cut_off):
        raise UnsupportedError(
            "a function of your own without isolation",
            because="the kernel has no system call filter, or a library shares memory",
            instead='Limits(isolation="process") if the owner trusts the function with files and network',
        )
    _require_sound(found.get("fault"), packed)


def _require_sound(report: bytes | None, packed: transport.PackedFunction) -> None:
    """Refuse a function in which a locked process found a fault; what it wrote is not trusted to be well-formed."""
    try:
        found = dict(json.loads(report or b"null"))
    except (ValueError, TypeError):
        found = {"text": "it could not be read within limits of time and memory"}
    if "unlisted" in found:
        raise unlisted_module_error(str(found["unlisted"]), packed.listed)
    if "absent" in found:
        raise unlisted_module_error(
            str(found["absent"]), packed.listed, "the modules that the owner allows do not load it"
        )
    if found:
        raise ParameterError(
            f"the text of a function: {found.get('text')}",
            because="it is read as Python, and has imports and one def",
            instead=r'"def answer(table):\n    return table.num_rows"',
        )


def _write_rows(rows: pa.Table | None, memory: int, path: Path) -> Path | None:
    """Write the rows to a file as an Arrow stream; None where they would not fit into memory."""
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
