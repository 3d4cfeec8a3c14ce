"""What privacy costs on each engine: ours beside the bare query and beside capped SQL written by hand, in one run.

    scripts/bench engines [--engines duckdb,spark,postgres] [--rows 20000000] [--units 2000000] [--keys 1000]
                          [--postgres-share 4] [--rounds 5] [--max-rows 10] [--plans] [--forms lag,lists,window]

The question: rows, sum and mean of a value within 0..500, and distinct units, by key. As the rows are stored (Parquet,
or PostgreSQL's heap) it is put bare, capped by hand in several forms, and to a new session of ours (cold: read, cap,
answer, add noise, charge). In the form in which ours keeps capped rows (DuckDB's compressed memory,
Spark's cached columns, a temporary table) it is put bare over all rows and to a session that has prepared itself.
PostgreSQL gets a share of the rows and units. CPU is that of all processes, see measuring.py; the least of the rounds.
The forms by hand keep what ours keeps: the smallest rows of each unit by a keyed 64-bit hash of the row itself, ties
broken by the row. Before anything is measured, each form is checked to keep as many rows as the cap allows.
"""

import argparse
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import duckdb
import pyarrow.parquet as pq
from measuring import Timing, once

import discreet as dp

sys.path.append(str(Path(__file__).resolve().parents[1] / "tests"))
from servers import PostgresServer, start_spark

SEED = 7_919_318_231
BOUNDS = (0, 500)
STEP_BITS = 16  # 0..50,000 steps of 0.01
BARE = "count(*), sum(value), avg(value)"
DISTINCT = f"{BARE}, count(DISTINCT unit)"
WITHIN = "CASE WHEN value > 500 THEN 500 WHEN value > 0 THEN value ELSE 0 END"
COLD_BARS, PREPARED_BAR = {"DuckDB": 1.3, "Spark": 1.5, "PostgreSQL": 1.2}, 1.15
Rows = Sequence[Sequence[Any]]


@dataclass(frozen=True)
class Packing:
    """A row in one 64-bit number: bits of its hash, then the code of its key, then the steps of its value."""

    keys: int

    @property
    def key_mask(self) -> int:
        """The codes of keys, all bits set."""
        return 2 ** (self.keys - 1).bit_length() - 1

    @property
    def hash_mask(self) -> int:
        """Where the hash stays, as a signed 64-bit number."""
        return -((self.key_mask + 1) << STEP_BITS)

    @property
    def code(self) -> str:
        """The code of the key of a packed row."""
        return f"((x >> {STEP_BITS}) & {self.key_mask})"

    @property
    def steps(self) -> str:
        """The steps of a packed row."""
        return f"(x & {2**STEP_BITS - 1})"


@dataclass(frozen=True)
class Engine:
    """One engine with the rows: how to run SQL on it, how it keeps rows, and how to open a session of ours on it."""

    name: str
    run: Callable[[str], Rows]
    stored: str
    keep: Callable[[], str]
    forms: dict[str, str]
    open: Callable[..., dp.Session]
    explain: str = "EXPLAIN "


def counted(rows: str, group: str, value: str) -> str:
    """The four aggregates of kept rows."""
    return (
        f"SELECT {group} AS grp, count(*) AS n, sum({value}) AS s, avg({value}) AS m, count(DISTINCT unit) AS u "
        f"FROM ({rows}) AS kept GROUP BY 1"
    )


def counted_by_unit(rows: str, group: str, value: str) -> str:
    """The same through one row for each unit and key."""
    each = f"SELECT unit, {group} AS grp, count(*) AS n, sum({value}) AS s FROM ({rows}) AS kept GROUP BY 1, 2"
    return f"SELECT grp, sum(n) AS n, sum(s) AS s, sum(s) / sum(n) AS m, count(*) AS u FROM ({each}) AS unit GROUP BY 1"


def numbered(rows: str, order: str, most: int) -> str:
    """At most so many rows of each unit, by a window."""
    rank = f"row_number() OVER (PARTITION BY unit ORDER BY {order}) AS rank"
    return f"SELECT * FROM (SELECT *, {rank} FROM ({rows}) AS narrow) AS ranked WHERE rank <= {most}"


def duckdb_forms(stored: str, given: argparse.Namespace) -> dict[str, str]:
    """A window over narrowed columns; packed rows by lag, or by the k smallest of all units or of the large ones.

    By lag, because DuckDB turns row_number with one ORDER BY column into an aggregate that takes twice as long.
    """
    packing = Packing(given.keys)
    steps = f"CAST(floor(({WITHIN}) * 100 + 0.5) AS INTEGER)"
    narrow = f"SELECT unit, TRY_CAST(key AS keyname) AS key, {steps} AS q FROM {stored} WHERE unit IS NOT NULL"
    code = f"(CAST(enum_code(key) AS UBIGINT) << {STEP_BITS}) | CAST(q AS UBIGINT)"
    mask = packing.hash_mask % 2**64
    packed = (
        f"SELECT unit, (hash(unit, xor(kq, {SEED}::UBIGINT)) & {mask}::UBIGINT) | kq AS x "
        f"FROM (SELECT unit, {code} AS kq FROM ({narrow})) WHERE kq IS NOT NULL"
    )
    lag = f"SELECT *, lag(true, {given.max_rows}, false) OVER (PARTITION BY unit ORDER BY x) AS over FROM ({packed})"
    smallest = f"SELECT unit, unnest(min(x, {given.max_rows})) AS x FROM"
    split = (
        f"WITH packed AS MATERIALIZED ({packed}), "
        f"many AS MATERIALIZED (SELECT unit FROM packed GROUP BY unit HAVING count(*) > {given.max_rows}) "
        f"SELECT unit, x FROM packed ANTI JOIN many USING (unit) "
        f"UNION ALL {smallest} packed SEMI JOIN many USING (unit) GROUP BY unit"
    )
    window = numbered(narrow, f"hash(unit, key, q, {SEED}::UBIGINT), key, q", given.max_rows)
    return {
        "window": counted(window, "key", "q"),
        "packed, lag": counted(f"SELECT * FROM ({lag}) WHERE NOT over", packing.code, packing.steps),
        "packed, k smallest": counted(f"{smallest} ({packed}) GROUP BY unit", packing.code, packing.steps),
        "packed, k smallest of large units": counted(split, packing.code, packing.steps),
    }


def spark_forms(stored: str, given: argparse.Namespace) -> dict[str, str]:
    """A window over narrowed columns; packed rows by a window, by the k smallest, or by lists."""
    packing = Packing(given.keys)
    steps = f"CAST(floor(({WITHIN}) * 100D + 0.5D) AS BIGINT)"
    narrow = f"SELECT unit, key, CAST({steps} AS INT) AS q FROM {stored} WHERE unit IS NOT NULL"
    coded = (
        f"SELECT /*+ BROADCAST(keys) */ unit, (code << {STEP_BITS}) | {steps} AS kq "
        f"FROM {stored} JOIN keys ON key = k WHERE unit IS NOT NULL"
    )
    packed = f"SELECT unit, (xxhash64({SEED}L, unit, kq) & {packing.hash_mask}L) | kq AS x FROM ({coded})"
    most = given.max_rows
    smallest = f"SELECT unit, explode(min_by(x, x, {most})) AS x FROM ({packed}) GROUP BY unit"
    sliced = f"CASE WHEN size(xs) > {most} THEN slice(sort_array(xs), 1, {most}) ELSE xs END"
    listed = (
        f"SELECT unit, explode({sliced}) AS x FROM (SELECT unit, collect_list(x) AS xs FROM ({packed}) GROUP BY unit)"
    )
    window = numbered(narrow, f"xxhash64({SEED}L, unit, key, q), key, q", most)
    return {
        "window": counted_by_unit(window, "key", "q"),
        "packed, window": counted_by_unit(numbered(packed, "x", most), packing.code, packing.steps),
        "packed, k smallest": counted_by_unit(smallest, packing.code, packing.steps),
        "packed, lists": counted_by_unit(listed, packing.code, packing.steps),
    }


def postgres_forms(stored: str, given: argparse.Namespace) -> dict[str, str]:
    """A window over the columns; packed rows by a window, with distinct units by a sort or by one row per unit."""
    packing = Packing(given.keys)
    steps = f"CAST(floor(({WITHIN}) * 100 + 0.5) AS integer)"
    narrow = f"SELECT unit, key, {steps} AS q FROM {stored} WHERE unit IS NOT NULL"
    coded = f"SELECT unit, (code << {STEP_BITS}) | {steps} AS kq FROM {stored} JOIN keys ON key = k"
    hashed = f"hashint8extended(kq, hashint8extended(unit, {SEED}))"
    packed = f"SELECT unit, ({hashed} & {packing.hash_mask}) | kq AS x FROM ({coded} WHERE unit IS NOT NULL) AS coded"
    order = f'hashtextextended(key, hashint4extended(q, hashint8extended(unit, {SEED}))), key COLLATE "C", q'
    window, packed_window = numbered(narrow, order, given.max_rows), numbered(packed, "x", given.max_rows)
    code = f"CAST({packing.code} AS integer)"
    return {
        "window": counted_by_unit(window, "key", "q"),
        "packed, window": counted(packed_window, code, packing.steps),
        "packed, window, by unit": counted_by_unit(packed_window, code, packing.steps),
    }


@contextmanager
def on_duckdb(path: Path, given: argparse.Namespace) -> Iterator[Engine]:
    """DuckDB in this process, on the Parquet file; kept rows are a compressed table in memory."""
    connection = duckdb.connect(config={"threads": 2})
    connection.execute("SET preserve_insertion_order = false")
    names = ", ".join(f"'{key}'" for key in dp.datasets.skewed_keys(given.keys))
    connection.execute(f"CREATE TYPE keyname AS ENUM ({names})")
    stored = f"read_parquet('{path}')"

    def keep() -> str:
        connection.execute("ATTACH ':memory:' AS same (COMPRESS)")
        connection.execute(f"CREATE TABLE same.t AS SELECT unit, key, value FROM {stored}")
        connection.execute("CHECKPOINT same")
        return "same.t"

    run = partial(fetched, connection)
    yield Engine("DuckDB", run, stored, keep, duckdb_forms(stored, given), partial(protected, path, given, threads=2))
    connection.close()


@contextmanager
def on_spark(path: Path, given: argparse.Namespace) -> Iterator[Engine]:
    """Spark on two cores, on the same Parquet file; kept rows are cached columns."""
    with tempfile.TemporaryDirectory() as directory:
        settings = {"spark.driver.memory": given.spark_memory, "spark.sql.session.timeZone": "UTC"}
        spark = start_spark(Path(directory), **settings)
        spark.read.parquet(str(path)).createOrReplaceTempView("t")
        keys = [(name, code) for code, name in enumerate(dp.datasets.skewed_keys(given.keys))]
        spark.createDataFrame(keys, "k STRING, code BIGINT").createOrReplaceTempView("keys")

        def keep() -> str:
            spark.sql("SELECT unit, key, value FROM t").persist().createOrReplaceTempView("kept")
            spark.sql("SELECT count(*) FROM kept").collect()
            return "kept"

        run = lambda sql: spark.sql(sql).collect()  # noqa: E731 - as short as it is
        frame = spark.table("t")
        yield Engine("Spark", run, "t", keep, spark_forms("t", given), partial(protected, frame, given))
        spark.stop()


@contextmanager
def on_postgres(path: Path, given: argparse.Namespace) -> Iterator[Engine]:
    """A PostgreSQL of our own; what the owner may set once for all (memory, no JIT) is set for all."""
    with PostgresServer(
        work_mem="256MB", shared_buffers="1GB", temp_buffers="256MB", jit="off", autovacuum="off"
    ) as server:
        import psycopg  # noqa: PLC0415 - an optional driver

        server.load("t", pq.read_table(path, columns=["unit", "key", "value"]))
        server.execute("CREATE TABLE keys (k text, code bigint)")
        keys = ", ".join(f"('{key}', {code})" for code, key in enumerate(dp.datasets.skewed_keys(given.keys)))
        server.execute(f"INSERT INTO keys VALUES {keys}; ANALYZE keys")
        connection = psycopg.connect(server.engine_url, autocommit=True)

        def keep() -> str:
            connection.execute("CREATE TEMPORARY TABLE kept AS SELECT unit, key, value FROM t")
            connection.execute("ANALYZE kept")
            return "kept"

        run = partial(fetched, connection)
        session = partial(protected, server.engine_url, given, table="t")
        yield Engine("PostgreSQL", run, "t", keep, postgres_forms("t", given), session, "EXPLAIN (ANALYZE) ")
        connection.close()


ENGINES = {"duckdb": on_duckdb, "spark": on_spark, "postgres": on_postgres}


def fetched(connection: Any, sql: str) -> Rows:
    """All rows of an answer."""
    return connection.execute(sql).fetchall()


def protected(source: object, given: argparse.Namespace, home: Path, number: int, **more: Any) -> dp.Session:
    """A session of ours with a ledger of its own."""
    return dp.protect(
        source,
        name=f"bench{number}",
        privacy_unit="unit",
        max_rows=given.max_rows,
        keys={"key": dp.datasets.skewed_keys(given.keys)},
        types={"unit": "integer", "key": "text", "value": "real"},
        budget=dp.Budget(epsilon=500, ceiling=500, reason="benchmark on generated rows"),
        ledger=home / f"ledger{number}.sqlite",
        **more,
    )


def ask(session: dp.Session, number: int, *, distinct: bool) -> dp.Release:
    """The question, with or without distinct units."""
    within: dict[str, Any] = {"bounds": BOUNDS, "grid": 0.01}
    measures = {"n": dp.count(), "total": dp.sum("value", **within), "average": dp.mean("value", **within)}
    query = (
        dp.table(f"bench{number}").group_by("key").agg(**measures, **({"units": dp.count_units()} if distinct else {}))
    )
    return session.release(query, epsilon=0.1, fresh=True)


class Report:
    """Timings by name, printed as they come to stand."""

    def __init__(self) -> None:
        self.timings: dict[str, Timing] = {}

    def measure(self, name: str, call: Callable[[], object]) -> None:
        """One more round of a call."""
        self.timings.setdefault(name, Timing()).keep(once(call))

    def print_rows(self) -> None:
        """A line for each call that has not been printed."""
        for name, timing in self.timings.items():
            memory, engine = timing.memory / 1e6, timing.engine_memory / 1e6
            print(f"{name:<46}{timing.cpu:>9.2f}{timing.wall:>9.2f}{memory:>9.0f}{engine:>9.0f}", flush=True)

    def print_ratio(self, name: str, ours: str, against: str, bar: float) -> None:
        """What a bar is set on."""
        ratio = self.timings[ours].cpu / self.timings[against].cpu
        print(f"{name:<73}{ratio:>6.2f}  {'within' if ratio <= bar else 'OVER'} {bar}", flush=True)


def check_forms(engine: Engine, given: argparse.Namespace) -> None:
    """Every form by hand keeps the same number of rows: no unit has more than the cap, and none loses rows below it."""
    sizes = f"SELECT count(*) AS c FROM {engine.stored} WHERE unit IS NOT NULL GROUP BY unit"
    ((expected,),) = engine.run(
        f"SELECT sum(CASE WHEN c > {given.max_rows} THEN {given.max_rows} ELSE c END) FROM ({sizes}) AS s"
    )
    for name, sql in engine.forms.items():
        kept = sum(int(row[1]) for row in engine.run(sql))
        if kept != int(expected):
            raise AssertionError(f"{engine.name}, {name}: {kept} rows kept, not {expected}")


def measured(engine: Engine, given: argparse.Namespace, home: Path) -> Report:
    """The rows as they are stored, then as ours keeps them; every call once a round."""
    report, number = Report(), 0
    for _ in range(given.rounds):
        report.measure("bare", lambda: engine.run(f"SELECT key, {BARE} FROM {engine.stored} GROUP BY key"))
        report.measure(
            "bare, distinct units", lambda: engine.run(f"SELECT key, {DISTINCT} FROM {engine.stored} GROUP BY key")
        )
        for name, sql in engine.forms.items():
            report.measure(f"by hand: {name}", partial(engine.run, sql))
        if given.ours:
            number += 1
            with engine.open(home, number) as session:
                report.measure("ours cold", partial(ask, session, number, distinct=True))
    kept = engine.keep()
    calls: dict[str, Callable[[], object]] = {
        "kept: bare": lambda: engine.run(f"SELECT key, {BARE} FROM {kept} GROUP BY key"),
        "kept: bare, distinct units": lambda: engine.run(f"SELECT key, {DISTINCT} FROM {kept} GROUP BY key"),
    }
    if not given.ours:
        for _ in range(given.rounds):
            for name, call in calls.items():
                report.measure(name, call)
        return report
    number += 1
    with engine.open(home, number) as session:
        calls["ours prepared"] = partial(ask, session, number, distinct=False)
        calls["ours prepared, distinct units"] = partial(ask, session, number, distinct=True)
        calls["ours prepared, distinct units"]()
        calls["ours prepared"]()
        for _ in range(given.rounds):
            for name, call in calls.items():
                report.measure(name, call)
    return report


def show(engine: Engine, given: argparse.Namespace, home: Path) -> None:
    """The table of one engine and its ratios."""
    check_forms(engine, given)
    size = f"{given.rows:,} rows, {given.units:,} units (skewed), {given.keys:,} keys, max_rows={given.max_rows}"
    print(f"\n{engine.name}: {size}")
    print(f"{'':<46}{'CPU s':>9}{'wall s':>9}{'MB here':>9}{'engine':>9}")
    report = measured(engine, given, home)
    report.print_rows()
    by_hand = min(
        (name for name in report.timings if name.startswith("by hand")), key=lambda name: report.timings[name].cpu
    )
    if given.ours:
        report.print_ratio(f"cold / {by_hand}", "ours cold", by_hand, COLD_BARS[engine.name])
        report.print_ratio("prepared / bare, as kept", "ours prepared", "kept: bare", PREPARED_BAR)
        report.print_ratio(
            "prepared / bare, as kept, distinct units",
            "ours prepared, distinct units",
            "kept: bare, distinct units",
            PREPARED_BAR,
        )
    if given.plans:
        for row in engine.run(engine.explain + engine.forms[by_hand.removeprefix("by hand: ")]):
            print(row[-1])


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--engines", default="duckdb,spark,postgres")
    options.add_argument("--rows", type=int, default=20_000_000)
    options.add_argument("--units", type=int, default=2_000_000)
    options.add_argument("--keys", type=int, default=1_000)
    options.add_argument("--postgres-share", type=int, default=4, help="PostgreSQL gets 1 row and unit of so many")
    options.add_argument("--rounds", type=int, default=5)
    options.add_argument("--max-rows", type=int, default=10)
    options.add_argument("--spark-memory", default="6g")
    options.add_argument("--forms", default="", help="only forms by hand whose name ends with one of these words")
    options.add_argument("--plans", action="store_true", help="print the plan of the best form by hand")
    options.add_argument("--without-ours", dest="ours", action="store_false", help="only the bare and the hand-written")
    given = options.parse_args()
    for name in given.engines.split(","):
        share = given.postgres_share if name == "postgres" else 1
        of_engine = argparse.Namespace(**vars(given) | {"rows": given.rows // share, "units": given.units // share})
        with tempfile.TemporaryDirectory() as directory:
            path = Path(directory) / "skewed.parquet"
            batches = dp.datasets.skewed_batches(of_engine.rows, of_engine.units, given.keys, seed=1)
            dp.datasets.write_parquet(batches, path)
            with ENGINES[name](path, of_engine) as engine:
                words = tuple(given.forms.split(","))
                forms = {form: sql for form, sql in engine.forms.items() if form.endswith(words)}
                show(replace(engine, forms=forms), of_engine, Path(directory))


if __name__ == "__main__":
    main()
