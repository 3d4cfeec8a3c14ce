"""Exact tables give small groups away; a release answers for every key and moves odds by e^epsilon at most."""

import math
from collections import defaultdict

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from scipy.special import betaincinv

import discreet as dp
from discreet.attacks import small_groups
from discreet.errors import NameNotFoundError, ParameterError, TypeMismatchError

VISITS = pa.table(
    {
        "ward": ["A", "A", "A", "B", None, "C", "C"],
        "sex": ["f", "f", "m", "m", "f", "f", "f"],
        "cost": [10, 20, 70, 35, 99, None, 4],
    }
)
KEYS = {
    "state": dp.datasets.STATES,
    "occupation": dp.datasets.OCCUPATIONS,
    "education": dp.datasets.EDUCATIONS,
    "sex": dp.datasets.SEXES,
}
PEOPLE = dp.datasets.people(4_000)
COUNTS = small_groups.exact_table(PEOPLE, by=list(KEYS), value="income")


def protected(protect):
    return protect(PEOPLE, name="people", privacy_unit="person_id", max_rows=1, budget=dp.Budget(epsilon=1))


def told(protect, **words):
    with protected(protect) as session:
        return small_groups.against_session(
            session, COUNTS, table="people", by=list(KEYS), keys=KEYS, epsilon=1, **words
        )


def test_the_published_table_is_that_of_grouping_by_hand():
    groups = defaultdict(list)
    for row in PEOPLE.to_pylist():
        groups[tuple(row[name] for name in KEYS)].append(row["income"])
    found = {tuple(row[name] for name in KEYS): (row["n"], row["mean"]) for row in COUNTS.to_pylist()}
    assert found == {key: (len(values), pytest.approx(sum(values) / len(values))) for key, values in groups.items()}


@pytest.mark.parametrize("made", [lambda t: t, pa.Table.to_pandas], ids=["arrow", "pandas"])
def test_who_is_alone_in_a_group_has_their_value_in_the_table(made):
    counts = small_groups.exact_table(made(VISITS), by=["ward", "sex"], value="cost")
    outcome = small_groups.against_table(counts, value="mean", fewer_than=3)
    assert (outcome.groups, outcome.people, outcome.of_one) == (5, 7, 3)
    assert (outcome.small, outcome.people_in_small, outcome.given_away) == (5, 7, 3)
    assert outcome.sizes == ((1, 3), (2, 2))
    assert outcome.examples == (
        "ward 'A', sex 'm', mean 70",
        "ward 'B', sex 'm', mean 35",
        "ward (missing), sex 'f', mean 99",
    )


def test_a_missing_value_is_not_given_away():
    rows = pa.table({"ward": ["A", "B"], "cost": [None, 5]})
    outcome = small_groups.against_table(small_groups.exact_table(rows, by=["ward"], value="cost"), value="mean")
    assert (outcome.of_one, outcome.given_away) == (2, 1)


def test_a_table_of_counts_that_somebody_else_published_can_be_looked_at():
    outcome = small_groups.against_table(pd.DataFrame({"ward": ["A", "B", "C"], "people": [1, 0, 9]}), count="people")
    assert (outcome.groups, outcome.of_one, outcome.given_away) == (2, 1, None)
    assert "exact counts of 2 groups, 10 people in all" in outcome.has


def test_the_census_has_397_people_alone_by_occupation_race_sex_and_country(adult):
    counts = small_groups.exact_table(adult, by=["Occupation", "Race", "Sex", "Country"], value="Age")
    outcome = small_groups.against_table(counts, value="mean")
    assert (outcome.people, outcome.of_one, outcome.given_away) == (32_561, 397, 397)


def test_what_epsilon_would_have_done_is_that_of_the_noise():
    noise = dp.mechanisms.Laplace(sensitivity=1, epsilon=1)
    outcome = small_groups.against_table(COUNTS, value="mean")
    assert f"{100 * noise.pmf(0):.0f}% of releases" in outcome.with_epsilon
    assert f"an empty one in {100 * noise.pmf(1):.0f}%" in outcome.with_epsilon


def test_from_exact_answers_every_small_group_is_told():
    outcome = told(dp.testing.protect, value="income", bounds=(0, 10**6))
    sizes = np.array(COUNTS["n"])
    assert outcome.groups == math.prod(map(len, KEYS.values()))
    assert outcome.called == outcome.right == outcome.small == ((sizes > 0) & (sizes < 5)).sum()
    assert outcome.called_one == outcome.right_one == outcome.of_one == (sizes == 1).sum()
    assert outcome.value_error == 0
    assert "dp.testing" in outcome.with_epsilon


@pytest.mark.statistical(false_alarm=1e-5)
def test_from_a_private_release_groups_of_one_and_empty_ones_look_alike_up_to_epsilon(samples):
    """Both shares are bounded by Clopper and Pearson at 5e-6 each, so that a true claim fails with less than 1e-5."""
    outcomes = [told(dp.protect) for _ in range(samples(1))]
    outcome, shares = outcomes[0], [{size: counts for size, *counts in each.by_size} for each in outcomes]
    assert sum(groups for groups, _ in shares[0].values()) == outcome.groups
    (of_few, few), (of_many, many) = (np.sum([each[size] for each in shares], axis=0) for size in (0, 1))
    least = betaincinv(many, of_many - many + 1, 5e-6)
    most = betaincinv(few + 1, of_few - few, 1 - 5e-6)
    assert least <= math.e * most
    assert outcome.is_private
    assert outcome.precision < 1


@pytest.mark.statistical(false_alarm=1e-6)
def test_the_means_of_groups_of_one_are_far_off(samples):
    """Means over noisy counts of one in bounds of a million: a median error below 1,000 has odds below 1e-9."""
    outcomes = [told(dp.protect, value="income", bounds=(0, 10**6)) for _ in range(samples(1))]
    assert min(outcome.value_error for outcome in outcomes) > 1_000


def test_the_pictures_name_every_size():
    assert "1 person" in small_groups.against_table(COUNTS).plot().get_label()
    label = told(dp.testing.protect).plot().get_label()
    assert "empty 0 of" in label
    assert "true size 5 or more 0 of" in label


@pytest.mark.parametrize("by", ["ward", [], ["nowhere"]])
def test_columns_that_are_none_are_refused(by):
    with pytest.raises((ParameterError, NameNotFoundError)):
        small_groups.exact_table(VISITS, by=by)


@pytest.mark.parametrize("call", [small_groups.exact_table, small_groups.against_table], ids=["value", "count"])
def test_text_has_no_mean_and_is_no_count(call):
    words = {"by": ["ward"], "value": "sex"} if call is small_groups.exact_table else {"count": "sex"}
    with pytest.raises(TypeMismatchError, match="column 'sex' of type string"):
        call(VISITS, **words)


def test_values_that_are_given_away_keep_their_digits():
    counts = small_groups.exact_table(pa.table({"ward": ["A"], "cost": [2023.11]}), by=["ward"], value="cost")
    assert small_groups.against_table(counts, value="mean").examples == ("ward 'A', mean 2,023.11",)


def test_a_promise_with_a_delta_bounds_odds_but_for_it():
    with dp.protect(VISITS, name="t", privacy_unit=dp.ROW, budget=dp.Budget(epsilon=1, delta=1e-9)) as session:
        outcome = small_groups.against_session(
            session,
            small_groups.exact_table(VISITS, by=["ward"]),
            table="t",
            by=["ward"],
            keys={"ward": ["A", "B"]},
            epsilon=0.1,
        )
    assert outcome.with_epsilon.endswith("1.1 times, except for the delta of the budget")


def test_what_is_no_session_is_refused():
    with pytest.raises(ParameterError, match="a session of type NoneType"):
        small_groups.against_session(None, COUNTS, table="people", by=["sex"], epsilon=1)


def test_a_release_without_groups_is_refused():
    with dp.testing.protect(VISITS, name="t", privacy_unit=dp.ROW, budget=dp.Budget(epsilon=1)) as session:
        release = session.release(dp.table("t").agg(n=dp.count()), epsilon=1)
    with pytest.raises(ParameterError, match="without groups"):
        small_groups.against_release(release, VISITS, epsilon=1)
