"""Counting reports from devices: beside a bare GROUP BY, duplicates apart, decoding, merging, and replays.

    scripts/bench local_collector count [--reports 100000000] [--shards 8] [--rounds 5]  DuckDB beside GROUP BY
    scripts/bench local_collector duplicates [--reports 100000000] [--shards 8]  removing duplicates, apart
    scripts/bench local_collector spark [--reports 10000000] [--rounds 3]  Spark beside GROUP BY there
    scripts/bench local_collector decode [--size 100000] [--rounds 3]  estimates of a large domain
    scripts/bench local_collector merge [--partials 1000] [--rounds 20]  partial counts in random orders
    scripts/bench local_collector replay [--reports 1000000]  replayed and duplicated reports

Each prints a table in Markdown and removes its files. Reports are invented by DuckDB from the number of the row: their
symbols are uniform, which costs a count as much as any others. `duplicates` writes a raw file in which one report in a
hundred is there twice, and then counts the files without duplicates as `count` does.
"""

import argparse
import secrets
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
from measuring import Timing, once

import discreet as dp
from discreet.local.collector.accumulator import Accumulator, PartialKey

TESTS = Path(__file__).resolve().parent.parent / "tests"
BATCH = 3
MEMORY_LIMIT = "6GB"
BARE = "SELECT cohort, payload, count(*) AS reports FROM read_parquet({paths}) GROUP BY ALL"
BY_TASK = BARE.replace("cohort", "task, batch, cohort")


def task_of(size: int = 1_000) -> Any:
    """The task that `Task.choose` makes for reports of at most 40 bytes."""
    return dp.local.Task.choose(domain=size, epsilon=1, n=100_000_000)


def write_reports(task: Any, reports: int, path: Path, *, first: int = 0, modulus: int | None = None) -> None:
    """Invented reports in Parquet; with a modulus, ids of later rows come again."""
    name = "i" if modulus is None else f"(i % {modulus})"
    select = f"""
        SELECT from_hex('{task.id.hex()}') AS task, 0::INTEGER AS cohort, {BATCH}::BIGINT AS batch,
          from_hex(md5({name}::VARCHAR)) AS report_id, (hash({name}) % {task.oracle.symbols})::BIGINT AS payload
        FROM range({first}, {first + reports}) AS t(i)"""
    with duckdb.connect() as connection:
        connection.execute("SET preserve_insertion_order = false")
        connection.execute(f"COPY ({select}) TO '{path}' (FORMAT parquet)")


def bare_sql(paths: Sequence[Path], statement: str = BARE) -> pa.Table:
    """The plain statement, fetched to Arrow."""
    with duckdb.connect() as connection:
        connection.execute("SET preserve_insertion_order = false")
        return connection.sql(statement.format(paths=[str(path) for path in paths])).to_arrow_table()


def count_shards(task: Any, paths: Sequence[Path]) -> Accumulator:
    """One partial count of all files, which have no duplicates."""
    return dp.local.collector.count_parquet(task, paths, batch=BATCH, has_duplicates=False)


def check(condition: bool) -> None:
    """A figure of a wrong result is not printed."""
    if not condition:
        raise SystemExit("the result is wrong")


def spread(figures: Sequence[float]) -> str:
    """Median, least and largest."""
    return f"{statistics.median(figures):.2f} ({min(figures):.2f} to {max(figures):.2f})"


def print_table(header: Sequence[str], rows: Sequence[Sequence[object]]) -> None:
    """Rows as Markdown."""
    for row in (header, ["---"] * len(header), *rows):
        print("| " + " | ".join(str(cell) for cell in row) + " |")
    sys.stdout.flush()


def turns(calls: dict[str, Callable[[], object]], rounds: int) -> dict[str, list[Timing]]:
    """Every call once a round, in alternating order, so that a busy machine is busy for all of them."""
    timings: dict[str, list[Timing]] = {name: [] for name in calls}
    for number in range(rounds):
        for name in list(calls) if number % 2 else list(calls)[::-1]:
            timings[name].append(once(calls[name]))
    return timings


def print_ratio(timings: dict[str, list[Timing]], reports: int) -> None:
    """Ours beside the plain statement."""
    ours, sql = timings["ours"], timings["sql"]
    lines = []
    for kind in ("cpu", "wall"):
        pairs = [(getattr(a, kind), getattr(b, kind)) for a, b in zip(ours, sql, strict=True)]
        best, bare = min(a for a, _ in pairs), min(b for _, b in pairs)
        lines.append(
            [
                kind,
                f"{best:.2f}",
                f"{bare:.2f}",
                f"{best / bare:.2f}",
                spread([a / b for a, b in pairs]),
                f"{reports / best / 1e6:.0f}",
            ]
        )
    print_table(["time", "ours s", "GROUP BY s", "ratio of the best", "ratio by round", "million reports a s"], lines)


def count(given: argparse.Namespace) -> None:
    """Deduplicated files on DuckDB beside the plain statement."""
    task = task_of()
    with tempfile.TemporaryDirectory(dir=given.place) as directory:
        paths = [Path(directory) / f"{shard}.parquet" for shard in range(given.shards)]
        each = given.reports // given.shards
        for shard, path in enumerate(paths):
            write_reports(task, each, path, first=shard * each)
        total = count_shards(task, paths)
        check(total.reports == each * given.shards)
        print(f"\n{total.reports:,} reports in {given.shards} files, {task.oracle.symbols:,} symbols, DuckDB\n")
        calls = {"ours": partial(count_shards, task, paths), "sql": partial(bare_sql, paths)}
        calls["by task"] = partial(bare_sql, paths, BY_TASK)
        timings = turns(calls, given.rounds)
        print_ratio(timings, total.reports)
        print("\nbeside GROUP BY task, batch, cohort, payload\n")
        print_ratio(timings | {"sql": timings["by task"]}, total.reports)


def duplicates(given: argparse.Namespace) -> None:
    """Removing duplicates, which needs the ids; then the count of what is left."""
    task, rows = task_of(), given.reports + given.reports // 100
    with tempfile.TemporaryDirectory(dir=given.place) as directory:
        place = Path(directory)
        raw = place / "raw.parquet"
        write_reports(task, rows, raw, modulus=given.reports)
        settings = {"memory_limit": MEMORY_LIMIT, "temp_directory": str(place / "spill")}
        files: list[Path] = []
        facts = {"batch": BATCH, "shards": given.shards, "settings": settings}
        taken = once(lambda: files.extend(dp.local.collector.deduplicate_parquet(task, raw, place, **facts)))
        total: list[Accumulator] = []
        counted = once(lambda: total.append(count_shards(task, files)))
        check(total[0].reports == given.reports)
        print(f"\n{rows:,} rows of {given.reports:,} reports, {given.shards} shards, memory_limit {MEMORY_LIMIT}\n")
        header = ["step", "CPU s", "wall s", "million rows a CPU s", "peak memory MB"]
        lines = [
            [name, f"{t.cpu:.1f}", f"{t.wall:.1f}", f"{rows / t.cpu / 1e6:.1f}", f"{t.memory / 1e6:,.0f}"]
            for name, t in (("remove duplicates", taken), ("count", counted))
        ]
        print_table(header, lines)


def on_spark(given: argparse.Namespace) -> None:
    """Spark beside the same statement there, and with the search for duplicates."""
    sys.path.insert(0, str(TESTS))
    from servers import start_spark  # noqa: PLC0415 - only where Spark is measured

    task = task_of()
    with tempfile.TemporaryDirectory(dir=given.place) as directory:
        place = Path(directory)
        session = start_spark(place / "spark", **{"spark.driver.memory": "4g", "spark.sql.shuffle.partitions": "8"})
        try:
            path = place / "reports.parquet"
            write_reports(task, given.reports, path)
            facts = {"batch": BATCH, "has_duplicates": False}
            ours = partial(dp.local.collector.count_spark, session, task, path, **facts)
            bare = BARE.format(paths=f"'{path}'").replace("read_parquet('", "parquet.`").replace("')", "`")
            check(ours().reports == given.reports)
            print(f"\n{given.reports:,} reports in Parquet on Spark (local[2], 4 GB)\n")
            calls = {"ours": ours, "sql": lambda: session.sql(bare).toArrow()}
            print_ratio(turns(calls, given.rounds), given.reports)
            whole = once(lambda: dp.local.collector.count_spark(session, task, path, batch=BATCH))
            print(f"\nwith the search for duplicates: {whole.cpu:.1f} s of CPU, {whole.wall:.1f} s")
        finally:
            session.stop()


def decode(given: argparse.Namespace) -> None:
    """Estimates with intervals, for oracles whose reports are short."""
    generator, oracles, lines = np.random.default_rng(), dp.local.oracles, []
    kinds = (oracles.ProjectiveGeometryResponse, oracles.HadamardResponse, oracles.KaryResponse)
    for kind in kinds:
        task = dp.local.Task(dp.local.SlotDomain(size=given.size), "1", kind.calibrate(given.size, epsilon=1))
        symbols = task.oracle.symbols
        counts = generator.multinomial(10**8, np.full(symbols, 1 / symbols))[None, :]
        state = Accumulator.partial(task, counts, counts.sum(axis=1))
        timings = [once(lambda: dp.local.estimates.estimate(task, state)) for _ in range(given.rounds)]  # noqa: B023
        best = Timing()
        for timing in timings:
            best.keep(timing)
        lines.append(
            [task.oracle.kind, f"{symbols:,}", f"{timings[0].wall:.2f}", f"{best.wall:.2f}", f"{best.cpu:.2f}"]
        )
    print(f"\nEstimates of {given.size:,} values, with intervals\n")
    print_table(["oracle", "symbols", "first, wall s", "best, wall s", "best, CPU s"], lines)


def merge_orders(given: argparse.Namespace) -> None:
    """Partial counts in random orders and trees: one state."""
    task, shuffle, generator = task_of(), secrets.SystemRandom().shuffle, np.random.default_rng()
    symbols, parts = task.oracle.symbols, []
    for sequence in range(given.partials):
        counts = generator.multinomial(1_000, np.full(symbols, 1 / symbols))[None, :]
        parts.append(Accumulator.partial(task, counts, counts.sum(axis=1), key=PartialKey(0, 1, sequence)))
    states, seconds = set(), []
    for _ in range(given.rounds):
        shuffle(parts)
        start = time.process_time()
        states.add(dp.local.collector.merge(parts).to_bytes())
        seconds.append(time.process_time() - start)
        tree = list(parts)
        while len(tree) > 1:
            one, other = (tree.pop(secrets.randbelow(len(tree))) for _ in range(2))
            tree.append(one.merge(other))
        states.add(tree[0].to_bytes())
        states.add(dp.local.collector.merge([*parts, *parts[::3]]).to_bytes())
    print(f"\n{given.partials:,} partial counts of {symbols:,} symbols, merged {3 * given.rounds} times\n")
    print_table(["different states", "CPU s of a merge"], [[len(states), spread(seconds)]])
    check(len(states) == 1)


def replay(given: argparse.Namespace) -> None:
    """Files that are read twice, and rows that are there twice."""
    task = task_of()
    with tempfile.TemporaryDirectory(dir=given.place) as directory:
        once_path, again = Path(directory) / "once.parquet", Path(directory) / "again.parquet"
        write_reports(task, given.reports, once_path)
        write_reports(task, 2 * given.reports, again, modulus=given.reports)
        sources = {
            "each report once": [once_path],
            "the file twice": [once_path] * 2,
            "and rows twice": [once_path, again],
        }
        states = {name: dp.local.collector.count_parquet(task, paths, batch=BATCH) for name, paths in sources.items()}
    first = next(iter(states.values()))
    print(f"\n{given.reports:,} reports\n")
    print_table(["files", "reports", "same bytes"], [[n, f"{s.reports:,}", s == first] for n, s in states.items()])
    check(all(state == first for state in states.values()))


def main() -> None:
    """Run the measurement that is named."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    commands = parser.add_subparsers(required=True)
    options: dict[str, tuple[Callable[[argparse.Namespace], None], dict[str, int]]] = {
        "count": (count, {"reports": 100_000_000, "shards": 8, "rounds": 5}),
        "duplicates": (duplicates, {"reports": 100_000_000, "shards": 8}),
        "spark": (on_spark, {"reports": 10_000_000, "rounds": 3}),
        "decode": (decode, {"size": 100_000, "rounds": 3}),
        "merge": (merge_orders, {"partials": 1_000, "rounds": 20}),
        "replay": (replay, {"reports": 1_000_000}),
    }
    for name, (run, numbers) in options.items():
        command = commands.add_parser(name, help=run.__doc__)
        command.set_defaults(run=run)
        command.add_argument("--place", help="directory for files, which are removed")
        for option, default in numbers.items():
            command.add_argument(f"--{option}", type=int, default=default)
    given = parser.parse_args()
    given.run(given)


if __name__ == "__main__":
    main()
