"""A watch is charged once, before anything is read; it ends after so many answers above, and keeps its declaration."""

import json
import os
import pickle
import signal
import subprocess
import sys
import threading
from fractions import Fraction

import pyarrow as pa
import pytest

import discreet as dp
from discreet.errors import BudgetError, EntropyError, Failure, ParameterError, UnboundedError, UnsupportedError

T = dp.table("t")
ROWS = pa.table({"id": [f"p{i}" for i in range(60)], "x": [i % 6 for i in range(60)], "y": [i / 4 for i in range(60)]})
WORDS = {"name": "t", "privacy_unit": "id", "max_rows": 1, "keys": {"x": list(range(6))}}
COUNT = T.agg(n=dp.count())


@pytest.fixture
def session():
    with dp.protect(ROWS, budget=dp.Budget(epsilon=2), **WORDS) as opened:
        yield opened


@pytest.fixture
def exact():
    with dp.testing.protect(ROWS, budget=dp.Budget(epsilon=2), **WORDS) as opened:
        yield opened


def charges(session):
    return [entry for entry in session.history() if entry.question is not None]


def test_nothing_is_charged_before_a_watch_is_opened_and_all_of_it_then(session):
    watch = session.above_threshold(threshold=30, epsilon=0.5)
    assert float(session.remaining()) == 2
    with watch:
        assert float(session.remaining()) == 1.5
        for _ in range(20):
            if not watch.left:
                break
            watch.ask(T.where(T.x < 0).agg(n=dp.count()))
    assert float(session.remaining()) == 1.5


@pytest.mark.guarantee("a watch of any length costs the same")
@pytest.mark.pitfall("B12")
def test_a_hundred_thousand_questions_cost_what_ten_do():
    """The first by groups of one query. A single false answer above is left to chance: it is not judged here."""
    many = 100_000
    rows = pa.table({"id": ["a", "b"], "x": [1, 2]})
    with dp.protect(rows, name="t", privacy_unit="id", max_rows=1, budget=dp.Budget(epsilon=2)) as session:
        for count in (10, many):
            with session.above_threshold(threshold=10**6, epsilon=0.5) as watch:
                watch.ask(T.group_by("x", keys={"x": range(count)}).agg(n=dp.count()))
                assert watch.asked == count
        assert len({entry.cost for entry in charges(session)}) == 1
        assert float(session.remaining()) == 1


def test_a_watch_ends_after_so_many_answers_above(exact):
    with exact.above_threshold(threshold=10, epsilon=1, answers=2) as watch:
        assert not watch.ask(T.where(T.x == 9).agg(n=dp.count()))
        assert watch.ask(COUNT)
        assert watch.left == 1
        assert watch.ask(T.where(T.x == 3).agg(n=dp.count()))
        with pytest.raises(BudgetError, match="given all its answers"):
            watch.ask(COUNT)
    assert "ended: 3 asked, 2 above, 0 left" in repr(watch)


def test_groups_are_questions_in_the_order_of_their_keys_and_the_rest_is_unanswered(exact):
    few = T.where(T.x != 2).group_by("x").agg(n=dp.count())
    with exact.above_threshold(threshold=10, epsilon=1, answers=3) as watch:
        told = watch.ask(few)
    assert [(key, bool(reply)) for key, reply in told.items()] == [(0, True), (1, True), (2, False), (3, True)]


def test_answers_and_gaps_come_with_an_answer_above(exact):
    with exact.above_threshold(threshold=50, epsilon=1, with_answers=True, gap=True) as watch:
        told = watch.ask(COUNT)
    assert (told.is_above, told.answer, told.gap) == (True, 60, 10)


def test_how_wrong_answers_may_be_is_known_before_it_opens(session):
    watch = session.above_threshold(threshold=50, epsilon=1, with_answers=True)
    assert watch.accuracy(1_000) > watch.accuracy(10) > 0
    assert watch.margin() > 0
    assert float(session.remaining()) == 2


def test_a_question_is_checked_for_free_before_the_watch_is_opened(session):
    watch = session.above_threshold(T, threshold=50, epsilon=1)
    with pytest.raises(UnboundedError):
        watch.check(T.agg(s=dp.sum("y", bounds=(0, 15), grid=1)))
    watch.check(COUNT)
    assert float(session.remaining()) == 2


def test_a_watch_of_a_testing_session_says_that_it_is_not_private(exact, session):
    assert repr(exact.above_threshold(threshold=50, epsilon=1)).startswith("NOT PRIVATE sparse vector of 't'")
    assert repr(session.above_threshold(threshold=50, epsilon=1)).startswith("sparse vector of 't'")


def test_sums_are_held_against_the_threshold_on_the_grid_of_the_watch(exact):
    total = T.agg(s=dp.sum("y", bounds=(0, 15), grid=Fraction(1, 4)))
    with exact.above_threshold(threshold=442.5, epsilon=1, sensitivity=15, grid=0.25, gap=True) as watch:
        assert watch.ask(total).gap == 0


@pytest.mark.parametrize(
    ("words", "query", "error"),
    [
        ({}, T.agg(s=dp.sum("y", bounds=(0, 15), grid=1)), UnboundedError),
        ({"sensitivity": 15}, T.agg(s=dp.sum("y", bounds=(0, 15), grid=0.5)), ParameterError),
        ({"sensitivity": 20, "monotone": True}, T.agg(s=dp.sum("y", bounds=(-5, 15), grid=1)), UnboundedError),
        ({"sensitivity": 20}, T.agg(m=dp.mean("y", bounds=(0, 15))), UnsupportedError),
        ({}, T.agg(n=dp.count(), m=dp.count_units()), UnsupportedError),
        ({}, "SELECT 1", ParameterError),
    ],
    ids=["sensitivity", "grid", "monotone", "mean", "two outputs", "text"],
)
def test_a_question_beyond_what_was_declared_is_refused_and_the_watch_goes_on(session, words, query, error):
    with session.above_threshold(threshold=10**6, epsilon=0.5, **words) as watch:
        with pytest.raises(error):
            watch.ask(query)
        assert (watch.asked, watch.left) == (0, 1)
        assert not watch.ask(COUNT)


def test_another_table_is_refused():
    catalog = {"t": ROWS, "u": ROWS}
    with dp.protect(ROWS, budget=dp.Budget(epsilon=1), **WORDS) as one:
        facts = one.catalog
    both = facts.model_copy(update={"tables": {"t": facts.tables["t"], "u": facts.tables["t"]}})
    with dp.Session(both, sources=catalog) as session:
        with pytest.raises(ParameterError, match="several"):
            session.above_threshold(threshold=1, epsilon=0.1)
        with (
            session.above_threshold("t", threshold=10**6, epsilon=0.1) as watch,
            pytest.raises(UnsupportedError, match="'u'"),
        ):
            watch.ask(dp.table("u").agg(n=dp.count()))


def test_monotone_is_refused_where_units_are_replaced():
    with (
        dp.protect(ROWS, budget=dp.Budget(epsilon=1), neighbours="replace_one", **WORDS) as session,
        pytest.raises(BudgetError, match="monotone"),
    ):
        session.above_threshold(threshold=1, epsilon=0.1, monotone=True)


def test_a_watch_that_is_not_open_reads_nothing(session):
    watch = session.above_threshold(threshold=1, epsilon=0.1)
    with pytest.raises(BudgetError, match="not open"):
        watch.ask(COUNT)
    with watch:
        pass
    with pytest.raises(BudgetError, match="not open"):
        watch.ask(COUNT)
    with pytest.raises(BudgetError, match="opened before"), watch:
        pass


def test_a_watch_that_does_not_fit_is_refused_when_it_opens(session):
    with pytest.raises(BudgetError), session.above_threshold(threshold=1, epsilon=3):
        pass
    assert float(session.remaining()) == 2


def test_a_failure_after_data_ends_the_watch_says_one_sentence_and_the_charge_stands(session, monkeypatch, caplog):
    engine = next(iter(session._pipeline.engines.values()))
    with session.above_threshold(threshold=10**6, epsilon=0.5) as watch:
        monkeypatch.setattr(engine, "run", lambda _: int("HIV+ alice"))
        with pytest.raises(Failure) as failed:
            watch.ask(COUNT)
        assert str(failed.value) == dp.errors.FAILURE
        assert failed.value.__context__ is None
        with pytest.raises(BudgetError):
            watch.ask(COUNT)
    assert "HIV" not in caplog.text
    assert "ValueError" in caplog.text
    assert str(charges(session)[0].state) == "FORFEITED"
    assert float(session.remaining()) == 1.5


def test_what_was_told_is_kept_and_nothing_else(exact):
    with exact.above_threshold(threshold=10, epsilon=1, answers=2) as watch:
        watch.ask(T.group_by("x").agg(n=dp.count()))
    stored = json.loads(exact.ledger.stored_answer("t", charges(exact)[0].question))
    assert stored == {"asked": 2, "above": [0, 1], "guarantee": watch.guarantee}


def test_threads_share_a_watch_and_no_answer_above_is_given_twice(session):
    told = []

    def ask():
        try:
            while True:
                told.append(bool(watch.ask(COUNT)))
        except BudgetError:
            return

    with session.above_threshold(threshold=-(10**6), epsilon=0.5, answers=25) as watch:
        threads = [threading.Thread(target=ask) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert told == [True] * 25


def test_a_watch_is_not_pickled_and_belongs_to_its_process(session):
    with session.above_threshold(threshold=10**6, epsilon=0.5) as watch:
        with pytest.raises(Exception, match=r"pickle|copy"):
            pickle.dumps(watch)
        child = os.fork()
        if child == 0:
            try:
                watch.ask(COUNT)
            except dp.Refusal:
                os._exit(7)
            os._exit(0)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7


def test_under_a_delta_a_watch_costs_what_was_asked_for_at_the_order_of_the_budget():
    with dp.protect(ROWS, budget=dp.Budget(epsilon=2, delta=1e-9), **WORDS) as session:
        watch = session.above_threshold(threshold=1, epsilon=0.5)
        promise = session.ledger.budget("t")
        cost = Fraction(promise.cost(watch._plan.event).renyi, 10**15)
        assert cost <= promise.rho(0.5) < cost * Fraction(1_000_010, 1_000_000)
        whole = session.above_threshold(threshold=1, epsilon=2)
        assert float(whole._plan.mechanism.epsilon) == pytest.approx(2)
        with watch, dp.protect(ROWS, budget=dp.Budget(epsilon=2, delta=1e-9), **WORDS) as other:
            other.release(COUNT, epsilon=0.5)
            assert not watch.ask(T.where(T.x < 0).agg(n=dp.count())) or watch.left == 0


KILLED = """
import os, signal, sys
import discreet as dp, pyarrow as pa
rows = pa.table({"id": ["a", "b"]})
session = dp.protect(rows, name="t", privacy_unit="id", max_rows=1, budget=dp.Budget(epsilon=2))
with session.above_threshold(threshold=10**6, epsilon=0.5) as watch:
    watch.ask(dp.table("t").agg(n=dp.count()))
    print(watch.asked, flush=True)
    os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.mark.pitfall("B12")
def test_a_watch_dies_with_its_process_and_its_charge_stands():
    done = subprocess.run([sys.executable, "-c", KILLED], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout.strip()) == (-signal.SIGKILL, "1")
    rows = pa.table({"id": ["a", "b"]})
    with dp.protect(rows, name="t", privacy_unit="id", max_rows=1, budget=dp.Budget(epsilon=2)) as session:
        assert float(session.remaining()) == 1.5
        with session.above_threshold(threshold=10**6, epsilon=0.5):
            assert float(session.remaining()) == 1


def test_a_watch_that_fails_as_it_opens_gives_back_its_turn_and_its_charge_stands(session, monkeypatch):
    """Nothing goes on in the background that renews the turn of a watch that nobody can ask."""

    def no_noise(*_):
        raise EntropyError("the operating system gives no randomness")

    before = threading.active_count()
    monkeypatch.setattr(session._pipeline, "open_stream", no_noise)
    with pytest.raises(EntropyError), session.above_threshold(threshold=30, epsilon=0.5):
        pass
    assert threading.active_count() <= before  # a thread of an earlier test may end meanwhile
    assert float(session.remaining()) == 1.5
    assert str(charges(session)[0].state) == "FORFEITED"


PAIR = dp.Budget(epsilon=1, delta=1e-9)
STAGES = {"threshold": 5, "epsilon": 0.2, "answers": 4, "with_answers": True, "gap": True}


def test_a_watch_in_stages_is_charged_as_a_whole_when_it_opens_and_nothing_comes_back():
    with dp.protect(ROWS, budget=PAIR, **WORDS) as session:
        before = session.ledger.spent("t")
        with session.above_threshold(**STAGES) as watch:
            opened = session.ledger.spent("t")
            watch.ask(T.where(T.x < 0).agg(n=dp.count()))
            assert session.ledger.spent("t") == opened
        (charge,) = charges(session)
        event = dp.events.from_canonical(charge.event)
        assert before.renyi == 0
        assert opened.renyi == PAIR.cost(event).renyi > 0
        assert session.ledger.spent("t") == opened
        assert [part.count for part in event.events] == [4, 4]
        assert watch.guarantee.startswith("epsilon 0.2, delta 9e-10, for one id")
        assert watch.margin() < watch.accuracy(100)


def test_a_watch_in_stages_without_noise_tells_what_is_there():
    with dp.testing.protect(ROWS, budget=PAIR, **WORDS) as exact, exact.above_threshold(**STAGES) as watch:
        replies = watch.ask(T.group_by("x").agg(n=dp.count()))
        assert [(reply.answer, reply.gap) for reply in replies.values()] == [(10, 5)] * 4
        assert watch.left == 0


def test_other_releases_go_on_between_the_stages():
    """Thresholds far below every answer: each reply is above, but for noise of 10^6 steps."""
    with dp.protect(ROWS, budget=PAIR, **WORDS) as session:
        with session.above_threshold(**(STAGES | {"threshold": -(10**6)})) as watch:
            assert watch.ask(COUNT).is_above
            session.release(COUNT, epsilon=0.1)
            assert watch.ask(COUNT).is_above
            with session.above_threshold(**(STAGES | {"threshold": 10**6})) as other:
                assert not other.ask(COUNT)
            assert watch.left == 2
        assert len(charges(session)) == 3
