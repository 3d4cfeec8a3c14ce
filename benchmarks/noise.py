"""What exact noise costs: a million draws, and a release of counts for a million public keys over four million rows.

    scripts/bench noise [--draws 1000000] [--keys 1000000] [--rows 4000000] [--rounds 3] [--peer]

CPU of this process, the least of some rounds, beside numpy's float noise, which is not private, and the bare GROUP BY
of DuckDB. `--peer` adds OpenDP's samplers. Prints tables in Markdown, and what a release of few keys takes outside the
engine and the ledger.
"""

import argparse
import statistics
import time
from collections.abc import Callable, Iterator

import duckdb
import numpy as np
import pyarrow as pa
from measuring import Timing, interleaved

import discreet as dp
from discreet.samplers.discrete import discrete_gaussian, discrete_laplace

SCALES = (1.0, 100.0, 1e6)
FEW_KEYS = 100


def samplers(draws: int, *, peer: bool) -> Iterator[tuple[str, float, dict[str, Callable[[], object]]]]:
    """Ways to draw noise of the same scale."""
    unsafe = np.random.default_rng()
    for scale in SCALES:
        theirs = _peers(draws, scale) if peer else {}
        laplace = {"discreet": lambda s=scale: discrete_laplace(s, draws)}
        gaussian = {"discreet": lambda s=scale: discrete_gaussian(s, draws)}
        floats = {"numpy, floats": lambda s=scale: unsafe.laplace(0, s, draws)}
        yield "Laplace", scale, laplace | floats | theirs.get("laplace", {})
        yield (
            "Gaussian",
            scale,
            gaussian | {"numpy, floats": lambda s=scale: unsafe.normal(0, s, draws)} | theirs.get("gaussian", {}),
        )


def _peers(draws: int, scale: float) -> dict[str, dict[str, Callable[[], object]]]:
    import opendp.prelude as peer  # noqa: PLC0415 - a development dependency

    peer.enable_features("contrib")
    integers = peer.vector_domain(peer.atom_domain(T="i64"))
    laplace = peer.m.make_laplace(integers, peer.l1_distance(T="i64"), scale)
    gaussian = peer.m.make_gaussian(integers, peer.l2_distance(T=float), scale)
    zeros = [0] * draws
    return {"laplace": {"OpenDP": lambda: laplace(zeros)}, "gaussian": {"OpenDP": lambda: gaussian(zeros)}}


def table_of(rows: int, keys: int) -> pa.Table:
    """Rows of as many units, with a key each."""
    return pa.table({"person": np.arange(rows), "key": np.arange(rows) % keys})


def releases(rows: int, keys: int) -> tuple[dict[str, Callable[[], object]], dp.Session]:
    """A fresh release of counts for public keys, and the bare GROUP BY on the same engine and threads."""
    table = table_of(rows, keys)
    session = dp.protect(
        table,
        name="visits",
        privacy_unit=dp.ROW,
        budget=dp.Budget(epsilon=10),
        types={"key": "integer"},
        ledger=":memory:",
        threads=1,
    )
    query = dp.table("visits").group_by("key", keys={"key": range(keys)}).agg(n=dp.count())
    bare = duckdb.connect(config={"threads": 1})
    bare.register("visits", table)
    bare.execute("CREATE TABLE stored AS SELECT * FROM visits")
    statement = "SELECT key, count(*) FROM stored GROUP BY key"
    return {
        "discreet": lambda: session.release(query, epsilon=0.001, fresh=True),
        "bare GROUP BY": lambda: bare.sql(statement).to_arrow_table(),
    }, session


def cpu_outside(call: Callable[[], object], session: dp.Session, rounds: int = 50) -> float:
    """The median CPU of a call without what its engine and its ledger take, in seconds."""
    pipeline, inside = session._pipeline, [0.0]  # noqa: SLF001 - to time its parts

    def timed(method: Callable[..., object]) -> Callable[..., object]:
        def run(*given: object, **words: object) -> object:
            start = time.process_time()
            try:
                return method(*given, **words)
            finally:
                inside[0] += time.process_time() - start

        return run

    for owner, names in (
        (pipeline.engines["visits"], ("prepare", "run")),
        (pipeline.ledger, ("budget", "charge_together", "answer")),
    ):
        for name in names:
            setattr(owner, name, timed(getattr(owner, name)))
    taken = []
    for _ in range(rounds):
        inside[0], start = 0.0, time.process_time()
        call()
        taken.append(time.process_time() - start - inside[0])
    return statistics.median(taken)


def shown(timings: dict[str, Timing]) -> str:
    """Seconds of CPU of each way."""
    return ", ".join(f"{name} {timing.cpu:.3f}" for name, timing in timings.items())


def main() -> None:
    """Print both tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--draws", type=int, default=1_000_000)
    parser.add_argument("--keys", type=int, default=1_000_000)
    parser.add_argument("--rows", type=int, default=4_000_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--peer", action="store_true")
    given = parser.parse_args()
    print(f"\n| noise | scale | seconds of CPU for {given.draws:,} draws |\n|---|---|---|")
    for law, scale, ways in samplers(given.draws, peer=given.peer):
        timings = interleaved(ways, given.rounds)
        print(f"| {law} | {scale:g} | {shown(timings)} |")
    print("\n| keys | rows | seconds of CPU |\n|---|---|---|")
    for keys in (FEW_KEYS, given.keys):
        calls, session = releases(given.rows, keys)
        with session:
            timings = interleaved(calls, given.rounds)
            more = (
                f", outside engine and ledger {cpu_outside(calls['discreet'], session):.4f}" if keys == FEW_KEYS else ""
            )
        print(f"| {keys:,} | {given.rows:,} | {shown(timings)}{more} |")


if __name__ == "__main__":
    main()
