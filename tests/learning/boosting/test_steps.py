"""One tree's sum: a person moves it by at most the clip, and what a row adds depends on that row alone."""

import gc
import pickle

import numpy as np
import pytest

from discreet.learning.boosting.steps import ScoreCache, TreeStep
from discreet.learning.boosting.terms import random_leaves
from discreet.learning.core.lattice import ONE
from discreet.learning.core.rows import EncodedRows, group_people
from discreet.learning.core.sums import people_sum
from learning.boosting.boosting_cases import GENERATOR, codes_of, model_of, targets_of

CLASSES = [0, 2, 3]


def step_of(classes, term=0, cache=None, model=None):
    model = model or model_of(classes)
    return TreeStep(model, random_leaves(model.terms[term], term, 8, GENERATOR), cache)


def squares(vector):
    return sum(int(value) ** 2 for value in vector)


@pytest.mark.guarantee("learning.boosting.steps")
@pytest.mark.parametrize("classes", CLASSES)
@pytest.mark.parametrize("term", [0, 2, 3])
@pytest.mark.parametrize("rows_each", [1, 2, 300])
def test_a_person_moves_the_sum_by_at_most_the_clip(classes, term, rows_each):
    step = step_of(classes, term)
    codes = codes_of(500)
    target, person = targets_of(codes, classes), GENERATOR.integers(0, 80, 500)
    before = people_sum(step, [group_people(codes, target, person)])
    theirs = np.repeat(codes_of(1), rows_each, axis=0)  # all in one leaf, where residuals add up
    labels = np.full(rows_each, -(2**40) if not classes else classes - 1)
    block = group_people(
        np.concatenate([codes, theirs]),
        np.concatenate([target, labels]),
        np.concatenate([person, np.full(rows_each, 10**6)]),
    )
    moved = people_sum(step, [block]) - before
    assert 0 < squares(moved) <= step.clip**2


@pytest.mark.guarantee("learning.boosting.steps")
def test_the_clip_is_reached():
    step = step_of(2, model=model_of(2, generator=_Zeros()))
    moved = people_sum(step, [EncodedRows(codes_of(1), np.array([1]))])
    assert (step.clip - 1) ** 2 <= squares(moved) <= step.clip**2


class _Zeros:
    def integers(self, low, high, size):  # noqa: ARG002 - the signature of a generator
        return np.zeros(size, dtype=np.int64)


@pytest.mark.guarantee("learning.boosting.steps")
@pytest.mark.parametrize("classes", CLASSES)
def test_other_rows_change_no_bit_of_what_a_row_adds(classes):
    step = step_of(classes)
    codes = codes_of(400)
    rows = EncodedRows(codes, targets_of(codes, classes))
    places, values = step.contributions(rows)
    order = GENERATOR.permutation(400)
    half = order[:137]
    for part in (order, half, half[:1]):
        again = step.contributions(EncodedRows(codes[part], rows.target[part]))
        assert (again.places == places[part]).all()
        assert (again.values == values[part]).all()
    whole = people_sum(step, [rows])
    split = people_sum(step, [EncodedRows(codes[:9], rows.target[:9]), EncodedRows(codes[9:], rows.target[9:])])
    assert (whole == split).all()


@pytest.mark.guarantee("learning.boosting.steps")
@pytest.mark.parametrize("classes", CLASSES)
def test_scores_of_the_cache_are_those_computed_again(classes):
    model = model_of(classes)
    cache = ScoreCache(model)
    blocks = [EncodedRows(codes_of(90), np.zeros(90, dtype=np.int64)) for _ in range(3)]
    for tree in range(25):
        step = step_of(classes, tree % 4, cache, model)
        for block in blocks[: 1 + tree % 3]:  # some blocks fall behind by several trees
            assert (cache.scores(block) == model.scores(block.codes)).all()
            fresh = pickle.loads(pickle.dumps(step))  # noqa: S301 - our own bytes
            assert fresh.cache is None
            assert (fresh.contributions(block).values == step.contributions(block).values).all()
        number = tree % 4
        table = GENERATOR.integers(-ONE, ONE, size=model.tables[number].shape)
        old, model = model, model.grow(number, table, np.zeros(len(table), dtype=np.int64))
        cache.grow(model, number, table)
        stale = TreeStep(old, step.leaves, cache)
        assert (
            stale.contributions(blocks[0]).values == TreeStep(old, step.leaves).contributions(blocks[0]).values
        ).all()


def test_blocks_that_nobody_holds_are_forgotten():
    cache = ScoreCache(model_of())
    block = EncodedRows(codes_of(5), np.zeros(5, dtype=np.int64))
    cache.scores(block)
    assert len(cache._blocks) == 1
    del block
    gc.collect()
    assert not cache._blocks
