"""Selection among 20 candidates against one fit with defaults, at the same total epsilon.

    OMP_NUM_THREADS=1 scripts/bench learning_selection [--rows 50000] [--rounds 3] [--epsilon 1]
        [--tables sparse rare adult] [--best]

Prints a table in Markdown: the AUC on rows that nothing was fitted to, as mean and standard deviation over rounds. The
rows are other generated ones, or adult_test.csv. Each round has fresh noise and, where it is generated, a new table.
`--best` fits every candidate at the whole epsilon and takes the best on those rows: it is not private, and shows what a
choice could gain at most. It is left out for Adult, whose test file serves no choice.
"""

import argparse
import itertools
import statistics
import time
import warnings
from dataclasses import dataclass
from typing import Any

import adult_features
import numpy as np
from sklearn.metrics import roc_auc_score

import discreet as dp
import learning

DELTA = 1e-5
TEST_ROWS = 20_000
CANDIDATES = [
    {"rounds": rounds, "learning_rate": rate, "leaves": leaves}
    for rounds, rate, leaves in itertools.product((3, 6, 12, 24, 48), (0.1, 0.3), (4, 8))
]
Rows = tuple[Any, Any]


@dataclass(frozen=True)
class Round:
    """Rows to fit to and rows to score, with what is declared of them."""

    fit: Rows
    score: Rows
    features: Any
    classes: list[Any]
    size: int


def sparse(rows: int, generator: np.random.Generator) -> Rows:
    """Thirty columns of which one in ten cells is not zero; ten of them matter."""
    values = generator.random((rows, 30)) * (generator.random((rows, 30)) < 0.1)
    scores = values @ np.concatenate([np.linspace(-6, 6, 10), np.zeros(20)])
    return values, (scores + generator.logistic(size=rows) > 0.3).astype(int)


def rare(rows: int, generator: np.random.Generator) -> Rows:
    """Eight columns and a class of about 3%, which depends on two columns and on the product of two others."""
    values = generator.random((rows, 8))
    scores = 3 * values[:, 0] - 2 * values[:, 1] + 6 * (values[:, 2] - 0.5) * (values[:, 3] - 0.5)
    return values, (scores + generator.logistic(size=rows) > 4.6).astype(int)


def draw(name: str, rows: int) -> Round:
    """The rows of one round."""
    if name == "adult":
        known = adult_features
        fit, score = learning.read("adult.csv"), learning.read("adult_test.csv")
        return Round(fit, score, known.FEATURES, known.CLASSES, known.SIZE)
    generator = np.random.default_rng()
    table = {"sparse": sparse, "rare": rare}[name]
    return Round(table(rows, generator), table(TEST_ROWS, generator), dp.learning.linear_bins(0, 1, 32), [0, 1], rows)


def measure(data: Round, epsilon: float, *, is_best: bool) -> dict[str, float]:
    """The AUC of each way in one round, and the seconds of the search."""

    def model(**more: object) -> dp.learning.GradientBoostingClassifier:
        account = dp.learning.BudgetAccount(dp.Budget(epsilon=epsilon, delta=DELTA))
        return dp.learning.GradientBoostingClassifier(
            features=data.features, classes=data.classes, size=data.size, budget=account, **more
        )

    def auc(fit: dp.learning.GradientBoostingClassifier) -> float:
        rows, labels = data.score
        return float(roc_auc_score(np.asarray(labels) == data.classes[1], fit.decision_function(rows)))

    start = time.perf_counter()
    found = dp.learning.search(model(), CANDIDATES, *data.fit)
    seconds = time.perf_counter() - start
    figures = {
        "defaults": auc(model().fit(*data.fit)),
        "search": auc(found.model),
        "score of the search": found.figures["auc"].value,
        "seconds": seconds,
    }
    if is_best:
        figures["best"] = max(auc(model(**each).fit(*data.fit)) for each in CANDIDATES)
    return figures


def cell(found: list[dict[str, float]], name: str) -> str:
    numbers = [each[name] for each in found if name in each]
    spread = statistics.stdev(numbers) if len(numbers) > 1 else 0.0
    return f"{statistics.mean(numbers):.3f} ± {spread:.3f}" if numbers else "-"


def main() -> None:
    """Print the comparison."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=50_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--epsilon", type=float, default=1.0)
    parser.add_argument("--tables", nargs="+", default=["sparse", "rare", "adult"])
    parser.add_argument("--best", action="store_true")
    options = parser.parse_args()
    warnings.filterwarnings("ignore")
    print("| table | defaults | search | noisy score | best of 20, not private | seconds of a search | wins |")
    print("|---|---|---|---|---|---|---|", flush=True)
    for name in options.tables:
        found = []
        for _ in range(options.rounds):
            is_best = options.best and name != "adult"
            found.append(measure(draw(name, options.rows), options.epsilon, is_best=is_best))
        cells = " | ".join(cell(found, key) for key in ("defaults", "search", "score of the search", "best"))
        seconds = statistics.median(each["seconds"] for each in found)
        wins = sum(each["search"] > each["defaults"] for each in found)
        print(f"| {name} | {cells} | {seconds:.1f} | search in {wins} of {len(found)} rounds |", flush=True)


if __name__ == "__main__":
    main()
