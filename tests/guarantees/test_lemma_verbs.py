"""The lemma test for selections and for noise that fits: scores and local sensitivities, on every engine.

Of neighbours from the adversarial corpus, no score differs by more than what the selection was calibrated to, scores
that are said to move one way do, and the value of a mean, a median or a distance between quartiles differs by at most
the local sensitivity that was computed from either of the two tables.
"""

import itertools
from collections.abc import Callable, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from corpus import DECLARED, PUBLIC, Whose, answers, corpus

import discreet as dp
from discreet.accounting.filters import Budget
from discreet.catalog.catalog import Catalog
from discreet.planner.queries.selection import analyze_selection
from discreet.planner.queries.smooth_sensitivity import analyze_smooth
from discreet.query.frame import relation_of
from opened import Opener, opener

PAIRS = 300
OTHERS = ("postgres", "spark", "sqlite")
PAIRS_ON = {"spark": 30}
HOW = ("add_remove", "replace_one")
T = dp.table("t")
CAPS = {"rows": {"max_rows": 3}, "groups": {"max_rows": 4, "max_groups": 2}, "in each": {"max_rows_per_group": 2}}
ROWS = {"rows": {"max_rows": 3}, "one row": {"max_rows": 1}}

SCORES: dict[str, tuple[Callable[[], Any], tuple[Any, ...]]] = {
    "rows by g": (lambda: dp.score(by="g"), PUBLIC),
    "units by g": (lambda: dp.score(by="g", of=dp.count_units()), PUBLIC),
    "a sum on both sides of zero": (lambda: dp.score(by="g", of=dp.sum("x", bounds=(-1, 2), grid=0.125)), PUBLIC),
    "rows at or above": (lambda: dp.score(by="y", side="or above"), (-5, 0, 3, 7)),
    "rows below, near a number": (lambda: dp.score(by="y", side="below", near=4), (-5, 0, 3, 7)),
    "rows times a price": (lambda: dp.score(by="y", side="or above", times=lambda y: y), (1, 3, 7)),
}
FITTED = {
    "mean": dp.mean("y", bounds=(-3, 8)),
    "median": dp.median("y", bounds=(-3, 8)),
    "quartiles": dp.interquartile_range("x", bounds=(0, 4), grid=0.5),
}


def _each(names: Sequence[str], caps: Sequence[str]) -> list[Any]:
    """All on DuckDB; on every other engine, each bound and relation with one of the names, and the others nightly."""
    found = []
    for place, (bound, how) in enumerate(itertools.product(caps, HOW)):
        for name, engine in itertools.product(names, ("duckdb", *OTHERS)):
            tier = "full" if name == names[place % len(names)] else "nightly"
            mark = () if engine == "duckdb" else getattr(pytest.mark, tier)
            found.append(pytest.param(name, bound, how, engine, id=f"{name}-{bound}-{how}-{engine}", marks=mark))
    return found


def _catalog(how: str, caps: dict[str, int]) -> Catalog:
    table = {"columns": DECLARED, "privacy_unit": "id", "neighbours": how} | caps
    return Catalog.model_validate({"tables": {"t": table}})


def _worlds(question: Any, how: str, engine: str, place: Path, opened: Opener) -> list[list[list[int]]]:
    """The exact integers of every world: pairs of neighbours one after another."""
    pairs = PAIRS_ON.get(engine, PAIRS)
    table = corpus(Whose(("id",)), how, pairs, 7)
    exact = answers(question, table, 2 * pairs, place, opened)
    return [[list(map(int, measure[world])) for measure in exact] for world in range(2 * pairs)]


@pytest.mark.guarantee("planner.queries.selection")
@pytest.mark.parametrize(("name", "caps", "how", "engine"), _each(list(SCORES), list(CAPS)))
def test_no_score_moves_farther_than_its_selection_covers(name, caps, how, engine, tmp_path, request):
    score, candidates = SCORES[name]
    if "or above" in name or "below" in name or "price" in name:
        caps = "rows" if caps == "in each" else caps
    selection = score().selection(relation_of(T), candidates)
    asked = analyze_selection(selection, _catalog(how, CAPS[caps]), Budget(epsilon=1), epsilon=1)
    worlds = _worlds(asked.pushdown, how, engine, tmp_path, opener(engine, request))
    farthest = 0
    for one, other in zip(worlds[0::2], worlds[1::2], strict=True):
        moved = [after - before for before, after in zip(asked.scores(one), asked.scores(other), strict=True)]
        farthest = max(farthest, *map(abs, moved))
        assert max(map(abs, moved)) <= asked.mechanism.sensitivity
        assert not asked.mechanism.monotone or min(moved) >= 0 or max(moved) <= 0
    assert farthest


@pytest.mark.guarantee("planner.queries.smooth_sensitivity")
@pytest.mark.parametrize(("name", "caps", "how", "engine"), _each(list(FITTED), list(ROWS)))
def test_no_value_moves_farther_than_the_local_sensitivity_of_either_table(name, caps, how, engine, tmp_path, request):
    query = T.agg(value=FITTED[name])
    asked = analyze_smooth(query.plan, _catalog(how, ROWS[caps]), Budget(epsilon=1), epsilon=1)
    farthest = Fraction(0)
    worlds = _worlds(asked.pushdown, how, engine, tmp_path, opener(engine, request))
    for pair in zip(worlds[0::2], worlds[1::2], strict=True):
        one, other = (asked.reading.local(exact) for exact in pair)
        moved = abs(one.value() - other.value())
        farthest = max(farthest, moved)
        assert moved <= min(one.at(0), other.at(0))
        assert one.at(1) >= other.at(0)
        assert other.at(1) >= one.at(0)
    assert farthest
