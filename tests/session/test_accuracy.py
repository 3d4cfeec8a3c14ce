"""Accuracy before a query is asked: both calls are free, and a delta finds unknown keys of a statement."""

import pytest

import discreet as dp

BY_CODE = "SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward"
BUDGET = dp.Budget(epsilon=9, delta=1e-7, reserved_delta=5e-8)


@pytest.fixture
def session():
    facts = {"name": "visits", "privacy_unit": "patient_id", "max_rows": 10, "budget": BUDGET}
    with dp.testing.protect(dp.datasets.visits(200), **facts) as opened:
        yield opened


def test_the_epsilon_for_a_margin_reaches_it_and_is_free(session):
    query = dp.table("visits").agg(n=dp.count())
    epsilon = session.epsilon_for(query, margin=50)
    assert float(session.explain(query, epsilon=epsilon).outputs[0].margin) <= 50
    assert float(session.remaining()) == float(BUDGET.epsilon)


def test_a_statement_with_unknown_keys_has_an_epsilon_where_a_delta_is_given(session):
    with pytest.raises(dp.Refusal):
        session.epsilon_for(dp.sql(BY_CODE), margin=50)
    epsilon = session.epsilon_for(dp.sql(BY_CODE), margin=50, delta=1e-8)
    assert float(session.explain(dp.sql(BY_CODE), epsilon=epsilon, delta=1e-8).outputs[0].margin) <= 50
    in_statement = dp.sql(BY_CODE.replace("SELECT", "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(delta = 1e-8)"))
    assert session.epsilon_for(in_statement, margin=50) == epsilon


def test_a_delta_for_one_query_of_a_frame_is_refused_as_release_refuses_it(session):
    query = dp.table("visits").agg(n=dp.count())
    with pytest.raises(dp.Refusal) as released:
        session.release(query, epsilon=0.1, delta=1e-8)
    with pytest.raises(dp.Refusal) as asked:
        session.epsilon_for(query, margin=50, delta=1e-8)
    assert asked.value.because == released.value.because


def test_expected_errors_stand_side_by_side(session):
    errors = session.expected_errors(dp.table("visits").agg(n=dp.count()), epsilons=[0.1, 1], sizes=300)
    assert errors.epsilons == (0.1, 1.0)
