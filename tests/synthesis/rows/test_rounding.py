"""Expected counts become whole numbers that add up, in rows exactly and in columns nearly."""

import numpy as np
import pytest

from discreet.synthesis.rows.rounding import normalise, round_counts, round_table

RNG = np.random.default_rng(7)


@pytest.mark.parametrize("number", [0, 1, 2, 7, 1_000])
def test_counts_add_to_the_number_and_are_rounded_down_or_up(number):
    probabilities = np.array([0.5, 0.25, 0.2, 0.05, 0.0])
    counts = round_counts(probabilities, number, RNG)
    assert counts.sum() == number
    assert np.abs(counts - number * probabilities).max() < 1
    assert counts[-1] == 0


def test_without_any_probability_all_slots_are_equal():
    assert round_counts(np.zeros(4), 8, RNG).tolist() == [2, 2, 2, 2]


def test_improbable_slots_get_as_many_rows_as_they_should_in_a_small_table():
    probabilities = np.append(np.full(5, 0.1), np.full(1_000, 0.0005))
    rare = [round_counts(probabilities, 100, np.random.default_rng(number))[5:].sum() for number in range(200)]
    assert 49 <= min(rare) <= max(rare) <= 51


def test_a_slot_without_probability_gets_no_row():
    for number in range(200):
        counts = round_counts(np.array([0.0, 0.1, 0.2, 0.7, 0.0]), 7, np.random.default_rng(number))
        assert counts[0] == counts[-1] == 0


@pytest.mark.parametrize("scale", [3, 40, 5_000])
def test_every_cell_of_a_table_is_rounded_down_or_up_and_columns_keep_their_totals(scale):
    conditional = RNG.dirichlet(np.full(12, 0.4), 30)
    conditional[:, 3] = 0
    conditional /= conditional.sum(axis=1, keepdims=True)
    totals = RNG.integers(0, scale, 30)
    table = round_table(conditional, totals, RNG)
    expected = conditional * totals[:, None]
    assert (table.sum(axis=1) == totals).all()
    assert np.abs(table - expected).max() < 1
    assert not table[:, 3].any()
    assert np.abs(table.sum(axis=0) - expected.sum(axis=0)).max() < 2


def test_a_row_of_zeros_stands_for_the_mean_of_the_others():
    rows = normalise(np.array([[1.0, 3.0], [0.0, 0.0], [1.0, 1.0]]), np.array([1, 5, 3]))
    assert rows[0] == pytest.approx([0.25, 0.75])
    assert rows[1] == pytest.approx([(0.25 + 1.5) / 4, (0.75 + 1.5) / 4])
    assert normalise(np.zeros((2, 4))) == pytest.approx(np.full((2, 4), 0.25))
