"""The commands of the app, found by walking it, and a directory in which their examples run."""

import os
import shlex
from importlib.machinery import SourceFileLoader
from importlib.util import module_from_spec, spec_from_loader
from pathlib import Path
from types import ModuleType
from typing import Any

from pyarrow import csv

import discreet as dp
from discreet.cli import local_files
from discreet.ledger.records.signatures import public_keys

ROOT = Path(__file__).parent.parent.parent
OTHERS = {"completion", "demo", "sql"}
"""Commands that print a script, a tour or one document for each statement: their own tests run them."""
MECHANISM = "import random\n\n\ndef noisy_count(people):\n    return len(people) + random.gauss(0, 1)\n"

PEOPLE = """
  people:
    source: people.csv
    privacy_unit: id
    max_rows: 1
    budget: {epsilon: 2, delta: 0.000000001}
    columns:
      id: {type: integer}
      age: {type: integer, bounds: [0, 90]}
      sex: {type: text, keys: [F, M]}
"""
"""The table of the examples for synthetic tables, whose budget has a delta."""


def generator() -> ModuleType:
    """The script that writes the reference page."""
    loader = SourceFileLoader("commands_script", str(ROOT / "scripts" / "commands"))
    spec = spec_from_loader(loader.name, loader)
    assert spec is not None
    module = module_from_spec(spec)
    loader.exec_module(module)
    return module


SCRIPT = generator()
COMMANDS: dict[str, Any] = {" ".join(words[1:]): command for words, command, _ in SCRIPT.commands()}
EXAMPLES: dict[str, list[str]] = {
    name: shlex.split(SCRIPT.example(command))[1:]
    for name, command in COMMANDS.items()
    if SCRIPT.example(command) is not None
}
LOCAL = {name: words for name, words in EXAMPLES.items() if not any("db.example.org" in word for word in words)}


def prepare_local(place: Path) -> None:
    """Write a task of the local model, values, reports and their counts."""
    emoji = ["smile", "tear", "heart"]
    task = dp.local.Task.choose(domain=emoji, epsilon=1, n=1_000_000)
    task.save(place / "task.json")
    (place / "emoji.txt").write_text("".join(f"{value}\n" for value in emoji))
    (place / "answers.txt").write_text("smile\ntear\n" * 100)
    reports = local_files.encode_values(task, iter(["smile", "tear"] * 100), 0).reports
    local_files.write_reports(task, reports, place / "reports.bin")
    state = dp.local.collector.count_reports(task, reports)
    (place / "counts.acc").write_bytes(state.to_bytes())


def prepare(place: Path, catalog: str, statement: str) -> dict[str, str]:
    """Write all files that the examples name; return the environment in which they run."""
    home = place / "home"
    home.mkdir(mode=0o700)
    csv.write_csv(dp.datasets.visits(300), place / "visits.csv")
    rows = "".join(f"{i},{i % 90},{'FM'[i % 2]}\n" for i in range(300))
    (place / "people.csv").write_text(f"id,age,sex\n{rows}")
    (place / "catalog.yaml").write_text(catalog.rstrip() + PEOPLE)
    (place / "query.sql").write_text(statement)
    (place / "mine.py").write_text(MECHANISM)
    (place / "published.csv").write_text("age,visits\n30,12\n40,9\n")
    prepare_local(place)
    before = os.environ.get("DISCREET_HOME", "")
    here = Path.cwd()
    os.environ["DISCREET_HOME"] = str(home)
    os.chdir(place)
    try:
        with dp.Session("catalog.yaml") as session:
            query = dp.table("visits").agg(n=dp.count())
            for name, epsilon in (("release", 0.1), ("june", 0.2), ("july", 0.3)):
                session.release(query, epsilon=epsilon).save(f"{name}.json")
            session.sql(statement, epsilon=0.25).save("table.csv")
    finally:
        os.environ["DISCREET_HOME"] = before
        os.chdir(here)
    (key,) = public_keys(home / "signing.key").values()
    return {"DISCREET_HOME": str(home), "KEY": key}
