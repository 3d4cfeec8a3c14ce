"""What a watch and its questions are, by public facts: price, name, sensitivity of each key on its own."""

from fractions import Fraction

import pyarrow as pa
import pytest

import discreet as dp
from discreet.analysis.watching import analyze_watch, analyze_watched
from discreet.errors import UnboundedError

T = dp.table("t")
ROWS = pa.table({"id": ["a", "a", "b"], "x": [1, 2, 1]})
WORDS = {"threshold": 10, "answers": 1}


@pytest.fixture
def session():
    with dp.testing.protect(
        ROWS, name="t", privacy_unit="id", max_rows=5, keys={"x": [1, 2, 3]}, budget=dp.Budget(epsilon=2)
    ) as opened:
        yield opened


def watch(session, **words):
    return analyze_watch("t", session.catalog, session.ledger.budget("t"), WORDS | words, epsilon=0.5)


def test_the_price_is_that_of_the_whole_and_at_most_what_was_asked_for(session):
    made = watch(session)
    assert made.event.epsilon == made.mechanism.epsilon <= Fraction(1, 2)
    assert dp.accounting.filters.cost(made.event).epsilon <= 5 * 10**11


def test_by_groups_a_question_counts_by_how_far_one_key_moves(session):
    """A unit is in all three groups with five rows: with one row in each, each count moves by one."""
    query = T.group_by("x", max_rows_per_group=1).agg(n=dp.count())
    assert analyze_watched(query.plan, session.catalog, watch(session)).grid == 1
    units = T.group_by("x").agg(n=dp.count_units())
    analyze_watched(units.plan, session.catalog, watch(session))
    with pytest.raises(UnboundedError, match="can move it by 5"):
        analyze_watched(T.group_by("x").agg(n=dp.count()).plan, session.catalog, watch(session))


def test_watches_that_differ_have_other_names(session):
    names = {
        watch(session, **words).question("c")
        for words in ({}, {"threshold": 11}, {"answers": 2}, {"monotone": True}, {"gap": True}, {"with_answers": True})
    }
    assert len(names) == 6


def test_a_question_to_a_watch_has_no_price_of_its_own(session):
    asked = analyze_watched(T.agg(n=dp.count_units()).plan, session.catalog, watch(session))
    with pytest.raises(TypeError):
        asked.event  # noqa: B018 - reading it is the test
    assert asked.question("c") != asked.question("d")
