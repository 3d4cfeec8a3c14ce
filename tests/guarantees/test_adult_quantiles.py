"""Medians of the Adult census: how often they are within a year of the truth, by the exact probabilities."""

from collections import Counter, defaultdict
from csv import DictReader
from fractions import Fraction

import pytest
from scipy.stats import binom

import discreet as dp
from discreet.planner.queries.quantile_methods import ByChoice
from discreet.planner.registry import plan_query

EPSILON = 0.1
T = dp.table("adult")
MEDIAN = dp.median("Age", bounds=(0, 125))


@pytest.fixture(scope="module")
def ages(adult):
    """How many people are of each age, by sex."""
    found = defaultdict(Counter)
    with adult.open(encoding="utf-8", newline="") as file:
        for row in DictReader(file):
            found[row["Sex"]][int(row["Age"])] += 1
    return {sex: [counts[age] for age in range(126)] for sex, counts in found.items()}


def opened(adult, make=dp.protect, **words):
    words = {"budget": dp.Budget(epsilon=10)} | words
    keys = {"Sex": ["Female", "Male"]}
    return make(adult, privacy_unit=dp.ROW, ledger=":memory:", keys=keys, **words)


@pytest.mark.parametrize("neighbours", ["add_remove", "replace_one"])
@pytest.mark.parametrize("delta", [0, 1e-9], ids=["pure", "delta"])
def test_a_median_age_is_within_a_year_of_the_truth_in_95_percent_of_releases(adult, ages, neighbours, delta):
    """By the exact probabilities of the mechanism that a session takes: nearly always, at epsilon 0.1."""
    counts = [sum(pair) for pair in zip(*ages.values(), strict=True)]
    with opened(adult, neighbours=neighbours, budget=dp.Budget(epsilon=10, delta=delta)) as session:
        private = _planned(session, T.agg(m=MEDIAN))
        assert isinstance(private.method, ByChoice)
        chances = private.method.selections[0].pmf(counts)
        assert sum(chances[36:39]) >= 0.9999
        assert abs(session.release(T.agg(m=MEDIAN), epsilon=EPSILON).value() - 37) <= 1


def test_a_testing_session_knows_the_truth(adult):
    with opened(adult, dp.testing.protect) as session:
        release = session.release(
            T.group_by("Sex").agg(age=dp.quantiles("Age", [0.25, 0.5, 0.75], bounds=(0, 125))), epsilon=1
        )
        assert release["age_50"] == (35, 38)
        assert session.release(T.agg(m=MEDIAN), epsilon=1).value() == 37


@pytest.mark.parametrize("delta", [0, 1e-9], ids=["pure", "delta"])
def test_medians_of_both_sexes_are_within_a_year_by_the_exact_probabilities(adult, ages, delta):
    with opened(adult, budget=dp.Budget(epsilon=10, delta=delta)) as session:
        query = T.group_by("Sex").agg(m=MEDIAN)
        selection = _planned(session, query).method.selections[0]
        for sex, truth in (("Female", 35), ("Male", 38)):
            assert sum(selection.pmf(ages[sex])[truth - 1 : truth + 2]) >= 0.99
        assert len(session.release(query, epsilon=EPSILON)) == 2


@pytest.mark.statistical(false_alarm=1e-6)
def test_nineteen_quantiles_from_one_tree_are_within_their_margins(adult, ages, samples):
    """Each margin fails once in 2,000, one of 19 once in 105, in 40 releases. False-alarm rate 1e-6."""
    many = samples(40)
    shares = [part / 20 for part in range(1, 20)]
    counts = [sum(pair) for pair in zip(*ages.values(), strict=True)]
    total, within = sum(counts), 0
    with opened(adult) as session:
        private = _planned(session, T.agg(x=dp.quantiles("Age", shares, bounds=(0, 125))))
        for _ in range(many):
            noisy = private.randomize([counts])
            off = []
            for share, output in zip(shares, private.outputs(noisy, Fraction(1999, 2000)), strict=True):
                below, target = sum(counts[: output.values[0]]), share * total
                off.append(max(0, below - target, target - below - counts[output.values[0]]) <= output.margins[0])
            within += all(off)
    assert within >= binom.ppf(1e-6, many, 1 - 19 / 2_000)


def _planned(session, query):
    return plan_query(query.plan, session.catalog, session.ledger.budget("adult"), epsilon=EPSILON)
