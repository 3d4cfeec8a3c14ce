"""The measuring step of synthesis: counts of all one- and two-way marginals, beside bare GROUP BYs, in one run.

    scripts/bench synthesis_marginals [--engine duckdb|spark] [--rows 20000000] [--columns 16] [--max-rows 2]

Half of the columns are integers, in 32 bins, and half are texts of 12 values; rows are in Parquet, made by the engine.
"bare" is one GROUP BY on the file for each marginal, over the same slots. "codes by hand" writes the slots of all
columns into a table once, in plain SQL, and groups that. With --max-rows a person has two rows on average, and at most
that many count: both sides bound them once, those by hand with a window. Ours is the engine's part of a release: rows
bounded, slots, counts, and arrays of all cells. Cells are compared. Target: 1.3 times "bare".
"""

import argparse
import os
import sys
import tempfile
from collections.abc import Callable
from functools import partial
from itertools import combinations
from pathlib import Path
from typing import Any

import duckdb
from measuring import Timing, once

from discreet.catalog.catalog import ColumnType
from discreet.catalog.privacy_unit import Caps
from discreet.engines import RegisteredSource, Workspace, engine_of, source_of
from discreet.plan.physical import CountRows, Keys, MissingUnits, Pushdown, Read, Scan
from discreet.plan.slots import MarginalBatch, SlotColumn, SlotTerm

TEXTS = tuple(f"value {number}" for number in range(12))
BINS, MOST = 32, 1000
EDGES = tuple(MOST * place // BINS for place in range(BINS + 1))
THREADS = 2
Run = Callable[[str], Any]


def names(columns: int) -> list[str]:
    """Numbers, then texts."""
    return [f"n{i}" for i in range(columns // 2)] + [f"t{i}" for i in range(columns - columns // 2)]


def values_sql(columns: int, rows: int, random: str) -> str:
    """What a generated row holds."""
    cells = [f"CAST(floor({random} * {MOST}) AS BIGINT)"] * (columns // 2)
    cells += [f"concat('value ', CAST(floor({random} * 12) AS INTEGER))"] * (columns - columns // 2)
    listed = ", ".join(f"{cell} AS {name}" for name, cell in zip(names(columns), cells, strict=True))
    return f"SELECT {listed}, CAST(floor({random} * {rows // 2 + 1}) AS BIGINT) AS id"


def slot_sql(name: str, *, coded: bool, divide: str) -> str:
    """The slot of a cell by hand; a text is a slot of its own unless it becomes a code."""
    if name.startswith("n"):
        return f"CAST({name} * {BINS} {divide} {MOST} AS TINYINT)"
    if not coded:
        return name
    ways = " ".join(f"WHEN '{text}' THEN {slot}" for slot, text in enumerate(TEXTS))
    return f"CAST(CASE {name} {ways} END AS TINYINT)"


def batch(columns: int, max_rows: int | None) -> MarginalBatch:
    """All one- and two-way marginals."""
    numbers = {name: {"edges": EDGES} for name in names(columns) if name.startswith("n")}
    slots = [
        SlotColumn(name, ColumnType.INTEGER, **numbers[name])
        if name in numbers
        else SlotColumn(name, ColumnType.TEXT, values=TEXTS)
        for name in names(columns)
    ]
    terms = tuple(SlotTerm(slot, Read(slot.name, slot.type)) for slot in slots)
    unit = ("id",) if max_rows else ()
    reads = [term.term for term in terms] + [Read(name, ColumnType.INTEGER) for name in unit]
    scan = Scan("t", 1, tuple(sorted(reads, key=lambda read: read.column)), unit, MissingUnits.DROP, max_rows)
    return MarginalBatch(Pushdown(scan, None, Keys(), Caps(), (CountRows(),)), terms, marginals(columns))


def marginals(columns: int) -> tuple[tuple[str, ...], ...]:
    """All single columns and all pairs."""
    return tuple((name,) for name in names(columns)) + tuple(combinations(names(columns), 2))


def group_by(run: Run, table: str, cell: Callable[[str], str], columns: int) -> list[int]:
    """One GROUP BY for each marginal; the number of its cells."""
    found = []
    for marginal in marginals(columns):
        listed = ", ".join(map(cell, marginal))
        found.append(len(run(f"SELECT {listed}, count(*) FROM {table} GROUP BY {listed}")))
    return found


def bounded_sql(table: str, max_rows: int) -> str:
    """Rows of each person beyond a number dropped, in plain SQL."""
    rank = "row_number() OVER (PARTITION BY id ORDER BY hash(id, n0, t0))"
    return f"(SELECT * FROM (SELECT *, {rank} AS place FROM {table}) WHERE place <= {max_rows})"


def by_hand(run: Run, table: str, given: argparse.Namespace, *, coded: bool) -> list[int]:
    """Group the file, or a table of codes; bounded rows are stored once."""
    columns, slot = given.columns, partial(slot_sql, coded=coded, divide=given.divide)
    cell = (lambda name: name) if coded else slot
    if not (coded or given.max_rows):
        return group_by(run, table, cell, columns)
    listed = ", ".join(f"{slot(name)} AS {name}" if coded else name for name in names(columns))
    rows = bounded_sql(table, given.max_rows) if given.max_rows else table
    run(given.store.format(f"SELECT {listed} FROM {rows}"))
    found = group_by(run, "stored", cell, columns)
    run(given.drop)
    return found


def report(found: dict[str, Timing]) -> None:
    """CPU, wall time and memory of each way, and ratios."""
    print("| way | CPU s | ratio | wall s | ratio | MB |\n|---|---|---|---|---|---|")
    mine = found["ours"]
    for name, timing in found.items():
        memory = max(timing.memory, timing.engine_memory) / 2**20
        ratios = f"{mine.cpu / timing.cpu:.2f} | {timing.wall:.1f} | {mine.wall / timing.wall:.2f}"
        print(f"| {name} | {timing.cpu:.1f} | {ratios} | {memory:,.0f} |")


def compare(given: argparse.Namespace, engine: Any, run: Run, table: str) -> None:
    """Ours beside both ways by hand."""
    prepared = engine.prepare_marginals(batch(given.columns, given.max_rows))
    cells = {}
    calls = {
        "ours": lambda: engine.marginals(prepared),
        "bare": lambda: by_hand(run, table, given, coded=False),
        "codes by hand": lambda: by_hand(run, table, given, coded=True),
    }
    timings = {name: Timing() for name in calls}
    for _ in range(given.rounds):
        for name, call in calls.items():
            timings[name].keep(once(lambda name=name, call=call: cells.update({name: call()})))
            print(f"{name}: {timings[name].cpu:.1f} s of CPU", flush=True)
    mine = [int((count > 0).sum()) for count in cells["ours"].values()]
    if not given.max_rows and not mine == cells["codes by hand"] == cells["bare"]:
        raise SystemExit("cells differ")
    report(timings)
    engine.close()


def on_duckdb(given: argparse.Namespace, place: Path) -> None:
    """Rows of DuckDB, in Parquet."""
    path = place / "rows.parquet"
    connection = duckdb.connect(str(place / "hand.duckdb"), config={"threads": THREADS, "temp_directory": str(place)})
    rows = f"{values_sql(given.columns, given.rows, 'random()')} FROM range({given.rows})"
    connection.execute(f"COPY ({rows}) TO '{path}'")
    given.store, given.drop, given.divide = "CREATE TEMP TABLE stored AS {}", "DROP TABLE stored", "//"
    source = source_of(str(path))
    engine = engine_of(source)({"t": RegisteredSource(source, given.rows)}, Workspace(place), threads=THREADS)
    compare(given, engine, lambda sql: connection.execute(sql).fetchall(), f"read_parquet('{path}')")


def on_spark(given: argparse.Namespace, place: Path) -> None:
    """Rows of Spark, in Parquet."""
    sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))
    from servers import start_spark  # noqa: PLC0415 - of the tests

    spark = start_spark(place, **{"spark.driver.memory": given.memory})
    path = str(place / "rows.parquet")
    spark.sql(f"{values_sql(given.columns, given.rows, 'rand()')} FROM range({given.rows})").write.parquet(path)
    frame = spark.read.parquet(path)
    frame.createOrReplaceTempView("t")
    given.store, given.drop, given.divide = "CREATE TABLE stored USING parquet AS {}", "DROP TABLE stored", "div"
    source = source_of(frame)
    engine = engine_of(source)({"t": RegisteredSource(source, given.rows)}, Workspace(place))
    compare(given, engine, lambda sql: spark.sql(sql).collect(), "t")
    spark.stop()


def main() -> None:
    """Make rows, and compare."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--engine", choices=("duckdb", "spark"), default="duckdb")
    for name, number in {"rows": 20_000_000, "columns": 16, "rounds": 1}.items():
        parser.add_argument(f"--{name}", type=int, default=number)
    parser.add_argument("--max-rows", type=int)
    parser.add_argument("--memory", default="6g")
    given = parser.parse_args()
    os.environ["PYSPARK_PYTHON"] = sys.executable
    print(f"{given.rows:,} rows, {len(marginals(given.columns))} marginals of {given.columns} columns, {given.engine}")
    with tempfile.TemporaryDirectory() as place:
        {"duckdb": on_duckdb, "spark": on_spark}[given.engine](given, Path(place))


if __name__ == "__main__":
    main()
