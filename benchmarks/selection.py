"""What private selection and the sparse vector technique cost beside the engine's own query, on DuckDB.

    scripts/bench selection [--candidates 1000000] [--rows 5000000] [--rounds 3] [--asks 100000]

Selection: one of so many candidates by their counts, whole (`table.choose`), against what the engine takes for the
same pushed-down query on the same prepared table; the bar is 2 s beyond it. The parts are timed apart as well.
Sparse vector: so many questions by groups in one ask, and one by one, against ten of them; what the ledger holds
afterwards must be the same epsilon.
"""

import argparse
import tempfile
import time
from collections.abc import Callable
from fractions import Fraction
from functools import partial
from pathlib import Path

import duckdb
import numpy as np
import pyarrow as pa
from measuring import Timing, interleaved

import discreet as dp
from discreet.plan import logical
from discreet.plan.fingerprint import Context, canonical, fingerprint
from discreet.planner import format_0, identity
from discreet.planner.budget.price import Price
from discreet.planner.queries.selection import SelectionPlan, analyze_selection
from discreet.query.frame import Query
from discreet.session.selections import Selections

BUDGET = dp.Budget(epsilon=500, ceiling=500, reason="benchmark on generated rows")
CONTEXT = Context((("chosen", 1),), is_private=True)
BAR = 2.0


def generated(rows: int, candidates: int) -> pa.Table:
    """A row each of so many people, on items of which the first are the most frequent."""
    rng = np.random.default_rng(1)
    items = np.minimum(np.exp(rng.random(rows) * np.log(candidates)).astype(np.int64), candidates - 1)
    return pa.table({"unit": np.arange(rows), "item": items})


def opened(path: Path, home: Path, name: str) -> dp.Session:
    return dp.protect(
        path,
        name=name,
        privacy_unit="unit",
        max_rows=1,
        types={"unit": "integer", "item": "integer"},
        budget=BUDGET,
        ledger=home / f"{name}.sqlite",
        threads=2,
    )


def select(session: dp.Session, candidates: list[int] | list[str], top: int = 1) -> dp.Selection:
    question = dp.table("chosen").choose(candidates, score=dp.score(by="item"), top=top)
    return session.release(question, epsilon=0.1, fresh=True)


def selection_query(candidates: list[int]) -> logical.SelectionQuery:
    return dp.table("chosen").choose(candidates, score=dp.score(by="item")).plan


def planned(session: dp.Session, candidates: list[int]) -> SelectionPlan:
    return analyze_selection(selection_query(candidates), session.catalog, BUDGET, epsilon=0.1)


def named(session: dp.Session, candidates: list[int]) -> str:
    """The fingerprint that the question has, and the one that it had in the format before."""
    question = identity.selection(selection_query(candidates), session.catalog, BUDGET, Price(epsilon=0.1), 1)
    return fingerprint(question, CONTEXT) + format_0.fingerprint(planned(session, candidates), CONTEXT)


def parts(session: dp.Session, candidates: list[int]) -> dict[str, Callable[[], object]]:
    """The steps of a selection, each by itself; the engine's is what all is held against."""
    asked = planned(session, candidates)
    prepared = session._pipeline.prepare(asked)  # noqa: SLF001
    engine = session._pipeline.engine("chosen")  # noqa: SLF001
    exact = engine.run(prepared)
    stored = select(session, candidates).receipt
    payload = {"places": [5], "receipt": {"hash": stored["hash"]}, "private": True, "library": "0"}
    return {
        "engine's own query": lambda: engine.run(prepared),
        "list the candidates": lambda: selection_query(candidates),
        "analyse": lambda: planned(session, candidates),
        "prepare": lambda: session._pipeline.prepare(asked),  # noqa: SLF001
        "name the question": lambda: named(session, candidates),
        "describe it for the ledger": lambda: canonical(asked.pushdown),
        "score": lambda: asked.scores(exact),
        "score and draw": lambda: asked.randomize(exact),
        "read back": lambda: Selections().restore(payload, asked, asked.event, Fraction(19, 20), repeated=False),
    }


def measure_selection(home: Path, given: argparse.Namespace) -> None:
    path = home / "rows.parquet"
    dp.datasets.write_parquet(generated(given.rows, given.candidates).to_batches(), path)
    candidates = list(range(given.candidates))
    bare = duckdb.connect(config={"threads": 2})
    bare.execute(f"CREATE TABLE t AS SELECT * FROM read_parquet('{path}')")
    with opened(path, home, "chosen") as session:
        start = time.perf_counter()
        select(session, candidates)
        first = time.perf_counter() - start
        calls = {
            "select, whole": partial(select, session, candidates),
            "select, the top 10": partial(select, session, candidates, top=10),
            "bare: GROUP BY, fetched": lambda: bare.execute("SELECT item, count(*) FROM t GROUP BY item").fetchall(),
            **parts(session, candidates),
        }
        timings = interleaved(calls, given.rounds)
    print(
        f"{given.candidates:,} candidates, {given.rows:,} rows; the first selection prepares the table: {first:.2f} s"
    )
    for name, timing in timings.items():
        print(f"  {name:<28}{timing.wall:>8.3f} s wall{timing.cpu:>8.3f} s CPU")
    for whole in ("select, whole", "select, the top 10"):
        verdict(whole, timings[whole], timings["engine's own query"])


def verdict(name: str, whole: Timing, engine: Timing) -> None:
    """Judged by CPU, which other work on a shared machine moves less than wall time."""
    wall, cpu = whole.wall - engine.wall, whole.cpu - engine.cpu
    told = "within" if cpu <= BAR else "OVER"
    print(f"{name}: {cpu:.2f} s of CPU beyond the engine's own query ({wall:.2f} s of wall time), {told} {BAR} s")


def measure_sides(home: Path, given: argparse.Namespace) -> None:
    """The most candidates that a one-sided score takes."""
    prices = list(range(10_000))
    with opened(home / "rows.parquet", home, "sides") as session:
        score = dp.score(by="item", side="or above", times=prices)
        ask = partial(session.release, dp.table("sides").choose(prices, score=score), epsilon=0.1, fresh=True)
        ask()
        timings = interleaved({"10,000 prices, one side": ask}, given.rounds)
    for name, timing in timings.items():
        print(f"  {name:<28}{timing.wall:>8.3f} s wall{timing.cpu:>8.3f} s CPU")


def timed(session: dp.Session, name: str, questions: list[Query]) -> tuple[str, float, int]:
    """What a sparse vector cost in the ledger, and the seconds that its questions took, the first left out."""
    before = session.remaining(name).epsilon
    with session.above_threshold(name, threshold=10**9, epsilon=0.1, monotone=True) as vector:
        vector.ask(questions[0])
        start = time.perf_counter()
        for question in questions[1:]:
            vector.ask(question)
        taken = time.perf_counter() - start
        asked = vector.asked
    return f"{float(before - session.remaining(name).epsilon):g}", taken, asked


def measure_sparse_vector(home: Path, given: argparse.Namespace) -> None:
    dp.datasets.write_parquet(generated(100_000, given.asks).to_batches(), home / "asked.parquet")
    with opened(home / "asked.parquet", home, "asked") as session:
        rows = dp.table("asked")
        for count in (10, given.asks):
            grouped = rows.group_by("item", keys={"item": range(count)}).agg(n=dp.count())
            epsilon, taken, asked = timed(session, "asked", [grouped, grouped])
            print(
                f"sparse vector by groups, {asked:,} questions: epsilon {epsilon}, "
                f"{taken:.2f} s for {count:,} keys in one ask"
            )
        for count in (10, given.asks):
            single = [rows.where(rows.item == number % 1_000).agg(n=dp.count()) for number in range(count)]
            epsilon, taken, asked = timed(session, "asked", single)
            each = 1_000 * taken / (count - 1)
            print(f"sparse vector one by one, {asked:,} questions: epsilon {epsilon}, {each:.2f} ms each")


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--candidates", type=int, default=1_000_000)
    options.add_argument("--rows", type=int, default=5_000_000)
    options.add_argument("--rounds", type=int, default=3)
    options.add_argument("--asks", type=int, default=100_000)
    given = options.parse_args()
    with tempfile.TemporaryDirectory() as directory:
        home = Path(directory)
        measure_selection(home, given)
        measure_sides(home, given)
        measure_sparse_vector(home, given)


if __name__ == "__main__":
    main()
