"""The failures of accounting that others had (PITFALLS, part B), held against a whole session."""

import json
import threading
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction

import pyarrow as pa
import pytest
from pitfalls import analyzed

import discreet as dp
from discreet.accounting.costs import EPSILON_UNITS, Cost
from discreet.errors import BudgetError, ParameterError
from discreet.ledger import Kind, State

T = dp.table("t")
ROWS = pa.table({"id": ["a", "b", "b"], "w": ["A", "A", "B"], "x": [1, 2, 3]})
COUNT = T.agg(n=dp.count())
TINY = Fraction(1, 10**12)


def opened(protect=dp.protect, rows=ROWS, **words):
    facts = {"name": "t", "privacy_unit": "id", "max_rows": 2, "budget": dp.Budget(epsilon=1)}
    return protect(rows, **(facts | words))


def spent(session):
    return session.ledger.spent("t")


@pytest.mark.pitfall("B1")
def test_analysts_who_talk_to_each_other_share_one_cap():
    with opened(analyst="ana") as ana, opened(analyst="ben") as ben, opened(analyst="cleo") as cleo:
        ana.release(COUNT, epsilon=0.5)
        ben.release(COUNT, epsilon=0.4, fresh=True)
        assert ana.remaining().epsilon == ben.remaining().epsilon == Fraction(1, 10)
        with pytest.raises(BudgetError, match="over all analysts"):
            cleo.release(COUNT, epsilon=0.2)
        cleo.release(COUNT, epsilon=0.1)
        assert ana.remaining().epsilon == 0


@pytest.mark.pitfall("B1")
def test_an_answer_that_one_analyst_paid_for_is_free_for_the_others():
    """Two draws of scale 10^12 or more are equal with probability below 1e-12."""
    with opened(analyst="ana") as ana, opened(analyst="ben") as ben:
        first = ana.release(COUNT, epsilon=TINY)
        once = spent(ana)
        assert ben.release(COUNT, epsilon=TINY) == first
        assert spent(ben) == once


@pytest.mark.pitfall("B3")
@pytest.mark.parametrize("failure", ["the source is gone", "the memory is too small"])
def test_a_failed_question_is_not_refunded(tmp_path, failure):
    path = tmp_path / "t.csv"
    path.write_text("id,x\n" + "".join(f"u{i},{i}\n" for i in range(100)))
    limit = "1MB" if failure == "the memory is too small" else None
    with opened(rows=path, memory_limit=limit) as session:
        if limit is None:
            path.unlink()
        for attempt in (1, 2, 3):
            with pytest.raises(dp.Failure):
                session.release(COUNT, epsilon=0.25)
            assert spent(session).epsilon == attempt * EPSILON_UNITS // 4
        assert [entry.state for entry in session.history()[1:]] == [State.FORFEITED] * 3


@pytest.mark.pitfall("B3")
@pytest.mark.parametrize(
    "ask",
    [
        lambda s: s.release(T.where(T.y > 1).agg(n=dp.count()), epsilon=0.1),
        lambda s: s.release(T.agg(s=dp.sum("x")), epsilon=0.1),
        lambda s: s.release(T.group_by("w").agg(n=dp.count()), epsilon=0.1),
        lambda s: s.release(T.where(T.w > 1).agg(n=dp.count()), epsilon=0.1),
        lambda s: s.release(COUNT, epsilon=float("nan")),
        lambda s: s.release(COUNT, epsilon=2),
        lambda s: s.release(COUNT, epsilon=0.1, mechanism="gaussian"),
        lambda s: s.release(COUNT, epsilon=0.1, confidence=2),
        lambda s: s.release("SELECT 1", epsilon=0.1),
    ],
)
def test_what_can_be_refused_from_public_facts_is_refused_before_it_is_charged(ask):
    with opened() as session:
        with pytest.raises(dp.Refusal):
            ask(session)
        assert spent(session) == Cost(0, 0, 0, 0)
        assert Kind.RESERVED not in [entry.kind for entry in session.history()]


@pytest.mark.pitfall("B3")
def test_the_charge_is_durable_before_the_data_is_read(tmp_path, monkeypatch):
    """When the engine runs, another process already sees the charge in the file."""
    path = tmp_path / "ledger.sqlite"
    seen = []
    with opened(ledger=path) as session:
        run = next(iter(session._pipeline.engines.values())).run

        def watched(prepared):
            with dp.SQLiteLedger(path) as other:
                seen.append(other.spent("t").epsilon)
            return run(prepared)

        monkeypatch.setattr(next(iter(session._pipeline.engines.values())), "run", watched)
        session.release(COUNT, epsilon=0.25)
    assert seen == [EPSILON_UNITS // 4]


@pytest.mark.pitfall("B4")
def test_the_smallest_charges_add_up_to_the_last_unit():
    with opened() as session:
        for _ in range(20):
            session.release(COUNT, epsilon=1e-12, fresh=True)
        assert spent(session).epsilon == 20
        assert session.remaining().epsilon < 1


@pytest.mark.pitfall("B4")
@pytest.mark.parametrize("epsilon", [1e-13, 1e-17, 1e-320])
def test_a_charge_below_one_unit_is_refused_and_not_rounded_to_nothing(epsilon):
    with opened() as session, pytest.raises(ParameterError, match="too small to charge"):
        session.release(COUNT, epsilon=epsilon)


@pytest.mark.pitfall("B4")
@pytest.mark.parametrize("delta", [0, 1e-9], ids=["laplace", "gaussian"])
def test_thirds_and_sevenths_are_charged_at_least_what_their_noise_costs(delta):
    with opened(budget=dp.Budget(epsilon=1, delta=delta)) as session:
        query = T.agg(a=dp.count(weight=Fraction(1, 3)), b=dp.count_units(weight=Fraction(1, 7)))
        private = analyzed(session, query, epsilon=Fraction(1, 3))
        session.release(query, epsilon=Fraction(1, 3))
        cost = spent(session)
        if delta:
            assert Fraction(cost.rho, 10**15) >= sum(noised.mechanism.rho for noised in private.noisy_measures)
        else:
            assert Fraction(cost.epsilon, 10**12) >= sum(noised.mechanism.epsilon for noised in private.noisy_measures)
            assert Fraction(cost.epsilon, 10**12) <= Fraction(1, 3)


def at_once(calls):
    barrier = threading.Barrier(len(calls))

    def start(call):
        barrier.wait()
        try:
            return call()
        except BudgetError as refusal:
            return refusal

    with ThreadPoolExecutor(len(calls)) as pool:
        return [future.result() for future in [pool.submit(start, call) for call in calls]]


@pytest.mark.pitfall("B5")
@pytest.mark.parametrize("delta", [0, 1e-9], ids=["pure", "approximate"])
def test_eight_threads_never_spend_more_than_the_cap(delta):
    """Eight threads ask for a tenth of the cap three times each: ten are admitted, or as many as the rhos allow."""
    with opened(budget=dp.Budget(epsilon=1, delta=delta)) as session:
        answers = [
            answer
            for _ in range(3)
            for answer in at_once([lambda: session.release(COUNT, epsilon=0.1, mechanism="laplace", fresh=True)] * 8)
        ]
        admitted = [answer for answer in answers if isinstance(answer, dp.Release)]
        assert session.ledger.budget("t").admits(spent(session))
        assert spent(session).epsilon == len(admitted) * EPSILON_UNITS // 10
        assert len(admitted) == 10 if delta == 0 else len(admitted) >= 10
        assert len({answer.receipt["hash"] for answer in admitted}) == len(admitted)
        assert session.ledger.verify().ok


@pytest.mark.pitfall("B5")
def test_sessions_in_threads_of_their_own_share_the_cap_too():
    with opened() as first:
        sessions = [first, *(opened(analyst=f"a{i}") for i in range(3))]
        answers = at_once([lambda s=s: s.release(COUNT, epsilon=0.4, fresh=True) for s in sessions])
        assert sum(isinstance(answer, dp.Release) for answer in answers) == 2
        assert spent(first).epsilon == 8 * EPSILON_UNITS // 10
        for session in sessions:
            session.close()


@pytest.mark.pitfall("B9")
def test_questions_about_disjoint_parts_are_charged_in_full():
    with opened(privacy_unit=dp.ROW, max_rows=None) as session:
        for ward in ("A", "B"):
            session.release(T.where(T.w == ward).agg(n=dp.count()), epsilon=0.3)
        assert spent(session).epsilon == 6 * EPSILON_UNITS // 10


@pytest.mark.pitfall("B9")
@pytest.mark.parametrize(
    ("words", "grouping", "sensitivity"),
    [
        ({"privacy_unit": dp.ROW, "max_rows": None}, {}, 1),
        ({"privacy_unit": dp.ROW, "max_rows": None, "neighbours": "replace_one"}, {}, 2),
        ({"max_rows": 5}, {}, 5),
        ({"max_rows": 5}, {"max_groups": 1}, 5),
        ({"max_rows": 5}, {"max_groups": 1, "max_rows_per_group": 1}, 1),
        ({"max_rows": 5}, {"max_rows_per_group": 1}, 3),
        ({"max_rows": 5, "neighbours": "replace_one"}, {"max_groups": 1, "max_rows_per_group": 1}, 2),
    ],
)
def test_one_answer_over_groups_is_credited_only_for_an_enforced_cap(words, grouping, sensitivity):
    """Three groups, one release: what one unit can move in all of them together is what the noise covers."""
    query = T.group_by("w", keys={"w": ["A", "B", "C"]}, **grouping).agg(n=dp.count())
    with opened(**words) as session:
        private = analyzed(session, query, epsilon=0.3)
        assert private.noisy_measures[0].sensitivity.l1 == sensitivity
        assert private.noisy_measures[0].mechanism.epsilon <= Fraction(3, 10)
        assert private.noisy_measures[0].mechanism.scale >= sensitivity / 0.3
        session.release(query, epsilon=0.3)
        assert spent(session).epsilon == 3 * EPSILON_UNITS // 10


@pytest.mark.pitfall("B10")
def test_the_same_question_on_two_versions_has_fresh_noise():
    """Were the noise derived from the question, the difference of the answers would be exact: here, with probability
    below 1e-7 for each of five questions."""
    more = pa.concat_tables([ROWS, ROWS.slice(0, 1)])
    questions = [T.where(T.x > low).agg(n=dp.count()) for low in range(5)]
    with opened() as first, opened(rows=more, version=2) as second:
        noises = []
        for query in questions:
            old, new = (session.release(query, epsilon=TINY).value() for session in (first, second))
            noises.append(new - old)
        assert all(abs(noise) > 1 for noise in noises)
        assert len(set(noises)) == len(noises)


@pytest.mark.pitfall("B10")
def test_equal_questions_on_equal_data_in_different_ledgers_have_fresh_noise():
    """Four draws of scale 2 * 10^12: two are equal with probability below 1e-12."""
    values = []
    for _ in range(4):
        with opened(ledger=":memory:") as session:
            values.append(session.release(COUNT, epsilon=TINY).value())
    assert len(set(values)) == 4


@pytest.mark.pitfall("B11")
@pytest.mark.parametrize(
    "query",
    [
        COUNT,
        T.agg(s=dp.sum("x", bounds=(0, 9))),
        T.group_by("w", keys={"w": ["A", "B"]}).agg(n=dp.count()),
        T.agg(v=dp.count_distinct("w", domain=["A"])),
    ],
    ids=["count", "sum", "groups", "values"],
)
def test_a_stored_answer_of_zero_is_an_answer(query):
    empty = ROWS.slice(0, 0)
    with opened(dp.testing.protect, rows=empty) as session:
        first = session.release(query, epsilon=0.25)
        assert set(first[first.outputs[0].name]) == {0}
        once = spent(session)
        assert session.release(query, epsilon=0.25) == first
        assert spent(session) == once


@pytest.mark.pitfall("B11")
def test_a_noisy_answer_of_zero_is_not_asked_again(monkeypatch):
    with opened() as session:
        monkeypatch.setattr(session._pipeline, "randomize", lambda _, exact: [[0] * len(column) for column in exact])
        session.release(COUNT, epsilon=0.25)
        monkeypatch.undo()
        assert session.release(COUNT, epsilon=0.25).value() == 0
        assert spent(session).epsilon == EPSILON_UNITS // 4


@pytest.mark.pitfall("B17")
def test_a_version_is_what_the_owner_says_whatever_the_file_holds(tmp_path):
    path = tmp_path / "t.csv"
    registered = set()
    for text in ("id,x\na,1\n", "id,x\na,1\nb,2\n", "id,x\n", "id,x\n" + "c,3\n" * 1_000):
        path.write_text(text)
        with opened(rows=path, types={"id": "text", "x": "integer"}) as session:
            release = session.release(COUNT, epsilon=TINY, fresh=True)
            entry = session.ledger.registration("t")
            registered.add((release.version, entry.version, entry.source, entry.facts, entry.hash_key))
    assert len(registered) == 1
    with opened(rows=path, version=2, types={"id": "text", "x": "integer"}) as session:
        assert session.release(COUNT, epsilon=TINY).version == 2
        assert session.ledger.registration("t").hash_key == next(iter(registered))[-1]


@pytest.mark.pitfall("B17")
def test_nothing_that_is_kept_or_said_tells_neighbours_apart(tmp_path):
    """All that a ledger holds and an explanation says, for two files that differ in one person, apart from the time,
    the key that orders rows and the hashes over both."""
    kept = []
    for people in (["a", "b"], ["a", "b", "c"]):
        path = tmp_path / "t.csv"
        path.write_text("id,x\n" + "".join(f"{person},1\n" for person in people))
        ledger = dp.SQLiteLedger(":memory:")
        with opened(rows=path, ledger=ledger) as session:
            explained = str(session.explain(COUNT, epsilon=0.5))
            session.release(COUNT, epsilon=0.5)
            entries = [(e.sequence, e.kind, e.version, e.cost, e.question, e.state, e.event) for e in session.history()]
            details = json.loads(session.history()[0].detail)
            for drawn in ("hash_key", "ledger"):
                details.pop(drawn)
            registration = ledger.registration("t")
            kept.append((explained, entries, details, registration.source, registration.facts, str(session)))
    assert kept[0] == kept[1]
