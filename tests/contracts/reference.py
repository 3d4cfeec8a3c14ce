"""docs/reference/engines.md, made from the contract suite: what every engine does, and the gaps that tests carry."""

from collections.abc import Iterator
from types import ModuleType
from typing import Any

from opened import ENGINES

WORDS = ("never", "notyet", "notimpl")
TITLES = {"duckdb": "DuckDB", "postgres": "PostgreSQL", "spark": "Spark", "sqlite": "SQLite"}
HEAD = """# Engine support

Behaviour that the contract tests (`tests/contracts`) check on every engine; all engines return the same integers.
*never*: the engine cannot do it. *notyet*: planned. *notimpl*: not requested so far. This page is generated; do not
edit it. After a change: `DISCREET_WRITE_GOLDEN=1 .venv/bin/python -m pytest tests/contracts/test_reference.py`.

[Collections of DAP](../local.md#trust) are the fifth engine, over one vector of sums and the number of reports. It
answers counts, counts by bucket, sums and means, and refuses all other queries before the charge. It has no rows, so
this table does not apply to it.
"""


def page(modules: list[ModuleType]) -> str:
    """The whole page."""
    reasons: dict[str, int] = {}
    titles = " | ".join(TITLES[engine] for engine in ENGINES)
    lines = [HEAD, f"| behaviour | {titles} |", "|---|" + "---|" * len(ENGINES)]
    for module in modules:
        for name, test in _tests(module):
            cells = [_cell(gaps, reasons) for gaps in _gaps(test)]
            lines.append(f"| {name} | {' | '.join(cells)} |")
    notes = [f"{number}. {reason}" for reason, number in reasons.items()]
    return "\n".join([*lines, "", "## Gaps", "", *(notes or ["None."]), ""])


def _tests(module: ModuleType) -> Iterator[tuple[str, Any]]:
    for name, thing in vars(module).items():
        if name.startswith("test_"):
            yield name.removeprefix("test_").replace("_", " "), thing


def _gaps(test: Any) -> list[list[tuple[str, str]]]:
    """For each engine the gaps of a test: its own, and those of single cases."""
    marks = list(getattr(test, "pytestmark", []))
    found = [(mark.name, *mark.args, "") for mark in marks if mark.name in WORDS]
    for mark in marks:
        if mark.name == "parametrize":
            for case in mark.args[1]:
                inner = getattr(case, "marks", ())
                found += [(each.name, *each.args, f" ({_named(case)})") for each in inner if each.name in WORDS]
    return [[(word, reason + case) for word, which, reason, case in found if which == engine] for engine in ENGINES]


def _named(case: Any) -> str:
    return str(case.id or ", ".join(map(str, case.values)))


def _cell(gaps: list[tuple[str, str]], reasons: dict[str, int]) -> str:
    if not gaps:
        return "yes"
    return ", ".join(f"{word} [{reasons.setdefault(reason, len(reasons) + 1)}]" for word, reason in gaps)
