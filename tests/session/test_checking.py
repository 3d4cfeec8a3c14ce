"""Verbs refuse what is no question, no table, no score and no confidence, with the way to write it."""

import pytest

import discreet as dp
from discreet.errors import ParameterError
from discreet.session.checking import asked_query, confidence_of, framed, is_batch, scored

QUERY = dp.table("visits").agg(n=dp.count())


@pytest.mark.parametrize("check", [asked_query, framed, scored])
@pytest.mark.parametrize("given", ["SELECT 1", None, 7, 1.5])
def test_something_else_is_refused_with_what_is_wanted(check, given):
    with pytest.raises(ParameterError, match=r"dp\.table"):
        check(given)


def test_what_is_wanted_is_given_back():
    table = dp.table("visits")
    assert asked_query(QUERY) is QUERY
    assert framed(table) is table
    assert scored(score := dp.score(table, by="ward")) is score


@pytest.mark.parametrize("value", [0, 1, -1, "often", None, float("nan")])
def test_a_confidence_lies_between_zero_and_one(value):
    with pytest.raises(ParameterError):
        confidence_of(value)


def test_several_questions_are_a_batch_and_one_is_none():
    assert is_batch([QUERY], weights=None, delta=None)
    assert is_batch((QUERY, QUERY), weights=[1, 2], delta=1e-9)
    assert not is_batch(QUERY, weights=None, delta=None)
