"""The scaler as a transformer, and from moments that a session released."""

import numpy as np
import pytest
from sklearn.pipeline import make_pipeline

import discreet as dp
from discreet.errors import BudgetError, ParameterError
from discreet.learning.linear.scale_learner import ScaleModel
from learning.checks import unexpected

FEATURES = {"hours_per_week": dp.learning.linear_bins(0, 100, 1_000)}
PEOPLE = dp.datasets.people(10_000)
HOURS = PEOPLE.select(["hours_per_week"])


def account(epsilon=1):
    return dp.learning.BudgetAccount(dp.Budget(epsilon=epsilon, delta=1e-6))


def test_the_checks_of_scikit_learn_pass():
    assert unexpected(dp.learning.StandardScaler()) == []


def test_a_scaled_column_has_mean_zero_and_deviation_one():
    scaled = dp.learning.StandardScaler(features=FEATURES, budget=account()).fit_transform(HOURS)
    assert abs(scaled.mean()) < 0.1
    assert abs(scaled.std() - 1) < 0.1


def test_mean_and_scale_are_what_a_column_is_scaled_by():
    scaler = dp.learning.StandardScaler(features=FEATURES, budget=account())
    assert not hasattr(scaler, "mean_")
    scaled = scaler.fit(HOURS).transform(HOURS)
    hours = HOURS["hours_per_week"].to_numpy()
    assert scaled[:, 0] == pytest.approx((hours - scaler.mean_) / scaler.scale_)
    assert scaler.mean_ == pytest.approx(hours.mean(), abs=1)
    flat = scaler.adopt(ScaleModel(np.zeros(1), np.zeros(1)), FEATURES, scaler.event_, scaler.guarantee_)
    assert flat.scale_.tolist() == [1.0]


def test_a_fit_is_charged_once_and_is_saved_without_rows(tmp_path):
    scaler = dp.learning.StandardScaler(features=FEATURES, budget=account()).fit(HOURS)
    scaler.save(tmp_path / "scaler.json")
    assert np.array_equal(dp.learning.load(tmp_path / "scaler.json").transform(HOURS), scaler.transform(HOURS))
    with pytest.raises(BudgetError):
        scaler.fit(HOURS)


def test_columns_without_equal_bins_are_refused_before_a_charge():
    spent = account()
    with pytest.raises(ParameterError):
        dp.learning.StandardScaler(features={"hours_per_week": dp.learning.log_bins(0, 100)}, budget=spent).fit(HOURS)
    assert spent.charges == 0


def test_a_pipeline_scales_then_fits_and_both_are_charged():
    shared = account(2)
    pipeline = make_pipeline(
        dp.learning.StandardScaler(features=FEATURES, budget=shared, epsilon=0.5),
        dp.learning.Ridge(
            features=dp.learning.linear_bins(-4, 4), target_bounds=(0, 200_000), budget=shared, epsilon=0.5
        ),
    )
    pipeline.fit(HOURS, PEOPLE["income"])
    assert shared.charges == 2


def test_moments_that_were_released_scale_their_columns():
    query = dp.table("people").moments("hours_per_week", bounds={"hours_per_week": (0, 100)}, products="squares")
    budget = dp.Budget(epsilon=3, delta=1e-9)
    with dp.testing.protect(PEOPLE, name="people", privacy_unit=dp.ROW, budget=budget) as session:
        scaler = dp.learning.StandardScaler.from_moments(session.release(query, epsilon=1))
    scaled = scaler.transform(HOURS)
    assert abs(scaled.mean()) < 0.01
    assert abs(scaled.std() - 1) < 0.01


def test_a_session_fits_a_scaler_without_a_target():
    budget = dp.Budget(epsilon=2, delta=1e-9)
    bounds = {"hours_per_week": (0, 100), "income": (0, 200_000)}
    rows = PEOPLE.select(["person_id", *bounds])
    facts = {"name": "people", "privacy_unit": "person_id", "max_rows": 1, "population": 20_000, "bounds": bounds}
    with dp.testing.protect(rows, budget=budget, **facts) as session:
        query = dp.table("people").fit(dp.learning.StandardScaler())
        assert "income" in str(session.explain(query, epsilon=1))
        scaler = session.release(query, epsilon=1)
    assert list(scaler.features_) == list(bounds)
    assert abs(scaler.transform(rows.select(list(bounds))).mean(axis=0)).max() < 0.2
    assert scaler.release.target is None
    assert "StandardScaler of" not in str(scaler.release)


def test_a_scaler_with_a_target_and_a_model_without_one_are_refused():
    with pytest.raises(dp.errors.ParameterError, match=r"predicts nothing\n.*StandardScaler\(\)"):
        dp.table("people").fit(dp.learning.StandardScaler(), target="income")
    with pytest.raises(dp.errors.ParameterError, match=r"LogisticRegression without a target\n.*\n.*target="):
        dp.table("people").fit(dp.learning.LogisticRegression())
