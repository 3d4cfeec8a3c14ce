"""Choosing: counts are exact, the best event wins, and a score finds what no single feature shows."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.auditing.claims import claim
from discreet.auditing.statistical.events import SCORE, Candidates, Event, LikelihoodScore, Sides
from discreet.auditing.statistical.features import Columns, Vocabulary
from discreet.auditing.statistical.outcomes import Outcomes
from discreet.testing import generator

EPSILON = claim(epsilon=1)


def sides(one, other):
    outcomes = Outcomes(one), Outcomes(other)
    vocabulary = Vocabulary.learn(*outcomes)
    return Sides(*(vocabulary.read(each) for each in outcomes))


def numbers(one, other):
    return Sides(*(Columns({"value": np.array(each, dtype=float)}, {}, len(each)) for each in (one, other)))


values = st.lists(st.sampled_from([math.nan, -math.inf, -1.0, 0.0, 0.5, 2.0, math.inf]), min_size=4, max_size=12)


@settings(deadline=None, max_examples=100)
@given(values, values)
def test_every_candidate_is_counted_as_its_event_holds(one, other):
    both = numbers(one[: len(other)], other[: len(one)])
    candidates = Candidates.among(both)
    for place in range(len(candidates.here)):
        event, here, there, runs = candidates._select(place)
        assert (here, there) == tuple(int(truths.sum()) for truths in event.on(both))
        assert runs == both.one.count


def test_categories_are_counted_too():
    both = sides(["a"] * 5 + ["b"] * 5, ["a"] * 9 + ["c"])
    candidates = Candidates.among(both)
    for place in range(len(candidates.here)):
        event, here, there, _ = candidates._select(place)
        assert (here, there) == tuple(int(truths.sum()) for truths in event.on(both))
    assert str(candidates.most_apart().event) in ("text of value == 'b'", "text of value == 'a'")


def test_the_event_that_bounds_most_is_chosen():
    rng = generator(1)
    both = numbers(rng.laplace(0, 1, 5000), rng.laplace(1, 1, 5000))
    event, here, there, runs = Candidates.among(both).highest_bound(EPSILON)
    assert event.feature == "value"
    assert 0.35 < here / runs < 0.65
    assert 0.8 < math.log(here / there) < 1.2


def test_of_an_event_and_its_complement_the_one_with_the_larger_ratio_is_taken():
    rng = generator(2)
    for promise in (EPSILON, claim(rho=0.5), claim(mu=1)):
        both = numbers(rng.laplace(0, 1, 5000), rng.laplace(1, 1, 5000))
        chosen = Candidates.among(both).highest_bound(promise)
        assert chosen.hits_here + chosen.hits_there <= chosen.runs


def test_a_rare_event_above_the_line_stands_farthest_out():
    rng = generator(3)
    here, there = rng.laplace(0, 1, 4000).round(1), rng.laplace(0.9, 1, 4000).round(1)
    here[:60] = 50.0
    assert str(Candidates.among(numbers(here, there)).farthest(EPSILON).event) in ("value >= 50", "value == 50")


def test_outcomes_that_are_all_the_same_still_give_an_event():
    both = sides([1.0] * 10, [1.0] * 10)
    assert Candidates.among(both).highest_bound(EPSILON).event.feature in ("type", "value")


def test_outcomes_without_features_give_none():
    nothing = Sides(Columns({}, {}, 10), Columns({}, {}, 10))
    assert Candidates.among(nothing).highest_bound(EPSILON) is None
    assert Candidates.among(nothing).farthest(EPSILON) is None
    assert Candidates.of_score(nothing).highest_bound(EPSILON).event.score is not None


def test_the_plainest_of_equal_events_is_named():
    both = sides([{"a": 1, "b": 2}] * 20, [{"a": 1}] * 20)
    assert str(Candidates.among(both).highest_bound(EPSILON).event) == "value['b'] present"


@pytest.mark.parametrize(
    ("event", "said"),
    [
        (Event("value", ">=", 0.5), "value >= 0.5"),
        (Event("lowest bit", "<", -53.0), "lowest bit < -53"),
        (Event("error", "==", "ValueError"), "error == 'ValueError'"),
        (Event("present value['a']", ">=", 1.0), "value['a'] present"),
        (Event("present value['a']", "<", 1.0), "value['a'] absent"),
    ],
    ids=str,
)
def test_events_are_said_in_words(event, said):
    assert str(event) == said


def test_an_event_of_a_feature_that_is_not_there_never_holds_and_its_complement_always():
    columns = Columns({}, {}, 3)
    assert Event("value", ">=", 0.0).holds(columns).tolist() == [False] * 3
    assert Event("value", "!=", 0.0).holds(columns).tolist() == [True] * 3
    assert Event("error", "==", "E").holds(columns).tolist() == [False] * 3
    assert Event("error", "!=", "E").holds(columns).tolist() == [True] * 3


def test_swapped_events_are_said_to_be_likelier_on_the_other_dataset():
    both = numbers([1, 1, 0], [0, 0, 0])
    here, there = Event("value", "<", 1.0, swapped=True).on(both)
    assert (here.sum(), there.sum()) == (3, 1)


def test_a_score_finds_what_is_spread_over_many_coordinates():
    """Each of 40 coordinates is moved by a fifth of a deviation, up or down: alone, none says much."""
    rng = generator(4)
    way = rng.choice([-1, 1], 40) * 0.2
    both = sides(rng.normal(size=(4000, 40)).round(2), (rng.normal(size=(4000, 40)) + way).round(2))
    single, joint = Candidates.among(both), Candidates.of_score(both)
    promise = claim(mu=0.1)
    alone, together = single.highest_bound(promise), joint.highest_bound(promise)
    assert together.event.feature == SCORE
    assert promise.lower_bound(together.hits_here / together.runs, together.hits_there / together.runs) > 0.8
    assert promise.lower_bound(alone.hits_here / alone.runs, alone.hits_there / alone.runs) < 0.5


def test_a_score_finds_what_is_in_neither_tail():
    rng = generator(5)
    bumps = rng.integers(0, 4, 4000) * 2 + rng.random(4000)
    both = numbers(bumps, bumps + 1)
    chosen = Candidates.of_score(both).highest_bound(EPSILON)
    assert chosen.hits_here > 0.5 * chosen.runs
    assert chosen.hits_there < 0.01 * chosen.runs


def test_a_score_is_judged_on_samples_that_it_was_not_fitted_on():
    """Where there is nothing to find, the score's event came about as often on both: 6 deviations, 2e-9."""
    rng = generator(6)
    both = sides(rng.normal(size=(2000, 40)), rng.normal(size=(2000, 40)))
    chosen = Candidates.of_score(both).most_apart()
    assert chosen.runs == 1000
    assert chosen.hits_here - chosen.hits_there < 6 * math.sqrt(500)


def test_a_score_takes_outcomes_that_it_has_never_seen():
    both = sides([1.0, "a", None, 2.0], ["b", 2.0, 3.0, "a"])
    score = LikelihoodScore.fit(both)
    vocabulary = Vocabulary(("value",))
    assert np.isfinite(score.of(vocabulary.read(Outcomes([{"new": 1}, "c", -9.0, math.nan])))).all()
    assert np.isfinite(score.of(Columns({}, {}, 2))).all()
