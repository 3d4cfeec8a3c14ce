"""What every oracle has."""

from fractions import Fraction

import pytest

from discreet.errors import ParameterError
from discreet.exact.rounding import exp_down
from discreet.local import oracles
from discreet.local.oracles.randomizer import byte_width, check_slot, ratio_within
from grids import over


@over("epsilon", (Fraction(1, 1000), Fraction(1, 2), 1, Fraction(10, 3), 8, 20))
def test_the_ratio_is_the_largest_multiple_below_e_to_the_epsilon(epsilon):
    ratio = ratio_within(epsilon)
    assert ratio <= exp_down(Fraction(epsilon)) < ratio + Fraction(1, 2**20)
    assert (ratio * 2**20).denominator == 1


@over("epsilon", (0, -1, 1e-9, 20.5, float("nan"), True))
def test_epsilons_outside_the_range_are_refused(epsilon):
    with pytest.raises(ParameterError):
        ratio_within(epsilon)


def test_payloads_have_the_least_number_of_bytes():
    assert [byte_width(symbols) for symbols in (1, 2, 256, 257, 65_536, 65_537)] == [1, 1, 1, 2, 2, 3]


def test_every_kind_is_registered_and_read_from_its_json():
    made = (
        oracles.KaryResponse.calibrate(7, 1),
        oracles.UnaryEncoding.optimal(7, 1),
        oracles.SubsetSelection.calibrate(7, 1),
        oracles.LocalHashing.calibrate(7, 1),
        oracles.HadamardResponse.calibrate(7, 1),
        oracles.ProjectiveGeometryResponse.calibrate(7, 1),
        oracles.DuchiResponse.calibrate(7, 1),
        oracles.HybridResponse.calibrate(7, 1),
    )
    assert [oracle.kind for oracle in made] == list(oracles.KINDS)
    assert len({oracle.title for oracle in made}) == len(made)
    for oracle in made:
        fields = oracle.to_json()
        assert oracles.from_json(fields) == oracle
        assert oracle.event().epsilon == oracle.epsilon >= 0
        for wrong in ({**fields, "extra": 1}, {**fields, "ratio": [1, 1]}, {"kind": oracle.kind}):
            with pytest.raises(ParameterError):
                oracles.from_json(wrong)


def test_slots_and_payloads_out_of_range_are_refused():
    with pytest.raises(ParameterError):
        check_slot(5, 5)
    oracle = oracles.KaryResponse.calibrate(300, 1)
    for payload in (b"", b"\x00", b"\x01\x2c", bytes(3)):
        with pytest.raises(ParameterError, match="never sends"):
            oracle.outcome(payload)


def test_an_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError):
        _ = oracles.Rappor


def test_the_variance_for_each_report_has_what_hash_functions_cost():
    frequency, mean = oracles.KaryResponse.calibrate(7, 1), oracles.DuchiResponse.calibrate(7, 1)
    assert [frequency.report_variance(n) for n in (1, 10**6)] == [frequency.variance()] * 2
    assert [mean.report_variance(n) for n in (1, 10**6)] == [mean.variance()] * 2
    hashing = oracles.LocalHashing(7, 3, Fraction(3)).bind(bytes(8), 5)
    assert hashing.report_variance(100) == pytest.approx(hashing.variance() + 100 / (5 * 2))
