"""A peer of scripts/bench learning: chooses among settings on a part of the training rows, then fits for the test rows.

Run with a Python that has the peer; discreet is not needed. A setting is chosen for each epsilon by two fits on the
parts of `choice.npz`, which are both of the training file. No noise is added to this choice and no budget is charged
for it: it favours the peer. `defaults` are fitted beside it. The scores of the test rows go to a file of numpy.
"""

import json
import sys
import time
import warnings
from collections.abc import Callable, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

DELTA = 1e-5
CHOICE_FITS = 2

Parts = dict[str, Any]
"""`numbers`, `codes` and `slots` of some rows, as learning_peers.write_parts makes them, and their `labels`."""

Setting = dict[str, Any]
Fit = Callable[[Parts, Parts, float, Setting], Any]
"""Scores of the second rows, by a model of the first at this epsilon."""


def read(path: Path) -> tuple[Parts, Parts]:
    """Rows to fit to, and rows to score."""
    stored = np.load(path, allow_pickle=False)
    fit, score = (
        {name.split("/")[1]: stored[name] for name in stored.files if name.startswith(f"{part}/")}
        for part in ("fit", "score")
    )
    return fit, score


def area(labels: Any, scores: Any) -> float:
    """Area under the ROC curve, by ranks; ties count half."""
    _, places, counts = np.unique(scores, return_inverse=True, return_counts=True)
    ranks = (np.cumsum(counts) - (counts - 1) / 2)[places]
    positives = int(labels.sum())
    found: float = (ranks[labels].sum() - positives * (positives + 1) / 2) / (positives * (len(labels) - positives))
    return found


def best(fit: Fit, settings: Sequence[Setting], folder: Path, epsilon: float) -> Setting:
    """The setting with the largest mean area on the held out part of the training rows."""
    rows, others = read(folder / "choice.npz")
    labels = others["labels"]
    means = [
        np.mean([area(labels, fit(rows, others, epsilon, setting)) for _ in range(CHOICE_FITS)]) for setting in settings
    ]
    return settings[int(np.argmax(means))]


def run(fit: Fit, *, packages: Sequence[str], settings: Sequence[Setting], defaults: Setting | None) -> None:
    """Fit and print what was done, as JSON: arguments are the folder, the epsilons and the number of runs."""
    warnings.filterwarnings("ignore")
    folder, epsilons, runs = Path(sys.argv[1]), json.loads(sys.argv[2]), int(sys.argv[3])
    rows, others = read(folder / "test.npz")
    made = []
    for epsilon in epsilons:
        ways = {"chosen": best(fit, settings, folder, epsilon)}
        ways |= {"defaults": defaults} if defaults is not None else {}
        for way, setting in ways.items():
            start = time.perf_counter()
            scores = np.stack([fit(rows, others, epsilon, setting) for _ in range(runs)])
            seconds = (time.perf_counter() - start) / runs
            path = folder / f"scores-{len(made)}.npy"
            np.save(path, scores)
            made.append({"epsilon": epsilon, "way": way, "setting": setting, "seconds": seconds, "path": str(path)})
    print(json.dumps({"versions": {name: version(name) for name in packages}, "made": made}))
