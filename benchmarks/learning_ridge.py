"""Ridge regression from sufficient statistics on DuckDB beside the same products summed as plain integers, in one run.

    scripts/bench learning_ridge [--rows 100000000] [--features 10] [--rounds 3] [--kinds integers reals]
        [--units row person] [--place folder]

Rows are in Parquet: whole numbers from -1,024 to 1,024, or reals from -1 to 1. Ours is a whole release, the charge and
the noise with it, and the regression made from it; each round has a session of its own, so nothing is prepared. The
bare statement sums the same products of the same columns as integers; of reals it rounds them to steps first, without
clamping and without a rule for missing values. With people, who have up to 10 rows each, it sums them by person first.
The peak of memory is that of this process over all rounds so far. Files that are in `--place` already are read again.
"""

import argparse
import resource
import tempfile
from functools import partial
from pathlib import Path

import duckdb
from measuring import interleaved

import discreet as dp

THREADS = 2


def write(path: Path, rows: int, names: list[str], kind: str) -> None:
    """Columns that are uniform; the last is a sum of the others and noise."""
    number = "CAST(floor(2049 * random()) - 1024 AS INTEGER)" if kind == "integers" else "2 * random() - 1"
    columns = ", ".join(f"{number} AS {name}" for name in names[:-1])
    target = f"({' + '.join(names[:-1])}) / {len(names) - 1}"
    target = f"CAST(round({target}) AS INTEGER)" if kind == "integers" else target
    people = f"CAST(floor({max(1, rows // 5)} * random()) AS BIGINT) AS person"
    connection = duckdb.connect(config={"threads": THREADS})
    inner = f"SELECT {people}, {columns} FROM range({rows})"
    connection.execute(f"COPY (SELECT *, {target} AS {names[-1]} FROM ({inner})) TO '{path}' (FORMAT parquet)")
    connection.close()


def bare(path: Path, names: list[str], kind: str, unit: str) -> list[tuple[int, ...]]:
    """The same sums as plain integers; with people, sums of the sums of each person."""
    steps = "{0}" if kind == "integers" else "CAST(floor({0} * 1024 + 0.5) AS INTEGER)"
    columns = ", ".join(f"{steps.format(name)} AS {name}" for name in names)
    products = [f"sum({one} * {other})" for i, one in enumerate(names) for other in names[i:]]
    measures = ", ".join(["count(*)", *(f"sum({name})" for name in names), *products])
    connection = duckdb.connect(config={"threads": THREADS})
    sums = f"SELECT {measures} FROM (SELECT person, {columns} FROM '{path}')"
    if unit == "person":
        by_person = f"SELECT person, {sums.removeprefix('SELECT ')} GROUP BY person"
        sums = f"SELECT sum(COLUMNS(* EXCLUDE person)) FROM ({by_person})"
    found = connection.execute(sums).fetchall()
    connection.close()
    return found


class Releases:
    """Sessions of their own for each release, opened before the clock starts."""

    def __init__(self, path: Path, home: Path, names: list[str], kind: str, unit: str) -> None:
        self._path, self._home, self._names, self._kind, self._unit = path, home, names, kind, unit
        self._number = 0

    def opened(self) -> dp.Session:
        """A session in which nothing is prepared."""
        self._number += 1
        types = dict.fromkeys(self._names, "integer" if self._kind == "integers" else "real") | {"person": "integer"}
        words = {} if self._unit == "row" else {"max_rows": 10}
        return dp.protect(
            self._path,
            name="rows",
            privacy_unit=dp.ROW if self._unit == "row" else "person",
            types=types,
            budget=dp.Budget(epsilon=10, delta=1e-12),
            ledger=self._home / f"{self._kind}{self._unit}{self._number}.sqlite",
            threads=THREADS,
            **words,
        )

    def regression(self, session: dp.Session) -> object:
        """The release, and the regression that is made from it."""
        reach = 1024 if self._kind == "integers" else 1
        query = dp.table("rows").moments(*self._names, bounds=dict.fromkeys(self._names, (-reach, reach)))
        with session:
            return dp.learning.Ridge.from_moments(session.release(query, epsilon=1), target=self._names[-1])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=100_000_000)
    parser.add_argument("--features", type=int, default=10)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--kinds", nargs="+", default=["integers", "reals"])
    parser.add_argument("--units", nargs="+", default=["row", "person"])
    parser.add_argument("--place", type=Path)
    given = parser.parse_args()
    names = [*(f"x{i}" for i in range(given.features)), "y"]
    print(f"{given.rows:,} rows, {given.features} features, {len(names) * (len(names) + 1) // 2} products")
    with tempfile.TemporaryDirectory() as place:
        home = Path(place)
        for kind in given.kinds:
            path = (given.place or home) / f"{kind}-{given.rows}-{given.features}.parquet"
            if not path.exists():
                write(path, given.rows, names, kind)
            for unit in given.units:
                _compare(path, home, names, kind, unit, given.rounds)
            if given.place is None:
                path.unlink()


def _compare(path: Path, home: Path, names: list[str], kind: str, unit: str, rounds: int) -> None:
    releases = Releases(path, home, names, kind, unit)
    sessions = [releases.opened() for _ in range(rounds)]
    calls = {"bare": partial(bare, path, names, kind, unit), "ours": lambda: releases.regression(sessions.pop())}
    found = interleaved(calls, rounds)
    ours, other = found["ours"], found["bare"]
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    print(
        f"{kind:9} unit {unit:7} bare {other.wall:7.2f} s wall {other.cpu:7.2f} s CPU   ours "
        f"{ours.wall:7.2f} s wall {ours.cpu:7.2f} s CPU   ratio {ours.wall / other.wall:5.2f} wall "
        f"{ours.cpu / other.cpu:5.2f} CPU   peak {peak:5.2f} GB",
        flush=True,
    )


if __name__ == "__main__":
    main()
