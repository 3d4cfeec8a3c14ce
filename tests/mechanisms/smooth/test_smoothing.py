"""Smooth sensitivity is the exact maximum, smooth by exactly what beta allows, found with few questions."""

import random
from fractions import Fraction

import pytest

from discreet.errors import ParameterError
from discreet.exact.rounding import exp_down, exp_up
from discreet.mechanisms.smooth import BoundedMean, Median, SuppliedBounds
from discreet.mechanisms.smooth.smoothing import LEAST_BETA, _Search, smooth_sensitivity


class Sequence:
    """A_k from a function, with a count of how often it is asked for."""

    def __init__(self, at, largest, reach):
        self._at, self.largest, self.reach, self.asked = at, Fraction(largest), reach, 0

    def value(self):
        return Fraction(0)

    def at(self, distance):
        self.asked += 1
        return Fraction(self._at(min(distance, self.reach)))


def brute(local, beta):
    rate = beta * (1 - Fraction(1, 2**40))
    return max(exp_up(-rate * k) * local.at(k) for k in range(local.reach + 1))


@pytest.mark.guarantee("mechanisms.smooth.smoothing")
def test_the_maximum_is_the_exact_one_over_all_distances():
    chooser = random.Random(51)  # noqa: S311 - chooses cases, not noise
    for _ in range(60):
        steps = [chooser.choice([0, 0, 0, 1, 2, 50]) for _ in range(chooser.randint(1, 120))]
        table = [sum(steps[: k + 1]) for k in range(len(steps))]
        table[-1] = max(1, table[-1])
        local = Sequence(lambda k, table=table: table[k], table[-1], len(table) - 1)
        beta = Fraction(chooser.randint(1, 400), 200)
        assert smooth_sensitivity(local, beta) == brute(local, beta)


@pytest.mark.guarantee("mechanisms.smooth.smoothing")
def test_two_sequences_that_keep_the_contract_differ_by_at_most_e_to_the_beta():
    chooser = random.Random(52)  # noqa: S311 - chooses cases, not noise
    nearest = Fraction(0)
    for _ in range(40):
        one = sorted(chooser.choice([0, 1, 5, 1000]) for _ in range(30))
        # the widest and the narrowest neighbour that the contract allows
        wide, narrow = [*one[1:], 1000], [0, *one[:-1]]
        beta = Fraction(chooser.randint(1, 300), 100)
        sizes = [
            smooth_sensitivity(Sequence(lambda k, table=table: table[k] if k < 29 else 1000, 1000, 29), beta)
            for table in (narrow, one, wide)
        ]
        for smaller, larger in (sizes[:2], sizes[1:]):
            assert smaller <= larger <= exp_down(beta) * smaller
            nearest = max(nearest, larger / smaller / exp_down(beta))
    assert nearest > Fraction(999, 1000)


@pytest.mark.parametrize(
    "beta", [Fraction(1, 10**30), Fraction(1, 4000), Fraction(1, 7), Fraction(50), Fraction(9_000)]
)
def test_weights_never_grow_and_fall_by_at_most_e_to_the_beta(beta):
    search = _Search(SuppliedBounds(value=0, at=lambda k: k, largest=1), beta * (1 - Fraction(1, 2**40)))
    for k in (0, 1, 2, 10, 39_999, 10**6, 10**9):
        here, there = search.weight(k), search.weight(k + 1)
        assert 0 < there <= here
        assert here < exp_down(beta) * there
        assert here >= exp_down(-beta * k)


def test_few_distances_are_asked_where_there_are_a_million():
    local = Sequence(lambda k: k + 1, 10**6, 10**6 - 1)
    beta = Fraction(1, 4000)
    assert abs(smooth_sensitivity(local, beta) - 4000 * exp_up(Fraction(-1))) < 1
    assert local.asked < 2_000
    flat = Sequence(lambda k: 0 if k < 10**6 - 1 else 5, 5, 10**6 - 1)
    assert smooth_sensitivity(flat, beta) == pytest.approx(5 * exp_up(-beta * (10**6 - 1)), rel=1e-8)
    assert flat.asked < 200


def test_data_far_from_any_move_still_have_a_sensitivity_above_zero():
    median = Median([4] * 10**5, bounds=(0, 9))
    assert 0 < smooth_sensitivity(median, Fraction(1, 10)) <= 9 * exp_up(Fraction(-4_999))
    assert 0 < smooth_sensitivity(median, Fraction(10**9)) <= 9 * exp_up(Fraction(-9_999))


def test_the_mean_of_adult_ages_has_the_sensitivity_of_its_count():
    mean = BoundedMean(total=1_256_257, count=32_561, bounds=(0, 125))
    assert smooth_sensitivity(mean, Fraction(1, 100)) == Fraction(125, 32_561) * exp_up(Fraction(0))
    # far below 1/n the bound is that of data with no rows
    assert smooth_sensitivity(mean, Fraction(1, 10**7)) == pytest.approx(Fraction(125), rel=0.01)


def test_a_beta_too_small_for_the_weights_is_refused():
    local = Median([1], bounds=(0, 2))
    assert smooth_sensitivity(local, LEAST_BETA) > 0
    with pytest.raises(ParameterError, match="10"):
        smooth_sensitivity(local, LEAST_BETA / 2)
