"""The mutation gate: small changes that break a guarantee, each with the tests that must fail on it.

    python tests/mutation/run.py                    all of them, two at a time (scripts/test --nightly does it)
    python tests/mutation/run.py svt- nest-         those whose names begin so
    python tests/mutation/run.py --file ledger/     those in these files of the source

A mutant is applied to a copy of the source, never to the tree itself. Its fields, in the TOML files beside this one:

    name        what it is called
    file, old, new   the file under src/discreet, a text that occurs once in it, and what takes its place
    tests       files or folders of tests that are run on it, until the first failure
    select      an expression for pytest's -k, which leaves out engines that need a server, and golden files
    equivalent  why no test can fail on it; such a mutant is not run

Its tests of the fast tier are run first, then those of the full one. It is killed where a test fails that passes on
the copy without it, and has survived where all pass. It is void where
that test fails without it too (tests of the sandbox do, away from the tree), and a run that times out says nothing.
"""

import argparse
import json
import os
import queue
import shutil
import subprocess
import sys
import tempfile
import time
import tomllib
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
NO_TESTS = 5  # what pytest ends with where the tests of a mutant are all of the full tier
Mutant = dict[str, Any]


def mutants() -> list[Mutant]:
    """All of them, area by area."""
    return [each for path in sorted(HERE.glob("*.toml")) for each in tomllib.loads(path.read_text())["mutant"]]


def mutated(mutant: Mutant, source: Path) -> str:
    """The text of a file with the change in it; the old text must occur once."""
    text = (source / mutant["file"]).read_text(encoding="utf-8")
    if text.count(mutant["old"]) != 1:
        raise ValueError(f"{mutant['name']}: its text occurs {text.count(mutant['old'])} times in {mutant['file']}")
    return text.replace(mutant["old"], mutant["new"])


def judged(mutant: Mutant, copy: Path, limit: float) -> tuple[str, str]:
    """Whether a mutant is killed, and by which test."""
    changed = copy / "discreet" / mutant["file"]
    text = mutated(mutant, copy / "discreet")
    original = changed.read_text(encoding="utf-8")
    changed.write_text(text, encoding="utf-8")
    try:
        verdict, by = _tested(mutant, copy, limit, "fast")
        if verdict == "SURVIVED":
            verdict, by = _tested(mutant, copy, limit, "full")
    finally:
        changed.write_text(original, encoding="utf-8")
    if verdict == "killed" and _tested(mutant | {"tests": [by], "select": ""}, copy, limit, "full")[0] != "SURVIVED":
        return "void", by
    return verdict, by


def _tested(mutant: Mutant, copy: Path, limit: float, tier: str) -> tuple[str, str]:
    words = [sys.executable, "-m", "pytest", "-x", "-q", "-n", "0", "--tier", tier, "--tb=line", "--no-header"]
    words += ["-p", "no:cacheprovider", *(["-k", mutant["select"]] if mutant.get("select") else []), *mutant["tests"]]
    known = {"PYTHONPATH": str(copy), "PYTHONDONTWRITEBYTECODE": "1", "HYPOTHESIS_STORAGE_DIRECTORY": str(copy / "h")}
    try:
        done = subprocess.run(
            words, cwd=ROOT, env=os.environ | known, capture_output=True, text=True, timeout=limit, check=False
        )
    except subprocess.TimeoutExpired:
        return "timed out", ""
    failed = [line for line in done.stdout.splitlines() if line.startswith(("FAILED tests/", "ERROR tests/"))]
    if done.returncode == 0 or (done.returncode == NO_TESTS and tier == "fast"):
        return "SURVIVED", ""
    return ("killed", failed[0].split(" ", 1)[1].split(" - ")[0]) if failed else ("broken", done.stdout[-300:])


def _wanted(arguments: argparse.Namespace) -> Iterator[Mutant]:
    for mutant in mutants():
        named = not arguments.names or mutant["name"].startswith(tuple(arguments.names))
        if named and mutant["file"].startswith(arguments.file) and "equivalent" not in mutant:
            yield mutant


def main() -> int:
    """Run those that are asked for; 1 where one survives."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", help="how names begin")
    parser.add_argument("--file", default="", help="how the path under src/discreet begins")
    parser.add_argument("--limit", type=float, default=600, help="seconds for each")
    parser.add_argument("--workers", type=int, default=2, help="how many at a time")
    parser.add_argument("--results", type=Path, help="a file to add a line of JSON to for each")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as room, ThreadPoolExecutor(arguments.workers) as pool:
        copies: queue.SimpleQueue[Path] = queue.SimpleQueue()
        for number in range(arguments.workers):
            copy = Path(room) / str(number)
            shutil.copytree(ROOT / "src" / "discreet", copy / "discreet", ignore=shutil.ignore_patterns("__pycache__"))
            copies.put(copy)
        verdicts = list(pool.map(lambda mutant: _reported(mutant, copies, arguments), _wanted(arguments)))
    counts = Counter(verdicts)
    print(f"{len(verdicts)} mutants: " + ", ".join(f"{number} {verdict}" for verdict, number in counts.most_common()))
    return 0 if set(counts) <= {"killed"} else 1


def _reported(mutant: Mutant, copies: queue.SimpleQueue[Path], arguments: argparse.Namespace) -> str:
    """Judge one mutant in a copy of the source that no other mutant is in."""
    copy = copies.get()
    start = time.monotonic()
    try:
        verdict, by = judged(mutant, copy, arguments.limit)
    finally:
        copies.put(copy)
    print(f"{mutant['name']}: {verdict} in {time.monotonic() - start:.0f} s {by}", flush=True)
    if arguments.results:
        with arguments.results.open("a", encoding="utf-8") as file:
            file.write(json.dumps({"name": mutant["name"], "verdict": verdict, "by": by}) + "\n")
    return verdict


if __name__ == "__main__":
    raise SystemExit(main())
