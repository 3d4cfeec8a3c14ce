"""Brackets hold the true numbers, and decisions about uniform numbers are the true ones, whatever bits they need."""

import ctypes
import ctypes.util
import math
import platform
from fractions import Fraction

import mpmath
import numpy as np
import pytest

from discreet.exact import rounding
from discreet.samplers import brackets
from discreet.samplers.brackets import Bracket, Uniforms
from enumeration import masses

ULPS = 4
CASES = 2_000
ROUNDING_MODES = {"x86_64": (0, 0x400, 0x800, 0xC00)}.get(platform.machine(), (0,))


def points(seed, many):
    """Doubles in (0, 1] of every size that a word has, and some next to 1."""
    random, half = np.random.default_rng(seed), many // 2
    words = random.integers(1, 2**63, half, dtype=np.uint64) >> random.integers(0, 63, half, dtype=np.uint64)
    close = 1 - random.integers(0, 1 << 20, half) * 2.0 ** (random.integers(0, 32, half) - 53)
    return np.concatenate([np.maximum(words, 1).astype(np.float64) * 2.0**-63, np.clip(close, 2.0**-53, 1)])


def exponents(seed, many):
    """Arguments of exp from 0 to where it underflows, small ones too."""
    random = np.random.default_rng(seed)
    return np.concatenate([random.uniform(0, 708, many // 2), 2.0 ** random.uniform(-60, 9.4, many - many // 2)])


def worst(found, true, exact):
    """The largest error in units of 2^-52 of the true number."""
    off = [abs(exact(one) - other) / abs(other) for one, other in zip(found, true, strict=True) if other != 0]
    assert all(one == 0 for one, other in zip(found, true, strict=True) if other == 0)
    return float(max(off) * 2**52)


@pytest.mark.full
def test_log_and_exp_of_the_library_are_within_four_units_in_the_last_place():
    """The assumption of the proof, on 100,000 points; brackets allow sixteen times as much."""
    with mpmath.workprec(120):
        drawn, sizes = points(1, 50_000), exponents(2, 50_000)
        logs = worst(np.log(drawn).tolist(), [mpmath.log(x) for x in drawn.tolist()], mpmath.mpf)
        decays = worst(np.exp(-sizes).tolist(), [mpmath.exp(-x) for x in sizes.tolist()], mpmath.mpf)
    assert max(logs, decays) <= ULPS
    assert brackets.LIBRARY == 16 * ULPS * 2.0**-52


@pytest.mark.nightly
@pytest.mark.skipif(np.finfo(np.longdouble).nmant < 63, reason="no doubles of 80 bits to compare with")
def test_log_and_exp_are_within_four_units_on_ten_million_points():
    for seed in range(10):
        drawn, sizes = points(seed, 500_000), exponents(seed, 500_000)
        drawn = drawn[drawn != 1]
        logs, decays = np.log(drawn.astype(np.longdouble)), np.exp(-sizes.astype(np.longdouble))
        off = max(np.abs(np.log(drawn) / logs - 1).max(), np.abs(np.exp(-sizes) / decays - 1).max())
        assert off * 2**52 <= ULPS


def test_each_operation_of_a_bracket_holds_the_true_number():
    random = np.random.default_rng(3)
    words = random.integers(0, 2**62, CASES) >> random.integers(0, 62, CASES)
    widths = (2.0 ** random.uniform(-40, 50, CASES)).tolist()
    centers = [Fraction(width) ** 2 / (int(width) + 1) for width in widths]
    for word, width, center in zip(words, widths, centers, strict=True):
        values = np.array([word])
        away = (Fraction(int(word)) - center) / Fraction(width)
        assert holds(brackets.half_squared_distance(values, center, width), away**2 / 2)
        assert holds(brackets.ratio(values, width), Fraction(int(word)) / Fraction(width))
        assert holds(brackets.ratio(values, 3.0).times(width), Fraction(int(word)) / 3 * Fraction(width))


def test_brackets_hold_in_every_rounding_mode_and_where_numpy_is_told_to_raise():
    """Another library may have changed the mode of the processor."""
    library = ctypes.CDLL(ctypes.util.find_library("m"))
    values, width, center = np.array([0, 1, 12_345, 2**61 - 1]), 1.1, Fraction(1.1) ** 2 / 2
    drawn, found = np.array([0, 3, 2**52 + 1, 2**63 - 1], dtype=np.uint64), []
    for mode in ROUNDING_MODES:
        assert library.fesetround(mode) == 0
        try:
            with np.errstate(all="raise"):
                source = Words(0)
                source.words = lambda rows, *_: drawn[rows]
                number = Uniforms(source, np.arange(4), np.zeros(4, dtype=np.int64), 0, stride=1)
                squares = brackets.half_squared_distance(values, center, width)
                found.append((number.bracket(), number.bracket().minus_log(), squares, squares.decay()))
        finally:
            library.fesetround(0)
    for uniform, log, square, decay in found:
        for place, (word, value) in enumerate(zip(drawn.tolist(), values.tolist(), strict=True)):
            assert Fraction(float(uniform.low[place])) <= Fraction(word, 2**64)
            assert Fraction(word + 1, 2**64) <= Fraction(float(uniform.high[place]))
            away = (value - center) ** 2 / (2 * Fraction(width) ** 2)
            assert Fraction(float(square.low[place])) <= away <= Fraction(float(square.high[place]))
            with mpmath.workprec(200):
                exact = mpmath.mpf(word) / 2**64
                assert mpmath.mpf(float(log.low[place])) <= -mpmath.log(exact + mpmath.mpf(2) ** -64)
                assert word == 0 or -mpmath.log(exact) <= mpmath.mpf(float(log.high[place]))
                true = mpmath.exp(-mpmath.mpf(away.numerator) / away.denominator)
                assert mpmath.mpf(float(decay.low[place])) <= true <= mpmath.mpf(float(decay.high[place]))


def test_logarithms_and_exponentials_of_brackets_hold_the_true_numbers():
    drawn = points(4, CASES)
    log = Bracket(drawn, drawn).minus_log()
    decay = Bracket(sizes := exponents(5, CASES), sizes).decay()
    with mpmath.workprec(120):
        for place, x in enumerate(drawn.tolist()):
            assert log.low[place] <= -mpmath.log(x) <= log.high[place]
        for place, x in enumerate(sizes.tolist()):
            assert decay.low[place] <= mpmath.exp(-x) <= decay.high[place]


def holds(bracket, true):
    return Fraction(float(bracket.low[0])) <= true <= Fraction(float(bracket.high[0]))


def test_the_bracket_of_a_zero_is_infinite_and_of_an_underflow_not_negative_above():
    zero = Bracket(np.array([0.0]), np.array([2.0**-63])).minus_log()
    assert math.isinf(zero.high[0])
    deep = Bracket(np.array([1e6]), np.array([np.inf])).decay()
    assert deep.low[0] <= 0 < deep.high[0]


class Words:
    """A source with one number: its words, and then the same word for ever."""

    def __init__(self, *words, bits=64):
        self.bits, self._words, self.asked = bits, words, 0

    def words(self, rows, attempts, place):  # noqa: ARG002
        self.asked = max(self.asked, place)
        return np.full(len(rows), self._words[min(place, len(self._words) - 1)], dtype=np.uint64)


def uniforms(*words):
    source = Words(*words)
    return source, Uniforms(source, np.arange(1), np.zeros(1, dtype=np.int64), 0, stride=1)


def split(exponent, words):
    """The leading words of e^(-exponent)."""
    low, high = rounding.decay_units(exponent, 64 * words + 64)
    assert low >> 64 == high >> 64
    return [low >> 64 * (words - place) & 2**64 - 1 for place in range(words)]


@pytest.mark.parametrize("depth", [1, 2, 5])
@pytest.mark.parametrize("scale", [1, 3, 10**6])
def test_a_number_next_to_a_boundary_is_decided_by_later_words(depth, scale):
    """The first `depth` words are those of the boundary; the next is its smallest or its largest."""
    boundary = Fraction(7, scale)
    for last, floor in ((0, 7), (2**64 - 1, 6)):
        source, number = uniforms(*split(boundary, depth), last)
        assert brackets.exponential_floors(number, Fraction(scale)).tolist() == [floor]
        assert source.asked >= depth
        source, number = uniforms(*split(boundary, depth), last)
        exponent = brackets.ratio(np.array([7]), float(scale))
        assert brackets.below_decay(number, exponent, lambda _: boundary).tolist() == [floor == 7]
        assert source.asked >= depth


@pytest.mark.parametrize("zeros", [1, 2, 9])
def test_a_number_that_begins_with_zeros_has_the_floor_of_its_later_words(zeros):
    """U = 2^-(64 zeros + 1): -1000 ln U is found by doubling and halving, not by counting."""
    _, number = uniforms(*[0] * zeros, 1 << 63, 0)
    assert brackets.exponential_floors(number, Fraction(1000)).tolist() == [
        math.floor(1000 * (64 * zeros + 1) * math.log(2))
    ]


def test_a_floor_beyond_the_largest_ends_with_an_error(monkeypatch):
    monkeypatch.setattr(brackets, "LARGEST", 10**5)
    _, number = uniforms(0, 0, 0, 1)
    with pytest.raises(OverflowError):
        brackets.exponential_floors(number, Fraction(1000))


@pytest.mark.guarantee("samplers.brackets")
@pytest.mark.parametrize("scale", [Fraction(1, 4), Fraction(1), Fraction(37, 8)])
def test_with_words_of_eight_bits_floors_have_their_probabilities_up_to_what_is_undecided(scale):
    """Decided mass <= P[floor = k] <= decided + undecided mass; m bits leave at most 2(m scale ln 2 + 1) + 1 cells."""

    def outcomes(source, rows, attempts):
        return brackets.exponential_floors(Uniforms(source, rows, attempts, 0, stride=1), scale).tolist()

    for more in (0, 1, 2) if scale < 1 else (0, 1):
        decided, undecided = masses(outcomes, [0], 8, more)
        bits = 8 * (more + 1)
        assert undecided <= (2 * (bits * scale * Fraction(7, 10) + 1) + 1) / 2**bits
        for k in range(max(decided) + 3):
            low, high = (rounding.exp(-k / scale), rounding.exp(-(k + 1) / scale))
            mass = decided.get(k, Fraction(0))
            assert mass <= low.high - high.low
            assert low.low - high.high <= mass + undecided


@pytest.mark.parametrize("exponent", [Fraction(1, 100), Fraction(1), Fraction(9, 2), Fraction(40)])
def test_with_words_of_eight_bits_flips_have_their_probability_up_to_two_cells(exponent):
    def outcomes(source, rows, attempts):
        bracket = Bracket(*(np.full(len(rows), float(exponent) * (1 + side)) for side in (-(2.0**-50), 2.0**-50)))
        return brackets.below_decay(Uniforms(source, rows, attempts, 0, stride=1), bracket, lambda _: exponent).tolist()

    true = rounding.exp(-exponent)
    for more in (0, 1, 2):
        decided, undecided = masses(outcomes, [0], 8, more)
        assert undecided <= Fraction(2, 2 ** (8 * (more + 1)))
        assert decided.get(True, 0) <= true.high
        assert true.low <= decided.get(True, 0) + undecided
