"""A search among candidates is one query: one charge, a random number of runs, one model in one release."""

import pytest

import discreet as dp
import draws as record
import opened
from discreet import events
from discreet.errors import Failure
from discreet.planner.queries.model import analyze_model
from discreet.query.frame import relation_of
from session.test_held_out_models import BUDGET, MODEL, T, protected, state_on

CANDIDATES = [{"smoothing": 1}, {"smoothing": 100}]
QUERY = T.search(MODEL, CANDIDATES, target="income")


@pytest.mark.pitfall("B23")
@pytest.mark.draws("session.release")
@pytest.mark.parametrize("neighbours", ["add_remove", "replace_one"])
def test_a_search_is_one_charge_with_fresh_draws_in_every_run(draws, neighbours):
    with protected(dp.protect, neighbours=neighbours) as session:
        session.release(QUERY, epsilon=1)
        words = {"target": "income", "features": None, "holdout": QUERY.holdout, "search": QUERY.search}
        plan = analyze_model(relation_of(T), session.catalog, BUDGET, model=MODEL, epsilon=1, **words)
        (charge,) = (entry for entry in session.history() if entry.kind == "RESERVED")
    event = events.from_canonical(charge.event)
    assert event == plan.event
    trial = plan.training.trials[0]
    lengths = [each.noise.dimension for each in trial.fit.learner.schedule.sums]
    run = record.additive(trial.fit.event, lengths) + record.additive(trial.score_schedule.event, [64])
    assert draws.calls == [*run, record.Runs(event.eta, event.gamma), *run, *run]


def test_the_same_search_is_charged_once_and_another_again():
    with protected(dp.protect) as session:
        first = session.release(QUERY, epsilon=1)
        left = float(session.remaining())
        again = session.release(QUERY, epsilon=1)
        assert again.release.repeated
        assert again.evaluation.parameters == first.evaluation.parameters
        assert again.evaluation.figures == first.evaluation.figures
        assert float(session.remaining()) == left
        for other in ({"runs": 5}, {"metric": "accuracy"}, {"eta": 1}, {"holdout": 0.3}):
            assert not session.release(
                T.search(MODEL, CANDIDATES, target="income", **other), epsilon=0.2
            ).release.repeated


def test_a_search_that_does_not_fit_the_budget_reads_nothing(monkeypatch):
    monkeypatch.setattr("discreet.engines.sql_engine.SQLEngine.blocks", lambda *_: pytest.fail("rows were read"))
    with protected(dp.protect) as session:
        with pytest.raises(dp.Refusal):
            session.release(QUERY, epsilon=40)
        with pytest.raises(dp.Refusal, match="features"):
            session.release(T.search(MODEL, [{"features": None}], target="income"), epsilon=1)
        assert float(session.remaining()) == 4


def test_a_failure_after_the_charge_is_one_sentence_and_stays_charged(monkeypatch):
    def broken(*_):
        raise ValueError("a cell: yes")

    monkeypatch.setattr("discreet.learning.evaluation.scores.ScoreStep.contributions", broken)
    with protected(dp.protect) as session:
        with pytest.raises(Failure) as error:
            session.release(QUERY, epsilon=1)
        assert float(session.remaining()) < 4
    assert "cell" not in str(error.value)


def test_a_search_is_explained_saved_loaded_and_reported(tmp_path):
    with protected(dp.protect, ledger=tmp_path / "ledger.sqlite") as session:
        assert "random number of runs" in str(session.explain(QUERY, epsilon=1))
        model = session.release(QUERY, epsilon=1)
    model.release.save(tmp_path / "model.json")
    again = dp.learning.load(tmp_path / "model.json")
    assert again.evaluation.parameters == model.evaluation.parameters
    assert again.smoothing == model.evaluation.parameters["smoothing"]
    page = dp.report(tmp_path / "model.json").to_html()
    assert "biased upwards" in page
    assert "chosen" in page


def test_a_search_shares_a_batch_and_can_be_asked_for_by_rho():
    with protected(dp.protect) as session:
        model, count = session.release([QUERY, T.agg(n=dp.count())], epsilon=1)
        assert model.release.receipt["hash"] == count.receipt["hash"]
        assert session.release(QUERY, rho=0.05).evaluation.parameters in CANDIDATES


@pytest.mark.parametrize("candidates", [[], "leaves", {"leaves": 3}, [3], 7])
def test_candidates_are_dictionaries(candidates):
    with pytest.raises(dp.Refusal, match="dictionaries"):
        T.search(MODEL, candidates, target="income")


@pytest.mark.parametrize("engine", opened.ENGINES[1:])
def test_a_search_without_noise_gives_the_same_integers_on_every_engine(engine, request, tmp_path):
    query = T.search(dp.learning.NaiveBayes(size=900_000), CANDIDATES, target="income", features=["age", "sex"])
    here, there = (state_on(each, tmp_path, request, query) for each in ("duckdb", engine))
    assert sum(here["evaluation"]["noisy"]) > 0
    assert there == here
