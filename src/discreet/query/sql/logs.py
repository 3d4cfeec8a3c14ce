"""Nothing of a statement reaches a log: sqlglot writes parts of what it reads to the logger `sqlglot`.

Records of that logger are dropped while discreet reads a statement, in that thread or task alone. What a program does
with sqlglot by itself is logged as before.
"""

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

_IS_READING: ContextVar[bool] = ContextVar("discreet_reads_sql", default=False)


class _WhileReading(logging.Filter):
    def filter(self, record: logging.LogRecord) -> bool:  # noqa: ARG002 - whatever it says
        return not _IS_READING.get()


logging.getLogger("sqlglot").addFilter(_WhileReading())


@contextmanager
def no_parser_logs() -> Iterator[None]:
    """Drop what the parser would log."""
    token = _IS_READING.set(True)
    try:
        yield
    finally:
        _IS_READING.reset(token)
