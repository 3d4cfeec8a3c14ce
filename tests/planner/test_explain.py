"""What is said before anything is spent: true, complete, readable, and a function of public facts alone."""

from fractions import Fraction

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import discreet as dp
from discreet.accounting.costs import NOTHING, cost
from discreet.accounting.filters import Budget
from discreet.catalog.catalog import Catalog
from discreet.errors import ParameterError
from discreet.planner.explain import explanation, least_epsilon
from discreet.planner.queries.private_plan import BY_GROUP_SIZE
from discreet.planner.queries.tables import AggregatePlan, analyze

PURE, MIXED = Budget(epsilon=2), Budget(epsilon=2, delta=1e-9, reserved_delta=0)
LEVEL = Fraction(19, 20)
t = dp.table("t")


def _plan(query, budget=MIXED, *, facts="max_rows: 3", unit="id", **price) -> AggregatePlan:
    catalog = Catalog.parse(f"""
        tables:
          t:
            privacy_unit: {unit}
            {facts}
            columns:
              id: {{type: text}}
              ward: {{type: text, keys: [A, B]}}
              cost: {{type: real, bounds: [0, 5000]}}
        """)
    return analyze(query.plan, catalog, budget, **(price or {"epsilon": 0.5}))


def _text(query, budget=MIXED, spent=NOTHING, **options) -> str:
    return str(explanation(_plan(query, budget, **options), budget, spent, LEVEL))


COUNT = t.group_by("ward").agg(n=dp.count())
MEAN = t.group_by("ward").agg(cost=dp.mean("cost"))


def test_an_explanation_reads_like_this():
    assert _text(COUNT) == (
        "t: free to read; nothing was opened and nothing is spent\n"
        "  protects  one id, added or removed\n"
        "  keeps     of one id at most 3 rows in all\n"
        "  n         count: ± 66; sigma 33.739 for an L2 sensitivity of 3\n"
        "  groups    2\n"
        "  reads     id, ward\n"
        "  noise     discrete Gaussian, because no noise has a smaller 95% margin at this cost; "
        "the privacy budget has delta 1e-09, so costs at its order add\n"
        "  or        discrete Laplace at the same cost: n ± 81\n"
        "  costs     epsilon 0.5 at delta 1e-09 (rho 0.0039532)\n"
        "  left      epsilon 2 of epsilon 2, delta 1e-09 before this query\n"
        "  ± at 95%, for the noise"
    )


def test_a_pure_promise_is_explained_in_its_own_terms():
    text = _text(t.agg(n=dp.count()), PURE)
    assert "count: ± 18; scale 6 for an L1 sensitivity of 3" in text
    assert "costs     epsilon 0.5\n" in text
    assert "discrete Laplace, because the privacy budget is pure, so epsilons add" in text
    assert "groups    none, one answer" in text
    assert "delta" not in text


def test_noise_is_said_in_the_numbers_of_the_column_and_not_in_steps():
    text = _text(t.agg(s=dp.sum("cost")), PURE, epsilon=1)
    assert "scale 15,000 for an L1 sensitivity of 15,000" in text


def test_the_margin_of_a_mean_is_said_for_a_declared_size_or_not_at_all():
    assert "mean: ± depends on the size of each group; sum sigma " in _text(MEAN)
    text = _text(MEAN, facts="max_rows: 3\n            rows: 80000")
    assert " at most, for groups of 40,000 rows (as declared); sum sigma " in text


def test_noise_that_outputs_share_is_said_as_the_deviation_of_all_together():
    both = t.group_by("ward").agg(n=dp.count(), u=dp.count_units())
    text = _text(both, facts="max_groups: 2\n            max_rows_per_group: 2")
    assert "  n         count: ± 67; deviation 33.9672, read off 2 noisy measures that outputs share\n" in text
    assert "  u         count of units: ± 33; sigma 17.0106" in text


def test_a_query_for_the_whole_promise_says_why_its_noise_is_laplace():
    text = _text(t.agg(n=dp.count()), epsilon=2)
    assert (
        "discrete Laplace, because the query asks for the whole privacy budget, and this noise is no wider for any"
        in text
    )
    assert "costs     epsilon 2 (Renyi 0.105132 at order 18.8)\n" in text


def test_a_row_level_promise_says_that_it_protects_rows():
    text = _text(COUNT, unit="dp.ROW")
    assert "protects rows, not people" in text
    assert "every row, each its own unit" in text


@pytest.mark.parametrize(
    ("facts", "words"),
    [
        ("max_rows: 1", "at most 1 row in all"),
        ("max_rows: 1200", "at most 1,200 rows in all"),
        ("{max_rows: 3, max_groups: 1, max_rows_per_group: 2}", "at most 3 rows in all, 1 group, 2 rows in each group"),
        ("max_rows_per_group: 2", "at most 2 rows in each group"),
    ],
)
def test_what_is_kept_of_a_unit_is_said_in_words(facts, words):
    lines = "\n            ".join(facts.strip("{}").split(", "))
    assert f"keeps     of one id {words}\n" in _text(COUNT, facts=lines)


def test_without_caps_every_row_is_kept():
    assert "keeps     every row\n" in _text(t.agg(u=dp.count_units()), facts="rows: 5")


def test_what_does_not_fit_is_said_before_it_is_tried():
    private = _plan(COUNT, epsilon=2)
    assert explanation(private, MIXED, NOTHING, LEVEL).fits
    after = explanation(private, MIXED, cost(private.event), LEVEL)
    assert not after.fits
    assert "left      epsilon 0 of epsilon 2, delta 1e-09 before this query; IT DOES NOT FIT" in str(after)
    assert not explanation(_plan(COUNT, epsilon=2.1), MIXED, NOTHING, LEVEL).fits


def test_the_price_that_is_said_is_the_price_that_is_charged():
    for budget, price in ((PURE, {"epsilon": 0.3}), (MIXED, {"epsilon": 0.3}), (MIXED, {"rho": 0.001})):
        private = _plan(COUNT, budget, **price)
        said = explanation(private, budget, NOTHING, LEVEL)
        charged = cost(private.event)
        if budget is PURE:
            assert said.cost == "epsilon 0.3"
            assert charged.epsilon == 300_000_000_000
        else:
            assert f"(rho {charged.rho / 10**15:.6g})" in said.cost


def test_a_price_under_a_partly_reserved_delta_is_said_at_the_rest():
    budget = Budget(epsilon=2, delta=1e-9, reserved_delta=4e-10)
    text = _text(COUNT, budget, epsilon=2, mechanism="gaussian")
    assert "costs     epsilon 2 at delta 6e-10 (rho " in text
    assert "DOES NOT FIT" not in text


def test_an_explanation_shows_the_confidence_that_was_asked_for():
    private = _plan(COUNT)
    half = explanation(private, MIXED, NOTHING, Fraction(1, 2))
    assert half.outputs[0].margin < explanation(private, MIXED, NOTHING, LEVEL).outputs[0].margin
    assert str(half).endswith("± at 50%, for the noise")


def _by_size(_):
    return BY_GROUP_SIZE


def _margin_at(query, budget=MIXED, rows=None):
    def at(epsilon: Fraction) -> Fraction | None:
        private = _plan(query, budget, epsilon=epsilon)
        return private.margin(private.recipes[0], LEVEL, rows)

    return at


@pytest.mark.parametrize("budget", [PURE, MIXED])
@pytest.mark.parametrize("wanted", [1, 7, 50, 12345, 10**7])
def test_the_least_epsilon_for_a_margin_gives_it_and_three_digits_less_do_not(budget, wanted):
    at = _margin_at(COUNT, budget)
    found = least_epsilon(at, Fraction(wanted), _by_size)
    assert at(found) <= wanted
    assert found == Fraction(f"{float(found):.3g}")
    assert at(found * Fraction(98, 100)) > wanted or found < Fraction(1, 10**5)


def test_the_least_epsilon_for_a_mean_needs_a_declared_size():
    with pytest.raises(ParameterError, match="rows="):
        least_epsilon(_margin_at(MEAN), Fraction(50), _by_size)
    at = _margin_at(MEAN, rows=40_000)
    assert at(least_epsilon(at, Fraction(50), _by_size)) <= 50


def test_a_margin_that_no_epsilon_gives_is_refused_with_one_that_some_does():
    at = _margin_at(t.agg(s=dp.sum("cost")), PURE)
    with pytest.raises(ParameterError, match="no epsilon") as caught:
        least_epsilon(at, Fraction(1, 10**6), _by_size)
    offered = caught.value.instead.removeprefix("margin=").removesuffix(", or larger")
    assert least_epsilon(at, Fraction(offered), _by_size) > 0


@settings(deadline=None, max_examples=50)
@given(st.fractions(Fraction(1, 1000), 10_000))
def test_the_least_epsilon_of_a_simple_law_is_found_to_three_digits(wanted):
    found = least_epsilon(lambda epsilon: 1 / epsilon, wanted, _by_size)
    assert 1 / wanted <= found <= 1 / wanted * Fraction(1011, 1000)


def test_an_epsilon_is_not_told_for_margins_that_are_not_public_at_it():
    def near_a_threshold(epsilon):
        return None if epsilon < 1_000 else Fraction(1)

    assert least_epsilon(near_a_threshold, Fraction(2), _by_size) >= 1_000
    with pytest.raises(ParameterError, match="not public in advance") as caught:
        least_epsilon(lambda _: None, Fraction(2), _by_size)
    assert caught.value.because == BY_GROUP_SIZE.because
    assert caught.value.instead == BY_GROUP_SIZE.instead


KEYS = dp.discover(delta=1e-11, rule="gaussian")
HIDDEN = {
    "the number of rows": (MEAN, {}, "rows="),
    "bounds": (t.agg(s=dp.sum("cost", bounds="auto")), {}, "bounds=(lo, hi)"),
    "the smooth sensitivity": (t.agg(m=dp.median("cost")), {"method": dp.SmoothSensitivity()}, "dp.ProposedBound("),
    "how near to the threshold": (t.group_by("ward", keys=KEYS).agg(n=dp.count_units()), {}, "a count of rows"),
}


@pytest.mark.parametrize("cause", HIDDEN)
def test_a_margin_that_is_not_public_is_refused_with_the_cause_in_this_query(cause):
    query, options, solved_by = HIDDEN[cause]
    budget = dp.Budget(epsilon=2, delta=1e-9)
    rows = {"id": ["a", "b"], "ward": ["A", "B"], "cost": [1.0, 2.0]}
    facts = {"name": "t", "privacy_unit": "id", "max_rows": 1, "keys": {"ward": ["A", "B"]}, "bounds": {"cost": (0, 9)}}
    session = dp.testing.protect(pa.table(rows), **facts, budget=budget)
    with session, pytest.raises(ParameterError, match="not public in advance") as caught:
        session.epsilon_for(query, margin=1, **options)
    assert caught.value.because.startswith(f"its margin depends on {cause}")
    assert len(caught.value.because.split()) <= 15
    assert solved_by in caught.value.instead
