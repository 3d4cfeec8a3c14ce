"""The attack finds a copy, and shows nothing where the published rows are of other people."""

import pyarrow as pa
import pytest

import discreet as dp
from anonymity.linkage.attack_cases import people
from discreet.anonymity.linkage import singling_out
from discreet.errors import ParameterError


def test_a_published_copy_has_a_high_risk():
    original, others = people(600, 1), people(600, 2)
    risk = singling_out.assess(original, original, others, size=2, generator=dp.testing.generator(3))
    assert risk.interval[0] > 0.5
    assert risk.is_informative
    assert "a risk of" in risk.verdict


def test_rows_of_other_people_show_no_excess_over_control():
    """Fixed generators; a fresh one would fail with a probability of at most 5%."""
    original, published, others = (people(600, case) for case in (1, 2, 3))
    risk = singling_out.assess(original, published, others, size=2, generator=dp.testing.generator(4))
    assert risk.interval[0] <= 0 <= risk.interval[1]
    assert "a risk of" not in risk.verdict


@pytest.mark.nightly
def test_the_interval_misses_0_as_rarely_as_stated():
    """60 independent triples of tables at 95%: more than 9 misses have a probability below 0.002."""
    misses = 0
    for case in range(60):
        tables = [people(300, 100 + 3 * case + part) for part in range(3)]
        risk = singling_out.assess(*tables, size=2, attempts=300, generator=dp.testing.generator(case))
        misses += not risk.interval[0] <= 0 <= risk.interval[1]
    assert misses <= 9


def test_the_same_generator_gives_the_same_result():
    tables = [people(80, case) for case in (1, 2, 3)]
    first, second = (singling_out.assess(*tables, size=2, generator=dp.testing.generator(5)) for _ in range(2))
    assert first == second


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
