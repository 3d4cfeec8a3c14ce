"""Bounds that are found: their buckets, the price of all parts together, and what comes of it on usual answers."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.accounting import concentrated, pure
from discreet.errors import ParameterError
from discreet.mechanisms import Gaussian
from discreet.mechanisms.sampled import SelfBoundedMean
from discreet.mechanisms.sampled.self_bounded import PER_DOUBLING, MeanWithBounds, buckets

WIDE = (-(10**6), 10**6)


@given(st.integers(-(2**45), 2**45), st.integers(2, 2**45))
def test_buckets_cover_the_bounds_and_are_narrow_beside_their_distance_from_zero(low, width):
    edges = buckets(low, low + width)
    assert edges[0] == low
    assert edges[-1] == low + width
    assert all(a < b for a, b in itertools.pairwise(edges))
    assert all((b - a) * PER_DOUBLING <= max(PER_DOUBLING, min(abs(a), abs(b))) for a, b in itertools.pairwise(edges))
    assert len(edges) < 3_200


def law(mechanism: SelfBoundedMean, answers: list[int]) -> dict[tuple[int, int, int], float]:
    """The probability of every pair of buckets with every sum of the mean, by the parts' own probabilities."""
    edges = buckets(mechanism.steps.low, mechanism.steps.high)
    places = [min(len(edges) - 2, sum(edge <= step for edge in edges) - 1) for step in mechanism.steps.read(answers)]
    lower, upper = (mechanism._quartile(Fraction(q, 4), edges).pmf(places) for q in (1, 3))
    found = {}
    for (i, p), (j, q) in itertools.product(enumerate(lower), enumerate(upper)):
        mean = mechanism._mean(mechanism._widen_bounds(edges[min(i, j)], edges[max(i, j) + 1]))
        total = sum(mean.steps.read(answers))
        for y in range(-5, 20):
            found[i, j, y] = p * q * mean.pmf(y - total)
    return found


@pytest.mark.guarantee("mechanisms.sampled.self_bounded")
@pytest.mark.parametrize(("neighbours", "moved"), [("add_remove", 1), ("replace_one", 2)])
def test_no_pair_of_neighbours_has_a_larger_ratio_than_epsilon(neighbours, moved):
    mechanism = SelfBoundedMean(bounds=(0, 5), blocks=2, epsilon=1, grid=1, widening=0.5, neighbours=neighbours)
    laws = {answers: law(mechanism, list(answers)) for answers in itertools.product((0, 2, 5), repeat=2)}
    largest = 0.0
    for one, other in itertools.product(laws, repeat=2):
        if sum(a != b for a, b in zip(one, other, strict=True)) <= moved:
            largest = max(largest, *(math.log(laws[one][key] / laws[other][key]) for key in laws[one]))
    assert 0.6 < largest <= 1 + 1e-9


@pytest.mark.guarantee("mechanisms.sampled.self_bounded")
@pytest.mark.parametrize("share", [Fraction(1, 2), Fraction(1, 10), 0.3])
def test_the_parts_cost_what_the_whole_does(share):
    mechanism = SelfBoundedMean(bounds=WIDE, blocks=100, epsilon=Fraction(7, 5), share=share)
    assert pure.epsilon(mechanism.event()) == Fraction(7, 5)
    mean = mechanism._mean((0, 10))
    assert mean.noise.amount <= mechanism._mean_price["epsilon"]


@pytest.mark.guarantee("mechanisms.sampled.self_bounded")
@pytest.mark.parametrize("share", [Fraction(1, 2), Fraction(1, 10), 0.3])
def test_for_a_rho_the_parts_cost_what_the_whole_does_and_the_mean_has_gaussian_noise(share):
    mechanism = SelfBoundedMean(bounds=WIDE, blocks=100, rho=Fraction(1, 5), share=share)
    assert Fraction(1999, 10_000) < concentrated.rho(mechanism.event()).rho <= Fraction(1, 5)
    mean = mechanism._mean((0, 10))
    assert isinstance(mean.noise, Gaussian)
    assert mean.noise.amount <= mechanism._mean_price["rho"]
    assert mechanism.noise.margin() > mean.noise.margin()


@pytest.mark.parametrize("price", [{}, {"epsilon": 1, "rho": 1}])
def test_it_has_one_price(price):
    with pytest.raises(ParameterError, match="exactly one"):
        SelfBoundedMean(bounds=WIDE, blocks=10, **price)


def test_bounds_are_found_around_the_quartiles_of_usual_answers():
    """False-alarm rate 2e-13: for the ranks, and for the noise of the mean."""
    answers = np.random.default_rng(2).normal(1_000, 3, 1_000)
    mechanism = SelfBoundedMean(bounds=WIDE, blocks=1_000, epsilon=4, grid=0.01)
    off = mechanism.rank_margin(1 - 1e-13)
    assert off < 150
    found = mechanism.release(answers.tolist())
    ranked = np.sort(answers)
    low, high = (float(bound) for bound in found.bounds)
    assert ranked[250 - off] - 6 * 40 < low < ranked[250 + off]
    assert ranked[750 - off] < high < ranked[750 + off] + 6 * 40
    assert abs(float(found.value) - answers.mean()) < float(mechanism.margin(found, 1 - 1e-13)) + 1


def test_the_margin_is_the_one_of_the_noise_within_the_bounds_that_were_found():
    mechanism = SelfBoundedMean(bounds=WIDE, blocks=50, epsilon=1)
    narrow, wide = (mechanism.margin(MeanWithBounds(Fraction(0), bounds)) for bounds in ((0, 10), (0, 1_000)))
    assert wide == pytest.approx(100 * narrow, rel=0.01)


def test_bounds_that_are_found_stay_within_the_public_ones():
    mechanism = SelfBoundedMean(bounds=(0, 100), blocks=4, epsilon=0.01, grid=1, widening=1_000)
    for _ in range(20):
        low, high = mechanism.release([0, 1, 99, 100]).bounds
        assert 0 <= low < high <= 100


@pytest.mark.parametrize(
    "given_facts",
    [
        {"share": 0},
        {"share": 1},
        {"share": -0.1},
        {"widening": -1},
        {"widening": 10**6},
        {"epsilon": 0},
        {"bounds": (0, 1), "grid": 1},
        {"bounds": (0, 2**52), "grid": 1, "epsilon": 0.001},
    ],
)
def test_public_facts_that_are_none_are_refused_before_any_answer(given_facts):
    facts = {"bounds": WIDE, "blocks": 10, "epsilon": 1} | given_facts
    with pytest.raises(ParameterError):
        SelfBoundedMean(**facts)
