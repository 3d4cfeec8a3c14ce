"""Streams: they draw what the exact probabilities say, end when they must, and share their secrets with nobody."""

import copy
import multiprocessing
import pickle
import subprocess
import sys
import threading
from fractions import Fraction

import numpy as np
import pytest
from transcripts import Gap, probability, transcripts

from discreet.errors import BudgetError, EntropyError, ParameterError, UnsupportedError
from discreet.exact.rounding import exp_down
from discreet.mechanisms.threshold import Above, AboveThreshold, Below, Stream, stream
from fits import fit

FALSE_ALARM = 1e-6
STREAMS = 1_000
SURE = 10**9  # at scales below 10^3, noise reaches it with a probability below e^-10^5


def opened(**words):
    return AboveThreshold(**({"threshold": 0, "epsilon": 1} | words)).open()


def decays_of(mechanism):
    return tuple(exp_down(-1 / Fraction(scale)) for scale in mechanism.scales.all()[:2])


@pytest.mark.statistical(false_alarm=1e-6)
@pytest.mark.parametrize("answers", [1, 2])
def test_what_streams_tell_has_the_exact_probabilities(answers, samples):
    """False-alarm rate 1e-6 for each; these are the probabilities whose ratios are within e^epsilon."""
    mechanism, questions = AboveThreshold(threshold=5, epsilon=3, answers=answers), (5, 4, 6)
    steps = [q - 5 for q in questions]
    exact = {t: probability(*decays_of(mechanism), steps[: len(t)], t) for t in transcripts(3, answers)}
    streams = (mechanism.open().ask_many(list(questions)) for _ in range(samples(STREAMS)))
    seen = [tuple(told.is_above for told in stream) for stream in streams]
    assert set(seen) <= set(exact)
    assert fit(seen, {t: float(chance) for t, chance in exact.items()}) > FALSE_ALARM


@pytest.mark.statistical(false_alarm=1e-6)
def test_gaps_have_the_exact_probabilities(samples):
    """False-alarm rate 1e-6."""
    mechanism = AboveThreshold(threshold=0, epsilon=4, gap=True)
    decays = decays_of(mechanism)
    exact = {t: probability(*decays, (0, 1)[: len(t)], t) for t in transcripts(2, 1, [Gap(g) for g in range(12)])}
    streams = (mechanism.open().ask_many([0, 1]) for _ in range(samples(STREAMS)))
    seen = (tuple(Gap(t.gap) if t.is_above else False for t in told) for told in streams)
    assert fit(seen, {t: float(chance) for t, chance in exact.items()}) > FALSE_ALARM


@pytest.mark.statistical(false_alarm=1e-6)
def test_one_by_one_and_many_at_once_draw_from_the_same_probabilities(samples):
    """False-alarm rate 1e-6: first answers one by one, whose probability is known."""
    mechanism = AboveThreshold(threshold=0, epsilon=2)
    share = mechanism.probability_above(1)
    above = (mechanism.open().ask(1).is_above for _ in range(samples(STREAMS)))
    assert fit(above, {True: share, False: 1 - share}) > FALSE_ALARM


@pytest.mark.statistical(false_alarm=1e-5)
def test_the_noise_of_the_threshold_is_kept_and_that_of_questions_is_fresh(samples):
    """False-alarm rate: one of 40 thresholds, or 160, within 30 steps at scale 10^9, or all of them on one side."""
    mechanism = AboveThreshold(threshold=0, epsilon=1, answers=1000)
    assert all(len({told.is_above for told in mechanism.open().ask_many([0] * 200)}) == 2 for _ in range(10))
    nearly_all_on_the_threshold = AboveThreshold(threshold=0, epsilon=1, shares=(1, 10**9))
    first = [nearly_all_on_the_threshold.open().ask_many([0] * 200) for _ in range(samples(40))]
    assert {len(told) for told in first} == {1, 200}


def test_answers_come_with_fresh_noise_on_the_grid():
    grid = Fraction(1, 4)
    open_stream = opened(answers=50, with_answers=True, epsilon=10, grid=grid)
    told = open_stream.ask_many([Fraction(SURE * 4 + 1, 4)] * 50)
    assert all(t.is_above and t.gap is None and t.answer % grid == 0 for t in told)
    assert len({t.answer for t in told}) > 25
    assert all(abs(t.answer - SURE) < 10**5 for t in told)


def test_gap_and_answer_may_be_shown_together():
    """They have noise of their own: equal in one stream with less than 1/4, in all of 40 with less than 1e-24."""
    streams = [opened(gap=True, with_answers=True).ask(SURE) for _ in range(40)]
    assert all(isinstance(told, Above) for told in streams)
    assert all(abs(told.gap - SURE) < 10**6 and abs(told.answer - SURE) < 10**6 for told in streams)
    assert any(told.gap != told.answer for told in streams)


def test_what_is_told_reads_as_a_condition_and_below_tells_nothing_else():
    open_stream = opened(gap=True, with_answers=True)
    below = open_stream.ask(-SURE)
    assert (below, bool(below), below.is_above, below.answer, below.gap) == (Below(), False, False, None, None)
    above = open_stream.ask(SURE)
    assert above
    assert above.is_above
    with pytest.raises(AttributeError):
        above.gap = 0
    assert repr(below) == "Below()"
    assert opened().ask(SURE) == Above(answer=None, gap=None)


@pytest.mark.pitfall("B12")
def test_after_the_last_answer_above_everything_is_refused_and_nothing_computed():
    open_stream = opened(answers=2)
    assert open_stream.left == 2
    assert [t.is_above for t in open_stream.ask_many([SURE, -SURE])] == [True, False]
    assert open_stream.left == 1
    assert [t.is_above for t in open_stream.ask_many([-SURE, SURE, SURE, SURE])] == [False, True]
    assert open_stream.left == 0
    assert open_stream.is_closed
    for ask in (open_stream.ask, open_stream.ask_many):
        with pytest.raises(BudgetError, match="closed") as refusal:
            ask("this is no number, and nobody looks at it")
        assert "open()" in refusal.value.instead


def test_a_stream_that_was_ended_answers_nothing_and_holds_no_noise():
    with opened(answers=5) as open_stream:
        open_stream.ask(0)
    assert open_stream.is_closed
    assert open_stream._limit is None
    assert open_stream._noises._drawn == []
    with pytest.raises(BudgetError):
        open_stream.ask(0)
    open_stream.close()


def test_no_questions_have_no_answers():
    open_stream = opened()
    assert open_stream.ask_many([]) == []
    assert open_stream.left == 1


@pytest.mark.parametrize("value", [0.5, 3.0, True, "7", None, np.float64(2), np.bool_(1), [1], complex(1)], ids=repr)
def test_answers_that_are_not_exact_are_refused_by_their_type_alone(value):
    open_stream = opened()
    for ask in (open_stream.ask, lambda v: open_stream.ask_many([v])):
        with pytest.raises(ParameterError, match=type(value).__name__) as refusal:
            ask(value)
        assert repr(value) not in str(refusal.value) or repr(value) in ("True", "None")
    assert open_stream.left == 1


@pytest.mark.parametrize(
    "values",
    [np.array([0.5]), np.array([[1]]), np.array([True]), "12", b"12", 7, {1}, iter([1])],
    ids=lambda value: type(value).__name__,
)
def test_what_is_no_list_of_exact_answers_is_refused(values):
    with pytest.raises(ParameterError, match="an answer of type"):
        opened().ask_many(values)


def test_answers_off_the_grid_are_refused_without_showing_them_and_before_any_of_the_others():
    open_stream = opened(grid=Fraction(1, 3), answers=3)
    with pytest.raises(ParameterError, match="whole multiple of the grid 1/3") as refusal:
        open_stream.ask_many([SURE, Fraction(86420975, 7)])
    assert "86420975" not in str(refusal.value)
    assert open_stream.left == 3
    assert open_stream.ask(Fraction(-SURE, 3)) == Below()


def test_integers_of_numpy_and_of_any_size_are_read_exactly():
    open_stream = opened(answers=10)
    assert [t.is_above for t in open_stream.ask_many(np.array([-SURE, SURE], dtype=np.int64))] == [False, True]
    assert open_stream.ask(np.uint64(2**64 - 1)).is_above
    assert open_stream.ask(10**400).is_above
    assert open_stream.ask_many((-(10**400),)) == [Below()]
    exact = opened(threshold=2**70, gap=True, epsilon=1000).ask(2**70 + 123_456_789)
    assert abs(exact.gap - 123_456_789) < 100


@pytest.mark.pitfall("B12")
@pytest.mark.parametrize("attempt", [copy.copy, copy.deepcopy, pickle.dumps, lambda s: pickle.dumps([s], protocol=0)])
def test_a_stream_cannot_be_copied_or_pickled(attempt):
    with pytest.raises(UnsupportedError, match="a copy of a stream") as refusal:
        attempt(opened())
    assert "open()" in refusal.value.instead


def test_a_stream_shows_no_noise():
    open_stream = opened(threshold=10**6, answers=3)
    assert repr(open_stream) == str(open_stream) == "Stream(left=3)"
    assert not hasattr(open_stream, "__dict__")
    assert open_stream._limit not in {open_stream.left, 0}
    with pytest.raises(AttributeError):
        open_stream.left = 10


def _ask_in_child(open_stream: Stream, pipe) -> None:
    told = []
    for attempt in (lambda: open_stream.ask(SURE), lambda: open_stream.ask_many([SURE]), open_stream.close):
        try:
            told.append(repr(attempt()))
        except UnsupportedError as refusal:
            told.append(refusal.what)
    pipe.send(told)


@pytest.mark.pitfall("B12")
@pytest.mark.skipif(sys.platform == "win32", reason="no fork")
@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")
def test_a_forked_child_cannot_use_a_stream_even_while_the_parent_holds_its_lock():
    open_stream = opened()
    here, there = multiprocessing.Pipe()
    with open_stream._lock:
        child = multiprocessing.get_context("fork").Process(target=_ask_in_child, args=(open_stream, there))
        child.start()
        assert here.poll(30)
        assert here.recv() == ["a stream in a process that did not open it"] * 3
        child.join()
    assert open_stream.ask(SURE).is_above


def test_a_stream_cannot_be_sent_to_a_new_process():
    process = multiprocessing.get_context("spawn").Process(target=print, args=(opened(),))
    with pytest.raises(UnsupportedError, match="copy of a stream"):
        process.start()


@pytest.mark.guarantee("mechanisms.threshold.above")
def test_eight_threads_are_told_of_exactly_as_many_above_as_were_charged_for():
    answers = 25
    open_stream = opened(answers=answers, epsilon=20)
    told, start = [], threading.Barrier(8)

    def asks():
        start.wait()
        for turn in range(40):
            try:
                told.extend(open_stream.ask_many([-SURE, SURE, SURE]) if turn % 2 else [open_stream.ask(SURE)])
            except BudgetError:
                return

    threads = [threading.Thread(target=asks) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert open_stream.is_closed
    assert sum(t.is_above for t in told) == answers


def test_each_draw_is_handed_out_once_and_blocks_grow_as_more_is_asked():
    noises = stream._Noises(1e6)
    taken = [noises.take(1)[0] for _ in range(5)]
    assert len(noises._drawn) == 11
    taken += noises.take(100)
    assert len(taken) == 16
    for _ in range(12):
        taken += noises.take(10**6)
    assert len(taken) == 16 + 32 + 64 + 128 + 256 + 512 + 1024 + 2048 + 4096 * 5
    assert len(set(taken[:100])) > 90


def test_an_answer_above_counts_even_where_its_noise_cannot_be_drawn(monkeypatch):
    open_stream = opened(answers=2, with_answers=True)
    open_stream.ask(-SURE)

    def fails(scale, count):
        raise EntropyError

    monkeypatch.setattr(stream.discrete, "discrete_laplace", fails)
    with pytest.raises(EntropyError):
        open_stream.ask(SURE)
    assert open_stream.left == 1


def test_watching_is_light_to_import():
    heavy = {"scipy", "pandas", "polars", "pyarrow", "dp_accounting", "matplotlib", "duckdb"}
    code = f"import sys, discreet.mechanisms.threshold; print(sorted({heavy!r} & set(sys.modules)))"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True)
    assert run.stdout.strip() == "[]"
