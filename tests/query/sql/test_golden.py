"""Golden statements: each accepted one is the same query as its frame, and each of the others is refused with a reason.

tests/query/sql/golden holds them as data, each with the construct that it shows and its dialects; `systems.toml` has
what other systems say of constructs. In the fast tier each statement is read in one of its dialects.
"""

import time

import pytest

import discreet as dp
from query.sql.statements import DIALECTS, Golden, fingerprint_of, frame_queries, golden, queries_of

ACCEPTED, REFUSED = golden("accepted"), golden("refused")
_MOST_SECONDS = 0.1


def _one_dialect_each(statements: list[Golden]) -> list[object]:
    """Every statement, with all of its dialects but one in the full tier; which one is left takes turns."""
    found: dict[str, list[Golden]] = {}
    for each in statements:
        found.setdefault(each.sql, []).append(each)
    return [
        pytest.param(each, id=each.name, marks=[] if place == turn % len(same) else [pytest.mark.full])
        for turn, same in enumerate(found.values())
        for place, each in enumerate(same)
    ]


@pytest.mark.parametrize("statement", _one_dialect_each(ACCEPTED))
def test_a_statement_has_the_fingerprint_of_its_frame(statement):
    queries = queries_of(statement.sql, statement.dialect)
    assert fingerprint_of(queries) == fingerprint_of(frame_queries(statement.frame)), queries


@pytest.mark.pitfall("A20")
@pytest.mark.parametrize("statement", _one_dialect_each(REFUSED))
def test_everything_else_is_refused_with_its_place_and_a_reason(statement):
    with pytest.raises(dp.Refusal) as caught:
        queries_of(statement.sql, statement.dialect)
    assert statement.because in caught.value.because
    assert statement.place in caught.value.what
    assert caught.value.instead


def test_a_refusal_takes_less_than_a_tenth_of_a_second():
    started = time.process_time()
    for statement in REFUSED[::10]:
        with pytest.raises(dp.Refusal):
            queries_of(statement.sql, statement.dialect)
    assert (time.process_time() - started) / len(REFUSED[::10]) < _MOST_SECONDS


@pytest.mark.parametrize("statements", [ACCEPTED, REFUSED], ids=["accepted", "refused"])
def test_every_dialect_has_many_statements_and_every_statement_a_construct(statements):
    assert {each.dialect for each in statements} == set(DIALECTS)
    assert len({each.sql for each in statements}) >= 200
    assert all(each.construct for each in statements)
    assert len({(each.sql, each.dialect) for each in statements}) == len(statements)
