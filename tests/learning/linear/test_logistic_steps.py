"""What a row adds depends on that row and the public weights alone, bit for bit."""

import pickle

import numpy as np
import pytest

from discreet.learning.core.lattice import ONE
from discreet.learning.core.rows import EncodedRows, group_people
from discreet.learning.core.sums import people_sum
from discreet.learning.linear.linear_model import first_slots, slot_count
from discreet.learning.linear.logistic_learner import LogisticLearner
from discreet.learning.linear.logistic_steps import LogisticGradient, SlotCounts, slot_scores

from .tables import FEATURES, generated_rows

FIRSTS, SLOTS = first_slots(FEATURES), slot_count(FEATURES)


def steps(columns):
    classes = max(columns, 2)
    counts, gradient = LogisticLearner(FEATURES, classes, 1_000, 1, iterations=1).schedule.sums
    weights = np.random.default_rng(columns).integers(-3 * ONE, 3 * ONE, (SLOTS, columns))
    return [SlotCounts(FIRSTS, SLOTS, counts.clip), LogisticGradient(FIRSTS, weights, gradient.clip)]


def dense(step, rows):
    places, values = step.contributions(rows)
    result = np.zeros((len(rows), step.length), dtype=np.int64)
    np.add.at(result, (np.arange(len(rows))[:, None], places), values)
    return result


@pytest.mark.guarantee("learning.linear.logistic_learner")
@pytest.mark.parametrize("columns", [1, 3])
def test_other_rows_change_no_bit_of_what_a_row_adds(columns):
    rows = generated_rows(500, classes=max(columns, 2))
    order = np.random.default_rng(1).permutation(500)
    for step in steps(columns):
        whole = dense(step, rows)
        for some in (order, np.arange(250), np.flatnonzero(order % 7), [3]):
            part = EncodedRows(rows.codes[some], rows.target[some])
            assert (dense(step, part) == whole[some]).all()


@pytest.mark.guarantee("learning.linear.logistic_learner")
@pytest.mark.parametrize("columns", [1, 3])
@pytest.mark.parametrize("many", [1, 2, 9])
def test_a_person_moves_a_sum_by_at_most_the_clip_whatever_number_of_rows(columns, many):
    rows = generated_rows(60, classes=max(columns, 2), salt=many)
    for step in steps(columns):
        for same_slots in (False, True):
            codes = rows.codes.copy()
            if same_slots:
                codes[:many] = codes[0]
            people = np.concatenate([np.zeros(many, dtype=np.int64), np.arange(1, 61 - many)])
            with_person = people_sum(step, [group_people(codes, rows.target, people)])
            without = people_sum(step, [group_people(codes[many:], rows.target[many:], people[many:])])
            moved = with_person - without
            assert int(moved @ moved) <= step.clip**2
            assert moved.any()


@pytest.mark.guarantee("learning.linear.logistic_learner")
@pytest.mark.parametrize("columns", [1, 3])
def test_blocks_and_orders_of_people_have_the_same_sum(columns):
    rows = generated_rows(300, classes=max(columns, 2))
    people = np.random.default_rng(2).integers(0, 80, 300)
    low, order = people < 30, np.random.default_rng(3).permutation(300)
    for step in steps(columns):
        whole = people_sum(step, [group_people(rows.codes, rows.target, people)])
        halves = [group_people(rows.codes[part], rows.target[part], people[part]) for part in (~low, low)]
        shuffled = group_people(rows.codes[order], rows.target[order], people[order])
        assert (people_sum(step, halves) == whole).all()
        assert (people_sum(step, [shuffled]) == whole).all()


def test_a_gradient_is_target_minus_probability_cut_at_a_half():
    weights = np.zeros((SLOTS, 1), dtype=np.int64)
    weights[:9] = 2 * ONE
    step = LogisticGradient(FIRSTS, weights, steps(1)[1].clip)
    rows = EncodedRows(np.zeros((2, 3), dtype=np.uint16), np.array([0, 1]))
    values = step.contributions(rows).values / ONE
    assert values[0] == pytest.approx(-0.5)
    assert values[1] == pytest.approx(1 - 1 / (1 + np.exp(-2)), abs=1e-3)


def test_scores_are_integer_sums_of_the_weights_of_the_slots():
    weights = np.arange(SLOTS, dtype=np.int64)[:, None]
    codes = np.array([[1, 2, 3]], dtype=np.uint16)
    assert slot_scores(weights, FIRSTS, codes).tolist() == [[1 + 9 + 2 + 9 + 4 + 3]]


def test_steps_travel_to_other_processes():
    rows = generated_rows(20)
    for step in steps(1):
        copy = pickle.loads(pickle.dumps(step))  # noqa: S301 - our own bytes
        assert (dense(copy, rows) == dense(step, rows)).all()
