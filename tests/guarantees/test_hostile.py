"""Hostile numbers and questions (PITFALLS, part D) against a whole session, as far as frames can ask them.

Whatever comes in, a call ends in an answer, in a refusal that nothing was charged for, or in the one sentence after
the charge. Data never decides between the first two.
"""

import math
import time
from decimal import Decimal
from fractions import Fraction

import pyarrow as pa
import pytest
from hostile import COUNT, ROWS, T, exact, opened, outcome, spent

import discreet as dp
from discreet.accounting.costs import EPSILON_UNITS, RHO_UNITS, Cost
from discreet.errors import (
    BudgetError,
    KeysError,
    NameNotFoundError,
    ParameterError,
    TypeMismatchError,
)

# Numbers

NO_EPSILONS = [math.nan, math.inf, -math.inf, float("1e999"), 1e-320, -0.0, 0, -1, True, False, "0.1", b"1", [1], 1j]
NO_EPSILONS += [Decimal("NaN"), Decimal("Infinity"), Decimal("1e999999"), 10**500, Fraction(1, 10**500)]


@pytest.mark.parametrize("epsilon", NO_EPSILONS, ids=lambda e: str(e)[:12])
def test_an_epsilon_that_is_none_is_refused_and_costs_nothing(epsilon):
    with opened(budget=dp.Budget(epsilon=1, delta=1e-9)) as session:
        for ask in (
            lambda: session.release(COUNT, epsilon=epsilon),
            lambda: session.explain(COUNT, epsilon=epsilon),
            lambda: session.release(COUNT, epsilon=epsilon, mechanism="laplace"),
            lambda: session.release(COUNT, rho=epsilon),
        ):
            with pytest.raises(ParameterError):
                ask()
        assert spent(session) == Cost(0, 0, 0, 0)


@pytest.mark.parametrize("epsilon", [e for e in NO_EPSILONS if e != 1e-320], ids=lambda e: str(e)[:12])
def test_a_budget_of_an_epsilon_that_is_none_is_refused(epsilon):
    with pytest.raises(ParameterError):
        dp.Budget(epsilon=epsilon)


@pytest.mark.parametrize("delta", [1.5, 1, math.nan, math.inf, -1e-9, True, "1e-9", None])
def test_a_delta_that_is_no_small_probability_is_refused(delta):
    with pytest.raises(ParameterError):
        dp.Budget(epsilon=1, delta=delta)


@pytest.mark.parametrize("epsilon", [1e-13, 1001, 1e300])
def test_a_budget_that_the_ledger_cannot_count_is_refused(epsilon):
    with pytest.raises(BudgetError):
        dp.Budget(epsilon=epsilon, reason="to see")


@pytest.mark.parametrize("margin", [math.nan, math.inf, 0, -1, True, "5", 1e-320])
def test_a_margin_that_is_none_is_refused(margin):
    with opened() as session, pytest.raises(ParameterError):
        session.epsilon_for(T.agg(s=dp.sum("x", bounds=(0, 1e12))), margin=margin)


def test_a_cost_equal_to_what_is_left_is_admitted_and_one_unit_more_is_refused():
    unit = Fraction(1, EPSILON_UNITS)
    with opened() as session:
        session.release(COUNT, epsilon=0.7)
        with pytest.raises(BudgetError):
            session.release(COUNT, epsilon=Fraction(3, 10) + unit)
        session.release(COUNT, epsilon=Fraction(3, 10) - unit)
        assert session.remaining().epsilon == unit
        session.release(COUNT, epsilon=unit)
        assert spent(session).epsilon == EPSILON_UNITS
        with pytest.raises(BudgetError):
            session.release(COUNT, epsilon=unit, fresh=True)


def test_a_rho_equal_to_what_is_left_is_admitted_and_one_unit_more_is_refused():
    unit = Fraction(1, RHO_UNITS)
    with opened(budget=dp.Budget(epsilon=1, delta=1e-9)) as session:
        cap = Fraction(session.ledger.budget("t").caps().rho, RHO_UNITS)
        with pytest.raises(BudgetError):
            session.release(COUNT, rho=cap + unit)
        session.release(COUNT, rho=cap - unit)
        session.release(COUNT, rho=unit)
        assert spent(session).rho == cap * RHO_UNITS
        with pytest.raises(BudgetError):
            session.release(COUNT, rho=unit, fresh=True)


def test_an_epsilon_of_the_whole_promise_spends_exactly_the_whole_promise():
    for delta in (0, 1e-9):
        with opened(budget=dp.Budget(epsilon=2, delta=delta), ledger=":memory:") as session:
            session.release(COUNT, epsilon=2)
            assert session.remaining().epsilon == 0


@pytest.mark.parametrize(
    "ask",
    [
        lambda s: s.release(T.agg(s=dp.sum("x", bounds=(0, 1e12))), epsilon=1e-12),
        lambda s: s.release(T.agg(s=dp.sum("x", bounds=(0, 1e300))), epsilon=1e-9),
        lambda s: s.release(COUNT, epsilon=1e300),
        lambda s: s.release(T.agg(a=dp.count(weight=1e300), b=dp.count_units(weight=1e-300)), epsilon=0.5),
        lambda s: s.explain(T.agg(s=dp.sum("x", bounds=(0, 1e12))), epsilon=1e-12),
    ],
    ids=["large", "huge", "small", "weights", "explained"],
)
def test_noise_that_cannot_be_drawn_is_refused_before_it_is_charged(ask):
    with opened() as session:
        with pytest.raises(dp.Refusal):
            ask(session)
        assert spent(session) == Cost(0, 0, 0, 0)


@pytest.mark.parametrize(
    "bounds",
    [(5, 1), (0, math.inf), (-math.inf, 0), (math.nan, 1), (0, 1e999), (True, 2), ("0", "1"), (0,), (0, 1, 2), 5, "ab"],
    ids=str,
)
def test_bounds_that_are_none_are_refused_wherever_they_are_given(bounds):
    for give in (
        lambda: dp.sum("x", bounds=bounds),
        lambda: dp.mean("x", bounds=bounds),
        lambda: opened(bounds={"x": bounds}),
    ):
        with pytest.raises(ParameterError):
            give()


@pytest.mark.parametrize("option", ["max_groups", "max_rows_per_group"])
@pytest.mark.parametrize("cap", [0, -1, 1.5, True, "3", math.nan])
def test_caps_that_are_none_are_refused(option, cap):
    with pytest.raises(ParameterError):
        T.group_by("w", **{option: cap})


# Questions, as far as frames can ask them


@pytest.mark.parametrize(
    "text",
    ["'; DROP TABLE t; --", "' OR '1'='1", "a' UNION SELECT * FROM t --", '"; ATTACH', "{0}", "%s", "\\", "$$", "?"],
)
def test_text_constants_and_keys_are_only_text(text):
    rows = pa.table({"id": ["a", "b"], "w": [text, "x"]})
    assert exact(rows, T.where(T.w == text).agg(n=dp.count())) == ((1,),)
    assert exact(rows, T.where(T.w.is_in([text])).agg(n=dp.count())) == ((1,),)
    assert exact(rows, T.group_by("w", keys={"w": [text, "y"]}).agg(n=dp.count())) == ((1, 0),)


@pytest.mark.parametrize("name", ["read_csv('/etc/passwd')", "t; DROP", "information_schema.tables", "", "T"])
def test_a_table_is_only_a_name_of_the_catalog(name):
    with opened() as session, pytest.raises(dp.Refusal):
        session.release(dp.table(name).agg(n=dp.count()), epsilon=0.1)


@pytest.mark.parametrize("name", ['x"; DROP TABLE t', "random()", "now()", "rowid", "ctid", "*", "x::text", ""])
def test_a_column_is_only_a_name_of_the_catalog(name):
    with opened() as session, pytest.raises((NameNotFoundError, ParameterError)):
        session.release(T.where(T[name] == 1).agg(n=dp.count()), epsilon=0.1)


def test_no_value_of_a_row_makes_an_expression_fail():
    """An error that depends on a row would be a free bit about it."""
    rows = pa.table({"id": list("abcdef"), "x": [0.0, 30.0, -0.0, 1e308, math.nan, math.inf]})
    x = T.x
    for expression in (1 / (x - 30), x / x, x * x * x, (x - x) / (x - x), 1 / x, -x, (1 / x).cast("integer")):
        for query in (
            T.where(expression > 0).agg(n=dp.count()),
            T.agg(s=dp.sum(expression, bounds=(-1, 1)), m=dp.mean(expression, bounds=(-1, 1))),
        ):
            exact(rows, query)


def test_a_predicate_of_a_million_terms_and_one_of_great_depth_are_refused():
    with pytest.raises(ParameterError):
        T.x.is_in(range(10**6))

    def deep(expression):
        for _ in range(10**4):
            expression = expression + 1
        return expression

    for build in (lambda: deep(T.x), lambda: deep((T.x > 1) | (T.x > 2))):
        with pytest.raises((ParameterError, TypeMismatchError)):
            build()


@pytest.mark.parametrize("depth", [5, 20, 90])
@pytest.mark.timing
def test_an_ordinary_chain_of_arithmetic_is_answered_in_good_time(depth):
    expression = T.x
    for _ in range(depth):
        expression = expression + 1
    start = time.perf_counter()
    assert exact(ROWS, T.agg(s=dp.sum(expression, bounds=(0, 200)))) == ((3 + 2 * depth,),)
    assert time.perf_counter() - start < 10


@pytest.mark.parametrize("times", [3, 30, 2_000])
@pytest.mark.timing
def test_columns_derived_from_themselves_are_answered_or_refused_in_good_time(times):
    frame = T
    start = time.perf_counter()
    with opened(protect=dp.testing.protect) as session:
        try:
            for _ in range(times):
                frame = frame.derive(x=frame.x + frame.x)
            value = session.release(frame.agg(s=dp.sum("x", bounds=(0, 100))), epsilon=0.1).value()
            assert value == min(100, 2**times) + min(100, 2 * 2**times)
        except dp.Refusal:
            assert spent(session) == Cost(0, 0, 0, 0)
    assert time.perf_counter() - start < 20


def test_a_thousand_filters_are_answered_or_refused():
    frame = T
    with opened(protect=dp.testing.protect) as session:
        try:
            for _ in range(1_000):
                frame = frame.where(frame.x > 0)
            assert session.release(frame.agg(n=dp.count()), epsilon=0.1).value() == 2
        except dp.Refusal:
            assert spent(session) == Cost(0, 0, 0, 0)


def test_ten_million_groups_are_refused():
    frame = T.group_by("w", "v", keys={"w": [str(i) for i in range(4_000)], "v": range(4_000)})
    rows = pa.table({"id": ["a"], "w": ["1"], "v": [1]})
    with opened(rows) as session, pytest.raises(KeysError, match="16,000,000 keys"):
        session.release(frame.agg(n=dp.count()), epsilon=0.1)


@pytest.mark.parametrize(
    "keys", [{"w": []}, {"w": ["A", "A"]}, {"w": [1]}, {"w": [["A"]]}, {"w": "A"}, {"w": [1.5]}, 3, {"w": ["\ud800"]}]
)
def test_keys_that_are_none_are_refused(keys):
    with opened() as session, pytest.raises(dp.Refusal):
        session.release(T.group_by("w", keys=keys).agg(n=dp.count()), epsilon=0.1)


@pytest.mark.parametrize("text", ["\ud800", "a\x00b", "\x00"])
def test_text_that_no_column_can_hold_is_refused_or_matches_nothing(text):
    with opened() as session:
        for build in (
            lambda: T.where(T.w == text).agg(n=dp.count()),
            lambda: T.where(T.w.is_in([text])).agg(n=dp.count()),
            lambda: T.agg(v=dp.count_distinct("w", domain=[text])),
            lambda: T.agg(**{text: dp.count()}),
        ):
            said = outcome(lambda build=build: session.release(build(), epsilon=0.01).private)
            assert said is True or said.instead


def test_an_analysts_bounds_are_enforced_whether_wider_or_narrower_than_the_owners():
    rows = pa.table({"id": ["a", "b"], "x": [-50, 500]})
    for bounds, answer in (((0, 10), 10), ((-100, 1_000), 450), ((0, 0.5), None)):
        query = T.agg(s=dp.sum("x", bounds=bounds))
        if answer is None:
            with pytest.raises(ParameterError):
                exact(rows, query, bounds={"x": (0, 100)})
        else:
            assert exact(rows, query, bounds={"x": (0, 100)}) == ((answer,),)


def test_a_predicate_that_isolates_one_person_is_answered_with_noise_and_charged_each_time():
    """The margins of twenty answers about one person cover zero and one alike: all within 40 scales, or below 1e-12."""
    rows = pa.table({"id": [f"u{i}" for i in range(100)], "x": list(range(100))})
    with opened(rows) as session:
        alone = T.where(T.x == 42).agg(n=dp.count())
        values = [session.release(alone, epsilon=0.05, fresh=True).value() for _ in range(20)]
        assert len(set(values)) > 1
        assert max(map(abs, values)) < 40 * 2 * 20
        assert session.remaining().epsilon == 0
        with pytest.raises(BudgetError):
            session.release(alone, epsilon=0.05, fresh=True)


@pytest.mark.parametrize("name", ["having", "order_by", "limit", "join", "sql", "collect", "head", "to_pandas", "rows"])
def test_frames_have_no_way_to_rows_or_to_exact_values(name):
    """A name that is no method is a column, and a column is no way to rows."""
    with pytest.raises((TypeError, dp.Refusal)):
        getattr(T, name)()
