"""Train on synthetic rows, test on real ones: a logistic regression from a graphical table of Adult.

    scripts/bench synthesis_training [--runs 5] [--epsilon 1] [--workloads default target] [--choose]

The table is synthesised from adult.csv alone, at delta 1e-9; a row is a unit. Bounds and categories are public
(adult_features.py). scikit-learn's LogisticRegression learns from its rows, with indicators of categories and scaled
numbers, and is tested on adult_test.csv. With --choose it is tested on a third of adult.csv instead, from a synthetic
table of the other two thirds: the workload was chosen so, and adult_test.csv played no part. "real" learns from the
rows themselves. NOT PRIVATE: it compares.
"""

import argparse
import statistics
import tempfile
import time
from itertools import combinations
from pathlib import Path

import numpy as np
import pandas as pd
from adult_features import FEATURES, TARGET
from sklearn.compose import make_column_transformer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

import discreet as dp

DATA = Path(__file__).parents[2] / "shared" / "data"
CLASSES = ["<=50K", ">50K"]
BOUNDS = {
    "Age": (17, 90),
    "fnlwgt": (0, 1_500_000),
    "Education-Num": (1, 16),
    "Capital Gain": (0, 100_000),
    "Capital Loss": (0, 5_000),
    "Hours per week": (1, 99),
}
NAMES = [*FEATURES, TARGET]
KEYS = {name: list(FEATURES[name].values) for name in FEATURES if name not in BOUNDS} | {TARGET: CLASSES}
PAIRS = list(combinations(NAMES, 2))
WORKLOADS = {
    "default": None,
    "target": {pair: 4 if TARGET in pair else 1 for pair in PAIRS},
    "triples": {(*pair, TARGET): 1 for pair in combinations(FEATURES, 2)},
    "pairs and triples": dict.fromkeys(PAIRS, 1) | {(*pair, TARGET): 1 for pair in combinations(FEATURES, 2)},
    "features": {(name, TARGET): 1 for name in FEATURES},
}


def read(name: str) -> pd.DataFrame:
    """The rows of a file, with categories as they are declared."""
    table = pd.read_csv(DATA / name, skipinitialspace=True)
    table[TARGET] = table[TARGET].str.rstrip(".")
    return table.dropna(subset=[TARGET]).astype(dict.fromkeys(BOUNDS, int))


def synthetic(rows: pd.DataFrame, workload: object, epsilon: float) -> pd.DataFrame:
    """The rows of a graphical table."""
    with tempfile.TemporaryDirectory() as place:
        path = Path(place) / "adult.csv"
        rows.to_csv(path, index=False)
        session = dp.protect(
            str(path),
            privacy_unit=dp.ROW,
            budget=dp.Budget(epsilon=epsilon, delta=1e-9),
            population=len(rows),
            bounds=BOUNDS,
            keys=KEYS,
            ledger=":memory:",
        )
        query = dp.table("adult").synthesize(dp.synthesis.GraphicalSynthesizer(workload=workload))
        return session.release(query, epsilon=epsilon).to_pandas()


def accuracy(rows: pd.DataFrame, test: pd.DataFrame) -> float:
    """The share of test rows whose class is found."""
    words = [name for name in FEATURES if name not in BOUNDS]
    both = (OneHotEncoder(handle_unknown="ignore"), words), (StandardScaler(), list(BOUNDS))
    model = make_pipeline(make_column_transformer(*both), LogisticRegression(max_iter=1000))
    whole = rows.dropna(subset=[TARGET, *BOUNDS])
    model.fit(cells(whole), whole[TARGET])
    return float(np.mean(model.predict(cells(test)) == test[TARGET]))


def cells(rows: pd.DataFrame) -> pd.DataFrame:
    """Features; a missing category is one of its own."""
    words = {name: "?" for name in FEATURES if name not in BOUNDS}
    return rows[list(FEATURES)].fillna(words)


def main() -> None:
    """Print the accuracy of each workload, with its spread."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--epsilon", type=float, default=1.0)
    parser.add_argument("--workloads", nargs="*", default=["default"], choices=list(WORKLOADS))
    parser.add_argument("--choose", action="store_true")
    given = parser.parse_args()
    train, test = read("adult.csv"), None
    if given.choose:
        part = np.random.default_rng(20).permutation(len(train)) % 3 == 0
        train, test = train[~part], train[part]
    test = read("adult_test.csv") if test is None else test
    print(f"{len(train):,} rows, tested on {len(test):,}; real {accuracy(train, test):.4f}", flush=True)
    for name in given.workloads:
        start = time.process_time()
        tables = (synthetic(train, WORKLOADS[name], given.epsilon) for _ in range(given.runs))
        found = [accuracy(table, test) for table in tables]
        spread = f"{statistics.fmean(found):.4f} ± {statistics.pstdev(found):.4f}"
        seconds = (time.process_time() - start) / given.runs
        print(f"{name}: {spread}, from {min(found):.4f} to {max(found):.4f}, {seconds:.1f} s of CPU a run", flush=True)


if __name__ == "__main__":
    main()
