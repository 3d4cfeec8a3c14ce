"""Every verb goes through one gate: nothing is read before the charge, and nothing through a session that is gone."""

import pyarrow as pa
import pytest

import discreet as dp
from discreet.errors import Failure, ParameterError, SourceError
from discreet.sandbox import Limits
from discreet.session import table_name

T = dp.table("t")
ROWS = pa.table({"id": list(range(50)), "x": [i % 5 for i in range(50)]})
COUNT = T.agg(n=dp.count())
LIMITS = Limits(seconds=2, workers=1, constant_time=False)


def how_many(table):
    return table.num_rows


def watched(session, **words):
    with session.watch(threshold=10**6, epsilon=0.1) as watch:
        return watch.ask(COUNT)


VERBS = {
    "release": lambda s, **words: s.release(COUNT, epsilon=0.1, **words),
    "select": lambda s, **words: s.select(range(5), dp.score(T, by="x"), epsilon=0.1, **words),
    "watch": watched,
    "smooth": lambda s, **words: s.smooth(T.agg(m=dp.median("x", bounds=(0, 5))), epsilon=0.1, **words),
    "sample": lambda s, **words: s.sample(
        T, how_many, columns=["x"], chunks=2, bounds=(0, 50), epsilon=0.1, limits=LIMITS, **words
    ),
}


@pytest.fixture
def session():
    with dp.protect(ROWS, name="t", privacy_unit="id", max_rows=1, budget=dp.Budget(epsilon=1)) as opened:
        yield opened


@pytest.mark.parametrize("verb", VERBS)
@pytest.mark.guarantee("every verb is charged before anything is read")
def test_nothing_is_read_before_the_charge_and_a_failure_after_it_says_one_sentence(session, verb, monkeypatch):
    engine = session._engines["t"]
    spent = []

    def reading(*_):
        spent.append(float(session.remaining()))
        raise ValueError("alice, HIV+")

    monkeypatch.setattr(engine, "run", reading)
    monkeypatch.setattr(engine, "chunks", reading)
    with pytest.raises(Failure) as failed:
        VERBS[verb](session)
    assert str(failed.value) == dp.errors.FAILURE
    assert failed.value.__cause__ is failed.value.__context__ is None
    assert spent == [pytest.approx(0.9)]
    assert float(session.remaining()) == pytest.approx(0.9)


@pytest.mark.parametrize("verb", VERBS)
def test_a_session_that_was_closed_refuses_and_charges_nothing(session, verb):
    session.close()
    with pytest.raises(SourceError, match="engine is gone"):
        VERBS[verb](session)
    assert float(session.remaining()) == 1


@pytest.mark.parametrize("verb", [name for name in VERBS if name != "watch"])
def test_a_repeat_is_free_a_fresh_one_is_not_and_a_request_is_charged_once(session, verb):
    first = VERBS[verb](session)
    again = VERBS[verb](session)
    assert (first.repeated, again.repeated) == (False, True)
    assert first.receipt == again.receipt
    VERBS[verb](session, fresh=True, request="mine")
    VERBS[verb](session, fresh=True, request="mine")
    assert float(session.remaining()) == pytest.approx(0.8)
    with pytest.raises(ParameterError, match="fresh"):
        VERBS[verb](session, fresh="yes")


def test_the_table_of_a_query_is_the_one_at_the_bottom_of_its_chain():
    assert table_name(T.where(T.x > 1).derive(y=T.x * 2).agg(n=dp.count())) == "t"
