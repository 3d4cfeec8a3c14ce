"""Spellings of one condition are equal, and conditions that differ in one parenthesis or type are not."""

import pytest

from discreet.ledger.stores.schema.conditions import condition

SAME = [
    ("a >= 0", "((a >= 0))"),
    ("a IS NOT DISTINCT FROM b AND c = d", "((NOT (a IS DISTINCT FROM b)) AND (c = d))"),
    ("kind IN ('A', 'B')", "(kind = ANY (ARRAY['A'::text, 'B'::text]))"),
    ("is_own IN (0, 1)", "(is_own = ANY (ARRAY[0, 1]))"),
    ("(q IS NULL) = (c IS NULL) AND x IS NOT NULL", "(((q IS NULL) = (c IS NULL)) AND (x IS NOT NULL))"),
    ("a OR b OR c", "((a OR b) OR c)"),
    ("a AND b OR c", "((a AND b) OR c)"),
    ("kind = 'it''s (OR)'", "(kind = 'it''s (OR)'::text)"),
    ("NOT a = b", "(NOT (a = b))"),
]
OTHER = [
    ("a AND (b OR c)", "(a AND b) OR c"),
    ("NOT a AND b", "NOT (a AND b)"),
    ("a OR b", "a AND b"),
    ("a <= b", "a >= b"),
    ("a <= b", "a <= 0"),
    ("a = 1", "a = '1'"),
    ("kind IN ('A', 'B')", "kind IN ('A', 'B', 'C')"),
    ("kind = 'A'", "kind = 'A'::bpchar"),
    ("a <= b", "a::text <= b::text"),
    ("a <= b", "a OPERATOR(discreet.<=) b"),
    ("a IS NULL", "a IS NOT NULL"),
    ("a = (b = c)", "(a = b) = c"),
    ("a >= 0", "a >= 0 NOT VALID"),
    ("a", "f(a)"),
    ("AND", "OR"),
    ("(a", "a"),
    ("'a b' = c", "'ab' = c"),
    ("", "a"),
]


@pytest.mark.parametrize(("one", "other"), SAME)
def test_a_condition_is_the_same_in_the_words_of_the_catalogue(one, other):
    assert isinstance(condition(one), tuple)
    assert condition(one) == condition(other)


@pytest.mark.parametrize(("one", "other"), OTHER)
def test_a_condition_that_says_something_else_is_another_one(one, other):
    assert condition(one) != condition(other)


@pytest.mark.parametrize("text", ["a +", "f(a)", "a = ANY (b)", "a; b", "(" * 5_000, "a IS TRUE"])
def test_what_is_no_condition_of_the_schema_is_its_own_text(text):
    assert condition(text) == text
