"""Accuracy of synthetic tables on Adult: total variation of two-way and three-way marginals, beside mbi's MST and AIM.

    scripts/bench synthesis [--runs 5] [--epsilon 1] [--fine] [--ours tree graphical]
        [--peer PYTHON --scripts mbi/mechanisms --peers MST AIM --peer-runs 5 2 --model-size 1]
        [--aim-rounds 0 --seconds 3600 --keep FOLDER]

adult.csv and adult_test.csv are joined: 48,842 rows, all 15 columns. Numbers are in equal bins of public bounds, which
are coarse (19 to 25) or, with --fine, as fine as 100; other columns have the values of the data, and one slot for "?".
The delta is 1e-9, and a row is a unit. The three-way marginals are 200 random ones, the same in every run. Seconds are
processor time of choices, noise, fits and drawn rows; those of peers include their exact counts. PYTHON is that of an
environment with mbi, whose scripts are in its repository (synthesis_peers.py). A peer ends after --seconds of processor
time; "spent" is the share of the budget that it had used then. Rows of peers are kept in FOLDER, and read from there if
an earlier run drew them, because AIM takes an hour. NOT PRIVATE: it compares.
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
Drawn = tuple[np.ndarray, float, float]


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


def ours(name: str, rows: np.ndarray, domain: Domain, epsilon: Fraction) -> Drawn:
    """The rows that a synthesizer draws, its seconds without exact counts, and the share of the budget it spent."""
    kind, model_of = OURS[name]
    slots = domain.slots.items()
    columns = tuple(SlotColumn(name, ColumnType.INTEGER, edges=tuple(range(size))) for name, size in slots)
    rho = rho_of(epsilon, DELTA)
    synthesis = kind().synthesis(SynthesisFacts(columns, rho, ONE))
    exact = {each: count(rows, domain, each) for each in synthesis.candidates}
    start = time.process_time()
    state = synthesis.train(PrivateCounts(domain, exact, ONE, rho))
    model = model_of(state["model"])
    drawn = model.rows(round(model.total), np.random.default_rng(state["draw"]))
    return drawn, time.process_time() - start, 1.0


def theirs(name: str, number: int, rows: np.ndarray, domain: Domain, given: argparse.Namespace) -> Drawn:
    """The same of a peer, in a process of its own environment, unless an earlier run kept its rows."""
    place = given.keep / f"{name}-{number}"
    drawn, said = place.with_suffix(".npy"), place.with_suffix(".json")
    if not said.exists():
        table = given.keep / "table.npz"
        np.savez(table, rows=rows, sizes=list(domain.slots.values()))
        numbers = [
            str(float(each)) for each in (given.epsilon, DELTA, given.model_size, given.aim_rounds, given.seconds)
        ]
        command = [given.peer, PEERS, given.scripts, name, *numbers, table, drawn]
        with place.with_suffix(".log").open("w") as log:
            ran = subprocess.run(command, check=True, stdout=subprocess.PIPE, stderr=log, text=True)
        said.write_text(ran.stdout.splitlines()[-1])
    facts = json.loads(said.read_text())
    return np.load(drawn), facts["seconds"], facts["spent"]


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
    parser.add_argument("--aim-rounds", type=int, default=0)
    parser.add_argument("--seconds", type=float, default=3600.0)
    parser.add_argument("--keep", type=Path, default=Path(tempfile.mkdtemp()))
    given = parser.parse_args()
    rows, domain = read(DATA, fine=given.fine)
    pairs, triples = (list(combinations(domain.names, size)) for size in (2, 3))
    some = [triples[place] for place in np.random.default_rng(20).choice(len(triples), 200, replace=False)]
    print(f"{len(rows):,} rows, slots {list(domain.slots.values())}", flush=True)
    calls = [(name, given.runs, lambda _, name=name: ours(name, rows, domain, given.epsilon)) for name in given.ours]
    if given.peer:
        listed = zip(given.peers, given.peer_runs, strict=True)
        calls += [
            (name, runs, lambda turn, name=name: theirs(name, turn, rows, domain, given)) for name, runs in listed
        ]
    print("| synthesizer | two-way | three-way | seconds | spent | runs |\n|---|---|---|---|---|---|", flush=True)
    for name, runs, call in calls:
        figures = []
        for turn in range(runs):
            drawn, seconds, spent = call(turn)
            figures.append((error(rows, drawn, domain, pairs), error(rows, drawn, domain, some), seconds, spent))
        two, three, seconds, spent = (statistics.fmean(each) for each in zip(*figures, strict=True))
        spread = [statistics.pstdev(each) for each in zip(*figures, strict=True)]
        print(
            f"| {name} | {two:.4f} ± {spread[0]:.4f} | {three:.4f} ± {spread[1]:.4f} | {seconds:.1f} | {spent:.0%} "
            f"| {runs} |",
            flush=True,
        )


if __name__ == "__main__":
    main()
