"""A regression on a public table: hours of work per week of Adult, by private models and by those of scikit-learn.

    OMP_NUM_THREADS=1 scripts/bench learning_regression [--runs 5] [--epsilons 0.1 1 3]

Trained on adult.csv, tested on adult_test.csv, delta 1e-5, defaults. Hours are cut to the declared bounds 0 to 80 in
both files. Boosting has all other columns; `Ridge` has age, years of education, capital gain and capital loss.
"""

import argparse
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from adult_features import CLASSES, FEATURES, SIZE
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.linear_model import Ridge

import discreet as dp

DATA = Path(__file__).parents[2] / "shared" / "data"
HOURS, BOUNDS = "Hours per week", (0, 80)
COLUMNS = {name: feature for name, feature in FEATURES.items() if name != HOURS}
COLUMNS["Target"] = dp.learning.categories(CLASSES)
LINES = {
    "Age": dp.learning.linear_bins(0, 100, 100),
    "Education-Num": dp.learning.linear_bins(0, 17, 17),
    "Capital Gain": dp.learning.linear_bins(0, 100_000, 1_000),
    "Capital Loss": dp.learning.linear_bins(0, 5_000, 1_000),
}


def account(epsilon: float) -> dp.learning.BudgetAccount:
    return dp.learning.BudgetAccount(dp.Budget(epsilon=epsilon, delta=Fraction(1, 100_000)))


def private(kind: str, epsilon: float) -> Any:
    facts: dict[str, Any] = {"target_bounds": BOUNDS, "size": SIZE, "budget": account(epsilon)}
    if kind == "boosting":
        return dp.learning.GradientBoostingRegressor(features=COLUMNS, **facts)
    return dp.learning.Ridge(features=LINES, **facts)


def figures(predicted: Any, hours: Any) -> tuple[float, float]:
    """Root mean squared error, and the share of the variance that is explained."""
    square = float(np.mean((predicted - hours) ** 2))
    return square**0.5, 1 - square / float(np.var(hours))


def show(name: str, epsilon: str, found: list[tuple[float, float]]) -> None:
    (error, share), spread = np.mean(found, axis=0), np.std(found, axis=0)
    print(f"| {name} | {epsilon} | {error:.2f} ({spread[0]:.2f}) | {share:.3f} ({spread[1]:.3f}) |", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--epsilons", type=float, nargs="+", default=[0.1, 1.0, 3.0])
    chosen = parser.parse_args()
    train, test = (pd.read_csv(DATA / name) for name in ("adult.csv", "adult_test.csv"))
    train["Target"], test["Target"] = (table["Target"].str.strip().str.rstrip(".") for table in (train, test))
    hours, others = (table[HOURS].clip(*BOUNDS).to_numpy() for table in (train, test))
    print("| model | epsilon | root mean squared error (sd) | R2 (sd) |\n|---|---|---|---|")
    for kind, columns in (("boosting", list(COLUMNS)), ("Ridge", list(LINES))):
        for epsilon in chosen.epsilons:
            models = [private(kind, epsilon).fit(train[columns], hours) for _ in range(chosen.runs)]
            show(kind, f"{epsilon:g}", [figures(model.predict(test[columns]), others) for model in models])
    kinds = {name: pd.CategoricalDtype(each.values) for name, each in COLUMNS.items() if not each.is_ordered}
    public = HistGradientBoostingRegressor(categorical_features="from_dtype")
    public.fit(train[list(COLUMNS)].astype(kinds), hours)
    found = figures(public.predict(test[list(COLUMNS)].astype(kinds)), others)
    show("HistGradientBoosting, not private", "-", [found])
    line = Ridge().fit(train[list(LINES)], hours)
    show("Ridge, not private", "-", [figures(line.predict(test[list(LINES)]), others)])


if __name__ == "__main__":
    main()
