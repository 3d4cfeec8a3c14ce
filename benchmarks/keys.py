"""How many keys that are not known are kept at the same epsilon and delta, beside OpenDP and PipelineDP, and how soon.

    scripts/bench keys [--keys 20000] [--units 1000000] [--draws 40] [--peer .../bin/python] [--pictures docs/pictures]

Numbers of units of keys follow a power law. Every library is told the same numbers, in memory, and how many keys one
unit can be in. `--peer` is a Python that has pipeline-dp, which brings python-dp; without it its rows are left out.
The threshold of OpenDP is taken twice: the least whose stated delta is within the one asked for, and the least that is
truly so, by the exact tail of the noise for a key of one unit. Prints tables in Markdown.
"""

import argparse
import json
import math
import statistics
import subprocess
import time
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path

import numpy as np
import opendp.prelude as peer

from discreet import plots
from discreet.exact.zcdp import rho_of
from discreet.mechanisms.keys import GaussianThreshold, LaplaceThreshold, Optimal

DELTA = 1e-9
SETTINGS = ((1.0, 1), (1.0, 5), (0.1, 1), (1.0, 50))
PIPELINE = """
import json, sys, time
from pydp.algorithms import partition_selection as selection
given = json.load(sys.stdin)
found = {}
for kind in ("truncated_geometric", "laplace", "gaussian"):
    make = getattr(selection, f"create_{kind}_partition_strategy")
    strategy = make(given["epsilon"], given["delta"], given["groups"])
    numbers, started = [], time.perf_counter()
    for _ in range(given["draws"]):
        numbers.append(sum(strategy.should_keep(count) for count in given["counts"]))
    found[kind] = (numbers, (time.perf_counter() - started) / given["draws"])
json.dump(found, sys.stdout)
"""


def counts_of(keys: int, units: int) -> list[int]:
    """Numbers of units by a power law: the i-th key has a share of 1/i."""
    shares = 1 / np.arange(1, keys + 1)
    return np.maximum(1, np.round(units * shares / shares.sum())).astype(int).tolist()


def timed(draw: Callable[[], int], draws: int) -> tuple[float, float]:
    """The mean number of keys, and seconds of one draw."""
    started = time.perf_counter()
    numbers = [draw() for _ in range(draws)]
    return statistics.fmean(numbers), (time.perf_counter() - started) / draws


def gaussian(epsilon: float, groups: int) -> GaussianThreshold:
    """(epsilon, delta) by a rho: half of delta for the conversion, half for rare keys."""
    rho = rho_of(Fraction(str(epsilon)), Fraction(str(DELTA)) / 2)
    return GaussianThreshold(rho=rho, delta=DELTA / 2, groups=groups)


def ours(counts: list[int], epsilon: float, groups: int, draws: int) -> dict[str, tuple[float, float]]:
    """The two rules of a pure epsilon, and Gaussian noise of which half of delta converts rho."""
    rules = {
        "discreet, optimal": Optimal(epsilon=epsilon, delta=DELTA, groups=groups),
        "discreet, Laplace": LaplaceThreshold(epsilon=epsilon, delta=DELTA, groups=groups),
        "discreet, Gaussian": gaussian(epsilon, groups),
    }
    return {name: timed(lambda rule=rule: len(rule.release(counts)), draws) for name, rule in rules.items()}


def opendp(counts: list[int], epsilon: float, groups: int, draws: int) -> dict[str, tuple[float, float]]:
    """Laplace noise and a threshold, as stated and as true."""
    peer.enable_features("contrib")
    space = peer.map_domain(peer.atom_domain(T=str), peer.atom_domain(T="i64"))
    metric = peer.l01inf_distance(peer.absolute_distance(T="i64"))
    scale = groups / epsilon

    def made(threshold: int) -> peer.Measurement:
        return peer.m.make_laplace_threshold(space, metric, scale=scale, threshold=threshold)

    stated = 1
    while made(stated).map((groups, groups, 1))[1] > DELTA:
        stated += 1
    decay = math.exp(-1 / scale)
    true = stated
    while 1 - (1 - decay ** (true - 1) / (1 + decay)) ** groups > DELTA:
        true += 1
    table = {str(place): count for place, count in enumerate(counts)}
    found = {}
    for name, threshold in (("as stated", stated), ("as true", true)):
        mechanism = made(threshold)
        found[f"OpenDP, Laplace, {name} (threshold {threshold})"] = timed(lambda m=mechanism: len(m(table)), draws)
    return found


def pipeline(python: str, counts: list[int], epsilon: float, groups: int, draws: int) -> dict[str, tuple[float, float]]:
    """The strategies of PipelineDP, in its own Python."""
    asked = {"counts": counts, "epsilon": epsilon, "delta": DELTA, "groups": groups, "draws": draws}
    told = subprocess.run([python, "-c", PIPELINE], input=json.dumps(asked), capture_output=True, text=True, check=True)
    found = json.loads(told.stdout)
    return {f"PipelineDP, {kind.replace('_', ' ')}": (statistics.fmean(n), t) for kind, (n, t) in found.items()}


def drawn(place: Path) -> None:
    """How often a key is kept, by how many units it has, for one key of each unit and for ten."""
    with plots.canvas(8, 4.8, None, panels=2) as (figure, panels):
        for axes, groups in zip(panels, (1, 10), strict=True):
            rules = {
                "optimal": Optimal(epsilon=1, delta=DELTA, groups=groups),
                "Laplace": LaplaceThreshold(epsilon=1, delta=DELTA, groups=groups),
                "Gaussian": gaussian(1, groups),
            }
            most = max(rule.least_units(0.999) for rule in rules.values())
            for line, (name, rule) in zip(("-", "--", ":"), rules.items(), strict=True):
                kept = [float(rule.keep_probability(units)) for units in range(most + 1)]
                axes.plot(range(most + 1), kept, label=name, linestyle=line, linewidth=1.8)
            axes.set_xlabel("units of a key")
            axes.set_title(f"{groups} key{'s' if groups > 1 else ''} of one unit", fontsize=10)
        panels[0].set_ylabel("how often it is kept")
        panels[0].legend(frameon=False)
    figure.savefig(place / "unknown-keys.svg", metadata={"Date": None})


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--keys", type=int, default=20_000)
    options.add_argument("--units", type=int, default=1_000_000)
    options.add_argument("--draws", type=int, default=40)
    options.add_argument("--peer", default=None)
    options.add_argument("--pictures", default=None)
    given = options.parse_args()
    counts = counts_of(given.keys, given.units)
    for epsilon, groups in SETTINGS:
        rows = ours(counts, epsilon, groups, given.draws) | opendp(counts, epsilon, groups, given.draws)
        if given.peer:
            rows |= pipeline(given.peer, counts, epsilon, groups, given.draws)
        print(f"\nepsilon {epsilon:g}, delta {DELTA:g}, {groups} keys of one unit, of {given.keys:,} keys\n")
        print("| rule | keys kept | ms |\n|---|---|---|")
        for name, (kept, seconds) in rows.items():
            print(f"| {name} | {kept:,.0f} | {1000 * seconds:,.0f} |")
    if given.pictures:
        drawn(Path(given.pictures))


if __name__ == "__main__":
    main()
