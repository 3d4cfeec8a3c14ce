"""How wrong the answers are: count, sum, mean and units of 1,000 keys in one query, against the capped truth.

    scripts/bench accuracy [--units 100000] [--keys 1000] [--releases 5] [--seed 1]

Prints the median absolute error over the keys: of all releases together, and of each; beside it the bar, what the noise
alone says it is (0.6745 deviations where it is Gaussian), and what it was when every output had noise of its own for an
equal share. The column is asked twice: with a declared stand-in for missing values, so that rows and values are one
count, and without one.
"""

import argparse
from collections.abc import Iterable
from fractions import Fraction

import numpy as np
import pyarrow as pa

import discreet as dp
from discreet.catalog.catalog import Catalog
from discreet.planner.budget import shares
from discreet.planner.queries.aggregate import AggregatePlan
from discreet.planner.queries.tables import analyze
from discreet.release.release import OutputColumn
from discreet.testing import ExactPipeline

EPSILON, DELTA = 1, 1e-9
MAX_GROUPS, MAX_ROWS_PER_GROUP = 5, 4
BOUNDS = (0, 500)
BARS = {"count": 50, "sum": 25_000, "units": 15}
QUARTILE = 0.6745
QUERY = (
    dp.table("visits")
    .group_by("key")
    .agg(
        count=dp.count(),
        sum=dp.sum("value", bounds=BOUNDS, grid=0.01),
        mean=dp.mean("value", bounds=BOUNDS, grid=0.01),
        units=dp.count_units(),
    )
)

Columns = dict[str, np.ndarray]


class RecordingPipeline(ExactPipeline):
    """Real noise, beside what would have been answered without: so it is stamped NOT PRIVATE."""

    truth: Columns

    def randomize(self, plan: AggregatePlan, exact: list[list[int]]) -> list[list[int]]:
        """With noise, after keeping what would have been answered without."""
        self.truth = columns(plan.outputs(plan.combine(exact), Fraction(1, 2)))
        return plan.randomize(exact)


class RecordingSession(dp.testing.Session):
    """A session over it."""

    _pipeline_class = RecordingPipeline

    @property
    def truth(self) -> Columns:
        """The answer without noise."""
        return self._pipeline.truth  # type: ignore[attr-defined, no-any-return]


def columns(outputs: Iterable[OutputColumn]) -> Columns:
    return {output.name: np.array(output.values, dtype=float) for output in outputs}


def generated(units: int, keys: int, seed: int) -> pa.Table:
    """Units in 1 to 9 keys, popular ones more often, with 1 to 7 rows in each, and values from 0 to 600."""
    rng = np.random.default_rng(seed)
    visits = np.repeat(np.arange(units), rng.integers(1, 10, units))
    popularity = 1 / np.arange(10, keys + 10)
    places = rng.choice(keys, len(visits), p=popularity / popularity.sum())
    times = rng.integers(1, 8, len(visits))
    values = np.minimum(600, rng.gamma(2, 100, times.sum())).round(2)
    return pa.table({"unit": np.repeat(visits, times), "key": np.repeat(places, times), "value": values})


def opened(rows: pa.Table, keys: int, missing: dict[str, int]) -> RecordingSession:
    """A session with a promise of its own, which one query uses up."""
    return RecordingSession.protect(
        rows,
        name="visits",
        privacy_unit="unit",
        max_groups=MAX_GROUPS,
        max_rows_per_group=MAX_ROWS_PER_GROUP,
        keys={"key": list(range(keys))},
        missing=missing,
        budget=dp.Budget(epsilon=EPSILON, delta=DELTA),
        ledger=":memory:",
    )


def expected(catalog: Catalog, truth: Columns) -> dict[str, float]:
    """The median error by the plan alone; of a mean where it lies."""
    private = analyze(QUERY.plan, catalog, dp.Budget(epsilon=EPSILON, delta=DELTA), epsilon=EPSILON)
    found = {}
    for made in private.recipes:
        deviations = [reading.deviation for reading in private.read(made)]
        of_keys = np.array(deviations[0] * float(made.grid))
        if made.kind == "mean":
            away = np.abs(truth["mean"] - float(made.centre))
            of_keys = np.hypot(of_keys, away * deviations[1]) / np.maximum(1, truth["count"])
        found[made.name] = QUARTILE * float(np.median(of_keys))
    return found


def with_equal_shares(catalog: Catalog, truth: Columns) -> dict[str, float]:
    """The same, where each output has noise of its own for an equal share."""
    worthwhile, shares.WORTHWHILE = shares.WORTHWHILE, Fraction(0)
    try:
        return expected(catalog, truth)
    finally:
        shares.WORTHWHILE = worthwhile


def measure(rows: pa.Table, given: argparse.Namespace, missing: dict[str, int]) -> None:
    errors: list[Columns] = []
    for number in range(given.releases):
        with opened(rows, given.keys, missing) as session:
            if number == 0:
                print(session.explain(QUERY, epsilon=EPSILON))
            noisy = columns(session.release(QUERY, epsilon=EPSILON).outputs)
            truth, catalog = session.truth, session.catalog
        errors.append({name: np.abs(noisy[name] - truth[name]) for name in noisy})
    report(errors, expected(catalog, truth), with_equal_shares(catalog, truth))


def report(errors: list[Columns], now: dict[str, float], before: dict[str, float]) -> None:
    head = f"{'':<8}{'median error':>14}{'of each release':>26}{'bar':>10}{'':>8}"
    print(f"{head}{'by its noise':>14}{'equal shares':>14}")
    for name, noise in now.items():
        medians = [float(np.median(each[name])) for each in errors]
        together = float(np.median(np.concatenate([each[name] for each in errors])))
        bar = BARS.get(name)
        verdict = "" if bar is None else "within" if together <= bar else "OVER"
        spread = f"{min(medians):,.5g} to {max(medians):,.5g}"
        row = f"{name:<8}{together:>14,.5g}{spread:>26}{'' if bar is None else f'{bar:,}':>10} {verdict:<7}"
        print(f"{row}{noise:>14,.5g}{before[name]:>14,.5g}", flush=True)


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--units", type=int, default=100_000)
    options.add_argument("--keys", type=int, default=1_000)
    options.add_argument("--releases", type=int, default=5)
    options.add_argument("--seed", type=int, default=1)
    given = options.parse_args()
    rows = generated(given.units, given.keys, given.seed)
    print(f"{len(rows):,} rows of {given.units:,} units, {given.keys:,} keys; epsilon {EPSILON}, delta {DELTA:g}")
    print(f"of each unit {MAX_GROUPS} keys and {MAX_ROWS_PER_GROUP} rows in each")
    for words, missing in (("a missing value counts as 0", {"value": 0}), ("a missing value is skipped", {})):
        print(f"\n{words}")
        measure(rows, given, missing)


if __name__ == "__main__":
    main()
