"""Fluent calls build the plan that they read like, and what has no meaning is refused where it is typed."""

import datetime as dt
import functools
import itertools
import math
import operator
import time
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest

import discreet as dp
from discreet.catalog.catalog import ColumnType
from discreet.errors import ParameterError, Refusal, TypeMismatchError, UnsupportedError
from discreet.plan import logical
from discreet.plan.logical import ColumnRef, Combine, Compare, Literal

visits = dp.table("visits")
AGE, COST = ColumnRef("age"), ColumnRef("cost")


class TestOperators:
    @pytest.mark.parametrize(
        ("expression", "node"),
        [
            (visits.age == 1, Compare("==", AGE, Literal(1))),
            (visits.age != 1, Compare("!=", AGE, Literal(1))),
            (visits.age < 1, Compare("<", AGE, Literal(1))),
            (visits.age <= 1, Compare("<=", AGE, Literal(1))),
            (visits.age > 1, Compare(">", AGE, Literal(1))),
            (visits.age >= 1, Compare(">=", AGE, Literal(1))),
            (visits.age + 1, Combine("+", AGE, Literal(1))),
            (visits.age - 1, Combine("-", AGE, Literal(1))),
            (visits.age * 2, Combine("*", AGE, Literal(2))),
            (visits.age / 2, Combine("/", AGE, Literal(2))),
            (1 + visits.age, Combine("+", Literal(1), AGE)),
            (1 - visits.age, Combine("-", Literal(1), AGE)),
            (2 * visits.age, Combine("*", Literal(2), AGE)),
            (2 / visits.age, Combine("/", Literal(2), AGE)),
            (-visits.age, Combine("-", Literal(0), AGE)),
            (visits.a & visits.b, logical.Both(ColumnRef("a"), ColumnRef("b"))),
            (True & visits.b, logical.Both(Literal(True), ColumnRef("b"))),
            (visits.a | visits.b, logical.Either(ColumnRef("a"), ColumnRef("b"))),
            (False | visits.b, logical.Either(Literal(False), ColumnRef("b"))),
            (~visits.a, logical.Not(ColumnRef("a"))),
            (visits.age.is_missing(), logical.IsMissing(AGE)),
            (visits.age.is_present(), logical.Not(logical.IsMissing(AGE))),
            (visits.age.is_in([1, 2]), logical.IsIn(AGE, (1, 2))),
            (visits.age.cast("text"), logical.Cast(AGE, ColumnType.TEXT)),
            (visits.age.bin([18, 30.5]), logical.Bin(AGE, (18, 30.5))),
            (visits.age.bin(np.array([18, 30])), logical.Bin(AGE, (18, 30))),
            (visits.age.bin(range(10, 30, 10)), logical.Bin(AGE, (10, 20))),
            (visits.age.between(1, 2), logical.Both(Compare(">=", AGE, Literal(1)), Compare("<=", AGE, Literal(2)))),
            (visits.age == visits.cost, Compare("==", AGE, COST)),
            (visits["age"] == 1, Compare("==", AGE, Literal(1))),
        ],
    )
    def test_an_operator_builds_the_node_that_it_reads_like(self, expression, node):
        assert expression.node == node

    def test_a_constant_on_the_left_of_a_comparison_turns_it_around(self):
        assert (visits.age >= 40).node == Compare(">=", AGE, Literal(40))
        assert operator.eq(40, visits.age).node == Compare("==", AGE, Literal(40))

    @pytest.mark.parametrize(
        "use", [bool, lambda e: e and True, lambda e: not e, lambda e: [e].count(1), lambda e: 1 in e]
    )
    def test_an_expression_has_no_truth(self, use):
        with pytest.raises(TypeMismatchError, match="true or false"):
            use(visits.age == 1)

    def test_a_chained_comparison_is_refused_with_the_way_to_write_it(self):
        with pytest.raises(TypeMismatchError, match="between"):
            visits.where(1 < visits.age < 5)

    @pytest.mark.parametrize("loop", [list, tuple, iter, lambda e: [*e], dict])
    def test_an_expression_has_no_rows(self, loop):
        with pytest.raises(TypeMismatchError, match="loop"):
            loop(visits.age)

    @pytest.mark.parametrize(
        "use",
        [
            lambda e: e % 10,
            lambda e: 10 % e,
            lambda e: e // 10,
            lambda e: 10 // e,
            lambda e: e**2,
            lambda e: 2**e,
            lambda e: e ^ True,
            lambda e: True ^ e,
            abs,
        ],
    )
    def test_operators_that_differ_between_engines_are_refused(self, use):
        with pytest.raises(UnsupportedError, match="every engine"):
            use(visits.age)

    @pytest.mark.parametrize(
        "verb", ["filter", "groupby", "select", "with_columns", "assign", "count", "sum", "anything"]
    )
    def test_a_verb_of_another_library_is_answered_with_ours(self, verb):
        with pytest.raises(UnsupportedError) as caught:
            getattr(visits, verb)("ward")
        assert caught.value.instead.startswith(("table.", "table["))

    def test_expressions_can_be_kept_in_sets_and_dicts(self):
        expression = visits.age + 1
        assert {expression: "kept"}[expression] == "kept"
        assert hash(visits.age + 1) == hash(expression)

    def test_a_cast_to_what_is_no_type_is_refused(self):
        for kind in ("float", "document", "", None, 5, ["text"]):
            with pytest.raises(TypeMismatchError, match="cast"):
                visits.age.cast(kind)


class TestConstants:
    @pytest.mark.parametrize(
        ("value", "kept"),
        [
            (40, 40),
            (0.5, 0.5),
            (-0.0, 0.0),
            (True, True),
            ("A", "A"),
            (dt.date(2026, 1, 31), dt.date(2026, 1, 31)),
            (dt.datetime(2026, 1, 31, 12), dt.datetime(2026, 1, 31, 12)),  # noqa: DTZ001 - naive
            (np.int64(3), 3),
            (np.float32(0.5), 0.5),
            (np.bool_(False), False),
            (np.str_("A"), "A"),
            (pd.Timestamp("2026-01-31"), dt.datetime(2026, 1, 31)),  # noqa: DTZ001 - naive
            (np.datetime64("2026-01-31"), dt.date(2026, 1, 31)),
            (Decimal("12.5"), 12.5),
            (Fraction(1, 4), 0.25),
            (1e-320, 1e-320),
        ],
    )
    def test_constants_are_plain_python_values(self, value, kept):
        literal = (visits.age == value).node.right
        assert literal == Literal(kept)
        assert type(literal.value) is type(kept)
        assert math.copysign(1, kept) == math.copysign(1, literal.value) if isinstance(kept, float) else True

    @pytest.mark.parametrize(
        "value",
        [
            None,
            b"A",
            [1],
            {1},
            object(),
            1j,
            pd.NaT,
            pd.NA,
            np.datetime64("NaT"),
            np.array([1, 2]),
            dt.time(12),
            float("nan"),
            float("inf"),
            -float("inf"),
            np.float64("nan"),
            Decimal("NaN"),
            Decimal("1e999"),
        ],
    )
    def test_what_is_no_constant_is_refused(self, value):
        with pytest.raises(Refusal, match="a constant"):
            visits.age + value

    def test_a_missing_value_is_tested_for_and_never_compared(self):
        with pytest.raises(TypeMismatchError, match="is_missing"):
            visits.where(visits.age == None)  # noqa: E711 - what a newcomer types


class TestSize:
    @pytest.mark.pitfall("D")
    @pytest.mark.parametrize("join", [operator.or_, operator.and_, operator.add])
    def test_a_chain_of_ten_thousand_terms_is_refused_before_python_runs_out_of_stack(self, join):
        with pytest.raises(ParameterError, match="depth 101"):
            functools.reduce(join, (visits.age == i for i in range(10_000)))

    @pytest.mark.pitfall("D")
    def test_a_balanced_predicate_of_a_million_terms_is_refused(self):
        with pytest.raises(ParameterError, match="parts"):
            functools.reduce(lambda whole, _: whole | whole, range(20), visits.age == 1)

    @pytest.mark.pitfall("D")
    @pytest.mark.timing
    def test_a_list_of_a_million_or_of_endlessly_many_values_is_refused_at_once(self):
        start = time.perf_counter()
        for values in (range(1_000_000), itertools.count()):
            with pytest.raises(ParameterError, match="parts"):
                visits.age.is_in(values)
        assert time.perf_counter() - start < 10

    def test_the_largest_expressions_are_taken(self):
        assert visits.age.is_in(range(logical.MOST_NODES - 2)).nodes == logical.MOST_NODES
        expression = visits.age
        for _ in range(logical.DEEPEST - 1):
            expression = ~expression
        assert expression.depth == logical.DEEPEST

    @pytest.mark.parametrize("values", ["AB", b"AB", 5, None, visits.age])
    def test_what_is_no_list_of_values_is_refused(self, values):
        with pytest.raises(TypeMismatchError):
            visits.ward.is_in(values)
        with pytest.raises(TypeMismatchError):
            visits.age.bin(values)

    @pytest.mark.parametrize("edges", [{18, 30}, frozenset({18}), {18: "adult"}])
    def test_edges_without_an_order_are_refused(self, edges):
        with pytest.raises(TypeMismatchError, match="smallest first"):
            visits.age.bin(edges)

    @pytest.mark.pitfall("D")
    @pytest.mark.timing
    def test_a_million_edges_or_endlessly_many_are_refused_at_once(self):
        start = time.perf_counter()
        for edges in (range(1_000_000), itertools.count()):
            with pytest.raises(ParameterError, match="more than 10,000 edges"):
                visits.age.bin(edges)
        assert time.perf_counter() - start < 10

    def test_ten_edges_of_a_bin_are_one_part_of_an_expression(self):
        assert [visits.age.bin(range(edges)).nodes for edges in (1, 10, 11, logical.MOST_EDGES)] == [3, 3, 4, 1_002]
        with pytest.raises(ParameterError, match="parts"):
            visits.age.bin(range(logical.MOST_EDGES)) + visits.cost.bin(range(logical.MOST_EDGES))


class TestFrames:
    def test_steps_are_kept_in_the_order_in_which_they_were_written(self):
        query = visits.where(visits.age >= 40, visits.cost > 0).derive(tens=visits.age / 10, half=visits.cost / 2)
        derive = query.agg(n=dp.count()).plan.source
        assert (derive.name, derive.source.name) == ("half", "tens")
        where = derive.source.source
        assert where.predicate == (visits.cost > 0).node
        assert where.source == logical.Where(logical.TableRef("visits"), (visits.age >= 40).node)

    def test_a_frame_is_not_changed_by_what_is_built_from_it(self):
        before = visits.agg(n=dp.count())
        visits.where(visits.age >= 40).derive(x=visits.age)
        assert visits.agg(n=dp.count()) == before

    def test_a_column_named_like_a_verb_is_reached_by_brackets(self):
        assert visits["where"].node == ColumnRef("where")
        assert not hasattr(visits, "_private")

    @pytest.mark.parametrize("name", [5, None, visits, ["a"], visits.where(visits.age == 1)])
    def test_brackets_and_tables_take_names(self, name):
        with pytest.raises(ParameterError):
            visits[name]
        with pytest.raises(ParameterError):
            dp.table(name)

    @pytest.mark.parametrize("value", [True, None, "age >= 40", 5, lambda row: row])
    def test_conditions_and_derived_columns_are_built_from_columns(self, value):
        with pytest.raises(TypeMismatchError, match="columns"):
            visits.where(value)
        with pytest.raises(TypeMismatchError, match="columns"):
            visits.derive(x=value)


def test_a_refusal_of_a_frame_is_raised_from_one_frame_of_ours():
    for call in (lambda: visits.where(5), lambda: dp.sum("cost", bounds=(2, 1)), visits.group_by):
        with pytest.raises(Refusal) as caught:
            call()
        assert len(list(caught.traceback)) <= 3
