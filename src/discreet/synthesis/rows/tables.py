"""Rows of a released synthetic table, from its plain data: the same release gives the same rows."""

from collections.abc import Mapping, Sequence
from importlib import import_module
from operator import attrgetter
from typing import Any

import numpy as np
import pyarrow as pa

from discreet.plan.slots import columns_from_json
from discreet.synthesis.core.model import MarginalModel
from discreet.synthesis.rows.decoding import TYPES, decode
from discreet.synthesis.rows.drawing import row_blocks

_MODELS = {
    "graphical": ("discreet.synthesis.graphical.model", "model_from_json"),
    "tree": ("discreet.synthesis.tree.model", "TreeModel.from_json"),
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


def draw_table(state: Mapping[str, Any], number: int) -> pa.Table:
    """Rows of a released table.

    Args:
        state: The state of a `SyntheticTable`.
        number: The number of rows.

    Returns:
        The rows, in the types of their columns.
    """
    columns, model = columns_from_json(state["columns"]), model_of(state)
    generator = np.random.default_rng(state["draw"])
    places = {name: place for place, name in enumerate(model.domain.names)}
    schema = pa.schema([pa.field(column.name, TYPES[column.type]) for column in columns])
    batches = [
        pa.record_batch([decode(each, slots[:, places[each.name]], generator) for each in columns], schema=schema)
        for slots in row_blocks(model, number, generator)
    ]
    return pa.Table.from_batches(batches, schema=schema)


def _in_order(data: Any, names: Sequence[str]) -> Any:
    """Plain data, in which the columns of mappings have the order of the table."""
    if isinstance(data, list):
        return data if not data or not isinstance(data[0], dict) else [_in_order(part, names) for part in data]
    if not isinstance(data, dict):
        return data
    keys = [name for name in names if name in data] if set(data) <= set(names) else sorted(data)
    return {key: _in_order(data[key], names) for key in keys}
