"""Hierarchies of numbers: intervals of given widths, and rounding down to tens, hundreds and so on.

Edges are exact rationals `origin + i * width`. Integers and decimals are compared with them exactly. A float is
compared with the double nearest to the edge, so that 0.3 falls in [0.3, 0.4). Rounding of edges keeps their order, so
that the levels stay nested.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from discreet.anonymity.generalisation.hierarchies.base import LevelGroups, ValueHierarchy
from discreet.errors import ParameterError, TypeMismatchError, public_class, short_traceback
from discreet.exact.numbers import Number, positive, rational, whole

_EXACT = 2**53
_MOST_DIGITS = 18

Cells = NDArray[Any]


@public_class
@dataclass(frozen=True)
class IntervalHierarchy(ValueHierarchy):
    """Hierarchy of a column of numbers: at each level intervals of one width.

    Attributes:
        widths: Width of the intervals at levels 1, 2 and so on; each is a multiple of the one before.
        origin: Lower edge of an interval.
        bottom: Values below are one group, or None.
        top: Values of at least this are one group, or None.
        is_rounding: Whether an interval is labelled by its lower edge alone.

    Example:
        >>> import discreet as dp
        >>> dp.anonymity.hierarchies.intervals(5, 10).widths
        (Fraction(5, 1), Fraction(10, 1))
    """

    widths: tuple[Fraction, ...]
    origin: Fraction = Fraction(0)
    bottom: Fraction | None = None
    top: Fraction | None = None
    is_rounding: bool = False

    def _steps(self, values: pa.Array) -> Sequence[LevelGroups]:
        cells = _cells(values)
        low = np.zeros(len(cells), dtype=bool) if self.bottom is None else ~_reach(cells, self.bottom)
        high = np.zeros(len(cells), dtype=bool) if self.top is None else _reach(cells, self.top)
        inner = ~(low | high)
        _require_finite(cells[inner])
        return [self._level(cells[inner], width, inner, high) for width in self.widths]

    def _level(self, cells: Cells, width: Fraction, inner: Cells, high: Cells) -> LevelGroups:
        indices, groups = np.unique(_indices(cells, self.origin, width), return_inverse=True)
        labels = self._labels(indices.tolist(), width)
        codes = np.full(len(inner), len(labels), dtype=np.int64)
        codes[inner] = groups
        if not (inner | high).all():
            labels.append(f"<{_text(self.bottom)}")
        if high.any():
            codes[high] = len(labels)
            labels.append(f">={_text(self.top)}")
        return LevelGroups(codes, labels)

    def _labels(self, indices: Sequence[int], width: Fraction) -> list[str]:
        is_whole = self.origin.denominator == width.denominator == 1
        if not is_whole or self.bottom is not None or self.top is not None:
            return [self._label(index, width) for index in indices]
        start, step = int(self.origin), int(width)
        if self.is_rounding:
            return [str(start + index * step) for index in indices]
        return [f"[{start + index * step}, {start + index * step + step})" for index in indices]

    def _label(self, index: int, width: Fraction) -> str:
        low = self.origin + index * width
        high = low + width
        if self.is_rounding:
            return _text(low)
        low = low if self.bottom is None else max(low, self.bottom)
        high = high if self.top is None else min(high, self.top)
        return f"[{_text(low)}, {_text(high)})"


@short_traceback
def intervals(
    *widths: Number, origin: Number = 0, bottom: Number | None = None, top: Number | None = None
) -> IntervalHierarchy:
    """Hierarchy of numbers by intervals `[low, high)`, wider at each level.

    Args:
        widths: Width of the intervals at levels 1, 2 and so on; each is a multiple of the one before.
        origin: Lower edge of an interval. Default 0.
        bottom: Values below it are one group `<bottom` from level 1 on. Default: none.
        top: Values of at least `top` are one group `>=top` from level 1 on. Default: none.

    Returns:
        A hierarchy; its highest level, above those of the widths, is `*`.

    Raises:
        ParameterError: If no width is given, if a width is not a multiple of the one before, or if bottom >= top.

    Example:
        >>> import discreet as dp
        >>> import pyarrow as pa
        >>> ages = dp.anonymity.hierarchies.intervals(5, 10, 20, top=80)
        >>> ages.levels(pa.array([31, 38, 85])).labels[2]
        ('[30, 40)', '>=80')
    """
    exact = tuple(positive(width, "widths") for width in widths)
    if not exact:
        raise ParameterError("intervals()", because="no width is given", instead="intervals(5, 10, 20)")
    for narrow, wide in pairwise(exact):
        if wide == narrow or (wide / narrow).denominator != 1:
            raise ParameterError(
                f"widths {_text(narrow)} and {_text(wide)}",
                because="intervals nest only where a width is a multiple of the one before",
                instead=f"intervals({_text(narrow)}, {_text(2 * narrow)})",
            )
    low = None if bottom is None else rational(bottom, "bottom")
    high = None if top is None else rational(top, "top")
    if low is not None and high is not None and low >= high:
        raise ParameterError(
            f"bottom={_text(low)}, top={_text(high)}",
            because="bottom must be below top",
            instead=f"bottom={_text(high)}, top={_text(low)}" if low > high else f"bottom={_text(low)}",
        )
    return IntervalHierarchy(exact, rational(origin, "origin"), low, high)


@short_traceback
def digits(count: int = 1) -> IntervalHierarchy:
    """Hierarchy of numbers by rounding down: to tens at level 1, to hundreds at level 2 and so on.

    Negative numbers are rounded down too: -5 becomes -10.

    Args:
        count: Number of digits that are rounded away at most. Default 1: tens alone.

    Returns:
        A hierarchy whose labels are the rounded numbers; its highest level is `*`.

    Raises:
        ParameterError: If `count` is not a whole number from 1 to 18.

    Example:
        >>> import discreet as dp
        >>> import pyarrow as pa
        >>> dp.anonymity.hierarchies.digits(2).levels(pa.array([31, 38, 142])).labels[1:3]
        (('30', '140'), ('0', '100'))
    """
    if whole(count, "count") > _MOST_DIGITS:
        raise ParameterError(
            f"count={count}", because=f"numbers have at most {_MOST_DIGITS} digits here", instead="count=3"
        )
    return IntervalHierarchy(tuple(Fraction(10**power) for power in range(1, count + 1)), is_rounding=True)


def _cells(values: pa.Array) -> Cells:
    """Numbers as int64 or float64, or as exact Python numbers where these do not hold them."""
    kind = values.type
    if pa.types.is_floating(kind):
        return np.asarray(values.to_numpy(zero_copy_only=False))
    if pa.types.is_integer(kind) and kind != pa.uint64():
        return np.asarray(values.to_numpy(zero_copy_only=False), dtype=np.int64)
    if kind == pa.uint64() or pa.types.is_decimal(kind):
        cells = np.empty(len(values), dtype=object)
        cells[:] = [Fraction(value) for value in values.to_pylist()]
        return cells
    raise TypeMismatchError(
        f"intervals of values of type {kind}",
        because="only numbers have intervals",
        instead="dp.anonymity.hierarchies.dates(), .mask() or .categories(...)",
    )


def _reach(cells: Cells, bound: Fraction) -> Cells:
    """Whether each value is at least the bound."""
    if cells.dtype == np.float64:
        return cells >= float(bound)
    if cells.dtype == np.int64:
        # an integer reaches a bound where it reaches the next whole number
        least = -(-bound.numerator // bound.denominator)
        if least > np.iinfo(np.int64).max:
            return np.zeros(len(cells), dtype=bool)
        return cells >= max(least, np.iinfo(np.int64).min)
    return np.array([cell >= bound for cell in cells], dtype=bool)


def _require_finite(cells: Cells) -> None:
    if cells.dtype == np.float64 and not np.isfinite(cells).all():
        raise ParameterError(
            "infinite values",
            because="an infinite value is in no interval",
            instead="intervals(5, bottom=0, top=100), or a column without infinite values",
        )


def _indices(cells: Cells, origin: Fraction, width: Fraction) -> Cells:
    """The number of the interval of each value, exactly."""
    scale = (origin.denominator * width.denominator) // np.gcd(origin.denominator, width.denominator)
    start, step, scale = int(origin * scale), int(width * scale), int(scale)
    if cells.dtype == np.int64:
        largest = max(abs(int(cells.max(initial=0))), abs(int(cells.min(initial=0))))
        if largest * scale + abs(start) + step < 2**62:
            return (cells * scale - start) // step
        return _map(lambda cell: (int(cell) * scale - start) // step, cells)
    if cells.dtype == np.float64:
        return _float_indices(cells, start, step, scale)
    return _map(lambda cell: (cell * scale - start) // step, cells)


def _float_indices(cells: Cells, start: int, step: int, scale: int) -> Cells:
    """Candidates by division, corrected by comparison with the edges as doubles."""
    largest = np.abs(cells).max(initial=0.0)
    if largest * scale + 2 * abs(start) + 2 * step >= _EXACT:
        return _map(lambda cell: _float_index(float(cell), start, step, scale), cells)
    found = np.floor((cells * scale - start) / step).astype(np.int64)
    # the quotient of two integers below 2**53 is the double nearest to the edge
    found -= cells < (start + found * step) / scale
    found += cells >= (start + (found + 1) * step) / scale
    return found


def _float_index(cell: float, start: int, step: int, scale: int) -> int:
    index = int((Fraction(cell) * scale - start) // step)
    while cell >= float(Fraction(start + (index + 1) * step, scale)):
        index += 1
    return index


def _map(function: Callable[[Any], int], cells: Cells) -> Cells:
    found = np.empty(len(cells), dtype=object)
    found[:] = [function(cell) for cell in cells]
    return found


def _text(value: Fraction | None) -> str:
    """An exact number as people write it: whole, decimal, or a ratio."""
    if value is None or value.denominator == 1:
        return str(value)
    rest, digits_needed = value.denominator, 0
    for prime in (2, 5):
        times = 0
        while rest % prime == 0:
            rest, times = rest // prime, times + 1
        digits_needed = max(digits_needed, times)
    if rest != 1:
        return str(value)
    whole_part, fraction = divmod(abs(value.numerator) * 10**digits_needed // value.denominator, 10**digits_needed)
    return f"{'-' if value < 0 else ''}{whole_part}.{fraction:0{digits_needed}d}"
