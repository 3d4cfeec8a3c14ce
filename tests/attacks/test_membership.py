"""Scores tell members from others; what they show is a lower bound on epsilon that a true claim keeps."""

import math

import numpy as np
import pyarrow as pa
import pytest
from scipy import stats

import discreet as dp
from discreet.attacks import membership
from discreet.attacks.membership import evaluate, likelihood_ratios, max_true_positive_rate
from discreet.errors import ParameterError

CERTAIN = 1 - 1e-5


@pytest.fixture
def generator():
    return dp.testing.generator(21)


def attributes(generator, rows=2_000, columns=40):
    """Independent binary attributes of many people."""
    cells = generator.random((rows, columns)) < generator.uniform(0.1, 0.9, columns)
    return pa.table({f"a{i}": cells[:, i] for i in range(columns)})


def test_rates_and_area_are_those_of_trying_every_threshold(generator):
    inside, outside = generator.integers(0, 8, 2_500).astype(float), generator.integers(0, 6, 2_000).astype(float)
    outcome = evaluate(inside, outside)
    pairs = {(float((outside >= t).mean()), float((inside >= t).mean())) for t in [*range(9), 99]}
    assert set(outcome.curve) == pairs
    wins = (inside[:, None] > outside[None, :]).mean() + 0.5 * (inside[:, None] == outside[None, :]).mean()
    assert outcome.area == pytest.approx(wins)
    assert [false for false, _ in outcome.rates] == [0.01, 0.1]
    for false, true in outcome.rates:
        assert true == max(high for low, high in pairs if low <= false)
    assert outcome.advantage == pytest.approx(max(high - low for low, high in pairs))


def test_scores_that_tell_everybody_apart_show_as_much_as_so_many_can():
    outcome = evaluate(np.arange(1_000) + 1_000.0, np.arange(1_000.0))
    assert outcome.area == 1
    assert all(true == 1 for _, true in outcome.rates)
    half = 0.025
    assert outcome.found == pytest.approx(math.log(half ** (1 / 500) / (1 - half ** (1 / 500))), rel=1e-6)


def test_scores_that_say_nothing_show_nothing(generator):
    outcome = evaluate(generator.normal(size=500), generator.normal(size=500))
    assert outcome.found == pytest.approx(0, abs=0.3)
    assert outcome.area == pytest.approx(0.5, abs=0.1)


def test_randomised_response_shows_almost_its_epsilon_and_never_more(generator):
    """The bound exceeds the true epsilon with at most 1e-5, by Clopper and Pearson; seeded, so it does not."""
    truth = math.e / (1 + math.e)
    inside, outside = (generator.random(20_000) < share for share in (truth, 1 - truth))
    outcome = evaluate(inside.astype(float), outside.astype(float), epsilon=1, confidence=CERTAIN)
    assert 0.85 < outcome.found <= 1
    assert not outcome.is_contradicted
    assert evaluate(inside.astype(float), outside.astype(float), epsilon=0.5, confidence=CERTAIN).is_contradicted


def test_a_delta_is_taken_off(generator):
    inside, outside = generator.random(4_000) < 0.3, generator.random(4_000) < 0.1
    with_delta = evaluate(inside.astype(float), outside.astype(float), delta=0.2).found
    assert with_delta < evaluate(inside.astype(float), outside.astype(float)).found
    assert with_delta == 0


def test_what_epsilon_allows_is_one_curve_with_both_of_its_sides():
    assert max_true_positive_rate(0.001, 1) == pytest.approx(0.001 * math.e)
    assert max_true_positive_rate(0.9, 1) == pytest.approx(1 - 0.1 / math.e)
    assert max_true_positive_rate(0, 1, 0.05) == pytest.approx(0.05)
    assert max_true_positive_rate(1, 1) == 1
    assert max_true_positive_rate(0.5, 0) == 0.5


def test_scores_of_one_release_show_no_epsilon():
    outcome = evaluate([3.0, 4.0, 5.0, 6.0], [1.0, 2.0, 3.0, 3.5], are_independent=False)
    assert outcome.found is None
    assert not outcome.is_contradicted
    assert "takes an epsilon" not in outcome.inference
    assert outcome.with_epsilon.endswith("in the mean over many releases")
    assert "may cross the bound by chance" in " ".join(outcome.plot().axes[0].get_xlabel().split())


def test_few_scores_show_nothing():
    outcome = evaluate([5.0], [1.0])
    assert (outcome.found, outcome.rates) == (0, ())
    assert "no rate, which takes scores of 200 who are in and 200 who are not" in outcome.inference


@pytest.mark.parametrize(("few", "places"), [(199, 0), (200, 1), (1_999, 1), (2_000, 2), (20_000, 3)])
def test_a_rate_is_stated_where_twenty_of_either_kind_stand_behind_it(few, places):
    outcome = evaluate(np.arange(20_000.0), np.arange(float(few)))
    assert len(outcome.rates) == len(evaluate(np.arange(float(few)), np.arange(20_000.0)).rates) == places
    assert outcome.with_epsilon.count(" at ") == (places or 3)


@pytest.mark.parametrize("scores", [[], [[1.0]], [math.nan], 3.0])
def test_scores_that_are_none_are_refused(scores):
    with pytest.raises(ParameterError, match="scores_in"):
        evaluate(scores, [1.0])


def test_ratios_against_exact_counts_are_those_of_the_binomial():
    people, often = 30, np.array([0.2, 0.5, 0.9])
    for count in (1, 7, 30):
        expected = stats.binom.logpmf(count - 1, people, often) - stats.binom.logpmf(count, people, often)
        assert likelihood_ratios([count] * 3, people=people, frequencies=often) == pytest.approx(expected)


def test_a_count_of_zero_excludes_whoever_would_be_in_it():
    assert likelihood_ratios([0], people=30, frequencies=[0.1])[0] < -1_000
    assert likelihood_ratios([31], people=30, frequencies=[0.1])[0] > 1_000


def test_ratios_against_noisy_counts_are_those_of_gaussians():
    people, often, noise, count = 50, 0.3, 20.0, 31.0
    spread = math.sqrt(people * often * (1 - often) + noise**2)
    expected = stats.norm.logpdf(count, people * often + 1, spread) - stats.norm.logpdf(count, people * often, spread)
    assert likelihood_ratios([count], people=people, frequencies=[often], deviation=noise)[0] == pytest.approx(expected)


def test_exact_counts_of_many_attributes_give_membership_away(generator):
    outcome = membership.against_table(
        attributes(generator), columns=[f"a{i}" for i in range(40)], people=20, runs=2_000, generator=generator
    )
    assert outcome.area > 0.85
    assert outcome.found > 2
    assert outcome.epsilon is None


@pytest.mark.statistical(false_alarm=1e-5)
@pytest.mark.parametrize("epsilon", [0.5, 4])
def test_counts_for_a_total_epsilon_never_show_more_than_it(generator, epsilon, samples):
    """The bound exceeds the true epsilon with at most 1e-5."""
    outcome = membership.against_table(
        attributes(generator, columns=5),
        columns=[f"a{i}" for i in range(5)],
        people=20,
        epsilon=epsilon,
        runs=samples(2_000),
        confidence=CERTAIN,
        generator=generator,
    )
    assert outcome.found <= epsilon
    assert not outcome.is_contradicted
    assert f"total epsilon of {epsilon}" in outcome.has


@pytest.mark.statistical(false_alarm=2e-5)
def test_exact_marginals_of_the_census_give_membership_away_and_private_ones_do_not(adult, generator, samples):
    """The bound of the private ones exceeds epsilon with at most 1e-5; areas are over ten deviations apart."""
    words = {"columns": ["Education", "Occupation", "Marital Status", "Age"], "people": 50, "runs": samples(1_500)}
    exact = membership.against_table(adult, **words, generator=generator)
    private = membership.against_table(adult, **words, epsilon=1, confidence=CERTAIN, generator=generator)
    assert exact.area > 0.7
    assert exact.found > 1
    assert private.found <= 1
    assert private.area < exact.area
    label = exact.plot(private).get_label()
    assert "exact counts, 4 columns of 50 people" in label
    assert "the most that epsilon 1 allows" in label


@pytest.mark.parametrize("protect", [dp.protect, dp.testing.protect], ids=["private", "exact"])
def test_a_session_is_asked_for_marginals_and_everybody_is_scored(generator, protect):
    rows = attributes(generator, rows=600, columns=6)
    members, others = rows.slice(0, 30), rows.slice(30)
    keys = {name: [True, False] for name in rows.column_names}
    with protect(members, name="group", privacy_unit=dp.ROW, budget=dp.Budget(epsilon=1)) as session:
        outcome = membership.against_session(session, members, others, table="group", keys=keys, epsilon=1)
        assert float(session.remaining().epsilon) == pytest.approx(0, abs=1e-9)
    assert (outcome.inside, outcome.outside, outcome.found) == (30, 570, None)
    if protect is dp.protect:
        assert outcome.epsilon == 1
    else:
        assert outcome.area > 0.55
        assert (outcome.epsilon, "exact" in outcome.has) == (None, True)


def test_values_that_were_not_asked_for_say_nothing(generator):
    rows = pa.table({"ward": ["A", "B", "Z", "A"]})
    with dp.testing.protect(rows, name="group", privacy_unit=dp.ROW, budget=dp.Budget(epsilon=1)) as session:
        outcome = membership.against_session(session, rows, rows, table="group", keys={"ward": ["A", "B"]}, epsilon=1)
    assert outcome.inside == 4


def test_a_session_that_is_asked_for_nothing_is_refused():
    with (
        dp.protect(pa.table({"a": [1]}), name="t", privacy_unit=dp.ROW, budget=dp.Budget(epsilon=1)) as session,
        pytest.raises(ParameterError, match="keys="),
    ):
        membership.against_session(session, pa.table({"a": [1]}), pa.table({"a": [1]}), table="t", keys={}, epsilon=1)


@pytest.mark.parametrize(
    "words", [{"columns": []}, {"columns": "a0"}, {"columns": ["a0"], "people": 3_000}, {"columns": ["a0"], "runs": 99}]
)
def test_groups_that_cannot_be_drawn_are_refused(generator, words):
    with pytest.raises(ParameterError):
        membership.against_table(attributes(generator, columns=1), **words)


@pytest.mark.parametrize("keys", [["ward"], None, "ward"])
def test_keys_that_are_no_lists_by_column_are_refused(keys):
    rows = pa.table({"ward": ["A"]})
    with (
        dp.protect(rows, name="t", privacy_unit=dp.ROW, budget=dp.Budget(epsilon=1)) as session,
        pytest.raises(ParameterError, match="keys="),
    ):
        membership.against_session(session, rows, rows, table="t", keys=keys, epsilon=1)


def test_what_is_no_session_is_refused():
    rows = pa.table({"ward": ["A"]})
    with pytest.raises(ParameterError, match="a session of type NoneType"):
        membership.against_session(None, rows, rows, table="t", keys={"ward": ["A"]}, epsilon=1)
