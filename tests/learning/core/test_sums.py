"""One person moves a sum by at most the clip, whatever the rows; what a row adds depends on that row alone."""

import math
from dataclasses import dataclass

import numpy as np
import pytest

from discreet.learning.core import lattice, sums
from discreet.learning.core.rows import EncodedRows, group_people
from discreet.learning.core.sums import LARGEST_CLIP, Contributions, people_sum

GENERATOR = np.random.default_rng(19)


@dataclass(frozen=True)
class Table:
    """A step that adds the gradient of a public logistic model to a place of every feature."""

    weights: tuple[tuple[int, ...], ...]
    clip: int = lattice.ONE
    has_distinct_places: bool = True

    @property
    def length(self):
        return sum(map(len, self.weights))

    def contributions(self, rows):
        offsets = np.cumsum([0, *map(len, self.weights[:-1])])
        scores = sum(np.asarray(w, dtype=np.int64)[rows.codes[:, j]] for j, w in enumerate(self.weights))
        gradient = rows.target * lattice.ONE - lattice.logistic(scores)
        places = rows.codes.astype(np.int64) + offsets
        return Contributions(places, np.repeat(gradient[:, None], len(self.weights), axis=1))


def table(features=3, slots=5, **more):
    weights = GENERATOR.integers(-2 * lattice.ONE, 2 * lattice.ONE, size=(features, slots)).tolist()
    return Table(tuple(map(tuple, weights)), **more)


def rows_of(number, people, features=3, slots=5):
    codes = GENERATOR.integers(0, slots, size=(number, features)).astype(np.uint16)
    target = GENERATOR.integers(0, 2, size=number).astype(np.int64)
    person = GENERATOR.integers(0, people, size=number).astype(np.int64) if people else None
    return codes, target, person


def norm(vector):
    return math.isqrt(sum(int(v) ** 2 for v in vector))


@pytest.mark.guarantee("learning.core.sums")
@pytest.mark.parametrize("rows_each", [1, 2, 7, 400])
@pytest.mark.parametrize("clip", [1, 3, 1000, lattice.ONE, 5 * lattice.ONE])
def test_a_person_moves_the_sum_by_at_most_the_clip(rows_each, clip):
    step = table(clip=clip)
    codes, target, person = rows_of(900, 60)
    theirs, labels, _ = rows_of(rows_each, 0)
    theirs[:] = theirs[0]  # all in one place, where gradients add up
    labels[:] = labels[0]
    before = people_sum(step, [group_people(codes, target, person)])
    together = np.concatenate([person, np.full(rows_each, 10**6)])
    block = group_people(np.concatenate([codes, theirs]), np.concatenate([target, labels]), together)
    moved = people_sum(step, [block]) - before
    assert sum(int(v) ** 2 for v in moved) <= clip**2


@pytest.mark.guarantee("learning.core.sums")
def test_a_sum_equals_that_of_exact_rationals():
    for _ in range(50):
        step = table(clip=int(GENERATOR.integers(1, 3 * lattice.ONE)))
        codes, target, person = rows_of(40, 9)
        expected = [0] * step.length
        for each in np.unique(person):
            block = EncodedRows(codes[person == each], target[person == each])
            places, values = step.contributions(block)
            vector = [0] * step.length
            for place, value in zip(places.ravel().tolist(), values.ravel().tolist(), strict=True):
                vector[place] += value
            vector = [max(-step.clip, min(step.clip, v)) for v in vector]
            square = sum(v * v for v in vector)
            root = math.isqrt(square) + (math.isqrt(square) ** 2 < square)
            if root > step.clip:
                vector = [(abs(v) * step.clip // root) * (1 if v > 0 else -1) for v in vector]
            expected = [a + b for a, b in zip(expected, vector, strict=True)]
        assert people_sum(step, [group_people(codes, target, person)]).tolist() == expected


@pytest.mark.guarantee("learning.core.sums")
@pytest.mark.parametrize("people", [0, 50])
def test_permuting_splitting_and_dropping_rows_changes_nobody_else(people):
    step = table()
    codes, target, person = rows_of(600, people)
    whole = people_sum(step, [group_people(codes, target, person)])
    order = GENERATOR.permutation(600)
    moved = group_people(codes[order], target[order], None if person is None else person[order])
    assert people_sum(step, [moved]).tolist() == whole.tolist()
    owner = np.arange(600) if person is None else person
    blocks = [
        group_people(codes[owner % 7 == k], target[owner % 7 == k], None if person is None else person[owner % 7 == k])
        for k in range(7)
    ]
    assert people_sum(step, blocks).tolist() == whole.tolist()
    alone = sum(people_sum(step, [block]) for block in blocks)
    assert alone.tolist() == whole.tolist()


@pytest.mark.guarantee("learning.core.sums")
def test_contributions_of_rows_are_the_same_alone_and_together():
    step = table(features=9, slots=33)
    codes, target, _ = rows_of(500, 0, features=9, slots=33)
    together = step.contributions(EncodedRows(codes, target)).values
    for i in range(0, 500, 17):
        alone = step.contributions(EncodedRows(codes[i : i + 1], target[i : i + 1])).values
        assert alone[0].tolist() == together[i].tolist()


@pytest.mark.guarantee("learning.core.sums")
def test_people_with_one_row_each_are_summed_alike_with_and_without_identifiers():
    codes, target, _ = rows_of(300, 0)
    for distinct in (True, False):
        step = table(clip=lattice.ONE // 3, has_distinct_places=distinct)
        named = group_people(codes, target, GENERATOR.permutation(300).astype(np.int64))
        assert people_sum(step, [named]).tolist() == people_sum(step, [EncodedRows(codes, target)]).tolist()


@pytest.mark.guarantee("learning.core.sums")
def test_people_whose_squares_leave_64_bits_are_clipped_exactly():
    step = table(features=40, slots=2, clip=LARGEST_CLIP)
    rows = 3_000
    codes = np.tile(np.arange(2, dtype=np.uint16)[None, :], (rows, 20))
    block = group_people(codes, np.ones(rows, dtype=np.int64), np.zeros(rows, dtype=np.int64))
    assert sum(int(v) ** 2 for v in people_sum(step, [block])) <= LARGEST_CLIP**2


def test_no_rows_sum_to_zero_and_a_clip_of_zero_is_refused():
    empty = EncodedRows(np.zeros((0, 3), dtype=np.uint16), np.zeros(0, dtype=np.int64))
    assert not people_sum(table(), [empty, empty]).any()
    with pytest.raises(ValueError, match="clip"):
        people_sum(table(clip=0), [empty])


@pytest.mark.guarantee("learning.core.sums")
@pytest.mark.parametrize("people", [0, 40, 3])
@pytest.mark.parametrize("distinct", [True, False])
def test_wide_rows_are_added_in_parts_and_the_sums_are_the_same(monkeypatch, people, distinct):
    step = table(clip=lattice.ONE // 3, has_distinct_places=distinct)
    codes, target, person = rows_of(500, people)
    block = group_people(codes, target, person)
    whole = people_sum(step, [block]).tolist()
    for entries in (1, 7, 50, 1_000):
        monkeypatch.setattr(sums, "ENTRIES_AT_ONCE", entries)
        assert people_sum(step, [block]).tolist() == whole
