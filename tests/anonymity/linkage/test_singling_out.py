"""Singling out: descriptions and wrong calls; `test_attack_rates` has what all attacks share."""

import pyarrow as pa
import pytest

import discreet as dp
from anonymity.linkage.attack_cases import people
from discreet.anonymity.linkage import singling_out
from discreet.errors import ParameterError


def test_descriptions_are_not_found_where_all_rows_are_alike():
    table = pa.table({"sex": ["f"] * 50})
    risk = singling_out.assess(table, table, table, generator=dp.testing.generator(1))
    assert risk.attack.attempts == 0
    assert "measures nothing" in risk.verdict


def test_groups_of_different_size_are_cut_to_the_smaller_one():
    table = people(300, 5)
    risk = singling_out.assess(table, table, people(100, 6), attempts=20, generator=dp.testing.generator(1))
    assert "100 people of each group" in risk.details


def test_missing_cells_are_values_of_descriptions():
    table = pa.table({"age": [1.0, None, 3.0, 4.0], "sex": ["f", "f", None, "m"]})
    risk = singling_out.assess(table, table, table, attempts=5, generator=dp.testing.generator(1))
    assert risk.attack.successes == risk.attack.attempts == 4


def test_a_size_of_zero_is_refused():
    table = people(20, 5)
    with pytest.raises(ParameterError):
        singling_out.assess(table, table, table, size=0)


def test_tables_without_a_column_in_common_are_refused():
    table = people(20, 1)
    other = table.rename_columns([name.upper() for name in table.column_names])
    for three in ((table, other, table), (table, table, other), (other, table, table)):
        with pytest.raises(ParameterError, match="columns that all three tables have"):
            singling_out.assess(*three)
