"""Every marginal of persons and of visits, through a session: raw tables that differ by one person, on four engines.

A person moves a marginal of persons by at most 1 and one of visits by at most L rows; one who is replaced, by twice as
many. The person has up to 50 rows, whose person columns agree or vary; others have no name, or names that nearly agree.
"""

import numpy as np
import pyarrow as pa
import pytest

import discreet as dp
import opened
from discreet.plan.synthesis import private_counts
from discreet.planner.budget.price import Price
from discreet.session.arguments import request_of

MOST = 5
COLUMNS = {
    "id": {"type": "text"},
    "age": {"type": "integer", "bounds": (0, 90)},
    "sex": {"type": "text", "keys": ["F", "M", ""]},
    "cost": {"type": "real", "bounds": (0, 10)},
    "urgent": {"type": "boolean"},
}
TYPES = {"id": pa.string(), "age": pa.int64(), "sex": pa.string(), "cost": pa.float64(), "urgent": pa.bool_()}
PERSON = {"age": "max", "sex": "min"}
NAMES = ["p", "P", "p ", " p", "", "é", "e\u0301", "0", "00"]
OTHERS = [
    (f"{NAMES[i % 9]}{i % 4}", i * 7 % 97, "FMX"[i % 3], i % 13 - 1.5, [True, False, None][i % 3]) for i in range(150)
]
ODD = [(None, 3, "F", 1.5, True)] * 7 + [("p0", None, None, None, None), ("P0", -3, "f", 1e300, None)]
ROWS_OF_ONE = (1, 2, MOST, 50)
SAME = ("new", 30, "F", 9.5, True)
OTHER = ("new", 80, "M", 0.5, False)


def varied(number):
    """Rows of one person that differ in every column."""
    return [
        ("new", i * 11 % 97, ["M", "F", None, "X"][i % 4], i % 11 + 0.5, [True, None][i % 2]) for i in range(number)
    ]


def counted(engine, rows, place, request, **facts):
    """The plan of a two-level table, and the exact marginals that a session would hand to it."""
    columns = zip(*rows, strict=True)
    frame = pa.table({name: pa.array(cells, kind) for (name, kind), cells in zip(TYPES.items(), columns, strict=True)})
    table = {"columns": COLUMNS, "budget": {"epsilon": 4, "delta": 1e-9}, "privacy_unit": "id", "max_rows": MOST}
    source = opened.brought(engine, frame, place, request)
    query = dp.table("visits").synthesize(dp.synthesis.TwoLevelSynthesizer(PERSON))
    catalog = dp.Catalog(tables={"visits": table | {"sampling": "portable"} | facts})
    with dp.testing.Session(catalog, sources={"visits": source}) as session:
        asked = request_of(query, (), Price(1), None, None)
        kind, plan, _ = session._pipeline.plan(asked)
        session._pipeline.engines["visits"].adopt("visits", opened.KEY)  # the same rows of all others count
        with kind.prepare(asked, plan, session._pipeline) as prepared:
            return plan, kind.run(plan, prepared, session._pipeline)


def moves(plan, here, there):
    """By how much each marginal moves: of persons, and of visits."""
    assert set(here) == set(there) == set(plan.synthesis.candidates)
    found = {True: set(), False: set()}
    for marginal in plan.synthesis.candidates:
        difference = here[marginal] - there[marginal]
        moved = int(np.abs(difference).sum()), int((difference**2).sum())
        found[plan.synthesis.units.covers(marginal)].add(moved)
    return found[True], found[False]


def bounds_of(plan):
    """What the private counts of each level are calibrated to."""
    counts = {each: np.zeros(plan.batch.shape(each), dtype=np.int64) for each in plan.batch.marginals}
    levels = private_counts(plan.synthesis, counts, plan.contribution, is_private=True)
    return [(level.contribution.l1, level.contribution.l2_squared) for level in levels]


@pytest.mark.pitfall("A9")
@pytest.mark.parametrize("missing", ["drop", "one_unit"])
@pytest.mark.parametrize("engine", opened.ENGINES)
def test_one_person_moves_persons_by_one_and_visits_by_at_most_the_rows_that_count(engine, missing, request, tmp_path):
    plan, without = counted(engine, [*OTHERS, *ODD], tmp_path, request, missing_units=missing)
    assert bounds_of(plan) == [(1, 1), (MOST, MOST**2)]
    for number in ROWS_OF_ONE if engine != "spark" else (50,):  # the others have the same SQL, and take less time
        most = min(number, MOST)
        for rows in ([SAME] * number, varied(number)):
            _, added = counted(engine, [*OTHERS, *ODD, *rows], tmp_path, request, missing_units=missing)
            persons, visits = moves(plan, without, added)
            assert persons == {(1, 1)}
            assert {l1 for l1, _ in visits} == {most}
            assert all(l2 <= most**2 for _, l2 in visits)
            assert rows[0] != SAME or visits == {(most, most**2)}


@pytest.mark.pitfall("A9")
@pytest.mark.parametrize("engine", opened.ENGINES)
def test_a_replaced_person_moves_both_levels_by_at_most_twice_as_much(engine, request, tmp_path):
    facts = {"neighbours": "replace_one"}
    plan, here = counted(engine, [*OTHERS, *ODD, *[SAME] * 50], tmp_path, request, **facts)
    assert bounds_of(plan) == [(2, 2), (2 * MOST, 2 * MOST**2)]
    _, there = counted(engine, [*OTHERS, *ODD, *[OTHER] * 50], tmp_path, request, **facts)
    persons, visits = moves(plan, here, there)
    assert max(persons) == (2, 2)  # the number of visits alone stays
    assert visits == {(2 * MOST, 2 * MOST**2)}
    for rows in (varied(1), varied(MOST), varied(50), []) if engine != "spark" else (varied(50),):
        _, there = counted(engine, [*OTHERS, *ODD, *rows], tmp_path, request, **facts)
        persons, visits = moves(plan, here, there)
        assert all(l1 <= 2 and l2 <= 2 for l1, l2 in persons)
        assert all(l1 <= 2 * MOST and l2 <= 2 * MOST**2 for l1, l2 in visits)


@pytest.mark.pitfall("A16")
@pytest.mark.parametrize("missing", ["drop", "one_unit"])
@pytest.mark.parametrize("engine", opened.ENGINES)
def test_rows_without_a_name_are_nobodys_or_those_of_one_unit(engine, missing, request, tmp_path):
    plan, without = counted(engine, OTHERS, tmp_path, request, missing_units=missing)
    _, added = counted(engine, [*OTHERS, *ODD[:7]], tmp_path, request, missing_units=missing)
    expected = ({(0, 0)}, {(0, 0)}) if missing == "drop" else ({(1, 1)}, {(MOST, MOST**2)})
    assert moves(plan, without, added) == expected


@pytest.mark.parametrize("engine", opened.ENGINES[1:])
def test_both_levels_are_the_same_integers_on_every_engine(engine, request, tmp_path):
    rows = [*OTHERS, *ODD, *varied(50)]
    plan, here = counted("duckdb", rows, tmp_path, request)
    _, there = counted(engine, rows, tmp_path, request)
    assert moves(plan, here, there) == ({(0, 0)}, {(0, 0)})
