"""People of a table: rows with the same identifier are one person, a row without identifier is a person of its own."""

import numpy as np
import pyarrow as pa

from discreet.anonymity.classes.keys import first_of_runs
from discreet.engines.sources.arrow_tables import Codes, encode


def people_of(table: pa.Table, person: str | None) -> Codes:
    """The person of each row, numbered from 0 without gaps in the order of their first rows."""
    if person is None:
        return np.arange(table.num_rows, dtype=np.int64)
    codes = encode([table[person]], person)
    missing = np.flatnonzero(~has_value(table[person]))
    codes[missing] = table.num_rows + missing
    return renumber(codes)


def has_value(column: pa.ChunkedArray) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    """Whether each cell has a value; NaN is missing."""
    valid: np.ndarray[tuple[int], np.dtype[np.bool_]] = column.is_null(nan_is_null=True).to_numpy()
    return ~valid


def renumber(codes: Codes) -> Codes:
    """The same classes, numbered from 0 without gaps in the order of their first rows."""
    numbers: Codes = pa.array(codes).dictionary_encode().indices.to_numpy().astype(np.int64)
    return numbers


def expand(first: Codes, counts: Codes) -> tuple[Codes, Codes]:
    """Of spans that begin at `first` and have `counts` places: the span of each place, and the place."""
    spans = np.repeat(np.arange(len(counts), dtype=np.int64), counts)
    inner = np.arange(len(spans), dtype=np.int64) - np.repeat(np.cumsum(counts) - counts, counts)
    return spans, first[spans] + inner


def distinct(codes: Codes) -> Codes:
    """The distinct codes in order. Sorting is several times faster than the hash table of `np.unique`."""
    order = np.sort(codes)
    return order[first_of_runs(order)]


def is_member(codes: Codes, known: Codes) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    """Whether each code is among the known ones, which are in order."""
    if not len(known):
        return np.zeros(len(codes), dtype=np.bool_)
    places = np.minimum(np.searchsorted(known, codes), len(known) - 1)
    return np.asarray(known[places] == codes)
