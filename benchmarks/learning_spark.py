"""Logistic regression in the executors of Spark beside the regression of Spark itself, in one run.

    scripts/bench learning_spark [--rows 20000000] [--features 20] [--iterations 30] [--cores 2]

Rows are in Parquet: reals from 0 to 1 and a class. Ours is a whole release: the charge, the encoding of all rows, one
job for each noisy sum, and the model. Spark's own regression is not private; it runs as many iterations over a cached
frame of vectors. Memory is that of the largest process, which is the JVM, and of the largest Python process below it.
"""

import argparse
import os
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

from measuring import once

import discreet as dp

BINS = 32


def write(spark: Any, path: str, rows: int, names: list[str]) -> None:
    """Uniform features and a class that depends on all of them."""
    from pyspark.sql import functions as sql  # noqa: PLC0415 - after the Python of the executors is set

    frame = spark.range(rows)
    for number, name in enumerate(names):
        frame = frame.withColumn(name, sql.rand(number))
    score = sum((sql.col(name) - 0.5) * (1 if i % 2 else -1) for i, name in enumerate(names))
    frame = frame.withColumn("class", (score + 2 * sql.rand(len(names)) - 1 > 0).cast("int")).drop("id")
    frame.write.mode("overwrite").parquet(path)


def ours(spark: Any, path: str, home: Path, rows: int, names: list[str], iterations: int) -> object:
    """The release of a model."""
    columns: dict[str, Any] = {name: {"type": "real", "bounds": [0, 1]} for name in names}
    columns["class"] = {"type": "integer", "keys": [0, 1]}
    facts = {"privacy_unit": "dp.ROW", "population": rows, "budget": {"epsilon": 4, "delta": 1e-9}}
    catalog = dp.Catalog(tables={"rows": {"columns": columns} | facts})
    features = dict.fromkeys(names, dp.learning.linear_bins(0, 1, BINS))
    model = dp.learning.LogisticRegression(features=features, size=rows, iterations=iterations)
    source = spark.read.parquet(path)
    with dp.Session(catalog, sources={"rows": source}, ledger=home / "ledger.sqlite") as session:
        return session.release(dp.table("rows").fit(model, target="class"), epsilon=1)


def theirs(spark: Any, path: str, names: list[str], iterations: int) -> object:
    """The regression of Spark, without privacy."""
    from pyspark.ml.classification import LogisticRegression  # noqa: PLC0415 - as above
    from pyspark.ml.feature import VectorAssembler  # noqa: PLC0415 - as above

    frame = VectorAssembler(inputCols=names, outputCol="features").transform(spark.read.parquet(path))
    frame = frame.select("features", "class").persist()
    model = LogisticRegression(labelCol="class", maxIter=iterations, tol=0.0).fit(frame)
    frame.unpersist()
    return model


class WorkerMemory:
    """The most memory of one Python process below this one, sampled twice a second."""

    def __init__(self) -> None:
        self.peak = 0
        self._stop = threading.Event()
        threading.Thread(target=self._watch, daemon=True).start()

    def _watch(self) -> None:
        while not self._stop.wait(0.5):
            self.peak = max([self.peak, *map(_python_memory, Path("/proc").glob("[0-9]*"))])

    def end(self) -> float:
        """The peak in GB."""
        self._stop.set()
        return self.peak / 2**20


def _python_memory(process: Path) -> int:
    try:
        command = (process / "cmdline").read_bytes()
        status = (process / "status").read_text()
    except OSError:
        return 0
    if b"pyspark.daemon" not in command and b"pyspark/daemon" not in command:
        return 0
    return next((int(line.split()[1]) for line in status.splitlines() if line.startswith("VmRSS")), 0)


def main() -> None:
    """Print seconds in all and for each iteration, and memory."""
    parser = argparse.ArgumentParser(description=__doc__)
    for name, number in {"rows": 20_000_000, "features": 20, "iterations": 30, "cores": 2}.items():
        parser.add_argument(f"--{name}", type=int, default=number)
    parser.add_argument("--memory", default="6g")
    given = parser.parse_args()
    os.environ["PYSPARK_PYTHON"] = sys.executable
    from pyspark.sql import SparkSession  # noqa: PLC0415 - after the Python of the executors is set

    settings = {"spark.ui.enabled": "false", "spark.driver.memory": given.memory, "spark.sql.shuffle.partitions": "16"}
    settings |= {"spark.ui.showConsoleProgress": "false", "spark.log.level": "ERROR"}
    names = [f"x{i}" for i in range(given.features)]
    with tempfile.TemporaryDirectory() as place:
        settings["spark.local.dir"] = place
        spark = SparkSession.builder.master(f"local[{given.cores}]").config(map=settings).getOrCreate()
        path, start = f"{place}/rows.parquet", time.perf_counter()
        write(spark, path, given.rows, names)
        print(
            f"{given.rows:,} rows, {given.features} features, written in {time.perf_counter() - start:.0f} s",
            flush=True,
        )
        calls = {
            "ours": lambda: ours(spark, path, Path(place), given.rows, names, given.iterations),
            "pyspark.ml": lambda: theirs(spark, path, names, given.iterations),
        }
        for label, call in calls.items():
            memory = WorkerMemory()
            found = once(call)
            print(
                f"{label:11} {found.wall:7.1f} s wall {found.cpu:7.1f} s CPU, {found.wall / given.iterations:6.2f} s "
                f"an iteration, peak: JVM {found.engine_memory / 2**30:.2f} GB, a Python worker {memory.end():.2f} GB",
                flush=True,
            )
        spark.stop()


if __name__ == "__main__":
    main()
