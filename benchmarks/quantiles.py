"""Quantiles beside OpenDP's: error in ranks and time, for the same candidates and the same price.

    scripts/bench quantiles [--runs 200] [--adult ../shared/data/adult.csv] [--pictures docs/pictures]

One quantile: ours chooses a step by ranks, theirs is make_private_quantile. Nineteen at once: ours from the way that a
session takes, theirs from a b-ary tree with consistency, and from nineteen single ones. Errors are how far the released
step is from q n in ranks, the mean over runs (ten times as many on the small table) with its standard error; times are
for one release from a list of values in memory.
"""

import argparse
import csv
import math
import time
from collections.abc import Callable, Sequence
from fractions import Fraction
from pathlib import Path

import numpy as np
import opendp.prelude as peer

from discreet.attacks.pictures import Axis, Curve, curves
from discreet.catalog.privacy_unit import Caps, Neighbours
from discreet.mechanisms import Laplace
from discreet.mechanisms.quantile import RankSelection
from discreet.planner.budget.allocation import Spending
from discreet.planner.queries.quantile_methods import Layout, Method, by_choice, by_tree

ROOT = Path(__file__).parents[1]
SHARES = (Fraction(1, 2), Fraction(1, 4), Fraction(9, 10), Fraction(99, 100))
NINETEEN = tuple(Fraction(part, 20) for part in range(1, 20))
BRANCHES = 16

Values = list[int]
Found = Callable[[Values], Sequence[float]]


def incomes(number: int = 1_000) -> Values:
    """Made-up incomes in thousands, up to 1,000."""
    drawn = np.random.default_rng(7).lognormal(4, 0.8, number)
    return [int(min(value, 1_000)) for value in drawn]


def off(counts: np.ndarray, step: float, share: Fraction) -> float:
    """How far a step is from q n, in ranks."""
    place = min(max(round(step), 0), len(counts) - 1)
    below, target = counts[:place].sum(), float(share) * counts.sum()
    return max(0.0, below - target, target - below - counts[place])


def measured(find: Found, values: Values, counts: np.ndarray, shares: Sequence[Fraction], runs: int) -> str:
    """The mean error in ranks with its standard error, and the milliseconds of a release."""
    errors, start = [], time.perf_counter()
    for _ in range(runs):
        found = zip(find(values), shares, strict=True)
        errors.append(np.mean([off(counts, step, share) for step, share in found]))
    took = 1_000 * (time.perf_counter() - start) / runs
    return f"{np.mean(errors):,.2f} ± {np.std(errors) / math.sqrt(runs):,.2f} ({took:.1f})"


def ours(share: Fraction, steps: int, price: dict[str, Fraction]) -> Found:
    worth = max(share.numerator, share.denominator - share.numerator)
    mechanism = RankSelection(probability=share, l1=worth, **price)
    return lambda values: mechanism.release([np.bincount(values, minlength=steps).tolist()])


def theirs(share: Fraction, steps: int, price: dict[str, Fraction]) -> Found:
    space = peer.vector_domain(peer.atom_domain(T="i32")), peer.symmetric_distance()
    measure = peer.max_divergence() if "epsilon" in price else peer.zero_concentrated_divergence()

    def made(scale: float) -> peer.Measurement:
        return peer.m.make_private_quantile(*space, measure, list(range(steps)), float(share), scale)

    (amount,) = price.values()
    mechanism = peer.binary_search_chain(made, 1, float(amount), T=float)
    return lambda values: [mechanism(values)]


def way_of(steps: int, epsilon: Fraction, *, tree: bool) -> Method:
    layout = Layout(Caps(1, 1, 1), 1, Neighbours.ADD_REMOVE, steps)
    spent = Spending((Laplace,), epsilon, epsilon, Fraction(0), "")
    return by_tree(layout, spent, NINETEEN) if tree else by_choice(layout, spent, [(q, Fraction(1)) for q in NINETEEN])


def our_nineteen(steps: int, epsilon: Fraction, *, tree: bool) -> Found:
    way = way_of(steps, epsilon, tree=tree)

    def find(values: Values) -> list[int]:
        places = way.places(way.randomize(np.bincount(values, minlength=steps).tolist()))
        return [place[0] for place in places]

    return find


def their_tree(steps: int, epsilon: Fraction) -> Found:
    """Counts by category, a b-ary tree, discrete Laplace noise, consistency, and the quantiles of that."""
    space = peer.vector_domain(peer.atom_domain(T=int)), peer.symmetric_distance()
    edges = [float(edge) for edge in range(steps + 1)]

    def made(scale: float) -> peer.Measurement:
        counted = space >> peer.t.then_count_by_categories(list(range(steps)), null_category=False)
        noisy = counted >> peer.t.then_b_ary_tree(steps, BRANCHES) >> peer.m.then_laplace(scale)
        whole = noisy >> peer.t.make_consistent_b_ary_tree(BRANCHES)
        return whole >> peer.t.make_quantiles_from_counts(edges, [float(q) for q in NINETEEN])

    mechanism = peer.binary_search_chain(made, 1, float(epsilon), T=float)
    return lambda values: [math.floor(found) for found in mechanism(values)]


def their_nineteen(steps: int, epsilon: Fraction) -> Found:
    each = [theirs(share, steps, {"epsilon": epsilon / len(NINETEEN)}) for share in NINETEEN]
    return lambda values: [find(values)[0] for find in each]


def singles(name: str, values: Values, steps: int, runs: int) -> None:
    counts = np.bincount(values, minlength=steps)
    print(f"\n{name}: {len(values):,} rows, {steps:,} steps; mean error in ranks (milliseconds)")
    prices = [{"epsilon": Fraction(1, 100)}, {"epsilon": Fraction(1, 10)}, {"rho": Fraction(1, 10_000)}]
    for price in prices:
        for share in SHARES:
            found = [measured(make(share, steps, price), values, counts, (share,), runs) for make in (ours, theirs)]
            said = ", ".join(f"{kind} {float(amount):g}" for kind, amount in price.items())
            print(f"| {said} | {float(share):g} | {' | '.join(found)} |", flush=True)


def nineteen(name: str, values: Values, steps: int, runs: int) -> None:
    counts = np.bincount(values, minlength=steps)
    print(f"\n{name}, nineteen quantiles at once")
    for epsilon in (Fraction(1, 10), Fraction(1)):
        ways = {
            "ours, a tree": our_nineteen(steps, epsilon, tree=True),
            "ours, by choice": our_nineteen(steps, epsilon, tree=False),
            "OpenDP, a tree": their_tree(steps, epsilon),
            "OpenDP, one by one": their_nineteen(steps, epsilon),
        }
        for way, find in ways.items():
            found = measured(find, values, counts, NINETEEN, max(5, runs // 10))
            print(f"| epsilon {float(epsilon):g} | {way} | {found} |", flush=True)


def picture(place: Path) -> None:
    """The expected error of both ways, by how many quantiles are asked for."""
    layout = Layout(Caps(1, 1, 1), 1, Neighbours.ADD_REMOVE, 1_000)
    spent = Spending((Laplace,), Fraction(1), Fraction(1), Fraction(0), "")
    lines: dict[str, list[tuple[float, float]]] = {"a step chosen for each": [], "read off one noisy tree": []}
    for number in (1, 2, 3, 5, 9, 19, 49, 99):
        shares = tuple(Fraction(part, number + 1) for part in range(1, number + 1))
        chosen = by_choice(layout, spent, [(share, Fraction(1)) for share in shares])
        for label, way in zip(lines, (chosen, by_tree(layout, spent, shares)), strict=True):
            lines[label].append((number, way.expected_error(5_000)))
    drawn = [Curve(label, tuple(points)) for label, points in lines.items()]
    made = curves(
        drawn,
        title="Quantiles of 5,000 rows at 1,000 steps, epsilon 1",
        x=Axis("quantiles asked for at once", "log"),
        y=Axis("expected error in ranks", "log"),
    )
    made.savefig(place / "quantiles.svg", metadata={"Date": None})


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=200)
    parser.add_argument("--adult", type=Path, default=ROOT.parent / "shared" / "data" / "adult.csv")
    parser.add_argument("--pictures", type=Path)
    words = parser.parse_args()
    if words.pictures:
        picture(words.pictures)
        return
    peer.enable_features("contrib")
    with words.adult.open(encoding="utf-8", newline="") as file:
        ages = [int(row["Age"]) for row in csv.DictReader(file)]
    for name, values, steps, times in (("incomes", incomes(), 1_001, 10), ("ages of Adult", ages, 126, 1)):
        singles(name, values, steps, times * words.runs)
        nineteen(name, values, steps, words.runs)


if __name__ == "__main__":
    main()
