"""Figures of docs/learning-accuracy.md on audits: lower bounds on epsilon from canaries, for every estimator.

    OMP_NUM_THREADS=1 scripts/bench learning_audits [--runs 10] [--epsilons 1 8] [--networks]

Each run draws coins and noise anew, and makes one fit. Bounds have a confidence of 95%, for each run alone. Networks
need discreet[torch].
"""

import argparse
import logging
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np

import discreet as dp
from discreet.auditing.claims import Claim
from discreet.auditing.finding import Finding

sys.path.append(str(Path(__file__).resolve().parents[1] / "tests" / "learning"))

import audit_cases as cases

ALARM = 0.05
Run = Callable[[Claim], Finding]
Row = tuple[str, int, Callable[[float], Run], Run]


def rows(networks: bool) -> Iterator[Row]:
    """Name, number of canaries, the audit at an epsilon, and that without noise."""
    for audit in (*cases.AUDITS, *((cases.NETWORK,) if networks else ())):
        yield (
            str(audit),
            audit.canaries,
            lambda epsilon, audit=audit: (
                lambda claim: cases.run(audit, cases.fit_privately(audit, epsilon), claim, alarm=ALARM)
            ),
            lambda claim, audit=audit: cases.run(audit, cases.fit_without_noise(audit), claim, alarm=ALARM),
        )
    yield (
        "StandardScaler",
        cases.SCALER_CANARIES,
        lambda epsilon: lambda claim: cases.run_scaler(cases.scale_privately(epsilon), claim, alarm=ALARM),
        lambda claim: cases.run_scaler(cases.scale_without_noise, claim, alarm=ALARM),
    )
    yield (
        "moments of a session",
        cases.MOMENT_CANARIES,
        lambda epsilon: lambda claim: cases.run_moments(epsilon, claim, alarm=ALARM),
        lambda claim: cases.run_moments(1, claim, alarm=ALARM, protect=dp.testing.protect),
    )


def bounds(run: Run, claim: Claim, count: int) -> list[float]:
    """The lower bounds of some runs."""
    return [run(claim).found or 0.0 for _ in range(count)]


def cell(found: list[float]) -> str:
    """Median and largest."""
    return f"{np.median(found):.2f} ({max(found):.2f})"


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=10)
    parser.add_argument("--epsilons", type=float, nargs="+", default=(1.0, 8.0))
    parser.add_argument("--networks", action="store_true")
    given = parser.parse_args()
    logging.getLogger("discreet").setLevel(logging.ERROR)
    titles = " | ".join(f"charged epsilon {epsilon:g}" for epsilon in given.epsilons)
    print(
        f"| estimator | canaries | {titles} | without noise |\n|---|---|{'---|' * len(given.epsilons)}---|", flush=True
    )
    for name, canaries, private, bare in rows(given.networks):
        cells = [cell(bounds(private(epsilon), cases.stated(epsilon), given.runs)) for epsilon in given.epsilons]
        cells.append(cell(bounds(bare, cases.stated(1), min(given.runs, 3))))
        print(f"| {name} | {canaries:,} | {' | '.join(cells)} |", flush=True)
    for name, scale in (
        ("mean and deviation of scikit-learn", cases.scale_by_scikit_learn),
        ("least and largest value of scikit-learn", cases.scale_to_the_extremes),
        ("StandardScaler with bounds from rows", cases.bounds_from_rows(1)),
    ):
        print(f"{name}: {cases.run_scaler(scale, cases.stated(1), alarm=ALARM).found:.2f}", flush=True)
    for audit in cases.AUDITS:
        found = [
            cases.run(audit, fit(audit, 1), cases.stated(1), alarm=ALARM, rows_each=500, canaries=150).found
            for fit in (cases.fit_privately, cases.fit_rows)
        ]
        print(f"{audit}, 500 rows each: people clipped {found[0]:.2f}, rows clipped {found[1]:.2f}", flush=True)
