"""Projective-geometry response: a point of a projective space, which more likely lies on the client's hyperplane.

Definition
    Points of the projective space of dimension t - 1 over the q numbers modulo a prime q are numbered; there are
    K = (q^t - 1)/(q - 1). A point is written with first non-zero coordinate 1, and points with fewest coordinates
    after it come first. A client with slot x reports a point w with P[w | x] proportional to r if w v_x = 0 modulo q,
    where v_x is point x, and to 1 otherwise. cs = (q^(t-1) - 1)/(q - 1) points are on a hyperplane. Draw: a number
    below (a - b) cs + b K, with r = a/b, decides about the hyperplane; then a vector on it or off it is uniform.

Guarantee
    If r <= e^epsilon, one report is epsilon-locally differentially private. The largest likelihood ratio is r. Proof:
    docs/proofs/local/oracles/projective_geometry.md.

Exactness
    Probabilities are rationals and draws are integers below a whole number. `epsilon` is ln r rounded up. Reports on
    each hyperplane are counted by one Fourier transform in floats and rounded to whole numbers, which is exact up to
    10^9 reports. q and t affect accuracy only.

Not covered
    Several reports of one client: their losses add, unless the report is memoised. The K - d points that stand for no
    slot are reported as often as others, and have estimates too: they are expected to be zero.

References
    Feldman, Nelson, Nguyen and Talwar, Private Frequency Estimation via Projective Geometry, ICML 2022.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import ClassVar, Self

import numpy as np

from discreet.errors import ParameterError, public_class
from discreet.exact.numbers import Number
from discreet.local.oracles.fields import Fields, check_ratio, check_size, ratio_field, whole_field
from discreet.local.oracles.oracle import TwoLevelOracle, merge_cohorts
from discreet.local.oracles.randomizer import Counts, Floats, byte_width, ratio_within

LARGEST_TRANSFORM = 2**25
MOST_COORDINATES = 25  # 2^24 slots, the most of a domain, need 25 over the modulus 2
MOST_POINTS = 8
FEWEST_SLOTS = 64


@public_class
@dataclass(frozen=True)
class ProjectiveGeometryResponse(TwoLevelOracle):
    """Projective-geometry response: nearly the least variance, in reports of 2 or 3 bytes.

    Args:
        size: Number of slots, at least 2.
        modulus: The prime q.
        dimension: Number t of coordinates, at least 2.
        ratio: Likelihood ratio of a point on the client's hyperplane to another, above 1.

    Raises:
        ParameterError: If an argument is outside its range.

    Example:
        >>> import discreet as dp
        >>> oracle = dp.local.oracles.ProjectiveGeometryResponse.calibrate(1024, epsilon=1)
        >>> oracle.modulus, oracle.dimension, oracle.symbols, round(oracle.variance(), 2)
        (3, 7, 1093, 3.76)
    """

    kind: ClassVar[str] = "pgr"
    title: ClassVar[str] = "projective-geometry response"
    FIELDS: ClassVar[Fields] = {
        "size": whole_field(),
        "modulus": whole_field(name="field"),
        "dimension": whole_field(),
        "ratio": ratio_field,
    }

    size: int
    modulus: int
    dimension: int
    ratio: Fraction

    def __post_init__(self) -> None:
        check_size(self.size)
        check_ratio(self.ratio)
        check_size(self.modulus)
        has_dimension = 2 <= check_size(self.dimension) <= MOST_COORDINATES
        if not has_dimension or not is_prime(self.modulus) or not self._is_fitting():
            raise ParameterError(
                f"modulus={self.modulus}, dimension={self.dimension}",
                because=f"the modulus is a prime, and there are at least {self.size:,} points and at most 2^31",
                instead="ProjectiveGeometryResponse.calibrate(1024, epsilon=1)",
            )

    @classmethod
    def calibrate(cls, size: int, epsilon: Number, payload_bytes: int | None = None) -> Self:
        """The prime of least variance: at most 8 times as many points as slots (or as 64), and 2^25 vectors.

        Args:
            size: Number of slots.
            epsilon: The most that one report may lose.
            payload_bytes: Largest length of the payload. Default: any.

        Returns:
            The oracle. Where no prime qualifies it has the modulus 2.

        Raises:
            ParameterError: If an argument is outside its range.
        """
        ratio = ratio_within(epsilon)
        spaces = [
            (_variance(modulus, dimension, float(ratio)), modulus, dimension)
            for modulus, dimension in spaces_of(check_size(size), ratio)
            if payload_bytes is None or byte_width(points_of(modulus, dimension)) <= payload_bytes
        ]
        _, modulus, dimension = min(spaces, default=(0.0, 2, size.bit_length()))
        return cls(size, modulus, dimension, ratio)

    @property
    def symbols(self) -> int:
        """Number K of points."""
        return points_of(self.modulus, self.dimension)

    @property
    def support_size(self) -> int:
        """Points on a hyperplane."""
        return points_of(self.modulus, self.dimension - 1)

    @property
    def shared_size(self) -> int:
        """Points on two hyperplanes at once."""
        return points_of(self.modulus, self.dimension - 2)

    @cached_property
    def points(self) -> Counts:
        """Coordinates of all points, a row for each."""
        rows = [self._leading(lead) for lead in range(self.dimension - 1, -1, -1)]
        return np.concatenate(rows)

    def coordinates(self, number: int) -> tuple[int, ...]:
        """Coordinates of one point.

        Args:
            number: Number of the point.

        Returns:
            The coordinates; the first that is not zero is 1.
        """
        lead = self.dimension - 1
        while number >= (block := self.modulus ** (self.dimension - 1 - lead)):
            number, lead = number - block, lead - 1
        tail = []
        for _ in range(self.dimension - 1 - lead):
            number, digit = divmod(number, self.modulus)
            tail.append(digit)
        return (0,) * lead + (1, *reversed(tail))

    def support_symbols(self, slot: int) -> Counts:
        """Points on the hyperplane of a slot.

        Args:
            slot: The slot.

        Returns:
            Numbers of points.
        """
        return np.flatnonzero(self.points @ np.array(self.coordinates(slot)) % self.modulus == 0)

    def is_supporting(self, symbol: int, slot: int) -> bool:
        """Whether a point is on the hyperplane of a slot.

        Args:
            symbol: Number of the point.
            slot: The slot.

        Returns:
            Whether it is.
        """
        pairs = zip(self.coordinates(symbol), self.coordinates(slot), strict=True)
        return sum(one * other for one, other in pairs) % self.modulus == 0

    def support(self, counts: Counts) -> Floats:
        """Reports on the hyperplane of each slot.

        Args:
            counts: Reports by point; a row for each cohort, or one row.

        Returns:
            A number for each slot.
        """
        return self.hyperplanes(counts)[: self.size]

    def hyperplanes(self, counts: Counts) -> Floats:
        """Reports on all K hyperplanes, also those that stand for no slot, by one Fourier transform.

        Args:
            counts: Reports by point; a row for each cohort, or one row.

        Returns:
            A number for each point.
        """
        row = merge_cohorts(counts).astype(np.float64)
        lattice = np.zeros(self.modulus**self.dimension)
        for factor in range(1, self.modulus):
            lattice[self._positions(factor)] = row
        transform = np.fft.rfftn(lattice.reshape((self.modulus,) * self.dimension)).real
        last = self.points[:, -1:]  # half of the transform is kept, and it is the same at u and -u
        mirror = np.where(last > self.modulus // 2, -self.points % self.modulus, self.points)
        on: Floats = np.rint((transform[tuple(mirror.T)] + row.sum()) / self.modulus)
        return on

    def _is_fitting(self) -> bool:
        return self.size <= self.symbols < 2**31

    def _positions(self, factor: int) -> Counts:
        """Places of all points times a factor, in the column of all vectors."""
        digits = np.arange(self.modulus) * factor % self.modulus
        places = np.zeros(self.symbols, dtype=np.int64)
        for axis in range(self.dimension):
            places += (digits * self.modulus ** (self.dimension - 1 - axis))[self.points[:, axis]]
        return places

    def _leading(self, lead: int) -> Counts:
        """Points whose first non-zero coordinate is at this place."""
        tails = np.arange(self.modulus ** (self.dimension - 1 - lead))
        rows = np.zeros((len(tails), self.dimension), dtype=np.int64)
        rows[:, lead] = 1
        for place in range(self.dimension - 1, lead, -1):
            tails, rows[:, place] = np.divmod(tails, self.modulus)
        return rows


def points_of(modulus: int, dimension: int) -> int:
    """Number of points of a projective space, by its number of coordinates."""
    vectors: int = modulus**dimension
    return (vectors - 1) // (modulus - 1)


def spaces_of(size: int, ratio: Fraction) -> Iterator[tuple[int, int]]:
    """Primes up to 4 r + 64, each with the least number of coordinates that has a point for each slot."""
    most = MOST_POINTS * max(size, FEWEST_SLOTS)
    largest = min(math.floor(4 * ratio) + FEWEST_SLOTS, most, math.isqrt(LARGEST_TRANSFORM))
    for modulus in primes_to(largest):
        dimension = 2
        while points_of(modulus, dimension) < size:
            dimension += 1
        if points_of(modulus, dimension) <= most and modulus**dimension <= LARGEST_TRANSFORM:
            yield modulus, dimension


def primes_to(most: int) -> list[int]:
    """All primes up to a number, by a sieve."""
    sieve = np.ones(most + 1, dtype=np.bool_)
    sieve[:2] = False
    for number in range(2, math.isqrt(most) + 1):
        if sieve[number]:
            sieve[number * number :: number] = False
    primes: list[int] = np.flatnonzero(sieve).tolist()
    return primes


def is_prime(number: int) -> bool:
    """Whether a number of at most 2^24 is a prime."""
    return number >= 2 and all(number % divisor for divisor in range(2, math.isqrt(number) + 1))


def _variance(modulus: int, dimension: int, ratio: float) -> float:
    """The variance of a rare value, in floats."""
    points, plane, line = (points_of(modulus, dimension - less) for less in (0, 1, 2))
    total = (ratio - 1) * plane + points
    true, false = ratio * plane / total, ((ratio - 1) * line + plane) / total
    return false * (1 - false) / (true - false) ** 2
