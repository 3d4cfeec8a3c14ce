"""A domain has columns in order, and the cells of marginals."""

import pytest

from discreet.catalog.catalog import ColumnType
from discreet.errors import ParameterError
from discreet.plan.slots import SlotColumn
from discreet.synthesis.core.domain import MOST_ALL_CELLS, Domain, require_memory

DOMAIN = Domain({"age": 4, "sex": 3, "pay": 2})


def test_a_marginal_has_one_cell_for_each_combination_of_slots():
    assert DOMAIN.names == ("age", "sex", "pay")
    assert DOMAIN.shape(("age", "pay")) == (4, 2)
    assert DOMAIN.cells(("age", "pay")) == 8
    assert DOMAIN.cells(()) == 1


def test_columns_with_slots_have_a_domain():
    columns = (
        SlotColumn("sex", ColumnType.TEXT, values=("F", "M")),
        SlotColumn("ok", ColumnType.BOOLEAN, values=(True,)),
    )
    assert Domain.of(columns) == Domain({"sex": 3, "ok": 2})


def test_columns_are_ordered_as_in_the_domain():
    assert DOMAIN.ordered(["pay", "age", "pay"]) == ("age", "pay")
    with pytest.raises(ValueError, match="does not have"):
        DOMAIN.ordered(["city"])


def test_merged_slots_are_fewer():
    assert DOMAIN.merge({"age": (0, 1, 1, 1)}).slots == {"age": 2, "sex": 3, "pay": 2}


def test_a_synthesis_without_columns_or_with_too_many_cells_is_refused():
    require_memory("a synthesis", Domain({"a": 2}), [("a",)])
    with pytest.raises(ParameterError, match="needs a column"):
        require_memory("a synthesis", Domain({}), [])
    wide = Domain({"a": MOST_ALL_CELLS, "b": 2})
    with pytest.raises(ParameterError, match="in memory"):
        require_memory("a synthesis", wide, [("a", "b")])
