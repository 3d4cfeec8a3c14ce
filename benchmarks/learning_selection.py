"""Selection among 20 candidates against one fit with defaults, at the same total epsilon, on generated tables.

    scripts/bench learning_selection [--rows 50000] [--rounds 5] [--epsilon 1]

Prints a table in Markdown: the AUC on rows that nothing was fitted to (exact, because they are generated), as mean and
standard deviation over rounds. Each round has a new table and fresh noise. `best` fits every candidate at
the whole epsilon and takes the best on those rows: it is not private, and shows what a choice could gain at most.
"""

import argparse
import itertools
import statistics
import time
from collections.abc import Callable

import numpy as np
from sklearn.metrics import roc_auc_score

import discreet as dp

DELTA = 1e-5
TEST_ROWS = 20_000
CANDIDATES = [
    {"rounds": rounds, "learning_rate": rate, "leaves": leaves}
    for rounds, rate, leaves in itertools.product((3, 6, 12, 24, 48), (0.1, 0.3), (4, 8))
]
Table = tuple[np.ndarray, np.ndarray]


def sparse(rows: int, generator: np.random.Generator) -> Table:
    """Thirty columns of which one in ten cells is not zero; ten of them matter."""
    values = generator.random((rows, 30)) * (generator.random((rows, 30)) < 0.1)
    scores = values @ np.concatenate([np.linspace(-6, 6, 10), np.zeros(20)])
    return values, (scores + generator.logistic(size=rows) > 0.3).astype(int)


def rare(rows: int, generator: np.random.Generator) -> Table:
    """Eight columns and a class of about 3%, which depends on two columns and on the product of two others."""
    values = generator.random((rows, 8))
    scores = 3 * values[:, 0] - 2 * values[:, 1] + 6 * (values[:, 2] - 0.5) * (values[:, 3] - 0.5)
    return values, (scores + generator.logistic(size=rows) > 4.6).astype(int)


def measure(table: Callable[[int, np.random.Generator], Table], rows: int, epsilon: float) -> dict[str, float]:
    """The AUC of each way in one round, and the seconds of the search."""
    generator = np.random.default_rng()
    values, labels = table(rows, generator)
    other, truth = table(TEST_ROWS, generator)
    features = dp.learning.linear_bins(0, 1, 32)

    def model(**more: object) -> dp.learning.GradientBoostingClassifier:
        account = dp.learning.BudgetAccount(dp.Budget(epsilon=epsilon, delta=DELTA))
        return dp.learning.GradientBoostingClassifier(
            features=features, classes=[0, 1], size=rows, budget=account, **more
        )

    def auc(fit: dp.learning.GradientBoostingClassifier) -> float:
        return float(roc_auc_score(truth, fit.decision_function(other)))

    start = time.perf_counter()
    found = dp.learning.search(model(), CANDIDATES, values, labels)
    seconds = time.perf_counter() - start
    return {
        "defaults": auc(model().fit(values, labels)),
        "search": auc(found.model),
        "score of the search": found.figures["auc"].value,
        "best": max(auc(model(**each).fit(values, labels)) for each in CANDIDATES),
        "seconds": seconds,
    }


def main() -> None:
    """Print the comparison."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=50_000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--epsilon", type=float, default=1.0)
    options = parser.parse_args()
    print("| table | defaults | search | noisy score | best of 20, not private | seconds of a search | wins |")
    print("|---|---|---|---|---|---|---|")
    for table in (sparse, rare):
        found = [measure(table, options.rows, options.epsilon) for _ in range(options.rounds)]
        cells = []
        for name in ("defaults", "search", "score of the search", "best"):
            numbers = [each[name] for each in found]
            spread = statistics.stdev(numbers) if len(numbers) > 1 else 0.0
            cells.append(f"{statistics.mean(numbers):.4f} ± {spread:.4f}")
        seconds = statistics.median(each["seconds"] for each in found)
        wins = sum(each["search"] > each["defaults"] for each in found)
        winner = f"search in {wins} of {len(found)} rounds"
        print(f"| {table.__name__} | {' | '.join(cells)} | {seconds:.1f} | {winner} |", flush=True)


if __name__ == "__main__":
    main()
