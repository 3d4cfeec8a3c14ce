"""Ridge regression as an estimator, and from the moments that a session released."""

import numpy as np
import pandas as pd
import pytest

import discreet as dp
from discreet.errors import BudgetError, ParameterError, UnknownCallError

BOUNDS = {"education_years": (0, 22), "hours_per_week": (0, 100), "income": (0, 200_000)}
PEOPLE = dp.datasets.people(3_000)
FEATURES = {"x": dp.learning.linear_bins(-1, 1, 64), "kind": dp.learning.categories(["a", "b"])}


def released(products="all"):
    query = dp.table("people").moments(*BOUNDS, bounds=BOUNDS, products=products)
    budget = dp.Budget(epsilon=3, delta=1e-9)
    with dp.testing.protect(PEOPLE, name="people", privacy_unit=dp.ROW, budget=budget) as session:
        return session.release(query, epsilon=1)


def account(epsilon=1):
    return dp.learning.BudgetAccount(dp.Budget(epsilon=epsilon, delta=1e-6))


def table(count, generator):
    x, kind = generator.uniform(-1, 1, count), generator.integers(0, 2, count)
    frame = {"x": x, "kind": np.array(["a", "b"])[kind]}
    return pd.DataFrame(frame), 10 * x + 5 * kind


def test_a_line_and_a_category_are_learned_with_noise():
    frame, target = table(20_000, np.random.default_rng(1))
    model = dp.learning.Ridge(features=FEATURES, target_bounds=(-20, 20), budget=account())
    predicted = model.fit(frame, target).predict(frame)
    assert 1 - np.mean((predicted - target) ** 2) / target.var() > 0.9


def test_slopes_and_intercept_of_moments_are_in_the_units_of_the_columns():
    model = dp.learning.Ridge.from_moments(released(), target="income")
    rows = np.array([[0, 0], [11, 0], [11, 50], [22, 100]])
    assert rows @ model.coef_ + model.intercept_ == pytest.approx(model.predict(rows), abs=200)
    assert model.coef_ == pytest.approx([5_000, 600], rel=0.5)


def test_slopes_and_intercept_predict_as_the_model_at_the_middles_of_bins():
    bins = {"x": dp.learning.linear_bins(-1, 3, 16), "z": dp.learning.linear_bins(10, 20, 3)}
    model = dp.learning.Ridge(features=bins, target_bounds=(-5, 25), budget=account())
    rows = np.random.default_rng(5).uniform((-1, 10), (3, 20), (5_000, 2))
    model.fit(pd.DataFrame(rows, columns=list(bins)), 3 * rows[:, 0] - rows[:, 1] + 20)
    middles = pd.DataFrame({"x": [-0.875, 0.125, 2.875], "z": [10 + 5 / 3, 15.0, 20 - 5 / 3]})
    assert middles.to_numpy() @ model.coef_ + model.intercept_ == pytest.approx(model.predict(middles), abs=0.05)


def test_a_category_has_no_slope_and_the_advice_works():
    frame, target = table(50, np.random.default_rng(2))
    model = dp.learning.Ridge(features=FEATURES, target_bounds=(-20, 20), budget=account())
    assert not hasattr(model, "coef_")
    model.fit(frame, target)
    assert not hasattr(model, "intercept_")
    with pytest.raises(UnknownCallError, match=r"instead  model\.model_\.coefficients\(\)"):
        _ = model.coef_
    assert set(model.model_.coefficients()["kind"]) == {"missing", "a", "b"}


def test_more_features_than_the_clip_allows_are_refused_before_a_charge():
    spent, bins = account(), dp.learning.linear_bins(-1, 1, 2)
    model = dp.learning.Ridge(features=bins, target_bounds=(-1, 1), budget=spent)
    with pytest.raises(ParameterError, match="359 for Ridge"):
        model.fit(np.zeros((3, 360)), np.zeros(3))
    assert spent.charges == 0
    model.fit(np.zeros((3, 359)), np.zeros(3))
    assert spent.charges == 1


def test_a_fit_is_charged_once_and_a_spent_account_refuses_the_next():
    frame, target = table(50, np.random.default_rng(2))
    model = dp.learning.Ridge(features=FEATURES, target_bounds=(-20, 20), budget=account())
    model.fit(frame, target)
    with pytest.raises(BudgetError):
        model.fit(frame, target)


def test_people_with_many_rows_count_as_one():
    frame, target = table(200, np.random.default_rng(3))
    model = dp.learning.Ridge(features=FEATURES, target_bounds=(-20, 20), budget=account(), neighbours="replace_one")
    model.fit(frame, target, groups=np.arange(200) // 7)
    assert np.isfinite(model.predict(frame)).all()


def test_a_saved_model_predicts_the_same(tmp_path):
    frame, target = table(500, np.random.default_rng(4))
    model = dp.learning.Ridge(features=FEATURES, target_bounds=(-20, 20), budget=account(), alpha=2)
    model.fit(frame, target).save(tmp_path / "model.json")
    assert np.array_equal(dp.learning.load(tmp_path / "model.json").predict(frame), model.predict(frame))


@pytest.mark.parametrize("words", [{"target_bounds": None}, {"alpha": -1}, {"features": None}])
def test_what_is_not_declared_is_refused_before_a_charge(words):
    frame, target = table(20, np.random.default_rng(5))
    given = {"features": FEATURES, "target_bounds": (-20, 20), "budget": account()} | words
    with pytest.raises(ParameterError):
        dp.learning.Ridge(**given).fit(frame, target)
    assert given["budget"].charges == 0


def test_one_release_of_moments_serves_several_regressions(tmp_path):
    release = released()
    income = dp.learning.Ridge.from_moments(release, target="income")
    hours = dp.learning.Ridge.from_moments(release, target="hours_per_week", features=["education_years"])
    assert income.guarantee_ == hours.guarantee_ == release.guarantee
    columns = ["education_years", "hours_per_week"]
    rows = np.column_stack([PEOPLE[name].to_numpy() for name in columns]).astype(float)
    plain = np.linalg.lstsq(np.column_stack([np.ones(len(rows)), rows]), PEOPLE["income"].to_numpy(), rcond=None)[0]
    predicted = income.predict(PEOPLE.select(columns))
    exact = np.column_stack([np.ones(len(rows)), rows]) @ plain
    assert np.corrcoef(predicted, exact)[0, 1] > 0.95
    income.save(tmp_path / "income.json")
    assert np.array_equal(dp.learning.load(tmp_path / "income.json").predict(PEOPLE.select(columns)), predicted)


def test_moments_without_the_products_are_refused():
    with pytest.raises(ParameterError, match="squares"):
        dp.learning.Ridge.from_moments(released("squares"), target="income")
    with pytest.raises(ParameterError):
        dp.learning.Ridge.from_moments(released(), target="income", features=["income"])
