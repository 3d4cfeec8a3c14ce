"""Reports that one client of the local model makes in a second of CPU, plain CPython, without discreet.

    scripts/bench local_client [--size 1024] [--epsilon 1] [--rounds 5] [--reports 20000]

The client is imported from a copy of its file alone. CPU time is that of this process; the oracles take turns, and the
median of the rounds is printed, with the slowest and the fastest. Wall time depends on what else the machine does.
"""

import argparse
import importlib.util
import shutil
import statistics
import sys
import tempfile
import time
from fractions import Fraction
from pathlib import Path
from types import ModuleType
from typing import Any

from discreet.local import oracles

SOURCE = Path(oracles.__file__).parents[1] / "client.py"
GOAL = 25_000
SHORT = {
    "krr": oracles.KaryResponse,
    "lh": oracles.LocalHashing,
    "hadamard": oracles.HadamardResponse,
    "pgr": oracles.ProjectiveGeometryResponse,
}


def copied_client(place: Path) -> ModuleType:
    """The module from a copy of its file."""
    path = Path(shutil.copy(SOURCE, place / "client.py"))
    spec = importlib.util.spec_from_file_location("copied_client", path)
    assert spec is not None  # noqa: S101 - a file of Python has a loader
    assert spec.loader is not None  # noqa: S101
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def assignment(kind: str, size: int, epsilon: str) -> dict[str, Any]:
    """A task of fresh reports, and a cohort."""
    task = {
        "format": "discreet.local.task/1",
        "name": "benchmark",
        "domain": {"size": size},
        "epsilon": epsilon,
        "oracle": SHORT[kind].calibrate(size, Fraction(epsilon)).to_json(),
        "repeat": "fresh",
        "max_values": None,
        "default": 0,
        "cohorts": 100,
        "max_bytes": 40,
    }
    return {"task": task, "cohort": 7}


def rate(client: Any, size: int, reports: int) -> tuple[float, float]:
    """Reports a second of CPU and of wall time."""
    report = client.report
    cpu, wall = time.process_time(), time.perf_counter()
    for number in range(reports):
        report(number % size)
    return reports / (time.process_time() - cpu), reports / (time.perf_counter() - wall)


def main() -> None:
    """Measure the short oracles in turns."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--size", type=int, default=1024)
    parser.add_argument("--epsilon", default="1")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--reports", type=int, default=20_000)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as place:
        module = copied_client(Path(place))
        clients = {kind: module.Client(assignment(kind, given.size, given.epsilon)) for kind in SHORT}
        rates: dict[str, list[tuple[float, float]]] = {kind: [] for kind in SHORT}
        for _ in range(given.rounds):
            for kind, client in clients.items():
                rates[kind].append(rate(client, given.size, given.reports))
    print(
        f"\n{given.size:,} values, epsilon {given.epsilon}, Python {sys.version.split()[0]}, goal {GOAL:,} a second\n"
    )
    print("| oracle | bytes | reports a second of CPU | slowest | fastest | of wall time |\n|---|---|---|---|---|---|")
    for kind, both in rates.items():
        cpu, wall = zip(*both, strict=True)
        length = len(clients[kind].report(0))
        figures = (statistics.median(cpu), min(cpu), max(cpu), statistics.median(wall))
        print(f"| {kind} | {length} | " + " | ".join(f"{figure:,.0f}" for figure in figures) + " |")


if __name__ == "__main__":
    main()
