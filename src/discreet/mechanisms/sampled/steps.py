"""Answers of blocks on a public grid: rounded, clamped, and how many of them one unit can change.

Definition
    Rows are split into k blocks of whole units: the block of a unit depends on the unit and a public or secret key, and
    on nothing else. A function f gives z_i = f(block i), with randomness of its own if any; k is public. The step of
    z_i is clamp(floor(z_i/grid + 1/2), low, high), with low = ceil(lo/grid) and high = floor(hi/grid).

Guarantee
    If f(block i) depends on block i and its own randomness alone, then adding or removing one unit changes the
    distribution of at most one step, and replacing one unit that of at most two; each stays within [low, high]. Proof:
    docs/proofs/mechanisms/sampled/steps.md.

Exactness
    Steps are whole numbers, made from rationals; a float is taken for the rational that it is.

Not covered
    Whether f looks at anything but its block: the clock, files, what an earlier block left. discreet.sandbox sees to
    that, and says what it does not cover. How good f is on small blocks: the noise margin is not the error of f.

References
    Nissim, Raskhodnikova and Smith, Smooth Sensitivity and Sampling in Private Data Analysis, STOC 2007, Section 4.
    Mohan, Thakurta, Shi, Song and Culler, GUPT: Privacy Preserving Data Analysis Made Easy, SIGMOD 2012.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

from discreet.catalog.privacy_unit import Neighbours
from discreet.errors import ParameterError, public_class
from discreet.exact.numbers import Number, positive, rational, shown, whole
from discreet.mechanisms import lattice
from discreet.mechanisms.lattice import Scalar

Relation = Neighbours | Literal["add_remove", "replace_one"]
Answer = int | float | Fraction

MOST_STEPS = 2**53
_HALF = Fraction(1, 2)


@public_class
@dataclass(frozen=True, init=False)
class Steps:
    """Public parameters of sample and aggregate: grid, bounds, number of blocks and neighbour relation.

    Args:
        bounds: Lowest and highest result; results outside are clipped.
        blocks: Number of blocks.
        grid: Results are rounded to multiples of it. None: fine enough for the bounds.
        neighbours: "add_remove" one unit, or "replace_one".
        parts: Least number of grid steps between the bounds, where no grid is given.

    Raises:
        ParameterError: If an argument is outside its range.

    Example:
        >>> import discreet as dp
        >>> steps = dp.mechanisms.sampled.Steps((0, 100), 50, 1, "add_remove", 100)
        >>> steps.width, steps.changed_answers
        (100, 1)
    """

    low: int
    high: int
    grid: Fraction
    blocks: int
    neighbours: Neighbours

    def __init__(
        self, bounds: tuple[Number, Number], blocks: int, grid: Number | None, neighbours: Relation, parts: int
    ) -> None:
        lo, hi = _bounds(bounds)
        spacing = _default_grid(hi - lo, parts) if grid is None else positive(grid, "grid")
        read: dict[str, object] = {
            "low": math.ceil(lo / spacing),
            "high": math.floor(hi / spacing),
            "grid": spacing,
            "blocks": whole(blocks, "blocks"),
            "neighbours": _relation(neighbours),
        }
        for name, value in read.items():
            object.__setattr__(self, name, value)
        if not self.low < self.high or max(-self.low, self.high) > MOST_STEPS:
            raise ParameterError(
                f"bounds of {self.high - self.low} steps of the grid {shown(spacing)}",
                because="there are two steps at least, and doubles hold no more than 2**53 of them",
                instead="bounds=(0, 100), grid=0.01",
            )

    @property
    def bounds(self) -> tuple[Scalar, Scalar]:
        """The bounds that hold: those that were given, moved inwards to the grid."""
        return lattice.value_of(self.low, self.grid), lattice.value_of(self.high, self.grid)

    @property
    def width(self) -> int:
        """How far one answer can move, in steps."""
        return self.high - self.low

    @property
    def changed_answers(self) -> int:
        """How many answers one unit can change."""
        return 1 if self.neighbours is Neighbours.ADD_REMOVE else 2

    def read(self, answers: Sequence[Answer]) -> list[int]:
        """Clip and round the results of blocks to grid steps.

        Args:
            answers: One result per block, as an int, a Fraction or a finite float.

        Returns:
            The steps.

        Raises:
            ParameterError: If there is not one finite number per block.
        """
        if len(answers) != self.blocks:
            raise ParameterError(
                f"{len(answers)} answers of {self.blocks} blocks",
                because="every block gives one answer, its default where it has no other",
                instead="a list with one number for each block",
            )
        return [max(self.low, min(self.high, _step(answer, self.grid))) for answer in answers]


def _step(answer: object, grid: Fraction) -> int:
    """The nearest step of a number, halves up."""
    if isinstance(answer, Fraction) or (isinstance(answer, float) and math.isfinite(answer)):
        return math.floor(Fraction(answer) / grid + _HALF)
    index = None if isinstance(answer, bool | float) else getattr(answer, "__index__", None)
    if index is None:
        raise ParameterError(
            f"an answer of type {type(answer).__name__} that is no finite number",
            because="an aggregate is taken of numbers",
            instead="an int, a Fraction or a finite float for each block",
        )
    return math.floor(Fraction(int(index())) / grid + _HALF)


def _bounds(bounds: object) -> tuple[Fraction, Fraction]:
    if not isinstance(bounds, tuple | list) or len(bounds) != 2:
        raise ParameterError("bounds that are no pair", because="there are two of them", instead="bounds=(0, 100)")
    lo, hi = rational(bounds[0], "bounds"), rational(bounds[1], "bounds")
    if lo >= hi:
        raise ParameterError(
            f"bounds=({shown(lo)}, {shown(hi)})",
            because="the lower bound is below the upper one",
            instead="bounds=(0, 100)",
        )
    return lo, hi


def _relation(neighbours: Relation) -> Neighbours:
    if neighbours not in tuple(Neighbours):
        raise ParameterError(
            f"neighbours={neighbours!r}",
            because="there are two neighbour relations",
            instead='neighbours="add_remove" or neighbours="replace_one"',
        )
    return Neighbours(neighbours)


def _default_grid(width: Fraction, parts: int) -> Fraction:
    """The largest power of ten that cuts the width into so many parts or more."""
    grid, most = Fraction(1), width / parts
    while grid > most:
        grid /= 10
    while grid * 10 <= most:
        grid *= 10
    return grid
