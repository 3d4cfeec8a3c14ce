"""The public lattice: exact answers are whole multiples of a grid, and so is everything that is released.

Definition
    For a public rational grid g > 0, an answer x in gZ is released as x + g Y with integer noise Y; a vector coordinate
    by coordinate, with independent noise.

Guarantee
    If x and x' are in gZ, then x + g Y and x' + g Y have the same set of possible values, gZ; and the probabilities are
    those of the integers x/g + Y, so a guarantee proved for integers holds for the answers. Proof:
    docs/proofs/mechanisms/lattice.md.

Exactness
    Answers, grid and noise are integers and rationals of any size. Nothing is rounded: an answer that is off the grid
    is refused, and no message shows it.

Not covered
    That an answer was refused as off the grid is a fact about the data; quantise rows before they are summed, so that
    it cannot happen. Time and memory depend on the size of the numbers.

References
    Mironov, On Significance of the Least Significant Bits for Differential Privacy, CCS 2012.
    Haney, Desfontaines, Hartman, Shrestha and Hay, Precision-based attacks and interval refining: how to break, then
    fix, differential privacy on finite computers, 2022.
"""

import operator
from collections.abc import Callable, Sequence
from fractions import Fraction
from itertools import starmap
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.errors import ParameterError
from discreet.exact.numbers import rational, shown
from discreet.exact.rounding import exp_up, log_up

Scalar = int | Fraction
Vector = Sequence[Scalar] | NDArray[np.integer[Any]]
Draw = Callable[[int], list[int]]

_LEAST_OUTSIDE = Fraction(1, 10**300)


def release(value: Scalar | Vector, grid: Fraction, draw: Draw) -> Scalar | list[Scalar]:
    """The value with noise of whole grid steps; `draw(n)` gives n independent draws."""
    if isinstance(value, np.ndarray | Sequence) and not isinstance(value, str | bytes | bytearray):
        return _noisy(list_of_values(value), grid, draw)
    return _noisy([value], grid, draw)[0]


def confidence_of(value: object) -> Fraction:
    """A confidence between 0 and 1 - 10^-300, exclusive."""
    number = rational(value, "confidence")
    if not 0 < number < 1 - _LEAST_OUTSIDE:
        raise ParameterError(
            f"confidence={shown(number)}",
            because="confidence is a probability above 0 and below 1",
            instead=f"confidence={shown(number / 100) if 1 < number < 100 else '0.95'}",
        )
    return number


def allowed_tail(count: int, confidence: Fraction) -> Fraction:
    """1 - confidence^(1/count), rounded down: what each of `count` independent draws may leave outside the margin."""
    outside = 1 - confidence
    if count == 1:
        return outside
    return max(outside / count, 1 - exp_up(log_up(confidence) / count))


def value_of(steps: int, grid: Fraction) -> Scalar:
    """So many steps of the grid: an int where the grid is whole, else a Fraction."""
    return steps * (grid.numerator if grid.denominator == 1 else grid)


def steps(value: object, grid: Fraction) -> int:
    """How many steps of the grid an exact answer is; the messages show neither the answer nor its distance from it."""
    exact = _number(value)
    whole, rest = divmod(exact.numerator * grid.denominator, exact.denominator * grid.numerator)
    if rest:
        raise ParameterError(
            f"an answer that is not a whole multiple of the grid {grid}",
            because="its distance from the grid would stay visible under any noise",
            instead=f"rows rounded to multiples of Fraction('{grid}') before they are summed, or a finer grid=...",
        )
    return whole


def list_of_values(values: object) -> list[Any]:
    """Several answers: a list of them, or a one-dimensional array of integers."""
    if isinstance(values, np.ndarray):
        if values.dtype.kind not in "iu" or values.ndim != 1:
            raise _not_exact(f"{values.ndim}-dimensional array of {values.dtype}")
        integers: list[Any] = values.tolist()
        return integers
    if not isinstance(values, Sequence) or isinstance(values, str | bytes | bytearray):
        raise _not_exact(type(values).__name__)
    return list(values)


def _noisy(values: list[Any], grid: Fraction, draw: Draw) -> list[Scalar]:
    if grid == 1 and set(map(type, values)) <= {int}:
        return list(starmap(operator.add, zip(values, draw(len(values)), strict=True)))
    for value in values:
        steps(value, grid)
    exact = map(_number, values)
    return [value + value_of(noise, grid) for value, noise in zip(exact, draw(len(values)), strict=True)]


def _number(value: object) -> Scalar:
    """An int or a Fraction; the message names the type and never the value."""
    if isinstance(value, Fraction):
        return value
    index = None if isinstance(value, bool | np.bool_ | np.ndarray) else getattr(value, "__index__", None)
    if index is None:
        raise _not_exact(type(value).__name__)
    return int(index())


def _not_exact(kind: str) -> ParameterError:
    return ParameterError(
        f"an answer of type {kind}",
        because="the low bits of a float can reveal the exact answer",
        instead="release(int), release(Fraction), a list of them, or a one-dimensional array of integers; so too ask",
    )
