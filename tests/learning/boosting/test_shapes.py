"""Shape plots: a panel for each feature, from the public model alone."""

import pytest

from discreet.errors import ParameterError
from discreet.learning.boosting.estimators import GradientBoostingClassifier, GradientBoostingRegressor
from discreet.learning.boosting.model import AdditiveModel
from discreet.learning.boosting.shapes import LONGEST_LABEL, MOST_PANELS, shape_plot
from discreet.learning.core.features import categories
from learning.boosting.boosting_cases import FEATURES, model_of

pytest.importorskip("matplotlib")


def test_a_figure_has_a_panel_for_each_feature_with_the_most_important_first():
    model = model_of()
    figure = shape_plot(model)
    titles = [axes.get_title(loc="left") for axes in figure.axes]
    assert titles == [name for name in model.importance() if name in FEATURES][:MOST_PANELS]
    assert figure.get_label().startswith("Contribution to the score of")


def test_bins_are_a_line_with_a_mark_for_missing_values_and_categories_are_bars():
    age, colour = shape_plot(model_of(3), ["age", "colour"], output=2).axes
    line, missing, _ = age.lines
    assert len(line.get_ydata()) == FEATURES["age"].slots - 1
    assert len(missing.get_ydata()) == 1
    assert [label.get_text() for label in colour.get_xticklabels()] == FEATURES["colour"].labels()
    assert len(colour.patches) == FEATURES["colour"].slots


@pytest.mark.parametrize("count", [12, 13, 50])
def test_every_category_has_its_name(count):
    names = [f"category {number}" for number in range(count)]
    features = {"kind": categories(names)}
    model = AdditiveModel.empty(features, (), model_of().objective)
    (axes,) = shape_plot(model, ["kind"]).axes
    assert [label.get_text() for label in axes.get_xticklabels()] == ["missing", *names]


def test_a_long_name_is_cut_and_the_panel_has_room_for_it():
    features = {"kind": categories([f"{'a long name ' * 5}{number}" for number in range(20)])}
    figure = shape_plot(AdditiveModel.empty(features, (), model_of().objective), ["kind"])
    assert max(len(label.get_text()) for label in figure.axes[0].get_xticklabels()) == LONGEST_LABEL
    assert figure.get_figheight() > 2.5


def test_a_model_that_is_not_additive_is_refused():
    with pytest.raises(ParameterError, match="shapes of a dict"):
        shape_plot({})
    for model in (GradientBoostingRegressor(), GradientBoostingRegressor().model_from_json):
        with pytest.raises(ParameterError, match="only fitted models of gradient boosting"):
            shape_plot(model)


def test_a_fitted_estimator_is_drawn_as_its_model():
    estimator = GradientBoostingClassifier(classes=["no", "yes"]).adopt(model_of(), FEATURES, None, "")
    assert shape_plot(estimator).get_label() == shape_plot(estimator.model_).get_label()


def test_a_feature_that_the_model_does_not_have_is_refused():
    with pytest.raises(ParameterError, match="no such term"):
        shape_plot(model_of(), ["height"])
