"""Occupations of Adult by reports of clients, beside the central Laplace mechanism: the picture of docs/local.md.

    scripts/bench local_adult [--data ../shared/data/adult.csv] [--pictures docs/pictures]

Every row of the file is a client with one occupation; rows without one have the value "not stated". Four ways to count
them, each at epsilon 2.1972 (the logarithm of 9) for a change of one client's occupation:

- two coins: each client answers 15 yes-or-no questions, one for each occupation, by two coins each, of epsilon 1.0986;
  a change of occupation changes two answers;
- unary encoding with p = 3/4 and q = 1/4: the same coins for the 15 bits of one report;
- the oracle that `Task.choose` takes at that epsilon;
- discrete Laplace noise, once, on the exact counts.

Reports are those of `dp.local.Client`, one for each row, counted and estimated as in the guide. Intervals hold for all
occupations at once with probability 95%.
"""

import argparse
import csv
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import discreet as dp

EPSILON = "2.1972246"
CONFIDENCE = 0.95
MISSING = "not stated"
local = dp.local


@dataclass(frozen=True)
class Counted:
    """Estimated counts of all occupations by one method, with both ends of their intervals.

    The deviation is the expected one, of the count of a rare occupation.
    """

    name: str
    deviation: float
    estimates: list[float]
    low: list[float]
    high: list[float]


def occupations(path: Path) -> list[str]:
    with path.open(newline="", encoding="utf-8") as file:
        return [row["Occupation"].strip() or MISSING for row in csv.DictReader(file)]


def collect(task: Any, values: Iterable[str], confidence: float = CONFIDENCE) -> Any:
    """One report of each value, counted and estimated."""
    clients = [local.Client(task.assignment(cohort)) for cohort in range(task.cohorts)]
    reports = [clients[number % task.cohorts].report(value) for number, value in enumerate(values)]
    return local.estimates.estimate(task, local.collector.count_reports(task, reports), confidence)


def two_coins(people: Sequence[str], values: Sequence[str], confidence: float = CONFIDENCE) -> Counted:
    """A question for each occupation. Its counts of yes and no add up, so both intervals hold or none."""
    oracle, yes_or_no = local.oracles.KaryResponse.two_coin(), local.SlotDomain(values=("no", "yes"))
    rows = []
    for value in values:
        task = local.Task(yes_or_no, "1.0987", oracle, question=f"Is your occupation {value}?", reports=len(people))
        answers = ("yes" if each == value else "no" for each in people)
        found = collect(task, answers, 1 - 2 * (1 - confidence) / len(values))
        rows.append((float(found.estimates[1]), float(found.low[1]), float(found.high[1])))
    deviation = (len(people) * oracle.variance()) ** 0.5
    return Counted("two coins for each occupation", deviation, *map(list, zip(*rows, strict=True)))


def by_task(name: str, task: Any, people: Sequence[str], confidence: float = CONFIDENCE) -> Counted:
    found = collect(task, people, confidence)
    return Counted(name, task.expected_error, found.estimates.tolist(), found.low.tolist(), found.high.tolist())


def unary_task(values: Sequence[str], reports: int) -> Any:
    oracle = local.oracles.UnaryEncoding(len(values), Fraction(3, 4), Fraction(1, 4))
    return local.Task(local.SlotDomain(values=tuple(values)), EPSILON, oracle, reports=reports)


def chosen_task(values: Sequence[str], reports: int) -> Any:
    return local.Task.choose(domain=list(values), epsilon=EPSILON, n=reports)


def central(truth: Sequence[int]) -> Counted:
    """Discrete Laplace noise on the exact counts, for the replacement of one row."""
    noise = dp.mechanisms.Laplace(sensitivity=2, epsilon=Decimal(EPSILON))
    margin = float(noise.simultaneous_margin(len(truth), CONFIDENCE))
    found = [float(count + drawn) for count, drawn in zip(truth, noise.draw(len(truth)), strict=True)]
    low, high = [each - margin for each in found], [each + margin for each in found]
    return Counted("central Laplace", noise.standard_deviation, found, low, high)


def draw(values: Sequence[str], truth: Sequence[int], methods: Sequence[Counted]) -> Any:
    plots = dp.plots
    title = f"Occupations of {sum(truth):,} people at epsilon 2.197, locally and centrally"
    with plots.canvas(9.6, 9.4, title) as (figure, (axes,)):
        for place, method in enumerate(methods):
            lines = [line + 0.19 * (place - 1.5) for line in range(len(values))]
            below = [each - low for each, low in zip(method.estimates, method.low, strict=True)]
            above = [high - each for each, high in zip(method.estimates, method.high, strict=True)]
            spans = [[max(0.0, each) for each in side] for side in (below, above)]
            style = {"fmt": plots.MARKERS[place], "color": plots.COLOURS[place], "markersize": 4.5, "capsize": 2}
            axes.errorbar(
                method.estimates, lines, xerr=spans, label=f"{method.name}: deviation {method.deviation:,.3g}", **style
            )
        for line, count in enumerate(truth):
            axes.plot([count, count], [line - 0.42, line + 0.42], color=plots.INK, linewidth=1.2)
            axes.axhline(line + 0.5, color=plots.FAINT, linewidth=0.6)
        axes.set_yticks(range(len(values)), [f"{v}\n{c:,}" for v, c in zip(values, truth, strict=True)])
        axes.set_ylim(len(values) - 0.5, -0.5)
        axes.xaxis.set_major_formatter(lambda number, _: f"{number:,.0f}")
        axes.set_xlabel("count, with simultaneous 95% intervals; the vertical line is the exact count")
        axes.legend(loc="lower right", framealpha=1)
        figure.set_label(f"{title}. " + "; ".join(_errors(truth, methods)))
    return figure


def _errors(truth: Sequence[int], methods: Sequence[Counted]) -> list[str]:
    texts = []
    for method in methods:
        squares = [(each - count) ** 2 for each, count in zip(method.estimates, truth, strict=True)]
        observed = (sum(squares) / len(squares)) ** 0.5
        texts.append(
            f"{method.name}: standard deviation {method.deviation:,.1f}, root mean square error {observed:,.1f}"
        )
    return texts


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--data", type=Path, default=Path("../shared/data/adult.csv"))
    parser.add_argument("--pictures", type=Path)
    options = parser.parse_args()
    people = occupations(options.data)
    counted = Counter(people).most_common()
    values, truth = [value for value, _ in counted], [count for _, count in counted]
    chosen = chosen_task(values, len(people))
    print(chosen)
    methods = [
        two_coins(people, values),
        by_task("unary encoding, p = 3/4, q = 1/4", unary_task(values, len(people)), people),
        by_task("chosen: k-ary randomized response", chosen, people),
        central(truth),
    ]
    print(f"\n{'occupation':<20}{'exact':>8}" + "".join(f"{each.name[:22]:>24}" for each in methods))
    for line, (value, count) in enumerate(counted):
        print(f"{value:<20}{count:>8,}" + "".join(f"{each.estimates[line]:>24,.0f}" for each in methods))
    print("\n".join(_errors(truth, methods)))
    if options.pictures:
        figure = draw(values, truth, methods)
        figure.savefig(options.pictures / "local-adult.svg", metadata={"Date": None, "Description": figure.get_label()})


if __name__ == "__main__":
    main()
