"""Margins tell the truth: over fresh releases they cover as often as the exact probabilities say.

Counts and sums are integers plus noise, so the coverage of a margin is a number that follows from the probabilities
themselves (97.3% for a count at epsilon 1 by row); the observed share must lie in a binomial band around it, on both
sides. Where a sum is read off two noisy measures, those probabilities are written out here. A mean is a ratio, whose
margin covers at least 95%; its band has one side. Truth is the answer of the testing session, which is the capped
value; rows are their own units here, so that no cap chooses rows.

Noise is independent over releases and over the keys of one release, so a release of 50 keys gives 50 draws. A promise
holds at most epsilon 1000, so a new dataset is registered, in memory, when one is used up.
"""

import itertools
import math
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest
from pitfalls import analyzed
from scipy.signal import fftconvolve
from scipy.stats import binom

import discreet as dp

FALSE_ALARM = 1e-6
CONFIDENCE = Fraction(95, 100)
GROUPS = 50
BOUNDS = (0, 100)

LAPLACE = dp.Budget(epsilon=1000, ceiling=1000)
GAUSSIAN = dp.Budget(epsilon=100, ceiling=100, delta=1e-7)


def people(rows):
    return pa.table({"group": [i % GROUPS for i in range(rows)], "value": [(i * 37) % 101 for i in range(rows)]})


def asked(groups, **outputs):
    table = dp.table("people")
    return (table.group_by("group", keys={"group": range(groups)}) if groups else table).agg(**outputs)


def everything(groups):
    return asked(groups, n=dp.count(), total=dp.sum("value", bounds=BOUNDS), mean=dp.mean("value", bounds=BOUNDS))


def opened(protect, rows, budget):
    words = {"privacy_unit": dp.ROW, "keys": {"group": list(range(GROUPS))}, "budget": budget, "ledger": ":memory:"}
    return protect(rows, name="people", **words)


def fresh_releases(rows, query, budget, count):
    """As many fresh releases at epsilon 1 as asked for, from as many promises as that takes."""
    each = 900
    for start in range(0, count, each):
        with opened(dp.protect, rows, budget) as session:
            for _ in range(min(each, count - start)):
                yield session.release(query, epsilon=1, fresh=True)


def covered(releases, truth, name):
    """For each value of each release, whether the truth lies within its margin."""
    exact = exact_values(truth, name)
    return [
        abs(value - right) <= margin
        for release in releases
        for value, margin, right in zip(*values_and_margins(release, name), exact, strict=True)
    ]


def values_and_margins(release, name):
    output = next(output for output in release.outputs if output.name == name)
    return output.values, output.margins


def exact_values(truth, name):
    return values_and_margins(truth, name)[0]


def assert_coverage(hits, probability):
    """Two-sided: the share of hits is the probability, but for a false-alarm rate of 1e-6."""
    low, high = binom.ppf(FALSE_ALARM / 2, len(hits), probability), binom.isf(FALSE_ALARM / 2, len(hits), probability)
    assert low <= sum(hits) <= high


def assert_coverage_at_least(hits, probability):
    assert sum(hits) >= binom.ppf(FALSE_ALARM, len(hits), probability)


def noise_of(session, query):
    """How each output that is a number plus noise is read off the noisy integers, by name."""
    private = analyzed(session, query, epsilon=1)
    return {made.name: (private.read(made)[0], made.grid) for made in private.recipes if made.kind != "mean"}


def coverage(reading, margin):
    """The probability that what is read stays within so many steps, from that of every value of its noise."""
    masses = np.ones(1)
    for times, noised in reading.parts:
        farthest = int(noised.mechanism.margin(1 - 1e-12))
        spaced = np.zeros(2 * abs(times) * farthest + 1)
        spaced[:: abs(times)] = [noised.mechanism.pmf(y) for y in range(-farthest, farthest + 1)]
        masses = fftconvolve(masses, spaced)
    middle, reach = len(masses) // 2, math.floor(margin * reading.denominator)
    return masses[max(0, middle - reach) : middle + reach + 1].sum() if reach >= 0 else 0.0


def check(rows, query, budget, count):
    with opened(dp.testing.protect, rows, budget) as exact:
        truth = exact.release(query, epsilon=1)
        noises = noise_of(exact, query)
    releases = list(fresh_releases(rows, query, budget, count))
    for name, (reading, grid) in noises.items():
        margin = values_and_margins(truth, name)[1][0] / grid
        least = margin - 1 if len(reading.parts) == 1 else 0.99 * margin - 1
        assert coverage(reading, margin) >= CONFIDENCE > coverage(reading, least)
        assert_coverage(covered(releases, truth, name), coverage(reading, margin))
    for output in truth.outputs:
        if output.kind == "mean":
            assert_coverage_at_least(covered(releases, truth, output.name), 0.95)
    return releases


@pytest.mark.statistical(false_alarm=3e-6)
@pytest.mark.parametrize("budget", [LAPLACE, GAUSSIAN], ids=["laplace", "gaussian"])
def test_margins_of_grouped_counts_sums_and_means_cover_as_often_as_their_noise_says(budget, samples):
    """2,000 draws of each: 40 releases of 50 keys. False alarms: 3 bands of 1e-6."""
    releases = check(people(20_000), everything(GROUPS), budget, samples(40))
    margins = [float(margin) for release in releases for margin in release.margin("mean")]
    assert max(margins) < BOUNDS[1] / 2


@pytest.mark.statistical(false_alarm=3e-6)
@pytest.mark.parametrize("budget", [LAPLACE, GAUSSIAN], ids=["laplace", "gaussian"])
def test_margins_of_ungrouped_counts_sums_and_means_cover_as_often_as_their_noise_says(budget, samples):
    """150 releases. False alarms: 3 bands of 1e-6."""
    check(people(1_000), everything(0), budget, samples(150))


def test_the_margin_of_a_count_at_epsilon_1_covers_973_in_a_thousand():
    with opened(dp.testing.protect, people(10), LAPLACE) as session:
        query = asked(0, n=dp.count())
        ((_, noised),) = noise_of(session, query)["n"][0].parts
        mechanism = noised.mechanism
        assert round(mechanism.coverage(mechanism.margin(CONFIDENCE)), 3) == 0.973


def test_a_margin_that_is_one_step_too_small_would_be_noticed():
    """The control: with 2,000 draws the band tells the true coverage from that of the next smaller margin."""
    mechanism = dp.mechanisms.Laplace(sensitivity=1, epsilon=1)
    margin = mechanism.margin(CONFIDENCE)
    draws = list(itertools.islice((mechanism.release(0) for _ in itertools.count()), 2_000))
    assert_coverage([abs(draw) <= margin for draw in draws], mechanism.coverage(margin))
    with pytest.raises(AssertionError):
        assert_coverage([abs(draw) <= margin - 1 for draw in draws], mechanism.coverage(margin))


@pytest.mark.nightly
@pytest.mark.statistical(false_alarm=3e-6)
@pytest.mark.parametrize(
    "query",
    [asked(0, n=dp.count()), everything(0), everything(4)],
    ids=["a count alone", "ungrouped", "grouped"],
)
def test_two_thousand_fresh_releases_cover_as_often_as_their_noise_says(query, samples):
    """2,000 fresh releases of each question. False alarms: at most 3 bands of 1e-6."""
    check(people(2_000), query, LAPLACE, samples(2_000))


@pytest.mark.full
@pytest.mark.statistical(false_alarm=3e-6)
def test_fresh_gaussian_releases_cover_as_often_as_their_noise_says(samples):
    """2,000 draws of each: 125 fresh releases of 16 keys. False alarms: 3 bands of 1e-6."""
    check(people(2_000), everything(16), GAUSSIAN, samples(125))
