"""What kinds of questions share: keys that are public, labels for them, and one sentence of what is revealed."""

from fractions import Fraction

import pytest

import discreet as dp
from discreet.catalog.catalog import Catalog, ColumnType
from discreet.plan.physical import Keys, Pushdown, Read
from discreet.planner.queries.private_plan import PublicKeys
from discreet.planner.queries.tables import analyze
from discreet.release.release import Key

T = dp.table("visits")
COLUMNS = {"id": {"type": "text"}, "age": {"type": "integer"}, "ward": {"type": "text", "keys": ["A", "B"]}}


def private(budget: dp.Budget, **facts: object):
    table = {"columns": COLUMNS, "privacy_unit": "id", "max_rows": 2} | facts
    catalog = Catalog.model_validate({"tables": {"visits": table}})
    return analyze(T.group_by("ward").agg(n=dp.count()).plan, catalog, budget, epsilon=1)


class Parted(PublicKeys):
    def __init__(self, pushdown: Pushdown, labels=()) -> None:
        self.pushdown, self.group_columns, self.labels = pushdown, ("ward", "age"), labels


@pytest.mark.parametrize("labels", [(), (None, ("young", "old"))])
def test_a_column_with_labels_shows_those_and_others_show_their_keys(labels):
    plain = private(dp.Budget(epsilon=1)).pushdown
    columns = (Read("ward", ColumnType.TEXT), Read("age", ColumnType.INTEGER))
    keys = Keys(columns, (("A", 0), ("A", 1), ("B", None)))
    parted = Parted(Pushdown(plain.scan, None, keys, plain.caps, plain.measures), labels)
    ward, age = parted.keys([])
    assert ward == Key("ward", ColumnType.TEXT, ("A", "A", "B"))
    shown = (ColumnType.TEXT, ("young", "old", None)) if labels else (ColumnType.INTEGER, (0, 1, None))
    assert age == Key("age", *shown)


def test_delta_is_said_where_the_noise_needs_one_and_only_there():
    pure, gaussian = private(dp.Budget(epsilon=2)), private(dp.Budget(epsilon=2, delta=1e-9, reserved_delta=0))
    assert (pure.delta, gaussian.delta) == (0, Fraction(1, 10**9))
    assert "delta" not in pure.guarantee("this release from", 1)
    assert "epsilon 1, delta 1e-09" in gaussian.guarantee("this release from", 1)


def test_the_slice_that_a_promise_is_for_is_said():
    part = {"of": "all", "column": "day", "start": "2026-01-01", "end": "2026-02-01"}
    sliced = private(dp.Budget(epsilon=2), slice=part, columns=COLUMNS | {"day": {"type": "date"}})
    said = sliced.guarantee("this watch of", 3, rest=", for ever")
    assert "over this watch of 'visits', version 3, " in said
    assert "2026-01-01" in said
    assert said.endswith(", for ever")
