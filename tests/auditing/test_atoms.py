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
from discreet.auditing.atoms import MOST_ATOMS, atoms
from discreet.auditing.outcomes import Raised


@dataclass
class Answer:
    mean: float
    counts: tuple[int, ...]


@pytest.mark.parametrize(
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
        (Raised("ValueError", "text"), {}),
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
    ],
    ids=lambda value: str(value)[:40],
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
    assert atoms(deep) == {}
    assert len(atoms(wide)) == MOST_ATOMS
    assert atoms(endless) == {}
