"""The choice of an oracle."""

import itertools
from dataclasses import replace
from fractions import Fraction

import pytest

from discreet.errors import ParameterError
from discreet.local.choice import Setting, alternatives, choose, cohorts_for
from discreet.local.oracles import (
    HadamardResponse,
    KaryResponse,
    LocalHashing,
    ProjectiveGeometryResponse,
    SubsetSelection,
    UnaryEncoding,
    ratio_within,
)
from discreet.local.oracles.projective_geometry import LARGEST_TRANSFORM, points_of, primes_to
from discreet.local.report_format import HEADER_BYTES
from grids import over

SIZES = (2, 3, 16, 100, 1024, 100_000)
EPSILONS = (Fraction(1, 2), Fraction(1), Fraction(3), Fraction(5))


def every_oracle(size, epsilon):
    """All oracles with all their parameters, without the rules by which the choice leaves some out."""
    ratio = ratio_within(epsilon)
    yield KaryResponse(size, ratio)
    yield UnaryEncoding.optimal(size, epsilon)
    yield UnaryEncoding.symmetric(size, epsilon)
    yield HadamardResponse(size, ratio)
    subsets = range(1, size) if size <= 1024 else (1, 2, 3, 4, 10, 1_000, 4_742, 11_920, 26_894, 37_754)
    yield from (SubsetSelection(size, subset, ratio) for subset in subsets)
    most = 8 * max(size, 64)
    for modulus in primes_to(min(most, 2_000)):
        for dimension in range(2, 20):
            points = points_of(modulus, dimension)
            if size <= points <= most and modulus**dimension <= LARGEST_TRANSFORM:
                yield ProjectiveGeometryResponse(size, modulus, dimension, ratio)


@over(("size", "epsilon"), itertools.product(SIZES, EPSILONS))
def test_the_choice_is_the_best_oracle_that_fits_in_every_row(size, epsilon):
    oracles = [(oracle.variance(), oracle.payload_bytes + HEADER_BYTES) for oracle in every_oracle(size, epsilon)]
    for max_bytes in (32, 33, 34, 35, 40, 64, 159, 20_000):
        setting = Setting(size, epsilon, 1_000_000, max_bytes)
        best, hashing = choose(setting), LocalHashing.calibrate(size, epsilon)
        bound = hashing.bind(bytes(8), cohorts_for(hashing, setting.reports))
        least = bound.variance() + setting.reports * bound.floor_variance()
        least = min([least, *(variance for variance, length in oracles if length <= max_bytes)])
        assert best.variance <= least * (1 + 1e-12)
        assert best.report_bytes <= max_bytes


def test_the_choice_at_40_bytes():
    rows = {(2, 1): "krr", (16, 1): "subset", (16, 3): "krr", (1024, 1): "pgr", (1024, 3): "pgr", (100_000, 1): "pgr"}
    for (size, epsilon), kind in rows.items():
        assert choose(Setting(size, Fraction(epsilon), 1_000_000)).oracle.kind == kind
    assert choose(Setting(1024, Fraction(1), 1_000_000, 159)).oracle.kind == "subset"


def test_alternatives_are_sorted_and_have_all_kinds():
    found = alternatives(Setting(1024, Fraction(1), 1_000_000))
    assert [choice.variance for choice in found] == sorted(choice.variance for choice in found)
    assert {choice.oracle.kind for choice in found} == {"krr", "unary", "subset", "lh", "hadamard", "pgr"}


def test_a_mean_takes_duchi_below_epsilon_0_61_and_the_hybrid_above():
    kinds = [choose(Setting(257, Fraction(e), 1_000, is_numeric=True)).oracle.kind for e in ("0.5", "0.6", "0.62", "3")]
    assert kinds == ["duchi", "duchi", "hybrid", "hybrid"]
    assert choose(Setting(257, Fraction(3), 1_000, 32, is_numeric=True)).oracle.kind == "duchi"


def test_two_stages_have_the_symbol_oracle_of_least_composed_variance():
    setting = Setting(1024, Fraction(2), 1_000_000, 40, epsilon_second=Fraction(1))
    best = choose(setting)
    assert best.oracle.kind == "lh"
    assert {choice.oracle.kind for choice in alternatives(setting)} == {"krr", "lh"}
    decoder = best.oracle.bind(bytes(8), best.cohorts).compose(best.second)
    assert best.variance == decoder.variance() + 1_000_000 * decoder.floor_variance()
    with pytest.raises(ParameterError, match="two stages"):
        choose(replace(setting, is_numeric=True))


def test_cohorts_grow_with_reports_within_what_can_be_decoded():
    oracle = LocalHashing.calibrate(1024, 1)
    counts = [cohorts_for(oracle, reports) for reports in (1, 1_000, 10**6, 10**9)]
    assert counts == sorted(counts)
    assert counts[0] == 1
    assert counts[-1] == 2**16
    assert cohorts_for(LocalHashing.calibrate(100_000, 1), 10**9) * 100_000 <= 2**27


def test_a_shuffled_task_has_no_cohorts():
    assert "lh" not in {c.oracle.kind for c in alternatives(Setting(16, Fraction(1), 1_000, has_cohorts=False))}


def test_a_length_without_room_for_a_payload_is_refused():
    with pytest.raises(ParameterError, match="max_bytes=31"):
        choose(Setting(2, Fraction(1), 1_000, 31))


@over(("size", "epsilon"), itertools.product((2, 1_000, 2**24 - 1, 2**24), (Fraction(1, 1000), 1, 16, 17, 20)))
def test_every_size_and_epsilon_that_the_documentation_allows_has_a_choice(size, epsilon):
    assert choose(Setting(size, Fraction(epsilon), 1_000)).report_bytes <= 40
