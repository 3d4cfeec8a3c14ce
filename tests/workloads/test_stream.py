"""A stream of ranges answered from a public histogram: its price, its corrections, and neighbours."""

import math
from fractions import Fraction

import numpy as np
import pytest

from discreet.errors import BudgetError, ParameterError
from discreet.events import PureEvent
from discreet.workloads.stream import Online, OnlineAnswer

COUNTS = [500, 0, 0, 0, 300, 0, 0, 200]


def online(**words):
    return Online(**{"bins": 8, "total": 1000, "threshold": 100, "epsilon": 50, "corrections": 12} | words)


def test_a_stream_costs_at_most_what_was_asked_for_whatever_is_asked_of_it():
    event = online(epsilon=1).event()
    assert isinstance(event, PureEvent)
    assert Fraction(999, 1000) < event.epsilon <= 1


def test_answers_that_the_public_histogram_has_right_cost_no_correction():
    stream = online().open(COUNTS)
    for _ in range(50):
        assert stream.ask(0, 8) == OnlineAnswer(1000, corrected=False)
    assert stream.left == 12


@pytest.mark.parametrize(("lo", "hi"), [(0, 1), (1, 4)], ids=["too few", "too many"])
def test_a_wrong_answer_is_corrected_and_then_remembered(lo, hi):
    """At this epsilon noise of 200 happens less than once in 10^16 times."""
    stream = online().open(COUNTS)
    truth = sum(COUNTS[lo:hi])
    told = stream.ask(lo, hi)
    assert told.corrected
    assert abs(told.value - truth) < 200
    assert abs(stream.public(lo, hi) - max(0, told.value)) <= 1
    assert stream.ask(lo, hi) == OnlineAnswer(stream.public(lo, hi), corrected=False)
    assert stream.histogram.sum() == pytest.approx(1000)


def test_many_questions_need_few_corrections():
    """Corrections that meet the truth, of an error of at least 90 each, are at most ln(8) 1000^2 / (2 90^2).

    Each lowers the relative entropy, which starts at most at ln(8), by at least 2 (90/1000)^2 (Pinsker).
    """
    random, enough = np.random.default_rng(0), math.ceil(math.log(8) * 1000**2 / (2 * 90**2))
    stream = online(corrections=enough + 20, epsilon=2000).open(COUNTS)
    for _ in range(2000):
        lo, hi = sorted(random.choice(9, 2, replace=False).tolist())
        assert abs(stream.ask(lo, hi).value - sum(COUNTS[lo:hi])) <= 110
    assert stream.left >= 20


def test_after_the_last_correction_everything_is_refused():
    stream = online(corrections=1).open(COUNTS)
    assert stream.ask(0, 1).corrected
    with pytest.raises(BudgetError, match="closed"):
        stream.ask(0, 8)
    assert isinstance(stream.public(0, 8), int)
    assert "0 corrections" in repr(stream)


def test_a_closed_stream_answers_nothing():
    stream = online().open(COUNTS)
    stream.close()
    with pytest.raises(BudgetError):
        stream.ask(0, 1)


@pytest.mark.parametrize(("lo", "hi"), [(0, 0), (3, 2), (-1, 4), (0, 9)])
def test_ranges_outside_the_bins_are_refused(lo, hi):
    with pytest.raises(ParameterError, match="bins"):
        online().open(COUNTS).ask(lo, hi)


def test_counts_of_other_bins_are_refused():
    with pytest.raises(ParameterError, match="bins"):
        online().open([1, 2])


@pytest.mark.guarantee("workloads.stream")
def test_neighbours_tell_a_correction_with_probabilities_within_e_to_the_epsilon():
    """Exact, from the watch: the first question held from above, on counts that one unit moves by its rows."""
    made = online(epsilon=1, corrections=1, rows=2, threshold=10)
    for difference in range(-40, 60):
        one, other = (made.above_threshold.probability_above(d) for d in (difference, difference + 2))
        factor = math.exp(float(made.event().epsilon)) * (1 + 1e-12)
        assert one <= factor * other
        assert other <= factor * one
        assert 1 - one <= factor * (1 - other)
        assert 1 - other <= factor * (1 - one)


@pytest.mark.guarantee("workloads.stream")
@pytest.mark.statistical(false_alarm=1e-5)
def test_corrections_happen_as_often_as_the_watch_says(samples):
    """At least as often as from above alone, at most that and from below. False alarm: at most 1e-5 (Hoeffding)."""
    made = online(epsilon=1, corrections=1, threshold=10, total=8)
    above, below = (made.above_threshold.probability_above(sign * 12) for sign in (1, -1))
    draws = samples(1_000)
    seen = sum(made.open([13, *[0] * 7]).ask(0, 1).corrected for _ in range(draws))
    away = math.sqrt(math.log(2 / 1e-5) / (2 * draws))
    assert above - away <= seen / draws <= above + below + away
