"""The documentation of an answer: the plan that was charged, what margins omit, what is not protected."""

import json

import pytest

import discreet as dp
from discreet.ledger.records.canonical_text import digest
from discreet.planner.document import charged_plan

FACTS = {"name": "visits", "privacy_unit": "patient_id", "max_rows": 10, "budget": dp.Budget(epsilon=4)}
visits = dp.table("visits")


@pytest.fixture(scope="module")
def session():
    with dp.testing.protect(dp.datasets.visits(100), **FACTS) as opened:
        yield opened


def test_the_plan_is_the_text_whose_digest_the_receipt_has(session):
    made = session.release(visits.where(visits.age < 65).agg(n=dp.count()), epsilon=0.1)
    assert digest(made.document.plan) == made.receipt["description"]
    assert json.loads(made.document.plan)["is"] == "Pushdown"


def test_a_plan_that_is_very_long_is_left_to_the_ledger(session):
    made = session.release(visits.where(visits.ward == "x" * 100_000).agg(n=dp.count()), epsilon=0.1)
    assert made.document.plan is None
    assert dict(made.document.query)["where"].endswith("(99,009 more characters)")


@pytest.mark.parametrize(
    ("output", "is_clamped"),
    [(dp.count(), False), (dp.sum("cost", bounds=(0, 5)), True), (dp.median("age", bounds=(0, 9)), True)],
)
def test_margins_omit_what_clamping_and_bounding_do(session, output, is_clamped):
    omitted = session.release(visits.agg(x=output), epsilon=0.1).document.omitted
    assert ("the bias from clipping values to their bounds" in omitted) is is_clamped
    assert "the bias from rows beyond the contribution bounds, which are left out" in omitted


CELLS = "the bias from cells that are missing or cannot be read, which "


def cells_text(query, **missing):
    """What a document says about missing cells."""
    bounds = {"cost": (0, 10), "age": (0, 90)}
    with dp.testing.protect(dp.datasets.visits(100), **FACTS, bounds=bounds, missing=missing) as session:
        omitted = session.release(query, epsilon=0.1).document.omitted
    (found,) = [text.removeprefix(CELLS) for text in omitted if text.startswith(CELLS)]
    return found


def test_missing_cells_are_left_out_of_sums_unless_a_number_is_declared_for_them():
    query = visits.agg(x=dp.sum("cost"))
    assert cells_text(query) == "are left out"
    assert cells_text(query, cost=3) == "count as the number that the catalog declares for them"


def test_missing_cells_count_as_the_middle_of_the_bounds_in_moments():
    query = visits.moments("cost", "age")
    assert cells_text(query) == "count as the middle of the bounds"
    declared = "count as the number that the catalog declares for them"
    assert cells_text(query, cost=3, age=0) == declared
    assert cells_text(query, cost=3) == f"{declared} or count as the middle of the bounds"


def test_rows_that_are_units_have_no_bounds_and_say_what_is_not_protected():
    facts = FACTS | {"privacy_unit": dp.ROW, "max_rows": None}
    with dp.testing.protect(dp.datasets.visits(100), **facts) as session:
        document = session.release(visits.agg(n=dp.count()), epsilon=0.1).document
    assert not any("contribution bounds" in text for text in document.omitted)
    assert "a person with several rows: each row is protected separately, the person is not" in document.unprotected


def test_keys_that_are_found_are_among_what_margins_omit():
    facts = FACTS | {"budget": dp.Budget(epsilon=4, delta=1e-9, reserved_delta=1e-10)}
    with dp.testing.protect(dp.datasets.visits(100), **facts) as session:
        query = visits.group_by("ward", keys=dp.discover(delta=1e-10)).agg(n=dp.count())
        document = session.release(query, epsilon=0.5).document
    assert "groups that partition selection left out" in document.omitted
    assert "kept by" in dict(document.query)["groups"]


def test_releases_that_the_owner_declared_are_listed():
    """G9 of the scorecard: other known releases."""
    text = """
tables:
  visits:
    privacy_unit: patient_id
    max_rows: 10
    budget: {epsilon: 1}
    other_releases: [the yearly report of 2025]
    columns: {patient_id: {type: integer}}
"""
    rows = dp.datasets.visits(100).select(["patient_id"])
    with dp.testing.Session(dp.Catalog.parse(text), sources={"visits": rows}) as session:
        document = session.release(visits.agg(n=dp.count()), epsilon=0.5).document
    assert document.others == ("the yearly report of 2025",)
    assert ("other releases", "the yearly report of 2025") in document.lines()


def test_the_plan_has_the_states_of_public_tables():
    assert charged_plan('{"is":"x"}', ()) == '{"is":"x"}'
    assert json.loads(charged_plan('{"is":"x"}', (("wards", "1:2"),)))["public"] == [["wards", "1:2"]]
