"""Nobody gains by ignoring advice, the board costs what it should, and a taste moves nothing but its own driver."""

import itertools
import math

import numpy as np
import pytest

import discreet as dp
from examples import equilibrium

BUDGET = dp.Budget(epsilon=1, delta=1e-9)
BETA = 1e-6


def tastes_of(drivers, seed=0):
    return dp.testing.generator(seed).random((drivers, 2))


@pytest.mark.parametrize(("drivers", "rounds"), [(2_000, 40), (5_000, 120)])
def test_nobody_gains_more_than_the_theorem_says_by_any_rule_for_swapping(drivers, rounds):
    """Noise beyond the margin, without which nothing can fail, has probability at most 1e-6."""
    tastes = tastes_of(drivers)
    played = equilibrium.play(tastes, budget=BUDGET, rounds=rounds, beta=BETA)
    bound = equilibrium.bound(drivers, budget=BUDGET, rounds=rounds, beta=BETA)
    assert equilibrium.gains(tastes, played).max() <= bound < 0.65


def test_the_bound_is_needed_where_everybody_prefers_the_road_that_fills():
    """Drivers who all want road 0 swing between both, and learn: the gain is above zero and within the bound."""
    tastes = np.column_stack([np.zeros(500), np.full(500, 0.3)])
    played = equilibrium.play(tastes, budget=BUDGET, rounds=30, beta=BETA)
    gain = equilibrium.gains(tastes, played).max()
    assert 0 < gain <= equilibrium.bound(500, budget=BUDGET, rounds=30, beta=BETA)


def test_the_bound_falls_with_more_drivers_and_with_more_rounds_until_noise_takes_over():
    few, many = (equilibrium.bound(n, budget=BUDGET, rounds=100, beta=BETA) for n in (1_000, 100_000))
    short, long = (equilibrium.bound(10**6, budget=BUDGET, rounds=t, beta=BETA) for t in (50, 500))
    assert many < few
    assert long < short
    assert equilibrium.bound(10**9, budget=BUDGET, rounds=400, beta=BETA) == pytest.approx(
        2 * math.sqrt(math.log(2) / 800), rel=1e-3
    )


def test_gains_are_those_of_the_joint_distribution_counted_out():
    """Every profile of three drivers, with its probability, under advice followed and under advice swapped."""
    drivers, tastes = 3, tastes_of(3, seed=1)
    played = equilibrium.play(tastes, budget=dp.Budget(epsilon=5, delta=1e-9), rounds=4)
    expected = np.zeros((drivers, 3))
    for chances in played.chances / equilibrium.STEPS:
        for profile in itertools.product((0, 1), repeat=drivers):
            weight = math.prod(p if road == 0 else 1 - p for p, road in zip(chances, profile, strict=True))
            for driver, swap in itertools.product(range(drivers), range(3)):
                other = ({0: 1, 1: 1}, {0: 0, 1: 0}, {0: 1, 1: 0})[swap][profile[driver]]
                gain = cost(tastes, profile, driver, profile[driver]) - cost(tastes, profile, driver, other)
                expected[driver, swap] += weight * gain / len(played.chances)
    assert equilibrium.gains(tastes, played) == pytest.approx(expected, abs=1e-12)


def cost(tastes, profile, driver, road):
    others = sum(taken == road for place, taken in enumerate(profile) if place != driver)
    return (others / len(profile) + tastes[driver, road]) / 2


def test_all_rounds_together_spend_the_budget_and_no_more():
    for rounds in (1, 30, 200):
        events = dp.events.RepeatedEvent(equilibrium.noise(BUDGET, rounds).event(), rounds)
        spent = dp.accounting.concentrated.epsilon(events, delta=BUDGET.conversion_delta)
        assert 0.999 < spent <= BUDGET.epsilon


def test_replacing_one_taste_moves_no_sum_by_more_than_one_whatever_the_board_said():
    """The sensitivity that the noise is made for: the board of one play is shown to a neighbour of its drivers."""
    tastes = tastes_of(50, seed=2)
    played = equilibrium.play(tastes, budget=BUDGET, rounds=60)
    other = tastes.copy()
    other[0] = [1.0, 0.0]
    rate, leads = 0.3, [np.zeros(50), np.zeros(50)]
    for told in played.board:
        chances = [equilibrium.following(lead, rate) for lead in leads]
        assert abs(int(chances[0].sum()) - int(chances[1].sum())) <= equilibrium.STEPS
        assert (chances[0][1:] == chances[1][1:]).all()
        leads = [
            lead + equilibrium.difference(taste, chance, float(told))
            for lead, taste, chance in zip(leads, (tastes, other), chances, strict=True)
        ]
    assert not np.array_equal(*[equilibrium.following(lead, rate) for lead in leads])


def test_advice_follows_the_chances():
    """Each is told road 0 with certainty where the chance is one; the draw of a round is common to all."""
    chances = np.array([[equilibrium.STEPS] * 4, [0] * 4])
    told = {tuple(equilibrium.Play(chances, ()).advice()) for _ in range(60)}
    assert told == {(0, 0, 0, 0), (1, 1, 1, 1)}  # one of them is missing with probability 2^-59


def test_the_account_is_short(capsys):
    equilibrium.main()
    assert len(capsys.readouterr().out.splitlines()) == 3
