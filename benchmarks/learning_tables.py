"""Figures of docs/learning-accuracy.md on other tables: two generated ones of 50,000 rows, and breast_cancer.

    OMP_NUM_THREADS=1 scripts/bench learning_tables [--runs 3] [--epsilons 0.1 1 3] [--tables wide rare breast_cancer]

All models have the same defaults on all tables. Areas are those of other rows: 30,000 generated ones, or a random three
tenths of breast_cancer, anew for each run. The wide table was used for no choice of a default. The rare one, of
learning_pairs.py, resembles a table that defaults were chosen on. A wide row has 100 columns; one cell in twenty is not
zero, and 20 columns matter. The bounds of breast_cancer are those that its documentation prints.
"""

import argparse
import re
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import learning_pairs
import numpy as np
import pyarrow as pa
from sklearn.datasets import load_breast_cancer
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

import discreet as dp

DELTA = 1e-5
ROWS, TEST_ROWS = 50_000, 30_000
WIDE, USED = 100, 20

Rows = tuple[pa.Table, Any]


@dataclass(frozen=True)
class Task:
    """A table: what is declared of it, and how rows to fit to and to score are drawn."""

    features: dict[str, dp.learning.DeclaredFeature]
    size: int
    split: Callable[[], tuple[Rows, Rows]]
    pairs: tuple[tuple[str, str], ...] = ()


def wide_rows(rows: int, draw: np.random.Generator) -> Rows:
    """Sparse columns; a fifth of them matter, by curves of different signs."""
    values = draw.random((rows, WIDE)) * (draw.random((rows, WIDE)) < 0.05)
    effects = np.concatenate([np.linspace(-5, 5, USED // 2), np.linspace(3, -3, USED // 2)])
    curved = np.where(np.arange(USED) < USED // 2, values[:, :USED], (values[:, :USED] > 0.5) * 1.0)
    scores = curved @ effects - 0.4
    return named(values, [f"x{place}" for place in range(WIDE)]), draw.random(rows) < 1 / (1 + np.exp(-scores))


def named(values: Any, names: list[str]) -> pa.Table:
    return pa.table(dict(zip(names, values.T, strict=True)))


def wide() -> Task:
    features = {f"x{place}": dp.learning.linear_bins(0, 1) for place in range(WIDE)}
    both = wide_rows(ROWS, dp.testing.generator(1)), wide_rows(TEST_ROWS, dp.testing.generator(2))
    return Task(features, ROWS, lambda: both)


def rare() -> Task:
    both = learning_pairs.table(ROWS, 1), learning_pairs.table(TEST_ROWS, 2)
    return Task(learning_pairs.FEATURES, ROWS, lambda: both, tuple(learning_pairs.PAIRS))


def breast_cancer() -> Task:
    data = load_breast_cancer()
    printed = re.findall(r":\s+([\d.]+)\s+([\d.]+)[ ]*$", data.DESCR, re.MULTILINE)
    names = [str(name) for name in data.feature_names]
    bounds = {name: (float(low), float(high)) for name, (low, high) in zip(names, printed, strict=True)}
    features = {name: dp.learning.linear_bins(low, high) for name, (low, high) in bounds.items()}

    def split() -> tuple[Rows, Rows]:
        is_fit = np.random.default_rng().random(len(data.target)) < 0.7
        fit, score = ((named(data.data[part], names), data.target[part] == 1) for part in (is_fit, ~is_fit))
        return fit, score

    return Task(features, 400, split)


TASKS = {"wide": wide, "rare": rare, "breast_cancer": breast_cancer}


def private(kind: str, task: Task, epsilon: float, fit: Rows) -> Any:
    """The scores of a private model, as a function of rows."""
    budget = dp.learning.BudgetAccount(dp.Budget(epsilon=epsilon, delta=DELTA))
    declared: dict[str, Any] = {"features": task.features, "classes": [False, True], "size": task.size}
    if kind == "logistic":
        model = dp.learning.LogisticRegression(**declared, budget=budget)
    else:
        pairs = list(task.pairs) if kind == "boosting, with pairs" else None
        model = dp.learning.GradientBoostingClassifier(**declared, budget=budget, interactions=pairs)
    return model.fit(*fit).decision_function


def public(kind: str, task: Task, fit: Rows) -> Any:
    """The same of the counterpart without privacy: trees get columns, logistic regression gets declared slots."""

    def codes(rows: pa.Table) -> Any:
        return np.stack([feature.encode(rows[name]) for name, feature in task.features.items()], axis=1)

    if kind == "logistic":
        line = make_pipeline(OneHotEncoder(handle_unknown="ignore"), LogisticRegression(max_iter=1_000))
        line.fit(codes(fit[0]), fit[1])
        return lambda rows: line.decision_function(codes(rows))
    kinds = [not feature.is_ordered for feature in task.features.values()]
    trees = HistGradientBoostingClassifier(categorical_features=kinds).fit(fit[0].to_pandas(), fit[1])
    return lambda rows: trees.decision_function(rows.to_pandas())


def areas(task: Task, make: Callable[[Rows], Any], runs: int) -> list[float]:
    """Area under the curve of each run."""
    found = []
    for _ in range(runs):
        fit, (rows, labels) = task.split()
        found.append(float(roc_auc_score(labels, make(fit)(rows))))
    return found


def shown(found: list[float]) -> str:
    return f"{np.mean(found):.3f} ({np.std(found, ddof=1):.3f})" if len(found) > 1 else f"{found[0]:.3f}"


def print_table(name: str, task: Task, epsilons: list[float], runs: int) -> None:
    """A row for each model of one table."""
    for kind in ("boosting", "boosting, with pairs", "logistic"):
        if kind == "boosting, with pairs" and not task.pairs:
            continue
        cells = [
            shown(areas(task, lambda fit, kind=kind, epsilon=epsilon: private(kind, task, epsilon, fit), runs))
            for epsilon in epsilons
        ]
        without = areas(task, lambda fit, kind=kind: public(kind, task, fit), runs if name == "breast_cancer" else 1)
        print(f"| {name} | {kind} | {' | '.join(cells)} | {shown(without)} |", flush=True)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--epsilons", type=float, nargs="+", default=(0.1, 1.0, 3.0))
    parser.add_argument("--tables", nargs="+", choices=list(TASKS), default=list(TASKS))
    given = parser.parse_args()
    warnings.filterwarnings("ignore")
    heads = " | ".join(f"epsilon {epsilon:g}" for epsilon in given.epsilons)
    print(f"| table | model | {heads} | not private |\n|---|---|{'---|' * len(given.epsilons)}---|", flush=True)
    for name in given.tables:
        print_table(name, TASKS[name](), list(given.epsilons), given.runs if name != "breast_cancer" else 10)
