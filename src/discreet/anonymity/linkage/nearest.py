"""Nearest published rows by Gower's distance: differences of numbers relative to their range, mismatches of others.

A missing cell is at distance 0 from a missing one and 1 from any other. Equally near rows are taken at random, because
the order of a published file would decide otherwise. Distances are whole numbers, so that equal ones are equal.

References:
    Gower, A General Coefficient of Similarity and Some of Its Properties, Biometrics 1971.
"""

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from discreet.anonymity.linkage.persons import has_value
from discreet.engines.sources.arrow_tables import Codes, encode

_UNIT = 1_000_000
_CELLS = 4_000_000
_MICROSECONDS = {"s": 1e6, "ms": 1e3, "us": 1.0, "ns": 1e-3}


class RowDistances:
    """Distances between rows of two tables on some columns."""

    def __init__(self, published: pa.Table, targets: pa.Table, columns: Sequence[str]) -> None:
        self._rows = published.num_rows
        self._numbers: list[tuple[NDArray[np.int64], NDArray[np.int64]]] = []
        self._codes: list[tuple[Codes, Codes]] = []
        for name in columns:
            pair = published[name], targets[name]
            if all(is_number(column.type) for column in pair):
                self._numbers.append(_scale(*(as_numbers(column) for column in pair)))
            else:
                codes = encode(pair, name)
                self._codes.append((codes[: self._rows], codes[self._rows :]))

    def nearest(self, targets: Codes, count: int, generator: np.random.Generator) -> Codes:
        """The places of the nearest published rows of each target, `count` of them, in no order."""
        count = min(count, self._rows)
        step = max(1, _CELLS // max(1, self._rows))
        parts = [self._nearest(targets[n : n + step], count, generator) for n in range(0, len(targets), step)]
        return np.concatenate(parts) if parts else np.empty((0, count), dtype=np.int64)

    def _nearest(self, targets: Codes, count: int, generator: np.random.Generator) -> Codes:
        far = np.zeros((len(targets), self._rows), dtype=np.int64)
        for theirs, ours in self._codes:
            far += _UNIT * (ours[targets][:, None] != theirs[None, :])
        for theirs, ours in self._numbers:
            here, there = ours[targets][:, None], theirs[None, :]
            step = np.abs(here - there)
            step[(here < 0) != (there < 0)] = _UNIT
            far += step
        # the random part is below 1, so that it orders equally near rows alone
        order: Codes = np.argpartition(far + generator.random(far.shape), count - 1, axis=1)[:, :count]
        return order


def is_number(kind: pa.DataType) -> bool:
    """Whether values of a type have differences."""
    return bool(
        pa.types.is_integer(kind)
        or pa.types.is_floating(kind)
        or pa.types.is_decimal(kind)
        or pa.types.is_date(kind)
        or pa.types.is_timestamp(kind)
    )


def as_numbers(column: pa.ChunkedArray) -> NDArray[np.float64]:
    """Numbers, days or microseconds as floats; NaN where missing."""
    kind, unit = column.type, 1.0
    if pa.types.is_date(kind):
        column = column.cast(pa.date32()).cast(pa.int32())
    elif pa.types.is_timestamp(kind):
        column, unit = column.cast(pa.int64()), _MICROSECONDS[kind.unit]
    values = column.cast(pa.float64(), safe=False).to_numpy() * unit
    return np.where(has_value(column), values, np.nan)


def _scale(theirs: NDArray[np.float64], ours: NDArray[np.float64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Places between the least and the greatest published value as whole numbers; -1 where missing."""
    known = theirs[np.isfinite(theirs)]
    low, high = (known.min(), known.max()) if len(known) else (0.0, 0.0)
    width = high - low if high > low else 1.0

    def places(values: NDArray[np.float64]) -> NDArray[np.int64]:
        inside = np.clip((np.nan_to_num(values, nan=low) - low) / width, 0, 1)
        return np.where(np.isnan(values), -1, np.rint(inside * _UNIT)).astype(np.int64)

    return places(theirs), places(ours)
