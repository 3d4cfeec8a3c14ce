"""Every sum that a model is trained on, through a session: raw files that differ by one person, on four engines.

The steps are those of a real training. A neighbour's sum of the same step differs by at most the clip, in the integers
that the noise is drawn for. The person has one row, two, or as many as count, all in one leaf.
"""

import pyarrow as pa
import pyarrow.csv
import pytest

import discreet as dp
import opened
from discreet.learning.core.training import ExactSums
from discreet.planner.budget.price import Price
from discreet.session.arguments import request_of

CLASSES = ["no", "yes"]
COLUMNS = {
    "id": {"type": "text"},
    "age": {"type": "integer", "bounds": (0, 90)},
    "cost": {"type": "real", "bounds": (0, 10)},
    "sex": {"type": "text", "keys": ["F", "M", "X"]},
    "income": {"type": "text", "keys": CLASSES},
}
NUMBERS = {"age": dp.learning.linear_bins(0, 90), "cost": dp.learning.linear_bins(0, 10)}
MODELS = {
    "logistic": (lambda: dp.learning.LogisticRegression(size=60), "income"),
    "boosting": (lambda: dp.learning.GradientBoostingClassifier(size=60), "income"),
    "boosted regression": (lambda: dp.learning.GradientBoostingRegressor(size=60), "cost"),
    "logistic of three": (lambda: dp.learning.LogisticRegression(size=60, classes=["F", "M", "X"]), "sex"),
    "boosting of three": (lambda: dp.learning.GradientBoostingClassifier(size=60, classes=["F", "M", "X"]), "sex"),
    "naive Bayes": (lambda: dp.learning.NaiveBayes(size=60), "income"),
    "naive Bayes of three": (lambda: dp.learning.NaiveBayes(size=60, classes=["F", "M", "X"]), "sex"),
    "ridge": (lambda: dp.learning.Ridge(size=60), "cost"),
    "scaler": (lambda: dp.learning.StandardScaler(size=60, features=NUMBERS), None),
}
ON_EVERY_ENGINE = ("logistic", "boosting", "boosted regression", "ridge")
HEADER = "id,age,cost,sex,income\n"
LINES = [
    f"p{i // 2},{i * 7 % 97},{i % 13 - 1}.5,{'FMX'[i % 3]},{['no', 'yes', '', 'maybe'][i % 4]}\n" for i in range(120)
]
ODD = [",3,1.5,F,yes\n", "p0,,,,no\n", "P0,-3,1e300,f,yes\n", "p1 ,33,-1e300,F ,no\n"]
ROWS_OF_ONE = {"one row": 1, "two rows": 2, "all rows that count": 5, "more rows than count": 9}


class RecordedSums(ExactSums):
    """Exact sums, with the steps that asked for them."""

    def __init__(self, people, schedule):
        super().__init__(people, schedule)
        self.steps = []

    def sum(self, step):
        self.steps.append(step)
        return super().sum(step)


def rows_of(text, place, name):
    path = place / f"{name}.csv"
    path.write_text(text, encoding="utf-8")
    kinds = {"id": pa.string(), "age": pa.int64(), "cost": pa.float64(), "sex": pa.string(), "income": pa.string()}
    options = pa.csv.ConvertOptions(column_types=kinds, strings_can_be_null=True)
    return pa.csv.read_csv(path, convert_options=options)


def trained(engine, rows, name, place, request, neighbours="add_remove"):
    """The plan of a model, and the people that a session would hand to it."""
    model, target = MODELS[name]
    facts = {"privacy_unit": "id", "max_rows": 5, "population": 10**6, "neighbours": neighbours}
    table = {"columns": COLUMNS, "budget": {"epsilon": 4, "delta": 1e-9}, "sampling": "portable"} | facts
    source = opened.brought(engine, rows, place, request)
    with dp.testing.Session(dp.Catalog(tables={"adult": table}), sources={"adult": source}) as session:
        asked = request_of(dp.table("adult").fit(model(), target=target), (), Price(1), None, None)
        kind, plan, _ = session._pipeline.plan(asked)
        with kind.prepare(asked, plan, session._pipeline) as prepared:
            return plan.training, kind.run(plan, prepared, session._pipeline)


def moves(steps, one, other):
    """By how much each sum moves, squared, beside the squared clip."""
    for step in steps:
        pairs = zip(one.sum(step).tolist(), other.sum(step).tolist(), strict=True)
        yield sum((a - b) ** 2 for a, b in pairs), step.clip**2


def person(rows):
    return [f"new,{30 + i % 2},{9.5},F,yes\n" for i in range(rows)]


@pytest.mark.pitfall("A9")
@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("rows_of_one", ROWS_OF_ONE.values(), ids=ROWS_OF_ONE)
def test_one_person_moves_every_sum_of_a_training_by_at_most_the_clip(name, rows_of_one, request, tmp_path):
    without = HEADER + "".join([*LINES, *ODD])
    added = without + "".join(person(rows_of_one))
    training, here = trained("duckdb", rows_of(without, tmp_path, "one"), name, tmp_path, request)
    _, there = trained("duckdb", rows_of(added, tmp_path, "other"), name, tmp_path, request)
    sums = RecordedSums(here, training.learner.schedule)
    training.learner.train(sums)
    assert sums.steps
    found = list(moves(sums.steps, here, there))
    assert all(moved <= most for moved, most in found)
    assert max(moved / most for moved, most in found) > 0.1


@pytest.mark.pitfall("A9")
@pytest.mark.parametrize("name", MODELS)
def test_a_replaced_person_moves_every_sum_by_at_most_twice_the_clip(name, request, tmp_path):
    texts = [HEADER + "".join([*LINES, *ODD, *lines]) for lines in (person(5), ["new,80,0.5,M,no\n"] * 5)]
    words = {"neighbours": "replace_one"}
    training, here = trained("duckdb", rows_of(texts[0], tmp_path, "one"), name, tmp_path, request, **words)
    _, there = trained("duckdb", rows_of(texts[1], tmp_path, "other"), name, tmp_path, request, **words)
    sums = RecordedSums(here, training.learner.schedule)
    training.learner.train(sums)
    planned = training.learner.schedule.sums
    for (moved, most), plan in zip(moves(sums.steps, here, there), planned, strict=True):
        assert moved <= 4 * most
        assert plan.noise.squared_sensitivity >= 4 * most


@pytest.mark.parametrize("engine", opened.ENGINES[1:])
def test_every_sum_of_every_training_is_the_same_integers_on_every_engine(engine, request, tmp_path):
    texts = {"one": HEADER + "".join([*LINES, *ODD]), "other": HEADER + "".join([*LINES, *ODD, *person(5)])}
    for name in ON_EVERY_ENGINE:
        for of, text in texts.items():
            rows = rows_of(text, tmp_path, of)
            training, here = trained("duckdb", rows, name, tmp_path, request)
            _, there = trained(engine, rows, name, tmp_path, request)
            sums = RecordedSums(here, training.learner.schedule)
            training.learner.train(sums)
            assert all(moved == 0 for moved, _ in moves(sums.steps, here, there)), (name, of)
