"""What a watch and its questions are, by public facts: price, name, sensitivity of each key on its own."""

from fractions import Fraction

import pyarrow as pa
import pytest

import discreet as dp
from discreet.accounting.costs import RHO_UNITS
from discreet.accounting.renyi import divergence_over_order
from discreet.catalog.catalog import Catalog
from discreet.errors import BudgetError, ParameterError, UnboundedError, UnsupportedError
from discreet.mechanisms import AboveThreshold, Gaussian, RepeatedAboveThreshold
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


PAIR = dp.Budget(epsilon=1, delta=1e-6)
SMALL = {"epsilon": 0.1}
ASKED = {"a tenth": SMALL, "half": {"epsilon": 0.5}, "whole": {"epsilon": 1}, "rho": {"rho": 0.001}}


def under_delta(budget=PAIR, price=SMALL, **words):
    options = Threshold(**({"threshold": 10} | words))
    return analyze_sparse_vector("visits", TWO, budget, options, **price)


@pytest.mark.pitfall("B20")
@pytest.mark.parametrize("price", ASKED)
@pytest.mark.parametrize("with_answers", [False, True], ids=["told", "shown"])
@pytest.mark.parametrize("monotone", [False, True], ids=["any way", "one way"])
@pytest.mark.parametrize("answers", [1, 2, 30])
def test_with_a_delta_the_whole_costs_what_was_asked_for_at_every_order_of_it(price, with_answers, monotone, answers):
    """And nearly all of it: comparisons and shown answers share it without a rest."""
    made = under_delta(price=ASKED[price], answers=answers, monotone=monotone, with_answers=with_answers, sensitivity=2)
    spent = made.spending
    assert PAIR.admits(PAIR.cost(made.event))
    if spent.is_pure:
        assert (price, made.event) == ("whole", made.mechanism.event())
        return
    found = [divergence_over_order(made.event, order) for order in (*spent.orders, PAIR.order)]
    assert max(found) <= spent.amount
    assert PAIR.cost(made.event).renyi <= spent.amount * RHO_UNITS
    if price != "rho":
        assert max(found) > spent.amount * (1 - Fraction(1, 10**5))


def test_of_one_threshold_and_one_for_each_answer_the_more_accurate_is_taken():
    few, many = (under_delta(answers=answers).mechanism for answers in (1, 10))
    assert isinstance(few, AboveThreshold)
    assert isinstance(many, RepeatedAboveThreshold)
    assert (many.times, many.each.answers, many.answers) == (10, 1, 10)
    one = AboveThreshold(threshold=10, epsilon=under_delta(answers=10).spending.pure_epsilon, answers=10)
    assert many.accuracy(1000) < one.accuracy(1000) * Fraction(2, 3)
    large = under_delta(dp.Budget(epsilon=8, delta=1e-6), {"epsilon": 7}, answers=10)
    assert isinstance(large.mechanism, AboveThreshold)


def test_without_shown_answers_the_accuracy_over_a_thousand_queries_decides():
    for answers in (2, 3, 5, 8, 20):
        made = under_delta(price={"epsilon": 0.5}, answers=answers)
        one = AboveThreshold(threshold=10, epsilon=made.spending.pure_epsilon, answers=answers)
        each = AboveThreshold(threshold=10, epsilon=made.spending.part(Fraction(1, answers)).pure_epsilon)
        forms = [one, RepeatedAboveThreshold(each, answers)]
        assert made.mechanism == min(forms, key=lambda form: form.accuracy(1000))


@pytest.mark.parametrize("answers", [1, 2, 10])
def test_shown_answers_have_the_narrower_noise_for_half_of_the_cost(answers):
    made = under_delta(answers=answers, with_answers=True)
    noise = made.mechanism.answer_noise
    assert isinstance(noise, Gaussian)
    assert answers * noise.rho == pytest.approx(float(made.spending.amount / 2), rel=1e-12)
    pure = AboveThreshold(threshold=10, epsilon=made.spending.pure_epsilon, answers=answers, with_answers=True)
    assert made.mechanism.margin() < pure.margin()
    assert made.mechanism.accuracy(1000) < pure.accuracy(1000)


def test_under_a_rho_shown_answers_are_gaussian_and_stages_are_charged_by_their_rho():
    made = under_delta(price={"rho": Fraction(1, 100)}, answers=4, with_answers=True)
    stages, shown = made.event.events
    assert (stages.count, shown.count) == (4, 4)
    assert 4 * stages.event.epsilon**2 / 2 + 4 * made.mechanism.answer_noise.rho <= Fraction(1, 100)
    assert isinstance(made.mechanism.answer_noise, Gaussian)


def test_a_whole_budget_may_be_spent_on_one_pure_threshold():
    made = under_delta(price={"epsilon": 1}, answers=10)
    assert made.spending.is_pure
    assert made.delta == 0
    assert isinstance(made.mechanism, AboveThreshold)


@pytest.mark.parametrize("budget", [dp.Budget(epsilon=2), dp.Budget(epsilon=2, delta=1e-6, reserved_delta=1e-6)])
@pytest.mark.parametrize(
    "words", [{}, {"answers": 10}, {"answers": 3, "with_answers": True, "monotone": True}], ids=str
)
def test_without_a_delta_to_convert_at_it_is_one_threshold_of_all_the_epsilon(budget, words):
    made = under_delta(budget, {"epsilon": 0.5}, **words)
    assert made.mechanism == AboveThreshold(threshold=10, epsilon=Fraction(1, 2), **words)


@pytest.mark.parametrize("words", [{"answers": 0}, {"sensitivity": -1}, {"grid": 0}, {"gap": 1}], ids=str)
def test_options_out_of_range_are_refused_with_a_delta_too(words):
    with pytest.raises(ParameterError):
        under_delta(**words)


def test_watches_in_stages_that_differ_have_other_descriptions():
    words = [{}, {"threshold": 11}, {"answers": 11}, {"monotone": True}, {"gap": True}, {"with_answers": True}]
    made = [under_delta(**({"answers": 10} | each)) for each in words]
    assert {type(each.mechanism) for each in made} == {RepeatedAboveThreshold}
    assert len({each.description for each in made}) == len(words)


def test_a_question_is_held_against_the_declared_sensitivity_in_stages_too():
    made = under_delta(answers=10, sensitivity=2, grid=2)
    query = dp.table("visits").agg(n=dp.count())
    with pytest.raises(ParameterError, match="on the grid 1"):
        analyze_sparse_vector_query(query.plan, TWO, made)
    with pytest.raises(UnboundedError, match="can move it by 1"):
        analyze_sparse_vector_query(query.plan, TWO, under_delta(answers=10, sensitivity=Fraction(1, 2)))
