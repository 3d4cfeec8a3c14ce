"""One plan behind every door: the cost that is planned is the cost that is charged, and all doors have one fingerprint.

Golden statements are planned and run on the command line, by `session.sql` and as the frame that each equals, on DuckDB
and under a ledger of its own for each door. Costs are compared in the units of the ledger, to the last digit.
"""

import datetime as dt
import json

import pyarrow as pa
import pytest
from pyarrow import parquet
from typer.testing import CliRunner

import discreet as dp
from discreet.cli import app
from query.sql.statements import CATALOG, EPSILON, Golden, frame_queries, golden

TYPES = {
    "text": pa.string(),
    "integer": pa.int64(),
    "real": pa.float64(),
    "boolean": pa.bool_(),
    "date": pa.date32(),
    "timestamp": pa.timestamp("us"),
    "binary": pa.binary(),
}
VALUES = {
    "text": "A",
    "integer": 3,
    "real": 2.5,
    "boolean": True,
    "date": dt.date(2024, 5, 1),
    "timestamp": dt.datetime(2024, 5, 1, tzinfo=dt.UTC),
    "binary": b"1",
}
SAMPLE = 20


def _sample() -> list[object]:
    """Statements evenly spread over the golden ones, without a cost of their own; three of them in the fast tier."""
    known = {each.sql: each for each in golden("accepted") if each.dialect == "duckdb" and "epsilon" not in each.sql}
    all_of_them = list(known.values())
    batches = [each for each in all_of_them if len(frame_queries(each.frame)) > 1]
    unknown_keys = [each for each in all_of_them if "dp.discover" in each.frame]
    chosen = [*batches[:2], *unknown_keys[:2], *all_of_them[:: len(all_of_them) // SAMPLE]]
    return [
        pytest.param(each, id=each.name, marks=[] if place % 7 == 0 else [pytest.mark.full])
        for place, each in enumerate(chosen)
    ]


@pytest.fixture(scope="module")
def catalog(tmp_path_factory):
    """The catalog of the golden statements with a small file for each table."""
    place = tmp_path_factory.mktemp("catalog")
    text = CATALOG.to_yaml()
    for name, table in CATALOG.tables.items():
        kinds = {column: str(facts.type) for column, facts in table.columns.items()}
        arrays = {column: pa.array([VALUES[kind]] * 4, TYPES[kind]) for column, kind in kinds.items()}
        parquet.write_table(pa.table(arrays), place / f"{name}.parquet")
        text = text.replace(f"\n  {name}:\n", f"\n  {name}:\n    source: {place}/{name}.parquet\n")
    path = place / "catalog.yaml"
    path.write_text(text)
    return path


@pytest.fixture(scope="module")
def sessions(catalog):
    """Two sessions, each under a ledger of its own."""
    ledgers = [dp.SQLiteLedger(":memory:") for _ in range(2)]
    with dp.Session(catalog, ledger=ledgers[0]) as first, dp.Session(catalog, ledger=ledgers[1]) as second:
        yield first, second


def _on_command_line(verb: str, catalog, place) -> dict:
    words = [verb, str(place), "--epsilon", str(float(EPSILON)), "--catalog", str(catalog), "--json"]
    result = CliRunner().invoke(app, words)
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout)


@pytest.mark.parametrize("statement", _sample())
def test_the_planned_cost_is_charged_and_every_door_has_the_same_fingerprint(
    statement: Golden, catalog, sessions, tmp_path
):
    place = tmp_path / "query.sql"
    place.write_text(statement.sql)
    plan, run = (_on_command_line(verb, catalog, place) for verb in ("plan", "run"))
    by_sql, by_frame = sessions
    answers = by_sql.sql(statement.sql, epsilon=EPSILON).releases
    queries = frame_queries(statement.frame)
    frames = by_frame.release(queries if len(queries) > 1 else queries[0], epsilon=EPSILON)
    receipts = [
        run["releases"][0]["receipt"],
        answers[0].receipt,
        (frames[0] if isinstance(frames, list) else frames).receipt,
    ]
    assert plan["fits"]
    assert plan["charge"] == receipts[0]["cost"]
    for name in ("cost", "question", "description", "event"):
        assert len({json.dumps(each[name]) for each in receipts}) == 1, name


def test_the_sample_is_large_and_covers_many_constructs():
    statements = [parameter.values[0] for parameter in _sample()]
    assert len(statements) >= SAMPLE
    assert len({each.construct for each in statements}) >= SAMPLE // 2
