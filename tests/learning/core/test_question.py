"""An estimator becomes a training of a session from public facts, and encodes each row by itself."""

from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest

import discreet as dp
from discreet.catalog.catalog import Column
from discreet.learning.core.question import training_of
from discreet.learning.linear.scale_learner import outer_bounds
from discreet.plan.models import ModelFacts
from trainable import CountEstimator, CountModel

AGE, SEX = Column(type="integer", bounds=(0, 90)), Column(type="text", keys=["F", "M", None])
INCOME = Column(type="text", keys=["no", "yes"])


def facts(**changes):
    known = {"target": "income", "columns": {"age": AGE, "sex": SEX}, "target_column": INCOME}
    rest = {"has_feature_list": False, "size": 100, "rho": Fraction(1, 50), "replace_one": False}
    return ModelFacts(**known | rest | changes)


ROWS = pa.table(
    {
        "age": pa.array([5, None, 80, 91, -3], pa.int64()),
        "sex": pa.array(["F", "M", None, "X", "F"], pa.large_string()),
        "income": pa.array(["no", "yes", "yes", None, "maybe"], pa.large_string()),
    }
)


def test_rows_become_codes_by_each_cell_alone():
    training = training_of(CountEstimator(), facts())
    whole = training.encode(ROWS, None)
    assert whole.target.tolist() == [0, 1, 1]
    assert whole.codes[:, 1].tolist() == [1, 2, 0]
    assert whole.codes[1, 0] == 0
    for place, one in ((0, 0), (1, 1), (2, 2)):
        alone = training.encode(ROWS.slice(place, 1), None)
        assert alone.codes.tolist() == [whole.codes[one].tolist()]


def test_rows_of_a_person_stand_together():
    training = training_of(CountEstimator(), facts())
    block = training.encode(ROWS.slice(0, 3), np.array([7, 3, 7]))
    assert block.people == 2
    assert block.starts.tolist() == [0, 1]


def test_a_restored_model_is_the_one_that_was_trained():
    training = training_of(CountEstimator(), facts())
    state = training.train(training.people([training.encode(ROWS, None)]), is_private=False)
    fitted = training.restore(state, "the guarantee")
    assert isinstance(fitted.model_, CountModel)
    assert (fitted.guarantee_, fitted.event_) == ("the guarantee", training.event)
    assert sum(fitted.model_.sums[0]) == 3 * 2 * 100


def test_parameters_hold_all_that_is_public_and_nothing_of_an_account():
    other = training_of(CountEstimator(), facts())
    assert not {"budget", "epsilon", "rho", "neighbours"} & set(other.parameters)
    assert other.estimator.budget is None
    assert training_of(CountEstimator(steps=3), facts()).parameters != other.parameters
    assert training_of(CountEstimator(size=101), facts()).parameters != other.parameters


ACCOUNT = dp.learning.BudgetAccount(dp.Budget(epsilon=1, delta=1e-9))


@pytest.mark.parametrize(
    ("own", "refused"),
    [
        ({"epsilon": 3}, "epsilon=None"),
        ({"rho": 0.1}, "rho=None"),
        ({"budget": ACCOUNT, "epsilon": 1}, "epsilon=None, budget=None"),
    ],
)
def test_a_cost_or_an_account_of_the_estimator_is_refused_and_the_advice_works(own, refused):
    model = dp.learning.NaiveBayes(**own)
    with pytest.raises(dp.Refusal, match="the session has the budget") as error:
        training_of(model, facts())
    advice, then = error.value.instead.split(", and ")
    assert advice == f"model.set_params({refused})"
    assert then == "session.release(query, epsilon=1)"
    same = training_of(model.set_params(**dict.fromkeys(own)), facts())
    assert same.parameters == training_of(dp.learning.NaiveBayes(), facts()).parameters


def test_neighbours_of_the_estimator_are_those_of_the_session_or_the_default():
    other = dp.learning.NaiveBayes(neighbours="replace_one")
    for neighbours in ("replace_one", "nobody", 3):
        with pytest.raises(dp.Refusal, match="set_params"):
            training_of(other.set_params(neighbours=neighbours), facts())
    other.set_params(neighbours="replace_one")
    found = [training_of(model, facts(replace_one=True)) for model in (other, dp.learning.NaiveBayes())]
    assert found[0].parameters == found[1].parameters
    assert [each.estimator.neighbours for each in found] == ["replace_one"] * 2


def test_a_model_that_a_session_released_can_be_trained_again():
    training = training_of(dp.learning.NaiveBayes(), facts(replace_one=True))
    fitted = training.restore(training.train(training.people([]), is_private=False), "the guarantee")
    assert training_of(fitted, facts(replace_one=True)).parameters == training.parameters


def test_one_declaration_serves_all_columns():
    columns = {"age": AGE, "hours": AGE}
    training = training_of(CountEstimator(features=dp.learning.linear_bins(0, 1, 4)), facts(columns=columns))
    assert [feature.slots for feature in training.declared.values()] == [5, 5]


@pytest.mark.parametrize(
    ("column", "bins"),
    [
        ({"type": "integer", "bounds": (1, 5)}, 5),
        ({"type": "integer", "bounds": (0, 31)}, 32),
        ({"type": "integer", "bounds": (0, 32)}, 32),
        ({"type": "integer", "bounds": (-2, 0)}, 3),
        ({"type": "integer", "bounds": (0, 1)}, 3),
        ({"type": "real", "bounds": (1, 5)}, 32),
    ],
)
def test_few_whole_numbers_have_a_bin_each_with_its_number_in_the_middle(column, bins):
    feature = training_of(CountEstimator(), facts(columns={"age": Column(**column)})).declared["age"]
    assert feature.slots == bins + 1
    low, high = column["bounds"]
    if column["type"] == "integer" and high - low < 32:
        codes = feature.encode(list(range(low - 1, high + 2)))
        assert codes[0] == codes[1] == 1
        assert codes[-1] == codes[-2] == bins
        assert len(set(codes.tolist())) == high - low + 1
        (least,), (most,) = outer_bounds({"age": feature})
        width = (most - least) / bins
        assert (least + width / 2, most - width / 2) == (low, high)


def test_the_words_of_a_training_name_model_features_size_and_parameters():
    lines = dict(training_of(CountEstimator(), facts()).words)
    assert lines["model"] == "CountEstimator of income"
    assert lines["features"] == "age (32 bins), sex (2 categories)"
    assert lines["parameters"] == "classes=['no', 'yes'], steps=2"
    assert "rho 0.02" in lines["training"]


def test_arguments_that_are_left_open_are_shown_with_the_values_that_are_used():
    boosting = training_of(dp.learning.GradientBoostingClassifier(), facts(size=20_000))
    learner, words = boosting.learner, dict(boosting.words)["parameters"]
    rounds, rate = learner.defaults["rounds"], learner.defaults["learning_rate"]
    assert f"learning_rate={rate:.4g} (default), leaves=8, rounds={rounds} (default)" in words
    assert learner.trees == rounds * 2
    given = dict(training_of(dp.learning.GradientBoostingClassifier(rounds=3), facts()).words)["parameters"]
    assert given.endswith("rounds=3")
    logistic = training_of(dp.learning.LogisticRegression(), facts())
    assert dict(logistic.words)["parameters"].endswith(
        f"iterations={len(logistic.learner.schedule.sums) - 1} (default)"
    )
    assert boosting.parameters["rounds"] is None


def test_words_say_how_numbers_are_read_and_count_one_sum():
    ridge = dict(training_of(dp.learning.Ridge(), facts(target_column=AGE)).words)
    assert ridge["features"] == "age (line over 32 bins), sex (2 categories)"
    assert ridge["training"] == "1 noisy sum of clipped vectors of people, rho 0.02"
    scaler = training_of(dp.learning.StandardScaler(), facts(target=None, target_column=None, columns={"age": AGE}))
    assert dict(scaler.words)["features"] == "age (middles of 32 bins)"


def test_a_parameter_that_is_not_plain_is_refused():
    with pytest.raises(dp.Refusal, match="plain values"):
        training_of(CountEstimator(classes=[object(), "b"]), facts())


def test_a_fraction_is_a_number_of_fingerprints_and_files():
    half, other = (
        training_of(dp.learning.Ridge(alpha=alpha), facts(target_column=AGE)) for alpha in (Fraction(1, 2), 0.5)
    )
    assert half.parameters == other.parameters
    state = half.train(half.people([]), is_private=False)
    assert state["parameters"]["alpha"] == 0.5


def test_the_bounds_of_a_target_come_from_the_catalog():
    class Regression(CountEstimator):
        def __init__(self, *, features=None, target_bounds=None, size=None):
            super().__init__(features=features, size=size)
            self.target_bounds = target_bounds

        def get_params(self, deep=True):  # noqa: ARG002
            return {name: getattr(self, name) for name in ("features", "target_bounds", "size")}

        def learner(self, features, rho, *, replace_one):
            self.classes = ["a", "b"]
            return super().learner(features, rho, replace_one=replace_one)

    found = training_of(Regression(), facts(target_column=AGE))
    assert found.estimator.target_bounds == [0.0, 90.0]
    with pytest.raises(dp.Refusal, match="target_bounds"):
        training_of(Regression(), facts(target_column=Column(type="real")))


@pytest.mark.parametrize(
    ("declared", "feature"),
    [
        ({"bounds": (0, 90)}, dp.learning.linear_bins(0, 90, 32)),
        ({"bounds": (0, 90), "bins": {"linear": 9}}, dp.learning.linear_bins(0, 90, 9)),
        ({"bounds": (0, 90), "bins": {"log": 9}}, dp.learning.log_bins(0, 90, 9)),
        ({"bounds": (0, 90), "bins": [18, 65]}, dp.learning.edges([18, 65])),
        ({"keys": [1, 2, 3], "bins": [18.5]}, dp.learning.edges([18.5])),
        ({"keys": [1, 2, 3]}, dp.learning.categories([1, 2, 3])),
    ],
)
def test_bins_of_the_catalog_come_before_keys_and_bounds(declared, feature):
    training = training_of(CountEstimator(), facts(columns={"age": Column(type="integer", **declared)}))
    assert training.declared == {"age": feature}
