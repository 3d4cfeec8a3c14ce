"""Tables over named columns, in log space: they are multiplied by broadcasting, and columns are summed out."""

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

from discreet.synthesis.core.domain import Columns, Domain
from discreet.synthesis.core.measurement import Floats


class Factor(NamedTuple):
    """The logarithms of a table that is not negative: one axis for each column, in the order of the domain."""

    columns: Columns
    values: Floats

    def expand(self, columns: Columns) -> Floats:
        """The logarithms with an axis for each of more columns: a view for broadcasting, of length 1 where new."""
        return expand(self.values, self.columns, columns)

    def sum_out(self, columns: Iterable[str]) -> "Factor":
        """The factor without some columns, which are summed out."""
        gone = set(columns)
        left = tuple(name for name in self.columns if name not in gone)
        return Factor(left, log_sum(self.values, axes_outside(self.columns, left)))

    def project(self, columns: Iterable[str]) -> "Factor":
        """The factor of some of its columns; all others are summed out."""
        return self.sum_out(set(self.columns) - set(columns))

    def multiply(self, other: "Factor", domain: Domain) -> "Factor":
        """The product of two factors, over the columns of both."""
        columns = domain.ordered((*self.columns, *other.columns))
        return Factor(columns, self.expand(columns) + other.expand(columns))


def expand(values: Floats, columns: Columns, wanted: Columns) -> Floats:
    """A table of some columns as a view with one axis for each wanted column, of length 1 where it has none."""
    if columns == wanted:
        return values
    sizes = dict(zip(columns, values.shape, strict=True))
    if not sizes.keys() <= set(wanted):
        raise ValueError("a factor of columns that are not wanted")
    return values.reshape([sizes.get(name, 1) for name in wanted])


def axes_outside(columns: Columns, left: Iterable[str]) -> tuple[int, ...]:
    """The axes of the columns that are not left."""
    names = set(left)
    return tuple(axis for axis, name in enumerate(columns) if name not in names)


def project(values: Floats, columns: Columns, left: Columns) -> Floats:
    """A table, not in log space, with all columns summed out that are not left."""
    axes = axes_outside(columns, left)
    return values.sum(axis=axes) if axes else values


def log_sum(values: Floats, axes: tuple[int, ...]) -> Floats:
    """The logarithm of the sum of a table over some axes, from its logarithms; minus infinity stands for 0."""
    if not axes:
        return values
    largest = values.max(axis=axes, keepdims=True)
    largest = np.where(np.isfinite(largest), largest, 0.0)
    with np.errstate(divide="ignore"):
        return np.asarray(np.log(np.exp(values - largest).sum(axis=axes)) + largest.squeeze(axes))
