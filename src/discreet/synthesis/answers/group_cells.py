"""The groups of a query as unions of cells over slots, or None where the query cuts a slot."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np

from discreet.catalog.catalog import ColumnType, Value
from discreet.catalog.columns import NUMERIC
from discreet.plan import logical
from discreet.plan.slots import SlotColumn
from discreet.release.values.columns import Key
from discreet.synthesis.answers.noisy_marginals import Mask, SlotEnds
from discreet.synthesis.answers.truth import TRUE, Truth, columns_in, constant_of, number_of, substitute, truth
from discreet.synthesis.core.domain import Columns, Domain

MOST_CELLS_OF_A_QUERY = 1 << 22
"""Cells of the columns that a query reads. Larger queries are answered from drawn rows."""
MOST_WORK = 1 << 27
"""These cells times the groups: each group compares all cells with its key."""


@dataclass(frozen=True, eq=False)
class GroupCells:
    """The groups of a query as unions of cells.

    Attributes:
        columns: The columns that filters and groups read, in the order of the domain.
        keys: The grouping columns, with the keys of each group as they are shown.
        filter: Where all conditions are true.
        groups: For each group, where it equals each of its keys.
    """

    columns: Columns
    keys: tuple[Key, ...]
    filter: Mask
    groups: tuple[tuple[Truth, ...], ...]

    def masks(self) -> Iterator[Mask]:
        """The cells of each group."""
        for group in self.groups:
            mask = self.filter
            for each in group:
                mask = mask & (each == TRUE)
            yield mask


def group_cells(plan: logical.Aggregate, columns: Sequence[SlotColumn]) -> GroupCells | None:
    """The unions of cells that a query is about.

    Args:
        plan: The query.
        columns: The columns of the synthetic table, with their slots.

    Returns:
        The query over slots; None if it joins, computes, or takes a part of a slot.
    """
    known = {column.name: column for column in columns}
    chain = _chain(plan.source)
    if chain is None:
        return None
    conditions, derived = chain
    grouping = plan.grouping
    by = [substitute(logical.ColumnRef(name), derived) for name in grouping.columns]
    used = set().union(*(columns_in(each) for each in (*conditions, *by)))
    rows = _key_rows(grouping, by, known)
    domain = Domain.of(columns)
    if rows is None or not used <= known.keys() or not _is_small(domain, used, len(rows)):
        return None
    axes = domain.ordered(used)
    found = [truth(each, known, axes) for each in conditions]
    truths = [[_equals(each, key, known, axes) for each, key in zip(by, row, strict=True)] for row in rows]
    if any(each is None for each in (*found, *(each for row in truths for each in row))):
        return None
    mask = np.ones(domain.shape(axes), dtype=np.bool_)
    for each in found:
        mask = mask & (each == TRUE)
    groups = tuple(tuple(each for each in row if each is not None) for row in truths)
    return GroupCells(axes, _keys(grouping, rows, by, known), mask, groups)


def reduce_mask(mask: Mask, columns: Columns) -> tuple[Mask, Columns]:
    """The same union of cells without the columns that play no part in it."""
    names = list(columns)
    for name in columns:
        axis = names.index(name)
        first = mask.take([0], axis=axis)
        if mask.size and (mask == first).all():
            mask = first.reshape([size for place, size in enumerate(mask.shape) if place != axis])
            names.remove(name)
    return mask, tuple(names)


def slot_ends(column: SlotColumn, bounds: tuple[Any, Any] | None) -> SlotEnds | None:
    """The least and largest number of each slot, clamped to the bounds of a query; None where it is not a number."""
    if column.type not in NUMERIC:
        return None
    if column.edges:
        edges = np.array([float(edge) for edge in column.edges])  # type: ignore[arg-type]
        whole = 1.0 if column.type is ColumnType.INTEGER else 0.0
        low, high = edges[:-1].copy(), np.maximum(edges[1:] - whole, edges[:-1])
        if bounds is not None:  # values outside the bins are in the outer ones
            low[0], high[-1] = min(low[0], float(bounds[0])), max(high[-1], float(bounds[1]))
    else:
        low = high = np.array([float(value) for value in column.values])  # type: ignore[arg-type]
    if bounds is not None:
        low, high = (np.clip(side, float(bounds[0]), float(bounds[1])) for side in (low, high))
    return SlotEnds(column.name, np.append(low, 0.0), np.append(high, 0.0))


def _chain(source: logical.Relation) -> tuple[list[logical.Expression], dict[str, logical.Expression]] | None:
    """The conditions and derived columns of a relation of one table, in terms of its own columns."""
    steps: list[logical.Where | logical.Derive] = []
    while isinstance(source, logical.Where | logical.Derive):
        steps.append(source)
        source = source.source
    if not isinstance(source, logical.TableRef):
        return None
    conditions: list[logical.Expression] = []
    derived: dict[str, logical.Expression] = {}
    for step in reversed(steps):
        if isinstance(step, logical.Where):
            conditions.append(substitute(step.predicate, derived))
        else:
            derived[step.name] = substitute(step.expression, derived)
    return conditions, derived


def operand_of(plan: logical.Aggregate, operand: logical.Expression) -> str | None:
    """The column of the table that a sum or a mean is of, or None."""
    chain = _chain(plan.source)
    found = operand if chain is None else substitute(operand, chain[1])
    return found.name if isinstance(found, logical.ColumnRef) else None


def _is_small(domain: Domain, used: set[str], groups: int) -> bool:
    cells = domain.cells(used)
    return cells <= MOST_CELLS_OF_A_QUERY and cells * max(groups, 1) <= MOST_WORK


def _key_rows(
    grouping: logical.Grouping, by: Sequence[logical.Expression], known: Mapping[str, SlotColumn]
) -> list[tuple[Value, ...]] | None:
    """The keys of each group: those of the query, or the declared values of its columns."""
    if grouping.rows is not None:
        return list(grouping.rows)
    given = grouping.values or (None,) * len(grouping.columns)
    lists = [
        _column_keys(each, known) if own is None or grouping.discovery is not None else list(own)
        for own, each in zip(given, by, strict=True)
    ]
    whole = [each for each in lists if each is not None]
    return list(product(*whole)) if len(whole) == len(lists) else None


def _column_keys(node: logical.Expression, known: Mapping[str, SlotColumn]) -> list[Value] | None:
    """The declared values of a column, or its numbers where each bin holds one; None of other expressions."""
    column = known.get(node.name) if isinstance(node, logical.ColumnRef) else None
    if column is None:
        return None
    if column.values:
        return list(column.values)
    edges = [number_of(edge) for edge in column.edges]
    has_single_values = column.type is ColumnType.INTEGER and edges[-1] - edges[0] == len(edges) - 1
    return list(range(edges[0], edges[-1])) if has_single_values else None


def _equals(node: logical.Expression, key: Value, known: Mapping[str, SlotColumn], axes: Columns) -> Truth | None:
    condition = logical.IsMissing(node) if key is None else logical.Compare("==", node, logical.Literal(key))
    return truth(condition, known, axes)


def _keys(
    grouping: logical.Grouping,
    rows: Sequence[tuple[Value, ...]],
    by: Sequence[logical.Expression],
    known: Mapping[str, SlotColumn],
) -> tuple[Key, ...]:
    """The grouping columns as they are shown: bins by their labels."""
    found = []
    for place, (name, node) in enumerate(zip(grouping.columns, by, strict=True)):
        values = [row[place] for row in rows]
        if isinstance(node, logical.ColumnRef):
            values = [constant_of(known[node.name], value) for value in values]
        labels = grouping.labels[place] if grouping.labels else None
        if labels is not None:
            shown = tuple(None if each is None else labels[each] for each in values)  # type: ignore[index]
            found.append(Key(name, ColumnType.TEXT, shown))
        else:
            kind = known[node.name].type if isinstance(node, logical.ColumnRef) else ColumnType.INTEGER
            found.append(Key(name, kind, tuple(values)))
    return tuple(found)
