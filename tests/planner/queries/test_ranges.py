"""Ranges through a session: what is asked of the engine, what is refused, what is stored, and how it reads."""

import datetime as dt
import math
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest

import discreet as dp
from discreet.accounting.costs import cost
from discreet.accounting.filters import Budget
from discreet.catalog.catalog import Catalog
from discreet.errors import ParameterError, TypeMismatchError, UnboundedError, UnsupportedError
from discreet.plan.physical import CountRows
from discreet.planner.queries.ranges import RangePlan, merge_bins
from discreet.planner.registry import plan_query
from discreet.planner.sensitivity.sensitivity import Sensitivity
from discreet.release.release import Release
from discreet.workloads.ranges import Levels, MatrixStrategy, flat

T = dp.table("t")
FEW = T.ranges("age", ranges=[(20, 30), (20, 40), (30, 50), (45, 46)])
MANY = T.ranges("age", ranges=[(low, high) for low in range(20, 40) for high in range(low + 1, 40)])
PAIR = Budget(epsilon=2, delta=Fraction(1, 10**9))


def catalog(**facts):
    columns = {"id": {"type": "text"}, "age": {"type": "integer"}, "x": {"type": "real"}, "day": {"type": "date"}}
    table = {"columns": columns | {"g": {"type": "text"}}, "privacy_unit": "id", "max_rows": 2} | facts
    return Catalog.model_validate({"tables": {"t": table}})


def plan_of(query, budget=None, epsilon=1, **facts):
    return plan_query(query.plan, catalog(**facts), budget or Budget(epsilon=2), epsilon=epsilon)


def rows(number=900):
    return pa.table(
        {
            "id": [f"p{i // 2}" for i in range(number)],
            "age": [None if i % 50 == 0 else 20 + i * 7 % 30 for i in range(number)],
            "x": [i / 100 for i in range(number)],
            "day": [dt.date(2026, 1, 1) + dt.timedelta(days=i % 60) for i in range(number)],
        }
    )


def opened(make=dp.protect, budget=None, **words):
    facts = {"name": "t", "privacy_unit": "id", "max_rows": 2, "ledger": ":memory:", "fixed_schema": True} | words
    return make(rows(), budget=budget or dp.Budget(epsilon=10), **facts)


def truth(pairs, column="age"):
    values = [value for value in rows()[column].to_pylist() if value is not None]
    return tuple(sum(low <= value < high for value in values) for low, high in pairs)


def test_the_engine_counts_bins_between_the_ends_of_ranges_as_parts_of_one_group():
    private = plan_of(FEW)
    assert isinstance(private, RangePlan)
    assert private.pushdown.keys.inner == 1
    assert private.pushdown.keys.rows == tuple((place,) for place in range(1, 6))
    assert private.pushdown.measures == (CountRows(),)
    assert private.pushdown.columns_read == ("age", "id")


def test_bins_that_no_range_tells_apart_are_one():
    wide = T.ranges("age", edges=range(100), ranges=[(20, 40), (30, 60)])
    edges, workload = merge_bins(wide.plan.outputs[0].measure)
    assert edges == (20, 30, 40, 60)
    assert workload.pairs == ((0, 2), (1, 3))


@pytest.mark.parametrize("how", ["add_remove", "replace_one"])
@pytest.mark.parametrize("budget", [None, PAIR], ids=["pure", "delta"])
@pytest.mark.parametrize("query", [FEW, MANY], ids=["few", "many"])
def test_the_price_is_what_was_asked_for_and_never_more(query, budget, how):
    private = plan_of(query, budget, neighbours=how)
    spent = private.spending
    charged = cost(private.event, spent.orders[0] if spent.orders else None)
    price = charged.epsilon if spent.is_pure else charged.renyi
    assert 0.999 * spent.amount * spent.units <= price <= spent.amount * spent.units


@pytest.mark.parametrize("how", ["add_remove", "replace_one"])
def test_sensitivities_grow_with_the_rows_of_a_unit(how):
    one, three = (plan_of(MANY, max_rows=rows, neighbours=how).sensitivities for rows in (1, 3))
    for small, large in zip(one, three, strict=True):
        assert (large.l1, large.l2_squared) == (3 * small.l1, 9 * small.l2_squared)
        assert isinstance(large, Sensitivity)


@pytest.mark.parametrize("budget", [None, dp.Budget(epsilon=10, delta=1e-9)], ids=["pure", "delta"])
@pytest.mark.parametrize("query", [FEW, MANY], ids=["few", "many"])
def test_a_testing_session_answers_every_range_exactly(query, budget):
    with opened(dp.testing.protect, budget) as session:
        measure = query.plan.outputs[0].measure
        pairs = [(measure.edges[lo], measure.edges[hi]) for lo, hi in measure.pairs]
        assert session.release(query, epsilon=1)["n"] == truth(pairs)


@pytest.mark.parametrize(
    ("column", "pairs"),
    [
        ("x", [(0.5, 2.25), (1, 3)]),
        ("day", [("2026-01-10", "2026-02-01"), ("2026-01-01", "2026-01-10")]),
        ("day", [(dt.date(2026, 1, 10), dt.date(2026, 2, 1))]),
    ],
    ids=["reals", "days as text", "days"],
)
def test_reals_and_days_have_ranges_too(column, pairs):
    with opened(dp.testing.protect) as session:
        release = session.release(T.ranges(column, ranges=pairs), epsilon=1)
        read = [tuple(map(dt.date.fromisoformat, pair)) if isinstance(pair[0], str) else pair for pair in pairs]
        assert release["n"] == truth(read, column)


@pytest.mark.statistical(false_alarm=1e-5)
def test_noisy_answers_are_within_their_margins_as_often_as_they_say(samples):
    """False alarm: at most 1e-5 for all ranges together (Hoeffding); margins are proved for 95%."""
    private = plan_of(FEW)
    counts = [40, 10, 30, 5, 8]
    running = np.concatenate([[0], np.cumsum(counts)])
    lo, hi = private.workload.ends
    draws, margins = samples(1_000), np.array(private.margins(Fraction(19, 20)))
    seen = [private.outputs(private.randomize([counts]), Fraction(19, 20))[0].values for _ in range(draws)]
    within = (np.abs(np.array(seen) - (running[hi] - running[lo])) <= margins).mean(axis=0)
    assert (within >= 0.95 - math.sqrt(math.log(len(margins) / 1e-5) / (2 * draws))).all()


def test_a_stored_release_is_read_back_as_it_was_and_repeats_are_free():
    with opened() as session:
        first = session.release(MANY, epsilon=1)
        again = session.release(MANY, epsilon=1)
        assert again.repeated
        assert again["n"] == first["n"]
        assert Release.from_json(first.to_json()) == first
        assert all(measured.places for measured in first.measured)
        assert first.post_processing == ("n: bins by least squares, added up and rounded to whole rows",)
        assert first.keys[0].values[0] == "[20, 21)"


def test_explain_says_what_is_measured_and_epsilon_for_finds_the_price():
    with opened() as session:
        told = str(session.explain(MANY, epsilon=1))
        assert "root mean squared error" in told
        assert "discrete Laplace on" in told
        wanted = session.epsilon_for(MANY, margin=40)
        assert session.explain(MANY, epsilon=wanted).outputs[0].margin <= 40


@pytest.mark.parametrize(
    ("query", "error"),
    [
        (T.ranges("g", ranges=[("a", "b")]), TypeMismatchError),
        (T.ranges("age", edges=[30, 20, 40], ranges=[(30, 20)]), ParameterError),
        (T.ranges("age", ranges=[(20, 30)], name="age"), ParameterError),
        (T.ranges("age", ranges=[(20, 30)], name=""), ParameterError),
    ],
    ids=["text", "edges in no order", "the name of the column", "no name"],
)
def test_ranges_without_a_meaning_are_refused(query, error):
    with pytest.raises(error):
        plan_of(query)


def test_ranges_are_refused_where_nothing_limits_the_rows_of_a_unit():
    with pytest.raises(UnboundedError, match="ranges 'n'"):
        plan_of(FEW, max_rows=None)
    assert plan_of(T.ranges("age", ranges=[(20, 30)], max_rows_per_group=3), max_rows=None).sensitivities[0].l1 == 3


def test_ranges_are_no_question_for_a_watch_or_for_noise_that_fits():
    with opened() as session, pytest.raises(UnsupportedError):
        session.release(FEW, epsilon=1, method=dp.SmoothSensitivity())


def test_strategies_are_told_in_words():
    assert "every bin" in plan_of(T.ranges("age", ranges=[(20, 30), (30, 40)])).noise
    kinds = {type(plan_of(query).strategy) for query in (FEW, MANY)}
    assert kinds <= {Levels, MatrixStrategy}
    assert plan_of(T.ranges("age", ranges=[(20, 30)])).strategy == flat(1)
