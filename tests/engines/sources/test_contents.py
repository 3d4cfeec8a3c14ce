"""The state of a public table: what its rows are, whatever their order; what a question reads is made of that state."""

import sqlite3
from pathlib import Path

import pyarrow as pa
import pytest

import discreet as dp
from discreet.accounting.filters import Budget
from discreet.engines import RegisteredSource, Workspace, engine_of, source_of
from discreet.engines.sources import contents
from discreet.errors import SourceError
from discreet.planner.queries.tables import analyze

CATALOG = dp.Catalog.parse("""
tables:
  visits:
    privacy_unit: p
    max_rows: 9
    columns: {p: {type: integer}, w: {type: text}}
  wards:
    public: true
    columns: {w: {type: text}, beds: {type: integer, bounds: [0, 90]}, share: {type: real, bounds: [0, 1]}}
""")
VISITS, WARDS = dp.table("visits"), dp.table("wards")
JOINED = VISITS.join(WARDS, on="w")
BEDS = JOINED.agg(n=dp.sum("beds"))
SHARES = JOINED.agg(n=dp.sum("share"))
ROWS = [("a", 1, 0.5), ("b", 2, None), (None, 3, 0.25), ("b", 2, None)]


def _pushdown(query):
    return analyze(query.plan, CATALOG, Budget(epsilon=1), epsilon=1).pushdown


class Wards:
    """Visits and wards in one place, of which the wards can be written anew."""

    def __init__(self, kind: str, directory: Path) -> None:
        self.kind, self.path = kind, directory / f"rows.{kind}"
        self.write(ROWS)
        if kind == "csv":
            visits, wards = source_of(pa.table({"p": [1, 2], "w": ["a", "b"]})), source_of(self.path)
        else:
            visits, wards = (source_of(self.path, table=name) for name in ("visits", "wards"))
        sources = {"visits": RegisteredSource(visits, 7), "wards": RegisteredSource(wards, 0)}
        self.engine = engine_of(visits)(sources, Workspace(directory))

    def write(self, rows) -> None:
        if self.kind == "csv":
            cells = [",".join("" if cell is None else str(cell) for cell in row) for row in rows]
            self.path.write_text("\n".join(["w,beds,share", *cells, ""]), encoding="utf-8")
            return
        with sqlite3.connect(self.path) as file:
            file.execute("CREATE TABLE IF NOT EXISTS visits AS SELECT 1 AS p, 'a' AS w UNION ALL SELECT 2, 'b'")
            file.execute("CREATE TABLE IF NOT EXISTS wards (w, beds, share)")
            file.execute("DELETE FROM wards")
            file.executemany("INSERT INTO wards VALUES (?, ?, ?)", rows)
        file.close()

    def states(self, query):
        return self.engine.prepare(_pushdown(query)).states


@pytest.fixture(params=["csv", "sqlite"])
def wards(request, tmp_path):
    made = Wards(request.param, tmp_path)
    yield made
    made.engine.close()


def test_rows_in_another_order_are_the_same_state_and_any_other_rows_are_not(wards):
    before = wards.states(BEDS)
    assert [name for name, _ in before] == ["wards"]
    wards.write(ROWS[::-1])
    assert wards.states(BEDS) == before
    others = [ROWS[:3], [*ROWS, ROWS[0]], [("a", None, 0.5), *ROWS[1:]], [("c", 1, 0.5), *ROWS[1:]], []]
    seen = {before}
    for rows in others:
        wards.write(rows)
        seen.add(wards.states(BEDS))
    assert len(seen) == 1 + len(others)


def test_a_state_is_about_the_columns_that_a_question_reads(wards):
    before = wards.states(BEDS), wards.states(SHARES)
    wards.write([("a", 1, 0.75), *ROWS[1:]])
    assert wards.states(BEDS) == before[0]
    assert wards.states(SHARES) != before[1]


@pytest.mark.pitfall("A25")
def test_rows_are_kept_under_the_state_that_they_were_made_of(wards):
    first = wards.engine.prepare(_pushdown(BEDS))
    assert wards.engine.run(first) == [[5]]
    wards.write([("a", 50, 0.5)])
    again = wards.engine.prepare(_pushdown(BEDS))
    assert not wards.engine.is_prepared(again)
    assert wards.engine.run(again) == [[50]]
    assert wards.engine.run(first) == [[5]]


@pytest.mark.pitfall("A25")
def test_rows_that_changed_after_they_were_named_are_neither_answered_nor_kept(wards):
    prepared = wards.engine.prepare(_pushdown(BEDS))
    wards.write([("a", 50, 0.5)])
    with pytest.raises(RuntimeError, match="changed while it was read"):
        wards.engine.run(prepared)
    assert not wards.engine.is_prepared(prepared)
    wards.write(ROWS)
    assert wards.engine.run(prepared) == [[5]]


def test_a_table_that_can_no_longer_be_read_is_refused_before_anything_is_charged(tmp_path):
    wards = Wards("csv", tmp_path)
    wards.path.unlink()
    with pytest.raises(SourceError, match="public table 'wards'"):
        wards.states(BEDS)
    wards.engine.close()


def test_a_question_without_a_public_table_has_no_state(wards):
    assert wards.states(VISITS.agg(n=dp.count())) == ()
    assert contents.public_tables(_pushdown(BEDS).scan) == ("wards",)
