"""Sample and aggregate: a function of blocks of rows, declared without data. A session runs it in a sandbox.

visits = dp.table("visits")
session.release(visits.apply(slope, columns=["age", "cost"], blocks=200, bounds=(-10, 10)), epsilon=1)
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from discreet.exact import Number
from discreet.plan import logical


@dataclass(frozen=True)
class Application:
    """A function that is applied to disjoint blocks of rows, and how its answers become one number."""

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
