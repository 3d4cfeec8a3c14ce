"""Exact discrete noise for whole columns: Laplace, Gaussian and staircase.

Definition
    `discrete_laplace` draws y with P[y] proportional to exp(-|y|/scale), `discrete_gaussian` with P[y] proportional to
    exp(-y^2/(2 sigma^2)), `discrete_staircase` with P[y] proportional to exp(-s/scale), s = floor((|y| + step -
    inner)/step), over all integers, independently for each row.

Guarantee
    Every integer has exactly that probability, for every double between 2^-40 and 2^50 as scale or sigma, taken for the
    rational that it is: whoever prices a draw prices that rational. Proof: docs/proofs/samplers/discrete.md.

Exactness
    Draws are proposed and accepted by decisions about uniform numbers of unlimited precision (brackets.py): floats hold
    a decision between two proved bounds and save work, integers decide what is left. A draw beyond 64 bits would end
    the call with an error, which has a probability below e^-250; stairs too wide for 64 bits are Python integers.

Not covered
    Time: a draw takes a varying time that depends on the noise.

References
    Canonne, Kamath and Steinke, The Discrete Gaussian for Differential Privacy, NeurIPS 2020, Algorithms 2 and 3 (the
    proposals and their acceptance). Geng and Viswanath, The Optimal Noise-Adding Mechanism in Differential Privacy,
    IEEE Transactions on Information Theory, 2016.

Random words come from a source (source.py): the operating system, which gives fresh ones in every thread and forked
process, or a keyed stream, by which the draw of a row depends on its key and its number alone. Cost: `scripts/bench
noise`.
"""

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.errors import ParameterError
from discreet.exact.numbers import positive, whole
from discreet.samplers import brackets
from discreet.samplers.brackets import Flags, Uniforms
from discreet.samplers.source import OperatingSystem, Rows, Source, Words

LEAST_SCALE = 2.0**-40
LARGEST_SCALE = 2.0**50
LARGEST_STEP = 2**62

Integers = NDArray[Any]
"""64-bit integers; Python integers where the steps of a staircase are too wide for them."""
Proposal = Callable[[Rows, Rows], tuple[Integers, Flags]]
"""From rows and the numbers of their attempts: a proposed value for each, and whether it is accepted."""

_BLOCK = 1 << 16
_WIDEST = 2.0**20
_NARROWED_BITS = 10
_MOST_TRIES = 16
_FEW = 256
_MOST_BITS = 61
_WIDEST_STAIRS = 1 << 50
_INT64 = np.dtype(np.int64)
_NUMBERS = 4
_MAGNITUDE, _OFFSET, _OFFSET_FLIP, _FLIP = range(_NUMBERS)
_SYSTEM = OperatingSystem()


def discrete_laplace(scale: float, count: int, source: Source = _SYSTEM) -> Integers:
    """`count` independent draws with P[y] proportional to exp(-|y|/scale)."""
    return _laplace(_double(scale, "scale"), whole(count, "count", least=0), source)


def discrete_gaussian(sigma: float, count: int, source: Source = _SYSTEM) -> Integers:
    """`count` independent draws with P[y] proportional to exp(-y^2/(2 sigma^2))."""
    return _gaussian(_double(sigma, "sigma"), whole(count, "count", least=0), source)


def discrete_staircase(scale: float, step: int, inner: int, count: int, source: Source = _SYSTEM) -> Integers:
    """`count` independent draws with P[y] proportional to e^(-s/scale), s = floor((|y| + step - inner)/step)."""
    if not 1 <= whole(inner, "inner") <= whole(step, "step") <= LARGEST_STEP:
        raise ParameterError(
            "a step that is narrower than its inner part, or above 2**62",
            because="places in a step are drawn as 62 bits",
            instead="inner <= step <= 2**62",
        )
    return _staircase(_double(scale, "scale"), step, inner, whole(count, "count", least=0), source)


def _laplace(scale: float, count: int, source: Source) -> Integers:
    return _accepted(lambda rows, attempts: _signed(rows, attempts, scale, source), count)


def _gaussian(sigma: float, count: int, source: Source) -> Integers:
    """Discrete Laplace proposals of a whole scale t above sigma, accepted with e^(-(|y| - sigma^2/t)^2/(2 sigma^2))."""
    variance, scale = Fraction(sigma) ** 2, int(sigma) + 1
    center = variance / scale

    def propose(rows: Rows, attempts: Rows) -> tuple[Integers, Flags]:
        values, kept = _signed(rows, attempts, float(scale), source)
        sizes = np.abs(values)
        flips = brackets.below_decay(
            Uniforms(source, rows, attempts, _FLIP, stride=_NUMBERS),
            brackets.half_squared_distance(sizes, center, sigma),
            lambda index: (int(sizes[index]) - center) ** 2 / (2 * variance),
        )
        return values, kept & flips

    return _accepted(propose, count)


def _staircase(scale: float, step: int, inner: int, count: int, source: Source) -> Integers:
    """The number g of a stair has P[g] proportional to e^(-g/scale), and a uniform place in it is drawn.

    Stair g begins at inner + (g - 1) step, or at zero for g = 0. Places beyond the inner width of the first stair are
    rejected, and so is one of the two zeros that a random sign makes.
    """
    bits = (step - 1).bit_length()
    is_wide = step * (int(scale) + 1) >= _WIDEST_STAIRS
    kind = np.dtype(object) if is_wide else _INT64

    def propose(rows: Rows, attempts: Rows) -> tuple[Integers, Flags]:
        stairs, negative, kept = _magnitudes(rows, attempts, scale, source)
        places = _leading_bits(source.words(rows, attempts, _FLIP), bits, source)
        first = stairs == 0
        inside = (places < step) & (~first | (places < inner)) & ~(negative & first & (places == 0))
        if not is_wide:
            _check_size(stairs, bits)
        sizes = np.where(first, 0, inner + (stairs.astype(kind) - 1) * step) + places
        return np.where(negative, -sizes, sizes), kept & inside

    return _accepted(propose, count, kind)


def _accepted(propose: Proposal, count: int, kind: np.dtype[Any] = _INT64) -> Integers:
    """A value for each row: that of its first accepted attempt.

    A block of rows at a time, so that memory stays small and an interrupt is heard; few rows make several attempts at
    once, because a call costs as much as a few hundred proposals.
    """
    drawn = np.empty(count, dtype=kind)
    for start in range(0, count, _BLOCK):
        rows, attempt = np.arange(start, min(count, start + _BLOCK)), 0
        while len(rows):
            tries = min(_MOST_TRIES, 1 + _FEW // len(rows))
            attempts = np.tile(np.arange(attempt, attempt + tries), len(rows))
            values, kept = (part.reshape(-1, tries) for part in propose(np.repeat(rows, tries), attempts))
            first, found = kept.argmax(axis=1), kept.any(axis=1)
            drawn[rows] = values[np.arange(len(rows)), first]
            rows, attempt = rows[~found], attempt + tries
    return drawn


def _signed(rows: Rows, attempts: Rows, scale: float, source: Source) -> tuple[Integers, Flags]:
    """Proposals of the discrete Laplace law: one of the two zeros that a random sign makes is rejected."""
    sizes, negative, kept = _magnitudes(rows, attempts, scale, source)
    return np.where(negative, -sizes, sizes), kept & ~(negative & (sizes == 0))


def _magnitudes(rows: Rows, attempts: Rows, scale: float, source: Source) -> tuple[Integers, Flags, Flags]:
    """Numbers m >= 0 with P[m] proportional to e^(-m/scale), independent signs, and whether proposals are accepted.

    Beyond 2^20 brackets would leave many floors open. There m = b q + r with a power of two b: q and r are independent,
    q of the same law for scale/b, and r < b proportional to e^(-r/scale), which a flip accepts.
    """
    width = max(0, int(np.frexp(scale)[1]) - _NARROWED_BITS) if scale > _WIDEST else 0
    uniforms = Uniforms(source, rows, attempts, _MAGNITUDE, skipped=1, stride=_NUMBERS)
    negative = (uniforms.word & np.uint64(1)) == 1
    floors = brackets.exponential_floors(uniforms, Fraction(scale) / (1 << width))
    if not width:
        return floors, negative, np.ones(len(rows), dtype=np.bool_)
    _check_size(floors, width)
    offsets = _leading_bits(source.words(rows, attempts, _OFFSET), width, source)
    flips = brackets.below_decay(
        Uniforms(source, rows, attempts, _OFFSET_FLIP, stride=_NUMBERS),
        brackets.ratio(offsets, scale),
        lambda index: int(offsets[index]) / Fraction(scale),
    )
    return (floors << width) + offsets, negative, flips


def _leading_bits(words: Words, bits: int, source: Source) -> Integers:
    """Uniform numbers of so many bits, fewer than a word has."""
    return (words >> np.uint64(source.bits - bits)).astype(np.int64) if bits else np.zeros(len(words), dtype=np.int64)


def _check_size(numbers: Integers, shift: int) -> None:
    """Refuse to go on where a number times 2^shift leaves 64 bits, which has a probability below e^-250."""
    if int(numbers.max(initial=0)).bit_length() + shift > _MOST_BITS:
        raise OverflowError("a draw beyond 64 bits")


def check_scale(scale: Fraction, name: str, example: str) -> None:
    """Refuse a scale, counted in steps of the grid, that the samplers are not asked to draw."""
    if LEAST_SCALE <= scale <= LARGEST_SCALE:
        return
    side, price, grid = ("above 2**50", "larger", "coarser") if scale > 1 else ("below 2**-40", "smaller", "finer")
    raise ParameterError(
        f"noise with a {name} {side} steps of the grid",
        because=f"noise is drawn exactly for a {name} between 2**-40 and 2**50 steps",
        instead=f"{example}: a {price} epsilon or rho, or a {grid} grid",
    )


def _double(scale: float, name: str) -> float:
    positive(scale, name)
    exact = Fraction(scale)
    check_scale(exact, name, f"{name}=10.0")
    double = float(exact)
    if Fraction(double) != exact:
        raise ParameterError(
            f"a {name} that is not a double",
            because=f"the noise would have another {name} than the one whose privacy cost is charged",
            instead=f"{name}=rounding.double_up({name}), and the privacy cost of that double",
        )
    return double
