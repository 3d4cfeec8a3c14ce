"""Ranges and hierarchies as people give them."""

import datetime as dt

import pandas as pd
import pyarrow as pa
import pytest

import discreet as dp
from discreet.errors import NameNotFoundError, ParameterError
from discreet.plan import logical
from discreet.query import workloads

T = dp.table("t")
AREAS = pa.table({"state": ["A", "A", "B"], "county": ["A1", "A2", "B1"], "zip": ["1", "2", "2"]})


def test_ranges_are_places_among_the_edges():
    made = workloads.range_measure("age", [0, 21, 33, 65], [(21, 33), (0, 65)])
    assert made == logical.Ranges(logical.ColumnRef("age"), (0, 21, 33, 65), ((1, 2), (0, 3)))


def test_edges_are_where_ranges_end_unless_they_are_given():
    assert workloads.range_measure("age", None, [(21, 65), (5, 21)]).edges == (5, 21, 65)
    days = [(dt.date(2026, 1, 1), dt.date(2026, 2, 1))]
    assert workloads.range_measure("day", None, days).edges == days[0]


@pytest.mark.parametrize(
    ("edges", "given", "words"),
    [
        (None, [], "0 ranges"),
        (None, "ab", "type str"),
        (None, 3, "type int"),
        (None, [21], "not a pair"),
        (None, ["ab"], "not a pair"),
        (None, [(33, 21)], r"\(33, 21\)"),
        (None, [(21, 21)], r"\(21, 21\)"),
        (None, [(21, "b")], "no order"),
        (None, [(21, [])], "list"),
        (None, [(21, float("nan"))], "float"),
        ([0, 65], [(0, 33)], "33"),
        ({0, 33}, [(0, 33)], "type set"),
    ],
)
def test_ranges_that_make_no_sense_are_refused(edges, given, words):
    with pytest.raises(ParameterError, match=words):
        T.ranges("age", edges=edges, ranges=given)


def test_the_column_of_ranges_is_named_by_text():
    with pytest.raises(ParameterError, match="Expr"):
        T.ranges(T.age, ranges=[(0, 1)])


@pytest.mark.parametrize("keys", [AREAS, AREAS.to_pandas()], ids=["arrow", "pandas"])
def test_a_hierarchy_takes_its_cells_from_a_public_table(keys):
    measure, grouping = workloads.hierarchy_measure(("state", "county"), keys, ["zip"], 3)
    assert measure == logical.HierarchyCounts(("state", "county"), ("zip",))
    assert grouping.rows == (("A", "A1", "1"), ("A", "A2", "2"), ("B", "B1", "2"))
    assert grouping.max_rows_per_group == 3


def test_one_crossing_column_may_be_named_alone():
    assert workloads.hierarchy_measure(("state",), AREAS, "zip", None)[0].crossing == ("zip",)


@pytest.mark.parametrize("levels", [(), ("state", "state"), (3,)])
def test_levels_are_names_each_once(levels):
    with pytest.raises(ParameterError, match="column names"):
        T.hierarchy(*levels, keys=AREAS)


def test_keys_of_a_hierarchy_are_a_table_with_its_columns():
    with pytest.raises(ParameterError, match="not a table"):
        T.hierarchy("state", keys={"state": ["A"]})
    with pytest.raises(NameNotFoundError, match="tract"):
        T.hierarchy("state", "tract", keys=pd.DataFrame({"state": ["A"]}))


def test_queries_say_what_they_ask():
    assert repr(T.ranges("age", ranges=[(0, 5), (0, 9)])) == "query of table 't': n=2 ranges of 'age'"
    assert "n=hierarchy('state', 'county')" in repr(T.hierarchy("state", "county", keys=AREAS))


def test_ranges_are_taken_by_position_too():
    assert T.ranges("age", [(21, 33)]) == T.ranges("age", ranges=[(21, 33)])
    with pytest.raises(ParameterError, match="without any"):
        T.ranges("age")


def test_a_hierarchy_without_keys_or_with_a_misspelt_level_is_refused_with_what_to_type():
    with pytest.raises(ParameterError) as caught:
        T.hierarchy("state", "county")
    assert caught.value.instead.startswith('hierarchy("state", "county", keys=public_table)')
    with pytest.raises(NameNotFoundError) as caught:
        T.hierarchy("stat", keys=AREAS)
    assert caught.value.instead.startswith('"state" instead of "stat"')


def test_moments_are_of_columns_with_bounds_where_these_are_given():
    query = T.moments("age", "hours", bounds={"age": (17, 90)}, products="squares")
    (output,) = query.plan.outputs
    assert output.name == "total"
    assert output.measure == logical.MomentsMeasure(("age", "hours"), ((17, 90), None), "squares")
    assert "moments('age', 'hours')" in repr(query)


@pytest.mark.parametrize(
    ("columns", "words"),
    [
        ((), {}),
        (("age", "age"), {}),
        ((1,), {}),
        (("age",), {"bounds": {"hours": (0, 1)}}),
        (("age",), {"bounds": {"age": (1, 0)}}),
        (("age",), {"bounds": {"age": "01"}}),
        (("age",), {"products": "cubes"}),
    ],
)
def test_moments_that_make_no_sense_are_refused(columns, words):
    with pytest.raises(ParameterError):
        T.moments(*columns, **words)
