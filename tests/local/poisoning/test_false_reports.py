"""False reports: exact influences, and simulations of what they do to estimates."""

import itertools
import math

import numpy as np
import pytest

import discreet as dp
from discreet.errors import ParameterError
from discreet.local import poisoning

ORACLES = dp.local.oracles
KINDS = {
    "krr": ORACLES.KaryResponse.calibrate,
    "unary": ORACLES.UnaryEncoding.optimal,
    "subset": ORACLES.SubsetSelection.calibrate,
    "lh": lambda size, epsilon: ORACLES.LocalHashing.calibrate(size, epsilon).bind(bytes(8), 64),
    "hadamard": ORACLES.HadamardResponse.calibrate,
    "pgr": ORACLES.ProjectiveGeometryResponse.calibrate,
}


def test_influences_are_those_of_the_literature():
    """At epsilon 1 and 1,024 values: one false report of k-ary response is worth 596 honest ones."""
    found = {kind: round(poisoning.influence(make(1024, 1)), 1) for kind, make in KINDS.items()}
    assert found == {"krr": 596.4, "unary": 3.2, "subset": 3.2, "lh": 3.3, "hadamard": 2.2, "pgr": 2.7}
    assert round(poisoning.influence(KINDS["krr"](1024, 4))) == 20


@pytest.mark.parametrize("kind", ["krr", "hadamard", "pgr", "lh", "unary", "subset"])
def test_influence_is_the_largest_change_that_any_report_makes(kind):
    oracle = KINDS[kind](6, 1)
    empty = np.zeros((64, oracle.buckets) if kind == "lh" else oracle.symbols or oracle.size, dtype=np.int64)
    base = oracle.estimate(empty, 0)
    if kind in ("unary", "subset"):
        sets = itertools.product((0, 1), repeat=6)
        reports = [np.array(bits) for bits in sets if kind == "unary" or sum(bits) == oracle.subset]
    else:
        reports = [np.eye(empty.size, dtype=np.int64)[i].reshape(empty.shape) for i in range(empty.size)]
    for targets in ((0,), (2, 5), (0, 1, 2, 3)):
        moved = max(float((oracle.estimate(each, 1) - base)[list(targets)].sum()) for each in reports)
        assert poisoning.influence(oracle, targets) == pytest.approx(moved)


def test_the_influence_on_a_mean_is_its_largest_score():
    oracle = ORACLES.DuchiResponse.calibrate(10, epsilon=1)
    assert poisoning.influence(oracle) == pytest.approx(float(max(abs(each) for each in oracle.scores)) / 10)


@pytest.mark.parametrize("targets", [[], [1, 1], [6]])
def test_targets_are_different_slots(targets):
    with pytest.raises(ParameterError):
        poisoning.influence(KINDS["krr"](6, 1), targets)


def test_hidden_false_reports_of_short_oracles_pass_and_move_the_estimate_all_the_same():
    """What no check removes; the page on poisoning says so."""
    for kind in ("unary", "subset", "hadamard", "pgr", "lh"):
        oracle, source = KINDS[kind](100, 1), dp.testing.generator(6)
        result = poisoning.simulate(oracle, np.full(100, 500), 1_000, 7, generator=source)
        expected = 1_000 * poisoning.influence(oracle)
        assert abs(result.shift - expected) < 6 * math.sqrt(1_000) * result.influence
        assert not any(each.is_suspicious for each in result.checks)
        assert f"{result.fakes:,} false reports" in str(result)


@pytest.mark.parametrize(("target", "attack"), [(100, "hidden"), (0, "loud")])
def test_simulations_of_nothing_are_refused(target, attack):
    with pytest.raises(ParameterError):
        poisoning.simulate(KINDS["krr"](100, 1), np.ones(100, dtype=np.int64), 1, target, attack=attack)


@pytest.mark.parametrize("clients", [np.full(100, 10.9), np.ones(99, dtype=np.int64), np.full(100, -1), [[1] * 100]])
def test_clients_of_a_simulation_are_whole_numbers_one_for_each_slot(clients):
    """Half a client was lost from each slot, and the honest collection was called suspicious."""
    with pytest.raises(ParameterError, match="100 whole numbers"):
        poisoning.simulate(KINDS["pgr"](100, 1), clients, fakes=0, target=7)


def test_a_simulation_without_clients_is_refused():
    with pytest.raises(ParameterError, match="number of clients"):
        poisoning.simulate(KINDS["krr"](100, 1), np.zeros(100, dtype=np.int64), 1_000, 7)
