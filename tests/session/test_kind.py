"""The interface of a kind: what it must say, and what is usual; test_kinds.py has those that there are."""

from dataclasses import FrozenInstanceError
from types import SimpleNamespace

import pytest

import discreet as dp
from discreet.planner.budget.price import Price
from discreet.session.kind import QuestionKind, Request

QUERY = dp.table("t").agg(n=dp.count())
PLAN = SimpleNamespace(dataset="t")


class Recorded:
    """A pipeline that records what it is asked."""

    def __init__(self):
        self.calls = []

    def prepare(self, plan):
        self.calls.append(("prepare", plan.dataset))
        return "bound"

    def exact(self, name, prepared):
        self.calls.append(("exact", name, prepared))
        return [[7]]


class Usual(QuestionKind):
    """A kind that is prepared and run as most are."""

    accepts = source = plan = identity = words = body = restore = None


def test_a_kind_that_leaves_something_open_is_none():
    for left_open in QuestionKind.__abstractmethods__:
        partial = type("Partial", (QuestionKind,), dict.fromkeys(QuestionKind.__abstractmethods__ - {left_open}))
        with pytest.raises(TypeError, match=left_open):
            partial()
    assert QuestionKind.__abstractmethods__ == {"accepts", "source", "plan", "identity", "words", "body", "restore"}


def test_a_question_is_bound_before_it_is_run_and_the_exact_answer_is_that_of_the_engine():
    kind, pipeline = Usual(), Recorded()
    with kind.prepare(Request(QUERY, Price(1)), PLAN, pipeline) as prepared:
        assert pipeline.calls == [("prepare", "t")]
        assert kind.run(PLAN, prepared, pipeline) == [[7]]
    assert pipeline.calls[1:] == [("exact", "t", "bound")]


def test_a_request_does_not_change():
    request = Request(QUERY, Price(1))
    assert (request.method, request.weights) == (None, None)
    with pytest.raises(FrozenInstanceError):
        request.price = Price(2)
