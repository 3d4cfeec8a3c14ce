"""Plans that calls build are valid as they are; what no call builds is refused, whatever part of a plan it is in."""

import datetime as dt
import enum
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest

import discreet as dp
from discreet.errors import ParameterError
from discreet.plan import logical
from discreet.planner.resolve.validation import validate
from discreet.query import frame
from discreet.query.frame import relation_of

T = dp.table("t")
X, ONE = logical.ColumnRef("x"), logical.Literal(1)
AREAS = pd.DataFrame({"state": ["A", "A"], "county": ["1", "2"]})

BUILT = [
    T.agg(n=dp.count(), u=dp.count_units(weight=0.5), d=dp.count_distinct("g", domain=["a", None])),
    T.where((T.x > 1) & ~T.g.is_in(["a", "b"]) | T.day.is_missing()).agg(s=dp.sum(T.x * 2 - 1, bounds=(0, 9))),
    T.derive(y=T.x.cast("real"), z=T.x.bin([1, 2, 3])).agg(m=dp.mean("y", bounds="auto"), q=dp.quantile("x", 0.5)),
    T.group_by("g", "day", keys={"g": ["a", None], "day": [dt.date(2026, 1, 1)]}, max_groups=2).agg(n=dp.count()),
    T.group_by("g", keys=dp.discover(delta=1e-9, at_least=3)).agg(n=dp.count()),
    T.join(dp.table("w"), on="g", how="left", names={"name": "ward"}, max_rows=3).agg(n=dp.count()),
    T.per_unit(n=dp.count(), most=dp.largest("x")).agg(n=dp.count()),
    T.histogram("x", bins=range(3), missing=True),
    T.group_by("g", keys={"g": ["a"]}).histogram("x", bins=[1.5, 2.5]),
    T.ranges("x", [(1, 3), (2, 5)]),
    T.hierarchy("state", "county", keys=AREAS),
    T.bounds("x"),
]


@pytest.mark.parametrize("query", BUILT, ids=repr)
def test_a_plan_that_calls_build_stays_as_it_is(query):
    assert validate(query.plan) == query.plan


def test_a_selection_that_calls_build_stays_as_it_is():
    for candidates in (["a", "b"], [1, 2.5], dp.discover(delta=1e-9)):
        selection = dp.score(by="x", times=lambda _: 2).selection(relation_of(T), candidates)
        assert validate(selection) == selection


class Wards(enum.StrEnum):
    A = "a"


def test_subclasses_of_text_numbers_and_dates_become_plain():
    class Text(str):
        __slots__ = ()

    built = T.where(plan_of(logical.Compare("==", logical.ColumnRef(Wards.A), logical.Literal(np.float64(1.5)))))
    made = validate(relation_of(built))
    assert made == relation_of(built)
    assert type(made.predicate.left.name) is str
    assert type(made.predicate.right.value) is float
    day = pd.Timestamp("2026-01-01")
    grouping = logical.Grouping((Text("g"),), ((Text("a"), day),))
    found = validate(grouping)
    kinds = [type(each) for each in (found.columns[0], *found.values[0])]  # noqa: PD011 - of a plan
    assert kinds == [str, str, dt.datetime]


def plan_of(node):
    return frame.Expr(node)


@dataclass(frozen=True)
class Sly(logical.ColumnRef):
    """A column with another name whenever it is asked."""


def _deep(levels):
    node = logical.Compare("==", X, ONE)
    for _ in range(levels):
        node = logical.Not(node)
    return node


def _wide(levels):
    """An expression of few objects and 2^levels parts."""
    node = logical.Compare("==", X, ONE)
    for _ in range(levels):
        node = logical.Both(node, node)
    return node


def _long(steps):
    relation = logical.TableRef("t")
    for _ in range(steps):
        relation = logical.Where(relation, logical.Compare("==", X, ONE))
    return relation


def _circular():
    step = logical.Where(logical.TableRef("t"), logical.Compare("==", X, ONE))
    object.__setattr__(step, "source", step)
    return step


NO_CALL_BUILDS = {
    "an operator": logical.Compare("= 1 OR 1 =", X, ONE),
    "an operator of arithmetic": logical.Combine("//", X, ONE),
    "a subclass": Sly("x"),
    "text for a column": logical.Not("x"),
    "a list": logical.IsIn(X, ["a"]),
    "a list in a list": logical.IsIn(X, (["a"],)),
    "a constant that is a tuple": logical.Literal(("a",)),
    "a constant that is bytes": logical.Literal(b"a"),
    "a case without branches": logical.Case(()),
    "a case of text": logical.Case((("x", ONE),)),
    "a branch of three": logical.Case(((X, ONE, ONE),)),
    "a case of a list": logical.Case([(X, ONE)]),
    "another place in a text": logical.TextMatch(X, "like", "a"),
    "a pattern that is a number": logical.TextMatch(X, "contains", 7),
    "another unit": logical.Truncate(X, "century"),
    "another part": logical.DatePart(X, "week"),
    "a type that is text": logical.Cast(X, "integer"),
    "a name that is a number": logical.ColumnRef(7),
    "a table that is a table": logical.TableRef(logical.TableRef("t")),
    "a chain without a table": logical.Where(X, logical.Not(X)),
    "a circle": _circular(),
    "a long chain": _long(1_001),
    "a deep expression": _deep(101),
    "a deeper expression": _deep(100_000),
    "an expression of shared parts": _wide(60),
    "a join of nothing": logical.Join(logical.TableRef("t"), "w", ()),
    "another kind of join": logical.Join(logical.TableRef("t"), "w", (("g", "g"),), "outer"),
    "a pair of three": logical.Join(logical.TableRef("t"), "w", (("g", "g", "g"),)),
    "a cap of zero": logical.Join(logical.TableRef("t"), "w", (("g", "g"),), max_rows=0),
    "a cap that is a truth": logical.Grouping(("g",), (None,), max_groups=True),
    "a cap that is a float": logical.Grouping(("g",), (None,), max_rows_per_group=0.5),
    "a column twice": logical.Grouping(("g", "g"), (None, None)),
    "keys of no column": logical.Grouping(("g",), (None, None)),
    "rows of keys that are short": logical.Grouping(("g", "h"), (None, None), (("a",),)),
    "labels of text": logical.Grouping(("g",), (("a", "b"),), labels=(("p", "q"),)),
    "labels of another number": logical.Grouping(("g",), ((0, 2),), labels=(("p", "q"),)),
    "labels of no column": logical.Grouping(("g",), ((0, 1),), labels=(("p", "q"), None)),
    "a weight of zero": logical.Output("n", logical.Count(), Fraction(0)),
    "a weight below zero": logical.Output("n", logical.Count(), Fraction(-1)),
    "a weight that is a float": logical.Output("n", logical.Count(), 0.5),
    "a weight that is no number": logical.Output("n", logical.Count(), float("nan")),
    "a measure that is a column": logical.Output("n", X),
    "bounds that are floats": logical.Sum(X, (0.0, float("inf"))),
    "bounds that are three": logical.Sum(X, (Fraction(0), Fraction(1), Fraction(2))),
    "a search for all of the price": logical.Search(Fraction(1)),
    "a search for less than nothing": logical.Search(Fraction(-1)),
    "bounds given and found": logical.AutoBoundsAggregate(
        logical.Sum(X, (Fraction(0), Fraction(1))), logical.Search(Fraction(1, 2))
    ),
    "a discovery at delta 1": logical.Discovery(("g",), Fraction(1)),
    "a discovery of fewer than nobody": logical.Discovery(("g",), Fraction(1, 10**9), None, -5),
    "a discovery by another rule": logical.Discovery(("g",), Fraction(1, 10**9), "none"),
    "ranges backwards": logical.Ranges(X, (1, 2, 3), ((2, 0),)),
    "ranges beyond the edges": logical.Ranges(X, (1, 2, 3), ((0, 9), (-1, 2))),
    "no ranges": logical.Ranges(X, (1, 2, 3), ()),
    "a level twice": logical.HierarchyCounts(("g", "g")),
    "levels that are not grouped by": replace(
        T.hierarchy("state", "county", keys=AREAS).plan, grouping=logical.Grouping()
    ),
    "no outputs": logical.Aggregate(logical.TableRef("t"), ()),
    "no features": logical.GroupByUnit(logical.TableRef("t"), ()),
    "fewer factors than candidates": logical.SelectionQuery(
        logical.TableRef("t"), logical.Count(), "x", "equal", (1, 2), factors=(Fraction(1),)
    ),
    "another side": logical.SelectionQuery(logical.TableRef("t"), logical.Count(), "x", "above", (1, 2)),
    "nothing": None,
    "a class": logical.TableRef,
    "another dataclass": Wards.A,
}


@pytest.mark.parametrize("name", NO_CALL_BUILDS)
def test_what_no_call_builds_is_refused(name):
    with pytest.raises(ParameterError, match="as no call builds it"):
        validate(NO_CALL_BUILDS[name])


def test_a_million_keys_are_looked_at_in_no_time():
    keys = tuple(range(1_000_000))
    grouping = logical.Grouping(("g",), (keys,))
    assert validate(grouping).values[0] is keys  # noqa: PD011 - of a plan
