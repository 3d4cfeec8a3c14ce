"""The textbook's gradient descent: clipped gradients, clipped examples, noisy counts and disjoint mini-batches."""

from fractions import Fraction

import numpy as np
import pytest

import discreet as dp
from discreet.learning.core.lattice import ONE
from discreet.learning.core.rows import EncodedRows
from discreet.learning.core.sums import people_sum
from discreet.learning.core.training import ExactSums, NoisySums, PeopleInMemory
from discreet.learning.linear import textbook

KEY = b"a secret key"


def table(count=2_000, salt=0):
    rng = np.random.default_rng(salt)
    values = rng.uniform(-1, 1, (count, 2))
    return values, (values @ [2.0, -1.0] + rng.normal(0, 0.3, count) > 0).astype(int)


def gradient(clips, clip):
    weights = np.array([ONE, -2 * ONE, ONE // 3])
    return textbook.ExampleGradient(weights, int(clip * ONE), clips == "examples")


def trained(learner, rows, kind=NoisySums):
    return learner.train(kind(PeopleInMemory([rows]), learner.schedule))


@pytest.mark.guarantee("learning.linear.textbook")
@pytest.mark.parametrize("clips", ["gradients", "examples"])
@pytest.mark.parametrize("clip", [0.25, 1, 2])
@pytest.mark.parametrize("many", [1, 2, 9])
def test_a_person_moves_a_gradient_by_at_most_the_clip(clips, clip, many):
    values, target = table(50, salt=many)
    values[:many] = [1.0, -1.0]
    people = np.concatenate([np.zeros(many, dtype=np.int64), np.arange(1, 51 - many)])
    step = gradient(clips, clip)
    sums = [
        people_sum(step, [textbook.examples(values[first:], target[first:], people[first:])]) for first in (0, many)
    ]
    moved = sums[0] - sums[1]
    assert int(moved @ moved) <= step.clip**2


@pytest.mark.guarantee("learning.linear.textbook")
@pytest.mark.parametrize("clips", ["gradients", "examples"])
def test_other_rows_change_no_bit_of_what_a_row_adds(clips):
    rows, step = textbook.examples(*table(200)), gradient(clips, 0.5)
    whole = step.contributions(rows).values
    order = np.random.default_rng(0).permutation(200)
    for some in (order, order[:70], [5]):
        part = EncodedRows(rows.codes[some], rows.target[some])
        assert (step.contributions(part).values == whole[some]).all()


@pytest.mark.guarantee("learning.linear.textbook")
def test_a_clipped_example_is_no_longer_than_the_clip():
    vectors = textbook.centre(textbook.examples(*table(500)).codes)
    short = textbook.shorten(vectors, ONE // 2)
    assert (np.square(short).sum(axis=1) <= (textbook.EXAMPLE_ONE // 2) ** 2).all()
    assert (textbook.shorten(vectors, 16 * ONE) == vectors).all()


@pytest.mark.guarantee("learning.linear.textbook")
@pytest.mark.parametrize("replace_one", [False, True])
def test_a_descent_costs_all_iterations_and_one_over_batches_costs_one_batch_or_two(replace_one):
    learner = textbook.TextbookLearner(2, Fraction(1, 10), iterations=7, replace_one=replace_one)
    assert Fraction(999, 10_000) < learner.schedule.rho <= Fraction(1, 10)
    assert len(learner.schedule.sums) == 8
    cost = dp.accounting.prices.total(textbook.batches_event(learner)).rho
    assert cost == learner.schedule.rho * (2 if replace_one else 1)


@pytest.mark.guarantee("learning.linear.textbook")
def test_batches_are_disjoint_and_no_one_else_decides_the_batch_of_a_person():
    values, target = table(400)
    people = np.arange(400) // 2
    values[:, 0] = people / 1_000
    batches = textbook.mini_batches(values, target, people, count=5, key=KEY)
    home = {code: place for place, batch in enumerate(batches) for code in batch.codes[:, 0].tolist()}
    assert sum(map(len, batches)) == 400
    assert sum(batch.people for batch in batches) == 200
    fewer = textbook.mini_batches(values[100:], target[100:], people[100:], count=5, key=KEY)
    assert all(home[code] == place for place, batch in enumerate(fewer) for code in batch.codes[:, 0].tolist())
    other = textbook.mini_batches(values, target, people, count=5, key=b"another")
    assert any(home[code] != place for place, batch in enumerate(other) for code in batch.codes[:, 0].tolist())


@pytest.mark.parametrize("clips", ["gradients", "examples"])
def test_descent_lowers_the_loss_and_finds_the_classes(clips):
    rows, fresh = textbook.examples(*table()), textbook.examples(*table(salt=1))
    model = trained(textbook.TextbookLearner(2, 10**9, iterations=30, clips=clips), rows, ExactSums)
    losses = [textbook.loss(weights, fresh) for weights in model.path]
    assert losses == sorted(losses, reverse=True)
    assert textbook.accuracy(model.path[-1], fresh) > 0.85
    assert (model.scores(fresh.codes)[:, 0] > 0).mean() == pytest.approx(0.5, abs=0.1)


@pytest.mark.parametrize("clips", ["gradients", "examples"])
def test_infinite_epsilon_is_descent_on_exact_sums(clips):
    rows, learner = textbook.examples(*table(300)), textbook.TextbookLearner(2, 10**30, clips=clips)
    noisy, exact = (trained(learner, rows, kind) for kind in (NoisySums, ExactSums))
    assert noisy.to_json() == exact.to_json()


def test_mini_batches_find_the_classes():
    values, target = table(6_000)
    batches = textbook.mini_batches(values, target, np.arange(6_000), count=20, key=KEY)
    model = textbook.train_on_batches(textbook.TextbookLearner(2, 10**6, iterations=1), batches)
    assert len(model.path) == 20
    assert textbook.accuracy(model.path[-1], textbook.examples(*table(salt=1))) > 0.85


def test_no_rows_and_rows_without_numbers_train():
    nobody = textbook.examples(np.zeros((0, 2)), [])
    missing = textbook.examples(np.full((10, 2), np.nan), np.ones(10))
    learner = textbook.TextbookLearner(2, 10**30, iterations=3)
    assert not trained(learner, nobody).path[-1].any()
    assert trained(learner, missing).path[-1].tolist()[:2] == [0, 0]


@pytest.mark.parametrize("change", [{"width": 0}, {"iterations": 0}, {"clip": 0}, {"clip": 300}, {"clips": "rows"}])
def test_parameters_outside_their_range_are_refused(change):
    with pytest.raises(dp.errors.ParameterError):
        textbook.TextbookLearner(**{"width": 2, "rho": 1} | change)


def test_a_textbook_model_is_read_back_as_it_was_written():
    model = textbook.TextbookModel((np.array([0, 1]), np.array([2, 3])))
    again = textbook.TextbookModel.from_json(model.to_json())
    assert [weights.tolist() for weights in again.path] == [[0, 1], [2, 3]]
