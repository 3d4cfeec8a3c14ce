"""Bounds that are found, beside bounds that somebody knew: sums of columns of the Adult census.

    scripts/bench bounds [--runs 200] [--data ../shared/data/adult.csv] [--pictures docs/pictures]

Every row is its own unit. For a fixed upper bound b the answer is off by what clamping takes away and by Laplace noise
of scale b/epsilon; its median error is computed, and the best b is taken from the data itself, which nobody may do.
Beside it stand the median errors of releases whose bounds were found, by counts and by growth, over so many runs, each
with fresh noise on one pass over the data.
"""

import argparse
import math
import statistics
import time
from collections import Counter
from fractions import Fraction
from pathlib import Path

import numpy as np
from pyarrow import csv

import discreet as dp
from discreet.planner.registry import plan_query
from discreet.plots import canvas

COLUMNS = ("Capital Gain", "Capital Loss", "Age", "Hours per week", "fnlwgt")
EPSILONS = (0.1, 1, 10)
METHODS = ("histogram", "growth")
PICTURED = "Capital Gain"
HALF = Fraction(1, 2)


def median_error(bias: float, scale: float) -> float:
    """The median of |bias + Y| for Laplace noise Y of that scale, by halving."""
    low, high = 0.0, abs(bias) + 50 * scale
    for _ in range(80):
        middle = (low + high) / 2
        within = below((middle - bias) / scale) - below((-middle - bias) / scale)
        low, high = (middle, high) if within < 0.5 else (low, middle)
    return high


def below(x: float) -> float:
    """The probability that Laplace noise of scale 1 is below x."""
    return math.exp(x) / 2 if x < 0 else 1 - math.exp(-x) / 2


def fixed(values: np.ndarray, epsilon: float, bound: float) -> float:
    """The median error of a sum with a fixed upper bound."""
    return median_error(float(np.minimum(values, bound).sum() - values.sum()), bound / epsilon)


def best(values: np.ndarray, epsilon: float) -> tuple[float, int]:
    """The least median error, and its bound; bounds are tried at values, which is where they are best."""
    tried = np.unique(np.quantile(values[values > 0], np.linspace(0, 1, 2_000), method="nearest"))
    return min((fixed(values, epsilon, float(bound)), int(bound)) for bound in tried)


def found(session: dp.Session, column: str, epsilon: float, method: str, runs: int) -> tuple[float, int, float]:
    """The median error of releases whose bounds were found, the upper bound found most often, seconds for each."""
    query = dp.table("adult").agg(s=dp.sum(column, bounds=dp.auto_bounds(method=method)))
    private = plan_query(query.plan, session.catalog, dp.Budget(epsilon=epsilon), epsilon=epsilon)
    exact = session._pipeline.exact("adult", session._pipeline.prepare(private))  # noqa: SLF001 - one pass for many runs
    truth = private.outputs(private.combine(exact), HALF)[0].values[0]
    errors, bounds, began = [], Counter(), time.perf_counter()
    for _ in range(runs):
        answer, _, high = private.outputs(private.randomize(exact), HALF)
        errors.append(abs(answer.values[0] - truth))
        bounds[high.values[0]] += 1
    seconds = (time.perf_counter() - began) / runs
    return statistics.median(errors), bounds.most_common(1)[0][0], seconds


def rows(session: dp.Session, columns: dict[str, np.ndarray], runs: int) -> dict[tuple[str, float, str], float]:
    """Print the table, and return the errors of found bounds."""
    print("| column | epsilon | best fixed bound | its error | by counts | error, ratio | by growth | error, ratio |")
    print("|---|---|---|---|---|---|---|---|")
    made = {}
    for column, values in columns.items():
        for epsilon in EPSILONS:
            error, bound = best(values, epsilon)
            cells = [column, f"{epsilon:g}", f"{bound:,}", f"{error:,.0f}"]
            for method in METHODS:
                off, high, _ = found(session, column, epsilon, method, runs)
                made[column, epsilon, method] = off
                cells += [f"{high:,}", f"{off:,.0f}, {off / error:.2f}"]
            print(f"| {' | '.join(cells)} |", flush=True)
    return made


def picture(values: np.ndarray, made: dict[tuple[str, float, str], float], place: Path) -> None:
    """Errors of fixed bounds, and where those of found bounds lie."""
    bounds = np.unique(np.round(np.geomspace(1_000, 2_000_000, 300)))
    with canvas(8, 4.6, "Sum of capital gain at epsilon 1: the error of each upper bound") as (figure, (axes,)):
        errors = [fixed(values, 1, float(bound)) for bound in bounds]
        axes.plot(bounds, errors, color="#1a1a1a", label="a bound that is fixed in advance")
        for method, style, words in (("histogram", "--", "found, by counts"), ("growth", ":", "found, by growth")):
            axes.axhline(made[PICTURED, 1, method], linestyle=style, color="#0072b2", label=words)
        for scaled, axis in ((axes.set_xscale, axes.xaxis), (axes.set_yscale, axes.yaxis)):
            scaled("log")
            axis.set_major_formatter(lambda number, _: f"{number:,.0f}")
        axes.set_xlabel("upper bound")
        axes.set_ylabel("median error of the sum")
        axes.legend(frameon=False)
        figure.set_label(
            "The error falls until the bound reaches 100,000 and grows with it; found bounds are near the least"
        )
        figure.savefig(place / "bounds-capital-gain.svg", metadata={"Date": None})


def main() -> None:
    """Print the table; draw the picture if asked to."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--runs", type=int, default=200)
    options.add_argument("--data", default="../shared/data/adult.csv")
    options.add_argument("--pictures", default=None)
    given = options.parse_args()
    table = csv.read_csv(given.data)
    columns = {name: table[name].to_numpy() for name in COLUMNS}
    with dp.testing.protect(given.data, name="adult", privacy_unit=dp.ROW, budget=dp.Budget(epsilon=1)) as session:
        made = rows(session, columns, given.runs)
    if given.pictures:
        picture(columns[PICTURED], made, Path(given.pictures))


if __name__ == "__main__":
    main()
