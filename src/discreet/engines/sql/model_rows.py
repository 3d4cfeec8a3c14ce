"""Rows of an engine as a model reads them: the person of each row, and texts in their declared spelling.

A block has all rows of its units. What is made of it depends on its rows alone.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from discreet.engines.sql.blocks import digest_long_names, drop_long_texts
from discreet.plan.models import ModelTraining, PersonIds

Spellings = Mapping[str, Mapping[str, str]]


def people_in_rows(columns: Sequence[pa.ChunkedArray], count: int) -> PersonIds:
    """The number of the person of each row; rows of which a part of the unit is missing are one person."""
    numbers, is_missing = np.zeros(count, dtype=np.int64), np.zeros(count, dtype=np.bool_)
    for column in columns:
        coded = pc.dictionary_encode(column.combine_chunks())
        places = pc.fill_null(coded.indices, -1).to_numpy(zero_copy_only=False).astype(np.int64)
        is_missing |= places < 0
        pairs = numbers * (len(coded.dictionary) + 1) + places + 1
        numbers = np.unique(pairs, return_inverse=True)[1].reshape(-1).astype(np.int64)
    return np.where(is_missing, np.int64(-1), numbers)


def encode_block(training: ModelTraining, unit_columns: Sequence[str], spellings: Spellings, rows: pa.Table) -> Any:
    """The codes of one block of whole units; cells are dropped here."""
    people = names = None
    if unit_columns:
        names = rows.select(list(unit_columns))
        people = people_in_rows(names.columns, rows.num_rows)
    for name, spelled in spellings.items():
        if any(read != declared for read, declared in spelled.items()):
            rows = rows.set_column(rows.column_names.index(name), name, _declared_texts(rows.column(name), spelled))
    return training.encode(rows.drop_columns(list(unit_columns)), people, names)


def pack_block(
    longest: Mapping[str, int],
    training: ModelTraining,
    unit_columns: Sequence[str],
    spellings: Spellings,
    rows: pa.Table,
) -> bytes:
    """The same as bytes, for blocks that stay where they were encoded, with long texts as `Split.shorten` leaves them.

    It takes one array after another: all texts of a block may have more bytes than one array can have.
    """
    for place, name in enumerate(rows.column_names):
        arrays = rows.column(name).chunks
        if name in unit_columns:
            rows = rows.set_column(place, name, pa.chunked_array([digest_long_names(each) for each in arrays]))
        elif name in longest:
            short = [drop_long_texts(each, longest[name]) for each in arrays]
            rows = rows.set_column(place, name, pa.chunked_array(short))
    return training.pack(encode_block(training, unit_columns, spellings, rows))


def _declared_texts(cells: pa.ChunkedArray, spelled: Mapping[str, str]) -> pa.ChunkedArray:
    """Cells in the declared spelling; those that are not declared are missing."""
    places = pc.index_in(cells, value_set=pa.array(list(spelled), cells.type))
    return pc.take(pa.array(list(spelled.values()), cells.type), places)
