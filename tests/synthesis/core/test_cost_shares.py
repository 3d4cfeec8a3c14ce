"""Costs grow as cells to the power of 2/3, because the sum of expected errors is then least."""

import pytest

from discreet.synthesis.core.cost_shares import cost_weight


def test_eight_times_the_cells_cost_four_times_as_much():
    assert cost_weight(1) == 1_000
    assert cost_weight(8 * 1_000) == pytest.approx(4 * cost_weight(1_000), abs=4)


def test_weights_in_these_shares_have_a_smaller_sum_of_errors_than_others():
    cells = (3, 40, 900)

    def error(weights):
        return sum(number / (weight / sum(weights)) ** 0.5 for number, weight in zip(cells, weights, strict=True))

    least = error([cost_weight(number) for number in cells])
    assert least < error(cells)
    assert least < error([1, 1, 1])
