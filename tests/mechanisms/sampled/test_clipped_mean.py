"""The clamped mean: its ratio of probabilities over all neighbours, reached, for both neighbour relations."""

import itertools
from fractions import Fraction

import pytest

from discreet.accounting import pure
from discreet.errors import ParameterError
from discreet.mechanisms.sampled import ClippedMean

DOMAIN = (-2, 0, 1, 3, 5)  # answers beyond the bounds (0, 3) are moved into them


def exponents(mechanism: ClippedMean, one: int, other: int) -> list[Fraction]:
    """The exact logarithms of all ratios of probabilities between two sums of steps."""
    scale = Fraction(mechanism.noise.scale)
    window = range(min(one, other) - 3, max(one, other) + 4)
    return [(abs(y - other) - abs(y - one)) / scale for y in window]


@pytest.mark.guarantee("mechanisms.sampled.clipped_mean")
@pytest.mark.parametrize(("neighbours", "moved"), [("add_remove", 1), ("replace_one", 2)])
def test_no_pair_of_neighbours_has_a_larger_ratio_than_epsilon_and_one_reaches_it(neighbours, moved):
    mechanism = ClippedMean(bounds=(0, 3), blocks=3, epsilon=0.7, grid=1, neighbours=neighbours)
    largest = Fraction(0)
    for answers in itertools.product(DOMAIN, repeat=3):
        for others in itertools.product(DOMAIN, repeat=3):
            if sum(a != b for a, b in zip(answers, others, strict=True)) <= moved:
                sums = sum(mechanism.steps.read(answers)), sum(mechanism.steps.read(others))
                largest = max(largest, *exponents(mechanism, *sums))
    assert largest == mechanism.noise.amount <= Fraction(7, 10)
    assert mechanism.noise.amount > Fraction(699, 1_000)


@pytest.mark.guarantee("mechanisms.sampled.clipped_mean")
def test_the_event_has_the_price_of_the_noise_that_is_drawn():
    for neighbours in ("add_remove", "replace_one"):
        mechanism = ClippedMean(bounds=(0, 120), blocks=1_000, epsilon=0.1, neighbours=neighbours)
        assert pure.epsilon(mechanism.event()) == mechanism.noise.amount <= Fraction(1, 10)


@pytest.mark.guarantee("mechanisms.sampled.clipped_mean")
@pytest.mark.parametrize(("neighbours", "moved"), [("add_remove", 1), ("replace_one", 2)])
def test_gaussian_noise_covers_the_largest_move_of_the_sum_of_neighbours(neighbours, moved):
    mechanism = ClippedMean(bounds=(0, 3), blocks=3, rho=0.1, grid=1, neighbours=neighbours)
    pairs = itertools.product(itertools.product(DOMAIN, repeat=3), repeat=2)
    farthest = max(
        abs(sum(mechanism.steps.read(one)) - sum(mechanism.steps.read(other)))
        for one, other in pairs
        if sum(a != b for a, b in zip(one, other, strict=True)) <= moved
    )
    event = mechanism.event()
    assert event.squared_sensitivity == farthest**2 == (3 * moved) ** 2
    assert Fraction(99, 1_000) < event.squared_sensitivity / (2 * event.variance) <= Fraction(1, 10)


@pytest.mark.parametrize("price", [{}, {"epsilon": 1, "rho": 1}])
def test_it_has_one_price(price):
    with pytest.raises(ParameterError, match="exactly one"):
        ClippedMean(bounds=(0, 3), blocks=3, **price)


@pytest.mark.pitfall("A9")
def test_replacing_a_unit_doubles_the_noise():
    one, two = (
        ClippedMean(bounds=(0, 3), blocks=9, epsilon=1, grid=1, neighbours=n) for n in ("add_remove", "replace_one")
    )
    assert two.noise.scale == 2 * one.noise.scale == 6
    assert two.margin() > one.margin()


@pytest.mark.pitfall("A1")
def test_a_release_is_a_multiple_of_the_grid_over_the_number_of_blocks():
    mechanism = ClippedMean(bounds=(0, 10), blocks=7, epsilon=1, grid=0.01)
    for _ in range(20):
        assert (mechanism.release([3.14159] * 7) * 700).denominator == 1


def test_with_next_to_no_noise_it_is_the_mean_of_the_clamped_answers():
    # e^-1e5 is the probability of any noise
    mechanism = ClippedMean(bounds=(0, 10), blocks=4, epsilon=10**6, grid=1)
    assert mechanism.release([10**400, -5, 3, Fraction(5, 2)]) == Fraction(10 + 0 + 3 + 3, 4)


def test_the_margin_is_the_one_of_the_noise_over_the_number_of_blocks():
    mechanism = ClippedMean(bounds=(0, 120), blocks=1_000, epsilon=0.5)
    assert mechanism.margin() == Fraction(mechanism.noise.margin()) / 1_000
    assert mechanism.noise.coverage(mechanism.margin() * 1_000) >= 0.95
    assert sum(mechanism.pmf(y) for y in range(-10, 11)) < 1


def test_the_number_of_answers_is_the_number_of_blocks():
    with pytest.raises(ParameterError, match="2 answers of 3 blocks"):
        ClippedMean(bounds=(0, 3), blocks=3, epsilon=1).release([1, 2])


@pytest.mark.parametrize("epsilon", [0, -1, float("nan"), True, "1"])
def test_an_epsilon_that_is_none_is_refused(epsilon):
    with pytest.raises(ParameterError):
        ClippedMean(bounds=(0, 3), blocks=3, epsilon=epsilon)
