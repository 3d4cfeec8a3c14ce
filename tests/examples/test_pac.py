"""The rule that is learned is within alpha of the best in at least 1 - beta of runs: samples drawn, choices exact."""

import itertools
import math

import numpy as np
import pytest

import discreet as dp
from examples import pac

ALPHA, BETA = 0.1, 0.1
THRESHOLDS = list(range(0, 101, 5))
SAMPLES = 60
WRONG = 0.2


def drawn(rng, size):
    """Values below 100; yes from 40 on, with a fifth of labels wrong: the error of a threshold is known."""
    values = rng.integers(0, 100, size)
    return values, (values >= 40) ^ (rng.random(size) < WRONG)


def excess(threshold):
    """How much a threshold's true error is above the best one's."""
    return (1 - 2 * WRONG) * abs(threshold - 40) / 100


def errors(values, labels):
    return [int(((values >= threshold) != labels).sum()) for threshold in THRESHOLDS]


def failing(chances):
    return math.fsum(chance for chance, rule in zip(chances, THRESHOLDS, strict=True) if excess(rule) > ALPHA)


@pytest.mark.parametrize("epsilon", [0.02, 0.5])
def test_the_excess_error_is_at_most_alpha_in_at_least_1_minus_beta_of_runs(epsilon):
    """The samples are those of a seed, what is chosen from each is an exact distribution: nothing fails by chance."""
    size = pac.sample_size(len(THRESHOLDS), alpha=ALPHA, beta=BETA, epsilon=epsilon)
    mechanism = dp.mechanisms.PermuteAndFlip(sensitivity=1, epsilon=epsilon)
    rng, fails = dp.testing.generator(7), []
    for _ in range(SAMPLES):
        counted = errors(*drawn(rng, size))
        chances = mechanism.pmf([-count for count in counted])
        fails.append(failing(chances))
        beyond = [
            chance for chance, count in zip(chances, counted, strict=True) if count > min(counted) + ALPHA * size / 2
        ]
        assert math.fsum(beyond) <= BETA / 2
    assert np.mean(fails) <= BETA


def test_with_a_hundredth_of_the_examples_it_is_not():
    """The sample size says something: far below it, the choice is close to any."""
    size = pac.sample_size(len(THRESHOLDS), alpha=ALPHA, beta=BETA, epsilon=0.02) // 100
    mechanism = dp.mechanisms.PermuteAndFlip(sensitivity=1, epsilon=0.02)
    rng = dp.testing.generator(7)
    fails = [failing(mechanism.pmf([-count for count in errors(*drawn(rng, size))])) for _ in range(SAMPLES)]
    assert np.mean(fails) > BETA


def test_the_size_is_of_order_log_class_over_alpha_squared_and_over_alpha_epsilon():
    large = pac.sample_size(1_000, alpha=0.01, beta=0.05, epsilon=1)
    assert large == math.ceil(8 * math.log(80_000) / 0.01**2)
    assert pac.sample_size(1_000, alpha=0.02, beta=0.05, epsilon=1) == pytest.approx(large / 4, rel=1e-3)
    private = pac.sample_size(1_000, alpha=0.1, beta=0.05, epsilon=0.001)
    assert private == math.ceil(4 * math.log(40_000) / (0.1 * 0.001))


def test_what_the_engine_scores_is_minus_the_errors_but_for_a_constant(monkeypatch):
    monkeypatch.setattr(dp, "protect", dp.testing.protect)
    for seed in range(3):
        values, labels = drawn(dp.testing.generator(seed), 300)
        learned = pac.learn_threshold(values.tolist(), labels.tolist(), THRESHOLDS, 1)
        counted = errors(values, labels)
        assert counted[THRESHOLDS.index(learned)] == min(counted)


def test_a_session_learns_a_threshold_within_alpha():
    """It fails with probability at most 1e-6."""
    size = pac.sample_size(len(THRESHOLDS), alpha=ALPHA, beta=1e-6, epsilon=0.5)
    values, labels = drawn(np.random.default_rng(), size)
    learned = pac.learn_threshold(values.tolist(), labels.tolist(), THRESHOLDS, 0.5)
    assert excess(learned) <= ALPHA


def test_a_conjunction_is_learned_within_alpha():
    """It fails with probability at most 1e-6; attributes are fair coins, so true errors are counted out."""
    rules = pac.conjunctions(4)
    target = pac.Conjunction((True, None, False, None))
    size = pac.sample_size(len(rules), alpha=ALPHA, beta=1e-6, epsilon=0.5)
    rng = np.random.default_rng()
    attributes = [tuple(row) for row in (rng.random((size, 4)) < 0.5).tolist()]
    examples = [
        (has, target(has) ^ wrong) for has, wrong in zip(attributes, (rng.random(size) < WRONG).tolist(), strict=True)
    ]
    learned = pac.learn_conjunction(examples, rules, 0.5)
    differ = sum(learned(has) != target(has) for has in itertools.product((True, False), repeat=4)) / 16
    assert (1 - 2 * WRONG) * differ <= ALPHA


def test_there_are_three_to_the_d_conjunctions_and_each_says_yes_as_it_says():
    rules = pac.conjunctions(3)
    assert len(set(rules)) == 27
    assert pac.Conjunction((None, None, None))((False, True, False))
    assert not pac.Conjunction((True, None, None))((False, True, False))


def test_the_account_is_short(capsys):
    pac.main()
    assert len(capsys.readouterr().out.splitlines()) == 2
