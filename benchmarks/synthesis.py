"""Accuracy of synthetic tables on Adult: total variation of two-way and three-way marginals, beside mbi's MST and AIM.

    scripts/bench synthesis [--runs 5] [--epsilon 1] [--fine] [--ours tree graphical]
        [--peer PYTHON --scripts mbi/mechanisms --peers MST AIM --peer-runs 5 2 --model-size 1]

adult.csv and adult_test.csv are joined: 48,842 rows, all 15 columns. Numbers are in equal bins of public bounds, which
are coarse (19 to 25) or, with --fine, as fine as 100; other columns have the values of the data, and one slot for "?".
The delta is 1e-9, and a row is a unit. The three-way marginals are 200 random ones, the same in every run. Seconds are
processor time of choices, noise, fits and drawn rows; those of peers include their exact counts. PYTHON is that of an
environment with mbi, whose scripts are in its repository (synthesis_peers.py). NOT PRIVATE: it compares.
"""

import argparse
import csv
import json
import statistics
import subprocess
import tempfile
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
from discreet.synthesis.tree.model import TreeModel
from discreet.synthesis.tree.synthesizer import TreeSynthesizer

DATA = Path(__file__).parents[2] / "shared" / "data"
PEERS = Path(__file__).with_name("synthesis_peers.py")
FILES = ("adult.csv", "adult_test.csv")
DELTA = Fraction(1, 10**9)
OURS = {
    "tree": (TreeSynthesizer, TreeModel.from_json),
    "graphical": (GraphicalSynthesizer, model_from_json),
}
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


def ours(name: str, rows: np.ndarray, domain: Domain, epsilon: Fraction) -> tuple[np.ndarray, float]:
    """The rows that a synthesizer draws, and its seconds; exact counts are not part of them."""
    kind, model_of = OURS[name]
    slots = domain.slots.items()
    columns = tuple(SlotColumn(name, ColumnType.INTEGER, edges=tuple(range(size))) for name, size in slots)
    rho = rho_of(epsilon, DELTA)
    synthesis = kind().synthesis(SynthesisFacts(columns, None, rho, ONE))
    exact = {each: count(rows, domain, each) for each in synthesis.candidates}
    start = time.process_time()
    state = synthesis.train(PrivateCounts(domain, exact, ONE, rho))
    model = model_of(state["model"])
    drawn = model.rows(round(model.total), np.random.default_rng(state["draw"]))
    return drawn, time.process_time() - start


def theirs(name: str, rows: np.ndarray, domain: Domain, given: argparse.Namespace) -> tuple[np.ndarray, float]:
    """The same of a peer, in a process of its own environment."""
    with tempfile.TemporaryDirectory() as place:
        table, drawn = Path(place) / "table.npz", Path(place) / "rows.npy"
        np.savez(table, rows=rows, sizes=list(domain.slots.values()))
        words = [name, str(float(given.epsilon)), str(float(DELTA)), str(given.model_size), table, drawn]
        ran = subprocess.run([given.peer, PEERS, given.scripts, *words], check=True, capture_output=True, text=True)
        return np.load(drawn), json.loads(ran.stdout.splitlines()[-1])["seconds"]


def main() -> None:
    """Print the error of each synthesizer, and means with their spread."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--epsilon", type=Fraction, default=Fraction(1))
    parser.add_argument("--fine", action="store_true")
    parser.add_argument("--ours", nargs="*", default=list(OURS), choices=list(OURS))
    parser.add_argument("--peer")
    parser.add_argument("--scripts")
    parser.add_argument("--peers", nargs="*", default=["MST", "AIM"])
    parser.add_argument("--peer-runs", nargs="*", type=int, default=[5, 2])
    parser.add_argument("--model-size", type=float, default=1.0)
    given = parser.parse_args()
    rows, domain = read(DATA, fine=given.fine)
    pairs, triples = (list(combinations(domain.names, size)) for size in (2, 3))
    some = [triples[place] for place in np.random.default_rng(20).choice(len(triples), 200, replace=False)]
    print(f"{len(rows):,} rows, slots {list(domain.slots.values())}", flush=True)
    calls = [(name, given.runs, lambda name=name: ours(name, rows, domain, given.epsilon)) for name in given.ours]
    if given.peer:
        listed = zip(given.peers, given.peer_runs, strict=True)
        calls += [(name, runs, lambda name=name: theirs(name, rows, domain, given)) for name, runs in listed]
    print("| synthesizer | two-way | three-way | seconds | runs |\n|---|---|---|---|---|", flush=True)
    for name, runs, call in calls:
        figures = []
        for _ in range(runs):
            drawn, seconds = call()
            figures.append((error(rows, drawn, domain, pairs), error(rows, drawn, domain, some), seconds))
        two, three, seconds = (statistics.fmean(each) for each in zip(*figures, strict=True))
        spread = [statistics.pstdev(each) for each in zip(*figures, strict=True)]
        print(
            f"| {name} | {two:.4f} ± {spread[0]:.4f} | {three:.4f} ± {spread[1]:.4f} | {seconds:.1f} | {runs} |",
            flush=True,
        )


if __name__ == "__main__":
    main()
