"""What joins cost: a hospital of four tables on each engine, ours beside the bare join query, in one run.

    scripts/bench joins [--engines duckdb,postgres,spark] [--patients 200000] [--rounds 5] [--max-rows 40]
                        [--pictures docs/pictures]

Patients, their visits, measurements of visits (a visit names the patient), and a
public table of wards: 25 rows for each patient, 5,000,000 in all. The question joins all four: measurements, patients
and the sum of a value, by sex of the patient and kind of the ward. Bare, the engine joins and aggregates the tables as
they are stored; ours does the same in a session that has prepared itself (joined, capped and kept), and cold, in a
session that has not. CPU is that of all processes, see measuring.py; the least of the rounds. Before that, a testing
session on each engine gives the exact integers of the same question, with portable sampling: all must be equal.
"""

import argparse
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from measuring import Timing, once

import discreet as dp
from discreet import plots

sys.path.append(str(Path(__file__).resolve().parents[1] / "tests"))
from servers import PostgresServer, start_spark

BAR = 1.3
SEXES, KINDS = ("f", "m"), ("acute", "long stay", "outpatient")
WARDS = 60
VISITS, MEASUREMENTS = 6, 18
BARE = """
    SELECT p.sex, w.kind, count(*), count(DISTINCT v.patient_id), sum(m.value)
    FROM {measurements} AS m JOIN {visits} AS v ON m.visit_id = v.visit_id
    JOIN {patients} AS p ON v.patient_id = p.patient_id JOIN {wards} AS w ON v.ward = w.ward
    GROUP BY p.sex, w.kind
"""
CATALOG = """
catalog: discreet.catalog/1
tables:
  patients:
    version: {version}
    privacy_unit: patient_id
    max_rows: 1
    budget: {{epsilon: 500, ceiling: 500, reason: benchmark on generated rows}}
    columns: {{patient_id: {{type: integer}}, sex: {{type: text, keys: [f, m]}}}}
  visits:
    version: {version}
    privacy_unit: patient_id
    max_rows: {max_rows}
    budget: {{epsilon: 500, ceiling: 500, reason: benchmark on generated rows}}
    columns: {{patient_id: {{type: integer}}, visit_id: {{type: integer}}, ward: {{type: integer}}}}
  measurements:
    version: {version}
    privacy_unit: {{through: visits, on: visit_id}}
    max_rows: {max_rows}
    sampling: {sampling}
    budget: {{epsilon: 500, ceiling: 500, reason: benchmark on generated rows}}
    columns: {{visit_id: {{type: integer}}, value: {{type: real, bounds: [0, 200], grid: 0.01}}}}
  wards:
    public: true
    columns: {{ward: {{type: integer}}, kind: {{type: text, keys: [acute, long stay, outpatient]}}}}
"""
M, V, P, W = map(dp.table, ("measurements", "visits", "patients", "wards"))
JOINED = M.join(V, on="visit_id").join(P, on="patient_id").join(W, on="ward")
QUERY = JOINED.group_by("sex", "kind").agg(n=dp.count(), patients=dp.count_units(), total=dp.sum("value"))

Rows = Sequence[Sequence[Any]]


def hospital(patients: int, seed: int) -> dict[str, pa.Table]:
    """Four tables: most patients come a few times, some very often; one visit in a hundred is not known."""
    random = np.random.default_rng(seed)
    visits, measurements = patients * VISITS, patients * MEASUREMENTS
    often = np.minimum((patients * random.random(visits) ** 1.5).astype(np.int64), patients - 1)
    return {
        "patients": pa.table(
            {"patient_id": np.arange(patients), "sex": np.array(SEXES)[random.integers(2, size=patients)]}
        ),
        "visits": pa.table(
            {"visit_id": np.arange(visits), "patient_id": often, "ward": random.integers(WARDS, size=visits)}
        ),
        "measurements": pa.table(
            {
                "visit_id": random.integers(visits * 100 // 99, size=measurements),
                "value": np.round(random.gamma(8.0, 12.0, measurements), 2),
            }
        ),
        "wards": pa.table({"ward": np.arange(WARDS), "kind": np.array(KINDS)[np.arange(WARDS) % len(KINDS)]}),
    }


@dataclass(frozen=True)
class Engine:
    """One engine with the tables: how to run SQL on it, what they are called there, and as sources of a session."""

    name: str
    run: Callable[[str], Rows]
    stored: dict[str, str]
    sources: dict[str, Any]


@contextmanager
def on_duckdb(paths: dict[str, Path]) -> Iterator[Engine]:
    """Parquet files."""
    connection = duckdb.connect()
    stored = {name: f"read_parquet('{path}')" for name, path in paths.items()}
    yield Engine("DuckDB", lambda sql: connection.execute(sql).fetchall(), stored, dict(paths))
    connection.close()


@contextmanager
def on_spark(paths: dict[str, Path]) -> Iterator[Engine]:
    """The same files, in a Spark of two cores."""
    with tempfile.TemporaryDirectory() as directory:
        spark = start_spark(Path(directory), **{"spark.driver.memory": "6g"})
        frames = {name: spark.read.parquet(str(path)) for name, path in paths.items()}
        for name, frame in frames.items():
            frame.createOrReplaceTempView(f"stored_{name}")
        stored = {name: f"stored_{name}" for name in paths}
        yield Engine("Spark", lambda sql: spark.sql(sql).collect(), stored, frames)
        spark.stop()


@contextmanager
def on_postgres(paths: dict[str, Path]) -> Iterator[Engine]:
    """Tables of a server of our own, analyzed and without indexes; bare and ours have the same memory."""
    import psycopg  # noqa: PLC0415 - an optional driver

    with PostgresServer(shared_buffers="1GB", work_mem="256MB") as server:
        for name, path in paths.items():
            server.load(name, pq.read_table(path))
        with psycopg.connect(server.engine_url, autocommit=True) as connection:
            connection.execute("SET work_mem = '256MB'")
            sources = {name: dp_source(server.engine_url, name) for name in paths}
            yield Engine("PostgreSQL", lambda sql: connection.execute(sql).fetchall(), {n: n for n in paths}, sources)


def dp_source(address: str, table: str) -> Any:
    """A table of a server, as a session takes it."""
    from discreet.engines import source_of  # noqa: PLC0415 - read beside the other sources

    return source_of(address, table=table)


ENGINES = {"duckdb": on_duckdb, "postgres": on_postgres, "spark": on_spark}


def catalog(max_rows: int, sampling: str, version: int = 1) -> dp.Catalog:
    """What an owner would write."""
    return dp.Catalog.parse(CATALOG.format(max_rows=max_rows, sampling=sampling, version=version))


def exact(engine: Engine, max_rows: int, ledger: dp.testing.ForgottenLedger, version: int) -> list[dict[str, Any]]:
    """The integers of the question; one ledger gives all engines one key, so that they keep the same rows."""
    portable = catalog(max_rows, "portable", version)
    with dp.testing.Session(portable, sources=engine.sources, ledger=ledger) as session:
        released = session.release(QUERY, epsilon=0.1).to_arrow()
    return released.select(["sex", "kind", "n", "patients", "total"]).to_pylist()


def measured(engine: Engine, given: argparse.Namespace, home: Path) -> dict[str, Timing]:
    """Bare, cold and prepared, every call once a round."""
    timings = {name: Timing() for name in ("bare", "ours cold", "ours prepared")}
    bare = BARE.format(**engine.stored)
    words = {"sources": engine.sources, "analyst": "benchmark"}
    with dp.Session(catalog(given.max_rows, "fast"), ledger=home / f"{engine.name}.sqlite", **words) as session:
        session.release(QUERY, epsilon=0.1)
        for i in range(given.rounds):
            timings["bare"].keep(once(lambda: engine.run(bare)))
            timings["ours prepared"].keep(once(lambda: session.release(QUERY, epsilon=0.1, fresh=True)))
            if i < given.cold_rounds:
                place = home / f"{engine.name}-{i}.sqlite"
                with dp.Session(catalog(given.max_rows, "fast"), ledger=place, **words) as cold:
                    timings["ours cold"].keep(once(lambda: cold.release(QUERY, epsilon=0.1)))
    return timings


def drawn(seconds: dict[str, dict[str, float]], title: str) -> Any:
    """A line of bars for each engine: CPU seconds bare, cold and prepared."""
    calls = list(next(iter(seconds.values())))
    with plots.canvas(8.0, 0.9 * len(seconds) + 1.9, title) as (figure, (axes,)):
        for place, call in enumerate(calls):
            heights = [line + 0.26 * (place - 1) for line in range(len(seconds))]
            found = [each[call] for each in seconds.values()]
            bars = axes.barh(heights, found, 0.24, color=plots.COLOURS[place], label=call)
            axes.bar_label(bars, [f"{value:.2f}" for value in found], padding=3)
        axes.set_yticks(range(len(seconds)), list(seconds))
        axes.set_ylim(len(seconds) - 0.4, -0.6)
        axes.tick_params(axis="y", length=0)
        axes.set_xlabel("seconds of CPU")
        figure.legend(loc="outside lower center", frameon=False, ncols=len(calls))
        told = (f"{name}: {', '.join(f'{c} {v:.2f}' for c, v in each.items())}" for name, each in seconds.items())
        figure.set_label(f"{title}. {'; '.join(told)}")
    return figure


def show(engine: Engine, given: argparse.Namespace, home: Path) -> dict[str, float]:
    """The table of one engine, and its ratio; CPU seconds by call."""
    print(f"\n{engine.name}: {25 * given.patients:,} rows, {given.patients:,} patients, max_rows={given.max_rows}")
    print(f"{'':<20}{'CPU s':>9}{'wall s':>9}")
    timings = measured(engine, given, home)
    for name, timing in timings.items():
        print(f"{name:<20}{timing.cpu:>9.2f}{timing.wall:>9.2f}", flush=True)
    for kind in ("cpu", "wall"):
        ratio = getattr(timings["ours prepared"], kind) / getattr(timings["bare"], kind)
        print(f"prepared / bare, {kind:<20}{ratio:>6.2f}  {'within' if ratio <= BAR else 'OVER'} {BAR}", flush=True)
    return {name: timing.cpu for name, timing in timings.items()}


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--engines", default="duckdb,postgres,spark")
    options.add_argument("--patients", type=int, default=200_000)
    options.add_argument("--rounds", type=int, default=5)
    options.add_argument("--cold-rounds", type=int, default=2)
    options.add_argument("--max-rows", type=int, default=40)
    options.add_argument("--pictures", default=None)
    given = options.parse_args()
    found: dict[str, list[dict[str, Any]]] = {}
    seconds: dict[str, dict[str, float]] = {}
    ledger = dp.testing.ForgottenLedger()
    with tempfile.TemporaryDirectory() as directory:
        paths = {}
        for name, table in hospital(given.patients, seed=1).items():
            paths[name] = Path(directory) / f"{name}.parquet"
            pq.write_table(table, paths[name])
        for name in given.engines.split(","):
            with ENGINES[name](paths) as engine:
                found[name] = exact(engine, given.max_rows, ledger, len(found) + 1)
                seconds[engine.name] = show(engine, given, Path(directory))
    same = all(each == next(iter(found.values())) for each in found.values())
    print(f"\nthe integers of {', '.join(found)} are {'equal' if same else 'DIFFERENT'}")
    if given.pictures:
        title = f"A join of four tables, {25 * given.patients:,} rows"
        drawn(seconds, title).savefig(Path(given.pictures) / "joins.svg", metadata={"Date": None})


if __name__ == "__main__":
    main()
