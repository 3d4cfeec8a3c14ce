"""A function over chunks of units becomes one number, through a session and real processes."""

import sqlite3
import time
from contextlib import closing

import pyarrow as pa
import pytest

import discreet as dp
from discreet.errors import ParameterError, Refusal
from discreet.sandbox import Limits

T = dp.table("t")
ROWS = pa.table({"id": [i // 2 for i in range(400)], "x": [40 + i % 21 for i in range(400)]})
WORDS = {"name": "t", "privacy_unit": "id", "max_rows": 2}
ASKED = {"columns": ["x"], "chunks": 8, "bounds": (0, 100), "limits": Limits(seconds=5, constant_time=False)}


def mean(table):
    column = table["x"].to_pylist()
    return sum(column) / len(column)


def raising(table):
    raise ValueError(table["x"].to_pylist())


@pytest.fixture
def session():
    with dp.protect(ROWS, budget=dp.Budget(epsilon=20, ceiling=20, reason="a test"), **WORDS) as opened:
        yield opened


@pytest.mark.parametrize("aggregate", ["mean", "median", "mean with bounds of its own"])
def test_without_noise_the_answers_of_chunks_are_aggregated(aggregate):
    with dp.testing.protect(ROWS, budget=dp.Budget(epsilon=1), **WORDS) as exact:
        made = exact.release(T.apply(mean, aggregate=aggregate), epsilon=0.5, **ASKED)
    assert 45 < made.value < 55
    assert not made.private


def test_a_mean_of_chunks_has_the_margin_of_its_noise_and_its_receipt(session):
    """Noise of scale 100/(8 20) = 0.6: within 12 of 50 but for 1e-8."""
    made = session.release(T.apply(mean), epsilon=20, **ASKED)
    assert made.name == "mean"
    assert made.value == pytest.approx(50, abs=13)
    assert 0 < made.margin < 3
    assert "8 chunks, each in a process of its own" in made.made
    assert float(session.remaining()) == 0


def test_a_function_that_fails_everywhere_gives_its_default_and_no_word_of_why(session, caplog, capfd):
    """The default is 70 in all 8 chunks; noise of scale 1.25 stays within 20 of it but for 1e-6."""
    made = session.release(T.apply(raising, default=70), epsilon=10, **ASKED)
    assert made.value == pytest.approx(70, abs=20)
    assert "ValueError" not in caplog.text + "".join(capfd.readouterr())


def test_two_functions_are_two_questions(session):
    session.release(T.apply(mean), epsilon=1, **ASKED)
    assert not session.release(T.apply(raising), epsilon=1, **ASKED).repeated
    assert float(session.remaining()) == 18


@pytest.mark.parametrize(
    "words",
    [
        {"columns": "x"},
        {"columns": []},
        {"columns": ["nothing"]},
        {"chunks": 1},
        {"bounds": (1, 1)},
        {"aggregate": "max"},
    ],
    ids=lambda words: next(iter(words)),
)
def test_what_cannot_be_sampled_is_refused_before_anything_is_charged(session, words):
    with pytest.raises(Refusal):
        session.release(T.apply(mean), epsilon=1, **ASKED | words)
    assert float(session.remaining()) == 20


def test_the_owner_allows_modules_when_the_session_is_opened_and_no_question_can_add_one():
    def counted(table):
        import csv  # noqa: PLC0415 - it travels

        return csv.QUOTE_ALL + len(table["x"])

    budget = dp.Budget(epsilon=1)
    with dp.protect(ROWS, budget=budget, ledger=":memory:", **WORDS) as session:
        with pytest.raises(ParameterError, match="needs the module 'csv'") as refusal:
            session.release(T.apply(counted), epsilon=1, **ASKED)
        assert 'dp.protect(..., modules=("csv",))' in refusal.value.instead
        with pytest.raises(TypeError, match="modules"):
            session.release(T.apply(counted), epsilon=1, modules=("csv",), **ASKED)
        assert float(session.remaining()) == 1
    with dp.testing.protect(ROWS, budget=budget, modules=("csv",), **WORDS) as exact:
        assert exact.release(T.apply(counted), epsilon=1, **ASKED).value == 51
    with pytest.raises(ParameterError, match="modules="):
        dp.testing.protect(ROWS, budget=budget, modules=("venv.__main__",), **WORDS)


def test_a_text_is_a_function_with_the_name_of_its_def_and_one_that_is_broken_is_not_charged(session):
    text = "def half(table):\n    import numpy as np\n    return np.mean(table['x'].to_numpy()) / 2"
    with pytest.raises(ParameterError, match="SyntaxError"):
        session.release(T.apply(text + ")"), epsilon=1, **ASKED)
    assert float(session.remaining()) == 20
    made = session.release(T.apply(text), epsilon=20, **ASKED)
    assert made.name == "half"
    assert made.value == pytest.approx(25, abs=13)
    assert session.release(T.apply(text), epsilon=20, **ASKED).repeated


def test_a_table_and_a_function_are_asked_for(session):
    with pytest.raises(ParameterError):
        session.release("t".apply(mean), epsilon=1, **ASKED)
    with pytest.raises(Refusal):
        session.release(T.apply("mean"), epsilon=1, **ASKED)


def test_other_limits_are_another_question_and_sqlite_files_are_sampled_too(tmp_path):
    path = tmp_path / "t.sqlite"
    with closing(sqlite3.connect(path)) as made, made:
        made.execute("CREATE TABLE t (id INTEGER, x INTEGER)")
        made.executemany("INSERT INTO t VALUES (?, ?)", [(i, 50) for i in range(40)])
    with dp.testing.protect(path, table="t", budget=dp.Budget(epsilon=1), **WORDS) as exact:
        assert exact.release(T.apply(mean), epsilon=0.1, **ASKED).value == 50
        other = exact.release(T.apply(mean), epsilon=0.1, **ASKED | {"limits": Limits(seconds=6, constant_time=False)})
        assert not other.repeated


@pytest.mark.timing
def test_a_fresh_answer_costs_as_much_after_many_earlier_ones_as_after_few():
    """Finding an earlier answer to a question once read all of them."""
    rows = pa.table({"id": range(20)})
    budget = dp.Budget(epsilon=1000, ceiling=1000)
    query = dp.table("t").agg(n=dp.count())
    with dp.protect(rows, name="t", privacy_unit="id", max_rows=1, budget=budget, ledger=":memory:") as session:

        def seconds(times):
            start = time.process_time()
            for _ in range(times):
                session.release(query, epsilon=0.5, fresh=True)
            return time.process_time() - start

        seconds(50)
        few = min(seconds(25) for _ in range(4))
        seconds(450)
        assert min(seconds(25) for _ in range(4)) < 3 * few
