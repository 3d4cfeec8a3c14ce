"""Sample and aggregate: a function of blocks of rows, declared without data. A session runs it in a sandbox.

visits = dp.table("visits")
session.release(visits.apply(slope, columns=["age", "cost"], blocks=200, bounds=(-10, 10)), epsilon=1)
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from discreet.exact.numbers import Number
from discreet.plan import logical


@dataclass(frozen=True)
class Application:
    """Query for the result of a function on blocks of rows; `Frame.apply` makes it.

    Attributes:
        source: The rows.
        function: The function, or its source text.
        options: Columns, blocks, bounds and aggregate.
        limits: Limits of each block, or None.

    Example:
        >>> import discreet as dp
        >>> text = "def answer(table): return table.num_rows"
        >>> dp.table("visits").apply(text, columns=["age"], blocks=50, bounds=(0, 1_000)).options.blocks
        50
    """

    source: logical.Relation
    function: Any
    options: "Blocks"
    limits: Any = field(default=None, compare=False)


@dataclass(frozen=True)
class Blocks:
    """What the function sees, in how many blocks, and how the answers of blocks are aggregated."""

    columns: Sequence[str]
    blocks: int
    bounds: tuple[Number, Number]
    aggregate: logical.BlockAggregate = "mean"
    default: Number | None = None
    grid: Number | None = None
