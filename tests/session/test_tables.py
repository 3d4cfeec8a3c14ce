"""Tables are stored as releases and read back as they were made, for every kind of table that is planned."""

import json
from fractions import Fraction

import pyarrow as pa
import pytest

import discreet as dp
from discreet.errors import UnsupportedError
from discreet.planner.budget.price import Price
from discreet.planner.queries.private_plan import TablePlan
from discreet.release.result import DEFAULT_CONFIDENCE
from discreet.session.kind import Request
from discreet.session.tables import Tables

T = dp.table("t")
AREAS = pa.table({"ward": ["A", "B"], "drug": ["x", "y"]})
ROWS = pa.table(
    {
        "id": list(range(400)),
        "ward": ["A", "B"] * 200,
        "drug": ["x", "y"] * 200,
        "cost": [i % 50 for i in range(400)],
    }
)
WORDS = {"name": "t", "privacy_unit": "id", "max_rows": 1, "keys": {"ward": ["A", "B"]}, "bounds": {"cost": (0, 50)}}
BUDGET = dp.Budget(epsilon=4, delta=2e-8, reserved_delta=1e-8)
QUERIES = {
    "count": T.agg(n=dp.count()),
    "groups": T.group_by("ward").agg(n=dp.count(), m=dp.mean("cost")),
    "quantiles": T.group_by("ward").agg(q=dp.quantiles("cost", [0.25, 0.75])),
    "ranges": T.ranges("cost", ranges=[(0, 25), (10, 50)]),
    "hierarchy": T.hierarchy("ward", "drug", keys=AREAS),
    "keys that are found": T.group_by("drug", keys=dp.discover(delta=1e-9)).agg(n=dp.count()),
    "bounds that are found": T.agg(s=dp.sum("cost", bounds="auto")),
}


@pytest.fixture(params=[dp.protect, dp.testing.protect], ids=["private", "exact"])
def session(request):
    with request.param(ROWS, budget=BUDGET, **WORDS) as opened:
        yield opened


def planned(session, query, **price):
    request = Request(query, Price(**price))
    return request, Tables().plan(request, session.catalog, BUDGET)


@pytest.mark.parametrize("query", QUERIES.values(), ids=QUERIES)
def test_a_table_is_repeated_as_it_was_released(session, query):
    first = session.release(query, epsilon=1)
    again = session.release(query, epsilon=1)
    assert (first.repeated, again.repeated) == (False, True)
    assert again == first
    assert first.private is session._pipeline.is_private
    assert "this release from 't', version 1" in first.guarantee


@pytest.mark.parametrize("query", QUERIES.values(), ids=QUERIES)
def test_margins_at_another_confidence_follow_from_what_is_stored(session, query):
    first = session.release(query, epsilon=1)
    wide = session.release(query, epsilon=1, confidence=0.99)
    assert (first.confidence, wide.confidence) == (DEFAULT_CONFIDENCE, Fraction(99, 100))
    assert wide.repeated
    assert wide.measured == first.measured
    assert [output.values for output in wide.outputs] == [output.values for output in first.outputs]
    margins = [pair for one, other in zip(first.outputs, wide.outputs, strict=True) for pair in _margins(one, other)]
    assert all(before <= after for before, after in margins)
    assert session.release(query, epsilon=1) == first


def _margins(one, other):
    pairs = zip(one.margins or (), other.margins or (), strict=True)
    return [(before, after) for before, after in pairs if before is not None and after is not None]


def test_a_release_with_other_columns_than_are_planned_now_has_margins_at_its_own_confidence_alone(session):
    release = session.release(QUERIES["groups"], epsilon=1)
    request, plan = planned(session, QUERIES["groups"], epsilon=1)
    kind, data = Tables(), release.to_json()
    assert kind.restore(data, plan, plan.event, DEFAULT_CONFIDENCE, repeated=True) == release
    assert kind.restore(data, plan, plan.event, Fraction(1, 2), repeated=True).repeated
    _, narrower = planned(session, QUERIES["count"], epsilon=1)
    _, dearer = planned(session, QUERIES["groups"], epsilon=2)
    for stored, wanted, event in (
        (data, narrower, plan.event),
        (data, dearer, plan.event),
        (data, plan, dearer.event),
    ):
        assert kind.restore(stored, wanted, event, DEFAULT_CONFIDENCE, repeated=True)
        with pytest.raises(UnsupportedError, match="other noise"):
            kind.restore(stored, wanted, event, Fraction(1, 2), repeated=True)
    assert kind.source(request) == QUERIES["groups"].plan.source


def test_what_is_stored_is_the_release(session):
    release = session.release(QUERIES["groups"], epsilon=1)
    (charge,) = [entry for entry in session.history() if entry.kind == "RESERVED"]
    stored = json.loads(session.ledger.stored_answer("t", charge.question))
    assert dp.Release.from_json(stored) == release
    assert stored["receipt"]["question"] == charge.question


def test_every_table_has_a_plan_of_one_family(session):
    for query in QUERIES.values():
        _, plan = planned(session, query, epsilon=1)
        assert isinstance(plan, TablePlan)


def test_additive_noise_is_the_one_that_was_asked_for(session):
    release = session.release(QUERIES["count"], epsilon=0.1, mechanism="laplace")
    assert [measured.l1 for measured in release.measured] == [1]
    assert "delta" not in release.guarantee
    assert not session.release(QUERIES["count"], epsilon=0.1).repeated
