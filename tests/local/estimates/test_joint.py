"""Joint counts of two attributes are unbiased, and their intervals hold."""

import numpy as np
import pytest
from scipy.stats import binom

import discreet as dp
from discreet.errors import ParameterError, UnsupportedError
from discreet.local.collector.accumulator import Accumulator
from discreet.local.estimates.frequencies import estimate
from discreet.local.estimates.joint import ProductDomain, count_pairs, estimate_joint
from local_reports import bitmap_task, drawn_reports, report, symbol_reports, symbol_task

FIRST, SECOND = symbol_task(3, name="first"), symbol_task(4, name="second")
PGR = dp.local.oracles.ProjectiveGeometryResponse.calibrate(5, epsilon=1)
CLIENTS = np.array([[2_000, 0, 500, 0], [0, 1_000, 0, 0], [10, 0, 0, 1_500]])


def simulated(first, second, clients, generator):
    """Pairs of symbols: each attribute is randomised by itself."""
    table = np.zeros((first.oracle.symbols, second.oracle.symbols), dtype=np.int64)
    for (i, j), number in np.ndenumerate(clients):
        rows = generator.multinomial(number, [float(mass) for mass in first.oracle.pmf(i).values()])
        weights = [float(mass) for mass in second.oracle.pmf(j).values()]
        table += np.array([generator.multinomial(row, weights) for row in rows])
    return table


@pytest.mark.statistical(false_alarm=1e-6)
def test_the_intervals_of_a_joint_table_hold_at_once(samples):
    generator, number = np.random.default_rng(), samples(300)
    missed = 0
    for _ in range(number):
        found = estimate_joint(FIRST, SECOND, simulated(FIRST, SECOND, CLIENTS, generator))
        missed += bool(((found.low > CLIENTS) | (found.high < CLIENTS)).any())
    assert missed <= binom.isf(1e-7, number, 0.05)


@pytest.mark.statistical(false_alarm=1e-6)
def test_the_joint_table_is_unbiased_and_its_standard_errors_are_right(samples):
    generator, number = np.random.default_rng(), samples(300)
    task = dp.local.Task(dp.local.SlotDomain(size=5), "1", PGR)
    clients = np.zeros((3, 5), dtype=np.int64)
    clients[0, 0], clients[2, 4] = 3_000, 2_000
    found = [estimate_joint(FIRST, task, simulated(FIRST, task, clients, generator)) for _ in range(number)]
    estimates = np.array([each.estimates for each in found])
    errors = np.array([each.standard_errors for each in found]).mean(axis=0)
    assert (np.abs(estimates.mean(axis=0) - clients) < 6 * errors / number**0.5).all()
    assert np.abs(estimates.std(axis=0) / errors - 1).max() < 6 / (2 * number) ** 0.5


def test_the_margins_of_a_joint_table_are_the_estimates_of_each_attribute():
    table = simulated(FIRST, SECOND, CLIENTS, np.random.default_rng())
    found = estimate_joint(FIRST, SECOND, table)
    for task, axis in ((FIRST, 1), (SECOND, 0)):
        counts = table.sum(axis=axis)[None, :]
        alone = estimate(task, Accumulator.partial(task, counts, counts.sum(axis=1)))
        assert found.estimates.sum(axis=axis) == pytest.approx(alone.estimates)
    assert (found.reports, found.epsilon) == (5_010, 2)
    assert found.to_arrow().num_rows == 12


def test_pairs_count_once_and_only_if_both_reports_are_well_formed():
    one, other = symbol_reports(FIRST, 50), symbol_reports(SECOND, 50)
    pairs = list(zip(one, other, strict=True))
    bad = [(report(FIRST, 3), other[0]), (one[0], b""), (b"", b""), (report(FIRST, 1, batch=2), other[0])]
    table = count_pairs(FIRST, SECOND, [*bad, *pairs, *pairs[::2]])
    assert table.sum() == 50
    expected = np.zeros((3, 4), dtype=int)
    np.add.at(expected, ([each[-1] for each in one], [each[-1] for each in other]), 1)
    assert table.tolist() == expected.tolist()
    assert count_pairs(FIRST, SECOND, []).tolist() == np.zeros((3, 4)).tolist()


@pytest.mark.statistical(false_alarm=1e-6)
def test_pairs_of_the_product_domain_are_estimated_as_one_attribute(samples):
    pairs = ProductDomain(dp.local.SlotDomain(values=("a", "b")), dp.local.SlotDomain(size=3))
    oracle = dp.local.oracles.KaryResponse.calibrate(6, epsilon=2)
    task = dp.local.Task(pairs.domain, "2", oracle)
    slots = [pairs.slot("a", 1)] * samples(500) + [pairs.slot("b", 2)] * samples(300)
    state = dp.local.collector.count_reports(task, drawn_reports(task, slots))
    found = estimate(task, state)
    table, errors = pairs.table(found.estimates), pairs.table(found.standard_errors)
    clients = pairs.table(np.bincount(slots, minlength=6))
    assert (np.abs(table - clients) < 6 * errors).all()
    assert pairs.slot("c", 1) is None
    joint = pairs.estimate(task, state)
    assert (joint.estimates == table).all()
    assert (joint.first, list(joint.second), joint.epsilon) == (["a", "b"], [0, 1, 2], 2)
    assert joint.top(1)[0][:2] == ("a", 1)
    assert "a, 1" in repr(joint)
    with pytest.raises(ParameterError, match="another domain"):
        ProductDomain(pairs.second, pairs.second).estimate(task, state)


def test_a_joint_table_prints_its_largest_pairs_and_becomes_a_frame():
    found = estimate_joint(FIRST, SECOND, simulated(FIRST, SECOND, CLIENTS, np.random.default_rng()))
    assert found.to_pandas().columns.tolist() == ["first", "second", "estimate", "standard_error", "low", "high"]
    assert [each[:2] for each in found.top(2)] == [(0, 0), (2, 3)]
    assert "array" not in repr(found)
    assert "12 pairs of values" in repr(found)
    assert len(repr(found).splitlines()) == 12


@pytest.mark.parametrize("wrong", [("a",), b"ab", None, (b"a", b"b", b"c")])
def test_something_else_than_pairs_of_reports_is_refused(wrong):
    with pytest.raises(ParameterError, match="a client sends two reports"):
        count_pairs(FIRST, SECOND, [wrong])


def test_a_table_of_fractions_of_pairs_is_refused():
    for wrong in (np.full((3, 4), 0.5), np.array([[-1, 2, 0, 0]] * 3)):
        with pytest.raises(ParameterError, match="count_pairs"):
            estimate_joint(FIRST, SECOND, wrong)


def test_few_pairs_get_intervals_that_always_hold():
    table = np.zeros((3, 4), dtype=np.int64)
    table[0, 0] = 20
    assert estimate_joint(FIRST, SECOND, table).method == "bernstein"


def test_bitmaps_cohorts_and_other_tables_are_refused():
    with pytest.raises(UnsupportedError, match="ProductDomain"):
        count_pairs(FIRST, bitmap_task(4), [])
    with pytest.raises(UnsupportedError, match="every cohort"):
        estimate_joint(symbol_task(3, cohorts=2), SECOND, np.zeros((3, 4)))
    with pytest.raises(ParameterError, match="a row for each symbol"):
        estimate_joint(FIRST, SECOND, np.ones((4, 3), dtype=int))
    with pytest.raises(ParameterError, match="0 pairs"):
        estimate_joint(FIRST, SECOND, np.zeros((3, 4), dtype=int))
