"""Quantiles through a session: what is asked of the engine, what is refused, what is stored, and how it reads."""

from fractions import Fraction

import pyarrow as pa
import pytest

import discreet as dp
from discreet.accounting.costs import cost
from discreet.accounting.filters import Budget
from discreet.catalog.catalog import Catalog
from discreet.errors import KeysError, ParameterError, UnboundedError, UnsupportedError
from discreet.planner.queries.quantile_methods import ByChoice, ByTree
from discreet.planner.queries.quantiles import QuantilePlan
from discreet.planner.registry import plan_query
from discreet.release.release import Release

T = dp.table("t")
MEDIAN = dp.median("x", bounds=(0, 9))
DECILES = dp.quantiles("x", [part / 10 for part in range(1, 10)], bounds=(0, 9))


def catalog(**facts):
    columns = {"id": {"type": "text"}, "g": {"type": "text", "keys": ["a", "b"]}, "x": {"type": "integer"}}
    table = {"columns": columns | {"y": {"type": "real"}}, "privacy_unit": "id", "max_rows": 2} | facts
    return Catalog.model_validate({"tables": {"t": table}})


def plan_of(query, budget=None, **facts):
    return plan_query(query.plan, catalog(**facts), budget or Budget(epsilon=2), epsilon=1)


def rows(number=600):
    return pa.table(
        {
            "id": [f"p{i // 2}" for i in range(number)],
            "g": ["ab"[i % 2] for i in range(number)],
            "x": [None if i % 50 == 0 else i % 10 for i in range(number)],
            "y": [i / 7 for i in range(number)],
        }
    )


def opened(make=dp.protect, budget=None, **words):
    facts = {"name": "t", "privacy_unit": "id", "max_rows": 2, "keys": {"g": ["a", "b"]}, "ledger": ":memory:"} | words
    return make(rows(), budget=budget or dp.Budget(epsilon=10), **facts)


def test_the_engine_is_asked_for_the_rows_at_each_step_of_whole_groups():
    private = plan_of(T.group_by("g", max_groups=1).agg(m=MEDIAN))
    assert isinstance(private, QuantilePlan)
    keys = private.pushdown.keys
    assert keys.inner == 1
    assert keys.rows == tuple((g, step) for g in "ab" for step in range(10))
    assert private.pushdown.caps.max_groups == 1
    assert private.groups == 2


def test_a_testing_session_answers_exactly_and_skips_missing_values():
    with opened(dp.testing.protect) as session:
        release = session.release(T.group_by("g").agg(x=dp.quantiles("x", [0.25, 0.5], bounds=(0, 9))), epsilon=1)
        assert release["x_25"] == (2, 3)
        assert release["x_50"] == (4, 5)
        assert [key.values for key in release.keys] == [("a", "b")]


@pytest.mark.parametrize("budget", [dp.Budget(epsilon=2), dp.Budget(epsilon=2, delta=1e-9)], ids=["pure", "delta"])
@pytest.mark.parametrize("asked", [MEDIAN, DECILES], ids=["median", "deciles"])
def test_releases_are_charged_what_was_asked_for_stored_and_read_again_at_another_confidence(asked, budget):
    with opened(budget=budget) as session:
        query = T.group_by("g").agg(x=asked)
        explained = session.explain(query, epsilon=1)
        release = session.release(query, epsilon=1)
        again = session.release(query, epsilon=1, confidence=0.5)
        assert again.repeated
        first, second = release.outputs[0], again.outputs[0]
        assert first.values == second.values
        assert first.margins[0] > second.margins[0]
        assert explained.outputs[0].margin == first.margins[0]
        assert first.margin_of == "ranks"
        assert all(0 <= value <= 9 for value in first.values)
        assert Release.from_json(release.to_json()) == release
        assert f"{first.margins[0]:,} ranks" in str(release)
        if budget.is_pure:
            assert session.remaining().epsilon == 1


def test_a_promise_with_a_delta_is_charged_the_rho_and_no_more():
    private = plan_of(T.agg(m=MEDIAN), Budget(epsilon=2, delta=1e-9, reserved_delta=0))
    assert cost(private.event).rho <= private.spending.amount * 10**15
    assert private.delta == Fraction("1e-9")


def test_sizes_decide_which_way_is_taken_and_explain_says_so():
    alone, many = plan_of(T.agg(m=MEDIAN)), plan_of(T.agg(m=DECILES))
    assert isinstance(alone.method, ByChoice)
    assert isinstance(many.method, ByTree)
    assert "a noisy tree within" in alone.noise
    assert "choosing a step for each within" in many.noise
    declared = plan_of(T.agg(m=DECILES), rows=10**7)
    assert "10,000,000 rows in a group, as declared" in declared.noise
    told = plan_of(T.agg(m=dp.quantile("x", 0.5, bounds=(0, 9), sizes=[100, 300])), rows=10**7)
    assert "200 rows in a group, as sizes= says" in told.noise


def test_a_tree_says_what_was_done_to_its_counts():
    assert plan_of(T.agg(m=MEDIAN)).post_processing == ()
    assert "least squares" in plan_of(T.agg(m=DECILES)).post_processing[0]


def test_the_number_of_groups_is_that_of_the_answers_and_margins_are_in_ranks():
    with opened() as session:
        text = str(session.explain(T.group_by("g").agg(m=MEDIAN), epsilon=1))
        assert "groups 2 reads" in " ".join(text.split())
        assert "ranks of its group" in text
        assert session.epsilon_for(T.agg(m=MEDIAN), margin=20) == 0.53


def test_reals_are_answered_on_a_grid_that_is_coarse_enough_for_all_groups():
    private = plan_of(T.group_by("g").agg(m=dp.median("y", bounds=(0, 100))))
    assert private.grid == Fraction(1, 100)
    assert len(private.pushdown.keys.rows) == 2 * 10_001


@pytest.mark.parametrize(
    "query",
    [
        T.agg(m=MEDIAN, n=dp.count()),
        T.agg(m=MEDIAN, s=dp.median("y", bounds=(0, 9))),
        T.agg(m=MEDIAN, s=dp.quantile("x", 0.9, bounds=(0, 8))),
    ],
    ids=["a count", "another column", "other bounds"],
)
def test_what_is_not_counted_at_the_same_steps_is_asked_in_a_batch(query):
    with pytest.raises(UnsupportedError) as caught:
        plan_of(query)
    assert "session.release([" in caught.value.instead


def test_refusals_come_from_public_facts():
    with pytest.raises(UnboundedError, match=r"quantile 0\.9 'm'"):
        plan_of(T.agg(m=dp.quantile("x", 0.9, bounds=(0, 9))), max_rows=None)
    with pytest.raises(UnboundedError):
        plan_of(T.agg(m=dp.median("x")))
    with pytest.raises(KeysError):
        plan_of(T.group_by("id").agg(m=MEDIAN))
    with pytest.raises(ParameterError, match="'m_50_margin'"):
        plan_of(T.agg(m=dp.quantiles("x", [0.5], bounds=(0, 9)), m_50_margin=MEDIAN))


def test_names_of_several_quantiles_say_which_they_are():
    query = T.agg(x=dp.quantiles("x", [0.05, 0.125, 0.999, Fraction(1, 3)]))
    assert [output.name for output in query.plan.outputs] == ["x_5", "x_12_5", "x_99_9", "x_1_of_3"]
    with pytest.raises(ParameterError, match="twice"):
        T.agg(x=dp.quantiles("x", [0.05, 0.05]))
    with pytest.raises(ParameterError, match="'x_5' twice"):
        T.agg(x=dp.quantiles("x", [0.05]), x_5=dp.count())
    with pytest.raises(ParameterError, match="not a list"):
        dp.quantiles("x", 0.5)


def test_medians_still_have_noise_that_fits_where_that_is_asked_for():
    with opened() as session:
        assert 0 <= session.release(T.agg(m=MEDIAN), epsilon=1, method=dp.SmoothSensitivity()).value <= 9


@pytest.mark.parametrize(("name", "share"), [("min", "0.01"), ("max", "0.99")])
def test_minimum_and_maximum_are_refused_with_the_quantile_to_use(name, share):
    for thing in (dp, T.group_by("g"), T.x):
        with pytest.raises(AttributeError) as caught:
            getattr(thing, name)
        assert "one person" in caught.value.because
        assert f'dp.quantile("cost", {share}' in caught.value.instead


@pytest.mark.parametrize(("bounds", "told"), [((0, 10_000_000), ", in steps of 1,000"), ((0, 9), "")])
def test_an_explanation_says_the_step_that_a_default_grid_was_coarsened_to(bounds, told):
    (output,) = plan_of(T.agg(m=dp.median("x", bounds=bounds))).explain_outputs(Fraction(19, 20))
    assert output.noise.endswith(told)
    assert ("in steps of" in output.noise) == bool(told)


@pytest.mark.parametrize(("query", "by_group"), [(T, False), (T.group_by("g"), True)])
def test_without_a_cap_only_a_grouped_median_is_told_of_caps_in_groups(query, by_group):
    with pytest.raises(UnboundedError) as caught:
        plan_of(query.agg(m=MEDIAN), max_rows=None)
    assert caught.value.instead.startswith("max_rows=10 in dp.protect(...)")
    assert ("max_rows_per_group=1" in caught.value.instead) == by_group
