"""The best of a random number of runs: its event, its number of runs, and what it returns."""

import itertools
from fractions import Fraction

import pytest

import draws as record
from discreet import accounting, events, mechanisms
from discreet.errors import AccountingError, ParameterError
from discreet.mechanisms.selection.repeated import RepeatedSelection
from discreet.samplers import repetitions

RUN = events.ConcentratedEvent(0.01)


def test_the_event_holds_the_run_and_the_law():
    search = RepeatedSelection(run=RUN, gamma=0.1, eta=0)
    assert search.event() == events.RepeatedSelectionEvent(RUN, 0, Fraction(1, 10))
    assert (search.eta, search.gamma) == (0, Fraction(1, 10))


def test_a_mechanism_stands_for_its_event():
    noise = mechanisms.Laplace(sensitivity=1, epsilon=0.1)
    assert accounting.pure.epsilon(RepeatedSelection(run=noise, gamma=0.5, eta=0).event()) == Fraction(1, 5)


@pytest.mark.guarantee("mechanisms.selection.repeated")
def test_the_first_output_of_the_highest_score_is_returned(monkeypatch):
    outputs = itertools.cycle([("a", 1), ("b", 3), ("c", 3), ("d", 2)])
    monkeypatch.setattr(repetitions, "negative_binomial", lambda *_: 4)
    search = RepeatedSelection(run=RUN, gamma=0.1)
    assert search.release(lambda: next(outputs), lambda output: output[1]) == ("b", 3)


@pytest.mark.parametrize("number", [1, 2, 7])
def test_the_mechanism_runs_as_often_as_was_drawn(monkeypatch, number):
    runs = []
    monkeypatch.setattr(repetitions, "negative_binomial", lambda *_: number)
    RepeatedSelection(run=RUN, gamma=0.1).release(lambda: runs.append(1) or len(runs), lambda output: output)
    assert len(runs) == number


def test_a_run_with_a_delta_of_its_own_is_refused():
    with pytest.raises(AccountingError, match="without one"):
        RepeatedSelection(run=events.ConcentratedEvent(0.01, 1e-9), gamma=0.1)


@pytest.mark.parametrize(("eta", "gamma"), [(-1, 0.5), (1, 0), (1, 1)])
def test_a_law_outside_its_range_is_refused(eta, gamma):
    with pytest.raises(ParameterError):
        RepeatedSelection(run=RUN, gamma=gamma, eta=eta)


@pytest.mark.pitfall("B23")
@pytest.mark.draws("mechanisms.selection.repeated.RepeatedSelection")
def test_the_number_of_runs_is_drawn_by_the_law_that_is_priced(draws):
    noise = mechanisms.Laplace(sensitivity=1, epsilon=0.1)
    search = RepeatedSelection(run=noise, gamma=0.1, eta=0)
    best = search.release(lambda: noise.release(0), lambda output: output)
    law, *runs = sorted(draws.calls, key=lambda call: not isinstance(call, record.Runs))
    assert law == record.Runs(search.event().eta, search.event().gamma)
    assert runs == record.additive(events.RepeatedEvent(search.event().event, 3), [1, 1, 1])
    assert best == max(draws.returned) == 3
