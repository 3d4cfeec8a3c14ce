"""A description has words for people and the plan that was charged; identity hangs on the plan alone."""

import pytest

from discreet.ledger.records.canonical_text import digest
from discreet.ledger.records.description import describe, plan_of, query_of

PLAN = '{"is":"Pushdown","keys":{"rows":[[1]]}}'
WORDS = ((("table", "t"), ("where", 'a = "},{"')),)


def test_the_plan_and_the_words_are_read_back():
    text = describe(WORDS, PLAN)
    assert plan_of(text) == PLAN
    assert query_of(text) == 'table: t; where: a = "},{"'
    assert query_of(text[:60]) == query_of(text), "the beginning is enough"
    assert query_of(describe((*WORDS, (("table", "u"),)), PLAN)).endswith(" | table: u")


def test_other_words_leave_the_digest_as_it_is():
    """A charge without an answer is taken over by the same plan, however it is put into words."""
    other = describe(((("table", "t, in other words"),),), PLAN)
    assert digest(plan_of(other)) == digest(plan_of(describe(WORDS, PLAN))) == digest(PLAN)


def test_descriptions_of_earlier_versions_are_plans():
    assert plan_of(PLAN) == PLAN
    assert query_of(PLAN) is None


@pytest.mark.parametrize(
    "words",
    [
        '{"sql":"select 1"}',
        "5",
        "null",
        '"select 1"',
        "[1]",
        "[[]]",
        '[["a",1]]',
        '[[["a"]]]',
        "[" * 40_000,
        '[[["a","b"',
    ],
)
def test_words_that_are_none_are_not_shown_and_break_nothing(words):
    """`Ledger.charge` takes any JSON as a description, and one charge must not break a whole history."""
    found = query_of(f'{{"query":{words},"plan":1}}')
    assert found in (None, "")
