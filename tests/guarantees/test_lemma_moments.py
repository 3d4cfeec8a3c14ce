"""The lemma test for sums of products: on neighbours they move by at most the stated sensitivity, and some reach it.

Ridge regression and scalers are functions of these integers and of nothing else. The corpus holds units of 1, 2 and
more rows, missing values, infinities and values beyond all bounds; all four engines answer with the same integers.
"""

import math
import os
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from corpus import DECLARED, Row, Whose, answers, corpus, extreme, stack

from discreet.accounting.filters import Budget
from discreet.catalog.catalog import Catalog
from discreet.plan.logical import (
    Aggregate,
    ColumnRef,
    Compare,
    Literal,
    MomentsMeasure,
    Output,
    Products,
    TableRef,
    Where,
)
from discreet.planner.queries.moments import LATTICE, MomentsPlan, analyze_moments
from opened import Opener, opener

PAIRS = 400
PAIRS_ELSEWHERE = {"postgres": 100, "spark": int(os.environ.get("DISCREET_SPARK_PAIRS", "30")), "sqlite": 100}
HOW = ("add_remove", "replace_one")
BY_ID, BY_ROW, BY_TWO = Whose(("id",)), Whose(()), Whose(("id", "part"), "one_unit")
LIMITS = {"y": (Fraction(-7), Fraction(4))}
ALL = TableRef("t")
SOME = Where(ALL, Compare(">=", ColumnRef("h"), Literal(0)))


@dataclass(frozen=True)
class Case:
    """Columns under contribution bounds."""

    name: str
    whose: Whose
    facts: dict[str, Any]
    products: Products = "all"
    columns: tuple[str, ...] = ("x", "w", "y")
    source: Any = ALL

    def plan(self, how: str) -> MomentsPlan:
        unit = list(self.whose.columns) or "dp.ROW"
        table = {"columns": DECLARED, "privacy_unit": unit, "neighbours": how, "missing_units": self.whose.missing}
        catalog = Catalog.model_validate({"tables": {"t": table | self.facts}})
        measure = MomentsMeasure(self.columns, tuple(map(LIMITS.get, self.columns)), self.products)
        query = Aggregate(self.source, (Output("total", measure),))
        return analyze_moments(query, catalog, Budget(epsilon=1, delta=1e-6), epsilon=1)


CASES = [
    Case("three rows", BY_ID, {"max_rows": 3}),
    Case("two rows", BY_ID, {"max_rows": 2}),
    Case("one row", BY_ID, {"max_rows": 1}),
    Case("rows per group", BY_ID, {"max_rows_per_group": 2}),
    Case("rows", BY_ROW, {}),
    Case("two columns of a unit", BY_TWO, {"max_rows": 2}),
    Case("booleans", BY_ID, {"max_rows": 2}, "all", ("b", "x", "w")),
    Case("a filter", BY_ID, {"max_rows": 2}, source=SOME),
    Case("squares", BY_ID, {"max_rows": 3}, "squares"),
    Case("squares of rows", BY_ROW, {}, "squares"),
    Case("one column", BY_ID, {"max_rows": 2}, "all", ("x",)),
]
EACH = [pytest.param(case, how, id=f"{case.name}-{how}") for case in CASES for how in HOW]
ELSEWHERE = [param for param in EACH if param.values[0].name in ("three rows", "rows", "booleans", "squares")]


def _signs(name: str, *signs: int) -> Row:
    """A row at a corner: each of x, w and y beyond one of its bounds."""
    columns = ("x", "w", "y")
    values = {column: extreme({}, 0, sign)[column] for column, sign in zip(columns, signs, strict=True)}
    return extreme({"id": name, "part": 1}, 0, 1) | values | {"b": signs[0] > 0}


def _corners(case: Case, how: str, rows: int) -> list[tuple[list[Row], list[Row]]]:
    """Units that move the sums as far as any can: two vectors of corners at a right angle."""
    far = _signs("q", 1, -1, -1) if case.columns == ("x", "w", "y") else _signs("q", -1, -1, -1) | {"b": True}
    if case.products == "squares":
        far = _signs("q", -1, -1, -1)
    return [([_signs("p", 1, 1, 1)] * rows, [far] * rows if how == "replace_one" else [])]


def _hold(case: Case, how: str, pairs: int, seed: int, place: Path, opened: Opener) -> None:
    plan = case.plan(how)
    rows = case.facts.get("max_rows") or case.facts.get("max_rows_per_group") or 1
    more = _corners(case, how, rows)
    table = pa.concat_tables([corpus(case.whose, how, pairs, seed), stack(more, 2 * pairs)])
    exact = answers(plan.pushdown, table, 2 * (pairs + len(more)), place, opened)
    worlds = [
        plan.combine([[int(column[world, 0])] for column in exact])[0] for world in range(2 * (pairs + len(more)))
    ]
    moved = np.array(worlds, dtype=object)
    moved = np.abs(moved[0::2] - moved[1::2])
    rule = plan.sensitivity
    assert (moved > 0).sum(axis=1).max() <= rule.l0
    assert moved.sum(axis=1).max() <= rule.l1
    assert moved.max() <= rule.linf
    assert (moved**2).sum(axis=1).max() == rule.l2_squared, (case.name, how)


@pytest.fixture
def duckdb(request: pytest.FixtureRequest) -> Opener:
    """The engine that answers fastest."""
    return opener("duckdb", request)


@pytest.mark.guarantee("planner.queries.moments")
@pytest.mark.pitfall("A9")
@pytest.mark.pitfall("A10")
@pytest.mark.pitfall("A14")
@pytest.mark.parametrize(("case", "how"), EACH)
def test_neighbours_move_sums_of_products_by_at_most_the_sensitivity_and_some_reach_it(case, how, tmp_path, duckdb):
    _hold(case, how, PAIRS, 31, tmp_path, duckdb)


@pytest.mark.full
@pytest.mark.parametrize("engine", PAIRS_ELSEWHERE)
@pytest.mark.parametrize(("case", "how"), ELSEWHERE)
def test_neighbours_move_sums_of_products_by_at_most_the_sensitivity_on_every_engine(
    case, how, engine, tmp_path, request
):
    _hold(case, how, PAIRS_ELSEWHERE[engine], 35, tmp_path, opener(engine, request))


def _steps(plan: MomentsPlan, name: str, value: Any) -> int:
    """What a cell counts as, by the rule in words: its step between the bounds, or that of a missing value."""
    axis = next(each for each in plan.axes if each.name == name)
    if value is None or not math.isfinite(value) or abs(value) > 1e100:
        return axis.missing - axis.centre
    rounded = math.floor(float(value) * float(1 / axis.grid) + 0.5)
    return max(-LATTICE, min(LATTICE, rounded - axis.centre))


@pytest.mark.guarantee("planner.queries.moments")
@pytest.mark.parametrize(
    "engine",
    ["duckdb", "sqlite", *(pytest.param(each, marks=pytest.mark.full) for each in ("postgres", "spark"))],
)
def test_sums_are_those_of_a_plain_loop_in_any_order_of_the_rows_and_missing_values_count_as_the_middle(
    engine, tmp_path, request
):
    case = Case("rows", BY_ROW, {})
    plan, source = case.plan("add_remove"), np.random.default_rng(7)
    cells = {
        "x": [None, math.nan, math.inf, -math.inf, -1.0, 2.0, 0.5, 1e30, -1e30, *source.uniform(-1.2, 2.2, 40)],
        "w": [None, 1.0, -2.0, math.nan, None, *source.uniform(-3, 2, 44)],
        "y": [None, -7, 4, 2**62, -(2**62), *source.integers(-9, 7, 44).tolist()],
    }
    rows = [dict(zip(cells, each, strict=True)) for each in zip(*cells.values(), strict=True)]
    vectors = [[LATTICE, *(_steps(plan, name, row[name]) for name in plan.axes_names)] for row in rows]
    expected = [sum(v[i] * v[j] for v in vectors) for i, j in plan.pairs]
    worlds = [[extreme({"id": "p", "part": 1}, 0, 1) | row for row in order] for order in (rows, rows[::-1])]
    exact = answers(plan.pushdown, stack([(worlds[0], worlds[1])]), 2, tmp_path, opener(engine, request))
    for world in (0, 1):
        assert plan.combine([[int(column[world, 0])] for column in exact])[0] == expected
