"""Fit time and peak memory of docs/learning-accuracy.md: private models beside those without privacy, in one run.

    OMP_NUM_THREADS=1 scripts/bench learning_costs [--repeats 3] [--tables adult generated]

Each fit is in a process of its own, private and not private in turn; figures are medians. Time is processor time,
so that other work on the machine counts little. Memory is the peak of the process above what the rows and the imports
have, as Linux states it. Encoding is part of every fit. Epsilon is 1, delta 1e-5. Adult has 32,561 rows and 14
columns, the generated table (that of learning_pairs.py) has 500,000 and 15. Ridge predicts the label as 0 or 1 from the
numeric columns; GaussianNB gets the codes of declared features, as naive Bayes of this house does.
"""

import argparse
import json
import subprocess
import sys
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any

import adult_features
import learning_pairs
import numpy as np
import pandas as pd
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

import discreet as dp
import learning

LARGE = 500_000
Features = dict[str, dp.learning.DeclaredFeature]
Fit = Callable[[pd.DataFrame, Any, Features], Any]


def read(table: str) -> tuple[pd.DataFrame, Any, Features]:
    """Rows, labels and declared features."""
    if table == "adult":
        rows, target = learning.read("adult.csv")
        return rows, (target == adult_features.CLASSES[1]).to_numpy(), adult_features.FEATURES
    rows, labels = learning_pairs.table(LARGE, 1)
    return rows.to_pandas(), labels, learning_pairs.FEATURES


def declared(features: Features, rows: pd.DataFrame) -> dict[str, Any]:
    budget = dp.learning.BudgetAccount(dp.Budget(epsilon=1, delta=1e-5))
    return {"features": features, "size": len(rows), "budget": budget}


def classifier(kind: Any) -> Fit:
    def fit(rows: pd.DataFrame, labels: Any, features: Features) -> Any:
        return kind(**declared(features, rows), classes=[False, True]).fit(rows, labels)

    return fit


def numeric(features: Features) -> Features:
    return {name: feature for name, feature in features.items() if feature.is_ordered}


def private_ridge(rows: pd.DataFrame, labels: Any, features: Features) -> Any:
    chosen = numeric(features)
    model = dp.learning.Ridge(**declared(chosen, rows), target_bounds=(0, 1))
    return model.fit(rows[list(chosen)], labels.astype(float))


def public_ridge(rows: pd.DataFrame, labels: Any, features: Features) -> Any:
    return Ridge().fit(rows[list(numeric(features))], labels.astype(float))


def codes(rows: pd.DataFrame, features: Features) -> Any:
    return np.stack([feature.encode(rows[name]) for name, feature in features.items()], axis=1)


def public_boosting(rows: pd.DataFrame, labels: Any, features: Features) -> Any:
    kinds = {name: pd.CategoricalDtype(each.values) for name, each in features.items() if not each.is_ordered}
    return HistGradientBoostingClassifier(categorical_features="from_dtype").fit(rows.astype(kinds), labels)


def public_logistic(rows: pd.DataFrame, labels: Any, features: Features) -> Any:
    model = make_pipeline(OneHotEncoder(handle_unknown="ignore"), LogisticRegression(max_iter=1_000))
    return model.fit(codes(rows, features), labels)


def public_bayes(rows: pd.DataFrame, labels: Any, features: Features) -> Any:
    return GaussianNB().fit(codes(rows, features), labels)


PAIRS: dict[str, tuple[Fit, str, Fit]] = {
    "GradientBoostingClassifier": (
        classifier(dp.learning.GradientBoostingClassifier),
        "HistGradientBoosting",
        public_boosting,
    ),
    "LogisticRegression": (classifier(dp.learning.LogisticRegression), "LogisticRegression", public_logistic),
    "Ridge": (private_ridge, "Ridge", public_ridge),
    "NaiveBayes": (classifier(dp.learning.NaiveBayes), "GaussianNB", public_bayes),
}


def one_fit(table: str, name: str, side: str) -> None:
    """Seconds of the processor and peak memory of one fit, as JSON."""
    rows, labels, features = read(table)
    private, _, public = PAIRS[name]
    fit = private if side == "private" else public
    Path("/proc/self/clear_refs").write_text("5", encoding="ascii")
    before = resident("VmRSS")
    start = time.process_time()
    fit(rows, labels, features)
    seconds = time.process_time() - start
    print(json.dumps({"seconds": seconds, "megabytes": (resident("VmHWM") - before) / 1024}))


def resident(field: str) -> int:
    """A figure of this process in KiB."""
    lines = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith(field))


def costs(table: str, name: str, repeats: int) -> tuple[list[float], list[float]]:
    """Seconds and megabytes of the private model and of its counterpart, measured in turn."""
    found: dict[str, list[dict[str, float]]] = {"private": [], "public": []}
    for _ in range(repeats):
        for side, each in found.items():
            command = [sys.executable, __file__, "--one", table, name, side]
            each.append(json.loads(subprocess.run(command, check=True, capture_output=True).stdout))
    seconds, megabytes = (
        [median(one[key] for one in each) for each in found.values()] for key in ("seconds", "megabytes")
    )
    return seconds, megabytes


def main(tables: list[str], repeats: int) -> None:
    """The table."""
    print("| rows | private | not private | seconds | times as long | MB | times as much |")
    print("|---|---|---|---|---|---|---|", flush=True)
    for table in tables:
        count = f"{adult_features.SIZE if table == 'adult' else LARGE:,}"
        for name, (_, counterpart, _) in PAIRS.items():
            (own, other), (own_size, other_size) = costs(table, name, repeats)
            times = f"{own:.2f} and {other:.2f} | {own / other:.1f}"
            sizes = f"{own_size:.0f} and {other_size:.0f} | {own_size / other_size:.1f}"
            print(f"| {count} | {name} | {counterpart} | {times} | {sizes} |", flush=True)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--tables", nargs="+", default=["adult", "generated"])
    parser.add_argument("--one", nargs=3, help=argparse.SUPPRESS)
    given = parser.parse_args()
    warnings.filterwarnings("ignore")
    if given.one:
        one_fit(*given.one)
    else:
        main(given.tables, given.repeats)
