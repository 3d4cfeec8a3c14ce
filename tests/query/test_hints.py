"""Words from other libraries are met with what to type here."""

import pytest

import discreet as dp
from discreet.errors import Refusal, UnknownCallError
from discreet.query import frame, hints

TABLES = {
    "module": hints.MODULE,
    "session": hints.SESSION,
    "frame": hints.FRAME,
    "grouped": hints.GROUPED,
    "query": hints.QUERY,
    "expression": hints.EXPRESSION,
}


def test_a_word_from_elsewhere_is_met_with_what_to_type():
    refusal = hints.unknown_call("module 'discreet'", "avg", hints.MODULE, ["mean"], "dp.{}")
    assert refusal.what == "module 'discreet' has no attribute 'avg'"
    assert refusal.instead == 'dp.mean("cost", bounds=(0, 5_000))'


def test_a_misspelt_name_is_met_with_the_nearest_one():
    assert hints.unknown_call("x", "tabel", {}, ["table", "_table"], "dp.{}").instead == "dp.table"
    assert hints.unknown_call("x", "zzz", {}, ["agg"], ".{}()").instead == "one of 'agg'"


@pytest.mark.parametrize("words", TABLES.values(), ids=TABLES)
def test_every_hint_has_a_reason_and_a_line(words):
    for word, hint in words.items():
        assert word.isidentifier()
        assert hint.because
        assert hint.instead
        assert not hint.because.endswith(".")


def test_no_hint_hides_a_name_that_exists():
    visits = dp.table("visits")
    query = visits.agg(n=dp.count())
    for thing, words in (
        (dp, hints.MODULE),
        (visits.group_by("ward"), hints.GROUPED),
        (query, hints.QUERY),
        (visits.age, hints.EXPRESSION),
    ):
        for word in words:
            with pytest.raises(UnknownCallError):
                getattr(thing, word)
    assert not set(hints.SESSION) & set(dir(dp.Session))
    assert not set(hints.VERBS) & set(dir(type(visits)))


@pytest.mark.parametrize("thing", [dp, dp.table("v").group_by("a"), dp.table("v").agg(n=dp.count()), dp.table("v").a])
def test_python_can_still_ask_whether_a_name_is_there(thing):
    assert not hasattr(thing, "isin")
    assert not hasattr(thing, "_repr_mimebundle_")
    assert getattr(thing, "nothing_of_the_kind", None) is None
    with pytest.raises(Refusal, match="has no attribute"):
        _ = thing.nothing_of_the_kind


@pytest.mark.parametrize(
    ("word", "ours"),
    [
        ("hist", "histogram("),
        ("histogramm", "histogram("),
        ("merge", "join("),
        ("value_counts", "group_by("),
        ("median", "agg(cost=dp.median("),
        ("hierarchies", "hierarchy("),
    ],
)
def test_a_word_called_on_a_table_is_answered_with_the_verb_that_does_it(word, ours):
    assert hints.verb(word).startswith(f"table.{ours}")


def test_every_verb_that_is_listed_is_one_of_a_table():
    methods = {name for name in dir(frame.Frame) if not name.startswith("_")}
    assert set(hints.TABLE_VERBS) == methods
    assert all(name in hints.LISTED_VERBS for name in methods)
