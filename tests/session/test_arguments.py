"""Verbs refuse what is no question, no table, no score and no confidence, with the way to write it."""

import pytest

import discreet as dp
from discreet.errors import ParameterError
from discreet.query.frame import Query, relation_of
from discreet.session.arguments import asked_query, confidence_of, contest_of, framed, is_batch

QUERY = dp.table("visits").agg(n=dp.count())


@pytest.mark.parametrize("check", [asked_query, framed, lambda score: contest_of(score, ["A"])])
@pytest.mark.parametrize("given", ["SELECT 1", None, 7, 1.5])
def test_something_else_is_refused_with_what_is_wanted(check, given):
    with pytest.raises(ParameterError, match=r"dp\.table"):
        check(given)


def test_what_is_wanted_is_given_back():
    table = dp.table("visits")
    assert asked_query(QUERY) == QUERY
    assert framed(table) == relation_of(table)
    score = dp.score(table, by="ward")
    assert contest_of(score, ["A"]) == score.contest(["A"])


@pytest.mark.parametrize("plan", [dp.table("visits"), relation_of(dp.table("visits")), None, QUERY, 7])
def test_a_query_around_something_that_is_no_aggregate_is_refused(plan):
    with pytest.raises(ParameterError, match="a plan of type"):
        asked_query(Query(plan))


@pytest.mark.parametrize("value", [0, 1, -1, "often", None, float("nan")])
def test_a_confidence_lies_between_zero_and_one(value):
    with pytest.raises(ParameterError):
        confidence_of(value)


def test_several_questions_are_a_batch_and_one_is_none():
    assert is_batch([QUERY], weights=None, delta=None)
    assert is_batch((QUERY, QUERY), weights=[1, 2], delta=1e-9)
    assert not is_batch(QUERY, weights=None, delta=None)
