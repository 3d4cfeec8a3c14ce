"""Every marginal that a synthesis counts, through a session: raw files that differ by one person, on four engines.

A person who is added or removed moves a marginal by at most R rows in L1 and L2; one who is replaced, by twice as many
in L1. The person has one row, two, as many as count, or more. Their cells are in one slot, or spread over several.
"""

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pytest

import discreet as dp
import opened
from discreet.planner.budget.price import Price
from discreet.session.arguments import request_of

MOST = 5
COLUMNS = {
    "id": {"type": "text"},
    "age": {"type": "integer", "bounds": (0, 90)},
    "cost": {"type": "real", "bounds": (0, 10)},
    "sex": {"type": "text", "keys": ["F", "M", ""]},
    "seen": {"type": "date"},
    "urgent": {"type": "boolean"},
}
HEADER = "id,age,cost,sex,seen,urgent\n"
LINES = [
    f"p{i // 2},{i * 7 % 97},{i % 13 - 1}.5,{'FMX'[i % 3]},2024-0{i % 9 + 1}-01,{['true', 'false', ''][i % 3]}\n"
    for i in range(120)
]
ODD = [",3,1.5,F,2024-01-01,true\n", "p0,,,,,\n", "P0,-3,1e300,f,0001-01-01,\n", "p1 ,33,-1e300,F ,9999-12-31,true\n"]
ONE_SLOT = "new,30,9.5,F,2024-05-05,true\n"
OTHER_SLOT = "new,80,0.5,M,2024-02-01,false\n"
SPREAD = [f"new,{i * 10},{i}.5,{'FM'[i % 2]},2024-0{i % 9 + 1}-02,{['true', ''][i % 2]}\n" for i in range(9)]
ROWS_OF_ONE = {"one row": 1, "two rows": 2, "all rows that count": MOST, "more rows than count": 9}
MONTHS = [f"2024-{month:02}-01" for month in range(1, 10)]


def rows_of(lines, place, name):
    path = place / f"{name}.csv"
    path.write_text(HEADER + "".join(lines), encoding="utf-8")
    kinds = {"id": pa.string(), "age": pa.int64(), "cost": pa.float64(), "sex": pa.string(), "seen": pa.date32()}
    options = pa.csv.ConvertOptions(column_types=kinds | {"urgent": pa.bool_()}, strings_can_be_null=True)
    return pa.csv.read_csv(path, convert_options=options)


def counted(engine, rows, place, request, neighbours="add_remove"):
    """The plan of a table, and the exact marginals that a session would hand to it."""
    facts = {"privacy_unit": "id", "max_rows": MOST, "neighbours": neighbours, "sampling": "portable"}
    table = {"columns": COLUMNS, "budget": {"epsilon": 4, "delta": 1e-9}} | facts
    source = opened.brought(engine, rows, place, request)
    edges = {"seen": [np.datetime64(month).item() for month in MONTHS]}
    query = dp.table("people").synthesize(dp.synthesis.TreeSynthesizer(), edges=edges)
    with dp.testing.Session(dp.Catalog(tables={"people": table}), sources={"people": source}) as session:
        asked = request_of(query, (), Price(1), None, None)
        kind, plan, _ = session._pipeline.plan(asked)
        with kind.prepare(asked, plan, session._pipeline) as prepared:
            return plan, kind.run(plan, prepared, session._pipeline)


def moves(plan, here, there):
    """By how much each marginal moves, beside the bounds of the contribution."""
    assert set(here) == set(there) == set(plan.synthesis.candidates)
    for marginal in plan.synthesis.candidates:
        difference = here[marginal] - there[marginal]
        yield int(np.abs(difference).sum()), int((difference**2).sum())


@pytest.mark.pitfall("A9")
@pytest.mark.parametrize("engine", opened.ENGINES)
@pytest.mark.parametrize("rows_of_one", ROWS_OF_ONE.values(), ids=ROWS_OF_ONE)
def test_one_person_moves_every_marginal_by_at_most_the_rows_that_count(engine, rows_of_one, request, tmp_path):
    plan, without = counted(engine, rows_of([*LINES, *ODD], tmp_path, "one"), tmp_path, request)
    assert len(plan.synthesis.candidates) == 5 + 10
    for name, lines in {"same": [ONE_SLOT] * rows_of_one, "spread": SPREAD[:rows_of_one]}.items():
        _, added = counted(engine, rows_of([*LINES, *ODD, *lines], tmp_path, name), tmp_path, request)
        found = list(moves(plan, without, added))
        assert all(l1 <= plan.contribution.l1 and l2 <= plan.contribution.l2_squared for l1, l2 in found)
        assert {l1 for l1, _ in found} == {min(rows_of_one, MOST)}


@pytest.mark.pitfall("A9")
@pytest.mark.parametrize("engine", opened.ENGINES)
@pytest.mark.parametrize("rows_of_one", ROWS_OF_ONE.values(), ids=ROWS_OF_ONE)
def test_a_replaced_person_moves_every_marginal_by_at_most_twice_as_much(engine, rows_of_one, request, tmp_path):
    tables = [[line] * rows_of_one for line in (ONE_SLOT, OTHER_SLOT)]
    places = zip(tables, ("one", "other"), strict=True)
    rows = [rows_of([*LINES, *ODD, *lines], tmp_path, name) for lines, name in places]
    plan, here = counted(engine, rows[0], tmp_path, request, "replace_one")
    _, there = counted(engine, rows[1], tmp_path, request, "replace_one")
    found = list(moves(plan, here, there))
    assert all(l1 <= plan.contribution.l1 and l2 <= plan.contribution.l2_squared for l1, l2 in found)
    most = min(rows_of_one, MOST)
    assert {l1 for l1, _ in found} == {2 * most}
    assert {l2 for _, l2 in found} == {2 * most**2}
    assert plan.contribution.l1 == 2 * MOST


@pytest.mark.pitfall("A9")
@pytest.mark.parametrize("engine", opened.ENGINES[1:])
def test_every_marginal_is_the_same_integers_on_every_engine(engine, request, tmp_path):
    rows = rows_of([*LINES, *ODD, *SPREAD[:MOST]], tmp_path, "rows")
    plan, here = counted("duckdb", rows, tmp_path, request)
    _, there = counted(engine, rows, tmp_path, request)
    assert set(moves(plan, here, there)) == {(0, 0)}


def test_raw_lines_of_a_file_move_marginals_by_no_more(request, tmp_path):
    """The file itself, in which a line may be cut, quoted or long."""
    harms = ["new\n", 'new,"1\n2",,,\n', f"new,{'9' * 50},{'x' * 10_000},F,2024-01-01,maybe\n", "new,30,9.5,F,x,y,z\n"]
    one, other = tmp_path / "one.csv", tmp_path / "other.csv"
    one.write_text(HEADER + "".join(LINES), encoding="utf-8")
    other.write_text(HEADER + "".join([*LINES, *harms]), encoding="utf-8")
    plan, here = counted("duckdb", one, tmp_path, request)
    _, there = counted("duckdb", other, tmp_path, request)
    assert all(l1 <= plan.contribution.l1 for l1, _ in moves(plan, here, there))
