"""A domain has columns in order, and the cells of marginals."""

import pytest

from discreet.synthesis.core.domain import Domain

DOMAIN = Domain({"age": 4, "sex": 3, "pay": 2})


def test_a_marginal_has_one_cell_for_each_combination_of_slots():
    assert DOMAIN.names == ("age", "sex", "pay")
    assert DOMAIN.shape(("age", "pay")) == (4, 2)
    assert DOMAIN.cells(("age", "pay")) == 8
    assert DOMAIN.cells(()) == 1


def test_columns_are_ordered_as_in_the_domain():
    assert DOMAIN.ordered(["pay", "age", "pay"]) == ("age", "pay")
    with pytest.raises(ValueError, match="does not have"):
        DOMAIN.ordered(["city"])


def test_merged_slots_are_fewer():
    assert DOMAIN.merge({"age": (0, 1, 1, 1)}).slots == {"age": 2, "sex": 3, "pay": 2}
