"""A model is a query of a session: charged whole before a row is read, stored, found again, and the same everywhere."""

import json
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import discreet as dp
import draws as record
import opened
from discreet import events
from discreet.engines.sql_engine import SQLEngine
from discreet.errors import Failure
from discreet.learning.core.question import SessionTraining
from trainable import CLIP, CountEstimator, CountStep

T = dp.table("adult")
ROWS = pa.table(
    {
        "id": [f"p{i // 2}" for i in range(600)],
        "age": [i % 90 for i in range(600)],
        "sex": ["FM"[i % 2] for i in range(600)],
        "income": [["no", "yes", None][i % 3] for i in range(600)],
    }
)
FACTS = {"privacy_unit": "id", "max_rows": 2, "bounds": {"age": (0, 90)}}
KEYS = {"keys": {"sex": ["F", "M"], "income": ["no", "yes"]}}
BUDGET = dp.Budget(epsilon=4, delta=1e-9)
QUERY = T.fit(CountEstimator(size=300), target="income")


def protected(protect=dp.testing.protect, rows=ROWS, **changes):
    words = {"name": "adult", "budget": BUDGET, "ledger": ":memory:"} | FACTS | KEYS | changes
    return protect(rows, **words)


def test_an_exact_model_has_the_sums_of_clipped_people():
    with protected() as session:
        model = session.release(QUERY, epsilon=1)
    sums = np.array(model.model_.sums)
    assert (sums[0] == sums[1]).all()
    assert sums[0].sum() == 400 * 2 * 100
    assert not model.release.private


def test_a_private_model_has_noise_and_its_release():
    with protected(dp.protect) as session:
        model = session.release(QUERY, epsilon=1)
        spent = session.remaining()
    assert model.model_.sums[0] != model.model_.sums[1]
    assert model.guarantee == model.release.guarantee == model.guarantee_
    assert "epsilon 1, delta 9e-10" in model.guarantee
    assert model.receipt == model.release.receipt
    assert model.release.private
    assert float(spent) < 4


@pytest.mark.pitfall("B23")
@pytest.mark.draws("session.release")
@pytest.mark.parametrize(("neighbours", "sides"), [("add_remove", 1), ("replace_one", 2)])
def test_a_model_has_a_draw_of_the_charged_noise_on_every_integer(draws, neighbours, sides):
    with protected(dp.protect, neighbours=neighbours) as session:
        session.release(QUERY, epsilon=1)
        (charge,) = (entry for entry in session.history() if entry.kind == "RESERVED")
    event = events.from_canonical(charge.event)
    length = CountStep((33, 3), 2).length
    assert draws.calls == record.additive(event, [length] * 2)
    assert {leaf.squared_sensitivity for leaf, _ in events.leaves(event)} == {(sides * CLIP) ** 2}


def test_the_same_model_is_charged_once_and_a_fresh_one_again():
    with protected(dp.protect) as session:
        first = session.release(QUERY, epsilon=1)
        left = float(session.remaining())
        again = session.release(T.fit(CountEstimator(size=300), target="income", features=["age", "sex"]), epsilon=1)
        assert again.model_ == first.model_
        assert again.release.repeated
        assert float(session.remaining()) == left
        fresh = session.release(QUERY, epsilon=1, fresh=True)
        assert fresh.model_ != first.model_
        assert float(session.remaining()) < left


@pytest.mark.parametrize(
    "other",
    [
        T.fit(CountEstimator(size=301), target="income"),
        T.fit(CountEstimator(size=300, steps=3), target="income"),
        T.fit(CountEstimator(size=300), target="income", features=["sex"]),
        T.fit(CountEstimator(size=300), target="income", features=["sex", "age"]),
        T.fit(CountEstimator(size=300, classes=["yes", "no"]), target="income"),
        T.where(T.age > 3).fit(CountEstimator(size=300), target="income"),
    ],
)
def test_another_model_is_another_charge(other):
    with protected(dp.protect) as session:
        session.release(QUERY, epsilon=0.1)
        left = float(session.remaining())
        assert not session.release(other, epsilon=0.1).release.repeated
        assert float(session.remaining()) < left


def test_retries_with_one_key_are_one_charge():
    with protected(dp.protect) as session:
        one = session.release(QUERY, epsilon=1, idempotency_key="a")
        left = float(session.remaining())
        assert session.release(QUERY, epsilon=1, idempotency_key="a").model_ == one.model_
        assert float(session.remaining()) == left


def test_a_model_is_explained_before_anything_is_spent():
    with protected(dp.protect) as session:
        text = str(session.explain(QUERY, epsilon=1))
        assert float(session.remaining()) == 4
    assert "CountEstimator" in text
    assert "age, id, income, sex" in text
    assert "discrete Gaussian noise" in text


def test_accuracy_that_depends_on_rows_is_not_told_in_advance():
    with protected(dp.protect) as session:
        with pytest.raises(dp.Refusal, match=r"holdout=0\.2"):
            session.epsilon_for(QUERY, margin=1)
        with pytest.raises(dp.Refusal, match="expected errors"):
            session.expected_errors(QUERY, epsilons=[1])


def test_a_model_that_does_not_fit_the_budget_reads_nothing():
    with protected(dp.protect) as session:
        with pytest.raises(dp.Refusal):
            session.release(QUERY, epsilon=40)
        assert float(session.remaining()) == 4


def test_classes_that_contradict_the_keys_of_the_target_cost_nothing():
    query = T.fit(dp.learning.NaiveBayes(size=300, classes=["never", "yes"]), target="income")
    with protected(dp.protect) as session:
        with pytest.raises(dp.errors.ParameterError, match="the class 'never' of the target 'income'"):
            session.release(query, epsilon=1)
        assert float(session.remaining()) == 4


def test_a_failure_after_the_charge_is_one_sentence_and_stays_charged(monkeypatch):
    def broken(_, target):
        raise ValueError(f"a cell: {target[0]}")

    monkeypatch.setattr(CountEstimator, "target_steps", broken)
    with protected(dp.protect) as session:
        with pytest.raises(Failure) as error:
            session.release(QUERY, epsilon=1)
        assert float(session.remaining()) < 4
    assert "cell" not in str(error.value)
    assert error.value.__context__ is None


@pytest.mark.pitfall("A9")
@pytest.mark.parametrize("size", [1, 300])
def test_no_number_of_rows_fails_a_training(size, monkeypatch):
    """Blocks of user functions have a limit, here of one byte; an analyst who plans for one person meets none."""
    monkeypatch.setitem(SQLEngine.blocks.__kwdefaults__, "largest", 1)
    with protected() as session:
        model = session.release(T.fit(CountEstimator(size=size), target="income"), epsilon=1)
    assert np.array(model.model_.sums[0]).sum() == 400 * 2 * 100


LONG = {
    "a text of a feature": {"sex": "z" * 70_000},
    "a text of the target": {"income": "z" * 70_000},
    "the name of a person": {"id": "z" * 70_000},
}


@pytest.mark.pitfall("A9")
@pytest.mark.parametrize("cells", LONG.values(), ids=LONG)
def test_a_long_cell_of_one_person_moves_a_sum_by_at_most_the_clip(cells, tmp_path):
    """Files that differ by one person's line."""
    one = {"id": ["new"], "age": [33], "sex": ["F"], "income": ["yes"]} | {name: [cell] for name, cell in cells.items()}
    sums = []
    for name, rows in (("without", ROWS), ("with", pa.concat_tables([ROWS, pa.table(one)]))):
        pq.write_table(rows, tmp_path / f"{name}.parquet")
        with protected(dp.testing.protect, tmp_path / f"{name}.parquet") as session:
            sums.append(np.array(session.release(QUERY, epsilon=1).model_.sums))
    moved = np.square(sums[1] - sums[0]).sum(axis=1)
    assert (moved <= CLIP**2).all()
    assert moved.any() == ("income" not in cells)


def test_two_people_with_long_names_are_two():
    rows = pa.table(
        {"id": ["z" * 5_000 + end for end in "ab"] * 60, "age": [33] * 120, "sex": ["F"] * 120}
        | {"income": ["yes"] * 120}
    )
    sums = []
    for names in (rows.column("id"), pa.array(["a", "b"] * 60)):
        with protected(rows=rows.set_column(0, "id", names), max_rows=100) as session:
            sums.append(session.release(QUERY, epsilon=1).model_.sums)
    assert sums[0] == sums[1]


def test_a_refit_on_an_account_has_nothing_of_the_release_of_a_session():
    query = T.fit(dp.learning.NaiveBayes(size=300), target="income")
    with protected(dp.protect) as session:
        model = session.release(query, epsilon=1)
    assert model.release.guarantee == model.guarantee
    model.budget = dp.learning.BudgetAccount(dp.Budget(epsilon=2, delta=1e-6))
    model.fit(ROWS.select(["age", "sex"]), ROWS.column("income"))
    assert not {"release", "guarantee", "receipt"} & set(vars(model))
    assert "this fit" in model.guarantee_


@pytest.mark.parametrize(
    "model",
    [
        dp.learning.GradientBoostingClassifier(size=300, interactions=[("age", "sex")], rounds=1),
        dp.learning.NaiveBayes(size=np.int64(300), classes=np.array(["no", "yes"]), smoothing=Fraction(1, 2)),
    ],
)
def test_arguments_that_are_not_of_json_are_written_as_such(model, tmp_path):
    with protected(dp.protect) as session:
        fitted = session.release(T.fit(model, target="income"), epsilon=1)
    fitted.release.save(tmp_path / "model.json")
    again = dp.learning.load(tmp_path / "model.json")
    rows = ROWS.select(["age", "sex"])
    assert (again.predict(rows) == fitted.predict(rows)).all()


def test_models_and_tables_share_a_batch():
    with protected() as session:
        model, count = session.release([QUERY, T.agg(n=dp.count())], epsilon=1)
        assert sum(model.model_.sums[0]) == 400 * 2 * 100
        assert count.value() == 600
        assert model.release.receipt["hash"] == count.receipt["hash"]


def test_every_release_of_a_batch_says_what_is_not_covered_of_one_model(monkeypatch):
    """Each caveat is said once; the epsilon of a training by itself is not that of the batch."""
    monkeypatch.setattr(SessionTraining, "caveat", property(lambda _: "Floats are not covered."))
    monkeypatch.setattr(SessionTraining, "own_epsilon", property(lambda _: "Epsilon 0.9 by itself."))
    with protected() as session:
        answers = session.release(
            [T.agg(n=dp.count()), QUERY, T.fit(CountEstimator(size=300, steps=1), target="income")], epsilon=1
        )
        alone = session.release(QUERY, epsilon=1).guarantee
    assert {answer.guarantee for answer in answers} == {answers[0].guarantee}
    assert answers[0].guarantee.endswith("version 1. Floats are not covered.")
    assert alone.endswith("version 1. Floats are not covered. Epsilon 0.9 by itself.")


def test_a_noise_by_name_is_refused_beside_a_model():
    with protected() as session, pytest.raises(dp.Refusal, match="mechanism"):
        session.release(QUERY, epsilon=1, mechanism="laplace")


def test_a_model_of_the_twin_is_a_preview():
    with protected() as session:
        model = dp.preview(session.catalog, QUERY, epsilon=1)
    assert "generated" in model.release.dataset


def test_a_model_is_saved_verified_and_reported(tmp_path):
    with protected(dp.protect, ledger=tmp_path / "ledger.sqlite") as session:
        model = session.release(QUERY, epsilon=1)
    model.release.save(tmp_path / "model.json")
    loaded = dp.ModelRelease.load(tmp_path / "model.json")
    assert loaded == model.release
    for reported in (model, loaded, tmp_path / "model.json"):
        page = dp.report(reported).to_html()
        assert "CountEstimator" in page
        assert "model card" in page
        assert "age (32 bins)" in page


def test_a_model_of_a_session_is_saved_with_its_release_and_a_refit_without_it(tmp_path):
    one, other, refit = (tmp_path / name for name in ("one.json", "other.json", "refit.json"))
    with protected(dp.protect) as session:
        model = session.release(T.fit(dp.learning.NaiveBayes(size=300), target="income"), epsilon=1)
    model.save(one)
    model.release.save(other)
    assert one.read_bytes() == other.read_bytes()
    assert dp.learning.load(one).receipt == model.receipt
    model.set_params(budget=dp.learning.BudgetAccount(dp.Budget(epsilon=2, delta=1e-6)))
    model.fit(ROWS.select(["age", "sex"]), ROWS.column("income")).save(refit)
    with pytest.raises(dp.Refusal, match="a model alone, without card and receipt"):
        dp.report(refit)
    assert "this fit" in dp.learning.load(refit).guarantee_


def test_a_model_without_holdout_says_how_scores_are_released():
    with protected(dp.protect) as session:
        model = session.release(T.fit(dp.learning.NaiveBayes(size=300), target="income"), epsilon=1)
        assert not hasattr(model, "evaluation")
        with pytest.raises(dp.errors.UnknownCallError, match="released without holdout") as error:
            _ = model.evaluation
        names = {"dp": dp, "session": session, "model": model}
        assert "auc" in eval(error.value.instead, names).evaluation.figures  # noqa: S307 - our own advice


def test_saved_models_and_ledgers_hold_no_cell(tmp_path):
    canary, number = "CANARY-73939133", 73_939_133
    rows = pa.table(
        {
            "id": [f"{canary}-{i}" for i in range(60)],
            "age": [number] * 60,
            "sex": [canary] * 60,
            "income": [canary if i % 2 else "yes" for i in range(60)],
        }
    )
    with protected(dp.protect, rows, ledger=tmp_path / "ledger.sqlite") as session:
        model = session.release(QUERY, epsilon=1)
    model.release.save(tmp_path / "model.json")
    (tmp_path / "report.html").write_text(dp.report(model).to_html())
    for path in tmp_path.iterdir():
        data = path.read_bytes()
        assert canary.encode() not in data, path.name
        assert str(number).encode() not in data, path.name
    assert json.loads((tmp_path / "model.json").read_text())["schema"] == "discreet.trained/2"


def _brought(engine, rows, place, request):
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
    }
    source = opened.brought(engine, rows, place, request)
    return dp.testing.Session(dp.Catalog(tables={"adult": catalog}), sources={"adult": source})


def _sums(engine, rows, place, request, query=QUERY):
    with _brought(engine, rows, place, request) as session:
        return np.array(session.release(query, epsilon=1).model_.sums, dtype=object)


ODD = pa.table(
    {
        "id": [*(f"p{i // 3}" for i in range(90)), None, "", " ", "P0", "p0 "],
        "age": [*(i * 7 % 97 for i in range(90)), 5, None, -1, 300, 7],
        "sex": [*("FMX"[i % 3] for i in range(90)), None, "F", "M", "f", "F "],
        "income": [*(["no", "yes", None, "maybe"][i % 4] for i in range(90)), "no", "no", "yes", "yes", "no"],
    }
)


@pytest.mark.parametrize("engine", opened.ENGINES[1:])
def test_sums_are_the_same_integers_on_every_engine(engine, request, tmp_path):
    query = T.fit(CountEstimator(size=900_000), target="income")
    here = _sums("duckdb", ODD, tmp_path, request, query)
    assert here.sum() > 0
    assert (_sums(engine, ODD, tmp_path, request, query) == here).all()


@pytest.mark.parametrize("engine", opened.ENGINES)
@pytest.mark.parametrize("rows_of_one", [1, 2, 5, 9])
def test_one_person_moves_every_sum_by_at_most_the_clip(engine, rows_of_one, request, tmp_path):
    """Rows of one leaf: they add up before they are clipped, and rows beyond max_rows do not count."""
    one = pa.table(
        {
            "id": ["new"] * rows_of_one,
            "age": [33] * rows_of_one,
            "sex": ["F"] * rows_of_one,
            "income": ["yes"] * rows_of_one,
        }
    )
    without = _sums(engine, ODD, tmp_path, request)
    with_her = _sums(engine, pa.concat_tables([ODD, one]), tmp_path, request)
    for here, there in zip(with_her, without, strict=True):
        moved = sum((int(a) - int(b)) ** 2 for a, b in zip(here, there, strict=True))
        counted = min(rows_of_one, 5)
        assert moved == 2 * (100 * counted) ** 2 <= CLIP**2 or moved <= CLIP**2 < 2 * (100 * counted) ** 2
