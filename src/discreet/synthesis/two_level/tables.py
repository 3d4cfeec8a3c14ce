"""Linked tables of a released two-level table, from its plain data: the same release gives the same rows.

Identifiers are 1, 2 and so on: they are invented, and name nobody.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from discreet.plan.slots import SlotColumn, columns_from_json
from discreet.synthesis.rows.decoding import TYPES, decode
from discreet.synthesis.two_level.model import LinkedRows, TwoLevelModel


class LinkedBlock(NamedTuple):
    """Some persons, the visits of all of them, and these visits with the columns of their persons."""

    persons: pa.RecordBatch
    visits: pa.RecordBatch
    joined: pa.RecordBatch


def linked_blocks(state: Mapping[str, Any], number: int) -> Iterator[LinkedBlock]:
    """Persons with their visits, in blocks.

    Args:
        state: The state of a two-level `SyntheticTable`.
        number: The number of visits.

    Yields:
        Blocks; the first has no rows.
    """
    model, columns = TwoLevelModel.from_json(state["model"]), columns_from_json(state["columns"])
    generator = np.random.default_rng(state["draw"])
    own = [each for each in columns if each.name in model.persons.columns]
    others = [each for each in columns if each.name not in model.persons.columns]
    nobody = np.zeros((0, len(columns)), dtype=np.int64)
    yield _block(LinkedRows(nobody, nobody[:, 0], nobody), (model, own, others), 0, generator)
    first = 1
    for block in model.linked_rows(number, generator):
        yield _block(block, (model, own, others), first, generator)
        first += len(block.persons)


def linked_tables(state: Mapping[str, Any], number: int) -> dict[str, pa.Table]:
    """The persons and the visits of a released two-level table.

    Args:
        state: The state of a two-level `SyntheticTable`.
        number: The number of visits.

    Returns:
        Both tables by their names, "persons" and "visits".
    """
    blocks = list(linked_blocks(state, number))
    found = {"persons": [each.persons for each in blocks], "visits": [each.visits for each in blocks]}
    return {name: pa.Table.from_batches(batches) for name, batches in found.items()}


def joined_batches(state: Mapping[str, Any], number: int) -> Iterator[pa.RecordBatch]:
    """The visits of a released two-level table with the columns of their persons, some at a time.

    Args:
        state: The state of a two-level `SyntheticTable`.
        number: The number of visits.

    Yields:
        The visits; the first batch has no rows.
    """
    for block in linked_blocks(state, number):
        yield block.joined


def _block(
    drawn: LinkedRows,
    how: tuple[TwoLevelModel, Sequence[SlotColumn], Sequence[SlotColumn]],
    first: int,
    generator: np.random.Generator,
) -> LinkedBlock:
    """A block in the types of its columns: a person has one value in each, and visits take it over."""
    (persons, owners, visits), (model, own, others) = drawn, how
    names = pa.field(model.identifier, pa.int64(), nullable=False)
    one, two = (pa.schema([names, *(pa.field(each.name, TYPES[each.type]) for each in some)]) for some in (own, others))
    places = {name: place for place, name in enumerate(model.persons.columns)}
    cells = [decode(each, persons[:, places[each.name]], generator) for each in own]
    table = pa.record_batch([pa.array(np.arange(first, first + len(persons))), *cells], schema=one)
    places = {name: place for place, name in enumerate(model.domain.names)}
    rows = [decode(each, visits[:, places[each.name]], generator) for each in others]
    carried = table.take(pa.array(owners))
    whole = pa.schema([*one, *list(two)[1:]])
    joined = pa.record_batch([*carried.columns, *rows], schema=whole)
    return LinkedBlock(table, pa.record_batch([carried.column(0), *rows], schema=two), joined)
