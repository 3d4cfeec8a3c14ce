"""Parquet files read piece by piece, so that what Arrow holds of them does not grow with them.

A scan of an Arrow dataset reads ahead of its consumer, up to 1 GiB of them and all compressed bytes of a file
so far, and an engine's memory limit does not govern that. Here each piece of a file, some row groups, is a scan of its
own, and only a few of them are open at a time.
"""

from collections import deque
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pyarrow as pa
from pyarrow import dataset

ROWS_IN_A_PIECE = 2**18
MOST_PIECES = 8
_OPENERS = 8


class Piecewise(dataset.FileSystemDataset):  # type: ignore[misc]
    """A dataset of Parquet files whose scans hold a few row groups, however large the files are."""

    def scanner(self, **options: Any) -> "Pieces":
        """A scan of the columns and rows that are options for; DuckDB asks for those that a query needs."""
        return Pieces(self, options)

    def whole(self, **options: Any) -> Any:
        """The scan as Arrow makes it."""
        return super().scanner(**options)


class Pieces:
    """One scan, piece after piece."""

    def __init__(self, files: Piecewise, options: dict[str, Any]) -> None:
        self._files = files
        self._options = options

    def to_reader(self) -> pa.RecordBatchReader:
        """The rows in batches, once."""
        schema = self._files.whole(**self._options).projected_schema
        return pa.RecordBatchReader.from_batches(schema, self._batches())

    def to_table(self) -> pa.Table:
        """All rows at once."""
        return self.to_reader().read_all()

    def _batches(self) -> Iterator[pa.RecordBatch]:
        """Batches in the order of the files; the next pieces are being read while one is taken."""
        open_pieces: deque[tuple[int, pa.RecordBatchReader]] = deque()
        rows_ahead = ROWS_IN_A_PIECE * min(pa.cpu_count(), MOST_PIECES)
        for rows, piece in self._pieces():
            open_pieces.append((rows, self._open_piece(piece)))
            while len(open_pieces) > MOST_PIECES or sum(rows for rows, _ in list(open_pieces)[1:]) >= rows_ahead:
                yield from open_pieces.popleft()[1]
        while open_pieces:
            yield from open_pieces.popleft()[1]

    def _open_piece(self, piece: Any) -> pa.RecordBatchReader:
        files = self._files
        return dataset.FileSystemDataset([piece], files.schema, files.format).scanner(**self._options).to_reader()

    def _pieces(self) -> Iterator[tuple[int, Any]]:
        """The pieces of all files, each with the number of its rows; some files are opened at a time."""
        files = list(self._files.get_fragments())
        with ThreadPoolExecutor(_OPENERS) as openers:
            for start in range(0, len(files), _OPENERS):
                some = files[start : start + _OPENERS]
                for file, groups in zip(some, openers.map(lambda each: each.row_groups, some), strict=True):
                    yield from _cut(file, groups)


def _cut(file: Any, groups: Sequence[Any]) -> Iterator[tuple[int, Any]]:
    """Row groups that follow each other, together so many rows that a scan of their own is worth it."""
    ids: list[int] = []
    rows = 0
    for group in groups:
        ids.append(group.id)
        rows += group.num_rows
        if rows >= ROWS_IN_A_PIECE or group.id == groups[-1].id:
            yield rows, file.subset(row_group_ids=ids)
            ids, rows = [], 0
