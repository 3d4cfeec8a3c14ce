"""A bound that is found on the way is not beyond the data and clips few; bounds that are guessed do worse."""

import itertools

import numpy as np
import pyarrow as pa
import pytest

import discreet as dp
from examples import clipping

BETA = 1e-13
EPSILON = 1
HIGHEST = 2**30


@pytest.fixture(scope="module")
def people():
    return dp.datasets.people(20_000, seed=3)


@pytest.fixture(scope="module")
def incomes(people):
    return np.array(people["income"].to_pylist())


def opened(protect, people):
    return protect(
        people,
        name="people",
        privacy_unit="person_id",
        max_rows=1,
        budget=dp.Budget(epsilon=EPSILON),
        ledger=":memory:",
    )


def test_candidates_go_up_by_a_quarter_and_reach_the_highest():
    bounds = clipping.candidates(HIGHEST)
    assert bounds[0] == 1
    assert bounds[-2] < HIGHEST <= bounds[-1]
    assert all(low * 5 / 4 < high <= low * 5 / 4 + 1 for low, high in itertools.pairwise(bounds))


def test_the_choice_is_as_near_to_the_target_as_the_theorem_says_and_the_mean_near_the_truth(people, incomes):
    """The choice is farther off with probability 1e-13; noise of count and mean is beyond 30 scales with 2e-13."""
    with opened(dp.protect, people) as session:
        found = clipping.clipped_mean(session, "people", "income", highest=HIGHEST, epsilon=EPSILON, beta=BETA)
    off = [abs(int((incomes < bound).sum()) - found.target) for bound in clipping.candidates(HIGHEST)]
    chosen = abs(int((incomes < found.chosen).sum()) - found.target)
    assert chosen <= min(off) + found.within
    below = int((incomes < found.chosen).sum())
    assert len(incomes) - 6 * found.within <= below < len(incomes)
    noise = 30 * 2 * found.bound / (0.7 * EPSILON * len(incomes))
    assert abs(found.mean - np.minimum(incomes, found.bound).mean()) <= noise
    assert abs(found.mean / incomes.mean() - 1) <= 0.03


def test_a_narrow_guess_is_bent_and_a_wide_one_drowns(people, incomes):
    """Without noise and by public margins: neither statement depends on chance."""
    with opened(dp.testing.protect, people) as session:
        narrow = clipping.fixed_mean(session, "people", "income", bound=2**14, epsilon=EPSILON / 2)
    assert narrow / incomes.mean() < 0.4
    wide = dp.mechanisms.Laplace(sensitivity=HIGHEST, epsilon=EPSILON).margin(0.5)
    assert wide / len(incomes) > 0.5 * incomes.mean()


def test_three_answers_spend_epsilon(people):
    with opened(dp.protect, people) as session:
        clipping.clipped_mean(session, "people", "income", highest=HIGHEST, epsilon=EPSILON)
        assert session.remaining().epsilon == 0


def test_a_share_that_leaves_fewer_people_out_than_can_be_told_chooses_bounds_beyond_the_data(people, incomes):
    """The mistake that the module warns of, by exact probabilities: 99.9% of 20,000 at epsilon 0.02."""
    bounds = clipping.candidates(HIGHEST)
    below = [int((incomes < bound).sum()) for bound in bounds]
    chances = {}
    for target in (19_980, 20_000 - 3 * 1_100):
        mechanism = dp.mechanisms.PermuteAndFlip(sensitivity=1, epsilon=0.02)
        pmf = mechanism.pmf([-abs(count - target) for count in below])
        chances[target] = sum(chance for chance, count in zip(pmf, below, strict=True) if count == len(incomes))
    assert chances[19_980] > 0.8
    assert chances[16_700] < 0.01


def test_missing_values_do_not_move_the_target_beyond_the_data(incomes):
    """A bound beyond the data would be chosen with probability at most 1e-13."""
    known = np.arange(len(incomes)) % 3 > 0
    column = pa.array(incomes, mask=~known)
    with opened(dp.protect, pa.table({"person_id": range(len(incomes)), "income": column})) as session:
        found = clipping.clipped_mean(session, "people", "income", highest=HIGHEST, epsilon=EPSILON, beta=BETA)
    assert int((incomes[known] < found.chosen).sum()) < known.sum()


def test_the_account_is_short(capsys):
    clipping.main()
    assert len(capsys.readouterr().out.splitlines()) == 4
