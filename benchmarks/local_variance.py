"""Measured variances of local oracles beside theory, and the time that decoding takes: scripts/bench local_variance.

Reports are simulated with the exact probabilities of each oracle. Half of the clients have slot 0 and half slot 1, and
an estimate is the count of one other slot in one collection. With two slots it is the count of slot 0 from reports of
slot 1. The error of local hashing includes what hash functions cost, at as many cohorts as a task has; it is that of
400 slots, because it does not depend on their number and errors of one collection share hash functions. An oracle of a
mean estimates from reports at the step of largest variance. With M estimates the
standard deviation of a measured variance is about sqrt(2/M), which is 0.7% for 40,000, so a difference of 3% is more
than four standard deviations.
"""

import argparse
import math
import time
from dataclasses import replace

import numpy as np

from discreet.local.choice import cohorts_for
from discreet.local.oracles import (
    DuchiResponse,
    FrequencyOracle,
    HadamardResponse,
    HybridResponse,
    KaryResponse,
    LocalHashing,
    LocalRandomizer,
    MeanOracle,
    ProjectiveGeometryResponse,
    SubsetSelection,
    UnaryEncoding,
)
from discreet.local.simulation import simulate

EPSILONS = (0.5, 1, 3)
DOMAINS = (2, 16, 1024, 100_000)
HASHED_SLOTS = 402
TOGETHER = 100


def oracles(size: int, epsilon: float) -> list[tuple[str, LocalRandomizer]]:
    """All oracles of one domain and epsilon, by the names of the table."""
    return [
        ("krr", KaryResponse.calibrate(size, epsilon)),
        ("unary, symmetric", UnaryEncoding.symmetric(size, epsilon)),
        ("unary, optimal", UnaryEncoding.optimal(size, epsilon)),
        ("subset", SubsetSelection.calibrate(size, epsilon)),
        ("lh", LocalHashing.calibrate(size, epsilon)),
        ("hadamard", HadamardResponse.calibrate(size, epsilon)),
        ("pgr", ProjectiveGeometryResponse.calibrate(size, epsilon)),
        ("duchi", DuchiResponse.calibrate(size - 1, epsilon)),
        ("hybrid", HybridResponse.calibrate(size - 1, epsilon)),
    ]


def measured(oracle: LocalRandomizer, estimates: int, generator: np.random.Generator) -> tuple[float, float, int]:
    """The measured variance for each report, that of theory, and the number of estimates."""
    if isinstance(oracle, MeanOracle):
        return mean_variance(oracle, estimates, generator)
    assert isinstance(oracle, FrequencyOracle)  # noqa: S101 - for mypy
    if oracle.size == 2 and not isinstance(oracle, LocalHashing):
        return pair_variance(oracle, estimates, generator)
    if isinstance(oracle, LocalHashing):
        oracle = replace(oracle, size=HASHED_SLOTS)
    reports = math.ceil(max(400, 20 / oracle.false_rate))
    histogram = np.zeros(oracle.size, dtype=np.int64)
    histogram[:2] = reports // 2
    reports = int(histogram.sum())
    cohorts = cohorts_for(oracle, reports) if isinstance(oracle, LocalHashing) else 1
    errors: list[np.ndarray] = []
    while sum(map(len, errors)) < estimates:
        task = oracle.bind(generator.bytes(8), cohorts)
        errors.append((task.estimate(simulate(task, histogram, generator), reports) - histogram)[2:])
    theory = task.variance() + reports * task.floor_variance(0.5)
    every = np.concatenate(errors)
    return float(np.mean(every**2)) / reports, theory, len(every)


def pair_variance(oracle: FrequencyOracle, estimates: int, generator: np.random.Generator) -> tuple[float, float, int]:
    """The same for counts of slot 0 from reports of slot 1."""
    law, scores = oracle.pmf(1), []
    for outcome in law:
        counts = np.zeros(oracle.symbols or oracle.size, dtype=np.int64)
        counts[list(outcome) if isinstance(outcome, tuple) else outcome] = 1
        scores.append(oracle.estimate(counts, 1)[0])
    drawn = generator.multinomial(TOGETHER, [float(mass) for mass in law.values()], size=estimates)
    return float(np.mean((drawn @ np.array(scores)) ** 2)) / TOGETHER, oracle.variance(), estimates


def mean_variance(oracle: MeanOracle, estimates: int, generator: np.random.Generator) -> tuple[float, float, int]:
    """The same for scores, at the step of largest variance; one report each where there are many symbols."""
    slot = max((0, oracle.steps // 2), key=oracle.variance_at)
    law, reports = np.array([float(mass) for mass in oracle.pmf(slot).values()]), TOGETHER
    if oracle.symbols == 2:
        errors = generator.multinomial(reports, law, size=estimates) @ (oracle.scores - slot)
        squares = float(np.mean(errors**2))
    else:
        reports = 1
        squares = float(generator.multinomial(estimates, law / law.sum()) @ (oracle.scores - slot) ** 2) / estimates
    return squares / reports / (oracle.steps / 2) ** 2, oracle.variance(slot), estimates


def decoding(oracle: LocalRandomizer, generator: np.random.Generator) -> float:
    """Seconds that the estimates of all slots take."""
    task = oracle.bind(bytes(8), cohorts_for(oracle, 1_000_000)) if isinstance(oracle, LocalHashing) else oracle
    cells = task.symbols or task.size
    shape = (task.cohorts, cells) if isinstance(task, LocalHashing) else (cells,)
    counts = generator.integers(0, 20, shape)
    start = time.perf_counter()
    task.estimate(counts, int(counts.sum()))
    return time.perf_counter() - start


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description="variances of local oracles, measured and by theory")
    parser.add_argument("--estimates", type=int, default=40_000)
    parser.add_argument("--domains", type=int, nargs="+", default=list(DOMAINS))
    parser.add_argument("--epsilons", type=float, nargs="+", default=list(EPSILONS))
    chosen = parser.parse_args()
    generator, worst = np.random.default_rng(), 0.0
    print("| slots | epsilon | oracle | variance, theory | measured | ratio | estimates | decoding, s |")
    print("|---|---|---|---|---|---|---|---|")
    for size in chosen.domains:
        for epsilon in chosen.epsilons:
            for name, oracle in oracles(size, epsilon):
                found, theory, number = measured(oracle, chosen.estimates, generator)
                worst = max(worst, abs(found / theory - 1))
                seconds = decoding(oracle, generator)
                row = f"{theory:.4g} | {found:.4g} | {found / theory:.3f} | {number:,} | {seconds:.3f}"
                print(f"| {size:,} | {epsilon:g} | {name} | {row} |", flush=True)
    print(f"largest difference from theory: {worst:.2%}")


if __name__ == "__main__":
    main()
