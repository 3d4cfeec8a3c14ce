"""The twenty questions to OpenDP: prints JSON. Run by scripts/bench questions with a Python that has opendp[polars].

Under epsilon and delta the smaller of two half-widths is taken: of noise for the pure epsilon, and of Gaussian or
Gumbel noise for the largest rho that OpenDP converts to this epsilon and delta.
"""

import json
import math
import sys
import warnings
from functools import cache
from importlib.metadata import version
from typing import Any

import opendp.prelude as dp
import polars as pl
from peers import laws
from peers.settings import (
    BINS,
    BOUNDS,
    CANDIDATES,
    GROUPS,
    LEVELS,
    QUARTILES,
    ROWS,
    SETTINGS,
    STEPS,
    TOP,
    Answer,
    Figures,
)

LAWS = {"Integer Laplace": "discrete laplace", "Integer Gaussian": "discrete gaussian"}
NOTES = {
    "7": "10 rows in all; no bound on groups, which changes nothing here",
    "8": "sum and count at half of epsilon each; the sum is not centred",
    "9": "needs a public number of rows, so it counts something else",
    "10": "count and sum at half of epsilon each; the mean is their ratio",
    "11": "scale as stated, the bound of discreet; for values without ties",
    "12": "as the median",
    "14": "the bins of a histogram, added up by the user; its consistent trees are wider here",
    "15": "four tables at a quarter of epsilon each; they do not add up",
    "16": "scale as stated, the bound of discreet",
    "17": "as 16",
    "18": "not offered in Python",
    "19": "the stated threshold; its delta is for one step higher (issue 2922)",
    "20": "not offered",
}
FRAME = pl.LazyFrame(schema={"g": pl.String, "v": pl.Int64})
VALUE = pl.col("v").fill_null(0)
KEYS = pl.LazyFrame({"g": [str(key) for key in range(GROUPS)]})
MARGINS = [dp.polars.Margin(max_length=ROWS), dp.polars.Margin(by=["g"], max_length=ROWS, max_groups=ROWS)]


@cache
def rho_within(epsilon: float, delta: float) -> float:
    """The largest rho whose stated conversion is within epsilon and delta."""
    space = dp.atom_domain(T=int), dp.absolute_distance(T=int)

    def made(scale: float) -> Any:
        noisy = dp.m.make_gaussian(*space, scale=scale)
        return dp.c.make_fix_delta(dp.c.make_zCDP_to_approxDP(noisy), delta)

    scale = dp.binary_search(lambda scale: made(scale).map(1)[0] <= epsilon, bounds=(0.1, 1e5))
    return 1 / (2 * scale**2)


def losses(epsilon: float, delta: float) -> list[dict[str, float]]:
    """The privacy losses that may be spent, as arguments of `dp.loss_of`."""
    pure = {"epsilon": epsilon}
    return [pure, {"rho": rho_within(epsilon, delta)}] if delta else [pure]


def context(loss: dict[str, float], unit: Any = 1) -> Any:
    return dp.Context.compositor(
        data=FRAME,
        privacy_unit=dp.unit_of(contributions=unit),
        privacy_loss=dp.loss_of(**loss),
        split_evenly_over=1,
        margins=MARGINS,
    )


def stated(query: Any) -> list[dict[str, Any]]:
    return query.summarize().to_dicts()


def widths(query: Any) -> Answer:
    """The half-width of each output, by its stated distribution and scale."""
    return [laws.half_width((LAWS[row["distribution"]], row["scale"])) for row in stated(query)]


def share(loss: dict[str, float], parts: int) -> dict[str, float]:
    return {kind: amount / parts for kind, amount in loss.items()}


def table(loss: dict[str, float], unit: Any = 1) -> Answer:
    return widths(context(loss, unit).query().group_by("g").agg(dp.len()).with_keys(KEYS))


def whole(loss: dict[str, float], *, by: float = 1) -> Answer:
    return widths(context(loss, by).query().select(dp.len()))


def total(loss: dict[str, float]) -> Answer:
    return widths(context(loss).query().select(VALUE.dp.sum(BOUNDS)))


def totals(loss: dict[str, float]) -> Answer:
    return widths(context(loss, 10).query().group_by("g").agg(VALUE.dp.sum(BOUNDS)).with_keys(KEYS))


def mean(loss: dict[str, float]) -> Answer:
    sums, counts = (_law(row) for row in stated(context(loss).query().select(VALUE.dp.mean(BOUNDS))))
    return [None, laws.mean_half_width(sums, counts, ROWS, 0, BOUNDS)]


def three(loss: dict[str, float]) -> Answer:
    """Count and sum, and the mean from both."""
    query = context(loss).query().group_by("g").agg(dp.len(), VALUE.dp.sum(BOUNDS)).with_keys(KEYS)
    counts, sums = (_law(row) for row in stated(query))
    ratio = laws.mean_half_width(sums, counts, ROWS // GROUPS, 0, BOUNDS)
    return [laws.half_width(counts), laws.half_width(sums), None, ratio]


def _law(row: dict[str, Any]) -> laws.Law:
    return LAWS[row["distribution"]], row["scale"]


def quantiles(loss: dict[str, float], shares: tuple[float, ...]) -> Answer:
    """The bound of selection in ranks: a score counts each rank as often as the denominator of the quantile."""
    asked = [VALUE.dp.quantile(part, candidates=list(range(STEPS))).alias(str(part)) for part in shares]
    rows = stated(context(loss).query().select(*asked))
    ranks = [part.as_integer_ratio()[1] for part in shares]
    return [math.ceil(laws.selection_within(row["scale"], STEPS) / each) for row, each in zip(rows, ranks, strict=True)]


def ranges(loss: dict[str, float]) -> Answer:
    """The bins of a histogram, added up."""
    (row,) = stated(context(loss).query().group_by("g").agg(dp.len()).with_keys(KEYS))
    return [*laws.added_up(_law(row), BINS)]


def selection(loss: dict[str, float], top: int) -> Answer:
    """By the smallest scale that the loss allows."""
    space = dp.vector_domain(dp.atom_domain(T=int)), dp.linf_distance(T=int, monotonic=True)
    measure = dp.zero_concentrated_divergence() if "rho" in loss else dp.max_divergence()
    (amount,) = loss.values()

    def made(scale: float) -> Any:
        return dp.m.make_noisy_top_k(*space, measure, k=top, scale=scale)

    scale = dp.binary_search_param(made, 1, amount, bounds=(0.0, 1e6))
    return [laws.selection_within(scale, CANDIDATES, top)]


def threshold(epsilon: float, delta: float) -> Answer | None:
    """The stated threshold: a key of so many rows is kept half of the time."""
    if not delta:
        return None
    made = dp.Context.compositor(
        data=FRAME,
        privacy_unit=dp.unit_of(contributions=1),
        privacy_loss=dp.loss_of(epsilon=epsilon, delta=delta),
        split_evenly_over=1,
        margins=MARGINS,
    )
    return [float(stated(made.query().group_by("g").agg(dp.len()))[0]["threshold"])]


def best(answer: Any, epsilon: float, delta: float) -> Answer:
    return min((answer(loss) for loss in losses(epsilon, delta)), key=lambda found: found[-1])


def figures() -> Figures:
    """All answers by number and setting."""
    five = [dp.polars.Bound(by=["g"], per_group=1, num_groups=5)]
    answers = {
        "1": whole,
        "2": table,
        "3": lambda loss: table(loss, five),
        "4": table,
        "5": lambda loss: whole(loss, by=10),
        "6": total,
        "7": totals,
        "8": mean,
        "10": three,
        "11": lambda loss: quantiles(loss, (0.5,)),
        "12": lambda loss: quantiles(loss, QUARTILES),
        "13": table,
        "14": ranges,
        "15": lambda loss: table(share(loss, LEVELS)),
        "16": lambda loss: selection(loss, 1),
        "17": lambda loss: selection(loss, TOP),
    }
    found: Figures = {
        number: {name: best(answer, *setting) for name, setting in SETTINGS.items()}
        for number, answer in answers.items()
    }
    found["19"] = {name: threshold(*setting) for name, setting in SETTINGS.items()}
    return found


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    dp.enable_features("contrib")
    json.dump({"version": f"OpenDP {version('opendp')}", "notes": NOTES, "figures": figures()}, sys.stdout)
