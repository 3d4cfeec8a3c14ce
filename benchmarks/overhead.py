"""What privacy costs on DuckDB: ours beside the bare query, in one run, as ratios of CPU and of wall time.

    scripts/bench overhead [--rows 20000000] [--units 2000000] [--keys 1000] [--rounds 5] [--max-rows 10]

Cold is the first release of a session: read Parquet, cap, answer, add noise, charge. It is held against
the bare Parquet query with count(DISTINCT unit). Prepared is any later release on the same columns; it is held against
the bare query on the same storage form, a compressed in-memory DuckDB table of all rows.
"""

import argparse
import tempfile
from functools import partial
from pathlib import Path

import duckdb
from measuring import Timing, interleaved, once

import discreet as dp

BARE = {
    "count": "count(*)",
    "sum": "sum(value)",
    "mean": "avg(value)",
    "distinct units": "count(DISTINCT unit)",
    "all four": "count(*), sum(value), avg(value), count(DISTINCT unit)",
}
BOUNDS = (0, 500)


def aggregates(name: str) -> dict[str, object]:
    each = {
        "count": {"n": dp.count()},
        "sum": {"total": dp.sum("value", bounds=BOUNDS, grid=0.01)},
        "mean": {"average": dp.mean("value", bounds=BOUNDS, grid=0.01)},
        "distinct units": {"units": dp.count_units()},
    }
    return each[name] if name in each else {key: value for part in each.values() for key, value in part.items()}


def opened(path: Path, home: Path, keys: list[str], max_rows: int, number: int) -> dp.Session:
    return dp.protect(
        path,
        name=f"bench{number}",
        privacy_unit="unit",
        max_rows=max_rows,
        keys={"key": keys},
        types={"unit": "integer", "key": "text", "value": "real"},
        budget=dp.Budget(epsilon=500, ceiling=500, reason="benchmark on generated rows"),
        ledger=home / f"ledger{number}.sqlite",
        threads=2,
    )


def ask(session: dp.Session, number: int, name: str) -> dp.Release:
    query = dp.table(f"bench{number}").group_by("key").agg(**aggregates(name))
    return session.release(query, epsilon=0.1, fresh=True)


def bare_in_memory(path: Path) -> duckdb.DuckDBPyConnection:
    connection = duckdb.connect(config={"threads": 2})
    connection.execute("SET preserve_insertion_order = false")
    connection.execute("ATTACH ':memory:' AS same (COMPRESS)")
    connection.execute(f"CREATE TABLE same.t AS SELECT unit, key, value FROM read_parquet('{path}')")
    connection.execute("CHECKPOINT same")
    return connection


def row(name: str, timing: Timing, against: Timing, bar: float) -> str:
    cpu, wall = timing.cpu / against.cpu, timing.wall / against.wall
    verdict = "within" if cpu <= bar else "OVER"
    return (
        f"{name:<34}{timing.cpu:>8.2f}{against.cpu:>8.2f}{cpu:>8.2f}   {verdict} {bar:<6}"
        f"{timing.wall:>8.2f}{against.wall:>8.2f}{wall:>8.2f}"
    )


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--rows", type=int, default=20_000_000)
    options.add_argument("--units", type=int, default=2_000_000)
    options.add_argument("--keys", type=int, default=1_000)
    options.add_argument("--rounds", type=int, default=5)
    options.add_argument("--max-rows", type=int, default=10)
    given = options.parse_args()
    with tempfile.TemporaryDirectory() as directory:
        home = Path(directory)
        path = home / "skewed.parquet"
        dp.datasets.write_parquet(dp.datasets.skewed_batches(given.rows, given.units, given.keys, seed=1), path)
        measure(path, home, dp.datasets.skewed_keys(given.keys), given)


def measure(path: Path, home: Path, keys: list[str], given: argparse.Namespace) -> None:
    print(f"{given.rows:,} rows, {given.units:,} units (skewed), {given.keys:,} keys, max_rows={given.max_rows}")
    print(f"{'':<34}{'CPU':>8}{'bare':>8}{'ratio':>8}   {'bar':<13}{'wall':>8}{'bare':>8}{'ratio':>8}")
    parquet = duckdb.connect(config={"threads": 2})
    table = f"read_parquet('{path}')"
    distinct = f"SELECT key, count(*), sum(value), avg(value), count(DISTINCT unit) FROM {table} GROUP BY key"
    number = 0
    for name in BARE:
        cold, against = Timing(), Timing()
        for _ in range(max(2, given.rounds // 2)):
            number += 1
            with opened(path, home, keys, given.max_rows, number) as session:
                bare = once(lambda: parquet.execute(distinct).fetchall())
                ours = once(partial(ask, session, number, name))
            cold = Timing(min(cold.cpu, ours.cpu), min(cold.wall, ours.wall))
            against = Timing(min(against.cpu, bare.cpu), min(against.wall, bare.wall))
        print(row(f"cold: {name}", cold, against, 3.0), flush=True)
    same = bare_in_memory(path)
    number += 1
    with opened(path, home, keys, given.max_rows, number) as session:
        calls = {}
        for name, what in BARE.items():
            ask(session, number, name)
            sql = f"SELECT key, {what} FROM same.t GROUP BY key"
            calls[f"bare {name}"] = lambda sql=sql: same.execute(sql).fetchall()
            calls[f"ours {name}"] = partial(ask, session, number, name)
        timings = interleaved(calls, given.rounds)
    for name in BARE:
        print(row(f"prepared: {name}", timings[f"ours {name}"], timings[f"bare {name}"], 1.15))


if __name__ == "__main__":
    main()
