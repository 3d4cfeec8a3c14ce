"""Simulated collections, and variances beside theory."""

import itertools
import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from discreet.errors import ParameterError
from discreet.local.oracles import (
    DuchiResponse,
    HadamardResponse,
    HybridResponse,
    KaryResponse,
    LocalHashing,
    ProjectiveGeometryResponse,
    SubsetSelection,
    UnaryEncoding,
)
from discreet.local.simulation import simulate
from fits import bound
from grids import over

SMALL = (
    KaryResponse(5, Fraction(3)),
    HadamardResponse(5, Fraction(3)),
    ProjectiveGeometryResponse(5, 3, 3, Fraction(3)),
    DuchiResponse(4, Fraction(3)),
    HybridResponse(4, 1, 3, Fraction(3), Fraction(1, 2)),
)
ORACLES = (
    KaryResponse.calibrate,
    UnaryEncoding.optimal,
    UnaryEncoding.symmetric,
    SubsetSelection.calibrate,
    HadamardResponse.calibrate,
    ProjectiveGeometryResponse.calibrate,
)


@pytest.mark.statistical(false_alarm=1e-6)
@over("oracle", SMALL)
def test_simulated_symbols_fit_the_law(samples, oracle):
    """Ten tests, each with a tenth of the rate."""
    for slot in (0, 3):
        clients = np.zeros(oracle.size, dtype=np.int64)
        clients[slot] = samples(20_000)
        counts = simulate(oracle, clients, np.random.default_rng())
        law = oracle.pmf(slot)
        assert bound((int(counts[symbol]), float(mass)) for symbol, mass in law.items()) > 1e-7


@pytest.mark.statistical(false_alarm=1e-6)
@over("oracle", (UnaryEncoding(6, Fraction(3, 4), Fraction(1, 4)), SubsetSelection(6, 2, Fraction(3))))
def test_simulated_bits_have_their_rates(samples, oracle):
    """24 tests of a number of bits, each with a rate below 4e-8."""
    number = samples(20_000)
    for slot in (0, 3):
        clients = np.zeros(oracle.size, dtype=np.int64)
        clients[slot] = number
        counts = simulate(oracle, clients, np.random.default_rng()).tolist()
        for other, count in enumerate(counts):
            rate = float(oracle.true_rate if other == slot else oracle.false_rate)
            assert bound([(count, rate), (number - count, 1 - rate)]) > 4e-8


def test_a_subset_report_has_the_right_number_of_slots():
    oracle = SubsetSelection(40, 7, Fraction(3))
    assert simulate(oracle, np.full(40, 3), np.random.default_rng()).sum() == 120 * 7


def test_local_hashing_is_counted_by_cohort():
    oracle = LocalHashing(40, 4, Fraction(3)).bind(b"abcdefgh", 9)
    counts = simulate(oracle, np.full(40, 30), np.random.default_rng())
    assert counts.shape == (9, 4)
    assert counts.sum() == 1200


@pytest.mark.full
@pytest.mark.statistical(false_alarm=1e-6)
@over(("make", "size", "epsilon"), itertools.product(ORACLES, (16, 1024), (0.5, 1, 3)))
def test_variances_are_those_of_theory(samples, make, size, epsilon):
    """At least 15,000 estimates have a variance with a relative deviation of 1.2%: the band of 8% is 6.9 of them."""
    oracle, generator = make(size, epsilon), np.random.default_rng()
    reports = 2 * math.ceil(max(200, 10 / oracle.false_rate))
    clients = np.zeros(size, dtype=np.int64)
    clients[:2] = reports // 2
    rounds = range(math.ceil(samples(15_000) / (size - 2)))
    errors = [oracle.estimate(simulate(oracle, clients, generator), reports)[2:] for _ in rounds]
    assert np.mean(np.square(errors)) / reports == pytest.approx(oracle.variance(), rel=0.08)


@pytest.mark.full
@pytest.mark.statistical(false_alarm=1e-6)
@over(("make", "epsilon"), itertools.product((*ORACLES[:3], *ORACLES[4:]), (0.5, 1, 3)))
def test_variances_of_a_domain_of_100000_are_those_of_theory(samples, make, epsilon):
    """Nearly 100,000 estimates of one collection: a relative deviation of 0.5%, and a band of 4%."""
    size = samples(100_000)
    oracle, generator = make(size, epsilon), np.random.default_rng()
    reports = 2 * math.ceil(max(200, 10 / oracle.false_rate))
    clients = np.zeros(size, dtype=np.int64)
    clients[:2] = reports // 2
    errors = oracle.estimate(simulate(oracle, clients, generator), reports)[2:]
    assert np.mean(np.square(errors)) / reports == pytest.approx(oracle.variance(), rel=0.04)


@pytest.mark.statistical(false_alarm=1e-6)
@over(("make", "epsilon"), itertools.product((DuchiResponse.calibrate, HybridResponse.calibrate), (0.5, 1, 3)))
def test_variances_of_means_are_those_of_theory(samples, make, epsilon):
    """Scores of 60,000 reports at the step of largest variance."""
    oracle = make(16, epsilon)
    slot = max((0, 8), key=oracle.variance_at)
    clients = np.zeros(17, dtype=np.int64)
    clients[slot] = samples(60_000)
    counts = simulate(oracle, clients, np.random.default_rng())
    squares = float(counts @ (oracle.scores - slot) ** 2) / counts.sum() / 8**2
    assert squares == pytest.approx(oracle.variance(), rel=0.05)


@pytest.mark.statistical(false_alarm=1e-6)
def test_a_wrong_law_is_caught(samples):
    oracle, clients = KaryResponse(5, Fraction(3)), np.array([samples(20_000), 0, 0, 0, 0])
    counts = simulate(replace(oracle, ratio=Fraction(4)), clients, np.random.default_rng())
    assert bound((int(counts[symbol]), float(mass)) for symbol, mass in oracle.pmf(0).items()) < 1e-7


def test_an_unknown_oracle_is_refused():
    with pytest.raises(TypeError):
        simulate(object(), np.ones(3), np.random.default_rng())


@over("wrong", (np.full(5, 10.9), np.ones(4, dtype=np.int64), [1, 2, 3, 4, -5], np.full((1, 5), 3), [[1], [2, 3]]))
def test_clients_are_whole_numbers_one_for_each_slot(wrong):
    with pytest.raises(ParameterError, match="5 whole numbers of at least 0"):
        simulate(KaryResponse(5, Fraction(3)), wrong, np.random.default_rng())
