"""Poisoning: exact influences, checks that honest collections pass, and false reports that they find."""

import numpy as np
import pytest
from scipy.stats import binom, chi2

import discreet as dp
from discreet.errors import ParameterError
from discreet.local import poisoning
from discreet.local.poisoning import checks

ORACLES = dp.local.oracles
KINDS = {
    "krr": ORACLES.KaryResponse.calibrate,
    "unary": ORACLES.UnaryEncoding.optimal,
    "subset": ORACLES.SubsetSelection.calibrate,
    "lh": lambda size, epsilon: ORACLES.LocalHashing.calibrate(size, epsilon).bind(bytes(8), 64),
    "hadamard": ORACLES.HadamardResponse.calibrate,
    "pgr": ORACLES.ProjectiveGeometryResponse.calibrate,
}


SHAPES = {
    "one value": lambda size, clients: np.eye(size, dtype=np.int64)[1] * clients,
    "all values alike": lambda size, clients: np.full(size, clients // size),
    "a few": lambda size, clients: np.where(np.arange(size) < 3, clients // 3, 0),
}


@pytest.mark.statistical(false_alarm=1e-5)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("shape", SHAPES)
def test_honest_collections_pass_all_checks(samples, kind, shape):
    """At the default false-alarm rate of 10^-6, whatever values clients have."""
    oracle = KINDS[kind](100, 1)
    clients = SHAPES[shape](100, samples(20_000))
    counts = dp.local.simulate(oracle, clients, np.random.default_rng())
    assert [str(each) for each in poisoning.check(oracle, counts, int(clients.sum())) if each.is_suspicious] == []


def test_naive_false_reports_are_found():
    """A control with a seed: 5% of the reports are one and the same."""
    clients = np.full(100, 200)
    seen = {}
    for kind in ("krr", "unary", "hadamard", "pgr"):
        source = dp.testing.generator(5)
        result = poisoning.simulate(KINDS[kind](100, 1), clients, 2_000, 7, attack="naive", generator=source)
        seen[kind] = {each.name for each in result.checks if each.is_suspicious}
    assert seen["pgr"] >= {"honeypots", "symbols"}
    assert seen["hadamard"] >= {"rows", "symbols"}
    assert "weight" in seen["unary"]


@pytest.mark.statistical(false_alarm=1e-5)
def test_unused_codewords_are_binomial_whatever_clients_have(samples):
    for kind in ("hadamard", "pgr"):
        oracle, clients = KINDS[kind](100, 1), samples(5_000)
        chance = float(oracle.false_rate)
        for place in (0, 99):
            counts = dp.local.simulate(oracle, np.eye(100, dtype=np.int64)[place] * clients, np.random.default_rng())
            for found in poisoning.honeypots(oracle, counts):
                low = binom.cdf(found, clients, chance)
                assert min(low, 1 - low) > 1e-9


def test_unused_codewords_have_the_false_rate_exactly():
    for kind in ("hadamard", "pgr"):
        oracle = KINDS[kind](5, 1)
        for slot in range(5):
            pmf = oracle.pmf(slot)
            unused = sum(
                float(mass) * poisoning.honeypots(oracle, np.eye(oracle.symbols, dtype=np.int64)[symbol])
                for symbol, mass in pmf.items()
            )
            assert unused == pytest.approx(float(oracle.false_rate))


def test_thresholds_are_above_those_of_scipy():
    for freedom in (1, 20, 1_000):
        for rate in (1e-2, 1e-6):
            assert checks.chi_square_threshold(freedom, rate) >= chi2.isf(rate, freedom)


def test_chernoff_bounds_hold_for_binomials():
    """The probability of counts that the check calls suspicious, summed exactly."""
    for reports, chance, rate in ((50, 0.3, 1e-2), (1_000, 0.01, 1e-4)):
        counts = np.arange(reports + 1)
        flagged = [
            checks._binomial_check("one", np.array([count]), reports, chance, chance, rate).is_suspicious
            for count in counts
        ]
        assert 0 < binom.pmf(counts[flagged], reports, chance).sum() <= rate


def test_weights_of_unary_reports_have_their_law():
    oracle = ORACLES.UnaryEncoding.optimal(4, epsilon=1)
    exact = np.zeros(5)
    for outcome, mass in oracle.pmf(2).items():
        exact[len(outcome)] += float(mass)
    assert checks.weight_law(oracle) == pytest.approx(exact)
    honest = np.round(100_000 * exact).astype(np.int64)
    assert not poisoning.check_weights(oracle, honest).is_suspicious
    assert poisoning.check_weights(oracle, honest + np.array([0, 0, 0, 0, 2_000])).is_suspicious
    for wrong in (np.ones(4, dtype=np.int64), np.ones(5), np.array([0, 0, 0, 0, -1])):
        with pytest.raises(ParameterError, match="5 whole numbers"):
            poisoning.check_weights(oracle, wrong)


KRR, UNARY = KINDS["krr"](4, 1), KINDS["unary"](4, 1)
SET = ORACLES.SubsetSelection(4, 2, KRR.ratio)


@pytest.mark.parametrize(
    ("oracle", "counts", "reports"),
    [
        (KRR, np.array([2.5, 2.5, 2.5, 2.5]), 10),
        (KRR, np.array([10, 10, 10]), 30),
        (KRR, np.array([20, 20, -20, 10]), 30),
        (KRR, [[10, 10, 5, 5], [1]], 30),
        (KRR, np.array([10, 10, 5, 5]), 29),
        (KRR, np.array([True, False, False, False]), 1),
        (UNARY, np.array([10, 31, 5, 5]), 30),
        (UNARY, np.zeros((1, 1, 4), dtype=np.int64), 30),
        (SET, np.array([10, 10, 5, 5]), 30),
    ],
)
def test_counts_that_no_collection_has_are_refused(oracle, counts, reports):
    with pytest.raises(ParameterError):
        poisoning.check(oracle, counts, reports)


def test_counts_that_are_wrong_for_an_oracle_have_no_honeypots():
    with pytest.raises(ParameterError):
        poisoning.honeypots(KINDS["hadamard"](5, 1), np.ones(16))


def test_rows_of_cohorts_and_lists_are_counts_too():
    assert poisoning.check(KRR, [[10, 10, 5, 5], [10, 10, 5, 5]], 60)
    assert poisoning.check(SET, [15, 15, 15, 15], 30)
