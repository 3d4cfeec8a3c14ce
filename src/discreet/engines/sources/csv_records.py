"""Whether each record of a CSV file can be read, for owners who count exactly: one that is left out hides a person.

Files as RFC 4180 has them are checked by arrays of bytes. Any other file is read record by record, in Python's reader,
which says where the first fault is. Charged queries never come here: they must not fail by a cell.
"""

import csv
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from discreet.errors import SourceError

_PIECE = 2**20
_QUOTE, _END, _RETURN = b'"'[0], b"\n"[0], b"\r"[0]
_BOM = b"\xef\xbb\xbf"

Bytes = NDArray[np.uint8]


@dataclass(frozen=True)
class _Fault:
    """The first fault of a file, and the number of records that have one; None where they cannot be counted."""

    line: int
    because: str
    instead: str
    records: int | None


def require_readable(paths: tuple[str, ...], columns: int, delimiter: str) -> int | None:
    """Refuse files with a record that cannot be read.

    Returns:
        The number of records behind the headers, where the files are not in the form that every reader reads alike.
    """
    if all(_is_plain(Path(path), columns, delimiter) for path in paths):
        return None
    return sum(_count_records(Path(path), columns, delimiter) for path in paths)


def unread_records(paths: tuple[str, ...], records: int, rows: int) -> SourceError:
    """Error for files of which the engine reads another number of rows than they have records."""
    return SourceError(
        f"{Path(paths[0]).name!r}, of which {rows:,} rows can be read",
        because=f"it has {records:,} records, and quotes or line ends are ambiguous",
        instead="the same file with all cells in quotes, or a Parquet file",
    )


def _is_plain(path: Path, columns: int, delimiter: str) -> bool:
    """Whether all records have their cells, quotes enclose whole cells, and the text is UTF-8."""
    if not delimiter.isascii() or not path.stat().st_size:
        return False
    content = np.memmap(path, np.uint8, mode="r")
    start, size = 3 if bytes(content[:3]) == _BOM else 0, _PIECE
    while start < len(content):
        piece = np.asarray(content[start : start + size])
        is_last = start + size >= len(content)
        breaks = _breaks(piece, ord(delimiter), is_last=is_last)
        if breaks is None:
            return False
        ends = breaks[piece[breaks] == _END]
        if not len(ends) and not is_last:
            size *= 2
            continue
        whole = len(piece) if is_last else int(ends[-1]) + 1
        if not _has_cells(piece[:whole], breaks[breaks < whole], columns) or not _is_text(piece[:whole]):
            return False
        start, size = start + whole, _PIECE
    return True


def _breaks(piece: Bytes, delimiter: int, *, is_last: bool) -> NDArray[np.int64] | None:
    """Places of delimiters and line ends outside of quotes; None where a quote or a return is in an odd place."""
    quotes = np.flatnonzero(piece == _QUOTE)
    found = np.flatnonzero((piece == delimiter) | (piece == _END))
    returns = np.flatnonzero(piece == _RETURN)
    if not is_last:
        returns = returns[returns < len(piece) - 1]
    if (returns == len(piece) - 1).any() or (piece[returns + 1] != _END).any():
        return None
    if not len(quotes):
        return found
    if is_last and len(quotes) % 2:
        return None
    first, last = quotes[::2], quotes[1::2]
    before = piece[first[first > 0] - 1]
    after = piece[last[last < len(piece) - 1] + 1]
    beside = np.array([delimiter, _END, _QUOTE], np.uint8)
    if not np.isin(before, beside).all() or not np.isin(after, [*beside, _RETURN]).all():
        return None
    is_outside: NDArray[np.bool_] = np.searchsorted(quotes, found) % 2 == 0
    return found[is_outside]


def _has_cells(piece: Bytes, breaks: NDArray[np.int64], columns: int) -> bool:
    """Whether each record of whole records has its number of cells, or is an empty line."""
    if len(piece) and piece[-1] != _END:
        breaks = np.append(breaks, len(piece))
    is_end = np.append(piece, _END)[breaks] == _END
    numbers = np.flatnonzero(is_end)
    cells = np.diff(numbers, prepend=-1)
    odd = np.flatnonzero(cells != columns)
    if not len(odd):
        return True
    ends = breaks[numbers]
    starts = np.append(0, ends[:-1] + 1)
    lengths = ends[odd] - starts[odd]
    is_empty = (lengths == 0) | ((lengths == 1) & (piece[np.minimum(starts[odd], len(piece) - 1)] == _RETURN))
    return bool(is_empty.all())


def _is_text(piece: Bytes) -> bool:
    try:
        piece.tobytes().decode()
    except UnicodeDecodeError:
        return False
    return True


def _count_records(path: Path, columns: int, delimiter: str) -> int:
    """Number of records behind the header, one by one; the first fault is refused with its line."""
    records, fault = -1, None
    for line, cells in _records(path, delimiter):
        if not cells and columns > 1:
            continue  # an empty line is a row only in a file with one column
        found = cells if isinstance(cells, _Fault) else _fault(line, cells, columns, path.name)
        if found is not None:
            fault = _merge(fault, found)
        records += 1
    if fault is not None:
        number = "rows" if fault.records is None else "1 row" if fault.records == 1 else f"{fault.records:,} rows"
        raise SourceError(
            f"{number} of {path.name!r} that cannot be read, the first in line {fault.line:,}",
            because=fault.because,
            instead=fault.instead,
        )
    return records


def _merge(first: _Fault | None, found: _Fault) -> _Fault:
    if first is None:
        return found
    records = None if first.records is None or found.records is None else first.records + found.records
    return _Fault(first.line, first.because, first.instead, records)


def _records(path: Path, delimiter: str) -> Iterator[tuple[int, list[str] | _Fault]]:
    """The records with the lines that they begin in; bytes that are not text are surrogates."""
    limit = csv.field_size_limit(sys.maxsize)
    try:
        with path.open(encoding="utf-8-sig", errors="surrogateescape", newline="") as file:
            reader, line = csv.reader(file, delimiter=delimiter, strict=True), 1
            while True:
                try:
                    cells = next(reader)
                except StopIteration:
                    return
                except csv.Error:
                    quote = "a quote is not closed, or stands in the middle of a cell"
                    yield line, _Fault(line, quote, f'mend the quotes in line {line:,}: \'a ""word"" in quotes\'', None)
                    return
                yield line, cells
                line = reader.line_num + 1
    finally:
        csv.field_size_limit(limit)


def _fault(line: int, cells: list[str], columns: int, name: str) -> _Fault | None:
    if any("\udc80" <= character <= "\udcff" for cell in cells if not cell.isascii() for character in cell):
        return _Fault(
            line,
            "a CSV file must be UTF-8, and this one looks like LATIN1",
            f"the same file in UTF-8: iconv -f LATIN1 -t UTF-8 {name} > utf8-{name}",
            1,
        )
    if max(len(cells), 1) == columns or (len(cells) == columns + 1 and not cells[-1]):
        return None
    return _Fault(
        line,
        f"the row has {len(cells):,} cell{'' if len(cells) == 1 else 's'}, and the header {columns:,}",
        f"mend line {line:,}: as many cells as the header has",
        1,
    )
