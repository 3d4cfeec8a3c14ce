"""The lemma test for workloads: bins of ranges and cells of hierarchies, and what strategies make of them.

On neighbours from the adversarial corpus, every part that a strategy measures moves by at most what its noise covers,
on every engine and for both neighbour relations; and some neighbours move the bins by as much as any unit can.
"""

import functools
import itertools
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from corpus import DECLARED, Whose, answers, arranged, corpus, once_per_bound, stack

from discreet.accounting.filters import Budget
from discreet.catalog.catalog import Catalog
from discreet.catalog.privacy_unit import Neighbours
from discreet.planner.queries.hierarchy import HierarchyPlan
from discreet.planner.queries.ranges import RangePlan
from discreet.planner.registry import plan_query
from discreet.planner.sensitivity.sensitivity import Sensitivity
from discreet.query import frame
from opened import Opener, opener

FEW_PAIRS = 200
PAIRS_ELSEWHERE = {"postgres": 100, "spark": int(os.environ.get("DISCREET_SPARK_PAIRS", "30")), "sqlite": 100}
HOW = ("add_remove", "replace_one")
T = frame.table("t")
BY_ID, BY_ROW = Whose(("id",)), Whose(())
PURE = Budget(epsilon=1)
AREAS = pa.table({"g": ["a", "a", "b", "b", "c"], "h": [0, 1, 0, 1, 2]})


@dataclass(frozen=True)
class Case:
    """A workload under caps, and where the rows of a bin are to be put."""

    name: str
    whose: Whose
    facts: dict[str, Any]
    query: frame.Query
    cells: tuple[dict[str, Any], ...]
    budget: Budget = PURE

    def private(self, how: str) -> RangePlan | HierarchyPlan:
        unit = list(self.whose.columns) or "dp.ROW"
        table = {"columns": DECLARED, "privacy_unit": unit, "neighbours": how, "missing_units": self.whose.missing}
        catalog = Catalog.model_validate({"tables": {"t": table | self.facts}})
        return plan_query(self.query.plan, catalog, self.budget, epsilon=1)  # type: ignore[return-value]


RANGES = T.ranges("y", ranges=[(0, 1), (0, 7), (1, 10), (7, 10)])
CAPPED = T.ranges("x", ranges=[(-1, 0), (-1, 2), (0, 0.5), (0.5, 2)], max_rows_per_group=2)
NESTED, CROSSED = T.hierarchy("g", "h", keys=AREAS), T.hierarchy("g", keys=AREAS, crossing=["h"])
BINS = ({"y": 0}, {"y": 1}, {"y": 7})
REALS = ({"x": -1.0}, {"x": 0.0}, {"x": 0.5})
CELLS = tuple({"g": g, "h": h} for g, h in zip(AREAS["g"].to_pylist(), AREAS["h"].to_pylist(), strict=True))
PAIR = Budget(epsilon=1, delta=1e-6)

CASES = [
    Case("ranges, max_rows", BY_ID, {"max_rows": 3}, RANGES, BINS),
    Case("ranges, max_rows, Gaussian", BY_ID, {"max_rows": 2}, RANGES, BINS, PAIR),
    Case("ranges, rows per group", BY_ID, {}, CAPPED, REALS),
    Case("ranges, both caps", BY_ID, {"max_rows": 3}, CAPPED, REALS),
    Case("ranges of rows", BY_ROW, {}, RANGES, BINS),
    Case("hierarchy, max_rows", BY_ID, {"max_rows": 2}, NESTED, CELLS),
    Case("hierarchy, Gaussian", BY_ID, {"max_rows": 2}, CROSSED, CELLS, PAIR),
    Case("hierarchy, rows per group", BY_ID, {"max_rows_per_group": 2}, CROSSED, CELLS),
    Case("hierarchy of rows", BY_ROW, {}, CROSSED, CELLS),
]
EACH = [pytest.param(case, how, id=f"{case.name}-{how}") for case in CASES for how in HOW]


@functools.cache
def units(bins: int, rows: int) -> tuple[tuple[int, ...], ...]:
    """Every way to put the rows of one unit into bins."""
    return tuple(u for u in itertools.product(range(rows + 1), repeat=bins) if sum(u) <= rows)


def norms(moved: np.ndarray) -> dict[str, int]:
    return {
        "l0": int((moved > 0).sum(axis=1).max()),
        "l1": int(moved.sum(axis=1).max()),
        "l2_squared": int((moved**2).sum(axis=1).max()),
        "linf": int(moved.max()),
    }


def parts_moved(private: RangePlan | HierarchyPlan, counts: np.ndarray) -> list[np.ndarray]:
    """How far neighbours are apart in each part that gets noise."""
    worlds = [private.combine([list(map(int, world))]) for world in counts]
    parts = [np.array([world[i] for world in worlds], dtype=object) for i in range(len(private.noises))]
    return [np.abs(part[0::2] - part[1::2]) for part in parts]


def possible(private: RangePlan | HierarchyPlan, how: str) -> tuple[list[dict[str, int]], list[Any]]:
    """The most that any unit does to each part, by trying all, and units that do it."""
    bins = len(private.pushdown.keys.rows)
    rows = min(cap for cap in (private.caps.max_rows, private.caps.max_rows_per_group) if cap is not None)
    before = units(bins, rows)
    after = before if Neighbours(how) is Neighbours.REPLACE_ONE else before[:1]
    pairs = list(itertools.product(before, after))
    moved = parts_moved(private, np.array([world for pair in pairs for world in pair]))
    best = {int(np.argmax(part.sum(axis=1))) for part in moved} | {int(np.argmax((p**2).sum(axis=1))) for p in moved}
    return [norms(part) for part in moved], [pairs[i] for i in sorted(best)]


def _hold(case: Case, how: str, pairs: int, at: int, place: Path, opened: Opener) -> None:
    private = case.private(how)
    most, ways = possible(private, how)
    made = [arranged(lambda cell, _: case.cells[cell], way) for way in ways]
    table = pa.concat_tables([corpus(case.whose, how, pairs, at), stack(made, 2 * pairs)])
    (exact,) = answers(private.pushdown, table, 2 * (pairs + len(ways)), place, opened)
    for part, rule, limit in zip(parts_moved(private, exact), private.sensitivities, most, strict=True):
        found = norms(part)
        for norm in ("l0", "l1", "l2_squared", "linf"):
            assert found[norm] <= limit[norm] <= getattr(rule, norm), (case.name, how, norm)
        assert found["l1"] == limit["l1"], (case.name, how)
        assert found["l2_squared"] == limit["l2_squared"], (case.name, how)
        assert isinstance(rule, Sensitivity)
        assert limit["l1"] == rule.l1, (case.name, how)
        assert limit["l2_squared"] == rule.l2_squared, (case.name, how)


@pytest.fixture
def duckdb(request: pytest.FixtureRequest) -> Opener:
    """The engine that answers fastest."""
    return opener("duckdb", request)


@pytest.mark.guarantee("workloads.matrix")
@pytest.mark.guarantee("planner.sensitivity.sensitivity")
@pytest.mark.pitfall("A8")
@pytest.mark.pitfall("A9")
@pytest.mark.pitfall("A14")
@pytest.mark.parametrize(("case", "how"), EACH)
def test_neighbours_move_what_strategies_measure_by_at_most_the_sensitivity_and_some_reach_it(
    case, how, tmp_path, duckdb
):
    _hold(case, how, FEW_PAIRS, 21, tmp_path, duckdb)


@pytest.mark.full
@pytest.mark.parametrize("engine", PAIRS_ELSEWHERE)
@pytest.mark.parametrize(("case", "how"), once_per_bound(EACH))
def test_neighbours_move_what_strategies_measure_by_at_most_the_sensitivity_on_every_engine(
    case, how, engine, tmp_path, request
):
    _hold(case, how, PAIRS_ELSEWHERE[engine], 25, tmp_path, opener(engine, request))
