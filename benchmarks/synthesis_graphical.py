"""Accuracy of the graphical synthesizer on Adult: mean total variation of two-way and three-way marginals of its rows.

    scripts/bench synthesis_graphical [--data /work/shared/data] [--runs 5] [--epsilon 1] [--fine] [--max-cells 300000]

adult.csv and adult_test.csv are joined: 48,842 rows, all 15 columns. Numbers are in equal bins of public bounds, which
are coarse (19 to 25) or, with --fine, as fine as 100; other columns have the values of the data, and one slot for "?".
The delta is 1e-9, and a row is a unit. The three-way marginals are 200 random ones, the same in every run. The seconds
are those of this process: choices, noise, fits and drawn rows, without the exact counts. NOT PRIVATE: it compares.
"""

import argparse
import csv
import statistics
import time
from fractions import Fraction
from itertools import combinations
from pathlib import Path

import numpy as np

from discreet.catalog.catalog import ColumnType
from discreet.exact.zcdp import rho_of
from discreet.plan.slots import SlotColumn
from discreet.plan.synthesis import Contribution, SynthesisFacts
from discreet.synthesis.core.domain import Domain
from discreet.synthesis.core.private_counts import PrivateCounts
from discreet.synthesis.graphical.model import model_from_json
from discreet.synthesis.graphical.synthesizer import GraphicalSynthesizer

FILES = ("adult.csv", "adult_test.csv")
BINS = {
    "Age": (17, 91, 25, 74),
    "fnlwgt": (0, 1_500_000, 25, 100),
    "Capital Gain": (0, 100_000, 20, 100),
    "Capital Loss": (0, 4_400, 20, 100),
    "Hours per week": (1, 100, 19, 99),
}
"""Bounds of numbers, and their bins: coarse and fine."""
ONE = Contribution(rows=1, replace_one=False)


def read(folder: Path, *, fine: bool) -> tuple[np.ndarray, Domain]:
    """The slots of all rows, and the domain."""
    lines: list[list[str]] = []
    for name in FILES:
        with (folder / name).open(encoding="utf-8") as file:
            header, *rows = csv.reader(file)
            lines += [row for row in rows if len(row) == len(header)]
    slots, sizes = [], {}
    for name, cells in zip(header, zip(*lines, strict=True), strict=True):
        if name in BINS:
            low, high, *bins = BINS[name]
            size = bins[fine]
            slots.append(np.clip((np.array(cells, float) - low) * size // (high - low), 0, size - 1).astype(int))
        else:
            words = [cell.strip().rstrip(".") for cell in cells]
            values = {value: place for place, value in enumerate(sorted({*words} - {"?"}))}
            size = len(values)
            slots.append(np.array([values.get(word, size) for word in words]))
        sizes[name] = size + 1
    return np.stack(slots, axis=1), Domain(sizes)


def count(rows: np.ndarray, domain: Domain, columns: tuple[str, ...]) -> np.ndarray:
    """The counts of a marginal."""
    shape = domain.shape(columns)
    places = np.ravel_multi_index(tuple(rows[:, domain.names.index(name)] for name in columns), shape)
    return np.bincount(places, minlength=domain.cells(columns)).reshape(shape)


def error(rows: np.ndarray, drawn: np.ndarray, domain: Domain, marginals: list[tuple[str, ...]]) -> float:
    """The mean total variation of some marginals."""
    return statistics.fmean(
        np.abs(count(rows, domain, each) / len(rows) - count(drawn, domain, each) / len(drawn)).sum() / 2
        for each in marginals
    )


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--data", type=Path, default=Path("/work/shared/data"))
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--epsilon", type=Fraction, default=Fraction(1))
    parser.add_argument("--fine", action="store_true")
    parser.add_argument("--max-cells", type=int, default=300_000)
    arguments = parser.parse_args()
    rows, domain = read(arguments.data, fine=arguments.fine)
    pairs, triples = (list(combinations(domain.names, size)) for size in (2, 3))
    some = [triples[place] for place in np.random.default_rng(20).choice(len(triples), 200, replace=False)]
    columns = tuple(
        SlotColumn(name, ColumnType.INTEGER, edges=tuple(range(size))) for name, size in domain.slots.items()
    )
    rho = rho_of(arguments.epsilon, Fraction(1, 10**9))
    synthesis = GraphicalSynthesizer(max_cells=arguments.max_cells).synthesis(SynthesisFacts(columns, None, rho, ONE))
    exact = {each: count(rows, domain, each) for each in synthesis.candidates}
    print(f"{len(rows):,} rows, slots {list(domain.slots.values())}")
    figures = []
    for _ in range(arguments.runs):
        start = time.process_time()
        state = synthesis.train(PrivateCounts(domain, exact, ONE, rho))
        model = model_from_json(state["model"])
        drawn = model.rows(round(model.total), np.random.default_rng(state["draw"]))
        seconds = time.process_time() - start
        figures.append((error(rows, drawn, domain, pairs), error(rows, drawn, domain, some), seconds))
        cells = model.beliefs.tree.cells
        print("2-way {:.4f}  3-way {:.4f}  CPU {:.1f} s".format(*figures[-1]), f" {cells:,} cells", flush=True)
    print("mean: 2-way {:.4f}  3-way {:.4f}  CPU {:.1f} s".format(*map(statistics.fmean, zip(*figures, strict=True))))


if __name__ == "__main__":
    main()
