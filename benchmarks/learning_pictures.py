"""Pictures of docs/learning-step-by-step.md: accuracy on Adult by epsilon and by the number of iterations.

    OMP_NUM_THREADS=1 scripts/bench learning_pictures [--runs 3] [--pictures docs/pictures]

Trained on adult.csv, tested on adult_test.csv, delta 1e-5. All models get the features of adult_features.py, in
different forms: the textbook's descent gets numbers scaled by declared bounds and 0 or 1 for each declared category,
those of dp.learning get slots. So each form has its own line without privacy, by logistic regression of scikit-learn.
An iteration of boosting is a round: one tree for each feature.

The comparison is not between equals in tuning either. The textbook's descent has a clip of 1, a rate of 4 and 20
iterations, none of them chosen on Adult. The defaults of `LogisticRegression` were chosen on folds of adult.csv and on
two generated tables, among about 47 configurations.
"""

import argparse
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from adult_features import CLASSES, FEATURES, SIZE, TARGET
from sklearn.linear_model import LogisticRegression

import discreet as dp
from discreet.attacks.pictures import Axis, Curve, curves
from discreet.exact.zcdp import rho_of
from discreet.learning.core.rows import EncodedRows
from discreet.learning.core.training import NoisySums, PeopleInMemory
from discreet.learning.linear import textbook

DATA = Path(__file__).parents[2] / "shared" / "data"
DELTA = Fraction(1, 100_000)
EPSILONS = ("0.05", "0.1", "0.3", "1", "3")
ITERATIONS = (1, 5, 20, 50, 150)
BOUNDS = {
    "Age": (17, 90),
    "fnlwgt": (0, 1_500_000),
    "Education-Num": (1, 16),
    "Capital Gain": (0, 100_000),
    "Capital Loss": (0, 5_000),
    "Hours per week": (1, 99),
}

Measure = Callable[[str, int | None], float]


def vectors(table: pd.DataFrame) -> Any:
    """Numbers scaled to [-1, 1] by declared bounds, and 0 or 1 for each declared category."""
    parts = [2 * (table[[name]].to_numpy() - low) / (high - low) - 1 for name, (low, high) in BOUNDS.items()]
    for name, feature in FEATURES.items():
        if not feature.is_ordered:
            parts.append(np.eye(feature.slots)[feature.encode(table[name])][:, 1:])
    return np.hstack(parts)


def slots(table: pd.DataFrame) -> Any:
    """0 or 1 for each slot of each feature: what `LogisticRegression` gets."""
    return np.hstack([np.eye(feature.slots)[feature.encode(table[name])] for name, feature in FEATURES.items()])


def public_accuracy(form: Callable[[pd.DataFrame], Any], train: pd.DataFrame, test: pd.DataFrame) -> float:
    """Accuracy without privacy, of the same form of the features."""
    model = LogisticRegression(max_iter=2_000).fit(form(train), rich(train))
    return float(model.score(form(test), rich(test)))


def rich(table: pd.DataFrame) -> Any:
    return (table[TARGET] == CLASSES[1]).to_numpy()


def textbook_accuracy(train: EncodedRows, test: EncodedRows) -> Measure:
    people = PeopleInMemory([train])

    def measure(epsilon: str, iterations: int | None) -> float:
        rho = rho_of(Fraction(epsilon), DELTA)
        learner = textbook.TextbookLearner(train.codes.shape[1] - 1, rho, iterations=iterations or 20, rate=4)
        return textbook.accuracy(learner.train(NoisySums(people, learner.schedule)).path[-1], test)

    return measure


def model_accuracy(kind: Any, length: str, train: pd.DataFrame, test: pd.DataFrame) -> Measure:
    def measure(epsilon: str, iterations: int | None) -> float:
        budget = dp.learning.BudgetAccount(dp.Budget(epsilon=Fraction(epsilon), delta=DELTA))
        model = kind(features=FEATURES, classes=CLASSES, size=SIZE, budget=budget, **{length: iterations})
        found = model.fit(train[list(FEATURES)], train[TARGET]).predict(test[list(FEATURES)])
        return float(np.mean(found == test[TARGET]))

    return measure


def mean_of(measure: Measure, epsilon: str, iterations: int | None, runs: int) -> float:
    mean = float(np.mean([measure(epsilon, iterations) for _ in range(runs)]))
    print(f"epsilon {epsilon}, iterations {iterations or 'by default'}: {mean:.4f}", flush=True)
    return mean


def by_epsilon(models: dict[str, Measure], limits: dict[str, float], runs: int) -> list[Curve]:
    drawn = []
    for name, measure in models.items():
        print(name)
        drawn.append(Curve(name, tuple((float(e), mean_of(measure, e, None, runs)) for e in EPSILONS)))
    return [*drawn, *(Curve(name, line(EPSILONS, limit), is_measured=False) for name, limit in limits.items())]


def by_iterations(models: dict[str, Measure], runs: int) -> list[Curve]:
    drawn = []
    for name, measure in models.items():
        for epsilon in ("0.1", "1"):
            print(name)
            points = tuple((float(t), mean_of(measure, epsilon, t, runs)) for t in ITERATIONS)
            drawn.append(Curve(f"{name}, epsilon {epsilon}", points))
    return drawn


def line(places: tuple[str, ...], height: float) -> tuple[tuple[float, float], ...]:
    return tuple((float(place), height) for place in places)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--pictures", type=Path)
    chosen = parser.parse_args()
    train, test = (pd.read_csv(DATA / name) for name in ("adult.csv", "adult_test.csv"))
    limits = {
        "not private logistic, numbers and categories": public_accuracy(vectors, train, test),
        "not private logistic, slots": public_accuracy(slots, train, test),
        "the larger class for everyone": float(1 - rich(test).mean()),
    }
    print(limits, flush=True)
    rows = [textbook.examples(vectors(table), rich(table)) for table in (train, test)]
    models = {
        "textbook's descent (not tuned), numbers and categories": textbook_accuracy(*rows),
        "LogisticRegression, slots": model_accuracy(dp.learning.LogisticRegression, "iterations", train, test),
        "GradientBoostingClassifier, slots": model_accuracy(
            dp.learning.GradientBoostingClassifier, "rounds", train, test
        ),
    }
    caption = f"Adult: mean accuracy on adult_test.csv over {chosen.runs} runs, delta 1e-5"
    height = Axis("accuracy", limits=(0.74, 0.88), is_share=True)
    pictures = {
        "learning-epsilon.svg": curves(
            by_epsilon(models, limits, chosen.runs),
            title="Accuracy by epsilon",
            x=Axis("epsilon", "log", ticks=tuple(map(float, EPSILONS))),
            y=height,
            caption=caption,
        ),
        "learning-iterations.svg": curves(
            by_iterations(models, chosen.runs),
            title="Accuracy by the number of iterations",
            x=Axis("iterations, or rounds of boosting", "log", ticks=ITERATIONS),
            y=height,
            caption=caption,
        ),
    }
    for name, figure in pictures.items() if chosen.pictures else ():
        figure.savefig(chosen.pictures / name, metadata={"Date": None})


if __name__ == "__main__":
    main()
