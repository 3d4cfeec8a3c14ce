"""A trial is planned from public facts: its schedules, its events, and settings that are checked before data."""

import warnings
from fractions import Fraction

import numpy as np
import pytest

import discreet as dp
from discreet.errors import Failure, ParameterError, UnsupportedError
from discreet.learning.core.lattice import ONE
from discreet.learning.core.sums import LARGEST_CLIP
from discreet.learning.evaluation import trial
from discreet.learning.evaluation.holdout import KeyedSplit
from discreet.learning.evaluation.scores import MOST_CLASSES, MOST_ROWS, UNIT
from discreet.learning.sgd.model import NetworkModel
from discreet.learning.tables import encode_table
from discreet.learning.testing import noiseless
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
    table = plan.score(
        Still(), trial.read_rows(cells, estimator, FEATURES, KeyedSplit()).part(np.ones(40_000, dtype=np.bool_))
    )
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
    assert trial.spending_of(copy).epsilon == 2


@pytest.mark.parametrize(
    "arguments",
    [
        {"bins": 7},
        {"bins": 5000},
        {"max_rows": 10**6},
        {"largest_error": 2},
        {"confidence": 1},
    ],
)
def test_settings_outside_their_range_are_refused(arguments):
    settings = {"bins": 32, "max_rows": 1, "largest_error": 0.25, "confidence": 0.95} | arguments
    with pytest.raises(ParameterError):
        trial.scoring(**settings)


def table_of(count=60):
    values = np.random.default_rng(3).random((count, 2))
    return values, (values.sum(axis=1) > 1).astype(int)


EVALUATIONS = {
    "evaluate": dp.learning.evaluate,
    "cross_validate": dp.learning.cross_validate,
    "search": lambda model, *rows, **more: dp.learning.search(model, [{"size": 100}], *rows, **more),
}
every_evaluation = pytest.mark.parametrize("run", EVALUATIONS.values(), ids=EVALUATIONS)


@every_evaluation
@pytest.mark.parametrize("is_fitted", [False, True])
def test_a_variant_without_noise_is_refused_before_a_charge(run, is_fitted):
    budget, rows = account(), table_of()
    model = noiseless(classifier())
    model = model.fit(*rows) if is_fitted else model
    with pytest.raises(UnsupportedError, match="NOT PRIVATE"):
        run(model, *rows, budget=budget)
    assert budget.charges == 0


@every_evaluation
@pytest.mark.parametrize("is_fitted", [False, True])
def test_a_network_is_refused_before_a_charge(run, is_fitted):
    """Floats of a batch move with its size, so one person could move the scores of many others by a bin."""
    budget = account()
    model = dp.learning.TorchClassifier(
        features=FEATURES, classes=[0, 1], size=100, budget=budget, allow_float_gradients=True
    )
    if is_fitted:
        model.model_ = NetworkModel((), {}, (5, 5), 2)
    with pytest.raises(UnsupportedError, match="network"):
        run(model, *table_of())
    assert budget.charges == 0


@every_evaluation
def test_a_warning_after_the_charge_is_not_shown(run, monkeypatch, recwarn):
    def warn(*given):
        warnings.warn("a cell is 73.5193", stacklevel=1)
        _ = np.float64(1) / np.float64(0)
        return encode_table(*given)

    monkeypatch.setattr("discreet.learning.estimator.encode_table", warn)
    run(classifier(), *table_of())
    assert not recwarn.list


@every_evaluation
def test_a_warning_that_is_an_error_after_the_charge_is_one_sentence(run, monkeypatch):
    def fail(*_):
        raise RuntimeWarning("a cell is 73.5193")

    monkeypatch.setattr("discreet.learning.estimator.encode_table", fail)
    with pytest.raises(Failure) as caught:
        run(classifier(), *table_of())
    assert "73.5193" not in str(caught.value)


@every_evaluation
def test_more_classes_than_the_proof_covers_are_refused_before_a_charge(run):
    budget = account()
    with pytest.raises(ParameterError, match="4,097 classes"):
        run(classifier(range(MOST_CLASSES + 1)), *table_of(), budget=budget)
    assert budget.charges == 0


def test_the_most_classes_and_rows_keep_the_clip_within_its_bound():
    plan = plan_of(classifier(range(MOST_CLASSES)), trial.Scoring(bins=2, max_rows=MOST_ROWS))
    assert plan.score_schedule.sums[0].clip == LARGEST_CLIP


def test_shares_are_below_one():
    assert trial.share_of(0.2, "holdout") == Fraction(1, 5)
    with pytest.raises(ParameterError, match="holdout"):
        trial.share_of(1, "holdout")
