"""A stream of ranges is charged once, reads once, answers from a public histogram, and ends with its corrections."""

import json

import pyarrow as pa
import pytest

import discreet as dp
from discreet.errors import BudgetError, Failure, ParameterError, UnboundedError, UnsupportedError

T = dp.table("t")
AGES = [20] * 700 + [50] * 200 + [80] * 100
ROWS = pa.table({"id": list(range(1000)), "age": AGES})
WORDS = {"edges": range(0, 101, 10), "total": 1000, "threshold": 100, "epsilon": 1}


def protected(kind=dp.protect, **words):
    given = {"privacy_unit": "id", "max_rows": 1, "budget": dp.Budget(epsilon=2)} | words
    return kind(ROWS, name="t", **given)


def charges(session):
    return [entry for entry in session.history() if entry.question is not None]


def test_all_ranges_together_are_one_charge_at_the_opening_and_answers_are_told_to_the_ledger():
    with protected() as session:
        opened = session.online_ranges(T, "age", corrections=3, **WORDS)
        assert float(session.remaining()) == 2
        with opened as stream:
            assert float(session.remaining()) == 1
            for _ in range(200):
                if not stream.left:
                    break
                stream.ask(0, 100)
        assert float(session.remaining()) == 1
        assert len(charges(session)) == 1
        kept = json.loads(session.ledger.stored_answer("t", charges(session)[0].question))
        assert len(kept["answers"]) == stream.asked
        assert "this stream of 't'" in kept["guarantee"]


def test_without_noise_answers_are_right_to_the_threshold_and_corrections_are_few():
    with protected(dp.testing.protect) as session, session.online_ranges(T, "age", corrections=9, **WORDS) as stream:
        for start in range(0, 100, 10):
            for end in range(start + 10, 110, 10):
                truth = sum(start <= age < end for age in AGES)
                assert abs(stream.ask(start, end).value - truth) < 100
        assert 0 < 9 - stream.left <= 6
        assert "NOT PRIVATE" in repr(stream)


def test_a_stream_ends_with_its_last_correction():
    with protected(dp.testing.protect) as session, session.online_ranges(T, "age", corrections=1, **WORDS) as stream:
        assert stream.ask(0, 50).corrected
        with pytest.raises(BudgetError):
            stream.ask(0, 60)


@pytest.mark.parametrize(
    ("words", "error"),
    [
        ({"edges": [1]}, ParameterError),
        ({"edges": [3, 2]}, ParameterError),
        ({"total": 0}, ParameterError),
        ({"corrections": 0}, ParameterError),
        ({"epsilon": 3}, BudgetError),
    ],
)
def test_what_cannot_be_is_refused_before_anything_is_charged(words, error):
    with protected() as session:
        with pytest.raises(error), session.online_ranges(T, "age", **WORDS | words):
            pass
        assert float(session.remaining()) == 2


def test_a_range_between_other_values_than_the_edges_is_refused_and_the_stream_goes_on():
    with protected() as session, session.online_ranges(T, "age", **WORDS) as stream:
        for start, end in ((5, 50), (0, 55), (50, 50), (60, 50), ("a", 50)):
            with pytest.raises(ParameterError):
                stream.ask(start, end)
        stream.ask(0, 50)


def test_rows_without_a_cap_are_refused():
    with protected(max_rows=None) as session, pytest.raises(UnboundedError):
        session.online_ranges(T, "age", **WORDS)


def test_a_failure_while_rows_are_counted_says_one_sentence_and_the_charge_stands(monkeypatch, caplog):
    with protected() as session:
        engine = next(iter(session._pipeline.engines.values()))
        monkeypatch.setattr(engine, "run", lambda _: int("HIV+ alice"))
        with pytest.raises(Failure) as failed, session.online_ranges(T, "age", **WORDS):
            pass
        assert failed.value.__context__ is None
        assert "HIV" not in caplog.text
        assert float(session.remaining()) == 1
        assert str(charges(session)[0].state) == "FORFEITED"


def test_a_stream_is_not_copied():
    with protected() as session, session.online_ranges(T, "age", **WORDS) as stream, pytest.raises(UnsupportedError):
        stream.__reduce__()
