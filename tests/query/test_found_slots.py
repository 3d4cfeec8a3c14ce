"""Queries for slots are declared without data, and refused where an argument is of another kind."""

from dataclasses import replace
from fractions import Fraction

import pytest

import discreet as dp
from discreet.errors import Refusal
from discreet.query.found_slots import SlotsQuery, column_names, found_columns

T = dp.table("people")
FOUND = dp.FoundSlots(
    dataset="people",
    version=1,
    guarantee="",
    receipt={},
    columns=({"name": "sex", "type": "text", "edges": [], "values": ["F", "M"]},),
)


def test_a_query_holds_columns_delta_and_bins():
    assert T.find_slots() == SlotsQuery(T.find_slots().source)
    query = T.find_slots(["age"], delta=1e-8, bins=8)
    assert (query.columns, query.delta, query.bins) == (("age",), Fraction(1, 10**8), 8)


@pytest.mark.parametrize(
    "words",
    [
        {"columns": "age"},
        {"columns": []},
        {"columns": ["a", "a"]},
        {"delta": 0},
        {"delta": 2},
        {"bins": 1},
        {"bins": 10_000},
        {"bins": 2.5},
    ],
    ids=str,
)
def test_arguments_of_another_kind_are_refused(words):
    with pytest.raises(Refusal):
        T.find_slots(**words)


def test_names_are_plain_text():
    class Name(str):
        __slots__ = ()

    assert type(column_names([Name("a")], "columns", "[]")[0]) is str


def test_found_slots_are_those_of_a_release():
    (column,) = found_columns(FOUND)
    assert (column.name, column.values) == ("sex", ("F", "M"))
    assert found_columns(None) == ()
    with pytest.raises(Refusal, match="find_slots"):
        found_columns({"sex": ["F", "M"]})
    with pytest.raises(Refusal, match="damaged"):
        found_columns(replace(FOUND, columns=({"name": "sex", "type": "text", "edges": [], "values": [1]},)))
