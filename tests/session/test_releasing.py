"""Tables are explained and released one at a time, or several at once for one charge."""

import json

import pyarrow as pa
import pytest

import discreet as dp
from discreet.accounting import pld
from discreet.accounting.filters import cost
from discreet.errors import BudgetError, Failure, ParameterError, Refusal, UnsupportedError
from discreet.planner.batch import analyze_batch

VISITS = dp.table("visits")
COUNT = VISITS.agg(n=dp.count())
BY_WARD = VISITS.group_by("ward").agg(n=dp.count(), cost=dp.mean("cost"))
TOTAL = VISITS.agg(total=dp.sum("cost"))


@pytest.fixture
def protect(tmp_path):
    rows = pa.table({"id": range(300), "ward": ["A", "B", "C"] * 100, "cost": [i % 101 for i in range(300)]})
    words = {"privacy_unit": "id", "max_rows": 1, "keys": {"ward": ["A", "B", "C"]}, "bounds": {"cost": (0, 100)}}

    def protected(budget=dp.Budget(epsilon=2), kind=dp.protect):  # noqa: B008 - frozen
        return kind(rows, name="visits", budget=budget, ledger=str(tmp_path / "ledger.sqlite"), **words)

    return protected


def test_a_batch_is_one_charge_and_one_answer_for_each_question_in_order(protect):
    with protect() as session:
        count, by_ward, total = session.release([COUNT, BY_WARD, TOTAL], epsilon=1)
        charges = [entry for entry in session.history() if entry.kind == "RESERVED"]
        assert [release.outputs[0].name for release in (count, by_ward, total)] == ["n", "n", "total"]
        assert len(by_ward) == 3
        assert len(charges) == 1
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
@pytest.mark.parametrize("budget", [dp.Budget(epsilon=2), dp.Budget(epsilon=2, delta=1e-9)])
def test_what_a_batch_is_charged_is_what_its_questions_cost_one_after_another(protect, budget):
    queries = [COUNT.plan, BY_WARD.plan, TOTAL.plan]
    with protect(budget) as session:
        batch = analyze_batch(queries, session.catalog, budget, epsilon=1, weights=[1, 2, 1])
        session.release([COUNT, BY_WARD, TOTAL], epsilon=1, weights=[1, 2, 1])
        spent = session.ledger.spent("visits")
    assert spent == cost(batch.event)
    assert spent.rho <= sum(cost(part.event).rho for part in batch.parts)
    amounts = [part.spending.amount for part in batch.parts]
    assert 2 * amounts[0] == amounts[1] == 2 * amounts[2]
    assert sum(amounts) <= batch.spending.amount


@pytest.mark.guarantee("planner.batch")
def test_a_batch_with_a_delta_is_charged_as_a_pair_that_its_loss_distribution_keeps(protect):
    budget = dp.Budget(epsilon=1, delta=1e-7, reserved_delta=1e-7)
    with protect(budget) as session:
        batch = analyze_batch([COUNT.plan, TOTAL.plan], session.catalog, budget, epsilon=1, delta=1e-7)
        releases = session.release([COUNT, TOTAL], epsilon=1, delta=1e-7)
        spent = session.ledger.spent("visits")
        assert (spent.epsilon, spent.delta) == (10**12, 10**11)
        with pytest.raises(BudgetError):
            session.release(COUNT, epsilon=0.001)
    loss = dp.events.ComposedEvent(tuple(part.event for part in batch.parts))
    assert pld.epsilon(loss, 1e-7) <= 1
    by_rho = analyze_batch([COUNT.plan, TOTAL.plan], session.catalog, dp.Budget(epsilon=1, delta=1e-7), epsilon=1)
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
        ({"query": [COUNT, dp.table("others").agg(n=dp.count())]}, Refusal),
    ],
)
def test_what_is_no_batch_is_refused_and_nothing_is_charged(protect, words, error):
    with protect() as session:
        with pytest.raises(error):
            session.release(words.pop("query"), epsilon=1, **words)
        assert session.ledger.spent("visits").epsilon == 0


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
        monkeypatch.setattr(session, "_noisy", lambda *_: json.loads("{"))
        with pytest.raises(Failure):
            session.release([COUNT, TOTAL], epsilon=1)
        assert session.remaining().epsilon == 1
