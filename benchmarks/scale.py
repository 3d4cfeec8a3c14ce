"""How cost grows: rows, units, keys and skew, on DuckDB and on Spark local, each size in a process of its own.

    scripts/bench scale [--rows 1000000 10000000 100000000] [--engines duckdb spark] [--plots docs/scale] [--json FILE]

One point is: open a session over Parquet, release count, sum, mean and distinct units by key (cold), release again
(prepared). CPU is that of this process and, on Spark, of its JVM; memory is the peak resident set of each. Exponents
are slopes of log CPU over log size between the two largest sizes. Noise for a million keys is measured without engine.
"""

import argparse
import itertools
import json
import math
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

import discreet as dp

TESTS = Path(__file__).resolve().parent.parent / "tests"
MEMORY_LIMIT = "4GB"
MAX_ROWS = 10
MANY_KEYS_UP_TO = 10_000_000
Point = dict[str, Any]


def points(given: argparse.Namespace) -> Iterator[Point]:
    """What is measured: every size with 1,000 keys, smaller ones with other keys, units and skew."""
    middle = sorted(given.rows)[-2] if len(given.rows) > 1 else given.rows[0]
    for engine, rows in itertools.product(given.engines, given.rows):
        yield {"engine": engine, "rows": rows, "units": rows // 10, "keys": 1_000, "heavy": False}
        for keys in (10, 100_000):
            if rows <= MANY_KEYS_UP_TO:
                yield {"engine": engine, "rows": rows, "units": rows // 10, "keys": keys, "heavy": False}
    for engine in given.engines:
        for units in (middle // 100, middle // 2):
            yield {"engine": engine, "rows": middle, "units": units, "keys": 1_000, "heavy": False}
        yield {"engine": engine, "rows": middle, "units": middle // 10, "keys": 1_000, "heavy": True}


def batches(point: Point) -> Iterator[pa.RecordBatch]:
    """Generated rows; where heavy, one unit owns a tenth of them."""
    made = dp.datasets.skewed_batches(point["rows"], point["units"], point["keys"], seed=1)
    for batch in made:
        if not point["heavy"]:
            yield batch
            continue
        index = batch.schema.get_field_index("unit")
        units = np.array(batch.column(index))
        units[::10] = 0
        yield batch.set_column(index, "unit", pa.array(units))


def file_of(point: Point, home: Path) -> Path:
    """The Parquet file of a point, written once for all engines."""
    path = home / f"{point['rows']}_{point['units']}_{point['keys']}_{point['heavy']}.parquet"
    if not path.exists():
        dp.datasets.write_parquet(batches(point), path)
    return path


def memory(pid: int) -> int:
    """The peak resident set of a process, in bytes."""
    for line in Path(f"/proc/{pid}/status").read_text(encoding="utf-8").splitlines():
        if line.startswith("VmHWM"):
            return int(line.split()[1]) * 1024
    return 0


def cpu(pids: list[int]) -> float:
    """The CPU seconds of processes so far."""
    ticks = 0
    for pid in pids:
        fields = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
        ticks += int(fields[11]) + int(fields[12])
    return ticks / os.sysconf("SC_CLK_TCK")


def opened(point: Point, path: Path, home: Path, spark: Any) -> dp.Session:
    source = path if spark is None else spark.read.parquet(str(path))
    return dp.protect(
        source,
        name="scale",
        privacy_unit="unit",
        max_rows=MAX_ROWS,
        keys={"key": dp.datasets.skewed_keys(point["keys"])},
        types={"unit": "integer", "key": "text", "value": "real"},
        budget=dp.Budget(epsilon=500, ceiling=500, reason="benchmark on generated rows"),
        ledger=home / "ledger.sqlite",
        memory_limit=None if spark is not None else MEMORY_LIMIT,
        threads=None if spark is not None else 2,
    )


def one(point: Point, path: Path) -> Point:
    """Measure one point in this process."""
    spark = None
    with tempfile.TemporaryDirectory() as directory:
        home, pids = Path(directory), [os.getpid()]
        if point["engine"] == "spark":
            sys.path.insert(0, str(TESTS))
            from servers import start_spark  # noqa: PLC0415 - only where Spark is measured

            settings = {"spark.driver.memory": "6g", "spark.sql.shuffle.partitions": "200"}  # 200 is Spark's default
            spark = start_spark(home / "spark", **settings)
            spark.range(10).count()
            pids.append(int(spark.sparkContext._gateway.proc.pid))  # noqa: SLF001
        query = (
            dp.table("scale")
            .group_by("key")
            .agg(
                n=dp.count(),
                total=dp.sum("value", bounds=(0, 500), grid=0.01),
                average=dp.mean("value", bounds=(0, 500), grid=0.01),
                units=dp.count_units(),
            )
        )
        found = dict(point)
        with opened(point, path, home, spark) as session:
            for name in ("cold", "keeping", "prepared"):
                before, start = cpu(pids), time.perf_counter()
                session.release(query, epsilon=0.1, fresh=True)
                found[f"{name} cpu"] = round(cpu(pids) - before, 3)
                found[f"{name} wall"] = round(time.perf_counter() - start, 3)
        found["memory"] = {name: memory(pid) for name, pid in zip(("python", "jvm"), pids, strict=False)}
        if spark is not None:
            spark.stop()
    return found


def exponent(found: list[Point], engine: str, size: str, what: str) -> float | None:
    """The slope between the two largest sizes of otherwise equal points."""
    same = [p for p in found if p["engine"] == engine and p["keys"] == 1_000 and not p["heavy"]]
    if size == "rows":
        same = [p for p in same if p["units"] * 10 == p["rows"]]
    else:
        counts = [p["rows"] for p in same]
        same = [p for p in same if p["rows"] == max(set(counts), key=counts.count)]
    same.sort(key=lambda p: p[size])
    if len(same) < 2:
        return None
    first, last = same[-2], same[-1]
    return math.log(last[what] / first[what]) / math.log(last[size] / first[size])


def noise(keys: int) -> dict[str, float]:
    """Seconds for the noise of so many keys, by kind."""
    from discreet.mechanisms import Gaussian, Laplace  # noqa: PLC0415 - after the engines are measured

    exact, seconds = [0] * keys, {}
    laplace = Laplace(sensitivity=10, epsilon=Fraction(1, 10))
    for mechanism in (laplace, Gaussian(squared_sensitivity=100, rho=Fraction(1, 1_000))):
        start = time.perf_counter()
        mechanism.release(exact)
        seconds[type(mechanism).__name__] = round(time.perf_counter() - start, 2)
    return seconds


def drawn(found: list[Point], place: Path) -> None:
    """CPU over rows, with 10, 1,000 and 100,000 keys and with skew; one picture for each engine."""
    import matplotlib as mpl  # noqa: PLC0415 - slow, and needed at the end only

    mpl.use("svg")
    mpl.rcParams["svg.hashsalt"] = "discreet"
    import matplotlib.pyplot as plt  # noqa: PLC0415

    for engine in dict.fromkeys(p["engine"] for p in found):
        figure, axes = plt.subplots(figsize=(7, 4.2), layout="constrained")
        for keys, what in itertools.product((10, 1_000, 100_000), ("cold", "prepared")):
            line = [p for p in found if (p["engine"], p["keys"], p["heavy"]) == (engine, keys, False)]
            line = sorted((p for p in line if p["units"] * 10 == p["rows"]), key=lambda p: p["rows"])
            style = "-" if what == "cold" else ":"
            axes.plot(
                [p["rows"] for p in line],
                [p[f"{what} cpu"] for p in line],
                style,
                marker="o",
                label=f"{keys:,} keys, {what}",
            )
        for p in found:
            if p["engine"] == engine and p["heavy"]:
                axes.plot([p["rows"]], [p["cold cpu"]], "k*", label="one unit owns a tenth, cold")
        axes.set(
            xscale="log",
            yscale="log",
            xlabel="rows",
            ylabel="CPU seconds",
            title=f"{engine}: one release of four aggregates",
        )
        axes.grid(visible=True, which="major", alpha=0.3)
        axes.legend(fontsize=8)
        figure.savefig(place / f"scale-{engine}.svg", metadata={"Date": None})
        plt.close(figure)


def told(point: Point) -> str:
    peak = "  ".join(f"{name} {size / 2**20:,.0f} MB" for name, size in point["memory"].items())
    return (
        f"{point['engine']:<8}{point['rows']:>12,}{point['units']:>12,}{point['keys']:>9,}"
        f"{'  heavy' if point['heavy'] else '       '}"
        f"{point['cold cpu']:>9.1f}{point['cold wall']:>9.1f}"
        f"{point['prepared cpu']:>9.2f}{point['prepared wall']:>9.2f}  {peak}"
    )


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--rows", type=int, nargs="+", default=[1_000_000, 10_000_000, 100_000_000])
    options.add_argument("--engines", nargs="+", default=["duckdb", "spark"])
    options.add_argument("--noise", type=int, default=1_000_000)
    options.add_argument("--plots", type=Path)
    options.add_argument("--json", type=Path)
    options.add_argument("--one", help=argparse.SUPPRESS)
    options.add_argument("--file", type=Path, help=argparse.SUPPRESS)
    given = options.parse_args()
    if given.one:
        print(json.dumps(one(json.loads(given.one), given.file)))
        return
    head = (
        f"{'engine':<8}{'rows':>12}{'units':>12}{'keys':>9}       {'cold CPU':>9}{'wall':>9}{'prepared':>9}{'wall':>9}"
    )
    print(f"{head}  peak memory")
    found: list[Point] = []
    with tempfile.TemporaryDirectory() as directory:
        for point in points(given):
            command = [
                sys.executable,
                __file__,
                "--one",
                json.dumps(point),
                "--file",
                str(file_of(point, Path(directory))),
            ]
            answer = subprocess.run(command, capture_output=True, text=True, check=False)
            if answer.returncode:
                print(f"{point} failed: {answer.stderr[-500:]}", flush=True)
                continue
            found.append(json.loads(answer.stdout.splitlines()[-1]))
            print(told(found[-1]), flush=True)
    for engine, size, what in itertools.product(given.engines, ("rows", "units"), ("cold cpu", "prepared cpu")):
        slope = exponent(found, engine, size, what)
        if slope is not None:
            print(f"{engine}: {what} grows with {size} to the power of {slope:.2f} (bar 1.05)")
    print(f"noise for {given.noise:,} keys, seconds: {noise(given.noise)}")
    if given.plots:
        drawn(found, given.plots)
    if given.json:
        given.json.write_text(json.dumps(found, indent=1), encoding="utf-8")


if __name__ == "__main__":
    main()
