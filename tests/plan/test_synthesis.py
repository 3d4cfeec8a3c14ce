"""A session takes synthesizers of dp.synthesis as they are, and hands private counts to them."""

from fractions import Fraction
from types import SimpleNamespace

import numpy as np
import pytest

from discreet.catalog.catalog import ColumnType
from discreet.errors import ParameterError
from discreet.plan.slots import SlotColumn
from discreet.plan.synthesis import Contribution, marginal_of, private_counts, synthesizer_tag
from discreet.synthesis.core.private_counts import ExactCounts, PrivateCounts

COLUMNS = (SlotColumn("age", ColumnType.INTEGER, edges=(0, 10, 20)), SlotColumn("sex", ColumnType.TEXT, values=("F",)))
COUNTS = {("sex",): np.array([3, 1], dtype=np.int64)}
SYNTHESIS = SimpleNamespace(columns=COLUMNS, rho=Fraction(1))


@pytest.mark.parametrize("replace_one", [False, True])
def test_the_bounds_of_a_contribution_are_those_of_its_fullest_cells(replace_one):
    contribution = Contribution(3, replace_one)
    moves = np.array([3, -3 if replace_one else 0])
    assert contribution.l1 == np.abs(moves).sum()
    assert contribution.l2_squared == (moves**2).sum()
    assert contribution.of_units == Contribution(1, replace_one)


def test_an_object_that_is_no_synthesizer_of_ours_is_refused():
    with pytest.raises(ParameterError, match="as they are"):
        synthesizer_tag(SimpleNamespace(synthesis=lambda facts: facts))


def test_private_counts_have_the_domain_of_the_columns_and_the_cost_of_the_synthesis():
    counts = private_counts(SYNTHESIS, COUNTS, Contribution(1, False), is_private=True)
    assert type(counts) is PrivateCounts
    assert counts.domain.slots == {"age": 3, "sex": 2}
    assert counts.left == 1


def test_counts_that_are_not_private_have_no_noise():
    counts = private_counts(SYNTHESIS, COUNTS, Contribution(1, False), is_private=False)
    assert type(counts) is ExactCounts
    assert counts.measure(("sex",), Fraction(1)).values.tolist() == [3, 1]


def test_a_marginal_has_the_order_of_the_table():
    assert marginal_of(["sex", "age", "sex"], COLUMNS) == ("age", "sex")
