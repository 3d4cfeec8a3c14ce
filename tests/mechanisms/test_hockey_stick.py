"""The exact delta of shifted discrete Gaussian noise: never below the truth, hardly above, worst at the full shift."""

import decimal
import itertools
import math
import random
from decimal import Decimal
from fractions import Fraction

import pytest
from dp_accounting.pld import privacy_loss_distribution

from discreet.exact.zcdp import delta_of
from discreet.mechanisms import hockey_stick
from discreet.mechanisms.hockey_stick import delta_up, least_sigma
from grids import over

CASES = [
    (0.3, 1, Fraction(1)),
    (0.65, 1, Fraction(8)),
    (0.65, 3, Fraction(8)),
    (1.0, 1, Fraction(0)),
    (2.0, 1, Fraction(1)),
    (2.0, 7, Fraction(1)),
    (4.2, 1, Fraction(1)),
    (10.0, 3, Fraction(1, 2)),
    (10.0, 40, Fraction(1, 10)),
    (60.0, 1, Fraction(1, 50)),
]
WIDE = [(257.0, 1, Fraction(1, 100)), (257.0, 300, Fraction(4)), (300.0, 70, Fraction(1)), (300.0, 1000, Fraction(10))]


def brute_force(sigma, shift, epsilon):
    """Sum over y of max(0, P[y] - e^epsilon P[y - shift]) with 80 digits, over 40 sigma."""
    with decimal.localcontext() as context:
        context.prec = 80
        twice_variance = 2 * Decimal(sigma) ** 2
        factor = (Decimal(epsilon.numerator) / epsilon.denominator).exp()
        reach = math.ceil(20 * sigma) + shift + 20
        weights = {y: (-Decimal(y * y) / twice_variance).exp() for y in range(-reach - shift, reach + 1)}
        excess = sum(max(Decimal(0), weights[y] - factor * weights[y - shift]) for y in range(-reach, reach + 1))
        return Fraction(excess / sum(weights.values()))


@pytest.mark.guarantee("mechanisms.hockey_stick")
@pytest.mark.parametrize(("sigma", "shift", "epsilon"), CASES)
def test_delta_is_at_least_the_sum_over_all_outcomes_and_hardly_more(sigma, shift, epsilon):
    truth = brute_force(sigma, shift, epsilon)
    bound = delta_up(sigma, shift, epsilon)
    assert truth * (1 - Fraction(1, 10**60)) <= bound <= truth * (1 + Fraction(1, 10**20))


@pytest.mark.guarantee("mechanisms.hockey_stick")
@pytest.mark.parametrize(("sigma", "shift", "epsilon"), WIDE)
def test_beyond_the_summed_range_delta_is_still_above_the_truth_by_less_than_a_thousandth(sigma, shift, epsilon):
    truth = brute_force(sigma, shift, epsilon)
    assert truth <= delta_up(sigma, shift, epsilon) <= truth * (1 + Fraction(1, 1000))


@pytest.mark.parametrize("first", [-600, -100, -1, 0, 1, 2, 50, 300, 443, 444, 1000, 1500, 4200, 9000])
def test_the_integral_with_its_remainder_brackets_the_sum(first, monkeypatch):
    sigma = Fraction(250)
    low, high = (hockey_stick._mass(first, sigma, way) for way in (hockey_stick._DOWN, hockey_stick._UP))
    monkeypatch.setattr(hockey_stick, "LARGEST_SUMMED_SIGMA", 1)
    outer_low, outer_high = (hockey_stick._mass(first, sigma, way) for way in (hockey_stick._DOWN, hockey_stick._UP))
    assert 0 <= outer_low <= low <= high <= outer_high


@pytest.mark.guarantee("mechanisms.hockey_stick")
@over("sigma", [Fraction(1, 2), Fraction(19, 20), Fraction(5), Fraction(250)])
@over("first", [0, -1, -4])
def test_a_sum_from_zero_or_below_is_bracketed_whatever_its_two_parts_are_within_their_brackets(sigma, first):
    """G(first) = 1 + 2 G(1) - G(1 - first), so what bounds it from above subtracts a bound from below."""
    ways = (hockey_stick._DOWN, hockey_stick._UP)
    beyond_zero, beyond = ([hockey_stick._mass_by_sum(k, sigma, way) for way in ways] for k in (1, 1 - first))
    low, high = (hockey_stick._mass(first, sigma, way) for way in ways)
    for one, other in itertools.product(beyond_zero, beyond):
        assert low <= 1 + 2 * one - other <= high


@pytest.mark.parametrize("place", [Fraction(p) for p in ("-3", "0", "0.4", "1", "5", "12", "16", "17", "30")])
def test_the_normal_tail_lies_between_its_bounds(place):
    truth = math.erfc(place / math.sqrt(2)) * math.sqrt(math.pi / 2)
    low, high = (hockey_stick._normal_tail(place, way) for way in (hockey_stick._DOWN, hockey_stick._UP))
    assert low < high
    assert float(low) <= truth * (1 + 1e-13)
    assert float(high) >= truth * (1 - 1e-13)
    if place <= 12:
        assert high - low <= low / 10**12


def test_the_constant_brackets_the_square_root_of_two_pi():
    two_pi = 2 * Fraction("3.14159265358979323846264338327950288419716939937510582097494459230781")
    assert hockey_stick._SQRT_TWO_PI_DOWN**2 < two_pi < hockey_stick._SQRT_TWO_PI_UP**2


@pytest.mark.guarantee("mechanisms.hockey_stick")
@over("sigma", [0.4, 0.66, 1.0, 3.3, 20.0])
@over("epsilon", [Fraction(0), Fraction(1, 10), Fraction(1), Fraction(8)])
def test_delta_never_falls_when_the_shift_grows(sigma, epsilon):
    deltas = [delta_up(sigma, shift, epsilon) for shift in range(1, 16)]
    assert all(small <= large * (1 + Fraction(1, 10**25)) for small, large in itertools.pairwise(deltas))


@pytest.mark.parametrize(("sigma", "shift", "epsilon"), [*CASES, *WIDE])
def test_the_exact_sum_is_never_above_the_conversion_from_rho(sigma, shift, epsilon):
    rho = shift**2 / (2 * Fraction(sigma) ** 2)
    assert delta_up(sigma, shift, epsilon) <= delta_of(rho, epsilon) or epsilon == 0


@pytest.mark.parametrize(("sigma", "shift", "epsilon"), [(0.65, 1, 8.0), (2.0, 1, 1.0), (4.2, 1, 1.0), (10.0, 3, 0.5)])
def test_a_second_accountant_agrees_from_both_sides(sigma, shift, epsilon):
    above, below = (
        privacy_loss_distribution.from_discrete_gaussian_mechanism(
            sigma, shift, value_discretization_interval=1e-5, pessimistic_estimate=side
        ).get_delta_for_epsilon(epsilon)
        for side in (True, False)
    )
    ours = float(delta_up(sigma, shift, Fraction(epsilon)))
    assert below * (1 - 1e-9) <= ours <= above * (1 + 1e-9)
    assert above <= below * 1.01


@over("sigma", [2.0**-40, 2.0**-10, 0.05, 255.9, 1e6, 2.0**50])
@over("epsilon", [Fraction(0), Fraction(1, 10**30), Fraction(1), Fraction(10**7)])
@over("shift", [1, 1000, 2**70])
def test_extremes_give_a_probability_and_take_no_time(sigma, epsilon, shift):
    assert 0 <= delta_up(sigma, shift, epsilon) <= 1


def test_delta_is_not_monotone_in_sigma_so_no_sigma_vouches_for_a_larger_one():
    assert delta_up(0.65, 1, Fraction(8)) > delta_up(0.60, 1, Fraction(8))


@pytest.mark.parametrize("shift", [1, 7, 1000, 10**6])
@pytest.mark.parametrize(("epsilon", "delta"), [(8, 1e-6), (1, 1e-6), (Fraction(1, 100), 1e-9), (3, 0.3)])
def test_the_sigma_found_is_checked_and_a_slightly_smaller_one_fails(shift, epsilon, delta):
    epsilon, delta, proven = Fraction(epsilon), Fraction(delta), 1000.0 * shift
    sigma = least_sigma(shift, epsilon, delta, proven)
    assert delta_up(sigma, shift, epsilon) <= delta
    assert any(delta_up(sigma * (1 - k * 1e-5), shift, epsilon) > delta for k in range(1, 11))


def test_random_cases_are_never_below_the_truth():
    """Cases are drawn afresh on each run; the statement holds for all of them, so there is no false alarm."""
    for _ in range(12):
        sigma, shift = random.uniform(0.2, 12), random.randint(1, 12)  # noqa: S311 - chooses cases
        epsilon = Fraction(random.uniform(0, 6))  # noqa: S311 - chooses cases
        truth = brute_force(sigma, shift, epsilon)
        assert truth * (1 - Fraction(1, 10**60)) <= delta_up(sigma, shift, epsilon)
