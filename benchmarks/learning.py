"""Figures of docs/learning-accuracy.md: private models of Adult by epsilon, beside peers and the non-private ones.

    OMP_NUM_THREADS=1 scripts/bench learning [--runs 10] [--epsilons 0.05 0.1 1 3] [--peer PYTHON ...]
        [--pictures docs/pictures]

Trained on adult.csv, tested on adult_test.csv, delta 1e-5. Features and classes are those of the documentation of the
data (adult_features.py), all preprocessing is inside the budget, and defaults are used: nothing is chosen here. A run
has fresh noise and fresh leaves. Peers are other packages (learning_peers.py), each in a Python of its own.
"""

import argparse
import math
import warnings
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import learning_peers
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
LOWEST = 0.84
"""Where the picture begins."""

Figures = learning_peers.Figures
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


def quality(scores: Any) -> tuple[float, float]:
    """Area under the curve and accuracy of scores of the test file."""
    truth = (TEST[1] == CLASSES[1]).to_numpy()
    return roc_auc_score(truth, scores), accuracy_score(truth, np.asarray(scores) > 0)


def own_figures(epsilons: list[float], runs: int) -> Figures:
    """Area and accuracy of each run of the models of this house, and of those that are not private."""
    found: Figures = {}
    for name, make in MODELS.items():
        is_public = "not private" in name
        for epsilon in [math.inf] if is_public else epsilons:
            fits = (make(epsilon)(*TRAIN) for _ in range(1 if is_public else runs))
            found[name, epsilon] = [quality(fit(TEST[0])) for fit in fits]
            print_row(name, epsilon, found[name, epsilon])
    return found


def print_row(name: str, epsilon: float, runs: list[tuple[float, float]]) -> None:
    """A row of the table: mean and standard deviation over runs."""
    auc, hits = np.mean(runs, axis=0)
    spread = [f" ({each:.4f})" for each in np.std(runs, axis=0, ddof=1)] if len(runs) > 1 else ["", ""]
    shown = "-" if math.isinf(epsilon) else f"{epsilon:g}"
    least = min(area for area, _ in runs)
    print(f"| {name} | {shown} | {auc:.4f}{spread[0]} | {least:.4f} | {hits:.4f}{spread[1]} |", flush=True)


def picture(found: Figures, epsilons: list[float], runs: int, folder: Path) -> None:
    """Mean area under the curve against epsilon; means below the picture are in its caption."""
    drawn, low = [], []
    for name in dict.fromkeys(name for name, _ in found if not name.endswith("defaults")):
        means = {epsilon: np.mean(runs, axis=0)[0] for (model, epsilon), runs in found.items() if model == name}
        is_public = math.inf in means
        points = [(epsilon, float(means[math.inf if is_public else epsilon])) for epsilon in epsilons]
        label = f"discreet, {name}" if name in ("boosting", "logistic") else name
        drawn.append(Curve(label, tuple(points), is_measured=not is_public))
        low += [f"{name} {area:.2f} at {epsilon:g}" for epsilon, area in points if area < LOWEST]
    caption = f"adult.csv to adult_test.csv, delta 1e-5 (diffprivlib: 0), means of {runs} fits"
    figure = curves(
        drawn,
        title="Adult: area under the ROC curve by epsilon",
        x=Axis("epsilon of a fit", "log", ticks=tuple(epsilons)),
        y=Axis("area under the ROC curve", limits=(LOWEST, 0.935)),
        caption="; below: ".join([caption, *([", ".join(low)] if low else [])]),
    )
    figure.savefig(folder / "learning-auc.svg", metadata={"Date": None})


def main(options: argparse.Namespace) -> None:
    """The table, row by row, and the picture."""
    epsilons = sorted(options.epsilons)
    print("| model | epsilon | AUC (sd) | least AUC | accuracy (sd) |\n|---|---|---|---|---|", flush=True)
    found = own_figures(epsilons, options.runs)
    peers = learning_peers.figures(options.peer, TRAIN, TEST, epsilons=epsilons, runs=options.runs, score=quality)
    for (name, epsilon), runs in peers.items():
        print_row(name, epsilon, runs)
    if options.pictures:
        picture(found | peers, epsilons, options.runs, options.pictures)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=10)
    parser.add_argument("--epsilons", type=float, nargs="+", default=EPSILONS)
    parser.add_argument("--peer", nargs="+", default=[], help="a Python that has a peer")
    parser.add_argument("--pictures", type=Path)
    warnings.filterwarnings("ignore")
    TRAIN, TEST = read("adult.csv"), read("adult_test.csv")
    main(parser.parse_args())
