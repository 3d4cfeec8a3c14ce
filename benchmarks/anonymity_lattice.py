"""Search over a lattice of 1,000 nodes on a cube of 10 million people with more than a million base classes.

    nice python benchmarks/anonymity_lattice.py [people] [--loss discernibility] [--mondrian]

Prints the nodes evaluated and pruned, and wall and CPU seconds of the search; the cube is counted by DuckDB before.
"""

import argparse
import time

import duckdb
import numpy as np
import pyarrow as pa

import discreet as dp
from discreet.anonymity.classes.cube import Cube
from discreet.anonymity.generalisation.levels import GeneralisationLevels

STEPS = {
    "age": (1, 5, 10, 20, 100),
    "zip": (1, 10, 100, 1_000, 10_000),
    "occupation": (1, 4, 8, 16, 64),
    "education": (1, 2, 4, 16),
    "sex": (1, 2),
}
SQL = """
    SELECT least(99, 18 + floor(abs(random() + random() - 1) * 80))::BIGINT AS age,
           floor(pow(random(), 2) * 5000)::BIGINT AS zip,
           floor(pow(random(), 3) * 32)::BIGINT AS occupation,
           floor(pow(random(), 2) * 8)::BIGINT AS education,
           floor(random() * 2)::BIGINT AS sex,
           floor(pow(random(), 2) * 12)::BIGINT AS disease
    FROM range({people})
"""


def build_cube(people: int, sensitive: list[str]) -> Cube:
    with duckdb.connect() as connection:
        connection.execute("SET threads = 1")
        connection.sql("SELECT setseed(0.42)").fetchall()
        names = ", ".join([*STEPS, *sensitive])
        query = f"SELECT {names}, count(*)::BIGINT AS n FROM ({SQL.format(people=people)}) GROUP BY {names}"
        found = connection.sql(query).to_arrow_table()
    columns = {name: found[name].combine_chunks().dictionary_encode() for name in (*STEPS, *sensitive)}
    values = {name: column.dictionary for name, column in columns.items()}
    codes = {name: column.indices.to_numpy().astype(np.int64) for name, column in columns.items()}
    return Cube(tuple(STEPS), tuple(sensitive), values, codes, found["n"].to_numpy())


def levels_of(values: pa.Array, steps: tuple[int, ...]) -> GeneralisationLevels:
    codes, labels = [], []
    for step in steps:
        groups, code = np.unique(values.to_numpy() // step, return_inverse=True)
        codes.append(np.arange(len(values)) if step == 1 else code.astype(np.int64))
        labels.append(tuple(map(str, groups if step > 1 else values.to_pylist())))
    return GeneralisationLevels(tuple(codes), tuple(labels))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("people", nargs="?", type=int, default=10_000_000)
    parser.add_argument("--loss", default="non_uniform_entropy")
    parser.add_argument("--diverse", action="store_true", help="measure l and t as well")
    parser.add_argument("--mondrian", action="store_true", help="local recoding instead of the lattice")
    arguments = parser.parse_args()
    wall = time.perf_counter()
    cube = build_cube(arguments.people, ["disease"] if arguments.diverse else [])
    print(f"cube: {cube.total:,} people, {len(cube.people):,} base classes, {time.perf_counter() - wall:.1f} s")
    wall, cpu = time.perf_counter(), time.process_time()
    if arguments.mondrian:
        found = dp.anonymity.mondrian(cube, list(STEPS), k=10)
    else:
        hierarchies = {name: levels_of(cube.values[name], steps) for name, steps in STEPS.items()}
        diverse = {"sensitive": "disease", "l": 3, "t": 0.3} if arguments.diverse else {}
        found = dp.anonymity.search(cube, hierarchies, k=10, suppression=0.01, loss=arguments.loss, **diverse)
    print(f"wall {time.perf_counter() - wall:.1f} s, CPU {time.process_time() - cpu:.1f} s")
    print(found)


if __name__ == "__main__":
    main()
