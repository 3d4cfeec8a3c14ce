"""Ranges and hierarchies: the expected error of every strategy, in closed form, beside the one that is chosen.

    scripts/bench ranges [--bins 1024] [--ranges 1000] [--pictures docs/pictures]

Prints tables in Markdown. Nothing is drawn but the random ranges, from a fixed seed: errors are variances.
"""

import argparse
import time
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path

import numpy as np

from discreet import plots
from discreet.accounting.filters import Budget
from discreet.catalog.privacy_unit import Neighbours
from discreet.workloads import ranges
from discreet.workloads.hierarchy import Hierarchy, Partition
from discreet.workloads.ranges import Levels, MatrixStrategy, Power, RangeWorkload, Strategy
from discreet.workloads.sharing import divide_budget, losses

ADDED = Neighbours.ADD_REMOVE
KINDS: dict[Power, str] = {2: "Laplace, epsilon 1", 1: "Gaussian, epsilon 1 at delta 1e-9"}
RHO = float(Budget(epsilon=1, delta=Fraction(1, 10**9)).rho(Fraction(1)))


def random_ranges(bins: int, number: int) -> RangeWorkload:
    """RangeWorkload whose two ends are equally likely to be any two edges."""
    random = np.random.default_rng(7)
    ends = (sorted(random.choice(bins + 1, 2, replace=False).tolist()) for _ in range(number))
    return RangeWorkload(bins, tuple((lo, hi) for lo, hi in ends))


def merged(workload: RangeWorkload) -> RangeWorkload:
    """The same ranges over the bins that they tell apart, as a session asks them."""
    used = {edge: place for place, edge in enumerate(sorted({end for pair in workload.pairs for end in pair}))}
    return RangeWorkload(len(used) - 1, tuple((used[lo], used[hi]) for lo, hi in workload.pairs))


def error(strategy: Strategy, workload: RangeWorkload, power: Power) -> float:
    """The mean squared error at epsilon 1."""
    mean = float(ranges.expected_variance(strategy, workload, power, ADDED).mean())
    return mean if power == 2 else mean / RHO


def equal(tree: ranges.Tree) -> Levels:
    """A consistent tree whose levels have equal shares, as it is in the literature."""
    levels = len(tree.widths)
    return Levels(tree, tuple(range(levels)), (Fraction(1, levels),) * levels)


def rows_of(workload: RangeWorkload, power: Power) -> Iterator[tuple[str, float]]:
    """Every strategy with its error, and at the end the one that a session takes."""
    trees = [ranges.Tree(workload.bins, branching) for branching in ranges.BRANCHINGS]
    plain = {tree.branching: error(equal(tree), workload, power) for tree in trees}
    best = min(plain, key=lambda branching: plain[branching])
    for strategy in ranges.candidates(workload, power, ADDED):
        found = error(strategy, workload, power)
        if isinstance(strategy, MatrixStrategy):
            yield "matrix made for the workload", found
        elif strategy.kept == (0,):
            yield "flat histogram", found
            yield "consistent tree, equal shares, best b", plain[best]
        else:
            yield f"consistent tree, best shares, b = {strategy.tree.branching}", found
    session = merged(workload)
    yield f"a session, {session.bins} bins told apart", error(ranges.best(session, power, ADDED), session, power)


def tree_of(*fanouts: int, crossing: int = 0) -> Hierarchy:
    """A hierarchy with so many areas in each area, from the top down."""
    cells, size, chain = int(np.prod(fanouts)), 1, []
    for level, fanout in enumerate((1, *reversed(fanouts))):
        size *= fanout
        chain.append(Partition(str(level), tuple(map(str, range(cells // size))), np.arange(cells) // size))
    across = [Partition("zip", tuple(map(str, range(crossing))), np.arange(cells) % crossing)] if crossing else []
    return Hierarchy(tuple(chain), tuple(across))


def hierarchies() -> None:
    """Each level's root mean squared error over that of asking the level alone, with the whole budget."""
    shape, names = tree_of(50, 60, 20, crossing=700), ("tract", "county", "state", "nation", "zip")
    levels = len(names)
    print("\n| level | areas | Laplace: equal shares, raw | fitted | Gaussian: equal shares, raw | fitted |")
    print("|---|---|---|---|---|---|")
    found: dict[Power, np.ndarray] = {}
    for power in KINDS:
        shares = np.array([float(s) for s in divide_budget(shape, np.ones(levels), power)])
        found[power] = np.sqrt(losses(shape, np.ones(levels), shares, power))
    for place, (name, part) in enumerate(zip(names, shape.parts, strict=True)):
        cells = [f"{levels}", f"{found[2][place]:.2f}", f"{levels**0.5:.2f}", f"{found[1][place]:.2f}"]
        print(f"| {name} | {len(part.areas):,} | {' | '.join(cells)} |")


def picture(tables: dict[str, list[tuple[str, float]]], title: str, place: Path) -> None:
    """A line for each strategy: marks at root mean squared errors, one kind for each noise."""
    names = [name for name, _ in next(iter(tables.values()))]
    with plots.canvas(9.0, 0.36 * len(names) + 1.9, title) as (figure, (axes,)):
        for number, (kind, rows) in enumerate(tables.items()):
            found = dict(rows)
            errors = [found[name] ** 0.5 if name in found else float("nan") for name in names]
            style = {"color": plots.COLOURS[number], "markersize": 7, "markeredgecolor": "white", "label": kind}
            axes.plot(errors, range(len(names)), plots.MARKERS[number], **style)
        axes.set_yticks(range(len(names)), names)
        axes.set_ylim(len(names) - 0.4, -0.6)
        axes.tick_params(axis="y", length=0)
        axes.set_xscale("log")
        axes.set_xticks([10, 20, 50, 100], ["10", "20", "50", "100"])
        axes.minorticks_off()
        axes.grid(axis="x", color=plots.FAINT, linewidth=0.7)
        axes.set_axisbelow(True)
        axes.set_xlabel("root mean squared error of a range, in rows")
        figure.legend(loc="outside lower center", frameon=False, ncols=len(tables))
    figure.savefig(place / "ranges-strategies.svg", metadata={"Date": None})


def main() -> None:
    """Print both tables, and draw the first."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--bins", type=int, default=1024)
    parser.add_argument("--ranges", type=int, default=1000)
    parser.add_argument("--pictures")
    given = parser.parse_args()
    workload, tables = random_ranges(given.bins, given.ranges), {}
    for power, kind in KINDS.items():
        start = time.perf_counter()
        tables[kind] = list(rows_of(workload, power))
        print(f"\n| {kind}: {given.ranges:,} ranges over {given.bins:,} bins | mean squared error |\n|---|---|")
        for name, value in tables[kind]:
            print(f"| {name} | {value:,.1f} |")
        print(f"\n{time.perf_counter() - start:.1f} s")
    hierarchies()
    if given.pictures:
        title = f"{given.ranges:,} random ranges over {given.bins:,} bins, by every strategy"
        picture(tables, title, Path(given.pictures))


if __name__ == "__main__":
    main()
