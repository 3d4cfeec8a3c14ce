"""The attack finds a copy, and shows nothing where the published rows are of other people."""

import pytest

import discreet as dp
from anonymity.linkage.attack_cases import people
from discreet.anonymity.linkage import linkability
from discreet.errors import NameNotFoundError, ParameterError


def test_a_published_copy_has_a_high_risk():
    original, others = people(600, 1), people(600, 2)
    risk = linkability.assess(
        original, original, others, first=["age", "town"], second=["income", "job"], generator=dp.testing.generator(3)
    )
    assert risk.interval[0] > 0.5
    assert risk.is_informative
    assert "a risk of" in risk.verdict


def test_rows_of_other_people_show_no_excess_over_control():
    """Fixed generators; a fresh one would fail with a probability of at most 5%."""
    original, published, others = (people(600, case) for case in (1, 2, 3))
    risk = linkability.assess(
        original, published, others, first=["age", "town"], second=["income", "job"], generator=dp.testing.generator(4)
    )
    assert risk.interval[0] <= 0 <= risk.interval[1]
    assert "a risk of" not in risk.verdict


@pytest.mark.nightly
def test_the_interval_misses_0_as_rarely_as_stated():
    """60 independent triples of tables at 95%: more than 9 misses have a probability below 0.002."""
    misses = 0
    for case in range(60):
        tables = [people(300, 100 + 3 * case + part) for part in range(3)]
        risk = linkability.assess(
            *tables, first=["age", "town"], second=["income", "job"], attempts=300, generator=dp.testing.generator(case)
        )
        misses += not risk.interval[0] <= 0 <= risk.interval[1]
    assert misses <= 9


def test_the_same_generator_gives_the_same_result():
    tables = [people(80, case) for case in (1, 2, 3)]
    first, second = (
        linkability.assess(*tables, first=["age", "town"], second=["income", "job"], generator=dp.testing.generator(5))
        for _ in range(2)
    )
    assert first == second


def test_halves_with_a_column_in_common_are_refused():
    table = people(20, 5)
    with pytest.raises(ParameterError, match="without the published rows"):
        linkability.assess(table, table, table, first=["age"], second=["age", "sex"])


def test_more_neighbours_link_more_pairs():
    table, others = people(300, 5), people(300, 8)
    rates = [
        linkability.assess(
            table, table, others, first=["age"], second=["sex"], neighbours=near, generator=dp.testing.generator(9)
        ).attack.rate
        for near in (1, 60)
    ]
    assert rates[0] < rates[1]


def test_tables_without_a_column_in_common_are_refused():
    table = people(20, 1)
    other = table.rename_columns([name.upper() for name in table.column_names])
    with pytest.raises(NameNotFoundError):
        linkability.assess(table, other, table, first=["age"], second=["job"])
