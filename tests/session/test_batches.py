"""Several questions, of one kind or of several, are charged once, answered in order and restored each as its kind."""

import json

import pyarrow as pa
import pytest

import discreet as dp
from discreet.accounting import pld
from discreet.accounting.costs import cost
from discreet.errors import BudgetError, Failure, ParameterError, Refusal, UnsupportedError
from discreet.planner import batch
from discreet.planner.budget.price import Price
from discreet.release.estimate import Estimate
from discreet.release.release import Release
from discreet.release.selection import Selection
from discreet.sandbox import Limits
from discreet.session.batches import BATCH
from discreet.session.kind import Request
from discreet.session.kinds import KINDS

VISITS = dp.table("visits")
COUNT = VISITS.agg(n=dp.count())
BY_WARD = VISITS.group_by("ward").agg(n=dp.count(), cost=dp.mean("cost"))
TOTAL = VISITS.agg(total=dp.sum("cost"))
CHOICE = VISITS.choose(["A", "B", "C"], score=dp.score(by="ward", of=dp.sum("cost")))
TWO = VISITS.choose([0, 50, 100], score=dp.score(by="cost", side="or above"), top=2)
TEXT = "def rows(table):\n    return table.num_rows"
ROWS = VISITS.apply(
    TEXT, columns=["cost"], blocks=4, bounds=(0, 300), limits=Limits(seconds=2, workers=1, constant_time=False)
)
MIXED = [BY_WARD, CHOICE, TWO, TOTAL]
DELTA = dp.Budget(epsilon=2, delta=1e-9)
RESERVED = dp.Budget(epsilon=2, delta=2e-8, reserved_delta=1e-8)


@pytest.fixture
def protect(tmp_path):
    rows = pa.table({"id": range(300), "ward": ["A", "B", "C"] * 100, "cost": [i % 101 for i in range(300)]})
    words = {"privacy_unit": "id", "max_rows": 1, "keys": {"ward": ["A", "B", "C"]}, "bounds": {"cost": (0, 100)}}

    def protected(budget=dp.Budget(epsilon=2), kind=dp.protect):  # noqa: B008 - frozen
        return kind(rows, name="visits", budget=budget, ledger=str(tmp_path / "ledger.sqlite"), **words)

    return protected


def planned(session, questions, budget, weights=None, **price):
    """The plan of a batch, as the session plans it."""
    request = Request(tuple(questions), Price(**price), None, weights)
    return KINDS[-1].plan(request, session.catalog, budget)


def charges(session):
    return [entry for entry in session.history() if entry.kind == "RESERVED"]


def test_a_batch_is_one_charge_and_one_answer_for_each_question_in_order(protect):
    with protect() as session:
        count, by_ward, total = session.release([COUNT, BY_WARD, TOTAL], epsilon=1)
        assert [release.outputs[0].name for release in (count, by_ward, total)] == ["n", "n", "total"]
        assert len(by_ward) == 3
        assert len(charges(session)) == 1
        assert session.remaining().epsilon == 1
        assert {release.receipt["hash"] for release in (count, by_ward, total)} == {count.receipt["hash"]}
        assert all("all 3 releases of one batch from 'visits'" in r.guarantee for r in (count, by_ward, total))


def test_a_batch_asked_again_is_read_from_the_store_and_another_order_is_another_batch(protect):
    with protect() as session:
        first = session.release([COUNT, TOTAL], epsilon=0.5)
        again = session.release([COUNT, TOTAL], epsilon=0.5, confidence=0.5)
        assert [r.repeated for r in again] == [True, True]
        assert [r.measured for r in again] == [r.measured for r in first]
        assert again[0].margin("n")[0] < first[0].margin("n")[0]
        assert not any(r.repeated for r in session.release([TOTAL, COUNT], epsilon=0.5))


@pytest.mark.guarantee("planner.batch")
@pytest.mark.parametrize("questions", [[COUNT, BY_WARD, TOTAL], [COUNT, CHOICE, TWO]], ids=["tables", "mixed"])
@pytest.mark.parametrize("budget", [dp.Budget(epsilon=2), DELTA], ids=["pure", "delta"])
def test_what_a_batch_is_charged_is_what_its_questions_cost_one_after_another(protect, budget, questions):
    with protect(budget) as session:
        batch = planned(session, questions, budget, [1, 2, 1], epsilon=1)
        session.release(questions, epsilon=1, weights=[1, 2, 1])
        spent = session.ledger.spent("visits")
    assert spent == budget.cost(batch.event)
    assert spent.rho <= sum(cost(part.event).rho for part in batch.parts)
    amounts = [part.spending.amount for part in batch.parts]
    assert 2 * amounts[0] == amounts[1] == 2 * amounts[2]
    assert sum(amounts) <= batch.spending.amount


@pytest.mark.guarantee("planner.batch")
def test_a_batch_with_a_delta_is_charged_as_a_pair_that_its_loss_distribution_keeps(protect):
    budget = dp.Budget(epsilon=1, delta=1e-7, reserved_delta=1e-7)
    with protect(budget) as session:
        batch = planned(session, [COUNT, TOTAL], budget, epsilon=1, delta=1e-7)
        releases = session.release([COUNT, TOTAL], epsilon=1, delta=1e-7)
        spent = session.ledger.spent("visits")
        assert (spent.epsilon, spent.delta) == (10**12, 10**11)
        with pytest.raises(BudgetError):
            session.release(COUNT, epsilon=0.001)
    loss = dp.events.ComposedEvent(tuple(part.event for part in batch.parts))
    assert pld.epsilon(loss, 1e-7) <= 1
    by_rho = planned(session, [COUNT, TOTAL], dp.Budget(epsilon=1, delta=1e-7), epsilon=1)
    assert sum(p.spending.amount for p in batch.parts) > 1.1 * sum(p.spending.amount for p in by_rho.parts)
    assert "epsilon 1, delta 1e-07" in releases[0].guarantee


def test_a_batch_with_a_delta_that_the_promise_did_not_reserve_is_refused_before_anything_is_read(protect):
    with protect(dp.Budget(epsilon=1, delta=1e-7)) as session, pytest.raises(BudgetError):
        session.release([COUNT, TOTAL], epsilon=1, delta=1e-7)


def test_a_batch_is_explained_with_the_price_of_all_and_the_units_that_are_charged(protect):
    with protect() as session:
        told = session.explain([COUNT, TOTAL], epsilon=1)
        session.release([COUNT, TOTAL], epsilon=1)
        assert told.units == vars(session.ledger.spent("visits"))
    assert "all 2 together cost epsilon 1" in str(told)
    assert len(told.parts) == 2
    assert "all 2 together" in told._repr_html_()


def test_a_testing_session_answers_a_batch_exactly_and_says_so(protect):
    with protect(kind=dp.testing.protect) as session:
        count, by_ward = session.release([COUNT, BY_WARD], epsilon=1)
    assert count.value() == 300
    assert by_ward["n"] == (100, 100, 100)
    assert not count.private


@pytest.mark.parametrize(
    ("words", "error"),
    [
        ({"query": []}, ParameterError),
        ({"query": [COUNT, "SELECT 1"]}, ParameterError),
        ({"query": [COUNT] * 1_001}, ParameterError),
        ({"query": [COUNT, TOTAL], "weights": [1]}, ParameterError),
        ({"query": [COUNT, TOTAL], "weights": [1, 0]}, ParameterError),
        ({"query": [COUNT, TOTAL], "delta": 0}, ParameterError),
        ({"query": [COUNT, TOTAL], "delta": 1e-9, "mechanism": "laplace"}, ParameterError),
        ({"query": COUNT, "weights": [1]}, ParameterError),
        ({"query": COUNT, "delta": 1e-9}, ParameterError),
        ({"query": "SELECT 1"}, ParameterError),
        ({"query": MIXED, "mechanism": "laplace"}, ParameterError),
        ({"query": MIXED, "weights": [1, 1]}, ParameterError),
        ({"query": [COUNT, VISITS.choose(["A", "B"], score=dp.score(by="town"))]}, Refusal),
        ({"query": [COUNT, VISITS.apply(TEXT + ")", columns=["cost"], blocks=4, bounds=(0, 9))]}, ParameterError),
        ({"query": [COUNT, dp.table("others").agg(n=dp.count())]}, Refusal),
    ],
)
def test_what_is_no_batch_is_refused_and_nothing_is_charged(protect, words, error):
    with protect() as session:
        with pytest.raises(error):
            session.release(words.pop("query"), epsilon=1, **words)
        assert session.ledger.spent("visits").epsilon == 0


@pytest.mark.parametrize("ask", ["epsilon_for", "expected_errors"])
def test_one_question_is_asked_where_a_batch_is_not_planned(protect, ask):
    words = {"epsilon_for": {"margin": 10}, "expected_errors": {"epsilons": [1]}}[ask]
    with protect() as session, pytest.raises(ParameterError, match="several queries where one is asked"):
        getattr(session, ask)([COUNT, TOTAL], **words)


def test_a_batch_over_two_tables_is_refused(tmp_path):
    columns = {"id": {"type": "integer"}}
    table = {"columns": columns, "privacy_unit": "id", "max_rows": 1, "budget": {"epsilon": 1}}
    catalog = dp.Catalog.model_validate({"tables": {"visits": table, "others": table}})
    rows = pa.table({"id": [1, 2]})
    sources = {"visits": rows, "others": rows}
    with (
        dp.Session(catalog, sources=sources, ledger=str(tmp_path / "l.sqlite")) as session,
        pytest.raises(UnsupportedError, match="batch"),
    ):
        session.release([COUNT, dp.table("others").agg(n=dp.count())], epsilon=1)


@pytest.mark.pitfall("B3")
def test_a_batch_that_fails_after_its_charge_stays_charged_and_tells_nothing(protect, monkeypatch):
    with protect() as session:
        monkeypatch.setattr(session._pipeline, "randomize", lambda *_: json.loads("{"))
        with pytest.raises(Failure):
            session.release([COUNT, TOTAL], epsilon=1)
        assert session.remaining().epsilon == 1


# Questions of several kinds


@pytest.mark.parametrize("budget", [dp.Budget(epsilon=2), DELTA], ids=["pure", "delta"])
def test_a_mixed_batch_is_charged_once_repeats_for_free_and_restores_each_kind(protect, budget):
    with protect(budget) as session:
        first = session.release(MIXED, epsilon=1)
        spent = session.ledger.spent("visits")
        again = session.release(MIXED, epsilon=1)
        assert [type(each) for each in first] == [Release, Selection, Selection, Release]
        assert len(charges(session)) == 1
        assert session.ledger.spent("visits") == spent == budget.cost(planned(session, MIXED, budget, epsilon=1).event)
    assert [each.repeated for each in first] == [False] * 4
    assert [each.repeated for each in again] == [True] * 4
    assert again == first
    assert {each.receipt["hash"] for each in first} == {first[0].receipt["hash"]}
    assert all("all 4 releases of one batch from 'visits'" in each.guarantee for each in first)
    assert (len(first[0]), first[1].candidates, len(first[2].values)) == (3, 3, 2)


def test_a_mixed_batch_is_restored_by_another_session(protect):
    with protect() as session:
        first = session.release(MIXED, epsilon=1)
    with protect() as session:
        assert session.release(MIXED, epsilon=1) == first
        assert session.remaining().epsilon == 1


def test_every_answer_of_a_mixed_batch_has_its_margin_at_another_confidence(protect):
    with protect() as session:
        first = session.release(MIXED, epsilon=1)
        wide = session.release(MIXED, epsilon=1, confidence=0.99)
        assert all(each.repeated for each in wide)
        assert session.remaining().epsilon == 1
    assert wide[0].measured == first[0].measured
    assert wide[0].margin("n")[0] > first[0].margin("n")[0]
    assert [each.values for each in wide[1:3]] == [each.values for each in first[1:3]]
    assert all(after.within > before.within for before, after in zip(first[1:3], wide[1:3], strict=True))


def test_another_order_other_weights_and_another_choice_are_other_questions(protect):
    with protect() as session:
        session.release([COUNT, CHOICE], epsilon=0.25)
        for words in (
            {"query": [CHOICE, COUNT]},
            {"query": [COUNT, CHOICE], "weights": [1, 2]},
            {"query": [COUNT, TWO]},
            {"query": [COUNT, CHOICE], "fresh": True},
        ):
            assert not any(each.repeated for each in session.release(epsilon=0.25, **words))
        assert all(each.repeated for each in session.release([COUNT, CHOICE], epsilon=0.25, weights=[3, 3]))
        assert len(charges(session)) == 5


def test_a_choice_in_a_batch_is_not_the_answer_to_the_same_choice_alone(protect):
    with protect() as session:
        session.release([CHOICE], epsilon=0.5)
        assert not session.release(CHOICE, epsilon=0.5).repeated
        assert session.remaining().epsilon == 1


def test_a_mixed_batch_is_explained_for_free_as_it_is_charged(protect):
    with protect() as session:
        explained = session.explain(MIXED, epsilon=1, weights=[2, 1, 1, 1])
        assert session.remaining().epsilon == 2
        releases = session.release(MIXED, epsilon=1, weights=[2, 1, 1, 1])
        assert explained.units == vars(session.ledger.spent("visits"))
        assert not session.explain(MIXED, epsilon=1.5).fits
    assert explained.fits
    names = [[output.name for output in part.outputs] for part in explained.parts]
    assert names == [["n", "cost"], ["choice"], ["choice"], ["total"]]
    assert [part.outputs[0].margin for part in explained.parts[1:3]] == [each.within for each in releases[1:3]]
    assert "all 4 together cost epsilon 1" in str(explained)


def test_without_noise_a_mixed_batch_is_exact(protect):
    with protect(kind=dp.testing.protect) as session:
        by_ward, best, two, total = session.release(MIXED, epsilon=1)
    assert by_ward["n"] == (100, 100, 100)
    costs = [sum(i % 101 for i in range(300) if i % 3 == ward) for ward in range(3)]
    assert best.value == "ABC"[costs.index(max(costs))]
    assert two.values == (0, 50)
    assert total.value() == sum(costs)
    assert not any(each.private for each in (by_ward, best, two, total))


@pytest.mark.guarantee("planner.batch")
def test_a_mixed_batch_with_a_delta_is_charged_as_a_pair_that_its_loss_distribution_keeps(protect):
    with protect(RESERVED) as session:
        batch = planned(session, [COUNT, CHOICE], RESERVED, epsilon=1, delta=1e-9)
        session.release([COUNT, CHOICE], epsilon=1, delta=1e-9)
        spent = session.ledger.spent("visits")
    assert (spent.epsilon, spent.delta) == (10**12, 10**9)
    assert pld.epsilon(dp.events.ComposedEvent(tuple(part.event for part in batch.parts)), 1e-9) <= 1


def test_a_stored_choice_takes_no_margin_of_other_noise(protect, monkeypatch):
    """The event of a batch with a delta is a pair, which does not tell one noise from another."""
    with protect(RESERVED) as session:
        words = {"epsilon": 1, "delta": 1e-9}
        first = session.release([CHOICE, TWO], **words)
        monkeypatch.setattr(batch, "_ROUNDS", 0)
        assert session.release([CHOICE, TWO], **words)[0].within == first[0].within
        with pytest.raises(UnsupportedError, match="other noise than is planned"):
            session.release([CHOICE, TWO], **words, confidence=0.99)


def test_keys_that_are_found_are_chosen_in_a_batch_at_their_own_delta(protect):
    found = VISITS.choose(dp.discover(delta=1e-9), score=dp.score(by="ward", of=dp.count_units()), top=2)
    with protect(RESERVED) as session:
        count, chosen = session.release([COUNT, found], epsilon=2)
        assert session.ledger.spent("visits").delta == 10**9
        again = session.release([COUNT, found], epsilon=2)
    assert "delta 1.1e-08" in count.guarantee
    assert again == [count, chosen]
    assert set(chosen.values) <= {"A", "B", "C"}


def test_a_function_is_answered_in_a_batch(protect):
    with protect() as session:
        first = session.release([COUNT, ROWS, CHOICE], epsilon=1)
        again = session.release([COUNT, ROWS, CHOICE], epsilon=1)
        wide = session.release([COUNT, ROWS, CHOICE], epsilon=1, confidence=0.99)
        assert len(charges(session)) == 1
        assert float(session.remaining()) == pytest.approx(1)
        explained = session.explain([COUNT, ROWS, CHOICE], epsilon=1)
    assert [type(each) for each in first] == [Release, Estimate, Selection]
    assert again == first
    assert all(each.repeated for each in again)
    assert first[1].name == "rows"
    assert "all 3 releases of one batch" in first[1].guarantee
    assert explained.parts[1].outputs[0].margin == pytest.approx(first[1].margin)
    assert wide[1].margin > first[1].margin


def test_without_noise_a_function_in_a_batch_is_exact(protect):
    with protect(kind=dp.testing.protect) as session:
        count, rows = session.release([COUNT, ROWS], epsilon=1)
    assert (count.value(), rows.value) == (300, 75)


@pytest.mark.pitfall("B3")
def test_a_function_that_cannot_be_read_fails_the_whole_batch_with_one_sentence(protect, monkeypatch):
    def unreadable(*_):
        raise ValueError("alice, HIV+")

    with protect() as session:
        monkeypatch.setattr(session._pipeline.engine("visits"), "blocks", unreadable)
        with pytest.raises(Failure) as failed:
            session.release([COUNT, ROWS], epsilon=1)
        assert failed.value.__context__ is None
        assert session.remaining().epsilon == 1
        assert str(session.history()[-1].state) == "FORFEITED"


def test_what_is_stored_of_a_batch_has_the_place_of_each_answer(protect):
    with protect() as session:
        session.release(MIXED, epsilon=1)
        stored = json.loads(session.ledger.stored_answer("visits", charges(session)[0].question))
    assert [body.get("place", 0) for body in stored[BATCH]] == [0, 1, 2, 3]
    assert [("candidates" in body, "measured" in body) for body in stored[BATCH]] == [
        (False, True),
        (True, False),
        (True, False),
        (False, True),
    ]
