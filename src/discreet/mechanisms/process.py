"""The identity of this process, for objects that a fork must not copy: open streams and accounts."""

import os


class _Process:
    """Marks this process: its number alone could come back in a grandchild."""

    mark = object()


def this_process() -> tuple[int, object]:
    """The number and the mark of this process; a forked process has another mark, even with the same number.

    Returns:
        A value to compare with another one of the same process.
    """
    return os.getpid(), _Process.mark


def _mark_child() -> None:
    _Process.mark = object()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_mark_child)
