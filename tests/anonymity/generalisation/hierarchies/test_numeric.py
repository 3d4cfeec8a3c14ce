"""Intervals and rounding, against exact rational arithmetic on every type of number."""

import math
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest

import discreet as dp

intervals, digits = dp.anonymity.hierarchies.intervals, dp.anonymity.hierarchies.digits


def _labels(levels, level):
    return [levels.labels[level][code] for code in levels.codes[level]]


def test_intervals_are_closed_below_and_open_above():
    levels = intervals(5, 10).levels(pa.array([0, 4, 5, 9, 10, -1]))
    assert _labels(levels, 1) == ["[0, 5)", "[0, 5)", "[5, 10)", "[5, 10)", "[10, 15)", "[-5, 0)"]
    assert _labels(levels, 2) == ["[0, 10)", "[0, 10)", "[0, 10)", "[0, 10)", "[10, 20)", "[-10, 0)"]


def test_bottom_and_top_are_groups_of_their_own_and_cut_labels():
    levels = intervals(20, 40, bottom=18, top=65).levels(pa.array([17, 18, 64, 65, 90]))
    assert _labels(levels, 1) == ["<18", "[18, 20)", "[60, 65)", ">=65", ">=65"]
    assert _labels(levels, 2) == ["<18", "[18, 40)", "[40, 65)", ">=65", ">=65"]


def test_the_origin_moves_the_edges():
    assert _labels(intervals(10, origin=5).levels(pa.array([4, 5, 14, 15])), 1) == [
        "[-5, 5)",
        "[5, 15)",
        "[5, 15)",
        "[15, 25)",
    ]


@pytest.mark.parametrize("kind", [pa.int8(), pa.int64(), pa.uint64(), pa.decimal128(25, 2), pa.float32(), pa.float64()])
def test_every_type_of_number_falls_in_the_same_intervals(kind):
    numbers = pa.array([0, 1, 7, 99, 100]).cast(kind)
    assert _labels(intervals(10).levels(numbers), 1) == ["[0, 10)", "[0, 10)", "[0, 10)", "[90, 100)", "[100, 110)"]


def test_extreme_integers_do_not_overflow():
    numbers = [-(2**63), 2**63 - 1, 0]
    found = _labels(intervals(Fraction(1, 2), 10).levels(pa.array(numbers)), 2)
    assert found == [f"[{10 * (number // 10)}, {10 * (number // 10) + 10})" for number in numbers]
    assert _labels(digits(1).levels(pa.array([2**64 - 1], pa.uint64())), 1) == [str((2**64 - 1) // 10 * 10)]


def test_floats_on_decimal_edges_fall_above_them():
    tenths = [number / 10 for number in range(1_000)]
    levels = intervals(0.1, 1).levels(pa.array(tenths))
    assert _labels(levels, 1)[3] == "[0.3, 0.4)"
    assert len(levels.labels[1]) == 1_000
    assert _labels(levels, 2) == [f"[{number // 10}, {number // 10 + 1})" for number in range(1_000)]


def test_floats_beside_an_edge_fall_on_their_side():
    width = Fraction(7, 10)
    edges = [float(width * number) for number in range(-500, 500)]
    below = [math.nextafter(edge, -math.inf) for edge in edges]
    on_edges = _labels(intervals(width).levels(pa.array(edges)), 1)
    assert len(set(on_edges)) == 1_000
    assert _labels(intervals(width).levels(pa.array(below)), 1)[1:] == on_edges[:-1]


def test_the_fast_and_the_exact_path_of_floats_agree():
    generator = dp.testing.generator(18)
    values = np.unique(np.round(generator.normal(0, 1e6, 2_000), 3))
    fast = _labels(intervals(0.25).levels(pa.array(values)), 1)
    # a huge value takes the whole column to the exact path
    exact = _labels(intervals(0.25).levels(pa.array([*values, 1e17])), 1)
    assert exact[:-1] == fast


def test_decimals_are_exact():
    values = pa.array([Decimal("0.30"), Decimal("0.29")])
    assert _labels(intervals(0.1).levels(values), 1) == ["[0.3, 0.4)", "[0.2, 0.3)"]


def test_digits_round_down():
    levels = digits(3).levels(pa.array([-5, 0, 39, 142, 1_234]))
    assert _labels(levels, 1) == ["-10", "0", "30", "140", "1230"]
    assert _labels(levels, 3) == ["-1000", "0", "0", "0", "1000"]
    assert levels.height == 4


def test_infinite_values_need_a_top():
    values = pa.array([1.0, math.inf, -math.inf])
    with pytest.raises(dp.errors.ParameterError):
        intervals(5).levels(values)
    assert _labels(intervals(5, bottom=0, top=10).levels(values), 1) == ["[0, 5)", ">=10", "<0"]


@pytest.mark.parametrize(
    "call",
    [
        intervals,
        lambda: intervals(5, 12),
        lambda: intervals(5, 5),
        lambda: intervals(10, 5),
        lambda: intervals(0),
        lambda: intervals(-5),
        lambda: intervals(5, bottom=9, top=3),
        lambda: intervals(5, bottom=3, top=3),
        lambda: intervals(float("nan")),
        lambda: digits(0),
        lambda: digits(19),
    ],
)
def test_widths_that_do_not_nest_are_refused(call):
    with pytest.raises(dp.errors.ParameterError):
        call()


@pytest.mark.parametrize("values", [["a"], [True], [b"x"]])
def test_other_types_have_no_intervals(values):
    with pytest.raises(dp.errors.TypeMismatchError):
        intervals(5).levels(pa.array(values))


def test_a_third_is_shown_as_a_ratio():
    assert _labels(intervals(Fraction(1, 3)).levels(pa.array([0.5])), 1) == ["[1/3, 2/3)"]
    assert _labels(intervals(0.05).levels(pa.array([-0.01])), 1) == ["[-0.05, 0)"]
