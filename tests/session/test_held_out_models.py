"""A model with its evaluation is one query: one charge before a row is read, one release, the same on every engine."""

import numpy as np
import pyarrow as pa
import pytest

import discreet as dp
import draws as record
import opened
from discreet import events
from discreet.accounting.filters import Budget
from discreet.accounting.prices import total
from discreet.errors import Failure
from discreet.plan import models
from discreet.planner.queries.model import analyze_model
from discreet.query.frame import relation_of

T = dp.table("adult")
ROWS = pa.table(
    {
        "id": [f"p{i // 2}" for i in range(1_200)],
        "age": [i // 2 % 90 for i in range(1_200)],
        "sex": ["FM"[i % 2] for i in range(1_200)],
        "income": [["no", "yes"][i // 2 % 90 > 45] for i in range(1_200)],
    }
)
FACTS = {"privacy_unit": "id", "max_rows": 2, "bounds": {"age": (0, 90)}, "population": 600}
KEYS = {"keys": {"sex": ["F", "M"], "income": ["no", "yes"]}}
BUDGET = dp.Budget(epsilon=4, delta=1e-9)
MODEL = dp.learning.NaiveBayes()
QUERY = T.fit(MODEL, target="income", holdout=0.2)


def protected(protect=dp.testing.protect, rows=ROWS, **changes):
    words = {"name": "adult", "budget": BUDGET, "ledger": ":memory:"} | FACTS | KEYS | changes
    return protect(rows, **words)


def test_an_exact_model_has_the_scores_of_the_people_held_out():
    with protected() as session:
        model = session.release(QUERY, epsilon=1)
    counted = np.array(model.release.state["evaluation"]["noisy"]) / 2**12
    assert model.evaluation.figures["auc"].value > 0.9
    assert model.evaluation.figures["weight"].value == pytest.approx(counted.sum())
    assert 60 < counted.sum() < 300


@pytest.mark.pitfall("B23")
@pytest.mark.draws("session.release")
@pytest.mark.parametrize("neighbours", ["add_remove", "replace_one"])
def test_fit_and_score_are_one_charge_with_a_draw_on_every_integer(draws, neighbours):
    with protected(dp.protect, neighbours=neighbours) as session:
        session.release(QUERY, epsilon=1)
        plan = analyze_model(
            relation_of(T), session.catalog, BUDGET, model=MODEL, target="income", features=None,
            holdout=QUERY.holdout, epsilon=1,
        )  # fmt: skip
        (charge,) = (entry for entry in session.history() if entry.kind == "RESERVED")
    fit, score = plan.training.fit, plan.training.score_schedule
    lengths = [each.noise.dimension for each in fit.learner.schedule.sums]
    assert draws.calls == record.additive(fit.event, lengths) + record.additive(score.event, [64])
    charged = total(events.from_canonical(charge.event)).rho
    rhos = fit.rho, score.rho
    assert charged == (max(rhos) if neighbours == "add_remove" else sum(rhos)) <= Budget.rho(BUDGET, 1)


def test_the_same_query_is_charged_once_and_another_share_again():
    with protected(dp.protect) as session:
        first = session.release(QUERY, epsilon=1)
        left = float(session.remaining())
        again = session.release(QUERY, epsilon=1)
        assert again.release.repeated
        assert again.evaluation.figures == first.evaluation.figures
        assert float(session.remaining()) == left
        for other in (T.fit(MODEL, target="income"), T.fit(MODEL, target="income", holdout=0.25)):
            assert not session.release(other, epsilon=0.1).release.repeated
        assert float(session.remaining()) < left


def test_intervals_are_at_the_confidence_that_was_asked_for():
    with protected(dp.protect) as session:
        wide = session.release(QUERY, epsilon=1).evaluation.figures
        narrow = session.release(QUERY, epsilon=1, confidence=0.5).evaluation.figures
    assert {name: each.value for name, each in wide.items()} == {name: each.value for name, each in narrow.items()}
    for name in wide:  # an interval of few people may be all that a figure can be, at either confidence
        assert wide[name].low <= narrow[name].low <= narrow[name].high <= wide[name].high
    assert narrow["weight"].high - narrow["weight"].low < wide["weight"].high - wide["weight"].low


def test_a_query_that_does_not_fit_the_budget_reads_nothing(monkeypatch):
    monkeypatch.setattr("discreet.engines.sql_engine.SQLEngine.blocks", lambda *_: pytest.fail("rows were read"))
    with protected(dp.protect) as session:
        with pytest.raises(dp.Refusal):
            session.release(QUERY, epsilon=40)
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
    assert error.value.__context__ is None


def test_scores_are_explained_and_their_weight_has_a_margin_in_advance():
    with protected(dp.protect) as session:
        text = str(session.explain(QUERY, epsilon=1))
        epsilon = session.epsilon_for(QUERY, margin=50, output="weight")
        with pytest.raises(dp.Refusal, match="output='weight'"):
            session.epsilon_for(QUERY, margin=50)
        assert float(session.remaining()) == 4
    assert "area under the ROC curve: ± depends on the scores" in text
    assert 0 < epsilon < 4


def test_a_saved_release_of_an_earlier_version_has_the_figure_by_its_earlier_name(tmp_path):
    path = tmp_path / "model.json"
    with protected() as session:
        session.release(QUERY, epsilon=1).release.save(path)
    path.write_text(path.read_text().replace('["weight", ', '["rows", '))
    model = dp.learning.load(path)
    assert "\nrows: " in str(model.release)
    assert "\n  weight     " in str(model.evaluation)


@pytest.mark.parametrize(
    ("neighbours", "reason"), [("add_remove", "the larger is charged"), ("replace_one", "rhos add")]
)
def test_an_explanation_says_how_fit_and_score_are_charged(neighbours, reason):
    with protected(dp.protect, neighbours=neighbours) as session:
        assert reason in str(session.explain(QUERY, epsilon=1))


def test_a_model_and_its_scores_are_saved_loaded_and_reported(tmp_path):
    with protected(dp.protect, ledger=tmp_path / "ledger.sqlite") as session:
        model = session.release(QUERY, epsilon=1)
    model.release.save(tmp_path / "model.json")
    assert dp.ModelRelease.load(tmp_path / "model.json") == model.release
    again = dp.learning.load(tmp_path / "model.json")
    assert again.evaluation.figures == model.evaluation.figures
    assert again.evaluation.model is again
    page = dp.report(tmp_path / "model.json").to_html()
    assert "held out" in page
    assert str(model.evaluation.figures["auc"]) in page
    assert "not stated here" not in page


def test_a_refit_on_an_account_has_nothing_of_the_evaluation():
    with protected(dp.protect) as session:
        model = session.release(QUERY, epsilon=1)
    model.budget = dp.learning.BudgetAccount(dp.Budget(epsilon=2, delta=1e-6))
    model.fit(ROWS.select(["age", "sex"]), ROWS.column("income"))
    assert not hasattr(model, "evaluation")


def test_a_share_that_is_none_is_refused_before_the_session_is_asked():
    for share in (1, 2, 0, -1):
        with pytest.raises(dp.Refusal, match="holdout"):
            T.fit(MODEL, target="income", holdout=share)


def test_a_scaler_and_a_model_without_scores_are_refused_before_the_charge():
    with protected(dp.protect) as session:
        with pytest.raises(dp.Refusal, match="classifiers and regressors"):
            session.release(T.fit(dp.learning.StandardScaler(), features=["age"], holdout=0.2), epsilon=1)
        assert float(session.remaining()) == 4


def query_of(size=900_000):
    return T.fit(dp.learning.NaiveBayes(size=size), target="income", features=["age", "sex"], holdout=0.3)


def state_on(engine, place, request, query, **unit):
    catalog = {
        "columns": {
            "id": {"type": "text"},
            "age": {"type": "integer", "bounds": (0, 90)},
            "sex": {"type": "text", "keys": ["F", "M"]},
            "income": {"type": "text", "keys": ["no", "yes"]},
        },
        "privacy_unit": "id",
        "max_rows": 5,
        "sampling": "portable",
        "population": 10**6,
        "budget": {"epsilon": 4, "delta": 1e-9},
    } | unit
    ids = [*(f"p{i // 3}" for i in range(300)), None, "", " ", "P0", "p0 ", "z" * 200]
    ages = [*(i * 7 % 97 for i in range(300)), 5, None, -1, 300, 7, 8]
    sexes = [*("FMX"[i % 3] for i in range(300)), None, "F", "M", "f", "F ", "M"]
    incomes = [*(["no", "yes", None, "maybe"][i % 4] for i in range(300)), "no", "no", "yes", "yes", "no", "yes"]
    rows = pa.table({"id": ids, "age": ages, "sex": sexes, "income": incomes})
    source = opened.brought(engine, rows, place, request)
    with dp.testing.Session(dp.Catalog(tables={"adult": catalog}), sources={"adult": source}) as session:
        return session.release(query, epsilon=1).release.state


@pytest.mark.parametrize("engine", opened.ENGINES[1:])
def test_parts_and_sums_are_the_same_integers_on_every_engine(engine, request, tmp_path):
    here = state_on("duckdb", tmp_path, request, query_of())
    assert sum(here["evaluation"]["noisy"]) > 0
    assert state_on(engine, tmp_path, request, query_of()) == here


@pytest.mark.parametrize("engine", ["sqlite", "postgres"])
def test_rows_of_one_block_that_are_people_are_in_the_same_parts_on_duckdb_sqlite_and_postgres(
    engine, request, tmp_path, monkeypatch
):
    monkeypatch.setattr(models, "LEAST_BLOCKS", 1)
    words = {"query": query_of(300), "privacy_unit": dp.ROW, "max_rows": 1, "population": 300}
    here = state_on("duckdb", tmp_path, request, **words)
    assert sum(here["evaluation"]["noisy"]) > 0
    assert state_on(engine, tmp_path, request, **words) == here
