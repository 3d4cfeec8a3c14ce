"""Ridge regression from one sum: what a person moves, what is charged, and that it learns."""

import pickle
from fractions import Fraction

import numpy as np
import pytest

import discreet as dp
from discreet.learning.core.lattice import ONE
from discreet.learning.core.rows import EncodedRows, group_people
from discreet.learning.core.sums import people_sum
from discreet.learning.core.training import ExactSums, NoisySums, PeopleInMemory
from discreet.learning.linear.ridge_learner import SCALE, RidgeLearner, design_of

FEATURES = {
    "age": dp.learning.linear_bins(0, 100, 8),
    "sex": dp.learning.categories(["female", "male"]),
    "hours": dp.learning.linear_bins(0, 80, 5),
}
LEARNER = RidgeLearner(FEATURES, Fraction(1, 10))


def _rows(count, generator):
    slots = [feature.slots for feature in FEATURES.values()]
    codes = np.column_stack([generator.integers(0, each, count) for each in slots]).astype(np.uint16)
    return codes, generator.integers(-ONE, ONE + 1, count)


def _step():
    return LEARNER._step()


def _sum(codes, target, people=None):
    return people_sum(_step(), [group_people(codes, target, people)])


def test_a_design_has_one_column_for_numbers_and_one_for_each_category():
    design = design_of(FEATURES)
    assert design.width == 1 + 1 + 3 + 1 + 1
    assert design.columns.tolist() == [1] * 9 + [2, 3, 4] + [5] * 6
    assert design.values[0] == 0
    assert design.values[1:9].tolist() == [SCALE * each // 8 for each in (-7, -5, -3, -1, 1, 3, 5, 7)]
    assert set(design.values[9:12].tolist()) == {SCALE}


@pytest.mark.guarantee("learning.linear.ridge_learner")
@pytest.mark.parametrize("names", [["age", "sex", "hours"], ["age", "hours"], ["sex"]])
def test_sums_are_those_of_a_plain_loop(names):
    codes, target = _rows(50, np.random.default_rng(1))
    features = {name: FEATURES[name] for name in names}
    codes = codes[:, [list(FEATURES).index(name) for name in names]]
    design = design_of(features)
    expected = np.zeros((design.width, design.width), dtype=np.int64)
    for row, steps in zip(codes.astype(int), target, strict=True):
        entries = np.zeros(design.width, dtype=np.int64)
        entries[0], entries[-1] = SCALE, (steps + SCALE // 2) >> 10
        for slot in row + design.firsts:
            entries[design.columns[slot]] = design.values[slot]
        expected += np.outer(entries, entries)
    found = people_sum(RidgeLearner(features, Fraction(1, 10))._step(), [group_people(codes, target, None)])
    assert found.tolist() == expected[np.triu_indices(design.width)].tolist()
    assert design.has_fixed_columns == ("sex" not in names)


@pytest.mark.guarantee("learning.linear.ridge_learner")
@pytest.mark.parametrize("rows", [1, 2, 7])
def test_a_person_moves_the_sum_by_at_most_the_clip_and_one_row_is_never_scaled(rows):
    generator = np.random.default_rng(rows)
    codes, target = _rows(40 + rows, generator)
    people = np.append(np.arange(40), np.full(rows, 40))
    moved = _sum(codes, target, people) - _sum(codes[:40], target[:40], people[:40])
    assert sum(int(each) ** 2 for each in moved) <= _step().clip ** 2
    alone = _step().contributions(EncodedRows(codes[-1:], target[-1:]))
    if rows == 1:
        assert moved[alone.places[0]].tolist() == alone.values[0].tolist()


@pytest.mark.guarantee("learning.linear.ridge_learner")
def test_the_clip_is_reached_by_a_row_whose_entries_are_all_one():
    one_bin = {"b": dp.learning.categories(["x"]), "c": dp.learning.categories(["y"])}
    learner = RidgeLearner(one_bin, Fraction(1))
    step = learner._step()
    rows = EncodedRows(np.array([[1, 1]], dtype=np.uint16), np.array([ONE]))
    square = sum(int(each) ** 2 for each in step.contributions(rows).values[0])
    assert (step.clip - 1) ** 2 < square <= step.clip**2


@pytest.mark.guarantee("learning.linear.ridge_learner")
def test_a_row_contributes_the_same_among_any_other_rows():
    codes, target = _rows(60, np.random.default_rng(5))
    order = np.random.default_rng(6).permutation(60)
    whole, part = (_step().contributions(EncodedRows(codes[o], target[o])) for o in (order, order[:7]))
    assert whole.values[:7].tolist() == part.values.tolist()
    assert whole.places[:7].tolist() == part.places.tolist()
    assert _sum(codes, target).tolist() == _sum(codes[order], target[order]).tolist()


@pytest.mark.guarantee("learning.linear.ridge_learner")
@pytest.mark.parametrize("replace_one", [False, True])
def test_one_sum_is_charged_and_no_other_can_be_asked_for(replace_one):
    learner = RidgeLearner(FEATURES, Fraction(1, 10), replace_one=replace_one)
    (planned,) = learner.schedule.sums
    assert planned.noise.squared_sensitivity == ((1 + replace_one) * planned.clip) ** 2
    assert learner.schedule.rho <= Fraction(1, 10)
    sums = NoisySums(PeopleInMemory([EncodedRows(*_rows(10, np.random.default_rng(7)))]), learner.schedule)
    learner.train(sums)
    with pytest.raises(RuntimeError):
        learner.train(sums)


def test_without_noise_a_line_is_found():
    features = {"x": dp.learning.linear_bins(-1, 1, 200), "z": dp.learning.linear_bins(-1, 1, 200)}
    generator = np.random.default_rng(8)
    table = generator.uniform(-1, 1, (3_000, 2))
    target = 0.6 * table[:, 0] - 0.3 * table[:, 1] + 0.05
    codes = np.column_stack([feature.encode(table[:, i]) for i, feature in enumerate(features.values())])
    learner = RidgeLearner(features, Fraction(10**9))
    people = PeopleInMemory([EncodedRows(codes, np.rint(target * ONE).astype(np.int64))])
    model = learner.train(ExactSums(people, learner.schedule))
    assert np.abs(model.scores(codes)[:, 0] / ONE - target).max() < 0.01


def test_steps_travel_to_other_processes():
    step = pickle.loads(pickle.dumps(_step()))  # noqa: S301 - our own bytes
    rows = EncodedRows(*_rows(5, np.random.default_rng(9)))
    assert step.contributions(rows).values.tolist() == _step().contributions(rows).values.tolist()
