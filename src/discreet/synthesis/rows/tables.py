"""Rows of a released synthetic table, from its plain data: the same release gives the same rows."""

from collections.abc import Iterator, Mapping, Sequence
from importlib import import_module
from operator import attrgetter
from typing import Any

import numpy as np
import pyarrow as pa

from discreet.plan.slots import columns_from_json
from discreet.release.synthetic import has_levels
from discreet.synthesis.core.model import MarginalModel
from discreet.synthesis.rows.decoding import TYPES, decode
from discreet.synthesis.rows.drawing import row_blocks

_MODELS = {
    "graphical": ("discreet.synthesis.graphical.model", "model_from_json"),
    "tree": ("discreet.synthesis.tree.model", "TreeModel.from_json"),
    "two_level": ("discreet.synthesis.two_level.model", "TwoLevelModel.from_json"),
}
"""Where models are that a state may hold, by the `kind` in their plain data."""


def model_of(state: Mapping[str, Any]) -> MarginalModel:
    """The model of a released table.

    Its mappings from columns are read in the order of the table: a ledger writes them in the order of their names.

    Args:
        state: The state of a `SyntheticTable`.

    Returns:
        The model.
    """
    module, name = _MODELS[state["model"]["kind"]]
    read: Any = attrgetter(name)(import_module(module))
    model: MarginalModel = read(_in_order(state["model"], [column["name"] for column in state["columns"]]))
    return model


def draw_batches(state: Mapping[str, Any], number: int) -> Iterator[pa.RecordBatch]:
    """Rows of a released table, some at a time.

    Args:
        state: The state of a `SyntheticTable`.
        number: The number of rows.

    Yields:
        The rows, in the types of their columns.
    """
    if has_levels(state):
        home: Any = import_module("discreet.synthesis.two_level.tables")
        yield from home.joined_batches(state, number)
        return
    columns, model = columns_from_json(state["columns"]), model_of(state)
    generator = np.random.default_rng(state["draw"])
    places = {name: place for place, name in enumerate(model.domain.names)}
    schema = row_schema(state)
    for slots in row_blocks(model, number, generator):
        cells = [decode(each, slots[:, places[each.name]], generator) for each in columns]
        yield pa.record_batch(cells, schema=schema)


def row_schema(state: Mapping[str, Any]) -> pa.Schema:
    """The names and types of the columns of a released table."""
    columns = columns_from_json(state["columns"])
    fields = [pa.field(column.name, TYPES[column.type]) for column in columns]
    if has_levels(state):
        fields.insert(0, pa.field(state["model"]["identifier"], pa.int64(), nullable=False))
    return pa.schema(fields)


def draw_table(state: Mapping[str, Any], number: int) -> pa.Table:
    """Rows of a released table.

    Args:
        state: The state of a `SyntheticTable`.
        number: The number of rows.

    Returns:
        The rows, in the types of their columns.
    """
    return pa.Table.from_batches(draw_batches(state, number), schema=row_schema(state))


def _in_order(data: Any, names: Sequence[str]) -> Any:
    """Plain data, in which the columns of mappings have the order of the table."""
    if isinstance(data, list):
        return data if not data or not isinstance(data[0], dict) else [_in_order(part, names) for part in data]
    if not isinstance(data, dict):
        return data
    keys = [name for name in names if name in data] if set(data) <= set(names) else sorted(data)
    return {key: _in_order(data[key], names) for key in keys}
