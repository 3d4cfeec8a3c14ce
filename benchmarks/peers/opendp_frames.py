"""OpenDP's queries in Polars: expressions that do what their maps do not know. It needs the Polars it was built for."""

import warnings
from collections.abc import Callable
from typing import Any

from peers.fault import Fault, Found, audited


def _prelude() -> tuple[Any, Any]:
    warnings.simplefilter("ignore", FutureWarning)
    prelude = __import__("opendp.prelude").prelude
    prelude.enable_features("contrib")
    return prelude, __import__("polars")


def _released(measurement: Any, column: str) -> Callable[[Any], int]:
    return lambda frame: int(measurement(frame).collect()[column].item())


def _free_count() -> Found:
    """Two tables of 16 rows, one with a NaN; a cast makes it missing, and a count of what is there is called free."""
    dp, pl = _prelude()
    missing, whole = (pl.LazyFrame({"x": [first] + [1.0] * 15}) for first in (float("nan"), 1.0))
    column = dp.series_domain("x", dp.option_domain(dp.atom_domain(T=float)))
    margin = dp.polars.Margin(max_length=16, invariant="lengths")
    counted = pl.col("x").fill_null(0.0).cast(pl.Int64, strict=False).count()
    made = dp.m.make_private_lazyframe(
        dp.with_margin(dp.lazyframe_domain([column]), margin),
        dp.frame_distance(dp.symmetric_distance()),
        dp.max_divergence(),
        missing.select(counted.dp.noise()),
        global_scale=1.0,
    )
    epsilon = made.map([dp.polars.Bound(per_group=2)])
    return audited(_released(made, "x"), missing, whole, 200, epsilon=epsilon)


def _codes_by_order() -> Found:
    """One row in front gives all the others another code."""
    dp, pl = _prelude()
    without, with_one = pl.LazyFrame({"x": [0.5] * 100}), pl.LazyFrame({"x": [2.0] + [0.5] * 100})
    column = dp.series_domain("x", dp.atom_domain(T=float, nan=False))
    coded = pl.col("x").cut([1.0]).to_physical()
    made = dp.m.make_private_lazyframe(
        dp.with_margin(dp.lazyframe_domain([column]), dp.polars.Margin(max_length=101)),
        dp.frame_distance(dp.symmetric_distance()),
        dp.max_divergence(),
        pl.LazyFrame(schema={"x": pl.Float64}).select(coded.dp.sum((0, 1), scale=1.0)),
    )
    epsilon = made.map([dp.polars.Bound(per_group=1)])
    return audited(_released(made, "x"), without, with_one, 200, epsilon=epsilon)


def _factor_two() -> Found:
    """Three rows of 10 become three of -10: six changes, of which a group of three is said to allow three."""
    dp, pl = _prelude()
    schema = {"key": pl.String, "x": pl.Int32}
    high, low = (pl.LazyFrame({"key": ["a"] * 3, "x": [x] * 3}, schema=schema) for x in (10, -10))
    columns = [dp.series_domain("key", dp.atom_domain(T=str)), dp.series_domain("x", dp.atom_domain(T=int))]
    margin = dp.polars.Margin(by=["key"], max_length=3, max_groups=1, invariant="keys")
    made = dp.m.make_private_lazyframe(
        dp.with_margin(dp.lazyframe_domain(columns), margin),
        dp.symmetric_distance(),
        dp.max_divergence(),
        pl.LazyFrame(schema=schema).group_by("key").agg(pl.col("x").dp.sum((-10, 10), scale=30.0)),
    )
    return audited(_released(made, "x"), high, low, 2_000, epsilon=made.map(6))


def _stale_bound() -> Found:
    """Rows are cut per unit and group; then all groups become one, and the cut is still believed."""
    dp, pl = _prelude()
    groups = list(range(100))
    both = pl.LazyFrame({"unit": [0] * 100 + [1] * 100, "g": groups * 2})
    alone = pl.LazyFrame({"unit": [1] * 100, "g": groups})
    counts = (
        pl.LazyFrame(schema={"unit": pl.Int64, "g": pl.Int64})
        .filter(pl.int_range(pl.len()).over("unit", "g") < 1)
        .filter(pl.struct("g").rank("dense").over("unit") < 101)
        .with_columns(g=pl.lit(0, dtype=pl.Int64))
        .group_by("g")
        .agg(dp.len(scale=1.0))
    )
    made = dp.m.make_private_lazyframe(
        dp.lazyframe_domain([dp.series_domain(name, dp.atom_domain(T="i64")) for name in ("unit", "g")]),
        dp.symmetric_id_distance(identifier=pl.col("unit")),
        dp.zero_concentrated_divergence(),
        pl.LazyFrame({"g": [0]}).join(counts, on="g", how="left"),
    )
    return audited(_released(made, "len"), both, alone, 200, rho=made.map(1))


def _fault(issue: int, name: str, show: Callable[[], Found]) -> Fault:
    return Fault("opendp", name, f"issue {issue}", show, ("opendp.prelude", "polars"))


FAULTS = (
    _fault(2938, "Polars: a count of what a cast left, called free", _free_count),
    _fault(2944, "Polars: codes that depend on other rows", _codes_by_order),
    _fault(2945, "Polars: a group's length taken for its change", _factor_two),
    _fault(2949, "Polars: a bound kept after its column changed", _stale_bound),
)
