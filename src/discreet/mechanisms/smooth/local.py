"""How far one unit can move an answer on the data at hand, and on all data within k units of it.

Definition
    A local object holds the exact answer f(x) and a sequence A_0(x) <= A_1(x) <= ... <= `largest`, of rationals, with
    A_k(x) = A_reach(x) > 0 for k >= `reach`. `largest` is public; the answer, the sequence and `reach` are not.
    BoundedMean: f(x) is the mean of n values in [lo, hi], of which each unit has at most m; where n = 0 it is a public
    value in [lo, hi]. A_k = (hi - lo) min(1, m/(n - k m)), and hi - lo where k m >= n. With a public n, A_k = A_0.
    SuppliedBounds: f and A_k are given; from a public `reach` on, A_k is `largest`.

Guarantee
    The contract, for all neighbours x, x' and all k: |f(x) - f(x')| <= A_0(x), and A_k(x) <= A_(k+1)(x'). BoundedMean
    keeps it where one unit is added or removed and where one is replaced; with a public n where one is replaced. The
    bound is reached. Proof: docs/proofs/mechanisms/smooth/local.md.

Exactness
    Rationals throughout; nothing is rounded.

Not covered
    Whether the values are in their bounds and units bounded: a mean that leaves its bounds is put back into them.
    Whether a supplied sequence keeps the contract. A supplied function that fails gives one constant sentence, and that
    it failed is a fact about the data.

References
    Nissim, Raskhodnikova and Smith, Smooth Sensitivity and Sampling in Private Data Analysis, STOC 2007, Section 3
    (local sensitivity at distance k).
"""

from collections.abc import Callable
from fractions import Fraction
from typing import Protocol

import numpy as np

from discreet.catalog.privacy_unit import Neighbours
from discreet.errors import Failure, ParameterError, public_class
from discreet.exact.numbers import Number, positive, rational, whole

DEFAULT_REACH = 10_000


class Local(Protocol):
    """The contract of the family: an answer, and how far it can move at each distance."""

    @property
    def largest(self) -> Fraction:
        """The public bound on every A_k."""

    @property
    def reach(self) -> int:
        """A distance from which on A_k stays the same; private."""

    def value(self) -> Fraction:
        """The exact answer. It is private.

        Returns:
            The answer.
        """

    def at(self, distance: int) -> Fraction:
        """Local sensitivity at a distance: largest change by one unit, on any data within that many units. It is
        private.

        Args:
            distance: Number of units.

        Returns:
            The sensitivity.
        """


@public_class
class BoundedMean:
    """Mean of values within bounds, with its local sensitivity.

    Args:
        total: Sum of the clipped values; private.
        count: Number of rows; private.
        bounds: Lowest and highest value.
        max_rows: Number of rows that one unit has at most. Default 1.
        empty: Public mean of no rows. Default: the middle of the bounds.
        neighbours: "add_remove" one unit, or "replace_one". Default "add_remove".
        count_is_public: Whether the number of rows is public, under "replace_one". Default False.

    Raises:
        ParameterError: If an argument is outside its range.

    Example:
        >>> import discreet as dp
        >>> mean = dp.mechanisms.smooth.BoundedMean(total=4_000, count=100, bounds=(0, 100))
        >>> mean.at(0)
        Fraction(1, 1)
    """

    def __init__(
        self,
        *,
        total: int | Fraction,
        count: int,
        bounds: tuple[Number, Number],
        max_rows: int = 1,
        empty: Number | None = None,
        neighbours: str = "add_remove",
        count_is_public: bool = False,
    ) -> None:
        self._lo, self._hi = bounds_of(bounds)
        self._max_rows = whole(max_rows, "max_rows")
        self._empty = self._inside(empty)
        self.neighbours = relation_of(neighbours)
        self._count_is_public = count_is_public
        if count_is_public and self.neighbours is not Neighbours.REPLACE_ONE:
            raise ParameterError(
                "count_is_public=True where units are added or removed",
                because="a unit that comes or goes changes the count",
                instead='neighbours="replace_one", count_is_public=True, or count_is_public=False',
            )
        self._total, self._count = private_rational(total), max(0, private_whole(count))

    @property
    def largest(self) -> Fraction:
        """The width of the bounds."""
        return self._hi - self._lo

    @property
    def reach(self) -> int:
        """The least distance at which no more rows than those of one unit need be left."""
        return 0 if self._count_is_public else max(0, -(-self._count // self._max_rows) - 1)

    def value(self) -> Fraction:
        """The exact answer. It is private.

        Returns:
            The answer.
        """
        if self._count == 0:
            return self._empty
        return min(self._hi, max(self._lo, self._total / self._count))

    def at(self, distance: int) -> Fraction:
        """Local sensitivity at a distance: largest change by one unit, on any data within that many units. It is
        private.

        Args:
            distance: Number of units.

        Returns:
            The sensitivity.
        """
        gone = 0 if self._count_is_public else distance * self._max_rows
        return self.largest * Fraction(self._max_rows, max(self._max_rows, self._count - gone))

    def __repr__(self) -> str:
        return f"BoundedMean(bounds=({self._lo}, {self._hi}), max_rows={self._max_rows}, ...)"

    def _inside(self, empty: Number | None) -> Fraction:
        if empty is None:
            return (self._lo + self._hi) / 2
        value = rational(empty, "empty")
        if not self._lo <= value <= self._hi:
            raise ParameterError(
                f"empty={empty!r}",
                because="the mean of no rows must be a public number within the bounds",
                instead="empty=(lo + hi) / 2, or leave it out",
            )
        return value


@public_class
class SuppliedBounds:
    """Answer with bounds on its local sensitivity that the caller has proved.

    Args:
        value: The exact answer; private.
        at: Function from a distance to a bound on the local sensitivity.
        largest: Public bound at every distance.
        reach: Distance from which `largest` is used. Default 10,000.

    Raises:
        ParameterError: If an argument is outside its range.

    Example:
        >>> import discreet as dp
        >>> local = dp.mechanisms.smooth.SuppliedBounds(value=40, at=lambda distance: 1 + distance, largest=100)
        >>> local.at(3)
        Fraction(4, 1)
    """

    def __init__(
        self,
        *,
        value: int | Fraction,
        at: Callable[[int], int | Fraction],
        largest: Number,
        reach: int = DEFAULT_REACH,
    ) -> None:
        self._largest, self._reach = positive(largest, "largest"), whole(reach, "reach", least=0)
        self._value, self._given = private_rational(value), at
        self._known: list[Fraction] = []

    @property
    def largest(self) -> Fraction:
        """The public bound on every A_k."""
        return self._largest

    @property
    def reach(self) -> int:
        """The public distance from which on nothing better than `largest` is assumed."""
        return self._reach

    def value(self) -> Fraction:
        """The exact answer. It is private.

        Returns:
            The answer.
        """
        return self._value

    def at(self, distance: int) -> Fraction:
        """Local sensitivity at a distance: largest change by one unit, on any data within that many units. It is
        private.

        Args:
            distance: Number of units.

        Returns:
            The sensitivity.
        """
        if distance >= self._reach:
            return self._largest
        while len(self._known) <= distance:
            given = min(self._largest, max(Fraction(0), self._bound(len(self._known))))
            self._known.append(max(given, self._known[-1]) if self._known else given)
        return self._known[distance]

    def __repr__(self) -> str:
        return f"SuppliedBounds(largest={self._largest}, reach={self._reach}, ...)"

    def _bound(self, distance: int) -> Fraction:
        try:
            return private_rational(self._given(distance))
        except Exception:  # noqa: BLE001 - what a stranger's function says may hold private values
            raise Failure from None


def bounds_of(bounds: object) -> tuple[Fraction, Fraction]:
    """Two public rationals, the lower one first."""
    if not isinstance(bounds, tuple | list) or len(bounds) != 2:
        raise ParameterError("bounds that are no pair", because="a lower and an upper bound", instead="bounds=(0, 100)")
    low, high = (rational(bound, "bounds") for bound in bounds)
    if low >= high:
        raise ParameterError(
            f"bounds=({low}, {high})",
            because="the lower bound must be below the upper one",
            instead=f"bounds=({high}, {low})" if high < low else f"bounds=({low}, {low + 1})",
        )
    return low, high


def relation_of(neighbours: str) -> Neighbours:
    """The neighbour relation by its name."""
    if neighbours not in tuple(Neighbours):
        raise ParameterError(
            f"neighbours={neighbours!r}",
            because="there are two neighbour relations",
            instead='neighbours="add_remove" or neighbours="replace_one"',
        )
    return Neighbours(neighbours)


def private_rational(value: object) -> Fraction:
    """An exact number that comes from data: a message names its type and never its value."""
    return value if isinstance(value, Fraction) else Fraction(private_whole(value))


def private_whole(value: object) -> int:
    """A whole number that comes from data: a message names its type and never its value."""
    index = None if isinstance(value, bool | np.bool_ | np.ndarray) else getattr(value, "__index__", None)
    if index is None:
        raise ParameterError(
            f"a number of type {type(value).__name__}",
            because="answers and bounds are an int or a Fraction",
            instead="Fraction(value), of a value that was computed exactly",
        )
    return int(index())
