"""Features: public declarations of columns, by which each cell becomes the number of a slot.

Edges and categories are declared, never learned from rows. Slot 0 is for missing values: NULL, NaN, infinities, and
values that no category names. What slot a cell has depends on this cell alone, as `core/cells.py` reads it.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Literal

import numpy as np

from discreet.errors import ParameterError, public_class, short_traceback
from discreet.exact.numbers import whole
from discreet.learning.core.cells import label_text, numbers, slots_by_name
from discreet.learning.core.rows import Codes

MOST_SLOTS = 4_096
DEFAULT_BINS = 32
_SHOWN = 4
Category = str | int | bool


@public_class
@dataclass(frozen=True, repr=False)
class DeclaredFeature:
    """Public declaration of a column: its inner edges, or its categories. `linear_bins` and others make it.

    Attributes:
        kind: "bins" for numbers, "categories" for values by name.
        inner_edges: Edges between neighbouring bins, smallest first; an edge belongs to the bin above it.
        values: The categories, in order.

    Example:
        >>> import discreet as dp
        >>> dp.learning.linear_bins(0, 100, 4).inner_edges
        (25.0, 50.0, 75.0)
    """

    kind: Literal["bins", "categories"]
    inner_edges: tuple[float, ...] = ()
    values: tuple[Category, ...] = ()

    def __repr__(self) -> str:
        if self.kind == "categories":
            return (
                f"categories({list(self.values)})" if len(self.values) <= _SHOWN else f"{len(self.values):,} categories"
            )
        if len(self.inner_edges) <= _SHOWN:
            return f"edges({list(self.inner_edges)})"
        return f"{len(self.inner_edges) + 1:,} bins, edges {self.inner_edges[0]:.6g} to {self.inner_edges[-1]:.6g}"

    @property
    def slots(self) -> int:
        """Number of slots, with that of missing values."""
        return 1 + (len(self.values) if self.kind == "categories" else len(self.inner_edges) + 1)

    @property
    def is_ordered(self) -> bool:
        """Whether neighbouring slots are neighbouring values."""
        return self.kind == "bins"

    def labels(self) -> list[str]:
        """A name for each slot.

        Returns:
            The names, that of missing values first.
        """
        if self.kind == "categories":
            return ["missing", *map(str, self.values)]
        edges = [-math.inf, *self.inner_edges, math.inf]
        return ["missing", *(f"{low:,.6g} to {high:,.6g}" for low, high in pairwise(edges))]

    def encode(self, column: Any) -> Codes:
        """The slot of each cell.

        Args:
            column: An Arrow array or chunked array, a column of pandas or Polars, or values.

        Returns:
            The numbers of the slots.
        """
        if self.kind == "categories":
            return (slots_by_name(column, self.values) + 1).astype(np.uint16)
        found = numbers(column)
        slots = np.searchsorted(np.asarray(self.inner_edges, dtype=np.float64), found, side="right") + 1
        return np.where(np.isfinite(found), slots, 0).astype(np.uint16)

    def to_json(self) -> dict[str, Any]:
        """The declaration as plain data.

        Returns:
            What `feature_from_json` reads.
        """
        if self.kind == "categories":
            return {"kind": self.kind, "values": list(self.values)}
        return {"kind": self.kind, "inner_edges": list(self.inner_edges)}


def feature_from_json(data: Mapping[str, Any]) -> DeclaredFeature:
    """The declaration that `to_json` wrote."""
    if data["kind"] == "categories":
        return categories(data["values"])
    return DeclaredFeature("bins", inner_edges=_increasing(data["inner_edges"]))


@short_traceback
def linear_bins(low: float, high: float, count: int = DEFAULT_BINS) -> DeclaredFeature:
    """Bins of equal width between public bounds; values outside count as the nearest bound.

    Args:
        low: Lower bound.
        high: Upper bound.
        count: Number of bins. Default 32.

    Returns:
        The feature.

    Raises:
        ParameterError: If the bounds are not two increasing numbers, or there are too many bins.

    Example:
        >>> import discreet as dp
        >>> dp.learning.linear_bins(17, 90).slots
        33
    """
    least, most, number = _bounds(low, high, count)
    return DeclaredFeature("bins", inner_edges=_increasing(np.linspace(least, most, number + 1)[1:-1].tolist()))


@short_traceback
def log_bins(low: float, high: float, count: int = DEFAULT_BINS) -> DeclaredFeature:
    """Bins whose width grows with the distance from the lower bound, for amounts such as incomes.

    Args:
        low: Lower bound.
        high: Upper bound.
        count: Number of bins. Default 32.

    Returns:
        The feature.

    Raises:
        ParameterError: If the bounds are not two increasing numbers, or there are too many bins.

    Example:
        >>> import discreet as dp
        >>> dp.learning.log_bins(0, 99_999, 4).inner_edges[0] < 25
        True
    """
    least, most, number = _bounds(low, high, count)
    places = np.expm1(np.linspace(0.0, math.log1p(most - least), number + 1))[1:-1]
    return DeclaredFeature("bins", inner_edges=_increasing((least + places).tolist()))


@short_traceback
def edges(inner: Sequence[float]) -> DeclaredFeature:
    """Bins between public edges; the first and the last bin have no outer edge.

    Args:
        inner: The edges, smallest first.

    Returns:
        The feature.

    Raises:
        ParameterError: If the edges are not increasing numbers, or there are too many.

    Example:
        >>> import discreet as dp
        >>> dp.learning.edges([18, 65]).labels()[2]
        '18 to 65'
    """
    return DeclaredFeature("bins", inner_edges=_increasing(inner))


@short_traceback
def categories(values: Iterable[Category]) -> DeclaredFeature:
    """Public categories, each with a slot of its own; any other value counts as missing.

    A text that spells a number is that number, and true and yes are 1: readers of tables store them alike.

    Args:
        values: Texts, whole numbers or booleans, each once.

    Returns:
        The feature.

    Raises:
        ParameterError: If a value is of another type or stands twice, or there are too many.

    Example:
        >>> import discreet as dp
        >>> dp.learning.categories(["female", "male"]).slots
        3
    """
    given = tuple(value.item() if isinstance(value, np.generic) else value for value in values)
    if not given or not all(isinstance(value, str | int) for value in given):
        raise ParameterError(
            "categories that are not texts, whole numbers or booleans",
            because="a category is compared by its name",
            instead='dp.learning.categories(["female", "male"])',
        )
    names = [label_text(value) for value in given]
    if None in names or len(set(names)) < len(names) or len(given) >= MOST_SLOTS:
        raise ParameterError(
            "categories that stand twice, or more than 4,095 of them",
            because="each has a slot; readers store 1, 01, 1.0, true and yes as one value",
            instead='dp.learning.categories(["female", "male"])',
        )
    return DeclaredFeature("categories", values=given)


def _bounds(low: float, high: float, count: int) -> tuple[float, float, int]:
    number = whole(count, "count")
    least, most = float(low), float(high)
    if not (math.isfinite(least) and math.isfinite(most) and least < most) or number >= MOST_SLOTS:
        raise ParameterError(
            f"{number:,} bins from {low} to {high}",
            because="bins lie between two increasing numbers, and are at most 4,095",
            instead="dp.learning.linear_bins(0, 100, 32)",
        )
    return least, most, number


def _increasing(inner: Sequence[float]) -> tuple[float, ...]:
    numbers = tuple(float(edge) for edge in inner)
    if not all(map(math.isfinite, numbers)) or any(b <= a for a, b in pairwise(numbers)) or len(numbers) > MOST_SLOTS:
        raise ParameterError(
            "edges that are not increasing numbers",
            because="each bin lies between two edges",
            instead="dp.learning.edges([18, 30, 65])",
        )
    return numbers
