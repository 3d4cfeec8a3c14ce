"""Shares of the slots of one column, with labels for a picture."""

from typing import Any

from discreet.plan.slots import SlotColumn
from discreet.plots.style import plain
from discreet.release.quality.shares import ColumnShares
from discreet.synthesis.core.measurement import Floats


def column_shares(column: SlotColumn, reference: Floats, drawn: Floats) -> ColumnShares:
    """The shares of a column in a reference and in synthetic rows.

    Args:
        column: The column, with its slots.
        reference: A share for each slot.
        drawn: The same of the synthetic rows.

    Returns:
        The shares with labels of edges or values.
    """
    labels = tuple(map(_text, column.edges or column.values))
    one, other = (tuple(map(float, each)) for each in (reference, drawn))
    return ColumnShares(column.name, bool(column.edges), labels, one, other)


def _text(value: Any) -> str:
    if isinstance(value, int | float) and not isinstance(value, bool):
        return plain(value)
    return str(value)
