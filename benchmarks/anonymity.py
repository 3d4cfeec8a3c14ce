"""Cost of measuring anonymity: beside a bare GROUP BY, at scale on DuckDB and Spark, and beside pycanon and anjana.

    scripts/bench anonymity ratio [--rows 1000000] [--rounds 7]   all metrics but SUDA2 against SQL on DuckDB
    scripts/bench anonymity scale [--rows 100000000]              100M rows in Parquet, memory_limit 4GB, peak memory
    scripts/bench anonymity spark [--rows 20000000] [--shape 0]   20M rows on Spark, local[2], 6 GB
    scripts/bench anonymity peers [--rows 1000 5000 10000 20000]  pycanon 1.3 and anjana 1.2, each in its environment

Each prints a table in Markdown and removes its files. The rows are invented by DuckDB from the number of the row, so
that two runs measure the same table. Three tables: 48,000 combinations of four quasi-identifiers, about 750,000 of
1,000,000 rows, and the first with three rows a person, where people are counted with COUNT(DISTINCT).
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
import venv
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
from measuring import Timing, once
from pyarrow import csv

import discreet as dp

HERE = Path(__file__).resolve().parent
TESTS = HERE.parent / "tests"
QUASI = ("zip", "age", "sex", "education")
SENSITIVE = "disease"
MEMORY_LIMIT = "4GB"
PEERS = {"pycanon": "pycanon>=1.3,<1.4", "anjana": "anjana>=1.2,<1.3"}
GIVE_UP = 600


@dataclass(frozen=True)
class Shape:
    """A table: so many ZIP codes, and so many rows a person (0: no column of persons)."""

    name: str
    zips: int
    repeats: int = 0

    @property
    def person(self) -> str | None:
        """The column of persons."""
        return "person" if self.repeats else None

    @property
    def bare(self) -> str:
        """The GROUP BY that a person would write, over the same columns."""
        people = "count(DISTINCT person)" if self.repeats else "count(*)"
        return f"SELECT {', '.join(QUASI)}, {SENSITIVE}, {people} AS people FROM rows GROUP BY ALL"


SHAPES = (Shape("few classes", 100), Shape("many classes", 3_400), Shape("few classes, 3 rows a person", 100, 3))


def write_rows(shape: Shape, rows: int, path: Path) -> None:
    """Invented rows in Parquet: 60 ages, 2 sexes, 4 levels of education and 20 diseases beside the ZIP codes."""
    person = f", (i % {rows // shape.repeats})::BIGINT AS person" if shape.repeats else ""
    select = f"""
        SELECT lpad((hash(i * 8 + 1) % {shape.zips})::VARCHAR, 5, '0') AS zip,
          (20 + hash(i * 8 + 2) % 60)::INTEGER AS age,
          CASE hash(i * 8 + 3) % 2 WHEN 0 THEN 'female' ELSE 'male' END AS sex,
          'level ' || (hash(i * 8 + 4) % 4) AS education, 'disease ' || (hash(i * 8 + 5) % 20) AS disease{person}
        FROM range({rows}) AS t(i)"""
    with duckdb.connect() as connection:
        connection.execute(f"SET memory_limit = '{MEMORY_LIMIT}'")
        connection.execute(f"SET temp_directory = '{path.parent}/spill'")
        connection.execute("SET preserve_insertion_order = false")
        connection.execute(f"COPY ({select}) TO '{path}' (FORMAT parquet)")


def measure(source: object, shape: Shape, **options: Any) -> Any:
    """All metrics but SUDA2."""
    return dp.anonymity.measure(source, QUASI, sensitive=(SENSITIVE,), person=shape.person, **options)


def bare_sql(path: Path, shape: Shape, *, memory_limit: str | None = None) -> pa.Table:
    """The plain statement, fetched to Arrow."""
    with duckdb.connect() as connection:
        if memory_limit is not None:
            connection.execute(f"SET memory_limit = '{memory_limit}'")
            connection.execute(f"SET temp_directory = '{path.parent}/spill'")
        return connection.sql(shape.bare.replace("FROM rows", f"FROM '{path}'")).to_arrow_table()


def spread(figures: Sequence[float]) -> str:
    """Median, least and largest."""
    return f"{statistics.median(figures):.2f} ({min(figures):.2f} to {max(figures):.2f})"


def print_table(header: Sequence[str], rows: Sequence[Sequence[object]]) -> None:
    """Rows as Markdown."""
    print("| " + " | ".join(header) + " |")
    print("|" + "---|" * len(header))
    for row in rows:
        print("| " + " | ".join(str(cell) for cell in row) + " |")
    sys.stdout.flush()


def ratio(given: argparse.Namespace) -> None:
    """All metrics against the bare statement, in turns."""
    lines = []
    for shape in SHAPES:
        with tempfile.TemporaryDirectory(dir=given.place) as directory:
            path = Path(directory) / "rows.parquet"
            write_rows(shape, given.rows, path)
            result = measure(path, shape)
            bare_sql(path, shape)
            timings = turns(
                {"ours": partial(measure, path, shape), "sql": partial(bare_sql, path, shape)}, given.rounds
            )
        ours, sql = timings["ours"], timings["sql"]
        lines.append(
            [
                shape.name,
                f"{result.classes:,}",
                f"{result.people:,}",
                f"{statistics.median(each.cpu for each in ours):.2f}",
                f"{statistics.median(each.cpu for each in sql):.2f}",
                spread([a.cpu / b.cpu for a, b in zip(ours, sql, strict=True)]),
                f"{statistics.median(each.wall for each in ours):.2f}",
                f"{statistics.median(each.wall for each in sql):.2f}",
                spread([a.wall / b.wall for a, b in zip(ours, sql, strict=True)]),
            ]
        )
    print(f"\n{given.rows:,} rows, {len(QUASI)} quasi-identifiers and one sensitive column, {given.rounds} rounds\n")
    header = ["table", "classes", "people", "CPU s", "SQL, CPU s", "CPU ratio", "wall s", "SQL, wall s", "wall ratio"]
    print_table(header, lines)


def turns(calls: dict[str, Callable[[], object]], rounds: int) -> dict[str, list[Timing]]:
    """Every call once a round, so that a busy machine is busy for all of them."""
    timings: dict[str, list[Timing]] = {name: [] for name in calls}
    for number in range(rounds):
        for name in list(calls) if number % 2 else list(calls)[::-1]:
            timings[name].append(once(calls[name]))
    return timings


def scale(given: argparse.Namespace) -> None:
    """Many rows on DuckDB with a memory limit; each measurement in a process of its own."""
    lines = []
    for shape in SHAPES if given.shape is None else [SHAPES[given.shape]]:
        with tempfile.TemporaryDirectory(dir=given.place) as directory:
            path = Path(directory) / "rows.parquet"
            write_rows(shape, given.rows, path)
            size = path.stat().st_size / 1e9
            kinds = ("ours", "sql")
            lines += [[shape.name, what, f"{size:.1f}", *_in_child(what, shape, path)] for what in kinds]
    print(f"\n{given.rows:,} rows in Parquet on DuckDB, memory_limit {MEMORY_LIMIT}\n")
    print_table(["table", "what", "file GB", "classes", "k", "CPU s", "wall s", "peak memory MB"], lines)


def _in_child(what: str, shape: Shape, path: Path) -> list[object]:
    command = [sys.executable, __file__, "child", what, str(SHAPES.index(shape)), str(path)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        return [done.stderr.strip().splitlines()[-1][:100] if done.stderr else f"exit {done.returncode}", *[""] * 4]
    figures = json.loads(done.stdout.splitlines()[-1])
    return [figures[name] for name in ("classes", "k", "cpu", "wall", "memory")]


def child(given: argparse.Namespace) -> None:
    """One measurement; the figures as JSON."""
    shape, path, answers = SHAPES[given.shape], Path(given.path), []
    if given.what == "ours":
        timing = once(lambda: answers.append(measure(path, shape, memory_limit=MEMORY_LIMIT)))
        classes, k = f"{answers[0].classes:,}", answers[0].k
    else:
        timing = once(lambda: answers.append(bare_sql(path, shape, memory_limit=MEMORY_LIMIT)))
        classes, k = f"{answers[0].num_rows:,} with values", ""
    figures = {"classes": classes, "k": k, "cpu": f"{timing.cpu:.1f}", "wall": f"{timing.wall:.1f}"}
    print(json.dumps(figures | {"memory": f"{timing.memory / 1e6:,.0f}"}))


def on_spark(given: argparse.Namespace) -> None:
    """Many rows on a local Spark beside the same statement there."""
    sys.path.insert(0, str(TESTS))
    from servers import start_spark  # noqa: PLC0415 - only where Spark is measured

    print(f"\n{given.rows:,} rows in Parquet on Spark (local[2], 6 GB)\n")
    header = ["table", "what", "classes", "k", "CPU s", "wall s", "peak of Python MB", "peak of the JVM MB"]
    with tempfile.TemporaryDirectory(dir=given.place) as directory:
        place = Path(directory)
        session = start_spark(place / "spark", **{"spark.driver.memory": "6g"})
        try:
            for shape in SHAPES if given.shape is None else [SHAPES[given.shape]]:
                path = place / "rows.parquet"
                write_rows(shape, given.rows, path)
                print_table(header, _spark_lines(session, shape, path))
                path.unlink()
        finally:
            session.stop()


def _spark_lines(session: Any, shape: Shape, path: Path) -> list[list[object]]:
    frame, answers = session.read.parquet(str(path)), []
    frame.createOrReplaceTempView("rows")
    lines: list[list[object]] = []
    for what in ("ours", "sql"):
        if what == "ours":
            timing = once(lambda: answers.append(measure(frame, shape)))
            figures = [f"{answers[0].classes:,}", answers[0].k]
        else:
            timing = once(lambda: session.sql(shape.bare).write.format("noop").mode("overwrite").save())
            figures = ["", ""]
        seconds = [f"{timing.cpu:.1f}", f"{timing.wall:.1f}"]
        lines.append(
            [shape.name, what, *figures, *seconds, f"{timing.memory / 1e6:,.0f}", f"{timing.engine_memory / 1e6:,.0f}"]
        )
    return lines


PEER_QUASI = ("zip_code", "sex", "education", "occupation")
SEARCH_QUASI = ("sex", "state", "education", "occupation")
PEER_SENSITIVE = "marital_status"
METRICS = ("k", "l", "entropy l", "t")


def peers(given: argparse.Namespace) -> None:
    """The same answers and their times, and the known faults."""
    pythons = {name: environment(name, Path(given.environments)) for name in PEERS}
    lines: list[list[object]] = []
    with tempfile.TemporaryDirectory(dir=given.place) as directory:
        for rows in given.rows:
            table = dp.datasets.people(rows, seed=18).select([*PEER_QUASI, "state", PEER_SENSITIVE])
            path = Path(directory) / f"{rows}.csv"
            csv.write_csv(table, path)
            lines += _metrics_lines(pythons["pycanon"], rows, path)
            lines += _search_lines(pythons["anjana"], rows, path)
    versions = ", ".join(version(name, python) for name, python in pythons.items())
    print(f"\n{versions}; {len(PEER_QUASI)} quasi-identifiers, seconds of CPU\n")
    print_table(["rows", "question", "peer", "peer s", "its answer", "discreet s", "answer of discreet"], lines)
    print("\nKnown faults, on tables of a few rows\n")
    print_table(["fault", "peer's answer", "answer of discreet"], _fault_lines(pythons["pycanon"]))


def environment(name: str, place: Path) -> Path:
    """The Python of a peer, installed once."""
    python = place / f"peer_{name}" / "bin" / "python"
    if not python.exists():
        venv.create(place / f"peer_{name}", with_pip=True)
    known = subprocess.run([python, "-c", f"import {name}"], capture_output=True, check=False)
    if known.returncode:
        subprocess.run([python, "-m", "pip", "install", "--quiet", PEERS[name]], check=True)
    return python


def version(name: str, python: Path) -> str:
    """The name of a peer and its version."""
    code = f"import importlib.metadata as m; print(m.version('{name}'))"
    return f"{name} {subprocess.run([python, '-c', code], capture_output=True, text=True, check=True).stdout.strip()}"


def ask(python: Path, **request: Any) -> tuple[str, Any]:
    """Seconds and answer of a peer."""
    command = [python, HERE / "peers" / "anonymity_answers.py", json.dumps(request)]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=GIVE_UP)
    except subprocess.TimeoutExpired:
        return f"over {GIVE_UP}", "none"
    figures = json.loads(done.stdout.splitlines()[-1])
    return f"{figures['seconds']:.2f}", figures["answer"]


def _metrics_lines(python: Path, rows: int, path: Path) -> list[list[object]]:
    dp.anonymity.measure(path, PEER_QUASI, sensitive=(PEER_SENSITIVE,))  # imports what it needs
    start = time.process_time()
    result = dp.anonymity.measure(path, PEER_QUASI, sensitive=(PEER_SENSITIVE,))
    seconds = f"{time.process_time() - start:.2f}"
    lines = []
    for what in METRICS:
        taken, answer = ask(
            python, peer="pycanon", what=what, file=str(path), quasi=list(PEER_QUASI), sensitive=PEER_SENSITIVE
        )
        lines.append([f"{rows:,}", what, "pycanon", taken, answer, f"{seconds} for all", ours(result, what)])
    return lines


def ours(result: Any, what: str) -> object:
    """The same figure of ours."""
    column = next(iter(result.diversity), None)
    figures: dict[str, Callable[[], object]] = {
        "k": lambda: result.k,
        "l": lambda: result.diversity[column].distinct,
        "entropy l": lambda: f"{result.diversity[column].entropy:.4f}",
        "t": lambda: f"{float(result.closeness[column]):.4f}",
        "average risk": lambda: f"{float(result.marketer):.4f}",
    }
    return figures[what]()


def _search_lines(python: Path, rows: int, path: Path) -> list[list[object]]:
    """k = 5 with at most 5% of the rows suppressed; each column as it is, or a star."""
    taken, answer = ask(python, peer="anjana", file=str(path), quasi=list(SEARCH_QUASI), k=5, suppression=5)
    line = [f"{rows:,}", "k = 5, at most 5% suppressed", "anjana", taken, answer]
    if isinstance(answer, dict):
        line[-1] = f"{answer['rows']:,} rows, levels {answer['levels']}"
    search(path)
    start = time.process_time()
    found = search(path)
    return [[*line, f"{time.process_time() - start:.2f}", found]]


def search(path: Path) -> str:
    """The least general table of ours, with the same two levels a column."""
    datasets = dp.datasets
    values = (datasets.SEXES, datasets.STATES, datasets.EDUCATIONS, datasets.OCCUPATIONS)
    hierarchies = {
        name: dp.anonymity.hierarchies.categories([(value, "*") for value in column])
        for name, column in zip(SEARCH_QUASI, values, strict=True)
    }
    found = dp.anonymity.search(path, hierarchies, k=5, suppression=Fraction(5, 100), loss="discernibility")
    return f"{found.people - found.suppressed:,} rows, levels {list(found.optimal.values())}"


def _fault_lines(python: Path) -> list[list[object]]:
    """Tables of a few rows with a known answer."""
    same = {"zip": ["1", "1", "2", "2"], "disease": ["a", "a", "b", "b"]}
    missing = {"zip": ["1", "1", None], "disease": ["a", "a", "b"]}
    sizes = {"zip": ["1"] * 99 + ["2"], "disease": ["a"] * 100}
    cases = [
        ("permuted index, l", "l", same, {"index": [0, 2, 1, 3]}),
        ("permuted index, t", "t", same, {"index": [0, 2, 1, 3]}),
        ("index from 10 on, l", "l", same, {"index": [10, 11, 12, 13]}),
        ("missing cell in the only quasi-identifier, k", "k", missing, {}),
        ("classes of 99 and 1, average risk", "average risk", sizes, {}),
    ]
    lines = []
    for name, what, columns, more in cases:
        _, answer = ask(python, peer="pycanon", what=what, columns=columns, quasi=["zip"], sensitive="disease", **more)
        result = dp.anonymity.measure(pa.table(columns), ("zip",), sensitive=("disease",))
        lines.append([name, answer, ours(result, what)])
    return lines


def main() -> None:
    """The subcommand."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--place", default=tempfile.gettempdir(), help="where files are written for the time of the run"
    )
    commands = parser.add_subparsers(required=True)
    one = commands.add_parser("ratio")
    one.add_argument("--rows", type=int, default=1_000_000)
    one.add_argument("--rounds", type=int, default=7)
    one.set_defaults(run=ratio)
    one = commands.add_parser("scale")
    one.add_argument("--rows", type=int, default=100_000_000)
    one.add_argument("--shape", type=int, choices=range(len(SHAPES)))
    one.set_defaults(run=scale)
    one = commands.add_parser("spark")
    one.add_argument("--rows", type=int, default=20_000_000)
    one.add_argument("--shape", type=int, choices=range(len(SHAPES)))
    one.set_defaults(run=on_spark)
    one = commands.add_parser("peers")
    one.add_argument("--rows", type=int, nargs="+", default=[1_000, 5_000, 10_000, 20_000])
    one.add_argument("--environments", default=tempfile.gettempdir())
    one.set_defaults(run=peers)
    one = commands.add_parser("child")
    one.add_argument("what", choices=["ours", "sql"])
    one.add_argument("shape", type=int)
    one.add_argument("path")
    one.set_defaults(run=child)
    given = parser.parse_args()
    os.chdir(given.place)
    given.run(given)


if __name__ == "__main__":
    main()
