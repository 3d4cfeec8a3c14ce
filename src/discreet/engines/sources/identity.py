"""Whether two sources hold the same rows, by where the rows are and never by what they are.

Files are compared by device and inode, so that links, globs and directories lead to the files themselves; tables of a
database file by the file and the table; frames by the memory that holds their columns; everything else by its name.
A copy of protected rows in a place of its own cannot be distinguished from other data by any of these.
"""

import glob
import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from discreet.engines.sources.source import Source

NAMELESS = "memory"
_PARTS = ("_pa_array", "_ndarray", "_data", "_mask")

File = tuple[int, int]
Span = tuple[int, int]


@dataclass(frozen=True)
class OpenSource:
    """An open source with the object that it was opened from, which the caller holds while it is compared."""

    source: Source
    given: object


def same_rows(one: OpenSource, other: OpenSource) -> bool:
    """Whether two open sources share a file, a table or memory."""
    if one.source.identity == other.source.identity != NAMELESS:
        return True
    if _files(one.source.paths) & _files(other.source.paths):
        return _tables_meet(one.source.table, other.source.table)
    if _remote(one.source) & _remote(other.source):
        return True
    if {one.source.identity, other.source.identity} != {NAMELESS} or one.given is None:
        return False
    return one.given is other.given or _share_memory(one.given, other.given)


def is_registered(source: Source, registered: str) -> bool:
    """Whether an open source shares rows with one that a ledger knows, by the name that it has there."""
    if registered == NAMELESS:
        return False
    if registered == source.identity:
        return True
    if "://" in registered:
        return any(f"{path}/".startswith(f"{registered.rstrip('/')}/") for path in _remote(source))
    location, mark, table = registered.rpartition("#")
    if not mark or os.path.exists(registered):  # noqa: PTH110 - a pattern is no path
        location, table = registered, ""
    return bool(_files(_below(location)) & _files(source.paths)) and _tables_meet(table or None, source.table)


def _tables_meet(one: str | None, other: str | None) -> bool:
    """Whether two tables of one file are the same; a file that is read as a whole meets every table in it."""
    return one is None or other is None or _table(one) == _table(other)


def _table(name: str) -> tuple[str, ...]:
    parts = [part.strip('"').casefold() for part in name.split(".")]
    return ("main", *parts)[-2:]


def _files(paths: Iterable[str]) -> set[File]:
    found = set()
    for path in paths:
        try:
            status = os.stat(path)  # noqa: PTH116 - thousands of them
        except (OSError, ValueError):
            continue
        found.add((status.st_dev, status.st_ino))
    return found


def _below(location: str) -> Iterator[str]:
    """The files that a registered path, glob or directory names now."""
    for match in glob.glob(location, recursive=True) if glob.has_magic(location) else [location]:  # noqa: PTH207
        yield match
        for folder, _, names in os.walk(match):
            yield from (os.path.join(folder, name) for name in names)  # noqa: PTH118


def _remote(source: Source) -> set[str]:
    """The files of a source that only Arrow can open, with the kind of their file system in front."""
    files = getattr(source.frame, "files", None)
    if source.kind != "parquet" or source.paths or files is None:
        return set()
    kind: str = source.frame.filesystem.type_name  # type: ignore[union-attr]
    return {f"{ {'gcs': 'gs'}.get(kind, kind) }://{path}" for path in files}


def _share_memory(one: object, other: object) -> bool:
    """Whether columns of two frames lie in the same memory; what was made to look at it lives until they are compared.

    Otherwise the memory of a conversion that is gone could be given to the next one.
    """
    columns, others = list(_columns(one)), list(_columns(other))
    marked = sorted([(*span, 0) for span in _spans(columns)] + [(*span, 1) for span in _spans(others)])
    ends = [0, 0]
    for start, end, side in marked:
        if start < ends[1 - side]:
            return True
        ends[side] = max(ends[side], end)
    return False


def _columns(data: object) -> Iterator[Any]:
    """The arrays of numpy and Arrow that hold a frame's columns; nothing where they are not in this process."""
    kind = f"{type(data).__module__.split('.')[0].removeprefix('_')}.{type(data).__name__}"
    frame: Any = data.frame if isinstance(data, Source) else data
    if kind == "pandas.DataFrame":
        for i in range(frame.shape[1]):
            column = frame.iloc[:, i].array
            yield from (getattr(column, part) for part in _PARTS if hasattr(column, part))
    elif kind == "polars.DataFrame":
        import polars as pl  # noqa: PLC0415 - an optional driver, which the caller with a frame has imported

        level = getattr(pl, "CompatLevel", None)
        yield from (frame.to_arrow() if level is None else frame.to_arrow(compat_level=level.newest())).columns
    elif kind == "pyarrow.InMemoryDataset":
        yield from frame.to_table().columns
    elif isinstance(frame, pa.Table | pa.RecordBatch):
        yield from frame.columns


def _spans(columns: Sequence[Any]) -> Iterator[Span]:
    """Where columns begin and end in memory; a view leads to the array that it is a view of."""
    for column in columns:
        if isinstance(column, pa.ChunkedArray):
            yield from _spans(column.chunks)
        elif isinstance(column, pa.ExtensionArray):
            yield from _spans([column.storage])
        elif isinstance(column, pa.Array):
            held = (buffer for buffer in column.buffers() if buffer is not None and buffer.size)
            yield from ((buffer.address, buffer.address + buffer.size) for buffer in held)
        elif hasattr(column, "__array_interface__"):
            whole = column
            while hasattr(whole.base, "__array_interface__"):
                whole = whole.base
            start = whole.__array_interface__["data"][0]
            yield from [(start, start + whole.nbytes)] if whole.nbytes else []
