"""Figures of docs/learning-accuracy.md on interactions: a generated table with a rare class and three known pairs.

OMP_NUM_THREADS=1 scripts/bench learning_pairs [--runs 3] [--epsilons 0.1 1 3]
"""

import argparse

import numpy as np
import pyarrow as pa
from sklearn.metrics import roc_auc_score

import discreet as dp

ROWS, TEST_ROWS = 50_000, 30_000
NUMBERS, GROUPS = 10, (3, 5, 9, 15, 30)
PAIRS = [("x3", "x4"), ("x5", "g0"), ("x6", "x0")]
FEATURES = {f"x{number}": dp.learning.linear_bins(-3, 3) for number in range(NUMBERS)} | {
    f"g{place}": dp.learning.categories(range(count)) for place, count in enumerate(GROUPS)
}


def table(rows: int, start: int) -> tuple[pa.Table, np.ndarray]:
    """Correlated numbers, skewed categories, and about 4% positives that depend on both, and on three pairs."""
    shape, draw = dp.testing.generator(5), dp.testing.generator(start)
    loads = shape.normal(0, 0.5, (NUMBERS, 3))
    x = draw.normal(size=(rows, 3)) @ loads.T + draw.normal(0, 0.8, (rows, NUMBERS))
    shares = [shape.dirichlet(np.full(count, 1.5)) for count in GROUPS]
    groups = [draw.choice(count, rows, p=share) for count, share in zip(GROUPS, shares, strict=True)]
    effects = [shape.normal(0, 0.7, count) for count in GROUPS]
    score = -5.3 + x[:, 0] + 0.7 * x[:, 1] - 0.6 * x[:, 2] + effects[1][groups[1]] + effects[3][groups[3]]
    score += 1.1 * x[:, 3] * x[:, 4] + 2 * (x[:, 5] > 0) * (groups[0] == 1) + 1.2 * (x[:, 6] > 0.8) * (x[:, 0] > 0)
    columns = [*x.T, *groups]
    return pa.table(dict(zip(FEATURES, columns, strict=True))), draw.random(rows) < 1 / (1 + np.exp(-score))


def area(epsilon: float, pairs: list[tuple[str, str]]) -> float:
    """Area under the curve of one fit, on other rows."""
    budget = dp.learning.BudgetAccount(dp.Budget(epsilon=epsilon, delta=1e-5))
    model = dp.learning.GradientBoostingClassifier(
        features=FEATURES, classes=[False, True], size=ROWS, budget=budget, interactions=pairs
    )
    model.fit(*TRAIN)
    found: float = roc_auc_score(TEST[1], model.decision_function(TEST[0]))
    return found


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--epsilons", type=float, nargs="+", default=(0.1, 1.0, 3.0))
    given = parser.parse_args()
    TRAIN, TEST = table(ROWS, 1), table(TEST_ROWS, 2)
    print(f"positives: {TRAIN[1].mean():.1%}")
    print("| epsilon | one feature for each tree | with the three pairs |\n|---|---|---|", flush=True)
    for epsilon in given.epsilons:
        found = [[area(epsilon, pairs) for _ in range(given.runs)] for pairs in ([], PAIRS)]
        cells = " | ".join(f"{np.mean(each):.3f} ({np.std(each, ddof=1):.3f})" for each in found)
        print(f"| {epsilon:g} | {cells} |", flush=True)
