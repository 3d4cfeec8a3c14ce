"""Margins of error of many weighted sums of independent noises, whose weights are public real numbers.

Definition
    Z = sum of c_i Y_i over independent additive noises Y_i with public real c_i. A margin at confidence p is a public m
    with P[|Z| <= m] >= p. The largest terms are those of largest |c_i| times the root of `variance_bound`.

Guarantee
    `Sums.margins` returns such an m for each sum of discrete Laplace and discrete Gaussian noises, in any mixture. It
    is Chernoff's bound or one from the characteristic function of Z, whichever is less. At confidences of 50% to 99.9%
    the second is about 1% above the least m, and at most 2% where single steps of the noise do not count. Next to
    certainty, from 1 - 10^-7 on, it is Chernoff's. Proof: docs/proofs/release/values/weighted_sums.md.

Exactness
    The 32 largest terms count exactly; all others together lie between two bounds. Probabilities are floats, whose
    errors of about 1e-13 are covered by a slack of a hundred-thousandth of what may be outside.

Not covered
    Noises that depend on each other, and noise whose characteristic function is not known. No privacy rests on it.

References
    Selberg, Collected Papers II, 1991, 213-218; Vaaler, Some Extremal Functions in Fourier Analysis, Bulletin of the
    AMS 1985; Montgomery, Ten Lectures on the Interface between Analytic Number Theory and Harmonic Analysis, 1994,
    Chapter 1 (the minorant of an interval). Boucheron, Lugosi and Massart, Concentration Inequalities, 2013, Chapter 2.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from discreet.mechanisms.additive import AdditiveNoise

Vector = NDArray[np.float64]
Numbers = NDArray[np.int_]

_LARGEST = 32
_CANDIDATES = 128
_ALIKE = 1e-12
_FEW = 8
_DEGREE = 255
_BLOCKS = (16, 32, 64, 128, _DEGREE)
_AT_ONCE = 2_000_000
_HALVINGS = 14
_LEAST_OUTSIDE = Fraction(1, 10**7)
_ALIASED = 1e-3
_SLACK = 1e-5
_NEGLIGIBLE = 1e-6
_UP = 1 + 1e-9
_RATES = np.concatenate([[1.0], np.geomspace(0.2, 40, 60)])


@dataclass(frozen=True, eq=False)
class Rest:
    """What is known of the terms of each sum that are not among its largest.

    Attributes:
        floor: Sum of V c^2/2, where E[cos(xY)] >= exp(-V x^2/2): V is the variance, or sigma^2 of Gaussian noise.
        gaussian: Sums of v c^2/2 and of v c^4/24 over subgaussian noises of variance v.
        laplace: The same over the other noises, and the sum of (v c^2/2)^2.
        largest: At least the largest variance_bound c^2/2.
    """

    floor: Vector
    gaussian: tuple[Vector, Vector]
    laplace: tuple[Vector, Vector, Vector]
    largest: Vector

    @classmethod
    def of(cls, noises: Vector, second: Vector, fourth: Vector, largest: Vector) -> "Rest":
        """From what `_facts` says of the noises, and the sums of squares and of fourth powers of their weights."""
        floor, gaussian, laplace = noises.T
        pair = second @ gaussian, fourth @ gaussian / 12
        return cls(second @ floor, pair, (second @ laplace, fourth @ laplace / 12, fourth @ laplace**2), largest)

    def take(self, rows: Numbers) -> "Rest":
        """The same of some of the sums."""
        gaussian, laplace = self.gaussian, self.laplace
        pair, triple = (gaussian[0][rows], gaussian[1][rows]), (laplace[0][rows], laplace[1][rows], laplace[2][rows])
        return Rest(self.floor[rows], pair, triple, self.largest[rows])

    def bounds(self, t: Vector) -> tuple[Vector, Vector]:
        """Bounds on the characteristic function of the rest of each sum, at each t of its row."""
        squares = t * t
        gaussian, laplace = (
            np.maximum(0.0, pair[0][:, None] * squares - pair[1][:, None] * squares**2)
            for pair in (self.gaussian, self.laplace)
        )
        steepest, curved = self.largest[:, None] * squares, self.laplace[2][:, None] * squares**2
        chord = np.divide(np.log1p(steepest), steepest, out=np.ones_like(steepest), where=steepest > 0)
        low = np.exp(-self.floor[:, None] * squares + curved * np.maximum(0, 1 / 2 - steepest / 3))
        return low, np.exp(-gaussian - np.maximum(laplace * chord, laplace - curved / 2))


@dataclass(frozen=True, eq=False)
class Sums:
    """Many weighted sums of noises, as far as their margins need it.

    Attributes:
        noises: The noises that occur.
        weights: Absolute weights of the largest terms, one row for each sum, largest first; zero where there are fewer.
        counts: How many terms have this weight and this noise.
        kinds: Their noises, as places in `noises`.
        steepest: Largest absolute weight of all terms.
        rest: The other terms.
        gaussian: Sum of variance_bound c^2 over subgaussian noises.
        laplace: Sum of variance_bound c^2/2 over the other noises, and the largest term of that sum.
    """

    noises: tuple[AdditiveNoise, ...]
    weights: Vector
    counts: Vector
    kinds: Numbers
    steepest: Vector
    rest: Rest
    gaussian: Vector
    laplace: tuple[Vector, Vector]

    @classmethod
    def of(
        cls, noises: Sequence[AdditiveNoise], weights: Sequence[Vector], counts: Sequence[Vector] | None = None
    ) -> "Sums":
        """Sums of independent draws.

        Args:
            noises: The noise of each part.
            weights: For each part, one row for each sum and one column for each draw of its noise.
            counts: How many draws have each weight. Default: one.

        Returns:
            The sums.
        """
        number = {noise: kind for kind, noise in enumerate(dict.fromkeys(noises))}
        kinds = np.repeat([number[noise] for noise in noises], [part.shape[1] for part in weights])
        noises = tuple(number)
        sizes = np.abs(np.concatenate(weights, axis=1))
        times = None if counts is None else np.concatenate(counts, axis=1)
        if times is not None:
            sizes[times == 0] = 0
        squares = sizes * sizes
        bounds = np.array([noise.variance_bound / 2 for noise in noises])
        shares = squares * bounds[kinds]
        is_gaussian = np.array([noise.is_subgaussian for noise in noises])
        apart = np.stack([np.where(is_gaussian, 2 * bounds, 0), np.where(is_gaussian, 0, bounds)], axis=1)
        gaussian, laplace = ((squares if times is None else squares * times) @ apart[kinds]).T
        farthest = shares.max(axis=1, where=~is_gaussian[kinds], initial=0)
        steepest = sizes.max(axis=1)
        groups = _Groups.of(sizes, kinds, shares, times)
        squares[groups.members] = shares[groups.members] = 0
        counted = squares if times is None else squares * times
        facts = np.array([_facts(noise) for noise in noises])[kinds]
        rest = Rest.of(facts, counted, counted * squares, shares.max(axis=1))
        spread = gaussian, (laplace, farthest)
        return cls(noises, groups.weights, groups.counts, groups.kinds, steepest, rest, *spread)

    @classmethod
    def with_rest(
        cls, noises: Sequence[AdditiveNoise], weights: Vector, second: Vector, fourth: Vector, largest: Vector
    ) -> "Sums":
        """Sums of one draw of each noise, and of other draws of which only powers are known.

        Args:
            noises: The noises, at most 32.
            weights: One row for each sum and one column for each noise: the weight of a draw.
            second: Sum of the squared weights of further draws of the noise.
            fourth: Sum of their fourth powers.
            largest: At least the largest of their absolute values.

        Returns:
            The sums.
        """
        path = cls.of(noises, [weights[:, place : place + 1] for place in range(len(noises))])
        bounds = np.array([noise.variance_bound / 2 for noise in noises])
        is_gaussian = np.array([noise.is_subgaussian for noise in noises])
        most = largest**2 * bounds
        rest = Rest.of(np.array([_facts(noise) for noise in noises]), second, fourth, most.max(axis=1))
        gaussian = path.gaussian + second @ np.where(is_gaussian, 2 * bounds, 0)
        farthest = np.maximum(path.laplace[1], np.where(is_gaussian, 0, most).max(axis=1))
        laplace = path.laplace[0] + second @ np.where(is_gaussian, 0, bounds), farthest
        steepest = np.maximum(path.steepest, largest.max(axis=1))
        return replace(path, steepest=steepest, rest=rest, gaussian=gaussian, laplace=laplace)

    @classmethod
    def bounded(cls, noises: Sequence[AdditiveNoise], variances: Vector, largest: Vector) -> "Sums":
        """Sums of which only a bound is known: their margins are Chernoff's.

        Args:
            noises: The noises that occur.
            variances: At least the sum of variance_bound c^2, for each sum.
            largest: At least the largest term of it.

        Returns:
            The sums.
        """
        nothing, none = np.zeros(len(variances)), np.zeros((len(variances), 0))
        rest = Rest(nothing, (nothing, nothing), (nothing, nothing, nothing), nothing)
        is_gaussian = all(noise.is_subgaussian for noise in noises)
        spread = (variances, (nothing, nothing)) if is_gaussian else (nothing, (variances / 2, largest / 2))
        return cls(tuple(noises), none, none, none.astype(np.int_), nothing, rest, *spread)

    def __len__(self) -> int:
        return len(self.steepest)

    def take(self, rows: Numbers) -> "Sums":
        """Some of the sums."""
        squares, largest = self.laplace
        return Sums(
            self.noises,
            self.weights[rows],
            self.counts[rows],
            self.kinds[rows],
            self.steepest[rows],
            self.rest.take(rows),
            self.gaussian[rows],
            (squares[rows], largest[rows]),
        )

    def margins(self, confidence: Fraction) -> Vector:
        """What each sum stays within, with at least this probability."""
        outside = 1 - confidence
        found = self.chernoff(outside)
        if outside < _LEAST_OUTSIDE:
            return found
        first, same = self._alike()
        moved = first[self.steepest[first] > 0]
        at_once = max(1, _AT_ONCE // (_LARGEST * _DEGREE))
        for start in range(0, len(moved), at_once):
            rows = moved[start : start + at_once]
            found[rows] = _Inversion.of(self.take(rows), found[rows], float(outside)).margins()
        return found[first][same]

    def _alike(self) -> tuple[Numbers, Numbers]:
        """The first of all sums that are alike, and for each sum which of those it is like."""
        rest = self.rest
        singles = (self.steepest, rest.floor, *rest.gaussian, *rest.laplace, rest.largest, self.gaussian, *self.laplace)
        key = np.concatenate([self.weights, self.counts, self.kinds, np.stack(singles, axis=1)], axis=1)
        _, first, same = np.unique(key, axis=0, return_index=True, return_inverse=True)
        return first, same.reshape(-1)

    def chernoff(self, outside: Fraction) -> Vector:
        """Chernoff's margin: the least over s of (ln E[e^(sZ)] + ln(2/outside))/s; any s gives a margin."""
        wanted = math.log(2) + math.log(outside.denominator) - math.log(outside.numerator)
        squares, largest = self.laplace
        deviation = np.sqrt(self.gaussian + 2 * squares)
        scale = np.where(deviation > 0, deviation, 1)[:, None]
        inverse = np.sqrt(largest[:, None] + (scale / (_RATES * math.sqrt(2 * wanted))) ** 2)
        terms = np.divide(squares, largest, out=np.zeros_like(squares), where=largest > 0)[:, None]
        moments = self.gaussian[:, None] / inverse**2 / 2 - terms * np.log1p(-largest[:, None] / inverse**2)
        bounds: Vector = ((moments + wanted) * inverse).min(axis=1) * _UP
        return np.where(deviation > 0, bounds, 0.0)

    def spectrum(self, t: Vector, count: int = _LARGEST) -> tuple[Vector, Vector]:
        """Bounds on the characteristic function of each sum at each t of its row, by its `count` largest terms."""
        is_part = count < _LARGEST
        count = min(count, int((self.weights > 0).sum(axis=1).max(initial=1)))
        counts, weights = self.counts[:, :count], self.weights[:, :count]
        factors = np.ones((*weights.shape, t.shape[1]))
        for kind, noise in enumerate(self.noises):
            here = (self.kinds[:, :count] == kind) & (weights > 0)
            factors[here] = noise.characteristic(weights[here][:, None] * t[np.nonzero(here)[0]])
        several = counts > 1
        factors[several] **= counts[several][:, None]
        product = factors.prod(axis=1)
        if is_part:
            return np.zeros_like(product), product
        low, high = self.rest.bounds(t)
        return product * low, product * high


@dataclass(eq=False)
class _Inversion:
    """Margins from characteristic functions on a circle of length `period`."""

    sums: Sums
    most: Vector
    period: Vector
    outside: float
    low: Vector
    high: Vector

    @classmethod
    def of(cls, sums: Sums, most: Vector, outside: float) -> "_Inversion":
        far = sums.chernoff(Fraction(outside * _ALIASED))
        made = cls(sums, most, most + far, outside, *np.zeros((2, len(sums), _DEGREE)))
        made._fill()
        return made

    def margins(self) -> Vector:
        """The least margins that bisection finds below the given ones, which are margins too."""
        found, first = self.most.copy(), 0
        used = _DEGREE - np.argmax(self.high[:, ::-1] > 0, axis=1)
        for last in _BLOCKS:
            rows = np.flatnonzero((used > first) & (used <= last))
            found[rows], first = self._bisect(rows, last), last
        return found

    def _bisect(self, rows: Numbers, used: int) -> Vector:
        low, high = self.low[rows, :used], self.high[rows, :used]
        short, enough = np.zeros(len(rows)), self.most[rows] / self.period[rows]
        for _ in range(_HALVINGS):
            middle = (short + enough) / 2
            is_enough = self.coverage(middle, low, high) >= 1 - self.outside * (1 - _ALIASED - _SLACK)
            short, enough = np.where(is_enough, short, middle), np.where(is_enough, middle, enough)
        return np.minimum(self.most[rows], enough * self.period[rows] * _UP)

    @staticmethod
    def coverage(distance: Vector, low: Vector, high: Vector) -> Vector:
        """A lower bound on the probability of being within a distance of zero on a circle of length one.

        It is the mean of Selberg's polynomial below the indicator of the interval, term by term as small as the bounds
        on the characteristic function at 2 pi, 4 pi, ... allow.
        """
        harmonics = np.arange(1, low.shape[1] + 1)
        part = harmonics / (_DEGREE + 1)
        sine, cosine = (1 - part) / np.tan(math.pi * part) + 1 / math.pi, 1 - part
        size, shift = np.hypot(sine, cosine), np.arctan2(cosine, sine)
        wave = np.sin(2 * math.pi * distance[:, None] * harmonics - shift)
        least = wave * np.where(wave > 0, low, high)
        result: Vector = 2 * distance + (2 * least @ size - 1) / (_DEGREE + 1)
        return result

    def _fill(self) -> None:
        """Bounds on all characteristic functions, block by block; what is negligible stays at zero.

        A sum that was negligible at the end of a block is so as long as no weight has gone half around, because every
        factor falls until then; beyond that it is bounded by a few of its factors, or by all if those do not do.
        """
        negligible, done = self.outside * _NEGLIGIBLE, np.zeros(len(self.sums), bool)
        first = 1
        for last in _BLOCKS:
            t = 2 * math.pi * np.arange(first, last + 1) / self.period[:, None]
            turned = np.flatnonzero(done & (t[:, -1] * self.sums.steepest > math.pi))
            full = np.flatnonzero(~done)
            if len(turned):
                few = self.sums.take(turned).spectrum(t[turned], _FEW)[1]
                full = np.concatenate([full, turned[few.max(axis=1) > negligible]])
            if len(full):
                low, high = self.sums.take(full).spectrum(t[full])
                self.low[full, first - 1 : last] = np.where(high > negligible, low, 0)
                self.high[full, first - 1 : last] = np.where(high > negligible, high, 0)
                done[full] = high[:, -1] <= negligible
            first = last + 1


@dataclass(frozen=True, eq=False)
class _Groups:
    """The largest terms of each sum, those that are alike together, and where they stand among all terms."""

    weights: Vector
    counts: Vector
    kinds: Numbers
    members: NDArray[np.bool_]

    @classmethod
    def of(cls, sizes: Vector, kinds: Numbers, shares: Vector, times: Vector | None) -> "_Groups":
        rows, terms = sizes.shape
        first = min(_CANDIDATES, terms)
        places = np.argpartition(shares, terms - first, axis=1)[:, -first:]
        order = np.lexsort((kinds[places], -np.take_along_axis(shares, places, 1)))
        places = np.take_along_axis(places, order, 1)
        ordered, of_kind = np.take_along_axis(sizes, places, 1), kinds[places]
        alike = _ALIKE * sizes.max(axis=1)
        number = np.zeros((rows, first), dtype=np.int_)
        starts = (np.abs(np.diff(ordered)) > alike[:, None]) | (np.diff(of_kind) != 0)
        number[:, 1:] = starts.cumsum(axis=1)
        kept = number < _LARGEST
        shape = rows, _LARGEST
        made = cls(np.zeros(shape), np.zeros(shape), np.zeros(shape, dtype=np.int_), np.zeros(sizes.shape, bool))
        at = np.nonzero(kept)[0], number[kept]
        made.weights[at], made.kinds[at] = ordered[kept], of_kind[kept]
        counted = None if times is None else np.take_along_axis(times, places, 1)[kept]
        flat = np.bincount(at[0] * _LARGEST + at[1], counted, minlength=rows * _LARGEST)
        made.counts[:] = flat.reshape(rows, _LARGEST)
        np.put_along_axis(made.members, places, kept, 1)
        if first < terms:
            made._extend(number[:, -1], sizes, kinds, times, alike)
        return made

    def _extend(self, last: Numbers, sizes: Vector, kinds: Numbers, times: Vector | None, alike: Vector) -> None:
        """Add to the last group of each sum the terms like it that are beyond the candidates."""
        rows = np.flatnonzero(last < _LARGEST)
        ends = rows, last[rows]
        near = np.abs(sizes[rows] - self.weights[ends][:, None]) <= alike[rows, None]
        more = near & (kinds == self.kinds[ends][:, None]) & ~self.members[rows]
        self.members[rows] |= more
        self.counts[ends] += more.sum(axis=1) if times is None else (more * times[rows]).sum(axis=1)


def _facts(noise: AdditiveNoise) -> tuple[float, float, float]:
    """The factors of c^2 in `floor`, and in the first sums of `gaussian` and of `laplace`."""
    half = noise.variance / float(noise.grid) ** 2 / 2
    return (noise.variance_bound / 2, half, 0.0) if noise.is_subgaussian else (half, 0.0, half)
