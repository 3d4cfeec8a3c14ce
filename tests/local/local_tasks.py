"""Tasks of every oracle, repeat and kind of domain for tests of the two clients, and a run of the one in JavaScript."""

import hashlib
import json
import os
import random
import shutil
import subprocess
from collections.abc import Callable, Iterable, Iterator, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from discreet.local import oracles
from discreet.local.client import Client
from discreet.local.oracles import ratio_within

HERE = Path(__file__).parent
JAVASCRIPT = HERE.parents[1] / "src" / "discreet" / "local" / "client.mjs"
KINDS = ("krr", "unary", "subset", "lh", "hadamard", "pgr", "duchi", "hybrid")
TWO_STAGES = ("krr", "unary", "lh")


def pair(ratio: Fraction) -> list[int]:
    """A ratio as tasks write it."""
    return [ratio.numerator, ratio.denominator]


def oracle(kind: str, size: int, epsilon: str) -> dict[str, Any]:
    """The integers of an oracle of so many slots."""
    kinds = {
        "krr": oracles.KaryResponse.calibrate,
        "unary": oracles.UnaryEncoding.optimal,
        "subset": oracles.SubsetSelection.calibrate,
        "lh": oracles.LocalHashing.calibrate,
        "hadamard": oracles.HadamardResponse.calibrate,
        "pgr": oracles.ProjectiveGeometryResponse.calibrate,
        "duchi": oracles.DuchiResponse.calibrate,
        "hybrid": oracles.HybridResponse.calibrate,
    }
    steps = kind in ("duchi", "hybrid")
    return kinds[kind](size - 1 if steps else size, Fraction(epsilon)).to_json()


def task(kind: str = "krr", size: int = 5, epsilon: str = "1", repeat: str = "fresh", **fields: Any) -> dict[str, Any]:
    """A task; the second stage of two has half of the epsilon."""
    numeric = kind in ("duchi", "hybrid")
    second: dict[str, Any] = {}
    if repeat == "two_stage":
        half = Fraction(epsilon) / 2
        root = ratio_within(half / 2)
        coins = {"one": pair(root / (root + 1)), "zero": pair(1 / (root + 1))}
        second = {
            "second": coins if kind == "unary" else {"ratio": pair(ratio_within(half))},
            "epsilon_second": f"{float(half):g}",
        }
    return {
        "format": "discreet.local.task/1",
        "question": "Which emoji did you send? ☺",
        "name": "emoji",
        "domain": {"low": "-1/3", "high": "12.75", "steps": size - 1} if numeric else {"size": size},
        "epsilon": epsilon,
        "oracle": oracle(kind, size, epsilon),
        "repeat": repeat,
        "max_values": None if repeat == "fresh" else 3,
        "default": size // 2,
        "cohorts": 7,
        "max_bytes": 4096,
        "trust": "local",
        "reports": 1000,
        **second,
        **fields,
    }


class Tape:
    """Bytes that a number determines, and those of them that were read."""

    def __init__(self, number: int) -> None:
        self.source, self.read_bytes = random.Random(number), b""  # noqa: S311 - test vectors

    def read(self, size: int) -> bytes:
        """The next bytes."""
        block = self.source.randbytes(size)
        self.read_bytes += block
        return block


def in_python(case: dict[str, Any], read: Callable[[int], bytes]) -> dict[str, Any]:
    """What the Python client makes of a case: its reports, and the records of its state."""
    secret = case.get("secret") and bytes.fromhex(case["secret"])
    state = json.loads(json.dumps(case.get("state")))
    client = Client(case["assignment"], secret, state, case.get("hash"))
    client._supply = read
    values = [(float(value["number"]) if isinstance(value, dict) else value, batch) for value, batch in case["values"]]
    reports = [client.report(value, batch).hex() for value, batch in values]
    return {"reports": reports, **({"records": state["records"]} if state is not None else {})}


def node_command() -> str:
    """Node; tests are skipped where a person lacks it, and fail where CI does."""
    node = shutil.which("node")
    if node is None:
        (pytest.fail if os.environ.get("CI") else pytest.skip)("no Node is installed: apt-get install nodejs")
    return str(node)


def in_javascript(cases: Iterable[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """What the JavaScript client makes of the same cases."""
    lines = "\n".join(json.dumps({name: each[name] for name in each.keys() - {"expected"}}) for each in cases)
    run = subprocess.run(
        [node_command(), HERE / "vectors.mjs", JAVASCRIPT],
        input=lines,
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert run.returncode == 0, run.stderr
    yield from map(json.loads, run.stdout.splitlines())


def case(given: dict[str, Any], values: Sequence[Any], number: int) -> dict[str, Any]:
    """A case with bytes that its number determines, and what the Python client makes of it."""
    batches = random.Random(-1 - number)  # noqa: S311 - test vectors
    made: dict[str, Any] = {"assignment": {"task": given, "cohort": number % given["cohorts"]}}
    if given["repeat"] != "fresh":
        made |= {"secret": hashlib.sha256(number.to_bytes(4, "big")).hexdigest(), "state": {}}
    made["values"], tape = [[value, batches.randrange(2**32)] for value in values], Tape(number)
    expected = in_python(made, tape.read)
    return made | {"entropy": tape.read_bytes.hex(), "expected": expected | {"used": len(tape.read_bytes)}}
