"""Peers of scripts/bench learning: private models of other packages, on the same rows and the same declared bounds.

Each runs in a Python that has it, given by --peer. Environments that this was run with:

    python3.11 -m venv ebm && ebm/bin/pip install interpret-core==0.7.8
    python3.11 -m venv diffprivlib && diffprivlib/bin/pip install diffprivlib==0.6.6 scikit-learn==1.5.2 "numpy<2.3"
    python3.11 -m venv opacus && opacus/bin/pip install opacus==1.6.0 torch==2.13.0

A peer that no given Python can import is left out, and the reason is printed.
"""

import json
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from adult_features import CLASSES, FEATURES

from discreet.testing import generator

HERE = Path(__file__).parent / "peers"
PEERS = {"DP-EBM": "learning_ebm", "diffprivlib logistic": "learning_diffprivlib", "Opacus logistic": "learning_opacus"}
BOUNDS = {
    "Age": (17, 90),
    "fnlwgt": (0, 1_500_000),
    "Education-Num": (1, 17),
    "Capital Gain": (0, 100_000),
    "Capital Loss": (0, 5_000),
    "Hours per week": (1, 99),
}
LOGARITHMS = ("Capital Gain", "Capital Loss")

Rows = tuple[pd.DataFrame, pd.Series]
Figures = dict[tuple[str, float], list[tuple[float, float]]]
"""Area and accuracy of each run, by model and epsilon."""


def parts(rows: Rows) -> dict[str, Any]:
    """The rows as a peer gets them: numbers from 0 to 1 by declared bounds, codes of categories, and all slots."""
    table, target = rows
    numbers = []
    for name, (low, high) in BOUNDS.items():
        cells = np.clip(table[name].to_numpy(dtype=float), low, high)
        is_log = name in LOGARITHMS
        numbers.append(np.log1p(cells) / np.log1p(high) if is_log else (cells - low) / (high - low))
    codes = {name: feature.encode(table[name]) for name, feature in FEATURES.items()}
    slots = {name: np.eye(FEATURES[name].slots, dtype=np.int8)[codes[name]] for name in FEATURES}
    texts = [name for name in FEATURES if name not in BOUNDS]
    return {
        "numbers": np.stack(numbers, axis=1),
        "codes": np.stack([codes[name] for name in texts], axis=1).astype(np.int64),
        "categories": np.hstack([slots[name] for name in texts]),
        "slots": np.hstack(list(slots.values())),
        "labels": (target == CLASSES[1]).to_numpy(),
    }


def write_parts(folder: Path, train: Rows, test: Rows) -> None:
    """`test.npz` for the figures; `choice.npz`, with a fifth of the training rows held out, for settings."""
    fit, score = parts(train), parts(test)
    is_held_out = generator(1).random(len(train[1])) < 0.2
    halves = {
        "test": {"fit": fit, "score": score},
        "choice": {
            "fit": {name: values[~is_held_out] for name, values in fit.items()},
            "score": {name: values[is_held_out] for name, values in fit.items()},
        },
    }
    for name, both in halves.items():
        flat = {f"{part}/{key}": values for part, arrays in both.items() for key, values in arrays.items()}
        np.savez(folder / f"{name}.npz", **flat)


def answer(script: str, pythons: Sequence[str], arguments: list[str]) -> tuple[dict[str, Any] | None, str]:
    """What a peer prints, by the first Python that runs it; otherwise the last line of the last error."""
    reason = "no --peer PYTHON was given"
    for python in pythons:
        done = subprocess.run([python, HERE / f"{script}.py", *arguments], capture_output=True, text=True, check=False)
        if done.returncode == 0:
            return json.loads(done.stdout.splitlines()[-1]), ""
        reason = done.stderr.strip().splitlines()[-1]
    return None, reason


def figures(
    pythons: Sequence[str], train: Rows, test: Rows, *, epsilons: Sequence[float], runs: int, score: Any
) -> Figures:
    """Area and accuracy of every peer on the test rows, in the order of the table; versions and reasons are printed."""
    found: Figures = {}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_parts(folder, train, test)
        for peer, script in PEERS.items():
            printed, reason = answer(script, pythons, [str(folder), json.dumps(list(epsilons)), str(runs)])
            if printed is None:
                print(f"left out: {peer}, because {reason}", flush=True)
                continue
            print(f"{peer}: {printed['versions']}")
            for made in sorted(printed["made"], key=lambda each: (each["way"], each["epsilon"])):
                print(
                    f"  epsilon {made['epsilon']:g}, {made['way']}: {made['setting']}, {made['seconds']:.1f} s",
                    flush=True,
                )
                title = peer if made["way"] == "chosen" else f"{peer}, defaults"
                found[title, made["epsilon"]] = [score(scores) for scores in np.load(made["path"])]
    return found
