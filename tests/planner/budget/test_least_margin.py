"""Of the noises that cost the same, each integer gets the one with the smallest 95% margin."""

from fractions import Fraction

import pytest

from discreet.accounting.filters import Budget
from discreet.accounting.renyi import divergence_over_order
from discreet.errors import ParameterError
from discreet.exact.zcdp import conversion_order
from discreet.mechanisms import Gaussian, Laplace, Staircase
from discreet.planner.budget.least_margin import PURE, UNDER_DELTA, calibrate, least_margin
from discreet.planner.sensitivity.sensitivity import Sensitivity
from discreet.release.result import DEFAULT_CONFIDENCE

MIXED = Budget(epsilon=1, delta=1e-6)
ONE = Sensitivity(1, 1, 1, 1)
SENSITIVITIES = [
    ONE,
    Sensitivity(1, 10, 100, 10),
    Sensitivity(5, 5, 5, 1),
    Sensitivity(20, 20, 20, 1),
    Sensitivity(3, 300, 30_000, 100),
]


def asked(epsilon, budget=MIXED):
    epsilon = Fraction(str(epsilon))
    return budget.rho(epsilon), (budget.order, conversion_order(epsilon, budget.conversion_delta))


@pytest.mark.guarantee("planner.budget.least_margin")
@pytest.mark.parametrize("moved", SENSITIVITIES, ids=str)
@pytest.mark.parametrize("epsilon", [1, 0.7, 0.5, 0.1, 0.01])
@pytest.mark.parametrize("kind", UNDER_DELTA, ids=lambda kind: kind.tag)
def test_every_kind_costs_what_was_asked_for_at_both_orders(kind, epsilon, moved):
    amount, orders = asked(epsilon)
    noise = calibrate(kind, moved, amount, orders)
    assert noise.covers(moved)
    costs = [divergence_over_order(noise.event(), order) for order in orders]
    assert 0.999 * amount <= max(costs) <= amount


@pytest.mark.parametrize("moved", SENSITIVITIES, ids=str)
@pytest.mark.parametrize("epsilon", [10, 5, 2, 1, 0.7, 0.5, 0.1, 0.01])
@pytest.mark.parametrize("budget", [MIXED, Budget(epsilon=10, delta=1e-9)], ids=str)
def test_no_candidate_has_a_smaller_margin(budget, epsilon, moved):
    amount, orders = asked(epsilon, budget)
    chosen = least_margin(UNDER_DELTA, moved, amount, orders).margin(DEFAULT_CONFIDENCE)
    assert chosen == min(calibrate(kind, moved, amount, orders).margin(DEFAULT_CONFIDENCE) for kind in UNDER_DELTA)


@pytest.mark.parametrize("moved", SENSITIVITIES, ids=str)
@pytest.mark.parametrize("epsilon", [Fraction(1, 10), 1, 2, 6, 20])
def test_for_a_pure_epsilon_it_is_laplace_noise_or_above_one_for_each_coordinate_staircase_noise(epsilon, moved):
    chosen = least_margin(PURE, moved, Fraction(epsilon), ()).margin(DEFAULT_CONFIDENCE)
    kinds = PURE if epsilon > moved.l0 else (Laplace,)
    assert chosen == min(kind.calibrate(moved, Fraction(epsilon)).margin(DEFAULT_CONFIDENCE) for kind in kinds)


@pytest.mark.parametrize(
    ("epsilon", "moved", "kind"),
    [
        (1, ONE, Laplace),
        (0.1, ONE, Gaussian),
        (1, Sensitivity(20, 20, 20, 1), Gaussian),
        (1, Sensitivity(1, 100, 10_000, 100), Laplace),
    ],
)
def test_few_questions_have_laplace_noise_and_many_have_gaussian_noise(epsilon, moved, kind):
    amount, orders = asked(epsilon)
    assert type(least_margin(UNDER_DELTA, moved, amount, orders)) is kind


def test_a_large_sensitivity_at_a_large_epsilon_has_staircase_noise():
    moved = Sensitivity(1, 1_000, 10**6, 1_000)
    amount, orders = asked(10, Budget(epsilon=10, delta=1e-6))
    assert type(least_margin(UNDER_DELTA, moved, amount, orders)) is Staircase
    assert type(least_margin(PURE, moved, Fraction(6), ())) is Staircase


def test_of_equal_margins_the_first_kind_is_taken():
    amount, orders = asked(0.5)
    equal = [calibrate(kind, ONE, amount, orders).margin(DEFAULT_CONFIDENCE) for kind in (Gaussian, Laplace)]
    assert equal[0] == equal[1]
    for kinds in ((Gaussian, Laplace), (Laplace, Gaussian)):
        assert type(least_margin(kinds, ONE, amount, orders)) is kinds[0]


@pytest.mark.pitfall("D")
def test_noise_that_cannot_be_drawn_is_refused_and_beside_another_left_out():
    huge = Sensitivity(1, 2**60, 2**120, 2**60)
    for kinds, amount, orders in ((UNDER_DELTA, *asked(0.1)), (PURE, Fraction(1, 10), ())):
        with pytest.raises(ParameterError):
            least_margin(kinds, huge, amount, orders)
    wide = Sensitivity(2**40, 2**49, 2**58, 2**9)
    amount, orders = Fraction(3, 10), (Fraction(2),)
    with pytest.raises(ParameterError):
        calibrate(Laplace, wide, amount / 10**4, orders)
    assert type(least_margin((Gaussian, Laplace), wide, amount / 10**4, orders)) is Gaussian
