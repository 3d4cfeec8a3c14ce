"""Public keys are read from lists and from the rows of public tables."""

# ruff: noqa: PD011 - the values of a grouping are tuples

import datetime as dt
from fractions import Fraction

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import discreet as dp
from discreet.errors import NameNotFoundError, ParameterError, Refusal, TypeMismatchError
from discreet.plan import logical
from discreet.query import frame
from discreet.query import keys as key_lists

visits = dp.table("visits")


def _grouping(*columns: str, **options) -> logical.Grouping:
    return visits.group_by(*columns, **options).agg(n=dp.count()).plan.grouping


TABLES = {
    "arrow": pa.table,
    "batch": pa.RecordBatch.from_pydict,
    "pandas": pd.DataFrame,
    "polars": pl.DataFrame,
}


class TestKeys:
    def test_keys_left_open_are_the_catalogs(self):
        assert _grouping("ward") == logical.Grouping(("ward",), (None,))
        assert _grouping("ward", "age", keys={"age": [1]}) == logical.Grouping(("ward", "age"), (None, (1,)))

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
        with pytest.raises(NameNotFoundError, match='"wards" instead of "ward"'):
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


class TestDiscover:
    def test_all_columns_are_found_where_keys_are_to_be_discovered(self):
        found = key_lists.discover(delta=1e-9, rule="optimal", at_least=5, weight=2)
        discovery, given = key_lists.split_discovery(("drug", "ward"), found)
        assert discovery == logical.Discovery(("drug", "ward"), Fraction(1, 10**9), "optimal", 5, Fraction(2))
        assert given is None

    def test_some_columns_may_be_listed(self):
        keys = {"ward": ["A"], "drug": key_lists.discover(delta=1e-9)}
        discovery, given = key_lists.split_discovery(("drug", "ward"), keys)
        assert discovery.columns == ("drug",)
        assert given == {"ward": ["A"]}

    def test_keys_that_are_given_stay_as_they_are(self):
        for keys in (None, {"ward": ["A"]}, ["A"]):
            assert key_lists.split_discovery(("ward",), keys) == (None, keys)

    @pytest.mark.parametrize(
        "keys",
        [
            {"drug": key_lists.discover(delta=1e-9), "ward": key_lists.discover(delta=1e-8)},
            {"other": key_lists.discover(delta=1e-9)},
        ],
    )
    def test_columns_are_found_together(self, keys):
        with pytest.raises(ParameterError, match="found together"):
            key_lists.split_discovery(("drug", "ward"), keys)

    @pytest.mark.parametrize(
        "words", [{"delta": 0}, {"delta": 1}, {"delta": "1e-9"}, {"rule": "best"}, {"at_least": 0}, {"weight": 0}]
    )
    def test_words_that_mean_nothing_are_refused(self, words):
        with pytest.raises(ParameterError):
            key_lists.discover(**({"delta": 1e-9} | words))


class TestWordsForDiscovery:
    @pytest.mark.parametrize("keys", [dp.discover, "auto", {"ward": dp.discover}, {"ward": "auto"}])
    def test_discovery_that_was_not_called_is_answered_with_its_call(self, keys):
        with pytest.raises(Refusal) as caught:
            visits.group_by("ward", keys=keys)
        assert caught.value.instead == 'group_by("ward", keys=dp.discover(delta=1e-10))'

    @pytest.mark.parametrize(
        ("delta", "told"), [("1e-10", "1e-10"), ("small", "1e-10"), (0, "1e-10"), (2, "1e-10"), (None, "1e-10")]
    )
    def test_a_delta_that_is_none_is_answered_with_a_small_one(self, delta, told):
        with pytest.raises(Refusal) as caught:
            dp.discover(delta=delta)
        assert caught.value.instead == f"dp.discover(delta={told})"

    def test_a_delta_has_to_be_said(self):
        with pytest.raises(Refusal, match="without a delta"):
            dp.discover()


@pytest.mark.parametrize(
    ("keys", "instead"),
    [
        ({"age": [20.0, 30.0]}, 'keys={"age": [20, 30]}, or table["age"].bin([20, 30]) for a real column'),
        ({"age": np.array([20.0, 30.0])}, 'keys={"age": [20, 30]}, or table["age"].bin([20, 30]) for a real column'),
        ({"age": [20.0, float("nan")]}, 'keys={"age": [20, None]}, or table["age"].bin([20]) for a real column'),
        ({"age": [0.5, 20]}, 'table["age"].bin([0.5]) for a real column'),
        ({"age": [float("inf")]}, 'table["age"].bin([0, 10, 20]) for a real column'),
        (
            {"age": [float(age) for age in range(50)]},
            'keys={"age": range(0, 100)}, or table["age"].bin([0, 10, 20]) for a real column',
        ),
        (pl.DataFrame({"age": [1.0]}), "an integer column 'age', or table[\"age\"].bin([1]) for a real column"),
    ],
)
def test_keys_that_are_floats_are_refused_where_they_are_typed(keys, instead):
    with pytest.raises(TypeMismatchError, match="with the float") as refusal:
        visits.group_by("age", keys=keys)
    assert refusal.value.instead == instead


def test_a_domain_of_floats_is_refused_where_it_is_typed():
    with pytest.raises(TypeMismatchError, match="domain with the float") as refusal:
        dp.count_distinct("age", domain=[20.0])
    assert refusal.value.instead == 'domain=[20], or table["age"].bin([20]) for a real column'
