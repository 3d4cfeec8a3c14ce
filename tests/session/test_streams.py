"""A stream of the sparse vector technique keeps one protocol, with noise and without it."""

import pyarrow as pa
import pytest

import discreet as dp
from discreet.mechanisms.threshold import AboveThreshold
from discreet.session.pipeline import Pipeline
from discreet.testing import ExactPipeline
from discreet.workloads.stream import ThresholdStream

FAR = 10**6
"""Noise of scale 20 or less goes no farther than that, but for fewer than 1e-100 of runs."""


def opened(pipeline, **words) -> ThresholdStream:
    mechanism = AboveThreshold(threshold=0, epsilon=1, answers=2, **words)
    return pipeline.open_stream(None, mechanism)


@pytest.fixture(params=[Pipeline, ExactPipeline], ids=["private", "exact"])
def pipeline(request):
    return request.param


def test_answers_far_from_the_threshold_are_told_and_those_above_are_counted_down(pipeline):
    stream = opened(pipeline)
    assert stream.left == 2
    assert [reply.is_above for reply in stream.ask_many([-FAR, FAR, -FAR])] == [False, True, False]
    assert stream.left == 1


def test_it_ends_with_the_last_that_may_be_above(pipeline):
    stream = opened(pipeline)
    assert [reply.is_above for reply in stream.ask_many([FAR, -FAR, FAR, FAR, -FAR])] == [True, False, True]
    assert stream.left == 0


def test_answers_and_gaps_are_told_where_they_were_asked_for(pipeline):
    (plain,) = opened(pipeline).ask_many([FAR])
    (both,) = opened(pipeline, with_answers=True, gap=True).ask_many([FAR])
    assert (plain.answer, plain.gap) == (None, None)
    assert abs(both.answer - FAR) < FAR / 2
    assert abs(both.gap - FAR) < FAR / 2


def test_without_noise_the_threshold_itself_is_above():
    stream = opened(ExactPipeline, with_answers=True)
    assert [reply.is_above for reply in stream.ask_many([-1, 0])] == [False, True]


def test_a_closed_stream_tells_nothing(pipeline):
    stream = opened(pipeline)
    stream.close()
    assert stream.left == 0


def test_a_session_opens_its_streams_by_its_pipeline(monkeypatch):
    rows = pa.table({"id": [1]})
    with dp.protect(rows, name="t", privacy_unit="id", max_rows=1, budget=dp.Budget(epsilon=1)) as session:
        exact = ExactPipeline.open_stream
        monkeypatch.setattr(session._pipeline, "open_stream", lambda mechanism: exact(session._pipeline, mechanism))
        with session.above_threshold(threshold=1, epsilon=0.1) as vector:
            assert vector.ask(dp.table("t").agg(n=dp.count())).is_above
