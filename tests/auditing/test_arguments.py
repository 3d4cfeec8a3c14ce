"""What an audit cannot be asked is refused, with what to ask instead, before anything runs."""

import numpy as np
import pyarrow as pa
import pytest

import discreet as dp
from discreet import auditing
from discreet.auditing import arguments
from discreet.errors import ParameterError

QUERY = dp.table("t").agg(n=dp.count())
ONE = auditing.claim(epsilon=1)
ROWS = pa.table({"id": ["a", "b"], "x": [1, 2]})


def never(*_):
    raise AssertionError("it ran")


@pytest.fixture
def session():
    with dp.testing.protect(ROWS, name="t", privacy_unit="id", max_rows=1, budget=dp.Budget(epsilon=1)) as made:
        yield made


def refused(call, what, instead):
    """A refusal in all of its three parts."""
    with pytest.raises(ParameterError) as error:
        call()
    assert what in error.value.what
    assert error.value.because
    assert instead in error.value.instead


@pytest.mark.parametrize("asked", [dp.table("t"), "SELECT 1", None, dp.count()], ids=lambda asked: type(asked).__name__)
def test_a_plan_of_no_query_is_refused(session, asked):
    refused(lambda: auditing.audit_plan(asked, session), f"{type(asked).__name__} and Session", "agg(n=dp.count())")


def test_a_plan_with_its_arguments_in_the_wrong_order_or_no_catalog_is_refused(session):
    refused(lambda: auditing.audit_plan(session, QUERY), "Session and Query", "dp.count()), session)")
    refused(lambda: auditing.audit_plan(session.catalog, QUERY), "Catalog and Query", "dp.count()), session)")
    refused(lambda: auditing.audit_plan(QUERY, ROWS), "Query and Table", "dp.count()), session)")
    assert arguments.refuse_no_plan(QUERY, session) is arguments.refuse_no_plan(QUERY, session.catalog) is None


def compared(make_session=never, queries=(QUERY,), **more):
    return lambda: auditing.compare_calls(make_session, ROWS, ROWS, queries, **more)


def test_one_query_in_the_place_of_a_list_is_refused():
    refused(compared(queries=QUERY), "a query in the place of a list", "[query]")


@pytest.mark.parametrize("queries", [[QUERY, dp.table("t")], dp.table("t"), None, "SELECT 1", 7], ids=repr)
def test_questions_that_are_no_queries_are_refused(queries):
    refused(compared(queries=queries), "queries with one of type", '[dp.table("visits").agg(n=dp.count())]')


def test_questions_may_come_from_any_iterable():
    assert arguments.checked_queries(iter([QUERY])) == arguments.checked_queries((QUERY,)) == (QUERY,)
    assert arguments.checked_queries([]) == ()


def test_a_session_in_the_place_of_a_way_to_make_them_is_refused(session):
    refused(compared(session), "make_session of type Session", "lambda rows: dp.testing.protect(rows")
    refused(compared(None), "make_session of type NoneType", "lambda rows: dp.testing.protect(rows")


@pytest.mark.parametrize("calls", [[never], never, {"plot": "plot"}], ids=["list", "function", "text"])
def test_calls_that_have_no_name_or_cannot_be_made_are_refused(calls):
    refused(compared(calls=calls), "calls of type", "lambda session")


@pytest.mark.parametrize("repeats", [0, -1, 1.5, "2", True])
def test_runs_that_cannot_be_counted_are_refused(repeats):
    refused(compared(repeats=repeats), "repeats=", "repeats=10")


def guessed(pipeline=never, canaries=range(10), score=lambda *_: 0.0, claim=ONE, **more):
    return lambda: auditing.one_run(pipeline, canaries, score=score, claim=claim, **more)


@pytest.mark.parametrize("claim", [1, "epsilon 1", None, {"epsilon": 1}, type(ONE)], ids=repr)
def test_what_is_no_claim_is_refused_in_every_audit(claim):
    refused(guessed(claim=claim), "a claim of type", "auditing.claim(epsilon=1)")
    refused(lambda: auditing.compare_masses({}, {}, claim=claim), "a claim of type", "auditing.claim(epsilon=1)")
    if claim is not None:
        refused(lambda: auditing.audit(never, 0, 1, claim=claim), "a claim of type", "auditing.claim(epsilon=1)")
        laplace = dp.mechanisms.Laplace(sensitivity=1, epsilon=1)
        refused(lambda: auditing.check_masses(laplace, claim=claim), "a claim of type", "auditing.claim(epsilon=1)")


@pytest.mark.parametrize("guesses", ["all", 2.5, None, True, [5]], ids=repr)
def test_guesses_that_are_no_number_are_refused(guesses):
    refused(guessed(guesses=guesses), f"guesses={guesses!r}", 'guesses=10, or "best"')


def test_guesses_may_be_numbers_of_numpy():
    finding = guessed(list, guesses=np.int64(10))()
    assert finding.detail["tried"][0]["guesses"] == 10


@pytest.mark.parametrize("score", ["high", "1.5", None, [1.0], 1j, b"1", 10**400], ids=lambda s: type(s).__name__)
def test_scores_that_are_no_numbers_are_refused(score):
    refused(guessed(list, score=lambda *_: score), f"a score of type {type(score).__name__}", "a number")


@pytest.mark.parametrize("canaries", [1_000, None, [], iter([1])], ids=["number", "None", "none", "iterator"])
def test_canaries_that_cannot_be_counted_are_refused(canaries):
    refused(guessed(canaries=canaries), "canaries", "range(1_000)")


def test_canaries_may_be_an_array():
    assert guessed(list, np.arange(10))().detail["canaries"] == 10


@pytest.mark.parametrize("alarm", [0, 1, -0.1, "rare", None])
def test_an_alarm_that_is_no_chance_is_refused_in_every_audit(alarm):
    refused(guessed(alarm=alarm), "alarm", "alarm=")
    refused(lambda: auditing.audit(never, 0, 1, epsilon=1, alarm=alarm), "alarm", "alarm=")
