"""Intervals of noisy marginals: centres, margins, merged slots, and exact coverage for a choice that follows noise."""

import math
from fractions import Fraction

import numpy as np
import pytest

from discreet.mechanisms import Gaussian
from discreet.synthesis.answers.noisy_marginals import NoisyMarginal, NoisyMarginals, SlotEnds, noisy_marginals
from discreet.synthesis.core.domain import Domain

DOMAIN = Domain({"a": 3, "b": 4})
LEVEL = Fraction(19, 20)
A = NoisyMarginal(("a",), np.array([10.0, 20.0, 30.0]), 2.0, {})
B = NoisyMarginal(("b",), np.array([10.0, 20.0, 30.0, 1.0]), 3.0, {})
BOTH = NoisyMarginal(("a", "b"), np.arange(6.0).reshape(3, 2), 1.5, {"b": (0, 1, 1, 1)})
MARGINALS = NoisyMarginals(DOMAIN, (A, B), (BOTH,))
ENDS = SlotEnds("b", np.array([0.0, 10.0, 20.0, 0.0]), np.array([10.0, 20.0, 30.0, 0.0]))


def cells(*places, shape=(3, 4)):
    mask = np.zeros(shape, dtype=np.bool_)
    for place in places:
        mask[place] = True
    return mask


def test_a_column_is_read_from_its_own_marginal_with_the_margin_of_its_noise():
    found = MARGINALS.count(cells(0, 2, shape=(3,)), ("a",), LEVEL)
    assert found.measured == 40
    assert found.upper - 40 == 40 - found.lower == pytest.approx(1.96 * 2 * math.sqrt(2), abs=1)
    one = MARGINALS.count(cells(1, shape=(3,)), ("a",), LEVEL)
    assert one.upper - 20 == Gaussian.with_sigma(sigma=2.0, sensitivity=1).margin(0.95)


def test_the_number_of_rows_is_the_weighted_mean_of_the_first_stage():
    found = MARGINALS.count(np.array(True), (), LEVEL)
    weights = np.array([1 / 12, 1 / 36])
    assert found.measured == pytest.approx(weights @ [60, 61] / weights.sum())
    assert found.upper - found.measured == pytest.approx(1.96 / math.sqrt(weights.sum()), rel=0.03)


def test_unions_of_merged_slots_have_an_interval_where_they_align_with_groups():
    aligned = MARGINALS.count(cells((0, slice(1, 4)), (2, 0)), ("a", "b"), LEVEL)
    assert aligned.measured == 1 + 4
    assert MARGINALS.count(cells((0, slice(1, 3))), ("a", "b"), LEVEL) is None
    assert NoisyMarginals(DOMAIN, (A, B), ()).count(cells((0, 0)), ("a", "b"), LEVEL) is None


def test_the_first_marginal_with_the_columns_is_used_and_later_ones_are_not():
    again = NoisyMarginal(("a", "b"), BOTH.values + 100, 0.1, BOTH.groups)
    more = NoisyMarginals(DOMAIN, (A, B), (BOTH, again))
    union = cells((0, 0))
    assert more.count(union, ("a", "b"), LEVEL) == MARGINALS.count(union, ("a", "b"), LEVEL)


def test_sums_reach_from_the_least_to_the_largest_that_bins_and_noise_allow():
    mask = np.array([True, True, True, False])
    found = MARGINALS.sum(mask, ("b",), ENDS, LEVEL)
    assert found.measured == 10 * 5 + 20 * 15 + 30 * 25
    assert found.lower == pytest.approx(800 - 1.96 * 3 * math.hypot(0, 10, 20), rel=0.01)
    assert found.upper == pytest.approx(1400 + 1.96 * 3 * math.hypot(10, 20, 30), rel=0.01)
    mean = MARGINALS.mean(mask, ("b",), ENDS, LEVEL)
    assert mean.measured == pytest.approx(1100 / 60)
    assert 10 < mean.lower < 800 / 60
    assert 1400 / 60 < mean.upper < 30
    assert MARGINALS.sum(mask & False, ("c",), ENDS, LEVEL) is None
    empty = NoisyMarginals(DOMAIN, (A, NoisyMarginal(("b",), -B.values, 3.0, {})), ())
    assert empty.mean(mask, ("b",), ENDS, LEVEL) is None


def test_merged_slots_of_a_number_have_the_ends_of_their_group():
    low, high = ENDS.merge(BOTH)
    assert low.tolist() == [0, 0]
    assert high.tolist() == [10, 30]
    whole = SlotEnds("b", np.array([1.0, 2.0, 3.0, 4.0]), np.array([1.0, 2.0, 3.0, 4.0]))
    found = MARGINALS.sum(cells((0, slice(None))), ("a", "b"), whole, LEVEL)
    assert found.lower < 0 * 1 + 1 * 2 < 0 * 1 + 1 * 4 < found.upper


def test_wide_numbers_leave_nothing_of_a_mean_but_its_bounds():
    noisy = NoisyMarginals(DOMAIN, (A, NoisyMarginal(("b",), np.array([1.0, 1, 0, 0]), 50.0, {})), ())
    found = noisy.mean(np.array([True, True, True, False]), ("b",), ENDS, LEVEL)
    assert (found.lower, found.upper) == (0, 30)


def test_marginals_of_a_state_have_the_first_stage_apart():
    data = [
        {"columns": ["a"], "values": [1, 2, 3], "sigma": 2.0},
        {"columns": ["b"], "values": [1, 2, 3, 4], "sigma": 2.0},
        {"columns": ["a", "b"], "values": [1, 2, 3, 4, 5, 6], "sigma": 1.0, "groups": {"b": [0, 1, 1, 1]}},
    ]
    found = noisy_marginals({"measurements": data}, DOMAIN)
    assert [each.columns for each in found.first] == [("a",), ("b",)]
    assert found.later[0].values.shape == (3, 2)


@pytest.mark.parametrize(
    ("measured", "first"),
    [
        (["w", "c", "wc"], 2),
        (["w", "c", "sw", "wc"], 2),
        (["w", "c", "w", "c"], 2),
        (["w", "c"], 2),
        (["s", "w", "c", "sw", "c"], 3),
    ],
    ids=str,
)
def test_the_first_stage_ends_at_the_first_pair_or_at_a_column_that_is_measured_again(measured, first):
    """In a state of two levels `columns` has person columns too, which have no marginal of their own among visits."""
    sizes = {"s": 2, "w": 3, "c": 2}
    domain = Domain({"n": 4, **sizes})
    data = [
        {"columns": list(each), "values": [1] * domain.cells(each), "sigma": 2.0 + place}
        for place, each in enumerate(measured)
    ]
    found = noisy_marginals({"measurements": data}, domain)
    assert ["".join(each.columns) for each in found.first] == measured[:first]
    assert ["".join(each.columns) for each in found.later] == measured[first:]


@pytest.mark.guarantee("synthesis.answers.noisy_marginals")
@pytest.mark.parametrize("sigma", [0.6, 1.0, 3.0])
@pytest.mark.parametrize("level", [Fraction(1, 2), Fraction(19, 20)])
def test_no_rule_of_measuring_again_lowers_the_coverage(sigma, level):
    """Exact: summed over all noise, where a marginal is measured again if its first noise is on one side."""
    noise = Gaussian.with_sigma(sigma=sigma, sensitivity=1)
    missed = 0.0
    for z in range(-40, 41):
        first = NoisyMarginal(("a", "b"), np.array([[7.0 + z]]), sigma, {})
        again = [NoisyMarginal(("a", "b"), np.array([[7.0]]), 0.01, {})] if z < 0 else []
        noisy = NoisyMarginals(Domain({"a": 1, "b": 1}), (), (first, *again))
        found = noisy.count(np.array([[True]]), ("a", "b"), level)
        missed += noise.pmf(z) * (not found.lower <= 7 <= found.upper)
    assert missed <= 1 - level


def test_a_weighted_mean_of_all_measurements_would_miss_nearly_twice_as_often():
    """The control, exact: a marginal is measured again, with less noise, if the first interval holds."""
    wide, narrow = (Gaussian.with_sigma(sigma=sigma, sensitivity=1) for sigma in (12.0, 3.0))
    weight, spread = 144 / 153, 1.645 * math.sqrt(1 / (1 / 144 + 1 / 9))
    missed = 0.0
    for z in range(-150, 151):
        if abs(z) > 1.645 * 12:
            missed += wide.pmf(z)
            continue
        missed += wide.pmf(z) * sum(
            narrow.pmf(y) for y in range(-40, 41) if abs(weight * y + (1 - weight) * z) > spread
        )
    assert 0.17 < missed < 0.2  # and not 0.1, as stated
