"""What the statistical audit catches with how many samples, how much it finds, and how often it is wrong.

    scripts/bench audit_power [--repeats 200] [--false-alarms 2000] [--seed 1] [--only power|bounds|alarms]

Mechanisms are simulated from their exact probabilities. Power is the part of the repeats in which a false claim was
called broken, with the bound that its count allows (Clopper and Pearson, 95%). Lower bounds are medians at 95%. False
alarms are counted on mechanisms exactly at their claim, against the most that a rate within the alarm allows.
"""

import argparse
import math
from collections.abc import Callable, Iterable
from time import perf_counter

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr
from scipy.stats import binom

from discreet.auditing.claims import Claim, claim
from discreet.auditing.finding import Finding
from discreet.auditing.statistical import bounds
from discreet.auditing.statistical.audit import audit
from discreet.mechanisms import Gaussian, Laplace
from discreet.testing import generator

Floats = NDArray[np.float64]
Drawn = Callable[[int, int], NDArray[np.generic]]
Made = Callable[[np.random.Generator], Drawn]

FINE = 256
FARTHEST = 40


def of_masses(shift: int, masses: Callable[[int], float], reach: int) -> Made:
    """Noise drawn by its exact probabilities from -reach to reach, around 0 or around the shift."""
    steps = np.arange(-reach, reach + 1)
    upto = np.cumsum([masses(int(step)) for step in steps])
    return lambda rng: (
        lambda bit, count: (
            shift * bit + steps[np.searchsorted(upto / upto[-1], rng.random(count), "right").clip(0, len(steps) - 1)]
        )
    )


def discrete_laplace(epsilon: float, steps: int = 1) -> Made:
    """Whole numbers that a unit moves by so many steps; with many steps it is nearly the continuous one."""
    return of_masses(steps, Laplace.with_scale(scale=steps / epsilon, sensitivity=steps).pmf, FARTHEST * steps)


def rounded_gaussian(mu: float) -> Made:
    """Continuous noise rounded to a grid, which is post-processing and keeps its curve."""
    return of_masses(FINE, lambda y: float(np.diff(ndtr((y + np.array([-0.5, 0.5])) * mu / FINE))[0]), 10 * FINE)


def discrete_gaussian(rho: float, steps: int = 8) -> Made:
    sigma = steps / math.sqrt(2 * rho)
    return of_masses(steps, Gaussian.with_sigma(sigma=sigma, sensitivity=steps).pmf, int(10 * sigma))


def response(epsilon: float, delta: float = 0.0) -> Made:
    """Randomized response; with probability delta the bit, and that it is true."""
    honest = math.exp(epsilon) / (1 + math.exp(epsilon))

    def made(rng: np.random.Generator) -> Drawn:
        def drawn(bit: int, count: int) -> NDArray[np.generic]:
            said = np.where(rng.random(count) < honest, bit, 1 - bit)
            return np.where(rng.random(count) < delta, bit + 2, said)

        return drawn

    return made


def numpy_laplace(rng: np.random.Generator) -> Drawn:
    return lambda bit, count: bit + rng.laplace(0, 1, count)


POWER: list[tuple[str, Made, Claim, int]] = [
    ("Laplace of numpy, claimed 1", numpy_laplace, claim(epsilon=1), 1_000),
    ("discrete Laplace of 1.5, claimed 1", discrete_laplace(1.5), claim(epsilon=1), 2_000),
    ("fine Laplace of 1.5, claimed 1", discrete_laplace(1.5, FINE), claim(epsilon=1), 2_000),
    ("discrete Laplace of 1.1, claimed 1", discrete_laplace(1.1), claim(epsilon=1), 40_000),
    ("fine Laplace of 1.1, claimed 1", discrete_laplace(1.1, FINE), claim(epsilon=1), 40_000),
    ("rounded Gaussian of mu 1.2, claimed 1", rounded_gaussian(1.2), claim(mu=1), 10_000),
    ("discrete Gaussian of rho 2, claimed 0.5", discrete_gaussian(2.0), claim(rho=0.5), 2_000),
    ("response with delta 0.02, claimed 0.01", response(1, 0.02), claim(epsilon=1, delta=0.01), 40_000),
]
BOUNDS = [("discrete Laplace", discrete_laplace(1)), ("fine Laplace", discrete_laplace(1, FINE))]
AT_THEIR_CLAIM: list[tuple[str, Made, Claim]] = [
    ("discrete Laplace", discrete_laplace(1), claim(epsilon=1)),
    ("fine Laplace", discrete_laplace(1, FINE), claim(epsilon=1)),
    ("randomized response", response(1), claim(epsilon=1)),
    ("response at (1, 0.05)", response(1, 0.05), claim(epsilon=1, delta=0.05)),
    ("discrete Gaussian, rho 0.5", discrete_gaussian(0.5), claim(rho=0.5)),
    ("rounded Gaussian, mu 1", rounded_gaussian(1), claim(mu=1)),
]


def audits(made: Made, promise: Claim, repeats: int, seed: int, **words: float | bool) -> Iterable[Finding]:
    for repeat in range(repeats):
        mechanism = made(generator(seed * 1_000_003 + repeat))
        yield audit(mechanism, 0, 1, claim=promise, many=True, **words)  # type: ignore[arg-type]


def show_power(repeats: int, seed: int) -> None:
    print(f"\ncaught at alarm 1e-3, {repeats} repeats")
    print(f"{'':<42}{'limit':>8}{'caught':>8}{'at least':>10}{'median used':>13}{'90% within':>12}{'seconds':>9}")
    for name, made, promise, samples in POWER:
        started = perf_counter()
        found = list(audits(made, promise, repeats, seed, samples=samples, alarm=1e-3))
        caught = sum(finding.is_broken for finding in found)
        used = np.array([finding.samples for finding in found])
        least = bounds.at_least(caught, repeats, 0.05)
        print(
            f"{name:<42}{samples:>8,}{caught / repeats:>8.3f}{least:>10.3f}{int(np.median(used)):>13,}"
            f"{int(np.quantile(used, 0.9)):>12,}{(perf_counter() - started) / repeats:>9.2f}",
            flush=True,
        )


def show_bounds(repeats: int, seed: int) -> None:
    print(f"\nlower bounds on epsilon 1 at 95%, medians of {repeats} repeats; above 1: at most 5% may be")
    print(f"{'':<42}{'samples':>8}{'found':>8}{'by bounds':>11}{'by bets':>9}{'above 1':>9}{'seconds':>9}")
    for name, made in BOUNDS:
        for samples in (1_000, 10_000, 100_000):
            started = perf_counter()
            found = list(audits(made, claim(epsilon=1), repeats, seed, samples=samples, alarm=0.05, stop=False))
            columns = [
                [f.found for f in found],
                *([f.detail[by] for f in found] for by in ("found_by_bounds", "found_by_bets")),
            ]
            medians = [float(np.median(np.array(column, dtype=float))) for column in columns]
            above = sum(finding.is_broken for finding in found) / repeats
            print(
                f"{name:<42}{samples:>8,}{medians[0]:>8.3f}{medians[1]:>11.3f}{medians[2]:>9.3f}{above:>9.3f}"
                f"{(perf_counter() - started) / repeats:>9.2f}",
                flush=True,
            )


def show_false_alarms(repeats: int, samples: int, seed: int) -> None:
    alarm = 0.05
    most = int(binom.ppf(0.9999, repeats, alarm))
    print(f"\nfalse alarms at alarm {alarm} with {samples:,} samples: of {repeats:,}, at most {most} (99.99%)")
    for name, made, promise in AT_THEIR_CLAIM:
        for stop in (True, False):
            wrong = sum(
                f.is_broken for f in audits(made, promise, repeats, seed, samples=samples, alarm=alarm, stop=stop)
            )
            way = "stops" if stop else "goes on"
            print(f"{name + ', ' + way:<42}{wrong:>8}{'  within' if wrong <= most else '  OVER'}", flush=True)


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--repeats", type=int, default=200)
    options.add_argument("--false-alarms", type=int, default=2_000)
    options.add_argument("--samples", type=int, default=600, help="for false alarms")
    options.add_argument("--seed", type=int, default=1)
    options.add_argument("--only", choices=("power", "bounds", "alarms"))
    given = options.parse_args()
    if given.only in (None, "power"):
        show_power(given.repeats, given.seed)
    if given.only in (None, "bounds"):
        show_bounds(min(given.repeats, 100), given.seed)
    if given.only in (None, "alarms"):
        show_false_alarms(given.false_alarms, given.samples, given.seed)


if __name__ == "__main__":
    main()
