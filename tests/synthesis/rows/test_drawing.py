"""Columns are drawn given their parents, with whole numbers of rows in every cell."""

import time

import numpy as np
import pytest

from discreet.synthesis.rows.drawing import draw_child, draw_column, row_blocks, slot_type

RNG = np.random.default_rng(11)


def test_slots_are_held_in_the_smallest_integers():
    assert slot_type(1) == slot_type(256) == np.uint8
    assert slot_type(257) == np.uint16


def test_a_column_has_every_slot_as_often_as_expected_in_random_order():
    drawn = draw_column(np.array([0.5, 0.3, 0.2]), 1_000, RNG)
    assert np.bincount(drawn).tolist() == [500, 300, 200]
    assert (np.diff(drawn.astype(int)) != 0).sum() > 100


def test_a_child_has_every_pair_as_often_as_expected():
    parent = RNG.integers(0, 3, 10_000)
    conditional = np.array([[0.5, 0.5, 0.0], [0.1, 0.2, 0.7], [0.0, 0.0, 1.0]])
    child = draw_child(parent, conditional, RNG)
    table = np.zeros((3, 3))
    np.add.at(table, (parent, child), 1)
    assert np.abs(table - conditional * np.bincount(parent)[:, None]).max() < 1


def test_children_of_one_parent_are_independent_given_it():
    """The randomness is fixed; correlations are compared with 5 standard errors."""
    parent = RNG.integers(0, 2, 60_000)
    conditional = np.array([[0.5, 0.5], [0.3, 0.7]])
    one, other = draw_child(parent, conditional, RNG), draw_child(parent, conditional, RNG)
    for slot in range(2):
        rows = parent == slot
        assert abs(np.corrcoef(one[rows], other[rows])[0, 1]) < 5 / np.sqrt(rows.sum())


def test_a_child_is_spread_evenly_over_other_columns():
    """The fourth column is independent of the others given the parent, in every cell within a few rows."""
    parent, other, third = (RNG.integers(0, size, 40_000).astype(np.uint8) for size in (2, 5, 7))
    conditional = np.array([[0.5, 0.3, 0.2], [0.1, 0.2, 0.7]])
    drawn = [draw_child(parent, conditional, np.random.default_rng(2), some) for some in ((), (other, third))]
    errors = []
    for child in drawn:
        table = np.zeros((2, 5, 3))
        np.add.at(table, (parent, other, child), 1)
        errors.append(np.abs(table - table.sum(axis=2, keepdims=True) * conditional[:, None]).max())
    assert errors[1] < 3
    assert errors[0] > 15


def test_more_columns_than_64_bits_hold_are_left_out():
    parent = RNG.integers(0, 2, 1_000)
    others = [RNG.integers(0, 1 << 20, 1_000) for _ in range(5)]
    child = draw_child(parent, np.array([[0.5, 0.5], [1.0, 0.0]]), RNG, others)
    assert not child[parent == 1].any()


def test_no_rows_are_no_rows():
    assert draw_column(np.array([0.5, 0.5]), 0, RNG).size == 0
    assert draw_child(np.zeros(0, dtype=np.uint8), np.eye(2), RNG).size == 0


class Counter:
    """A model that only says how many rows are drawn at once."""

    def __init__(self):
        self.numbers = []

    def rows(self, number, generator):  # noqa: ARG002 - none is drawn
        self.numbers.append(number)
        return np.zeros((number, 1), dtype=np.uint8)


def test_blocks_bound_the_rows_that_are_held_at_once():
    model = Counter()
    assert sum(len(block) for block in row_blocks(model, 2_500, RNG, 1_000)) == 2_500
    assert model.numbers == [1_000, 1_000, 500]


@pytest.mark.timing
def test_a_column_of_50_000_rows_takes_a_moment():
    parent = RNG.integers(0, 100, 50_000).astype(np.uint8)
    conditional = RNG.dirichlet(np.ones(100), 100)
    start = time.process_time()
    for _ in range(14):
        draw_child(parent, conditional, RNG)
    assert time.process_time() - start < 1
