"""Local hashing."""

import hashlib
import itertools
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from discreet.errors import ParameterError
from discreet.local.oracles import KaryResponse, LocalHashing, from_json
from discreet.local.oracles.local_hashing import PRIME
from discreet.local.simulation import simulate
from grids import over
from local_laws import assert_exact_loss, assert_payloads


@pytest.mark.guarantee("local.oracles.local_hashing")
@over(("size", "epsilon"), itertools.product((8, 30), (Fraction(1, 2), Fraction(1), Fraction(3))))
def test_the_largest_likelihood_ratio_is_the_stated_one_in_every_cohort(size, epsilon):
    oracle = LocalHashing.calibrate(size, epsilon).bind(b"12345678", 20)
    mixed = [cohort for cohort in range(oracle.cohorts) if len(set(oracle.hashes(cohort).tolist())) > 1]
    assert mixed
    for cohort in mixed:
        assert_exact_loss(oracle, epsilon, cohort=cohort)
    for cohort in set(range(oracle.cohorts)) - set(mixed):
        assert oracle.pmf(0, cohort) == oracle.pmf(size - 1, cohort)


def test_hash_functions_are_those_of_the_task_and_the_cohort():
    oracle = LocalHashing(1000, 7, Fraction(3)).bind(b"abcdefgh", 300)
    for cohort in (0, 1, 299):
        digest = hashlib.sha256(b"abcdefgh" + b"hash" + cohort.to_bytes(2, "big")).digest()
        factor = 1 + int.from_bytes(digest[:8], "big") % (PRIME - 1)
        shift = int.from_bytes(digest[8:16], "big") % PRIME
        expected = [((factor * x + shift) % PRIME) % 7 for x in range(1000)]
        assert oracle.hashes(cohort).tolist() == expected
        assert [oracle.bucket(x, cohort) for x in range(1000)] == expected


def test_the_largest_slot_is_hashed_without_overflow():
    oracle = LocalHashing(2**22, 5, Fraction(3))
    factor, shift = oracle.coefficients(0)
    assert int(oracle.hashes(0)[-1]) == (factor * (2**22 - 1) + shift) % PRIME % 5
    assert (PRIME - 2) * (2**24 - 1) + PRIME < 2**63


def test_given_the_hash_a_report_is_k_ary_response_over_buckets():
    oracle = LocalHashing(50, 4, Fraction(3)).bind(b"abcdefgh", 3)
    assert oracle.pmf(9, cohort=2) == KaryResponse(4, Fraction(3)).pmf(oracle.bucket(9, 2))
    assert_payloads(oracle)


def test_the_variance_is_the_published_one():
    assert LocalHashing.calibrate(1024, 1).variance() == pytest.approx(3.69, abs=0.005)


@over("epsilon", (0.3, 1, 2, 4))
def test_calibration_has_the_least_variance_of_all_numbers_of_buckets(epsilon):
    best = LocalHashing.calibrate(1024, epsilon)
    assert all(best.variance() <= replace(best, buckets=buckets).variance() + 1e-12 for buckets in range(2, 200))


@pytest.mark.statistical(false_alarm=1e-6)
def test_the_error_has_the_part_that_more_reports_do_not_reduce(samples):
    """With 20 cohorts and 4,000 reports of one value nearly all of the error is that of hash functions.

    With ideal hash functions, the mean squared error of 200 slots in one collection has a relative deviation below
    sqrt(2/(20 * 3)) and so 1.1% over 300 collections; the band is 8%, seven of them.
    """
    generator, size, reports = np.random.default_rng(), 201, 4_000
    histogram = np.zeros(size, dtype=np.int64)
    histogram[0] = reports
    errors = []
    for _ in range(samples(300)):
        oracle = LocalHashing.calibrate(size, 1).bind(generator.bytes(8), 20)
        errors.append(oracle.estimate(simulate(oracle, histogram, generator), reports)[1:])
    theory = reports * oracle.variance() + reports**2 * oracle.floor_variance(1.0)
    assert oracle.floor_variance(1.0) * reports > 15 * oracle.variance()
    assert np.mean(np.square(errors)) == pytest.approx(theory, rel=0.08)


def test_two_stages_are_the_composed_oracle():
    oracle = LocalHashing(50, 4, Fraction(7, 2)).bind(b"abcdefgh", 3)
    both = oracle.compose({"ratio": [3, 1]})
    assert both.response == KaryResponse(4, Fraction(7, 2)).compose({"ratio": [3, 1]})
    assert both.task_id == oracle.task_id


def test_counts_have_a_row_for_each_cohort():
    oracle = LocalHashing(50, 4, Fraction(3)).bind(b"abcdefgh", 3)
    with pytest.raises(ParameterError, match="cohorts"):
        oracle.estimate(np.ones((2, 4), dtype=np.int64), 8)


def test_the_json_has_the_range_and_no_id():
    oracle = LocalHashing(50, 4, Fraction(3)).bind(b"abcdefgh", 3)
    assert oracle.to_json() == {"kind": "lh", "size": 50, "range": 4, "ratio": [3, 1]}
    assert from_json(oracle.to_json()) == LocalHashing(50, 4, Fraction(3))
