"""The state of a model is plain data, whether a file or a release holds it."""

from fractions import Fraction

import numpy as np
import pytest

import discreet as dp
from discreet.learning.core.saved_state import plain_value, saved_state


@pytest.mark.parametrize(
    "odd", [float("nan"), float("-inf"), 10**400, "\ud800", ["a", {"b"}], {"a": 1}, type("s", (str,), {})()]
)
def test_a_value_that_no_file_holds_is_refused_before_the_charge(odd):
    with pytest.raises(dp.Refusal, match="plain values"):
        plain_value(odd)


def test_an_argument_of_plain_values_becomes_the_types_of_json():
    assert plain_value((np.int64(1), [2.0, "a", None])) == [1, [2.0, "a", None]]
    assert plain_value([Fraction(1, 2), Fraction(3), np.float64(2), np.array([1, 2])]) == [0.5, 3, 2.0, [1, 2]]
    with pytest.raises(dp.errors.ParameterError, match="object"):
        plain_value(object())


def test_the_state_of_a_model_has_its_arguments_without_the_account_and_its_epsilon():
    account = dp.learning.BudgetAccount(dp.Budget(epsilon=1, delta=1e-5))
    features = {"age": dp.learning.linear_bins(0, 9, 3)}
    model = dp.learning.NaiveBayes(features=features, classes=[0, 1], budget=account).fit([[1], [8]], [0, 1])
    state = saved_state(model, features, model.event_, model.model_, has_names=True)
    assert sorted(state) == ["estimator", "event", "features", "format", "has_names", "model", "parameters"]
    assert sorted(state["parameters"]) == ["classes", "neighbours", "size", "smoothing"]
