"""What a watch and its questions are, by public facts: price, name, sensitivity of each key on its own."""

from fractions import Fraction

import pyarrow as pa
import pytest

import discreet as dp
from discreet.catalog.catalog import Catalog
from discreet.errors import BudgetError, UnboundedError, UnsupportedError
from discreet.planner.queries.sparse_vector import Threshold, analyze_sparse_vector, analyze_sparse_vector_query
from former import former

T = dp.table("t")
ROWS = pa.table({"id": ["a", "a", "b"], "x": [1, 2, 1]})


@pytest.fixture
def session():
    with dp.testing.protect(
        ROWS, name="t", privacy_unit="id", max_rows=5, keys={"x": [1, 2, 3]}, budget=dp.Budget(epsilon=2)
    ) as opened:
        yield opened


def watch(session, **words):
    options = Threshold(**({"threshold": 10} | words))
    return analyze_sparse_vector("t", session.catalog, session.ledger.budget("t"), options, epsilon=0.5)


def test_the_price_is_that_of_the_whole_and_at_most_what_was_asked_for(session):
    made = watch(session)
    assert made.event.epsilon == made.mechanism.epsilon <= Fraction(1, 2)
    assert dp.accounting.costs.cost(made.event).epsilon <= 5 * 10**11


def test_by_groups_a_question_counts_by_how_far_one_key_moves(session):
    """A unit is in all three groups with five rows: with one row in each, each count moves by one."""
    query = T.group_by("x", max_rows_per_group=1).agg(n=dp.count())
    assert analyze_sparse_vector_query(query.plan, session.catalog, watch(session)).grid == 1
    units = T.group_by("x").agg(n=dp.count_units())
    analyze_sparse_vector_query(units.plan, session.catalog, watch(session))
    with pytest.raises(UnboundedError, match="can move it by 5"):
        analyze_sparse_vector_query(T.group_by("x").agg(n=dp.count()).plan, session.catalog, watch(session))


ONE_ROW = {"max_rows_per_group": 1}
QUARTERS = {"bounds": (0, 3), "grid": Fraction(1, 4)}
MOVED = {
    "rows": (T.agg(n=dp.count()), 5),
    "units": (T.agg(n=dp.count_units()), 1),
    "one row of each group": (T.group_by("x", **ONE_ROW).agg(n=dp.count()), 1),
    "sum": (T.agg(s=dp.sum("x", bounds=(0, 3))), 15),
    "sum in quarters": (T.agg(s=dp.sum("x", **QUARTERS)), 15),
}


@pytest.mark.pitfall("B23")
@pytest.mark.parametrize("question", MOVED)
def test_a_question_is_allowed_from_the_sensitivity_that_it_has_and_from_no_lower_one(session, question):
    """By a quarter less the watch would draw too little noise for it."""
    query, moved = MOVED[question]
    grid = Fraction(1, 4)
    analyze_sparse_vector_query(query.plan, session.catalog, watch(session, sensitivity=moved, grid=grid))
    with pytest.raises(UnboundedError, match=f"can move it by {moved}"):
        analyze_sparse_vector_query(query.plan, session.catalog, watch(session, sensitivity=moved - grid, grid=grid))


@pytest.mark.pitfall("B23")
@pytest.mark.parametrize("bounds", [(-3, 3), (-3, 0)])
def test_a_watch_of_answers_that_move_one_way_takes_no_sum_that_a_row_may_lower(session, bounds):
    made = watch(session, sensitivity=15, monotone=True)
    with pytest.raises(UnboundedError, match="monotone=True"):
        analyze_sparse_vector_query(T.agg(s=dp.sum("x", bounds=bounds)).plan, session.catalog, made)


@pytest.mark.pitfall("B23")
def test_a_replaced_unit_may_move_answers_both_ways():
    with dp.testing.protect(
        ROWS, name="t", privacy_unit="id", max_rows=5, neighbours="replace_one", budget=dp.Budget(epsilon=2)
    ) as session:
        watch(session, monotone=False)
        with pytest.raises(BudgetError, match="monotone=True"):
            watch(session, monotone=True)


@pytest.mark.pitfall("B23")
def test_what_a_question_was_bounded_by_is_what_the_engine_is_asked_to_enforce(session):
    query = T.group_by("x", max_groups=2, max_rows_per_group=1).agg(n=dp.count())
    asked = analyze_sparse_vector_query(query.plan, session.catalog, watch(session))
    assert (asked.pushdown.caps.max_groups, asked.pushdown.caps.max_rows_per_group) == (2, 1)


TWO = Catalog.model_validate(
    {
        "tables": {
            name: {
                "columns": {"id": {"type": "text"}, name[0]: {"type": "integer"}},
                "privacy_unit": "id",
                "max_rows": 1,
                "budget": {"epsilon": 2},
            }
            for name in ("visits", "tests")
        }
    }
)


@pytest.mark.pitfall("B23")
def test_a_question_that_reads_another_protected_table_is_refused():
    """The watch was charged to one of them."""
    made = analyze_sparse_vector("visits", TWO, dp.Budget(epsilon=2), Threshold(10), epsilon=0.5)
    visits, tests = dp.table("visits"), dp.table("tests")
    analyze_sparse_vector_query(visits.agg(n=dp.count()).plan, TWO, made)
    with pytest.raises(UnsupportedError, match="a join with 'tests' in a sparse vector of 'visits'"):
        analyze_sparse_vector_query(visits.join(tests, on="id").agg(n=dp.count()).plan, TWO, made)


def test_watches_that_differ_have_other_names(session):
    names = {
        former(watch(session, **words))
        for words in ({}, {"threshold": 11}, {"answers": 2}, {"monotone": True}, {"gap": True}, {"with_answers": True})
    }
    assert len(names) == 6


def test_a_question_to_a_watch_has_no_price_of_its_own(session):
    asked = analyze_sparse_vector_query(T.agg(n=dp.count_units()).plan, session.catalog, watch(session))
    with pytest.raises(TypeError):
        asked.event  # noqa: B018 - reading it is the test
