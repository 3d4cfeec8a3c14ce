"""Cubes of small tables in memory, counted without an engine."""

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from discreet.anonymity.classes.cube import Codes, Cube


def cube_of(
    table: pa.Table, quasi: Sequence[str], sensitive: Sequence[str] = (), *, people: str, person: str | None = None
) -> Cube:
    """The cube of a table with one row for each base class, or for each pair of a person and a base class.

    `people` names the column with the number of people of a row. A row without a person is a person of its own for
    each of the people that it counts.
    """
    values, codes = {}, {}
    for name in (*quasi, *sensitive):
        values[name], codes[name] = _encode(table[name])
    counts = table[people].to_numpy().astype(np.int64)
    if person is None:
        return Cube(tuple(quasi), tuple(sensitive), values, codes, counts)
    _, known = _encode(table[person])
    repeats = np.where(table[person].is_null().to_numpy(), counts, 1)
    rows = np.repeat(np.arange(len(counts)), repeats)
    persons = known[rows]
    unnamed = table[person].is_null().to_numpy()[rows]
    persons[unnamed] = known.max(initial=-1) + 1 + np.arange(int(unnamed.sum()))
    _, persons = np.unique(persons, return_inverse=True)
    everyone = np.ones(len(rows), dtype=np.int64)
    return Cube(
        tuple(quasi),
        tuple(sensitive),
        values,
        {name: each[rows] for name, each in codes.items()},
        everyone,
        persons.astype(np.int64),
    )


def _encode(column: pa.ChunkedArray) -> tuple[pa.Array, Codes]:
    cells = column.combine_chunks()
    if isinstance(cells, pa.ChunkedArray):
        cells = pa.concat_arrays(cells.chunks) if cells.num_chunks else pa.array([], cells.type)
    encoded = cells.dictionary_encode(null_encoding="encode")
    return encoded.dictionary, encoded.indices.to_numpy().astype(np.int64)
