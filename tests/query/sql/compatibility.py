"""docs/compatibility-sql.md, made from the golden suite: each construct in four other systems and here."""

import tomllib
from functools import cache

import discreet as dp
from query.sql.statements import GOLDEN, Golden, golden, queries_of

TITLES = {"bigquery": "BigQuery", "snowflake": "Snowflake", "aws": "AWS Clean Rooms", "smartnoise": "SmartNoise SQL"}
UNKNOWN = "not documented"
HEAD = """# SQL beside other systems

Constructs of the SQL of four other systems with differential privacy, and whether [this one](sql.md) accepts them. Each
statement is one of the tests in `tests/query/sql/golden`. Cells of other systems come from their own documents, of
SmartNoise SQL from its grammar; `tests/query/sql/golden/systems.toml` names them. *not documented*: these documents say
nothing. *in its grammar*: it is parsed, and nothing says whether it is answered. This page is generated; do not edit
it. After a change: `DISCREET_WRITE_GOLDEN=1 .venv/bin/python -m pytest tests/query/sql/test_compatibility.py`.
"""


@cache
def systems() -> dict[str, list[dict[str, str]]]:
    """The rows of `systems.toml`, and the constructs that have no row."""
    found: dict[str, list[dict[str, str]]] = tomllib.loads((GOLDEN / "systems.toml").read_text(encoding="utf-8"))
    return found


def page() -> str:
    """The whole page."""
    accepted, refused = _by_construct("accepted"), _by_construct("refused")
    taken = [row for row in systems()["row"] if row["construct"] in accepted]
    left = [row for row in systems()["row"] if row["construct"] not in accepted]
    lines = [HEAD, "## Accepted", "", *_header("a statement that is accepted")]
    lines += [_line(row, _code(_example(row, accepted).sql)) for row in taken]
    lines += ["", "## Refused", "", *_header("why, and what is accepted instead")]
    lines += [_line(row, _refusal(_example(row, refused))) for row in left]
    return "\n".join([*lines, ""])


def _header(here: str) -> list[str]:
    return [f"| construct | {' | '.join(TITLES.values())} | {here} |", "|---|" + "---|" * (len(TITLES) + 1)]


def _by_construct(kind: str) -> dict[str, list[Golden]]:
    found: dict[str, list[Golden]] = {}
    for each in golden(kind):
        found.setdefault(each.construct, []).append(each)
    return found


def _example(row: dict[str, str], statements: dict[str, list[Golden]]) -> Golden:
    """The shortest statement of a construct, or the shortest with the words that a row names."""
    named = [each for each in statements[row["construct"]] if row.get("example", "") in each.sql]
    return min(named, key=lambda each: (len(each.sql), each.sql))


def _line(row: dict[str, str], here: str) -> str:
    return f"| {row['title']} | {' | '.join(row[system] for system in TITLES)} | {here} |"


def _code(sql: str) -> str:
    """A statement on one line."""
    *lines, _ = sql.splitlines()
    assert not any("--" in line for line in lines), "a comment would hide the lines after it"
    return f"`{' '.join(sql.split())}`".replace("|", "\\|")


def _refusal(statement: Golden) -> str:
    """What a user reads: the reason and the advice, on one line."""
    try:
        queries_of(statement.sql, statement.dialect)
    except dp.Refusal as refusal:
        advice = " ".join(refusal.instead.split())
        return f"{_code(statement.sql)}: {refusal.because}. Instead: {advice}".replace("|", "\\|")
    raise AssertionError(f"{statement.name} was accepted")
