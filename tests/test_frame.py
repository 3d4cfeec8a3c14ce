"""Fluent calls build the plan that they read like, and what has no meaning is refused where it is typed."""

# ruff: noqa: PD011 - the values of a grouping are tuples

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
import polars as pl
import pyarrow as pa
import pytest

import discreet as dp
from discreet import frame, plan
from discreet.catalog import ColumnType
from discreet.errors import NameNotFoundError, ParameterError, Refusal, TypeMismatchError, UnsupportedError
from discreet.plan import Column, Combine, Compare, Literal

visits = dp.table("visits")
AGE, COST = Column("age"), Column("cost")


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
            (visits.a & visits.b, plan.Both(Column("a"), Column("b"))),
            (True & visits.b, plan.Both(Literal(True), Column("b"))),
            (visits.a | visits.b, plan.Either(Column("a"), Column("b"))),
            (False | visits.b, plan.Either(Literal(False), Column("b"))),
            (~visits.a, plan.Not(Column("a"))),
            (visits.age.is_missing(), plan.IsMissing(AGE)),
            (visits.age.is_present(), plan.Not(plan.IsMissing(AGE))),
            (visits.age.is_in([1, 2]), plan.IsIn(AGE, (1, 2))),
            (visits.age.cast("text"), plan.Cast(AGE, ColumnType.TEXT)),
            (visits.age.bin([18, 30.5]), plan.Bin(AGE, (18, 30.5))),
            (visits.age.bin(np.array([18, 30])), plan.Bin(AGE, (18, 30))),
            (visits.age.bin(range(10, 30, 10)), plan.Bin(AGE, (10, 20))),
            (visits.age.between(1, 2), plan.Both(Compare(">=", AGE, Literal(1)), Compare("<=", AGE, Literal(2)))),
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
        assert caught.value.instead.startswith("table.")

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
    def test_a_list_of_a_million_or_of_endlessly_many_values_is_refused_at_once(self):
        start = time.perf_counter()
        for values in (range(1_000_000), itertools.count()):
            with pytest.raises(ParameterError, match="parts"):
                visits.age.is_in(values)
        assert time.perf_counter() - start < 1

    def test_the_largest_expressions_are_taken(self):
        assert visits.age.is_in(range(plan.MOST_NODES - 2)).nodes == plan.MOST_NODES
        expression = visits.age
        for _ in range(plan.DEEPEST - 1):
            expression = ~expression
        assert expression.depth == plan.DEEPEST

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
    def test_a_million_edges_or_endlessly_many_are_refused_at_once(self):
        start = time.perf_counter()
        for edges in (range(1_000_000), itertools.count()):
            with pytest.raises(ParameterError, match="more than 10,000 edges"):
                visits.age.bin(edges)
        assert time.perf_counter() - start < 1

    def test_ten_edges_of_a_bin_are_one_part_of_an_expression(self):
        assert [visits.age.bin(range(edges)).nodes for edges in (1, 10, 11, plan.MOST_EDGES)] == [3, 3, 4, 1_002]
        with pytest.raises(ParameterError, match="parts"):
            visits.age.bin(range(plan.MOST_EDGES)) + visits.cost.bin(range(plan.MOST_EDGES))


class TestFrames:
    def test_steps_are_kept_in_the_order_in_which_they_were_written(self):
        query = visits.where(visits.age >= 40, visits.cost > 0).derive(tens=visits.age / 10, half=visits.cost / 2)
        derive = query.agg(n=dp.count()).plan.source
        assert (derive.name, derive.source.name) == ("half", "tens")
        where = derive.source.source
        assert where.predicate == (visits.cost > 0).node
        assert where.source == plan.Where(plan.Table("visits"), (visits.age >= 40).node)

    def test_a_frame_is_not_changed_by_what_is_built_from_it(self):
        before = visits.agg(n=dp.count())
        visits.where(visits.age >= 40).derive(x=visits.age)
        assert visits.agg(n=dp.count()) == before

    def test_a_column_named_like_a_verb_is_reached_by_brackets(self):
        assert visits["where"].node == Column("where")
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

    @pytest.mark.parametrize("value", [visits.age, 5, None, "n", dp.count])
    def test_only_aggregates_leave_a_table(self, value):
        for source in (visits, visits.group_by("ward")):
            with pytest.raises(TypeMismatchError, match="never does"):
                source.agg(x=value)

    def test_a_query_asks_for_something(self):
        for source in (visits, visits.group_by("ward")):
            with pytest.raises(ParameterError, match="asks for something"):
                source.agg()

    def test_an_answer_is_not_named_like_a_grouping_column(self):
        with pytest.raises(ParameterError, match="taken"):
            visits.group_by("ward").agg(ward=dp.count())


class TestAggregates:
    def test_aggregates_take_names_and_expressions(self):
        assert dp.sum("cost").measure.operand == COST
        assert dp.mean(visits.cost / 2).measure.operand == (visits.cost / 2).node
        assert dp.count_distinct("ward", domain=["A"]).measure == plan.CountDistinct(Column("ward"), ("A",))
        assert dp.count().measure == plan.Count()
        assert dp.count_units().measure == plan.CountUnits()
        assert frame.median("cost").measure == plan.Median(COST)
        assert frame.interquartile_range(visits.cost / 2).measure.operand == (visits.cost / 2).node

    @pytest.mark.parametrize("column", [5, None, ["cost"], plan.Column("cost"), dp.count()])
    def test_what_is_no_column_is_refused(self, column):
        for aggregate in (dp.sum, dp.mean, dp.count_distinct, frame.median, frame.interquartile_range):
            with pytest.raises(TypeMismatchError):
                aggregate(column)

    @pytest.mark.parametrize("aggregate", [frame.median, frame.interquartile_range])
    def test_quartiles_have_bounds_and_a_grid_like_any_other_measure(self, aggregate):
        measure = aggregate("cost", bounds=(0.1, 3), grid=Decimal("0.01")).measure
        assert (measure.bounds, measure.grid) == ((Fraction(1, 10), 3), Fraction(1, 100))
        for refused in ({"bounds": (1, 0)}, {"bounds": 5}, {"grid": 0}):
            with pytest.raises(ParameterError):
                aggregate("cost", **refused)
        query = visits.agg(m=aggregate("cost", bounds=(0, 3)))
        assert repr(query) == f"query of table 'visits': m={aggregate.__name__}('cost', bounds=(0, 3))"
        with pytest.raises(ParameterError, match="without a name") as refusal:
            visits.agg(aggregate("cost"))
        assert refusal.value.instead in (
            "agg(middle=dp.median('cost'))",
            "agg(width=dp.interquartile_range('cost'))",
        )

    def test_bounds_and_grids_are_exact(self):
        measure = dp.sum("cost", bounds=(0.1, np.float64(0.3)), grid=Decimal("0.01")).measure
        assert measure.bounds == (Fraction(1, 10), Fraction(3, 10))
        assert measure.grid == Fraction(1, 100)
        assert dp.mean("cost", bounds=[np.int64(-1), Fraction(1, 3)]).measure.bounds == (-1, Fraction(1, 3))
        assert dp.sum("cost", bounds=(-0.0, 0)).measure.bounds == (0, 0)
        assert dp.sum("cost", bounds=(0, 1e-320)).measure.bounds[1] == Fraction("1e-320")

    @pytest.mark.pitfall("D")
    @pytest.mark.parametrize(
        "number",
        [
            float("nan"),
            float("inf"),
            -float("inf"),
            10**401,
            Decimal("1e999"),
            Decimal("NaN"),
            True,
            "0.1",
            None,
            np.float64("nan"),
            np.True_,
            b"1",
            1j,
            [1],
        ],
    )
    def test_bounds_grids_and_weights_that_are_no_numbers_are_refused(self, number):
        for refused in ({"bounds": (0, number)}, {"bounds": (number, 0)}, {"weight": number}):
            with pytest.raises(ParameterError):
                dp.sum("cost", **refused)
        if number is not None:
            with pytest.raises(ParameterError):
                dp.mean("cost", grid=number)
        with pytest.raises(ParameterError, match="weight"):
            dp.count(weight=number)

    @pytest.mark.parametrize("number", [0, -1, -0.0])
    def test_grids_and_weights_are_above_zero(self, number):
        with pytest.raises(ParameterError, match="above zero"):
            dp.sum("cost", grid=number)
        for aggregate in (dp.count, dp.count_units):
            with pytest.raises(ParameterError, match="above zero"):
                aggregate(weight=number)

    @pytest.mark.pitfall("D")
    def test_bounds_in_the_wrong_order_are_refused_with_the_right_one(self):
        with pytest.raises(ParameterError) as caught:
            dp.sum("cost", bounds=(5, 1))
        assert caught.value.instead == "bounds=(1, 5)"

    @pytest.mark.parametrize("bounds", [(1,), (1, 2, 3), 5, "ab", {1, 2}, iter((1, 2))])
    def test_bounds_are_a_pair(self, bounds):
        with pytest.raises(ParameterError, match="pair"):
            dp.sum("cost", bounds=bounds)

    @pytest.mark.parametrize("domain", ["AB", 5, {"A", "B"}])
    def test_a_domain_is_a_list(self, domain):
        with pytest.raises(ParameterError, match="domain"):
            dp.count_distinct("ward", domain=domain)


def _grouping(*columns: str, **options) -> plan.Grouping:
    return visits.group_by(*columns, **options).agg(n=dp.count()).plan.grouping


TABLES = {
    "arrow": pa.table,
    "batch": pa.RecordBatch.from_pydict,
    "pandas": pd.DataFrame,
    "polars": pl.DataFrame,
}


class TestKeys:
    def test_keys_left_open_are_the_catalogs(self):
        assert _grouping("ward") == plan.Grouping(("ward",), (None,))
        assert _grouping("ward", "age", keys={"age": [1]}) == plan.Grouping(("ward", "age"), (None, (1,)))

    def test_keys_are_lists_of_plain_values_in_their_order(self):
        grouping = _grouping(
            "a", "b", "c", keys={"a": range(2), "b": np.array(["y", "x"]), "c": pd.Series([True, False])}
        )
        assert grouping.values == ((0, 1), ("y", "x"), (True, False))
        assert {type(key) for keys in grouping.values for key in keys} == {int, str, bool}

    def test_the_missing_key_is_none_and_what_pandas_writes_for_it(self):
        for missing in (None, float("nan"), np.nan, pd.NaT, pd.NA, np.datetime64("NaT")):
            assert _grouping("ward", keys={"ward": ["A", missing]}).values == (("A", None),)

    @pytest.mark.parametrize("keys", ["AB", 5, {"A", "B"}, frozenset("AB"), b"A", None])
    def test_keys_without_an_order_of_their_own_are_refused(self, keys):
        with pytest.raises(ParameterError, match="keys of 'ward'"):
            visits.group_by("ward", keys={"ward": keys})

    def test_keys_of_a_column_that_is_not_grouped_by_are_refused(self):
        with pytest.raises(ParameterError, match="not among the grouping columns"):
            visits.group_by("ward", keys={"age": [1]})

    @pytest.mark.parametrize("columns", [(), (5,), (visits.ward,), (None,), ("ward", "ward"), (["ward"],)])
    def test_groups_are_named_by_text_each_once(self, columns):
        with pytest.raises(ParameterError, match="group_by"):
            visits.group_by(*columns)

    @pytest.mark.parametrize("make", TABLES.values(), ids=TABLES)
    def test_the_rows_of_a_public_table_are_keys_each_once(self, make):
        table = make({"other": [1, 2, 3], "age": [40, 50, 40], "ward": ["A", "B", "A"]})
        grouping = _grouping("ward", "age", keys=table)
        assert grouping.rows == (("A", 40), ("B", 50))
        assert {type(key) for row in grouping.rows for key in row} == {str, int}

    @pytest.mark.parametrize("make", TABLES.values(), ids=TABLES)
    def test_missing_cells_of_a_public_table_are_the_missing_key(self, make):
        table = make({"ward": ["A", None], "age": [40, None], "day": [dt.date(2026, 1, 31), None]})
        assert _grouping("ward", "age", "day", keys=table).rows == (("A", 40, dt.date(2026, 1, 31)), (None, None, None))

    def test_timestamps_and_nullable_integers_of_pandas_are_plain(self):
        table = pd.DataFrame({"t": pd.to_datetime(["2026-01-31", None]), "i": pd.array([1, None], dtype="Int64")})
        rows = _grouping("t", "i", keys=table).rows
        assert rows == ((dt.datetime(2026, 1, 31), 1), (None, None))  # noqa: DTZ001 - naive
        assert type(rows[0][0]) is dt.datetime

    @pytest.mark.parametrize("make", TABLES.values(), ids=TABLES)
    def test_a_public_table_without_the_column_is_refused(self, make):
        with pytest.raises(NameNotFoundError, match="'wards' renamed to 'ward'"):
            visits.group_by("ward", keys=make({"wards": ["A"]}))

    @pytest.mark.parametrize(
        "keys", [["A", "B"], "A", 5, pd.Series(["A"]), pl.Series(["A"]), pa.array(["A"]), visits, ()]
    )
    def test_what_is_neither_a_dict_nor_a_table_is_refused_with_code_for_this_column(self, keys):
        with pytest.raises(Refusal) as caught:
            visits.group_by("ward", keys=keys)
        assert isinstance(keys, frame.Frame) or caught.value.instead == 'keys={"ward": ["A", "B"]}'

    @pytest.mark.parametrize("cap", [0, -1, 1.5, True, "2", float("nan")])
    def test_caps_of_a_grouping_are_whole_numbers(self, cap):
        for name in ("max_groups", "max_rows_per_group"):
            with pytest.raises(ParameterError, match=name):
                visits.group_by("ward", **{name: cap})

    def test_caps_of_a_grouping_are_kept(self):
        grouping = _grouping("ward", max_groups=np.int64(2), max_rows_per_group=3)
        assert (grouping.max_groups, grouping.max_rows_per_group) == (2, 3)


def test_a_refusal_of_a_frame_is_raised_from_one_frame_of_ours():
    for call in (lambda: visits.where(5), lambda: dp.sum("cost", bounds=(2, 1)), visits.group_by):
        with pytest.raises(Refusal) as caught:
            call()
        assert len(list(caught.traceback)) <= 3
