"""Where the commands `discreet local` write: never over what they read, or over a file of another format."""

import os
from collections.abc import Iterable
from pathlib import Path
from typing import Literal

from discreet.errors import ParameterError

Format = Literal["reports", "table of reports", "accumulator", "estimates", "task"]

ACCUMULATOR = b"discreet.local.accumulator/"
PARQUET = b"PAR1"
_ESTIMATES = (b'"value","', b'"mean","')
_HEAD = 256
LENGTH_BYTES = 4
_SHORTEST_REPORT = 32


def require_place(out: Path, inputs: Iterable[Path], *formats: Format) -> None:
    """Refuse a file that is an input, also through a link, or that has another format than what would replace it."""
    for each in inputs:
        if _is_same(out, each):
            raise _refusal(out, f"it is {str(each)!r}, which the command reads")
    if out.is_dir():
        raise _refusal(out, "it is a directory")
    found = format_of(out)
    if found is not None and found not in formats:
        raise _refusal(out, f"a file of another format is there: {found}, not {' or '.join(formats)}")


def format_of(path: Path) -> str | None:
    """What is in a file, by its first bytes; None where there is no file or nothing in it."""
    try:
        with path.open("rb") as file:
            head, size = file.read(_HEAD), os.fstat(file.fileno()).st_size
    except OSError:
        return None
    length = int.from_bytes(head[:LENGTH_BYTES], "big")
    if not head:
        return None
    if head.startswith(ACCUMULATOR):
        return "accumulator"
    if head.startswith(PARQUET):
        return _format_of_parquet(path)
    if head.startswith(_ESTIMATES):
        return "estimates"
    if head.startswith(b"{") and b'"cohorts"' in head:
        return "task"
    # a report begins with its version, 1
    is_report = head[LENGTH_BYTES : LENGTH_BYTES + 1] == b"\1" and _SHORTEST_REPORT <= length <= size - LENGTH_BYTES
    return "reports" if is_report else "something else"


def _format_of_parquet(path: Path) -> str:
    import pyarrow as pa  # noqa: PLC0415 - help does not wait for it
    import pyarrow.parquet as pq  # noqa: PLC0415

    try:
        names = set(pq.read_schema(path).names)
    except (pa.ArrowException, OSError):
        return "something else"
    if {"report_id", "payload"} <= names:
        return "table of reports"
    return "estimates" if names & {"value", "mean"} and names & {"estimate", "count", "rounding"} else "something else"


def _is_same(out: Path, other: Path) -> bool:
    try:
        return out.samefile(other)
    except OSError:
        return False


def _refusal(out: Path, because: str) -> ParameterError:
    name = out.with_stem(f"{out.stem}-2").name
    while out.with_name(name).exists():
        name = f"new-{name}"
    return ParameterError(f"--out {str(out)!r}", because=because, instead=f"--out {str(out.with_name(name))!r}")
