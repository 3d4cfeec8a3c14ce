"""Atoms: outcomes of every shape as numbers and texts by their place."""

from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import discreet as dp
from discreet.auditing.statistical.flatten import MOST_ATOMS, atoms
from discreet.auditing.statistical.outcomes import IteratorItems, RaisedError
from grids import over


@dataclass
class Answer:
    mean: float
    counts: tuple[int, ...]


@over(
    ("outcome", "expected"),
    [
        (3.5, {"value": 3.5}),
        (True, {"value": True}),
        (Fraction(1, 3), {"value": Fraction(1, 3)}),
        (Decimal("0.1"), {"value": Decimal("0.1")}),
        (np.float64(2.0), {"value": 2.0}),
        (np.int8(3), {"value": 3}),
        (np.array(4), {"value": 4}),
        (None, {}),
        (RaisedError("ValueError", "text"), {}),
        ("text", {"value": "text"}),
        (b"ab", {"value": "b'ab'"}),
        ([1, "a", None], {"value[0]": 1, "value[1]": "a"}),
        ((1, [2, 3]), {"value[0]": 1, "value[1][0]": 2, "value[1][1]": 3}),
        (np.array([[1, 2]]), {"value[0][0]": 1, "value[0][1]": 2}),
        ({"A": 1, 2: {"b": 3}}, {"value['A']": 1, "value[2]['b']": 3}),
        ({"x"}, {"value['x']": 1}),
        (Answer(0.5, (1, 2)), {"value['mean']": 0.5, "value['counts'][0]": 1, "value['counts'][1]": 2}),
        (pa.table({"n": [1, 2]}), {"value rows": 2, "value[0, 'n']": 1, "value[1, 'n']": 2}),
        (pa.table({"k": ["a"], "n": [1], "x": [0.5]}), {"value rows": 1, "value['a', 'n']": 1, "value['a', 'x']": 0.5}),
        (pa.table({"k": ["a", None]}), {"value rows": 2, "value['a']": 1, "value[None]": 1}),
        (pa.table({"k": ["a"], "n": pa.array([None], pa.int64())}), {"value rows": 1}),
        (pd.DataFrame({"k": ["a"], "n": [1]}), {"value rows": 1, "value['a', 'n']": 1}),
        (pl.DataFrame({"k": ["a"], "n": [1]}), {"value rows": 1, "value['a', 'n']": 1}),
        (pd.Series([7], index=["a"]), {"value['a']": 7}),
        (pl.Series([7, 8]), {"value[0]": 7, "value[1]": 8}),
        (pa.array([7, 8]), {"value[0]": 7, "value[1]": 8}),
        (pa.chunked_array([[7], [8]]), {"value[0]": 7, "value[1]": 8}),
        (pa.scalar(7), {"value": 7}),
        (
            pa.table({"k": ["a", "a"], "n": [1, 2]}),
            {"value rows": 2, "value['a', 'n']": 1, "value['a', 2, 'n']": 2},
        ),
        (1 + 2j, {"value real": 1, "value imaginary": 2}),
        (np.complex128(1 + 2j), {"value real": 1, "value imaginary": 2}),
        (np.array([2j]), {"value[0] real": 0, "value[0] imaginary": 2}),
        (np.timedelta64(5, "s"), {"value": "5 seconds", "value number 0": 5}),
        (np.ma.array([1, 2], mask=[True, False]), {"value[1]": 2}),
        ("0x1f", {"value": "0x1f", "value number 0": 31}),
        ({"0x1f": 1}, {"value['0x1f']": 1}),
        ("-1.5e2, 7", {"value": "-1.5e2, 7", "value number 0": -150.0, "value number 1": 7}),
        ({0.5, 0.25}, {"value[0.5]": 1, "value[0.25]": 1, "value key 0": 0.25, "value key 1": 0.5}),
        (IteratorItems("generator", [1, RaisedError("E", "x")]), {"value[0]": 1, "value[1]": "E: x"}),
        (RaisedError("E", "cost 5"), {"error text number 0": 5}),
        ({}.values(), {"value": "dict_values([])"}),
    ],
)
def test_each_number_and_text_stands_at_its_place(outcome, expected):
    assert atoms(outcome) == expected


def test_a_release_has_a_place_for_each_key_and_margin():
    rows = pa.table({"who": [1, 2, 3], "ward": ["A", "A", "B"]})
    with dp.testing.protect(
        rows, name="visits", privacy_unit="who", max_rows=1, keys={"ward": ["A", "B"]}, budget=dp.Budget(epsilon=1)
    ) as session:
        release = session.release(dp.table("visits").group_by("ward").agg(n=dp.count()), epsilon=0.5)
        whole = session.release(dp.table("visits").agg(n=dp.count()), epsilon=0.5)
    found = atoms(release)
    assert (found["value['A', 'n']"], found["value['B', 'n']"], found["value rows"]) == (2, 1, 2)
    assert found["value['A', 'n_margin']"] == release.margin("n")[0]
    assert atoms(whole)["value['n']"] == 3


def test_anything_else_is_a_text_that_is_the_same_on_every_run():
    class Thing:
        pass

    first, second = atoms(Thing()), atoms(Thing())
    assert first == second
    assert "Thing object at 0x>" in first["value"]


def test_an_object_that_shows_nothing_is_said_to_be_unseen_wholly_or_in_part():
    assert atoms(object()).unseen == "all of it: object"
    assert atoms([1, len]).unseen is None
    assert atoms([1, lambda: 0]).unseen == "part of it: function"
    assert atoms([1, iter([])]).unseen == "part of it: list_iterator"
    assert atoms([[[[[object()]]]]]).unseen == "part of it: objects inside of many containers"
    assert atoms([1, "at 0x7f"]).unseen is None


def test_the_attributes_of_an_object_are_looked_at_whatever_it_prints():
    class Model:
        __slots__ = ("__dict__", "slope")

        def __repr__(self):
            return "Model()"

    model = Model()
    model.slope, model.cost = 2.5, [1]
    assert atoms(model) == {"value": "Model()", "value['slope']": 2.5, "value['cost'][0]": 1}
    assert atoms(model).unseen is None


def test_a_collection_that_prints_nothing_is_gone_through():
    class Bag:
        __slots__ = ()

        def __iter__(self):
            return iter([1, 2])

    found = atoms(Bag())
    assert (found["value[0]"], found["value[1]"], found.unseen) == (1, 2, None)


@pytest.mark.parametrize(
    "text", ["9" * 5_000, "0x" + "f" * 5_000, "1e999", "0x1p99999", "-inf NaN"], ids=lambda t: t[:9]
)
def test_numbers_of_any_size_in_texts_are_read(text):
    assert "value number 0" in atoms(text)


def test_few_numbers_of_a_long_text_are_read():
    assert len(atoms("1 " * 100_000)) == 65


def test_keys_too_large_to_print_are_keys():
    assert atoms({10**5_000: 1}) == {"value[int]": 1}


def test_what_cannot_be_printed_or_turned_is_named_by_its_type():
    class Stubborn:
        def __repr__(self):
            raise RuntimeError

        def to_dict(self):
            raise RuntimeError

        def __arrow_c_stream__(self, requested_schema=None):
            raise RuntimeError

    assert atoms(Stubborn()) == {"value": "Stubborn"}


def test_outcomes_without_end_are_read_to_an_end():
    deep = wide = []
    for _ in range(100):
        deep = [deep]
    wide = [0] * (MOST_ATOMS + 10)
    endless = {}
    endless["again"] = endless
    assert atoms(deep) == {"value[0][0][0][0]": "[" * 97 + "]" * 97}
    assert len(atoms(wide)) == MOST_ATOMS
    assert atoms(wide).unseen == "part of it: what comes after the first 10,000 numbers and texts"
    assert atoms(wide[:MOST_ATOMS]).unseen is None
    assert atoms(endless) == {"value" + "['again']" * 4: "{'again': {...}}"}
