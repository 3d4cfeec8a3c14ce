"""Linkability: halves, neighbours and wrong calls; `test_attack_rates` has what all attacks share."""

import pytest

import discreet as dp
from anonymity.linkage.attack_cases import people
from discreet.anonymity.linkage import linkability
from discreet.errors import NameNotFoundError, ParameterError


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
