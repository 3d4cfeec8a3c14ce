"""The twenty questions to Tumult Analytics: prints JSON. Run by scripts/bench questions with a Python that has it.

It needs Java 17 and starts Spark on one thread. The noise is what a session states for a query (`_noise_info`) under a
PureDPBudget or an ApproxDPBudget. A grouped count of unknown keys pays for them with half of epsilon and all of delta.
"""

import json
import os
import random
import sys
from importlib.metadata import version
from typing import Any

from peers import laws
from peers.settings import BINS, BOUNDS, GROUPS, LEVELS, ROWS, SEED, SETTINGS, SHARE_OF_BOUNDS, Answer, Figures
from pyspark.sql import SparkSession
from tmlt.analytics import (
    AddMaxRows,
    AddMaxRowsInMaxGroups,
    AddOneRow,
    ApproxDPBudget,
    KeySet,
    PureDPBudget,
    QueryBuilder,
    Session,
)
from tmlt.core.domains.spark_domains import SparkDataFrameDomain, SparkStringColumnDescriptor
from tmlt.core.measurements.aggregations import create_partition_selection_measurement
from tmlt.core.utils.exact_number import ExactNumber

SEARCHES = 8
LAWS = {"GEOMETRIC": "discrete laplace", "LAPLACE": "laplace", "DISCRETE_GAUSSIAN": "discrete gaussian"}
KEYS = {"g": [str(key) for key in range(GROUPS)]}
NOTES = {
    "7": "10 rows in all; no bound on groups, which changes nothing here",
    "10": "count and sum at half of epsilon each; the mean is their ratio",
    "11": "exponential mechanism on the values; no interval stated",
    "12": "as the median",
    "14": "the bins of a histogram, added up by the user",
    "15": "four tables at a quarter of epsilon each; they do not add up",
    "16": "not offered",
    "17": "not offered",
    "18": "not offered",
    "19": "half of epsilon for the keys; the count is in addition to that",
    "20": f"`get_bounds` for a quarter of epsilon, the sum for the rest; {SEARCHES} searches on the same data",
}


def spark() -> SparkSession:
    os.environ["PYSPARK_PYTHON"] = sys.executable
    opens = "--add-opens=java.base/java.nio=ALL-UNNAMED -Dio.netty.tryReflectionSetAccessible=true"
    made = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false")
    made = made.config("spark.sql.shuffle.partitions", "1").config("spark.ui.showConsoleProgress", "false")
    return made.config("spark.driver.extraJavaOptions", opens).getOrCreate()


def budget(epsilon: float, delta: float) -> Any:
    return ApproxDPBudget(epsilon, delta) if delta else PureDPBudget(epsilon)


def noise(frame: Any, query: Any, change: Any, setting: tuple[float, float]) -> list[laws.Law]:
    """The laws that a session states."""
    session = Session.from_dataframe(budget(*setting), "t", frame, protected_change=change)
    stated = session._noise_info(query, budget(*setting))  # noqa: SLF001
    return [(LAWS[each["noise_mechanism"].name], float(each["noise_parameter"])) for each in stated]


def widths(frame: Any, setting: tuple[float, float]) -> dict[str, Answer | None]:
    """All answers under one guarantee, without the search for bounds."""
    rows, groups = QueryBuilder("t"), QueryBuilder("t").groupby(KeySet.from_dict(KEYS))
    total, middle = rows.sum("v", *BOUNDS), sum(BOUNDS) / 2
    quarter, half = ((setting[0] / parts, setting[1] / parts) for parts in (LEVELS, 2))
    five = AddMaxRowsInMaxGroups("g", max_groups=5, max_rows_per_group=1)

    def width(query: Any, change: Any = None, asked: tuple[float, float] = setting) -> Answer:
        return [laws.half_width(noise(frame, query, change or AddOneRow(), asked)[0])]

    sums, counts = noise(frame, rows.average("v", *BOUNDS), AddOneRow(), setting)
    three = noise(frame, rows.variance("v", *BOUNDS), AddOneRow(), setting)
    group_sums = noise(frame, groups.sum("v", *BOUNDS), AddOneRow(), half)
    group_counts = noise(frame, groups.count(), AddOneRow(), half)
    ratio = laws.mean_half_width(group_sums[0], group_counts[0], ROWS // GROUPS, 0, BOUNDS)
    (law,) = noise(frame, groups.count(), AddOneRow(), setting)
    table: Answer = [laws.half_width(law)]
    return {
        "1": width(rows.count()),
        "2": table,
        "3": width(groups.count(), five),
        "4": table,
        "5": width(rows.count(), AddMaxRows(10)),
        "6": width(total),
        "7": width(groups.sum("v", *BOUNDS), AddMaxRows(10)),
        "8": [None, laws.mean_half_width(sums, counts, ROWS, middle, BOUNDS)],
        "9": [None, laws.variance_half_width(three, ROWS, (middle, (BOUNDS[0] ** 2 + BOUNDS[1] ** 2) / 2), BOUNDS)],
        "10": [laws.half_width(group_counts[0]), laws.half_width(group_sums[0]), None, ratio],
        "13": table,
        "14": [*laws.added_up(law, BINS)],
        "15": width(groups.count(), asked=quarter),
        "19": threshold(*setting),
    }


def exact(number: float) -> ExactNumber:
    return ExactNumber.from_float(number, round_up=False)


def threshold(epsilon: float, delta: float) -> Answer | None:
    """Of a count by unknown keys: a key of so many rows is kept half of the time."""
    if not delta:
        return None
    domain = SparkDataFrameDomain({"g": SparkStringColumnDescriptor()})
    made = create_partition_selection_measurement(domain, exact(epsilon / 2), exact(delta))
    return [float(made.threshold)]


def sums_with_bounds(incomes: Any, values: list[int], epsilon: float) -> Answer:
    """The 95% quantile of the error of a sum: what clipping cuts off, and noise for the larger bound."""
    generator, errors = random.Random(SEED), []  # noqa: S311
    for _ in range(SEARCHES):
        session = Session.from_dataframe(PureDPBudget(epsilon), "t", incomes, protected_change=AddOneRow())
        row = session.evaluate(QueryBuilder("t").get_bounds("income"), PureDPBudget(epsilon * SHARE_OF_BOUNDS)).first()
        low, high = row["income_lower_bound"], row["income_upper_bound"]
        clipped = sum(min(max(value, low), high) - value for value in values)
        scale = max(abs(low), abs(high)) / (epsilon * (1 - SHARE_OF_BOUNDS))
        draws = [generator.choice((-1, 1)) * generator.expovariate(1 / scale) for _ in range(500)]
        errors += [abs(clipped + draw) for draw in draws]
    return [laws.quantile(errors)]


def figures(values: list[int]) -> Figures:
    """All answers by number and setting."""
    made = spark()
    frame = made.createDataFrame([("0", 1)], schema="g string, v long")
    incomes = made.createDataFrame([(value,) for value in values], schema="income long")
    by_setting = {name: widths(frame, setting) for name, setting in SETTINGS.items()}
    found: Figures = {
        number: {name: each[number] for name, each in by_setting.items()} for number in by_setting["pure 1"]
    }
    by_epsilon = {epsilon: sums_with_bounds(incomes, values, epsilon) for epsilon in (1.0, 0.1)}
    found["20"] = {name: by_epsilon[epsilon] for name, (epsilon, _) in SETTINGS.items()}
    return found


if __name__ == "__main__":
    described = f"Tumult Analytics {version('tmlt.analytics')}"
    json.dump({"version": described, "notes": NOTES, "figures": figures(json.load(sys.stdin))}, sys.stdout)
