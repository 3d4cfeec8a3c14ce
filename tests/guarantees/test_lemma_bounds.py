"""The lemma of bounds that are found first: what one unit does to the bins, and to every total that is read off them.

On neighbours from the adversarial corpus, one question counts and sums the bins of a public scale. Held against what
analysis states are the pooled counts that get noise, the rows above and below zero that do, the growth that
above-threshold is asked about, and, for every pair of bounds that the search may come to, the clamped totals and counts
of the second step. Totals are also held against those of the question that has such bounds from the beginning.
"""

import itertools
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from corpus import DECLARED, Row, Whose, answers, arranged, corpus, once_per_bound, stack

import discreet as dp
from discreet.accounting.filters import Budget
from discreet.catalog.catalog import Catalog
from discreet.planner.queries.auto_bounds import AutoBoundsPlan
from discreet.planner.queries.bound_search import ByCounts, ByGrowth
from discreet.planner.registry import plan_query
from discreet.planner.sensitivity.sensitivity import sensitivity
from discreet.query import frame
from opened import Opener, opener

PAIRS = 60
PAIRS_ELSEWHERE = {"postgres": 40, "spark": 10, "sqlite": 40}
HOW = ("add_remove", "replace_one")
T = frame.table("t")
BY_ID, BY_ROW = Whose(("id",)), Whose(())
ABC = {"g": ["a", "b", "c"]}
K3, LR = {"max_rows": 3}, {"max_groups": 2, "max_rows_per_group": 2}
KLR = {"max_rows": 5, "max_groups": 2, "max_rows_per_group": 3}


def _asked(column: Any) -> dict[str, frame.Aggregation]:
    return {"n": dp.count(), "s": dp.sum(column, bounds="auto"), "m": dp.mean(column, bounds="auto")}


def _of_g(group: int, _: int) -> Row:
    return {"g": ABC["g"][group]}


@dataclass(frozen=True)
class Case:
    """A question under caps, and where a group's rows are to be put."""

    name: str
    whose: Whose
    facts: dict[str, Any]
    query: frame.Query
    place: Callable[[int, int], Row] = lambda *_: {}

    def private(self, how: str, method: str = "histogram") -> AutoBoundsPlan:
        unit = list(self.whose.columns) or "dp.ROW"
        table = {"columns": DECLARED, "privacy_unit": unit, "neighbours": how, "missing_units": self.whose.missing}
        catalog = Catalog.model_validate({"tables": {"t": table | self.facts}})
        outputs = [replace(o, measure=_by(o.measure, method)) for o in self.query.plan.outputs]
        asked = plan_query(replace(self.query.plan, outputs=tuple(outputs)), catalog, Budget(epsilon=1), epsilon=1)
        assert isinstance(asked, AutoBoundsPlan)
        return asked


def _by(measure: Any, method: str) -> Any:
    is_scouted = hasattr(measure, "search")
    return replace(measure, search=replace(measure.search, method=method)) if is_scouted else measure


CASES = [
    Case("rows", BY_ROW, {}, T.agg(**_asked("x"))),
    Case("rows by g", BY_ROW, {}, T.group_by("g", keys=ABC).agg(**_asked("x")), _of_g),
    Case("max_rows", BY_ID, K3, T.agg(**_asked("x"))),
    Case("whole numbers as far as they go", BY_ID, K3, T.agg(**_asked("y"))),
    Case("an expression of reals", BY_ID, K3, T.agg(**_asked(T.x * 3 - T.y))),
    Case("max_rows by g", BY_ID, K3, T.group_by("g", keys=ABC).agg(**_asked("x")), _of_g),
    Case("groups and rows by g", BY_ID, LR, T.group_by("g", keys=ABC).agg(**_asked("x")), _of_g),
    Case("all caps by g", BY_ID, KLR, T.where(T.h >= 0).group_by("g", keys=ABC).agg(**_asked("x")), _of_g),
]
EACH = [pytest.param(case, how, id=f"{case.name}-{how}") for case in CASES for how in HOW]


def _fullest(private: AutoBoundsPlan) -> list[tuple[tuple[int, ...], tuple[int, ...]]]:
    """Rows of a unit, by group and signed by their value, that fill caps: added, or replaced by the other side."""
    caps, groups = private.caps, private.groups
    per_group = min(cap for cap in (caps.max_rows, caps.max_rows_per_group) if cap is not None)
    found = []
    for vector in itertools.product(range(per_group + 1), repeat=groups):
        fits = caps.max_rows is None or sum(vector) <= caps.max_rows
        if fits and (caps.max_groups is None or sum(map(bool, vector)) <= caps.max_groups):
            found.append(vector)
    nothing = (0,) * groups
    most = sum(max(found, key=sum))
    full = [vector for vector in found if sum(vector) == most]
    signed = [(vector, nothing) for vector in full] + [(tuple(-n for n in v), nothing) for v in full]
    if private.unit.neighbours.value == "replace_one":
        signed += [(vector, tuple(-n for n in other)) for vector in full for other in full]
    return signed


def _exact(
    case: Case, private: AutoBoundsPlan, how: str, pairs: int, place: Path, opened: Opener
) -> list[list[list[int]]]:
    """The exact table of every world: counts and sums."""
    best = [tuple(map(_countable, arranged(case.place, sides))) for sides in _fullest(private)]
    table = pa.concat_tables([corpus(case.whose, how, pairs, 7), stack(best, 2 * pairs)])
    found = answers(private.pushdown, table, 2 * (pairs + len(best)), place, opened)
    return [[list(column[world]) for column in found] for world in range(len(found[0]))]


def _countable(world: list[Row]) -> list[Row]:
    """Values that are beyond all bounds and still a number of steps; what is larger is missing."""
    return [row | {"x": max(-1e9, min(1e9, row["x"])), "y": max(-(10**9), min(10**9, row["y"]))} for row in world]


def _norms(one: list[int], other: list[int]) -> dict[str, int]:
    apart = np.abs(np.array(one, dtype=object) - np.array(other, dtype=object))
    return {"l0": int((apart > 0).sum()), "l1": apart.sum(), "l2_squared": (apart**2).sum(), "linf": apart.max()}


def _some_bounds(private: AutoBoundsPlan) -> list[tuple[int, int]]:
    ends = private.scale.candidates
    few = ends if len(ends) < 20 else (*ends[:2], *ends[len(ends) // 2 - 3 : len(ends) // 2 + 4], *ends[-2:])
    return list(itertools.combinations(few, 2))


def _hold(case: Case, how: str, pairs: int, place: Path, opened: Opener) -> None:
    private = case.private(how)
    assert isinstance(private.search, ByCounts)
    worlds = _exact(case, private, how, pairs, place, opened)
    neighbours = list(zip(worlds[::2], worlds[1::2], strict=True))
    pooled = [_norms(private._together(one)[0], private._together(other)[0]) for one, other in neighbours]
    for norm in ("l0", "l1", "l2_squared", "linf"):
        reached = max(apart[norm] for apart in pooled)
        rule = getattr(private.search.moved, norm)
        assert reached <= rule, (case.name, how, norm)
        assert reached == rule or norm == "l0", (case.name, how, norm)
    for bounds in _some_bounds(private):
        second = private.within(bounds)
        for measure in second.pushdown.measures:
            rule = sensitivity(measure, private.caps, private.groups, private.unit.neighbours)
            for one, other in neighbours:
                apart = _norms(*(private._totals(measure, bounds, world) for world in (one, other)))
                assert all(value <= getattr(rule, norm) for norm, value in apart.items()), (case.name, how, bounds)


@pytest.fixture
def duckdb(request: pytest.FixtureRequest) -> Opener:
    return opener("duckdb", request)


@pytest.mark.guarantee("planner.queries.auto_bounds")
@pytest.mark.pitfall("A9")
@pytest.mark.parametrize(("case", "how"), EACH)
def test_bins_and_every_total_that_is_read_off_them_move_by_at_most_their_sensitivity(case, how, tmp_path, duckdb):
    _hold(case, how, PAIRS, tmp_path, duckdb)


@pytest.mark.full
@pytest.mark.parametrize("engine", PAIRS_ELSEWHERE)
@pytest.mark.parametrize(("case", "how"), once_per_bound(EACH))
def test_bins_and_totals_move_by_at_most_their_sensitivity_on_every_engine(case, how, engine, tmp_path, request):
    _hold(case, how, PAIRS_ELSEWHERE[engine], tmp_path, opener(engine, request))


def _hold_growth(case: Case, how: str, pairs: int, place: Path, opened: Opener) -> None:
    """The integers that a search by growth reads, as it reads them: rows on both sides of zero, and growth of sums."""
    private = case.private(how, "growth")
    search = private.search
    assert isinstance(search, ByGrowth)
    worlds = _exact(case, private, how, pairs, place, opened)
    pooled = [private._together(world) for world in worlds]
    neighbours = list(zip(pooled[::2], pooled[1::2], strict=True))
    present = [_norms(search.sides(one[0]), search.sides(other[0])) for one, other in neighbours]
    for norm in ("l0", "l1", "l2_squared", "linf"):
        reached, rule = max(apart[norm] for apart in present), getattr(search.moved, norm)
        assert reached <= rule, (case.name, how, norm)
        assert reached == rule or norm == "l0", (case.name, how, norm)
    assert search.presence.sensitivity == search.moved.l1
    farthest, side = 0, search.mechanism
    for one, other in neighbours:
        both = zip(itertools.chain(*search.growths(*one)), itertools.chain(*search.growths(*other)), strict=True)
        apart = [after - before for before, after in both]
        farthest = max(farthest, *map(abs, apart))
        assert not side.monotone or min(apart) >= 0 or max(apart) <= 0, (case.name, how)
    assert farthest == side.sensitivity, (case.name, how)


@pytest.mark.guarantee("planner.queries.auto_bounds")
@pytest.mark.pitfall("A9")
@pytest.mark.parametrize("engine", ["duckdb", "sqlite"])
@pytest.mark.parametrize(("case", "how"), EACH)
def test_rows_on_both_sides_of_zero_and_growth_move_by_at_most_the_rows_of_a_unit(case, how, engine, tmp_path, request):
    """And growth one way, on both sides, where that is said."""
    _hold_growth(case, how, 30, tmp_path, opener(engine, request))


@pytest.mark.full
@pytest.mark.parametrize("engine", ["postgres", "spark"])
@pytest.mark.parametrize(("case", "how"), once_per_bound(EACH))
def test_rows_on_both_sides_of_zero_and_growth_move_so_on_every_engine(case, how, engine, tmp_path, request):
    _hold_growth(case, how, PAIRS_ELSEWHERE[engine], tmp_path, opener(engine, request))


KNOWN = [
    Case("whole numbers", BY_ID, K3, T.agg(**_asked("y"))),
    Case("reals by g", BY_ID, KLR, T.where(T.x < 1e9, T.x > -1e9).group_by("g", keys=ABC).agg(**_asked("x"))),
]


@pytest.mark.parametrize("engine", ["duckdb", "sqlite"])
@pytest.mark.parametrize("case", KNOWN, ids=lambda case: case.name)
def test_totals_are_those_of_the_question_that_knows_its_bounds(case, engine, tmp_path, request):
    """Every engine clamps and sums as the bins say: the same integers from both questions, whatever the bounds."""
    private = case.private("add_remove")
    opened = opener(engine, request)
    worlds = _exact(case, private, "add_remove", 20, tmp_path, opened)
    table = pa.concat_tables([corpus(case.whose, "add_remove", 20, 7)])
    for bounds in _some_bounds(private)[::9]:
        second = private.within(bounds).pushdown
        known = answers(second, table, 40, tmp_path, opened)
        for measure, columns in zip(second.measures, known, strict=True):
            for world in range(40):
                assert private._totals(measure, bounds, worlds[world]) == list(columns[world]), (bounds, measure)
