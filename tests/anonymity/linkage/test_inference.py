"""Inference: tolerances, neighbours and wrong calls; `test_attack_rates` has what all attacks share."""

import pytest

import discreet as dp
from anonymity.linkage.attack_cases import people
from discreet.anonymity.linkage import inference
from discreet.errors import ParameterError, TypeMismatchError


def test_a_tolerance_counts_near_guesses_as_right():
    table = people(300, 5)
    draw = dp.testing.generator(6)
    close = inference.assess(table, people(300, 7), people(300, 8), learn="income", tolerance=20_000, generator=draw)
    exact = inference.assess(table, people(300, 7), people(300, 8), learn="income", generator=draw)
    assert close.attack.successes > exact.attack.successes


def test_several_neighbours_give_their_commonest_value_or_median():
    table = people(300, 5)
    draw = dp.testing.generator(6)
    common = inference.assess(table, table, people(300, 8), learn="sex", neighbours=5, generator=draw)
    median = inference.assess(
        table, table, people(300, 8), learn="income", neighbours=5, tolerance=9_000, generator=draw
    )
    assert common.attack.rate > 0.5
    assert median.attack.rate > 0.1


def test_a_tolerance_for_text_is_refused():
    table = people(20, 5)
    with pytest.raises(TypeMismatchError):
        inference.assess(table, table, table, learn="sex", tolerance=1)


def test_tables_without_a_column_in_common_are_refused():
    table = people(20, 1)
    other = table.rename_columns([name.upper() for name in table.column_names])
    with pytest.raises(ParameterError, match="columns that all three tables have"):
        inference.assess(table, other, table, learn="job")
    with pytest.raises(ParameterError, match="not known"):
        inference.assess(table, table, table, learn="job", known=["job"])
    with pytest.raises(ParameterError, match="one column"):
        inference.assess(table, table, table, learn=["job"])
