"""One person moves a table of scores by at most the clip; without noise a table is scikit-learn's confusion matrix."""

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import pytest
from sklearn.metrics import confusion_matrix, mean_squared_error, multilabel_confusion_matrix

from discreet.learning.core.lattice import ONE
from discreet.learning.core.rows import group_people
from discreet.learning.core.sums import people_sum
from discreet.learning.evaluation.figures import score_table
from discreet.learning.evaluation.scores import (
    MOST_ROWS,
    UNIT,
    ErrorStep,
    ScoreStep,
    clip_of,
    score_edges,
    score_plan,
)

GENERATOR = np.random.default_rng(87)


@dataclass(frozen=True)
class Additive:
    """A public model: one weight for each slot and class."""

    weights: np.ndarray

    def scores(self, codes):
        return sum(self.weights[j][codes[:, j]] for j in range(codes.shape[1]))

    def to_json(self):
        return {}


def additive(classes=2):
    columns = 1 if classes == 2 else classes
    weights = GENERATOR.integers(-2 * ONE, 2 * ONE, size=(3, 6, columns))
    return Additive(weights[:, :, 0] if columns == 1 else weights)


def rows_of(number, classes, people=None):
    codes = GENERATOR.integers(0, 6, size=(number, 3)).astype(np.uint16)
    target = GENERATOR.integers(0, classes, size=number).astype(np.int64)
    person = None if people is None else GENERATOR.integers(0, people, size=number).astype(np.int64)
    return codes, target, person


def step_of(classes, rows=1):
    return ScoreStep(additive(classes), classes, score_edges(16), rows)


def error_step(rows=1, largest=ONE // 2):
    return ErrorStep(additive(), largest, rows)


@pytest.mark.guarantee("learning.evaluation.scores")
@pytest.mark.parametrize("rows", [1, 2, 40])
@pytest.mark.parametrize("number", [1, 2, 300])
@pytest.mark.parametrize("kind", [2, 5, "regression"])
def test_a_person_moves_the_table_by_at_most_the_clip(kind, number, rows):
    step = error_step(rows) if kind == "regression" else step_of(kind, rows)
    classes = 2 if kind == "regression" else kind
    for same in (True, False):
        codes, target, person = rows_of(400, classes, 90)
        theirs, labels, _ = rows_of(number, classes)
        if same:  # all in one cell, where units add up
            theirs[:], labels[:] = theirs[0], labels[0]
        before = people_sum(step, [group_people(codes, target, person)])
        block = group_people(
            np.concatenate([codes, theirs]),
            np.concatenate([target, labels]),
            np.concatenate([person, np.full(number, 10**6)]),
        )
        moved = people_sum(step, [block]) - before
        assert sum(int(v) ** 2 for v in moved) <= step.clip**2


@pytest.mark.guarantee("learning.evaluation.scores")
@pytest.mark.parametrize("classes", [2, 4])
@pytest.mark.parametrize("rows", [1, 3, 17])
def test_the_clip_is_reached_by_that_many_equal_rows(classes, rows):
    step = step_of(classes, rows)
    codes, target, _ = rows_of(1, classes)
    block = group_people(np.repeat(codes, rows, 0), np.repeat(target, rows), np.zeros(rows, dtype=np.int64))
    table = people_sum(step, [block])
    assert sum(int(v) ** 2 for v in table) == step.columns * (rows * UNIT) ** 2
    assert (step.clip - 1) ** 2 < step.columns * (rows * UNIT) ** 2 <= step.clip**2


@pytest.mark.guarantee("learning.evaluation.scores")
def test_the_order_and_the_company_of_rows_do_not_matter():
    step = step_of(3)
    codes, target, _ = rows_of(300, 3)
    whole = people_sum(step, [group_people(codes, target, None)])
    order = GENERATOR.permutation(300)
    parts = [group_people(codes[part], target[part], None) for part in np.array_split(order, 7)]
    assert (people_sum(step, parts) == whole).all()


def test_without_noise_the_table_is_the_confusion_matrix_of_scikit_learn():
    step = step_of(2)
    codes, target, _ = rows_of(700, 2)
    table = score_table(people_sum(step, [group_people(codes, target, None)]), step.edges, 1.0)
    expected = confusion_matrix(target, step.model.scores(codes) > 0)
    assert (table.confusion() == expected).all()


def test_without_noise_each_class_against_the_rest_is_that_of_scikit_learn():
    step = step_of(4)
    codes, target, _ = rows_of(700, 4)
    table = score_table(people_sum(step, [group_people(codes, target, None)]), step.edges, 1.0)
    expected = multilabel_confusion_matrix(target, step.model.scores(codes).argmax(axis=1))
    for column in range(4):
        assert (table.confusion(column) == expected[column]).all()


def test_the_first_of_equally_likely_classes_is_the_prediction():
    step = ScoreStep(Additive(np.zeros((3, 6, 3), dtype=np.int64)), 3, score_edges(4))
    codes, target, _ = rows_of(50, 3)
    table = score_table(people_sum(step, [group_people(codes, target, None)]), step.edges, 1.0)
    assert [table.confusion(column)[:, 1].sum() for column in range(3)] == [50, 0, 0]


def test_squared_errors_are_those_of_scikit_learn_up_to_one_step_of_a_row():
    step = error_step(largest=2 * ONE)
    codes, _, _ = rows_of(500, 2)
    target = GENERATOR.integers(-ONE, ONE + 1, size=500)
    count, squares = people_sum(step, [group_people(codes, target, None)])
    predictions = np.clip(step.model.scores(codes), -ONE, ONE)
    expected = mean_squared_error(target / (2 * ONE), predictions / (2 * ONE))
    assert count == 500 * UNIT
    assert abs(squares / count - expected) <= 1 / UNIT


def test_an_error_beyond_the_largest_counts_as_that():
    step = ErrorStep(Additive(np.zeros((3, 6), dtype=np.int64)), 1)
    codes, _, _ = rows_of(9, 2)
    assert people_sum(step, [group_people(codes, np.full(9, ONE), None)]).tolist() == [9 * UNIT, 9 * UNIT]


@pytest.mark.parametrize("replace_one", [False, True])
def test_the_plan_of_a_table_costs_its_rho(replace_one):
    step = step_of(2, rows=3)
    plan = score_plan(step, Fraction(1, 100), replace_one=replace_one)
    assert plan.clip == step.clip
    assert plan.noise.squared_sensitivity == ((2 if replace_one else 1) * step.clip) ** 2
    assert 0.999 * Fraction(1, 100) < plan.noise.rho <= Fraction(1, 100)
    assert plan.noise.dimension == step.length == 32


def test_edges_are_symmetric_and_zero_is_one_of_them():
    edges = score_edges(8, 4)
    assert edges == tuple(place * ONE for place in (-3, -2, -1, 0, 1, 2, 3))
    with pytest.raises(ValueError, match="even"):
        score_edges(7)


def test_a_clip_of_too_many_rows_is_refused():
    assert clip_of(1, 1) == UNIT
    with pytest.raises(ValueError, match="clip"):
        clip_of(MOST_ROWS + 1, 1)
    with pytest.raises(ValueError, match="clip"):
        clip_of(0, 1)
