"""The twenty questions to PipelineDP: prints JSON. Run by scripts/bench questions with a Python that has pipeline-dp.

The noise is that of the explain-computation report of one aggregation with public partitions; the accountants split the
budget. Under epsilon and delta the smallest half-width of Laplace and Gaussian noise is taken, each with both
accountants (the one with privacy loss distributions needs dp-accounting).
"""

import json
import math
import re
import sys
from importlib.metadata import version
from itertools import product
from typing import Any

import pipeline_dp as pdp
from peers import laws
from peers.settings import BINS, BOUNDS, GROUPS, LEVELS, ROWS, SETTINGS, Answer, Figures
from pipeline_dp import dp_computations
from pipeline_dp.report_generator import ExplainComputationReport

RUNS = 2_000
PARAMETER = re.compile(r"(Laplace|Gaussian) mechanism:  parameter=([\d.e+-]+)")
THRESHOLD = re.compile(r"threshold=([\d.]+)")
METRICS = pdp.Metrics
VALUES = {"min_value": BOUNDS[0], "max_value": BOUNDS[1]}
ONE = {"max_partitions_contributed": 1, "max_contributions_per_partition": 1}
TEN = {"max_contributions": 10}
NOTES = {
    "7": "10 rows in all; it cannot bound groups beside that",
    "9": f"95% quantile of {RUNS:,} runs of its `compute_dp_var`, as the report states no noise",
    "10": "one mean, which also gives the count and the sum",
    "11": "a tree of counts; no interval stated",
    "12": "as the median",
    "14": "the bins of a histogram, added up by the user",
    "15": "four tables from one budget; they do not add up",
    "16": "not offered",
    "17": "not offered",
    "18": "not offered",
    "19": "post-aggregation thresholding",
    "20": "not offered",
}
EXTRACTORS = pdp.DataExtractors(
    privacy_id_extractor=lambda row: row[0],
    partition_extractor=lambda row: row[1],
    value_extractor=lambda row: row[2],
)


def report(accountant: Any, metrics: list[Any], kind: Any, *, copies: int = 1, **facts: Any) -> str:
    """The report of an aggregation of made-up rows, beside others like it from the same budget."""
    rows = [(person, "0", person) for person in range(50)]
    engine, reports = pdp.DPEngine(accountant, pdp.LocalBackend()), []
    public = None if facts.get("post_aggregation_thresholding") else ["0"]
    for _ in range(copies):
        asked = pdp.AggregateParams(metrics=metrics, noise_kind=kind, **facts)
        reports.append(ExplainComputationReport())
        found = engine.aggregate(
            rows, asked, EXTRACTORS, public_partitions=public, out_explain_computation_report=reports[-1]
        )
    accountant.compute_budgets()
    list(found)
    return reports[-1].text()


def stated(text: str) -> list[laws.Law]:
    """The laws in a report, in their order."""
    return [(name.lower(), float(parameter)) for name, parameter in PARAMETER.findall(text)]


def ways(epsilon: float, delta: float) -> list[tuple[Any, Any]]:
    """Accountants and kinds of noise that meet the guarantee."""
    if not delta:
        return [(pdp.NaiveBudgetAccountant(epsilon, 0), pdp.NoiseKind.LAPLACE)]
    accountants, kinds = (pdp.NaiveBudgetAccountant, pdp.PLDBudgetAccountant), pdp.NoiseKind
    return [(make(epsilon, delta), kind) for make, kind in product(accountants, kinds)]


def noise(metric: Any, **facts: Any) -> Any:
    """The half-width of a count or a sum."""

    def answer(accountant: Any, kind: Any) -> Answer:
        return [laws.half_width(stated(report(accountant, [metric], kind, **facts))[0])]

    return answer


def ranges(accountant: Any, kind: Any) -> Answer:
    (law,) = stated(report(accountant, [METRICS.COUNT], kind, **ONE))
    return [*laws.added_up(law, BINS)]


def mean(accountant: Any, kind: Any) -> Answer:
    count, total = stated(report(accountant, [METRICS.MEAN], kind, **ONE, **VALUES))
    return [None, laws.mean_half_width(total, count, ROWS, sum(BOUNDS) / 2, BOUNDS)]


def three(accountant: Any, kind: Any) -> Answer:
    """A count, a sum that is the noisy mean times the noisy count, and the mean."""
    metrics = [METRICS.MEAN, METRICS.COUNT, METRICS.SUM]
    count, total = stated(report(accountant, metrics, kind, **ONE, **VALUES))
    middle = sum(BOUNDS) / 2
    sums = [abs(a + middle * b) for a, b in zip(laws.draws(total, 0), laws.draws(count, 1), strict=True)]
    ratio = laws.mean_half_width(total, count, ROWS // GROUPS, middle, BOUNDS)
    return [laws.half_width(count), laws.quantile(sums), None, ratio]


def variance(epsilon: float, delta: float) -> Answer:
    """The worst of five proportions of rows at the two bounds, and the better kind of noise."""
    kinds = list(pdp.NoiseKind) if delta else [pdp.NoiseKind.LAPLACE]
    return [None, min(max(_variance(epsilon, delta, kind, part / 4) for part in range(5)) for kind in kinds)]


def _variance(epsilon: float, delta: float, kind: Any, part: float) -> float:
    half = (BOUNDS[1] - BOUNDS[0]) / 2
    asked = dp_computations.ScalarNoiseParams(epsilon, delta, *BOUNDS, None, None, *ONE.values(), noise_kind=kind)
    sums, squares = (2 * part - 1) * half * ROWS, half**2 * ROWS
    exact = squares / ROWS - (sums / ROWS) ** 2
    found = [dp_computations.compute_dp_var(ROWS, sums, squares, asked)[3] for _ in range(RUNS)]
    return laws.quantile([abs(each - exact) for each in found])


def threshold(epsilon: float, delta: float) -> Answer | None:
    """The stated threshold: a key of so many people is kept half of the time."""
    if not delta:
        return None
    found = []
    for kind in pdp.NoiseKind:
        accountant = pdp.NaiveBudgetAccountant(epsilon, delta)
        text = report(accountant, [METRICS.PRIVACY_ID_COUNT], kind, post_aggregation_thresholding=True, **ONE)
        found.append([math.ceil(float(THRESHOLD.findall(text)[0]))])
    return min(found)


def figures() -> Figures:
    """All answers by number and setting."""
    count = noise(METRICS.COUNT, **ONE)
    answers = {
        "1": count,
        "2": count,
        "3": noise(METRICS.COUNT, max_partitions_contributed=5, max_contributions_per_partition=1),
        "4": count,
        "5": noise(METRICS.COUNT, **TEN),
        "6": noise(METRICS.SUM, **ONE, **VALUES),
        "7": noise(METRICS.SUM, **TEN, **VALUES),
        "8": mean,
        "10": three,
        "13": count,
        "14": ranges,
        "15": noise(METRICS.COUNT, copies=LEVELS, **ONE),
    }
    found: Figures = {
        number: {
            name: min((answer(*way) for way in ways(*setting)), key=lambda found: found[-1])
            for name, setting in SETTINGS.items()
        }
        for number, answer in answers.items()
    }
    found["9"] = {name: variance(*setting) for name, setting in SETTINGS.items()}
    found["19"] = {name: threshold(*setting) for name, setting in SETTINGS.items()}
    return found


if __name__ == "__main__":
    json.dump({"version": f"PipelineDP {version('pipeline-dp')}", "notes": NOTES, "figures": figures()}, sys.stdout)
