"""The attack finds a copy, and shows nothing where the published rows are of other people."""

import pytest

import discreet as dp
from anonymity.linkage.attack_cases import people
from discreet.anonymity.linkage import inference
from discreet.errors import ParameterError, TypeMismatchError


def test_a_published_copy_has_a_high_risk():
    original, others = people(600, 1), people(600, 2)
    risk = inference.assess(original, original, others, learn="income", generator=dp.testing.generator(3))
    assert risk.interval[0] > 0.5
    assert risk.is_informative
    assert "a risk of" in risk.verdict


def test_rows_of_other_people_show_no_excess_over_control():
    """Fixed generators; a fresh one would fail with a probability of at most 5%."""
    original, published, others = (people(600, case) for case in (1, 2, 3))
    risk = inference.assess(original, published, others, learn="income", generator=dp.testing.generator(4))
    assert risk.interval[0] <= 0 <= risk.interval[1]
    assert "a risk of" not in risk.verdict


@pytest.mark.nightly
def test_the_interval_misses_0_as_rarely_as_stated():
    """60 independent triples of tables at 95%: more than 9 misses have a probability below 0.002."""
    misses = 0
    for case in range(60):
        tables = [people(300, 100 + 3 * case + part) for part in range(3)]
        risk = inference.assess(*tables, learn="income", attempts=300, generator=dp.testing.generator(case))
        misses += not risk.interval[0] <= 0 <= risk.interval[1]
    assert misses <= 9


def test_the_same_generator_gives_the_same_result():
    tables = [people(80, case) for case in (1, 2, 3)]
    first, second = (inference.assess(*tables, learn="income", generator=dp.testing.generator(5)) for _ in range(2))
    assert first == second


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
