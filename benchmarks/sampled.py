"""Sample and aggregate at scale: blocks from the engine, functions in the sandbox, releases on time whatever they do.

    scripts/bench sampled [--rows 10000000] [--blocks 1000] [--seconds 0.2] [--engines duckdb spark] [--memory 256]

For each engine: CPU and wall time of making the blocks (with the capped rows ready) as ratios to the engine's own pass
over the same rows, a count, a sum and a count of different units. Then one release for each function: one that works,
one that raises, one that sleeps for ever and one that allocates without end, each on every tenth block and on all of
them: how many answers are those of the honest function, how late the release was after its public deadline, and how far
it is from the mean of the honest answers.
"""

import argparse
import os
import secrets
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from fractions import Fraction
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
from measuring import Timing, once

from discreet.catalog.catalog import ColumnType
from discreet.catalog.privacy_unit import Caps
from discreet.engines import Engine, PreparedBlocks, RegisteredSource, Workspace, engine_of, source_of
from discreet.mechanisms.sampled import ClippedMean, PrivateMedian
from discreet.plan.physical import CountRows, CountUnits, Keys, MissingUnits, Pushdown, Read, Scan, SumSteps
from discreet.sandbox import Limits, Sandbox

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))

MAX_ROWS = 10
VALUE = Read("value", ColumnType.REAL)
SCAN = Scan("t", 1, (Read("unit", ColumnType.INTEGER), VALUE), ("unit",), MissingUnits.DROP, MAX_ROWS)
BOUNDS = (0, 100)
DEFAULT = 0


def honest(table: pa.Table) -> float:
    return float(np.mean(table["value"].to_numpy()))


def _trouble(table: pa.Table) -> bool:
    """Every tenth block, by what it holds: its whole number of hundredths."""
    return int(table["value"][0].as_py() * 10) % 10 == 0


def raising(table: pa.Table) -> float:
    if _trouble(table):
        raise ValueError(table.to_pylist())
    return honest(table)


def sleeping(table: pa.Table) -> float:
    while _trouble(table):
        time.sleep(1)
    return honest(table)


def allocating(table: pa.Table) -> float:
    kept = []
    while _trouble(table):
        kept.append(bytearray(2**24))
    return honest(table)


def raising_always(table: pa.Table) -> float:
    raise ValueError(table.to_pylist())


def sleeping_always(table: pa.Table) -> float:
    while True:
        time.sleep(len(table))


def allocating_always(table: pa.Table) -> float:
    kept = [table]
    while True:
        kept.append(bytearray(2**24))


ALWAYS = (raising_always, sleeping_always, allocating_always)
FUNCTIONS = (honest, raising, sleeping, allocating, *ALWAYS)


def written(rows: int, path: Path) -> Path:
    """Rows of units with ten each, values of one decimal that differ from block to block by chance alone."""
    made = (
        f"SELECT (i % {max(1, rows // 10)})::BIGINT AS unit, (hash(i) % 1000) / 10.0 AS value FROM range({rows}) r(i)"
    )
    duckdb.sql(f"COPY ({made}) TO '{path}' (FORMAT parquet)")
    return path


@contextmanager
def opened(kind: str, path: Path, home: Path) -> Iterator[Engine]:
    """An engine over the file, in a workspace of its own."""
    if kind == "duckdb":
        source: Any = source_of(path)
    else:
        from servers import start_spark  # noqa: PLC0415 - slow to import

        spark = start_spark(home, **{"spark.driver.memory": "4g"})
        source = source_of(spark.read.parquet(str(path)))
    limits = {"threads": 2} if kind == "duckdb" else {}
    engine = engine_of(source)({"t": RegisteredSource(source, secrets.randbits(63))}, Workspace(home), **limits)
    with closing(engine):
        yield engine


def passes(engine: Engine, prepared: PreparedBlocks, rounds: int) -> tuple[Timing, Timing]:
    """The engine's own pass over its capped rows, and the making of blocks, in turn."""
    steps = SumSteps(VALUE, Fraction(1, 10), 0, 1_000)
    own = engine.prepare(Pushdown(SCAN, None, Keys(), Caps(), (CountRows(), steps, CountUnits())))
    engine.run(own)
    bare, ours = Timing(), Timing()
    for _ in range(rounds):
        bare.keep(once(lambda: engine.run(own)))
        ours.keep(once(lambda: sum(1 for _ in engine.blocks(prepared))))
    return bare, ours


def released(
    engine: Engine, prepared: PreparedBlocks, function: Any, limits: Limits, blocks: int
) -> tuple[list[Fraction], float]:
    """The answers, and how many seconds after its deadline they were there."""
    with Sandbox(function, limits=limits) as box:
        began = time.monotonic()
        answers = box.outputs(engine.blocks(prepared), default=DEFAULT)
        return answers, time.monotonic() - began - float(limits.deadline(blocks))


def free(engine: Engine, prepared: PreparedBlocks, given: argparse.Namespace) -> None:
    """What a block costs in the sandbox where nobody waits for a timetable."""
    limits = Limits(seconds=60, memory=given.memory * 2**20, constant_time=False)
    tables = list(engine.blocks(prepared))
    with Sandbox(honest, limits=limits) as box:
        timing = once(lambda: box.outputs(tables, default=DEFAULT))
    each = 1_000 / given.blocks
    print(f"  sandbox without a timetable: {timing.wall * each:.1f} ms and {timing.cpu * each:.1f} ms of CPU a block")


def report(engine: Engine, kind: str, given: argparse.Namespace) -> None:
    """Everything about one engine."""
    question = Pushdown(SCAN, None, Keys(), Caps(), (CountRows(),))
    prepared = engine.prepare_blocks(question, {"value": VALUE}, given.blocks)
    bare, ours = passes(engine, prepared, given.rounds)
    print(f"{kind}: own pass {bare.wall:.2f} s ({bare.cpu:.2f} s of CPU), blocks {ours.wall:.2f} s ({ours.cpu:.2f} s)")
    print(f"  ratio of wall time {ours.wall / bare.wall:.1f}, of CPU {ours.cpu / bare.cpu:.1f}", flush=True)
    free(engine, prepared, given)
    limits = Limits(seconds=given.seconds, rest=given.rest, memory=given.memory * 2**20, reading=4 * ours.wall + 2)
    blocks = [table for _, table in engine.blocks(prepared)]
    expected = [Fraction(honest(table)) for table in blocks]
    troubled = sum(map(_trouble, blocks))
    mean = ClippedMean(bounds=BOUNDS, blocks=given.blocks, epsilon=1)
    median = PrivateMedian(bounds=BOUNDS, blocks=given.blocks, epsilon=1, grid=0.01)
    true = float(sum(expected) / given.blocks)
    print(f"  mean of honest answers {true:.2f}, noise within {float(mean.margin()):.2f}; deadline", end=" ")
    print(f"{float(limits.deadline(given.blocks)):.1f} s; {troubled} blocks in trouble")
    print(f"  {'':<20}{'honest':>8}{'of':>8}{'late by':>10}{'mean':>9}{'median':>9}")
    for function in FUNCTIONS:
        answers, late = released(engine, prepared, function, limits, given.blocks)
        same = sum(a == b for a, b in zip(answers, expected, strict=True))
        due = 0 if function in ALWAYS else given.blocks - (0 if function is honest else troubled)
        numbers = f"{float(mean.release(answers)):>9.2f}{float(median.release(answers)):>9.2f}"
        print(f"  {function.__name__:<20}{same:>8}{due:>8}{late * 1000:>7.0f} ms{numbers}", flush=True)


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--rows", type=int, default=10_000_000)
    options.add_argument("--blocks", type=int, default=1_000)
    options.add_argument("--seconds", type=float, default=0.2)
    options.add_argument("--rest", type=float, default=0.05)
    options.add_argument("--memory", type=int, default=256)
    options.add_argument("--rounds", type=int, default=3)
    options.add_argument("--engines", nargs="+", default=["duckdb", "spark"])
    given = options.parse_args()
    os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    with tempfile.TemporaryDirectory() as directory:
        home = Path(directory)
        path = written(given.rows, home / "rows.parquet")
        print(f"{given.rows:,} rows, {given.blocks:,} blocks, {given.seconds} s and {given.memory} MB for each, "
              f"{Limits().workers} workers")  # fmt: skip
        for kind in given.engines:
            with opened(kind, path, home) as engine:
                report(engine, kind, given)


if __name__ == "__main__":
    main()
