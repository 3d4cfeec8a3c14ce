"""Variances and standard deviations from noisy sums, sums of squares and counts, with margins that hold together.

With n values whose steps from a centre sum to S and their squares to Q, the variance is Q/n - (S/n)^2. Of the exact
three it is known that they lie in a box around the noisy ones, as often as the margins hold together; the variance of
the data is then between the least and the largest in the box. Q/n and S/n are clamped to where they can lie, and the
variance itself to a quarter of the squared width of the bounds.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction

from discreet.exact.rounding import sqrt_up

VARIANCE, DEVIATION = KINDS = ("variance", "standard deviation")


@dataclass(frozen=True)
class Box:
    """Noisy sum, squares and count, each with the margin that holds for all three together, in steps."""

    total: int
    squares: int
    count: int
    margins: tuple[int, ...]

    @property
    def counts(self) -> tuple[int, int]:
        """The fewest and the most values that there may be."""
        fewest = max(1, self.count - self.margins[2])
        return fewest, max(fewest, self.count + self.margins[2])


@dataclass(frozen=True)
class Width:
    """The width of bounds in steps of a grid, around a centre as near to their middle as a whole step can be."""

    steps: int
    grid: Fraction

    @property
    def reach(self) -> int:
        """The farthest that a value is from the centre."""
        return -(-self.steps // 2)

    def answer(self, kind: str, box: Box) -> tuple[float, float]:
        """A variance or a deviation, and the farthest from it that those in the box are."""
        root = 0.5 if kind == DEVIATION else 1.0
        unit = float(self.grid) ** (2 * root)
        value = self._variance(box.total, box.squares, max(1, box.count)) ** root * unit
        least, largest = (found**root * unit for found in self._extremes(box))
        return value, max(largest - value, value - least, 0.0)

    def widest(self, kind: str, count: int, margins: tuple[int, ...]) -> Fraction:
        """The most that the margin over so many values can be, for any values.

        With N values and a count n, S/n is at most (reach |N - n| + |s - S|)/N away from S/N, and Q/n likewise; a
        square moves by at most twice the reach times that. Roots of two numbers are no farther apart than the root of
        their distance.
        """
        total, squares, off = margins
        of_mean, of_squares = self.reach * off + total, self.reach**2 * off + squares
        variance = Fraction(min(self.steps**2 * count, 4 * (2 * self.reach * of_mean + of_squares)), 4 * count)
        return sqrt_up(variance) * self.grid if kind == DEVIATION else variance * self.grid**2

    def _variance(self, total: float, squares: float, count: float) -> float:
        mean = min(self.reach, abs(total) / count)
        square = min(self.reach**2, max(0.0, squares / count))
        return min(self.steps**2 / 4, max(0.0, square - mean**2))

    def _extremes(self, box: Box) -> tuple[float, float]:
        """At one count a variance grows with the squares and falls as the sum leaves zero: two corners remain."""
        total, squares, _ = box.margins
        far, near = abs(box.total) + total, max(0, abs(box.total) - total)
        few, many = box.squares - squares, box.squares + squares
        least = min(self._variance(far, few, count) for count in self._turns(far, few, box))
        return least, max(self._variance(near, many, count) for count in self._turns(near, many, box))

    def _turns(self, total: int, squares: int, box: Box) -> Iterable[float]:
        """Counts between which Q/n - (S/n)^2 goes one way: the ends, where a part is clamped, and n = 2 S^2 / Q."""
        fewest, most = box.counts
        turns = [squares / self.reach**2, total / self.reach, 2 * total**2 / squares if squares > 0 else fewest]
        return [fewest, most, *(min(most, max(fewest, turn)) for turn in turns)]
