"""A trial is planned from public facts: its schedules, its events, and settings that are checked before data."""

from fractions import Fraction

import numpy as np
import pytest

import discreet as dp
from discreet.errors import ParameterError
from discreet.learning.core.lattice import ONE
from discreet.learning.evaluation import trial
from discreet.learning.evaluation.holdout import KeyedSplit
from discreet.learning.evaluation.scores import UNIT
from learning.tiny import SlotClassifier, SlotRegressor

FEATURES = {"a": dp.learning.linear_bins(0, 1, 4), "b": dp.learning.linear_bins(0, 1, 4)}
RHOS = Fraction(1, 50), Fraction(1, 80)


def account(epsilon=1):
    return dp.learning.BudgetAccount(dp.Budget(epsilon=epsilon, delta=1e-5))


def classifier(labels=(0, 1), **more):
    return SlotClassifier(features=FEATURES, classes=list(labels), size=100, budget=account(), **more)


def plan_of(estimator, how=None):
    cells = trial.open_rows(estimator, np.zeros((5, 2)), np.zeros(5), None)
    return trial.trial(estimator, cells, how or trial.Scoring(), RHOS)


@pytest.mark.parametrize(("labels", "cells", "square"), [((0, 1), 64, 1), ((0, 1, 2), 192, 3)])
def test_the_score_of_a_classifier_is_one_noisy_histogram(labels, cells, square):
    plan = plan_of(classifier(labels))
    (planned,) = plan.score_schedule.sums
    assert planned.noise.dimension == cells
    assert (planned.clip - 1) ** 2 < square * UNIT**2 <= planned.clip**2
    assert 0 < RHOS[1] - plan.score_schedule.rho < RHOS[1] / 1000
    assert plan.score_event == plan.score_schedule.event


def test_the_score_of_a_regressor_is_a_count_and_a_sum():
    estimator = SlotRegressor(features=FEATURES, target_bounds=(0, 8), size=100, budget=account())
    plan = plan_of(estimator, trial.Scoring(largest_error=Fraction(1, 2)))
    assert plan.score_schedule.sums[0].noise.dimension == 2

    class Still:
        def scores(self, codes):
            return np.full((len(codes), 1), ONE)

    cells = trial.open_rows(estimator, np.zeros((40_000, 2)), np.full(40_000, 6.0), None)
    table = plan.score(Still(), cells.read(estimator, FEATURES, KeyedSplit()).part(np.ones(40_000, dtype=np.bool_)))
    assert table.largest == 4
    assert table.mean_squared_error.value == pytest.approx(4, abs=0.1)  # noise of about 0.005 times 16


def test_replaced_people_have_twice_the_sensitivity():
    plan = plan_of(classifier(neighbours="replace_one"))
    (planned,) = plan.score_schedule.sums
    assert planned.noise.squared_sensitivity == 4 * planned.clip**2


def test_a_copy_with_another_account_leaves_the_model_alone():
    model, other = classifier(), account(3)
    copy = trial.prepare(model, other, 2)
    assert (copy.budget, copy.epsilon, model.epsilon) == (other, 2, None)
    assert model.budget is not other
    assert trial.prepare(model, None, None).budget is model.budget
    assert trial.is_private(copy)
    assert trial.spending_of(copy).epsilon == 2


@pytest.mark.parametrize(
    "arguments",
    [
        {"bins": 7},
        {"bins": 5000},
        {"rows": 10**6},
        {"largest_error": 2},
        {"confidence": 1},
    ],
)
def test_settings_outside_their_range_are_refused(arguments):
    settings = {"bins": 32, "rows": 1, "largest_error": 0.25, "confidence": 0.95} | arguments
    with pytest.raises(ParameterError):
        trial.scoring(**settings)


def test_shares_are_below_one():
    assert trial.share_of(0.2, "holdout") == Fraction(1, 5)
    with pytest.raises(ParameterError, match="holdout"):
        trial.share_of(1, "holdout")
