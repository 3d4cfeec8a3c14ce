"""Figures of docs/learning.md: private models of Adult by epsilon, beside the non-private ones of scikit-learn.

    OMP_NUM_THREADS=1 scripts/bench learning [--runs 10] [--epsilons 0.05 0.1 1 3] [--pictures docs/pictures]

Trained on adult.csv, tested on adult_test.csv, delta 1e-5. Features and classes are those of the documentation of the
data (adult_features.py), all preprocessing is inside the budget, and defaults are used: nothing is chosen here. A run
has fresh noise and fresh leaves. Fit time and memory are those of one fit in a process of its own.
"""

import argparse
import json
import subprocess
import sys
import time
import warnings
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from adult_features import CLASSES, FEATURES, SIZE, TARGET
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import accuracy_score, roc_auc_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

import discreet as dp
from discreet.attacks.pictures import Axis, Curve, curves

DATA = Path(__file__).parents[2] / "shared" / "data"
DELTA = Fraction(1, 100_000)
EPSILONS = (0.05, 0.1, 1.0, 3.0)

Fit = Callable[[pd.DataFrame, pd.Series], Callable[[pd.DataFrame], Any]]


def codes_of(rows: pd.DataFrame) -> Any:
    return np.stack([feature.encode(rows[name]) for name, feature in FEATURES.items()], axis=1)


def boosting(epsilon: float) -> Fit:
    def fit(rows: pd.DataFrame, target: pd.Series) -> Callable[[pd.DataFrame], Any]:
        budget = dp.learning.BudgetAccount(dp.Budget(epsilon=epsilon, delta=DELTA))
        model = dp.learning.GradientBoostingClassifier(features=FEATURES, classes=CLASSES, size=SIZE, budget=budget)
        return model.fit(rows, target).decision_function

    return fit


def logistic(epsilon: float) -> Fit:
    def fit(rows: pd.DataFrame, target: pd.Series) -> Callable[[pd.DataFrame], Any]:
        budget = dp.learning.BudgetAccount(dp.Budget(epsilon=epsilon, delta=DELTA))
        model = dp.learning.LogisticRegression(features=FEATURES, classes=CLASSES, size=SIZE, budget=budget)
        return model.fit(rows, target).decision_function

    return fit


def public_boosting() -> Fit:
    def fit(rows: pd.DataFrame, target: pd.Series) -> Callable[[pd.DataFrame], Any]:
        def prepare(table: pd.DataFrame) -> pd.DataFrame:
            kinds = {n: pd.CategoricalDtype(f.values) for n, f in FEATURES.items() if not f.is_ordered}
            return table.astype(kinds)

        model = HistGradientBoostingClassifier(categorical_features="from_dtype")
        model.fit(prepare(rows), target == CLASSES[1])
        return lambda others: model.decision_function(prepare(others))

    return fit


def public_logistic() -> Fit:
    def fit(rows: pd.DataFrame, target: pd.Series) -> Callable[[pd.DataFrame], Any]:
        model = make_pipeline(OneHotEncoder(handle_unknown="ignore"), LogisticRegression(max_iter=1_000))
        model.fit(codes_of(rows), target == CLASSES[1])
        return lambda others: model.decision_function(codes_of(others))

    return fit


MODELS: dict[str, Callable[[float], Fit]] = {
    "boosting": boosting,
    "logistic": logistic,
    "HistGradientBoosting, not private": lambda _: public_boosting(),
    "LogisticRegression, not private": lambda _: public_logistic(),
}


def read(name: str) -> tuple[pd.DataFrame, pd.Series]:
    table = pd.read_csv(DATA / name)
    return table[list(FEATURES)], table[TARGET]


def score(fit: Fit) -> tuple[float, float]:
    """Area under the curve and accuracy on the test file, of one fit on the training file."""
    scores = fit(*read("adult.csv"))(TEST[0])
    truth = (TEST[1] == CLASSES[1]).to_numpy()
    return roc_auc_score(truth, scores), accuracy_score(truth, np.asarray(scores) > 0)


def accuracy(epsilons: list[float], runs: int) -> list[Curve]:
    """The table of docs/learning.md: mean and standard deviation over runs; and the curves of the areas."""
    print("| model | epsilon | AUC (sd) | least AUC | accuracy (sd) |\n|---|---|---|---|---|", flush=True)
    drawn = []
    for name, make in MODELS.items():
        is_public = "not private" in name
        points = []
        for epsilon in [1.0] if is_public else epsilons:
            found = np.array([score(make(epsilon)) for _ in range(1 if is_public else runs)])
            (auc, hits), (auc_sd, hits_sd) = found.mean(axis=0), found.std(axis=0, ddof=0 if is_public else 1)
            spread = ("", "") if is_public else (f" ({auc_sd:.4f})", f" ({hits_sd:.4f})")
            shown = "-" if is_public else f"{epsilon:g}"
            least = found[:, 0].min()
            print(f"| {name} | {shown} | {auc:.4f}{spread[0]} | {least:.4f} | {hits:.4f}{spread[1]} |", flush=True)
            points += [(each, auc) for each in (epsilons if is_public else [epsilon])]
        drawn.append(Curve(name, tuple(points), is_measured=not is_public))
    return drawn


def picture(drawn: list[Curve], folder: Path) -> None:
    """Area under the curve against epsilon."""
    title = "Adult: area under the ROC curve on the test file, delta 1e-5"
    figure = curves(drawn, title=title, x=Axis("epsilon of a fit", "log"), y=Axis("area under the ROC curve"))
    figure.savefig(folder / "learning-auc.svg", metadata={"Date": None})


def one_fit(name: str) -> None:
    """Seconds and peak memory of one fit at epsilon 1, as JSON; Linux measures memory."""
    rows, target = read("adult.csv")
    fit = MODELS[name](1.0)
    Path("/proc/self/clear_refs").write_text("5", encoding="ascii")
    before = resident("VmRSS")
    start = time.perf_counter()
    fit(rows, target)
    seconds = time.perf_counter() - start
    print(json.dumps({"seconds": seconds, "megabytes": (resident("VmHWM") - before) / 1024}))


def resident(field: str) -> int:
    """A figure of this process in KiB."""
    lines = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith(field))


def costs() -> None:
    """Fit time and memory, each in a process of its own; the middle of three."""
    print("\n| model | fit, seconds | peak memory of the fit, MB |\n|---|---|---|", flush=True)
    for name in MODELS:
        command = [sys.executable, __file__, "--one", name]
        found = [json.loads(subprocess.run(command, check=True, capture_output=True).stdout) for _ in range(3)]
        seconds = sorted(each["seconds"] for each in found)[1]
        megabytes = sorted(each["megabytes"] for each in found)[1]
        print(f"| {name} | {seconds:.2f} | {megabytes:.0f} |", flush=True)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=10)
    parser.add_argument("--epsilons", type=float, nargs="+", default=EPSILONS)
    parser.add_argument("--pictures", type=Path)
    parser.add_argument("--one", choices=list(MODELS), help=argparse.SUPPRESS)
    given = parser.parse_args()
    warnings.filterwarnings("ignore")
    if given.one:
        one_fit(given.one)
    else:
        TEST = read("adult_test.csv")
        found = accuracy(list(given.epsilons), given.runs)
        if given.pictures:
            picture(found, given.pictures)
        costs()
