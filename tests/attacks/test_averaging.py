"""Averaging works on fresh noise that nobody counts, and ends at the ledger."""

import pyarrow as pa
import pytest
from scipy.stats import binom

import discreet as dp
from discreet.attacks import averaging
from discreet.attacks.averaging import chance, repeats_to_distinguish
from discreet.attacks.outcome import best_guess
from discreet.errors import BudgetError, ParameterError

ROWS = pa.table({"age": list(range(100))})
T = dp.table("t")
OLD = T.where(T.age >= 40).agg(n=dp.count())


def session(epsilon=1, protect=dp.protect):
    return protect(ROWS, name="t", privacy_unit=dp.ROW, budget=dp.Budget(epsilon=epsilon))


def test_one_bit_at_epsilon_a_tenth_takes_about_4300_repeats():
    noise = dp.mechanisms.Laplace(sensitivity=1, epsilon=0.1)
    assert noise.standard_deviation == pytest.approx(14.14, abs=0.01)
    assert repeats_to_distinguish(noise.standard_deviation) == pytest.approx(4_300, rel=0.01)
    assert chance(noise.standard_deviation, 4_300) == pytest.approx(0.99, abs=1e-3)


def test_more_repeats_or_a_wider_gap_make_the_guess_better():
    chances = [chance(14, m) for m in (1, 10, 100, 1_000, 10_000)]
    assert chances == sorted(chances)
    assert repeats_to_distinguish(14, gap=10) < repeats_to_distinguish(14) / 90
    assert chance(0, 1) == 1
    assert repeats_to_distinguish(0) == 1


@pytest.mark.statistical(false_alarm=1e-6)
def test_averaging_reveals_the_bit_as_often_as_the_formula_says(samples):
    """300 trials at 98% or more. False-alarm rate 1e-6."""
    noise, trials = dp.mechanisms.Laplace(sensitivity=1, epsilon=1), samples(300)
    outcome = averaging.against_mechanism(noise, truth=70, trials=trials)
    answers, expected, share = outcome.curve[-1]
    assert answers == outcome.needed == pytest.approx(40, abs=2)
    assert expected >= 0.99
    assert share * trials >= binom.ppf(1e-6, trials, 0.98)
    assert outcome.curve[0][0] == 1
    assert outcome.epsilon == 1
    assert "by the formula" in outcome.inference
    assert "cost epsilon" in outcome.with_epsilon


def test_a_trial_of_too_many_draws_is_refused():
    with pytest.raises(ParameterError, match="answers in one trial"):
        averaging.against_mechanism(dp.mechanisms.Laplace(sensitivity=1, epsilon=0.01), trials=1)


def test_a_session_gives_repeats_the_stored_answer_and_the_ledger_stops_fresh_ones():
    with session() as opened:
        outcome = averaging.against_session(opened, OLD, epsilon=0.1, repeats=20, truth=60)
        assert (outcome.repeats, outcome.different) == (20, 1)
        assert outcome.answers == 10
        assert "is left of the privacy budget of epsilon 1" in outcome.refusal
        assert opened.remaining().epsilon == 0
        with pytest.raises(BudgetError):
            opened.release(OLD, epsilon=0.1, fresh=True)
        assert opened.release(OLD, epsilon=0.1).repeated
    assert outcome.bound == pytest.approx(0.731, abs=1e-3)
    assert outcome.guess < 0.56
    assert outcome.needed > 4_000
    assert "20 askings gave 1 answer" in outcome.inference
    assert "then the ledger refused" in outcome.inference


def test_repeats_cost_nothing():
    with session() as opened:
        outcome = averaging.against_session(opened, OLD, epsilon=0.1, repeats=50, most=1)
        assert float(opened.remaining().epsilon) == pytest.approx(0.9)
    assert (outcome.answers, outcome.refusal) == (1, None)
    assert "not refused" in outcome.inference


@pytest.mark.statistical(false_alarm=1e-6)
def test_the_guess_from_what_the_ledger_gives_stays_within_what_epsilon_allows(samples):
    """Ten answers for epsilon 1, 100 times: no guess is right in more than 73%. False-alarm rate 1e-6."""
    noise, trials = dp.mechanisms.Laplace(sensitivity=1, epsilon=0.1), samples(100)
    outcome = averaging.against_mechanism(noise, trials=trials, answers=10)
    assert outcome.curve[-1][2] * trials <= binom.isf(1e-6, trials, best_guess(1))


def test_a_session_for_tests_says_that_nothing_hides_the_answer():
    with session(protect=dp.testing.protect) as opened:
        outcome = averaging.against_session(opened, OLD, epsilon=0.5, truth=60)
    assert (outcome.estimate, outcome.guess) == (60, 1)
    assert "dp.testing" in outcome.with_epsilon


def test_the_bound_is_about_whether_somebody_is_there_and_grows_with_the_gap():
    with session() as opened:
        one = averaging.against_session(opened, OLD, epsilon=0.1, most=1)
        two = averaging.against_session(opened, OLD, epsilon=0.1, most=1, gap=2)
    assert "no guess of whether one person is there is right in more than 73%" in one.with_epsilon
    assert "no guess of whether 2 people are there is right in more than 88%" in two.with_epsilon
    assert "refusal" not in one.plot().get_label()
    noise = dp.mechanisms.Laplace(sensitivity=1, epsilon=1)
    assert "in more than 88%" in averaging.against_mechanism(noise, gap=2, trials=1).with_epsilon


def test_where_people_are_replaced_the_bound_is_about_what_somebody_has():
    with dp.protect(
        ROWS, name="t", privacy_unit=dp.ROW, neighbours="replace_one", budget=dp.Budget(epsilon=1)
    ) as opened:
        outcome = averaging.against_session(opened, OLD, epsilon=0.1, most=1)
    assert "which of two values one person has is right in more than 73%" in outcome.with_epsilon


def test_what_cannot_be_asked_is_refused():
    with pytest.raises(ParameterError, match="a session of type NoneType"):
        averaging.against_session(None, OLD, epsilon=0.1)
    with session() as opened, pytest.raises(ParameterError, match="a query of type NoneType"):
        averaging.against_session(opened, None, epsilon=0.1)
    with pytest.raises(ParameterError, match="a mechanism of type NoneType"):
        averaging.against_mechanism(None)


def test_the_picture_shows_where_the_ledger_refuses():
    with session() as opened:
        figure = averaging.against_session(opened, OLD, epsilon=0.25).plot()
    words = [text.get_text() for text in figure.legends[0].get_texts()]
    assert words == [
        "guessed from their mean, by the formula",
        "the most that epsilon 1 allows",
        "the ledger refuses more",
    ]
    assert "then a refusal" in figure.get_label()
