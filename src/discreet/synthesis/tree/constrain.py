"""A tree under constraints: the distribution given that no forbidden slot or pair of slots occurs.

Pairs with a rule are edges, so the distribution stays a tree, and its tables follow from one pass up and one pass down.
Tables are first raked to their columns without the forbidden cells, so that columns change as little as they can.
"""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from discreet.synthesis.core.domain import Columns
from discreet.synthesis.core.measurement import Floats
from discreet.synthesis.rows.constraints import Allowed, SlotRule
from discreet.synthesis.tree.fitting import rake
from discreet.synthesis.tree.model import TreeColumn, TreeModel

_SWEEPS = 50
_SMALLEST = 1e-12


def constrain(model: TreeModel, rules: Sequence[SlotRule]) -> TreeModel:
    """The model under rules.

    Args:
        model: A model that has every pair with a rule as an edge.
        rules: The rules over slots, of which some row fulfils all.

    Returns:
        A model whose marginals and rows break no rule.
    """
    if not rules:
        return model
    model = unmerge(model, {name for rule in rules for name in rule.columns})
    allowed: dict[Columns, Allowed] = {rule.columns: rule.allowed for rule in rules}
    columns = {
        name: replace(column, probabilities=_fill(column.probabilities, allowed.get((name,))))
        for name, column in model.columns.items()
    }
    tables = {pair: _table(model.tables[pair], pair, columns, allowed) for pair in model.tables}
    return _condition(TreeModel(model.total, columns, tables), allowed)


def _fill(values: Floats, allowed: Allowed | None) -> Floats:
    """Probabilities without those that are not allowed; what is allowed keeps a trace, so that something is left."""
    if allowed is None:
        return values
    found = np.where(allowed, np.maximum(values, _SMALLEST), 0.0)
    return np.asarray(found / found.sum(), dtype=np.float64)


def _table(table: Floats, pair: Columns, columns: dict[str, TreeColumn], allowed: dict[Columns, Allowed]) -> Floats:
    one, other = (columns[name].probabilities for name in pair)
    if pair not in allowed and not any((name,) in allowed for name in pair):
        return table
    mask = allowed.get(pair, np.ones(table.shape, dtype=np.bool_)) & np.outer(one > 0, other > 0)
    return rake(_fill(table, mask), one, other, _SWEEPS)


def _condition(model: TreeModel, allowed: dict[Columns, Allowed]) -> TreeModel:
    """Tables that agree again: probabilities of what is below go up, those of what is above come down."""
    upward = {name: _mask(allowed.get((name,)), column) for name, column in model.columns.items()}
    given: dict[str, Floats] = {}
    for name, parent in reversed(model.order):
        if parent is not None:
            given[name] = model.conditional(name, parent) * _pair_mask(allowed, parent, name) * upward[name]
            upward[parent] = upward[parent] * given[name].sum(axis=1)
    columns: dict[str, TreeColumn] = {}
    tables: dict[Columns, Floats] = {}
    for name, parent in model.order:
        column = model.columns[name]
        if parent is None:
            found = column.probabilities * upward[name]
        else:
            table = _rows_to(given[name], columns[parent].probabilities)
            found = table.sum(axis=0)
            tables[(parent, name) if (parent, name) in model.tables else (name, parent)] = (
                table if (parent, name) in model.tables else table.T
            )
        columns[name] = replace(column, probabilities=found / found.sum())
    return TreeModel(
        model.total, {name: columns[name] for name in model.columns}, {pair: tables[pair] for pair in model.tables}
    )


def _rows_to(given: Floats, sums: Floats) -> Floats:
    found = given.sum(axis=1)
    factors = np.divide(sums, found, out=np.zeros(sums.size), where=found > 0)
    return np.asarray(given * factors[:, None], dtype=np.float64)


def _mask(allowed: Allowed | None, column: TreeColumn) -> Floats:
    return np.ones(column.probabilities.size) if allowed is None else allowed.astype(np.float64)


def _pair_mask(allowed: dict[Columns, Allowed], parent: str, name: str) -> Floats | float:
    if (parent, name) in allowed:
        return allowed[parent, name].astype(np.float64)
    return allowed[name, parent].T.astype(np.float64) if (name, parent) in allowed else 1.0


def unmerge(model: TreeModel, names: set[str]) -> TreeModel:
    """The same distribution, where every slot of some columns is a group by itself.

    Args:
        model: A model.
        names: The columns.

    Returns:
        The model in which no slots of these columns are merged.
    """
    columns = dict(model.columns)
    tables = dict(model.tables)
    for name in names:
        split = columns[name].split
        size = split.shape[1]
        columns[name] = TreeColumn(tuple(range(size)), np.ones(size), columns[name].probabilities @ split)
        for pair, table in tables.items():
            if name in pair:
                tables[pair] = split.T @ table if pair[0] == name else table @ split
    return TreeModel(model.total, columns, tables)
