"""Questions whose keys are to be found: what is asked of engines, what it costs, what is released, what is refused."""

import json
from fractions import Fraction

import jsonschema
import numpy as np
import pyarrow as pa
import pytest

import discreet as dp
from discreet.accounting.costs import cost
from discreet.accounting.filters import Budget
from discreet.catalog.catalog import Catalog
from discreet.catalog.privacy_unit import Neighbours
from discreet.errors import BudgetError, KeysError, ParameterError, TypeMismatchError, UnboundedError, UnsupportedError
from discreet.mechanisms.keys import GaussianThreshold, LaplaceThreshold, Optimal
from discreet.plan.physical import CountUnits, KeyedTable
from discreet.planner.queries import partition_selection
from discreet.planner.queries.partition_selection import MANY, analyze_discovery
from discreet.planner.registry import plan_query
from discreet.planner.sensitivity.sensitivity import sensitivity
from discreet.release.release import OutputColumn, Release, schema
from former import former
from grids import over

V = dp.table("visits")
FOUND = dp.discover(delta=1e-9)
PURE = Budget(epsilon=2, delta=1e-8, reserved_delta=1e-8)
MIXED = Budget(epsilon=2, delta=2e-8, reserved_delta=1e-8)
COLUMNS = {
    "id": {"type": "integer"},
    "drug": {"type": "text"},
    "ward": {"type": "text", "keys": ["A", "B"]},
    "cost": {"type": "real", "bounds": [0, 100]},
}


def made(query, budget=PURE, facts=None, **price):
    table = {"columns": COLUMNS, "privacy_unit": "id"} | ({"max_rows": 6, "max_groups": 3} if facts is None else facts)
    catalog = Catalog.model_validate({"tables": {"visits": table}})
    return plan_query(query.plan, catalog, budget, **(price or {"epsilon": 1}))


def by_drug(found=FOUND, **outputs):
    return V.group_by("drug", keys=found).agg(**(outputs or {"n": dp.count()}))


class TestRules:
    def test_names_alone_are_kept_by_the_optimal_rule_for_half_of_epsilon(self):
        private = made(by_drug())
        assert isinstance(private.rule, Optimal)
        assert (private.rule.epsilon, private.share, private.rule.groups) == (Fraction(1, 2), Fraction(1, 2), 3)

    def test_where_units_are_counted_their_noise_is_that_of_a_threshold_and_epsilon_is_paid_once(self):
        private = made(by_drug(patients=dp.count_units()))
        assert isinstance(private.rule, LaplaceThreshold)
        assert private.share == 1
        assert private.rule.noise == private.answers.noisy_measures[0].mechanism
        assert len(private.event.events) == 1

    def test_under_a_rho_many_keys_of_one_unit_are_kept_by_gaussian_noise(self):
        private = made(by_drug(), MIXED, {"max_rows": 100, "max_groups": 40})
        assert isinstance(private.rule, GaussianThreshold)
        assert private.rule.noise.dimension == 40

    @pytest.mark.parametrize(("rule", "kind"), [("optimal", Optimal), ("laplace", LaplaceThreshold)])
    def test_a_rule_can_be_asked_for(self, rule, kind):
        assert isinstance(made(by_drug(dp.discover(delta=1e-9, rule=rule))).rule, kind)

    def test_of_the_rules_that_can_be_paid_the_one_that_needs_fewest_units_is_taken(self):
        chosen = made(by_drug(), MIXED).rule.least_units()
        asked = [made(by_drug(dp.discover(delta=1e-9, rule=rule)), MIXED) for rule in ("optimal", "gaussian")]
        assert chosen == min(each.rule.least_units() for each in asked)

    @pytest.mark.parametrize("how", ["add_remove", "replace_one"])
    @pytest.mark.parametrize("rule", ["optimal", "laplace"])
    def test_the_rule_knows_the_caps_and_the_neighbours(self, how, rule):
        facts = {"max_rows": 6, "max_groups": 3, "neighbours": how}
        private = made(by_drug(dp.discover(delta=1e-9, rule=rule)), facts=facts)
        moved = sensitivity(CountUnits(), private.caps, MANY, Neighbours(how))
        assert private.rule.changed_keys == moved.l1 == moved.l0

    def test_a_row_is_in_one_key(self):
        assert made(by_drug(), facts={"privacy_unit": "dp.ROW"}).rule.groups == 1

    def test_a_cap_on_rows_limits_the_keys_of_a_unit_as_well(self):
        assert made(by_drug(), facts={"max_rows": 4}).rule.groups == 4


class TestPrice:
    @over("outputs", [{"n": dp.count()}, {"u": dp.count_units()}, {"m": dp.mean("cost"), "n": dp.count()}])
    @over("rule", [None, "optimal", "laplace"])
    @over("epsilon", [Fraction(1, 10), Fraction(7, 10), 2])
    def test_it_costs_what_was_asked_for_and_its_own_delta(self, outputs, rule, epsilon):
        charged = cost(made(by_drug(dp.discover(delta=1e-9, rule=rule), **outputs), epsilon=epsilon).event)
        asked = int(epsilon * 10**12)
        assert asked * (1 - 1e-12) - 2 <= charged.epsilon <= asked
        assert charged.delta == 10**9

    @pytest.mark.parametrize("rule", [None, "optimal", "gaussian", "laplace"])
    def test_it_costs_the_rho_that_was_asked_for(self, rule):
        private = made(by_drug(dp.discover(delta=1e-9, rule=rule), n=dp.count(), u=dp.count_units()), MIXED)
        asked = int(private.spending.amount * 10**15)
        is_gaussian = type(private.rule) is GaussianThreshold  # other rules have an epsilon of nine digits
        assert asked * (1 - (1e-12 if is_gaussian else 1e-6)) - 2 <= MIXED.cost(private.event).renyi <= asked
        assert private.delta == MIXED.conversion_delta + Fraction(1, 10**9)

    def test_a_larger_weight_keeps_keys_of_fewer_units(self):
        few, many = (made(by_drug(dp.discover(delta=1e-9, weight=weight))).rule.least_units() for weight in (3, 1))
        assert few < many

    def test_other_questions_have_other_names(self):
        founds = [
            FOUND,
            dp.discover(delta=1e-10),
            dp.discover(delta=1e-9, rule="laplace"),
            dp.discover(delta=1e-9, at_least=5),
            dp.discover(delta=1e-9, weight=2),
        ]
        names = [former(made(by_drug(found))) for found in founds]
        assert len(set(names)) == len(names)
        assert former(made(by_drug())) == names[0]


class TestAnswers:
    EXACT = KeyedTable((("a",), ("b",), (None,)), [[900, 2, 700], [900, 2, 700]])

    @pytest.mark.parametrize("rule", ["optimal", "laplace"])
    def test_only_keys_that_were_selected_are_released_in_their_own_order(self, rule):
        """The rare key shows with at most twice delta, the others do not with less: no alarm in 10^12 runs."""
        private = made(by_drug(dp.discover(delta=1e-13, rule=rule)))
        noisy = private.randomize(self.EXACT)
        assert noisy.keys == (("a",), (None,))
        assert private.keys(noisy)[0].values == ("a", None)
        assert all(len(measured.steps) == 2 for measured in private.measurements(noisy))

    def test_units_keep_the_noise_that_they_passed_with(self):
        private = made(by_drug(u=dp.count_units()))
        exact = KeyedTable(tuple((str(i),) for i in range(500)), [[private.rule.least_units()] * 500])
        noisy = private.randomize(exact)
        assert 0 < len(noisy.keys) < 500
        assert min(noisy.columns[0]) > private.rule.threshold

    def test_without_noise_keys_are_kept_that_would_be_kept_more_often_than_not(self):
        private = made(by_drug())
        assert private.combine(self.EXACT).keys == (("a",), (None,))

    def test_an_empty_selection_is_a_release(self):
        private = made(by_drug())
        noisy = private.randomize(KeyedTable((), [[], []]))
        assert private.outputs(noisy, Fraction(19, 20))[0].values == ()


def visits(number=30_000):
    rng = np.random.default_rng(3)
    drugs = np.minimum(rng.zipf(1.6, number), 3_000)
    wards = rng.choice(["A", "B", "C"], number)
    table = {"id": rng.integers(0, 6_000, number), "drug": drugs, "ward": wards, "cost": rng.integers(0, 100, number)}
    return pa.table(table)


def protected(session=dp.Session, **words):
    facts = {"privacy_unit": "id", "max_rows": 8, "max_groups": 3, "name": "visits", "ledger": ":memory:"}
    budget = dp.Budget(epsilon=4, delta=1e-7, reserved_delta=1e-7)
    return session.protect(visits(), **(facts | {"budget": budget} | words))


class TestSession:
    def test_a_release_is_stored_saved_and_shown_again_at_another_confidence(self, tmp_path):
        query = by_drug(n=dp.count(), m=dp.mean("cost", bounds=(0, 100)))
        with protected() as session:
            release = session.release(query, epsilon=1)
            again = session.release(query, epsilon=1, confidence=0.8)
            assert session.remaining().epsilon == 3
        assert again.repeated
        assert again.keys == release.keys
        assert again["n"] == release["n"]
        assert again.margin("n")[0] < release.margin("n")[0]
        release.save(tmp_path / "release.json")
        assert Release.load(tmp_path / "release.json") == release
        jsonschema.validate(json.loads((tmp_path / "release.json").read_text()), schema())
        assert "delta 1e-09" in release.guarantee

    def test_an_empty_release_is_saved_and_shown(self, tmp_path):
        with protected() as session:
            release = session.release(V.where(V.cost < 0).group_by("drug", keys=FOUND).agg(n=dp.count()), epsilon=1)
        assert len(release) == 0
        assert release.to_pandas().empty
        assert "drug" in str(release)
        release.save(tmp_path / "release.json")
        assert Release.load(tmp_path / "release.json") == release
        jsonschema.validate(release.to_json(), schema())

    def test_explain_says_how_many_units_a_key_needs(self):
        with protected() as session:
            told = str(session.explain(by_drug(dp.discover(delta=1e-9, at_least=5)), epsilon=1))
            rule = made(by_drug(dp.discover(delta=1e-9, at_least=5)), facts={"max_rows": 8, "max_groups": 3}).rule
        assert (
            f"a key of {rule.least_units()} units is kept half of the time, one of {rule.least_units(0.95)} in 95%"
            in told
        )
        assert "fewer than 5 never" in told
        assert "50% of the privacy cost and delta 1e-09" in told

    def test_keys_of_one_column_are_found_among_those_of_another_that_are_listed(self):
        query = V.group_by("ward", "drug", keys={"drug": FOUND, "ward": ["A", "B"]}).agg(n=dp.count())
        with protected(dp.testing.Session) as session:
            release = session.release(query, epsilon=1)
        assert set(release.keys[0].values) == {"A", "B"}
        assert [*zip(*(key.values for key in release.keys), strict=True)] == sorted(
            zip(*(key.values for key in release.keys), strict=True)
        )

    def test_a_testing_session_counts_exactly(self):
        with protected(dp.testing.Session, max_groups=None) as session:
            release = session.release(by_drug(u=dp.count_units()), epsilon=1)
        pairs = set(zip(visits()["id"].to_pylist(), visits()["drug"].to_pylist(), strict=True))
        most = sum(drug == 1 for _, drug in pairs)
        assert 0.9 * most < dict(zip(release.keys[0].values, release["u"], strict=True))[1] <= most

    def test_the_delta_is_charged_until_the_reserve_is_spent(self):
        budget = dp.Budget(epsilon=4, delta=2e-9, reserved_delta=2e-9)
        with protected(budget=budget) as session:
            for _ in range(2):
                session.release(by_drug(), epsilon=0.1, fresh=True)
            with pytest.raises(BudgetError):
                session.release(by_drug(), epsilon=0.1, fresh=True)

    def test_accuracy_comes_first_for_keys_that_are_found_too(self):
        with protected() as session:
            epsilon = session.epsilon_for(by_drug(), margin=100)
            assert session.explain(by_drug(), epsilon=epsilon).outputs[0].margin <= 100


class TestRefusals:
    def test_a_promise_without_a_reserve_is_refused_with_one_that_has_it(self):
        with pytest.raises(BudgetError, match="reserved_delta=1e-09"):
            made(by_drug(), Budget(epsilon=1, delta=1e-8, reserved_delta=0))

    @pytest.mark.parametrize("facts", [{}, {"max_rows_per_group": 2}], ids=["no cap", "a cap within each group"])
    def test_units_that_may_have_any_number_of_keys_are_refused(self, facts):
        with pytest.raises(UnboundedError, match="max_groups=3"):
            made(by_drug(u=dp.count_units()), facts=facts)

    def test_a_rule_with_another_noise_is_refused(self):
        with pytest.raises(ParameterError, match="optimal"):
            made(by_drug(dp.discover(delta=1e-9, rule="gaussian")))
        with pytest.raises(ParameterError, match="mechanism='laplace'"):
            made(by_drug(dp.discover(delta=1e-9, rule="laplace")), MIXED, epsilon=1, mechanism="gaussian")

    def test_reals_have_no_keys_to_find(self):
        with pytest.raises(TypeMismatchError):
            made(V.group_by("cost", keys=FOUND).agg(n=dp.count()))

    def test_a_column_beside_it_needs_keys(self):
        with pytest.raises(KeysError, match="id"):
            made(V.group_by("drug", "id", keys={"drug": FOUND}).agg(n=dp.count()))

    def test_other_kinds_of_questions_refuse_open_keys(self):
        with pytest.raises(UnsupportedError):
            made(by_drug(middle=dp.median("cost")))

    def test_the_price_of_each_key_may_be_too_small_for_the_optimal_rule_and_another_is_taken(self):
        private = made(by_drug(), facts={"max_rows": 10**6})
        assert isinstance(private.rule, LaplaceThreshold)
        with pytest.raises(ParameterError, match="units"):
            made(by_drug(dp.discover(delta=1e-9, rule="optimal")), facts={"max_rows": 10**6})


def test_the_plan_is_made_by_planning_alone():
    assert analyze_discovery.__module__ == "discreet.planner.queries.partition_selection"


@pytest.mark.guarantee("mechanisms.keys.laplace")
@pytest.mark.parametrize("epsilon", [0.2, 1, 6])
@pytest.mark.parametrize("kind", ["laplace", "gaussian"])
@pytest.mark.parametrize("at_least", [1, 5])
def test_numbers_that_passed_a_threshold_have_margins_that_hold_for_those(kind, epsilon, at_least):
    """By the exact probabilities of the noise, given that a key is shown, for keys of any number of units."""
    words = {"delta": 1e-6, "groups": 2, "at_least": at_least}
    rule = LaplaceThreshold(epsilon=epsilon, **words) if kind == "laplace" else GaussianThreshold(rho=epsilon, **words)
    limit, reach = rule.threshold + at_least - 1, 12 * int(rule.noise.margin(0.99)) + 50
    values = tuple(range(limit + 1, limit + 2 * reach))
    margins = partition_selection._with_threshold_margins(
        OutputColumn("u", "count of units", values, (0,) * len(values)), rule, Fraction(19, 20)
    ).margins
    for units in (*range(at_least, at_least + 5), limit - 1, limit, limit + 1, limit + 3, limit + reach // 2):
        if units < at_least:
            continue
        chances = [rule.noise.pmf(value - units) for value in values]
        held = sum(p for p, value, m in zip(chances, values, margins, strict=True) if abs(value - units) <= m)
        assert held >= 0.95 * sum(chances) * (1 - 1e-9)


@pytest.mark.parametrize(
    "asked",
    [dp.median("age", bounds=(0, 9)), dp.sum("age", bounds="auto"), dp.interquartile_range("age", bounds=(0, 9))],
)
def test_what_needs_known_keys_is_refused_with_a_way_to_know_them(asked):
    rows = pa.table({"id": range(400), "drug": ["a", "b"] * 200, "age": [5] * 400})
    budget = Budget(epsilon=10, delta=2e-8, reserved_delta=1e-8)
    with dp.testing.protect(rows, name="visits", privacy_unit="id", max_rows=1, budget=budget) as session:
        grouped = V.group_by("drug", keys=FOUND)
        with pytest.raises(UnsupportedError, match="discovered") as caught:
            session.release(grouped.agg(x=asked), epsilon=1)
        assert "keys=found.to_arrow()" in caught.value.instead
        found = session.release(grouped.agg(n=dp.count()), epsilon=4)
        median = V.group_by("drug", keys=found.to_arrow()).agg(m=dp.median("age", bounds=(0, 9)))
        assert session.release(median, epsilon=4)["m"] == (5, 5)


def test_the_promise_that_is_advised_has_its_own_epsilon():
    with pytest.raises(BudgetError) as caught:
        partition_selection.require_reserved_delta(Fraction(1, 10**9), Budget(epsilon=7))
    assert "dp.Budget(epsilon=7," in caught.value.instead


def test_keys_are_discovered_in_a_first_session_whose_budget_only_states_delta():
    table = pa.table({"id": list(range(400)), "drug": ["A"] * 400})
    budget = dp.Budget(epsilon=4, delta=1e-9)
    with dp.protect(table, name="v", privacy_unit="id", max_rows=1, budget=budget, ledger=":memory:") as session:
        query = dp.table("v").group_by("drug", keys=dp.discover(delta=1e-10)).agg(n=dp.count())
        assert len(session.release(query, epsilon=2)) <= 1
        with pytest.raises(BudgetError) as caught:
            session.explain(dp.table("v").group_by("drug", keys=dp.discover(delta=1e-9)).agg(n=dp.count()), epsilon=1)
    assert caught.value.instead.startswith("dp.discover(delta=1e-10), or ")
