"""Jobs in Spark: marked, so that an interrupt ends them alone, and without cells in Python's logs."""

import logging
import signal
import threading
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from typing import Any

_JOB_GROUP = "spark.jobGroup.id"
_QUOTING_CELLS = ("DataFrameQueryContextLogger", "SQLQueryContextLogger")


def is_remote(session: Any) -> bool:
    """Whether a session is one of Spark Connect."""
    return type(session).__module__.startswith("pyspark.sql.connect")


def has_ended(session: Any) -> bool:
    """Whether the application of a session was stopped."""
    if is_remote(session):
        return bool(getattr(session, "is_stopped", False))
    with suppress(Exception):  # Python's half of an application that was stopped here is gone
        return bool(session.sparkContext._jsc.sc().isStopped())  # noqa: SLF001 - Python has no name for it
    return True


def mark_jobs(session: Any, mark: str) -> AbstractContextManager[None]:
    """Mark the jobs that this thread starts."""
    return _job_tag(session, mark) if is_remote(session) else _job_group(session.sparkContext, mark)


@contextmanager
def _job_group(context: Any, group: str) -> Iterator[None]:
    """Set the job group of this thread, and restore the former group afterwards."""
    theirs = context.getLocalProperty(_JOB_GROUP)
    context.setLocalProperty(_JOB_GROUP, group)
    try:
        yield
    finally:
        context.setLocalProperty(_JOB_GROUP, theirs)


@contextmanager
def _job_tag(session: Any, tag: str) -> Iterator[None]:
    """Set a tag, for Spark Connect."""
    session.addTag(tag)
    try:
        yield
    finally:
        session.removeTag(tag)


def cancel(session: Any, mark: str) -> None:
    """End the jobs with a mark, and those that are about to start: a query is several."""
    if is_remote(session):
        session.interruptTag(mark)
    else:
        session.sparkContext._jsc.sc().cancelJobGroupAndFutureJobs(mark)  # noqa: SLF001 - Python has no name for it


@contextmanager
def interrupts_reach_us() -> Iterator[None]:
    """PySpark's own handler would end every job of the application, other people's too."""
    before = signal.getsignal(signal.SIGINT)
    is_theirs = getattr(before, "__module__", "").startswith("pyspark.")
    if not is_theirs or threading.current_thread() is not threading.main_thread():
        yield
        return
    signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


class _Silence:
    """PySpark logs the error of an expression, and the error of a DataFrame's own cast quotes the cell.

    Threads ask at once: the first one silences the loggers, and the last one lets them speak again.
    """

    def __init__(self) -> None:
        self._guard = threading.Lock()
        self._asking = 0

    @contextmanager
    def __call__(self) -> Iterator[None]:
        self._change(1)
        try:
            yield
        finally:
            self._change(-1)

    def _change(self, by: int) -> None:
        with self._guard:
            self._asking += by
            for name in _QUOTING_CELLS:
                logging.getLogger(name).disabled = self._asking > 0


without_cells_in_logs = _Silence()
