"""A sign of life on runs over one second: how far the engine is for an owner, the time gone by for an analyst.

How far an engine is depends on the rows that it reads, so an analyst's session never even asks. What is shown then is
a clock, which tells no more than waiting for the answer does. The run itself stays in the calling thread, where Ctrl-C
reaches it; the display is a thread that draws on the terminal and wipes its line before the run's outcome is seen.
"""

import os
import sys
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any, Literal, TextIO, TypeVar

VARIABLE = "DISCREET_PROGRESS"
DELAY = 1.0
PERIOD = 0.25
PATIENCE = 2.0

Outcome = TypeVar("Outcome")

_screen = threading.Lock()


@dataclass(frozen=True)
class Stage:
    """How far an engine is, in its own terms; the total where it knows one."""

    done: int
    total: int | None
    what: Literal["rows", "stages", "percent"]

    def __str__(self) -> str:
        if self.what == "percent":
            return f"{self.done}%"
        of = "" if self.total is None else f" of {self.total:,}"
        return f"{self.done:,}{of} {self.what}"


def shown_while(
    run: Callable[[], Outcome],
    *,
    stages: Callable[[], Stage | None] | None,
    may_show_stages: bool,
    delay: float | None = None,
    stream: TextIO | None = None,
    label: str = "answering",
) -> Outcome:
    """Run here and now, with a display on the terminal if it takes long; the display is gone when this returns.

    `stages` is called from another thread, and only where `may_show_stages`. `label` is what the display says is done.
    `delay` is in seconds; None is `DELAY`.
    """
    chosen = sys.stderr if stream is None else stream
    if chosen is None or not _can_show(chosen):
        return run()
    display = _Display(chosen, stages if may_show_stages else None, DELAY if delay is None else delay, label)
    try:
        display.start()
        return run()
    finally:
        try:
            display.end()
        except KeyboardInterrupt:
            display.end()
            raise


def _can_show(stream: TextIO) -> bool:
    """Whether somebody may be looking."""
    if os.environ.get(VARIABLE) == "0":
        return False
    try:
        return stream.isatty() or "ipykernel" in sys.modules
    except ValueError:  # closed
        return False


class _Display:
    """A thread that waits, then draws until the run is over; no failure of it concerns the run."""

    def __init__(self, stream: TextIO, stages: Callable[[], Stage | None] | None, delay: float, label: str) -> None:
        self._stream, self._stages, self._delay, self._label = stream, stages, delay, label
        self._over, self._gone = threading.Event(), threading.Event()
        self._thread = threading.Thread(target=self._live, name="discreet-progress", daemon=True)

    def start(self) -> None:
        """Begin to wait; a process that may start no more threads still gets its answer."""
        try:
            self._thread.start()
        except RuntimeError:
            self._gone.set()

    def end(self) -> None:
        """Wipe the display; an engine that hangs when it is asked how far it is does not hold the answer for long.

        Not by joining: until Python 3.13 a Ctrl-C during a join takes a living thread for a finished one.
        """
        self._over.set()
        if self._gone.wait(PATIENCE) and self._thread.ident is not None:
            self._thread.join()

    def _live(self) -> None:
        started = time.monotonic()
        try:
            if not self._over.wait(self._delay):
                self._take_turn(started)
        finally:
            self._gone.set()

    def _take_turn(self, started: float) -> None:
        while not _screen.acquire(blocking=False):
            if self._over.wait(PERIOD):
                return
        try:
            with suppress(Exception):
                _draw(self._stream, self._stages, self._over, started, self._label)
        finally:
            _screen.release()


def _draw(
    stream: TextIO, stages: Callable[[], Stage | None] | None, over: threading.Event, started: float, label: str
) -> None:
    from rich.console import Console  # noqa: PLC0415 - most runs show nothing, and it is slow to import
    from rich.progress import BarColumn, Progress, TextColumn  # noqa: PLC0415

    console = Console(file=stream)
    if console.is_jupyter and find_spec("ipywidgets") is None:
        return
    columns = [TextColumn(label), *([BarColumn()] if stages else []), TextColumn("{task.fields[said]}")]
    drawn = Progress(
        *columns,
        console=console,
        auto_refresh=False,
        transient=True,
        # replacing sys.stdout and sys.stderr from a thread would pull them from under the run
        redirect_stdout=False,
        redirect_stderr=False,
    )
    with drawn:
        task = drawn.add_task("", total=None, **_stage_text(None, started))
        while not over.is_set():
            drawn.update(task, **_stage_text(_current_stage(stages), started))
            drawn.refresh()
            over.wait(PERIOD)


def _current_stage(stages: Callable[[], Stage | None] | None) -> Stage | None:
    """Where the engine is; an engine that cannot say is an engine that does not say."""
    if stages is None:
        return None
    try:
        return stages()
    except Exception:  # noqa: BLE001 - the run decides what fails, not a look at it
        return None


def _stage_text(stage: Stage | None, started: float) -> Mapping[str, Any]:
    minutes, seconds = divmod(int(time.monotonic() - started), 60)
    clock = f"{minutes // 60}:{minutes % 60:02}:{seconds:02}"
    if stage is None:
        return {"said": clock}
    return {"completed": stage.done, "total": stage.total, "said": f"{stage}  {clock}"}
